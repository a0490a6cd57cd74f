//! The schedulers that are tried, those of published systems among them.

use mapa_sched::{NamedScheduler, SCHEDULERS};

/// Every scheduler.
pub(crate) fn schedulers() -> Vec<&'static NamedScheduler> {
    let mut all: Vec<&'static NamedScheduler> = SCHEDULERS.iter().collect();
    #[cfg(feature = "case")]
    all.extend(&mapa_system_case::SCHEDULERS);
    #[cfg(feature = "energy")]
    all.extend(&mapa_system_energy::SCHEDULERS);
    #[cfg(feature = "mapa")]
    all.extend(&mapa_system_mapa::SCHEDULERS);
    #[cfg(feature = "pcie")]
    all.extend(&mapa_system_pcie::SCHEDULERS);
    #[cfg(feature = "slo")]
    all.extend(&mapa_system_slo::SCHEDULERS);
    all
}
