#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod algorithm;
mod application;
mod counters;
mod dot;
mod error;
mod file;
mod likeness;
mod nccl;
mod sensitivity;
mod source;
mod traffic;

pub use algorithm::Algorithm;
pub use application::{Application, Note, NoteKind, Unit};
pub use counters::{Counters, PcieSamples, Reading};
pub use error::Error;
pub use file::{read_pattern, write_pattern};
pub use likeness::likeness;
pub use nccl::{Call, Collective, Communicator, Connection, JobDevice, NcclJob, Ring, Tree, TreeHalf, read_nccl};
pub use sensitivity::{
    CaffeModel, Evidence, LARGE_MESSAGE_BYTES, LinkRates, Messages, PUBLISHED, Published, Sensitivity, Times, Verdict,
    Workload,
};
pub use source::{Communication, Decision, Finding, Library, Proposal, Source};
pub use traffic::TrafficMatrix;

/// The example in docs/pattern-file.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/pattern-file.md")]
pub struct PatternFilePage;

/// The example in docs/sensitivity.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/sensitivity.md")]
pub struct SensitivityPage;
