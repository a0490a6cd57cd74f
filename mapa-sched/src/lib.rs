#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod built_in;
mod error;
mod event;
mod fifo;
mod fleet;
mod job;
mod scheduler;
mod time;
mod turn;

pub use built_in::BuiltIn;
pub use error::Error;
pub use event::{Action, Event, Guard, Latency, Placed, Signals, Token};
pub use fifo::Fifo;
pub use fleet::Fleet;
pub use job::{Job, JobId, RunTime, TaskId, Tenant};
pub use scheduler::{Scheduler, step};
pub use time::Time;
pub use turn::Turn;
