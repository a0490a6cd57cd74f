//! The best set of devices for a ring on a small machine, without a search by a policy.
//!
//! A list scheduler asks at every event for every kind of job that waits. On a machine of up to
//! sixteen whole devices, few are free at a time, and all sets of them are looked at in the time of
//! a few memory accesses each. A policy's decision costs about a thousand times as much, so it is
//! only made for a job that starts, on the set found here.

use std::sync::Arc;

use mapa_core::{DeviceId, HardwareGraph, Objective, Patience, Pattern, SetScores};

/// What a set must be best at, before the other criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// The least run time, then the most direct bandwidth left.
    Fastest,
    /// The most direct bandwidth left, then the least run time.
    MostLeft,
}

/// A machine of up to sixteen whole devices.
#[derive(Debug)]
pub(super) struct MachineSets {
    /// The bandwidths of rings, by number of ranks; none below two.
    rings: Vec<Option<Arc<SetScores>>>,
    /// The bandwidth of the direct link between two devices, GB/s; 0 if there is none.
    direct: Vec<Vec<f64>>,
}

/// A set, and how it compares with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundSet {
    /// One bit for each device.
    pub(super) set: u32,
    /// The bandwidth of the ring on it, GB/s; infinite for one device.
    pub(super) gbps: f64,
    /// The slowdown in units of 1e-9 and the lost bandwidth in kB/s, in the order of the [`Aim`];
    /// the lesser key is better.
    key: [i64; 2],
}

impl MachineSets {
    /// The machine's sets, rings compared by a model of bandwidth. `None` if it has more than
    /// sixteen devices, or devices that can be partitioned.
    ///
    /// # Complexity
    /// Once for a machine, O(2ᵐ) bandwidths of rings on m devices, each when its size is first
    /// asked for.
    pub(super) fn of(graph: &HardwareGraph) -> Option<Self> {
        let small = graph.len() <= SetScores::MOST_DEVICES && graph.wholes().len() == graph.len();
        small.then(|| {
            let ids = || (0..graph.len() as u32).map(DeviceId);
            let between = |a, b| {
                let link = if a == b { None } else { Some(graph.link(a, b)) };
                link.filter(|link| link.class.is_direct())
                    .map_or(0.0, |link| link.gbps)
            };
            Self {
                rings: vec![None; graph.len() + 1],
                direct: ids()
                    .map(|a| ids().map(|b| between(a, b)).collect())
                    .collect(),
            }
        })
    }

    /// The best of the free sets for a ring of `k` devices. `None` if too few are free, or the ring
    /// fits on none.
    ///
    /// # Complexity
    /// O(C(n, k) k) for n free devices.
    pub(super) fn best(
        &mut self,
        graph: &HardwareGraph,
        model: &Objective<'static>,
        (k, aim): (usize, Aim),
        free: u32,
    ) -> Option<FoundSet> {
        if k == 0 || free.count_ones() < k as u32 {
            return None;
        }
        if k > 1 && self.rings[k].is_none() {
            self.rings[k] = SetScores::of(graph, model, &Pattern::ring(k));
        }
        let devices = (0..self.direct.len()).filter(|at| free >> at & 1 != 0);
        let devices: Vec<usize> = devices.collect();
        let each = |&at: &usize| devices.iter().map(|&other| self.direct[at][other]).sum();
        let mut search = SetSearch {
            sets: self,
            scores: self.rings[k].as_deref().filter(|_| k > 1),
            aim,
            links: devices.iter().map(each).collect(),
            devices,
            chosen: Vec::with_capacity(k),
            best: None,
        };
        search.extend(0, k, 0, 0.0);
        search.best
    }
}

/// A visit to all sets of some devices, ascending by their devices.
struct SetSearch<'s> {
    sets: &'s MachineSets,
    scores: Option<&'s SetScores>,
    aim: Aim,
    /// The free devices.
    devices: Vec<usize>,
    /// The direct bandwidth from each of them to all others, GB/s.
    links: Vec<f64>,
    chosen: Vec<usize>,
    best: Option<FoundSet>,
}

