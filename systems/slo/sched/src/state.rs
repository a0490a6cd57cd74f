//! The state of one tenant's controller, what it is told each tick, and what it orders.

use serde::{Deserialize, Serialize};

use super::settings::Settings;
use super::signals::CounterSnapshot;
use super::window::Window;

/// How a tenant is set up: all that a rollback restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TenantSetup {
    /// The place, as an index into [`CounterSnapshot::places`].
    pub place: u32,
    /// The profile, as an index into the model's tables.
    pub profile: u8,
    /// Whether the tenant is kept off the cores that serve interrupts.
    pub pinned: bool,
    /// The quota of multiprocessors of processes beside the tenant on its device, percent.
    pub mps_percent: u32,
}

impl TenantSetup {
    /// A tenant at a place on the smallest profile, without pins or quotas.
    #[must_use]
    pub fn at(place: u32) -> Self {
        Self {
            place,
            profile: 0,
            pinned: false,
            mps_percent: 100,
        }
    }
}

/// Why a tenant is relaunched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RelaunchReason {
    /// Another place has a lower score.
    Move,
    /// A larger slice fits.
    Enlarge,
    /// The tail is stable, so a smaller slice may do.
    Shrink,
    /// The last relaunch made the tail worse.
    Rollback,
    /// A candidate costs less by replay of the last requests.
    Replay,
}

/// What the controller is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "phase", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControllerPhase {
    /// The window has too few latencies to decide anything.
    Warmup,
    /// The tail is watched.
    Watch,
    /// A relaunch was ordered. Nothing else is ordered until it is done or has failed.
    Relaunching {
        /// The tick of the order.
        since: u64,
        /// The configuration that was ordered.
        to: TenantSetup,
        /// The configuration before.
        from: TenantSetup,
        /// Why.
        why: RelaunchReason,
        /// The 99th percentile before, ns.
        before_ns: Option<u64>,
    },
    /// A relaunch is done and will be judged.
    Validating {
        /// The tick from which on it is judged.
        at: u64,
        /// The 99th percentile before the relaunch, ns.
        before_ns: Option<u64>,
        /// What it is rolled back to if the tail got worse; `None` if it is not rolled back.
        back: Option<TenantSetup>,
    },
}

/// A phase without its data, as the table of states names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// [`ControllerPhase::Warmup`].
    Warmup,
    /// [`ControllerPhase::Watch`].
    Watch,
    /// [`ControllerPhase::Relaunching`].
    Relaunching,
    /// [`ControllerPhase::Validating`].
    Validating,
}

impl PhaseKind {
    /// Every phase.
    pub const ALL: [Self; 4] = [
        Self::Warmup,
        Self::Watch,
        Self::Relaunching,
        Self::Validating,
    ];
}

impl ControllerPhase {
    /// The phase without its data.
    #[must_use]
    pub fn kind(&self) -> PhaseKind {
        match self {
            Self::Warmup => PhaseKind::Warmup,
            Self::Watch => PhaseKind::Watch,
            Self::Relaunching { .. } => PhaseKind::Relaunching,
            Self::Validating { .. } => PhaseKind::Validating,
        }
    }
}

/// Whether neighbours are throttled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "guard", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ThrottleState {
    /// They are not, and may be.
    Open,
    /// They are.
    On {
        /// The tick at which the throttle is lifted at the latest.
        until: u64,
    },
    /// They are not, and may not be yet.
    Rest {
        /// The tick from which on they may be.
        until: u64,
    },
}

impl ThrottleState {
    /// Whether neighbours are throttled.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::On { .. })
    }
}

/// A new tenant that asks to be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Newcomer {
    /// Its id.
    pub id: u64,
    /// Whether it copies a lot.
    pub heavy: bool,
    /// Whether it trains.
    pub training: bool,
    /// The tick after which it is rejected.
    pub deadline: u64,
}

