//! `fit`: from what was measured to a model that the other commands take.

use std::path::Path;

use crate::common::{Folder, answer, error, no, run, text};
use crate::schema::assert_valid;
use serde_json::{Value, json};

/// On a DGX-1V, 40 GB/s for each double link of the best ring, 20 for each single one, 5 for each
/// path through the host.
const EXACT: &str = "devices,gbps,label\n0 3,80,double\n0 1,40,single\n0 5,10,host\n0 2 3,100,three\n0;1;2;3,140,four\n";

/// A run of nccl-tests on the first devices.
fn run_of(devices: usize, gbps: f64) -> String {
    let ranks = (0..devices).map(|rank| {
        format!(
            "#  Rank {rank:2} Group  0 Pid    1 on   node1 device {rank:2} [0x{:02x}] Tesla V100\n",
            rank + 6
        )
    });
    let ranks: String = ranks.collect();
    format!(
        "# nThread 1 nGpus {devices} minBytes 1024 maxBytes 1024\n# Using devices\n{ranks}#\n\
         #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n\
         #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n\
         \x20 268435456      67108864     float     sum      -1     9.00    1.00 {gbps:.2}      0     9.00    1.00   {:.2}      0\n\
         # Out of bounds values : 0 OK\n# Avg bus bandwidth    : {gbps}\n",
        gbps * 2.0
    )
}

