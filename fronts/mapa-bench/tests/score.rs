//! `score`, and the models that `allocate` and `compare` choose by.

use crate::common::{answer, error, no, run, text};
use serde_json::{Value, json};

fn gbps(words: &str) -> f64 {
    answer(&format!("score --machine dgx-1v {words}"))["gbps"]
        .as_f64()
        .unwrap()
}

#[test]
fn the_papers_model_is_explained_term_by_term() {
    let scored = answer("score --machine dgx-1v --devices 0,2,3");
    assert!(
        (scored["gbps"].as_f64().unwrap() - 57.858).abs() < 1e-3,
        "{scored}"
    );
    assert_eq!(
        (&scored["in_domain"], &scored["best_order"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        scored["links"],
        json!({ "direct-2": 2, "direct-1": 1, "rest": 0 })
    );
    let terms = scored["terms"].as_array().unwrap();
    let sum: f64 = terms
        .iter()
        .map(|term| term["product"].as_f64().unwrap())
        .sum();
    assert_eq!(
        (terms.len(), &terms[0]["term"], &terms[0]["value"]),
        (14, &json!("direct-2"), &json!(2.0))
    );
    assert!((sum - scored["gbps"].as_f64().unwrap()).abs() < 1e-9);
    let printed = text(
        "score --machine dgx-1v --devices 0,2,3 --model paper-printed",
        "",
    );
    for said in [
        "GPU0, GPU2, GPU3 in rank order",
        "| direct-2 ",
        "16.396",
        "57.857",
        "57.86 GB/s predicted",
    ] {
        assert!(printed.contains(said), "{said} in {printed}");
    }
}

#[test]
fn devices_are_in_rank_order_and_the_better_order_is_told() {
    let scored = answer("score --machine dgx-1v --devices 0,2,1,3");
    assert_eq!(
        scored["links"],
        json!({ "direct-2": 2, "direct-1": 2, "rest": 0 })
    );
    let better = &scored["best_order"];
    assert!(
        better["gbps"].as_f64() > scored["gbps"].as_f64()
            && better["devices"].as_array().unwrap().len() == 4,
        "{scored}"
    );
    let printed = text("score --machine dgx-1v --devices 0,2,1,3", "");
    assert!(
        printed.contains("the order of highest aggregated bandwidth on these devices is 0,"),
        "{printed}"
    );
    let chain = answer("score --machine dgx-1v --devices 0,2,1,3 --pattern chain");
    assert_eq!(
        chain["links"],
        json!({ "direct-2": 1, "direct-1": 2, "rest": 0 })
    );
}

#[test]
fn what_is_beyond_the_domain_is_told() {
    assert_eq!(
        answer("score --machine dgx-1v --devices 0,1,2,3,4,5,6,7")["in_domain"],
        false
    );
    assert!(
        text("score --machine dgx-a100 --devices 0,1", "")
            .contains("was not fitted to placements like this one")
    );
}

#[test]
fn a_packing_is_explained_ring_by_ring() {
    assert_eq!(
        [
            gbps("--devices 0,3 --model ring-packing"),
            gbps("--devices 0,1 --model ring-packing")
        ],
        [50.0, 25.0]
    );
    let four = answer("score --machine dgx-1v --devices 0,1,2,3 --model ring-packing");
    let rings = four["rings"].as_array().unwrap();
    let sum: f64 = rings
        .iter()
        .map(|ring| ring["gbps"].as_f64().unwrap())
        .sum();
    assert!(
        (sum - four["gbps"].as_f64().unwrap()).abs() < 1e-6 && rings.len() > 1,
        "{four}"
    );
    assert_eq!(
        (&four["exact"], &four["over_host"], &four["in_domain"]),
        (&json!(true), &json!(false), &json!(true))
    );
    // No ring of NVLinks goes through these.
    let five = answer("score --machine dgx-1v --devices 0,1,2,3,4 --model ring-packing");
    assert_eq!(
        (&five["over_host"], &five["gbps"]),
        (&json!(true), &json!(12.0))
    );
    let printed = text(
        "score --machine dgx-1v --devices 0,1,2,3,4 --model ring-packing",
        "",
    );
    assert!(
        printed.contains("the traffic goes through the host")
            && printed.contains("no packing is better"),
        "{printed}"
    );
    // The order of the ranks is nothing to a set.
    assert_eq!(
        gbps("--devices 3,1,0,2 --model ring-packing"),
        four["gbps"].as_f64().unwrap()
    );
}

#[test]
fn rates_are_those_of_a_measured_pair() {
    let half = gbps("--devices 0,1,2,3 --model ring-packing --rates 0,3=25");
    assert!(
        (half - gbps("--devices 0,1,2,3 --model ring-packing --rates nominal") / 2.0).abs() < 1e-6
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,3 --model ring-packing --rates fast"),
        @"error: --rates fast: expected nominal, nccl, or a measured pair A,B=GBPS"
    );
    // NCCL counts NVLink 2 as 20 of 25 GB/s.
    assert_eq!(
        gbps("--devices 0,3 --model ring-packing --rates nccl"),
        40.0
    );
    insta::assert_snapshot!(
        error("score --machine ring:4 --devices 0,1 --model ring-packing --rates nccl"),
        @"error: --rates nccl: the rate at which NCCL or RCCL counts these links is not known: expected a measured pair A,B=GBPS"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,3 --model ring-packing --rates 0,5=9"),
        @"error: `GPU0` and `GPU5` have no direct links: expected a pair whose links were measured; for paths through the host, use --pcie-gbps"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,3 --rates 0,3=9"),
        @"error: --rates is for packings; the coefficients of `paper` include the rates of links: expected no --rates"
    );
}

#[test]
fn trees_exchanges_and_channels_never_exceed_what_links_carry() {
    for devices in ["0,3", "0,1,2,3", "0,1,2,3,4,5,6,7"] {
        let of = |model: &str| {
            answer(&format!(
                "score --machine dgx-1v --devices {devices} --model {model}"
            ))
        };
        let rings = of("ring-packing")["gbps"].as_f64().unwrap();
        let trees = of("tree")["gbps"].as_f64().unwrap();
        assert!(
            of("channels")["gbps"].as_f64().unwrap() <= rings + 1e-6,
            "{devices}"
        );
        assert!(
            trees >= rings - 1e-6 || of("tree")["over_host"] == true,
            "{devices}: {trees} below {rings}"
        );
        let exchange = of("all-to-all");
        assert!(exchange["gbps"].as_f64().unwrap() > 0.0 && exchange["in_domain"] == true);
    }
}

#[test]
fn one_device_has_no_collective_bandwidth_and_says_so() {
    for model in ["paper", "ring-packing"] {
        let one = answer(&format!(
            "score --machine dgx-1v --devices 3 --model {model}"
        ));
        assert_eq!(
            (&one["gbps"], &one["in_domain"]),
            (&Value::Null, &json!(false)),
            "{one}"
        );
        assert_eq!(one["reason"], "one device has no collective bandwidth");
        assert!(
            text(
                &format!("score --machine dgx-1v --devices 3 --model {model}"),
                ""
            )
            .contains("bandwidth none: one device")
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,0"),
        @"error: --devices: GPU0 is named twice"
    );
    let (object, status) = no("score --machine dgx-1v --devices 0,0 --json");
    assert_eq!(
        (object["error"].as_str(), status),
        (Some("--devices: GPU0 is named twice"), 2)
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,9"),
        @"error: no single device is called `9`: expected an id below 8, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices ,"),
        @"error: --devices names no device: expected a list such as 0,3,4"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --model best"),
        @"error: no model is called `best`, and no file: expected paper, paper-printed, ring-packing, .., or a coefficient file, or a file of shares"
    );
    let (place, message) = error("score --machine dgx-1v --devices 0,1 --model Cargo.toml")
        .split_once(": unknown")
        .map(|(place, field)| (place.to_owned(), format!("unknown{field}")))
        .unwrap();
    assert!(place.starts_with("error: Cargo.toml: line "), "{place}");
    insta::assert_snapshot!(
        message,
        @"unknown field `dependencies`, expected one of `format`, `version`, `name`, .."
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --model ring-packing --pattern ring"),
        @"error: --pattern is for sums of terms: a packing depends on the set of devices, not on a pattern; expected no --pattern"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 0,1 --pattern blob"),
        @"error: no pattern is called `blob`: expected ring, chain, star, tree, all-to-all or ring-tree, independent, or edges such as 0-1,1-2"
    );
}

#[test]
fn policies_choose_by_the_model_that_is_given() {
    let devices =
        |words: &str| answer(&format!("allocate --machine dgx-1v {words}"))["devices"].clone();
    // Eq. 2 rates a ring of five with two host paths best; the packing does not.
    let rings = answer("allocate --machine dgx-1v --gpus 5 --sensitive --model ring-packing");
    assert_eq!(rings["in_domain"], true);
    let list: Vec<String> = rings["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let best = gbps(&format!(
        "--devices {} --model ring-packing",
        list.join(",")
    ));
    assert_eq!(rings["scores"]["ring_packing_gbps"].as_f64().unwrap(), best);
    assert!(best > gbps("--devices 0,1,2,3,4 --model ring-packing"));
    assert_eq!(
        devices("--gpus 3 --sensitive --model paper"),
        devices("--gpus 3 --sensitive")
    );
    let most = answer("allocate --machine dgx-1v --gpus 5 --policy max-bandwidth");
    assert_eq!(most["scores"]["ring_packing_gbps"].as_f64().unwrap(), best);
    let trees = answer("allocate --machine dgx-1v --gpus 5 --policy max-bandwidth --model tree");
    assert!(
        trees["scores"]["tree_packing_gbps"].as_f64().unwrap() >= best - 1e-6,
        "{trees}"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --policy greedy --model paper"),
        @"error: a model is for the policies auto, preserve, max-bandwidth, foresight, not greedy: expected one of these, or no model"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 3 --model best"),
        @"error: no model is called `best`, and no file: expected paper, paper-printed, ring-packing, .., or a coefficient file, or a file of shares"
    );
    let compared = answer("compare --machine dgx-1v --gpus 5 --sensitive --model ring-packing");
    let of = |policy: &str| {
        compared["policies"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["policy"] == policy)
            .unwrap()
            .clone()
    };
    assert_eq!(of("auto")["devices"], rings["devices"]);
    assert_eq!(of("greedy")["scores"]["ring_packing_gbps"], Value::Null);
}

#[test]
fn a_batch_takes_a_model_line_by_line() {
    let line = |id: u32, model: &str| {
        format!(
            "{{\"op\":\"allocate\",\"id\":{id},\"gpus\":5,\"sensitive\":true,\"model\":\"{model}\"}}\n{{\"op\":\"reset\"}}\n"
        )
    };
    let output = run(
        "allocate --machine dgx-1v --batch -",
        &[line(1, "paper"), line(2, "ring-packing"), line(3, "best")].concat(),
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["scores"]["ring_packing_gbps"], Value::Null);
    assert!(lines[2]["scores"]["ring_packing_gbps"].is_f64(), "{stdout}");
    assert!(
        lines[4]["error"]
            .as_str()
            .unwrap()
            .contains("no model is called `best`")
            && output.status.code() == Some(2)
    );
}

#[test]
fn an_imitated_search_proves_nothing_of_packings() {
    let of = |model: &str| {
        answer(&format!(
            "score --machine dgx-1v --devices 0,1,2,3 --model {model}"
        ))
    };
    let (found, rings) = (of("channels"), of("ring-packing"));
    assert_eq!(
        [&found["exact"], &found["imitated"]],
        [&json!(false), &json!(true)]
    );
    assert!(
        found["gbps"].as_f64() < found["at_most_gbps"].as_f64(),
        "{found}"
    );
    assert_eq!(found["at_most_gbps"], rings["at_most_gbps"]);
    assert_eq!(
        [&rings["exact"], &rings["imitated"]],
        [&json!(true), &json!(false)]
    );
    // At the rates of the search, not at nominal ones.
    let nccl = gbps("--devices 0,1,2,3 --model ring-packing --rates nccl");
    let found = answer("score --machine dgx-1v --devices 0,1,2,3 --model channels --rates nccl");
    assert_eq!(found["at_most_gbps"].as_f64(), Some(nccl));
    let printed = text(
        "score --machine dgx-1v --devices 0,1,2,3 --model channels",
        "",
    );
    assert!(
        printed.contains("found by an imitated search; no packing exceeds 100"),
        "{printed}"
    );
    assert!(!printed.contains("no packing is better"), "{printed}");
}

#[test]
fn trees_and_exchanges_are_explained() {
    let trees = answer("score --machine dgx-1v --devices 0,1,2,3 --model tree");
    let list = trees["trees"].as_array().unwrap();
    let sum: f64 = list.iter().map(|tree| tree["gbps"].as_f64().unwrap()).sum();
    assert!(
        (sum * 1.5 - trees["gbps"].as_f64().unwrap()).abs() < 1e-6,
        "2(n-1)/n of {trees}"
    );
    assert!(
        list.iter()
            .all(|tree| tree["edges"].as_array().unwrap().len() == 3),
        "{trees}"
    );
    let printed = text("score --machine dgx-1v --devices 0,1,2,3 --model tree", "");
    assert!(
        printed.contains("| tree ") && printed.contains("2(n-1)/n"),
        "{printed}"
    );
    let slow = answer("score --machine dgx-1v --devices 1,4 --model tree");
    assert_eq!(
        (&slow["over_host"], &slow["trees"]),
        (&json!(true), &json!([]))
    );
    let exchange = answer("score --machine dgx-1v --devices 0,1,2,3 --model all-to-all");
    assert_eq!(
        exchange["pair_gbps"].as_f64().unwrap() * 3.0,
        exchange["gbps"].as_f64().unwrap()
    );
    assert!(
        text(
            "score --machine dgx-1v --devices 0,1,2 --model all-to-all",
            ""
        )
        .contains("each pair ")
    );
}

#[test]
fn words_fit_what_they_are_said_of() {
    let two = text(
        "score --machine dgx-1v --devices 0,3 --model ring-packing",
        "",
    );
    assert!(
        two.contains("traffic goes in both directions.")
            && !two.contains("Half")
            && !two.contains("rank order"),
        "{two}"
    );
    assert!(
        text(
            "score --machine dgx-1v --devices 0,1,2 --model ring-packing",
            ""
        )
        .contains("Half of each")
    );
    let fleet = text(
        "score --machine fleet:2xdgx-1v --devices 0,8 --model ring-packing",
        "",
    );
    assert!(
        fleet.contains("the traffic goes over the network") && !fleet.contains("through the host"),
        "{fleet}"
    );
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 1,4 --model ring-packing --rates 1,4=20"),
        @"error: `GPU1` and `GPU4` have no direct links: expected a pair whose links were measured; for paths through the host, use --pcie-gbps"
    );
}

