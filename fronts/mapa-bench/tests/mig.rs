//! `mig` as a user or a script runs it: keys, exit statuses, and what people read.

use crate::common::{answer, error, no, run, stderr, text};
use crate::schema::assert_valid;
use serde_json::{Value, json};

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn instances(layout: &str) -> Value {
    let instance = |word: &str| {
        let (profile, start) = word.split_once('@').unwrap();
        json!({ "profile": profile, "start": start.parse::<u8>().unwrap() })
    };
    json!(layout.split_whitespace().map(instance).collect::<Vec<_>>())
}

#[test]
fn without_a_gpu_the_models_are_listed_and_each_can_be_shown() {
    let list = answer("mig");
    assert_eq!(keys(&list), ["gpus", "schema"]);
    let gpus = list["gpus"].as_array().unwrap();
    assert_eq!(gpus.len(), 11);
    for gpu in gpus {
        let name = gpu["name"].as_str().unwrap();
        let count = |words: &str| {
            answer(&format!("mig --gpu {name} {words}"))["maximal_layouts"]
                .as_array()
                .unwrap()
                .len()
        };
        let counts = json!({
            "plain": count(""), "double_memory": count("--double-memory"), "all": count("--double-memory --media"),
        });
        assert_eq!(gpu["maximal_layout_counts"], counts, "{name}");
        for alias in gpu["aliases"].as_array().unwrap() {
            assert_eq!(
                answer(&format!("mig --gpu {}", alias.as_str().unwrap()))["gpu"],
                name
            );
        }
    }
    let printed = text("mig", "");
    assert!(
        printed.contains(
            "| a100-40gb    |  7g.8m |  39.50 |              19 |                 78 |      239 |"
        ),
        "{printed}"
    );
}

#[test]
fn a_gpu_is_shown_with_its_profiles_and_maximal_layouts() {
    let shown = answer("mig --gpu A100-40GB");
    let expected = [
        "compute_slices",
        "gpu",
        "maximal_layouts",
        "memory_bytes",
        "memory_slices",
        "notes",
        "offer",
        "profiles",
        "schema",
        "source",
        "title",
    ];
    assert_eq!(keys(&shown), expected);
    assert_eq!(
        (&shown["gpu"], &shown["memory_slices"]),
        (&json!("a100-40gb"), &json!(8))
    );
    assert_eq!(
        shown["offer"],
        json!({ "media": false, "double_memory": false })
    );
    let layouts = shown["maximal_layouts"].as_array().unwrap();
    assert_eq!((layouts.len(), &layouts[18]), (19, &instances("7g.40gb@0")));
    assert_eq!(layouts[17], instances("4g.20gb@0 3g.20gb@4"));
    assert_eq!(
        shown["profiles"][2],
        json!({
            "name": "3g.20gb", "kind": "plain", "id": 9, "compute_slices": 3, "memory_slices": 4, "starts": [0, 4],
            "max_instances": 2, "memory_gib": 19.62, "memory_bytes": 21_066_814_586u64, "sms": 42, "copy_engines": 3,
            "decoders": 2, "encoders": 0, "jpeg": 0, "ofa": 0, "create_s": 0.2, "destroy_s": 0.21, "by_analogy": [],
        })
    );
    let b200 = answer("mig --gpu b200 --layouts");
    let three = &b200["profiles"][2];
    assert_eq!(
        (&three["name"], &three["sms"]),
        (&json!("3g.90gb"), &json!(null))
    );
    let guessed = json!([
        "id",
        "starts",
        "memory_gib",
        "decoders",
        "encoders",
        "jpeg",
        "ofa"
    ]);
    assert_eq!(three["by_analogy"], guessed);
}

