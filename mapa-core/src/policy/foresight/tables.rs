//! Tables that are computed once for a machine: the best ring of each size within every set of
//! devices.

use std::sync::Arc;

use super::sets::set_of;
use crate::ids::{DeviceId, LinkClass};
use crate::matching::Few;
use crate::optimum::{Problem, max};
use crate::pattern::{Demand, Pattern};
use crate::reach::{Family, MOST, Mask, members, of_size, place};
use crate::request::Request;
use crate::score::Objective;
use crate::topology::{HardwareGraph, MemoKey};

/// The bandwidth of a pattern on each set of k devices of a machine, GB/s, where k is its number of
/// ranks. If the model depends on the rank order, the best order counts. Computed once for a machine
/// and kept with its graph.
///
/// # Examples
/// ```
/// use mapa_core::{Fabric, LinkClass, Pattern, SetScores, ring_packing_gbps};
///
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..3).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// fabric.link(ids[0], ids[1], LinkClass::Direct(2), 50.0)?;
/// ids.iter().try_for_each(|&id| fabric.attach(id, root, 12.0))?;
/// let graph = fabric.lower()?;
/// let pairs = SetScores::of(&graph, &ring_packing_gbps(), &Pattern::ring(2)).expect("a small machine");
/// assert!(pairs.at(0b011) > pairs.at(0b101));
/// assert_eq!(pairs.at(0b111), None, "three devices are no pair");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SetScores {
    /// The number of ranks.
    ranks: u32,
    /// The number of devices.
    devices: u32,
    /// By [`place`] of the set; NaN if the job does not fit on the set.
    values: Box<[f64]>,
}

/// The key of [`SetScores`]: a model, a pattern and the least class of link.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SetScoresKey {
    model: u64,
    family: Family,
    ranks: usize,
    edges: usize,
    /// The bits of the traffic, which is the same on every edge.
    traffic: u64,
    least: LinkClass,
}

impl SetScoresKey {
    pub(super) fn of(model: &Objective<'static>, pattern: &Pattern, least: LinkClass) -> Self {
        let traffic = pattern.edges().first().map_or(0.0, |edge| edge.traffic);
        Self {
            model: model.id(),
            family: pattern.family(),
            ranks: pattern.len(),
            edges: pattern.edges().len(),
            traffic: traffic.to_bits(),
            least,
        }
    }
}

impl MemoKey for SetScoresKey {
    type Table = SetScores;
}

impl SetScores {
    /// The most devices of a machine that can have such a table.
    pub const MOST_DEVICES: usize = MOST;

    /// Whether a machine can have such tables: at most [`MOST_DEVICES`](Self::MOST_DEVICES), all whole.
    #[must_use]
    pub fn covers(graph: &HardwareGraph) -> bool {
        graph.has_only_wholes() && graph.wholes().len() <= MOST
    }

    /// The table of a pattern by a model of bandwidth. Demands do not count. `None` for a machine that
    /// they do not [cover](Self::covers), for a pattern with more ranks than it has devices, and for
    /// one that is no ring, chain, star or all-to-all with the same traffic on every edge.
    ///
    /// # Complexity
    /// C(m, k) decisions for k of m devices, once per machine.
    #[must_use]
    pub fn of(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        pattern: &Pattern,
    ) -> Option<Arc<Self>> {
        let is_known = pattern.family() != Family::Other && pattern.traffic().is_some();
        let fits = Self::covers(graph) && is_known && (1..=graph.len()).contains(&pattern.len());
        fits.then(|| Self::with(graph, model, pattern, LinkClass::None))
    }

    /// The table of a pattern whose ranks have equal demands, over links of at least a class.
    ///
    /// # Complexity
    /// C(m, k) decisions for k of m devices, once per machine.
    pub(super) fn with(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        pattern: &Pattern,
        least: LinkClass,
    ) -> Arc<Self> {
        let key = SetScoresKey::of(model, pattern, least);
        graph.memo().get_or_make(&key, || {
            // The table is for all requests: each request excludes devices by itself.
            let request = Request::new(pattern.each(Demand::default())).min_link(least);
            let values: Box<[f64]> = of_size(graph.len(), pattern.len())
                .map(|set| value(graph, model, &request, set))
                .collect();
            let (ranks, devices) = (pattern.len() as u32, graph.len() as u32);
            (
                values.len() * 8,
                Self {
                    ranks,
                    devices,
                    values,
                },
            )
        })
    }

    /// The bandwidth on a set of devices, GB/s: bit i of the number stands for device i. `None` if
    /// the pattern does not fit there, or the set has not one device for each rank.
    #[must_use]
    pub fn at(&self, set: u32) -> Option<f64> {
        if set.count_ones() != self.ranks || set.checked_shr(self.devices).unwrap_or(0) != 0 {
            return None;
        }
        self.values
            .get(place(set))
            .copied()
            .filter(|value| !value.is_nan())
    }

