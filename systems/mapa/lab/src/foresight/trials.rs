//! Simulations of every setting on every job file, under all choosers of the setting.

use std::sync::Arc;

use mapa_core::{HardwareGraph, Pattern, Request, Rules, criteria::max};
use mapa_lab::progress::Progress;
use mapa_sched::{Fleet, Scheduler};
use mapa_sim::{ByBandwidth, Execution, Outcome, Simulation, Workload, quantile};

use super::setting::{ForesightChooser, ForesightSetting, PRESERVE, by_bandwidth, graph, settings};
use mapa_front::Error;
use mapa_lab::plan::{Plan, on_files};

/// The outcome of a job file under a chooser. Bandwidths are by the judge, GB/s, of sensitive jobs
/// of two devices and more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ForesightTrial {
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) p25: f64,
    pub(super) p50: f64,
    /// The share of these jobs below [`STARVED`], percent.
    pub(super) starved: f64,
    /// The 5th percentile of bandwidth over the best that the idle machine has for the job's size,
    /// percent.
    pub(super) share: f64,
    /// Seconds until the last job ends.
    pub(super) makespan: f64,
    /// Mean seconds from arrival to end of all jobs.
    pub(super) completion: f64,
    /// Jobs that have not finished.
    pub(super) left: usize,
}

/// A property of a trial.
pub(super) type ForesightNumber = fn(&ForesightTrial) -> f64;

/// A job below this bandwidth sends over the host, GB/s.
pub(super) const STARVED: f64 = 12.5;

impl ForesightTrial {
    /// The numbers that `results.json` keeps, with their keys.
    pub(super) const MEASURES: [(&'static str, ForesightNumber); 8] = [
        ("mean_gbps", |trial| trial.mean),
        ("min_gbps", |trial| trial.min),
        ("p25_gbps", |trial| trial.p25),
        ("p50_gbps", |trial| trial.p50),
        ("starved_percent", |trial| trial.starved),
        ("p5_share_of_idle_percent", |trial| trial.share),
        ("makespan_s", |trial| trial.makespan),
        ("completion_s", |trial| trial.completion),
    ];
}

/// A setting, and the trial of each file under each of its choosers.
pub(super) struct ForesightTrials {
    pub(super) setting: ForesightSetting,
    pub(super) of: Vec<(ForesightChooser, Vec<ForesightTrial>)>,
}

impl ForesightTrials {
    /// The trials under a chooser, by file; empty if the setting lacks the chooser.
    pub(super) fn of(&self, name: &str) -> &[ForesightTrial] {
        self.of
            .iter()
            .find(|(chooser, _)| chooser.name == name)
            .map_or(&[], |(_, trials)| trials)
    }

    /// A number per file.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&ForesightTrial) -> f64) -> Vec<f64> {
        self.of(name).iter().map(of).collect()
    }

    /// The difference from preserve's number, per file.
    pub(super) fn more(&self, name: &str, of: impl Fn(&ForesightTrial) -> f64) -> Vec<f64> {
        let base = self.per_file(PRESERVE, &of);
        self.per_file(name, of)
            .into_iter()
            .zip(base)
            .map(|(value, base)| value - base)
            .collect()
    }

    /// The difference from preserve's number, percent of it, per file.
    pub(super) fn percent_more(&self, name: &str, of: impl Fn(&ForesightTrial) -> f64) -> Vec<f64> {
        self.percent_over(PRESERVE, name, of)
    }

    /// The difference from the number of `base`, percent of it, per file.
    pub(super) fn percent_over(
        &self,
        base: &str,
        name: &str,
        of: impl Fn(&ForesightTrial) -> f64,
    ) -> Vec<f64> {
        let base = self.per_file(base, &of);
        self.per_file(name, of)
            .into_iter()
            .zip(base)
            .map(|(value, base)| 100.0 * (value / base - 1.0))
            .collect()
    }
}

/// A setting with what all its simulations share.
struct ForesightInputs {
    setting: ForesightSetting,
    graph: Arc<HardwareGraph>,
    execution: Box<dyn Execution>,
    judge: ByBandwidth,
    /// The best bandwidth on the idle machine, GB/s, by number of devices.
    idle: Vec<f64>,
}

/// Runs all settings.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<Vec<ForesightTrials>, Error> {
    let ready = ready()?;
    let done = on_files(plan, bar, ready.len(), |at, seed| {
        bar.doing(&ready[at].setting.id());
        file(&ready[at], seed)
    })?;
    let mut all = Vec::new();
    for (ready, of) in ready.into_iter().zip(done) {
        let choosers = ready.setting.choosers().iter().copied();
        all.push(ForesightTrials {
            setting: ready.setting,
            of: choosers.zip(of).collect(),
        });
    }
    Ok(all)
}

