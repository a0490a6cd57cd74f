//! The integration tests of this crate in one binary, which links once instead of once a file.

#![cfg(target_os = "linux")]

mod common;
mod discover;
mod kfd;
mod levers;
#[cfg(feature = "nvml")]
mod links;
mod namespaces;
#[cfg(feature = "nvml")]
mod nvml;
mod telemetry;
