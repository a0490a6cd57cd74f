//! The integration tests of this crate in one binary, which links once instead of once a file.

mod coefficient_file;
mod common;
mod decisions;
mod fit;
mod measurements;
mod published;
mod samples;
