//! The tests of the node: the ledger, and the program `mapa` with real processes.

mod answers;
mod attacks;
mod common;
#[cfg(feature = "slo")]
mod contention;
mod crash_points;
mod crowd;
mod daemon;
mod daemon_kills;
mod damaged;
mod docs;
mod full_disk;
mod gate;
mod health;
mod hostile;
mod http;
mod keeper;
mod kills;
mod leases;
mod ledger;
mod links;
mod live;
mod mig;
mod mutated;
#[path = "../../mapa-front/tests/common/mutation.rs"]
mod mutation;
mod namespaces;
mod orders;
mod partitions;
mod run;
mod served;
mod shell;
#[path = "../../mapa-front/tests/common/shells.rs"]
mod shells;
#[cfg(feature = "slo")]
mod slo;
mod surroundings;
mod system_calls;
mod users;

/// The program `mapa`.
pub(crate) fn mapa() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_mapa").into()
}
