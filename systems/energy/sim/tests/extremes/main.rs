//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_sched::slices::*;
use mapa_sim::Simulated;
use mapa_system_energy::{EnergyPlan, SlicedGpus};
use mapa_system_energy_sim as own;

shared::extremes!(
    4,
    core_pool: "../../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../../mapa-sched/tests/extremes/pool.rs",
    sim_pool: "../../../../../mapa-sim/tests/extremes/pool.rs",
    energy_pool: "../../../../../systems/energy/sched/tests/extremes/pool.rs"
);

#[test]
fn runs_end_whatever_the_jobs_and_the_rule() {
    pool::run_all();
}
