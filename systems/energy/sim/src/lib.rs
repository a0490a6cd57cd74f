#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod day;
mod draw;
mod error;
mod estimate_errors;
mod measures;
mod parameters;
mod preemptive;
mod published;
mod run;
mod tune;

pub use day::{EnergyDay, GENERATORS, slice_jobs};
pub use draw::{Draw, LOADS};
pub use error::Error;
pub use estimate_errors::wrong_run_times;
pub use measures::{MEASURES, et};
pub use parameters::{Parameter, ParameterStatus, parameters};
pub use preemptive::run_preemptive;
pub use published::{PUBLISHED_SEEDS, published_day, published_draws};
pub use run::{Totals, run, run_as};
pub use tune::{
    JudgedCandidate, PriceCandidate, TuneDay, TuneObjective, TuneSettings, Tuning, Yardstick,
    seen_on,
};

/// The code of the page on this system, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/deadlines.md")]
pub struct EnergyPage;
