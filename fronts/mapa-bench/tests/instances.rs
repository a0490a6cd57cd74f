//! MIG instances on the command line: what can be cut up, what is, and jobs on the pieces.

use crate::common::{answer, error, no, run, text};
use serde_json::{Value, json};

const SEVENTHS: &str = "--machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g";
const MIXED: &str = "--machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g";

/// Runs a command on a machine file given on standard input.
fn on_file(words: &str, file: &str) -> Value {
    serde_json::from_str(&text(&format!("{words} --machine - --json"), file)).unwrap()
}

/// Two GPUs, the first of which can be cut up so.
fn machine_file(mig: &str) -> String {
    format!(
        "format = \"mapa-machine\"\nversion = 1\nname = \"two\"\n\
         nodes = [{{ name = \"cpu0\", kind = \"numa\", number = 0 }}]\n\
         devices = [{{ name = \"GPU0\", up = \"cpu0\", mig = {mig} }}, {{ name = \"GPU1\", up = \"cpu0\" }}]\n"
    )
}

#[test]
fn topo_shows_whole_devices_and_how_they_are_cut_up() {
    let plain = answer("topo --machine dgx-a100");
    assert!(
        plain["devices"]
            .as_array()
            .unwrap()
            .iter()
            .all(|d| d["mig"].is_null() && d["layout"].is_null())
    );
    assert!(!text("topo --machine dgx-a100", "").contains("MIG"));
    let whole = answer("topo --machine dgx-a100 --mig a100-40gb");
    for key in ["links", "host_links", "bandwidth_gbps", "census"] {
        assert_eq!(whole[key], plain[key], "{key}");
    }
    assert_eq!(whole["devices"].as_array().unwrap().len(), 8);
    assert_eq!(
        (&whole["devices"][7]["mig"], &whole["devices"][7]["layout"]),
        (&json!("a100-40gb"), &json!(null))
    );
    assert_eq!(
        whole["notes"].as_array().unwrap().last(),
        Some(&json!(
            "Set by option: every device has the MIG profiles of a100-40gb."
        ))
    );
    let cut = answer(&format!("topo {MIXED}"));
    assert_eq!(cut["links"], plain["links"]);
    let instance = |profile: &str, start: u8| json!({ "profile": profile, "start": start });
    let layout = [
        instance("1g.5gb", 0),
        instance("1g.5gb", 1),
        instance("2g.10gb", 2),
        instance("3g.20gb", 4),
    ];
    assert_eq!(cut["devices"][3]["layout"], json!(layout));
    let printed = text(&format!("topo {MIXED}"), "");
    let row = "|  7 | GPU7   |    5 |           12 |         300 |           2100 | a100-40gb: 1g.5gb@0 1g.5gb@1 2g.10gb@2 3g.20gb@4 |";
    assert!(printed.lines().any(|line| line == row), "{printed}");
    assert!(text("topo --machine dgx-a100 --mig a100-40gb", "").contains("| a100-40gb: whole |"));
}

