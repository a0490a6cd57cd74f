//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_core::{HardwareGraph, Objective, Patience};
use mapa_sched::bound::Solver;
use mapa_sched::{JobId, LinkModel};
use mapa_system_mapa as own;

shared::extremes!(
    1,
    core_pool: "../../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../../mapa-sched/tests/extremes/pool.rs"
);
