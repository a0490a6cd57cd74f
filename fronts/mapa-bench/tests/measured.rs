//! What is expected beside what others measured: `score --model expected`, `--p2p`, `reproduce measured`,
//! `measured add`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, answer, error, run, text};
use serde_json::{Value, json};

/// A topology that ships with the rows.
fn topology(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mapa-regress/data/topologies");
    folder.join(name).to_str().unwrap().to_owned()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value}: expected a number"))
}

#[test]
fn an_operation_has_an_expectation_with_its_interval_and_bound() {
    let own = answer("score --machine dgx-a100 --devices 0,1,2,3,4,5,6,7 --model expected");
    let [gbps, low, high, nominal] =
        ["gbps", "low_gbps", "high_gbps", "nominal_gbps"].map(|key| number(&own[key]));
    // Six published A100 machines reached 229 to 235.
    assert!((229.0..235.5).contains(&gbps) && nominal == 300.0, "{own}");
    assert!(low < 229.0 && 235.0 < high && high < nominal, "{own}");
    let words = ["p2p", "p2p_from", "path", "operation"].map(|key| own[key].as_str().unwrap());
    assert_eq!(words, ["on", "assumed", "direct", "all_reduce"]);
    // Hopper reduces in the switch: more than a ring carries, unless it is told not to.
    let of = |words: &str| {
        let all = "score --machine dgx-h100 --devices 0,1,2,3,4,5,6,7 --model expected";
        number(&answer(&format!("{all} {words}"))["gbps"])
    };
    assert!(of("") > 475.0 && of("--nvls off") < 365.0 && of("--operation all_gather") < 365.0);
    // A fixed time weighs on short messages.
    assert!(of("--message-bytes 1000000") < of("--message-bytes 134217728"));
    assert!(of("--message-bytes 134217728") < of(""));
    for (operation, least, most) in [
        ("copy", 370.0, 400.0),
        ("copy-both-ways", 730.0, 780.0),
        ("d2h", 50.0, 60.0),
    ] {
        let words = format!(
            "score --machine dgx-h100 --devices 0,1 --model expected --operation {operation}"
        );
        let own = number(&answer(&words)["gbps"]);
        let own = if operation == "d2h" { own / 2.0 } else { own };
        assert!((least..most).contains(&own), "{operation}: {own}");
    }
}

#[test]
fn without_peer_access_the_order_of_sets_turns_round() {
    let machine = topology("wrx90-2sw.txt");
    let of = |p2p: &str, devices: &str| {
        let words = format!(
            "score --machine {machine} --pcie-gbps 63 --p2p {p2p} --model expected --devices {devices}"
        );
        answer(&words)
    };
    let [near, far] = ["0,1", "0,4"].map(|devices| of("on", devices));
    assert_eq!(near["gbps"], far["gbps"], "one flow does not share");
    assert_eq!(
        (&near["path"], &far["path"]),
        (&json!("switch"), &json!("socket"))
    );
    let [near, far] = ["0,1", "0,4"].map(|devices| of("off", devices));
    assert!(
        number(&far["gbps"]) > 1.3 * number(&near["gbps"]),
        "{near} {far}"
    );
    assert_eq!(
        (&near["p2p"], &near["p2p_from"]),
        (&json!("off"), &json!("told"))
    );
    let chosen = |p2p: &str| {
        let words = format!("allocate --machine {machine} --pcie-gbps 63 --p2p {p2p} --gpus 2");
        answer(&words)["devices"].clone()
    };
    assert_eq!(
        (chosen("on"), chosen("off")),
        (json!([0, 1]), json!([0, 4]))
    );
    // The same where no generation is known: `auto` spreads by what is shared.
    let words = format!("allocate --machine {machine} --p2p off --gpus 2");
    assert_eq!(answer(&words)["devices"], json!([0, 4]));
}

