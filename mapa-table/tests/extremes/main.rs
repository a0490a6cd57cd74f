//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_table as own;

shared::extremes!(
    4,
    core_pool: "../../../mapa-core/tests/extremes/pool.rs"
);
