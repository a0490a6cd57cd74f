//! Upper bounds on each criterion for all placements within a set of devices.
//!
//! A bound uses the links within the set, but not the pattern's shape. n edges can do no better
//! than the n best links of the set. Counts of links can do no better than the best distribution of
//! the edges over the tiers that occur in the set. Bounds are cheap. They are exact where links are
//! alike, as behind a link switch: there the first placement meets its bound, and the search ends.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::criterion::{Criterion, CriterionKind};
use crate::matching::Few;
use crate::pattern::{Demand, Pattern};
use crate::score::{Census, EdgeOn, Form, Objective, Seat, Subset, Tiers};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link};
use crate::view::View;

/// The most tiers for which all distributions of the edges are tried; with more there is no bound.
const MOST_TIERS: usize = 3;

/// The most edges that are distributed; with more there is no bound, as E edges have some E² / 2
/// distributions.
const MOST_EDGES: usize = 256;

/// Sums of multiples of 1 / `FRACTIONS` are exact in any order, as long as they are below
/// [`MOST_EXACT`] / `FRACTIONS`. Real bandwidths are such multiples.
const FRACTIONS: f64 = 1024.0;

/// 2^52: whole numbers up to this are exact in `f64`.
const MOST_EXACT: f64 = (1u64 << 52) as f64;

pub(super) struct CriteriaBounds<'b, 'a> {
    graph: &'b HardwareGraph,
    view: &'b View<'b>,
    pub(super) pattern: &'b Pattern,
    pub(super) criteria: &'b [Criterion<'a>],
    /// Whether all edges have the same traffic and join different pairs, so that no two use the
    /// same link.
    alike: bool,
    /// Bounds of criteria of links, by criterion and the tiers that occur (as a bit mask).
    known: RefCell<HashMap<(usize, u32), f64>>,
}

