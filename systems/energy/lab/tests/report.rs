//! The report that is kept, and a fresh one of two days.

use std::path::Path;
use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_energy_lab::EXPERIMENT;
use serde_json::Value;

fn kept() -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report");
    Written::kept(&folder, EXPERIMENT.name)
}

/// Two days, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 2, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept());
    check_report(fresh());
}

/// The kept report is of many days; two of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(), fresh(), 50);
}

/// The table of heuristics is reproduced digit by digit on the published days, which do not hang on
/// how many days are drawn; our own rules have fewer late jobs on any.
#[test]
fn the_energy_table_is_that_of_the_document() {
    let claims = fresh().claims_of("table");
    let digits = claims.iter().filter(|claim| claim["rule"] == "every digit");
    let all: Vec<&Value> = digits.collect();
    assert_eq!(all.len(), 4);
    for value in all {
        assert_eq!(
            (&value["paper"], &value["verdict"]),
            (&value["ours"], &Value::from("holds"))
        );
    }
    let sections = &fresh().numbers["sections"];
    let number = |section: &str, rule: &str, key: &str| {
        sections[section]["numbers"][rule][key].as_f64().unwrap()
    };
    assert_eq!(
        format!("{:.2}", number("table", "largest-first", "late_percent")),
        "42.68"
    );
    let keys = ["late_percent", "tardiness_minutes", "energy_watt_minutes"];
    for key in keys {
        let [plan, layouts, fit, largest] = [
            "energy-plan",
            "energy-plan-layouts",
            "fit-fullest",
            "largest-first",
        ]
        .map(|rule| number("fresh-days", rule, key));
        assert!(plan.max(layouts) < fit.min(largest), "{key}");
    }
}
