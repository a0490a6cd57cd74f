//! Rows of the published systems.

mod slo;

pub use slo::SCHEDULERS as SLO_SCHEDULERS;
