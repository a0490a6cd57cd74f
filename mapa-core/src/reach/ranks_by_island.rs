//! How a pattern can spread over islands of interchangeable devices, by the number of its edges that lie
//! between islands.
//!
//! All devices of an island are alike: joined to each other by links of one kind, and to the devices of
//! other islands by links of another. So a set of devices is a list of numbers, the ranks on each island,
//! and the value of a placement depends on the number of edges between islands alone. Which lists allow
//! which numbers has a closed form:
//!
//! - A ring over several islands falls into p paths, each within one island, and has p edges between
//!   islands. It exists if no two paths of one island must be neighbours. That is so if at least two
//!   islands (three if p is odd) and at most p have ranks, and none has more than k - ⌈p/2⌉ of the k.
//! - A chain of p paths has p - 1 such edges, needs at least two islands if p is above one, and no island
//!   may have more than k - ⌊p/2⌋.
//! - A star has as many edges within islands as its root's island has leaves.
//! - All-to-all has one edge within an island for each pair of ranks there.
//!
//! The ranks of lowest ids are then found island by island: each takes as many as leave the others a way.

use std::cell::OnceCell;

use super::family::Family;

/// The most ranks of all-to-all: its table grows with their fourth power.
const MOST_RANKS_OF_ALL: usize = 64;

/// A pattern of one family, and the numbers of devices of the islands that its ranks may use.
pub(crate) struct RanksByIsland<'f> {
    family: Family,
    ranks: usize,
    /// By island, ids ascending from island to island.
    free: &'f [usize],
    /// For all-to-all alone, made when first needed: by island and ranks, the numbers of pairs within
    /// islands that this island and those after it can have, a bit each.
    inside: OnceCell<Vec<Vec<Vec<u64>>>>,
}

/// The lists of ranks by island that allow a ring or chain with some number of edges between islands.
#[derive(Clone, Copy)]
struct PathRule {
    /// The most ranks of one island.
    most: usize,
    fewest_islands: usize,
    most_islands: usize,
}

impl<'f> RanksByIsland<'f> {
    /// `None` for patterns whose edges between islands have no closed form.
    pub(crate) fn new(family: Family, ranks: usize, free: &'f [usize]) -> Option<Self> {
        let has_form = matches!(
            family,
            Family::Pair | Family::Ring | Family::Chain | Family::Star | Family::AllToAll
        );
        let is_small = family != Family::AllToAll || ranks <= MOST_RANKS_OF_ALL;
        (has_form && is_small && ranks > 1).then_some(Self {
            family,
            ranks,
            free,
            inside: OnceCell::new(),
        })
    }

    /// The number of joined pairs of ranks.
    pub(crate) fn pairs(&self) -> usize {
        match self.family {
            Family::Ring => self.ranks,
            Family::Pair | Family::AllToAll => pairs(self.ranks),
            _ => self.ranks - 1,
        }
    }

    /// The numbers of ranks by island that have the lowest ids of all with which exactly `between` pairs
    /// of joined ranks lie on two islands; `None` if there are none.
    ///
    /// # Complexity
    /// O(i k) for k ranks on i islands; of all-to-all O(i k⁴ / 64) once, for a table.
    pub(crate) fn earliest(&self, between: usize) -> Option<Vec<usize>> {
        match self.family {
            Family::Star => self.earliest_star(between),
            Family::Pair | Family::AllToAll => {
                self.earliest_all_to_all(pairs(self.ranks).checked_sub(between)?)
            }
            _ => self.earliest_paths(self.rule(between)?),
        }
    }

    /// The rule for a ring or chain.
    fn rule(&self, between: usize) -> Option<PathRule> {
        let k = self.ranks;
        let (paths, half) = if self.family == Family::Ring {
            (between, between.div_ceil(2))
        } else {
            (between + 1, between.div_ceil(2))
        };
        if paths > k || self.family == Family::Ring && paths == 1 {
            return None;
        }
        let one = PathRule {
            most: k,
            fewest_islands: 1,
            most_islands: 1,
        };
        let fewest_islands = match self.family {
            Family::Ring => 2 + paths % 2,
            _ => 2,
        };
        Some(if between == 0 {
            one
        } else {
            PathRule {
                most: k - half,
                fewest_islands,
                most_islands: paths,
            }
        })
    }

    fn earliest_paths(&self, rule: PathRule) -> Option<Vec<usize>> {
        // By island, the most ranks that 0, 1, 2, .. of the islands after it can have.
        let mut later: Vec<Vec<usize>> = vec![vec![0]];
        let mut largest: Vec<usize> = Vec::new();
        for &free in self.free.iter().skip(1).rev() {
            let own = free.min(rule.most);
            if own > 0 {
                let at = largest.partition_point(|&other| other >= own);
                largest.insert(at, own);
                largest.truncate(self.ranks);
            }
            let sums = largest.iter().scan(0, |sum, &own| {
                *sum += own;
                Some(*sum)
            });
            later.push(std::iter::once(0).chain(sums).collect());
        }
        later.reverse();
        let (mut left, mut used) = (self.ranks, 0);
        let mut counts = Vec::with_capacity(self.free.len());
        for (&free, later) in self.free.iter().zip(&later) {
            let most = free.min(rule.most).min(left);
            let own = (0..=most).rev().find(|&own| {
                let (left, used) = (left - own, used + usize::from(own > 0));
                let Some(open) = rule.most_islands.checked_sub(used) else {
                    return false;
                };
                // Any number of ranks between one each and the most is possible on some islands.
                let islands = open.min(later.len() - 1).min(left);
                let fewest = rule.fewest_islands.saturating_sub(used);
                fewest <= islands && left <= later[islands]
            })?;
            left -= own;
            used += usize::from(own > 0);
            counts.push(own);
        }
        (left == 0).then_some(counts)
    }

