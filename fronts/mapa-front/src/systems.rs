//! What published systems bring: the one place of this crate that names them. Each system's rows come
//! by a feature.

use mapa_core::BuiltIn;
use mapa_sched::NamedScheduler;
use mapa_sim::{ExecutionRow, GeneratorRow, MEASURES, Measure};

/// The schedulers of published systems.
#[must_use]
pub fn schedulers() -> Vec<NamedScheduler> {
    let mut rows = Vec::new();
    #[cfg(feature = "mapa")]
    rows.extend(mapa_system_mapa::SCHEDULERS);
    #[cfg(feature = "pcie")]
    rows.extend(mapa_system_pcie::SCHEDULERS);
    #[cfg(feature = "energy")]
    rows.extend(mapa_system_energy::SCHEDULERS);
    #[cfg(feature = "case")]
    rows.extend(mapa_system_case::SCHEDULERS);
    rows.extend(mapa_sched::systems::SLO_SCHEDULERS);
    rows
}

/// The policies of published systems, behind those of `mapa-core`.
#[must_use]
#[allow(
    clippy::vec_init_then_push,
    unused_mut,
    reason = "each system's rows come by its feature"
)]
pub fn policies() -> Vec<BuiltIn> {
    let mut rows = Vec::new();
    #[cfg(feature = "case")]
    rows.extend(mapa_system_case::POLICIES);
    rows
}

/// The models of run time of published systems.
#[must_use]
pub fn executions() -> Vec<ExecutionRow> {
    let mut rows = Vec::new();
    #[cfg(feature = "case")]
    rows.extend(mapa_system_case_sim::executions());
    #[cfg(feature = "pcie")]
    rows.extend(mapa_system_pcie_sim::executions());
    rows
}

/// The generators of workloads of published systems.
#[must_use]
pub fn generators() -> Vec<GeneratorRow> {
    let systems: &[&[GeneratorRow]] = &[
        #[cfg(feature = "energy")]
        &mapa_system_energy_sim::GENERATORS,
    ];
    systems.concat()
}

/// Every measure: those of `mapa-sim`, then those of published systems.
#[must_use]
pub fn measures() -> Vec<Measure> {
    let systems: &[&[Measure]] = &[
        #[cfg(feature = "energy")]
        &mapa_system_energy_sim::MEASURES,
    ];
    [MEASURES, &systems.concat()].concat()
}
