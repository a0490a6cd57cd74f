//! Any pattern, placed rank by rank.
//!
//! Two facts decide how a partial placement can be completed: the set of devices in use, and the
//! device of each rank of the *frontier*. The frontier is the ranks that are placed and still have
//! a neighbour to be placed. A state consists of these two facts. For each state the table holds
//! the counts of all partial placements that lead to it. It does not record on which device each of
//! the other placed ranks lies.
//!
//! Trees have frontiers of one or two ranks, so they have few states. First, dynamic programming
//! over all subsets of ranks finds the order of placing with the least work.

use super::counts::KindCounts;
use super::grid::PairSet;
use super::kinds::PairKinds;
use super::subsets::{MOST, Mask, choose, members, of_size, place, places};
use crate::matching::Few;
use crate::pattern::{Edge, Pattern};

/// The most work that is done for a table; it takes up to a second. The unit is one rank put on one
/// device in one state.
const MOST_WORK: u64 = 40_000_000;

/// The most states of one level. A state takes 32 bytes for patterns of 8 to 15 edges.
const MOST_STATES: u64 = 4_000_000;

/// The most edges whose counts fit into the largest [`PairSet`]: one less than its side.
const MOST_EDGES: usize = 31;

/// What a table keeps about all partial placements that lead to one state: the set of their counts,
/// or the highest of their sums.
trait StateTally: Copy {
    /// What the edges of one rank add.
    type Load: Copy;
    /// The tally of no placement at all: the state cannot be reached.
    const NONE: Self;
    /// The tally of the empty placement.
    fn start() -> Self;
    /// Whether no placement leads to this state.
    fn is_none(&self) -> bool;
    /// The load of a rank without edges.
    fn nothing() -> Self::Load;
    /// The sum of two loads.
    fn both(a: Self::Load, b: Self::Load) -> Self::Load;
    /// Adds the placements of `other`, each with one more rank of this load.
    fn take(&mut self, other: &Self, load: Self::Load);
}

impl<const W: usize> StateTally for PairSet<W> {
    type Load = (u32, u32);
    const NONE: Self = Self::EMPTY;

    fn start() -> Self {
        Self::origin()
    }

    fn is_none(&self) -> bool {
        self.is_empty()
    }

    fn nothing() -> (u32, u32) {
        (0, 0)
    }

    fn both(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
        (a.0 + b.0, a.1 + b.1)
    }

    #[inline]
    fn take(&mut self, other: &Self, (x, y): (u32, u32)) {
        self.join(&other.moved(x, y));
    }
}

/// The highest pair of sums in lexicographic order: the first sum decides, then the second.
pub(crate) type Sums = [i64; 2];

impl StateTally for Sums {
    type Load = Self;
    const NONE: Self = [i64::MIN; 2];

    fn start() -> Self {
        [0; 2]
    }

    fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    fn nothing() -> Self {
        [0; 2]
    }

    fn both(a: Self, b: Self) -> Self {
        [a[0] + b[0], a[1] + b[1]]
    }

    #[inline]
    fn take(&mut self, other: &Self, load: Self) {
        *self = (*self).max([other[0] + load[0], other[1] + load[1]]);
    }
}

/// For every set of as many devices as there are ranks, the counts of all placements on it. The
/// variants differ in how many edges they can count.
pub(crate) enum Frontier {
    Small(Vec<PairSet<1>>),
    Large(Vec<PairSet<4>>),
    Huge(Vec<PairSet<16>>),
}

impl Frontier {
    /// The table of a pattern, placed by a plan; none if there are too many edges to count.
    pub(super) fn new(pattern: &Pattern, plan: &RankPlan, kinds: &PairKinds) -> Option<Self> {
        let between = |a, b| kinds.between(a, b);
        // Edges on the third kind of link are not counted: their number follows from the others.
        let load = |edges: &[Edge], kind: usize| match (edges.len() as u32, kind) {
            (many, 0) => (many, 0),
            (many, 1) => (0, many),
            _ => (0, 0),
        };
        // A grid of side 8, 16 or 32 counts up to 7, 15 or 31 edges of a kind.
        Some(match plan.edges {
            0..=7 => Self::Small(by_set(pattern, plan, kinds.len(), between, load)),
            8..=15 => Self::Large(by_set(pattern, plan, kinds.len(), between, load)),
            16..=MOST_EDGES => Self::Huge(by_set(pattern, plan, kinds.len(), between, load)),
            _ => return None,
        })
    }

