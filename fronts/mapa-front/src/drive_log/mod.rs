//! The record of a daemon: the facts that a scheduler was told and the orders that it gave, one
//! JSON object a line. A first line names the scheduler and the machine; each other line is one
//! instant. A fresh scheduler that is told the same facts must give the same orders, bit for bit.

mod lines;
mod replay;
mod wire;

pub use lines::{Instant, RECORD_VERSION, RecordHead, RecordLine};
pub use replay::{Differs, ReplayedDrive, Replayer, replay};
pub use wire::{
    Bounds, Fact, GuardLine, InstanceLine, JobLine, LayoutLine, Limit, Order, PlacedLine,
    PlacedPart, RankDemand, RankWant, RefusalLine, RequestLine, RunTimeLine, SizeTime, TenantLine,
};
