//! Every public function gets extreme values, and panics only where its documentation says so.
//!
//! `calls.rs` is generated from the sources: a new function without a call fails the first test, which says how to write it
//! anew. `pool.rs` has the values by type. [`shared`] is what the other libraries' tests use too.

mod pool;
mod shared;

use mapa_core as own;
use pool::ViewParts;

shared::extremes!(189);
