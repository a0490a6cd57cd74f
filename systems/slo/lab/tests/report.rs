//! The report that is kept, and a fresh one of two seeds.

use std::path::Path;
use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_slo_lab::EXPERIMENT;

fn kept() -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report");
    Written::kept(&folder, EXPERIMENT.name)
}

/// Two seeds, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 2, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept());
    check_report(fresh());
}

/// The kept report is of many seeds; two of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(), fresh(), 50);
}

#[test]
fn the_report_on_latencies_has_every_number_by_name() {
    let sections = &fresh().numbers["sections"];
    let number = |section: &str, name: &str, key: &str| {
        let own = &sections[section]["numbers"][name][key];
        own.as_f64()
            .unwrap_or_else(|| panic!("{section}, {name}, {key}: {own}"))
    };
    for row in ["static", "guards", "placement", "mig", "full"] {
        for key in [
            "miss_percent",
            "p95_ms",
            "p99_ms",
            "p999_ms",
            "throughput",
            "fail_percent",
        ] {
            assert!(number("table-3", row, key) > 0.0);
        }
    }
    for scenario in ["F0", "F1", "F2"] {
        for policy in [
            "static",
            "static-4g",
            "slo",
            "slo-replay",
            "slo-replay-warm",
            "clairvoyant-4g",
        ] {
            for key in ["fail_percent", "p99_ms", "relaunches_per_hour", "slices"] {
                assert!(number("beyond", &format!("{scenario} {policy}"), key) >= 0.0);
            }
        }
    }
    // What is arithmetic on the paper's own figures depends on no seed.
    let contradictions = sections["contradictions"]["claims"].as_array().unwrap();
    assert_eq!(contradictions.len(), 13);
    assert!(
        contradictions
            .iter()
            .all(|contradiction| contradiction["verdict"] == "does not hold")
    );
}
