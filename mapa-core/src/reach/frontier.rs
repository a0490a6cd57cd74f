//! Any pattern, placed rank by rank.
//!
//! What matters of the ranks placed so far is the set of devices they took and where those of them lie that still have
//! neighbours to come: the frontier. A state is both, and holds the counts of all ways to get there. Trees have frontiers of
//! one or two, so there are few states; the order of placing with least work is found first, over all subsets of ranks.

use super::Counts;
use super::grid::Grid;
use super::kinds::{Kinds, MOST};
use super::subsets::{Mask, choose, members, of_size, place, places};
use crate::matching::Few;
use crate::pattern::{Edge, Pattern};

/// The most work that a table is ever worth: ranks put on a device in some state. Up to a second.
const MOST_WORK: u64 = 40_000_000;

/// The most states of one level: of 32 bytes mostly.
const MOST_STATES: u64 = 4_000_000;

/// The most edges that are counted.
const MOST_EDGES: usize = 31;

/// What is known of all ways to get to a state.
trait Tally: Copy {
    /// What edges add.
    type Load: Copy;
    /// No way.
    const NONE: Self;
    /// The one way to begin.
    fn start() -> Self;
    fn is_none(&self) -> bool;
    fn nothing() -> Self::Load;
    fn both(a: Self::Load, b: Self::Load) -> Self::Load;
    /// These ways and those of `other` with one more rank.
    fn take(&mut self, other: &Self, load: Self::Load);
}

impl<const W: usize> Tally for Grid<W> {
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

/// The highest pair of sums, the first before the second.
pub(crate) type Sums = [i64; 2];

impl Tally for Sums {
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

/// For every set of as many devices as there are ranks, the counts of all placements on it.
pub(crate) enum Frontier {
    Small(Vec<Grid<1>>),
    Large(Vec<Grid<4>>),
    Huge(Vec<Grid<16>>),
}

impl Frontier {
    /// None if there are too many edges to count.
    pub(super) fn new(pattern: &Pattern, plan: &Plan, kinds: &Kinds) -> Option<Self> {
        let between = |a, b| kinds.between(a, b);
        let load = |edges: &[Edge], kind: usize| match (edges.len() as u32, kind) {
            (many, 0) => (many, 0),
            (many, 1) => (0, many),
            _ => (0, 0),
        };
        Some(match plan.edges {
            0..=7 => Self::Small(by_set(pattern, plan, kinds.len(), between, load)),
            8..=15 => Self::Large(by_set(pattern, plan, kinds.len(), between, load)),
            16..=MOST_EDGES => Self::Huge(by_set(pattern, plan, kinds.len(), between, load)),
            _ => return None,
        })
    }

