//! The published fit, taken at its word.
//!
//! The paper prints coefficients, three error figures and the number of samples, but neither the samples nor the measured
//! bandwidths. One thing can be checked without them. For least squares the residual r is orthogonal to all columns of the
//! design A, so |A θ|² = |b|² - |r|². The left side follows from the published θ and the link counts alone. The right side
//! follows from the printed figures for N samples: |r| = N "RMSE" and |b|² = |r|² / "relative error"
//! ([`PublishedErrors`](crate::PublishedErrors)). A set of samples for which the two differ is not what was fitted, or not by
//! least squares, or not what the figures are of.

use std::collections::BTreeSet;

use mapa_core::{Census, Coefficients, DeviceSet, HardwareGraph, LinkModel, Pattern, RingPacking, Term, Tiers};

use crate::design::Design;
use crate::error::Error;
use crate::sample::Sample;

/// Three error figures as printed, each with the least and the most that it may stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// "Relative error": |r|² / |b|².
    pub relative: (f64, f64),
    /// "RMSE": |r| / N.
    pub rmse: (f64, f64),
    /// "MAE": the sum of |r| over N.
    pub mae: (f64, f64),
}

impl Printed {
    /// Those of section 3.4.3: 0.0709, 1.5153 and 7.0539, whether the last digits were rounded or cut off, as other figures
    /// of the paper are.
    pub const PAPER: Self = Self { relative: (0.07085, 0.0710), rmse: (1.51525, 1.5154), mae: (7.05385, 7.0540) };

    /// The least and the most that |b|² - |r|² can be for so many samples.
    #[must_use]
    pub fn explained(&self, samples: usize) -> (f64, f64) {
        let of = |rmse: f64, relative: f64| (samples as f64 * rmse).powi(2) * (1.0 / relative - 1.0);
        (of(self.rmse.0, self.relative.1), of(self.rmse.1, self.relative.0))
    }

    /// The fewest samples for which the figures agree with each other: a sum of |r| over N values is at most √N |r|.
    #[must_use]
    pub fn fewest_samples(&self) -> usize {
        (self.mae.0 / self.rmse.1).powi(2).ceil() as usize
    }
}

/// Link counts that the published model may have been fitted to.
#[derive(Clone, Debug)]
pub struct SampleSet {
    /// What they are, in words.
    pub name: &'static str,
    /// The counts, one per sample.
    pub links: Vec<Census>,
}

/// What the arithmetic says of a sample set.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How many samples.
    pub samples: usize,
    /// The rank of the design; 14 is full.
    pub rank: usize,
    /// Its condition number.
    pub condition: f64,
    /// The part of θ that no sample sees: 0 where θ is of least norm.
    pub unseen: f64,
    /// |A θ|².
    pub explained: f64,
    /// The least and the most that |b|² - |r|² can be by the printed figures.
    pub printed: (f64, f64),
    /// The λ of a ridge for which θ and the printed figures agree: b'b - r'r = |A θ|² + 2 λ |θ|². Below 0 for no ridge.
    pub ridge: (f64, f64),
}

impl Finding {
    /// Whether a least squares fit to these samples can have the printed figures.
    #[must_use]
    pub fn agrees(&self) -> bool {
        (self.printed.0..=self.printed.1).contains(&self.explained)
    }

    /// By which factor the model explains more than the printed figures leave room for: 1 is agreement, by the nearest end
    /// of what they may stand for.
    #[must_use]
    pub fn excess(&self) -> f64 {
        self.explained / self.explained.clamp(self.printed.0, self.printed.1)
    }
}

/// Puts a sample set to the test.
///
/// # Errors
/// If the set is empty.
pub fn examine(set: &SampleSet, theta: &Coefficients, printed: &Printed) -> Result<Finding, Error> {
    let design = Design::new(&set.links, &Term::eq_2(3))?;
    let explained: f64 = set.links.iter().map(|links| theta.predict(links).powi(2)).sum();
    let length: f64 = theta.0.iter().map(|value| value * value).sum();
    let room = printed.explained(set.links.len());
    Ok(Finding {
        samples: set.links.len(),
        rank: design.rank(),
        condition: design.condition(),
        unseen: design.unseen(&theta.0).unwrap_or(f64::NAN),
        explained,
        printed: room,
        ridge: ((room.0 - explained) / (2.0 * length), (room.1 - explained) / (2.0 * length)),
    })
}

