//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_sched::bound::Solver;
use mapa_sched::slices::*;
use mapa_system_energy as own;

shared::extremes!(
    5,
    core_pool: "../../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../../mapa-sched/tests/extremes/pool.rs"
);
