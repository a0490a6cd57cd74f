//! The controller of one tenant, and its record.

use mapa_sched::Time;
use mapa_system_slo::replay::{self, ByReplay, ReplayState};
use mapa_system_slo::{
    CompletedRequest, ControllerAction, ControllerState, Settings, TenantSetup as Place, TickInput,
    recorded,
};
use mapa_system_slo_log::{Controller as Kind, Head, LOG_VERSION, LogLine};

use super::config::{ControllerKind, SloConfig};

/// The controller of one tenant.
#[derive(Debug)]
pub(super) enum TenantController {
    /// The paper's.
    Paper(Box<(Settings, ControllerState)>),
    /// By replay.
    Replay(Box<(ByReplay, ReplayState)>),
}

impl TenantController {
    /// A controller of a tenant that is at a place.
    ///
    /// # Errors
    /// Settings that are out of their bounds.
    pub(super) fn new(
        config: &SloConfig,
        tenant: &str,
        turn: usize,
        place: u32,
    ) -> Result<Self, String> {
        let at = Place::at(place);
        Ok(match config.controller {
            ControllerKind::Slo => {
                let settings = config.settings_of(tenant)?;
                let state = ControllerState::new(at, &settings);
                Self::Paper(Box::new((settings, state)))
            }
            ControllerKind::SloReplay => {
                let settings = config.replay_of(tenant, turn)?;
                let state = ReplayState::new(at, &settings);
                let by = ByReplay::new(settings, config.settings.transfer.0)
                    .map_err(|error| error.to_string())?;
                Self::Replay(Box::new((by, state)))
            }
        })
    }

    /// The first line of its log.
    pub(super) fn head(&self) -> LogLine {
        let by = match self {
            Self::Paper(controller) => Kind::Slo(controller.0.clone()),
            Self::Replay(controller) => Kind::SloReplay(controller.0.replay_settings().clone()),
        };
        LogLine::Head(Box::new(Head {
            version: LOG_VERSION,
            by,
        }))
    }

    /// The place that it believes the tenant to be at.
    pub(super) fn place(&self) -> u32 {
        match self {
            Self::Paper(controller) => controller.1.config.place,
            Self::Replay(controller) => controller.1.base.config.place,
        }
    }

    /// Whether its neighbours are throttled.
    pub(super) fn is_throttling(&self) -> bool {
        match self {
            Self::Paper(controller) => controller.1.guard.is_on(),
            Self::Replay(controller) => controller.1.base.guard.is_on(),
        }
    }

    /// One tick: its orders, why, and a line of its log if an auditor must see it.
    pub(super) fn tick(
        &mut self,
        tenant: &str,
        input: TickInput,
        answered: &[CompletedRequest],
    ) -> (Vec<ControllerAction>, String, Option<LogLine>) {
        match self {
            Self::Paper(controller) => {
                let (settings, state) = &mut **controller;
                let record = recorded(tenant, settings, state, &input);
                let (orders, reason) = (record.orders.clone(), record.reason.clone());
                let line = record
                    .is_notable()
                    .then(|| LogLine::Decision(Box::new(record)));
                (orders, reason, line)
            }
            Self::Replay(controller) => {
                let (by, state) = &mut **controller;
                let input = by.input(state, input, answered);
                let record = replay::recorded(tenant, by.replay_settings(), state, &input);
                let (orders, reason) = (record.orders.clone(), record.reason.clone());
                let line = record
                    .is_notable()
                    .then(|| LogLine::ReplayDecision(Box::new(record)));
                (orders, reason, line)
            }
        }
    }
}

/// Latencies that were reported in a tick, as requests: each ended at the tick.
pub(super) fn answered(now: Time, latencies_ns: &[u64]) -> Vec<CompletedRequest> {
    let request = |&ns: &u64| CompletedRequest {
        arrived: Time(now.0.saturating_sub(ns)),
        took: std::time::Duration::from_nanos(ns),
    };
    latencies_ns.iter().map(request).collect()
}
