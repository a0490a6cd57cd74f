#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
)]

mod cache;
mod command;
mod discover;
mod driver_snapshot;
mod error;
mod found;
mod health;
mod host;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod kernel;
mod kfd;
#[cfg(target_os = "linux")]
pub mod levers;
mod live;
mod nvidia_smi;
#[cfg(all(feature = "nvml", target_os = "linux"))]
mod nvml;
mod roots;
mod source;
#[cfg(target_os = "linux")]
pub mod telemetry;
mod watch;

pub use discover::discover;
pub use driver_snapshot::driver_snapshot;
pub use error::Error;
pub use found::{
    DeviceProcess, DeviceStatus, Discovered, DriverSnapshot, LinkStatus, PcieLevel, RuntimeState,
};
pub use health::{Health, HealthChange, is_of_program};
#[cfg(target_os = "linux")]
pub use kernel::{
    Cpus, Identity, Interrupts, Liveness, Marked, Namespaces, ProcessId, ProcessTree, Processes,
    cgroup, low_interrupt_cpus,
};
pub use kfd::read_kfd;
pub use live::{Live, default_cache};
pub use nvidia_smi::counters;
pub use roots::Roots;
pub use source::{Attempt, Source};
pub use watch::{Watch, watch};

/// The example in docs/discovery.md, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/discovery.md")]
pub struct LivePage;

/// The examples in docs/levers.md, compiled as tests.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../docs/levers.md")]
pub struct LeversPage;

/// The examples in docs/telemetry.md, compiled as tests.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../docs/telemetry.md")]
pub struct TelemetryPage;
