//! Run times of jobs that share PCIe, by the bandwidth that each of them gets.
//!
//! A job that wants u = alpha x demand GB/s and gets b GB/s has a slowdown of u / b, and at least 1
//! (Tang et al., Eq. 1 and 2). There are two models of b. They differ in how much bandwidth other
//! jobs take:
//!
//! | other jobs | [`PcieEqualShare`] (Eq. 2) | [`PcieMaxMin`] |
//! |---|---|---|
//! | on the same GPU | each of n jobs gets the n-th part, whatever it wants | no job gets more than it wants; the others share the rest |
//! | on other GPUs | take nothing | share the hops of the host tree that they have in common |
//!
//! So the first model wastes bandwidth: heavy jobs slow a light job down exactly as much as equally
//! many light ones do, and the bandwidth that light jobs leave goes to no other job. Both models
//! agree if all jobs want the same and each GPU has its own path to the host.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use fnv::FnvBuildHasher;
use mapa_core::sharing::{Flow, max_min};
use mapa_core::{
    Allocator, DeviceId, DeviceSet, HardwareGraph, LeaseId, MachineId, PCIE_GEN4_GBPS, Unit,
    pcie_slowdown,
};
use mapa_sched::{Assignment, Fleet, JobId, JobLimitTable};

use mapa_sim::{Coupling, Execution, ExecutionRow, Submission, Workload, computing};

/// Eq. 2 of Tang et al. as published: each of the n PCIe-bound tenants of a GPU, on slices of any
/// size, has the n-th part of the GPU's PCIe bandwidth. A job's slowdown is its
/// [`alpha`](mapa_sched::Job::pcie_alpha) x its own demand over that part, at least 1. Jobs without
/// a demand for PCIe are neither slowed down nor counted. A job is as slow as its slowest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcieEqualShare {
    max_gbps: f64,
}

impl PcieEqualShare {
    /// The model for GPUs whose copies get `max_gbps` GB/s together, such as [`PCIE_GEN4_GBPS`].
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

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        self.slowdown_under(&JobLimitTable::default(), job, at, fleet)
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        let part = part_gbps(guards, fleet, job.job.id);
        let copies = slowest(job, at, fleet, |machine, _, whole, gbps| {
            let bound = machine.view().usage_of_whole(whole).pcie_tenants;
            let shared = pcie_slowdown(gbps, job.job.pcie_alpha, bound, self.max_gbps);
            part.map_or(shared, |part| shared.max(job.job.pcie_alpha * gbps / part))
        });
        overlapped(copies, computing(guards, job))
    }

    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }

    /// Tenants of other GPUs take nothing.
    fn felt_on(&self, _: &HardwareGraph, whole: DeviceId) -> Option<DeviceSet> {
        Some(std::iter::once(whole).collect())
    }
}

/// [Max-min fair](max_min) sharing of the paths to the host. Each PCIe-bound tenant of a machine,
/// on a slice of any size, is a flow of weight 1 over the [hops](mapa_core::HostLinks) from its GPU
/// to the host's memory. It can use its [`alpha`](mapa_sched::Job::pcie_alpha) x its demand. A job
/// is as slow as its slowest rank.
///
/// The machine's description says what each hop carries. To model real copies, it must have
/// measured GB/s, such as [`PCIE_GEN4_GBPS`], and not nominal ones. If the description does not say
/// how a GPU reaches the host, the slowdown of a PCIe-bound job there is unknown: it is NaN, and a
/// simulation stops with an error.
#[derive(Clone, Debug)]
pub struct PcieMaxMin {
    alphas: Arc<HashMap<JobId, f64, FnvBuildHasher>>,
}

