//! The record of a daemon: the facts that a scheduler was told and the orders that it gave, one
//! JSON object a line. A first line names the scheduler and the machine; each other line is one
//! instant. A fresh scheduler that is told the same facts must give the same orders, bit for bit.

mod action;
mod event;
mod job;
mod lines;
mod replay;

pub use action::{GuardLine, Order, PlacedLine, PlacedPart, RefusalLine};
pub use event::Fact;
pub use job::{JobLine, RunTimeLine};
pub use lines::{Instant, RECORD_VERSION, RecordHead, RecordLine};
pub use replay::{Differs, ReplayedDrive, Replayer, replay};

#[cfg(feature = "slo")]
pub use crate::systems::LatencyLine;
