//! Every batch under every manager.

use std::time::Duration;

use mapa_core::lowest_id;
use mapa_front::Error;
use mapa_sched::{NamedScheduler, Time};
use mapa_sim::{Execution, Fixed, Interval, Outcome, Simulation, Workload, mean_interval};
use mapa_system_case::{CaseBatch, MemoryFit, SCHEDULERS};
use mapa_system_case_sim::ByWarps;

use super::machine::PartitionedGpus;
use super::memory::{CONTEXT, MemorySteps};
use super::setting::{BatchSetting, bytes};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

pub(super) const SLURM: &str = "slurm-mig";
pub(super) const BLOCKING: &str = "slurm-mig,head=block";
pub(super) const CASE: &str = "case";
pub(super) const BALANCED: &str = "case-balanced";

/// What a batch comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BatchNumbers {
    /// Seconds until the last job ends.
    pub(super) makespan: f64,
    /// Mean seconds from arrival to end: of all jobs, of isolated ones, of the others. NaN for none.
    pub(super) turnaround: f64,
    pub(super) isolated: f64,
    pub(super) others: f64,
    /// The mean over jobs of the turnaround under the first manager over that under this.
    pub(super) per_job: f64,
    /// Jain's index of slowdowns: turnaround over the time that the job needs alone.
    pub(super) jain: f64,
    /// The worst slowdown of an isolated job, and of another.
    pub(super) worst_isolated: f64,
    pub(super) worst_others: f64,
    /// The mean slowdown of tasks, percent.
    pub(super) kernels: f64,
    /// A makespan that no schedule is below on these instances, and on any.
    pub(super) bound: f64,
    pub(super) any_layout: f64,
    pub(super) memory: MemoryUse,
}

/// Memory by several definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MemoryUse {
    /// The mean over the makespan, bytes.
    pub(super) mean: f64,
    /// The peak.
    pub(super) peak: f64,
    /// The mean over the first 60 % of the makespan.
    pub(super) first: f64,
    /// The mean over the makespan with half a gigabyte for each worker's context.
    pub(super) contexts: f64,
    /// The mean over this manager's makespan, over that of the first manager in the same window.
    pub(super) window: f64,
}

/// A number of a batch.
pub(super) type BatchNumber = fn(&BatchNumbers) -> f64;

/// One kind of batch under some managers. The first is that to which `per_job` and `window` compare.
#[derive(Clone, Debug)]
pub(super) struct BatchRun {
    pub(super) setting: BatchSetting,
    pub(super) managers: Vec<&'static str>,
}

