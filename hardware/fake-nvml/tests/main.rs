//! Tests through NVML's C interface: the library is loaded by path, as programs do.

#![allow(
    unsafe_code,
    reason = "instances are created by NVML's C interface, which no safe crate wraps"
)]

mod cli;
mod common;
mod concurrent;
mod discover;
mod events;
mod faults;
mod files;
mod health;
mod instances;
mod nvml;