/// A ring on a machine: its devices and its links.
struct Ring {
    devices: DeviceSet,
    links: Census,
    /// Eq. 1, by which the best of a set is chosen.
    gbps: f64,
}

/// The sets that "an exhaustive set of allocations with unique (x, y, z)" of two to five devices may mean, and others that
/// would suggest themselves. On the machine of the paper the first three have 39, 31 and 26 samples; it says 31.
#[must_use]
pub fn sample_sets(graph: &HardwareGraph) -> Vec<SampleSet> {
    let rings = rings(graph);
    let best = best_of_each_set(&rings);
    let all = distinct(rings.iter().map(|ring| ring.links));
    let few: Vec<Census> = all.iter().copied().filter(|links| links.xyz().2 <= 2).collect();
    let of_best = distinct(best.iter().map(|ring| ring.links));
    let larger: Vec<Census> = all.iter().copied().filter(|links| links.edges() > 2).collect();
    let per_set: BTreeSet<(&DeviceSet, Census)> = rings.iter().map(|ring| (&ring.devices, ring.links)).collect();
    let once = |links: &[Census]| links.iter().map(count_once).collect();
    let set = |name, links| SampleSet { name, links };
    vec![
        set("all rings of two to five", all.clone()),
        set("those with at most two PCIe hops", few.clone()),
        set("the best ring of each set of devices", of_best.clone()),
        set("all rings, the link of two counted once", once(&all)),
        set("at most two PCIe hops, the link of two counted once", once(&few)),
        set("the best rings, the link of two counted once", once(&of_best)),
        set("all rings of three to five", larger),
        set("the best ring of each set, repeated counts kept", best.iter().map(|ring| ring.links).collect()),
        set("the distinct counts of each set of devices", per_set.iter().map(|(_, links)| *links).collect()),
        set("every ring of every set", rings.iter().map(|ring| ring.links).collect()),
        set("all pairs within each set of two to five", pairs(graph, 2..=5)),
        set("all pairs within each set of two to eight", pairs(graph, 2..=8)),
    ]
}

fn distinct(links: impl Iterator<Item = Census>) -> Vec<Census> {
    links.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A ring of two uses its link both ways, and Eq. 2 counts it twice: what it would be, counted once.
fn count_once(links: &Census) -> Census {
    let (x, y, z) = links.xyz();
    if links.edges() == 2 { Census::from_xyz(x.div_ceil(2), y.div_ceil(2), z.div_ceil(2)) } else { *links }
}

/// Every ring of two to five devices, up to rotation and reversal.
fn rings(graph: &HardwareGraph) -> Vec<Ring> {
    let of_size = |k| {
        let ring = Pattern::ring(k);
        let matches: Vec<_> = ring.matcher().on(graph).iter().collect();
        matches.into_iter().map(move |placement| {
            let gbps =
                |(a, b): (u16, u16)| graph.link_of_ranks(placement[usize::from(a)], placement[usize::from(b)]).gbps;
            Ring {
                devices: placement.iter().copied().collect(),
                links: Census::of(&ring, &placement, graph, &Tiers::PAPER),
                gbps: ring.edges().iter().map(|edge| gbps((edge.a, edge.b))).sum(),
            }
        })
    };
    (2..=5).flat_map(of_size).collect()
}

/// Of each set of devices, the ring of the highest aggregated bandwidth.
fn best_of_each_set(rings: &[Ring]) -> Vec<&Ring> {
    let mut best: Vec<&Ring> = Vec::new();
    for ring in rings {
        match best.iter_mut().find(|known| known.devices == ring.devices) {
            Some(known) if known.gbps < ring.gbps => *known = ring,
            Some(_) => {}
            None => best.push(ring),
        }
    }
    best
}

fn pairs(graph: &HardwareGraph, sizes: std::ops::RangeInclusive<usize>) -> Vec<Census> {
    let of_size = |k| {
        let all = Pattern::all_to_all(k);
        let matches: Vec<_> = all.matcher().on(graph).iter().collect();
        matches.into_iter().map(move |placement| Census::of(&all, &placement, graph, &Tiers::PAPER))
    };
    distinct(sizes.flat_map(of_size))
}

/// A set of two to five devices by three numbers for its bandwidth, GB/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The devices.
    pub devices: DeviceSet,
    /// The links of its ring of the highest aggregated bandwidth.
    pub links: Census,
    /// That bandwidth: Eq. 1.
    pub aggregate: f64,
    /// Eq. 2 for these links.
    pub eq_2: f64,
    /// What rings can carry at once among the devices, whichever way they go: [`RingPacking`].
    pub packing: f64,
}