    /// The root's island has all leaves but `between`.
    fn earliest_star(&self, between: usize) -> Option<Vec<usize>> {
        let own = self.ranks.checked_sub(between).filter(|&own| own > 0)?;
        let all: usize = self.free.iter().sum();
        let of_root = |root: usize| {
            let free = self.free[root];
            if own > free || between > all - free {
                return None;
            }
            let mut left = between;
            let counts = self.free.iter().enumerate().map(|(island, &free)| {
                if island == root {
                    return own;
                }
                let other = free.min(left);
                left -= other;
                other
            });
            Some(counts.collect::<Vec<_>>())
        };
        // More ranks on an earlier island are lower ids.
        (0..self.free.len()).filter_map(of_root).max()
    }

    /// Exactly `inside` pairs of ranks are on one island each.
    fn earliest_all_to_all(&self, inside: usize) -> Option<Vec<usize>> {
        let has = |sums: &[u64], sum: usize| sums[sum / 64] >> (sum % 64) & 1 == 1;
        let from = self.inside.get_or_init(|| self.sums_inside());
        if !has(&from[0][self.ranks], inside) {
            return None;
        }
        let (mut left, mut open) = (self.ranks, inside);
        let mut counts = Vec::with_capacity(self.free.len());
        for (&free, rest) in self.free.iter().zip(&from[1..]) {
            let own = (0..=free.min(left)).rev().find(|&own| {
                open.checked_sub(pairs(own))
                    .is_some_and(|open| has(&rest[left - own], open))
            })?;
            left -= own;
            open -= pairs(own);
            counts.push(own);
        }
        Some(counts)
    }

    fn sums_inside(&self) -> Vec<Vec<Vec<u64>>> {
        let words = pairs(self.ranks) / 64 + 1;
        let mut last = vec![vec![0; words]; self.ranks + 1];
        last[0][0] = 1;
        let mut from = vec![last];
        for &free in self.free.iter().rev() {
            let rest = &from[from.len() - 1];
            let mut sums = vec![vec![0; words]; self.ranks + 1];
            for (ranks, sums) in sums.iter_mut().enumerate() {
                for own in 0..=free.min(ranks) {
                    join_moved(sums, &rest[ranks - own], pairs(own));
                }
            }
            from.push(sums);
        }
        from.reverse();
        from
    }

    /// The island of each rank in the smallest rank order on these numbers of ranks by island, with
    /// exactly `between` pairs of joined ranks on two islands; `None` if there is no such order. The
    /// devices of an island are taken in ascending order.
    ///
    /// # Complexity
    /// O(k i²) for k ranks on i islands.
    pub(crate) fn smallest_order(&self, counts: &[usize], between: usize) -> Option<Vec<usize>> {
        let all =
            || (0..counts.len()).flat_map(|island| std::iter::repeat_n(island, counts[island]));
        match self.family {
            Family::Pair | Family::AllToAll => {
                let inside: usize = counts.iter().map(|&own| pairs(own)).sum();
                (inside + between == pairs(self.ranks)).then(|| all().collect())
            }
            Family::Star => {
                let root = counts
                    .iter()
                    .position(|&own| own > 0 && own + between == self.ranks)?;
                let mut order: Vec<usize> = all().collect();
                let at = order.iter().position(|&island| island == root)?;
                order[..=at].rotate_right(1);
                Some(order)
            }
            _ => self.smallest_path(counts, between),
        }
    }

    /// The smallest order of a ring or chain, rank by rank: each is on the first island after which the
    /// rest has a way.
    fn smallest_path(&self, counts: &[usize], between: usize) -> Option<Vec<usize>> {
        let mut left = counts.to_vec();
        let mut open = between;
        let mut order: Vec<usize> = Vec::with_capacity(self.ranks);
        while order.len() < self.ranks {
            let last = order.last().copied();
            let next = (0..left.len()).find(|&next| {
                let step = usize::from(last.is_some_and(|last| last != next));
                if left[next] == 0 || step > open {
                    return false;
                }
                left[next] -= 1;
                let end =
                    (self.family == Family::Ring).then(|| order.first().copied().unwrap_or(next));
                let goes_on = can_go_on(&left, next, end, open - step);
                left[next] += 1;
                goes_on
            })?;
            open -= usize::from(last.is_some_and(|last| last != next));
            left[next] -= 1;
            order.push(next);
        }
        Some(order)
    }
}

