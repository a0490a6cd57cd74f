//! The result of a simulation, which is printed and drawn.

use mapa_sim::{Outcome, OverTime, Row, Summary};

/// The simulation of a workload under one policy.
pub(crate) struct PolicyRun {
    pub(crate) policy: String,
    pub(crate) outcome: Outcome,
    pub(crate) rows: Vec<Row>,
    pub(crate) summary: Summary,
    pub(crate) over_time: OverTime,
    /// Decisions whose search stopped at its limit.
    pub(crate) cut: usize,
}
