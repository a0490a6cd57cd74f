//! NVIDIA's library NVML.
//!
//! `owner` holds the one handle of this process, `questions` makes queries through it, and
//! `machine` builds a machine from the answers. `mig` has the calls for MIG that the wrapper lacks: they say where
//! instances lie, and partition devices. `events` watches devices with a handle of its own.

mod events;
mod gauges;
mod machine;
pub(crate) mod mig;
mod processes;
mod queries;
mod worker;

pub(crate) use events::watch;
pub(crate) use worker::with;

use crate::found::{DriverSnapshot, GpuReading, NoAnswer, SourceResult};
use crate::live::Live;

/// The machine that NVML describes, if it answers within the time limit.
pub(crate) fn ask(live: &Live) -> Result<SourceResult, NoAnswer> {
    worker::answers(&live.nvml, &live.roots, live.time_limit)?.found()
}

/// The devices that NVML lists now and the processes on them, if it answers within the time limit.
pub(crate) fn driver_snapshot(live: &Live) -> Result<DriverSnapshot, NoAnswer> {
    worker::driver_snapshot(&live.nvml, live.time_limit)
}

/// What the devices measure, if NVML answers within the time limit.
pub(crate) fn readings(live: &Live) -> Result<Vec<GpuReading>, NoAnswer> {
    worker::readings(&live.nvml, live.time_limit)
}
