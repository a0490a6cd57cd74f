//! The integration tests of this crate in one binary, which links once instead of once a file.

mod bounds;
mod days;
mod fleet;
mod policies;
mod tune;
