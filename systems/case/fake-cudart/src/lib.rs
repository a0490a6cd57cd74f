#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
)]

mod c;
mod device;
mod install;
mod oracle;
mod report;

pub use device::FAIL;
pub use install::{HEADERS, LIBRARY, NotBuilt, built_library};
pub use oracle::{Objection, Oracle, OracleEvent};
pub use report::{REPORT, ReportLine, read_line};
