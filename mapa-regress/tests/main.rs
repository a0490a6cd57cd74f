//! The integration tests of this crate in one binary, which links once instead of once a file.

mod coefficient_file;
mod common;
mod decisions;
mod fit;
mod measurements;
mod published;
#[path = "../../topologies/tests/common/real_data.rs"]
mod real_data;
mod samples;
