//! Schedulers by name.

use std::time::Duration;

use mapa_core::{Policy, Setting, Settings, effective_gbps, ring_packing_gbps};

use crate::backfill::{Conservative, Easy};
use crate::case::{
    Binding, Case, CaseOrder, CaseSettings, Classes, ContextMemory, Fit, Growers, SlurmMig,
};
use crate::energy::{EnergyPlan, PriceFile, RuleName, RuleScheduler};
use crate::error::{Error, ErrorKind};
use crate::fifo::Fifo;
use crate::first_fit::{FirstFit, LinkModel, ListOrder};
use crate::foresight::Foresight;
use crate::order::Order;
use crate::pcie::PcieAware;
use crate::pcie_plan::{PciePlan, PortModel};
use crate::queue::Queue;
use crate::scheduler::Scheduler;
use crate::slo;
use crate::topology_plan::{PlanGoal, TopologyPlan, Trust};

type Boxed = Box<dyn Scheduler + Send>;
/// Makes a scheduler that places jobs by a policy, with settings, for run times by a model of
/// links.
type Make = fn(Box<dyn Policy>, &Said<'_>, LinkModel) -> Result<Boxed, mapa_core::Error>;

/// A built-in scheduler: its name and what it does in one line; [`BuiltIn::named`] makes it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The policy by which it places jobs, if it takes no other.
    pub policy: Option<&'static str>,
    /// Whether it keeps jobs waiting for better links, which pays only if run times depend on
    /// these.
    pub waits_for_links: bool,
    /// Whether it keeps jobs waiting because PCIe is shared, which pays only if run times depend on
    /// that.
    pub for_shared_pcie: bool,
    /// Whether it is for jobs on one MIG instance each, whose run times are known by size of
    /// instance: see [`energy::SliceJob::of`](crate::energy::SliceJob::of). It places all others as
    /// `fifo` does.
    pub for_slices: bool,
    /// Whether it guards promised latencies: it must be told of latencies and of what the host does.
    pub for_latencies: bool,
    /// The settings that may follow its name, and their values, such as `depth=JOBS`.
    pub settings: &'static [&'static str],
    make: Make,
}

