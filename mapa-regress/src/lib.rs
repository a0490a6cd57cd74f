#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod measurements;
mod sample;
mod samples;

pub use measurements::{AtSize, Column, Devices, Measurement, PciPlace, Rank, ReadError, read_measurements};
pub use sample::Sample;
pub use samples::{RankOrder, SampleConfig, Samples, samples};