    /// Calls `f` with the counts of every placement on this set.
    pub(super) fn counts(&self, set: Mask, f: &mut impl FnMut(KindCounts)) {
        let f = |x, y| f(KindCounts { x, y });
        match self {
            Self::Small(sets) => sets[place(set)].each(f),
            Self::Large(sets) => sets[place(set)].each(f),
            Self::Huge(sets) => sets[place(set)].each(f),
        }
    }
}

/// The highest sums that the pattern can have on each set of its size among `n` devices, by
/// [`place`]; none for a set on which the pattern does not lie.
///
/// `between` gives the kind of link between two devices. `load` gives what the edges between two
/// ranks add on a link of a kind.
///
/// # Complexity
///
/// O([`RankPlan::work`]) times the edges between a rank and its frontier.
pub(crate) fn highest_sums(
    pattern: &Pattern,
    plan: &RankPlan,
    n: usize,
    between: impl Fn(usize, usize) -> Option<usize>,
    load: impl Fn(&[Edge], usize) -> Sums,
) -> Vec<Option<Sums>> {
    let sums: Vec<Sums> = by_set(pattern, plan, n, between, load);
    sums.into_iter()
        .map(|sums| (!sums.is_none()).then_some(sums))
        .collect()
}

/// The order in which ranks are placed, and how much work it is.
pub(crate) struct RankPlan {
    edges: usize,
    steps: Vec<RankStep>,
    /// The number of times that a rank is put on a device, over all states.
    pub(crate) work: u64,
}

/// Placing one rank.
struct RankStep {
    rank: usize,
    /// Its neighbours among the placed ranks: position in the frontier before this step, and rank.
    talks: Few<(usize, usize)>,
    /// Positions, in the frontier before this step, of the ranks that stay in the frontier.
    stay: Few<usize>,
    /// Whether the rank itself joins the frontier, as the last.
    joins: bool,
    /// How many ranks the frontier has before this step.
    frontier: usize,
}

/// The number of ways to put `k` ranks on `n` devices: n! / (n - k)!.
fn arrangements(n: usize, k: usize) -> u64 {
    (0..k as u64).map(|i| n as u64 - i).product()
}

impl RankPlan {
    /// The order with the least work on machines of `n` devices, by dynamic programming over sets
    /// of ranks; none if even that is too much work.
    ///
    /// # Complexity
    ///
    /// O(2ᵏ k) for k ranks.
    pub(crate) fn new(pattern: &Pattern, n: usize) -> Option<Self> {
        let edges = pattern.edges().len();
        // Sets of counts of more than fifteen edges are four times as large.
        let most = if edges > 15 { MOST_WORK / 4 } else { MOST_WORK };
        let (order, work) = order(pattern, n, most)?;
        Some(Self {
            edges,
            steps: steps(pattern, &order),
            work,
        })
    }
}

/// By rank, its neighbours.
fn neighbours(pattern: &Pattern) -> Vec<Mask> {
    let mut around: Vec<Mask> = vec![0; pattern.len()];
    for edge in pattern.edges() {
        around[usize::from(edge.a)] |= 1 << edge.b;
        around[usize::from(edge.b)] |= 1 << edge.a;
    }
    around
}

