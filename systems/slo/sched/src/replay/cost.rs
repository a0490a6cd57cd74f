//! What a candidate costs: the requests that would fail within the horizon, and the relaunch.

use super::history::RequestHistory;
use super::settings::ReplaySettings;
use crate::signals::Contention;

/// The long-run share of time in which neighbours copy at a place, and in which one trains.
pub(super) type Duty = [f64; 2];

/// Costs of candidates on one history. A replay is run once for each slowdown.
pub(super) struct ReplayCosts<'a> {
    settings: &'a ReplaySettings,
    history: &'a RequestHistory,
    promise_ms: f64,
    /// What was replayed: (profile, neighbours that copy, whether one trains), late share.
    known: Vec<((u8, u32, bool), f64)>,
}

impl<'a> ReplayCosts<'a> {
    pub(super) fn new(settings: &'a ReplaySettings, history: &'a RequestHistory) -> Self {
        Self {
            settings,
            history,
            promise_ms: settings.base.promise_ns as f64 / 1e6,
            known: Vec::new(),
        }
    }

    fn late_share(&mut self, profile: u8, who: Contention) -> f64 {
        let key = (profile, who.heavy, who.training);
        if let Some((_, share)) = self.known.iter().find(|row| row.0 == key) {
            return *share;
        }
        // A throttle ends within half a minute, so no candidate counts on one.
        let model = &self.settings.base.model;
        let slowdown = model.slowdown(profile, who.heavy, who.training, false);
        let share = self.history.late_share(slowdown, self.promise_ms);
        self.known.push((key, share));
        share
    }

    /// The cost of staying with a candidate over the horizon, seconds of failed requests. What is
    /// now lasts for a while; then neighbours come and go as they did in the long run.
    pub(super) fn of(&mut self, profile: u8, now: Contention, duty: Duty) -> f64 {
        let own = self.settings;
        let now = self.late_share(profile, now);
        let mut later = 0.0;
        for copies in [false, true] {
            for training in [false, true] {
                let chance = |is: bool, share: f64| if is { share } else { 1.0 - share };
                let weight = chance(copies, duty[0]) * chance(training, duty[1]);
                // What never happened needs no replay.
                if weight > 0.0 {
                    let who = Contention {
                        heavy: u32::from(copies),
                        training,
                    };
                    later += weight * self.late_share(profile, who);
                }
            }
        }
        let stay = (own.lasting_s / own.horizon_s).min(1.0);
        let slices = f64::from(own.base.model.slices_of(profile));
        own.horizon_s * (stay * now + (1.0 - stay) * later) + own.horizon_s * own.per_slice * slices
    }

    /// The cost of a relaunch, seconds of failed requests.
    pub(super) fn relaunch(&self) -> f64 {
        if self.settings.base.warm_handover {
            self.settings.horizon_s * self.settings.warm_share
        } else {
            self.settings.pause_s
        }
    }
}
