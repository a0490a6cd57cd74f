//! Rows of the published systems.

mod case;
mod slo;

pub use case::SCHEDULERS as CASE_SCHEDULERS;
pub use slo::SCHEDULERS as SLO_SCHEDULERS;