#[test]
fn peer_access_is_told_by_dumps_guessed_from_names_or_assumed() {
    let from = |words: &str| {
        let own = answer(&format!("score {words} --model expected"));
        [&own["p2p"], &own["p2p_from"]].map(|word| word.as_str().unwrap().to_owned())
    };
    assert_eq!(
        from("--machine rtx-4090-x2 --devices 0,1"),
        ["off", "guessed"]
    );
    assert_eq!(
        from("--machine rtx-4090-x2 --p2p on --devices 0,1"),
        ["on", "told"]
    );
    assert_eq!(
        from("--machine rtx-6000-ada-x4 --devices 0,1"),
        ["on", "assumed"]
    );
    let folder = Folder::new();
    let states = |state: &str| {
        format!("        GPU0    GPU1\n GPU0   X       {state}\n GPU1   {state}     X\n")
    };
    let topo = folder.write("topo.txt", "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n");
    let [off, on] = [("off.txt", "NS"), ("on.txt", "OK")]
        .map(|(name, state)| folder.write(name, states(state)));
    let one = |p2p: &str| {
        from(&format!(
            "--machine {topo} --machine {p2p} --pcie-gbps 31.5 --devices 0,1"
        ))
    };
    assert_eq!(
        (one(&off), one(&on)),
        (
            ["off", "told"].map(str::to_owned),
            ["on", "told"].map(str::to_owned)
        )
    );
    // Dumps that contradict each other are reported, and what is assumed then.
    let words = format!(
        "score --machine {topo} --machine {off} --machine {on} --pcie-gbps 31.5 --devices 0,1 --model expected --json"
    );
    let output = run(&words, "");
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(
        warned.contains("peer access (P2P): off says off, on says on; off is followed"),
        "{warned}"
    );
    let own: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(own["p2p"], "off");
}

#[test]
fn what_is_not_known_is_null_with_a_note() {
    let machine = topology("wrx90-2sw.txt");
    let own = answer(&format!(
        "score --machine {machine} --devices 0,1 --model expected"
    ));
    assert_eq!(
        (&own["gbps"], &own["nominal_gbps"]),
        (&Value::Null, &Value::Null)
    );
    let notes = own["notes"].to_string();
    assert!(
        notes.contains("--pcie-gbps") && notes.contains("P2P is assumed"),
        "{notes}"
    );
    let links = topology("a100-distserve.txt");
    let own = answer(&format!(
        "score --machine {links} --devices 0,1 --model expected"
    ));
    assert!(
        own["gbps"].is_null() && own["notes"].to_string().contains("--nvlink-gbps"),
        "{own}"
    );
    let own = answer(&format!(
        "score --machine {links} --nvlink-gbps 25 --devices 0,1 --model expected"
    ));
    assert!(own["gbps"].is_f64(), "a speed that is told is known: {own}");
    error(
        "score --machine dgx-1v --devices 0,1 --operation copy",
        "--operation, --message-bytes and --nvls are for --model expected",
    );
    error(
        "score --machine dgx-1v --devices 0,1,2 --model expected --operation copy",
        "expected pairs of devices",
    );
    error(
        "score --machine dgx-1v --devices 0,1 --model expected --operation sum",
        "no operation is called `sum`",
    );
    error(
        "score --machine dgx-1v --devices 0,1 --model channels,host=network",
        "expected ring-packing, tree or all-to-all",
    );
    error(
        "score --machine dgx-1v --devices 0,1 --model ring-packing,host=tree",
        "host=network",
    );
    error("topo --machine dgx-1v --p2p maybe", "expected on or off");
}

#[test]
fn rings_cross_the_host_at_several_places() {
    let all = "score --machine h200-nvl-8 --devices 0,1,2,3,4,5,6,7 --model";
    let plain = number(&answer(&format!("{all} ring-packing"))["gbps"]);
    let network = answer(&format!("{all} ring-packing,host=network"));
    assert_eq!((plain, number(&network["gbps"])), (63.0, 252.0));
    assert_eq!(network["over_host"], true);
    // Measured: 68.66.
    let own = answer(&format!("{all} expected"));
    assert!(
        number(&own["low_gbps"]) < 68.66 && 68.66 < number(&own["high_gbps"]),
        "{own}"
    );
    // On direct links alone, and under the old names, no number moves.
    for devices in ["0,1", "0,1,2", "0,1,2,3"] {
        let of = |model: &str| {
            number(
                &answer(&format!(
                    "score --machine h200-nvl-8 --devices {devices} --model {model}"
                ))["gbps"],
            )
        };
        assert_eq!(of("ring-packing"), of("ring-packing,host=network"));
    }
}

#[test]
fn nccls_figures_are_for_host_paths_too() {
    let of = |machine: &str, devices: &str| {
        let words = format!(
            "score --machine {machine} --devices {devices} --model ring-packing --rates nccl"
        );
        answer(&words)
    };
    for (machine, gbps) in [
        ("mi300x-x8", 48.0),
        ("ac922", 60.0),
        ("s822lc", 36.0),
        ("mi100-x4", 24.0),
    ] {
        let own = of(machine, "0,1");
        assert_eq!(
            (number(&own["gbps"]).round(), &own["over_host"]),
            (gbps, &json!(false)),
            "{machine}"
        );
    }
    let printed = text(
        "score --machine dgx-1v --devices 0,1,2,3,4,5,6,7 --model ring-packing --rates nccl",
        "",
    );
    assert!(
        !printed.contains("no packing is better") && printed.contains("at these rates"),
        "{printed}"
    );
}

