//! Models of run time by name.

use mapa_sim::{ExecutionRow, executions};

use super::registry::{Registry, Row};
use crate::systems;

impl Row for ExecutionRow {
    const WHAT: &'static str = "execution model";

    fn name(&self) -> &str {
        &self.name
    }
}

/// The general models of `mapa-sim`, then those of published systems.
pub(super) fn built_in() -> Registry<ExecutionRow> {
    executions()
        .into_iter()
        .chain(systems::executions())
        .collect()
}
