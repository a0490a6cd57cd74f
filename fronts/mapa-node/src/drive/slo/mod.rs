//! `mapa-node slo`: the controllers of tail latency for named tenants of this machine: processes,
//! control groups, programs that it may start elsewhere.
//!
//! `config` is the file, `controller` a tenant's controller, `neighbours` what its neighbours do, `contention` who is
//! inferred to be beside it, `actuator` what is done to them, `handover` hands tenants over, and `control` is the loop.

mod actuator;
mod config;
mod contention;
mod control;
mod controller;
mod handover;
mod neighbours;

pub(crate) use config::Config;
pub use config::check_slo_config;
pub(crate) use control::{SloArgs, slo};
