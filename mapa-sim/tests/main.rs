//! The integration tests of this crate in one binary, which links once instead of once a file.

mod generate;
mod job_file;
mod metrics;
mod queueing;
#[path = "../../topologies/tests/common/real_data.rs"]
mod real_data;
mod simulation;
mod table;
mod traces;
