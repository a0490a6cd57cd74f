#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod admission;
mod error;
mod model;
mod named;
mod record;
pub mod replay;
mod scheduler;
mod settings;
mod signals;
mod state;
mod step;
mod table;
mod under_way;
mod window;

pub use error::Error;
pub use model::{Model, ModelParameters, Slowdown};
pub use named::SCHEDULERS;
pub use record::{Alternative, Record, recorded};
pub use scheduler::{Answered, Controller, GuardingScheduler, Paper, SloScheduler};
pub use settings::{Levers, Settings, Weights};
pub use signals::{Contention, Numa, Place, Snapshot};
pub use state::{
    Command, Config, Guard, Input, Newcomer, Order, Phase, PhaseKind, Relaunched, State, Why,
};
pub use step::{Decision, step};
pub use table::{Row, RowId, TABLE};
pub use window::{Tail, Window, duration_ns, latency_ns};
