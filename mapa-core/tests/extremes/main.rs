//! Every public function gets extreme values, and panics only where its documentation says so.
//!
//! `calls.rs` is generated from the sources ([`generate`]): a new function without a call fails the first test, which says how
//! to write it anew. [`pool`] has the values by type.

#[allow(dead_code, unused_mut, unused_parens, reason = "it is generated")]
#[rustfmt::skip]
#[allow(clippy::all, reason = "it is generated")]
mod calls;
mod generate;
mod pool;

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant};

use mapa_core as own;
use pool::Extreme;

/// How many combinations of arguments a function gets.
const MOST: usize = 300;

/// How long all calls of a function may take.
const SLOWEST: Duration = Duration::from_secs(20);

/// What went wrong in calls.
#[derive(Default)]
pub(crate) struct Calls {
    wrong: Vec<String>,
}

impl Calls {
    /// Calls a function with combinations of extreme values: all, or as many as [`MOST`] spread over them.
    fn of<A: Extreme + 'static>(&mut self, name: &str, may_panic: bool, call: impl Fn(A)) {
        let values = A::values();
        let step = values.len().div_ceil(MOST).max(1);
        let begun = Instant::now();
        let mut panics = 0;
        let mut first = String::new();
        for (at, value) in values
            .into_iter()
            .enumerate()
            .filter(|(at, _)| at % step == 0)
        {
            if let Err(what) = panic::catch_unwind(AssertUnwindSafe(|| call(value))) {
                let what = what
                    .downcast_ref::<String>()
                    .cloned()
                    .or(what.downcast_ref::<&str>().map(|what| (*what).to_owned()));
                if panics == 0 {
                    first = format!("combination {at}: {}", what.unwrap_or_default());
                }
                panics += 1;
            }
        }
        if panics > 0 && !may_panic {
            self.wrong.push(format!(
                "{name}: {panics} panics, and no `# Panics` in its documentation: {first}"
            ));
        }
        if begun.elapsed() > SLOWEST {
            self.wrong.push(format!(
                "{name}: {:?}: expected at most {SLOWEST:?}",
                begun.elapsed()
            ));
        }
    }
}

#[test]
fn every_public_function_has_a_call_or_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = folder.join("tests/extremes");
    let generated = generate::generate(&folder.join("src"), &here.join("pool.rs"));
    let file = here.join("calls.rs");
    if std::env::var_os("MAPA_BLESS").is_some() {
        fs::write(&file, &generated.text).expect("the file can be written");
    }
    assert_eq!(
        fs::read_to_string(&file).expect("the calls"),
        generated.text,
        "expected the calls of all public functions: MAPA_BLESS=1 cargo test -p {} --test extremes",
        env!("CARGO_PKG_NAME")
    );
    assert!(
        generated.left_out.len() <= LEFT_OUT,
        "{} functions are not called: expected {LEFT_OUT}, or values in the pool",
        generated.left_out.len()
    );
}

/// How many functions the pool lacks values for. The number may only get smaller.
const LEFT_OUT: usize = 194;

#[test]
fn no_function_panics_unless_it_says_so() {
    let mut calls = Calls::default();
    panic::set_hook(Box::new(|_| {}));
    calls::all(&mut calls);
    let _ = panic::take_hook();
    assert!(calls.wrong.is_empty(), "{}", calls.wrong.join("\n"));
}
