//! The answers of the commands.

pub mod contention;
pub mod profile;
pub mod workers;
