#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod adam;
mod batch;
mod checkpoint;
mod config;
mod curve;
mod day;
mod error;
mod evaluate;
mod gradient;
mod kept;
mod loss;
mod orthogonal;
mod perceptron;
mod product;
mod reward;
mod rollout;
mod trainer;

pub use batch::{Batch, Source, Standing};
pub use config::Config;
pub use curve::{Point, Progress};
pub use day::{Day, Passed};
pub use error::Error;
pub use evaluate::{CURVE_DAYS, evaluate};
pub use kept::{KEPT, Kept};
pub use reward::Reward;
pub use trainer::{Trainer, train};
