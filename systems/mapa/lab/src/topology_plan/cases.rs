//! The cases: settings, and which schedulers are compared in each.

use mapa_front::Error;
use mapa_sched::ListOrder;
use mapa_system_mapa::PlanGoal;

use super::bound::{FileBounds, bound};
use super::run::{FileNumber, FileNumbers, missing, run as run_file};
use super::schedulers::{ComparedScheduler, JobPlacing, PlanDifference};
use super::setting::{PlanArrivals, PlanInputs, PlanSetting, ToldRunTimes};
use super::strongest::Strongest;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// From this many files on, wrong knowledge is tried, all orders are, and bounds need linear
/// programs.
pub(super) const MANY: usize = 10;

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanGroup {
    /// Machines, judges and arrivals, schedulers told the truth.
    Main,
    /// Wrong run times, means alone, and overstated gains.
    Wrong,
}

/// A setting, and the schedulers that run in it.
pub(super) struct PlanCase {
    pub(super) group: PlanGroup,
    pub(super) setting: PlanSetting,
    listed: Vec<ComparedScheduler>,
}

/// A case, the numbers of each scheduler on each file, and the bounds of each file.
pub(super) struct PlanResult {
    pub(super) group: PlanGroup,
    pub(super) setting: PlanSetting,
    of: Vec<(String, Vec<FileNumbers>)>,
    bounds: Vec<Option<FileBounds>>,
}

impl PlanResult {
    /// A number of a scheduler, by file; empty for a scheduler that was not run.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&FileNumbers) -> f64) -> Vec<f64> {
        let files = self.of.iter().find(|(candidate, _)| candidate == name);
        let files = files.into_iter().flat_map(|(_, files)| files);
        files.map(of).collect()
    }

    /// A scheduler's number above another's, percent, by file.
    pub(super) fn more(&self, name: &str, than: &str, of: FileNumber) -> Vec<f64> {
        percent(&self.per_file(name, of), &self.per_file(than, of))
    }

    /// Every scheduler, with its numbers by file.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &[FileNumbers])> {
        self.of.iter().map(|(name, files)| (&name[..], &files[..]))
    }

    /// A bound by file; empty where none is computed.
    pub(super) fn bounds(&self, of: impl Fn(&FileBounds) -> f64) -> Vec<f64> {
        self.bounds.iter().flatten().map(of).collect()
    }

    /// The mean of a scheduler's number over all files.
    pub(super) fn mean(&self, name: &str, of: FileNumber) -> f64 {
        let files = self.per_file(name, of);
        files.iter().sum::<f64>() / files.len() as f64
    }

    /// The name of the best scheduler among those that `keep` keeps, by the mean of a number.
    pub(super) fn best(&self, of: FileNumber, keep: impl Fn(&str) -> bool) -> Option<&str> {
        let names = self.of.iter().map(|(name, _)| &name[..]);
        let kept = names.filter(|name| keep(name));
        kept.min_by(|a, b| self.mean(a, of).total_cmp(&self.mean(b, of)))
    }
}

/// Each number above that of another, percent.
pub(super) fn percent(own: &[f64], than: &[f64]) -> Vec<f64> {
    let pairs = own.iter().zip(than);
    pairs
        .map(|(value, than)| 100.0 * (value / than - 1.0))
        .collect()
}

/// All cases, and the strongest baselines.
pub(super) struct PlanResults {
    pub(super) dones: Vec<PlanResult>,
    pub(super) strongest: Strongest,
}

impl PlanResults {
    pub(super) fn group(&self, group: PlanGroup) -> impl Iterator<Item = &PlanResult> + Clone {
        self.dones
            .iter()
            .filter(move |result| result.group == group)
    }

    /// The main case of an arrival pattern on a machine, by a judge.
    pub(super) fn main(&self, place: &str, coming: PlanArrivals) -> Result<&PlanResult, Error> {
        let mut found = self.group(PlanGroup::Main);
        let found =
            found.find(|result| result.setting.place() == place && result.setting.coming == coming);
        found.ok_or_else(|| missing(place))
    }
}

/// The thresholds of the lists that are compared where knowledge is wrong.
const WRONG_PHIS: [f64; 4] = [1.0, 1.1, 1.2, 1.5];

