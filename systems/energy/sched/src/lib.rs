#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod booking;
mod bounds;
mod error;
mod free;
mod guard;
mod heuristics;
mod histogram;
pub mod learned;
mod machine;
mod mirror;
mod named;
mod placement;
mod plan;
mod policies;
mod price_file;
mod prices;
mod reduction;
mod rule;
mod rules;
mod schedule;
mod scheduler;
mod state;

pub use bounds::{
    Slots, bare_energy_bound, bounds, chu_bound, energy_bound, linear_bound, printed_energy_bound,
    progress_bound, static_progress_bound,
};
pub use error::Error;
pub use guard::{PlanNote, TunedFor, Unsuited};
pub use heuristics::{
    EarliestFinish, Fit, LargestFirst, LeastCost, MeanFinish, RandomSlice, SmallestFirst,
};
pub use machine::SlicedGpus;
pub use mapa_sched::slices::{NO_DEADLINE, Power, PowerTable, SIZES, SliceJob};
pub use named::SCHEDULERS;
pub use placement::SlotPlacement;
pub use plan::{Booking, EnergyPlan};
pub use policies::{POLICIES, largest_first, smallest_first};
pub use price_file::{PriceFile, Tuned, TunedMachine};
pub use prices::Prices;
pub use reduction::reduced;
pub use rule::Rule;
pub use rules::RuleName;
pub use schedule::{Costs, Piece, Recorder, Schedule};
pub use scheduler::RuleScheduler;
pub use state::{Arithmetic, Arrived, Running, Start, State, Waiting};
