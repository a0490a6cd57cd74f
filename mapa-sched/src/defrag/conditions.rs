//! The conditions under which jobs may move.

use std::collections::BTreeSet;

use mapa_core::{LeaseId, Limits, MachineId, Objective};

/// The conditions that a plan must meet.
pub(super) struct PlanConditions<'a> {
    /// The objective that scores placements.
    pub(super) objective: Objective<'a>,
    /// The share of its score that a job that moves may lose, from 0 to 1.
    pub(super) may_lose: f64,
    /// Jobs that stay where they are.
    pub(super) pinned: BTreeSet<(MachineId, LeaseId)>,
    /// When to stop with the best plan so far. A node is one set of devices.
    pub(super) limits: Limits,
}
