//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_system_slo::replay::ReplaySettings;
use mapa_system_slo::*;
use mapa_system_slo_sim as own;

shared::extremes!(
    4,
    core_pool: "../../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../../mapa-sched/tests/extremes/pool.rs",
    slo_pool: "../../../../../systems/slo/sched/tests/extremes/pool.rs"
);

#[test]
fn runs_end_whatever_is_drawn_and_whoever_controls() {
    pool::run_all();
}
