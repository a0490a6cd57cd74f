//! One scheduler for as long as the machine is up: the very objects of the simulator, driven by
//! what happens here.
//!
//! `driver` is the [`mapa_sched::Driver`] of this machine. A `poll` reads the ledger, the GPU drivers and the
//! counters, and `events` compares them with what the scheduler knows. `actions` carries out what the scheduler
//! wants done; `levers` applies the `changes` to the machine, and the `journal` has them on disk. `recorder` writes
//! events and actions down, for `replay`; `reporter` publishes the daemon's own status and counters. `slo` controls
//! latencies, on the same machine by the same levers.

mod actions;
mod changes;
mod config;
mod driver;
#[cfg(test)]
#[path = "../../tests/unit/driver.rs"]
mod driver_tests;
mod events;
mod inbox;
mod journal;
mod levers;
mod metrics;
mod modes;
mod poll;
mod record_chain;
mod recorder;
mod replay;
mod reporter;
pub(crate) mod sampling;
mod signals;
#[cfg(feature = "slo")]
mod slo;
#[cfg(test)]
#[path = "../../tests/unit/soak.rs"]
mod soak;
mod toml_file;

pub use config::check_node_config;
pub(crate) use config::{DaemonConfig, Service as ServiceConfig};
pub(crate) use driver::{DriverNews, DriverParts, DriverStop, NodeDriver, RunEnd, now_ms};

pub(crate) use events::job_of_lease;
pub(crate) use inbox::{Inbox, InboxMessage, InboxSender, Report, Told, inbox};
pub(crate) use journal::{NodeJournal, folder_of};
pub(crate) use levers::NodeLevers;
pub(crate) use metrics::Metrics;
pub(crate) use recorder::Recorder;
pub(crate) use replay::{ReplayArgs, replay};
pub(crate) use reporter::{Reporter, SharedStatus};
pub(crate) use signals::{HostSampler, Needs};
#[cfg(feature = "slo")]
pub(crate) use slo::LatencyControl;
#[cfg(test)]
pub(crate) use toml_file::parse as parse_toml;
