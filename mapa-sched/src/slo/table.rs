//! The state machine as a table: each row says in which phases it applies, on what input, what it
//! does, and what comes next. A step walks the rows in order.

use serde::{Deserialize, Serialize};

use super::admission;
use super::estimate::percentile_99;
use super::settings::Settings;
use super::signals::{Contention, Snapshot};
use super::state::{
    Command, Config, Guard, Input, Order, Phase, PhaseKind, Relaunched, State, Why,
};

/// The name of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RowId {
    /// A throttle ends.
    Lift,
    /// The rest after a throttle ends.
    Rested,
    /// A relaunch is done.
    Done,
    /// A relaunch has failed.
    Failed,
    /// Nothing is known, so nothing is ordered.
    Hold,
    /// The window is full enough.
    Ready,
    /// A relaunch made the tail worse.
    Rollback,
    /// A relaunch has proved itself.
    Proved,
    /// Neighbours are throttled.
    Throttle,
    /// The tenant moves.
    Move,
    /// Its slice grows.
    Enlarge,
    /// The tail is too long, and nothing is allowed or left.
    NothingLeft,
    /// Its slice shrinks.
    Shrink,
    /// Newcomers are admitted, wait, or are rejected.
    Admission,
}

/// A row of the table of states.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name.
    pub id: RowId,
    /// The phases in which it applies.
    pub phases: &'static [PhaseKind],
    /// On what input, in words.
    pub when: &'static str,
    /// What it does, in words.
    pub does: &'static str,
    /// What comes next, in words.
    pub next: &'static str,
    /// Whether no later row is looked at once it has applied, but for admission.
    pub ends: bool,
    pub(super) applies: fn(&Step<'_>) -> bool,
    pub(super) act: fn(&mut Step<'_>),
}

const ANY: &[PhaseKind] = &PhaseKind::ALL;
const WATCHING: &[PhaseKind] = &[PhaseKind::Watch, PhaseKind::Validating];

/// Every row, in the order in which a step looks at them. What became of a relaunch is looked at
/// before a hold: it is a fact, however little else is known in that tick.
pub const TABLE: [Row; 14] = [
    Row {
        id: RowId::Lift,
        phases: ANY,
        when: "throttle due, stop, crash recovery, clock back",
        does: "lift the throttle",
        next: "guard rests for the cool-down",
        ends: false,
        applies: |step| {
            // What a crashed controller had ordered last is not known, so recovery always lifts.
            if step.is_recovering() {
                return true;
            }
            let due = |until| step.input.tick >= until;
            let ends = step.input.command.is_some() || step.is_clock_back || step.is_lost();
            matches!(step.state.guard, Guard::On { until } if due(until) || ends)
        },
        act: |step| {
            step.lift();
        },
    },
    Row {
        id: RowId::Rested,
        phases: ANY,
        when: "cool-down over",
        does: "-",
        next: "guard open",
        ends: false,
        applies: |step| matches!(step.state.guard, Guard::Rest { until } if step.input.tick >= until),
        act: |step| step.state.guard = Guard::Open,
    },
    Row {
        id: RowId::Done,
        phases: &[PhaseKind::Relaunching],
        when: "relaunch done",
        does: "empty the window, counters 0",
        next: "validating",
        ends: false,
        applies: |step| step.input.relaunch == Some(Relaunched::Done) && !step.is_recovering(),
        act: |step| {
            let Phase::Relaunching {
                to,
                from,
                why,
                before_ns,
                ..
            } = step.state.phase
            else {
                return;
            };
            step.state.config = to;
            step.state.forget();
            // An enlargement cannot make a tail worse, and a rollback is not itself rolled back.
            let is_judged = step.settings.levers.validate && matches!(why, Why::Move | Why::Shrink);
            step.state.phase = Phase::Validating {
                at: (step.input.tick).saturating_add(u64::from(step.settings.validation_ticks)),
                before_ns,
                back: is_judged.then_some(from),
            };
        },
    },
    Row {
        id: RowId::Failed,
        phases: &[PhaseKind::Relaunching],
        when: "relaunch failed, or takes too long",
        does: "restore the configuration before",
        next: "watch, dwell anew",
        ends: false,
        applies: |step| {
            let Phase::Relaunching { since, .. } = step.state.phase else {
                return false;
            };
            // After a crash the phase is as old as the state that was restored.
            if step.is_recovering() {
                return false;
            }
            let limit = u64::from(step.settings.relaunch_ticks);
            step.input.relaunch == Some(Relaunched::Failed)
                || step.input.tick.saturating_sub(since) > limit
        },
        act: |step| {
            let Phase::Relaunching { from, .. } = step.state.phase else {
                return;
            };
            step.state.config = from;
            step.state.phase = Phase::Watch;
            step.state.forget();
            step.state.last_relaunch = Some(step.input.tick);
            step.orders.push(Order::Restore { to: from });
        },
    },
    Row {
        id: RowId::Hold,
        phases: ANY,
        when: "feed silent, clock back, stale counters, stop, crash recovery",
        does: "hold",
        next: "warm-up (a relaunch goes on)",
        ends: true,
        applies: |step| {
            step.is_clock_back || step.input.command.is_some() || step.is_lost() || step.is_blind()
        },
        act: |step| {
            // A single silent tick holds; what was observed before it still counts.
            if step.is_clock_back || step.input.command.is_some() || step.is_lost() {
                step.state.forget();
                if step.state.phase.kind() != PhaseKind::Relaunching {
                    step.state.phase = Phase::Warmup;
                }
            }
            if let Some(Command::Recover { config }) = step.input.command {
                // What became of a relaunch is not known: the driver tells the configuration in
                // force, and the dwell starts anew.
                step.state.config = config;
                step.state.unresolved = false;
                step.state.phase = Phase::Warmup;
                step.state.last_relaunch = Some(step.input.tick);
            }
        },
    },
    Row {
        id: RowId::Ready,
        phases: &[PhaseKind::Warmup],
        when: "window ready",
        does: "-",
        next: "watch",
        ends: true,
        applies: |step| step.state.is_ready(step.settings),
        act: |step| step.state.phase = Phase::Watch,
    },
    Row {
        id: RowId::Rollback,
        phases: &[PhaseKind::Validating],
        when: "judged, not larger, tail worse than before",
        does: "relaunch as before (exempt from the dwell, which starts anew; once)",
        next: "relaunching",
        ends: true,
        applies: |step| {
            let Phase::Validating {
                at,
                before_ns: Some(before),
                back: Some(_),
            } = step.state.phase
            else {
                return false;
            };
            let is_worse = step.p99().is_some_and(|now| {
                u128::from(now) * 100 > u128::from(before) * u128::from(step.settings.worse_percent)
            });
            step.input.tick >= at && step.state.is_ready(step.settings) && is_worse
        },
        act: |step| {
            if let Phase::Validating {
                back: Some(back), ..
            } = step.state.phase
            {
                step.relaunch(back, Why::Rollback);
            }
        },
    },
    Row {
        id: RowId::Proved,
        phases: &[PhaseKind::Validating],
        when: "judged, not worse",
        does: "-",
        next: "watch",
        ends: false,
        applies: |step| {
            matches!(step.state.phase, Phase::Validating { at, .. } if step.input.tick >= at)
                && step.state.is_ready(step.settings)
        },
        act: |step| step.state.phase = Phase::Watch,
    },
    Row {
        id: RowId::Throttle,
        phases: WATCHING,
        when: "above long enough, guard open, neighbour on the path, not unresolved",
        does: "throttle, unresolved",
        next: "guard on",
        ends: true,
        applies: |step| {
            // With no other lever to escalate to, a throttle that did not help is tried again.
            let may = !step.state.unresolved || !step.settings.levers.relaunches();
            let who = step.contention();
            step.settings.levers.throttle
                && step.is_above()
                && step.state.guard == Guard::Open
                && (who.heavy > 0 || who.training)
                && may
        },
        act: |step| step.throttle(),
    },
    Row {
        id: RowId::Move,
        phases: WATCHING,
        when: "above long enough, dwell over, score too high, a better place exists",
        does: "move to the least (score, id)",
        next: "relaunching",
        ends: true,
        applies: |step| {
            step.settings.levers.moves
                && step.is_above()
                && step.is_dwell_over()
                && step.better_place().is_some()
        },
        act: |step| {
            if let Some(place) = step.better_place() {
                let to = Config {
                    place,
                    ..step.upgraded()
                };
                step.relaunch(to, Why::Move);
            }
        },
    },
    Row {
        id: RowId::Enlarge,
        phases: WATCHING,
        when: "above long enough, dwell over, larger fits",
        does: "enlarge by one step",
        next: "relaunching",
        ends: true,
        applies: |step| {
            step.settings.levers.enlarge
                && step.is_above()
                && step.is_dwell_over()
                && step.larger_fits()
        },
        act: |step| {
            let own = step.upgraded();
            let to = Config {
                profile: own.profile + 1,
                ..own
            };
            step.relaunch(to, Why::Enlarge);
        },
    },
    Row {
        id: RowId::NothingLeft,
        phases: WATCHING,
        when: "above long enough, nothing allowed",
        does: "record \"nothing left\"",
        next: "same",
        ends: true,
        applies: |step| step.is_above(),
        act: |_| (),
    },
    Row {
        id: RowId::Shrink,
        phases: WATCHING,
        when: "quiet long enough, dwell over, profile above the smallest",
        does: "shrink by one step",
        next: "relaunching",
        ends: true,
        applies: |step| {
            step.settings.levers.relax
                && step.is_quiet()
                && step.is_dwell_over()
                && step.state.config.profile > 0
        },
        act: |step| {
            let own = step.state.config;
            let to = Config {
                profile: own.profile - 1,
                ..own
            };
            step.relaunch(to, Why::Shrink);
        },
    },
    Row {
        id: RowId::Admission,
        phases: ANY,
        when: "new tenant: predicted tail above the promise wherever it goes",
        does: "queue; reject after its deadline",
        next: "same",
        ends: true,
        applies: |step| {
            step.settings.levers.admission
                && !(step.state.queue.is_empty() && step.input.newcomers.is_empty())
        },
        act: admission::act,
    },
];

/// One step under way.
pub(super) struct Step<'a> {
    pub(super) settings: &'a Settings,
    pub(super) input: &'a Input,
    pub(super) state: &'a mut State,
    pub(super) is_clock_back: bool,
    pub(super) orders: &'a mut Vec<Order>,
}

