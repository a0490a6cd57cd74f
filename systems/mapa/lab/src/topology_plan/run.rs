//! One job file under one scheduler.

use mapa_front::Error;
use mapa_sched::Fleet;
use mapa_sim::{Outcome, Simulation, Submission, Workload};

use super::schedulers::ComparedScheduler;
use super::setting::{MisledScheduler, PlanInputs};

/// What a file comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FileNumbers {
    /// Seconds until the last job ends.
    pub(super) makespan: f64,
    /// Mean seconds from arrival to end.
    pub(super) completion: f64,
    /// The 99th percentile of completion over the ideal time, by nearest rank.
    pub(super) p99: f64,
    /// The longest wait, seconds.
    pub(super) longest: f64,
    /// Jobs that have not finished.
    pub(super) left: usize,
}

/// A property of a file's numbers.
pub(super) type FileNumber = fn(&FileNumbers) -> f64;

impl FileNumbers {
    /// The measures, with their keys in `results.json`.
    pub(super) const MEASURES: [(&'static str, FileNumber); 4] = [
        ("makespan_seconds", |numbers| numbers.makespan),
        ("mean_completion_seconds", |numbers| numbers.completion),
        ("p99_slowdown", |numbers| numbers.p99),
        ("longest_wait_seconds", |numbers| numbers.longest),
    ];
}

/// The outcome of a file under a scheduler.
pub(super) fn outcome(
    ready: &PlanInputs,
    jobs: &Workload,
    listed: ComparedScheduler,
    seed: u64,
) -> Result<Outcome, Error> {
    let scheduler = listed.scheduler(ready.setting.judge, ready.setting.told);
    let fleet = Fleet::new([ready.graph.clone()]);
    let mut scheduler = MisledScheduler::new(
        scheduler,
        (ready.setting.told, listed.is_told_longest()),
        seed,
    );
    Simulation::new(jobs, fleet)
        .run(&mut scheduler, &ready.execution)
        .map_err(Error::malformed)
}

/// Runs a file under a scheduler.
pub(super) fn run(
    ready: &PlanInputs,
    jobs: &Workload,
    listed: ComparedScheduler,
    seed: u64,
) -> Result<FileNumbers, Error> {
    let outcome = outcome(ready, jobs, listed, seed)?;
    Ok(numbers(&outcome, |job| ready.ideal(job), jobs))
}

/// The numbers of an outcome, where jobs have these ideal times, seconds.
pub(super) fn numbers(
    outcome: &Outcome,
    ideal: impl Fn(&Submission) -> f64,
    jobs: &Workload,
) -> FileNumbers {
    let mut own = FileNumbers {
        left: outcome.rejected.len() + outcome.waiting.len(),
        ..FileNumbers::default()
    };
    let (mut completions, mut slowdowns) = (0.0, Vec::new());
    for run in &outcome.runs {
        let completion = (run.ended() - run.arrived).as_secs_f64();
        completions += completion;
        slowdowns.push(completion / ideal(&jobs.jobs[run.index]));
        own.longest = own.longest.max(run.waited().as_secs_f64());
        own.makespan = own.makespan.max(run.ended().0 as f64 / 1e9);
    }
    slowdowns.sort_by(f64::total_cmp);
    let rank = (0.99 * slowdowns.len() as f64).ceil() as usize;
    own.p99 = slowdowns.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN);
    own.completion = completions / outcome.runs.len() as f64;
    own
}

/// The error for a scheduler or a setting that was not simulated.
pub(super) fn missing(name: &str) -> Error {
    Error::malformed(format_args!("not simulated: {name}"))
}
