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
    assert!(low < 229.0 && 235.0 < high && high <= nominal, "{own}");
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
    insta::assert_snapshot!(warned, @"
    warning: GPU0 - GPU1, peer access (P2P): off says off, on says on; off is followed
    warning: peer access (P2P): GPU0 reaches GPU1, but not the other way; off is followed
    ");
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
        notes.contains("--pcie-gbps") && notes.contains("P2P assumed"),
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
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --operation copy"),
        @"error: --operation, --message-bytes and --nvls are for --model expected and files of shares: expected such a model"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1,2 --model expected --operation copy"),
        @"error: --operation copy: expected pairs of devices, from each first to each second, not 3 devices"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --model expected --operation sum"),
        @"error: invalid value 'sum' for '--operation <OPERATION>': no operation is called `sum`: expected one of all_reduce, tree_all_reduce, all_gather, .."
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --model channels,host=network"),
        @"error: the model `channels,host=network`: expected ring-packing, tree or all-to-all with host=network, and no --rates"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --model ring-packing,host=tree"),
        @"error: the model `ring-packing,host=tree`: expected ring-packing, tree or all-to-all with host=network, and no --rates"
    );
    insta::assert_snapshot!(
        error("topo --machine dgx-1v --p2p maybe"),
        @"error: invalid value 'maybe' for '--p2p <on|off>': p2p=maybe: expected on or off"
    );
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
    // Machines without direct links: the paths over the host alone.
    let own = of("l40s-x8", "0,1");
    assert_eq!(
        (number(&own["gbps"]).round(), &own["over_host"]),
        (24.0, &json!(true))
    );
    for machine in ["aws-g5-48xlarge", &topology("chlc-4090x8.txt")] {
        assert!(number(&of(machine, "0,1")["gbps"]) > 0.0, "{machine}");
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
    let value = answer("reproduce measured");
    let rows = value["sections"]["rows"]["numbers"].as_object().unwrap();
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
    let order = &value["sections"]["order"]["numbers"];
    assert_eq!(order["mapa"], json!({ "right": 55, "wrong": 0, "ties": 6 }));
    assert_eq!(
        order["closeness"]["right"].as_u64().unwrap()
            + order["closeness"]["wrong"].as_u64().unwrap()
            + order["closeness"]["ties"].as_u64().unwrap(),
        61
    );
    assert!(order["closeness"]["wrong"].as_u64() > Some(6));
    for section in value["sections"].as_object().unwrap().values() {
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
    // The same output adds no row twice.
    let again = answer(&words);
    assert_eq!(again["rows"][0]["id"], "mine#0");
    let notes = again["notes"].to_string();
    assert!(notes.contains("again: mine#0, mine#1"), "{notes}");
    // Further rows are added behind the ones that are there.
    let further = words.replacen("--server mine", "--server mine --library other", 1);
    assert_eq!(answer(&further)["rows"][0]["id"], "mine#2");
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
    insta::assert_snapshot!(error(&add("")), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
    insta::assert_snapshot!(
        error(&add("--machine dgx-a100")),
        @"error: FOLDER/table.csv: line 2 names no operation: expected --operation"
    );
    insta::assert_snapshot!(
        error(&add("--machine dgx-a100 --operation all_reduce")),
        @"error: FOLDER/table.csv: line 2 has no size of messages: expected --message-bytes"
    );
    let own = answer(&add(
        "--machine dgx-a100 --operation all_reduce --message-bytes 1073741824",
    ));
    assert_eq!(own["rows"][0]["devices"], json!([0, 1]));
    assert!(own["into"].is_null());
    let topo = topology("direct-x4.derived.txt");
    let fit = folder.path("mine.toml");
    insta::assert_snapshot!(
        error(&add(&format!(
            "--machine {topo} --operation all_reduce --message-bytes 1073741824 --fit {fit}"
        ))),
        @"error: --fit: the generation of this machine's links is not known, so shares of them mean nothing: expected --pcie-gbps and, with direct links, --nvlink-gbps; or a dump that names the products, such as `nvidia-smi -L`"
    );
    let bad = folder.write(
        "bad.tsv",
        "id\tserver\toperation\tgbps\na\ts\tall_reduce\t-3\n",
    );
    insta::assert_snapshot!(
        error(&format!("reproduce measured --rows {bad}")),
        @"error: FOLDER/bad.tsv: line 2: gbps = -3: expected a positive number of GB/s"
    );
    insta::assert_snapshot!(
        error("reproduce measured --rows x.tsv"),
        @"error: x.tsv: No such file or directory (os error 2)"
    );
}

/// The number at a key of what is expected.
fn of(words: &str, key: &str) -> f64 {
    number(&answer(&format!("score {words} --model expected"))[key])
}

#[test]
fn a_short_message_has_a_short_interval_at_both_ends() {
    let at = |bytes: &str| {
        let words = format!(
            "score --machine dgx-a100 --devices 0,1,2,3 --model expected --message-bytes {bytes}"
        );
        let own = answer(&words);
        ["low_gbps", "gbps", "high_gbps"].map(|key| number(&own[key]))
    };
    let [low, gbps, high] = at("1");
    // A byte within ten microseconds is no more than a few hundred kB/s.
    assert!(
        low < gbps && gbps < high && high < 1e-3,
        "{low} {gbps} {high}"
    );
    let of_large = at("1099511627776");
    let plain = answer("score --machine dgx-a100 --devices 0,1,2,3 --model expected");
    for (value, key) in of_large.iter().zip(["low_gbps", "gbps", "high_gbps"]) {
        assert!((value / number(&plain[key]) - 1.0).abs() < 1e-3, "{key}");
    }
}

#[test]
fn no_interval_lies_above_what_links_carry() {
    let own = answer("reproduce measured");
    let rows = own["sections"]["rows"]["numbers"].as_object().unwrap();
    for (id, row) in rows.iter().filter(|(_, row)| row["nominal"].is_f64()) {
        let [expected, high, nominal] =
            ["expected", "high", "nominal"].map(|key| number(&row[key]));
        assert!(
            expected <= high && high <= nominal * 1.000_001,
            "{id}: {row}"
        );
    }
    // Where a share was measured above the nominal rate, that rate is no bound, and stays as it is.
    let folder = Folder::new();
    let copies = folder.write(
        "copies.txt",
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 786.23  55.00\n     1  55.00 785.11\n",
    );
    let fit = folder.path("mine.toml");
    let added = answer(&format!(
        "measured add {copies} --machine dgx-1v --fit {fit}"
    ));
    let notes = added["notes"].to_string();
    assert!(
        notes.contains("55 GB/s is above the 25 that links carry"),
        "{notes}"
    );
    let own = answer(&format!(
        "score --machine dgx-1v --devices 0,1 --operation copy --model {fit}"
    ));
    let [gbps, high, nominal] = ["gbps", "high_gbps", "nominal_gbps"].map(|key| number(&own[key]));
    assert!(nominal == 25.0 && gbps > 50.0 && high > gbps, "{own}");
    assert!(
        own["notes"].to_string().contains("is no bound here"),
        "{own}"
    );
    // Two hops of two links carry what two links do, whatever copies make of them.
    assert_eq!(
        of(
            "--machine frontier --devices 0,7 --operation copy",
            "nominal_gbps"
        ),
        100.0
    );
}

#[test]
fn staged_data_that_shares_a_memory_is_slower() {
    let machine = topology("two-by-four-x8.derived.txt");
    let at = |devices: &str, operation: &str| {
        let machine = format!("--machine {machine} --pcie-gbps 31.5 --p2p off");
        of(
            &format!("{machine} --devices {devices} --operation {operation}"),
            "gbps",
        )
    };
    for operation in ["copy", "copy-both-ways", "all_reduce", "alltoall"] {
        assert!(
            at("0,4", operation) > 1.01 * at("0,1", operation),
            "{operation}"
        );
    }
    let [one, most, half] = ["0,1,2,3", "0,1,2,4", "0,1,4,5"].map(|set| at(set, "all_reduce"));
    assert!(one < most && most < half, "{one} {most} {half}");
}

#[test]
fn every_answer_has_every_key() {
    let keys = [
        "gbps",
        "low_gbps",
        "high_gbps",
        "nominal_gbps",
        "p2p",
        "p2p_from",
        "path",
        "notes",
    ];
    let empty = |words: &str| {
        let value = answer(&format!("score {words} --model expected"));
        for key in keys {
            assert!(value.get(key).is_some(), "{words}: no {key}: {value}");
        }
        assert!(
            value["gbps"].is_null() && value["path"].is_null(),
            "{value}"
        );
        value["reason"].as_str().unwrap().to_owned()
    };
    assert!(empty("--machine dgx-1v --devices 0").contains("one device"));
    assert!(empty("--machine dgx-1v --devices 0 --operation copy").contains("one device"));
    // Without peer access nothing but the hosts is left, and devices of two trays have no host in common.
    for operation in ["copy", "all_reduce", "alltoall", "sendrecv"] {
        let words =
            format!("--machine gb200-nvl72 --p2p off --devices 0,71 --operation {operation}");
        assert!(
            empty(&words).contains("no operation of one server"),
            "{operation}"
        );
    }
    let p2p = |words: &str| {
        let own = answer(&format!("score {words} --model expected"));
        ["p2p", "p2p_from"].map(|key| own[key].as_str().unwrap().to_owned())
    };
    assert_eq!(
        p2p("--machine l40s-x8 --p2p off --devices 0 --operation h2d"),
        ["off", "told"]
    );
    // Only the pairs that are copied between count.
    let folder = Folder::new();
    let topo = folder.write(
        "topo.txt",
        "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPIX\tSYS\tSYS\nGPU1\tPIX\t X \tSYS\tSYS\nGPU2\tSYS\tSYS\t X \tPIX\nGPU3\tSYS\tSYS\tPIX\t X \n",
    );
    let states = folder.write(
        "p2p.txt",
        "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tOK\tNS\tNS\nGPU1\tOK\tX\tNS\tNS\nGPU2\tNS\tNS\tX\tOK\nGPU3\tNS\tNS\tOK\tX\n",
    );
    let machine = format!("--machine {topo} --machine {states} --pcie-gbps 31.5 --devices 0,1,2,3");
    assert_eq!(
        p2p(&format!("{machine} --operation copy-both-ways")),
        ["on", "told"]
    );
    assert_eq!(p2p(&machine), ["mixed", "told"]);
}

#[test]
fn what_is_assumed_or_contradicts_itself_is_in_the_answer() {
    let folder = Folder::new();
    let notes =
        |words: &str| answer(&format!("score {words} --model expected"))["notes"].to_string();
    // One socket with four NUMA nodes looks like two sockets.
    let nodes = folder.write(
        "nps4.txt",
        "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\tSYS\tSYS\t0-15\t0\nGPU1\tSYS\t X \tSYS\tSYS\t16-31\t1\nGPU2\tSYS\tSYS\t X \tSYS\t32-47\t2\nGPU3\tSYS\tSYS\tSYS\t X \t48-63\t3\n",
    );
    let own = notes(&format!("--machine {nodes} --pcie-gbps 31.5 --devices 1,2"));
    assert!(own.contains("share a socket is assumed"), "{own}");
    let two = topology("two-by-four-x8.derived.txt");
    let own = notes(&format!("--machine {two} --pcie-gbps 31.5 --devices 0,4"));
    assert!(!own.contains("share a socket"), "{own}");
    // Tables of peer access that contradict each other, or themselves.
    let topo = folder.write("topo.txt", "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n");
    let table = |name: &str, [one, other]: [&str; 2]| {
        folder.write(
            name,
            format!("\tGPU0\tGPU1\nGPU0\tX\t{one}\nGPU1\t{other}\tX\n"),
        )
    };
    let [off, on, mixed] = [
        table("off.txt", ["NS", "NS"]),
        table("on.txt", ["OK", "OK"]),
        table("mixed.txt", ["OK", "NS"]),
    ];
    let machine = format!("--pcie-gbps 31.5 --devices 0,1 --machine {topo}");
    let own = notes(&format!("{machine} --machine {off} --machine {on}"));
    assert!(own.contains("off is followed"), "{own}");
    let own = notes(&format!("{machine} --machine {mixed}"));
    assert!(
        own.contains("GPU0 reaches GPU1, but not the other way; off is followed"),
        "{own}"
    );
    // A link of PCIe 1 idles, and without a product its speed is not known; no link has no lanes.
    let system = |link: &str| {
        let gpu = |at: u32| {
            format!(
                "<pci busid=\"0000:{at}:00.0\" class=\"0x030200\" {link}><gpu dev=\"{at}\" sm=\"\" rank=\"0\"/></pci>"
            )
        };
        let gpus = gpu(0) + &gpu(1);
        let text = format!("<system version=\"1\"><cpu numaid=\"0\">{gpus}</cpu></system>");
        folder.write("system.xml", text.replace(" sm=\"\"", ""))
    };
    let idle = system("link_speed=\"2.5 GT/s\" link_width=\"16\"");
    let own = answer(&format!(
        "score --machine {idle} --devices 0,1 --model expected"
    ));
    assert!(own["gbps"].is_null(), "{own}");
    assert!(
        own["notes"].to_string().contains("such links mostly idle"),
        "{own}"
    );
    let none = system("link_speed=\"16.0 GT/s\" link_width=\"0\"");
    let own = notes(&format!("--machine {none} --devices 0,1"));
    assert!(own.contains("expected 1 to 64 lanes"), "{own}");
}

#[test]
fn a_speed_that_is_told_is_kept_in_a_machine_file() {
    let folder = Folder::new();
    let topo = topology("two-by-four-x8.derived.txt");
    let told = format!("--machine {topo} --pcie-gbps 50 --p2p on");
    let file = folder.write("told.toml", text(&format!("topo {told} --write toml"), ""));
    let score = |machine: &str| {
        let words = format!("score {machine} --devices 0,1 --operation copy --model expected");
        answer(&words)["gbps"].clone()
    };
    assert!(score(&told).is_f64());
    assert_eq!(score(&format!("--machine {file}")), score(&told));
}

#[test]
fn host_copies_of_amds_test_tell_sockets_apart() {
    let folder = Folder::new();
    let output = folder.write(
        "rbt.txt",
        "          Device: 0,  AMD EPYC 7763 64-Core Processor
          Device: 1,  AMD EPYC 7763 64-Core Processor
          Device: 2,  AMD Instinct MI100,  GPU-c4a4b5,  83:0.0
          Device: 3,  AMD Instinct MI100,  GPU-c4a4b6,  c3:0.0

          Inter-Device Numa Distance

          D/D       0         1         2         3
          0         0         32        20        52
          1         32        0         52        20
          2         20        52        0         15
          3         52        20        15        0

          Unidirectional copy peak bandwidth GB/s

          D/D       0           1           2           3

          0         N/A         N/A         28.349      24.861
          1         N/A         N/A         24.500      28.300
          2         28.200      24.100      770.100     48.902
          3         24.000      28.100      49.920      770.000

          Bidirectional copy peak bandwidth GB/s

          D/D       0           1           2           3

          0         N/A         N/A         43.349      41.861
          1         N/A         N/A         41.500      43.300
          2         43.349      41.500      N/A         97.678
          3         41.861      43.300      97.678      N/A
",
    );
    let rows = folder.path("rows.tsv");
    let fit = folder.path("mine.toml");
    // Rows name a topology: a copy of the catalogue's.
    let machine = folder.write(
        "mi100.toml",
        text("topo --machine mi100-x4 --write toml", ""),
    );
    let own = answer(&format!(
        "measured add {output} --machine {machine} --into {rows} --fit {fit}"
    ));
    let host = |row: &&Value| row["operation"] == "h2d" || row["operation"] == "d2h";
    let added = own["rows"].as_array().unwrap();
    assert_eq!((added.len(), added.iter().filter(host).count()), (12, 8));
    assert!(
        added
            .iter()
            .filter(host)
            .all(|row| number(&row["measured_gbps"]) < 31.5)
    );
    assert!(
        own["left_out"].to_string().contains("8 copies both ways"),
        "{own}"
    );
    let kept = fs::read_to_string(&rows).unwrap();
    let of = |socket: &str| kept.lines().filter(|row| row.contains(socket)).count();
    assert_eq!((of("near socket"), of("far socket")), (4, 4));
    // No part carries more than it can.
    let shares = fs::read_to_string(&fit).unwrap();
    let host = shares.split("use = \"host\"\nvalue = ").nth(1).unwrap();
    let share: f64 = host.split('\n').next().unwrap().parse().unwrap();
    assert!(share < 1.0, "{share}");
    // What is far is asked as far.
    for row in added.iter().filter(|row| row["operation"] == "h2d") {
        let ratio = number(&row["measured_gbps"]) / number(&row["fitted_gbps"]);
        assert!((0.95..1.05).contains(&ratio), "{row}");
    }
    insta::assert_snapshot!(
        error(&format!("measured add {output} --machine {machine} --into {rows} --fit {rows}")),
        @"error: --into and --fit are both FOLDER/rows.tsv: expected two files, one for rows and one for shares"
    );
}

#[test]
fn without_pairs_the_order_is_not_judged() {
    let folder = Folder::new();
    let rows = folder.write(
        "rows.tsv",
        "id\tserver\ttopology\tdevices\toperation\tmetric\tgbps\tproblem\na\ts\tcatalogue dgx-a100\t0-7\tall-reduce\tbusbw\t230\tno\nb\ts\tas above\tGPU0,GPU1\tp2p unidirectional\tGB/s of copy\t270\tno\n",
    );
    let own = answer(&format!("reproduce measured --rows {rows}"));
    let sections = &own["sections"];
    let asked = sections["rows"]["numbers"].as_object().unwrap();
    assert!(
        asked.values().all(|row| row["expected"].is_f64()),
        "{asked:?}"
    );
    let claim = &sections["order"]["claims"][0];
    assert_eq!(claim["verdict"], "cannot be had", "{claim}");
}
