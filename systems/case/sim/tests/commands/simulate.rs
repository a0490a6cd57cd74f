//! `simulate` of jobs that share instances. The program `mapa-bench` is run, whose test binary holds this file.

use std::fs;

use crate::common::{Folder, answer, error, text};
use serde_json::{Value, json};

const SHARED: &str = "simulate --machine complete:1 --mig a100-40gb=2g,2g,1g,1g,1g --execution fixed \
    --jobs ../../examples/jobs/shared-instances.csv";

/// The table of systems/case/docs/scheduling.md on jobs that share instances is what its command gives.
#[test]
fn jobs_that_share_instances_run_as_the_page_says_and_tell_their_tasks() {
    let page = include_str!("../../../docs/scheduling.md");
    for scheduler in ["slurm-mig", "case", "case-balanced"] {
        let told = answer(&format!("{SHARED} --scheduler {scheduler}"));
        let own = &told["policies"][0];
        let number = |name: &str| own[name].as_f64().unwrap();
        let [makespan, completion] = ["makespan_s", "completion_mean_s"].map(number);
        let row = format!("| `{scheduler}` | {makespan:.1} s | {completion:.1} s |");
        assert!(
            page.contains(&row),
            "systems/case/docs/scheduling.md: {row}"
        );
        assert_eq!((&own["finished"], &own["waiting"]), (&json!(18), &json!(0)));
        assert_eq!(own["jobs"].as_array().unwrap().len(), 18);
        let tasks = own["tasks"].as_array().unwrap();
        assert_eq!(
            tasks.len(),
            18,
            "{scheduler}: 15 tasks, three of which grew"
        );
        let of_five: Vec<_> = tasks.iter().filter(|task| task["job"] == 5).collect();
        let grows: Vec<_> = of_five.iter().map(|task| &task["grows"]).collect();
        assert_eq!(grows, [&Value::Null, &json!(0), &json!(0)]);
        let bytes: Vec<_> = of_five.iter().map(|task| &task["bytes"]).collect();
        assert_eq!(bytes, [2_500_000_000_u64, 1_200_000_000, 600_000_000]);
        let places: Vec<_> = of_five
            .iter()
            .map(|task| &task["stays"][0]["devices"])
            .collect();
        assert!(
            places[0][0].as_str().unwrap().starts_with("GPU0/"),
            "{places:?}"
        );
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        for task in tasks {
            let stay = &task["stays"][0];
            let at = [
                &task["begun_s"],
                &stay["from_s"],
                &stay["until_s"],
                &task["ended_s"],
            ];
            let at = at.map(|at| at.as_f64().unwrap());
            assert!(at.is_sorted(), "{task}");
        }
    }
    // The rate at which a job finishes is told for launched jobs too.
    let fifo = answer(&format!("{SHARED} --scheduler fifo"));
    let remarks = fifo["policies"][0]["remarks"].to_string();
    assert!(
        remarks.contains("13 of the waiting jobs have tasks, for which fifo finds no place"),
        "{remarks}"
    );
}

#[test]
fn the_picture_of_instances_has_every_tenant_and_every_instance() {
    let words = format!("{SHARED} --scheduler case-balanced");
    let svg = text(&format!("{words} --svg -"), "");
    let count = |what: &str| svg.matches(what).count();
    assert_eq!(count("class=\"tenant\""), 15, "tasks");
    assert_eq!(count("class=\"tenant growth\""), 3);
    assert_eq!(count("class=\"tenant alone\""), 5);
    assert_eq!(
        count("class=\"instance\""),
        6,
        "five, and the one that is created"
    );
    assert_eq!(count("class=\"change\""), 1);
    assert!(
        svg.contains("<title>task 1 of job 5: 1.2 GB, 11 s to "),
        "{svg}"
    );
    let folder = Folder::new();
    let file = folder.path("instances.svg");
    let told = text(
        &format!("{words} --svg {file} --plot {}", folder.path("plots")),
        "",
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), svg);
    let plotted = folder.path("plots/instances-auto.svg");
    assert_eq!(fs::read_to_string(&plotted).unwrap(), svg);
    assert!(told.contains(&file) && told.contains(&plotted), "{told}");
    // Jobs that wait for ever are drawn until the end.
    let jobs = "gpus,duration_s,tasks\n1,,3GB 10s +1.5GB at 5s\n1,,3GB 10s +1.5GB at 5s\n";
    let hang = "simulate --machine complete:1 --mig a30=1g,1g --jobs - --execution fixed --svg - --scheduler";
    let drawn = |scheduler: &str| text(&format!("{hang} {scheduler}"), jobs);
    let alone = drawn("case").matches("class=\"tenant").count();
    assert_eq!(alone, 4, "each has an instance");
    let said = [
        format!("{words} --svg - --json"),
        format!("{words} --policy auto,greedy --svg x.svg"),
        format!("{words} --svg /no/such/folder/x.svg"),
        "simulate --machine complete:65 --svg - --generate mapa,jobs=2".to_owned(),
    ]
    .map(|words| format!("{words}\n{}", error(&words)));
    insta::assert_snapshot!(said.join("\n"), @"
    simulate --machine complete:1 --mig a100-40gb=2g,2g,1g,1g,1g --execution fixed --jobs ../../examples/jobs/shared-instances.csv --scheduler case-balanced --svg - --json
    error: --svg - prints the picture in place of the answer: expected a file with --json
    simulate --machine complete:1 --mig a100-40gb=2g,2g,1g,1g,1g --execution fixed --jobs ../../examples/jobs/shared-instances.csv --scheduler case-balanced --policy auto,greedy --svg x.svg
    error: --svg draws one simulation, and --policy names 2: expected one policy, or --plot
    simulate --machine complete:1 --mig a100-40gb=2g,2g,1g,1g,1g --execution fixed --jobs ../../examples/jobs/shared-instances.csv --scheduler case-balanced --svg /no/such/folder/x.svg
    error: /no/such/folder/x.svg: No such file or directory (os error 2)
    simulate --machine complete:65 --svg - --generate mapa,jobs=2
    error: a picture of the instances of 65 devices: expected at most 64
    ");
    // Without instances, whole devices are drawn.
    let plain = text(
        "simulate --machine dgx-1v --svg - --generate mapa,jobs=9",
        "",
    );
    assert!(
        plain.contains("class=\"tenant alone\"") && plain.contains(">GPU7<"),
        "{plain}"
    );
}