/// The schedulers of a main case: first in, first out; backfilling; lists with and without a
/// threshold, and one that ages; the strongest by each measure; the plan.
fn main_listed(setting: &PlanSetting, strongest: &Strongest, many: bool) -> Vec<ComparedScheduler> {
    let mut all = vec![
        ComparedScheduler::Fifo(JobPlacing::Preserve),
        ComparedScheduler::Foresight,
        ComparedScheduler::Easy(None),
        ComparedScheduler::Conservative,
    ];
    let few = [
        ListOrder::Shortest,
        ListOrder::SmallestArea,
        ListOrder::Largest,
    ];
    let orders = if many { &ListOrder::ALL[..] } else { &few };
    for &order in orders {
        all.push(ComparedScheduler::list(order, None));
        all.push(ComparedScheduler::list(order, Some(1.2)));
    }
    all.push(ComparedScheduler::aged(ListOrder::Shortest));
    all.extend(PlanGoal::ALL.map(|goal| ComparedScheduler::Plan(PlanDifference::of(goal))));
    let own = PlanDifference::of(PlanGoal::Completion);
    all.push(ComparedScheduler::Plan(PlanDifference {
        ages: false,
        ..own
    }));
    if setting.coming == PlanArrivals::AtOnce {
        all.push(ComparedScheduler::Plan(PlanDifference {
            blend: 0.3,
            ..own
        }));
    }
    if many
        && matches!(
            setting.coming,
            PlanArrivals::AtOnce | PlanArrivals::Load(0.9)
        )
    {
        all.extend(
            PlanDifference::ablation()
                .into_iter()
                .map(ComparedScheduler::Plan),
        );
    }
    let measures = FileNumbers::MEASURES.iter();
    all.extend(measures.filter_map(|(measure, _)| strongest.of(setting, measure)));
    all
}

/// The schedulers of a case with wrong knowledge.
fn wrong_listed() -> Vec<ComparedScheduler> {
    let mut all = vec![
        ComparedScheduler::Fifo(JobPlacing::Preserve),
        ComparedScheduler::Easy(None),
    ];
    for order in [ListOrder::Shortest, ListOrder::SmallestArea] {
        all.push(ComparedScheduler::list(order, None));
        all.extend(WRONG_PHIS.map(|phi| ComparedScheduler::list(order, Some(phi))));
    }
    all.push(ComparedScheduler::list(ListOrder::Largest, Some(1.1)));
    let goals = [PlanGoal::Completion, PlanGoal::Makespan];
    all.extend(goals.map(|goal| ComparedScheduler::Plan(PlanDifference::of(goal))));
    all
}

/// Every setting in which what schedulers are told is wrong.
fn wrong_settings() -> Vec<PlanSetting> {
    let load = PlanArrivals::Load(0.9);
    let mut wrong = Vec::new();
    for coming in [load, PlanArrivals::AtOnce, PlanArrivals::Bursts] {
        wrong.extend([0.2, 0.5].map(|sigma| (coming, ToldRunTimes::Wrong(sigma), 1.0)));
    }
    wrong.extend([load, PlanArrivals::AtOnce].map(|coming| (coming, ToldRunTimes::Means, 1.0)));
    wrong.extend([0.5, 0.0].map(|gain| (load, ToldRunTimes::Exact, gain)));
    let places = PlanSetting::all();
    let places = places.iter().filter(|place| place.coming == load);
    let settings = wrong.into_iter().flat_map(|(coming, told, gain)| {
        places.clone().map(move |&place| PlanSetting {
            coming,
            told,
            gain,
            ..place
        })
    });
    settings.collect()
}

/// Every case of a run on so many files.
fn cases(files: usize, strongest: &Strongest) -> Vec<PlanCase> {
    let many = files >= MANY;
    let main = PlanSetting::all().into_iter().map(|setting| PlanCase {
        group: PlanGroup::Main,
        listed: main_listed(&setting, strongest, many),
        setting,
    });
    let mut all: Vec<PlanCase> = main.collect();
    if many {
        all.extend(wrong_settings().into_iter().map(|setting| PlanCase {
            group: PlanGroup::Wrong,
            listed: wrong_listed(),
            setting,
        }));
    }
    for case in &mut all {
        let mut seen = Vec::new();
        case.listed.retain(|listed| {
            let is_new = !seen.contains(listed);
            seen.push(*listed);
            is_new
        });
    }
    all
}

/// Runs every case.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<PlanResults, Error> {
    let strongest = Strongest::kept()?;
    let cases = cases(plan.files, &strongest);
    let settings: Vec<PlanSetting> = cases.iter().map(|case| case.setting).collect();
    let ready = PlanInputs::all(&settings)?;
    // Each result is a scheduler's; the bounds come last, as if they were one.
    let done = on_files(plan, bar, cases.len(), |at, seed| {
        let (case, ready) = (&cases[at], &ready[at]);
        bar.doing(&case.setting.id());
        let jobs = ready.jobs(seed)?;
        let mut all = Vec::new();
        for &listed in &case.listed {
            all.push((run_file(ready, &jobs, listed, seed)?, None));
        }
        let is_main = case.group == PlanGroup::Main;
        let bound = match is_main {
            true => Some(bound(ready, &jobs, plan.files < MANY)?),
            false => None,
        };
        all.push((FileNumbers::default(), bound));
        Ok(all)
    })?;
    let dones = cases.into_iter().zip(done).map(|(case, mut of)| {
        let bounds = of.pop().unwrap_or_default();
        let names = case.listed.iter().map(|listed| listed.name());
        let files = of
            .into_iter()
            .map(|files| files.into_iter().map(|file| file.0).collect());
        PlanResult {
            group: case.group,
            setting: case.setting,
            of: names.zip(files).collect(),
            bounds: bounds.into_iter().map(|bound| bound.1).collect(),
        }
    });
    Ok(PlanResults {
        dones: dones.collect(),
        strongest,
    })
}
