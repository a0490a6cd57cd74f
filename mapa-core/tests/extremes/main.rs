//! Every public function gets extreme values, and panics only where its documentation says so.
//!
//! `calls.rs` is generated from the sources: a new function without a call fails the first test, which says how to write it
//! anew. `pool.rs` has the values by type. [`shared`] is what the other libraries' tests use too.

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
mod pool;
mod shared;

use mapa_core as own;
use pool::ViewParts;
use shared::{Calls, has_all_calls, panics_as_documented};

/// How many functions the pool lacks values for. The number may only get smaller.
const LEFT_OUT: usize = 191;

#[test]
fn every_public_function_has_a_call_or_is_listed() {
    has_all_calls(&["shared.rs"], LEFT_OUT);
}

#[test]
fn no_function_panics_unless_it_says_so() {
    panics_as_documented(calls::all);
}
