//! The record of a decision, for the audit log.

use serde::{Deserialize, Serialize};

use super::settings::Settings;
use super::state::{ControllerAction, ControllerPhase, ControllerState, TenantSetup, TickInput};
use super::step::{Decision, step};
use super::table::{RowId, TABLE};
use super::window::WindowTail;

/// A candidate that was looked at, and its score or cost: less is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The configuration.
    pub to: TenantSetup,
    /// The placement score, or the cost by replay in seconds of failed requests.
    pub score: f64,
}

/// One decision: what was known, what was decided and why. With `before` and `input` alone the
/// decision can be made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DecisionRecord {
    /// The tenant.
    pub tenant: String,
    /// What the controller was told, with the snapshot of signals.
    pub input: TickInput,
    /// The tail after the latencies of this tick.
    pub tail: WindowTail,
    /// The state before.
    pub before: ControllerState,
    /// The state after.
    pub after: ControllerState,
    /// The rows of the table that applied.
    pub rows: Vec<RowId>,
    /// What was ordered.
    pub orders: Vec<ControllerAction>,
    /// Why, in one sentence.
    pub reason: String,
    /// Other places on the same profile, and their scores.
    pub alternatives: Vec<Alternative>,
}

impl DecisionRecord {
    /// Whether an auditor must see it: see [`Decision::is_notable`].
    #[must_use]
    pub fn is_notable(&self) -> bool {
        !self.orders.is_empty() || self.rows.iter().any(|row| *row != RowId::NothingLeft)
    }

    /// The record of a step from `before` to `after`.
    #[must_use]
    pub fn of(
        tenant: &str,
        settings: &Settings,
        before: ControllerState,
        input: &TickInput,
        after: &ControllerState,
        decision: &Decision,
    ) -> Self {
        Self {
            tenant: tenant.to_owned(),
            input: input.clone(),
            tail: tail(settings, &before, input),
            reason: reason(settings, &before, input, decision),
            alternatives: alternatives(settings, &before, input),
            after: after.clone(),
            rows: decision.rows.clone(),
            orders: decision.orders.clone(),
            before,
        }
    }
}

/// A step with its record: (state, timed input) to (state, orders, record).
#[must_use]
pub fn recorded(
    tenant: &str,
    settings: &Settings,
    state: &mut ControllerState,
    input: &TickInput,
) -> DecisionRecord {
    let before = state.clone();
    let decision = step(settings, state, input);
    DecisionRecord::of(tenant, settings, before, input, state, &decision)
}

fn tail(settings: &Settings, before: &ControllerState, input: &TickInput) -> WindowTail {
    let mut window = before.window.clone();
    for &ns in &input.latencies_ns {
        window.push(ns);
    }
    WindowTail::of(&window, settings.promise_ns)
}

/// The reason of a decision in words: its rows, and the numbers that they were compared with.
fn reason(
    settings: &Settings,
    before: &ControllerState,
    input: &TickInput,
    decision: &Decision,
) -> String {
    let mut parts = Vec::new();
    for row in TABLE.iter().filter(|row| decision.rows.contains(&row.id)) {
        parts.push(format!("{}: {}", row.when, row.does));
    }
    if parts.is_empty() {
        parts.push("no row applies: keep".to_owned());
    }
    let tail = tail(settings, before, input);
    if let Some(p99) = tail.p99_ns {
        parts.push(format!(
            "p99 of the last {} requests {:.3} ms, trigger {:.3} ms, above it for {} of {} ticks",
            tail.count,
            p99 as f64 / 1e6,
            settings.trigger_ns as f64 / 1e6,
            before.above,
            settings.persistence
        ));
    }
    parts.join("; ")
}

/// The score of every place on the profile in force.
fn alternatives(
    settings: &Settings,
    before: &ControllerState,
    input: &TickInput,
) -> Vec<Alternative> {
    let Some(snapshot) = &input.snapshot else {
        return Vec::new();
    };
    if matches!(before.phase, ControllerPhase::Relaunching { .. }) {
        return Vec::new();
    }
    let own = before.config;
    let places = 0..snapshot.places.len() as u32;
    places
        .map(|place| Alternative {
            to: TenantSetup { place, ..own },
            score: snapshot.score(place, own.profile, own.place, settings),
        })
        .collect()
}
