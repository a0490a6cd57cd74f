//! The backtracking engine.
//!
//! Each condition between two ranks (an edge, no edge, an order, different devices) is a table. It
//! has a row for each device of the rank placed first: the set of devices where the other rank may
//! be. The candidates of a step are the AND of one row for each rank placed before.
//!
//! Only the row of the directly preceding step differs between the children of one parent. The AND
//! of the other rows is computed once per parent, one level ahead of its use, so a child costs one
//! AND. This also shows two levels ahead if a step has no candidates.
//!
//! The cursor stops at each *twig*, a state in which all ranks but two are placed and the
//! candidates of both are known. A visitor takes the leaves of a twig one by one; a counter
//! computes how many there are. Conditions that do not depend on pairs of ranks alone (ranks that
//! share, twins) are left to [`Careful`](super::careful).

use std::borrow::Cow;
use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::bits::{Bits, above, and, and_not, below, each, is_empty, only, or, pop_lowest, size};
use super::meter::Meter;
use super::plan::{MatchProgram, MatchStep, Relation, Talk, VertexOrder};
use crate::topology::DeviceId;

/// The graph that a pattern is laid on: all that the engine knows of a machine.
pub(super) trait Ground<const W: usize> {
    /// The number of vertices.
    fn len(&self) -> usize;
    /// The vertices where each rank may be.
    fn domains(&self) -> RankDomains<W>;
    /// The neighbours of a vertex. The set may or may not contain the vertex itself.
    fn joined(&self, vertex: u32) -> Bits<W>;
    /// A vertex and all vertices that cannot exist beside it.
    fn excluded(&self, vertex: u32) -> Bits<W>;
    /// Whether every vertex excludes only itself.
    fn excludes_only_itself(&self) -> bool;
    /// A function that takes two joined ranks and returns, for each vertex of the first, where the
    /// second may be. None if [`Ground::joined`] is all that edges require. Only vertices of
    /// `among` matter.
    fn edges(&self, among: &Bits<W>) -> Option<impl Fn(usize, usize) -> Vec<Bits<W>>>;
}

/// Where each rank may be, by rank.
pub(super) type RankDomains<const W: usize> = SmallVec<[Bits<W>; 8]>;

/// A graph whose edges have no conditions of their own.
pub(super) struct PlainGraph<const W: usize> {
    /// By vertex, its neighbours.
    pub(super) joined: Vec<Bits<W>>,
    pub(super) domains: RankDomains<W>,
}

impl<const W: usize> Ground<W> for PlainGraph<W> {
    fn len(&self) -> usize {
        self.joined.len()
    }

    fn domains(&self) -> RankDomains<W> {
        self.domains.clone()
    }

    fn joined(&self, vertex: u32) -> Bits<W> {
        self.joined[vertex as usize]
    }

    fn excluded(&self, vertex: u32) -> Bits<W> {
        only(vertex)
    }

    fn excludes_only_itself(&self) -> bool {
        true
    }

    fn edges(&self, _: &Bits<W>) -> Option<impl Fn(usize, usize) -> Vec<Bits<W>>> {
        None::<fn(usize, usize) -> Vec<Bits<W>>>
    }
}

/// Why a walk ended early: `Some` has the value with which the visitor broke off; `None` says that
/// the meter reached a limit.
pub(super) type WalkFlow<B> = ControlFlow<Option<B>>;

