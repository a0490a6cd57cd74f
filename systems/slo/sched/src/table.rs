//! The state machine as a table: each row says in which phases it applies, on what input, what it
//! does, and what comes next. A step walks the rows in order.

use serde::{Deserialize, Serialize};

use super::admission;
use super::state::{
    ControllerAction, ControllerCommand, ControllerPhase, PhaseKind, RelaunchReason, Relaunched,
    TenantSetup, ThrottleState,
};
use super::under_way::StepUnderWay;

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
pub struct StateRow {
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
    pub(super) applies: fn(&StepUnderWay<'_>) -> bool,
    pub(super) act: fn(&mut StepUnderWay<'_>),
}

const ANY: &[PhaseKind] = &PhaseKind::ALL;
const WATCHING: &[PhaseKind] = &[PhaseKind::Watch, PhaseKind::Validating];

/// Every row, in the order in which a step looks at them. What became of a relaunch is looked at
/// before a hold: it is an event, however little else is known in that tick.
pub const TABLE: [StateRow; 14] = [
    StateRow {
        id: RowId::Lift,
        phases: ANY,
        when: "throttle due, stop, crash recovery, clock back, feed lost",
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
            matches!(step.state.guard, ThrottleState::On { until } if due(until) || ends)
        },
        act: |step| {
            step.lift();
        },
    },
    StateRow {
        id: RowId::Rested,
        phases: ANY,
        when: "cool-down over",
        does: "-",
        next: "guard open",
        ends: false,
        applies: |step| matches!(step.state.guard, ThrottleState::Rest { until } if step.input.tick >= until),
        act: |step| step.state.guard = ThrottleState::Open,
    },
    StateRow {
        id: RowId::Done,
        phases: &[PhaseKind::Relaunching],
        when: "relaunch done",
        does: "empty the window, counters 0",
        next: "validating",
        ends: false,
        applies: |step| step.input.relaunch == Some(Relaunched::Done) && !step.is_recovering(),
        act: |step| {
            let ControllerPhase::Relaunching {
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
            let is_judged = step.settings.levers.validate
                && matches!(why, RelaunchReason::Move | RelaunchReason::Shrink);
            step.state.phase = ControllerPhase::Validating {
                at: (step.input.tick).saturating_add(u64::from(step.settings.validation_ticks)),
                before_ns,
                back: is_judged.then_some(from),
            };
        },
    },
    StateRow {
        id: RowId::Failed,
        phases: &[PhaseKind::Relaunching],
        when: "relaunch failed, or takes too long",
        does: "restore the configuration before",
        next: "watch, dwell anew",
        ends: false,
        applies: |step| {
            let ControllerPhase::Relaunching { since, .. } = step.state.phase else {
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
            let ControllerPhase::Relaunching { from, .. } = step.state.phase else {
                return;
            };
            step.state.config = from;
            step.state.phase = ControllerPhase::Watch;
            step.state.forget();
            step.state.last_relaunch = Some(step.input.tick);
            step.orders.push(ControllerAction::Restore { to: from });
        },
    },
    StateRow {
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
                    step.state.phase = ControllerPhase::Warmup;
                }
            }
            if let Some(ControllerCommand::Recover { config }) = step.input.command {
                // What became of a relaunch is not known: the driver tells the configuration in
                // force, and the dwell starts anew.
                step.state.config = config;
                step.state.unresolved = false;
                step.state.phase = ControllerPhase::Warmup;
                step.state.last_relaunch = Some(step.input.tick);
            }
        },
    },
    StateRow {
        id: RowId::Ready,
        phases: &[PhaseKind::Warmup],
        when: "window ready",
        does: "-",
        next: "watch",
        ends: true,
        applies: |step| step.state.is_ready(step.settings),
        act: |step| step.state.phase = ControllerPhase::Watch,
    },
    StateRow {
        id: RowId::Rollback,
        phases: &[PhaseKind::Validating],
        when: "judged, not larger, tail worse than before",
        does: "relaunch as before (exempt from the dwell, which starts anew; once)",
        next: "relaunching",
        ends: true,
        applies: |step| {
            let ControllerPhase::Validating {
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
            if let ControllerPhase::Validating {
                back: Some(back), ..
            } = step.state.phase
            {
                step.relaunch(back, RelaunchReason::Rollback);
            }
        },
    },
    StateRow {
        id: RowId::Proved,
        phases: &[PhaseKind::Validating],
        when: "judged, not worse",
        does: "-",
        next: "watch",
        ends: false,
        applies: |step| {
            matches!(step.state.phase, ControllerPhase::Validating { at, .. } if step.input.tick >= at)
                && step.state.is_ready(step.settings)
        },
        act: |step| step.state.phase = ControllerPhase::Watch,
    },
    StateRow {
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
                && step.state.guard == ThrottleState::Open
                && (who.heavy > 0 || who.training)
                && may
        },
        act: |step| step.throttle(),
    },
    StateRow {
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
                let to = TenantSetup {
                    place,
                    ..step.upgraded()
                };
                step.relaunch(to, RelaunchReason::Move);
            }
        },
    },
    StateRow {
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
            let to = TenantSetup {
                profile: own.profile + 1,
                ..own
            };
            step.relaunch(to, RelaunchReason::Enlarge);
        },
    },
    StateRow {
        id: RowId::NothingLeft,
        phases: WATCHING,
        when: "above long enough, nothing allowed",
        does: "record \"nothing left\"",
        next: "same",
        ends: true,
        applies: |step| step.is_above(),
        act: |_| (),
    },
    StateRow {
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
            let to = TenantSetup {
                profile: own.profile - 1,
                ..own
            };
            step.relaunch(to, RelaunchReason::Shrink);
        },
    },
    StateRow {
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
