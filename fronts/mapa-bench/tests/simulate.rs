//! `simulate`: policies side by side, files, pictures, and what is wrong with requests.

use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, answer, error, no, run, text};
use serde_json::Value;

const FEW: &str = "simulate --machine dgx-1v --generate mapa,jobs=40";

#[test]
fn the_papers_policies_stand_side_by_side_the_first_being_one() {
    let usual = answer(FEW);
    assert_eq!(usual["policies"][0]["policy"], "auto");
    let policies = answer(&format!("{FEW} --policy paper"));
    let policies = policies["policies"].as_array().unwrap();
    let names: Vec<&str> = policies
        .iter()
        .map(|policy| policy["policy"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["lowest-id", "topo-aware", "greedy", "preserve"]);
    assert_eq!(policies[0]["relative_throughput"], 1.0);
    for policy in policies {
        assert_eq!(policy["finished"], 40);
        assert_eq!(policy["jobs"].as_array().unwrap().len(), 40);
        let share = policy["utilisation"].as_f64().unwrap();
        assert!(share > 0.5 && share <= 1.0, "{share}");
        let fragmentation = policy["mean_fragmentation"].as_f64().unwrap();
        assert!((0.0..1.0).contains(&fragmentation), "{fragmentation}");
    }
    let median = |at: usize| {
        policies[at]["sensitive_effective_p50_gbps"]
            .as_f64()
            .unwrap()
    };
    assert!(median(2) > median(0), "greedy above lowest-id");
}

#[test]
fn the_same_words_print_the_same_and_text_has_the_numbers_of_json() {
    let told = text(FEW, "");
    assert_eq!(told, text(FEW, ""));
    let object = answer(FEW);
    for policy in object["policies"].as_array().unwrap() {
        let line = told
            .lines()
            .find(|line| line.contains(policy["policy"].as_str().unwrap()))
            .unwrap();
        let wait = policy["wait_mean_s"].as_f64().unwrap();
        assert!((120.0..5_995.0).contains(&wait), "in minutes: {wait}");
        let wait = wait / 60.0;
        let wait = format!("| {wait:.*} min |", if wait < 9.995 { 2 } else { 1 });
        assert!(line.contains(&wait), "{wait} in {line}");
    }
    assert!(
        told.contains(object["workload"]["source"].as_str().unwrap()),
        "{told}"
    );
}

#[test]
fn files_have_a_row_a_job_and_policy_in_each_format_and_the_same_numbers() {
    let folder = Folder::new();
    let csv = folder.path("jobs.csv");
    let json = folder.path("jobs.json");
    let parquet = folder.path("jobs.parquet");
    let series = folder.path("series.csv");
    for file in [&csv, &json, &parquet] {
        text(
            &format!(
                "{FEW} --policy greedy --policy lowest-id,greedy --output {file} --series {series}"
            ),
            "",
        );
    }
    let lines = fs::read_to_string(&csv).unwrap();
    assert_eq!(lines.lines().count(), 1 + 2 * 40);
    assert!(
        lines.starts_with("policy,status,index,job,task,devices,sensitive,"),
        "{lines}"
    );
    let rows: Vec<Value> = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(
        (rows[0]["policy"].as_str(), rows[40]["policy"].as_str()),
        (Some("greedy"), Some("lowest-id"))
    );
    let header: Vec<&str> = lines.lines().next().unwrap().split(',').collect();
    let at = header
        .iter()
        .position(|name| *name == "effective_gbps")
        .unwrap();
    for (line, row) in lines.lines().skip(1).zip(&rows) {
        let cell: f64 = line.split(',').nth(at).unwrap().parse().unwrap();
        // What is written are the same digits; this reader of JSON may be off by the last bit.
        let read = row["effective_gbps"].as_f64().unwrap();
        assert!(
            (cell - read).abs() <= 2.0 * f64::EPSILON * cell.abs(),
            "{cell} {read}"
        );
    }
    assert!(fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let series = fs::read_to_string(&series).unwrap();
    assert!(
        series.starts_with("policy,time_s,utilisation,fragmentation\ngreedy,0.0,"),
        "{series}"
    );
}

#[test]
fn pictures_are_drawn_for_all_policies_and_one_timeline_each() {
    let folder = Folder::new();
    let plots = folder.path("plots");
    let told = text(
        &format!("{FEW} --policy greedy,preserve --plot {plots}"),
        "",
    );
    for name in [
        "bandwidth.svg",
        "over-time.svg",
        "timeline-greedy.svg",
        "timeline-preserve.svg",
    ] {
        let picture = fs::read_to_string(PathBuf::from(&plots).join(name)).unwrap();
        assert!(
            picture.contains("<svg") && picture.contains("preserve") | picture.contains("greedy"),
            "{name}"
        );
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn jobs_that_never_fit_are_told_and_no_failure() {
    let jobs =
        "numGpus,pattern,arrival,duration,bwSensitive,task\n2,ring,0,10,1,a\n9,ring,0,10,1,b\n";
    let output = run(
        "simulate --machine dgx-1v --jobs - --policy lowest-id",
        jobs,
    );
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let line = told
        .lines()
        .find(|line| line.starts_with("rejected"))
        .unwrap();
    assert!(
        line.contains("lowest-id: 1 job (1): more devices are wanted than the 8"),
        "{line}"
    );
}

#[test]
fn every_job_has_a_row_whatever_came_of_it() {
    let folder = Folder::new();
    let csv = folder.path("jobs.csv");
    let jobs = "9,ring,0,10,1,b\n2,ring,3,10,1,a\n";
    let words = format!(
        "simulate --machine dgx-1v --jobs - --policy lowest-id --execution fixed --output {csv}"
    );
    assert_eq!(run(&words, jobs).status.code(), Some(0));
    let rows = fs::read_to_string(&csv).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(
        rows[1].starts_with("lowest-id,finished,1,1,a,2,true,3.0,3.0,13.0,"),
        "{rows:?}"
    );
    assert!(
        rows[2].starts_with("lowest-id,rejected,0,0,b,9,true,0.0,,,10.0,,"),
        "{rows:?}"
    );
}

#[test]
fn what_eq_2_was_not_fitted_to_and_more_than_the_machine_can_do_are_noted() {
    let words = "simulate --machine dgx-1v --jobs - --policy greedy --execution fixed";
    let jobs = "6,ring,0,100,1,a\n8,ring,1,100,0,b\n5,ring,2,100,1,c\n1,ring,3,3600,0,d\n";
    let output = run(words, jobs);
    let told = String::from_utf8(output.stdout).unwrap();
    let expected = "note       greedy: 2 jobs of more than 5 devices or on other kinds of links: MAPA's Eq. 2 was not fitted to these";
    assert!(told.contains(expected), "{told}");
    assert!(
        told.contains("note       greedy: the load exceeds the machine's capacity"),
        "{told}"
    );
    let output = run(&format!("{words} --json"), jobs);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let policy = &object["policies"][0];
    assert_eq!(
        (&policy["out_of_domain"], &policy["search_limit_reached"]),
        (&2.into(), &0.into())
    );
    let within: Vec<bool> = policy["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["in_domain"].as_bool().unwrap())
        .collect();
    assert_eq!(within, [false, false, true, false]);
    let told = text(
        "simulate --machine dgx-1v --generate mapa,jobs=1 --policy greedy",
        "",
    );
    assert!(
        told.contains("workload   1 job: ") && !told.contains("\nnote "),
        "{told}"
    );
}

#[test]
fn a_fleet_is_a_machine() {
    let few = "simulate --machine fleet:2xdgx-1v --generate mapa,jobs=20 --policy greedy";
    let object = answer(few);
    assert_eq!(object["policies"][0]["finished"], 20);
}

#[test]
fn servers_are_a_fleet_of_their_own() {
    let few = "simulate --servers 3xdgx-1v,dgx-2 --generate mapa,jobs=60 --policy greedy";
    let object = answer(few);
    assert_eq!(object["servers"]["count"], 4);
    assert!(object["servers"]["network_gbps"].is_null());
    let jobs = object["policies"][0]["jobs"].as_array().unwrap();
    let on = |server: u64| jobs.iter().filter(|job| job["machine"] == server).count();
    assert_eq!((0..4).map(on).sum::<usize>(), 60);
    assert!(on(3) > 0 && on(0) > 0, "{} {}", on(0), on(3));
    assert!(text(few, "").starts_with("machine    4 servers: 3xdgx-1v, dgx-2\n"));
    assert!(answer(FEW)["servers"].is_null());
    insta::assert_snapshot!(
        error("simulate --servers 0xdgx-1v"),
        @"error: --servers 0xdgx-1v: expected [K x] a machine, such as 1250xdgx-1v, K from 1"
    );
    insta::assert_snapshot!(
        error("simulate --servers dgx-1w"),
        @"error: no machine is called `dgx-1w` (did you mean dgx-1p, dgx-1v or dgx-2?): expected a name that `mapa-bench machines` lists, or complete:N, ring:N[@GB/s], torus:A[xB[xC]][@GB/s], mesh:A[xB[xC]][@GB/s], hypercube:D[@GB/s], fleet:K[@GB/s]xMACHINE, a file, or - for standard input"
    );
    insta::assert_snapshot!(
        error("simulate --servers dgx-1v --network 0"),
        @"error: --network 0: expected a number of GB/s above 0"
    );
    assert_eq!(
        run("simulate --servers dgx-1v --machine dgx-2", "")
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        run("simulate --machine dgx-2 --network 25", "")
            .status
            .code(),
        Some(2)
    );
    assert_eq!(run("simulate", "").status.code(), Some(2));
}

#[test]
fn options_about_devices_are_about_those_of_every_server() {
    let jobs = "gpus,duration_s,slice\n1,60,3g.4m\n2,60,1g.1m\n1,60,2g.2m\n2,60,3g.4m\n";
    let on = |words: &str| -> Value {
        let words = format!("simulate {words} --jobs - --json");
        serde_json::from_str(&text(&words, jobs)).unwrap()
    };
    let object = on("--servers 2xdgx-a100 --mig a100-40gb=3g,2g,1g,1g --policy packed");
    assert_eq!(object["servers"]["count"], 2);
    let policy = &object["policies"][0];
    assert_eq!(policy["finished"], 4);
    let places: Vec<&str> = policy["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["placement"].as_str().unwrap())
        .collect();
    insta::assert_snapshot!(places.join("\n"), @r"
    GPU0/3g.20gb@4
    GPU0/1g.5gb@0 GPU0/1g.5gb@1
    GPU0/2g.10gb@2
    GPU1/3g.20gb@4 GPU2/3g.20gb@4
    ");
    // One machine is answered as a fleet of one.
    let mig = "--mig a100-40gb=3g,2g,1g,1g --policy packed";
    let (one, alone) = (
        on(&format!("--servers dgx-a100 {mig}")),
        on(&format!("--machine dgx-a100 {mig}")),
    );
    assert_eq!(one["policies"][0]["jobs"], alone["policies"][0]["jobs"]);
    let listed = "--mig a100-40gb=7g/7g/7g/7g/7g/7g/7g/3g,1g,1g --policy packed";
    assert_eq!(
        on(&format!("--servers dgx-a100 {listed}"))["policies"][0]["finished"],
        2
    );
    insta::assert_snapshot!(
        error("simulate --servers 2xdgx-a100 --mig a100-40gb=7g/3g,3g --generate mapa"),
        @"error: --mig: 2 lists of instances for the 8 devices of dgx-a100: expected one list for all devices, or one for each with `/` between them"
    );
    assert!(
        error("simulate --servers dgx-a100 --mig v100 --generate mapa")
            .contains("no GPU with MIG is called `v100`")
    );
    // Slower links, slower jobs.
    let mean = |words: &str| {
        let object = answer(&format!(
            "simulate --servers 2xdgx-1v {words} --generate mapa,jobs=30"
        ));
        object["policies"][0]["completion_mean_s"].as_f64().unwrap()
    };
    assert!(mean("--nvlink-gbps 15") > mean(""));
    let unnamed = "simulate --mig a100-40gb --scheduler fifo --generate mapa";
    assert_eq!(run(unnamed, "").status.code(), Some(2));
}

#[test]
fn a_job_that_is_too_large_for_every_server_needs_a_network() {
    let alone = "simulate --servers 2xdgx-1v --generate mapa,jobs=3,sizes=12 --policy preserve";
    let told = text(alone, "");
    assert!(
        told.contains(
            "rejected   preserve: 3 jobs (0, 1, 2): more devices are wanted than the 8 that the request"
        ),
        "{told}"
    );
    let object = answer(&format!("{alone} --network 25"));
    let run = &object["policies"][0];
    assert_eq!(run["finished"], 3);
    assert_eq!(object["servers"]["network_gbps"], 25.0);
    let job = &run["jobs"][0];
    assert_eq!(
        job["placement"].as_str().unwrap().matches("GPU").count(),
        12
    );
    assert!(job["placement"].as_str().unwrap().starts_with("0: GPU"));
    assert!(job["effective_gbps"].as_f64().unwrap() <= 25.0 && job["in_domain"] == false);
    let told = text(
        &format!("{alone} --network 25 --scheduler easy-backfill"),
        "",
    );
    assert!(
        told.contains("one machine for all 12 devices, as backfilling plans for (8 at most)"),
        "{told}"
    );
}

#[test]
fn wrong_requests_name_what_is_wrong() {
    assert_eq!(no("simulate --machine dgx-1v --policy best --json").1, 2);
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --policy best"),
        @"error: no policy is called `best`: expected one of auto, lowest-id, topo-aware, .."
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --policy ,"),
        @"error: --policy names no policy: expected names, `paper` or `all`"
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --scheduler lifo"),
        @"error: no scheduler is called `lifo` (did you mean fifo?): expected fifo, easy-backfill, conservative-backfill, .."
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --execution magic"),
        @"error: no execution model is called `magic`"
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --output jobs.xlsx"),
        @"error: jobs.xlsx: expected a name that ends in .csv, .json or .parquet"
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --policy greedy --model paper"),
        @"error: --model is for the policies auto, preserve, max-bandwidth and foresight: none of them is simulated"
    );
    insta::assert_snapshot!(
        error("simulate --machine - --jobs -"),
        @"error: --machine - and the jobs both read standard input: expected one of them"
    );
    let output = run(
        "simulate --machine dgx-1v --jobs -",
        "3,ring,120,17,1,vgg16.sh\n0,ring,120,17,1,vgg16.sh\n",
    );
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(
        String::from_utf8_lossy(&output.stderr),
        @"error: -: line 2: numGpus `0`: expected a number of devices from 1 to 1024"
    );
}

/// The commands of docs/simulate.md print what it says.
#[test]
fn the_page_shows_what_commands_print() {
    let page = include_str!("../../../docs/simulate.md");
    let mut commands = 0;
    for block in page.split("\n```console\n$ mapa-bench ").skip(1) {
        let (words, rest) = block.split_once('\n').unwrap();
        let (told, _) = rest.split_once("\n```").unwrap();
        assert_eq!(
            text(words, "").trim_end(),
            told,
            "docs/simulate.md: {words}"
        );
        commands += 1;
    }
    assert_eq!(commands, 2);
}

#[test]
fn pictures_are_drawn_of_one_job_of_equal_jobs_and_of_jobs_without_length() {
    let folder = Folder::new();
    for (name, jobs) in [
        ("one", "gpus,duration_s\n1,10\n"),
        ("equal", "gpus,duration_s\n2,10\n2,10\n2,10\n"),
        ("none-long", "gpus,duration_s\n1,0\n2,0\n"),
        ("infeasible", "gpus,duration_s\n900,5\n"),
    ] {
        let (file, plots) = (folder.write("jobs.csv", jobs), folder.path(name));
        let words = format!("simulate --machine dgx-1v --jobs {file} --plot {plots}");
        text(&words, "");
        for picture in fs::read_dir(&plots).unwrap() {
            let picture = fs::read_to_string(picture.unwrap().path()).unwrap();
            assert!(picture.trim_end().ends_with("</svg>"), "{name}");
            assert!(!picture.contains("NaN"), "{name}");
        }
    }
}
