//! All benchmarks in one binary, so that linking is done once instead of once for each file. The
//! environment variable `BENCH` names the files to run, separated by commas: `BENCH=fleet,pcie`.
//! Without it, all files run.
//!
//! Criterion's own filter (an argument) selects benchmarks by name. It saves less time, since a
//! file still prepares its large fleets even if the filter then leaves out all of its benchmarks.

mod bandwidth;
#[cfg(feature = "case")]
mod case;
#[cfg(feature = "energy")]
mod energy;
mod fleet;
mod graphs;
mod machines;
mod matching;
mod mig;
mod optimum;
mod patterns;
#[cfg(feature = "pcie")]
mod pcie;
mod policy;
#[path = "../../topologies/tests/common/real_data.rs"]
mod real_data;
mod schedulers;
mod simulation;
#[cfg(feature = "slo")]
mod slo;

use criterion::Criterion;

/// The name of each file, and the function that runs its benchmarks.
const FILES: &[(&str, fn())] = &[
    ("matching", matching::benches),
    ("optimum", optimum::benches),
    ("policy", policy::benches),
    ("machines", machines::benches),
    ("mig", mig::benches),
    ("graphs", graphs::benches),
    ("bandwidth", bandwidth::benches),
    ("fleet", fleet::benches),
    #[cfg(feature = "pcie")]
    ("pcie", pcie::benches),
    #[cfg(feature = "energy")]
    ("energy", energy::benches),
    ("simulation", simulation::benches),
    ("patterns", patterns::benches),
    ("schedulers", schedulers::benches),
    #[cfg(feature = "case")]
    ("case", case::benches),
    #[cfg(feature = "slo")]
    ("slo", slo::benches),
];

fn main() {
    let wanted = std::env::var("BENCH").unwrap_or_default();
    let wanted: Vec<&str> = wanted
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    for name in &wanted {
        assert!(
            FILES.iter().any(|(file, _)| file == name),
            "BENCH={name}: expected one of {}",
            FILES
                .iter()
                .map(|(file, _)| *file)
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    for (file, run) in FILES {
        if wanted.is_empty() || wanted.contains(file) {
            run();
        }
    }
    Criterion::default().configure_from_args().final_summary();
}
