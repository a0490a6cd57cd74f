//! The integration tests of this crate in one binary, which links once instead of once a file.

mod bounds;
mod days;
mod fleet;
mod policies;
#[path = "../../../../topologies/tests/common/real_data.rs"]
mod real_data;
mod tune;