#[test]
fn offers_add_profiles() {
    let names = |words: &str| -> Vec<String> {
        let shown = answer(&format!("mig --gpu a100-40gb {words}"));
        shown["profiles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names(""),
        ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
    );
    assert_eq!(names("--media")[..2], ["1g.5gb", "1g.5gb+me"]);
    assert_eq!(names("--double-memory")[..2], ["1g.5gb", "1g.10gb"]);
    assert_eq!(names("--media --double-memory").len(), 7);
}

#[test]
fn people_read_a_table_and_a_grid() {
    let printed = text("mig --gpu a100-40gb --layouts", "");
    for line in [
        "a100-40gb: NVIDIA A100 with 40 GB, 7g.8m in all",
        "| 3g.20gb |  3g.4m | 19.62 | 0,4           |    2 |  42 |    3 |      2 |      0 |    0 |    0 |     0.20 |      0.21 |",
        "--double-memory adds 1g.10gb.",
        "19 maximal layouts, to which no instance can be added; 297 legal layouts in all.",
        " 0      1      2      3      4      5      6      7",
        "|3g.20gb                    |2g.10gb      |1g.5gb|......|",
    ] {
        assert!(
            printed.lines().any(|other| other == line),
            "{line}\n{printed}"
        );
    }
    assert!(!printed.contains("by analogy"), "{printed}");
    assert_eq!(
        printed.lines().filter(|line| line.starts_with('|')).count(),
        2 + 5 + 19
    );
    let guessed = text("mig --gpu h100-96gb", "");
    assert!(guessed.contains("| 0,1,2,3,4,5,6* |"), "{guessed}");
    assert!(
        guessed.contains("* by analogy with another model, not from its documentation: see above."),
        "{guessed}"
    );
    let wide = text("mig --gpu rtx-pro-6000 --media --layouts", "");
    assert!(
        wide.contains("|1g.24gb+me.all|1g.24gb       |2g.48gb+gfx                  |"),
        "{wide}"
    );
}

#[test]
fn a_fit_is_answered_with_starts_and_the_line_to_paste() {
    let fit = answer("mig --gpu a100-40gb --fit 3g,2g,1g,1g");
    let expected = instances("1g.5gb@0 1g.5gb@1 2g.10gb@2 3g.20gb@4");
    assert_eq!(
        fit,
        json!({ "schema": 1, "gpu": "a100-40gb", "fit": expected, "reason": null })
    );
    assert_eq!(
        answer("mig --gpu a100-40gb --fit 1G.5GB,3g.20gb,2g,1g")["fit"],
        expected,
        "in any order, by any name"
    );
    let both = answer("mig --gpu a100-40gb --fit 7g --layouts");
    assert_eq!(
        keys(&both),
        ["fit", "gpu", "maximal_layouts", "reason", "schema"]
    );
    assert_eq!(both["maximal_layouts"].as_array().unwrap().len(), 19);
    let printed = text("mig --gpu a100-40gb --fit 3g,3g", "");
    assert!(
        printed.contains("\n|3g.20gb                    |3g.20gb                    |\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("\nnvidia-smi mig -cgi 3g.20gb:0,3g.20gb:4 -C\n"),
        "{printed}"
    );
    let media = answer("mig --gpu a100-40gb --fit 1g.5gb+me,1g.10gb,4g --media --double-memory");
    assert_eq!(media["fit"], instances("4g.20gb@0 1g.5gb+me@4 1g.10gb@6"));
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason_in_every_form() {
    let refused = |words: &str, reason: &str| {
        for form in ["", " --json"] {
            let (object, status) = no(&format!("mig --gpu {words}{form}"));
            let gpu = words.split_whitespace().next();
            let expected = json!({ "schema": 1, "gpu": gpu, "fit": null, "reason": reason, "refusal": "infeasible" });
            assert_eq!((object, status), (expected, 3), "{words}{form}");
        }
    };
    refused(
        "a100-40gb --fit 3g,3g,1g",
        "they take 9 memory slices, the GPU has 8; at most 2 of the 3 can exist at once, as in 1g.5gb@0 3g.20gb@4",
    );
    refused(
        "a100-40gb --fit 4g,4g",
        "2 of 4g.20gb are wanted, at most 1 may exist; at most 1 of the 2 can exist at once, as in 4g.20gb@0",
    );
    refused(
        "a100-40gb --fit 4g,2g,1g,1g",
        "they take 8 compute slices, the GPU has 7; at most 3 of the 4 can exist at once, as in 1g.5gb@0 1g.5gb@1 2g.10gb@2",
    );
    refused(
        "a100-40gb --fit 3g,1g.10gb,1g,1g,1g --double-memory",
        "they take 9 memory slices, the GPU has 8; at most 4 of the 5 can exist at once, as in \
         1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.10gb@4",
    );
    let (object, status) = no("mig --gpu a30 --fit 4g,1g --layouts --json");
    assert_eq!(
        (keys(&object), status),
        (
            vec![
                "fit",
                "gpu",
                "maximal_layouts",
                "reason",
                "refusal",
                "schema"
            ],
            3
        )
    );
    let drawn = String::from_utf8(run("mig --gpu a30 --fit 4g,1g --layouts", "").stdout).unwrap();
    assert!(
        drawn.contains("|4g.24gb                    |\n")
            && drawn
                .lines()
                .last()
                .unwrap()
                .starts_with("refused   infeasible: "),
        "{drawn}"
    );
}

#[test]
fn malformed_questions_have_status_2_and_list_the_names() {
    insta::assert_snapshot!(
        error("mig --gpu v100"),
        @"error: no GPU with MIG is called `v100`: expected a30, a100-40gb, a100-80gb, .."
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit 3g,5g"),
        @"error: a100-40gb has no profile `5g`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit 3g,,1g"),
        @"error: --fit `3g,,1g`: expected profiles, separated by commas, of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit="),
        @"error: --fit ``: expected profiles, separated by commas, of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit 1g.5gb+me"),
        @"error: a100-40gb has 1g.5gb+me only with --media"
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit 1G.10gb"),
        @"error: a100-40gb has 1g.10gb only with --double-memory"
    );
    insta::assert_snapshot!(
        error("mig --gpu rtx-pro-6000 --fit 1g.24gb-me"),
        @"error: rtx-pro-6000 has 1g.24gb-me only with --media"
    );
    insta::assert_snapshot!(
        error("mig --gpu a100-40gb --fit 3g@4"),
        @"error: a100-40gb has no profile `3g@4`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    let said = ["--layouts", "--fit 1g", "--media", "--double-memory"]
        .map(|option| error(&format!("mig {option}")));
    insta::assert_snapshot!(said.join("\n"), @"
    error: the following required arguments were not provided:
      --gpu <NAME>
    error: the following required arguments were not provided:
      --gpu <NAME>
    error: the following required arguments were not provided:
      --gpu <NAME>
    error: the following required arguments were not provided:
      --gpu <NAME>
    ");
    let (object, status) = no("mig --gpu a100-40gb --fit 5g --json");
    assert!(object["error"].as_str().unwrap().contains("`5g`") && status == 2);
}

/// A file as NVIDIA's mig-parted reads it.
const PARTED: &str = r#"
version: v1
mig-configs:
  half:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"3g.20gb": 1, "1c.2g.10gb": 2}
    - devices: [1]
      mig-enabled: false
  full:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.5gb": 7}
  eight:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.5gb": 8}
  hopper:
    - devices: all
      device-filter: "0x233010DE"
      mig-enabled: true
      mig-devices: {"1g.10gb": 7}
"#;

fn parted(words: &str) -> Value {
    let printed = text(&format!("mig --parted - {words} --json"), PARTED);
    let answer = serde_json::from_str(&printed).unwrap();
    assert_valid("mig-parted", &answer);
    answer
}

#[test]
fn a_file_of_mig_parted_is_checked_gpu_by_gpu() {
    let answer = parted("--gpu a100-40gb");
    let all = answer["configurations"].as_array().unwrap();
    let fits = all.iter().map(|configuration| {
        (
            configuration["name"].as_str().unwrap(),
            configuration["fits"].as_bool().unwrap(),
        )
    });
    assert_eq!(
        fits.collect::<Vec<_>>(),
        [
            ("eight", false),
            ("full", true),
            ("half", true),
            ("hopper", true)
        ]
    );
    assert_eq!(all[1]["gpus"].as_array().unwrap().len(), 2);
    let half = &all[2]["gpus"];
    assert_eq!(half[1]["mig"], false);
    let instances = half[0]["instances"].as_array().unwrap();
    let divided: Vec<_> = (instances.iter())
        .filter(|instance| instance["profile"] == "2g.10gb")
        .map(|instance| &instance["compute"])
        .collect();
    assert_eq!(divided, [&json!([1, 1])]);
    assert_eq!(all[3]["gpus"], json!([]), "no PCI id is known");
    assert!(answer["notes"][0].as_str().unwrap().contains("--pci-id"));
    // With the id the filter passes; the A100 has no such profile.
    let answer = parted("--gpu a100-40gb --pci-id 0x233010DE");
    assert_eq!(answer["configurations"][3]["fits"], false);
    // The GPUs of a machine, by the table of their product or by another.
    let answer = parted("--machine dgx-a100 --gpu a100-40gb --config full");
    assert_eq!(
        answer["configurations"][0]["gpus"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    let printed = text("mig --parted - --gpu a100-40gb --config half", PARTED);
    assert!(
        printed.contains("| half          | GPU1 | a100-40gb | MIG off"),
        "{printed}"
    );
}

#[test]
fn a_configuration_that_does_not_fit_is_refused_and_a_wrong_file_is_named() {
    let refused = run(
        "mig --parted - --gpu a100-40gb --config eight --json",
        PARTED,
    );
    assert_eq!(refused.status.code(), Some(3));
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_valid("mig-parted", &answer);
    assert_eq!(answer["refusal"], "infeasible");
    insta::assert_snapshot!(
        answer["reason"].as_str().unwrap(),
        @"GPU0: 8 of 1g.5gb are wanted, at most 7 may exist; at most 7 of the 8 can exist at once, as in 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6"
    );
    let said = [
        ("--gpu a100-40gb --config third", PARTED),
        ("--gpu a100-40gb --pci-id A100", PARTED),
        ("--gpu a100-40gb", "version: v2\nmig-configs: {}\n"),
        ("", PARTED),
    ]
    .map(|(words, input)| {
        let output = run(&format!("mig --parted - {words}"), input);
        format!("{words}\n{}", stderr(words, output))
    });
    insta::assert_snapshot!(said.join("\n"), @"
    --gpu a100-40gb --config third
    error: -: configuration third: expected one of eight, full, half, hopper
    --gpu a100-40gb --pci-id A100
    error: -: --pci-id `A100`: expected a PCI id such as 0x20B010DE
    --gpu a100-40gb
    error: -: version v2: expected v1

    error: -: mig --parted: expected --gpu, a table of MIG, or --machine
    ");
}