#[test]
fn one_device_has_no_packing_among_scores_either() {
    let one = "allocate --machine dgx-1v --gpus 1 --policy max-bandwidth";
    assert_eq!(
        answer(one)["scores"].get("ring_packing_gbps"),
        Some(&Value::Null)
    );
    assert!(!text(one, "").contains("bandwidth "));
    assert!(answer(&one.replace("--gpus 1", "--gpus 2"))["scores"]["ring_packing_gbps"].is_f64());
}

#[test]
fn predictions_that_cannot_be_are_noted() {
    let notes = |words: &str| answer(&format!("score --machine dgx-1v {words}"))["notes"].clone();
    assert_eq!(notes("--devices 0,2,3"), json!([]));
    assert_eq!(notes("--devices 0,2,3 --pattern 0-1,1-2,2-0"), json!([]));
    assert_eq!(notes("--devices 0,3"), json!([]));
    let rings = json!("Eq. 2 was fitted to rings, not to other patterns");
    // A ring of six with five paths through the host.
    let below = answer("score --machine dgx-1v --devices 0,5,1,4,2,7");
    assert!(
        below["gbps"].as_f64().unwrap() < 0.0
            && below["notes"]
                .to_string()
                .contains("a negative bandwidth is impossible")
    );
    assert!(
        notes("--devices 0,2,1,3 --pattern chain")
            .as_array()
            .unwrap()
            .contains(&rings)
    );
    assert!(
        notes("--devices 0,2,1,3 --pattern all-to-all")
            .as_array()
            .unwrap()
            .contains(&rings)
    );
}

