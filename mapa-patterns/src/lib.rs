#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

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

pub use application::{Application, Note, NoteKind, Unit};
pub use error::Error;
pub use file::{read_pattern, write_pattern};
pub use likeness::likeness;
pub use sensitivity::{Sensitivity, Verdict};
pub use source::{Algorithm, Communication, Decision, Finding, Library, Proposal, Source};
pub use traffic::TrafficMatrix;
