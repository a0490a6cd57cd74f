//! One step of a tenant's controller.

use super::settings::Settings;
use super::state::{
    ControllerAction, ControllerPhase, ControllerState, PhaseKind, ThrottleState, TickInput,
};
use super::table::{RowId, TABLE};
use super::under_way::StepUnderWay;

/// What a step did: the rows that applied, and the orders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The rows that applied, in order.
    pub rows: Vec<RowId>,
    /// The orders, in order.
    pub orders: Vec<ControllerAction>,
}

impl Decision {
    /// Whether anything happened that an auditor must see: an order, or a row that changed the
    /// state.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        !self.orders.is_empty() || self.rows.iter().any(|row| *row != RowId::NothingLeft)
    }
}

/// Advances a tenant's controller by one tick: (state, timed input) to (state, orders). The step
/// reads no clock and depends on nothing else.
///
/// Latencies enter the window first. Then the rows of [`TABLE`] are looked at in order; the first
/// that applies and ends the step is the last, but for admission.
///
/// # Complexity
/// O(l n + p) for l latencies, a window of n and p places.
pub fn step(settings: &Settings, state: &mut ControllerState, input: &TickInput) -> Decision {
    let is_clock_back = state.last_tick.is_some_and(|last| input.tick < last);
    if is_clock_back {
        rebase(state, input.tick, settings);
    }
    state.last_tick = Some(input.tick);
    observe(settings, state, input);
    let mut decision = Decision::default();
    let mut now = StepUnderWay {
        settings,
        input,
        state,
        is_clock_back,
        orders: &mut decision.orders,
    };
    let mut has_ended = false;
    for row in &TABLE {
        let is_last = row.id == RowId::Admission;
        if has_ended && !is_last {
            continue;
        }
        if row.phases.contains(&now.state.phase.kind()) && (row.applies)(&now) {
            (row.act)(&mut now);
            decision.rows.push(row.id);
            has_ended |= row.ends;
        }
    }
    decision
}

/// Moves the marks of a state to a clock that went back: the dwell and the rest start anew. A
/// throttle that is on is lifted in the same step.
fn rebase(state: &mut ControllerState, tick: u64, settings: &Settings) {
    if state.last_relaunch.is_some() {
        state.last_relaunch = Some(tick);
    }
    if let ThrottleState::Rest { until } = &mut state.guard {
        *until = tick.saturating_add(u64::from(settings.cool_down));
    }
    if let ControllerPhase::Relaunching { since, .. } = &mut state.phase {
        *since = tick;
    }
}

/// Takes latencies in, and counts ticks above the trigger and quiet ones.
fn observe(settings: &Settings, state: &mut ControllerState, input: &TickInput) {
    let is_fresh = input
        .snapshot
        .as_ref()
        .is_some_and(|snapshot| !snapshot.is_stale(settings));
    state.silent = if is_fresh {
        0
    } else {
        state.silent.saturating_add(1)
    };
    for &ns in &input.latencies_ns {
        state.window.push(ns);
    }
    if !state.is_ready(settings) || !is_fresh {
        return;
    }
    let Some(p99) = state.window.quantile(990) else {
        return;
    };
    let percent = u128::from(settings.average_percent.min(100));
    let average = state.average_ns.map_or(p99, |last| {
        let mixed = u128::from(last) * (100 - percent) + u128::from(p99) * percent;
        (mixed / 100) as u64
    });
    state.average_ns = Some(average);
    if !matches!(state.phase.kind(), PhaseKind::Watch | PhaseKind::Validating) {
        return;
    }
    let quiet = u128::from(settings.trigger_ns) * u128::from(settings.relax_percent);
    state.above = counted(state.above, average > settings.trigger_ns);
    state.below = counted(state.below, u128::from(average) * 100 < quiet);
    if state.below >= settings.relax_ticks {
        state.unresolved = false;
    }
}

fn counted(count: u32, goes_on: bool) -> u32 {
    if goes_on { count.saturating_add(1) } else { 0 }
}