#[test]
fn a_machine_file_says_what_can_be_cut_up_and_round_trips() {
    let file = machine_file(r#"{ gpu = "a30", media = true }"#);
    let topo = on_file("topo", &file);
    assert_eq!(
        (&topo["devices"][0]["mig"], &topo["devices"][1]["mig"]),
        (&json!("a30"), &json!(null))
    );
    let printed = text("topo --machine -", &file);
    assert!(
        printed.contains("| a30: whole |\n") && printed.contains("| -          |\n"),
        "{printed}"
    );
    let written = text("topo --machine - --toml", &file);
    assert_eq!(on_file("topo", &written), topo);
    let output = run(&format!("topo {MIXED} --toml"), "");
    insta::assert_snapshot!(
        String::from_utf8(output.stderr).unwrap(),
        @"warning: only pictures show the MIG layout of devices: it is left out"
    );
    let again = String::from_utf8(output.stdout).unwrap();
    assert!(
        again.contains("mig = \"a100-40gb\"") && !again.contains('@'),
        "{again}"
    );
}

#[test]
fn jobs_on_whole_devices_are_answered_as_if_nothing_could_be_cut_up() {
    for words in [
        "allocate --machine dgx-1v --gpus 3 --sensitive --explain",
        "allocate --machine dgx-1v --gpus 2 --busy 0,5 --policy topo-aware",
        "compare --machine dgx-1v --gpus 4 --busy 0 --sensitive=false",
        "match --machine dgx-1v --gpus 3 --list 5 --busy GPU7",
    ] {
        // Foresight looks ahead where nothing can be cut up, and says what that is worth; else it
        // decides as preserve.
        let mut plain = answer(words);
        for policy in plain
            .get_mut("policies")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            policy["scores"]
                .as_object_mut()
                .unwrap()
                .remove("foresight_gbps");
        }
        assert_eq!(
            answer(&format!("{words} --mig a100-40gb")),
            plain,
            "{words}"
        );
        assert_eq!(
            text(&format!("{words} --mig a100-40gb"), ""),
            text(words, ""),
            "{words}"
        );
    }
    let words = "allocate --machine dgx-1v --gpus 8 --busy 0 --json";
    assert_eq!(no(&format!("{words} --mig a100-40gb")), no(words));
}

#[test]
fn whole_devices_have_names_too() {
    let chosen = answer("allocate --machine dgx-1v --gpus 3 --sensitive --explain");
    assert_eq!(chosen["names"], json!(["GPU0", "GPU2", "GPU3"]));
    assert!(
        chosen["runners_up"]
            .as_array()
            .unwrap()
            .iter()
            .all(|other| other["names"].as_array().unwrap().len() == 3)
    );
    let compared = answer("compare --machine dgx-1v --gpus 2");
    assert_eq!(compared["policies"][1]["names"], json!(["GPU0", "GPU1"]));
}

#[test]
fn a_job_on_instances_is_answered_with_ids_names_and_no_numbers_for_cuda() {
    let words = format!(
        "allocate {SEVENTHS} --slice 1g --gpus 4 --pattern independent --policy packed --explain"
    );
    let packed = answer(&words);
    assert_eq!(packed["devices"], json!([8, 9, 10, 11]));
    assert_eq!(
        packed["names"],
        json!([
            "GPU0/1g.5gb@0",
            "GPU0/1g.5gb@1",
            "GPU0/1g.5gb@2",
            "GPU0/1g.5gb@3"
        ])
    );
    assert_eq!(packed["environment"], json!(null));
    assert_eq!(
        packed["links"],
        json!({ "double": 0, "single": 0, "pcie": 0 })
    );
    assert_eq!(
        packed["scores"],
        json!({ "tenants there": 0.0, "devices used": 1.0 })
    );
    assert_eq!(
        (&packed["complete"], &packed["policy"]),
        (&json!(true), &json!("packed"))
    );
    let other = &packed["runners_up"][0];
    assert_eq!(
        other["names"],
        json!([
            "GPU1/1g.5gb@0",
            "GPU1/1g.5gb@1",
            "GPU1/1g.5gb@2",
            "GPU1/1g.5gb@3"
        ])
    );
    let printed = text(&words, "");
    for line in [
        "devices   GPU0/1g.5gb@0, GPU0/1g.5gb@1, GPU0/1g.5gb@2, GPU0/1g.5gb@3 in rank order",
        "Set CUDA_VISIBLE_DEVICES of each rank's process to the MIG UUID of its instance: see nvidia-smi -L",
        "| 1 | GPU0/1g.5gb@0,GPU0/1g.5gb@1,GPU0/1g.5gb@2,GPU0/1g.5gb@3 |    - | none  | chosen                  |",
    ] {
        assert!(
            printed.lines().any(|other| other == line),
            "{line}\n{printed}"
        );
    }
    assert!(!printed.contains("CUDA_VISIBLE_DEVICES="), "{printed}");
}

