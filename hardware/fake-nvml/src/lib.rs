#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
)]

mod c;
mod calls;
mod code;
mod config;
mod error;
mod fake;
mod hardware;
mod install;
mod partition;
mod product;
mod state;
mod store;

pub use calls::CALLS;
pub use code::Code;
pub use config::{Config, SETTINGS_FILE, Switch};
pub use error::Error;
pub use fake::Fake;
pub use install::{built_library, install};
pub use partition::Failure;
pub use state::{
    ComputeInstance, Counters, DeviceState, Event, Fault, GpuInstance, MAX_STATE_BYTES, Mig,
    Process, ProcessKind, State,
};