/// A walk over all leaf levels. On a leaf level all ranks but one are placed, and the devices that
/// this open rank may have are one set.
pub(super) trait LeafWalk<const W: usize> {
    /// The next leaf level that has a match.
    fn next_leaf(&mut self, meter: &mut Meter<'_>) -> Option<Bits<W>>;

    /// The rank that a leaf level leaves open.
    fn leaf_rank(&self) -> usize;

    /// The placement of the leaf level last returned. The caller fills in the entry of the open
    /// rank.
    fn placement(&mut self) -> &mut [DeviceId];

    /// Calls `f` with every leaf level, as `next_leaf` gives them.
    fn each_leaf<B>(
        &mut self,
        meter: &mut Meter<'_>,
        mut f: impl FnMut(&mut [DeviceId], Bits<W>, &mut Meter<'_>) -> WalkFlow<B>,
    ) -> WalkFlow<B> {
        while let Some(leaf) = self.next_leaf(meter) {
            f(self.placement(), leaf, meter)?;
        }
        ControlFlow::Continue(())
    }

    /// Counts every match.
    fn count(&mut self, meter: &mut Meter<'_>) {
        let _: WalkFlow<()> = self.each_leaf(meter, |_, leaf, meter| count_leaf(&leaf, meter));
    }
}

/// Counts the matches of one leaf level, up to the limits.
fn count_leaf<const W: usize>(leaf: &Bits<W>, meter: &mut Meter<'_>) -> WalkFlow<()> {
    let matches = size(leaf);
    if meter.is_quiet(matches) {
        meter.add(matches, matches);
        return ControlFlow::Continue(());
    }
    // A limit may fall within this level: count one by one, to stop exactly there.
    let all = (0..matches).all(|_| meter.found());
    if all {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(None)
    }
}

/// The state of one search: backtracking on an explicit stack of frames.
#[derive(Clone)]
pub(super) struct Cursor<'a, const W: usize> {
    steps: Cow<'a, [MatchStep]>,
    tables: RelationTables<W>,
    excludes_only_itself: bool,
    /// By step.
    frames: SmallVec<[DenseFrame<W>; 8]>,
    /// By rank.
    placement: SmallVec<[DeviceId; 16]>,
    state: CursorState,
    /// The twig whose leaves [`LeafWalk::next_leaf`] returns at present.
    twig: Twig<W>,
}

#[derive(Clone, Copy)]
enum CursorState {
    /// Nothing was tried yet.
    Start,
    /// The next device to try is a candidate of this step.
    At(usize),
}

/// The state of a step while the steps before it are placed.
#[derive(Clone, Copy)]
struct DenseFrame<const W: usize> {
    domain: Bits<W>,
    /// The candidates of this step that were not tried yet.
    open: Bits<W>,
    /// The candidates of the next step, as far as the steps before this one decide.
    next: Bits<W>,
    /// The devices that the steps before this one leave to others.
    free: Bits<W>,
}

/// The last two steps, when all others are placed.
#[derive(Clone, Copy)]
pub(super) struct Twig<const W: usize> {
    /// The candidates of the last step but one.
    open: Bits<W>,
    /// The candidates of the last step, as far as the steps before the last two decide.
    next: Bits<W>,
}

impl<'a, const W: usize> Cursor<'a, W> {
    pub(super) fn new(program: &'a MatchProgram, ground: &impl Ground<W>) -> Self {
        let domains = ground.domains();
        // Only rows of devices that some rank may have are ever looked up.
        let live = domains.iter().fold([0; W], |all, domain| or(&all, domain));
        let (steps, tables) = RelationTables::new(program, ground, &live, Alone::Each);
        let empty = [0; W];
        let frames = (steps.iter())
            .map(|step| DenseFrame {
                domain: domains[step.vertex],
                open: empty,
                next: empty,
                free: [u64::MAX; W],
            })
            .collect();
        Self {
            frames,
            placement: SmallVec::from_elem(DeviceId(0), steps.len()),
            steps,
            tables,
            excludes_only_itself: ground.excludes_only_itself(),
            state: CursorState::Start,
            twig: Twig {
                open: empty,
                next: empty,
            },
        }
    }

    /// Starts again, with the first step on `first` and the second step within `second` only.
    pub(super) fn restart(&mut self, first: u32, second: &Bits<W>) {
        self.frames[0].domain = only(first);
        self.frames[1].domain = *second;
        self.state = CursorState::Start;
    }

    /// The candidates of a step before anything is placed.
    pub(super) fn domain(&self, step: usize) -> Bits<W> {
        self.frames[step].domain
    }

