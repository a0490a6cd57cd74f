//! The record of a decision by replay, for the audit log.

use serde::{Deserialize, Serialize};

use super::controller::{ReplayInput, ReplayState, step};
use super::settings::ReplaySettings;
use crate::record::Alternative;
use crate::state::{ControllerAction, RelaunchReason};
use crate::table::RowId;
use crate::window::WindowTail;

/// One decision by replay: what was known, what was decided and why. With `before` and `input` alone
/// the decision can be made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayRecord {
    /// The tenant.
    pub tenant: String,
    /// What the controller was told, with the snapshot of signals.
    pub input: ReplayInput,
    /// The tail after the latencies of this tick.
    pub tail: WindowTail,
    /// The state before.
    pub before: ReplayState,
    /// The state after.
    pub after: ReplayState,
    /// The rows of the table that applied.
    pub rows: Vec<RowId>,
    /// What was ordered.
    pub orders: Vec<ControllerAction>,
    /// Why, in one sentence.
    pub reason: String,
    /// The candidates that were compared, and their costs in seconds of failed requests.
    pub alternatives: Vec<Alternative>,
}

impl ReplayRecord {
    /// Whether an auditor must see it: an order, or a row that changed the state.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        !self.orders.is_empty() || !self.rows.is_empty()
    }
}

/// A step with its record.
#[must_use]
pub fn recorded(
    tenant: &str,
    settings: &ReplaySettings,
    state: &mut ReplayState,
    input: &ReplayInput,
) -> ReplayRecord {
    let before = state.clone();
    let decision = step(settings, state, input);
    let mut window = before.base.window.clone();
    input
        .base
        .latencies_ns
        .iter()
        .for_each(|ns| window.push(*ns));
    ReplayRecord {
        tenant: tenant.to_owned(),
        input: input.clone(),
        tail: WindowTail::of(&window, settings.base.promise_ns),
        after: state.clone(),
        reason: reason(settings, &decision.base.orders, &decision.candidates),
        rows: decision.base.rows,
        orders: decision.base.orders,
        alternatives: decision.candidates,
        before,
    }
}

fn reason(
    settings: &ReplaySettings,
    orders: &[ControllerAction],
    candidates: &[Alternative],
) -> String {
    let mut parts = Vec::new();
    for order in orders {
        parts.push(match order {
            ControllerAction::Throttle { .. } => "counters show a neighbour on the path: throttle it".to_owned(),
            ControllerAction::Lift => "the neighbour has gone, or the throttle is due: lift".to_owned(),
            ControllerAction::Relaunch { to, why: RelaunchReason::Replay, .. } => {
                let cost = |alternative: Option<&Alternative>| alternative.map_or(f64::NAN, |alternative| alternative.score);
                let best = candidates.iter().find(|candidate| candidate.to == *to);
                format!(
                    "by replay of the last requests place {} on profile {} costs {:.3} s of failed requests, staying {:.3}: below {} of it",
                    to.place,
                    to.profile,
                    cost(best),
                    cost(candidates.first()),
                    settings.act_below
                )
            }
            ControllerAction::Restore { .. } => "the relaunch failed: restore".to_owned(),
            own => format!("{own:?}"),
        });
    }
    if parts.is_empty() {
        parts.push("no candidate pays: keep".to_owned());
    }
    parts.join("; ")
}
