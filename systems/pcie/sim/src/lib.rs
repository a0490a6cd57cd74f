#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod execution;

pub use execution::{PcieEqualShare, PcieMaxMin, executions};

/// The code of the page on jobs that share PCIe, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/contention.md")]
pub struct PciePage;

/// The code of the page on scheduling by PCIe bandwidth, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/scheduling.md")]
pub struct MigSchedulingPage;