    /// The candidates of the second step with the first on `root`.
    pub(super) fn seconds(&self, root: u32) -> Bits<W> {
        and(
            &self.frames[1].domain,
            self.tables.row(self.steps[1].previous, root),
        )
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The next twig; only for patterns of two ranks or more.
    fn next_twig(&mut self, meter: &mut Meter<'_>) -> Option<Twig<W>> {
        // Borrowed as slices once: small vectors would check at each access where their items lie.
        let (steps, frames, placement) = (
            &self.steps[..],
            &mut self.frames[..],
            &mut self.placement[..],
        );
        let tables = &self.tables;
        let twig = steps.len() - 2;
        let mut depth = match self.state {
            CursorState::At(depth) => depth,
            CursorState::Start => {
                self.state = CursorState::At(0);
                let (open, next) = (frames[0].domain, frames[1].domain);
                if twig == 0 {
                    // Step 0 has nothing open, which ends the search.
                    return Some(Twig { open, next });
                }
                (frames[0].open, frames[0].next) = (open, next);
                0
            }
        };
        loop {
            let frame = &mut frames[depth];
            let Some(device) = pop_lowest(&mut frame.open) else {
                depth = depth.checked_sub(1)?;
                continue;
            };
            if !meter.node() {
                return None;
            }
            // The candidates of the next step: what the steps before leave, and what this one
            // leaves.
            let open = and(&frame.next, tables.row(steps[depth + 1].previous, device));
            if is_empty(&open) {
                continue;
            }
            let free = and(&frame.free, tables.row(Relation::NONE, device));
            placement[steps[depth].vertex] = DeviceId(device);
            // The candidates of the step after next, one level early: all its conditions but the
            // one with the next step are decided now, and are the same for every device of that
            // step.
            let mut next = and(&frames[depth + 2].domain, &free);
            for test in &steps[depth + 2].tests {
                next = and(&next, tables.row(test.table, placement[test.vertex].0));
            }
            if is_empty(&next) {
                continue;
            }
            depth += 1;
            if depth == twig {
                self.state = CursorState::At(depth - 1);
                return Some(Twig { open, next });
            }
            let frame = &mut frames[depth];
            (frame.open, frame.next, frame.free) = (open, next, free);
        }
    }

    /// The number of matches of a twig.
    fn matches(&self, twig: &Twig<W>) -> u64 {
        let previous = self.steps[self.steps.len() - 1].previous;
        if previous == Relation::NONE && self.excludes_only_itself {
            // The two ranks only must not share a device: all pairs, less those of equal devices.
            return size(&twig.open) * size(&twig.next) - size(&and(&twig.open, &twig.next));
        }
        let mut matches = 0;
        let table = self.tables.of(previous);
        let _ = each(&twig.open, |device| {
            matches += size(&and(&twig.next, &table[device as usize]));
            ControlFlow::<()>::Continue(())
        });
        matches
    }

    /// Calls `f` with every leaf level of a twig.
    fn each_leaf_of<B>(
        &mut self,
        twig: &Twig<W>,
        meter: &mut Meter<'_>,
        f: &mut impl FnMut(&mut [DeviceId], Bits<W>, &mut Meter<'_>) -> WalkFlow<B>,
    ) -> WalkFlow<B> {
        let [.., fork, leaf] = &self.steps[..] else {
            return ControlFlow::Continue(());
        };
        let table = self.tables.of(leaf.previous);
        let placement = &mut self.placement[..];
        each(&twig.open, |device| {
            if !meter.node() {
                return ControlFlow::Break(None);
            }
            placement[fork.vertex] = DeviceId(device);
            let leaf = and(&twig.next, &table[device as usize]);
            if is_empty(&leaf) {
                ControlFlow::Continue(())
            } else {
                f(placement, leaf, meter)
            }
        })
    }

    /// The only leaf level of a pattern of one rank; none on the second call.
    fn only_leaf(&mut self) -> Option<Bits<W>> {
        let CursorState::Start = self.state else {
            return None;
        };
        self.state = CursorState::At(0);
        self.frames
            .first()
            .map(|frame| frame.domain)
            .filter(|leaf| !is_empty(leaf))
    }
}

impl<const W: usize> LeafWalk<W> for Cursor<'_, W> {
    fn next_leaf(&mut self, meter: &mut Meter<'_>) -> Option<Bits<W>> {
        let [.., fork, leaf] = &self.steps[..] else {
            return self.only_leaf();
        };
        let (fork, previous) = (fork.vertex, leaf.previous);
        loop {
            let Some(device) = pop_lowest(&mut self.twig.open) else {
                self.twig = self.next_twig(meter)?;
                continue;
            };
            if !meter.node() {
                return None;
            }
            let leaf = and(&self.twig.next, self.tables.row(previous, device));
            if !is_empty(&leaf) {
                self.placement[fork] = DeviceId(device);
                return Some(leaf);
            }
        }
    }

    fn leaf_rank(&self) -> usize {
        self.steps.last().map_or(0, |step| step.vertex)
    }

    fn placement(&mut self) -> &mut [DeviceId] {
        &mut self.placement
    }

    #[inline]
    fn each_leaf<B>(
        &mut self,
        meter: &mut Meter<'_>,
        mut f: impl FnMut(&mut [DeviceId], Bits<W>, &mut Meter<'_>) -> WalkFlow<B>,
    ) -> WalkFlow<B> {
        if self.steps.len() < 2 {
            return self.only_leaf().map_or(ControlFlow::Continue(()), |leaf| {
                f(&mut self.placement, leaf, meter)
            });
        }
        while let Some(twig) = self.next_twig(meter) {
            self.each_leaf_of(&twig, meter, &mut f)?;
        }
        ControlFlow::Continue(())
    }

    fn count(&mut self, meter: &mut Meter<'_>) {
        if let Some(leaf) = (self.steps.len() < 2).then(|| self.only_leaf()).flatten() {
            let _ = count_leaf(&leaf, meter);
        }
        while let Some(twig) = if self.steps.len() < 2 {
            None
        } else {
            self.next_twig(meter)
        } {
            // A twig has at most one node for each candidate of the first, and one for each pair.
            // If that many fit into the limits, the twig is counted as a whole.
            let nodes = size(&twig.open);
            if meter.has_room(nodes * (1 + size(&twig.next))) {
                let matches = self.matches(&twig);
                meter.add(nodes + matches, matches);
            } else if self
                .each_leaf_of(&twig, meter, &mut |_, leaf, meter| count_leaf(&leaf, meter))
                .is_break()
            {
                return;
            }
        }
    }
}

/// Whether the tables keep every two ranks on different devices.
#[derive(Clone, Copy)]
pub(super) enum Alone {
    /// Every rank has a device of its own.
    Each,
    /// Some ranks may share a device, so the walk checks this itself.
    SomeShare,
}

/// For each relation and each device of the rank placed first, the devices where the other may be.
#[derive(Clone)]
pub(super) struct RelationTables<const W: usize> {
    n: usize,
    rows: Vec<Bits<W>>,
}

impl<const W: usize> RelationTables<W> {
    /// The tables of a program, and its steps with the numbers of their tables. Rows of vertices
    /// outside `live` are empty.
    ///
    /// # Complexity
    ///
    /// O(r n) rows for r distinct relations and n vertices.
    pub(super) fn new<'a>(
        program: &'a MatchProgram,
        ground: &impl Ground<W>,
        live: &Bits<W>,
        alone: Alone,
    ) -> (Cow<'a, [MatchStep]>, Self) {
        let mut kinds = RelationKinds::<W> {
            relations: Cow::Borrowed(&program.relations),
            special: Vec::new(),
        };
        let mut steps = Cow::Borrowed(&program.steps[..]);
        if let Some(rows) = ground.edges(live) {
            kinds.tell_apart(steps.to_mut(), &rows);
        }
        let (n, relations) = (ground.len(), &kinds.relations[..]);
        let mut rows = vec![[0; W]; relations.len() * n];
        let asks = relations.iter().any(|relation| relation.talk != Talk::Any);
        let all = [u64::MAX; W];
        let _ = each(live, |vertex| {
            let own = only(vertex);
            let joined = if asks { ground.joined(vertex) } else { own };
            // Ranks that share a device communicate on it, and no order between them is violated: a device
            // is then its own neighbour, and is both above and below itself.
            let (joined, added, kept) = match alone {
                Alone::Each => (joined, [0; W], and_not(&all, &ground.excluded(vertex))),
                Alone::SomeShare => (or(&joined, &own), own, all),
            };
            let (above, below) = (or(&above(vertex), &added), or(&below(vertex), &added));
            for (kind, relation) in relations.iter().enumerate() {
                let row = match relation.talk {
                    Talk::Any => kept,
                    Talk::Joined => and(&joined, &kept),
                    Talk::Special(i) => and(
                        &or(&kinds.special[usize::from(i)][vertex as usize], &added),
                        &kept,
                    ),
                    Talk::Apart => and_not(&kept, &joined),
                };
                rows[kind * n + vertex as usize] = match relation.order {
                    VertexOrder::Any => row,
                    VertexOrder::Above => and(&row, &above),
                    VertexOrder::Below => and(&row, &below),
                };
            }
            ControlFlow::<()>::Continue(())
        });
        (steps, Self { n, rows })
    }

    /// The row of a device in a table.
    #[inline]
    pub(super) fn row(&self, table: u32, device: u32) -> &Bits<W> {
        &self.rows[table as usize * self.n + device as usize]
    }

    /// All rows of a table.
    #[inline]
    fn of(&self, table: u32) -> &[Bits<W>] {
        &self.rows[table as usize * self.n..][..self.n]
    }
}

/// The relations of a program in which some edges accept only certain links.
struct RelationKinds<'a, const W: usize> {
    relations: Cow<'a, [Relation]>,
    /// Where the other end of an edge may be, by [`Talk::Special`].
    special: Vec<Vec<Bits<W>>>,
}

impl<const W: usize> RelationKinds<'_, W> {
    /// Replaces the relation of each edge by one that names the links it accepts.
    fn tell_apart(
        &mut self,
        steps: &mut [MatchStep],
        rows: &impl Fn(usize, usize) -> Vec<Bits<W>>,
    ) {
        for i in 0..steps.len() {
            let (before, step) = steps.split_at_mut(i);
            let Some(step) = step.first_mut() else {
                continue;
            };
            if let Some(before) = before.last() {
                step.previous = self.of(step.previous, || rows(before.vertex, step.vertex));
            }
            for test in &mut step.tests {
                test.table = self.of(test.table, || rows(test.vertex, step.vertex));
            }
        }
    }

