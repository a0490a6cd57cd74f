//! Simulations of every setting on every job file, under all policies of the setting.

use std::sync::{Arc, Mutex, PoisonError};

use mapa_core::HardwareGraph;
use mapa_lab::progress::Progress;
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{Execution, Quartiles, Row, Scorer, Simulation, Workload};

use super::setting::{MapaSetting, NamedMachine, policy, settings};
use mapa_front::Error;
use mapa_lab::plan::{Plan, on_files};

/// A job that has finished.
#[derive(Clone, Debug)]
pub(super) struct FinishedJob {
    pub(super) task: Arc<str>,
    pub(super) devices: usize,
    pub(super) sensitive: bool,
    /// Eq. 2, GB/s.
    pub(super) effective: f64,
    /// Ring packing, GB/s; NaN for one device.
    pub(super) packing: f64,
    /// Aggregated bandwidth over the ideal one; NaN for one device.
    pub(super) share: f64,
    /// Seconds at full speed.
    pub(super) work: f64,
    /// Execution time, seconds.
    pub(super) ran: f64,
}

/// A job file under a policy.
#[derive(Clone, Debug)]
pub(super) struct MapaTrial {
    /// Seconds until the last job ended.
    pub(super) makespan: f64,
    /// Jobs that have not finished.
    pub(super) left: usize,
    pub(super) samples: Vec<FinishedJob>,
}

/// A population of jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    All,
    /// Sensitive jobs, including those on one GPU, as the paper pools them.
    Sensitive,
    /// Sensitive jobs of two GPUs and more.
    Several,
    Insensitive,
    Task(&'static str),
}

impl Who {
    pub(super) fn has(self, job: &FinishedJob) -> bool {
        match self {
            Self::All => true,
            Self::Sensitive => job.sensitive,
            Self::Several => job.sensitive && job.devices > 1,
            Self::Insensitive => !job.sensitive,
            Self::Task(task) => *job.task == *task,
        }
    }
}

/// A property of a job.
pub(super) type JobNumber = fn(&FinishedJob) -> f64;

