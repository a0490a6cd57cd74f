//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_sim::Workload;
use mapa_system_pcie_sim::{self as own, PcieEqualShare, PcieMaxMin};
use shared::Extreme;

shared::extremes!(
    0,
    core_pool: "../../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../../mapa-sched/tests/extremes/pool.rs",
    sim_pool: "../../../../../mapa-sim/tests/extremes/pool.rs"
);

#[test]
fn models_of_run_times_answer_whatever_they_are_asked() {
    for model in PcieEqualShare::values() {
        sim_pool::ask(&model);
    }
    for model in PcieMaxMin::values() {
        sim_pool::ask(&model);
    }
}
