//! Run times by what PCIe leaves to each of those that share it.
//!
//! A job that wants u = alpha x demand GB/s and gets b takes u / b times as long, at least its time at full speed (Tang et al., Eq. 1
//! and 2). Two models say what b is, and differ in what others take from it:
//!
//! | others | [`PcieEqualShare`] (Eq. 2) | [`PcieMaxMin`] |
//! |---|---|---|
//! | on the same GPU | each of n gets the n-th part, whatever it wants | nobody gets more than it wants, the rest is for those that do |
//! | on other GPUs | take nothing | share the hops of the host tree that they have in common |
//!
//! So the first does not conserve bandwidth: a light job among heavy ones is as slow as among as many light ones, and what light ones leave
//! serves nobody. Where all want the same, on GPUs with a way to the host of their own, both say the same.

use std::collections::HashMap;
use std::sync::Arc;

use fnv::FnvBuildHasher;
use mapa_core::sharing::{Flow, max_min};
use mapa_core::{Allocator, DeviceId, LeaseId, PCIE_GEN4_GBPS, Unit, pcie_slowdown};
use mapa_sched::{Fleet, JobId, Placed};

use super::{Coupling, Execution};
use crate::workload::{Submission, Workload};

/// Eq. 2 of Tang et al. as published: each of the n PCIe-bound tenants of a GPU, on slices of whatever sizes, has the n-th part of what its
/// copies get in all. A job is slowed down by its [`alpha`](mapa_sched::Job::pcie_alpha) x its own demand over that part, at least 1. Jobs
/// without a demand for PCIe are not slowed down and not counted. Of a job of several ranks the slowest counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieEqualShare {
    max_gbps: f64,
}

impl PcieEqualShare {
    /// On GPUs whose copies get `max_gbps` GB/s in all, such as [`PCIE_GEN4_GBPS`].
    #[must_use]
    pub fn new(max_gbps: f64) -> Self {
        Self { max_gbps }
    }
}

/// Over PCIe 4.0 x16.
impl Default for PcieEqualShare {
    fn default() -> Self {
        Self::new(PCIE_GEN4_GBPS)
    }
}

impl Execution for PcieEqualShare {
    fn name(&self) -> &str {
        "pcie-equal-share"
    }

    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        slowest(job, at, fleet, |machine, _, whole, gbps| {
            let bound = machine.view().usage_of_whole(whole).pcie_tenants;
            pcie_slowdown(gbps, job.job.pcie_alpha, bound, self.max_gbps)
        })
    }

    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

/// [Max-min fair](max_min) sharing of the ways to the host: each PCIe-bound tenant of a machine, on a slice of whatever size, is a flow of
/// weight 1 that can use its [`alpha`](mapa_sched::Job::pcie_alpha) x its demand, over the [hops](mapa_core::HostLinks) from its GPU to
/// the host's memory. Of a job of several ranks the slowest counts.
///
/// What a hop carries is what the machine's description says, so a model of real copies needs measured GB/s there, such as
/// [`PCIE_GEN4_GBPS`], rather than nominal ones. A PCIe-bound job on a GPU of which nobody says how it reaches the host has no slowdown that
/// could be known: it is NaN, and a simulation refuses it.
#[derive(Clone, Debug)]
pub struct PcieMaxMin {
    alphas: Arc<HashMap<JobId, f64, FnvBuildHasher>>,
}

impl PcieMaxMin {
    /// For the jobs of this workload: a fleet knows what its tenants ask for, but not their alphas. That of any other tenant is taken to
    /// be 1.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let alphas = workload.jobs.iter().map(|own| (own.job.id, own.job.pcie_alpha)).collect();
        Self { alphas: Arc::new(alphas) }
    }

    /// What the PCIe-bound ranks want, GB/s, that share a hop with this device, and over which hops; by lease.
    fn flows(&self, fleet: &Fleet, machine: &Allocator, whole: DeviceId) -> (Vec<LeaseId>, Vec<Flow>) {
        let (view, links) = (machine.view(), machine.graph().host_links());
        let (mut leases, mut flows) = (Vec::new(), Vec::new());
        for device in links.together(whole).iter().filter(|&device| view.usage_of_whole(device).pcie_tenants > 0) {
            let path = links.path(device).unwrap_or_default();
            let bound = |&id: &DeviceId| view.usage(id).pcie_tenants > 0;
            for id in machine.graph().vertices(device).iter().filter(bound) {
                for lease in view.tenants(id).iter().filter_map(|&lease| machine.lease(lease)) {
                    let tenant = fleet.tenant_of(view.machine(), lease.id);
                    let alpha = tenant.and_then(|tenant| self.alphas.get(&tenant.job())).copied().unwrap_or(1.0);
                    let ranks = lease.pattern.demands().iter().zip(lease.placement.iter());
                    for (demand, _) in ranks.filter(|(demand, at)| **at == id && demand.pcie_mb_s > 0) {
                        leases.push(lease.id);
                        flows.push(Flow::new(path.iter().copied(), alpha * f64::from(demand.pcie_mb_s) / 1000.0));
                    }
                }
            }
        }
        (leases, flows)
    }
}

impl Execution for PcieMaxMin {
    fn name(&self) -> &str {
        "pcie-max-min"
    }

    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        slowest(job, at, fleet, |machine, own, whole, _| {
            let links = machine.graph().host_links();
            if links.path(whole).is_none() {
                return f64::NAN;
            }
            let (leases, flows) = self.flows(fleet, machine, whole);
            // Caps that are no numbers: nobody can say what is left.
            let Ok(rates) = max_min(links.capacities(), &flows) else { return f64::NAN };
            let own = leases.iter().zip(flows.iter().zip(rates)).filter(|(lease, _)| **lease == own);
            own.map(|(_, (flow, rate))| flow.cap / rate).fold(1.0, f64::max)
        })
    }

    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

/// The highest slowdown of a job's PCIe-bound ranks, each by its machine, its lease there, its whole device and its demand in GB/s; 1 if
/// none is bound, and NaN if any is.
fn slowest(
    job: &Submission,
    at: &Placed,
    fleet: &Fleet,
    slowdown: impl Fn(&Allocator, LeaseId, DeviceId, f64) -> f64,
) -> f64 {
    let leases = std::iter::once(at.lease).chain(at.rest.iter().map(|part| part.lease));
    let mut worst = 1.0;
    for ((ranks, machine, placement), lease) in at.parts().zip(leases) {
        let Ok(machine) = fleet.machine(machine) else { return f64::NAN };
        for (demand, &id) in job.job.request.pattern.demands()[ranks].iter().zip(placement.iter()) {
            let device = machine.graph().device(id);
            if demand.pcie_mb_s == 0 || matches!(device.unit, Unit::Numa | Unit::Nic) {
                continue;
            }
            let own = slowdown(machine, lease, device.parent, f64::from(demand.pcie_mb_s) / 1000.0);
            if own.is_nan() {
                return own;
            }
            worst = own.max(worst);
        }
    }
    worst
}
