//! `simulate`: policies side by side, files, pictures, and what is wrong with requests.

use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, answer, error, no, run, stdout, text};
use serde_json::{Value, json};

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
    error("simulate --servers 0xdgx-1v", "expected [K x] a machine");
    error("simulate --servers dgx-1w", "dgx-1w");
    error(
        "simulate --servers dgx-1v --network 0",
        "expected a number of GB/s above 0",
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
    error("simulate --machine dgx-1v --policy best", "best");
    error(
        "simulate --machine dgx-1v --policy ,",
        "--policy names no policy",
    );
    error("simulate --machine dgx-1v --scheduler lifo", "lifo");
    error(
        "simulate --machine dgx-1v --execution magic",
        "no execution model is called `magic`",
    );
    error(
        "simulate --machine dgx-1v --output jobs.xlsx",
        "jobs.xlsx: expected a name that ends in .csv",
    );
    error(
        "simulate --machine dgx-1v --policy greedy --model paper",
        "none of them is simulated",
    );
    error("simulate --machine - --jobs -", "both read standard input");
    let output = run(
        "simulate --machine dgx-1v --jobs -",
        "3,ring,120,17,1,vgg16.sh\n0,ring,120,17,1,vgg16.sh\n",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("line 2"),
        "{output:?}"
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

const SHARED: &str = "simulate --machine complete:1 --mig a100-40gb=2g,2g,1g,1g,1g --execution fixed \
    --jobs ../../examples/jobs/shared-instances.csv";

/// The table of systems/case/docs/scheduling.md on jobs that share instances is what its command gives.
#[test]
fn jobs_that_share_instances_run_as_the_page_says_and_tell_their_tasks() {
    let page = include_str!("../../../systems/case/docs/scheduling.md");
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
    for (words, expected) in [
        (
            format!("{words} --svg - --json"),
            "expected a file with --json",
        ),
        (
            format!("{words} --policy auto,greedy --svg x.svg"),
            "--policy names 2: expected one policy",
        ),
        (
            format!("{words} --svg /no/such/folder/x.svg"),
            "/no/such/folder/x.svg: ",
        ),
        (
            "simulate --machine complete:65 --svg - --generate mapa,jobs=2".to_owned(),
            "65 devices: expected at most 64",
        ),
    ] {
        error(&words, expected);
    }
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

/// The files and the commands of systems/energy/docs/deadlines.md give what it says.
#[test]
fn the_page_on_energy_shows_what_commands_print() {
    let page = include_str!("../../../systems/energy/docs/deadlines.md");
    let folder = Folder::new();
    let block = |kind: &str, with: &str| {
        let fence = format!("\n```{kind}\n");
        let mut blocks = page.split(&fence).skip(1);
        let block = blocks.find(|block| block.contains(with)).unwrap();
        block.split_once("\n```").unwrap().0.to_owned() + "\n"
    };
    folder.write("jobs.csv", block("csv", "estimate_s"));
    folder.write("sweep.toml", block("toml", "schedulers"));
    let mut commands = 0;
    for block in page.split("\n```console\n$ mapa-bench ").skip(1) {
        let (words, rest) = block.split_once('\n').unwrap();
        let (told, _) = rest.split_once("\n```").unwrap();
        let words = words.replace('\'', "");
        let own = stdout(&words, folder.run(&words));
        assert_eq!(
            own.trim_end(),
            told,
            "systems/energy/docs/deadlines.md: {words}"
        );
        commands += 1;
    }
    assert_eq!(commands, 3);
}

/// The table of schedulers on a published day in systems/energy/docs/deadlines.md.
#[test]
fn the_page_on_energy_has_the_published_day_under_each_scheduler() {
    let page = include_str!("../../../systems/energy/docs/deadlines.md");
    let heads = page
        .split("| scheduler | late | tardiness, min | energy, kWh |\n")
        .nth(1);
    let mut rows = 0;
    for row in heads
        .unwrap()
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
    {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let scheduler = cells[0].trim_matches('`');
        let own = &answer(&format!(
            "simulate --machine dgx-a100 --mig a100-40gb=7g/7g/4g,3g/4g,3g/4g,2g,1g/4g,2g,1g/2g,2g,2g,1g/2g,2g,2g,1g \
             --generate energy-day,published=1 --execution by-size --scheduler {scheduler}"
        ))["policies"][0];
        assert_eq!(own["finished"], 4150);
        let number = |key: &str| own[key].as_f64().unwrap();
        let told = format!(
            "{:.1} % {:.3} {:.2}",
            100.0 * number("late_share"),
            number("tardiness_mean_s") / 60.0,
            number("energy_wh") / 1000.0
        );
        assert_eq!(told, cells[1..].join(" "), "{scheduler}");
        rows += 1;
    }
    assert!(rows > 5);
}

#[test]
fn schedulers_by_deadlines_say_what_they_need() {
    let folder = Folder::new();
    let words = "simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,3g/4g,2g,1g/2g,2g,2g,1g --jobs jobs.csv";
    let run = |jobs: &str, more: &str| {
        folder.write("jobs.csv", jobs);
        folder.run(&format!("{words} {more}"))
    };
    let header = "gpus,duration_s,slice,deadline_s,estimate_s\n";
    let curve = "1g.1m=70 2g.2m=35 3g.4m=24 4g.4m=18 7g.8m=10";
    for (jobs, more, expected) in [
        (
            "gpus,duration_s\n1,5\n".to_owned(),
            "--scheduler energy",
            "the scheduler energy plans by run times by size of MIG instance, and no job tells its own: expected `slice` any",
        ),
        (
            format!("{header}1,10,any,,1g.1m=5 2g.2m=6\n"),
            "--scheduler fifo",
            "jobs.csv: line 2: estimate_s: run time 6 s on 2g.2m is longer",
        ),
        (
            format!("{header}1,10,any,3,{curve}\n"),
            "--scheduler energy,rule=best",
            "`rule=best`: expected largest-first",
        ),
    ] {
        let output = run(&jobs, more);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more}");
        assert!(told.contains(expected), "{more}: {told}");
    }
    // Run times by size are of no use where jobs do not run by them.
    let jobs = format!("{header}1,10,any,3,{curve}\n1,10,2g.2m,,\n");
    let told = stdout(words, run(&jobs, "--scheduler energy-plan"));
    assert!(
        told.contains("which effective-bandwidth ignores: expected --execution by-size"),
        "{told}"
    );
    assert!(
        told.contains(" late | tardiness |") && told.contains("energy, kWh"),
        "{told}"
    );
    // Without deadlines there are no columns for them.
    let told = stdout(
        words,
        run(
            &format!("{header}1,10,any,,{curve}\n"),
            "--execution by-size",
        ),
    );
    assert!(!told.contains("tardiness"), "{told}");
    // Where power is not known, that is said.
    let output = folder.run("simulate --machine dgx-1v --jobs jobs.csv");
    assert!(!stdout("", output).contains("energy is not known"));
    folder.write("jobs.csv", "gpus,duration_s,deadline_s\n1,10,20\n");
    let output = folder.run("simulate --machine dgx-1v --jobs jobs.csv");
    let told = stdout("", output);
    assert!(
        told.contains(
            "energy is not known: a device has no table of power; those of A100 have one"
        ),
        "{told}"
    );
}

#[test]
fn jobs_are_saved_as_a_job_file_and_layouts_are_told_device_by_device() {
    let folder = Folder::new();
    let words = "simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,3g/4g,2g,1g/2g,2g,2g,1g --execution by-size --scheduler energy";
    let number = |more: &str| {
        let words = format!("{words} {more} --json");
        let text = stdout(&words, folder.run(&words));
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["policies"][0].clone()
    };
    let drawn = number("--generate energy-day,from=540,jobs=200 --seed 3 --save-jobs day.csv");
    let read = number("--jobs day.csv");
    assert_eq!(drawn, read);
    assert!(drawn["late_share"].as_f64().unwrap() > 0.0);
    error(
        "simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,3g --generate energy-day,jobs=3",
        "--mig: 2 lists of instances for the 4 devices of hgx-a100-4: expected one list for all devices, or one for each",
    );
    error(
        "simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,5g/7g/7g",
        "5g",
    );
    error(
        "simulate --machine hgx-a100-4 --generate energy-day,slack=0..1",
        "slack=0..1: expected two numbers of 1 or more",
    );
}

/// Four A100 in sevenths, and nine jobs of 50 s that copy as Bloom7b1 does: alone at full speed,
/// two on a GPU 1.256 times as long, three 1.884 times.
#[test]
fn schedulers_of_instances_run_by_their_own_policy_and_by_what_is_set() {
    let folder = Folder::new();
    let jobs = format!(
        "gpus,duration_s,slice,pcie_gbps,pcie_alpha\n{}",
        "1,50,1g.1m,17.65,1.07\n".repeat(9)
    );
    folder.write("jobs.csv", jobs);
    let words = format!(
        "simulate --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs {} --execution pcie-equal-share",
        folder.path("jobs.csv")
    );
    let makespan = |scheduler: &str| {
        let answer = answer(&format!("{words} --scheduler {scheduler}"));
        let [policy] = &answer["policies"].as_array().unwrap()[..] else {
            panic!("{answer}")
        };
        assert_eq!(
            (&answer["scheduler"], &policy["finished"]),
            (&Value::from(scheduler), &Value::from(9))
        );
        assert!((0.0..=1.0).contains(&policy["utilisation"].as_f64().unwrap()));
        (
            policy["policy"].as_str().unwrap().to_owned(),
            policy["makespan_s"].as_f64().unwrap(),
        )
    };
    let two = 50.0 * 1.07 * 17.65 * 2.0 / 30.08;
    for (scheduler, policy, expected) in [
        // Two on each GPU, and one that waits for the first of them.
        ("pcie-aware", "pcie-aware", two + 50.0),
        // One on each.
        ("pcie-aware,delay=1", "pcie-aware", 150.0),
        // All at once, and one GPU has three of them.
        ("pcie-aware,delay=none", "pcie-aware", two * 1.5),
        // So once they have waited too long, at once.
        ("pcie-aware,wait=0", "pcie-aware", two * 1.5),
        // The port is so wide that the scheduler predicts no slowdown; there is one.
        ("pcie-aware,gbps=1000", "pcie-aware", two * 3.5),
        ("first-gpu", "lowest-id", two * 3.5),
    ] {
        let (own, seconds) = makespan(scheduler);
        assert_eq!(own, policy);
        assert!(
            (seconds - expected).abs() < 1e-6,
            "{scheduler}: {seconds}, not {expected}"
        );
    }
    let wide = answer(&format!("{words},gbps=1000 --scheduler first-gpu"));
    assert_eq!(wide["policies"][0]["makespan_s"], 50.0);
    let told = text(&format!("{words} --scheduler pcie-aware"), "");
    assert!(
        told.contains("| pcie-aware |        9 |") && !told.contains("effective bandwidth, GB/s"),
        "{told}"
    );
    folder.write("jobs.csv", "gpus,duration_s,pcie_gbps\n1,50,17.65\n");
    let told = text(&format!("{words} --scheduler pcie-aware"), "");
    let note = "note       pcie-aware: 1 of the waiting jobs wants whole devices, and some devices are partitioned: a column `slice` requests instances";
    assert!(
        told.contains("waiting    pcie-aware: 1 job never") && told.contains(note),
        "{told}"
    );
    let none = words.replace("pcie-equal-share", "fixed");
    let note = "the scheduler delays jobs to avoid PCIe contention, which fixed ignores: expected --execution pcie-equal-share or pcie-max-min";
    assert!(text(&format!("{none} --scheduler pcie-aware"), "").contains(note));
    assert!(
        !text(&format!("{none} --scheduler first-gpu"), "").contains(note) && !told.contains(note)
    );
    error(
        &format!("{words} --scheduler pcie-aware --policy greedy"),
        "places jobs by pcie-aware, not by greedy",
    );
    for (setting, message) in [
        (
            "delay=-1",
            "scheduler `pcie-aware,delay=-1`: `delay=-1`: expected a factor of at least 1, or none",
        ),
        ("delay=0.9", "expected a factor of at least 1, or none"),
        ("wait=x", "`wait=x`: expected seconds from 0 on, or none"),
        ("gbps=0", "`gbps=0`: expected GB/s above 0"),
        (
            "speed=1",
            "`speed=1`: no setting is called `speed`: expected delay=FACTOR|none, wait=SECONDS|none, gbps=GB/s",
        ),
        ("delay", "`delay`: expected delay=FACTOR|none, wait="),
        (
            "wait=1,wait=2",
            "`wait=2`: already set by `wait=1`: expected each setting once",
        ),
    ] {
        error(
            &format!("{words} --scheduler pcie-aware,{setting}"),
            message,
        );
    }
}
