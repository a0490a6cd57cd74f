//! The report that is kept, and a fresh one of two job files.

use std::path::Path;
use std::sync::OnceLock;

use mapa_lab::testing::{Written, check_kept, check_report};
use mapa_system_pcie_lab::evaluation::EXPERIMENT;
use serde_json::Value;

fn kept() -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report");
    Written::kept(&folder, EXPERIMENT.name)
}

/// Two job files, made once.
fn fresh() -> &'static Written {
    static FRESH: OnceLock<Written> = OnceLock::new();
    FRESH.get_or_init(|| Written::fresh(&EXPERIMENT, 2, None))
}

#[test]
fn reports_have_their_claims_rules_assumptions_and_pictures() {
    check_report(&kept());
    check_report(fresh());
}

/// The kept report is of many job files; two of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    check_kept(&kept(), fresh(), 50);
}

/// What is exact of the PCIe-aware scheduler: shares of a port, slopes, and that no job is slower
/// than Eq. 2 or left behind.
#[test]
fn jobs_on_shared_ports_run_as_the_equations_say() {
    let exact: Vec<(String, Value)> = fresh()
        .claims()
        .into_iter()
        .filter(|(_, value)| value["rule"] == "exact")
        .collect();
    assert_eq!(exact.len(), 11);
    for (section, claim) in exact {
        let expected = match (section.as_str(), claim["claim"].as_str().unwrap()) {
            // Eq. 2 leaves bandwidth over.
            (_, what) if what.starts_with("Eq. 2 has the port full") => "does not hold",
            ("sensitivity" | "beyond", _) => "holds",
            _ => "by construction",
        };
        assert_eq!(claim["verdict"], expected, "{section}: {claim}");
    }
}

/// Where the paper says "up to", an interval wholly above its figure is not a confirmation.
#[test]
fn figures_above_what_is_published_exceed_it() {
    let up_to: Vec<Value> = kept()
        .claims()
        .into_iter()
        .map(|(_, value)| value)
        .filter(|value| value["paper"].as_str().unwrap().starts_with("up to"))
        .collect();
    assert_eq!(up_to.len(), 12);
    for claim in up_to {
        let words = claim["paper"].as_str().unwrap();
        let limit: f64 = words["up to ".len()..words.len() - " %".len()]
            .parse()
            .unwrap();
        let value = &claim["value"];
        let [low, high] = ["low", "high"].map(|end| value[end].as_f64().unwrap());
        let expected = match () {
            () if low > limit => "exceeds",
            () if high >= limit => "holds",
            () => "does not hold",
        };
        assert_eq!(claim["verdict"], expected, "{claim}");
    }
}

/// What depends on no job file is reported unchanged.
#[test]
fn the_kept_report_says_what_a_fresh_one_does_of_everything_but_files() {
    for title in [
        "What is assumed",
        "Fig. 1",
        "Fig. 2",
        "Fig. 4",
        "Where the paper contradicts itself",
    ] {
        assert_eq!(kept().section(title), fresh().section(title));
    }
}
