//! Settings of the controller, each with its bounds and where it comes from.

use serde::{Deserialize, Serialize};

use super::model::{ModelParameters, SlowdownModel};
use crate::error::{Error, ErrorKind};

/// Which levers a controller may use. A lever that is off is never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EnabledLevers {
    /// Throttle neighbours for a bounded time.
    pub throttle: bool,
    /// Move the tenant to another place.
    pub moves: bool,
    /// Enlarge the tenant's slice.
    pub enlarge: bool,
    /// Shrink it again when the tail is stable.
    pub relax: bool,
    /// Roll a move back that made the tail worse.
    pub validate: bool,
    /// Pin the tenant away from cores that serve interrupts, with each upgrade.
    pub pin: bool,
    /// Queue and reject new tenants that would break a promise.
    pub admission: bool,
}

impl EnabledLevers {
    /// Every lever.
    pub const ALL: Self = Self {
        throttle: true,
        moves: true,
        enlarge: true,
        relax: true,
        validate: true,
        pin: true,
        admission: true,
    };
    /// No lever: the static baseline.
    pub const NONE: Self = Self {
        throttle: false,
        moves: false,
        enlarge: false,
        relax: false,
        validate: false,
        pin: false,
        admission: false,
    };
    /// The paper's `Guards-only`.
    pub const GUARDS: Self = Self {
        throttle: true,
        ..Self::NONE
    };
    /// The paper's `Placement-only`.
    pub const PLACEMENT: Self = Self {
        moves: true,
        validate: true,
        pin: true,
        ..Self::NONE
    };
    /// The paper's `MIG-only`.
    pub const MIG: Self = Self {
        enlarge: true,
        relax: true,
        validate: true,
        ..Self::NONE
    };

    /// Whether any lever is on that relaunches the tenant.
    #[must_use]
    pub fn relaunches(self) -> bool {
        self.moves || self.enlarge || self.relax
    }
}

/// The weights of the placement score. The paper prints none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacementWeights {
    /// Per unit of slowdown of a transfer by what shares the path. Assumed: 1.
    pub transfer: f64,
    /// For training on the same switch. Assumed: 0.5.
    pub training: f64,
    /// For another host than the present one. Assumed: 0.01, which decides between equal places.
    pub other_host: f64,
    /// Per GB/s of block I/O on the NUMA node. Assumed: 0, as no figure depends on it.
    pub block_io: f64,
    /// Per 100,000 interrupts a second on adjacent cores. Assumed: 0.
    pub interrupts: f64,
    /// A place with a score above this one is left. Assumed: 0.05.
    pub leave_above: f64,
}

impl Default for PlacementWeights {
    fn default() -> Self {
        Self {
            transfer: 1.0,
            training: 0.5,
            other_host: 0.01,
            block_io: 0.0,
            interrupts: 0.0,
            leave_above: 0.05,
        }
    }
}

/// How a controller decides. One observation is one tick. [`Settings::new`] has the paper's values,
/// and assumed ones where it prints none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What may be done.
    pub levers: EnabledLevers,
    /// The length of a tick, ms. The paper has 1 to 5 s; assumed: 1 s.
    pub tick_ms: u32,
    /// The latency that is promised, ns. The paper has 15 ms, and 200 ms for the first token.
    pub promise_ns: u64,
    /// The 99th percentile above which the controller acts, ns: the paper has 15 ms.
    pub trigger_ns: u64,
    /// For how many windows in a row the tail must be above the trigger. The paper has 3.
    pub persistence: u32,
    /// The least ticks between two relaunches. The paper has 256.
    pub dwell: u32,
    /// The least ticks between the end of a throttle and the next. The paper has 128.
    pub cool_down: u32,
    /// The number of latencies in the window. Assumed: 32, at one request a second.
    pub window: u32,
    /// The weight of a new value in the exponential average, percent. Assumed: 50.
    pub average_percent: u32,
    /// The longest throttle, ticks. The paper says tens of seconds; assumed: 30.
    pub throttle_ticks: u32,
    /// The quota of multiprocessors for a throttled neighbour, percent. The paper has 50 to 100.
    pub mps_percent: u32,
    /// The limit on a throttled neighbour's block I/O, MB/s. The paper has 100 to 500.
    pub io_mb_s: u32,
    /// After so many quiet ticks the slice may shrink. Assumed: 128.
    pub relax_ticks: u32,
    /// Quiet is an average below this share of the trigger, percent. Assumed: 90.
    pub relax_percent: u32,
    /// A move is judged so many ticks after it. Assumed: 20.
    pub validation_ticks: u32,
    /// It is rolled back if the tail is above this share of what it was, percent. Assumed: 105.
    pub worse_percent: u32,
    /// A feed that is silent for so many ticks is lost. Assumed: 3.
    pub silent_ticks: u32,
    /// Counters older than so many ticks are stale. Assumed: 3.
    pub stale_ticks: u32,
    /// A relaunch that takes more ticks has failed. The paper has 30 s.
    pub relaunch_ticks: u32,
    /// Whether a throttle is judged by latencies after it alone: it empties the window. A sliding
    /// window escalates after three ticks whatever the throttle does.
    pub judge_throttle_afresh: bool,
    /// Whether a tenant goes on until its new instance is ready, where there is room for both.
    pub warm_handover: bool,
    /// The weights of the placement score.
    pub weights: PlacementWeights,
    /// Traffic of others on a path from which on a neighbour is inferred there, MB/s, where the
    /// topology is opaque. Assumed: 2,500, a tenth of a link.
    pub heavy_mb_s: u32,
    /// Use of multiprocessors by others from which on training is inferred, percent. Assumed: 60.
    pub training_percent: u32,
    /// What the controller believes of the machine.
    pub model: SlowdownModel,
}