/// The whole state of one tenant's controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControllerState {
    /// The configuration in force.
    pub config: TenantSetup,
    /// What the controller is at.
    pub phase: ControllerPhase,
    /// Whether neighbours are throttled.
    pub guard: ThrottleState,
    /// For how many ticks in a row the average was above the trigger.
    pub above: u32,
    /// For how many ticks in a row it was quiet.
    pub below: u32,
    /// Whether a throttle was tried, and the tail has not been quiet since.
    pub unresolved: bool,
    /// The tick of the last relaunch.
    pub last_relaunch: Option<u64>,
    /// The last tick.
    pub last_tick: Option<u64>,
    /// For how many ticks in a row nothing was told.
    pub silent: u32,
    /// The latencies.
    pub window: Window,
    /// The exponential average of the window's 99th percentile, ns.
    pub average_ns: Option<u64>,
    /// Newcomers that wait.
    pub queue: Vec<Newcomer>,
}

impl ControllerState {
    /// A controller of a tenant that has just started.
    #[must_use]
    pub fn new(config: TenantSetup, settings: &Settings) -> Self {
        Self {
            config,
            phase: ControllerPhase::Warmup,
            guard: ThrottleState::Open,
            above: 0,
            below: 0,
            unresolved: false,
            last_relaunch: None,
            last_tick: None,
            silent: 0,
            window: Window::new(settings.window as usize),
            average_ns: None,
            queue: Vec::new(),
        }
    }

    /// Whether the window has enough latencies.
    #[must_use]
    pub fn is_ready(&self, settings: &Settings) -> bool {
        self.window.len() >= settings.ready()
    }

    /// Whether another relaunch is allowed at a tick.
    #[must_use]
    pub fn dwell_is_over(&self, tick: u64, settings: &Settings) -> bool {
        self.last_relaunch
            .is_none_or(|last| tick.saturating_sub(last) >= u64::from(settings.dwell))
    }

    /// Forgets what was observed. Counters, windows and averages start anew.
    pub(super) fn forget(&mut self) {
        self.window.clear();
        self.average_ns = None;
        self.above = 0;
        self.below = 0;
    }
}

/// What became of a relaunch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Relaunched {
    /// The tenant runs as ordered.
    Done,
    /// It could not be set up as ordered.
    Failed,
}

/// What an operator or a driver tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ControllerCommand {
    /// The controller stops: throttles are lifted, and nothing else is ordered.
    Stop,
    /// The controller was restored after a crash. What it ordered last is not known.
    Recover {
        /// The configuration in force.
        config: TenantSetup,
    },
}

/// What a controller is told in one tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TickInput {
    /// The tick, as the driver counts.
    pub tick: u64,
    /// The latencies of requests that were answered since the last tick, ns.
    #[serde(default)]
    pub latencies_ns: Vec<u64>,
    /// The counters; `None` if the feed was silent.
    #[serde(default)]
    pub snapshot: Option<CounterSnapshot>,
    /// What became of a relaunch.
    #[serde(default)]
    pub relaunch: Option<Relaunched>,
    /// What an operator or the driver tells.
    #[serde(default)]
    pub command: Option<ControllerCommand>,
    /// Tenants that ask to be admitted.
    #[serde(default)]
    pub newcomers: Vec<Newcomer>,
}

/// What a controller orders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControllerAction {
    /// Throttle the neighbours on the tenant's path until a tick at the latest.
    Throttle {
        /// The tick at which the throttle ends if no order ends it before.
        until: u64,
        /// The limit on block I/O, MB/s.
        io_mb_s: u32,
        /// The quota of multiprocessors, percent.
        mps_percent: u32,
    },
    /// Lift the throttle.
    Lift,
    /// Relaunch the tenant.
    Relaunch {
        /// How.
        to: TenantSetup,
        /// Why.
        why: RelaunchReason,
        /// Whether the tenant goes on until the new instance is ready, if there is room for both.
        warm: bool,
    },
    /// A relaunch has failed: make sure that the tenant runs as before it.
    Restore {
        /// How.
        to: TenantSetup,
    },
    /// Admit a newcomer.
    Admit {
        /// Its id.
        id: u64,
        /// Where.
        place: u32,
    },
    /// Reject a newcomer.
    Reject {
        /// Its id.
        id: u64,
    },
}
