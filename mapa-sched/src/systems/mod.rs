//! Rows of the published systems.

mod case;
mod mapa;
mod pcie;
mod slo;

pub use case::SCHEDULERS as CASE_SCHEDULERS;
pub use mapa::SCHEDULERS as MAPA_SCHEDULERS;
pub use pcie::SCHEDULERS as PCIE_SCHEDULERS;
pub use slo::SCHEDULERS as SLO_SCHEDULERS;