impl<'b, 'a> CriteriaBounds<'b, 'a> {
    pub(super) fn new(
        view: &'b View<'b>,
        pattern: &'b Pattern,
        criteria: &'b [Criterion<'a>],
    ) -> Self {
        let mut pairs: Vec<_> = pattern
            .edges()
            .iter()
            .map(|edge| (edge.a, edge.b))
            .collect();
        pairs.sort_unstable();
        let alike = pairs.windows(2).all(|pair| pair[0] != pair[1]) && pattern.traffic().is_some();
        Self {
            graph: view.graph(),
            view,
            pattern,
            criteria,
            alike,
            known: RefCell::default(),
        }
    }

    /// An upper bound on `criteria[at]` for any placement within `set`. Signed as keys are: the
    /// higher the better.
    ///
    /// # Complexity
    /// O(m² log m) for m devices in `set`. For objectives of the devices that stay free, m counts
    /// all free devices.
    pub(super) fn within(&self, at: usize, set: &DeviceSet) -> f64 {
        let (objective, sign) = match &self.criteria[at].kind {
            CriterionKind::Max(objective) => (objective, 1.0),
            CriterionKind::Min(objective) => (objective, -1.0),
            CriterionKind::LowestIds => return 0.0,
        };
        match objective.form() {
            Form::Edges(f) => self.edges(|edge| sign * f(edge), set),
            Form::Links(tiers, f) => self.links(at, tiers, |census| sign * f(census), set),
            Form::Devices(f) => self.devices(|seat| sign * f(seat), set),
            Form::Rest(_) => objective.pair_sum().map_or(f64::INFINITY, |sum| {
                self.left(|a, b| sign * (sum.value)(self.graph, a, b), set)
            }),
            _ => {
                let part = Subset {
                    graph: self.graph,
                    devices: set,
                };
                let stated = objective
                    .foresight()
                    .map(|foresight| (foresight.within)(part, self.pattern.len()));
                stated
                    .filter(|value| !value.is_nan())
                    .map_or(f64::INFINITY, |value| sign * value)
            }
        }
    }

    /// An upper bound on `criteria[at]` for placements on exactly the devices of `set`.
    pub(super) fn of(&self, at: usize, set: &DeviceSet) -> f64 {
        let stated = |objective: &Objective<'_>| {
            objective.best_on(Subset {
                graph: self.graph,
                devices: set,
            })
        };
        let stated = match &self.criteria[at].kind {
            CriterionKind::Max(objective) => stated(objective),
            CriterionKind::Min(objective) => stated(objective).map(|value| -value),
            CriterionKind::LowestIds => None,
        };
        // A bound that is not a number bounds nothing.
        stated
            .filter(|value| !value.is_nan())
            .unwrap_or_else(|| self.within(at, set))
    }

    /// The sum with every rank on its best device, even if several ranks take the same one.
    fn devices(&self, f: impl Fn(&Seat<'_>) -> f64, set: &DeviceSet) -> f64 {
        let best = |demand: &Demand| {
            let values = set.iter().map(|id| {
                f(&Seat {
                    view: *self.view,
                    demand,
                    id,
                })
            });
            values.fold(f64::NEG_INFINITY, f64::max)
        };
        self.pattern.demands().iter().map(best).sum()
    }

    /// A bound on a sum over the pairs of devices that stay free. Removing k devices removes the
    /// links of each to all free devices; links between two removed devices are then subtracted
    /// twice. So the bound is the sum of all links, minus that of the k devices with the least
    /// sums, plus the best k (k - 1) / 2 links in `set`.
    ///
    /// A device that is not free, as one with tenants that share it, removes nothing. Its links may not
    /// count: where the sum is minimised, links are negative, and one too many makes the bound too low.
    fn left(&self, f: impl Fn(DeviceId, DeviceId) -> f64, set: &DeviceSet) -> f64 {
        let k = self.pattern.len();
        if self.graph.can_be_cut() || k > set.len() {
            return f64::INFINITY;
        }
        let free = self.view.free() & &self.graph.wholes();
        let mut lost: BTreeMap<DeviceId, f64> = set.iter().map(|id| (id, 0.0)).collect();
        let (mut all, mut size, mut within, mut round) = (0.0, 0.0, Vec::new(), true);
        let pairs = free.iter().flat_map(|b| {
            let lower = free.iter().take_while(move |a| *a < b);
            lower.map(move |a| (a, b))
        });
        for (a, b) in pairs {
            // Along the rows of links, as in `links`.
            let value = f(b, a);
            all += value;
            size += value.abs();
            round &= (value * FRACTIONS).fract() == 0.0;
            let inside = [a, b].map(|id| lost.get_mut(&id).map(|sum| *sum += value).is_some());
            if inside == [true; 2] {
                within.push(value);
            }
        }
        let most_within = k * k.saturating_sub(1) / 2;
        if !set.is_subset(&free) {
            // Between a device that is not free and any other nothing is subtracted twice.
            within.extend(std::iter::repeat_n(0.0, most_within));
        }
        let mut lost: Vec<f64> = lost.into_values().collect();
        lost.sort_unstable_by(f64::total_cmp);
        within.sort_unstable_by(|a, b| b.total_cmp(a));
        let twice: f64 = within.iter().take(most_within).sum();
        // A score is added up in another order. Unless all sums are exact, this one may be lower in
        // its last digits, so a margin is added.
        let exact = round && size * FRACTIONS < MOST_EXACT;
        let noise = if exact {
            0.0
        } else {
            size * f64::EPSILON * within.len() as f64
        };
        let bound = all - lost[..k].iter().sum::<f64>() + twice + noise;
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    fn edges(&self, f: impl Fn(EdgeOn) -> f64, set: &DeviceSet) -> f64 {
        // No edge, no pair to look at: a thousand devices have half a million.
        if self.pattern.edges().is_empty() {
            return 0.0;
        }
        let mut best: Few<(u64, f64)> = Few::new();
        let mut each_at_best = 0.0;
        for edge in self.pattern.edges() {
            let traffic = edge.traffic;
            let known = best
                .iter()
                .find(|(bits, _)| *bits == traffic.to_bits())
                .map(|(_, value)| *value);
            // `max` passes over NaN, which ranks below everything.
            let value = known.unwrap_or_else(|| {
                let values = links(self.graph, set).map(|link| f(EdgeOn { traffic, link }));
                values.fold(f64::NEG_INFINITY, f64::max)
            });
            if known.is_none() {
                best.push((traffic.to_bits(), value));
            }
            each_at_best += value;
        }
        if !self.alike {
            return each_at_best;
        }
        let traffic = self
            .pattern
            .edges()
            .first()
            .map_or(1.0, |edge| edge.traffic);
        let mut values: Vec<f64> = links(self.graph, set)
            .map(|link| f(EdgeOn { traffic, link }))
            .collect();
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values.truncate(self.pattern.edges().len());
        let sizes: f64 = values.iter().map(|value| value.abs()).sum();
        // A score is added up in another order, so this sum may be lower in its last digits: add a
        // margin.
        let distinct = values.iter().sum::<f64>() + sizes * f64::EPSILON * values.len() as f64;
        if distinct.is_nan() {
            each_at_best
        } else {
            each_at_best.min(distinct)
        }
    }

    fn links(&self, at: usize, tiers: &Tiers, f: impl Fn(&Census) -> f64, set: &DeviceSet) -> f64 {
        if self.pattern.edges().is_empty() {
            return f(&Census::default());
        }
        let mut occur = 0u32;
        for link in links(self.graph, set) {
            occur |= 1 << tiers.of(link.class);
        }
        *self
            .known
            .borrow_mut()
            .entry((at, occur))
            .or_insert_with(|| {
                let occurring: Few<usize> = (0..32).filter(|tier| occur >> tier & 1 == 1).collect();
                if occurring.len() > MOST_TIERS || self.pattern.edges().len() > MOST_EDGES {
                    return f64::INFINITY;
                }
                let mut best = f64::NEG_INFINITY;
                share_out(
                    self.pattern.edges().len() as u32,
                    &occurring,
                    Census::default(),
                    &mut |census| {
                        best = best.max(f(census));
                    },
                );
                best
            })
    }
}

/// The best link of each pair of a set that is joined.
fn links<'s>(graph: &'s HardwareGraph, set: &'s DeviceSet) -> impl Iterator<Item = Link> + 's {
    let pairs = set.iter().flat_map(move |b| {
        set.iter()
            .take_while(move |a| *a < b)
            .map(move |a: DeviceId| (a, b))
    });
    // Along the rows of links, which lie in memory one after another.
    pairs
        .map(|(a, b)| graph.link(b, a))
        .filter(|link| link.exists())
}

/// Calls `f` for every way to distribute `edges` edges over these tiers, added to `so_far`.
fn share_out(edges: u32, tiers: &[usize], so_far: Census, f: &mut impl FnMut(&Census)) {
    match tiers {
        [] if edges == 0 => f(&so_far),
        [] => {}
        [last] => f(&so_far.with(*last, edges)),
        [tier, rest @ ..] => {
            for here in 0..=edges {
                share_out(edges - here, rest, so_far.with(*tier, here), f);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matching::oracle::raw_matches;
    use crate::optimum::criterion::{max, min};
    use crate::score::Candidate;
    use crate::testing::{machines, patterns};

    proptest! {
        /// Also of patterns whose edges carry unlike traffic: the bound of one edge is not another's.
        #[test]
        fn no_match_within_a_set_is_above_its_bound(
            graph in machines(2..=5), pattern in patterns(2..=4), turn in 0.0..6.0,
        ) {
            let all = graph.all();
            let view = graph.with_free(&all);
            // Which link is best depends on the traffic, and more traffic is worth more on any.
            let value = move |edge: EdgeOn| {
                edge.traffic * 100.0 + f64::sin(edge.link.gbps * 0.1 + edge.traffic * turn)
            };
            let objective = Objective::edges("sum", value);
            let criteria = [max(objective.clone()), min(objective.clone())];
            let bounds = CriteriaBounds::new(&view, &pattern, &criteria);
            let [most, least] = [0, 1].map(|at| bounds.within(at, &all) + 1e-9);
            for placement in raw_matches(&pattern, &graph, &all, false) {
                let candidate = Candidate { view: graph.with_free(&all), pattern: &pattern, placement: &placement };
                let score = objective.score(&candidate);
                prop_assert!(score <= most && -score <= least, "{placement:?}: {score}");
            }
        }
    }
}
