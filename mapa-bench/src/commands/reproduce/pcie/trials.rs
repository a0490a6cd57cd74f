//! Simulations: every setting on every job file, under both schedulers.

use indicatif::ProgressBar;
use mapa_sim::{Interval, Outcome, Run, Simulation, Workload, mean_interval};

use super::super::{Plan, on_files};
use super::hindsight::{ROUNDING, by_gpu, slower};
use super::jobs::{BLOOM7B1, Kind, draw};
use super::machine::Machines;
use super::setting::{Chooser, FIXED, Physics, Setting, settings};
use crate::failure::Failure;

/// What came of a job file under a scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trial {
    /// Seconds from arrival to end, the mean of all jobs: aggregated JCT over the number of jobs.
    pub(super) completion: f64,
    /// Of it, seconds before the start.
    pub(super) waited: f64,
    /// Run time over that at full speed, the mean of PCIe-bound jobs.
    pub(super) slowdown: f64,
    /// PCIe-bound jobs that ran at full speed from beginning to end, percent.
    pub(super) unslowed: f64,
    /// Bloom7b1 jobs that took more than 1.3 times as long, percent.
    pub(super) beyond: f64,
    /// Jobs slower than what Eq. 2 makes of who ran beside them.
    pub(super) slower: usize,
    /// Jobs that have not finished.
    pub(super) left: usize,
    /// How long PCIe-bound jobs ran, s; kept where [`shown`] only.
    pub(super) ran: Vec<f64>,
}

/// A property of a trial.
pub(super) type Of = fn(&Trial) -> f64;

impl Trial {
    /// By the names under which they are kept.
    pub(super) const MEASURES: [(&'static str, Of); 5] = [
        ("completion_s", |own| own.completion),
        ("waited_s", |own| own.waited),
        ("slowdown", |own| own.slowdown),
        ("unslowed_percent", |own| own.unslowed),
        ("beyond_percent", |own| own.beyond),
    ];
}

/// A setting, and what came of each file under each scheduler.
pub(super) struct Trials {
    pub(super) setting: Setting,
    of: Vec<Vec<Trial>>,
}

impl Trials {
    pub(super) fn of(&self, chooser: Chooser) -> &[Trial] {
        let at = Chooser::ALL.iter().position(|own| *own == chooser).unwrap_or_default();
        self.of.get(at).map_or(&[], Vec::as_slice)
    }

    /// A number per file.
    pub(super) fn per_file(&self, chooser: Chooser, of: impl Fn(&Trial) -> f64) -> Vec<f64> {
        self.of(chooser).iter().map(of).collect()
    }

    /// By how much the aggregated JCT is lower than the baseline's, percent of it, per file.
    pub(super) fn gains(&self) -> Vec<f64> {
        let [first, aware] = Chooser::ALL.map(|chooser| self.per_file(chooser, |own| own.completion));
        first.iter().zip(aware).map(|(first, aware)| 100.0 * (1.0 - aware / first)).collect()
    }

    pub(super) fn gain(&self) -> Interval {
        mean_interval(&self.gains())
    }

    /// Of both schedulers, over all files.
    pub(super) fn sum(&self, of: impl Fn(&Trial) -> usize) -> usize {
        self.of.iter().flatten().map(of).sum()
    }
}

/// All settings.
pub(super) struct All(Vec<Trials>);

impl All {
    pub(super) fn of(&self, setting: Setting) -> Result<&Trials, Failure> {
        let found = self.0.iter().find(|own| own.setting == setting);
        found.ok_or_else(|| Failure::malformed(format_args!("not simulated: {}", setting.id())))
    }

    /// With each of the paper's shares of PCIe-bound jobs.
    pub(super) fn shares(&self, setting: Setting) -> Result<[&Trials; 3], Failure> {
        let [few, some, many] = setting.shares();
        Ok([self.of(few)?, self.of(some)?, self.of(many)?])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Trials> {
        self.0.iter()
    }
}

/// Runs all settings.
pub(super) fn run(plan: &Plan, bar: &ProgressBar) -> Result<All, Failure> {
    let settings = settings();
    let machines = settings.iter().map(Machines::of).collect::<Result<Vec<_>, _>>()?;
    let done = on_files(plan, bar, settings.len(), |at, seed| {
        bar.set_message(settings[at].id());
        let jobs = draw(&settings[at], seed);
        let one = |chooser: Chooser| {
            let outcome = simulate(&settings[at], &machines[at], &jobs, chooser)?;
            Ok(trial(&settings[at], &machines[at], &jobs, &outcome))
        };
        Chooser::ALL.into_iter().map(one).collect()
    })?;
    Ok(All(settings.into_iter().zip(done).map(|(setting, of)| Trials { setting, of }).collect()))
}

/// A job file under a scheduler, by the setting's physics.
pub(super) fn simulate(
    setting: &Setting,
    machines: &Machines,
    jobs: &Workload,
    chooser: Chooser,
) -> Result<Outcome, Failure> {
    let simulation = Simulation::new(jobs, machines.fleet.clone())
        .repartition_by(|model, from, to| machines.repartition(model, from, to));
    let mut scheduler = chooser.scheduler(setting);
    simulation.run(&mut scheduler, &*setting.physics.execution(jobs)).map_err(Failure::malformed)
}

/// Where run times are shown one by one: Fig. 5.
pub(super) fn shown(physics: Physics) -> [Setting; 2] {
    let lengths = [FIXED.lengths, super::setting::Lengths::Alike];
    lengths.map(|lengths| Setting { lengths, physics, ..FIXED })
}

fn trial(setting: &Setting, machines: &Machines, jobs: &Workload, outcome: &Outcome) -> Trial {
    let work = |run: &Run| jobs.jobs[run.index].work.as_secs_f64();
    let kind = |run: &Run| Kind::named(&jobs.jobs[run.index].task);
    let seconds = |of: &dyn Fn(&Run) -> f64| outcome.runs.iter().map(of).sum::<f64>() / outcome.runs.len() as f64;
    let bound = || outcome.runs.iter().filter(|run| kind(run).is_bound());
    let slowdown = |run: &Run| run.ran().as_secs_f64() / work(run);
    let slowdowns = |of: Option<Kind>| -> Vec<f64> {
        bound().filter(|run| of.is_none_or(|of| kind(run) == of)).map(slowdown).collect()
    };
    let percent = |all: &[f64], is: &dyn Fn(f64) -> bool| {
        100.0 * all.iter().filter(|&&own| is(own)).count() as f64 / all.len() as f64
    };
    let [all, heavy] = [None, Some(BLOOM7B1)].map(slowdowns);
    let is_shown = Physics::ALL.into_iter().any(|physics| shown(physics).contains(setting));
    Trial {
        completion: seconds(&|run| (run.ended() - run.arrived).as_secs_f64()),
        waited: seconds(&|run| run.waited().as_secs_f64()),
        slowdown: all.iter().sum::<f64>() / all.len() as f64,
        unslowed: percent(&all, &|own| own <= 1.0 + ROUNDING),
        beyond: percent(&heavy, &|own| own > 1.3 + ROUNDING),
        slower: slower(&by_gpu(&machines.fleet, jobs, &outcome.runs)),
        left: outcome.rejected.len() + outcome.waiting.len(),
        ran: if is_shown { bound().map(|run| run.ran().as_secs_f64()).collect() } else { Vec::new() },
    }
}
