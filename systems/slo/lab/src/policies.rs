//! The policies that are compared, and what a run under one comes to.

use mapa_front::Error;
use mapa_system_slo::replay::ReplaySettings;
use mapa_system_slo::{EnabledLevers, Settings, TenantSetup};
use mapa_system_slo_sim::{
    DrawnRun, HOSTS, LiveControl, NoController, Noise, PaperControl, ReplayControl, RunConditions,
    RunTotals, SWITCHES, Scenario, run,
};

/// What decides in a run.
#[derive(Clone, Copy)]
pub(super) enum SloPolicy {
    /// Nothing, on this profile.
    Static(u8),
    /// Nothing, on this profile, at the place that turns out best.
    Hindsight(u8),
    /// Free and instant moves, on the largest profile.
    Clairvoyant,
    /// No neighbour, on the largest profile.
    Quiet,
    /// Nothing but admission, on the smallest profile.
    Admission,
    /// The paper's controller with these levers, as changed.
    Paper(EnabledLevers, fn(&mut Settings)),
    /// The controller by replay, as changed; with perfect counters or with this much noise.
    Replay(fn(&mut ReplaySettings), Option<Noise>),
    /// The controller by replay that believes another model, of which these parts are times this:
    /// the weight of neighbours, and the effect of training.
    WrongModel(f64, f64),
}

