//! The commands as a user or a script runs them: keys, exit statuses, and what people read.

use crate::real_data::real_data;
use std::fs;
use std::path::Path;

use crate::common::{Folder, answer, command, error, no, objects, run, shown, text};
use serde_json::{Value, json};

fn batch(machine: &str, lines: &[Value]) -> (Vec<Value>, i32) {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = run(&format!("allocate --machine {machine} --batch -"), &input);
    (objects(&output), output.status.code().unwrap())
}

const TOPO: &str =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV2\tPIX\t0-7\nGPU1\tNV2\t X \tSYS\t0-7\n";

#[test]
fn topo_gives_the_matrix_in_all_its_forms() {
    let topo = answer("topo --machine dgx-1v");
    assert_eq!(topo["devices"][3]["id"], 3);
    assert_eq!(topo["devices"][3]["name"], "GPU3");
    assert_eq!(
        topo["links"][0],
        json!(["X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"])
    );
    assert_eq!(
        topo["host_links"][0],
        json!(["X", "PIX", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"])
    );
    assert_eq!(
        topo["bandwidth_gbps"][0],
        json!([0.0, 25.0, 25.0, 50.0, 50.0, 12.0, 12.0, 12.0])
    );
    assert_eq!(
        topo["census"][0],
        json!({ "link": "NV2", "pairs": 8, "gbps": 50.0 })
    );
    let printed = text("topo --machine dgx-1v", "");
    assert!(
        printed.contains("GPU0    X    NV1   NV1   NV2   NV2   SYS   SYS   SYS"),
        "{printed}"
    );
    let switched = answer("topo --machine dgx-a100");
    assert_eq!(
        (
            &switched["devices"][0]["direct_links"],
            &switched["devices"][0]["direct_gbps"]
        ),
        (&json!(12), &json!(300.0))
    );
}

#[test]
fn topo_writes_a_machine_file_that_every_command_reads() {
    let file = text("topo --machine dgx-2 --toml", "");
    let again: Value = serde_json::from_str(&text("topo --machine - --json", &file)).unwrap();
    assert_eq!(again, answer("topo --machine dgx-2"));
}

#[test]
fn bandwidths_can_be_set() {
    let topo = answer("topo --machine dgx-1v --pcie-gbps 10 --nvlink-gbps 20");
    assert_eq!(
        topo["bandwidth_gbps"][0],
        json!([0.0, 20.0, 20.0, 40.0, 40.0, 10.0, 10.0, 10.0])
    );
    insta::assert_snapshot!(
        error("topo --machine dgx-1v --pcie-gbps 0"),
        @"error: paths through the host: bandwidth 0 GB/s: expected a positive number, at most 1e9"
    );
    insta::assert_snapshot!(
        error("topo --machine dgx-1v --nvlink-gbps NaN"),
        @"error: direct links: bandwidth NaN GB/s: expected a positive number, at most 1e9"
    );
}

#[test]
fn a_dump_comes_from_standard_input_or_a_file() {
    let output = run("topo --machine - --json", TOPO);
    let topo: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(topo["links"], json!([["X", "NV2"], ["NV2", "X"]]));
    let warning = "line 3: row NIC0 is missing: the links are taken from the devices' rows";
    assert_eq!(topo["warnings"], json!([warning]));
    assert!(String::from_utf8(output.stderr).unwrap().contains(warning));
    let folder = Folder::new();
    let output = command("topo --json --machine")
        .arg(folder.write("two gpus.txt", TOPO))
        .output();
    let topo: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert!(
        topo["name"].as_str().unwrap().ends_with("two gpus"),
        "{topo}"
    );
}

#[test]
fn match_counts_distinct_and_raw() {
    let count = |words: &str| {
        let answer = answer(&format!("match --machine dgx-1v {words}"));
        (
            answer["count"].as_u64().unwrap(),
            answer["complete"].as_bool().unwrap(),
        )
    };
    let rings: Vec<u64> = (2..=8)
        .map(|k| count(&format!("--gpus {k} --pattern ring")).0)
        .collect();
    assert_eq!(rings, [28, 56, 210, 672, 1680, 2880, 2520]);
    assert_eq!(count("--gpus 6 --pattern ring --raw"), (20160, true));
    assert_eq!(
        count("--gpus 3 --pattern all-to-all --min-link nv1"),
        (8, true)
    );
    assert_eq!(count("--gpus 9"), (0, true));
    let (some, complete) = count("--gpus 5 --max-nodes 100");
    assert!(!complete && (1..=100).contains(&some), "{some}");
    assert_eq!(count("--gpus 3 --busy 0,1,2,3,4,5"), (0, true));
    let listed = answer("match --machine dgx-1v --gpus 2 --list 2");
    assert_eq!(listed["matches"], json!([[0, 1], [0, 2]]));
    assert!(text("match --machine dgx-1v --gpus 2 --list 1", "").contains("28 distinct matches"));
}

#[test]
fn match_names_the_best_and_says_what_is_not_complete() {
    let top = answer("match --machine dgx-1v --gpus 3 --top 2");
    let devices = |answer: &Value, i: usize| answer["top"][i]["devices"].clone();
    assert_eq!(
        (devices(&top, 0), &top["top"][0]["scores"]["aggregate_gbps"]),
        (json!([0, 2, 3]), &json!(125.0))
    );
    let gbps = |i: usize| top["top"][i]["scores"]["aggregate_gbps"].as_f64().unwrap();
    assert!(gbps(1) <= gbps(0) && devices(&top, 1) != devices(&top, 0));
    assert_eq!(
        (&top["top_complete"], &top["stopped"], &top["machine"]),
        (&json!(true), &Value::Null, &json!("dgx-1v"))
    );
    assert_eq!(top["bandwidth_model"], "expected_gbps");
    let by_rings = answer("match --machine dgx-1v --gpus 3 --top 2 --model ring-packing");
    assert_eq!(by_rings["bandwidth_model"], "ring_packing_gbps");
    let cut = answer("match --machine dgx-1v --gpus 5 --max-nodes 20 --top 2");
    assert_eq!(
        (&cut["complete"], &cut["top_complete"]),
        (&json!(false), &json!(false))
    );
    assert!(
        cut["stopped"].as_str().unwrap().contains("limit on nodes"),
        "{cut}"
    );
    // Raw rings of nine are counted by classes: 230,630,400 times eighteen.
    let raw = answer("match --machine complete:16 --gpus 9 --raw");
    assert_eq!(
        (&raw["count"], &raw["complete"]),
        (&json!(4_151_347_200u64), &json!(true))
    );
    let (one, two) = (
        answer("match --machine complete:12 --gpus 6"),
        answer("match --machine complete:12 --gpus 6 --threads 2"),
    );
    assert_eq!(one, two);
}

#[test]
fn allocate_names_as_many_of_the_best_as_asked() {
    let three = answer("allocate --machine dgx-1v --gpus 3 --policy greedy --top 3");
    assert_eq!(three["runners_up"].as_array().unwrap().len(), 2);
    assert_eq!(
        answer("allocate --machine dgx-1v --gpus 3 --policy greedy")["runners_up"],
        Value::Null
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --top 0"),
        @"error: --top 0 lists nothing: expected 1 or more"
    );
    let cut = text("allocate --machine dgx-1v --gpus 4 --limit 1 --explain", "");
    assert!(
        cut.contains("Others may be better")
            && cut.contains("No other set of devices was considered"),
        "{cut}"
    );
}

#[test]
fn match_counts_induced_and_up_to_a_limit() {
    let count = |words: &str| {
        let answer = answer(&format!("match --machine dgx-1v {words}"));
        (
            answer["count"].as_u64().unwrap(),
            answer["complete"].as_bool().unwrap(),
        )
    };
    // Every two devices are joined, so that only all-to-all patterns lie there induced.
    assert_eq!(count("--gpus 4 --pattern ring --induced"), (0, true));
    assert_eq!(count("--gpus 3 --pattern ring --induced"), (56, true));
    assert_eq!(count("--gpus 3 --limit 10"), (10, false));
    assert_eq!(count("--gpus 3 --limit 56"), (56, true));
    let said = text("match --machine dgx-1v --gpus 3 --limit 10 --induced", "");
    assert!(
        said.contains("at least 10 induced distinct matches of ring on 3 devices"),
        "{said}"
    );
    assert!(said.contains("the limit on matches was reached"), "{said}");
    let answer = answer("match --machine dgx-1v --gpus 2 --list 5 --limit 2");
    assert_eq!(
        (&answer["induced"], &answer["matches"]),
        (&json!(false), &json!([[0, 1], [0, 2]]))
    );
}

#[test]
fn match_finds_graphs_in_graphs() {
    let folder = Folder::new();
    let square = folder.write("square", "4 4\n0 1\n1 2\n2 3\n0 3\n");
    // A square with a diagonal, and one without beside it.
    let target = folder.write("target", "6 8\n0 1\n1 2\n2 3\n0 3\n0 2\n2 4\n4 5\n3 5\n");
    let words = format!("match --pattern-file {square} --target-file {target}");
    let count = |more: &str| {
        let answer = answer(&format!("{words} {more}"));
        (
            answer["count"].as_u64().unwrap(),
            answer["complete"].as_bool().unwrap(),
        )
    };
    assert_eq!(count(""), (2, true));
    assert_eq!(count("--raw"), (16, true));
    assert_eq!(count("--induced"), (1, true));
    assert_eq!(count("--raw --limit 3"), (3, false));
    assert!(!count("--max-nodes 2").1);
    let listed = answer(&format!("{words} --induced --list 9"));
    assert_eq!(listed["matches"], json!([[2, 3, 5, 4]]));
    for (key, value) in [
        ("distinct", json!(true)),
        ("induced", json!(true)),
        ("count", json!(1)),
    ] {
        assert_eq!(listed[key], value, "{key}");
    }
    assert!(
        listed["nodes"].is_u64() && listed["pattern"].is_string() && listed["target"].is_string()
    );
    let said = text(&format!("{words} --raw --limit 3 --list 1"), "");
    assert!(said.contains("at least 3 raw matches of "), "{said}");
}

#[test]
fn match_names_what_is_wrong_with_graphs() {
    let folder = Folder::new();
    let pair = folder.write("pair", "t 2 1\nv 0 7 1\nv 1 7 1\ne 0 1\n");
    let looped = folder.write("looped", "1 1\n0 0\n");
    let cut = folder.write("cut", "3 2\n0 1\n");
    let files = |a: &str, b: &str| format!("match --pattern-file {a} --target-file {b}");
    insta::assert_snapshot!(
        error(&files(&looped, &pair)),
        @"error: FOLDER/looped: the pattern joins vertex 0 to itself: expected two ends of each edge"
    );
    insta::assert_snapshot!(
        error(&files(&pair, &cut)),
        @"error: FOLDER/cut: line 1: 2 edges announced: expected 1, as many as are given"
    );
    assert_eq!(answer(&files(&pair, &looped))["count"], 0);
    insta::assert_snapshot!(
        error(&format!("{} --machine dgx-1v", files(&pair, &pair))),
        @"error: the argument '--pattern-file <FILE|->' cannot be used with '--machine <NAME|FILE|->'"
    );
    insta::assert_snapshot!(
        error(&format!("{} --gpus 2", files(&pair, &pair))),
        @"error: the argument '--pattern-file <FILE|->' cannot be used with '--gpus <K>'"
    );
    insta::assert_snapshot!(
        error(&format!("{} --pattern ring", files(&pair, &pair))),
        @"error: the argument '--pattern-file <FILE|->' cannot be used with '--pattern <PATTERN>'"
    );
    insta::assert_snapshot!(error(&format!("match --pattern-file {pair}")), @"
    error: the following required arguments were not provided:
      --target-file <FILE|->
    ");
    insta::assert_snapshot!(
        error("match --pattern-file no-such-file --target-file none"),
        @"error: no-such-file: No such file or directory (os error 2)"
    );
    let usage = String::from_utf8(run("match", "").stderr).unwrap();
    assert!(
        usage.contains("--pattern-file <FILE> --target-file <FILE>"),
        "{usage}"
    );
    insta::assert_snapshot!(
        error("match --machine dgx-1v"),
        @"error: expected --machine or --live with --gpus, or --pattern-file and --target-file"
    );
    insta::assert_snapshot!(error("match --gpus 3"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
}

#[test]
fn allocate_answers_with_the_promised_keys() {
    let answer = answer("allocate --machine dgx-1v --gpus 3 --sensitive --explain");
    assert_eq!(answer["devices"], json!([0, 2, 3]));
    assert_eq!(answer["policy"], "auto");
    assert_eq!(
        (&answer["bandwidth_gbps"], &answer["bandwidth_model"]),
        (&json!(45.55), &json!("expected_gbps"))
    );
    assert_eq!(answer["nominal_gbps"], 50.0);
    let [low, high] = ["low_gbps", "high_gbps"].map(|key| answer[key].as_f64().unwrap());
    assert!(low < 45.55 && 45.55 < high, "{answer}");
    assert_eq!(
        answer["links"],
        json!({ "double": 2, "single": 1, "pcie": 0 })
    );
    assert_eq!(answer["scores"]["aggregate_gbps"], 125.0);
    assert!((answer["scores"]["effective_gbps"].as_f64().unwrap() - 57.86).abs() < 0.01);
    assert!(answer["scores"]["preserved_gbps"].is_f64());
    assert_eq!(
        (&answer["complete"], &answer["in_domain"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(answer["environment"]["CUDA_VISIBLE_DEVICES"], "0,2,3");
    assert_eq!(answer["runners_up"].as_array().unwrap().len(), 5);
}

#[test]
fn allocate_prints_the_line_to_paste_and_the_reasons() {
    let printed = text(
        "allocate --machine dgx-1v --gpus 4 --policy preserve --sensitive --busy 0 --explain",
        "",
    );
    assert!(
        printed
            .lines()
            .any(|line| line == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,2,6,5"),
        "{printed}"
    );
    assert!(
        printed.contains("effective_gbps 49.15 against 68.71"),
        "{printed}"
    );
    let numbered = "GPU4 GPU6\nGPU4 X NV1\nGPU6 NV1 X\n";
    let printed = text("allocate --machine - --gpus 2", numbered);
    assert!(
        printed.contains("CUDA_VISIBLE_DEVICES=4,6"),
        "the vendor's numbers, not ours: {printed}"
    );
    let beyond = text(
        "allocate --machine dgx-1v --gpus 8 --policy preserve --sensitive",
        "",
    );
    assert!(
        beyond.contains("was not fitted to placements like this one"),
        "{beyond}"
    );
    assert!(
        beyond.contains("this placement uses 4 host paths, greedy needs 0: 0,3,2,1,5,6,7,4"),
        "{beyond}"
    );
    let five = answer("allocate --machine dgx-1v --gpus 5 --policy preserve --sensitive");
    assert_eq!(
        (&five["in_domain"], five["notes"].as_array().unwrap().len()),
        (&json!(true), 3),
        "{five}"
    );
    assert_eq!(
        five["withheld"]["kept"], false,
        "auto would take better ones"
    );
    let greedy = answer("allocate --machine dgx-1v --gpus 8 --sensitive --policy greedy");
    assert_eq!(greedy["notes"], json!([]));
    assert_eq!(
        (&greedy["in_domain"], &greedy["out_of_domain"]),
        (&json!(false), &json!(["effective_gbps"]))
    );
}

#[test]
fn one_device_has_no_links_and_no_negative_zero() {
    let output = text("allocate --machine dgx-1v --gpus 1 --json", "");
    assert!(output.contains(r#""aggregate_gbps":0.0"#), "{output}");
}

#[test]
fn constraints_are_kept() {
    let devices =
        |words: &str| answer(&format!("allocate --machine dgx-1v {words}"))["devices"].clone();
    assert_eq!(devices("--gpus 2 --must-include 5,GPU6"), json!([5, 6]));
    assert_eq!(
        devices("--gpus 2 --policy lowest-id --avoid 0,1"),
        json!([2, 3])
    );
    assert_eq!(
        devices("--gpus 2 --policy lowest-id --min-link nv2"),
        json!([0, 3])
    );
    assert_eq!(
        devices("--gpus 4 --policy lowest-id --busy 0 --same-numa"),
        json!([4, 5, 6, 7])
    );
    assert_eq!(
        devices("--gpus 2 --pattern 0-1:3.5 --policy greedy"),
        json!([0, 3])
    );
}

#[test]
fn numbers_that_mean_two_devices_are_refused_on_the_command_line_and_are_ids_in_a_batch() {
    let dump = "GPU0 GPU2 GPU5\nGPU0 X SYS SYS\nGPU2 SYS X SYS\nGPU5 SYS SYS X\n";
    let output = run("allocate --machine - --gpus 1 --busy 2", dump);
    let stderr = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(
        stderr,
        @"error: `2` can mean id 2 (GPU5) or the vendor's number 2 (GPU2): expected a name"
    );
    let printed = text("allocate --machine - --gpus 1 --busy GPU0,GPU2", dump);
    assert!(printed.contains("CUDA_VISIBLE_DEVICES=5"), "{printed}");
    let folder = Folder::new();
    let path = folder.write("gaps.txt", dump);
    let (answers, _) = batch(
        &path,
        &[json!({ "op": "allocate", "id": 7, "gpus": 1, "available": [2] })],
    );
    assert_eq!(
        (&answers[0]["devices"], &answers[0]["id"]),
        (&json!([2]), &json!(7))
    );
}

#[test]
fn topo_aware_names_runners_up_from_the_whole_machine() {
    let answer = answer("allocate --machine dgx-1v --gpus 2 --policy topo-aware --explain");
    let others = answer["runners_up"].as_array().unwrap();
    assert_eq!((others.len(), &others[0]["devices"]), (5, &json!([0, 2])));
    assert_eq!(others[0]["lost_on"], "closeness in the host tree");
    let lowest = self::answer("allocate --machine dgx-1v --gpus 2 --policy lowest-id --explain");
    assert!(
        lowest["runners_up"]
            .as_array()
            .unwrap()
            .iter()
            .all(|other| other["lost_on"] == "ids"),
        "{lowest}"
    );
}

#[test]
fn what_is_malformed_is_not_hidden_by_what_is_infeasible() {
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 9 --must-include 77"),
        @"error: no single device is called `77`: expected an id below 8, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 9 --pattern 0-0"),
        @"error: edge 0 joins vertex 0 to itself: no device talks to itself"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 99999 --pattern 0-1,x-1"),
        @"error: pattern edge `x-1`: expected A-B or A-B:TRAFFIC"
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 99999 --pattern 0-1 --json").0["refusal"],
        "infeasible"
    );
}

#[test]
fn a_batch_in_json_answers_each_line_once_and_names_are_texts_or_numbers() {
    let input = "nonsense\n{\"op\":\"allocate\",\"id\":\"1\",\"gpus\":2}\n{\"op\":\"release\",\"id\":1}\n\
                 {\"op\":\"allocate\",\"id\":5000000000,\"gpus\":2,\"available\":[5000000000]}\n";
    let output = run("allocate --machine dgx-1v --batch - --json", input);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), output.status.code()), (4, Some(2)));
    assert_eq!(
        (&lines[1]["notes"], &lines[2]["ok"], &lines[3]["ok"]),
        (&json!([]), &json!(true), &json!(false))
    );
}

#[test]
fn same_numa_without_numa_data_says_so() {
    let output = run(
        "allocate --machine - --gpus 2 --same-numa --json",
        "GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n",
    );
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("the machine's description names no NUMA node")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error_but_a_reader_that_has_seen_enough_is_not() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = command("machines").stdout(full).status();
    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn the_variants_of_preserve_are_named() {
    let printed = answer("allocate --machine dgx-1v --gpus 3 --sensitive --model paper-printed");
    let score = |name: &str| printed["scores"][name].as_f64().unwrap();
    assert!((score("effective_printed_gbps") - score("effective_gbps")).abs() < 0.02);
    let direct = answer(
        "allocate --machine dgx-1v --gpus 3 --sensitive=false --policy preserve --preserved direct",
    );
    assert!(direct["scores"]["preserved_direct_gbps"].is_f64());
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --policy greedy --preserved direct"),
        @"error: --preserved is for the policy preserve, not greedy: expected --policy preserve, or no --preserved"
    );
}

#[test]
fn refusals_are_one_object_with_status_3_in_every_form() {
    let (object, status) = no("allocate --machine dgx-1v --gpus 9 --json");
    let reason = "9 devices are wanted, the request and the machine allow 8";
    assert_eq!(
        (object, status),
        (
            json!({ "schema": 1, "refusal": "infeasible", "reason": reason }),
            3
        )
    );
    let (object, status) = no("allocate --machine dgx-1v --gpus 9");
    assert_eq!(
        (object["refusal"].as_str(), status),
        (Some("infeasible"), 3)
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 0 --json").0["refusal"],
        "infeasible"
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 2 --busy 0,1,2,3,4,5,6 --json").0["refusal"],
        "busy"
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 5 --pattern all-to-all --min-link nv1 --json").0["refusal"],
        "infeasible"
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 5 --max-nodes 3 --json").0["refusal"],
        "limit_reached"
    );
    assert_eq!(
        no("allocate --machine dgx-1v --gpus 60000 --pattern all-to-all --json").1,
        3
    );
}

#[test]
fn malformed_requests_have_status_2_and_say_what_was_expected() {
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --must-include 1 --avoid 1"),
        @"error: the request contradicts itself: device 1 must be both included and avoided"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 1 --must-include 1,2"),
        @"error: the request contradicts itself: 2 devices must be included, the job has 1"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --busy 9"),
        @"error: no single device is called `9`: expected an id below 8, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --pattern blob"),
        @"error: no pattern is called `blob`: expected ring, chain, star, tree, all-to-all or ring-tree, independent, or edges such as 0-1,1-2"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --pattern 0-1,1-1"),
        @"error: edge 1 joins vertex 1 to itself: no device talks to itself"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --pattern 0-1,1-7"),
        @"error: edge 1 (1-7) leaves the pattern: expected vertices below 3"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --pattern 0-1:x"),
        @"error: pattern edge `0-1:x`: expected A-B or A-B:TRAFFIC"
    );
    insta::assert_snapshot!(error("allocate --machine dgx-1v --gpus 3 --policy best"), @"
    error: invalid value 'best' for '--policy <POLICY>'
      [possible values: auto, lowest-id, topo-aware, ..

      tip: a similar value exists: 'rocm-best-effort'
    ");
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus -3"),
        @"error: invalid value '-3' for '--gpus <K>': invalid digit found in string"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --min-link nv0"),
        @"error: unknown link `nv0`: expected NV#, PIX, PXB, PHB, NODE or SYS"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-9 --gpus 3"),
        @"error: no machine is called `dgx-9` (did you mean dgx-2, dgx-1p or dgx-1v?): expected a name that `mapa-bench machines` lists, or complete:N, ring:N[@GB/s], torus:A[xB[xC]][@GB/s], mesh:A[xB[xC]][@GB/s], hypercube:D[@GB/s], fleet:K[@GB/s]xMACHINE, a file, or - for standard input"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v"),
        @"error: --gpus <K>: expected how many devices the job needs, unless the pattern implies it, such as --pattern tp=4,pp=2,dp=1 or a pattern file"
    );
    insta::assert_snapshot!(
        error("allocate --machine - --gpus 3"),
        @"error: -: the text is empty: expected the output of a vendor's tool"
    );
    let (object, status) = no("allocate --machine dgx-9 --gpus 3 --json");
    assert!(object["error"].as_str().unwrap().contains("dgx-9") && status == 2);
}

#[test]
fn a_batch_keeps_its_state_between_lines() {
    let (answers, status) = batch(
        "dgx-1v",
        &[
            json!({ "op": "allocate", "id": "a", "gpus": 3, "pattern": "ring", "policy": "preserve", "sensitive": true }),
            json!({ "op": "allocate", "id": "b", "gpus": 5 }),
            json!({ "op": "allocate", "id": "c", "gpus": 1 }),
            json!({ "op": "show" }),
            json!({ "op": "release", "id": "a" }),
            json!({ "op": "allocate", "id": "c", "gpus": 2, "policy": "lowest-id", "available": [3, "GPU2", 7] }),
            json!({ "op": "allocate", "id": "d", "gpus": 1, "must_include": [0] }),
            json!({ "op": "reset" }),
            json!({ "op": "show" }),
            json!({ "op": "allocate", "id": "a", "gpus": 9 }),
        ],
    );
    assert_eq!((answers.len(), status), (10, 0));
    for (i, devices) in [(0, json!([0, 2, 3])), (5, json!([2, 3])), (6, json!([0]))] {
        assert_eq!(answers[i]["devices"], devices);
        for key in ["policy", "links", "scores", "complete"] {
            assert!(!answers[i][key].is_null(), "{key}: {}", answers[i]);
        }
    }
    assert_eq!(
        (&answers[2]["refusal"], &answers[2]["id"]),
        (&json!("busy"), &json!("c"))
    );
    assert_eq!(answers[9]["refusal"], "infeasible");
    assert_eq!(
        (&answers[3]["ok"], &answers[3]["free"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(
        answers[3]["held"][0],
        json!({ "id": "a", "placement": [0, 2, 3] })
    );
    assert_eq!(
        (&answers[4]["op"], &answers[4]["ok"]),
        (&json!("release"), &json!(true))
    );
    assert_eq!(
        (&answers[7]["op"], &answers[7]["ok"]),
        (&json!("reset"), &json!(true))
    );
    assert_eq!(answers[8]["free"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
    for i in [3, 4, 7, 8] {
        assert!(
            answers[i].get("devices").is_none() && answers[i].get("refusal").is_none(),
            "{}",
            answers[i]
        );
    }
}

#[test]
fn available_is_all_that_is_free_for_its_line() {
    // Of what is available, 3 and 4 are best left together: preserved bandwidth must not count the
    // others.
    let (answers, _) = batch(
        "dgx-1v",
        &[json!({ "op": "allocate", "id": 1, "gpus": 1, "available": [0, 3, 5] })],
    );
    assert_eq!(answers[0]["devices"], json!([5]));
    assert_eq!(answers[0]["scores"]["preserved_gbps"], 50.0);
}

#[test]
fn malformed_batch_lines_are_answered_and_counted() {
    let input = "{\"op\":\"release\",\"id\":\"x\"}\n\nnonsense\n{\"op\":\"allocate\",\"id\":\"a\",\"gpus\":2}\n{\"op\":\"allocate\",\"id\":\"a\",\"gpus\":2}\n{\"op\":\"allocate\",\"id\":\"b\",\"gpus\":2,\"policy\":\"best\"}\n{\"op\":\"dance\"}\n{\"op\":\"allocate\",\"id\":\"b\",\"gpu\":2}\n\u{fffd}\n{\"op\":\"allocate\",\"id\":\"b\",\"gpus\":1,\"available\":[99]}";
    let output = run("allocate --machine dgx-1v --batch -", input);
    assert_eq!(output.status.code(), Some(2));
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 9, "one for every line that is not blank");
    assert_eq!(
        (&lines[0]["id"], &lines[0]["op"], &lines[3]["id"]),
        (&json!("x"), &json!("release"), &json!("a"))
    );
    let error = |i: usize| lines[i]["error"].as_str().unwrap_or_default();
    insta::assert_snapshot!(
        error(0),
        @"line 1: `x` has no lease: it was never allocated, or has been released"
    );
    insta::assert_snapshot!(error(1), @"line 3: expected ident, at column 2");
    assert!(lines[2]["devices"].is_array());
    insta::assert_snapshot!(error(3), @"line 5: `a` has a lease already: release it first");
    insta::assert_snapshot!(
        shown(error(4)),
        @"line 6: no policy is called `best`: expected one of auto, lowest-id, topo-aware, .."
    );
    insta::assert_snapshot!(
        error(5),
        @"line 7: unknown variant `dance`, expected one of `allocate`, `release`, `reset`, `show`, at column 13"
    );
    insta::assert_snapshot!(
        error(6),
        @"line 8: unknown field `gpu`, expected one of `id`, `gpus`, `pattern`, `bytes`, `policy`, `sensitive`, `available`, `must_include`, `avoid`, `min_link`, `like`, `same_numa`, `slice`, `nics`, `nic_within`, `nic_for`, `model`"
    );
    insta::assert_snapshot!(
        error(8),
        @"line 10: no single device is called `99`: expected an id below 8, or a name, UUID or PCI address"
    );
    assert!(lines.iter().all(|line| line.get("refusal").is_none()));
}

#[test]
fn compare_shows_every_policy_and_their_refusals() {
    let answer = answer("compare --machine dgx-1v --gpus 2 --busy 1,2,3,4,6,7 --sensitive");
    let policies = answer["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 11);
    let named = |name: &str| policies.iter().find(|p| p["policy"] == name).unwrap();
    assert_eq!(named("preserve")["devices"], json!([0, 5]));
    assert_eq!(named("preserve-released")["refusal"], "busy");
    let table = text("compare --machine dgx-1v --gpus 3", "");
    assert!(table.contains("| topo-aware "), "{table}");
}

#[test]
fn machines_lists_the_catalogue_and_each_can_be_shown() {
    let list = answer("machines");
    for machine in list["machines"].as_array().unwrap() {
        let topo = answer(&format!(
            "topo --machine {}",
            machine["name"].as_str().unwrap()
        ));
        assert_eq!(
            topo["devices"].as_array().unwrap().len() as u64,
            machine["devices"].as_u64().unwrap()
        );
    }
    assert!(text("machines", "").contains("dgx-1v"));
}

/// The released code's decisions once more, through the batch form.
#[test]
fn the_batch_form_reaches_the_released_decisions() {
    let Some(data) = real_data() else {
        return;
    };
    let oracle: Value =
        serde_json::from_slice(&std::fs::read(data.join("oracle/mapa_original.json")).unwrap())
            .unwrap();
    let decisions = oracle["decisions"].as_array().unwrap();
    let of = |arch: &str| {
        decisions
            .iter()
            .filter(move |d| d["arch"] == arch)
            .cloned()
            .collect::<Vec<_>>()
    };
    for (arch, machine) in [
        ("dgx-v", "dgx-1v"),
        ("dgx-p", "dgx-1p"),
        ("summit", "summit"),
    ] {
        let recorded = of(arch);
        let mut lines = Vec::new();
        for (i, d) in recorded.iter().enumerate() {
            let n = if arch == "summit" { 6 } else { 8 };
            let busy: Vec<u64> = d["busy_before"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_u64)
                .collect();
            let available: Vec<u64> = (1..=n)
                .filter(|id| !busy.contains(id))
                .map(|id| id - 1)
                .collect();
            let policy = match d["policy"].as_str().unwrap() {
                "baseline" => "lowest-id",
                "topoAware" => "topo-aware-released",
                "greedy" => "greedy",
                _ => "preserve-released",
            };
            lines.push(json!({
                "op": "allocate", "id": i, "gpus": d["size"], "policy": policy, "sensitive": d["bw_sensitive"],
                "available": available,
            }));
            lines.push(json!({ "op": "reset" }));
        }
        let (answers, status) = batch(&format!("{machine} --pcie-gbps 10"), &lines);
        assert_eq!((answers.len(), status), (lines.len(), 0));
        for (d, answer) in recorded.iter().zip(answers.iter().step_by(2)) {
            let sensitive = d["bw_sensitive"] == true && d["size"].as_u64() > Some(1);
            let (theirs, ours) = match d["policy"].as_str().unwrap() {
                "preserve" if sensitive => {
                    (&d["predicted_bw"], &answer["scores"]["effective_gbps"])
                }
                "preserve" => continue,
                _ => (&d["agg_bw_lastScore"], &answer["scores"]["aggregate_gbps"]),
            };
            assert!(
                (theirs.as_f64().unwrap() - ours.as_f64().unwrap()).abs() < 1e-3,
                "{d}: {answer}"
            );
        }
    }
}

/// The commands of these pages print what the pages say.
#[test]
fn pages_show_what_commands_print() {
    let pages = [
        (
            include_str!("../../../docs/device-plugin-policies.md"),
            "docs/device-plugin-policies.md",
            1,
        ),
        (include_str!("../../../docs/defrag.md"), "docs/defrag.md", 2),
        (
            include_str!("../../../docs/expected-bandwidth.md"),
            "docs/expected-bandwidth.md",
            1,
        ),
    ];
    for (page, name, expected) in pages {
        let blocks: Vec<&str> = page.split("\n```console\n$ mapa-bench ").skip(1).collect();
        assert_eq!(blocks.len(), expected, "{name}");
        for block in blocks {
            let (words, rest) = block.split_once('\n').unwrap();
            let (told, _) = rest.split_once("\n```").unwrap();
            assert_eq!(text(words, "").trim_end(), told, "{name}: {words}");
        }
    }
}

/// The first words of the page's block of this language that begins with `start`.
fn block<'p>(page: &'p str, language: &str, start: &str) -> &'p str {
    let fence = format!("\n```{language}\n");
    let mut blocks = page.split(fence.as_str()).skip(1);
    let found = blocks.find(|block| block.starts_with(start));
    found.unwrap().split("\n```").next().unwrap()
}

/// The devices, the bandwidth and the links that pages print for an allocation are those of today.
#[test]
fn pages_show_the_bandwidth_that_allocate_prints() {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let input = |name: &str| {
        root.join("mapa-patterns/tests")
            .join(name)
            .display()
            .to_string()
    };
    let (jacobi, layer, log) = (
        input("programs/jacobi.c"),
        input("programs/layer.cpp"),
        input("logs/tp2-dp2.log"),
    );
    let counters = page("docs/patterns-from-counters.md");
    let counters = block(&counters, "toml", "format = \"mapa-pattern\"");
    folder.write("counters.toml", counters);
    let exchange = page("docs/pattern-file.md");
    let exchange = block(&exchange, "toml", "format = \"mapa-pattern\"");
    // Without labels and notes, as the page says.
    let lines = exchange.split("[[notes]]").next().unwrap().lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("labels")).collect();
    folder.write("exchange.toml", lines.join("\n"));
    for words in [
        format!("pattern from-source {jacobi} --gpus 4 --output jacobi.toml"),
        "pattern show jacobi.toml --fast-seconds 100 --slow-seconds 102 --output jacobi.toml"
            .to_owned(),
        format!("pattern from-source {layer} --gpus 5 --output layer.toml"),
        format!("pattern from-nccl {log} --output log.toml"),
        format!("pattern from-nccl {log} --steps 2 --output job.toml"),
    ] {
        folder.text(&words);
    }
    let degrees = "--pattern tp=4,pp=2 --bytes tp=2e9,pp=1e8 --policy min-step-time";
    for (name, words) in [
        ("README.md", "--gpus 3 --busy 0,1"),
        ("docs/training-jobs.md", degrees),
        ("docs/patterns.md", "--busy 0 --pattern jacobi.toml"),
        (
            "docs/patterns.md",
            "--busy 0 --pattern jacobi.toml --policy lowest-id",
        ),
        (
            "docs/patterns.md",
            "--busy 0 --pattern log.toml --policy min-step-time",
        ),
        (
            "docs/patterns-from-counters.md",
            "--busy 0 --pattern counters.toml",
        ),
        (
            "docs/patterns-from-nccl.md",
            "--pattern job.toml --policy min-step-time",
        ),
        ("docs/patterns-from-source.md", "--pattern layer.toml"),
        ("docs/pattern-file.md", "--busy 0 --pattern exchange.toml"),
    ] {
        let machine = match name {
            "docs/patterns-from-counters.md" => "dgx-1p",
            _ => "dgx-1v",
        };
        let printed = folder.text(&format!("allocate --machine {machine} {words}"));
        // Pages are written where the programs are.
        let printed = printed.replace(&input("programs/"), "");
        let from = printed.find("devices ").unwrap();
        let to = printed.find("\nlinks ").unwrap();
        let shown = &printed[from..to];
        let page = page(name);
        let Some((_, rest)) = page.split_once(shown) else {
            panic!("{name}: expected\n{shown}");
        };
        // What follows may be cut, but shows nothing that is not printed.
        for line in rest.lines().take_while(|line| !line.starts_with("```")) {
            assert!(
                line.starts_with("...") || printed.contains(line),
                "{name}: {line}\n{printed}"
            );
        }
    }
}

#[test]
fn defrag_takes_what_the_batch_form_shows_and_says_why_there_is_no_plan() {
    let jobs = r#"{"op":"allocate","id":"a","gpus":2,"policy":"lowest-id"}
        {"op":"allocate","id":4,"gpus":1,"available":[4],"pattern":"independent"}
        {"op":"allocate","id":"c","gpus":1,"available":[6]}
        {"op":"show"}"#;
    let shown = text("allocate --machine dgx-1v --batch -", jobs);
    let state = shown.lines().last().unwrap();
    let words = "defrag --machine dgx-1v --state - --want 4 --json";
    let plan: Value = serde_json::from_str(&text(words, state)).unwrap();
    assert_eq!(plan["moves"][0]["id"], "a");
    assert_eq!(plan["moves"][0]["from"]["devices"], json!([0, 1]));
    assert_eq!(
        (&plan["jobs_moved"], &plan["devices_moved"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(plan["target"]["devices"], json!([0, 1, 2, 3]));
    assert_eq!(plan["wanted"]["idle"], plan["target"]["score"]);
    let already: Value =
        serde_json::from_str(&text(&format!("{words} --at-least 10"), state)).unwrap();
    assert_eq!(already["moves"], json!([]));
    assert!(
        text(
            "defrag --machine dgx-1v --job a=0,1 --want 2 --at-least 50",
            ""
        )
        .contains("Nothing to move: 50 on ")
    );
    let (refused, status) =
        no("defrag --machine dgx-1v --job a=0,1 --job b=4 --job c=6 --pin a,b --want 4 --json");
    assert_eq!((status, &refused["refusal"]), (3, &json!("infeasible")));
    let (refused, status) =
        no("defrag --machine dgx-1v --job a=0,1 --job b=4 --job c=6 --want 4 --max-nodes 1 --json");
    assert_eq!((status, &refused["refusal"]), (3, &json!("limit_reached")));
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --job a=0,1 --job b=1"),
        @"error: job `b`: not met: rank 0 is on device 1, which is not available"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --job a=0 --job a=1"),
        @"error: job `a` is given twice: expected distinct names"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --job a"),
        @"error: job `a`: expected ID=[SERVER/]DEVICES[:SHAPE]"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --servers 2 --job a=2/0"),
        @"error: job `a`: there is no server 2: expected 0 to 1"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --job a=0 --pin b --want 2"),
        @"error: --pin b: no job has this name"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --want 9"),
        @"error: --want 9: even the idle machine has no room for it: expected fewer devices or another shape"
    );
    insta::assert_snapshot!(
        error("defrag --machine dgx-1v --want 2 --may-lose 2"),
        @"error: --may-lose 2: expected a share from 0 to 1"
    );
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&format!("completions {shell}"), "");
        assert!(
            script.contains("allocate")
                && script.contains("max-bandwidth")
                && script.contains("contention"),
            "{shell}"
        );
    }
    let folder = Folder::new();
    folder.text("man --into pages");
    let page = std::fs::read_to_string(folder.at("pages/mapa-bench-allocate.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("policy"), "{page}");
    assert!(folder.at("pages/mapa-bench.1").exists());
    // A command that a system brings.
    #[cfg(feature = "slo")]
    assert!(folder.at("pages/mapa-bench-slo-replay.1").exists());
}

#[test]
fn machines_are_listed_by_words_in_any_case() {
    let found = answer("machines h100 Azure");
    let names: Vec<&str> = found["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["azure-ndv5"]);
    assert!(text("machines torus formula", "").contains("torus:A"));
    assert!(text("machines toaster", "").starts_with("No machine has the words toaster"));
}

#[test]
fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
    let said = [
        "topo --machine dgx1v",
        "allocate --machine dgx-1v --gpus 2 --policy presrve",
        "allocate --machine dgx-1v --gpus 2 --model ring-packin",
        "simulate --machine dgx-1v --scheduler easy-backfil",
        "simulate --machine dgx-1v --policy greddy",
        "simulate --machine dgx-1v --execution fixd",
        "alocate --machine dgx-1v",
    ]
    .map(|words| format!("{words}\n{}", error(words)));
    insta::assert_snapshot!(said.join("\n"), @"
    topo --machine dgx1v
    error: no machine is called `dgx1v` (did you mean dgx-1v, dgx-1p or dgx-a100?): expected a name that `mapa-bench machines` lists, or complete:N, ring:N[@GB/s], torus:A[xB[xC]][@GB/s], mesh:A[xB[xC]][@GB/s], hypercube:D[@GB/s], fleet:K[@GB/s]xMACHINE, a file, or - for standard input
    allocate --machine dgx-1v --gpus 2 --policy presrve
    error: invalid value 'presrve' for '--policy <POLICY>'
      [possible values: auto, lowest-id, topo-aware, ..

      tip: a similar value exists: 'preserve'
    allocate --machine dgx-1v --gpus 2 --model ring-packin
    error: no model is called `ring-packin`, and no file (did you mean ring-packing?): expected paper, paper-printed, ring-packing, .., or a coefficient file, or a file of shares
    simulate --machine dgx-1v --scheduler easy-backfil
    error: no scheduler is called `easy-backfil` (did you mean easy-backfill?): expected fifo, easy-backfill, conservative-backfill, ..
    simulate --machine dgx-1v --policy greddy
    error: no policy is called `greddy` (did you mean greedy?): expected one of auto, lowest-id, topo-aware, ..
    simulate --machine dgx-1v --execution fixd
    error: no execution model is called `fixd` (did you mean fixed?)
    alocate --machine dgx-1v
    error: unrecognized subcommand 'alocate'

      tip: a similar subcommand exists: 'allocate'
    ");
}

/// The default machine: of the environment, then of the configuration file; a named one wins.
#[test]
fn a_default_machine_is_taken_where_none_is_named() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.at("config/mapa")).unwrap();
    folder.write("config/mapa/config.toml", "machine = \"summit\"\n");
    let run = |words: &str, variable: Option<&str>| {
        let mut command = folder.command(words);
        command
            .env("XDG_CONFIG_HOME", folder.at("config"))
            .env_remove("MAPA_MACHINE");
        if let Some(machine) = variable {
            command.env("MAPA_MACHINE", machine);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    assert!(run("topo", None).starts_with("summit:"));
    assert!(run("topo", Some("dgx-2")).starts_with("dgx-2:"));
    assert!(run("topo --machine frontier", Some("dgx-2")).starts_with("frontier:"));
    assert!(run("simulate --servers 2xdgx-1v --generate mapa,jobs=3", None).contains("2 servers"));
    folder.write("config/mapa/config.toml", "machin = \"summit\"\n");
    let wrong = run("topo", None);
    insta::assert_snapshot!(
        shown(&wrong),
        @"error: FOLDER/config/mapa/config.toml: unknown field `machin`, expected `machine`"
    );
}

/// Help is written by hand; the registries know which names there are.
#[test]
fn help_has_every_name() {
    let names = mapa_front::Names::built_in();
    let simulate = text("simulate --help", "");
    let schedulers = names.schedulers.iter().map(|row| row.name.to_string());
    let executions = names.executions.iter().map(|row| row.name.to_string());
    for name in schedulers.chain(executions) {
        assert!(simulate.contains(&name), "simulate --help: {name}");
    }
    let allocate = text("allocate --help", "");
    for row in names.policies.iter() {
        assert!(
            allocate.contains(&*row.name),
            "allocate --help: {}",
            row.name
        );
    }
    let score = text("score --help", "");
    for row in names.models.iter() {
        assert!(score.contains(&*row.name), "score --help: {}", row.name);
    }
}
