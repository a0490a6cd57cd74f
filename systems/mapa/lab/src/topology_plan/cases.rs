//! The cases: settings, and which schedulers are compared in each.

use mapa_front::Error;
use mapa_sched::ListOrder;
use mapa_system_mapa::PlanGoal;

use super::bound::{Bound, bound};
use super::run::{Numbers, Of, missing, run as run_file};
use super::schedulers::{Listed, Place, Planned};
use super::setting::{Coming, Ready, Setting, Told};
use super::strongest::Strongest;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// From this many files on, wrong knowledge is tried, all orders are, and bounds need linear
/// programs.
pub(super) const MANY: usize = 10;

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Machines, judges and arrivals, schedulers told the truth.
    Main,
    /// Wrong run times, means alone, and overstated gains.
    Wrong,
}

/// A setting, and the schedulers that run in it.
pub(super) struct Case {
    pub(super) group: Group,
    pub(super) setting: Setting,
    listed: Vec<Listed>,
}

/// A case, the numbers of each scheduler on each file, and the bounds of each file.
pub(super) struct Done {
    pub(super) group: Group,
    pub(super) setting: Setting,
    of: Vec<(String, Vec<Numbers>)>,
    bounds: Vec<Option<Bound>>,
}

impl Done {
    /// A number of a scheduler, by file; empty for a scheduler that was not run.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&Numbers) -> f64) -> Vec<f64> {
        let files = self.of.iter().find(|(own, _)| own == name);
        let files = files.into_iter().flat_map(|(_, files)| files);
        files.map(of).collect()
    }

    /// A scheduler's number above another's, percent, by file.
    pub(super) fn more(&self, name: &str, than: &str, of: Of) -> Vec<f64> {
        percent(&self.per_file(name, of), &self.per_file(than, of))
    }

    /// Every scheduler, with its numbers by file.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &[Numbers])> {
        self.of.iter().map(|(name, files)| (&name[..], &files[..]))
    }

    /// A bound by file; empty where none is computed.
    pub(super) fn bounds(&self, of: impl Fn(&Bound) -> f64) -> Vec<f64> {
        self.bounds.iter().flatten().map(of).collect()
    }

    /// The mean of a scheduler's number over all files.
    pub(super) fn mean(&self, name: &str, of: Of) -> f64 {
        let files = self.per_file(name, of);
        files.iter().sum::<f64>() / files.len() as f64
    }

    /// The name of the best scheduler among those that `keep` keeps, by the mean of a number.
    pub(super) fn best(&self, of: Of, keep: impl Fn(&str) -> bool) -> Option<&str> {
        let names = self.of.iter().map(|(name, _)| &name[..]);
        let kept = names.filter(|name| keep(name));
        kept.min_by(|a, b| self.mean(a, of).total_cmp(&self.mean(b, of)))
    }
}

/// Each number above that of another, percent.
pub(super) fn percent(own: &[f64], than: &[f64]) -> Vec<f64> {
    let pairs = own.iter().zip(than);
    pairs
        .map(|(own, than)| 100.0 * (own / than - 1.0))
        .collect()
}

/// All cases, and the strongest baselines.
pub(super) struct All {
    pub(super) dones: Vec<Done>,
    pub(super) strongest: Strongest,
}

impl All {
    pub(super) fn group(&self, group: Group) -> impl Iterator<Item = &Done> + Clone {
        self.dones.iter().filter(move |own| own.group == group)
    }

    /// The main case of an arrival pattern on a machine, by a judge.
    pub(super) fn main(&self, place: &str, coming: Coming) -> Result<&Done, Error> {
        let mut found = self.group(Group::Main);
        let found = found.find(|own| own.setting.place() == place && own.setting.coming == coming);
        found.ok_or_else(|| missing(place))
    }
}

/// The thresholds of the lists that are compared where knowledge is wrong.
const WRONG_PHIS: [f64; 4] = [1.0, 1.1, 1.2, 1.5];

