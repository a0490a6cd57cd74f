//! Simulations of every setting on every job file, under both schedulers.

use mapa_lab::progress::Progress;
use mapa_sim::{Interval, Outcome, Simulation, Workload, mean_interval};

use super::hindsight::{ROUNDING, by_gpu, slower};
use super::jobs::{BLOOM7B1, Table2Job, draw};
use super::machine::PcieFleet;
use super::setting::{FIXED, PcieChooser, PcieSetting, PortSharing, settings};
use mapa_front::Error;
use mapa_lab::plan::{Plan, on_files};

/// The outcome of a job file under a scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PcieTrial {
    /// Mean seconds from arrival to end of all jobs: aggregated JCT over the number of jobs.
    pub(super) completion: f64,
    /// Mean seconds from arrival to start.
    pub(super) waited: f64,
    /// Mean of execution time over the time at full speed, of PCIe-bound jobs.
    pub(super) slowdown: f64,
    /// PCIe-bound jobs that ran at full speed from beginning to end, percent.
    pub(super) unslowed: f64,
    /// Bloom7b1 jobs that took more than 1.3 times as long, percent.
    pub(super) beyond: f64,
    /// Jobs that are slower than Eq. 2 predicts from the jobs that ran beside them.
    pub(super) slower: usize,
    /// Jobs that have not finished.
    pub(super) left: usize,
    /// Execution times of PCIe-bound jobs, s; kept only for settings that are [`shown`].
    pub(super) ran: Vec<f64>,
}

/// A property of a trial.
pub(super) type PcieNumber = fn(&PcieTrial) -> f64;

impl PcieTrial {
    /// The numbers that `results.json` keeps, with their keys.
    pub(super) const MEASURES: [(&'static str, PcieNumber); 5] = [
        ("completion_s", |trial| trial.completion),
        ("waited_s", |trial| trial.waited),
        ("slowdown", |trial| trial.slowdown),
        ("unslowed_percent", |trial| trial.unslowed),
        ("beyond_percent", |trial| trial.beyond),
    ];
}

/// A setting, and the trial of each file under each scheduler.
pub(super) struct PcieTrials {
    pub(super) setting: PcieSetting,
    of: Vec<Vec<PcieTrial>>,
}

impl PcieTrials {
    /// The trials under a scheduler, by file.
    pub(super) fn of(&self, chooser: PcieChooser) -> &[PcieTrial] {
        let at = PcieChooser::ALL
            .iter()
            .position(|candidate| *candidate == chooser)
            .unwrap_or_default();
        self.of.get(at).map_or(&[], Vec::as_slice)
    }

    /// A number per file.
    pub(super) fn per_file(
        &self,
        chooser: PcieChooser,
        of: impl Fn(&PcieTrial) -> f64,
    ) -> Vec<f64> {
        self.of(chooser).iter().map(of).collect()
    }

    /// The reduction of the aggregated JCT, percent of the baseline's, per file.
    pub(super) fn gains(&self) -> Vec<f64> {
        let [first, aware] =
            PcieChooser::ALL.map(|chooser| self.per_file(chooser, |trial| trial.completion));
        first
            .iter()
            .zip(aware)
            .map(|(first, aware)| 100.0 * (1.0 - aware / first))
            .collect()
    }

    /// The mean of [`gains`](Self::gains).
    pub(super) fn gain(&self) -> Interval {
        mean_interval(&self.gains())
    }

    /// The sum over both schedulers and all files.
    pub(super) fn sum(&self, of: impl Fn(&PcieTrial) -> usize) -> usize {
        self.of.iter().flatten().map(of).sum()
    }
}

/// All settings.
pub(super) struct PcieResults(Vec<PcieTrials>);

impl PcieResults {
    /// The trials of a setting.
    ///
    /// # Errors
    /// The setting was not simulated.
    pub(super) fn of(&self, setting: PcieSetting) -> Result<&PcieTrials, Error> {
        let found = self.0.iter().find(|trials| trials.setting == setting);
        found.ok_or_else(|| Error::malformed(format_args!("not simulated: {}", setting.id())))
    }