impl SetSearch<'_> {
    /// Visits all sets of the chosen devices and `more` of those from `from` on. `lost` is the
    /// direct bandwidth that the chosen ones take from the free ones, GB/s.
    fn extend(&mut self, from: usize, more: usize, set: u32, lost: f64) {
        if more == 0 {
            return self.visit(set, lost);
        }
        // Enough devices remain for the rest of the set: `best` has checked that at least k are
        // free.
        for at in from..=self.devices.len() - more {
            let device = self.devices[at];
            // Links between two chosen devices are lost once.
            let row = &self.sets.direct[device];
            let within: f64 = self.chosen.iter().map(|&other| row[other]).sum();
            self.chosen.push(device);
            self.extend(
                at + 1,
                more - 1,
                set | 1 << device,
                lost + self.links[at] - within,
            );
            self.chosen.pop();
        }
    }

    fn visit(&mut self, set: u32, lost: f64) {
        let gbps = match self.scores {
            None => f64::INFINITY,
            Some(scores) => match scores.at(set) {
                Some(gbps) => gbps,
                None => return,
            },
        };
        // Rounded, so that sums in another order make no difference.
        // The default ratio in place of the job's: all ratios above 1 order the bandwidths alike,
        // and so a search does not depend on the job.
        let slow = (Patience::default().slowdown_at(gbps) * 1e9).round() as i64;
        let lost = (lost * 1e6).round() as i64;
        let key = match self.aim {
            Aim::Fastest => [slow, lost],
            Aim::MostLeft => [lost, slow],
        };
        if self.best.is_none_or(|best| key < best.key) {
            self.best = Some(FoundSet { set, gbps, key });
        }
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::testing::machines;
    use mapa_core::{effective_gbps, ring_packing_gbps};
    use proptest::prelude::*;

    use super::*;

    /// The direct bandwidth within a set, GB/s.
    fn within(graph: &HardwareGraph, set: u32) -> f64 {
        let set = (0..graph.len() as u32).filter(|at| set >> at & 1 != 0);
        let set: mapa_core::DeviceSet = set.map(DeviceId).collect();
        graph.bandwidth_within(&set, |link| link.class.is_direct())
    }

    proptest! {
        #![proptest_config(mapa_core::testing::cases(60))]

        #[test]
        fn the_best_set_is_that_of_a_visit_to_all(graph in machines(1..=7), free in any::<u32>(), k in 1usize..6, packing in any::<bool>()) {
            let model = if packing { ring_packing_gbps() } else { effective_gbps() };
            let free = free & ((1 << graph.len()) - 1);
            let scores = SetScores::of(&graph, &model, &Pattern::ring(k));
            let slow = |set| match &scores {
                Some(scores) if k > 1 => scores.at(set).map(|gbps| Patience::default().slowdown_at(gbps)),
                _ => Some(1.0),
            };
            let all = (1..1u32 << graph.len()).filter(|set| set & !free == 0 && set.count_ones() == k as u32);
            let all: Vec<[f64; 2]> = all.filter_map(|set| Some([slow(set)?, -within(&graph, free & !set)])).collect();
            for (aim, [first, second]) in [(Aim::Fastest, [0, 1]), (Aim::MostLeft, [1, 0])] {
                let least = |of: &mut dyn Iterator<Item = f64>| of.fold(f64::INFINITY, f64::min);
                let best = least(&mut all.iter().map(|figures| figures[first]));
                let next = least(&mut all.iter().filter(|figures| figures[first] <= best + 1e-6).map(|figures| figures[second]));
                let found = MachineSets::of(&graph).unwrap();
                let found = { found }.best(&graph, &model, (k, aim), free);
                prop_assert_eq!(found.is_some(), !all.is_empty());
                if let Some(found) = found {
                    let own = [slow(found.set).unwrap(), -within(&graph, free & !found.set)];
                    prop_assert!((own[first] - best).abs() < 1e-6 && (own[second] - next).abs() < 1e-6);
                }
            }
        }
    }
}