#[test]
fn preserve_says_when_it_does_not_ask_the_model() {
    let notes = |words: &str, policy: &str| {
        let answer = answer(&format!(
            "allocate --machine dgx-1v --gpus 3 --model ring-packing {words} --policy {policy}"
        ));
        answer["notes"].to_string()
    };
    let said = "preserve uses the model for bandwidth-sensitive jobs only, and this one is not";
    assert!(notes("--sensitive=false", "preserve").contains(said));
    for (words, policy) in [
        ("", "preserve"),
        ("--sensitive", "preserve"),
        ("", "max-bandwidth"),
        ("", "auto"),
    ] {
        assert!(!notes(words, policy).contains(said), "{words} {policy}");
    }
}

#[test]
fn compare_shows_ring_packing_and_the_model_for_every_policy() {
    let compared = answer("compare --machine dgx-1v --gpus 4 --sensitive --model tree");
    for row in compared["policies"].as_array().unwrap() {
        let list: Vec<String> = row["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        let of = |model: &str| gbps(&format!("--devices {} --model {model}", list.join(",")));
        assert_eq!(
            [of("ring-packing"), of("tree")].map(Some),
            ["ring_packing_gbps", "model_gbps"].map(|k| row[k].as_f64())
        );
    }
    let printed = text(
        "compare --machine dgx-1v --gpus 4 --sensitive --model tree",
        "",
    );
    assert!(
        printed.contains("| Eq. 3 |  model |") && printed.contains("Model: prediction of tree "),
        "{printed}"
    );
    let without = text("compare --machine dgx-1v --gpus 4", "");
    assert!(
        without.contains("GB/s: by what is expected") && !without.contains("Model:"),
        "{without}"
    );
    assert_eq!(
        answer("compare --machine dgx-1v --gpus 1")["policies"][0]["ring_packing_gbps"],
        Value::Null
    );
}

#[test]
fn help_names_every_model_and_what_the_number_is() {
    let help = text("help allocate", "");
    for word in [
        "paper-printed",
        "ring-packing",
        "tree",
        "all-to-all",
        "channels-2022",
        "channels-2024",
        "nominal",
    ] {
        assert!(help.contains(word), "{word}");
    }
    assert!(help.contains("\"policy\":\"min-step-time\""), "{help}");
    assert!(text("help score", "").contains("bus bandwidth"));
}