impl BuiltIn {
    /// Every built-in scheduler.
    pub const ALL: [Self; 19] = [
        Self {
            name: "fifo",
            summary: "first in, first out; a head that cannot start blocks all others, as in the paper's evaluation",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, _| Ok(Box::new(Fifo::new(policy))),
        },
        Self {
            name: "easy-backfill",
            summary: "by arrival; later jobs may start first if they do not delay the head",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, _| Ok(Box::new(Easy::new(policy))),
        },
        Self {
            name: "conservative-backfill",
            summary: "by arrival; later jobs may start first if they delay no reservation",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &["depth=JOBS"],
            make: |policy, settings, _| {
                let own = Conservative::new(policy);
                Ok(match settings.get("depth") {
                    Some(depth) => Box::new(own.depth(depth.whole()?)),
                    None => Box::new(own),
                })
            },
        },
        Self {
            name: "shortest-first",
            summary: "the shortest expected run time first; a head that cannot start blocks all \
                others",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, _| Ok(Box::new(Queue::new(policy, Order::ShortestFirst))),
        },
        Self {
            name: "smallest-first",
            summary: "the job of fewest devices first; a head that cannot start blocks all others",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, _| Ok(Box::new(Queue::new(policy, Order::SmallestFirst))),
        },
        Self {
            name: "priority",
            summary: "the highest priority first, then by arrival; a head that cannot start \
                blocks all others",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, _| Ok(Box::new(Queue::new(policy, Order::Priority))),
        },
        Self {
            name: "foresight",
            summary: "first in, first out; on one machine a sensitive head waits for better links where that costs less",
            policy: None,
            waits_for_links: true,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[],
            make: |policy, _, links| Ok(foresight(policy, links)),
        },
        Self {
            name: "first-fit",
            summary: "a list that skips what does not fit; sensitive jobs start only where they are fast enough",
            policy: None,
            waits_for_links: true,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[
                "order=ORDER",
                "max-slowdown=FACTOR|none",
                "model=eq-2|ring-packing",
                "place=policy|fastest",
                "patience=SECONDS|none",
                "pace=SECONDS",
                "overtaking=SECONDS|none",
            ],
            make: first_fit,
        },
        Self {
            name: "topology-plan",
            summary: "plans order and placement together by simulating what is to come; needs run times",
            policy: None,
            waits_for_links: true,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &[
                "goal=completion|makespan|slowdown",
                "blend=SHARE",
                "estimates=exact|rough|class-means",
                "search=JOBS",
                "ageing=on|off",
                "overtaking=TIMES|none",
                "model=eq-2|ring-packing",
                "seed=N",
            ],
            make: topology_plan,
        },
        Self {
            name: "pcie-aware",
            summary: "one MIG instance a job, where PCIe slows it down least; skips jobs, repartitions idle GPUs",
            policy: Some("pcie-aware"),
            waits_for_links: false,
            for_shared_pcie: true,
            for_slices: false,
            for_latencies: false,
            settings: &["delay=FACTOR|none", "wait=SECONDS|none", "gbps=GB/s"],
            make: |_, settings, _| pcie(PcieAware::new(), settings),
        },
        Self {
            name: "first-gpu",
            summary: "the baseline of pcie-aware: the first GPU with a free instance; repartitions GPUs likewise",
            policy: Some("lowest-id"),
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &["gbps=GB/s"],
            make: |_, settings, _| pcie(PcieAware::first_gpu(), settings),
        },
        Self {
            name: "pcie-plan",
            summary: "one MIG instance a job, by a plan for each GPU's PCIe port that charges a start with the delay it causes",
            policy: Some("pcie-aware"),
            waits_for_links: false,
            for_shared_pcie: true,
            for_slices: false,
            for_latencies: false,
            settings: &[
                "search=MOVES",
                "model=eq-2|max-min",
                "patience=SECONDS|none",
                "pace=SECONDS",
                "wait=SECONDS|none",
                "repartition=SECONDS|none",
                "gbps=GB/s",
                "seed=N",
            ],
            make: |_, settings, _| pcie_plan(settings),
        },
        Self {
            name: "energy",
            summary: "by deadline, each on a MIG instance that a rule chooses by run times, deadline and power",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: true,
            for_latencies: false,
            settings: &["rule=RULE", "seed=N"],
            make: |policy, settings, _| by_rule(policy, settings),
        },
        Self {
            name: "energy-plan",
            summary: "jobs with deadlines on MIG instances by prices: few late ones, little energy; reorders and waits",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: true,
            for_latencies: false,
            settings: &["prices=NAME"],
            make: |policy, settings, _| by_prices(policy, settings),
        },
        Self {
            name: "case",
            summary: "isolated jobs have an instance each; the tasks of all others share instances, as CASE packs them",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: CASE,
            make: |policy, settings, _| case(CaseSettings::CORRECTED, "case", policy, settings),
        },
        Self {
            name: "case-balanced",
            summary: "as case; divides instances between both classes, drains and re-provisions them",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: CASE,
            make: |policy, settings, _| {
                case(CaseSettings::BALANCED, "case-balanced", policy, settings)
            },
        },
        Self {
            name: "slurm-mig",
            summary: "the baseline of case: every job has the smallest instance that holds it, for life",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: false,
            settings: &["head=pass|block", "fit=below|up-to"],
            make: |policy, settings, _| slurm_mig(policy, settings),
        },
        Self {
            name: "slo",
            summary: "as fifo; keeps promised latencies by throttles and moves, as the paper on tail latency does; for live facts",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: true,
            settings: SLO,
            make: |policy, settings, _| slo(policy, settings),
        },
        Self {
            name: "slo-replay",
            summary: "as slo, by replaying the last requests under each candidate",
            policy: None,
            waits_for_links: false,
            for_shared_pcie: false,
            for_slices: false,
            for_latencies: true,
            settings: SLO_REPLAY,
            make: |policy, settings, _| slo_replay(policy, settings),
        },
    ];