#[test]
fn tenants_count_for_the_policies_that_ask() {
    let names = |words: &str| answer(&format!("allocate {words}"))["names"].clone();
    let two = format!("{SEVENTHS} --slice 1g --gpus 2 --pattern independent");
    assert_eq!(
        names(&format!("{two} --policy packed --busy GPU3/1g.5gb@0")),
        json!(["GPU3/1g.5gb@1", "GPU3/1g.5gb@2"])
    );
    assert_eq!(
        names(&format!(
            "{two} --policy distributed --busy GPU0/1g.5gb@6,GPU2"
        )),
        json!(["GPU1/1g.5gb@0", "GPU3/1g.5gb@0"]),
        "GPU2 stands for all its instances"
    );
    assert_eq!(
        names(&format!(
            "{two} --policy lowest-id --busy 8,GPU1 --avoid GPU0"
        )),
        json!(["GPU2/1g.5gb@0", "GPU2/1g.5gb@1"])
    );
    assert_eq!(
        names(&format!(
            "{two} --policy lowest-id --must-include GPU5/1g.5gb@3"
        )),
        json!(["GPU0/1g.5gb@0", "GPU5/1g.5gb@3"])
    );
}

#[test]
fn a_slice_is_wanted_by_size_and_by_profile_where_sizes_do_not_tell() {
    let names = |words: &str| {
        answer(&format!(
            "allocate --pattern independent --policy lowest-id {words}"
        ))["names"]
            .clone()
    };
    let same = json!(["GPU0/3g.20gb@4", "GPU1/3g.20gb@4"]);
    for word in ["3g", "3g.20gb", "3G.20GB"] {
        assert_eq!(names(&format!("{MIXED} --slice {word} --gpus 2")), same);
    }
    // Naming a profile offers its kind.
    let media = "--machine dgx-a100 --mig a100-40gb=3g,1g.10gb,1g,1g.5gb+me";
    assert_eq!(
        names(&format!("{media} --slice 1g.10gb --gpus 1")),
        json!(["GPU0/1g.10gb@2"])
    );
    assert_eq!(
        names(&format!("{media} --slice 1g.5gb+me --gpus 1")),
        json!(["GPU0/1g.5gb+me@1"])
    );
    // One device can be cut up in another way, the other cannot.
    let chosen = on_file("match --gpus 1 --slice 1g", &machine_file("\"a30\""));
    assert_eq!(chosen["count"], 0, "it is whole");
}

#[test]
fn refusals_tell_busy_from_what_would_have_to_be_cut_anew_and_from_never() {
    let refused = |words: &str, kind: &str, reason: &str| {
        let (object, status) = no(&format!("allocate {words} --json"));
        assert_eq!(
            (object, status),
            (json!({ "schema": 1, "refusal": kind, "reason": reason }), 3),
            "{words}"
        );
    };
    let anew = "what is free must be repartitioned to meet the request";
    refused(&format!("{SEVENTHS} --slice 3g --gpus 2"), "busy", anew);
    refused(&format!("{SEVENTHS} --gpus 2"), "busy", anew);
    refused(
        "--machine dgx-a100 --mig a100-40gb --slice 1g --gpus 2",
        "busy",
        anew,
    );
    refused(
        &format!("{SEVENTHS} --slice 1g --gpus 57 --policy packed"),
        "infeasible",
        "57 devices are wanted, the request and the machine allow 56",
    );
    refused(
        &format!("{SEVENTHS} --slice 1g --gpus 2 --busy 0,1,2,3,4,5,6,7"),
        "busy",
        "2 devices are wanted, 0 of the 56 allowed are free",
    );
    refused(
        &format!("{SEVENTHS} --slice 1g --gpus 2 --min-link nv1"),
        "infeasible",
        "no set of devices of this machine has the links that the request needs and can exist at once",
    );
}