impl MapaTrial {
    /// The finite values of these jobs, sorted.
    pub(super) fn sorted(&self, who: Who, of: JobNumber) -> Vec<f64> {
        let mut values: Vec<f64> = self
            .samples
            .iter()
            .filter(|job| who.has(job))
            .map(of)
            .filter(|value| value.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Minimum, quartiles and maximum; NaN if there is no value.
    pub(super) fn spread(&self, who: Who, of: JobNumber) -> [f64; 5] {
        Quartiles::of(&self.sorted(who, of))
            .map_or([f64::NAN; 5], |q| [q.min, q.p25, q.p50, q.p75, q.max])
    }
}

/// A setting, and the trial of each job file under each of its policies.
pub(super) struct MapaTrials {
    pub(super) setting: MapaSetting,
    pub(super) of: Vec<(&'static str, Vec<MapaTrial>)>,
}

impl MapaTrials {
    /// The trials of a policy, by file; empty if the setting lacks the policy.
    pub(super) fn policy(&self, name: &str) -> &[MapaTrial] {
        self.of
            .iter()
            .find(|(candidate, _)| *candidate == name)
            .map_or(&[], |(_, trials)| trials)
    }

    /// A number per file.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&MapaTrial) -> f64) -> Vec<f64> {
        self.policy(name).iter().map(of).collect()
    }

    /// Throughput over lowest-id's, per file.
    pub(super) fn throughput(&self, name: &str) -> Vec<f64> {
        let base = self.per_file("lowest-id", |trial| trial.makespan);
        base.iter()
            .zip(self.policy(name))
            .map(|(base, trial)| base / trial.makespan)
            .collect()
    }
}

/// The trials of all settings.
pub(super) struct AllTrials(Vec<MapaTrials>);

impl AllTrials {
    /// The trials of the setting with this id.
    ///
    /// # Errors
    /// None of [`settings`] has this id.
    pub(super) fn of(&self, id: &str) -> Result<&MapaTrials, Error> {
        let found = self.0.iter().find(|trials| trials.setting.id == id);
        found.ok_or_else(|| Error::malformed(format_args!("no setting is called `{id}`")))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &MapaTrials> {
        self.0.iter()
    }
}

/// A setting with what all its simulations share.
struct MapaInputs {
    setting: MapaSetting,
    graph: Arc<HardwareGraph>,
    execution: Box<dyn Execution>,
}

/// Runs all settings.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<AllTrials, Error> {
    let ready = ready()?;
    // One scorer for each thread: scorers keep what they have computed.
    let scorers: Vec<Mutex<Scorer>> = (0..plan.threads).map(|_| Mutex::default()).collect();
    let done = on_files(plan, bar, ready.len(), |at, seed| {
        bar.doing(ready[at].setting.what);
        let own = &scorers[rayon::current_thread_index().unwrap_or_default() % scorers.len()];
        file(
            &ready[at],
            seed,
            &mut own.lock().unwrap_or_else(PoisonError::into_inner),
        )
    })?;
    let mut all = Vec::new();
    for (ready, of) in ready.into_iter().zip(done) {
        let policies = ready.setting.policies.iter().copied();
        all.push(MapaTrials {
            of: policies.zip(of).collect(),
            setting: ready.setting,
        });
    }
    Ok(AllTrials(all))
}

/// Prepares all settings. Settings on one machine share its graph, and with it the tables for
/// decisions.
fn ready() -> Result<Vec<MapaInputs>, Error> {
    let mut graphs: Vec<(NamedMachine, Arc<HardwareGraph>)> = Vec::new();
    let mut all = Vec::new();
    for setting in settings() {
        let known = graphs
            .iter()
            .find(|(machine, _)| *machine == setting.machine)
            .map(|(_, graph)| graph.clone());
        let graph = known.map_or_else(|| setting.machine.graph(), Ok)?;
        graphs.push((setting.machine, graph.clone()));
        let execution = setting.runs.model();
        all.push(MapaInputs {
            setting,
            graph,
            execution,
        });
    }
    Ok(all)
}

/// Runs one job file under all policies of a setting.
fn file(ready: &MapaInputs, seed: u64, scorer: &mut Scorer) -> Result<Vec<MapaTrial>, Error> {
    let jobs = ready
        .setting
        .jobs
        .generate(seed)
        .map_err(Error::malformed)?;
    ready
        .setting
        .policies
        .iter()
        .map(|name| trial(ready, &jobs, name, scorer))
        .collect()
}

/// Runs one job file under one policy.
fn trial(
    ready: &MapaInputs,
    jobs: &Workload,
    name: &str,
    scorer: &mut Scorer,
) -> Result<MapaTrial, Error> {
    let fleet = Fleet::new([ready.graph.clone()]);
    let mut scheduler = Fifo::new(policy(name)?);
    let simulation = Simulation::new(jobs, fleet.clone());
    let outcome = simulation
        .run(&mut scheduler, &*ready.execution)
        .map_err(Error::malformed)?;
    let rows = Row::of(&outcome, jobs, &fleet, scorer);
    let makespan = rows.iter().map(|row| row.ended).max().unwrap_or_default().0 as f64 / 1e9;
    let left = outcome.rejected.len() + outcome.waiting.len();
    Ok(MapaTrial {
        makespan,
        left,
        samples: rows.iter().map(sample).collect(),
    })
}

/// The properties of a finished job that the claims use.
fn sample(row: &Row) -> FinishedJob {
    FinishedJob {
        task: row.task.clone(),
        devices: row.devices,
        sensitive: row.sensitive,
        effective: row.scores.effective_gbps,
        packing: row.scores.ring_packing_gbps.unwrap_or(f64::NAN),
        share: row.share_of_ideal().unwrap_or(f64::NAN),
        work: row.work.as_secs_f64(),
        ran: row.ran.as_secs_f64(),
    }
}
