//! The integration tests of this crate in one binary, which links once instead of once a file.

mod case;
mod foresight;
mod generate;
mod job_file;
mod metrics;
mod pcie_plan;
mod queueing;
mod ring_bounds;
mod simulation;
mod slo;
mod table;
mod topology_plan;
mod traces;