    pub(super) fn counts(&self, set: Mask, f: &mut impl FnMut(Counts)) {
        let f = |x, y| f(Counts { x, y });
        match self {
            Self::Small(sets) => sets[place(set)].each(f),
            Self::Large(sets) => sets[place(set)].each(f),
            Self::Huge(sets) => sets[place(set)].each(f),
        }
    }
}

/// The highest sums that the pattern can have on each set of `n` devices, by place; none where it does not lie.
///
/// `between` is the kind of link between two devices, `load` what the edges between two ranks add on a link of a kind.
pub(crate) fn highest_sums(
    pattern: &Pattern,
    plan: &Plan,
    n: usize,
    between: impl Fn(usize, usize) -> Option<usize>,
    load: impl Fn(&[Edge], usize) -> Sums,
) -> Vec<Option<Sums>> {
    let sums: Vec<Sums> = by_set(pattern, plan, n, between, load);
    sums.into_iter().map(|sums| (!sums.is_none()).then_some(sums)).collect()
}

/// The order in which ranks are placed.
pub(crate) struct Plan {
    edges: usize,
    steps: Vec<Step>,
    /// How often a rank is put on a device, over all states.
    pub(crate) work: u64,
}

/// Placing one rank.
struct Step {
    rank: usize,
    /// The ranks that it talks to, by position in the frontier before it.
    talks: Few<(usize, usize)>,
    /// Positions in the frontier before it of those that stay in it.
    stay: Few<usize>,
    /// Whether it joins the frontier itself, as the last.
    joins: bool,
    /// How many ranks the frontier before it has.
    frontier: usize,
}

fn arrangements(n: usize, k: usize) -> u64 {
    (0..k as u64).map(|i| n as u64 - i).product()
}

impl Plan {
    /// The order with least work, by dynamic programming over sets of ranks, for machines of `n` devices; none if that is
    /// still too much. O(2ᵏ k).
    pub(crate) fn new(pattern: &Pattern, n: usize) -> Option<Self> {
        let edges = pattern.edges().len();
        // Sets of counts of more than fifteen edges are four times as large.
        let most = if edges > 15 { MOST_WORK / 4 } else { MOST_WORK };
        let (order, work) = order(pattern, n, most)?;
        Some(Self { edges, steps: steps(pattern, &order), work })
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

fn order(pattern: &Pattern, n: usize, most: u64) -> Option<(Vec<usize>, u64)> {
    let k = pattern.len();
    let around = neighbours(pattern);
    let states = |placed: Mask| {
        let size = placed.count_ones() as usize;
        let frontier = members(placed).filter(|&rank| around[rank] & !placed != 0).count();
        choose(n, size).saturating_mul(arrangements(size, frontier))
    };
    let all: Mask = (1 << k) - 1;
    let mut least: Vec<(u64, u32)> = vec![(u64::MAX, 0); 1 << k];
    least[0] = (0, 0);
    for placed in 0..all {
        let (so_far, _) = least[placed as usize];
        let own = if so_far > most { u64::MAX } else { states(placed) };
        if own > MOST_STATES {
            continue;
        }
        let work = so_far + own * (n as u64 - u64::from(placed.count_ones()));
        for rank in members(all & !placed) {
            let next = &mut least[(placed | 1 << rank) as usize];
            *next = (*next).min((work, rank as u32));
        }
    }
    let work = least[all as usize].0;
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

fn steps(pattern: &Pattern, order: &[usize]) -> Vec<Step> {
    let around = neighbours(pattern);
    let mut open = Few::<usize>::new();
    let mut placed: Mask = 0;
    let step = |&rank: &usize| {
        placed |= 1 << rank;
        let stays = |rank: usize| around[rank] & !placed != 0;
        let step = Step {
            rank,
            talks: open.iter().copied().enumerate().filter(|(_, other)| around[rank] >> other & 1 == 1).collect(),
            stay: open.iter().enumerate().filter(|(_, other)| stays(**other)).map(|(at, _)| at).collect(),
            joins: stays(rank),
            frontier: open.len(),
        };
        open.retain(|other| stays(*other));
        open.extend(step.joins.then_some(rank));
        step
    };
    order.iter().map(step).collect()
}

/// The edges between two ranks.
fn bundle(pattern: &Pattern, a: usize, b: usize) -> Few<Edge> {
    let ends = (a.min(b), a.max(b));
    pattern.edges().iter().filter(|edge| (usize::from(edge.a), usize::from(edge.b)) == ends).copied().collect()
}

/// The last level: nobody has neighbours to come.
fn by_set<T: Tally>(
    pattern: &Pattern,
    plan: &Plan,
    n: usize,
    between: impl Fn(usize, usize) -> Option<usize>,
    load: impl Fn(&[Edge], usize) -> T::Load,
) -> Vec<T> {
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
        let loads = |&(at, other): &(usize, usize)| {
            let edges = bundle(pattern, step.rank, other);
            (at, (0..kinds).map(|kind| load(&edges, kind)).collect::<Few<T::Load>>())
        };
        let placing = Placing { step, loads: step.talks.iter().map(loads).collect(), links: &links, n };
        states = placing.all(size, &states);
    }
    states
}

/// Putting one rank on every device in every state.
struct Placing<'p, T: Tally> {
    step: &'p Step,
    /// By rank that it talks to: its position in the frontier; by kind of link, what their edges add.
    loads: Few<(usize, Few<T::Load>)>,
    links: &'p [[Option<usize>; MOST]; MOST],
    n: usize,
}

/// A device that the rank may have.
struct Open {
    device: usize,
    /// Where the states begin of the set with it.
    from: usize,
}

impl<T: Tally> Placing<'_, T> {
    fn all(&self, size: usize, states: &[T]) -> Vec<T> {
        let kept = self.step.stay.len() + usize::from(self.step.joins);
        let each = arrangements(size + 1, kept) as usize;
        let mut next = vec![T::NONE; choose(self.n, size + 1) as usize * each];
        let mut states = states.iter();
        let mut open = Few::<Open>::new();
        for set in of_size(self.n, size) {
            open.clear();
            let outside = members(!set & ((1 << self.n) - 1));
            let from = |device: usize| usize::from(places()[(set | 1 << device) as usize]) * each;
            open.extend(outside.map(|device| Open { device, from: from(device) }));
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

    fn one(&self, devices: &[usize], positions: &[usize; MOST], state: &T, open: &[Open], size: usize, next: &mut [T]) {
        for (before, &Open { device, from }) in open.iter().enumerate() {
            let links = &self.links[device];
            let load = self
                .loads
                .iter()
                .try_fold(T::nothing(), |sum, (at, by_kind)| Some(T::both(sum, by_kind[links[devices[*at]]?])));
            let Some(load) = load else { continue };
            let kept = self.step.stay.iter().map(|&at| {
                let other = devices[at];
                positions[other] + usize::from(other > device)
            });
            // Of the lower devices all but those that are open are in the set.
            let own = self.step.joins.then_some(device - before);
            let at = from + arrangement(kept.chain(own), size);
            next[at].take(state, load);
        }
    }
}

/// Every way to put so many ranks on devices of `set`, in lexicographic order.
fn each_arrangement(set: Mask, ranks: usize, devices: &mut Few<usize>, f: &mut impl FnMut(&[usize])) {
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

/// The number of an arrangement in that order, by positions in a set of `size`.
fn arrangement(positions: impl Iterator<Item = usize>, size: usize) -> usize {
    let mut earlier = Few::<usize>::new();
    let mut number = 0;
    for position in positions {
        let lower = earlier.iter().filter(|earlier| **earlier < position).count();
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
                let position = |&device: &usize| members(0b110_1101).position(|member| member == device);
                assert_eq!(arrangement(devices.iter().filter_map(position), 5), next);
                next += 1;
            });
            assert_eq!(next as u64, arrangements(5, ranks));
        }
    }

    #[test]
    fn trees_have_narrow_frontiers() {
        for k in 2..=16 {
            let plan = Plan::new(&Pattern::binary_tree(k), 16);
            let widest = plan.and_then(|plan| plan.steps.iter().map(|step| step.frontier).max());
            assert!(widest.is_some_and(|widest| widest <= 2), "{k}: {widest:?}");
        }
    }
}