/// A policy with its name in tables and numbers.
pub(super) type NamedPolicy = (&'static str, SloPolicy);

pub(super) fn unchanged(_: &mut Settings) {}
fn warm(own: &mut Settings) {
    own.warm_handover = true;
}
fn afresh(own: &mut Settings) {
    own.judge_throttle_afresh = true;
}
fn as_usual(_: &mut ReplaySettings) {}
fn warm_replay(own: &mut ReplaySettings) {
    own.base.warm_handover = true;
}

/// The rows of Table 3.
pub(super) const TABLE_3: [NamedPolicy; 5] = [
    ("static", SloPolicy::Static(0)),
    ("guards", SloPolicy::Paper(EnabledLevers::GUARDS, unchanged)),
    (
        "placement",
        SloPolicy::Paper(EnabledLevers::PLACEMENT, unchanged),
    ),
    ("mig", SloPolicy::Paper(EnabledLevers::MIG, unchanged)),
    ("full", SloPolicy::Paper(EnabledLevers::ALL, unchanged)),
];

const NO_RELAXING: EnabledLevers = EnabledLevers {
    relax: false,
    ..EnabledLevers::ALL
};

pub(super) const SLO: &str = "slo";
pub(super) const REPLAY: &str = "slo-replay";
pub(super) const REPLAY_WARM: &str = "slo-replay-warm";
pub(super) const LIVE: &str = "slo-replay-live";
pub(super) const LIVE_WARM: &str = "slo-replay-live-warm";
pub(super) const STATIC_4G: &str = "static-4g";
pub(super) const QUIET: &str = "quiet-4g";
pub(super) const CLAIRVOYANT: &str = "clairvoyant-4g";
pub(super) const CHEAP: &str = "slo-replay-2g";
pub(super) const HINDSIGHT_2G: &str = "hindsight-2g";

/// What is compared beyond the paper.
pub(super) const BEYOND: [NamedPolicy; 21] = [
    ("static", SloPolicy::Static(0)),
    (STATIC_4G, SloPolicy::Static(2)),
    (SLO, SloPolicy::Paper(EnabledLevers::ALL, unchanged)),
    ("slo-afresh", SloPolicy::Paper(EnabledLevers::ALL, afresh)),
    ("slo-no-relax", SloPolicy::Paper(NO_RELAXING, unchanged)),
    ("slo-warm", SloPolicy::Paper(EnabledLevers::ALL, warm)),
    (
        "slo-replay-no-throttle",
        SloPolicy::Replay(|settings| settings.feed_forward = false, None),
    ),
    (REPLAY, SloPolicy::Replay(as_usual, None)),
    (REPLAY_WARM, SloPolicy::Replay(warm_replay, None)),
    (
        "slo-replay-live-clean",
        SloPolicy::Replay(as_usual, Some(Noise::NONE)),
    ),
    (LIVE, SloPolicy::Replay(as_usual, Some(Noise::USUAL))),
    (
        LIVE_WARM,
        SloPolicy::Replay(warm_replay, Some(Noise::USUAL)),
    ),
    (
        "slo-replay-live-double",
        SloPolicy::Replay(as_usual, Some(TWICE)),
    ),
    (
        "slo-replay-live-late",
        SloPolicy::Replay(as_usual, Some(LATE)),
    ),
    (
        "slo-replay-live-lost",
        SloPolicy::Replay(as_usual, Some(LOST)),
    ),
    (
        CHEAP,
        SloPolicy::Replay(|settings| settings.per_slice = 0.03, None),
    ),
    ("admission", SloPolicy::Admission),
    (HINDSIGHT_2G, SloPolicy::Hindsight(0)),
    ("hindsight-4g", SloPolicy::Hindsight(2)),
    (CLAIRVOYANT, SloPolicy::Clairvoyant),
    (QUIET, SloPolicy::Quiet),
];

/// Twice the usual noise.
const TWICE: Noise = Noise {
    misses: 0.4,
    phantoms: 0.1,
    cv: 0.5,
    lost: 0.1,
    late_ticks: 2,
    measured_cv: 0.04,
};
/// Readings that are only late.
const LATE: Noise = Noise {
    late_ticks: 3,
    ..Noise::NONE
};
/// Readings of which every second is missing.
const LOST: Noise = Noise {
    lost: 0.5,
    ..Noise::NONE
};

/// What a wrong model costs.
pub(super) const WRONG: [NamedPolicy; 9] = [
    ("training effect 0", SloPolicy::WrongModel(1.0, 0.0)),
    ("training effect x 2", SloPolicy::WrongModel(1.0, 2.0)),
    (
        "weight of neighbours x 0.5",
        SloPolicy::WrongModel(0.5, 1.0),
    ),
    ("weight of neighbours x 2", SloPolicy::WrongModel(2.0, 1.0)),
    ("weight of neighbours 0", SloPolicy::WrongModel(0.0, 1.0)),
    (
        "horizon 150 s",
        SloPolicy::Replay(|settings| settings.horizon_s = 150.0, None),
    ),
    (
        "horizon 2400 s",
        SloPolicy::Replay(|settings| settings.horizon_s = 2400.0, None),
    ),
    (
        "every 15 ticks",
        SloPolicy::Replay(|settings| settings.every_ticks = 15, None),
    ),
    (
        "history of 128",
        SloPolicy::Replay(|settings| settings.history = 128, None),
    ),
];

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SloOutcome {
    pub(super) miss_percent: f64,
    pub(super) fail_percent: f64,
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) p999_ms: f64,
    pub(super) answered: f64,
    pub(super) relaunches_per_hour: f64,
    pub(super) rollbacks_per_hour: f64,
    pub(super) throttles_per_hour: f64,
    pub(super) throttled_percent: f64,
    pub(super) slices: f64,
    /// Relaunches that follow another sooner than the dwell allows, but for rollbacks.
    pub(super) too_soon: f64,
}

impl SloOutcome {
    fn of(own: &RunTotals, dwell: u64) -> Self {
        let hours = own.seconds / 3600.0;
        let at = &own.relaunched_at;
        let pairs = at.iter().zip(at.iter().skip(1));
        let too_soon = pairs.filter(|(last, next)| !next.1 && next.0 - last.0 < dwell);
        Self {
            miss_percent: own.miss_percent(),
            fail_percent: own.fail_percent(),
            p50_ms: own.percentile(50.0),
            p95_ms: own.percentile(95.0),
            p99_ms: own.percentile(99.0),
            p999_ms: own.percentile(99.9),
            answered: own.answered_count() as f64,
            relaunches_per_hour: own.relaunches_per_hour(),
            rollbacks_per_hour: at.iter().filter(|pair| pair.1).count() as f64 / hours,
            throttles_per_hour: own.throttles as f64 / hours,
            throttled_percent: 100.0 * own.throttled_seconds / own.seconds,
            slices: own.slices(),
            too_soon: too_soon.count() as f64,
        }
    }
}

