//! Any pattern, placed rank by rank.
//!
//! What matters of the ranks placed so far is the set of devices they took and where those of them lie that still have
//! neighbours to come: the frontier. A state is both, and holds the counts of all ways to get there. Trees have frontiers of
//! one or two, so there are few states; the order of placing with least work is found first, over all subsets of ranks.

use super::grid::Grid;
use super::kinds::{KINDS, Kinds};
use super::subsets::{Mask, before, choose, members, of_size, place};
use super::{Counts, multiplicity};
use crate::matching::Few;
use crate::pattern::Pattern;

/// The most work that a table is worth: states reached, times the words of their counts. Some 0.1 s.
const MOST_WORK: u64 = 12_000_000;

/// The most states of one level.
const MOST_STATES: u64 = 2_000_000;

/// For every set of as many devices as there are ranks, the counts of all placements on it.
pub(crate) enum Frontier {
    Small(Vec<Grid<1>>),
    Large(Vec<Grid<4>>),
    Huge(Vec<Grid<16>>),
}

impl Frontier {
    /// None if it would take too long, or its counts do not fit.
    pub(super) fn new(pattern: &Pattern, kinds: &Kinds) -> Option<Self> {
        let words = match pattern.edges().len() {
            0..=7 => 1,
            8..=15 => 4,
            16..=31 => 16,
            _ => return None,
        };
        let steps = plan(pattern, kinds.len(), MOST_WORK / words)?;
        Some(match words {
            1 => Self::Small(counts_by_set(&steps, kinds)),
            4 => Self::Large(counts_by_set(&steps, kinds)),
            _ => Self::Huge(counts_by_set(&steps, kinds)),
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

/// Placing one rank.
struct Step {
    /// Positions in the frontier before it of the ranks that it talks to, and by how many edges.
    talks: Few<(usize, u32)>,
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

/// The order of placing with least work, by dynamic programming over sets of ranks. O(2ᵏ k).
fn plan(pattern: &Pattern, n: usize, most: u64) -> Option<Vec<Step>> {
    let k = pattern.len();
    let mut around: Vec<Mask> = vec![0; k];
    for edge in pattern.edges() {
        around[usize::from(edge.a)] |= 1 << edge.b;
        around[usize::from(edge.b)] |= 1 << edge.a;
    }
    let frontier = |placed: Mask| members(placed).filter(|&rank| around[rank] & !placed != 0).collect::<Few<usize>>();
    let states = |placed: Mask| {
        let size = placed.count_ones() as usize;
        choose(n, size).saturating_mul(arrangements(size, frontier(placed).len()))
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
    if least[all as usize].0 > most {
        return None;
    }
    let mut order = Few::<usize>::new();
    let mut placed = all;
    while placed != 0 {
        let (_, last) = least[placed as usize];
        order.push(last as usize);
        placed &= !(1 << last);
    }
    order.reverse();
    let mut open = Few::<usize>::new();
    let mut placed: Mask = 0;
    let step = |&rank: &usize| {
        placed |= 1 << rank;
        let edges = |other: usize| multiplicity(pattern.edges(), rank, other);
        let talks = open.iter().enumerate().map(|(at, &other)| (at, edges(other))).filter(|(_, edges)| *edges > 0);
        let stays = |rank: usize| around[rank] & !placed != 0;
        let step = Step {
            talks: talks.collect(),
            stay: open.iter().enumerate().filter(|(_, other)| stays(**other)).map(|(at, _)| at).collect(),
            joins: stays(rank),
            frontier: open.len(),
        };
        open.retain(|other| stays(*other));
        open.extend(step.joins.then_some(rank));
        step
    };
    Some(order.iter().map(step).collect())
}

fn counts_by_set<const W: usize>(steps: &[Step], kinds: &Kinds) -> Vec<Grid<W>> {
    let n = kinds.len();
    let mut states = vec![Grid::<W>::origin()];
    for (size, step) in steps.iter().enumerate() {
        let frontier = step.stay.len() + usize::from(step.joins);
        let each = arrangements(size + 1, frontier) as usize;
        let mut next = vec![Grid::<W>::EMPTY; choose(n, size + 1) as usize * each];
        let mut all = states.iter();
        for set in of_size(n, size) {
            each_arrangement(set, step.frontier, &mut Few::new(), &mut |devices| {
                if let Some(grid) = all.next().filter(|grid| !grid.is_empty()) {
                    place_one(step, kinds, (set, devices), grid, &mut next, each);
                }
            });
        }
        states = next;
    }
    states
}

fn place_one<const W: usize>(
    step: &Step,
    kinds: &Kinds,
    (set, devices): (Mask, &[usize]),
    grid: &Grid<W>,
    next: &mut [Grid<W>],
    each: usize,
) {
    'devices: for device in members(!set & ((1 << kinds.len()) - 1)) {
        let mut edges = [0; KINDS];
        for &(at, many) in &step.talks {
            let Some(kind) = kinds.between(devices[at], device) else { continue 'devices };
            edges[kind] += many;
        }
        let grown = set | 1 << device;
        let kept = step.stay.iter().map(|&at| devices[at]).chain(step.joins.then_some(device));
        let at = place(grown) * each + arrangement(grown, kept);
        next[at].join(&grid.moved(edges[0], edges[1]));
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

/// The number of an arrangement in that order.
fn arrangement(set: Mask, devices: impl Iterator<Item = usize>) -> usize {
    let (mut left, mut number) = (set, 0);
    for device in devices {
        number = number * left.count_ones() as usize + before(left, device);
        left &= !(1 << device);
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
                assert_eq!(arrangement(0b110_1101, devices.iter().copied()), next);
                next += 1;
            });
            assert_eq!(next as u64, arrangements(5, ranks));
        }
    }

    #[test]
    fn trees_have_narrow_frontiers() {
        for k in 2..=16 {
            let steps = plan(&Pattern::binary_tree(k), 16, u64::MAX >> 8);
            let widest = steps.into_iter().flatten().map(|step| step.frontier).max();
            assert!(widest.is_some_and(|widest| widest <= 3), "{k}: {widest:?}");
        }
    }
}
