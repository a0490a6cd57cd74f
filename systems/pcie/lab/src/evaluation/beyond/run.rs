//! One job file under one scheduler, and its bound.

use std::time::Duration;

use mapa_core::PCIE_GEN4_GBPS;
use mapa_front::Error;
use mapa_sim::Simulation;
use mapa_system_pcie::{PcieBound, PciePorts, PcieWork, PortModel, pcie_bound};

use super::super::jobs::{Table2Job, draw};
use super::super::machine::PcieFleet;
use super::super::setting::{PcieSetting, PortSharing};
use super::setting::{BeyondScheduler, MisledByErrors, WorkErrors};

/// What a file comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BeyondNumbers {
    /// Mean seconds from arrival to end.
    pub(super) completion: f64,
    /// The mean of completion over the time at full speed.
    pub(super) slowdown: f64,
    /// The 99th percentile of that, by nearest rank.
    pub(super) p99: f64,
    /// The longest wait, seconds.
    pub(super) longest: f64,
    /// From the first arrival to the last end, seconds.
    pub(super) makespan: f64,
    /// Jobs that have not finished.
    pub(super) left: usize,
}

/// Seconds between reports of progress, where schedulers are told any.
const PROGRESS_S: u64 = 5;

pub(super) fn run(
    setting: &PcieSetting,
    machines: &PcieFleet,
    planner: BeyondScheduler,
    told: WorkErrors,
    seed: u64,
) -> Result<BeyondNumbers, Error> {
    let jobs = draw(setting, seed);
    let mut simulation = Simulation::new(&jobs, machines.fleet.clone())
        .repartition_by(|model, from, to| machines.repartition(model, from, to));
    if planner.is_told_progress() {
        simulation = simulation.progress(Duration::from_secs(PROGRESS_S));
    }
    let mut scheduler = MisledByErrors::new(planner.scheduler(setting), told, seed);
    let outcome = simulation
        .run(&mut scheduler, &*setting.physics.execution(&jobs))
        .map_err(Error::malformed)?;
    let (mut completions, mut slowdowns) = (Vec::new(), Vec::new());
    let (mut longest, mut first, mut last) = (0.0_f64, f64::INFINITY, 0.0_f64);
    for run in &outcome.runs {
        let completion = (run.ended() - run.arrived).as_secs_f64();
        completions.push(completion);
        slowdowns.push(completion / jobs.jobs[run.index].work.as_secs_f64());
        longest = longest.max(run.waited().as_secs_f64());
        first = first.min(run.arrived.0 as f64 / 1e9);
        last = last.max(run.ended().0 as f64 / 1e9);
    }
    slowdowns.sort_by(f64::total_cmp);
    let n = completions.len() as f64;
    let rank = ((0.99 * n).ceil() as usize).max(1) - 1;
    Ok(BeyondNumbers {
        completion: completions.iter().sum::<f64>() / n,
        slowdown: slowdowns.iter().sum::<f64>() / n,
        p99: slowdowns.get(rank).copied().unwrap_or(f64::NAN),
        longest,
        makespan: last - first,
        left: outcome.rejected.len() + outcome.waiting.len(),
    })
}

/// How finely a bound is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    /// Seconds.
    slot: f64,
    rounds: u32,
}

impl Bounded {
    pub(super) const FINE: Self = Self {
        slot: 2.0,
        rounds: 400,
    };
    pub(super) const COARSE: Self = Self {
        slot: 5.0,
        rounds: 150,
    };
}

/// The mean completion time that no schedule of a file is below, seconds.
pub(super) fn bound(setting: &PcieSetting, seed: u64, by: Bounded) -> Result<f64, Error> {
    let jobs = draw(setting, seed);
    let works: Vec<PcieWork> = jobs
        .jobs
        .iter()
        .map(|job| PcieWork {
            arrives: job.job.arrived.0 as f64 / 1e9,
            seconds: job.work.as_secs_f64(),
            gbps: Table2Job::named(&job.task).wants(),
            slices: 1,
        })
        .collect();
    let ports = PciePorts {
        gpus: setting.gpus as u32,
        slices: setting.instances,
        gbps: PCIE_GEN4_GBPS,
        model: match setting.physics {
            PortSharing::EqualShare => PortModel::EqualShare,
            PortSharing::MaxMin => PortModel::MaxMin,
        },
    };
    let bound = pcie_bound(&works, &ports, by.slot, PcieBound::Prices(by.rounds));
    let sum = bound.map_err(Error::malformed)?.value;
    Ok(sum / works.len() as f64)
}