/// A change of settings that a sensitivity row makes for every policy.
pub(super) type SettingsChange = fn(&mut Settings);

impl SloPolicy {
    /// The outcome of a run of a scenario.
    pub(super) fn outcome(
        self,
        scenario: &Scenario,
        trace: &DrawnRun,
        seed: u64,
        change: SettingsChange,
    ) -> Result<SloOutcome, Error> {
        let largest = scenario.model().map_err(Error::malformed)?.profiles() as u8 - 1;
        let dwell = u64::from(self.settings(scenario, change)?.dwell);
        let from = |profile: u8| RunConditions {
            start: TenantSetup {
                profile: profile.min(largest),
                ..TenantSetup::at(0)
            },
            ..RunConditions::default()
        };
        let fixed = |conditions: RunConditions, trace: &DrawnRun| {
            run(scenario, trace, seed, conditions, &mut NoController).map_err(Error::malformed)
        };
        let totals = match self {
            Self::Static(profile) => fixed(from(profile), trace)?,
            Self::Hindsight(profile) => {
                let mut best: Option<RunTotals> = None;
                for place in 0..(HOSTS * SWITCHES) as u32 {
                    let mut conditions = from(profile);
                    conditions.start.place = place;
                    let own = fixed(conditions, trace)?;
                    if best
                        .as_ref()
                        .is_none_or(|best| own.fail_percent() < best.fail_percent())
                    {
                        best = Some(own);
                    }
                }
                best.ok_or_else(|| Error::malformed("a machine without switches"))?
            }
            Self::Clairvoyant => {
                let conditions = RunConditions {
                    free_moves: true,
                    ..from(largest)
                };
                fixed(conditions, trace)?
            }
            Self::Quiet => {
                let alone = DrawnRun {
                    busy: Vec::new(),
                    ..trace.clone()
                };
                fixed(from(largest), &alone)?
            }
            Self::Admission => {
                let conditions = RunConditions {
                    admission: true,
                    ..from(0)
                };
                fixed(conditions, trace)?
            }
            Self::Paper(..) => {
                let own = self.settings(scenario, change)?;
                let mut control = PaperControl::new(own, TenantSetup::at(0));
                run(scenario, trace, seed, from(0), &mut control).map_err(Error::malformed)?
            }
            Self::Replay(..) | Self::WrongModel(..) => {
                let own = self.replay_settings(scenario, change)?;
                let start = TenantSetup::at(0);
                match self {
                    Self::Replay(_, Some(noise)) => {
                        let mut control = LiveControl::new(own, start, noise, seed);
                        run(scenario, trace, seed, from(0), &mut control)
                    }
                    _ => run(
                        scenario,
                        trace,
                        seed,
                        from(0),
                        &mut ReplayControl::new(own, start),
                    ),
                }
                .map_err(Error::malformed)?
            }
        };
        Ok(SloOutcome::of(&totals, dwell))
    }

    /// The settings of the controller, as changed.
    fn settings(self, scenario: &Scenario, change: SettingsChange) -> Result<Settings, Error> {
        let levers = match self {
            Self::Paper(levers, _) => levers,
            _ => EnabledLevers::ALL,
        };
        let mut own = scenario.settings(levers).map_err(Error::malformed)?;
        change(&mut own);
        if let Self::Paper(_, also) = self {
            also(&mut own);
        }
        own.checked().map_err(Error::malformed)
    }

    fn replay_settings(
        self,
        scenario: &Scenario,
        change: SettingsChange,
    ) -> Result<ReplaySettings, Error> {
        let base = self.settings(scenario, change)?;
        let mut own = ReplaySettings::new(base).map_err(Error::malformed)?;
        match self {
            Self::Replay(also, _) => also(&mut own),
            Self::WrongModel(weight, training) => {
                let model = &mut own.base.model;
                model
                    .heavy_weight
                    .iter_mut()
                    .for_each(|value| *value *= weight);
                model
                    .training
                    .iter_mut()
                    .for_each(|value| *value *= training);
            }
            _ => (),
        }
        own.checked().map_err(Error::malformed)
    }
}
