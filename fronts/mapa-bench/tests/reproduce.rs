//! `reproduce`: published evaluations, run again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::common::{answer, error, no, run, text};
use serde_json::Value;

/// The report that is kept, and the numbers beside it.
fn kept(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Files of a run, and its numbers.
type Fresh = (PathBuf, Value);

/// A run on the first job files of a kept report; a folder of its own.
fn make(name: &str, files: usize) -> Fresh {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
    let words = format!(
        "reproduce {name} --files {files} --untimed --into {} --json",
        folder.display()
    );
    let output = run(&words, "");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("expected at least 50")
    );
    (folder, read(&String::from_utf8(output.stdout).unwrap()))
}

/// The evaluation of MAPA on three job files, made once.
fn fresh() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("mapa", 3))
}

/// Foresight on two, made once.
fn foresight() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("foresight", 2))
}

/// The default policy on two, made once.
fn auto() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("auto", 2))
}

/// CASE on two, made once.
fn case() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("case", 2))
}

/// Order and placement together on two, made once.
fn topology_plan() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("topology-plan", 2))
}

/// The controller of latencies on two, made once.
fn slo() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("slo", 2))
}

/// The PCIe-aware scheduler on two, made once.
fn pcie() -> &'static Fresh {
    static FRESH: OnceLock<Fresh> = OnceLock::new();
    FRESH.get_or_init(|| make("pcie", 2))
}

#[test]
fn the_list_names_every_experiment() {
    let list = answer("reproduce --list");
    let rows = list["experiments"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|own| own["name"].as_str().unwrap())
        .collect();
    // Those of systems come first.
    assert_eq!(names.last(), Some(&"measured"));
    let shown = text("reproduce --list", "");
    for name in &names {
        assert!(shown.contains(&format!("| {name} ")), "{name}");
    }
    let expected = names.join(", ");
    error(
        "reproduce maps",
        &format!("no experiment is called `maps`: expected one of: {expected}"),
    );
}

#[test]
fn what_cannot_be_run_is_said() {
    error(
        "reproduce measured --files 1",
        "measured draws no job files",
    );
    error("reproduce", "<EXPERIMENT>");
    error("reproduce measured --list", "cannot be used with");
    let (object, code) = no("reproduce maps --json");
    assert_eq!(
        (
            object["error"].as_str().unwrap().contains("no experiment"),
            code
        ),
        (true, 2)
    );
}

#[test]
fn every_file_is_written_and_every_picture_shown() {
    for (name, (folder, numbers), least) in [
        ("mapa", fresh(), 8),
        ("foresight", foresight(), 4),
        ("pcie", pcie(), 8),
    ] {
        let beside = folder.join(name);
        assert_eq!(
            read(&fs::read_to_string(beside.join("results.json")).unwrap()),
            *numbers
        );
        let report = fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let written: BTreeSet<String> = fs::read_dir(&beside)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        let shown: BTreeSet<String> = written
            .iter()
            .filter(|file| report.contains(&format!("]({name}/{file})")))
            .cloned()
            .collect();
        let pictures: BTreeSet<String> = written
            .iter()
            .filter(|file| file.ends_with(".svg"))
            .cloned()
            .collect();
        assert_eq!(shown, pictures);
        assert_eq!(
            report.matches(&format!("]({name}/")).count(),
            pictures.len()
        );
        assert!(pictures.len() >= least);
        let others: Vec<&String> = written.difference(&pictures).collect();
        assert_eq!(others, ["claims.csv", "results.json"]);
        for picture in &pictures {
            assert!(
                fs::read_to_string(beside.join(picture))
                    .unwrap()
                    .starts_with("<svg"),
                "{picture}"
            );
        }
    }
}

#[test]
fn claims_are_the_same_in_every_form() {
    for (name, (folder, numbers)) in [
        ("mapa", fresh()),
        ("foresight", foresight()),
        ("pcie", pcie()),
    ] {
        let report = fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let table = fs::read_to_string(folder.join(name).join("claims.csv")).unwrap();
        let claims = claims(numbers);
        assert_eq!(table.lines().count(), claims.len() + 1);
        for (_, claim) in claims {
            let [what, verdict] = ["claim", "verdict"].map(|key| claim[key].as_str().unwrap());
            let is_it = |line: &str| {
                line.starts_with(&format!("| {what} ")) && line.contains(&format!("| {verdict} "))
            };
            assert!(report.lines().any(is_it), "{what}");
        }
    }
}

/// The claims that do not hang on the clock, each with its section.
fn claims(numbers: &Value) -> Vec<(String, Value)> {
    let sections = numbers["sections"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, own)| own["timed"] == false);
    let of = |(id, own): (&String, &Value)| {
        let all = own["claims"].as_array().unwrap().clone();
        all.into_iter()
            .map(|claim| (id.clone(), claim))
            .collect::<Vec<_>>()
    };
    sections.flat_map(of).collect()
}

