#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod aware;
mod named;
mod plan;
mod policies;

pub use aware::PcieAware;
pub use named::SCHEDULERS;
pub use plan::{PcieBound, PciePlan, PciePorts, PcieWork, PlannedPlace, PortModel, pcie_bound};
pub use policies::{POLICIES, pcie_aware};