impl Settings {
    /// The settings of the paper with these levers, and assumed ones where it prints none.
    ///
    /// # Errors
    /// A model that cannot be used: see [`SlowdownModel::new`].
    pub fn new(levers: EnabledLevers, model: SlowdownModel) -> Result<Self, Error> {
        Self::unchecked(levers, model).checked()
    }

    /// The settings of the paper for tenants that keep the slice they have: one profile is all that
    /// the model needs.
    #[must_use]
    pub fn of_one_profile(levers: EnabledLevers) -> Self {
        Self::unchecked(
            levers,
            SlowdownModel::of_one_profile(&ModelParameters::default()),
        )
    }

    fn unchecked(levers: EnabledLevers, model: SlowdownModel) -> Self {
        Self {
            levers,
            tick_ms: 1000,
            promise_ns: 15_000_000,
            trigger_ns: 15_000_000,
            persistence: 3,
            dwell: 256,
            cool_down: 128,
            window: 32,
            average_percent: 50,
            throttle_ticks: 30,
            mps_percent: 50,
            io_mb_s: 500,
            relax_ticks: 128,
            relax_percent: 90,
            validation_ticks: 20,
            worse_percent: 105,
            silent_ticks: 3,
            stale_ticks: 3,
            relaunch_ticks: 30,
            judge_throttle_afresh: false,
            warm_handover: false,
            weights: PlacementWeights::default(),
            heavy_mb_s: 2500,
            training_percent: 60,
            model,
        }
    }

    /// The settings, if all are within their bounds. Those of MPS, block I/O, the tick and the
    /// relaunch are the paper's.
    ///
    /// # Errors
    /// The first setting that is out of its bounds, with the bounds.
    pub fn checked(self) -> Result<Self, Error> {
        let whole = [
            ("tick_ms", u64::from(self.tick_ms), 1000, 5000),
            ("promise_ns", self.promise_ns, 1, MOST_NS),
            ("trigger_ns", self.trigger_ns, 1, MOST_NS),
            ("persistence", u64::from(self.persistence), 1, 10_000),
            ("dwell", u64::from(self.dwell), 0, 1_000_000),
            ("cool_down", u64::from(self.cool_down), 0, 1_000_000),
            ("window", u64::from(self.window), 1, 65_536),
            ("average_percent", u64::from(self.average_percent), 1, 100),
            ("throttle_ticks", u64::from(self.throttle_ticks), 1, 99),
            ("mps_percent", u64::from(self.mps_percent), 50, 100),
            ("io_mb_s", u64::from(self.io_mb_s), 100, 500),
            ("relax_ticks", u64::from(self.relax_ticks), 1, 1_000_000),
            ("relax_percent", u64::from(self.relax_percent), 1, 100),
            (
                "validation_ticks",
                u64::from(self.validation_ticks),
                1,
                10_000,
            ),
            ("worse_percent", u64::from(self.worse_percent), 100, 1000),
            ("silent_ticks", u64::from(self.silent_ticks), 1, 1000),
            ("stale_ticks", u64::from(self.stale_ticks), 0, 1000),
            ("relaunch_ticks", u64::from(self.relaunch_ticks), 1, 30),
            ("training_percent", u64::from(self.training_percent), 1, 100),
        ];
        for (key, value, least, most) in whole {
            if !(least..=most).contains(&value) {
                let what = format!("{key}={value}: expected {least} to {most}");
                return Err(ErrorKind::BadSlo(what).into());
            }
        }
        let own = &self.weights;
        let weights = [
            own.transfer,
            own.training,
            own.other_host,
            own.block_io,
            own.interrupts,
            own.leave_above,
        ];
        if !weights
            .iter()
            .all(|weight| weight.is_finite() && *weight >= 0.0)
        {
            let what = format!("weights {weights:?}: expected numbers of 0 or more");
            return Err(ErrorKind::BadSlo(what).into());
        }
        let model = self.model.checked()?;
        Ok(Self { model, ..self })
    }

    /// How many latencies the window must have before anything is decided.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.window.min(64) as usize
    }
}

/// The longest latency that is read, ns: an hour.
pub(super) const MOST_NS: u64 = 3_600_000_000_000;

/// The parameters behind Table 3 of the paper, as fitted.
impl Default for ModelParameters {
    fn default() -> Self {
        Self {
            heavy_weight: 1.0,
            weight_power: 1.0,
            training: 0.39,
            training_power: 1.0,
            compute_power: 0.05,
            throttled_share: 0.02,
            throttled_mps: 0.5,
        }
    }
}