/// Prepares all settings. Settings on one machine share its graph, and with it the tables for
/// decisions.
fn ready() -> Result<Vec<ForesightInputs>, Error> {
    let mut all: Vec<ForesightInputs> = Vec::new();
    for setting in settings() {
        let known = all
            .iter()
            .find(|ready| ready.setting.machine == setting.machine)
            .map(|ready| ready.graph.clone());
        let graph = known.map_or_else(|| graph(setting.machine), Ok)?;
        let judge = by_bandwidth(setting.judge, 1.0);
        let idle = idle(&graph, &judge)?;
        all.push(ForesightInputs {
            setting,
            graph,
            execution: setting.runs.execution(setting.judge),
            judge,
            idle,
        });
    }
    Ok(all)
}

/// The best bandwidth of a ring on the idle machine, by number of devices; NaN below two.
fn idle(graph: &HardwareGraph, judge: &ByBandwidth) -> Result<Vec<f64>, Error> {
    let all = graph.all();
    let policy = Rules::new("idle").prefer(max(judge.model().clone()));
    let mut best = vec![f64::NAN, f64::NAN];
    for devices in 2..=5 {
        let decision = graph
            .with_free(&all)
            .decide(&policy, &Request::new(Pattern::ring(devices)))
            .map_err(Error::malformed)?;
        let score = decision.best().score(judge.model().name());
        best.push(score.unwrap_or(f64::NAN));
    }
    Ok(best)
}

/// Runs one job file under all choosers of a setting.
fn file(ready: &ForesightInputs, seed: u64) -> Result<Vec<ForesightTrial>, Error> {
    let jobs = ready
        .setting
        .jobs(ready.graph.len())
        .generate(seed)
        .map_err(Error::malformed)?;
    ready
        .setting
        .choosers()
        .iter()
        .map(|chooser| trial(ready, &jobs, chooser))
        .collect()
}

/// Runs one job file under one chooser.
fn trial(
    ready: &ForesightInputs,
    jobs: &Workload,
    chooser: &ForesightChooser,
) -> Result<ForesightTrial, Error> {
    let fleet = Fleet::new([ready.graph.clone()]);
    let mut scheduler = chooser.scheduler(chooser.policy(ready.setting.judge), &ready.setting);
    let outcome = simulate(jobs, fleet.clone(), &mut scheduler, &*ready.execution)?;
    let mut gbps = Vec::new();
    let mut shares = Vec::new();
    for run in &outcome.runs {
        let job = &jobs.jobs[run.index];
        if let Some(stay) = run
            .stays
            .last()
            .filter(|_| job.job.request.sensitivity.is_sensitive() && job.devices() > 1)
        {
            let own = ready.judge.gbps(job, &stay.at, &fleet);
            gbps.push(own);
            shares.push(100.0 * own / ready.idle[job.devices()]);
        }
    }
    gbps.sort_by(f64::total_cmp);
    shares.sort_by(f64::total_cmp);
    let starved = gbps.iter().filter(|&&gbp| gbp < STARVED).count();
    let completion = outcome
        .runs
        .iter()
        .map(|run| (run.ended() - run.arrived).as_secs_f64());
    Ok(ForesightTrial {
        mean: gbps.iter().sum::<f64>() / gbps.len() as f64,
        min: quantile(&gbps, 0.0),
        p25: quantile(&gbps, 0.25),
        p50: quantile(&gbps, 0.5),
        starved: 100.0 * starved as f64 / gbps.len() as f64,
        share: quantile(&shares, 0.05),
        makespan: outcome
            .runs
            .iter()
            .map(mapa_sim::Run::ended)
            .max()
            .unwrap_or_default()
            .0 as f64
            / 1e9,
        completion: completion.sum::<f64>() / outcome.runs.len() as f64,
        left: outcome.rejected.len() + outcome.waiting.len(),
    })
}

/// Simulates a workload on a fleet.
pub(super) fn simulate(
    jobs: &Workload,
    fleet: Fleet,
    scheduler: &mut dyn Scheduler,
    execution: &dyn Execution,
) -> Result<Outcome, Error> {
    Simulation::new(jobs, fleet)
        .run(scheduler, execution)
        .map_err(Error::malformed)
}