#[test]
fn a_layout_that_does_not_fit_is_refused_by_every_command() {
    let reason = "they take 9 memory slices, the GPU has 8; at most 2 of the 3 can exist at once, as in 1g.5gb@0 3g.20gb@4";
    let expected = json!({ "schema": 1, "gpu": "a100-40gb", "fit": null, "reason": reason, "refusal": "infeasible" });
    for command in [
        "topo",
        "match --gpus 1",
        "allocate --gpus 1",
        "compare --gpus 1",
        "allocate --batch /dev/null",
    ] {
        let words = format!("{command} --machine dgx-a100 --mig a100-40gb=3g,3g,1g");
        assert_eq!(no(&words), (expected.clone(), 3), "{words}");
    }
}

#[test]
fn malformed_requests_have_status_2_and_say_what_was_expected() {
    let a100 = "allocate --machine dgx-a100 --mig a100-40gb";
    insta::assert_snapshot!(
        error("topo --machine dgx-a100 --mig v100"),
        @"error: no GPU with MIG is called `v100`: expected a30, a100-40gb, a100-80gb, .."
    );
    insta::assert_snapshot!(
        error(&format!("{a100}=3g,9g --gpus 1")),
        @"error: a100-40gb has no profile `9g`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error(&format!("{a100}= --gpus 1")),
        @"error: --mig ``: expected profiles, separated by commas, of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error(&format!("{a100} --gpus 1 --slice 9g")),
        @"error: slice `9g`: a100-40gb has no profile `9g`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-a100 --gpus 1 --slice 1g"),
        @"error: slice `1g`: no device of this machine supports MIG: expected --mig GPU, or `mig` in the machine file"
    );
    insta::assert_snapshot!(
        error(&format!("{a100}=3g,3g --gpus 1 --slice 3g --busy GPU2/1g.5gb@0")),
        @"error: --busy GPU2/1g.5gb@0: not in the layout of GPU2, which is 3g.20gb@0 3g.20gb@4: expected a device or instance of that layout"
    );
    insta::assert_snapshot!(
        error(&format!("{a100} --gpus 1 --busy GPU2/3g.20gb@0")),
        @"error: --busy GPU2/3g.20gb@0: not in the layout of GPU2, which is whole: expected a device or instance of that layout"
    );
    insta::assert_snapshot!(
        error(&format!("{a100} --gpus 1 --busy GPU2/3g.20gb@1")),
        @"error: no single device is called `GPU2/3g.20gb@1`: expected an id below 120, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        error(&format!("{a100} --gpus 1 --memory 0")),
        @"error: --memory 0: expected a positive number, at most 1e6"
    );
    insta::assert_snapshot!(
        error(&format!("{a100} --gpus 1 --pcie-traffic NaN")),
        @"error: --pcie-traffic NaN: expected a positive number, at most 1e6"
    );
    insta::assert_snapshot!(
        error("allocate --machine complete:4 --gpus 1 --memory 1"),
        @"error: --memory: the machine's description does not say how much memory its devices have"
    );
    let said = [
        "--slice 1g",
        "--memory 1",
        "--shared",
        "--pcie-traffic 1",
        "--warps 1",
    ]
    .map(|option| error(&format!("{a100} --batch - {option}")));
    insta::assert_snapshot!(said.join("\n"), @"
    error: the argument '--batch <FILE|->' cannot be used with '--slice <PROFILE>'
    error: the argument '--batch <FILE|->' cannot be used with '--memory <GiB>'
    error: the argument '--batch <FILE|->' cannot be used with '--shared'
    error: the argument '--batch <FILE|->' cannot be used with '--pcie-traffic <GB/s>'
    error: the argument '--batch <FILE|->' cannot be used with '--warps <N>'
    ");
    let two = "{ name = \"GPU1\", up = \"cpu0\", mig = \"rtx-pro-6000\" }";
    let file = machine_file("\"a100-40gb\"").replace("{ name = \"GPU1\", up = \"cpu0\" }", two);
    let output = run("allocate --machine - --gpus 1 --slice 1g", &file);
    let stderr = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(
        stderr,
        @"error: slice `1g`: its size differs between the devices of this machine: expected a profile of one size"
    );
}

