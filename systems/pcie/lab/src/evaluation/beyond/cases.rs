//! The cases: settings, what schedulers are told, and which schedulers are compared.

use mapa_front::Error;
use mapa_system_pcie::PortModel;

use super::super::machine::PcieFleet;
use super::super::setting::{
    FIXED, LARGE, Lengths, PcieArrivals, PcieSetting, PortSharing, RequestedSlices,
};
use super::run::{BeyondNumbers, Bounded, bound, run as run_file};
use super::setting::{BeyondScheduler, PLAN, PlanVariant, WorkErrors};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// From this many files on, long backlogs and ablations are run, and bounds are computed with finer
/// slots.
pub(super) const MANY: usize = 30;

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeyondGroup {
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
pub(super) struct BeyondCase {
    pub(super) group: BeyondGroup,
    /// Its name in tables and in JSON.
    pub(super) name: String,
    pub(super) setting: PcieSetting,
    pub(super) told: WorkErrors,
    /// Whether GPUs begin in layouts of several sizes.
    pub(super) is_layered: bool,
    pub(super) planners: Vec<(&'static str, BeyondScheduler)>,
    pub(super) is_bounded: bool,
}

pub(super) const FIRST: &str = "first-gpu";
pub(super) const AWARE: &str = "pcie-aware";
pub(super) const SJF: &str = "aware-sjf";
pub(super) const OURS: &str = "pcie-plan";

/// A case, and the numbers of each scheduler on each file.
pub(super) struct BeyondResult {
    pub(super) case: BeyondCase,
    of: Vec<Vec<BeyondNumbers>>,
    pub(super) bounds: Vec<f64>,
}

impl BeyondResult {
    /// A number of a scheduler, by file; empty for a scheduler that was not run.
    pub(super) fn per_file(&self, name: &str, of: impl Fn(&BeyondNumbers) -> f64) -> Vec<f64> {
        let at = self
            .case
            .planners
            .iter()
            .position(|planner| planner.0 == name);
        let files = at.and_then(|at| self.of.get(at));
        files.into_iter().flatten().map(of).collect()
    }

    /// By how much a scheduler's completion times are below another's, percent, by file.
    pub(super) fn reductions(&self, name: &str, than: &str) -> Vec<f64> {
        let [own, other] =
            [name, than].map(|name| self.per_file(name, |numbers| numbers.completion));
        let pairs = own.iter().zip(&other);
        pairs
            .map(|(value, other)| 100.0 * (1.0 - value / other))
            .collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Vec<BeyondNumbers>)> {
        let names = self.case.planners.iter().map(|planner| planner.0);
        names.zip(&self.of)
    }
}

/// All cases.
pub(super) struct BeyondResults(pub(super) Vec<BeyondResult>);

impl BeyondResults {
    pub(super) fn of(&self, name: &str) -> Result<&BeyondResult, Error> {
        let found = self.0.iter().find(|result| result.case.name == name);
        found.ok_or_else(|| Error::malformed(format_args!("not simulated: {name}")))
    }

    pub(super) fn group(&self, group: BeyondGroup) -> impl Iterator<Item = &BeyondResult> {
        self.0
            .iter()
            .filter(move |result| result.case.group == group)
    }
}

/// `load .6` or `burst`.
pub(super) fn arrivals(coming: PcieArrivals) -> String {
    match coming {
        PcieArrivals::Load(load) => format!("load {}", load.to_string().trim_start_matches('0')),
        PcieArrivals::Burst => "burst".to_owned(),
    }
}

fn base() -> Vec<(&'static str, BeyondScheduler)> {
    vec![
        (FIRST, BeyondScheduler::First),
        (AWARE, BeyondScheduler::Aware),
        (SJF, BeyondScheduler::AwareSjf),
        (OURS, BeyondScheduler::Plan(PLAN)),
    ]
}

fn case(group: BeyondGroup, what: &str, setting: PcieSetting) -> BeyondCase {
    let mut name = format!("{}, {} %", arrivals(setting.coming), setting.share);
    if setting.gpus != FIXED.gpus {
        name = format!("{} GPUs, {name}", setting.gpus);
    }
    if setting.physics == PortSharing::MaxMin {
        name.push_str(", max-min");
    }
    if !what.is_empty() {
        name = format!("{name}, {what}");
    }
    BeyondCase {
        group,
        name,
        setting,
        told: WorkErrors::default(),
        is_layered: false,
        planners: base(),
        is_bounded: false,
    }
}

const BOTH: [PcieArrivals; 2] = [PcieArrivals::Load(0.6), PcieArrivals::Burst];

fn main_cases() -> Vec<BeyondCase> {
    let mut all = Vec::new();
    for physics in PortSharing::ALL {
        for coming in BOTH {
            for share in [20, 40, 60, 80] {
                let setting = PcieSetting {
                    coming,
                    share,
                    physics,
                    ..FIXED
                };
                let mut own = case(BeyondGroup::Main, "", setting);
                own.is_bounded = true;
                if physics == PortSharing::MaxMin {
                    let model = PortModel::MaxMin;
                    let way = PlanVariant { model, ..PLAN };
                    own.planners.push((BY_MAX_MIN, BeyondScheduler::Plan(way)));
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
fn cases(files: usize) -> Vec<BeyondCase> {
    let mut all = main_cases();
    for load in [0.4, 0.5, 0.7, 0.8, 0.9] {
        let coming = PcieArrivals::Load(load);
        all.push(case(
            BeyondGroup::Loads,
            "",
            PcieSetting { coming, ..FIXED },
        ));
    }
    for coming in BOTH {
        for share in [20, 60] {
            let setting = PcieSetting {
                coming,
                share,
                ..LARGE
            };
            all.push(case(BeyondGroup::Large, "", setting));
        }
        let slices = RequestedSlices::Mixed;
        let mixed = PcieSetting {
            coming,
            slices,
            ..FIXED
        };
        all.push(case(BeyondGroup::Mixed, "1g, 2g and 3g", mixed));
        let mut layered = case(
            BeyondGroup::Mixed,
            "1g, 2g and 3g, layouts of several sizes",
            mixed,
        );
        layered.is_layered = true;
        let kept = PlanVariant {
            repartition: false,
            ..PLAN
        };
        layered.planners.push((KEPT, BeyondScheduler::Plan(kept)));
        all.push(layered);
        for (name, lengths) in [
            ("50 s each", Lengths::Alike),
            ("exponential run times", Lengths::Exponential),
        ] {
            let setting = PcieSetting {
                coming,
                lengths,
                ..FIXED
            };
            all.push(case(BeyondGroup::Lengths, name, setting));
        }
        for (name, sigma, demand) in WRONG {
            let mut own = case(BeyondGroup::Wrong, name, PcieSetting { coming, ..FIXED });
            own.told = WorkErrors { sigma, demand };
            own.planners.push((SEEN, BeyondScheduler::Seen(PLAN)));
            all.push(own);
        }
    }
    if files >= MANY {
        all.extend(long_cases());
        for case in all
            .iter_mut()
            .filter(|case| case.name == "load .6, 60 %" || case.name == "burst, 60 %")
        {
            let way = |moves| BeyondScheduler::Plan(PlanVariant { moves, ..PLAN });
            case.planners.push((INSERTED, way(0)));
            case.planners.push((LONGER, way(3000)));
        }
    }
    all
}

/// Long backlogs, where waits grow.
fn long_cases() -> Vec<BeyondCase> {
    let settings = [
        ("400 jobs", 400, PcieArrivals::Load(0.9)),
        ("400 jobs", 400, PcieArrivals::Burst),
    ];
    let cases = settings.map(|(name, jobs, coming)| {
        let setting = PcieSetting {
            jobs,
            coming,
            ..FIXED
        };
        let mut own = case(BeyondGroup::Long, name, setting);
        let aged = |ageing| BeyondScheduler::Plan(PlanVariant { ageing, ..PLAN });
        own.planners.push((FAIRER, aged(Some([60, 30]))));
        own.planners.push((AGELESS, aged(None)));
        own
    });
    cases.into()
}

/// Runs every case.
pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<BeyondResults, Error> {
    run_cases(cases(plan.files), plan, bar)
}

fn run_cases(
    cases: Vec<BeyondCase>,
    plan: &Plan,
    bar: &dyn Progress,
) -> Result<BeyondResults, Error> {
    let machines = cases
        .iter()
        .map(|case| PcieFleet::of(&case.setting)?.layered(case.is_layered))
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
            .collect::<Result<Vec<BeyondNumbers>, Error>>()?;
        // The bound comes last, as if it were a scheduler.
        if case.is_bounded {
            let completion = bound(&case.setting, seed, by)?;
            all.push(BeyondNumbers {
                completion,
                ..BeyondNumbers::default()
            });
        }
        Ok(all)
    })?;
    let all = cases.into_iter().zip(done).map(|(case, mut of)| {
        let bounds = if case.is_bounded { of.pop() } else { None };
        let bounds = bounds.into_iter().flatten();
        BeyondResult {
            bounds: bounds.map(|bound| bound.completion).collect(),
            case,
            of,
        }
    });
    Ok(BeyondResults(all.collect()))
}
