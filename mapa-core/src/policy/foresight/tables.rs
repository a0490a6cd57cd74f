//! What is worked out once for a machine: the best ring of each size within every set of devices.

use std::sync::Arc;

use super::set_of;
use crate::matching::Few;
use crate::pattern::{Demand, Pattern};
use crate::policy::criterion::max;
use crate::policy::optimum::Optimum;
use crate::policy::request::Request;
use crate::reach::{Mask, members, of_size, place};
use crate::score::Objective;
use crate::topology::{DeviceId, HardwareGraph, LinkClass};

/// What a job has on each set of as many devices as it has ranks, GB/s: on the best rank order, if a model depends on
/// that.
pub(super) struct Own {
    /// By place of the set; not a number where the job does not lie.
    values: Box<[f64]>,
}

impl Own {
    /// Of a pattern whose ranks are alike, as all that is asked of here.
    pub(super) fn of(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        pattern: &Pattern,
        least: LinkClass,
    ) -> Arc<Self> {
        let (k, traffic) = (pattern.len(), pattern.edges().first().map_or(0, |edge| edge.traffic.to_bits()));
        let key =
            [8, model.id(), pattern.family() as u64, k as u64, pattern.edges().len() as u64, traffic, least.code()];
        let memo = graph.memo();
        memo.get(&key).unwrap_or_else(|| {
            // Which devices it may have is a matter of the request.
            let request = Request::new(pattern.each(Demand::default())).min_link(least);
            let values: Box<[f64]> = of_size(graph.len(), k).map(|set| value(graph, model, &request, set)).collect();
            memo.put(&key, values.len() * 8, Self { values })
        })
    }

    /// What the job has there; none if it does not lie there.
    pub(super) fn at(&self, set: Mask) -> Option<f64> {
        self.values.get(place(set)).copied().filter(|value| !value.is_nan())
    }
}

fn value(graph: &HardwareGraph, model: &Objective<'static>, request: &Request, set: Mask) -> f64 {
    let all = graph.all();
    let (view, only) = (graph.with_free(&all), set_of(set));
    let request = request.clone().only(only);
    let criteria = [max(model.clone())];
    let optimum =
        Optimum { request: &request, view: &view, criteria: &criteria, requirements: &[], limits: request.limits };
    let (entries, _) = optimum.best();
    entries.first().map_or(f64::NAN, |entry| entry.keys[0])
}

/// The best ring of one size within every set of devices, GB/s.
pub(super) struct Rings {
    /// By set; 0 where there is none.
    best: Box<[f64]>,
}

impl Rings {
    /// O(2ᵐ m) for m devices, beside the value of each set.
    pub(super) fn of(graph: &HardwareGraph, model: &Objective<'static>, k: usize) -> Arc<Self> {
        let key = [9, model.id(), k as u64];
        let memo = graph.memo();
        memo.get(&key).unwrap_or_else(|| {
            let own = Own::of(graph, model, &Pattern::ring(k), LinkClass::None);
            let mut best = vec![f64::NEG_INFINITY; 1 << graph.len()];
            for set in of_size(graph.len(), k) {
                best[set as usize] = own.at(set).unwrap_or(f64::NEG_INFINITY);
            }
            for set in 0..best.len() {
                let without = |member: usize| best[set & !(1 << member)];
                best[set] = members(set as Mask).map(without).fold(best[set], f64::max);
            }
            best.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
            memo.put(&key, best.len() * 8, Self { best: best.into() })
        })
    }

    pub(super) fn within(&self, set: Mask) -> f64 {
        self.best[set as usize]
    }
}

/// The best rings of all sizes within every set of devices, weighted by how many jobs ask for them.
pub(super) struct Mix {
    /// The largest size that fits the machine.
    pub(super) longest: usize,
    /// By set and size: the sum over this and all smaller sizes of share x best ring, GB/s.
    sums: Box<[f64]>,
}

impl Mix {
    pub(super) fn of(graph: &HardwareGraph, model: &Objective<'static>, sizes: &[(usize, f64)]) -> Arc<Self> {
        let mut key: Few<u64> = Few::new();
        key.extend([10, model.id()]);
        key.extend(sizes.iter().flat_map(|(size, share)| [*size as u64, share.to_bits()]));
        let memo = graph.memo();
        memo.get(&key).unwrap_or_else(|| {
            let fits = |size: usize| (2..=graph.len()).contains(&size);
            let sizes = || sizes.iter().filter(|(size, _)| fits(*size));
            let longest = sizes().next_back().map_or(0, |(size, _)| *size);
            let side = longest + 1;
            let mut sums = vec![0.0; side << graph.len()];
            for &(size, share) in sizes() {
                let rings = Rings::of(graph, model, size);
                for (set, sums) in (0..).zip(sums.chunks_exact_mut(side)) {
                    sums[size] = share * rings.within(set);
                }
            }
            for sums in sums.chunks_exact_mut(side) {
                for size in 1..side {
                    sums[size] += sums[size - 1];
                }
            }
            memo.put(&key, sums.len() * 8, Self { longest, sums: sums.into() })
        })
    }

    /// The sum over sizes of up to `size`.
    #[inline]
    pub(super) fn up_to(&self, size: usize, set: Mask) -> f64 {
        self.sums[set as usize * (self.longest + 1) + size.min(self.longest)]
    }

    /// The sum over all sizes on the idle machine.
    pub(super) fn most(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }
}

/// PreservedBW of every set of devices, GB/s: the sum of the best links between its pairs.
pub(super) fn left_over(graph: &HardwareGraph) -> Arc<Box<[f64]>> {
    let memo = graph.memo();
    let key = [11];
    memo.get(&key).unwrap_or_else(|| {
        let mut left = vec![0.0; 1 << graph.len()];
        for set in 1..left.len() {
            let highest = set.ilog2();
            let rest = set & !(1 << highest);
            let gbps = |other: usize| graph.link(DeviceId(highest), DeviceId(other as u32)).gbps;
            left[set] = members(rest as Mask).map(gbps).fold(left[rest], |sum, gbps| sum + gbps);
        }
        memo.put(&key, left.len() * 8, left.into_boxed_slice())
    })
}