#[test]
fn every_public_row_is_beside_what_is_expected() {
    let own = answer("reproduce measured");
    let rows = own["sections"]["rows"]["numbers"].as_object().unwrap();
    assert_eq!(rows.len(), 238);
    let row = &rows["wrx90-2sw#5"];
    assert_eq!(row["measured"], 162.0);
    assert!((150.0..190.0).contains(&number(&row["expected"])), "{row}");
    assert!(
        number(&row["low"]) < 162.0 && 162.0 < number(&row["high"]),
        "{row}"
    );
    assert!(
        row["closeness_points"].is_i64() && row["nominal"].is_f64(),
        "{row}"
    );
    let order = &own["sections"]["order"]["numbers"];
    assert_eq!(order["mapa"], json!({ "right": 55, "wrong": 0, "ties": 6 }));
    assert_eq!(
        order["closeness"]["right"].as_u64().unwrap()
            + order["closeness"]["wrong"].as_u64().unwrap()
            + order["closeness"]["ties"].as_u64().unwrap(),
        61
    );
    assert!(order["closeness"]["wrong"].as_u64() > Some(6));
    for section in own["sections"].as_object().unwrap().values() {
        for claim in section["claims"].as_array().unwrap() {
            assert_eq!(claim["verdict"], "holds", "{claim}");
        }
    }
}

#[test]
fn rows_of_your_own_are_made_fitted_and_compared() {
    let folder = Folder::new();
    let topo = folder.path("topo.txt");
    fs::copy(PathBuf::from(topology("direct-x4.derived.txt")), &topo).unwrap();
    let copies = folder.write(
        "copies.txt",
        "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 786.23  17.00\n     1  17.00 785.11\n",
    );
    let machine = format!("--machine {topo} --pcie-gbps 31.5");
    let words = format!(
        "measured add {copies} {machine} --into {} --fit {} --server mine",
        folder.path("rows.tsv"),
        folder.path("mine.toml")
    );
    let own = answer(&words);
    assert_eq!(
        (own["rows"].as_array().unwrap().len(), &own["rows"][0]["id"]),
        (2, &json!("mine#0"))
    );
    assert!(number(&own["rows"][0]["expected_gbps"]) > 19.0, "{own}");
    assert!(
        (number(&own["rows"][0]["fitted_gbps"]) - 17.0).abs() < 0.1,
        "{own}"
    );
    let schema = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/measured-add.json"),
    )
    .unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &own), "{own}");
    // The fit is what `score` and `auto` go by.
    let score = format!(
        "score {machine} --p2p off --devices 0,1 --operation copy --model {}",
        folder.path("mine.toml")
    );
    assert!((number(&answer(&score)["gbps"]) - 17.0).abs() < 0.1);
    let allocate = format!(
        "allocate {machine} --p2p off --gpus 2 --model {}",
        folder.path("mine.toml")
    );
    assert_eq!(answer(&allocate)["bandwidth_model"], "expected_gbps");
    // Further rows are added behind the ones that are there.
    assert_eq!(answer(&words)["rows"][0]["id"], "mine#2");
    let report = answer(&format!(
        "reproduce measured --rows {}",
        folder.path("rows.tsv")
    ));
    let rows = report["sections"]["rows"]["numbers"].as_object().unwrap();
    assert_eq!((rows.len(), &rows["mine#3"]["measured"]), (4, &json!(17.0)));
    assert!(number(&rows["mine#3"]["expected"]) > 19.0);
}

#[test]
fn rows_are_refused_without_topology_operation_or_size() {
    let folder = Folder::new();
    let table = folder.write("table.csv", "devices,gbps\n0 1,20\n");
    let add = |words: &str| format!("measured add {table} {words}");
    error(&add(""), "--machine");
    error(&add("--machine dgx-a100"), "expected --operation");
    error(
        &add("--machine dgx-a100 --operation all_reduce"),
        "expected --message-bytes",
    );
    let own = answer(&add(
        "--machine dgx-a100 --operation all_reduce --message-bytes 1073741824",
    ));
    assert_eq!(own["rows"][0]["devices"], json!([0, 1]));
    assert!(own["into"].is_null());
    let topo = topology("direct-x4.derived.txt");
    let fit = folder.path("mine.toml");
    error(
        &add(&format!(
            "--machine {topo} --operation all_reduce --message-bytes 1073741824 --fit {fit}"
        )),
        "expected --pcie-gbps",
    );
    let bad = folder.write(
        "bad.tsv",
        "id\tserver\toperation\tgbps\na\ts\tall_reduce\t-3\n",
    );
    error(
        &format!("reproduce measured --rows {bad}"),
        "line 2: gbps = -3: expected a positive number of GB/s",
    );
    error("reproduce mapa --rows x.tsv", "x.tsv");
}