    /// The trials at each of the paper's shares of PCIe-bound jobs.
    pub(super) fn shares(&self, setting: PcieSetting) -> Result<[&PcieTrials; 3], Error> {
        let [few, some, many] = setting.shares();
        Ok([self.of(few)?, self.of(some)?, self.of(many)?])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PcieTrials> {
        self.0.iter()
    }
}

/// Runs all settings.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<PcieResults, Error> {
    let settings = settings();
    let machines = settings
        .iter()
        .map(PcieFleet::of)
        .collect::<Result<Vec<_>, _>>()?;
    let done = on_files(plan, bar, settings.len(), |at, seed| {
        bar.doing(&settings[at].id());
        let jobs = draw(&settings[at], seed);
        PcieChooser::ALL
            .into_iter()
            .map(|chooser| {
                let outcome = simulate(&settings[at], &machines[at], &jobs, chooser)?;
                Ok(trial(&settings[at], &machines[at], &jobs, &outcome))
            })
            .collect()
    })?;
    Ok(PcieResults(
        settings
            .into_iter()
            .zip(done)
            .map(|(setting, of)| PcieTrials { setting, of })
            .collect(),
    ))
}

/// Simulates a job file under a scheduler, by the setting's physics.
pub(super) fn simulate(
    setting: &PcieSetting,
    machines: &PcieFleet,
    jobs: &Workload,
    chooser: PcieChooser,
) -> Result<Outcome, Error> {
    let simulation = Simulation::new(jobs, machines.fleet.clone())
        .repartition_by(|model, from, to| machines.repartition(model, from, to));
    let mut scheduler = chooser.scheduler(setting);
    simulation
        .run(&mut scheduler, &*setting.physics.execution(jobs))
        .map_err(Error::malformed)
}

/// The settings of which single execution times are kept: those of Fig. 5.
pub(super) fn shown(physics: PortSharing) -> [PcieSetting; 2] {
    let lengths = [FIXED.lengths, super::setting::Lengths::Alike];
    lengths.map(|lengths| PcieSetting {
        lengths,
        physics,
        ..FIXED
    })
}

/// The trial that summarises an outcome.
fn trial(
    setting: &PcieSetting,
    machines: &PcieFleet,
    jobs: &Workload,
    outcome: &Outcome,
) -> PcieTrial {
    let runs = &outcome.runs;
    let (mut completions, mut waits) = (Vec::new(), Vec::new());
    // Of PCIe-bound jobs: execution times, and execution time over the time at full speed.
    let (mut ran, mut slowdowns, mut heavy) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        completions.push((run.ended() - run.arrived).as_secs_f64());
        waits.push(run.waited().as_secs_f64());
        let job = &jobs.jobs[run.index];
        let kind = Table2Job::named(&job.task);
        if kind.is_bound() {
            let seconds = run.ran().as_secs_f64();
            let slowdown = seconds / job.work.as_secs_f64();
            ran.push(seconds);
            slowdowns.push(slowdown);
            if kind == BLOOM7B1 {
                heavy.push(slowdown);
            }
        }
    }
    let is_shown = PortSharing::ALL
        .into_iter()
        .any(|physics| shown(physics).contains(setting));
    PcieTrial {
        completion: mean(&completions),
        waited: mean(&waits),
        slowdown: mean(&slowdowns),
        unslowed: percent(&slowdowns, |value| value <= 1.0 + ROUNDING),
        beyond: percent(&heavy, |value| value > 1.3 + ROUNDING),
        slower: slower(&by_gpu(&machines.fleet, jobs, runs)),
        left: outcome.rejected.len() + outcome.waiting.len(),
        ran: if is_shown { ran } else { Vec::new() },
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The share of values with a property, percent.
fn percent(values: &[f64], is: impl Fn(f64) -> bool) -> f64 {
    100.0 * values.iter().filter(|&&value| is(value)).count() as f64 / values.len() as f64
}