impl PcieMaxMin {
    /// The model for the jobs of this workload. The workload is needed for the alphas of jobs,
    /// which a fleet does not have. The alpha of a tenant that is no job of the workload is assumed
    /// to be 1.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let alphas = workload
            .jobs
            .iter()
            .map(|job| (job.job.id, job.job.pcie_alpha))
            .collect();
        Self {
            alphas: Arc::new(alphas),
        }
    }

    /// The flows of all PCIe-bound ranks that share a hop with this device, each with its lease and
    /// the bandwidth that the rank wants, GB/s. A flow has the bandwidth that the rank can use,
    /// which a limit may lower, and its hops.
    fn flows(
        &self,
        guards: &JobLimitTable,
        fleet: &Fleet,
        machine: &Allocator,
        whole: DeviceId,
    ) -> (Vec<(LeaseId, f64)>, Vec<Flow>) {
        let (view, links) = (machine.view(), machine.graph().host_links());
        let (mut wants, mut flows) = (Vec::new(), Vec::new());
        for device in links
            .together(whole)
            .iter()
            .filter(|&device| view.usage_of_whole(device).pcie_tenants > 0)
        {
            let path = links.path(device).unwrap_or_default();
            for id in machine.graph().vertices(device).iter() {
                if view.usage(id).pcie_tenants == 0 {
                    continue;
                }
                for lease in view
                    .tenants(id)
                    .iter()
                    .filter_map(|&lease| machine.lease(lease))
                {
                    let tenant = fleet.tenant_of(view.machine(), lease.id);
                    let alpha = tenant
                        .and_then(|tenant| self.alphas.get(&tenant.job()))
                        .copied()
                        .unwrap_or(1.0);
                    let part = tenant.and_then(|tenant| part_gbps(guards, fleet, tenant.job()));
                    let ranks = lease.pattern.demands().iter().zip(lease.placement.iter());
                    for (demand, _) in
                        ranks.filter(|(demand, at)| **at == id && demand.pcie_mb_s > 0)
                    {
                        let want = alpha * f64::from(demand.pcie_mb_s) / 1000.0;
                        wants.push((lease.id, want));
                        let cap = part.map_or(want, |part| want.min(part));
                        flows.push(Flow::new(path.iter().copied(), cap));
                    }
                }
            }
        }
        (wants, flows)
    }
}

impl Execution for PcieMaxMin {
    fn name(&self) -> &str {
        "pcie-max-min"
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        self.slowdown_under(&JobLimitTable::default(), job, at, fleet)
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        let shares = RefCell::default();
        self.slowdown_by(&shares, guards, (job, at), fleet)
    }

    fn slowdowns_under(
        &self,
        guards: &JobLimitTable,
        jobs: &[(&Submission, &Assignment)],
        fleet: &Fleet,
    ) -> Vec<f64> {
        // All jobs that share hops get their rates from one distribution.
        let shares = RefCell::default();
        let jobs = jobs.iter();
        jobs.map(|&job| self.slowdown_by(&shares, guards, job, fleet))
            .collect()
    }

    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }

    /// Who shares no hop with a GPU copies as fast as before.
    fn felt_on(&self, graph: &HardwareGraph, whole: DeviceId) -> Option<DeviceSet> {
        let links = graph.host_links();
        // A GPU whose way to the host is unknown shares with nobody, but its own tenants are asked.
        let own: DeviceSet = std::iter::once(whole).collect();
        Some(links.together(whole) | &own)
    }
}

/// How the hops of a machine are shared among GPUs.
struct SharedHops {
    machine: MachineId,
    /// The GPUs whose tenants share.
    together: DeviceSet,
    /// The slowdowns of PCIe-bound tenants, by lease: of each its slowest rank. `None` if demands are not finite.
    slowdowns: Option<HashMap<LeaseId, f64, FnvBuildHasher>>,
}

impl PcieMaxMin {
    /// The slowdown of a job by the distributions that were made so far, and those that it needs besides.
    fn slowdown_by(
        &self,
        shares: &RefCell<Vec<SharedHops>>,
        guards: &JobLimitTable,
        (job, at): (&Submission, &Assignment),
        fleet: &Fleet,
    ) -> f64 {
        // The demand of the rank is in the flows already, with that of all others.
        let copies = slowest(job, at, fleet, |machine, lease, whole, _| {
            let links = machine.graph().host_links();
            if links.path(whole).is_none() {
                return f64::NAN;
            }
            let mut shares = shares.borrow_mut();
            let is_it = |known: &SharedHops| {
                known.machine == machine.id() && known.together == *links.together(whole)
            };
            let at = shares.iter().position(is_it).unwrap_or_else(|| {
                shares.push(self.share(guards, fleet, machine, whole));
                shares.len() - 1
            });
            let slowdowns = shares[at].slowdowns.as_ref();
            // A tenant that has no flow is slowed down by none.
            slowdowns.map_or(f64::NAN, |by_lease| {
                by_lease.get(&lease).copied().unwrap_or(1.0)
            })
        });
        overlapped(copies, computing(guards, job))
    }

