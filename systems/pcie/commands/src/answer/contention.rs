//! The answer of `contention`: the jobs that share each PCIe path, and how much this slows them
//! down.

use mapa_core::{DeviceId, HardwareGraph};
use serde::Serialize;

/// Jobs on a machine that share its PCIe paths to the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contention {
    /// The machine's name.
    pub machine: String,
    /// The capacity of a PCIe path by the equal-share model, GB/s.
    pub max_gbps: f64,
    /// The hops that PCIe-bound jobs cross, from devices up.
    pub hops: Vec<SharedHop>,
    /// The jobs, in the order of their file.
    pub jobs: Vec<ContendedJob>,
}

/// A hop of the host tree that PCIe-bound jobs cross.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedHop {
    /// Where it begins, below.
    pub from: String,
    /// Its bandwidth, GB/s.
    pub gbps: f64,
    /// The demand of its jobs, each alone, GB/s.
    pub wanted_gbps: f64,
    /// What its jobs get by max-min sharing, GB/s.
    pub carried_gbps: f64,
    /// The names of the jobs.
    pub jobs: Vec<String>,
}

/// A job that runs where PCIe is shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContendedJob {
    /// The job's name.
    pub job: String,
    /// The name of its device, or of its instance.
    pub device: String,
    /// Its PCIe traffic when alone, GB/s; 0 for a job that is not PCIe-bound.
    pub pcie_gbps: f64,
    /// The slope of its slowdown over the demand.
    pub pcie_alpha: f64,
    /// Its demand: its traffic when alone times its slope, GB/s.
    pub wants_gbps: f64,
    /// What it gets of its demand by max-min sharing, GB/s.
    pub gets_gbps: f64,
    /// Its run time over the time alone, by two models.
    pub slowdown: Slowdowns,
}

/// The slowdown of a job: its run time over the time alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slowdowns {
    /// By Eq. 2 of Tang et al.: jobs share the machine's PCIe equally.
    #[serde(rename = "equal-share")]
    pub equal_share: f64,
    /// By max-min sharing of every hop.
    #[serde(rename = "max-min")]
    pub max_min: f64,
}

impl ContendedJob {
    /// A job on a device of this name. `pcie_gbps` is its PCIe traffic when alone, GB/s.
    pub fn new(
        job: impl Into<String>,
        device: impl Into<String>,
        pcie_gbps: f64,
        pcie_alpha: f64,
        slowdown: Slowdowns,
    ) -> Self {
        let wants_gbps = pcie_alpha * pcie_gbps;
        Self {
            job: job.into(),
            device: device.into(),
            pcie_gbps,
            pcie_alpha,
            wants_gbps,
            // By max-min sharing, the slowdown is the demand over what the job gets.
            gets_gbps: wants_gbps / slowdown.max_min,
            slowdown,
        }
    }

    /// Whether it sends anything over PCIe.
    pub fn is_bound(&self) -> bool {
        self.pcie_gbps > 0.0
    }
}

impl Contention {
    /// Jobs on a machine of this graph, each with the whole device that it runs on or in.
    ///
    /// # Complexity
    /// O(j d + h) for j jobs on paths of d hops, and h hops.
    pub fn new(
        machine: impl Into<String>,
        max_gbps: f64,
        graph: &HardwareGraph,
        jobs: Vec<(DeviceId, ContendedJob)>,
    ) -> Self {
        let links = graph.host_links();
        let named = links.names().iter().zip(links.capacities());
        let mut crossed: Vec<Vec<&ContendedJob>> = vec![Vec::new(); named.len()];
        // A job that sends nothing over PCIe loads no hop, and is slowed down by none.
        for (whole, job) in jobs.iter().filter(|(_, job)| job.is_bound()) {
            for &hop in links.path(*whole).into_iter().flatten() {
                if let Some(own) = crossed.get_mut(hop as usize) {
                    own.push(job);
                }
            }
        }
        let hops = named.zip(crossed).filter(|(_, jobs)| !jobs.is_empty());
        let hops = hops
            .map(|((name, gbps), jobs)| SharedHop {
                from: name.clone(),
                gbps: *gbps,
                wanted_gbps: jobs.iter().map(|job| job.wants_gbps).sum(),
                carried_gbps: jobs.iter().map(|job| job.gets_gbps).sum(),
                jobs: jobs.iter().map(|job| job.job.clone()).collect(),
            })
            .collect();
        Self {
            machine: machine.into(),
            max_gbps,
            hops,
            jobs: jobs.into_iter().map(|(_, job)| job).collect(),
        }
    }
}
