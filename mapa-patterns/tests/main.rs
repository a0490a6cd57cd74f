//! The integration tests of this crate in one binary, which links once instead of once a file.

mod common;
mod counters;
#[cfg(feature = "source")]
mod launch;
mod likeness;
mod nccl;
mod pattern_file;
mod sensitivity;
#[cfg(feature = "source")]
mod source;
mod traffic;