    /// Shares the hops that this device uses.
    fn share(
        &self,
        guards: &JobLimitTable,
        fleet: &Fleet,
        machine: &Allocator,
        whole: DeviceId,
    ) -> SharedHops {
        let links = machine.graph().host_links();
        let (wants, flows) = self.flows(guards, fleet, machine, whole);
        // Demands that are not finite have no fair rates.
        let rates = max_min(links.capacities(), &flows).ok();
        let slowdowns = rates.map(|rates| {
            let mut by_lease = HashMap::default();
            for ((lease, want), rate) in wants.into_iter().zip(rates) {
                let slowdown: &mut f64 = by_lease.entry(lease).or_insert(1.0);
                *slowdown = slowdown.max(want / rate);
            }
            by_lease
        });
        SharedHops {
            machine: machine.id(),
            together: links.together(whole).clone(),
            slowdowns,
        }
    }
}

/// What each PCIe-bound rank of a job and its tasks gets of the job's limit, GB/s.
fn part_gbps(guards: &JobLimitTable, fleet: &Fleet, job: JobId) -> Option<f64> {
    let limit = guards.on(job).pcie_mb_s?;
    let leases = fleet
        .tenants()
        .filter(|(tenant, ..)| tenant.job() == job)
        .filter_map(|(_, machine, lease)| fleet.machine(machine).ok()?.lease(lease));
    let bound: usize = leases
        .map(|lease| {
            let demands = lease.pattern.demands().iter();
            demands.filter(|demand| demand.pcie_mb_s > 0).count()
        })
        .sum();
    Some(f64::from(limit) / 1000.0 / bound.max(1) as f64)
}

/// The slowdown of a job whose copies and computing overlap; NaN if that of its copies is.
fn overlapped(copies: f64, computing: f64) -> f64 {
    // `f64::max` would lose a NaN.
    if copies.is_nan() {
        return copies;
    }
    copies.max(computing)
}

/// The highest slowdown of a job's PCIe-bound ranks: 1 if no rank is PCIe-bound, NaN if the
/// slowdown of any rank is NaN or its place does not belong to the job and the fleet. `slowdown` gets a rank's machine, its lease there, its whole device
/// and its demand in GB/s.
fn slowest(
    job: &Submission,
    at: &Assignment,
    fleet: &Fleet,
    slowdown: impl Fn(&Allocator, LeaseId, DeviceId, f64) -> f64,
) -> f64 {
    let leases = std::iter::once(at.lease).chain(at.rest.iter().map(|part| part.lease));
    let mut worst = 1.0;
    for ((ranks, machine, placement), lease) in at.parts().zip(leases) {
        let demands = job.job.request.pattern.demands().get(ranks);
        let (Ok(machine), Some(demands)) = (fleet.machine(machine), demands) else {
            return f64::NAN;
        };
        for (demand, &id) in demands.iter().zip(placement.iter()) {
            if machine.graph().check(id).is_err() {
                return f64::NAN;
            }
            let device = machine.graph().device(id);
            // Ranks on the host's own memory or on a network card copy over no GPU's port.
            if demand.pcie_mb_s == 0 || matches!(device.unit, Unit::Numa | Unit::Nic) {
                continue;
            }
            let own = slowdown(
                machine,
                lease,
                device.parent,
                f64::from(demand.pcie_mb_s) / 1000.0,
            );
            // `f64::max` would lose a NaN.
            if own.is_nan() {
                return own;
            }
            worst = own.max(worst);
        }
    }
    worst
}

/// The models of run time under shared PCIe: `pcie-equal-share` (Eq. 2 of Tang et al.;
/// `pcie-equal-share,gbps=60` for ports of 60 GB/s) and `pcie-max-min`.
#[must_use]
pub fn executions() -> Vec<ExecutionRow> {
    let equal_share = ExecutionRow::new(
        "pcie-equal-share",
        "by each job's share of its GPU's PCIe bandwidth, in equal shares (Eq. 2 of Tang et al.)",
        |_| Box::new(PcieEqualShare::default()),
    )
    .by_shared_pcie()
    .with_settings(&["gbps=GB/s"], |settings, _| {
        Ok(Box::new(match settings.get("gbps") {
            Some(gbps) => PcieEqualShare::new(gbps.positive("GB/s above 0")?),
            None => PcieEqualShare::default(),
        }))
    });
    let max_min = ExecutionRow::new(
        "pcie-max-min",
        "by each job's share of the PCIe paths that it copies over, max-min fair",
        |workload| Box::new(PcieMaxMin::new(workload)),
    );
    vec![equal_share, max_min.by_shared_pcie()]
}
