//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_core::mig::Size;
use mapa_core::*;
use mapa_sched::*;
use mapa_sim::{self as own, ByBandwidth, BySize, Fixed};
use shared::Extreme;

shared::extremes!(
    15,
    core_pool: "../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../mapa-sched/tests/extremes/pool.rs"
);

#[test]
fn models_of_run_times_answer_whatever_they_are_asked() {
    for model in ByBandwidth::values() {
        pool::ask(&model);
    }
    pool::ask(&Fixed);
    pool::ask(&BySize);
}
