//! `simulate` by the schedulers of this system, and the page on them.

use crate::common::{Folder, answer, error, stderr, stdout};
use serde_json::Value;

/// The files and the commands of systems/energy/docs/deadlines.md give what it says.
#[test]
fn the_page_on_energy_shows_what_commands_print() {
    let page = include_str!("../../docs/deadlines.md");
    let folder = Folder::new();
    let block = |kind: &str, with: &str| {
        let fence = format!("\n```{kind}\n");
        let mut blocks = page.split(&fence).skip(1);
        let block = blocks.find(|own| own.contains(with)).unwrap();
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
    let page = include_str!("../../docs/deadlines.md");
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
    let said = [
        ("gpus,duration_s\n1,5\n".to_owned(), "--scheduler energy"),
        (
            format!("{header}1,10,any,,1g.1m=5 2g.2m=6\n"),
            "--scheduler fifo",
        ),
        (
            format!("{header}1,10,any,3,{curve}\n"),
            "--scheduler energy,rule=best",
        ),
    ]
    .map(|(jobs, more)| {
        let output = run(&jobs, more);
        stderr(more, output)
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: the scheduler energy plans by run times by size of MIG instance, and no job has its own: expected `slice` any and `estimate_s` such as 1g.1m=50 2g.2m=25 (docs/workloads.md)
    error: jobs.csv: line 2: estimate_s: run time 6 s on 2g.2m is longer than 5 s on 1g.1m: expected none that grows with the slice
    error: scheduler `energy,rule=best`: `rule=best`: expected largest-first, eft-published, smallest-first, ..
    ");
    // Run times by size are of no use where jobs do not run by them.
    let jobs = format!("{header}1,10,any,3,{curve}\n1,10,2g.2m,,\n");
    let told = stdout(words, run(&jobs, "--scheduler energy-plan"));
    assert!(
        told.contains("which ring-packing ignores: expected --execution by-size"),
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
fn jobs_are_saved_as_a_job_file_and_layouts_are_printed_device_by_device() {
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
    insta::assert_snapshot!(
        error("simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,3g --generate energy-day,jobs=3"),
        @"error: --mig: 2 lists of instances for the 4 devices of hgx-a100-4: expected one list for all devices, or one for each with `/` between them"
    );
    insta::assert_snapshot!(
        error("simulate --machine hgx-a100-4 --mig a100-40gb=7g/4g,5g/7g/7g"),
        @"error: a100-40gb has no profile `5g`: expected one of 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
    );
    insta::assert_snapshot!(
        error("simulate --machine hgx-a100-4 --generate energy-day,slack=0..1"),
        @"error: generator `energy-day,slack=0..1`: slack=0..1: expected two numbers of 1 or more, such as 2..4"
    );
}
