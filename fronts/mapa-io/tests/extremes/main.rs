//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use mapa_io as own;

shared::extremes!(8);