impl BatchRun {
    pub(super) fn new(setting: BatchSetting, managers: &[&'static str]) -> Self {
        Self {
            setting,
            managers: managers.to_vec(),
        }
    }
}

pub(super) struct BatchTrials {
    wanted: Vec<BatchRun>,
    /// By kind, manager and file.
    numbers: Vec<Vec<Vec<BatchNumbers>>>,
}

pub(super) fn run(
    plan: &Plan,
    bar: &dyn Progress,
    wanted: Vec<BatchRun>,
) -> Result<BatchTrials, Error> {
    let wanted = merged(wanted);
    let numbers = on_files(plan, bar, wanted.len(), |at, seed| {
        let own = &wanted[at];
        let batch = own.setting.batch(seed)?;
        let mut first: Option<(Vec<f64>, MemorySteps)> = None;
        let each = own.managers.iter().map(|manager| {
            let outcome = outcome(&own.setting, manager, &batch)?;
            let mut numbers = numbers(&own.setting, &outcome, &batch)?;
            let all = turnarounds(&outcome, &batch);
            let memory = MemorySteps::of(&outcome, &batch, 0.0);
            let (base, window) = first.get_or_insert_with(|| (all.clone(), memory));
            let ratios = base.iter().zip(&all).map(|(base, value)| base / value);
            numbers.per_job = ratios.sum::<f64>() / all.len() as f64;
            numbers.memory.window = numbers.memory.mean / window.mean(numbers.makespan);
            Ok(numbers)
        });
        each.collect()
    })?;
    Ok(BatchTrials { wanted, numbers })
}

/// Each kind of batch once, with every manager that is wanted for it.
fn merged(wanted: Vec<BatchRun>) -> Vec<BatchRun> {
    let mut all: Vec<BatchRun> = Vec::new();
    for run in wanted {
        match all.iter_mut().find(|before| before.setting == run.setting) {
            Some(before) => {
                for manager in run.managers {
                    if !before.managers.contains(&manager) {
                        before.managers.push(manager);
                    }
                }
            }
            None => all.push(run),
        }
    }
    all
}

impl BatchTrials {
    /// The numbers of a manager, file by file.
    pub(super) fn of(
        &self,
        setting: &BatchSetting,
        manager: &str,
    ) -> Result<&[BatchNumbers], Error> {
        let missing =
            || Error::malformed(format_args!("not simulated: {}, {manager}", setting.name()));
        let kinds = self.wanted.iter().zip(&self.numbers);
        let mut found = kinds.filter(|(run, _)| run.setting == *setting);
        let all = found.find_map(|(run, numbers)| {
            let at = run
                .managers
                .iter()
                .position(|&candidate| candidate == manager)?;
            numbers.get(at)
        });
        all.map(Vec::as_slice).ok_or_else(missing)
    }

    /// A number under `a` over that under `b`, file by file.
    pub(super) fn over(
        &self,
        setting: &BatchSetting,
        a: &str,
        b: &str,
        of: BatchNumber,
    ) -> Result<Vec<f64>, Error> {
        let (a, b) = (self.of(setting, a)?, self.of(setting, b)?);
        Ok(a.iter().zip(b).map(|(a, b)| of(a) / of(b)).collect())
    }

    /// The mean of a number.
    pub(super) fn mean(
        &self,
        setting: &BatchSetting,
        manager: &str,
        of: BatchNumber,
    ) -> Result<Interval, Error> {
        let values: Vec<f64> = self.of(setting, manager)?.iter().map(of).collect();
        Ok(mean_interval(&values))
    }
}

/// The means of several lists, file by file.
pub(super) fn means(
    lists: impl IntoIterator<Item = Result<Vec<f64>, Error>>,
) -> Result<Vec<f64>, Error> {
    let (mut sums, mut count) = (Vec::new(), 0.0);
    for list in lists {
        let list = list?;
        sums.resize(list.len(), 0.0);
        sums.iter_mut()
            .zip(list)
            .for_each(|(sum, value)| *sum += value);
        count += 1.0;
    }
    Ok(sums.into_iter().map(|sum: f64| sum / count).collect())
}

/// A batch under a manager.
pub(super) fn outcome(
    setting: &BatchSetting,
    manager: &str,
    batch: &Workload,
) -> Result<Outcome, Error> {
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, manager, Box::new(lowest_id()))
        .map_err(Error::malformed)?;
    let execution: &dyn Execution = if setting.slows {
        &ByWarps::default()
    } else {
        &Fixed
    };
    let outcome = Simulation::new(batch, PartitionedGpus::of(setting)?.fleet)
        .repartition(Duration::from_secs(setting.repartition))
        .run(scheduler.as_mut(), execution)
        .map_err(Error::malformed)?;
    if outcome.runs.len() < batch.jobs.len() {
        return Err(Error::malformed(format_args!(
            "{manager} on {}: {} of {} jobs have ended",
            setting.name(),
            outcome.runs.len(),
            batch.jobs.len()
        )));
    }
    Ok(outcome)
}

