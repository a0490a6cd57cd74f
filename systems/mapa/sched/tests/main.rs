//! The integration tests of this crate in one binary, which links once instead of once a file.

mod every;
mod foresight;
mod ring_bounds;
mod simulated_bounds;
mod simulated_foresight;
mod simulated_plan;
mod topology_plan;
