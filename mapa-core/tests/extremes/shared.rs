//! What the tests of all libraries share: extreme values of the standard types, calls, and what is expected of them.

#![allow(dead_code, unused_imports, reason = "a crate uses some of it")]

#[path = "generate.rs"]
mod generate;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A type with extreme values.
pub(crate) trait Extreme: Sized {
    fn values() -> Vec<Self>;
}

/// The values of types. A type per line: the generator looks for them here.
macro_rules! values {
    ($own:ty: $values:expr) => {
        impl Extreme for $own {
            fn values() -> Vec<Self> {
                $values.into_iter().collect()
            }
        }
    };
}
pub(crate) use values;

values!((): [()]);
values!(bool: [false, true]);
values!(u8: [0, 1, 7, u8::MAX]);
values!(u16: [0, 1, u16::MAX]);
values!(u32: [0, 1, 63, u32::MAX]);
values!(u64: [0, 1, u64::MAX]);
values!(usize: [0, 1, 2, 64, usize::MAX]);
values!(i32: [0, -1, i32::MIN, i32::MAX]);
values!(i64: [0, -1, i64::MIN, i64::MAX]);
values!(f32: [0.0, -1.0, f32::MAX, f32::NAN]);
values!(f64: [0.0, -0.0, 1.0, -1.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
values!(String: ["", "0", "GPU0", "\0", "-1", "1e999", "\u{202e}x", "ring", "tp=2,pp=2"].map(str::to_owned).into_iter().chain(["x".repeat(10_000)]));
values!(Duration: [Duration::ZERO, Duration::MAX]);

impl<T: Extreme> Extreme for Option<T> {
    fn values() -> Vec<Self> {
        std::iter::once(None)
            .chain(T::values().into_iter().map(Some))
            .collect()
    }
}

impl<T: Extreme> Extreme for Vec<T> {
    fn values() -> Vec<Self> {
        let all = T::values();
        let first = T::values().into_iter().take(1).collect();
        let two = T::values().into_iter().rev().take(2).collect();
        vec![Vec::new(), first, two, all]
    }
}

impl<T: Extreme, const N: usize> Extreme for [T; N] {
    fn values() -> Vec<Self> {
        let count = T::values().len();
        let at = |place: usize| T::values().into_iter().nth(place % count).expect("a value");
        let equal = (0..count).map(|first| std::array::from_fn(|_| at(first)));
        let mixed = (0..count).map(|first| std::array::from_fn(|place| at(first + place)));
        equal.chain(mixed).collect()
    }
}

impl<T: Extreme> Extreme for Arc<T> {
    fn values() -> Vec<Self> {
        T::values().into_iter().map(Arc::new).collect()
    }
}

impl<K: Extreme + Ord, V: Extreme> Extreme for BTreeMap<K, V> {
    fn values() -> Vec<Self> {
        let all = || K::values().into_iter().zip(V::values());
        vec![Self::new(), all().take(1).collect(), all().collect()]
    }
}

/// Tuples: every combination, made anew as values need not be cloned.
macro_rules! tuples {
    ($($part:ident $at:tt),*) => {
        impl<$($part: Extreme),*> Extreme for ($($part,)*) {
            fn values() -> Vec<Self> {
                let lengths = [$($part::values().len()),*];
                let all: usize = lengths.iter().product();
                // Steps that are no divisor of the lengths reach all values of each part.
                let step = (all / 300).max(1) | 1;
                (0..all)
                    .step_by(step)
                    .filter_map(|number| {
                        let mut rest = number;
                        let places = lengths.map(|length| {
                            let place = rest % length;
                            rest /= length;
                            place
                        });
                        Some(($($part::values().into_iter().nth(places[$at])?,)*))
                    })
                    .collect()
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);

/// How many combinations of arguments a function gets.
const MOST: usize = 300;

/// How long a call may take, which is far from what any takes: one that does not end is a fault like a panic.
const SLOWEST: Duration = Duration::from_secs(20);

/// What went wrong in calls.
#[derive(Default)]
pub(crate) struct Calls {
    wrong: Vec<String>,
}

impl Calls {
    /// Calls a function with combinations of extreme values: all, or as many as [`MOST`] spread over them.
    pub(crate) fn of<A: Extreme + 'static>(
        &mut self,
        name: &str,
        may_panic: bool,
        call: impl Fn(A),
    ) {
        let values = A::values();
        let step = values.len().div_ceil(MOST).max(1);
        // For a call that ends the process: `--nocapture` shows it.
        eprintln!("{name}");
        let mut slowest = Duration::ZERO;
        let mut panics = 0;
        let mut first = String::new();
        for (at, value) in values
            .into_iter()
            .enumerate()
            .filter(|(at, _)| at % step == 0)
        {
            let begun = Instant::now();
            let called = panic::catch_unwind(AssertUnwindSafe(|| call(value)));
            slowest = slowest.max(begun.elapsed());
            if let Err(what) = called {
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
        if slowest > SLOWEST {
            self.wrong.push(format!(
                "{name}: a call took {slowest:?}: expected at most {SLOWEST:?}"
            ));
        }
    }
}

/// Fails if the calls are not those of the sources, or more functions than allowed are left out, which lack values. `pools` are
/// the texts that have values of other crates' types.
pub(crate) fn has_all_calls(pools: &[&str], left_out: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = folder.join("tests/extremes");
    let own = fs::read_to_string(here.join("pool.rs")).expect("the pool");
    let pools: Vec<&str> = [include_str!("shared.rs")]
        .iter()
        .chain(pools)
        .copied()
        .collect();
    let generated = generate::generate(&folder.join("src"), &own, &pools);
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
        generated.left_out.len() <= left_out,
        "{} functions are not called: expected {left_out}, or values in the pool",
        generated.left_out.len()
    );
}

/// Fails if a function panics whose documentation does not say so.
pub(crate) fn panics_as_documented(all: fn(&mut Calls)) {
    let mut calls = Calls::default();
    panic::set_hook(Box::new(|_| {}));
    all(&mut calls);
    let _ = panic::take_hook();
    assert!(calls.wrong.is_empty(), "{}", calls.wrong.join("\n"));
}

/// The tests of a crate: how many functions its pool lacks values for, and the pools of other crates. The number may only get smaller.
macro_rules! extremes {
    ($left_out:literal $(, $pool:ident: $file:literal)*) => {
        #[allow(unused_imports, unused_mut, unused_parens, unused_variables, clippy::all, reason = "it is generated")]
        mod calls;
        $(
            #[path = $file]
            #[allow(dead_code, unused_imports, reason = "a crate uses some of it")]
            mod $pool;
        )*

        #[test]
        fn every_public_function_has_a_call_or_is_listed() {
            $crate::shared::has_all_calls(&[$(include_str!($file)),*], $left_out);
        }

        #[test]
        fn no_function_panics_unless_it_says_so() {
            $crate::shared::panics_as_documented(calls::all);
        }
    };
}
pub(crate) use extremes;
