//! An arithmetic check of the published fit by its own figures.
//!
//! The paper prints coefficients, three error figures and the number of samples, but neither the
//! samples nor the measured bandwidths. One thing can be checked without them. For least squares
//! the residual r is orthogonal to all columns of the design A, so |A θ|² = |b|² - |r|². The left
//! side follows from the published θ and the link counts alone. The right side follows from the
//! printed figures for N samples: |r| = N "RMSE" and |b|² = |r|² / "relative error"
//! ([`PublishedErrors`](crate::PublishedErrors)). If the two sides differ for a set of samples, one
//! of these holds: the fit was made to other samples, it was not a least squares fit, or the
//! figures are of other samples.

use std::collections::BTreeSet;

use mapa_core::{
    Census, Coefficients, DeviceSet, HardwareGraph, LinkModel, Pattern, RingPacking, Term, Tiers,
};

use crate::design::Design;
use crate::error::Error;
use crate::sample::Sample;

/// Three error figures as printed, each with the lowest and the highest value that may be printed
/// so.
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
    /// The figures of section 3.4.3: 0.0709, 1.5153 and 7.0539. Their last digits may have been
    /// rounded, or cut off as those of other figures of the paper.
    pub const PAPER: Self = Self {
        relative: (0.07085, 0.0710),
        rmse: (1.51525, 1.5154),
        mae: (7.05385, 7.0540),
    };

    /// The lowest and the highest possible value of |b|² - |r|² for this many samples.
    #[must_use]
    pub fn explained(&self, samples: usize) -> (f64, f64) {
        let of =
            |rmse: f64, relative: f64| (samples as f64 * rmse).powi(2) * (1.0 / relative - 1.0);
        (
            of(self.rmse.0, self.relative.1),
            of(self.rmse.1, self.relative.0),
        )
    }

    /// The fewest samples for which the figures agree with each other: a sum of |r| over N values
    /// is at most √N |r|.
    #[must_use]
    pub fn fewest_samples(&self) -> usize {
        (self.mae.0 / self.rmse.1).powi(2).ceil() as usize
    }
}

/// Link counts that the published model may have been fitted to.
#[derive(Clone, Debug)]
pub struct SampleSet {
    /// A description of the samples.
    pub name: &'static str,
    /// The counts, one per sample.
    pub links: Vec<Census>,
}

/// The result of the check for a sample set.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How many samples.
    pub samples: usize,
    /// The rank of the design; 14 is full.
    pub rank: usize,
    /// Its condition number.
    pub condition: f64,
    /// The length of the part of θ that no sample determines: 0 if θ is the solution of least norm.
    pub unseen: f64,
    /// |A θ|².
    pub explained: f64,
    /// The lowest and the highest possible value of |b|² - |r|² by the printed figures.
    pub printed: (f64, f64),
    /// The lowest and the highest λ of a ridge fit for which θ and the printed figures agree, by
    /// `|b|² - |r|² = |A θ|² + 2 λ |θ|²`. If it is below 0, no ridge fit agrees.
    pub ridge: (f64, f64),
}

impl Finding {
    /// Whether a least squares fit to these samples can have the printed figures.
    #[must_use]
    pub fn agrees(&self) -> bool {
        (self.printed.0..=self.printed.1).contains(&self.explained)
    }

    /// |A θ|² over the nearest value of |b|² - |r|² that the printed figures allow; 1 if they
    /// agree, NaN if the figures allow none.
    #[must_use]
    pub fn excess(&self) -> f64 {
        let (least, most) = self.printed;
        // To clamp to no range panics.
        if least <= most {
            self.explained / self.explained.clamp(least, most)
        } else {
            f64::NAN
        }
    }
}

/// Compares a sample set with the printed figures.
///
/// # Complexity
/// O(N p²) for N samples and p terms.
///
/// # Errors
/// If the set is empty.
pub fn examine(set: &SampleSet, theta: &Coefficients, printed: &Printed) -> Result<Finding, Error> {
    let design = Design::new(&set.links, &Term::eq_2(3))?;
    let explained: f64 = set
        .links
        .iter()
        .map(|links| theta.predict(links).powi(2))
        .sum();
    let length: f64 = theta.0.iter().map(|value| value * value).sum();
    let room = printed.explained(set.links.len());
    Ok(Finding {
        samples: set.links.len(),
        rank: design.rank(),
        condition: design.condition(),
        unseen: design.unseen(&theta.0).unwrap_or(f64::NAN),
        explained,
        printed: room,
        ridge: (
            (room.0 - explained) / (2.0 * length),
            (room.1 - explained) / (2.0 * length),
        ),
    })
}

