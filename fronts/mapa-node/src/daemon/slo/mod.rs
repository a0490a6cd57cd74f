//! `[slo]` of the configuration: the controllers of tail latency, for named tenants of this machine: processes, control
//! groups, programs that the daemon may start elsewhere. Their neighbours are the same, or leases of the ledger.
//!
//! `config` is the table, `controller` a tenant's controller, `neighbours` what its neighbours do, `contention` infers from
//! counters who is beside it, `actuator` throttles them, `handover` hands tenants over, and `control` is one tick of all.

mod actuator;
mod config;
mod contention;
mod control;
mod controller;
mod handover;
mod neighbours;

pub(crate) use config::{OtherTables, SloConfig};
pub(crate) use control::LatencyControl;
