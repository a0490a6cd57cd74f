#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer"
)]

mod input;
mod printable;
mod start;
mod streams;
mod whole_file;

pub use input::{Input, open, read};
pub use printable::{MOST_OF_A_MESSAGE, message, printable, printable_json, word};
pub use streams::{StandardError, StandardOutput, coloured, shows_colours};
pub use whole_file::{WholeFile, write};
