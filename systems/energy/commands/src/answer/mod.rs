//! The answers of the commands.

pub mod train;
pub mod tune;