/// The schedulers of a main case: first in, first out; backfilling; lists with and without a
/// threshold, and one that ages; the strongest by each measure; the plan.
fn main_listed(setting: &Setting, strongest: &Strongest, many: bool) -> Vec<Listed> {
    let mut all = vec![
        Listed::Fifo(Place::Preserve),
        Listed::Foresight,
        Listed::Easy(None),
        Listed::Conservative,
    ];
    let few = [
        ListOrder::Shortest,
        ListOrder::SmallestArea,
        ListOrder::Largest,
    ];
    let orders = if many { &ListOrder::ALL[..] } else { &few };
    for &order in orders {
        all.push(Listed::list(order, None));
        all.push(Listed::list(order, Some(1.2)));
    }
    all.push(Listed::aged(ListOrder::Shortest));
    all.extend(PlanGoal::ALL.map(|goal| Listed::Plan(Planned::of(goal))));
    let own = Planned::of(PlanGoal::Completion);
    all.push(Listed::Plan(Planned { ages: false, ..own }));
    if setting.coming == Coming::AtOnce {
        all.push(Listed::Plan(Planned { blend: 0.3, ..own }));
    }
    if many && matches!(setting.coming, Coming::AtOnce | Coming::Load(0.9)) {
        all.extend(Planned::ablation().into_iter().map(Listed::Plan));
    }
    let measures = Numbers::MEASURES.iter();
    all.extend(measures.filter_map(|(measure, _)| strongest.of(setting, measure)));
    all
}

/// The schedulers of a case with wrong knowledge.
fn wrong_listed() -> Vec<Listed> {
    let mut all = vec![Listed::Fifo(Place::Preserve), Listed::Easy(None)];
    for order in [ListOrder::Shortest, ListOrder::SmallestArea] {
        all.push(Listed::list(order, None));
        all.extend(WRONG_PHIS.map(|phi| Listed::list(order, Some(phi))));
    }
    all.push(Listed::list(ListOrder::Largest, Some(1.1)));
    let goals = [PlanGoal::Completion, PlanGoal::Makespan];
    all.extend(goals.map(|goal| Listed::Plan(Planned::of(goal))));
    all
}

/// Every setting in which what schedulers are told is wrong.
fn wrong_settings() -> Vec<Setting> {
    let load = Coming::Load(0.9);
    let mut wrong = Vec::new();
    for coming in [load, Coming::AtOnce, Coming::Bursts] {
        wrong.extend([0.2, 0.5].map(|sigma| (coming, Told::Wrong(sigma), 1.0)));
    }
    wrong.extend([load, Coming::AtOnce].map(|coming| (coming, Told::Means, 1.0)));
    wrong.extend([0.5, 0.0].map(|gain| (load, Told::Exact, gain)));
    let places = Setting::all();
    let places = places.iter().filter(|own| own.coming == load);
    let settings = wrong.into_iter().flat_map(|(coming, told, gain)| {
        places.clone().map(move |&own| Setting {
            coming,
            told,
            gain,
            ..own
        })
    });
    settings.collect()
}

/// Every case of a run on so many files.
fn cases(files: usize, strongest: &Strongest) -> Vec<Case> {
    let many = files >= MANY;
    let main = Setting::all().into_iter().map(|setting| Case {
        group: Group::Main,
        listed: main_listed(&setting, strongest, many),
        setting,
    });
    let mut all: Vec<Case> = main.collect();
    if many {
        all.extend(wrong_settings().into_iter().map(|setting| Case {
            group: Group::Wrong,
            listed: wrong_listed(),
            setting,
        }));
    }
    for case in &mut all {
        let mut seen = Vec::new();
        case.listed.retain(|own| {
            let is_new = !seen.contains(own);
            seen.push(*own);
            is_new
        });
    }
    all
}

/// Runs every case.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<All, Error> {
    let strongest = Strongest::kept()?;
    let cases = cases(plan.files, &strongest);
    let settings: Vec<Setting> = cases.iter().map(|own| own.setting).collect();
    let ready = Ready::all(&settings)?;
    // Each result is a scheduler's; the bounds come last, as if they were one.
    let done = on_files(plan, bar, cases.len(), |at, seed| {
        let (case, ready) = (&cases[at], &ready[at]);
        bar.doing(&case.setting.id());
        let jobs = ready.jobs(seed)?;
        let mut all = Vec::new();
        for &listed in &case.listed {
            all.push((run_file(ready, &jobs, listed, seed)?, None));
        }
        let is_main = case.group == Group::Main;
        let bound = match is_main {
            true => Some(bound(ready, &jobs, plan.files < MANY)?),
            false => None,
        };
        all.push((Numbers::default(), bound));
        Ok(all)
    })?;
    let dones = cases.into_iter().zip(done).map(|(case, mut of)| {
        let bounds = of.pop().unwrap_or_default();
        let names = case.listed.iter().map(|own| own.name());
        let files = of
            .into_iter()
            .map(|files| files.into_iter().map(|own| own.0).collect());
        Done {
            group: case.group,
            setting: case.setting,
            of: names.zip(files).collect(),
            bounds: bounds.into_iter().map(|own| own.1).collect(),
        }
    });
    Ok(All {
        dones: dones.collect(),
        strongest,
    })
}