#[test]
fn numbers_do_not_hang_on_threads() {
    let again = run("reproduce mapa --files 3 --untimed --threads 1 --json", "");
    assert_eq!(read(&String::from_utf8(again.stdout).unwrap()), fresh().1);
}

#[test]
fn seeds_and_the_generator_are_told() {
    let numbers = &fresh().1;
    assert_eq!(numbers["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(numbers["generator"], mapa_sim::GENERATOR);
    assert_eq!(
        numbers["command"],
        "mapa-bench reproduce mapa --files 3 --seed 1 --untimed"
    );
    let keys: Vec<&String> = numbers.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "assumptions",
            "command",
            "experiment",
            "generator",
            "paper",
            "per_file",
            "schema",
            "sections",
            "seeds"
        ]
    );
}

#[test]
fn assumptions_that_claims_name_are_listed() {
    for (_, numbers) in [fresh(), foresight(), pcie()] {
        let listed = numbers["assumptions"].as_array().unwrap().len() as u64;
        for (_, claim) in claims(numbers) {
            for number in claim["assumes"].as_array().unwrap() {
                assert!((1..=listed).contains(&number.as_u64().unwrap()), "{claim}");
            }
        }
    }
}

#[test]
fn every_verdict_has_its_rule() {
    for (_, claim) in [fresh(), foresight(), pcie()]
        .into_iter()
        .flat_map(|(_, numbers)| claims(numbers))
    {
        let judged = claim["verdict"] != "cannot be had";
        assert_eq!(
            judged,
            !claim["rule"].as_str().unwrap().is_empty(),
            "{claim}"
        );
    }
}

#[test]
fn the_papers_own_figures_contradict_its_table() {
    let found = |what: &str| {
        let all = claims(&fresh().1);
        let (_, claim) = all
            .into_iter()
            .find(|(id, own)| id == "table-3" && own["claim"].as_str().unwrap().starts_with(what))
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
fn the_report_on_order_and_placement_has_every_number_by_name() {
    let numbers = &topology_plan().1["sections"]["plan"]["numbers"];
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

#[test]
fn the_report_on_case_has_every_number_by_name() {
    let sections = &case().1["sections"];
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
        let claim = claims.find(|own| own["claim"].as_str().unwrap().starts_with(start));
        claim.unwrap()["verdict"].clone()
    };
    assert_eq!(found("With any number"), "holds");
    assert_eq!(found("With one growing"), "holds");
}

#[test]
fn the_report_on_latencies_has_every_number_by_name() {
    let sections = &slo().1["sections"];
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
            .all(|own| own["verdict"] == "does not hold")
    );
}

#[test]
fn fixed_run_times_make_one_makespan() {
    let files = &fresh().1["per_file"]["fixed"];
    for policy in ["topo-aware", "greedy", "preserve", "max-bandwidth"] {
        assert_eq!(files[policy], files["lowest-id"], "{policy}");
    }
    assert_ne!(
        fresh().1["per_file"]["main"]["preserve"],
        fresh().1["per_file"]["main"]["lowest-id"]
    );
}

/// The kept reports are of many job files; a few of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    for (experiment, (_, numbers), many) in [
        ("mapa", fresh(), 60),
        ("foresight", foresight(), 200),
        ("auto", auto(), 200),
        ("pcie", pcie(), 50),
        ("case", case(), 50),
        ("topology-plan", topology_plan(), 50),
        ("slo", slo(), 50),
    ] {
        let kept = read(&kept(&format!("{experiment}/results.json")));
        assert_eq!(kept["seeds"].as_array().unwrap().len(), many);
        let few = numbers["seeds"].as_array().unwrap().len();
        let first = |own: &Value| match own {
            Value::Array(files) => Value::Array(files.iter().take(few).cloned().collect()),
            other => other.clone(),
        };
        let settings = numbers["per_file"].as_object().unwrap();
        assert_eq!(settings.len(), kept["per_file"].as_object().unwrap().len());
        for (setting, policies) in settings {
            for (policy, numbers) in policies.as_object().unwrap() {
                for (name, files) in numbers.as_object().unwrap() {
                    assert_eq!(
                        first(&kept["per_file"][setting][policy][name]),
                        *files,
                        "{setting}, {policy}, {name}"
                    );
                }
            }
        }
    }
}

/// What is exact of foresight does not hang on how many job files there are.
#[test]
fn waiting_is_off_where_nothing_is_to_be_had() {
    let numbers = &foresight().1;
    for section in ["fixed", "limits"] {
        let all = numbers["sections"][section]["claims"].as_array().unwrap();
        assert!(
            !all.is_empty() && all.iter().all(|claim| claim["verdict"] == "holds"),
            "{section}"
        );
    }
}

