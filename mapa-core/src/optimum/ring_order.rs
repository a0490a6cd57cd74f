//! The best rank order of a ring on up to sixteen devices, from a table over subsets (Held and Karp 1962).

use super::criterion::Criterion;
use super::edge_sums::EdgeSums;
use super::links::LinkKinds;
use super::problem::Problem;
use crate::ids::DeviceId;
use crate::matching::{Few, Placement};
use crate::reach::Family;
use crate::score::{Form, Objective};
use crate::topology::DeviceSet;

/// The most devices: the table has k 2^(k - 1) entries.
const MOST_RANKS: usize = 16;

/// The fewest devices for which the table is made; on fewer a search is as fast.
const FEWEST_RANKS: usize = 8;

impl<'o, 'a> Problem<'o, 'a> {
    /// The criteria that depend on rank orders.
    fn order_criteria(&self) -> Few<&'o Criterion<'a>> {
        let pattern = &self.request.pattern;
        let sees_order = |objective: &Objective<'_>| !objective.is_of_set(pattern);
        let criteria = self.criteria.iter();
        criteria
            .filter(|criterion| criterion.objective().is_some_and(sees_order))
            .collect()
    }

    /// Whether the job is a ring whose rank orders are compared by sums over its edges.
    pub(super) fn is_ring_of_sums(&self) -> bool {
        let Problem {
            request,
            requirements,
            ..
        } = *self;
        let is_sum = |criterion: &&Criterion<'_>| {
            let sum = criterion.exact_sum();
            sum.is_some_and(|(objective, _)| matches!(objective.form(), Form::Edges(_)))
        };
        (FEWEST_RANKS..=MOST_RANKS).contains(&request.pattern.len())
            && request.pattern.family() == Family::Ring
            && request.pattern.traffic().is_some()
            && requirements.is_empty()
            && self.order_criteria().iter().all(is_sum)
    }

    /// The best rank order of a ring on a set, from a table over subsets; `None` if sums over its edges are
    /// no whole numbers of moderate size.
    pub(super) fn ring_order(&self, set: &DeviceSet) -> Option<Placement> {
        let pattern = &self.request.pattern;
        let devices: Few<DeviceId> = set.iter().collect();
        let kinds = LinkKinds::new(self, &devices);
        let sums = EdgeSums::new(pattern, &kinds, &self.order_criteria())?;
        let edge = pattern.edges().first()?;
        let values: Few<_> = (0..kinds.len()).map(|kind| sums.of(edge, kind)).collect();
        // The first sum decides, then the second: as one number, in the greatest unit that both have.
        let unit = |at: usize| {
            let all = values.iter().map(|value| value[at].unsigned_abs());
            all.fold(0, greatest_common_divisor).max(1) as i64
        };
        let (first, second) = (unit(0), unit(1));
        let most = values
            .iter()
            .map(|value| (value[1] / second).abs())
            .max()
            .unwrap_or(0);
        let step = most.checked_mul(2 * devices.len() as i64)?.checked_add(1)?;
        let mut combined: Few<i64> = Few::new();
        for value in &values {
            let sum = (value[0] / first)
                .checked_mul(step)?
                .checked_add(value[1] / second)?;
            combined.push(Some(sum).filter(|sum| sum.abs() < i64::MAX / 64)?);
        }
        let mut between: Vec<i64> = Vec::with_capacity(devices.len().pow(2));
        for a in 0..devices.len() {
            for b in 0..devices.len() {
                between.push(if a == b {
                    0
                } else {
                    combined[kinds.between(a, b)?]
                });
            }
        }
        let order = best_ring(devices.len(), |a, b| between[a * devices.len() + b]);
        Some(order.into_iter().map(|at| devices[at]).collect())
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// The numbers `0..k` in ring order such that the values of neighbours have the highest sum, and of such
/// orders the smallest. `value` is the same both ways.
///
/// # Complexity
/// O(k² 2ᵏ).
fn best_ring(k: usize, value: impl Fn(usize, usize) -> i64) -> Vec<usize> {
    if k < 3 {
        return (0..k).collect();
    }
    // The ring starts with 0. The others are bits.
    let others = k - 1;
    let full = (1usize << others) - 1;
    let between: Vec<i64> = (0..others * others)
        .map(|at| match (at / others, at % others) {
            (a, b) if a == b => 0,
            (a, b) => value(a + 1, b + 1),
        })
        .collect();
    let from_first: Vec<i64> = (0..others).map(|b| value(0, b + 1)).collect();
    // The most that the rest of the ring can have, by the devices that were visited and the last of them.
    let mut rest = vec![i64::MIN; (full + 1) * others];
    rest[full * others..].copy_from_slice(&from_first);
    for visited in (1..full).rev() {
        let mut lasts = visited;
        while lasts != 0 {
            let last = lasts.trailing_zeros() as usize;
            lasts &= lasts - 1;
            let row = &between[last * others..(last + 1) * others];
            let (mut most, mut open) = (i64::MIN, full & !visited);
            while open != 0 {
                let next = open.trailing_zeros() as usize;
                open &= open - 1;
                most = most.max(row[next] + rest[(visited | 1 << next) * others + next]);
            }
            rest[visited * others + last] = most;
        }
    }
    let with = |visited: usize, last: Option<usize>, next: usize| {
        let step = last.map_or(from_first[next], |last| between[last * others + next]);
        step + rest[(visited | 1 << next) * others + next]
    };
    let (mut order, mut visited, mut last) = (vec![0], 0, None);
    while visited != full {
        let open = (0..others).filter(|next| visited >> next & 1 == 0);
        // The first of equals stays.
        let best = open.reduce(|best, next| {
            if with(visited, last, next) > with(visited, last, best) {
                next
            } else {
                best
            }
        });
        let Some(next) = best else { break };
        order.push(next + 1);
        visited |= 1 << next;
        last = Some(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All orders of `0..k` that start with 0, ascending.
    fn orders(k: usize) -> Vec<Vec<usize>> {
        let mut orders = vec![vec![0]];
        for _ in 1..k {
            orders = (orders.into_iter())
                .flat_map(|order| {
                    let next = (0..k)
                        .filter(|next| !order.contains(next))
                        .collect::<Vec<_>>();
                    next.into_iter()
                        .map(move |next| [&order[..], &[next]].concat())
                })
                .collect();
        }
        orders
    }

    #[test]
    fn the_first_of_the_best_orders_is_found() {
        let mut seed = 7u64;
        for k in 1..=7 {
            for most in [1, 2, 50] {
                let mut draw = || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) as i64 % (most + 1) - most / 2
                };
                let values: Vec<i64> = (0..k * k).map(|_| draw()).collect();
                let value = |a: usize, b: usize| values[a.min(b) * k + a.max(b)];
                let sum = |order: &Vec<usize>| -> i64 {
                    (0..k).map(|at| value(order[at], order[(at + 1) % k])).sum()
                };
                let all = orders(k);
                let most = all.iter().map(sum).max();
                let first = all.into_iter().find(|order| Some(sum(order)) == most);
                assert_eq!(Some(best_ring(k, value)), first, "{k}: {values:?}");
            }
        }
    }
}
