#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod design;
mod error;
mod errors;
mod file;
mod fit;
pub mod published;
mod sample;
mod solve;
mod validate;

pub use design::Design;
pub use error::Error;
pub use errors::{Errors, PublishedErrors};
pub use file::{read_model, write_model};
pub use fit::{Fit, FitConfig, Method, Row, fit};
pub use sample::Sample;
pub use validate::{Fold, HeldOut, Validation, k_fold, leave_one_size_out};
