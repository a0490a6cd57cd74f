//! The report that is kept, and a fresh one of two batches.

use std::path::Path;
use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_case_lab::EXPERIMENT;

fn kept() -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report");
    Written::kept(&folder, EXPERIMENT.name)
}

/// Two batches, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 2, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept());
    check_report(fresh());
}

/// The kept report is of many batches; two of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(), fresh(), 50);
}

#[test]
fn the_report_on_case_has_every_number_by_name() {
    let sections = &fresh().numbers["sections"];
    let ratios = ["1:0", "4:1", "2:1", "1:1", "1:2", "1:4", "0:1"];
    for system in ["A", "B", "C", "D"] {
        for ratio in ratios {
            let small = (system != "D").then(|| format!("{system} {ratio} small"));
            for key in small.into_iter().chain([format!("{system} {ratio}")]) {
                let numbers = &sections["ratios"]["numbers"][&key];
                for measure in [
                    "throughput",
                    "turnaround_ratio_of_means",
                    "turnaround_mean_of_ratios",
                ] {
                    let gain = numbers[measure].as_f64().unwrap();
                    // With isolated jobs alone nothing can be packed, whatever the batch.
                    let is_right = if ratio == "1:0" {
                        gain == 1.0
                    } else {
                        gain > 0.0
                    };
                    assert!(is_right, "{key}: {measure} {gain}");
                }
            }
            let numbers = &sections["balanced"]["numbers"][format!("{system} {ratio}")];
            for measure in ["throughput_over_case", "turnaround_over_case"] {
                assert!(numbers[measure].as_f64().unwrap() > 0.0, "{system} {ratio}");
            }
        }
    }
    // What no draw changes.
    for section in ["printed", "contradictions"] {
        let claims = sections[section]["claims"].as_array().unwrap();
        assert!(!claims.is_empty());
    }
    let printed = sections["printed"]["claims"].as_array().unwrap();
    assert!(printed.iter().all(|claim| claim["verdict"] == "holds"));
    let hangs = sections["deadlock"]["claims"].as_array().unwrap();
    let found = |start: &str| {
        let mut claims = hangs.iter();
        let claim = claims.find(|claim| claim["claim"].as_str().unwrap().starts_with(start));
        claim.unwrap()["verdict"].clone()
    };
    assert_eq!(found("With any number"), "holds");
    assert_eq!(found("With one growing"), "holds");
}
