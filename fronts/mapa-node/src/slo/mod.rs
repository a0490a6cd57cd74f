//! `mapa-node slo`: the controllers of tail latency for named tenants of this machine: processes,
//! control groups, programs that it may start elsewhere.
//!
//! `config` is the file, `mind` a tenant's controller, `eyes` what its neighbours do, `beside` who is
//! inferred to be beside it, `hands` what is done to them, `moves` hands tenants over, and `run` is the loop.

mod beside;
mod config;
mod eyes;
mod hands;
mod mind;
mod moves;
mod run;

pub(crate) use config::Config;
pub use config::check_slo_config;
pub(crate) use run::{SloArgs, slo};
