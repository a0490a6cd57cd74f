//! NVIDIA's library NVML.
//!
//! `worker` holds the one handle of this process, `queries` makes queries through it, and
//! `machine` builds a machine from the answers. `links` asks which links are up, which may change at any moment. `mig` has the calls for MIG that the wrapper lacks: they say where
//! instances lie, and partition devices. `events` watches devices with a handle of its own.

mod events;
mod gauges;
mod links;
mod machine;
pub(crate) mod mig;
mod processes;
mod queries;
mod worker;

pub(crate) use events::watch;
pub(crate) use links::DeviceLinks;
pub(crate) use machine::Answers;
pub(crate) use worker::with;

use crate::found::{DriverSnapshot, GpuReading, NoAnswer, SourceResult};
use crate::live::Live;

/// The machine that NVML describes, if it answers within the time limit. Earlier answers tell where links lead that
/// are down now.
pub(crate) fn ask(live: &Live, earlier: Option<&Answers>) -> Result<SourceResult, NoAnswer> {
    let mut answers = worker::answers(&live.nvml, &live.roots, live.time_limit)?;
    if let Some(earlier) = earlier {
        answers.remember(earlier);
    }
    answers.found()
}

/// The links of devices now, if NVML answers within the time limit.
pub(crate) fn links(live: &Live) -> Result<Vec<DeviceLinks>, NoAnswer> {
    worker::with(&live.nvml, live.time_limit, links::links)?
}

/// The devices that NVML lists now and the processes on them, if it answers within the time limit.
pub(crate) fn driver_snapshot(live: &Live) -> Result<DriverSnapshot, NoAnswer> {
    worker::driver_snapshot(&live.nvml, live.time_limit)
}

/// What the devices measure, if NVML answers within the time limit.
pub(crate) fn readings(live: &Live) -> Result<Vec<GpuReading>, NoAnswer> {
    worker::readings(&live.nvml, live.time_limit)
}
