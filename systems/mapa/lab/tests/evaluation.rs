//! The report that is kept, and a fresh one of three job files.

use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_mapa_lab::evaluation::EXPERIMENT;

use crate::common::kept;

/// Three job files, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 3, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept(&EXPERIMENT));
    check_report(fresh());
}

/// The kept report is of many job files; three of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(&EXPERIMENT), fresh(), 60);
}

#[test]
fn numbers_do_not_hang_on_threads() {
    let again = Written::fresh(&EXPERIMENT, 3, Some(1));
    assert_eq!(again.numbers, fresh().numbers);
    assert_eq!(again.numbers["seeds"], serde_json::json!([1, 2, 3]));
}

#[test]
fn the_papers_own_figures_contradict_its_table() {
    let found = |what: &str| {
        let all = fresh().claims();
        let (_, claim) = all
            .into_iter()
            .find(|(id, value)| {
                id == "table-3" && value["claim"].as_str().unwrap().starts_with(what)
            })
            .unwrap();
        (
            claim["ours"].as_str().unwrap().to_owned(),
            claim["verdict"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        found("topo-aware: the 75th"),
        ("540 / 505 = 1.069".to_owned(), "does not hold".to_owned())
    );
    assert_eq!(
        found("preserve: the 75th"),
        ("540 / 498 = 1.084".to_owned(), "does not hold".to_owned())
    );
}

#[test]
fn fixed_run_times_make_one_makespan() {
    let files = &fresh().numbers["per_file"]["fixed"];
    for policy in ["topo-aware", "greedy", "preserve", "max-bandwidth"] {
        assert_eq!(files[policy], files["lowest-id"], "{policy}");
    }
    assert_ne!(
        fresh().numbers["per_file"]["main"]["preserve"],
        fresh().numbers["per_file"]["main"]["lowest-id"]
    );
}

/// A time of one run on a machine that others use has no verdict.
#[test]
fn times_of_one_run_are_not_judged() {
    let claims = kept(&EXPERIMENT).claims_of("fig-19");
    assert!(!claims.is_empty());
    for claim in claims {
        assert_eq!(
            [&claim["verdict"], &claim["rule"]],
            ["not judged", ""],
            "{claim}"
        );
    }
}

/// What depends on no job file is reported unchanged.
#[test]
fn the_kept_report_says_what_a_fresh_one_does_of_everything_but_files() {
    let kept = kept(&EXPERIMENT);
    for title in [
        "What is assumed",
        "Fig. 2a and 3",
        "Fig. 2b",
        "Fig. 5",
        "Fig. 6",
        "Fig. 11",
        "Where the paper contradicts itself",
    ] {
        assert_eq!(kept.section(title), fresh().section(title));
    }
}