#[test]
fn match_counts_placements_on_instances() {
    let count = |words: &str| answer(&format!("match {words}"));
    let seven = count(&format!(
        "{SEVENTHS} --slice 1g --gpus 2 --pattern independent --list 2"
    ));
    assert_eq!(
        (&seven["count"], &seven["complete"]),
        (&json!(56 * 55 / 2), &json!(true))
    );
    assert_eq!(
        seven["names"],
        json!([
            ["GPU0/1g.5gb@0", "GPU0/1g.5gb@1"],
            ["GPU0/1g.5gb@0", "GPU0/1g.5gb@2"]
        ])
    );
    assert_eq!(
        count(&format!(
            "{SEVENTHS} --slice 1g --gpus 3 --busy GPU0,GPU1,GPU2,GPU3,GPU4,GPU5,GPU6"
        ))["count"],
        35
    );
    assert_eq!(
        count(&format!("{SEVENTHS} --gpus 2"))["count"],
        0,
        "no device is whole"
    );
    assert_eq!(
        count(&format!(
            "{MIXED} --slice 3g --gpus 8 --pattern INDEPENDENT"
        ))["count"],
        1
    );
    assert_eq!(
        count("--machine dgx-1v --gpus 4 --pattern independent")["count"],
        70
    );
    let printed = text(&format!("match {MIXED} --slice 2g --gpus 2 --list 1"), "");
    assert_eq!(
        printed,
        "28 distinct matches of ring on 2 instances of 2g, dgx-a100\n  GPU0/2g.10gb@2,GPU1/2g.10gb@2\n"
    );
}

