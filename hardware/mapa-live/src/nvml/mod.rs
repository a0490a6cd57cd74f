//! NVIDIA's library NVML.
//!
//! `worker` holds the one handle of this process, `queries` makes queries through it, and
//! `machine` builds a machine from the answers. `links` asks which links are up, which may change at any moment. `mig` has the calls for MIG that the wrapper lacks: they say where
//! instances lie, and partition devices. `events` watches devices with a handle of its own.

mod answer;
mod events;
mod gauges;
mod links;
mod machine;
pub(crate) mod mig;
mod processes;
mod queries;
mod worker;

pub(crate) use events::watch;
pub(crate) use worker::with;

use serde::Deserialize;
use serde_json::Value;

use self::machine::Answers;
use crate::found::{DriverSnapshot, GpuReading, NoAnswer, SourceResult};
use crate::live::Live;

/// The machine that NVML describes, if it answers within the time limit. Earlier answers, as they are kept, tell where
/// links lead that are down now.
pub(crate) fn ask(live: &Live, earlier: Option<&Value>) -> Result<SourceResult, NoAnswer> {
    let mut answers = worker::answers(&live.nvml, &live.roots, live.time_limit)?;
    if let Some(earlier) = earlier.and_then(|kept| Answers::deserialize(kept).ok()) {
        answers.remember(&earlier);
    }
    // What cannot be written is not kept.
    let kept = serde_json::to_value(&answers).ok();
    Ok(SourceResult {
        answers: kept,
        ..answers.found()?
    })
}

/// The machine of answers that were kept, with its links as they are now. False if a link is up of which the answers
/// do not say where it leads. If the driver does not answer, the links count as they did: whoever decides asks it
/// again, and learns that. `None` if these are no answers.
pub(crate) fn lay(kept: &Value, live: &Live) -> Option<(SourceResult, bool)> {
    let mut answers = Answers::deserialize(kept).ok()?;
    let links = worker::with(&live.nvml, live.time_limit, links::links).and_then(|links| links);
    let is_known = links.map_or(true, |links| answers.lay(&links));
    Some((answers.found().ok()?, is_known))
}

/// The devices that NVML lists now and the processes on them, if it answers within the time limit.
pub(crate) fn driver_snapshot(live: &Live) -> Result<DriverSnapshot, NoAnswer> {
    worker::driver_snapshot(&live.nvml, live.time_limit)
}

/// What the devices measure, if NVML answers within the time limit.
pub(crate) fn readings(live: &Live) -> Result<Vec<GpuReading>, NoAnswer> {
    worker::readings(&live.nvml, live.time_limit)
}