    /// The scheduler that these words name, with or without settings behind the name.
    #[must_use]
    pub fn find(words: &str) -> Option<&'static Self> {
        let name = words.split(',').next().unwrap_or_default();
        Self::ALL.iter().find(|own| own.name == name)
    }

    /// The built-in scheduler of this name, every job placed by this policy, unless it has a
    /// [`policy`](Self::policy) of its own. Behind the name may be [settings](Self::settings):
    /// `pcie-aware,delay=1.5,wait=600`.
    ///
    /// ```
    /// use mapa_core::preserve;
    /// use mapa_sched::BuiltIn;
    ///
    /// let scheduler = BuiltIn::named("conservative-backfill,depth=10", Box::new(preserve()))?;
    /// assert_eq!(scheduler.name(), "conservative-backfill, preserve");
    /// let error = BuiltIn::named("fifo,depth=10", Box::new(preserve())).err().map(|error| error.to_string());
    /// assert_eq!(error.as_deref(), Some(
    ///     "scheduler `fifo,depth=10`: `depth=10`: no setting is called `depth`: expected the name alone, \
    ///      as this scheduler has no settings"
    /// ));
    /// # Ok::<(), mapa_sched::Error>(())
    /// ```
    ///
    /// # Errors
    /// No such scheduler, or no such setting or value; the message lists those there are.
    pub fn named(words: &str, policy: Box<dyn Policy>) -> Result<Box<dyn Scheduler + Send>, Error> {
        Self::judged_by(words, policy, LinkModel::Usual)
    }

    /// As [`named`](Self::named), for run times that depend on links by this model. Schedulers that
    /// [wait for links](Self::waits_for_links) use it.
    ///
    /// # Errors
    /// As [`named`](Self::named).
    pub fn judged_by(
        words: &str,
        policy: Box<dyn Policy>,
        links: LinkModel,
    ) -> Result<Box<dyn Scheduler + Send>, Error> {
        let Some(own) = Self::find(words) else {
            let name = words.split(',').next().unwrap_or_default();
            return Err(ErrorKind::UnknownScheduler {
                name: name.to_owned(),
                known: Self::ALL.map(|own| own.name).join(", "),
            }
            .into());
        };
        let made = own
            .read(words)
            .and_then(|settings| (own.make)(policy, &settings, links));
        made.map_err(|error| {
            ErrorKind::BadSetting {
                scheduler: words.to_owned(),
                error,
            }
            .into()
        })
    }

    /// The settings behind the name with which these words begin.
    fn read<'w>(&self, words: &'w str) -> Result<Said<'w>, mapa_core::Error> {
        let expected = match self.settings {
            [] => "the name alone, as this scheduler has no settings".to_owned(),
            known => known.join(", "),
        };
        let keys = || {
            self.settings
                .iter()
                .filter_map(|form| form.split('=').next())
        };
        Settings::read(words.split(',').skip(1), &expected, |key| {
            keys().find(|own| *own == key)
        })
    }
}

/// The settings of a scheduler, by key.
type Said<'w> = Settings<'w, &'static str>;

/// Reads a finite number of at least `least`, or `none` as infinity.
fn number(value: &str, least: f64) -> Option<f64> {
    if value == "none" {
        return Some(f64::INFINITY);
    }
    let number = value.parse().ok()?;
    (f64::is_finite(number) && number >= least).then_some(number)
}