    /// The number of the special relation that replaces this one. Edges that accept the same links
    /// share a relation.
    fn of(&mut self, relation: u32, rows: impl Fn() -> Vec<Bits<W>>) -> u32 {
        let relation_of = self.relations[relation as usize];
        if relation_of.talk != Talk::Joined {
            return relation;
        }
        let rows = rows();
        let special = self
            .special
            .iter()
            .position(|known| *known == rows)
            .unwrap_or_else(|| {
                self.special.push(rows);
                self.special.len() - 1
            });
        let relation = Relation {
            talk: Talk::Special(special as u16),
            ..relation_of
        };
        relation.number(self.relations.to_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::limits::{Limits, SearchStats};
    use crate::{MatchConfig, Pattern};

    /// A data graph that is no machine.
    fn plain<const W: usize>(
        ranks: usize,
        n: usize,
        joined: impl Fn(usize, usize) -> bool,
    ) -> PlainGraph<W> {
        let mut rows = vec![[0; W]; n];
        for (a, row) in rows.iter_mut().enumerate() {
            for b in (0..n).filter(|&b| joined(a.min(b), a.max(b))) {
                *row = or(row, &only(b as u32));
            }
        }
        PlainGraph {
            joined: rows,
            domains: SmallVec::from_elem(below(n as u32), ranks),
        }
    }

    fn count<const W: usize>(
        pattern: &Pattern,
        induced: bool,
        ground: &PlainGraph<W>,
    ) -> SearchStats {
        let matcher = MatchConfig::new().induced(induced).compile(pattern);
        let mut meter = Meter::new(Limits::NONE, None);
        Cursor::new(&matcher.program, ground).count(&mut meter);
        meter.stats()
    }

    #[test]
    fn loops_of_a_data_graph_change_nothing() {
        let sparse = |a: usize, b: usize| (3 * a + b * b) % 4 < 2;
        for pattern in [
            Pattern::ring(1),
            Pattern::chain(2),
            Pattern::ring(4),
            Pattern::star(4),
            Pattern::chain(5),
        ] {
            for induced in [false, true] {
                let without = count(
                    &pattern,
                    induced,
                    &plain::<1>(pattern.len(), 20, |a, b| a != b && sparse(a, b)),
                );
                let with = count(
                    &pattern,
                    induced,
                    &plain::<1>(pattern.len(), 20, |a, b| a == b || sparse(a, b)),
                );
                assert_eq!(without, with);
                assert!(without.matches > 0);
            }
        }
    }

    #[test]
    fn a_graph_of_any_width_is_searched() {
        // Rings of four in a ladder: one a rung but the last.
        let ladder = |a: usize, b: usize| b == a + 2 || b == a + 1 && a.is_multiple_of(2);
        assert_eq!(
            count(&Pattern::ring(4), false, &plain::<1>(4, 60, ladder)).matches,
            29
        );
        assert_eq!(
            count(&Pattern::ring(4), false, &plain::<4>(4, 250, ladder)).matches,
            124
        );
        assert_eq!(
            count(&Pattern::ring(4), false, &plain::<16>(4, 1000, ladder)).matches,
            499
        );
    }
}