/// A ring on a machine: its devices and its links.
struct PublishedRing {
    devices: DeviceSet,
    links: Census,
    /// The aggregated bandwidth (Eq. 1), GB/s. The best ring of a set has the highest.
    gbps: f64,
}

/// The sample sets that the paper's "an exhaustive set of allocations with unique (x, y, z)" of two
/// to five devices may mean, and other plausible ones. On the machine of the paper the first three
/// have 39, 31 and 26 samples; the paper has 31.
#[must_use]
pub fn sample_sets(graph: &HardwareGraph) -> Vec<SampleSet> {
    let rings = rings(graph);
    let best = best_of_each_set(&rings);
    let all = distinct(rings.iter().map(|ring| ring.links));
    let few: Vec<Census> = all
        .iter()
        .copied()
        .filter(|links| links.xyz().2 <= 2)
        .collect();
    let of_best = distinct(best.iter().map(|ring| ring.links));
    let larger: Vec<Census> = all
        .iter()
        .copied()
        .filter(|links| links.edges() > 2)
        .collect();
    let per_set: BTreeSet<(&DeviceSet, Census)> = rings
        .iter()
        .map(|ring| (&ring.devices, ring.links))
        .collect();
    let once = |links: &[Census]| links.iter().map(count_once).collect();
    let set = |name, links| SampleSet { name, links };
    vec![
        set("all rings of two to five", all.clone()),
        set("those with at most two PCIe hops", few.clone()),
        set("the best ring of each set of devices", of_best.clone()),
        set("all rings, the link of two counted once", once(&all)),
        set(
            "at most two PCIe hops, the link of two counted once",
            once(&few),
        ),
        set(
            "the best rings, the link of two counted once",
            once(&of_best),
        ),
        set("all rings of three to five", larger),
        set(
            "the best ring of each set, repeated counts kept",
            best.iter().map(|ring| ring.links).collect(),
        ),
        set(
            "the distinct counts of each set of devices",
            per_set.iter().map(|(_, links)| *links).collect(),
        ),
        set(
            "every ring of every set",
            rings.iter().map(|ring| ring.links).collect(),
        ),
        set(
            "all pairs within each set of two to five",
            pairs(graph, 2..=5),
        ),
        set(
            "all pairs within each set of two to eight",
            pairs(graph, 2..=8),
        ),
    ]
}

fn distinct(links: impl Iterator<Item = Census>) -> Vec<Census> {
    links.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The counts, with the link of a ring of two counted once. Such a ring uses its link in both
/// directions, so Eq. 2 counts it twice.
fn count_once(links: &Census) -> Census {
    let (x, y, z) = links.xyz();
    if links.edges() == 2 {
        Census::from_xyz(x.div_ceil(2), y.div_ceil(2), z.div_ceil(2))
    } else {
        *links
    }
}

/// Every ring of two to five devices, up to rotation and reversal.
fn rings(graph: &HardwareGraph) -> Vec<PublishedRing> {
    let mut rings = Vec::new();
    for size in 2..=5 {
        let ring = Pattern::ring(size);
        for placement in ring.matcher().on(graph).iter() {
            let gbps = ring.edges().iter().map(|edge| {
                let [a, b] = [edge.a, edge.b].map(|rank| placement[usize::from(rank)]);
                graph.link_of_ranks(a, b).gbps
            });
            rings.push(PublishedRing {
                gbps: gbps.sum(),
                devices: placement.iter().copied().collect(),
                links: Census::of(&ring, &placement, graph, &Tiers::PAPER),
            });
        }
    }
    rings
}

/// The ring of the highest aggregated bandwidth of each set of devices.
fn best_of_each_set(rings: &[PublishedRing]) -> Vec<&PublishedRing> {
    let mut best: Vec<&PublishedRing> = Vec::new();
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
    let mut links = Vec::new();
    for size in sizes {
        let all = Pattern::all_to_all(size);
        let matches = all.matcher().on(graph).iter();
        links.extend(matches.map(|placement| Census::of(&all, &placement, graph, &Tiers::PAPER)));
    }
    distinct(links.into_iter())
}

/// A set of two to five devices, with three estimates of its bandwidth, GB/s.
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
    /// The bandwidth that a packing of rings among the devices can carry at once: [`RingPacking`].
    pub packing: f64,
}

