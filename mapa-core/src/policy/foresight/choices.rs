//! The set that a job gets, for every set of free devices: computed once for a machine.

use std::sync::Arc;

use super::patience::Patience;
use super::tables::{SetScores, SetScoresKey};
use crate::ids::{DeviceId, LinkClass};
use crate::pattern::Pattern;
use crate::reach::{MOST, Mask, members};
use crate::score::Objective;
use crate::topology::{HardwareGraph, MemoKey};

/// Which of the free sets of a size is best. Bandwidths beyond full speed count as full speed
/// ([`Patience::full_gbps`]), those below the floor as the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefer {
    /// The highest bandwidth; of equal ones, the most direct bandwidth left between the devices
    /// that stay free.
    Fastest,
    /// The most direct bandwidth left; of equal ones, the highest bandwidth.
    MostLeft,
}

/// The best set of k devices for each of the 2ᵐ sets of free devices of a machine of m, where k is the
/// number of ranks of a pattern. A lookup takes the place of a decision where a scheduler simulates
/// thousands of them. Ties that remain: the lowest set as a number.
///
/// # Examples
/// ```
/// use mapa_core::{Fabric, LinkClass, Pattern, Prefer, SetChoices, ring_packing_gbps};
///
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..3).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// fabric.link(ids[1], ids[2], LinkClass::Direct(1), 25.0)?;
/// ids.iter().try_for_each(|&id| fabric.attach(id, root, 12.0))?;
/// let graph = fabric.lower()?;
/// let of = |prefer| SetChoices::of(&graph, &ring_packing_gbps(), &Pattern::ring(2), prefer).unwrap();
/// assert_eq!(of(Prefer::Fastest).at(0b111), Some(0b110), "the linked pair");
/// assert_eq!(of(Prefer::MostLeft).at(0b101), Some(0b101));
/// assert_eq!(of(Prefer::MostLeft).at(0b100), None, "one free device is too few");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SetChoices {
    /// By free set; 0 where there is no set.
    chosen: Box<[u16]>,
}

/// The key of [`SetChoices`].
#[derive(Clone, PartialEq, Eq, Hash)]
struct ChoicesKey {
    scores: SetScoresKey,
    prefer: Prefer,
}

impl MemoKey for ChoicesKey {
    type Table = SetChoices;
}

impl SetChoices {
    /// The table of a pattern by a model of bandwidth. `None` where [`SetScores::of`] has none.
    ///
    /// # Complexity
    /// O(C(m, k) 2ᵐ⁻ᵏ) for k of m devices, once for a machine, and that of [`SetScores::of`].
    #[must_use]
    pub fn of(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        pattern: &Pattern,
        prefer: Prefer,
    ) -> Option<Arc<Self>> {
        let scores = SetScores::of(graph, model, pattern)?;
        let key = ChoicesKey {
            scores: SetScoresKey::of(model, pattern, LinkClass::None),
            prefer,
        };
        Some(graph.memo().get_or_make(&key, || {
            let choices = Self::make(graph, &scores, prefer);
            (choices.chosen.len() * 2, choices)
        }))
    }

    fn make(graph: &HardwareGraph, scores: &SetScores, prefer: Prefer) -> Self {
        let m = graph.len().min(MOST);
        let all: Mask = ((1_u64 << m) - 1) as Mask;
        let left = direct(graph, m);
        let Patience {
            floor_gbps,
            full_gbps,
            ..
        } = Patience::default();
        let mut sets: Vec<(f64, Mask)> = scores
            .iter()
            .filter_map(|(set, gbps)| Some((gbps?.clamp(floor_gbps, full_gbps), set)))
            .collect();
        // The fastest first: a set that comes later is at most as fast.
        sets.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen = vec![0_u16; 1 << m];
        let mut speed = vec![f64::NEG_INFINITY; 1 << m];
        for &(gbps, set) in &sets {
            let others = all & !set;
            // Every subset of the others, the empty one last.
            let mut rest = others;
            loop {
                let free = (set | rest) as usize;
                let before = Mask::from(chosen[free]);
                let is_better = before == 0 || {
                    let leaves = |mask: Mask| left[free & !(mask as usize)];
                    let may = prefer == Prefer::MostLeft || speed[free] == gbps;
                    may && leaves(set) > leaves(before)
                };
                if is_better {
                    chosen[free] = set as u16;
                    speed[free] = gbps;
                }
                if rest == 0 {
                    break;
                }
                rest = (rest - 1) & others;
            }
        }
        Self {
            chosen: chosen.into(),
        }
    }

    /// The set that the pattern gets where these devices are free; bit i stands for device i. `None` if
    /// none of them fits, or the machine has no such devices.
    #[must_use]
    pub fn at(&self, free: u32) -> Option<u32> {
        let set = *self.chosen.get(free as usize)?;
        (set != 0).then_some(Mask::from(set))
    }
}

/// The direct bandwidth between all pairs of each set of devices, GB/s.
fn direct(graph: &HardwareGraph, m: usize) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << m];
    for set in 1..sums.len() {
        let highest = set.ilog2();
        let rest = set & !(1 << highest);
        sums[set] = members(rest as Mask).fold(sums[rest], |sum, other| {
            let link = graph.link(DeviceId(highest), DeviceId(other as u32));
            sum + if link.class.is_direct() {
                link.gbps
            } else {
                0.0
            }
        });
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::score::{effective_gbps, ring_packing_gbps};
    use crate::testing::machines;

    proptest! {
        #[test]
        fn choices_are_those_of_a_search_through_all_sets(
            graph in machines(1..=7), k in 1usize..5, eq_2 in any::<bool>(), fastest in any::<bool>(),
        ) {
            let model = if eq_2 { effective_gbps() } else { ring_packing_gbps() };
            let prefer = if fastest { Prefer::Fastest } else { Prefer::MostLeft };
            let pattern = Pattern::ring(k);
            let m = graph.len();
            let Some(table) = SetChoices::of(&graph, &model, &pattern, prefer) else {
                prop_assert!(k > m);
                return Ok(());
            };
            let scores = SetScores::of(&graph, &model, &pattern).unwrap();
            let left = direct(&graph, m);
            for free in 0..1_u32 << m {
                let best = scores
                    .iter()
                    .filter(|(set, gbps)| set & !free == 0 && gbps.is_some())
                    .map(|(set, gbps)| {
                        let (gbps, left) = (gbps.unwrap().clamp(10.0, 50.0), left[(free & !set) as usize]);
                        (if fastest { (gbps, left) } else { (left, gbps) }, std::cmp::Reverse(set))
                    })
                    .max_by(|a, b| a.partial_cmp(b).unwrap());
                prop_assert_eq!(table.at(free), best.map(|rank| rank.1.0));
            }
        }
    }
}
