//! The integration tests of this crate in one binary, which links once instead of once a file.

mod bounds;
mod every;
mod learned;
mod rules;
mod scheduler;
