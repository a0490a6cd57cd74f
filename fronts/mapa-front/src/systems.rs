//! What published systems bring: the one place of this crate that names them. Each system's rows come
//! by a feature.

use mapa_core::BuiltIn;
#[cfg(any(test, not(feature = "sim")))]
use mapa_sched::LinkModel;
use mapa_sched::NamedScheduler;
#[cfg(feature = "sim")]
use mapa_sim::{ExecutionRow, GeneratorRow, MEASURES, Measure};
/// What a system adds to the record of a daemon: decisions on latencies, which are made again.
#[cfg(feature = "slo")]
pub use mapa_system_slo_log::{Controllers, LatencyLine, Replayed};

/// The schedulers of published systems.
#[must_use]
pub fn schedulers() -> Vec<NamedScheduler> {
    // This is a slice of slices, since a build may leave out every system.
    let systems: &[&[NamedScheduler]] = &[
        #[cfg(feature = "mapa")]
        &mapa_system_mapa::SCHEDULERS,
        #[cfg(feature = "pcie")]
        &mapa_system_pcie::SCHEDULERS,
        #[cfg(feature = "energy")]
        &mapa_system_energy::SCHEDULERS,
        #[cfg(feature = "case")]
        &mapa_system_case::SCHEDULERS,
        #[cfg(feature = "slo")]
        &mapa_system_slo::SCHEDULERS,
    ];
    systems.concat()
}

/// The policies of published systems, behind those of `mapa-core`.
#[must_use]
pub fn policies() -> Vec<BuiltIn> {
    let systems: &[&[BuiltIn]] = &[
        #[cfg(feature = "energy")]
        &mapa_system_energy::POLICIES,
        #[cfg(feature = "pcie")]
        &mapa_system_pcie::POLICIES,
        #[cfg(feature = "case")]
        &mapa_system_case::POLICIES,
    ];
    systems.concat()
}

/// The models of run time of published systems.
#[cfg(feature = "sim")]
#[must_use]
pub fn executions() -> Vec<ExecutionRow> {
    let systems: Vec<Vec<ExecutionRow>> = vec![
        #[cfg(feature = "case-sim")]
        mapa_system_case_sim::executions(),
        #[cfg(feature = "pcie-sim")]
        mapa_system_pcie_sim::executions(),
    ];
    systems.concat()
}

/// A model of run time, as far as schedulers are told of it.
#[cfg(any(test, not(feature = "sim")))]
pub(crate) struct RunTimes {
    /// Its name.
    pub(crate) name: &'static str,
    /// The settings that may follow its name.
    pub(crate) settings: &'static [&'static str],
    /// How run times depend on links.
    pub(crate) links: fn() -> LinkModel,
}

/// The same models as schedulers know them, for programs without a simulator.
#[cfg(any(test, not(feature = "sim")))]
pub(crate) fn run_times() -> Vec<RunTimes> {
    // The test in `names/run_times.rs` holds these rows to those of the simulator.
    vec![
        #[cfg(feature = "case")]
        RunTimes {
            name: "by-warps",
            settings: &["slice=WARPS"],
            links: || LinkModel::None,
        },
        #[cfg(feature = "pcie")]
        RunTimes {
            name: "pcie-equal-share",
            settings: &["gbps=GB/s"],
            links: || LinkModel::Usual,
        },
        #[cfg(feature = "pcie")]
        RunTimes {
            name: "pcie-max-min",
            settings: &[],
            links: || LinkModel::Usual,
        },
    ]
}

/// The generators of workloads of published systems.
#[cfg(feature = "sim")]
#[must_use]
pub fn generators() -> Vec<GeneratorRow> {
    let systems: &[&[GeneratorRow]] = &[
        #[cfg(feature = "energy-sim")]
        &mapa_system_energy_sim::GENERATORS,
    ];
    systems.concat()
}

/// Every measure: those of `mapa-sim`, then those of published systems.
#[cfg(feature = "sim")]
#[must_use]
pub fn measures() -> Vec<Measure> {
    let systems: &[&[Measure]] = &[
        #[cfg(feature = "energy-sim")]
        &mapa_system_energy_sim::MEASURES,
    ];
    [MEASURES, &systems.concat()].concat()
}
