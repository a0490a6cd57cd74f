//! The report that is kept, and a fresh one of two job files.

use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_mapa_lab::foresight::EXPERIMENT;

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

/// What is exact of foresight does not hang on how many job files there are.
#[test]
fn waiting_is_off_where_nothing_is_to_be_had() {
    for section in ["fixed", "limits"] {
        let all = fresh().claims_of(section);
        assert!(
            !all.is_empty() && all.iter().all(|claim| claim["verdict"] == "holds"),
            "{section}"
        );
    }
}

/// A time of one run on a machine that others use has no verdict.
#[test]
fn times_of_one_run_are_not_judged() {
    let claims = kept(&EXPERIMENT).claims_of("cost");
    assert!(!claims.is_empty());
    for claim in claims {
        assert_eq!(
            [&claim["verdict"], &claim["rule"]],
            ["not judged", ""],
            "{claim}"
        );
    }
}

/// The table on the page is that of the kept numbers.
#[test]
fn the_page_on_foresight_tells_the_kept_numbers() {
    let kept = kept(&EXPERIMENT).numbers;
    let page = include_str!("../../../../systems/mapa/docs/foresight.md");
    for model in ["Eq. 2", "ring packing"] {
        for machine in ["dgx-1v", "torus-2d", "cube-mesh-16"] {
            let files = &kept["per_file"][format!("{machine}, {model}, all at once, by bandwidth")];
            let values = |policy: &str, key: &str| -> Vec<f64> {
                files[policy][key]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|value| value.as_f64().unwrap())
                    .collect()
            };
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let both = |key: &str| {
                let [preserve, foresight] =
                    ["preserve", "foresight"].map(|policy| mean(&values(policy, key)));
                format!("{preserve:.1} → {foresight:.1}")
            };
            let cells = ["min_gbps", "p25_gbps", "p50_gbps", "starved_percent"]
                .map(both)
                .join(" | ");
            let [before, after] =
                ["preserve", "foresight"].map(|policy| values(policy, "makespan_s"));
            let ties_by_id = values("preserve, ties by id", "makespan_s");
            let [over, over_ties] = [before, ties_by_id].map(|before| {
                let ratios = before.iter().zip(&after);
                let ratios = ratios.map(|(before, after)| 100.0 * (after / before - 1.0));
                format!("{:+.1}", mean(&ratios.collect::<Vec<_>>()))
            });
            let row = format!("| {machine}, {model} | {cells} | {over} | {over_ties} |");
            assert!(page.contains(&row), "{row}");
        }
    }
}