/// Every set of two to five devices.
#[must_use]
pub fn allocations(graph: &HardwareGraph, packing: &RingPacking) -> Vec<Allocation> {
    let rings = rings(graph);
    let of = |ring: &Ring| Allocation {
        devices: ring.devices.clone(),
        links: ring.links,
        aggregate: ring.gbps,
        eq_2: Coefficients::FULL.predict(&ring.links),
        packing: packing.of(graph, &ring.devices).map_or(0.0, |bandwidth| bandwidth.gbps),
    };
    best_of_each_set(&rings).into_iter().map(of).collect()
}

/// Stand-ins for the measurements that were not published: for each of these link counts the first ring that has them, and
/// what [`RingPacking`] gives its devices. Counts that no ring of two to five devices has are left out.
#[must_use]
pub fn stand_ins(graph: &HardwareGraph, links: &[Census], packing: &RingPacking) -> Vec<Sample> {
    let rings = rings(graph);
    let first = |links: &Census| rings.iter().find(|ring| ring.links == *links);
    let sample = |ring: &Ring| Sample {
        label: format!("{:?} on {:?}", ring.links.xyz(), ring.devices.iter().map(|id| id.0).collect::<Vec<_>>()),
        links: ring.links,
        ranks: ring.devices.len(),
        gbps: packing.of(graph, &ring.devices).map_or(0.0, |bandwidth| bandwidth.gbps),
    };
    links.iter().filter_map(first).map(sample).collect()
}

/// Pearson's correlation of pairs; none where one side does not vary.
#[must_use]
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - a, pair.1 - b)).sum::<f64>();
    let size = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (size > 0.0).then(|| sum(&|x, y| x * y) / size)
}

/// Of all ways to choose `chosen` of these samples, the share for which |A θ|² lies within what the printed figures allow:
/// how likely it is that some such choice, made at random, was what the figures are of. Counted exactly, with each square
/// rounded to whole (GB/s)². O(N chosen S) for a sum of squares S.
#[must_use]
pub fn share_of_choices(links: &[Census], chosen: usize, model: &LinkModel, printed: &Printed) -> f64 {
    let squares: Vec<usize> = links.iter().map(|links| model.predict(links).powi(2).round() as usize).collect();
    let total: usize = squares.iter().sum();
    // By number of samples and sum: the choices. Floating point, since there are too many for some integers.
    let mut ways = vec![vec![0.0f64; total + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for square in squares {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            for sum in square..=total {
                more[0][sum] += fewer[count - 1][sum - square];
            }
        }
    }
    let (least, most) = printed.explained(chosen);
    let within = |(sum, _): &(usize, &f64)| (least..=most).contains(&(*sum as f64));
    let all: f64 = ways[chosen].iter().sum();
    if all == 0.0 {
        0.0
    } else {
        ways[chosen].iter().enumerate().filter(within).map(|(_, ways)| ways).sum::<f64>() / all
    }
}