/// The order of least work, and its work; none if that is more than `most`.
///
/// How many states a set of placed ranks has does not depend on the order in which they were
/// placed, so the cheapest order that ends with a set extends a cheapest order of that set without
/// its last rank.
fn order(pattern: &Pattern, n: usize, most: u64) -> Option<(Vec<usize>, u64)> {
    let k = pattern.len();
    let around = neighbours(pattern);
    let all: Mask = (1 << k) - 1;
    // By set of placed ranks: the least work that leads there, and the rank placed last.
    let mut least: Vec<(u64, u32)> = vec![(u64::MAX, 0); 1 << k];
    least[0] = (0, 0);
    for placed in 0..all {
        let (so_far, _) = least[placed as usize];
        let own = if so_far > most {
            u64::MAX
        } else {
            // The sets of devices that these ranks may take, times the arrangements of their
            // frontier.
            let size = placed.count_ones() as usize;
            let frontier = members(placed)
                .filter(|&rank| around[rank] & !placed != 0)
                .count();
            choose(n, size).saturating_mul(arrangements(size, frontier))
        };
        // Such a set is a dead end: its level would take too much memory, or too much time already.
        if own > MOST_STATES {
            continue;
        }
        // The next rank is tried on every device that is not taken.
        let work = so_far + own * (n as u64 - u64::from(placed.count_ones()));
        for rank in members(all & !placed) {
            let next = &mut least[(placed | 1 << rank) as usize];
            *next = (*next).min((work, rank as u32));
        }
    }
    let work = least[all as usize].0;
    // Walk back from the full set along the ranks placed last.
    let mut order = Vec::new();
    let mut placed = all;
    while placed != 0 && work <= most {
        let (_, last) = least[placed as usize];
        order.push(last as usize);
        placed &= !(1 << last);
    }
    order.reverse();
    (work <= most).then_some((order, work))
}

/// The steps of an order: what each rank finds in the frontier, and which ranks leave it.
fn steps(pattern: &Pattern, order: &[usize]) -> Vec<RankStep> {
    let around = neighbours(pattern);
    let mut open = Few::<usize>::new();
    let mut placed: Mask = 0;
    let mut steps = Vec::with_capacity(order.len());
    for &rank in order {
        placed |= 1 << rank;
        let has_neighbours_to_come = |rank: usize| around[rank] & !placed != 0;
        let step = RankStep {
            rank,
            talks: open
                .iter()
                .copied()
                .enumerate()
                .filter(|(_, other)| around[rank] >> other & 1 == 1)
                .collect(),
            stay: open
                .iter()
                .enumerate()
                .filter(|(_, other)| has_neighbours_to_come(**other))
                .map(|(at, _)| at)
                .collect(),
            joins: has_neighbours_to_come(rank),
            frontier: open.len(),
        };
        open.retain(|other| has_neighbours_to_come(*other));
        open.extend(step.joins.then_some(rank));
        steps.push(step);
    }
    steps
}

/// The edges between two ranks.
fn bundle(pattern: &Pattern, a: usize, b: usize) -> Few<Edge> {
    let ends = (a.min(b), a.max(b));
    pattern
        .edges()
        .iter()
        .filter(|edge| (usize::from(edge.a), usize::from(edge.b)) == ends)
        .copied()
        .collect()
}

/// The tallies of the last level, by set of devices. On this level all ranks are placed, so the
/// frontier is empty and a state is just a set.
fn by_set<T: StateTally>(
    pattern: &Pattern,
    plan: &RankPlan,
    n: usize,
    between: impl Fn(usize, usize) -> Option<usize>,
    load: impl Fn(&[Edge], usize) -> T::Load,
) -> Vec<T> {
    // The innermost loop looks up links: one flat table instead of a call.
    let mut links = [[None; MOST]; MOST];
    let mut kinds = 0;
    for (a, row) in links.iter_mut().enumerate().take(n) {
        for (b, link) in row.iter_mut().enumerate().take(n) {
            *link = if a == b { None } else { between(a, b) };
            kinds = kinds.max(link.map_or(0, |kind| kind + 1));
        }
    }
    let mut states = vec![T::start()];
    for (size, step) in plan.steps.iter().enumerate() {
        let mut loads = Few::new();
        for &(at, other) in &step.talks {
            let edges = bundle(pattern, step.rank, other);
            let by_kind: Few<T::Load> = (0..kinds).map(|kind| load(&edges, kind)).collect();
            loads.push((at, by_kind));
        }
        let placing = RankPlacing {
            step,
            loads,
            links: &links,
            n,
        };
        states = placing.all(size, &states);
    }
    states
}

/// Putting one rank on every device in every state.
struct RankPlacing<'p, T: StateTally> {
    step: &'p RankStep,
    /// For each neighbour in the frontier: its position there, and by kind of link what the edges
    /// to it add.
    loads: Few<(usize, Few<T::Load>)>,
    links: &'p [[Option<usize>; MOST]; MOST],
    n: usize,
}

/// A device that the rank may have.
struct OpenDevice {
    device: usize,
    /// Where the states of the set with this device begin.
    from: usize,
}

