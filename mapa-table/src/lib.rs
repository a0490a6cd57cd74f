#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod cell;
mod error;
mod row;
mod sheet;
mod write;

pub use cell::{optional_text, text};
pub use error::Error;
pub use row::columns;
pub use sheet::{Comments, MAX_COLUMNS, Row, Sheet, below_comments};
pub use write::{write, write_tabs};