impl Step<'_> {
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        let own = self.input.snapshot.as_ref();
        own.filter(|own| !own.is_stale(self.settings))
    }

    /// Whether the controller was restored after a crash.
    fn is_recovering(&self) -> bool {
        matches!(self.input.command, Some(Command::Recover { .. }))
    }

    /// Whether this tick has no counters that may be acted on.
    pub(super) fn is_blind(&self) -> bool {
        self.snapshot().is_none()
    }

    /// Whether the feed counts as lost.
    fn is_lost(&self) -> bool {
        self.state.silent >= self.settings.silent_ticks
    }

    fn p99(&self) -> Option<u64> {
        percentile_99(&self.state.window, self.settings.estimator)
    }

    fn is_above(&self) -> bool {
        self.state.is_ready(self.settings) && self.state.above >= self.settings.persistence
    }

    fn is_quiet(&self) -> bool {
        self.state.is_ready(self.settings) && self.state.below >= self.settings.relax_ticks
    }

    fn is_dwell_over(&self) -> bool {
        self.state.dwell_is_over(self.input.tick, self.settings)
    }

    fn contention(&self) -> Contention {
        self.snapshot().map_or_else(Contention::default, |own| {
            own.contention(self.state.config.place, self.settings)
        })
    }

    fn larger_fits(&self) -> bool {
        let Config { place, profile, .. } = self.state.config;
        let larger = profile.saturating_add(1);
        let fits = self
            .snapshot()
            .and_then(|own| own.places.get(place as usize))
            .is_some_and(|own| own.fits(larger));
        fits && usize::from(larger) < self.settings.model.profiles()
    }

    /// The place of the least (score, id), if the present one is to be left and that one is better.
    fn better_place(&self) -> Option<u32> {
        let snapshot = self.snapshot()?;
        let Config { place, profile, .. } = self.state.config;
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
    fn upgraded(&self) -> Config {
        let own = self.state.config;
        Config {
            pinned: own.pinned || self.settings.levers.pin,
            ..own
        }
    }

    /// The tick after so many.
    fn after(&self, ticks: u32) -> u64 {
        self.input.tick.saturating_add(u64::from(ticks))
    }

    pub(super) fn throttle(&mut self) {
        let until = self.after(self.settings.throttle_ticks);
        self.state.guard = Guard::On { until };
        self.state.unresolved = true;
        self.state.above = 0;
        self.state.below = 0;
        if self.settings.judge_throttle_afresh {
            self.state.window.clear();
            self.state.average_ns = None;
        }
        self.orders.push(Order::Throttle {
            until,
            io_mb_s: self.settings.io_mb_s,
            mps_percent: self.settings.mps_percent,
        });
    }

    /// Lifts the throttle; the guard rests.
    pub(super) fn lift(&mut self) {
        let until = self.after(self.settings.cool_down);
        self.state.guard = Guard::Rest { until };
        self.orders.push(Order::Lift);
    }

    pub(super) fn relaunch(&mut self, to: Config, why: Why) {
        self.state.phase = Phase::Relaunching {
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
        self.orders.push(Order::Relaunch { to, why, warm });
    }
}