/// Every set of two to five devices.
#[must_use]
pub fn allocations(graph: &HardwareGraph, packing: &RingPacking) -> Vec<Allocation> {
    let rings = rings(graph);
    best_of_each_set(&rings)
        .into_iter()
        .map(|ring| Allocation {
            devices: ring.devices.clone(),
            links: ring.links,
            aggregate: ring.gbps,
            eq_2: Coefficients::FULL.predict(&ring.links),
            packing: packed(ring, graph, packing),
        })
        .collect()
}

/// Stand-ins for the measurements that were not published: for each of these link counts the first
/// ring that has them, and what [`RingPacking`] gives its devices. Counts that no ring of two to
/// five devices has are left out.
#[must_use]
pub fn stand_ins(graph: &HardwareGraph, links: &[Census], packing: &RingPacking) -> Vec<Sample> {
    let rings = rings(graph);
    let mut samples = Vec::new();
    for links in links {
        if let Some(ring) = rings.iter().find(|ring| ring.links == *links) {
            let ids: Vec<u32> = ring.devices.iter().map(|id| id.0).collect();
            samples.push(Sample {
                label: format!("{:?} on {ids:?}", ring.links.xyz()),
                links: ring.links,
                ranks: ring.devices.len(),
                gbps: packed(ring, graph, packing),
            });
        }
    }
    samples
}

/// What rings can carry at once among the devices of a ring, GB/s.
fn packed(ring: &PublishedRing, graph: &HardwareGraph, packing: &RingPacking) -> f64 {
    let bandwidth = packing.of(graph, &ring.devices);
    bandwidth.map_or(0.0, |bandwidth| bandwidth.gbps)
}

/// Pearson's correlation of pairs; `None` if one side does not vary. O(pairs).
#[must_use]
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let a = pairs.iter().map(|pair| pair.0).sum::<f64>() / n;
    let b = pairs.iter().map(|pair| pair.1).sum::<f64>() / n;
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let (x, y) = (pair.0 - a, pair.1 - b);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    let size: f64 = (xx * yy).sqrt();
    (size > 0.0).then(|| xy / size)
}

/// The most numbers that [`share_of_choices`] counts in: 128 MiB.
const MOST_CHOICE_CELLS: usize = 1 << 24;

/// The share of all choices of `chosen` samples for which |A θ|² is within the range that the
/// printed figures allow: the probability that a random choice agrees with the figures. It is
/// counted exactly, with each square rounded to whole (GB/s)². `None` if c S is above 16,777,216.
///
/// # Complexity
/// O(N c S) for N samples, c of them chosen, and a sum of squares S.
#[must_use]
pub fn share_of_choices(
    links: &[Census],
    chosen: usize,
    model: &LinkModel,
    printed: &Printed,
) -> Option<f64> {
    if chosen > links.len() {
        return Some(0.0);
    }
    let squares: Vec<usize> = links
        .iter()
        .map(|links| model.predict(links).powi(2).round() as usize)
        .collect();
    let total = squares
        .iter()
        .fold(0usize, |sum, &square| sum.saturating_add(square));
    if total.saturating_mul(chosen.max(1)) > MOST_CHOICE_CELLS {
        return None;
    }
    // By number of samples and sum: how many choices there are. Floating point, as with many
    // samples the numbers exceed 64 bits. Each sample is added to the choices without it. Counts go down, so that none
    // has it twice.
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
    let all: f64 = ways[chosen].iter().sum();
    if all == 0.0 {
        return Some(0.0);
    }
    let by_sum = ways[chosen].iter().enumerate();
    let within: f64 = by_sum
        .filter(|(sum, _)| (least..=most).contains(&(*sum as f64)))
        .map(|(_, ways)| ways)
        .sum();
    Some(within / all)
}
