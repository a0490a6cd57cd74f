//! One step under way: what the rows of the table ask, and what they do.

use super::settings::Settings;
use super::signals::{Contention, CounterSnapshot};
use super::state::{
    ControllerAction, ControllerCommand, ControllerPhase, ControllerState, RelaunchReason,
    TenantSetup, ThrottleState, TickInput,
};

/// One step under way.
pub(super) struct StepUnderWay<'a> {
    pub(super) settings: &'a Settings,
    pub(super) input: &'a TickInput,
    pub(super) state: &'a mut ControllerState,
    pub(super) is_clock_back: bool,
    pub(super) orders: &'a mut Vec<ControllerAction>,
}

impl StepUnderWay<'_> {
    pub(super) fn snapshot(&self) -> Option<&CounterSnapshot> {
        let own = self.input.snapshot.as_ref();
        own.filter(|snapshot| !snapshot.is_stale(self.settings))
    }

    /// Whether the controller was restored after a crash.
    pub(super) fn is_recovering(&self) -> bool {
        matches!(self.input.command, Some(ControllerCommand::Recover { .. }))
    }

    /// Whether this tick has no counters that may be acted on.
    pub(super) fn is_blind(&self) -> bool {
        self.snapshot().is_none()
    }

    /// Whether the feed counts as lost.
    pub(super) fn is_lost(&self) -> bool {
        self.state.silent >= self.settings.silent_ticks
    }

    pub(super) fn p99(&self) -> Option<u64> {
        self.state.window.quantile(990)
    }

    pub(super) fn is_above(&self) -> bool {
        self.state.is_ready(self.settings) && self.state.above >= self.settings.persistence
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.state.is_ready(self.settings) && self.state.below >= self.settings.relax_ticks
    }

    pub(super) fn is_dwell_over(&self) -> bool {
        self.state.dwell_is_over(self.input.tick, self.settings)
    }

    pub(super) fn contention(&self) -> Contention {
        self.snapshot()
            .map_or_else(Contention::default, |snapshot| {
                snapshot.contention(self.state.config.place, self.settings)
            })
    }

    pub(super) fn larger_fits(&self) -> bool {
        let TenantSetup { place, profile, .. } = self.state.config;
        let larger = profile.saturating_add(1);
        let fits = self
            .snapshot()
            .and_then(|snapshot| snapshot.places.get(place as usize))
            .is_some_and(|place| place.fits(larger));
        fits && usize::from(larger) < self.settings.model.profiles()
    }

    /// The place of the least (score, id), if the present one is to be left and that one is better.
    pub(super) fn better_place(&self) -> Option<u32> {
        let snapshot = self.snapshot()?;
        let TenantSetup { place, profile, .. } = self.state.config;
        let score = |at| snapshot.score(at, profile, place, self.settings);
        let own = score(place);
        if own <= self.settings.weights.leave_above {
            return None;
        }
        let mut best: Option<(f64, u32)> = None;
        for (at, there) in snapshot.places.iter().enumerate() {
            let at = at as u32;
            let value = score(at);
            let is_better = value < best.map_or(own, |(least, _)| least);
            if at != place && there.fits(profile) && is_better {
                best = Some((value, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// The configuration with what comes with every upgrade: pins.
    pub(super) fn upgraded(&self) -> TenantSetup {
        let own = self.state.config;
        TenantSetup {
            pinned: own.pinned || self.settings.levers.pin,
            ..own
        }
    }

    /// The tick after so many.
    pub(super) fn after(&self, ticks: u32) -> u64 {
        self.input.tick.saturating_add(u64::from(ticks))
    }

    pub(super) fn throttle(&mut self) {
        let until = self.after(self.settings.throttle_ticks);
        self.state.guard = ThrottleState::On { until };
        self.state.unresolved = true;
        self.state.above = 0;
        self.state.below = 0;
        if self.settings.judge_throttle_afresh {
            self.state.window.clear();
            self.state.average_ns = None;
        }
        self.orders.push(ControllerAction::Throttle {
            until,
            io_mb_s: self.settings.io_mb_s,
            mps_percent: self.settings.mps_percent,
        });
    }

    /// Lifts the throttle; the guard rests.
    pub(super) fn lift(&mut self) {
        let until = self.after(self.settings.cool_down);
        self.state.guard = ThrottleState::Rest { until };
        self.orders.push(ControllerAction::Lift);
    }

    pub(super) fn relaunch(&mut self, to: TenantSetup, why: RelaunchReason) {
        self.state.phase = ControllerPhase::Relaunching {
            since: self.input.tick,
            to,
            from: self.state.config,
            why,
            before_ns: self.p99(),
        };
        self.state.last_relaunch = Some(self.input.tick);
        self.state.unresolved = false;
        self.state.above = 0;
        self.state.below = 0;
        let warm = self.settings.warm_handover;
        self.orders
            .push(ControllerAction::Relaunch { to, why, warm });
    }
}