// The rows of all systems are in what is compared.
#[cfg(feature = "all-systems")]
#[test]
fn compare_shows_the_policies_for_instances_where_they_mean_something() {
    let compared = answer(&format!(
        "compare {MIXED} --slice 1g --gpus 2 --pattern independent --busy GPU2/1g.5gb@0"
    ));
    let policies = compared["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 17);
    let named = |name: &str| policies.iter().find(|p| p["policy"] == name).unwrap();
    assert_eq!(
        named("lowest-id")["names"],
        json!(["GPU0/1g.5gb@0", "GPU0/1g.5gb@1"])
    );
    assert_eq!(
        named("distributed")["names"],
        json!(["GPU0/1g.5gb@0", "GPU1/1g.5gb@0"])
    );
    assert_eq!(named("distributed")["environment"], json!(null));
    let printed = text(
        &format!("compare {MIXED} --slice 1g --gpus 2 --pattern independent"),
        "",
    );
    assert!(
        printed.starts_with(
            "dgx-a100, 2 instances of 1g, independent, of unknown sensitivity to bandwidth (counts as insensitive: its ranks do not communicate)\n"
        ),
        "{printed}"
    );
    assert!(
        printed.contains("| packed              | GPU0/1g.5gb@0,GPU0/1g.5gb@1 |"),
        "{printed}"
    );
    assert_eq!(
        answer("compare --machine dgx-1v --gpus 2")["policies"]
            .as_array()
            .unwrap()
            .len(),
        11
    );
    assert_eq!(
        answer("compare --machine dgx-1v --gpus 2 --shared")["policies"]
            .as_array()
            .unwrap()
            .len(),
        17
    );
}

#[cfg(feature = "case")]
#[test]
fn what_ranks_use_decides_where_they_fit() {
    let names =
        |words: &str| answer(&format!("allocate --pattern independent {words}"))["names"].clone();
    assert_eq!(
        names("--machine dgx-1v --gpus 2 --shared --memory 9 --policy lowest-id"),
        json!(["GPU0", "GPU1"])
    );
    let together = "--machine dgx-1v --gpus 2 --shared --memory 5 --warps 100 --policy case";
    assert_eq!(names(together), json!(["GPU0", "GPU0"]));
    assert_eq!(
        answer(&format!("allocate {together}"))["environment"]["CUDA_VISIBLE_DEVICES"],
        "0",
        "each number once"
    );
    let ring = text(&format!("allocate {together}"), "");
    assert!(ring.contains("links     1 x within a device"), "{ring}");
    assert_eq!(
        names(&format!(
            "{MIXED} --slice 1g --gpus 1 --memory 4.5 --policy lowest-id"
        )),
        json!(["GPU0/1g.5gb@0"])
    );
    let (object, status) = no(&format!(
        "allocate {MIXED} --slice 1g --gpus 1 --memory 6 --json"
    ));
    assert_eq!(
        (object["refusal"].as_str(), status),
        (Some("infeasible"), 3)
    );
}

#[cfg(feature = "pcie")]
#[test]
fn traffic_beyond_a_port_is_a_slowdown() {
    let slow = answer(&format!(
        "allocate {MIXED} --slice 1g --gpus 1 --pcie-traffic 60.16 --policy pcie-aware"
    ));
    assert_eq!(slow["scores"]["slowdown"], 2.0);
}

#[test]
fn a_batch_keeps_layouts_and_takes_slices() {
    let job = |id: u64, words: Value| {
        let mut line = json!({ "op": "allocate", "id": id, "gpus": 2, "slice": "1g", "pattern": "independent" });
        line.as_object_mut()
            .unwrap()
            .extend(words.as_object().unwrap().clone());
        line
    };
    let lines = [
        job(1, json!({ "policy": "packed" })),
        job(
            2,
            json!({ "policy": "packed", "available": ["GPU0", "GPU5/1g.5gb@6"], "gpus": 5 }),
        ),
        job(
            3,
            json!({ "policy": "packed", "available": ["GPU0"], "gpus": 6 }),
        ),
        job(4, json!({ "slice": "9g" })),
        json!({ "op": "allocate", "id": 5, "gpus": 1 }),
        json!({ "op": "reset" }),
        json!({ "op": "show" }),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = run(&format!("allocate {SEVENTHS} --batch -"), &input);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((answers.len(), output.status.code()), (7, Some(2)));
    assert_eq!(
        (&answers[0]["names"], &answers[0]["id"]),
        (&json!(["GPU0/1g.5gb@0", "GPU0/1g.5gb@1"]), &json!(1))
    );
    assert_eq!(answers[0]["environment"], json!(null));
    assert_eq!(
        answers[1]["devices"],
        json!([10, 11, 12, 13, 14]),
        "a whole device stands for its instances"
    );
    assert_eq!(answers[2]["refusal"], "busy");
    insta::assert_snapshot!(
        answers[3]["error"].as_str().unwrap(),
        @"line 4: slice `9g`: a100-40gb has no profile `9g`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    assert_eq!(
        answers[4]["reason"],
        "what is free must be repartitioned to meet the request"
    );
    assert_eq!(
        answers[6]["free"].as_array().unwrap().len(),
        56,
        "still cut up"
    );
}

#[test]
fn docs_mig_shows_what_allocate_prints() {
    let page = include_str!("../../../docs/mig.md");
    let words = "allocate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --slice 1g --gpus 4 \
                 --pattern independent --policy packed --busy GPU0,GPU3/1g.5gb@0";
    let printed = text(words, "");
    assert!(
        page.contains(printed.trim_end()),
        "docs/mig.md: expected\n{printed}"
    );
}

#[test]
fn help_shows_how_to_ask_for_instances() {
    let help = text("help allocate", "");
    // Long examples go on in the next line behind a backslash.
    let words: Vec<&str> = help
        .split_whitespace()
        .filter(|word| *word != "\\")
        .collect();
    let help = words.join(" ");
    for word in [
        "--mig <GPU[=PROFILES]>",
        "--slice <PROFILE>",
        "--pcie-traffic <GB/s>",
        "--mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --slice 1g",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
