//! The report that is kept, and a fresh one of two job files.

use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_mapa_lab::auto::EXPERIMENT;

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
    check_kept(&kept(&EXPERIMENT), fresh(), 200);
}

/// Free sets are the same whatever the job files: the kept section is that of a fresh run.
#[test]
fn no_policy_has_more_than_the_default_on_any_free_set() {
    let numbers = &fresh().numbers["sections"]["free-sets"]["numbers"];
    let kept = kept(&EXPERIMENT);
    assert_eq!(kept.numbers["sections"]["free-sets"]["numbers"], *numbers);
    let machines = numbers.as_object().unwrap();
    assert_eq!(machines.len(), 5);
    for policies in machines.values() {
        for value in policies.as_object().unwrap().values() {
            assert_eq!(value[0]["less"], 0, "{value}");
        }
    }
    let parked = &numbers["dgx-1v"]["preserve"][0];
    assert!(
        parked["more"].as_u64() > Some(100),
        "an insensitive job is parked by preserve: {parked}"
    );
}