impl<T: StateTally> RankPlacing<'_, T> {
    /// The next level: every state of sets of `size` devices, extended by every free device.
    ///
    /// States lie in order of their sets' places, and within a set in the order of arrangements, so
    /// a state needs no key: `each_arrangement` walks along the present level, and `arrangement`
    /// gives the index in the next.
    fn all(&self, size: usize, states: &[T]) -> Vec<T> {
        let kept = self.step.stay.len() + usize::from(self.step.joins);
        let each = arrangements(size + 1, kept) as usize;
        let mut next = vec![T::NONE; choose(self.n, size + 1) as usize * each];
        let mut states = states.iter();
        let mut open = Few::<OpenDevice>::new();
        for set in of_size(self.n, size) {
            open.clear();
            let outside = members(!set & ((1 << self.n) - 1));
            open.extend(outside.map(|device| OpenDevice {
                device,
                from: usize::from(places()[(set | 1 << device) as usize]) * each,
            }));
            let mut positions = [0; MOST];
            for (position, member) in members(set).enumerate() {
                positions[member] = position;
            }
            each_arrangement(set, self.step.frontier, &mut Few::new(), &mut |devices| {
                if let Some(state) = states.next().filter(|state| !state.is_none()) {
                    self.one(devices, &positions, state, &open, size + 1, &mut next);
                }
            });
        }
        next
    }

    /// Extends one state, whose frontier lies on `devices`, by every open device.
    fn one(
        &self,
        devices: &[usize],
        positions: &[usize; MOST],
        state: &T,
        open: &[OpenDevice],
        size: usize,
        next: &mut [T],
    ) {
        for (before, &OpenDevice { device, from }) in open.iter().enumerate() {
            let links = &self.links[device];
            let load = self
                .loads
                .iter()
                .try_fold(T::nothing(), |sum, (at, by_kind)| {
                    Some(T::both(sum, by_kind[links[devices[*at]]?]))
                });
            // An edge of the rank would lie on no link.
            let Some(load) = load else { continue };
            // The new device moves every higher member of the set one position up.
            let kept = self.step.stay.iter().map(|&at| {
                let other = devices[at];
                positions[other] + usize::from(other > device)
            });
            // The set has every device below this one but the `before` that are open too.
            let own = self.step.joins.then_some(device - before);
            let at = from + arrangement(kept.chain(own), size);
            next[at].take(state, load);
        }
    }
}

/// Calls `f` with every way to put so many ranks on devices of `set`, in lexicographic order.
fn each_arrangement(
    set: Mask,
    ranks: usize,
    devices: &mut Few<usize>,
    f: &mut impl FnMut(&[usize]),
) {
    if devices.len() == ranks {
        return f(devices);
    }
    for device in members(set) {
        if !devices.contains(&device) {
            devices.push(device);
            each_arrangement(set, ranks, devices, f);
            devices.pop();
        }
    }
}

/// The number of an arrangement in the order of [`each_arrangement`], given its positions in a set
/// of `size` devices.
///
/// A number of mixed radix: the digit of a rank is its position among the devices that earlier
/// ranks left.
fn arrangement(positions: impl Iterator<Item = usize>, size: usize) -> usize {
    let mut earlier = Few::<usize>::new();
    let mut number = 0;
    for position in positions {
        let lower = earlier
            .iter()
            .filter(|earlier| **earlier < position)
            .count();
        number = number * (size - earlier.len()) + position - lower;
        earlier.push(position);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_numbered_in_order() {
        for ranks in 0..=4 {
            let mut next = 0;
            each_arrangement(0b110_1101, ranks, &mut Few::new(), &mut |devices| {
                let position =
                    |&device: &usize| members(0b110_1101).position(|member| member == device);
                assert_eq!(arrangement(devices.iter().filter_map(position), 5), next);
                next += 1;
            });
            assert_eq!(next as u64, arrangements(5, ranks));
        }
    }

    #[test]
    fn trees_have_narrow_frontiers() {
        for k in 2..=16 {
            let plan = RankPlan::new(&Pattern::binary_tree(k), 16);
            let widest = plan.and_then(|plan| plan.steps.iter().map(|step| step.frontier).max());
            assert!(widest.is_some_and(|widest| widest <= 2), "{k}: {widest:?}");
        }
    }
}
