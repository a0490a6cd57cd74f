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
pub use model::{ModelParameters, Slowdown, SlowdownModel};
pub use named::SCHEDULERS;
pub use record::{Alternative, DecisionRecord, recorded};
pub use scheduler::{
    CompletedRequest, Controller, GuardingScheduler, PaperController, SloScheduler,
};
pub use settings::{EnabledLevers, PlacementWeights, Settings};
pub use signals::{Contention, CounterSnapshot, NumaCounters, PlaceCounters};
pub use state::{
    ControllerAction, ControllerCommand, ControllerPhase, ControllerState, Newcomer, PhaseKind,
    RelaunchReason, Relaunched, TenantSetup, ThrottleState, TickInput,
};
pub use step::{Decision, step};
pub use table::{RowId, StateRow, TABLE};
pub use window::{Window, WindowTail, duration_ns, latency_ns};