/// Reads seconds. More than a [`Duration`] can hold becomes the longest one.
fn seconds(wait: Setting<'_>) -> Result<Duration, mapa_core::Error> {
    let seconds = wait.read("seconds from 0 on, or none", |value| number(value, 0.0))?;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// The rule that decides if none is named: it has no parameters, and beats the published ones.
const USUAL_RULE: &str = "fit-fullest";

fn by_rule(policy: Box<dyn Policy>, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    let usual = RuleName::find(USUAL_RULE);
    let rule = match settings.get("rule") {
        Some(rule) => rule.read(
            &RuleName::ALL.map(|own| own.name).join(", "),
            RuleName::find,
        )?,
        None => usual.unwrap_or(const { &RuleName::ALL[0] }),
    };
    let seed = match settings.get("seed") {
        Some(seed) if !rule.is_random => {
            return seed.read("no seed, as this rule draws nothing", |_| None);
        }
        Some(seed) => seed.whole()?,
        None => 1,
    };
    let own = RuleScheduler::new(rule.rule(seed), policy);
    Ok(Box::new(own.named("energy")))
}

fn by_prices(policy: Box<dyn Policy>, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    let plan = match settings.get("prices") {
        Some(prices) => {
            let names: Vec<&str> = PriceFile::names().collect();
            let named = |name: &str| PriceFile::named(name).and_then(|own| own.plan()).ok();
            prices.read(&names.join(", "), named)?
        }
        None => EnergyPlan::default(),
    };
    Ok(Box::new(RuleScheduler::new(plan, policy)))
}

/// The scheduler `foresight`: its queue head waits for better links, if run times depend on links.
fn foresight(policy: Box<dyn Policy>, links: LinkModel) -> Boxed {
    let own = Foresight::new(policy);
    Box::new(match links {
        LinkModel::Usual => own,
        LinkModel::By(model) => own.by(mapa_core::Foresight::new(model)),
        LinkModel::None => own.patience(None),
    })
}

/// The settings of `first-fit`.
fn first_fit(
    policy: Box<dyn Policy>,
    settings: &Said<'_>,
    links: LinkModel,
) -> Result<Boxed, mapa_core::Error> {
    let order = match settings.get("order") {
        Some(order) => order.read(
            &ListOrder::ALL.map(ListOrder::name).join(", "),
            ListOrder::find,
        )?,
        None => ListOrder::default(),
    };
    let mut own = FirstFit::new(order);
    own = own.model(link_model(settings, links)?);
    if let Some(factor) = settings.get("max-slowdown") {
        let expected = "a factor of at least 1, or none";
        own = own.max_slowdown(factor.read(expected, |value| number(value, 1.0))?);
    }
    let by_policy = match settings.get("place") {
        Some(place) => place.read("policy or fastest", |value| match value {
            "policy" => Some(true),
            "fastest" => Some(false),
            _ => None,
        })?,
        None => true,
    };
    let patience = settings.get("patience").map(seconds).transpose()?;
    let pace = settings.get("pace").map(seconds).transpose()?;
    if let Some(either) = patience.or(pace) {
        own = own.ageing(patience.unwrap_or(either), pace.unwrap_or(either));
    }
    if let Some(limit) = settings.get("overtaking") {
        own = own.overtaking(seconds(limit)?);
    }
    Ok(if by_policy {
        Box::new(own.placed_by(policy))
    } else {
        Box::new(own)
    })
}

/// The setting `model`, or the model by which run times depend on links.
fn link_model(settings: &Said<'_>, links: LinkModel) -> Result<LinkModel, mapa_core::Error> {
    match settings.get("model") {
        Some(model) => model.read("eq-2 or ring-packing", |value| match value {
            "eq-2" => Some(LinkModel::By(effective_gbps())),
            "ring-packing" => Some(LinkModel::By(ring_packing_gbps())),
            _ => None,
        }),
        None => Ok(links),
    }
}

/// The settings of `topology-plan`.
fn topology_plan(
    policy: Box<dyn Policy>,
    settings: &Said<'_>,
    links: LinkModel,
) -> Result<Boxed, mapa_core::Error> {
    let mut own = TopologyPlan::new()
        .model(link_model(settings, links)?)
        .placed_by(policy);
    if let Some(goal) = settings.get("goal") {
        let names = PlanGoal::ALL.map(PlanGoal::name).join(", ");
        own = own.goal(goal.read(&names, PlanGoal::find)?);
    }
    if let Some(blend) = settings.get("blend") {
        let share = |value: &str| {
            value
                .parse()
                .ok()
                .filter(|own| (0.0..=1000.0).contains(own))
        };
        own = own.blend(blend.read("a share of 0 or more", share)?);
    }
    if let Some(trust) = settings.get("estimates") {
        let names = Trust::ALL.map(Trust::name).join(", ");
        own = own.trust(trust.read(&names, Trust::find)?);
    }
    if let Some(search) = settings.get("search") {
        own = own.search(search.whole()?);
    }
    if let Some(ageing) = settings.get("ageing") {
        own = own.ageing(ageing.read("on or off", |value| match value {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        })?);
    }
    if let Some(times) = settings.get("overtaking") {
        let expected = "mean run times, of 0 or more, or none";
        own = own.overtaking(times.read(expected, |value| number(value, 0.0))?);
    }
    if let Some(seed) = settings.get("seed") {
        own = own.seed(seed.whole()?);
    }
    Ok(Box::new(own))
}

/// The settings of `pcie-plan`.
fn pcie_plan(settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    let mut own = PciePlan::new();
    if let Some(moves) = settings.get("search") {
        own = own.moves(moves.whole()?);
    }
    if let Some(model) = settings.get("model") {
        own = own.model(model.read("eq-2 or max-min", |value| match value {
            "eq-2" => Some(PortModel::EqualShare),
            "max-min" => Some(PortModel::MaxMin),
            _ => None,
        })?);
    }
    let patience = settings.get("patience").map(seconds).transpose()?;
    let pace = settings.get("pace").map(seconds).transpose()?;
    if patience.is_some() || pace.is_some() {
        own = own.ageing(
            patience.unwrap_or(PciePlan::PATIENCE),
            pace.unwrap_or(PciePlan::PACE),
        );
    }
    if let Some(wait) = settings.get("wait") {
        own = own.wait_threshold(seconds(wait)?);
    }
    if let Some(takes) = settings.get("repartition") {
        let takes = seconds(takes)?;
        own = own.repartition((takes < Duration::MAX).then_some(takes));
    }
    if let Some(gbps) = settings.get("gbps") {
        own = own.max_gbps(gbps.positive("GB/s above 0")?);
    }
    if let Some(seed) = settings.get("seed") {
        own = own.seed(seed.whole()?);
    }
    Ok(Box::new(own))
}

/// The settings of `case` and `case-balanced`.
const CASE: &[&str] = &[
    "bind=once|free",
    "growers=one|any",
    "fit=below|up-to",
    "context=MB",
    "workers=N",
    "classes=isolated-first|others-first|balance",
    "drain=on|off",
    "isolated=arrival|longest|shortest",
    "others=arrival|longest|shortest",
    "reprovision=on|off",
];

/// One of several values by its name.
fn one_of<T: Copy, const N: usize>(
    setting: Setting<'_>,
    all: [(&'static str, T); N],
) -> Result<T, mapa_core::Error> {
    let names = all.map(|own| own.0).join(", ");
    setting.read(&names, |value| {
        all.iter().find(|own| own.0 == value).map(|own| own.1)
    })
}

/// A switch.
const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

fn case(
    mut own: CaseSettings,
    name: &str,
    policy: Box<dyn Policy>,
    settings: &Said<'_>,
) -> Result<Boxed, mapa_core::Error> {
    if let Some(bind) = settings.get("bind") {
        own.binding = one_of(bind, Binding::ALL)?;
    }
    if let Some(growers) = settings.get("growers") {
        own.growers = one_of(growers, Growers::ALL)?;
    }
    if let Some(fit) = settings.get("fit") {
        own.fit = one_of(fit, Fit::ALL)?;
    }
    if let Some(context) = settings.get("context") {
        // Decimal megabytes, as the default is given.
        own.context = ContextMemory::fixed(context.whole::<u32>().map(u64::from)? * 1_000_000);
    }
    if let Some(workers) = settings.get("workers") {
        own.workers = workers.read("a whole number above 0", |value| {
            value.parse().ok().filter(|&workers: &u32| workers > 0)
        })?;
    }
    if let Some(classes) = settings.get("classes") {
        own.classes = one_of(classes, Classes::ALL)?;
    }
    if let Some(drain) = settings.get("drain") {
        own.drain = one_of(drain, ON_OFF)?;
    }
    if let Some(order) = settings.get("isolated") {
        own.isolated = one_of(order, CaseOrder::ALL)?;
    }
    if let Some(order) = settings.get("others") {
        own.others = one_of(order, CaseOrder::ALL)?;
    }
    if let Some(reprovision) = settings.get("reprovision") {
        own.reprovision = one_of(reprovision, ON_OFF)?;
    }
    Ok(Box::new(Case::new(own, policy).named(name)))
}

/// The settings of `slurm-mig`.
fn slurm_mig(policy: Box<dyn Policy>, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    let mut own = SlurmMig::new(policy);
    if let Some(head) = settings.get("head") {
        own = own.blocking(one_of(head, [("pass", false), ("block", true)])?);
    }
    if let Some(fit) = settings.get("fit") {
        own = own.fit(one_of(fit, Fit::ALL)?);
    }
    Ok(Box::new(own))
}

/// The settings of `slo`.
const SLO: &[&str] = &["levers=all|guards|moves|none", "promise=MS"];

/// The settings of `slo-replay`.
const SLO_REPLAY: &[&str] = &[
    "levers=all|guards|moves|none",
    "promise=MS",
    "transfer=SHARE",
];

/// What both controllers of latencies share.
fn guarding(settings: &Said<'_>) -> Result<slo::Settings, mapa_core::Error> {
    let levers = match settings.get("levers") {
        Some(levers) => one_of(
            levers,
            [
                ("all", slo::Levers::ALL),
                ("guards", slo::Levers::GUARDS),
                ("moves", slo::Levers::PLACEMENT),
                ("none", slo::Levers::NONE),
            ],
        )?,
        None => slo::Levers::ALL,
    };
    let mut own = slo::Settings::of_one_profile(levers);
    if let Some(promise) = settings.get("promise") {
        let ns = promise.read("milliseconds above 0, at most 3600000", |value| {
            value
                .parse()
                .ok()
                .and_then(|ms: f64| slo::latency_ns(ms).ok())
                .filter(|ns| *ns > 0)
        })?;
        own.promise_ns = ns;
        own.trigger_ns = ns;
    }
    Ok(own)
}

fn slo(policy: Box<dyn Policy>, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    Ok(Box::new(slo::SloScheduler::new(
        policy,
        guarding(settings)?,
    )))
}

fn slo_replay(policy: Box<dyn Policy>, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    let transfer = match settings.get("transfer") {
        Some(share) => share.read("a share from 0 to 1", |value| {
            value.parse().ok().filter(|own| (0.0..=1.0).contains(own))
        })?,
        None => slo::replay::ByReplay::TRANSFER,
    };
    let own = slo::replay::ReplaySettings::around(guarding(settings)?);
    Ok(Box::new(slo::replay::SloReplayScheduler::of_share(
        policy, own, transfer,
    )))
}

fn pcie(mut own: PcieAware, settings: &Said<'_>) -> Result<Boxed, mapa_core::Error> {
    if let Some(delay) = settings.get("delay") {
        let expected = "a factor of at least 1, or none";
        own = own.delay_threshold(delay.read(expected, |value| number(value, 1.0))?);
    }
    if let Some(wait) = settings.get("wait") {
        own = own.wait_threshold(seconds(wait)?);
    }
    if let Some(gbps) = settings.get("gbps") {
        own = own.max_gbps(gbps.positive("GB/s above 0")?);
    }
    Ok(Box::new(own))
}
