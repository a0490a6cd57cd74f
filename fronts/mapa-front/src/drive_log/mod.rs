//! The record of a daemon: the events that a scheduler received and the actions that it returned, one
//! JSON object a line. A first line names the scheduler and the machine; each other line is one
//! turn. A fresh scheduler that receives the same events must return the same actions, bit for bit.

mod action;
mod event;
mod job;
mod lines;
mod replay;

pub use action::{ActionLine, GuardLine, PlacedLine, PlacedPart, RefusalLine};
pub use event::EventLine;
pub use job::{JobLine, RunTimeLine};
pub use lines::{RECORD_VERSION, RecordHead, RecordLine, TurnLine};
pub use replay::{Differs, ReplayedDrive, Replayer, replay};

#[cfg(feature = "slo")]
pub use crate::systems::LatencyLine;