    /// Every set of one device for each rank, ascending, with its bandwidth.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Option<f64>)> + '_ {
        of_size(self.devices as usize, self.ranks as usize)
            .zip(&self.values)
            .map(|(set, value)| (set, Some(*value).filter(|value| !value.is_nan())))
    }
}

fn value(graph: &HardwareGraph, model: &Objective<'static>, request: &Request, set: Mask) -> f64 {
    let all = graph.all();
    let (view, only) = (graph.with_free(&all), set_of(set));
    let request = request.clone().only(only);
    let criteria = [max(model.clone())];
    let problem = Problem {
        request: &request,
        view: &view,
        criteria: &criteria,
        requirements: &[],
        limits: request.limits,
    };
    let (entries, _) = problem.best();
    entries.first().map_or(f64::NAN, |entry| entry.keys[0])
}

/// The best ring of one size within every set of devices, GB/s.
pub(super) struct Rings {
    /// By set; 0 if it has no such ring.
    best: Box<[f64]>,
}

/// The key of a [`Rings`]: a model, and the number of ranks.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RingsKey {
    model: u64,
    ranks: usize,
}

impl MemoKey for RingsKey {
    type Table = Rings;
}

impl Rings {
    /// The table of rings of `k` ranks.
    ///
    /// # Complexity
    /// O(2ᵐ m) for m devices, and in addition the values of the C(m, k) sets ([`SetScores`]).
    pub(super) fn of(graph: &HardwareGraph, model: &Objective<'static>, k: usize) -> Arc<Self> {
        let key = RingsKey {
            model: model.id(),
            ranks: k,
        };
        graph.memo().get_or_make(&key, || {
            let scores = SetScores::with(graph, model, &Pattern::ring(k), LinkClass::None);
            let mut best = vec![f64::NEG_INFINITY; 1 << graph.len()];
            for set in of_size(graph.len(), k) {
                best[set as usize] = scores.at(set).unwrap_or(f64::NEG_INFINITY);
            }
            for set in 0..best.len() {
                let without = |member: usize| best[set & !(1 << member)];
                best[set] = members(set as Mask).map(without).fold(best[set], f64::max);
            }
            best.iter_mut()
                .filter(|value| !value.is_finite())
                .for_each(|value| *value = 0.0);
            (best.len() * 8, Self { best: best.into() })
        })
    }

    pub(super) fn within(&self, set: Mask) -> f64 {
        self.best[set as usize]
    }
}

/// The best rings of all sizes within every set of devices, weighted by the share of jobs of each
/// size.
pub(super) struct RingMix {
    /// The largest size that fits the machine.
    pub(super) longest: usize,
    /// By set and size: the sum of share × best ring over this and all smaller sizes, GB/s.
    sums: Box<[f64]>,
}

/// The key of a [`RingMix`]: a model, and the sizes with the bits of their shares.
#[derive(Clone, PartialEq, Eq, Hash)]
struct MixKey {
    model: u64,
    sizes: Few<(usize, u64)>,
}

impl MemoKey for MixKey {
    type Table = RingMix;
}

impl RingMix {
    pub(super) fn of(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        sizes: &[(usize, f64)],
    ) -> Arc<Self> {
        let key = MixKey {
            model: model.id(),
            sizes: sizes
                .iter()
                .map(|(size, share)| (*size, share.to_bits()))
                .collect(),
        };
        graph.memo().get_or_make(&key, || {
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
            (
                sums.len() * 8,
                Self {
                    longest,
                    sums: sums.into(),
                },
            )
        })
    }

    /// The sum over sizes up to `size`, within `set`.
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
pub(super) struct PreservedSums {
    /// By set, as a mask.
    sums: Box<[f64]>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct LeftKey;

impl MemoKey for LeftKey {
    type Table = PreservedSums;
}

impl PreservedSums {
    /// The table of a machine.
    ///
    /// # Complexity
    /// O(2ᵐ m) for m devices.
    pub(super) fn of(graph: &HardwareGraph) -> Arc<Self> {
        graph.memo().get_or_make(&LeftKey, || {
            let mut sums = vec![0.0; 1 << graph.len()];
            for set in 1..sums.len() {
                // The set without its highest device is a smaller number, so its sum is known
                // already.
                let highest = set.ilog2();
                let rest = set & !(1 << highest);
                sums[set] = members(rest as Mask).fold(sums[rest], |sum, other| {
                    sum + graph.link(DeviceId(highest), DeviceId(other as u32)).gbps
                });
            }
            (sums.len() * 8, Self { sums: sums.into() })
        })
    }

    pub(super) fn within(&self, set: Mask) -> f64 {
        self.sums[set as usize]
    }
}
