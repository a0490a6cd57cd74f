#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
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
#[cfg(feature = "source")]
mod source;
mod traffic;
mod unit;
mod verdict;

pub use algorithm::Algorithm;
pub use application::{Application, Note, NoteKind};
pub use counters::{Counters, PcieSamples, Reading};
pub use error::Error;
pub use file::{read_pattern, write_pattern};
pub use likeness::likeness;
pub use nccl::{
    Call, Collective, Communicator, Connection, JobDevice, NcclJob, Ring, Tree, TreeHalf, read_nccl,
};
pub use sensitivity::{
    CaffeModel, Evidence, LARGE_MESSAGE_BYTES, LinkRates, Messages, PUBLISHED, Published, Times,
    Workload,
};
#[cfg(feature = "source")]
pub use source::{Communication, Decision, Finding, Library, Proposal, Source};
pub use traffic::TrafficMatrix;
pub use unit::Unit;
pub use verdict::{Sensitivity, Verdict};

/// The example in docs/pattern-file.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/pattern-file.md")]
pub struct PatternFilePage;

/// The example in docs/sensitivity.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/sensitivity.md")]
pub struct SensitivityPage;