/// The turnaround of each job, seconds, in the order of the batch.
fn turnarounds(outcome: &Outcome, batch: &Workload) -> Vec<f64> {
    let mut all = vec![f64::NAN; batch.jobs.len()];
    for run in &outcome.runs {
        all[run.index] = (run.ended() - run.arrived).as_secs_f64();
    }
    all
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

fn numbers(
    setting: &BatchSetting,
    outcome: &Outcome,
    batch: &Workload,
) -> Result<BatchNumbers, Error> {
    let all = turnarounds(outcome, batch);
    let jobs = || batch.jobs.iter().zip(&all);
    // Alone a job needs its host phases and its tasks at full speed.
    let alone = |submission: &mapa_sim::Submission| {
        let tasks: Duration = submission
            .tasks
            .iter()
            .map(|task| task.pause + task.work)
            .sum();
        (submission.work + tasks).as_secs_f64()
    };
    let slowdown = |(submission, &took): (&mapa_sim::Submission, &f64)| took / alone(submission);
    let of_class =
        |isolated: bool| jobs().filter(move |(submission, _)| submission.job.isolated == isolated);
    let worst = |isolated| of_class(isolated).map(slowdown).fold(f64::NAN, f64::max);
    let slowdowns: Vec<f64> = jobs().map(slowdown).collect();
    let (sum, squares) = slowdowns.iter().fold((0.0, 0.0), |(sum, squares), value| {
        (sum + value, squares + value * value)
    });
    let ended = outcome.runs.iter().map(mapa_sim::Run::ended).max();
    let makespan = ended.unwrap_or(Time::ZERO).0 as f64 / 1e9;
    let kernels = outcome.runs.iter().flat_map(|run| {
        let plans = &batch.jobs[run.index].tasks;
        run.tasks.iter().zip(plans).map(|(task, plan)| {
            let ran: Duration = task.stays.iter().map(|stay| stay.until - stay.from).sum();
            100.0 * (ran.as_secs_f64() / plan.work.as_secs_f64() - 1.0)
        })
    });
    let memory = MemorySteps::of(outcome, batch, 0.0);
    let machine = PartitionedGpus::of(setting)?;
    let bounds = bounds(&machine, setting, batch);
    Ok(BatchNumbers {
        makespan,
        turnaround: mean(all.iter().copied()),
        isolated: mean(of_class(true).map(|row| *row.1)),
        others: mean(of_class(false).map(|row| *row.1)),
        per_job: 1.0,
        jain: sum * sum / (slowdowns.len() as f64 * squares),
        worst_isolated: worst(true),
        worst_others: worst(false),
        kernels: mean(kernels),
        bound: bounds[0],
        any_layout: bounds[1],
        memory: MemoryUse {
            mean: memory.mean(makespan),
            peak: memory.peak(),
            first: memory.mean(0.6 * makespan),
            contexts: MemorySteps::of(outcome, batch, CONTEXT).mean(makespan),
            window: 1.0,
        },
    })
}

/// The bounds on fixed instances and on any, seconds.
fn bounds(machine: &PartitionedGpus, setting: &BatchSetting, batch: &Workload) -> [f64; 2] {
    let bytes_of = |request: &mapa_core::Request| {
        let demand = request.pattern.demands().first();
        demand.map_or(bytes(0.0), |demand| demand.memory_bytes)
    };
    let mut case_batch = CaseBatch::default();
    for job in &batch.jobs {
        if job.job.isolated {
            case_batch
                .isolated
                .push((bytes_of(&job.job.request), job.work));
        } else {
            let host: Duration = job.tasks.iter().map(|task| task.pause).sum();
            let tasks = job
                .tasks
                .iter()
                .map(|task| (bytes_of(&task.request), task.work));
            case_batch.others.push((host + job.work, tasks.collect()));
        }
    }
    let gpus = vec![&*machine.model; setting.system.gpus()];
    let fixed = case_batch.makespan_bound(&machine.capacities(), MemoryFit::Below);
    let any = case_batch.makespan_bound_of_any_layout(&gpus, MemoryFit::Below);
    [fixed, any].map(|duration| duration.map_or(f64::NAN, |duration| duration.as_secs_f64()))
}
