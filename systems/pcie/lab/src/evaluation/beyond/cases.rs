//! The cases: settings, what schedulers are told, and which schedulers are compared.

use mapa_front::Error;
use mapa_system_pcie::PortModel;

use super::super::machine::Machines;
use super::super::setting::{Coming, FIXED, LARGE, Lengths, Physics, Setting, Slices};
use super::run::{Bounded, Numbers, bound, run as run_file};
use super::setting::{PLAN, Planner, Told, Way};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// From this many files on, long backlogs and ablations are run, and bounds are computed with finer
/// slots.
pub(super) const MANY: usize = 30;

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Shares of PCIe-bound jobs, arrivals, physics.
    Main,
    Loads,
    Large,
    Mixed,
    Lengths,
    Wrong,
    Long,
}

/// One comparison.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) group: Group,
    /// Its name in tables and in JSON.
    pub(super) name: String,
    pub(super) setting: Setting,
    pub(super) told: Told,
    /// Whether GPUs begin in layouts of several sizes.
    pub(super) is_layered: bool,
    pub(super) planners: Vec<(&'static str, Planner)>,
    pub(super) is_bounded: bool,
}

pub(super) const FIRST: &str = "first-gpu";
pub(super) const AWARE: &str = "pcie-aware";
pub(super) const SJF: &str = "aware-sjf";
pub(super) const OURS: &str = "pcie-plan";

/// A case, and the numbers of each scheduler on each file.
pub(super) struct Done {
    pub(super) case: Case,
    of: Vec<Vec<Numbers>>,
    pub(super) bounds: Vec<f64>,
}

impl Done {
    /// A number of a scheduler, by file; empty for a scheduler that was not run.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&Numbers) -> f64) -> Vec<f64> {
        let at = self.case.planners.iter().position(|own| own.0 == name);
        let files = at.and_then(|at| self.of.get(at));
        files.into_iter().flatten().map(of).collect()
    }

    /// By how much a scheduler's completion times are below another's, percent, by file.
    pub(super) fn reductions(&self, name: &str, than: &str) -> Vec<f64> {
        let [own, other] = [name, than].map(|name| self.per_file(name, |own| own.completion));
        let pairs = own.iter().zip(&other);
        pairs
            .map(|(own, other)| 100.0 * (1.0 - own / other))
            .collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Vec<Numbers>)> {
        let names = self.case.planners.iter().map(|own| own.0);
        names.zip(&self.of)
    }
}

/// All cases.
pub(super) struct All(pub(super) Vec<Done>);

impl All {
    pub(super) fn of(&self, name: &str) -> Result<&Done, Error> {
        let found = self.0.iter().find(|own| own.case.name == name);
        found.ok_or_else(|| Error::malformed(format_args!("not simulated: {name}")))
    }

    pub(super) fn group(&self, group: Group) -> impl Iterator<Item = &Done> {
        self.0.iter().filter(move |own| own.case.group == group)
    }
}

/// `load .6` or `burst`.
pub(super) fn arrivals(coming: Coming) -> String {
    match coming {
        Coming::Load(load) => format!("load {}", load.to_string().trim_start_matches('0')),
        Coming::Burst => "burst".to_owned(),
    }
}

fn base() -> Vec<(&'static str, Planner)> {
    vec![
        (FIRST, Planner::First),
        (AWARE, Planner::Aware),
        (SJF, Planner::AwareSjf),
        (OURS, Planner::Plan(PLAN)),
    ]
}

fn case(group: Group, what: &str, setting: Setting) -> Case {
    let mut name = format!("{}, {} %", arrivals(setting.coming), setting.share);
    if setting.gpus != FIXED.gpus {
        name = format!("{} GPUs, {name}", setting.gpus);
    }
    if setting.physics == Physics::MaxMin {
        name.push_str(", max-min");
    }
    if !what.is_empty() {
        name = format!("{name}, {what}");
    }
    Case {
        group,
        name,
        setting,
        told: Told::default(),
        is_layered: false,
        planners: base(),
        is_bounded: false,
    }
}

const BOTH: [Coming; 2] = [Coming::Load(0.6), Coming::Burst];

fn main_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for physics in Physics::ALL {
        for coming in BOTH {
            for share in [20, 40, 60, 80] {
                let setting = Setting {
                    coming,
                    share,
                    physics,
                    ..FIXED
                };
                let mut own = case(Group::Main, "", setting);
                own.is_bounded = true;
                if physics == Physics::MaxMin {
                    let model = PortModel::MaxMin;
                    let way = Way { model, ..PLAN };
                    own.planners.push((BY_MAX_MIN, Planner::Plan(way)));
                }
                all.push(own);
            }
        }
    }
    all
}