/// Whether a path on island `last` can go through all that is `left`, and for a ring come back to `end`,
/// with exactly `steps` steps between islands.
///
/// Such a path is a sequence of `steps` + 1 runs, each on another island than the one before. The numbers
/// of runs by island are bounded by the ranks that are left there, and as no two runs of one island are
/// neighbours.
fn can_go_on(left: &[usize], last: usize, end: Option<usize>, steps: usize) -> bool {
    let runs = steps + 1;
    let has_others = left
        .iter()
        .enumerate()
        .any(|(island, &left)| left > 0 && island != last);
    if end == Some(last) && !has_others {
        return steps == 0;
    }
    let (mut fewest, mut most) = (0, 0);
    for (island, &left) in left.iter().enumerate() {
        // The runs at the ends, which may have no other ranks.
        let ends = usize::from(island == last) + usize::from(end == Some(island));
        if left + ends == 0 {
            continue;
        }
        // Runs that are not neighbours: every other place, from the first end that is theirs.
        let places = match (island == last, end == Some(island), end) {
            (true, true, _) => runs.div_ceil(2),
            (true, false, None) => runs.div_ceil(2),
            (false, false, Some(_)) => (runs - 1) / 2,
            _ => runs / 2,
        };
        let least = ends.max(1);
        if least > places {
            return false;
        }
        fewest += least;
        most += (left + ends).min(places);
    }
    (fewest..=most).contains(&runs)
}

/// Joins to `sums` all of `others`, each with `by` added.
fn join_moved(sums: &mut [u64], others: &[u64], by: usize) {
    let (words, bits) = (by / 64, by % 64);
    for at in (words..sums.len()).rev() {
        let low = others[at - words] << bits;
        let high = match (at - words).checked_sub(1) {
            Some(below) if bits > 0 => others[below] >> (64 - bits),
            _ => 0,
        };
        sums[at] |= low | high;
    }
}

fn pairs(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    /// By number of pairs on two islands, the best of all orders of devices: lowest ids, then smallest
    /// order, as islands.
    fn of_all_orders(pattern: &Pattern, free: &[usize]) -> Vec<Option<(Vec<usize>, Vec<usize>)>> {
        let island_of: Vec<usize> = (0..free.len())
            .flat_map(|island| std::iter::repeat_n(island, free[island]))
            .collect();
        let k = pattern.len();
        let mut best: Vec<Option<(Vec<usize>, Vec<usize>)>> = vec![None; pattern.edges().len() + 1];
        let mut orders: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..k {
            orders = orders
                .into_iter()
                .flat_map(|order| {
                    let open = (0..island_of.len()).filter(|device| !order.contains(device));
                    open.map(|device| [&order[..], &[device]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        for order in orders {
            let on = |rank: u16| island_of[order[usize::from(rank)]];
            let edges = pattern.edges().iter();
            let between = edges.filter(|edge| on(edge.a) != on(edge.b)).count();
            let mut set = order.clone();
            set.sort_unstable();
            let entry = &mut best[between];
            if entry
                .as_ref()
                .is_none_or(|old| (&set, &order) < (&old.0, &old.1))
            {
                *entry = Some((set, order));
            }
        }
        let islands = |devices: &[usize]| devices.iter().map(|&device| island_of[device]).collect();
        best.into_iter()
            .map(|entry| entry.map(|(set, order)| (islands(&set), islands(&order))))
            .collect()
    }

    fn agrees(pattern: &Pattern, free: &[usize]) {
        let k = pattern.len();
        let ranks_by_island = RanksByIsland::new(pattern.family(), k, free).unwrap();
        for (between, expected) in of_all_orders(pattern, free).into_iter().enumerate() {
            let found = ranks_by_island.earliest(between).map(|counts| {
                let set: Vec<usize> = (0..counts.len())
                    .flat_map(|island| std::iter::repeat_n(island, counts[island]))
                    .collect();
                (
                    set,
                    ranks_by_island
                        .smallest_order(&counts, between)
                        .expect("it exists"),
                )
            });
            assert_eq!(
                found, expected,
                "{pattern:?} on {free:?}, {between} between"
            );
        }
    }

    #[test]
    fn every_number_of_edges_between_islands_is_as_among_all_orders() {
        for free in [
            &[1, 1][..],
            &[2, 2],
            &[3, 1],
            &[2, 4],
            &[1, 2, 3],
            &[3, 1, 1],
            &[2, 2, 2],
            &[4, 1, 1],
            &[1, 1, 1, 1, 1],
            &[1, 3, 1, 2],
            &[0, 2, 0, 3, 1],
            &[6, 0],
        ] {
            for k in 2..=free.iter().sum::<usize>().min(6) {
                let shapes = [Pattern::chain(k), Pattern::star(k), Pattern::all_to_all(k)];
                for pattern in shapes {
                    agrees(&pattern, free);
                }
                if k > 3 {
                    agrees(&Pattern::ring(k), free);
                }
            }
        }
    }
}
