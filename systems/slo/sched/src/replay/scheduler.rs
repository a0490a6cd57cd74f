//! The controller by replay as a scheduler of a fleet.

use mapa_core::Policy;

use super::controller::{ReplayInput, ReplayState, step};
use super::history::PastRequest;
use super::settings::ReplaySettings;
use crate::error::{Error, ErrorKind};
use crate::scheduler::{CompletedRequest, Controller, GuardingScheduler};
use crate::settings::Settings;
use crate::signals::Contention;
use crate::state::{ControllerAction, TenantSetup, TickInput};

/// The controller by replay, for requests of which only arrival and latency are told.
///
/// An event tells how long a request has taken, not what of it was transfer and what computation. So a
/// share of a request without neighbours is assumed to be its transfer. What the request would have
/// taken without those who were there in its tick then follows from the model. Time spent in the
/// tenant's own queue counts as service, so a busy tenant looks slower to the replay than it is.
#[derive(Clone, Debug)]
pub struct ByReplay {
    settings: ReplaySettings,
    transfer: f64,
}

impl ByReplay {
    /// The share of a request that is assumed to be transfer, if nobody says. Assumed.
    pub const TRANSFER: f64 = 0.5;

    /// The controller by these settings. `transfer` is the share of a request without neighbours that
    /// is its transfer.
    ///
    /// # Errors
    /// A share that is not between 0 and 1.
    pub fn new(settings: ReplaySettings, transfer: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&transfer) {
            let what = format!("transfer={transfer}: expected 0 to 1");
            return Err(ErrorKind::BadSlo(what).into());
        }
        Ok(Self { settings, transfer })
    }

    /// The settings.
    #[must_use]
    pub fn replay_settings(&self) -> &ReplaySettings {
        &self.settings
    }

    /// What the controller is told: the input, and the answered requests as they would be without
    /// neighbours.
    #[must_use]
    pub fn input(
        &self,
        state: &ReplayState,
        input: TickInput,
        answered: &[CompletedRequest],
    ) -> ReplayInput {
        let place = state.base.config.place;
        let snapshot = input.snapshot.as_ref();
        let who = snapshot.map_or_else(Contention::default, |snapshot| {
            snapshot.contention(place, &self.settings.base)
        });
        let throttled = state.base.guard.is_on();
        let mut requests: Vec<PastRequest> = answered
            .iter()
            .map(|answered| self.alone(answered, who, throttled))
            .collect();
        // Answers come in the order in which they were given; the history is in order of arrival.
        requests.sort_by(|a, b| a.arrived_ms.total_cmp(&b.arrived_ms));
        ReplayInput {
            base: input,
            requests,
        }
    }

    /// A request without neighbours.
    fn alone(&self, own: &CompletedRequest, who: Contention, throttled: bool) -> PastRequest {
        let model = &self.settings.base.model;
        let slowdown = model.slowdown(0, who.heavy, who.training, throttled);
        let by = self.transfer * slowdown.transfer + (1.0 - self.transfer) * slowdown.compute;
        let alone_ms = own.took.as_secs_f64() * 1e3 / by;
        PastRequest {
            arrived_ms: own.arrived.0 as f64 / 1e6,
            transfer_ms: alone_ms * self.transfer,
            compute_ms: alone_ms * (1.0 - self.transfer),
        }
    }
}

impl Controller for ByReplay {
    type State = ReplayState;

    const NAME: &'static str = "slo-replay";

    fn settings(&self) -> &Settings {
        &self.settings.base
    }

    fn promising(&self, promise_ns: u64) -> Self {
        let base = Settings {
            promise_ns,
            trigger_ns: promise_ns,
            ..self.settings.base.clone()
        };
        Self {
            settings: ReplaySettings {
                base,
                ..self.settings.clone()
            },
            ..*self
        }
    }

    fn begin(&self, config: TenantSetup) -> ReplayState {
        ReplayState::new(config, &self.settings)
    }

    fn tick(
        &self,
        state: &mut ReplayState,
        input: TickInput,
        answered: &[CompletedRequest],
    ) -> Vec<ControllerAction> {
        let input = self.input(state, input, answered);
        step(&self.settings, state, &input).base.orders
    }
}

/// [`GuardingScheduler`] by replay.
pub type SloReplayScheduler = GuardingScheduler<ByReplay>;

impl SloReplayScheduler {
    /// A scheduler that places every job by this policy and guards promises by replay. `transfer`
    /// is the share of a request without neighbours that is its transfer:
    /// [`ByReplay::TRANSFER`] if nobody knows.
    ///
    /// # Errors
    /// A share that is not between 0 and 1.
    pub fn new(
        policy: impl Policy + 'static,
        settings: ReplaySettings,
        transfer: f64,
    ) -> Result<Self, Error> {
        ByReplay::new(settings.clone(), transfer)?;
        Ok(Self::of_share(policy, settings, transfer))
    }

    /// As [`new`](Self::new), with a share that is between 0 and 1.
    pub(crate) fn of_share(
        policy: impl Policy + 'static,
        settings: ReplaySettings,
        transfer: f64,
    ) -> Self {
        let base = settings.base.clone().of_fleet();
        let settings = ReplaySettings { base, ..settings };
        Self::guarding(policy, ByReplay { settings, transfer })
    }
}