pub(super) const BY_MAX_MIN: &str = "pcie-plan,model=max-min";
pub(super) const KEPT: &str = "pcie-plan,repartition=none";
pub(super) const SEEN: &str = "pcie-plan, told progress";
pub(super) const INSERTED: &str = "pcie-plan,search=0";
pub(super) const LONGER: &str = "pcie-plan,search=3000";
pub(super) const FAIRER: &str = "pcie-plan,patience=60,pace=30";
pub(super) const AGELESS: &str = "pcie-plan,patience=none";

/// Wrong knowledge, with its name.
pub(super) const WRONG: [(&str, f64, bool); 4] = [
    ("run times wrong by .3", 0.3, false),
    ("run times wrong by 1", 1.0, false),
    ("demands wrong", 0.0, true),
    ("run times wrong by .3, demands wrong", 0.3, true),
];

/// Every case of a run on so many files.
fn cases(files: usize) -> Vec<Case> {
    let mut all = main_cases();
    for load in [0.4, 0.5, 0.7, 0.8, 0.9] {
        let coming = Coming::Load(load);
        all.push(case(Group::Loads, "", Setting { coming, ..FIXED }));
    }
    for coming in BOTH {
        for share in [20, 60] {
            let setting = Setting {
                coming,
                share,
                ..LARGE
            };
            all.push(case(Group::Large, "", setting));
        }
        let slices = Slices::Mixed;
        let mixed = Setting {
            coming,
            slices,
            ..FIXED
        };
        all.push(case(Group::Mixed, "1g, 2g and 3g", mixed));
        let mut layered = case(
            Group::Mixed,
            "1g, 2g and 3g, layouts of several sizes",
            mixed,
        );
        layered.is_layered = true;
        let kept = Way {
            repartition: false,
            ..PLAN
        };
        layered.planners.push((KEPT, Planner::Plan(kept)));
        all.push(layered);
        for (name, lengths) in [
            ("50 s each", Lengths::Alike),
            ("exponential run times", Lengths::Exponential),
        ] {
            let setting = Setting {
                coming,
                lengths,
                ..FIXED
            };
            all.push(case(Group::Lengths, name, setting));
        }
        for (name, sigma, demand) in WRONG {
            let mut own = case(Group::Wrong, name, Setting { coming, ..FIXED });
            own.told = Told { sigma, demand };
            own.planners.push((SEEN, Planner::Seen(PLAN)));
            all.push(own);
        }
    }
    if files >= MANY {
        all.extend(long_cases());
        for own in all
            .iter_mut()
            .filter(|own| own.name == "load .6, 60 %" || own.name == "burst, 60 %")
        {
            let way = |moves| Planner::Plan(Way { moves, ..PLAN });
            own.planners.push((INSERTED, way(0)));
            own.planners.push((LONGER, way(3000)));
        }
    }
    all
}

/// Long backlogs, where waits grow.
fn long_cases() -> Vec<Case> {
    let settings = [
        ("400 jobs", 400, Coming::Load(0.9)),
        ("400 jobs", 400, Coming::Burst),
    ];
    let cases = settings.map(|(name, jobs, coming)| {
        let setting = Setting {
            jobs,
            coming,
            ..FIXED
        };
        let mut own = case(Group::Long, name, setting);
        let aged = |ageing| Planner::Plan(Way { ageing, ..PLAN });
        own.planners.push((FAIRER, aged(Some([60, 30]))));
        own.planners.push((AGELESS, aged(None)));
        own
    });
    cases.into()
}

/// Runs every case.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<All, Error> {
    run_cases(cases(plan.files), plan, bar)
}

fn run_cases(cases: Vec<Case>, plan: &Plan, bar: &dyn Progress) -> Result<All, Error> {
    let machines = cases
        .iter()
        .map(|case| Machines::of(&case.setting)?.layered(case.is_layered))
        .collect::<Result<Vec<_>, _>>()?;
    let by = if plan.files >= MANY {
        Bounded::FINE
    } else {
        Bounded::COARSE
    };
    let done = on_files(plan, bar, cases.len(), |at, seed| {
        let case = &cases[at];
        bar.doing(&case.name);
        let planners = case.planners.iter();
        let mut all = planners
            .map(|&(_, planner)| run_file(&case.setting, &machines[at], planner, case.told, seed))
            .collect::<Result<Vec<Numbers>, Error>>()?;
        // The bound comes last, as if it were a scheduler.
        if case.is_bounded {
            let completion = bound(&case.setting, seed, by)?;
            all.push(Numbers {
                completion,
                ..Numbers::default()
            });
        }
        Ok(all)
    })?;
    let all = cases.into_iter().zip(done).map(|(case, mut of)| {
        let bounds = if case.is_bounded { of.pop() } else { None };
        let bounds = bounds.into_iter().flatten();
        Done {
            bounds: bounds.map(|own| own.completion).collect(),
            case,
            of,
        }
    });
    Ok(All(all.collect()))
}