#[test]
fn exact_measurements_give_back_their_coefficients_and_a_file_that_commands_take() {
    let folder = Folder::new();
    let (runs, model) = (folder.write("runs.csv", EXACT), folder.path("model.toml"));
    let fit = answer(&format!(
        "fit --machine dgx-1v {runs} --terms linear --output {model} --name mine"
    ));
    assert_valid("fit", &fit);
    let terms = fit["model"]["terms"].as_array().unwrap();
    let coefficients: Vec<f64> = terms
        .iter()
        .map(|term| term["coefficient"].as_f64().unwrap())
        .collect();
    for (found, exact) in coefficients.iter().zip([40.0, 20.0, 5.0]) {
        assert!((found - exact).abs() < 1e-9, "{coefficients:?}");
    }
    assert!(
        fit["errors"]["rmse"].as_f64().unwrap() < 1e-9
            && fit["errors"]["published"]["rmse"].as_f64().unwrap() < 1e-9
    );
    assert_eq!(
        (&fit["design"]["rank"], &fit["written"]),
        (&json!(3), &json!([model]))
    );
    let scored = answer(&format!(
        "score --machine dgx-1v --devices 0,2,3 --model {model}"
    ));
    assert!((scored["gbps"].as_f64().unwrap() - 100.0).abs() < 1e-9);
    assert_eq!(
        (
            &scored["in_domain"],
            scored["terms"].as_array().unwrap().len()
        ),
        (&json!(true), 3)
    );
    let chosen = answer(&format!(
        "allocate --machine dgx-1v --gpus 4 --sensitive --model {model}"
    ));
    assert!(
        (chosen["scores"]["mine"].as_f64().unwrap() - 140.0).abs() < 1e-9,
        "{chosen}"
    );
    let beyond = answer(&format!(
        "allocate --machine dgx-1v --gpus 8 --sensitive --model {model}"
    ));
    assert_eq!(beyond["in_domain"], false);
    assert!(
        beyond["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("mine, the model by which auto chooses"),
        "{beyond}"
    );
}

#[test]
fn a_fit_says_what_it_was_made_of_and_how_far_it_is_off() {
    let folder = Folder::new();
    let runs = folder.write(
        "runs.csv",
        &(EXACT.replace("140", "150") + "1 2 4,52,mixed\n"),
    );
    let printed = text(
        &format!("fit --machine dgx-1v {runs} --terms linear --folds 3"),
        "",
    );
    for said in [
        "6 samples",
        "| double ",
        "| four ",
        "leverage",
        "| direct-2 ",
        "rank 3 of 3, condition",
        "on the samples",
        "held out, 3 parts",
        "paper's RMSE",
        "| 0,2,3 ",
        "order     all 4 pairs of equal size are ranked as measured",
    ] {
        assert!(printed.contains(said), "{said} in {printed}");
    }
    assert!(!printed.contains("held out, each size"), "{printed}");
    let fit = answer(&format!(
        "fit --machine dgx-1v {runs} --terms linear --folds 40"
    ));
    assert_eq!(
        fit["validation"][0]["by"], "6 parts",
        "no more than there are distinct counts"
    );
    for (label, devices) in [("double", json!([0, 3])), ("three", json!([0, 2, 3]))] {
        let samples = fit["samples"].as_array().unwrap();
        let sample = samples
            .iter()
            .find(|sample| sample["label"] == label)
            .unwrap();
        assert_eq!(sample["devices"], devices);
    }
}

/// A few sets, of which those of many devices outweigh the pairs.
#[test]
fn pairs_that_are_rated_in_the_wrong_order_are_told() {
    let folder = Folder::new();
    let runs = folder.write(
        "runs.csv",
        "devices,gbps\n0 3,46.4\n0 1,22.9\n0 5,9.1\n0 1 2 3,40\n0 1 4 5,130\n",
    );
    let printed = text(
        &format!("fit --machine dgx-1v {runs} --terms linear --method least-squares"),
        "",
    );
    let told = "order     1 of 4 pairs of equal size are misordered: line 2 (46.4) is rated below line 3 (22.9)\n";
    assert!(printed.contains(told), "{printed}");
    let fit = answer(&format!(
        "fit --machine dgx-1v {runs} --terms linear --method least-squares"
    ));
    assert_eq!(fit["compared_pairs"], 4);
    let wrong = fit["misordered"].as_array().unwrap();
    let pair = wrong
        .iter()
        .find(|pair| pair["gbps"] == json!([46.4, 22.9]))
        .unwrap();
    assert_eq!(
        (&pair["samples"], &pair["tied"]),
        (&json!(["line 2", "line 3"]), &json!(false))
    );
    assert!(pair["predicted"][0].as_f64().unwrap() < pair["predicted"][1].as_f64().unwrap());
    // By default a better link is never rated worse, and that they tie is still told.
    let fit = answer(&format!("fit --machine dgx-1v {runs} --terms linear"));
    let wrong = fit["misordered"].as_array().unwrap();
    assert!(
        wrong
            .iter()
            .any(|pair| pair["gbps"] == json!([46.4, 22.9]) && pair["tied"] == true),
        "{wrong:?}"
    );
}

#[test]
fn what_cannot_be_held_out_is_told_beside_what_can() {
    let folder = Folder::new();
    let runs = folder.write("runs.csv", &(EXACT.to_owned() + "0 1 2,80,other three\n"));
    let printed = text(&format!("fit --machine dgx-1v {runs} --terms linear"), "");
    assert!(
        printed.contains("not held out, each size: the samples of 2 ranks: without them, "),
        "{printed}"
    );
    let fit = answer(&format!("fit --machine dgx-1v {runs} --terms linear"));
    let sizes = &fit["validation"][1];
    assert_eq!(
        (&sizes["by"], sizes["folds"].as_array().unwrap().len()),
        (&json!("each size"), 2)
    );
    assert_eq!(
        sizes["not_held_out"][0]["held_out"],
        "the samples of 2 ranks"
    );
    let one = folder.write("one.csv", "devices,gbps\n0 3,46\n");
    let printed = text(
        &format!("fit --machine dgx-1v {one} --terms linear --allow-rank-deficient"),
        "",
    );
    assert!(
        printed.contains("not held out, 2 parts: all samples have the same link counts: "),
        "{printed}"
    );
}

#[test]
fn repeats_that_contradict_each_other_are_noted_with_both_lines() {
    let folder = Folder::new();
    let runs = folder.write(
        "runs.csv",
        "devices,gbps\n\"0,3\",46\n3 0,10\n0 1,22\n1 0,23\n0 5,9\n",
    );
    let fit = answer(&format!("fit --machine dgx-1v {runs} --terms linear"));
    assert_eq!(
        fit["notes"],
        json!([
            "devices 0,3: line 2 measured 46.00 GB/s, line 3 10.00",
            "do not trust this model: 5 samples have 3 distinct link counts for 3 terms; expected at least 6"
        ])
    );
    let told = text(&format!("fit --machine dgx-1v {runs} --terms linear"), "");
    assert!(
        told.starts_with("warning   do not trust this model: "),
        "{told}"
    );
}

#[test]
fn methods_differ_and_are_named() {
    let folder = Folder::new();
    // The host path measured fastest: neither a ridge nor bounds would say so.
    let runs = folder.write(
        "runs.csv",
        "devices,gbps\n0 3,80\n0 1,40\n0 5,90\n0 2 3,20\n",
    );
    let linear = |words: &str| {
        let fit = answer(&format!(
            "fit --machine dgx-1v {runs} --terms linear {words}"
        ));
        let terms = fit["model"]["terms"].as_array().unwrap();
        terms
            .iter()
            .map(|term| term["coefficient"].as_f64().unwrap())
            .collect::<Vec<f64>>()
    };
    let plain = linear("--method least-squares");
    let (nnls, monotone, ridge) = (
        linear("--method nnls"),
        linear("--method monotone"),
        linear("--method ridge --lambda 10"),
    );
    assert!(
        nnls.iter().all(|coefficient| *coefficient >= 0.0),
        "{nnls:?}"
    );
    assert!(
        monotone[0] >= monotone[1] - 1e-6 && monotone[1] >= monotone[2] - 1e-6,
        "{monotone:?}"
    );
    let norm = |of: &[f64]| of.iter().map(|c| c * c).sum::<f64>();
    assert!(norm(&ridge) < norm(&plain));
    insta::assert_snapshot!(
        error(&format!("fit --machine dgx-1v {runs} --lambda 3")),
        @"error: --lambda is for --method ridge: expected that method, or no --lambda"
    );
    insta::assert_snapshot!(error(&format!("fit --machine dgx-1v {runs} --method ridge")), @"
    error: the following required arguments were not provided:
      --lambda <LAMBDA>
    ");
}

#[test]
fn logs_of_nccl_tests_are_read_and_what_is_no_sample_is_told() {
    let folder = Folder::new();
    let logs: String = [(1, 0.0), (2, 20.0), (4, 50.0), (8, 110.0)]
        .map(|(devices, gbps)| run_of(devices, gbps))
        .concat();
    let (a, b) = (
        folder.write("a.log", &logs),
        folder.write(
            "b.csv",
            "OP,GPU,Bandwidth\nall_reduce_perf,3,30\nbroadcast_perf,3,40\n",
        ),
    );
    let fit = answer(&format!(
        "fit --machine dgx-1v {a} {b} --terms linear --allow-rank-deficient"
    ));
    let labels: Vec<&str> = fit["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["label"].as_str().unwrap())
        .collect();
    assert!(
        labels.len() == 4 && labels.contains(&format!("{b}, line 2").as_str()),
        "{labels:?}"
    );
    let left_out: Vec<&str> = fit["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        left_out,
        [
            "one device has no collective bandwidth",
            "broadcast, not all_reduce"
        ]
    );
    assert!(
        fit["notes"][0]
            .as_str()
            .unwrap()
            .contains("devices are matched by number"),
        "{fit}"
    );
    let in_place = answer(&format!(
        "fit --machine dgx-1v {a} --terms linear --allow-rank-deficient --column in-place"
    ));
    assert!(
        in_place["samples"]
            .as_array()
            .unwrap()
            .iter()
            .any(|sample| sample["gbps"] == 220.0),
        "{in_place}"
    );
    let piped = run(
        "fit --machine dgx-1v - --terms linear --allow-rank-deficient --json",
        &logs,
    );
    assert_eq!(piped.status.code(), Some(0));
    assert!(
        piped.stderr.is_empty(),
        "no bar without a terminal: {}",
        String::from_utf8_lossy(&piped.stderr)
    );
}

#[test]
fn plots_are_pictures() {
    let folder = Folder::new();
    let (runs, plots) = (folder.write("runs.csv", EXACT), folder.path("plots"));
    let printed = text(
        &format!("fit --machine dgx-1v {runs} --terms linear --plot {plots}"),
        "",
    );
    for name in ["predicted.svg", "residuals.svg"] {
        let svg = std::fs::read_to_string(Path::new(&plots).join(name)).unwrap();
        assert!(
            svg.contains("<svg") && svg.contains("measured, GB/s") && svg.contains("3 devices"),
            "{name}"
        );
        assert!(svg.contains("fitted_gbps, dgx-1v, monotone: "), "{name}");
        assert!(!svg.contains(">0,2,3<"), "nothing is off: {name}");
        assert!(printed.contains(name), "{printed}");
    }
    let runs = folder.write("off.csv", EXACT.replace("100,three", "130,three"));
    text(
        &format!("fit --machine dgx-1v {runs} --terms linear --plot {plots}"),
        "",
    );
    let svg = std::fs::read_to_string(Path::new(&plots).join("residuals.svg")).unwrap();
    assert!(
        svg.contains(">0,2,3<") || svg.contains(">0,3,2<"),
        "the worst bears its devices"
    );
}

#[test]
fn what_cannot_be_fitted_is_refused_with_the_row_and_the_reason() {
    let folder = Folder::new();
    let exact = folder.write("runs.csv", EXACT);
    insta::assert_snapshot!(
        error(&format!("fit --machine dgx-1v {exact}")),
        @"error: 5 samples with 5 distinct link counts for 14 terms: expected at least as many distinct counts as terms, fewer terms, or that the solution of least norm is asked for (options: --terms linear, --method ridge --lambda L, --allow-rank-deficient)"
    );
    let bad = |name: &str, text: &str| {
        let file = folder.write(name, text);
        error(&format!("fit --machine dgx-1v {file} --terms linear"))
    };
    insta::assert_snapshot!(
        bad("nan.csv",
        "devices,gbps\n0 3,80\n0 1,NaN\n"),
        @"error: FOLDER/nan.csv: line 3: gbps `NaN`: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        bad("negative.csv",
        "devices,gbps\n0 3,-80\n"),
        @"error: FOLDER/negative.csv: line 2: gbps `-80`: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        bad("unknown.csv",
        "devices,gbps\n0 3,80\n0 9,80\n"),
        @"error: FOLDER/unknown.csv: line 3: no single device is called `9`: expected an id below 8, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        bad("none.csv",
        "OP,GPU,Bandwidth\nbroadcast_perf,2,3\n"),
        @"error: no samples: line 2: broadcast, not all_reduce (collectives measured: broadcast; see --op)"
    );
    insta::assert_snapshot!(
        bad("zero.csv",
        "devices,gbps\n0 3,0\n0 1,0\n"),
        @"error: all 2 samples are 0 GB/s: expected measured bandwidths"
    );
    insta::assert_snapshot!(
        bad("many.csv",
        "OP,GPU,Bandwidth\nbroadcast_perf,2,3\nreduce_perf,2,3\nbroadcast_perf,3,3\nbroadcast_perf,4,3\n"),
        @"error: no samples: line 2 and 2 more: broadcast, not all_reduce; line 3: reduce, not all_reduce (collectives measured: broadcast, reduce; see --op)"
    );
    let whole = run_of(4, 50.0);
    insta::assert_snapshot!(
        bad("cut.log", &whole[..whole.len() - 90]),
        @"error: FOLDER/cut.log: line 10: a row of 9 columns: expected 13, as in the header on line 8; is the row cut off?"
    );
    insta::assert_snapshot!(
        bad("half.log",
        &whole[..whole.find("    1.00   100.00").unwrap()]),
        @"error: FOLDER/half.log: line 10: a row of 10 columns: expected 13, as in the header on line 8; is the row cut off?"
    );
    let (object, status) = no(&format!("fit --machine dgx-1v {exact} --json"));
    assert!(
        object["error"]
            .as_str()
            .unwrap()
            .contains("distinct link counts")
            && status == 2,
        "{object}"
    );
    insta::assert_snapshot!(
        error("fit --machine dgx-1v no-such-file"),
        @"error: no-such-file: No such file or directory (os error 2)"
    );
    insta::assert_snapshot!(
        error(&format!("fit --machine dgx-1v {exact} --tiers nv1,nv2")),
        @"error: the tier from direct-1 is followed by that from direct-2: expected tiers from better to worse"
    );
    insta::assert_snapshot!(
        error(&format!("fit --machine dgx-1v {exact} --terms linear --folds 1")),
        @"error: 1 parts of 5 distinct link counts: expected 2 to 5"
    );
}

