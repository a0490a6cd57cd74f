//! The report that is kept, and a fresh one of two job files.

use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_mapa_lab::topology_plan::EXPERIMENT;

use crate::common::kept;

/// Two job files, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 2, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept(&EXPERIMENT));
    check_report(fresh());
}

/// The kept report is of many job files; two of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(&EXPERIMENT), fresh(), 50);
}

#[test]
fn the_report_on_order_and_placement_has_every_number_by_name() {
    let numbers = &fresh().numbers["sections"]["plan"]["numbers"];
    for machine in ["dgx-1v", "torus-2d", "cube-mesh-16"] {
        for judge in ["Eq. 2", "ring packing"] {
            for arrivals in ["all at once", "load .7", "load .9", "bursts"] {
                for scheduler in [
                    "fifo-preserve",
                    "foresight",
                    "easy",
                    "conservative",
                    "shortest-max-slowdown",
                    "strongest",
                    "topology-plan",
                    "topology-plan-makespan",
                    "topology-plan-slowdown",
                ] {
                    let key = format!("{machine}, {judge}, {arrivals}, {scheduler}");
                    for measure in [
                        "makespan_seconds",
                        "mean_completion_seconds",
                        "p99_slowdown",
                        "longest_wait_seconds",
                    ] {
                        assert!(
                            numbers[&key][measure].as_f64().unwrap() >= 0.0,
                            "{key}: {measure}"
                        );
                    }
                }
                let bound = &numbers[format!("{machine}, {judge}, {arrivals}, bound")];
                for measure in ["makespan_seconds", "mean_completion_seconds"] {
                    assert!(bound[measure].as_f64().unwrap() > 0.0, "{bound}");
                }
            }
        }
    }
}
