#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

pub mod answer;
pub mod commands;
pub mod drive_log;
mod error;
mod files;
pub mod instances;
pub mod job;
mod machine;
#[cfg(feature = "regress")]
pub mod measured;
mod model;
pub mod names;
mod notes;
pub mod request;
#[cfg(feature = "schema")]
mod schema;
mod scores;
#[cfg(feature = "shell")]
pub mod shell;
#[cfg(feature = "sim")]
pub mod simulation;
pub mod systems;
pub mod text;
mod time_word;
mod words;
#[cfg(feature = "sim")]
mod workload;

pub use error::Error;
pub use files::{FileKind, Files, InMemory};
pub use job::{Job, Step};
pub use machine::{Loaded, MachineSpec, P2p};
pub use model::{Kind, Model, ModelChoice, Packing, choose_model};
pub use names::{ExecutionSpec, ModelSpec, Named, Names, PolicySpec, SchedulerSpec};
pub use notes::{notes, withheld};
pub use request::{DeviceName, JobSpec, Like, NicFor};
#[cfg(feature = "schema")]
pub use schema::{ANSWERS, AnswerSchema};
pub use time_word::TimeWord;
#[cfg(feature = "sim")]
pub use workload::{WorkloadSpec, generated};