/// The page's files and commands, in its order: what it shows is what is printed.
#[test]
fn the_example_of_the_page_runs_as_it_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/calibrate.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = Folder::new();
    let block = |fence: &str| {
        let (_, rest) = page.split_once(&format!("```{fence}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    folder.write("runs.csv", block("csv"));
    let mut shown = page
        .split("```console\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0);
    let mut commands = 0;
    for block in &mut shown {
        let (command, lines) = block.split_once('\n').unwrap();
        let words = command.strip_prefix("$ mapa-bench ").unwrap();
        let printed = folder.text(words);
        for line in lines.lines().filter(|line| *line != "...") {
            assert!(
                printed
                    .lines()
                    .any(|known| known.trim_end() == line.trim_end()),
                "{command}: no `{line}` in:\n{printed}"
            );
        }
        commands += 1;
    }
    assert!(commands >= 3, "{commands}");
}

/// Runs that Eq. 2 makes of the jobs of Tang et al., Table 2, with a constant error up and down.
fn pcie_runs() -> String {
    let mut rows = "job,copies,runtime_s\n".to_owned();
    for (job, demand, alpha) in [("Bloom560m", 5.7, 1.25), ("Bloom7b1", 17.65, 1.07)] {
        for copies in 1..=7 {
            let exact = 50.0 * (alpha * demand * f64::from(copies) / 30.08_f64).max(1.0);
            rows += &format!(
                "{job},{copies},{}\n{job},{copies},{}\n",
                exact + 0.2,
                exact - 0.2
            );
        }
    }
    rows
}

#[cfg(feature = "pcie")]
#[test]
fn slopes_of_contention_come_from_runs_and_go_into_profiles_that_commands_take() {
    let folder = Folder::new();
    let (runs, file, svg) = (
        folder.write("runs.csv", pcie_runs()),
        folder.path("p.toml"),
        folder.path("p.svg"),
    );
    let demand = "--demand Bloom560m=5.7 --demand Bloom7b1=17.65";
    let fit = answer(&format!(
        "profile {runs} {demand} --output {file} --svg {svg}"
    ));
    assert_valid("profile", &fit);
    for (job, (alpha, knee)) in fit["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .zip([(1.25, 4.2217), (1.07, 1.5928)])
    {
        let number = |key: &str| job[key].as_f64().unwrap();
        assert!(
            (number("pcie_alpha") - alpha).abs() < 1e-9
                && (number("knee_copies") - knee).abs() < 1e-3,
            "{job}"
        );
        assert!(
            number("low") < alpha
                && alpha < number("high")
                && number("high") - number("low") < 0.03,
            "{job}"
        );
        assert_eq!(
            (job["points"].as_array().unwrap().len(), number("base_s")),
            (7, 50.0)
        );
    }
    assert_eq!(
        fit["jobs"][0]["points"][3]["on_line"], false,
        "four copies of 560m are not slowed down"
    );
    assert_eq!(fit["written"], json!([file, svg]));
    assert!(
        std::fs::read_to_string(&svg)
            .unwrap()
            .contains("alpha 1.250")
    );
    let printed = text(&format!("profile {runs} {demand}"), "");
    assert!(
        printed.contains("| Bloom560m |") && printed.contains("1.2500") && printed.contains("4.22"),
        "{printed}"
    );
    // The slopes are those of the published profiles, so the command says the same by both.
    let jobs = folder.write(
        "jobs.csv",
        "job,profile,device\na,Bloom7b1,GPU0/1g.5gb@0\nb,Bloom560m,GPU0/1g.5gb@1\n",
    );
    let on = "contention --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g";
    let [own, published] = [format!(" --profiles {file}"), String::new()].map(|option| {
        let answer = answer(&format!("{on} --jobs {jobs}{option}"));
        ["equal-share", "max-min"]
            .map(|model| answer["jobs"][0]["slowdown"][model].as_f64().unwrap())
    });
    assert!(
        own.iter()
            .zip(published)
            .all(|(value, other)| (value - other).abs() < 1e-9),
        "{own:?} {published:?}"
    );
    insta::assert_snapshot!(
        error(&format!("profile {runs} --demand Bloom7b1=17.65")),
        @"error: FOLDER/runs.csv: job `Bloom560m`: its demand is missing: expected --demand Bloom560m=GB/s"
    );
    insta::assert_snapshot!(
        error(&format!("profile {runs} {demand} --demand x=1")),
        @"error: --demand x: FOLDER/runs.csv has no runs of this job"
    );
    insta::assert_snapshot!(
        error(&format!("profile {runs} --demand Bloom7b1")),
        @"error: --demand Bloom7b1: expected JOB=GB/s, each job once, 0 or from 0.001 to 4294967.295"
    );
    insta::assert_snapshot!(
        error(&format!("profile {runs} --demand Bloom7b1=0.0003")),
        @"error: --demand Bloom7b1=0.0003: expected JOB=GB/s, each job once, 0 or from 0.001 to 4294967.295"
    );
    let short = folder.write("short.csv", "job,copies,runtime_s\na,1,5\na,2,5\n");
    insta::assert_snapshot!(
        error(&format!("profile {short} --demand a=1")),
        @"error: FOLDER/short.csv: job `a`: the link slowed no job down with up to 2 copies: expected runs of more copies"
    );
}

#[cfg(feature = "pcie")]
#[test]
fn throughputs_are_measured_too_and_a_job_without_a_demand_is_not_pcie_bound() {
    let folder = Folder::new();
    let rows = "job,slice,copies,runtime_s,tokens\na,1g.1m,1,50,100\na,1g.1m,2,80,100\na,2g.2m,1,25,100\nb,1g.1m,1,10,300\n";
    let (runs, file) = (folder.write("runs.csv", rows), folder.path("p.toml"));
    let fit = answer(&format!(
        "profile {runs} --demand a=20 --demand b=0 --output {file}"
    ));
    assert_eq!(
        fit["jobs"][0]["throughput"],
        json!({ "1g.1m": 2.0, "2g.2m": 4.0 })
    );
    assert_eq!(
        (&fit["jobs"][1]["pcie_alpha"], &fit["jobs"][1]["throughput"]),
        (&Value::Null, &json!({ "1g.1m": 30.0 }))
    );
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("throughput = { \"1g.1m\" = 2.0, \"2g.2m\" = 4.0 }"),
        "{written}"
    );
    assert!(
        text(&format!("profile {runs} --demand a=20 --demand b=0"), "")
            .contains("1g.1m 2, 2g.2m 4")
    );
}

#[test]
fn pictures_are_drawn_of_few_and_of_equal_measurements() {
    let folder = Folder::new();
    for (name, rows) in [
        ("one", "0 1,50\n"),
        ("equal", "0 1,50\n0 2,50\n0 1,50\n"),
        ("nothing", "0 1,0\n0 2,0\n"),
    ] {
        let runs = folder.write("runs.csv", format!("devices,gbps\n{rows}"));
        let plots = folder.path(name);
        let words = format!("fit --machine dgx-1v {runs} --terms linear --plot {plots}");
        let output = run(&words, "");
        let told = String::from_utf8_lossy(&output.stderr);
        // Too few to be fitted is an error that says so.
        assert!(
            matches!(output.status.code(), Some(0 | 2)),
            "{name}: {told}"
        );
        assert!(!told.contains("panicked"), "{name}: {told}");
        if output.status.success() {
            let svg = std::fs::read_to_string(Path::new(&plots).join("residuals.svg")).unwrap();
            assert!(svg.contains("<svg") && !svg.contains("NaN"), "{name}");
        }
    }
}
