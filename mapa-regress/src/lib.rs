#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod alpha;
mod design;
mod efficiency;
mod error;
mod errors;
mod file;
mod fit;
mod measured;
mod measurements;
mod order;
pub mod published;
mod row;
mod runs;
mod sample;
mod samples;
mod solve;
mod validate;

pub use alpha::{Alpha, AlphaConfig, AlphaPoint, fit_alpha};
pub use design::Design;
pub use efficiency::{
    FittedEfficiency, LeftOut, Observation, fit_efficiency, fit_machine, leave_one_server_out,
    read_efficiency, write_efficiency,
};
pub use error::Error;
pub use errors::{Errors, PublishedErrors};
pub use file::{read_model, write_model};
pub use fit::{Fit, FitConfig, Method, fit};
pub use measured::{MEASURED, MeasuredRow, measured_topology, read_measured, write_measured};
pub use measurements::{
    AtSize, Column, CopyRun, Devices, Measurement, PciPlace, Rank, read_copies, read_measurements,
};
pub use order::{Misordered, Order};
pub use row::Row;
pub use runs::{MeasuredJob, Runs, read_runs};
pub use sample::Sample;
pub use samples::{RankOrder, SampleConfig, Samples, samples};
pub use validate::{Fold, HeldOut, NotHeldOut, Validation, k_fold, leave_one_size_out};
