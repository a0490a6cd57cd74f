//! The definition of [`Foresight`], and its settings.

use std::fmt;
use std::sync::Arc;

use super::outlook::Outlook;
use crate::policy::api::Policy;
use crate::policy::preserve::preserve_with;
use crate::reach::{Family, MOST};
use crate::request::Request;
use crate::score::{Objective, effective_gbps, preserved_gbps};
use crate::topology::HardwareGraph;

/// [`Foresight`] with the paper's Eq. 2 as its model of effective bandwidth.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use mapa_core::{Allocator, Fabric, LinkClass, Pattern, Request, foresight};
///
/// // Two pairs joined by double links, and single links between the pairs.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// for (a, b, bricks) in [(0, 1, 2), (2, 3, 2), (1, 2, 1), (3, 0, 1)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(bricks), f64::from(bricks) * 25.0)?;
/// }
/// ids.iter().try_for_each(|&id| fabric.attach(id, root, 12.0))?;
/// let mut machine = Allocator::new(Arc::new(fabric.lower()?));
/// let lease = machine.allocate(foresight(), &Request::new(Pattern::ring(2)).sensitive(true))?;
/// assert_eq!(lease.placement.set().to_string(), "0,1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn foresight() -> Foresight {
    Foresight::new(effective_gbps())
}

/// A policy that weighs a job's own bandwidth against the bandwidth that later jobs can expect,
/// given the leases now running. It takes the set of devices with the highest worth. The worth of a
/// set S of k devices is
///
/// > own(S) + λ Σₖ pₖ Nₖ,   Nₖ = E\[ best ring of k within F ∪ A \],   GB/s
///
/// - own: the job's effective bandwidth on S; 0 for jobs that are not bandwidth-sensitive and for
///   jobs on one device.
/// - λ: the weight of the next job ([`weight`](Self::weight)).
/// - pₖ: the share of jobs that request k devices ([`sizes`](Self::sizes)). Jobs on one device have
///   no ring and do not count.
/// - F: the devices that stay free.
/// - A: the devices of the leases that have ended by the first moment at which k devices are free.
///   This job's own lease may be among them. All orders in which leases end are equally likely, and
///   the expectation over these orders is exact. Neither durations nor the queue need be known.
///
/// [`preserve`](crate::preserve) gives a sensitive job the best free ring. Whether that is wise
/// depends on the devices that the next job can get. Under load the devices now free are too few
/// for the next job: it gets them together with the devices of the leases that end next.
///
/// The rank order on the set and the scores are those of [`preserve_with`] with the same model. The
/// score `foresight_gbps` is the worth. Ties: the most preserved bandwidth (Eq. 3), the lowest ids,
/// then the smallest rank order.
///
/// Every constraint of the request is kept. The policy looks ahead if
///
/// - the machine has at most sixteen devices, all whole, none of which can be partitioned, and no
///   device has several tenants;
/// - the job's ranks have equal, exclusive demands, and its pattern is a ring, chain, star or
///   all-to-all with the same traffic on every edge;
/// - the job is not larger than the largest of [`sizes`](Self::sizes), and the sets to compare are
///   not more than the request's limit on nodes.
///
/// Otherwise it decides as `preserve` does. If the lease of a device in use is unknown, as on a
/// bare free set, the device counts as a lease of its own.
///
/// In a fleet, machines are compared by how much the placement changes their worth, not by the
/// worth that remains. Otherwise an idle machine would always be the best. Machines on which the
/// policy decides as `preserve` come last.
///
/// # Complexity
/// A decision takes O(C(f, k) Σ C(l, d) l) for k of f free devices and l leases, where the sum is
/// over the numbers d of leases that can end before the largest job fits. That is some microseconds
/// on a machine in use. Tables are made once per machine of m devices: O(2ᵐ m), and in addition the
/// values of the C(m, k) sets of each size.
#[derive(Clone)]
pub struct Foresight {
    pub(super) effective: Objective<'static>,
    pub(super) weight: f64,
    /// The share of jobs of each size, sizes ascending and distinct. The shares sum to 1.
    pub(super) sizes: Vec<(usize, f64)>,
    pub(super) outlook: Option<Arc<Outlook>>,
    pub(super) preserve: Arc<dyn Policy>,
}

impl Foresight {
    /// The policy with another model of effective bandwidth in GB/s. The model can be one of links,
    /// such as [`effective_gbps`]: then the best rank order on a set counts. Or it can be one of
    /// sets, such as [`ring_packing_gbps`](crate::ring_packing_gbps).
    #[must_use]
    pub fn new(effective: Objective<'static>) -> Self {
        let preserve = Arc::new(preserve_with(effective.clone(), preserved_gbps()));
        let this = Self {
            effective,
            weight: 0.5,
            sizes: Vec::new(),
            outlook: None,
            preserve,
        };
        this.sizes((1..=5).map(|size| (size, 1.0)))
    }

    /// Sets λ, the weight of the next job relative to the job that is placed. Default: 0.5. Values
    /// from 0.05 to 1 give about the same results. A value that is not a finite number above 0
    /// counts as 0.
    #[must_use]
    pub fn weight(self, weight: f64) -> Self {
        Self {
            weight: if weight.is_finite() {
                weight.max(0.0)
            } else {
                0.0
            },
            ..self
        }
    }

    /// Sets how common jobs of each size are, as pairs of a number of devices and a weight. Weights
    /// are scaled so that their sum is 1. Default: 1 to 5 devices, equally common. Sizes above
    /// sixteen, and weights that are not finite numbers above 0, are dropped.
    #[must_use]
    pub fn sizes(self, sizes: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut shares = [0.0; MOST + 1];
        for (size, weight) in sizes {
            if (1..=MOST).contains(&size) && weight.is_finite() && weight > 0.0 {
                shares[size] += weight;
            }
        }
        let sum: f64 = shares.iter().sum();
        let sizes = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
        Self {
            sizes: sizes.map(|(size, share)| (size, share / sum)).collect(),
            ..self
        }
    }

    /// Adds the jobs that come next, for one decision on one machine. The sixteen sets with the
    /// highest worth are then compared by the bandwidths that these jobs will get, instead of by λ
    /// N. An outlook without jobs changes nothing.
    #[must_use]
    pub fn expecting(&self, outlook: Outlook) -> Self {
        let outlook = Some(outlook)
            .filter(|outlook| !outlook.next.is_empty())
            .map(Arc::new);
        Self {
            outlook,
            ..self.clone()
        }
    }

    /// The model of effective bandwidth.
    #[must_use]
    pub fn model(&self) -> &Objective<'static> {
        &self.effective
    }

    /// The largest expected size of a job, devices.
    pub(super) fn largest(&self) -> usize {
        self.sizes.last().map_or(0, |(size, _)| *size)
    }

    /// Whether the tables cover this machine and this job.
    pub(super) fn applies(&self, request: &Request, graph: &HardwareGraph) -> bool {
        let pattern = &request.pattern;
        graph.has_only_wholes()
            && graph.wholes().len() <= MOST
            && (1..=self.largest()).contains(&pattern.len())
            && pattern.is_uniform()
            && pattern.demands().iter().all(|demand| !demand.is_shared())
            && pattern.traffic().is_some()
            && pattern.family() != Family::Other
    }
}

impl fmt::Debug for Foresight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foresight")
            .field("effective", &self.effective)
            .field("weight", &self.weight)
            .field("sizes", &self.sizes)
            .finish_non_exhaustive()
    }
}
