//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

#[allow(
    dead_code,
    unused_imports,
    unused_mut,
    unused_parens,
    reason = "it is generated"
)]
#[rustfmt::skip]
#[allow(clippy::all, reason = "it is generated")]
mod calls;
#[path = "../../../mapa-core/tests/extremes/pool.rs"]
#[allow(dead_code, unused_imports, reason = "a crate uses some of it")]
mod core_pool;
mod pool;
#[path = "../../../mapa-sched/tests/extremes/pool.rs"]
#[allow(dead_code, unused_imports, reason = "a crate uses some of it")]
mod sched_pool;
#[path = "../../../mapa-core/tests/extremes/shared.rs"]
#[allow(dead_code, unused_imports, reason = "a crate uses some of it")]
mod shared;

use mapa_core::mig::Size;
use mapa_core::*;
use mapa_sched::*;
use mapa_sim as own;
use shared::{Calls, has_all_calls, panics_as_documented};

/// Where the values of other crates' types are.
const SHARED: &[&str] = &[
    "../../../mapa-core/tests/extremes/shared.rs",
    "../../../mapa-core/tests/extremes/pool.rs",
    "../../../mapa-sched/tests/extremes/pool.rs",
];

/// How many functions the pool lacks values for. The number may only get smaller.
const LEFT_OUT: usize = 15;

#[test]
fn every_public_function_has_a_call_or_is_listed() {
    has_all_calls(SHARED, LEFT_OUT);
}

#[test]
fn no_function_panics_unless_it_says_so() {
    panics_as_documented(calls::all);
}