/// What is exact of the PCIe-aware scheduler: shares of a port, slopes, and that no job is slower
/// than Eq. 2 or left behind.
#[test]
fn jobs_on_shared_ports_run_as_the_equations_say() {
    let exact: Vec<(String, Value)> = claims(&pcie().1)
        .into_iter()
        .filter(|(_, own)| own["rule"] == "exact")
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
    let report = read(&kept("pcie/results.json"));
    let up_to: Vec<Value> = claims(&report)
        .into_iter()
        .map(|(_, own)| own)
        .filter(|own| own["paper"].as_str().unwrap().starts_with("up to"))
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

/// A time of one run on a machine that others use has no verdict.
#[test]
fn times_of_one_run_are_not_judged() {
    for (name, section) in [("mapa", "fig-19"), ("foresight", "cost")] {
        let report = read(&kept(&format!("{name}/results.json")));
        let claims = report["sections"][section]["claims"].as_array().unwrap();
        assert!(!claims.is_empty());
        for claim in claims {
            assert_eq!(
                [&claim["verdict"], &claim["rule"]],
                ["not judged", ""],
                "{claim}"
            );
        }
    }
}

/// What depends on no job file is reported unchanged.
#[test]
fn the_kept_report_says_what_a_fresh_one_does_of_everything_but_files() {
    let contradictions = "Where the paper contradicts itself";
    let of_mapa = [
        "What is assumed",
        "Fig. 2a and 3",
        "Fig. 2b",
        "Fig. 5",
        "Fig. 6",
        "Fig. 11",
        contradictions,
    ];
    let of_pcie = [
        "What is assumed",
        "Fig. 1",
        "Fig. 2",
        "Fig. 4",
        contradictions,
    ];
    for (name, (folder, numbers), titles) in
        [("mapa", fresh(), &of_mapa[..]), ("pcie", pcie(), &of_pcie)]
    {
        let of_kept = read(&kept(&format!("{name}/results.json")));
        assert_eq!(of_kept["assumptions"], numbers["assumptions"]);
        let file = format!("{name}.md");
        let [kept, report] = [kept(&file), fs::read_to_string(folder.join(&file)).unwrap()];
        for title in titles {
            assert_eq!(section(&kept, title), section(&report, title));
        }
    }
}

/// A section of a report, without the mark of a timed one that follows.
fn section(text: &str, title: &str) -> String {
    let start = text
        .find(&format!("\n## {title}"))
        .unwrap_or_else(|| panic!("{title}"));
    let rest = &text[start + 1..];
    rest[..rest.find("\n## ").unwrap_or(rest.len())]
        .trim_end()
        .trim_end_matches("<!-- timed -->")
        .trim_end()
        .to_owned()
}

/// The report is that of the numbers beside it.
#[test]
fn the_kept_report_has_the_claims_of_the_kept_numbers() {
    for name in [
        "mapa",
        "foresight",
        "auto",
        "pcie",
        "case",
        "topology-plan",
        "slo",
        "measured",
    ] {
        let [report, numbers] = [
            kept(&format!("{name}.md")),
            kept(&format!("{name}/results.json")),
        ];
        for (_, claim) in claims(&read(&numbers)) {
            let [what, ours, verdict] =
                ["claim", "ours", "verdict"].map(|key| claim[key].as_str().unwrap());
            let is_it = |line: &str| {
                line.starts_with(&format!("| {what} "))
                    && line.contains(&format!(" {ours} "))
                    && line.contains(&format!(" {verdict} "))
            };
            assert!(report.lines().any(is_it), "{claim}");
        }
    }
}

/// The table on the page is that of the kept numbers.
#[test]
fn the_page_on_foresight_tells_the_kept_numbers() {
    let kept = read(&kept("foresight/results.json"));
    let page = include_str!("../../../docs/foresight.md");
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

/// Free sets are the same whatever the job files: the kept section is that of a fresh run.
#[test]
fn no_policy_has_more_than_the_default_on_any_free_set() {
    let (_, fresh) = auto();
    let kept = read(&kept("auto/results.json"));
    let numbers = &fresh["sections"]["free-sets"]["numbers"];
    assert_eq!(kept["sections"]["free-sets"]["numbers"], *numbers);
    let machines = numbers.as_object().unwrap();
    assert_eq!(machines.len(), 5);
    for policies in machines.values() {
        for own in policies.as_object().unwrap().values() {
            assert_eq!(own[0]["less"], 0, "{own}");
        }
    }
    let parked = &numbers["dgx-1v"]["preserve"][0];
    assert!(
        parked["more"].as_u64() > Some(100),
        "a job of unknown sensitivity is parked by preserve: {parked}"
    );
}
