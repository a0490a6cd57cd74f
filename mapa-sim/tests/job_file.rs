//! Job files: what they mean, what is refused and where, and that what is written is read back.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, DeviceSet, Pattern, Request, Shape};
use mapa_sched::{Job, JobId, RunTime, Time};
use mapa_sim::{
    Profile, Submission, TaskPlan, Workload, read_jobs, read_profiles, write_jobs, write_profiles,
};
use proptest::prelude::*;

/// The text is refused, on this line (0: no line), with these words.
#[track_caller]
fn refused(text: &str, line: usize, words: &[&str]) {
    let error = read_jobs(text).expect_err(text);
    assert_eq!(error.line().unwrap_or(0), line, "{text}: {error}");
    for word in words {
        assert!(
            error.to_string().contains(word),
            "{text}: {error}: expected `{word}`"
        );
    }
}

#[test]
fn a_line_of_the_released_form_means_what_it_does_to_the_released_simulator() {
    let workload = read_jobs("3,ring,120,17,1,vgg16.sh\n1,all,0,5,0,googlenet.sh\n").unwrap();
    let [first, second] = &workload.jobs[..] else {
        panic!("{workload:?}")
    };
    assert_eq!(
        first.job.request,
        Request::new(Pattern::ring(3)).sensitive(true)
    );
    assert_eq!(first.job.arrived, Time::from_secs(120));
    assert_eq!(
        (first.work, &*first.task),
        (Duration::from_secs(17), "VGG-16")
    );
    assert_eq!(first.job.run_time, RunTime::Fixed(Duration::from_secs(17)));
    assert_eq!(
        second.job.request,
        Request::new(Pattern::all_to_all(1)).sensitive(false)
    );
    assert_eq!((first.job.id, second.job.id), (JobId(0), JobId(1)));
    assert!(workload.notes[0].contains("cycles"), "{:?}", workload.notes);
    assert!(
        workload.notes[1].contains("first on line 2"),
        "{:?}",
        workload.notes
    );
}

#[test]
fn arrivals_may_have_the_name_that_traces_give_them() {
    let of = |column: &str| format!("# c\ngpus,duration_s,{column}\n3,17,12.5\n2,18,\n");
    let job = read_jobs(&of("submit_s")).unwrap();
    assert_eq!(job.jobs[0].job.arrived, Time(12_500_000_000));
    assert_eq!(job.jobs[1].job.arrived, Time::ZERO);
    assert_eq!(job, read_jobs(&of("arrival_s")).unwrap());
    let written = write_jobs(&job).unwrap();
    assert!(written.contains("arrival_s") && !written.contains("submit_s"));
    let both = "# c\n\ngpus,duration_s,submit_s,arrival_s\n3,17,1,1\n";
    refused(
        both,
        3,
        &["`arrival_s` and `submit_s`", "expected one of them"],
    );
    let malformed = "gpus,duration_s,submit_s\n3,17,soon\n";
    refused(malformed, 2, &["submit_s `soon`", "such as 12.5"]);
}

#[test]
fn patterns_of_the_released_form_are_shapes() {
    for (word, shape) in [
        ("ring", Shape::Ring),
        ("clique", Shape::AllToAll),
        ("all", Shape::AllToAll),
        ("star", Shape::Star),
        ("tree", Shape::Tree),
    ] {
        let workload = read_jobs(&format!("4,{word},0,5,1,alexnet.sh")).unwrap();
        assert_eq!(
            workload.jobs[0].job.request.pattern,
            shape.pattern(4),
            "{word}"
        );
    }
}

#[test]
fn names_comments_blank_lines_and_line_ends_of_windows_change_nothing() {
    let plain = read_jobs("3,ring,1,17,1,my job\n2,ring,2,18,0,x\n").unwrap();
    let header = "numGpus,pattern,arrival,duration,bwSensitive,task";
    let dressed = format!(
        "\u{feff}# by hand\r\n\r\n{header}\r\n3, ring,1,17,1,my job\r\n\r\n2,ring,2,18,0,x"
    );
    assert_eq!(read_jobs(&dressed).unwrap(), plain);
    let job = read_jobs("gpus,duration_s,arrival_s,task,sensitive\n3,17,1,my job,1\n2,18,2,x,0\n")
        .unwrap();
    assert_eq!(job.jobs, plain.jobs);
    let quoted = "# x\n\n\"task\",arrival_s , GPUS,sensitive,duration_s\r\n\n\"my job\",1, 3,1,17\r\n\r\nx,2,2 ,no,18";
    assert_eq!(read_jobs(quoted).unwrap().jobs, plain.jobs);
}

#[test]
fn malformed_lines_of_the_released_form_are_refused_with_line_and_expected_form() {
    let with = |line: &str| format!("# two lines\n1,ring,0,5,0,x\n\n{line}\n");
    for (line, words) in [
        ("0,ring,0,5,0,x", ["numGpus `0`", "from 1 to 1024"]),
        ("1025,ring,0,5,0,x", ["numGpus `1025`", "from 1 to 1024"]),
        ("-3,ring,0,5,0,x", ["numGpus `-3`", "from 1 to 1024"]),
        (
            "99999999999999999999,ring,0,5,0,x",
            ["numGpus", "from 1 to 1024"],
        ),
        ("3,torus,0,5,0,x", ["pattern `torus`", "ring, chain, star"]),
        ("3,ring,-1,5,0,x", ["arrival `-1`", "whole cycles"]),
        ("3,ring,nan,5,0,x", ["arrival `nan`", "whole cycles"]),
        ("3,ring,1.5,5,0,x", ["arrival `1.5`", "whole cycles"]),
        ("3,ring,0,inf,0,x", ["duration `inf`", "whole cycles"]),
        ("3,ring,0,,0,x", ["duration ``", "whole cycles"]),
        (
            "3,ring,0,18446744074,0,x",
            ["duration `18446744074`", "to 18446744073"],
        ),
        ("3,ring,0,5,2,x", ["bwSensitive `2`", "0 or 1"]),
        ("3,ring,0,5,true,x", ["bwSensitive `true`", "0 or 1"]),
        ("3,\"ring\",0,5,0,x", ["a quote", "without quotes"]),
        ("3,ring,0,5,0,\"a,b\"", ["a quote", "without quotes"]),
        ("3,ring,0,5,0", ["5 fields", "expected 6"]),
        ("3,ring,0,5,0,x,y", ["7 fields", "expected 6"]),
    ] {
        refused(&with(line), 4, &words);
    }
}

#[test]
fn every_column_of_our_own_form_is_read() {
    let text = "# source: by hand\n# note: a guess\n# 2026\n\
        id,arrival_s,gpus,duration_s,pattern,sensitive,task,estimate_s,priority,deadline_s,same_numa,isolated,slo_s,pcie_alpha,link_ratio\n\
        7,0.1,4,12.000000001,all-to-all,yes,\"a, b\",unknown,-2,100,true,no,0.05,0.25,1.75\n\
        8,3,2,5,independent,,,7.5,,,,,,,\n";
    let workload = read_jobs(text).unwrap();
    assert_eq!(
        (workload.source.as_str(), &workload.notes[..]),
        ("by hand", &["a guess".to_owned()][..])
    );
    let request = Request::new(Pattern::all_to_all(4))
        .sensitive(true)
        .same_numa(true);
    let mut job = Job::new(JobId(7), request);
    job.arrived = Time(100_000_000);
    job.priority = -2;
    job.deadline = Some(Time::from_secs(100));
    job.slo = Some(Duration::from_millis(50));
    job.pcie_alpha = 0.25;
    job.link_ratio = Some(1.75);
    let mut first = Submission::new(job, Duration::from_nanos(12_000_000_001)).task("a, b");
    first.job.run_time = RunTime::Unknown;
    let mut job = Job::new(JobId(8), Request::new(Pattern::independent(2)));
    job.arrived = Time::from_secs(3);
    let mut second = Submission::new(job, Duration::from_secs(5));
    second.job.run_time = RunTime::Fixed(Duration::from_millis(7500));
    assert_eq!(workload.jobs, [first, second]);
}

#[test]
fn a_ratio_that_is_told_goes_before_that_of_the_task() {
    let text = "gpus,duration_s,task,link_ratio\n2,1,VGG-16,\n2,1,VGG-16,1.2\n2,1,other,\n";
    let workload = read_jobs(text).unwrap();
    let ratios: Vec<_> = workload.jobs.iter().map(|job| job.job.link_ratio).collect();
    assert_eq!(ratios, [Some(3.0), Some(1.2), None]);
    assert_eq!(
        read_jobs(&write_jobs(&workload).unwrap()).unwrap(),
        workload
    );
    for wrong in ["0.9", "inf", "fast"] {
        let error = read_jobs(&format!("gpus,duration_s,link_ratio\n2,1,{wrong}\n")).unwrap_err();
        let words = format!("link_ratio `{wrong}`: expected a number such as 1.6");
        assert!(error.to_string().contains(&words), "{error}");
    }
}

#[test]
fn malformed_rows_of_our_own_form_are_refused_with_line_and_expected_form() {
    let header =
        "# c\nid,gpus,duration_s,arrival_s,pattern,sensitive,estimate_s,priority,pcie_alpha\n";
    let with = |row: &str| format!("{header}5,1,1,0,,,,,\n\n{row}\n");
    for (row, words) in [
        ("6,0,1,0,,,,,", ["gpus `0`", "from 1 to 1024"]),
        ("6,+2,1,0,,,,,", ["gpus `+2`", "from 1 to 1024"]),
        ("6,,1,0,,,,,", ["gpus is empty", "expected a value"]),
        ("6,1,-1,0,,,,,", ["duration_s `-1`", "not negative"]),
        ("6,1,NaN,0,,,,,", ["duration_s `NaN`", "such as 12.5"]),
        ("6,1,1,inf,,,,,", ["arrival_s `inf`", "such as 12.5"]),
        ("6,1,1,1e99,,,,,", ["arrival_s `1e99`", "584 years"]),
        ("6,1,1,0.0000000001,,,,,", ["arrival_s", "nine digits"]),
        ("6,1,1,0,loop,,,,", ["pattern `loop`", "ring, chain"]),
        ("6,1,1,0,,maybe,,,", ["sensitive `maybe`", "true or false"]),
        ("6,1,1,0,,,soon,,", ["estimate_s `soon`", "or unknown"]),
        ("6,1,1,0,,,,high,", ["priority `high`", "integer"]),
        ("6,1,1,0,,,,,nan", ["pcie_alpha `nan`", "a number such as"]),
        ("6,1,1,0,,,,,-1", ["pcie_alpha `-1`", "not below 0"]),
        ("x,1,1,0,,,,,", ["id `x`", "whole number"]),
        ("5,1,1,0,,,,,", ["id 5 again, as on line 3", "differ"]),
        ("6,1,1,0,,,,", ["8 fields", "expected 9"]),
        ("6,1,1,0,,,,,,", ["10 fields", "expected 9"]),
    ] {
        refused(&with(row), 5, &words);
    }
}

#[test]
fn a_malformed_header_is_refused_with_what_is_known() {
    refused(
        "gpus,duration\n1,5\n",
        1,
        &["column `duration`", "duration_s"],
    );
    refused(
        "# c\n\ngpus,arrival_s\n1,5\n",
        3,
        &["no column `duration_s`"],
    );
    refused("gpus,duration_s,gpus\n", 1, &["two columns `gpus`"]);
    refused(
        "hello\n",
        1,
        &["gpus and duration_s", "3,ring,120,17,1,vgg16.sh"],
    );
    refused("", 0, &["no jobs", "gpus and duration_s"]);
    refused("# nothing\n\n", 0, &["no jobs"]);
    assert_eq!(read_jobs("gpus,duration_s\n").unwrap().jobs, []);
}

#[test]
fn a_field_is_never_taken_over_the_end_of_its_line() {
    let words = ["a quote is not closed on its line"];
    refused("gpus,duration_s,task\n1,17,\"abc\n2,5,def\n", 2, &words);
    refused(
        "# c\ntask,gpus,duration_s\nx,1,5\n\"a\nb\",1,5\n",
        4,
        &words,
    );
    refused("gpus,duration_s,task\n1,17,x\n2,5,\"def", 3, &words);
    refused("gpus,duration_s,task\n1,17,x\n2,5,\"d\"\"ef", 3, &words);
    refused(
        "gpus,duration_s,task\r\n1,17,\"abc\r\n2,5,\"def\"\r\n",
        2,
        &words,
    );
    let quotes = "gpus,duration_s,task\n1,5,\"a,\"\"b\"\"\"\n1,5,5\" disk\n1,5,\"\"\n";
    let tasks: Vec<String> = read_jobs(quotes)
        .unwrap()
        .jobs
        .iter()
        .map(|job| job.task.to_string())
        .collect();
    assert_eq!(tasks, ["a,\"b\"", "5\" disk", ""]);
}

#[test]
fn deadlines_before_arrivals_are_noted_and_notes_that_name_lines_are_not_written() {
    let text = "gpus,duration_s,arrival_s,deadline_s\n1,5,9,9\n1,5,8,7\n";
    let workload = read_jobs(text).unwrap();
    let order = "arrivals are not in order, first on line 3: jobs are taken by arrival, those of one moment by line";
    assert_eq!(
        workload.notes,
        [
            order,
            "deadlines before arrivals, first on line 3: they cannot be met"
        ]
    );
    let again = write_jobs(&workload).unwrap();
    assert!(!again.contains("# note:"), "{again}");
    let stale =
        read_jobs("# note: arrivals are not in order, first on line 9: x\ngpus,duration_s\n1,5\n")
            .unwrap();
    assert!(stale.notes.is_empty(), "{:?}", stale.notes);
}

#[test]
fn columns_that_say_nothing_are_not_written() {
    let workload = read_jobs("gpus,duration_s,task\n2,5,x\n3,6,x\n").unwrap();
    let mut plain = Workload::new("two jobs", workload.jobs);
    assert_eq!(
        write_jobs(&plain).unwrap(),
        "# source: two jobs\ngpus,duration_s,task\n2,5,x\n3,6,x\n"
    );
    plain.jobs.clear();
    assert_eq!(read_jobs(&write_jobs(&plain).unwrap()).unwrap(), plain);
}

#[test]
fn what_a_file_cannot_hold_is_refused_with_the_job() {
    let own =
        |request: Request| Submission::new(Job::new(JobId(3), request), Duration::from_secs(1));
    let plain = || own(Request::new(Pattern::ring(2)));
    let refused = |submission: Submission, word: &str| {
        let error = write_jobs(&Workload::new("", [submission]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("job 3: a job file cannot hold") && error.contains(word),
            "{error}"
        );
    };
    refused(
        own(Request::new(Pattern::from_edges(3, [(0, 1, 2.0)]).unwrap())),
        "pattern",
    );
    refused(own(Request::new(Pattern::ring(0))), "pattern");
    refused(
        own(Request::new(Pattern::ring(2)).avoid(DeviceSet::from([1]))),
        "constraints",
    );
    let plan = TaskPlan::new(Duration::ZERO, plain().job.request, Duration::ZERO);
    refused(plain().tasks([plan]), "tasks");
    refused(plain().task(" x"), "blanks");
    refused(plain().task("x\ny"), "several lines");
    refused(plain().task("x\ry"), "several lines");
    refused(
        Submission {
            work: Duration::MAX,
            ..plain()
        },
        "584 years",
    );
    let mut strange = plain();
    strange.job.pcie_alpha = f64::NAN;
    refused(strange, "pcie_alpha");
    let mut strange = plain();
    strange.job.pcie_alpha = -0.5;
    refused(strange, "pcie_alpha");
    for ratio in [f64::NAN, f64::INFINITY, 0.5] {
        let mut strange = plain();
        strange.job.link_ratio = Some(ratio);
        refused(strange, "link_ratio");
    }
    let mut strange = plain().task("VGG-16");
    strange.job.link_ratio = None;
    refused(strange, "link_ratio");
    let mut strange = plain();
    strange.job.run_time = RunTime::BySize([].into());
    refused(strange, "by size");
    assert!(write_jobs(&Workload::new("a\nb", [])).is_err());
}

#[test]
fn jobs_on_slices_and_their_traffic_are_read_and_written() {
    let text = "gpus,duration_s,estimate_s,slice,pcie_gbps,pcie_alpha\n\
                1,50,,1g.1m,5.7,1.25\n1,25,1g.1m=50 2g.2m=25,2g.2m,17.65,1.07\n2,9,,,0,1\n";
    let workload = read_jobs(text).unwrap();
    let [one, two, whole] = &workload.jobs[..] else {
        panic!("three jobs")
    };
    let demand = |submission: &Submission| submission.job.request.pattern.demands()[0];
    assert_eq!(demand(one), Demand::slice(Size::new(1, 1)).pcie_gbps(5.7));
    assert_eq!(demand(two), Demand::slice(Size::new(2, 2)).pcie_gbps(17.65));
    assert_eq!(demand(whole), Demand::whole());
    let lengths = [
        (Size::new(1, 1), Duration::from_secs(50)),
        (Size::new(2, 2), Duration::from_secs(25)),
    ];
    assert_eq!(two.job.run_time, RunTime::BySize(lengths.into()));
    let written = write_jobs(&workload).unwrap();
    assert_eq!(written, format!("# source: a job file\n{text}"));
    let header = "gpus,duration_s,estimate_s,slice,pcie_gbps\n";
    refused(
        &format!("{header}1,5,,1g,0\n"),
        2,
        &["slice `1g`", "such as 1g.2m"],
    );
    refused(
        &format!("{header}1,5,,0g.1m,0\n"),
        2,
        &["slice `0g.1m`", "such as 1g.2m"],
    );
    refused(&format!("{header}1,5,,01g.1m,0\n"), 2, &["slice `01g.1m`"]);
    refused(
        &format!("{header}1,5,,1g.1m,-1\n"),
        2,
        &["pcie_gbps `-1`", "from 0 to"],
    );
    refused(
        &format!("{header}1,5,,1g.1m,5.7001\n"),
        2,
        &["pcie_gbps `5.7001`", "three digits"],
    );
    refused(
        &format!("{header}1,5,1g=5,1g.1m,0\n"),
        2,
        &["estimate_s `1g`", "such as 1g.2m"],
    );
    refused(
        &format!("{header}1,5,x,1g.1m,0\n"),
        2,
        &["estimate_s `x`", "by size of slice"],
    );
}

/// What a part of a task requests.
fn part(bytes: u64, warps: u32) -> Request {
    let demand = Demand::any().shared().memory(bytes).warps(warps);
    Request::new(Pattern::single(demand))
}

#[test]
fn tasks_that_share_instances_are_read_and_written() {
    let text = "gpus,duration_s,isolated,slice,memory_gb,tasks,grows\n\
        1,,false,,,host 5s; 2GB 300w 10.5s +1GB 50w at 4s +0.5GB at 6s; host 2s; 3GB 1s; host 0.25s,\n\
        1,19,true,any,2.5,,\n\
        1,,false,,6,4GB 0s,true\n\
        1,,false,,,1GB 2s +1GB at 0s,false\n";
    let workload = read_jobs(text).unwrap();
    let [process, alone, declared, denies] = &workload.jobs[..] else {
        panic!("{workload:?}")
    };
    let seconds = Duration::from_secs_f64;
    let first = TaskPlan::new(seconds(5.0), part(2_000_000_000, 300), seconds(10.5))
        .grow(seconds(4.0), part(1_000_000_000, 50))
        .grow(seconds(6.0), part(500_000_000, 0));
    let second = TaskPlan::new(seconds(2.0), part(3_000_000_000, 0), seconds(1.0));
    assert_eq!(process.tasks, [first, second]);
    assert_eq!(process.work, seconds(0.25));
    assert_eq!(process.job.run_time, RunTime::Fixed(seconds(18.75)));
    // The most at once: 2, 1 and 0.5 GB in the first task.
    assert_eq!(process.job.request, part(3_500_000_000, 350));
    assert!(process.job.grows && !process.job.isolated);
    let demand = Demand::any().memory(2_500_000_000);
    assert_eq!(alone.job.request.pattern.demands(), [demand]);
    assert!(alone.job.isolated && !alone.job.grows && alone.tasks.is_empty());
    assert_eq!(declared.job.request, part(6_000_000_000, 0));
    assert!(declared.job.grows && !denies.job.grows);
    let written = write_jobs(&workload).unwrap();
    assert_eq!(written, format!("# source: a job file\n{text}"));
}

#[test]
fn the_example_of_jobs_that_share_instances_is_read_and_written() {
    let text = include_str!("../../examples/jobs/shared-instances.csv");
    let workload = read_jobs(text).unwrap();
    let processes = workload.jobs.iter().filter(|job| !job.tasks.is_empty());
    assert_eq!((workload.jobs.len(), processes.count()), (18, 13));
    let growers = workload.jobs.iter().filter(|job| job.job.grows);
    assert_eq!(growers.count(), 2);
    let again = read_jobs(&write_jobs(&workload).unwrap()).unwrap();
    assert_eq!(again.jobs, workload.jobs);
}

#[test]
fn malformed_tasks_are_refused_with_line_column_and_expected_form() {
    let of = |tasks: &str| format!("gpus,duration_s,tasks\n1,5,\n1,,{tasks}\n");
    for (tasks, words) in [
        (
            ";",
            [
                "tasks `;`",
                "an empty phase: expected phases such as host 5s; 2GB",
            ],
        ),
        ("2GB 1s;", ["an empty phase", "host 2s"]),
        (
            "host 5s",
            ["tasks `host 5s`: no task", "expected phases such as"],
        ),
        (
            "host 1s; host 2s; 1GB 1s",
            ["two host phases in a row", "a task between"],
        ),
        (
            "host; 1GB 1s",
            ["tasks ``", "seconds with their unit, such as 12.5s"],
        ),
        ("host 5; 1GB 1s", ["tasks `5`", "such as 12.5s"]),
        ("host -5s; 1GB 1s", ["`-5`", "not negative"]),
        ("2GB", ["tasks `2GB`", "a task such as 2GB 300w 10s"]),
        ("2GB 300w", ["`2GB 300w`", "a task such as"]),
        ("2GB 10s 300w", ["`2GB 10s 300w`", "a task such as"]),
        (
            "300w 2GB 10s",
            ["`300w`", "with its unit (GB, MB, GiB, MiB), such as 2.5GB"],
        ),
        ("2 10s", ["`2`", "such as 2.5GB"]),
        ("0.0000000001GB 10s", ["`0.0000000001GB`", "whole bytes"]),
        ("2GB -3w 10s", ["`-3w`", "expected 0w to 4294967295w"]),
        (
            "2GB 4294967296w 10s",
            ["`4294967296w`", "4294967295w warps"],
        ),
        ("2GB 10m", ["`10m`", "such as 12.5s"]),
        ("2GB 0.0000000001s", ["`0.0000000001`", "nine digits"]),
        (
            "2GB 10s +1GB",
            ["`2GB 10s +1GB`", "growth such as +1GB 50w at 4s"],
        ),
        ("2GB 10s +1GB 4s", ["`2GB 10s +1GB 4s`", "at 4s"]),
        ("2GB 10s + at 4s", ["``", "such as 2.5GB"]),
        (
            "2GB 10s +1GB at 11s",
            ["within the task's seconds", "in order"],
        ),
        (
            "2GB 10s +1GB at 4s +1GB at 3s",
            ["growth in order", "within"],
        ),
        ("+1GB at 4s", ["``", "such as 2.5GB"]),
        (
            "2GB 18446744073s; 2GB 1s",
            ["at most 18446744073.709551615 s together", "tasks"],
        ),
    ] {
        refused(&of(tasks), 3, &words);
    }
    let columns = "gpus,duration_s,isolated,same_numa,slice,pcie_gbps,memory_gb,tasks,grows";
    for (row, words) in [
        (
            "1,5,,,,,,1GB 1s,",
            ["duration_s", "expected an empty field"],
        ),
        ("1,,,,,,,,", ["duration_s is empty", "expected a value"]),
        (
            "2,,,,,,,1GB 1s,",
            ["a job with tasks has more than one of gpus", "expected 1"],
        ),
        (
            "1,,yes,,,,,1GB 1s,",
            ["a job with tasks has isolated", "one of them"],
        ),
        (
            "1,,,yes,,,,1GB 1s,",
            ["a job with tasks has same_numa", "one of them"],
        ),
        (
            "1,,,,any,,,1GB 1s,",
            ["a job with tasks has slice", "share any instance"],
        ),
        (
            "1,,,,,1,,1GB 1s,",
            ["a job with tasks has pcie_gbps", "one of them"],
        ),
        ("1,5,,,,,2GB,,", ["memory_gb `2GB`", "expected GB from 0"]),
        ("1,5,,,,,-2,,", ["memory_gb `-2`", "nine digits"]),
        ("1,5,,,,,,,maybe", ["grows `maybe`", "true or false"]),
    ] {
        refused(&format!("{columns}\n{row}\n"), 2, &words);
    }
}

#[test]
fn tasks_that_a_file_cannot_hold_are_refused_with_the_job() {
    let job = |request| Job::new(JobId(3), request);
    let own = || Submission::new(job(part(5, 1)), Duration::ZERO);
    let task = |request| TaskPlan::new(Duration::ZERO, request, Duration::from_secs(1));
    let refused = |submission: Submission, word: &str| {
        let error = write_jobs(&Workload::new("", [submission]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("job 3: a job file cannot hold"),
            "{error}"
        );
        assert!(error.contains(word), "{error}");
    };
    assert!(write_jobs(&Workload::new("", [own().tasks([task(part(5, 1))])])).is_ok());
    refused(own(), "demand");
    refused(own().tasks([task(part(5, 2))]), "what its tasks hold");
    let exclusive = Request::new(Pattern::single(Demand::any().memory(5)));
    refused(own().tasks([task(exclusive)]), "memory and warps");
    let late = task(part(5, 1)).grow(Duration::from_secs(2), part(1, 0));
    refused(own().tasks([late]), "growth in order");
    let mut alone = own().tasks([task(part(5, 1))]);
    alone.job.isolated = true;
    refused(alone, "isolated");
    let mut long = task(part(5, 1));
    long.work = Duration::from_secs(u64::MAX);
    refused(own().tasks([long]), "584 years");
}

#[test]
fn profiles_make_jobs_that_files_hold() {
    let mut profile = Profile::tang()[2].clone();
    profile.throughput.insert(Size::new(2, 2), 2.5);
    let size = Size::new(2, 2);
    let job = profile
        .submission(JobId(0), Time::from_secs(3), size, 100.0)
        .unwrap();
    assert_eq!(
        (job.work, &*job.task, job.job.pcie_alpha),
        (Duration::from_secs(40), "Bloom7b1", 1.07)
    );
    assert_eq!(
        job.job.run_time.on(Some(Size::new(1, 1))),
        Some(Duration::from_secs(100))
    );
    assert_eq!(
        job.job.request.pattern.demands()[0],
        Demand::slice(size).pcie_gbps(17.65)
    );
    let workload = Workload::new("profiles", [job]);
    assert_eq!(
        read_jobs(&write_jobs(&workload).unwrap()).unwrap(),
        workload
    );
    let refused = |size, tokens| {
        profile
            .submission(JobId(0), Time::ZERO, size, tokens)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(Size::new(3, 4), 1.0),
        "profile `Bloom7b1`: no throughput on 3g.4m: expected one of 1g.1m, 2g.2m"
    );
    for tokens in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
        assert!(
            refused(size, tokens).contains("tokens: expected a number"),
            "{tokens}"
        );
    }
}

#[test]
fn what_is_wrong_in_a_file_of_profiles_is_named_with_its_line() {
    let head = "format = \"mapa-profiles\"\nversion = 1\n";
    let profile = |lines: &str| format!("{head}[[profiles]]\nname = \"x\"\n{lines}\n");
    assert_eq!(read_profiles(head).unwrap(), []);
    assert_eq!(read_profiles(&profile("")).unwrap(), [Profile::new("x")]);
    for (text, line, words) in [
        ("".to_owned(), 1, "missing field"),
        (
            head.replace("profiles", "profile"),
            1,
            "expected \"mapa-profiles\"",
        ),
        (head.replace('1', "2"), 2, "version = 2: expected 1"),
        (
            profile("pcie_gbps = -1.0"),
            3,
            "profile `x`: pcie_gbps = -1: expected 0, or GB/s",
        ),
        (
            profile("pcie_gbps = 0.0001"),
            3,
            "expected 0, or GB/s from 0.001",
        ),
        (profile("pcie_gbps = nan"), 3, "pcie_gbps = NaN"),
        (
            profile("pcie_alpha = inf"),
            3,
            "pcie_alpha = inf: expected a finite number",
        ),
        (
            profile("throughput = { \"1g\" = 1.0 }"),
            5,
            "throughput of `1g`: expected a size such as 1g.2m",
        ),
        (
            profile("throughput = { \"1g.1m\" = 0.0 }"),
            3,
            "throughput of 1g.1m = 0: expected slices and a positive",
        ),
        (
            profile("\n[[profiles]]\nname = \"x\""),
            6,
            "another profile above has this name",
        ),
        (
            profile("[[profiles]]\nname = \" \""),
            5,
            "expected some text in one line",
        ),
        (profile("speed = 1"), 5, "unknown field"),
    ] {
        let error = read_profiles(&text).expect_err(&text);
        assert!(error.to_string().contains(words), "{text}: {error}");
        assert_eq!(error.line(), Some(line), "{text}: {error}");
    }
    let twice = write_profiles(&[Profile::new("x"), Profile::new("x")])
        .unwrap_err()
        .to_string();
    assert_eq!(twice, "profile `x` twice: expected names that differ");
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let gbps = prop_oneof![Just(0.0), 0.001..4e6];
    let rates = proptest::collection::btree_map(sizes(), 1e-300..1e300, 0..4);
    let text = "\\PC{0,12}";
    (
        "[!-~]([ -~é]{0,9}[!-~])?",
        gbps,
        0.0..1e300,
        rates,
        text,
        proptest::collection::vec(text, 0..3),
    )
        .prop_map(
            |(name, pcie_gbps, pcie_alpha, throughput, source, notes)| Profile {
                name,
                pcie_gbps,
                pcie_alpha,
                throughput,
                source,
                notes,
            },
        )
}

#[test]
fn all_at_once_changes_arrivals_and_says_so() {
    let workload = read_jobs("2,ring,7,5,0,x\n").unwrap();
    let notes = workload.notes.len();
    let at_once = workload.all_at_once();
    assert_eq!(at_once.jobs[0].job.arrived, Time::ZERO);
    assert_eq!(at_once.notes.len(), notes + 1);
    assert_eq!(at_once.clone().all_at_once(), at_once);
}

fn sizes() -> impl Strategy<Value = Size> {
    (1u8.., 1u8..).prop_map(|(compute, memory)| Size::new(compute, memory))
}

/// Whole devices or slices, with and without traffic.
fn demands() -> impl Strategy<Value = Demand> {
    let want = prop_oneof![2 => Just(Demand::whole()), 1 => sizes().prop_map(Demand::slice)];
    let traffic = prop_oneof![2 => Just(0), 1 => any::<u32>()];
    let memory = prop_oneof![2 => Just(0), 1 => any::<u64>()];
    (want, traffic, memory).prop_map(|(demand, pcie_mb_s, memory_bytes)| Demand {
        pcie_mb_s,
        memory_bytes,
        ..demand
    })
}

/// Tasks of any memory, warps and times up to a century, many of which grow.
fn tasks() -> impl Strategy<Value = Vec<TaskPlan>> {
    let bytes = || prop_oneof![any::<u64>(), (0..9u64).prop_map(|gb| gb * 1_000_000_000)];
    let warps = || prop_oneof![Just(0), any::<u32>()];
    let times = || prop_oneof![Just(0), 0..100u64, 0..3_000_000_000_000_000_000u64];
    let grows = proptest::collection::vec((bytes(), warps(), times()), 0..3);
    let task = (times(), bytes(), warps(), times(), grows).prop_map(
        |(pause, bytes, warps, work, mut grows)| {
            let [pause, length] = [pause, work].map(Duration::from_nanos);
            grows.sort_unstable_by_key(|grow| grow.2);
            let task = TaskPlan::new(pause, part(bytes, warps), length);
            grows.into_iter().fold(task, |task, (bytes, warps, after)| {
                let after = Duration::from_nanos(after.min(work));
                task.grow(after, part(bytes, warps))
            })
        },
    );
    proptest::collection::vec(task, 1..4)
}

/// A process with tasks that declares the most that it holds, or anything else.
fn any_process() -> impl Strategy<Value = Submission> {
    let rest = (any::<Option<u64>>(), any::<bool>(), 0..9_u64, any::<bool>());
    (tasks(), rest).prop_map(|(tasks, (declared, grows, after, by_default))| {
        let most = |of: fn(&Demand) -> u64| {
            let all = tasks.iter().map(|task| {
                let more = task.grows.iter().map(|grow| &grow.request);
                let all = std::iter::once(&task.request).chain(more);
                let each = all.map(|request| of(&request.pattern.demands()[0]));
                each.fold(0, u64::saturating_add)
            });
            all.max().unwrap()
        };
        let bytes = declared.unwrap_or_else(|| most(|demand| demand.memory_bytes));
        let warps = most(|demand| demand.warps.into()).try_into();
        let request = part(bytes, warps.unwrap_or(u32::MAX));
        let mut submission =
            Submission::new(Job::new(JobId(0), request), Duration::from_nanos(after));
        submission.job.grows = grows;
        submission = submission.tasks(tasks);
        if by_default {
            submission.job.run_time = RunTime::Fixed(submission.alone(true));
        }
        submission
    })
}

fn any_submission() -> impl Strategy<Value = Submission> {
    let shapes = proptest::sample::select(
        Shape::ALL
            .map(Some)
            .into_iter()
            .chain([None])
            .collect::<Vec<_>>(),
    );
    let times = (
        any::<u64>(),
        any::<u64>(),
        any::<Option<u64>>(),
        any::<Option<u64>>(),
    );
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let run_time = prop_oneof![
        Just(None),
        Just(Some(RunTime::Unknown)),
        any::<u64>().prop_map(|estimate| Some(RunTime::Fixed(Duration::from_nanos(estimate)))),
        proptest::collection::btree_map(sizes(), any::<u64>().prop_map(Duration::from_nanos), 1..4)
            .prop_map(|lengths| Some(RunTime::BySize(lengths))),
    ];
    let rest = (
        any::<i64>(),
        0.0..1e300,
        prop_oneof![4 => "([!-~]([ -~\"é]*[!-~])?)?", 1 => Just("VGG-16".to_owned())],
        demands(),
        proptest::option::of(1.0..1e300),
    );
    (shapes, 1..40_usize, times, flags, run_time, rest).prop_map(
        |(shape, size, times, flags, run_time, rest)| {
            let pattern = shape
                .map_or_else(|| Pattern::independent(size), |shape| shape.pattern(size))
                .each(rest.3);
            let request = Request::new(pattern).sensitive(flags.0).same_numa(flags.1);
            let mut job = Job::new(JobId(0), request);
            (job.arrived, job.deadline) = (Time(times.0), times.2.map(Time));
            (job.slo, job.isolated) = (times.3.map(Duration::from_nanos), flags.2);
            (job.priority, job.pcie_alpha) = (rest.0, rest.1);
            job.link_ratio = rest.4;
            let mut submission = Submission::new(job, Duration::from_nanos(times.1)).task(rest.2);
            submission.job.run_time = run_time.unwrap_or(submission.job.run_time);
            submission
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..mapa_core::testing::cases(256) })]

    #[test]
    fn what_is_written_is_read_back(
        mut jobs in proptest::collection::vec(any_submission(), 0..12),
        first in 0..1000_u64,
        source in "([!-~]([ -~]*[!-~])?)?",
    ) {
        for (id, submission) in (first..).zip(&mut jobs) {
            submission.job.id = JobId(id);
        }
        let workload = Workload::new(source, jobs);
        let text = write_jobs(&workload).unwrap();
        let again = read_jobs(&text).unwrap();
        prop_assert_eq!(&again.jobs, &workload.jobs, "{}", text);
        prop_assert_eq!(&again.source, &workload.source);
        // What is added, the order of arrivals, is added once.
        prop_assert_eq!(&read_jobs(&write_jobs(&again).unwrap()).unwrap(), &again);
    }

    #[test]
    fn tasks_that_are_written_are_read_back(
        mut jobs in proptest::collection::vec(prop_oneof![3 => any_process(), 1 => any_submission()], 1..6),
    ) {
        for (id, submission) in (0..).zip(&mut jobs) {
            submission.job.id = JobId(id);
        }
        // Four tasks of a century and a pause each are at most 584 years.
        let workload = Workload::new("tasks", jobs);
        let text = write_jobs(&workload).unwrap();
        let again = read_jobs(&text).unwrap();
        prop_assert_eq!(&again.jobs, &workload.jobs, "{}", text);
        prop_assert_eq!(&write_jobs(&again).unwrap(), &text);
    }

    #[test]
    fn any_phases_are_read_or_refused(
        phases in proptest::collection::vec("(host )?[0-9]{0,2}(GB|MiB|s|w)?( [0-9.]{1,4}[ws]){0,2}( \\+[0-9]GB at [0-9]s){0,2}", 0..4),
    ) {
        let text = format!("gpus,duration_s,tasks\n1,,{}\n", phases.join("; "));
        if let Ok(workload) = read_jobs(&text) {
            let written = write_jobs(&workload).unwrap();
            prop_assert_eq!(read_jobs(&written).unwrap().jobs, workload.jobs, "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = read_jobs(&text);
        let _ = read_profiles(&text);
    }

    #[test]
    fn profiles_that_are_written_are_read_back(mut profiles in proptest::collection::vec(any_profile(), 0..5)) {
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        profiles.dedup_by(|a, b| a.name == b.name);
        let text = write_profiles(&profiles).unwrap();
        prop_assert_eq!(&read_profiles(&text).unwrap(), &profiles, "{}", text);
    }

    #[test]
    fn any_lines_of_profiles_are_read_or_refused(
        lines in proptest::collection::vec("(\\[\\[profiles\\]\\]|name|pcie_gbps|throughput|notes)( = (\"[a-z]?\"|-?[0-9.e]{0,9}|\\{ \"[0-9]?g.[0-9]m\" = [0-9.]{0,3} \\}))?", 0..8),
    ) {
        let _ = read_profiles(&format!("format = \"mapa-profiles\"\nversion = 1\n{}", lines.join("\n")));
    }

    #[test]
    fn any_fields_are_read_or_refused(rows in proptest::collection::vec("[0-9]{0,4}(,(ring|x|\"|-?[0-9.e]{0,25}|)){0,8}", 0..6)) {
        let _ = read_jobs(&rows.join("\n"));
        let by_arrival = read_jobs(&format!("gpus,duration_s,arrival_s,task\n{}", rows.join("\n")));
        let by_submit = read_jobs(&format!("gpus,duration_s,submit_s,task\n{}", rows.join("\n")));
        prop_assert_eq!(by_arrival.ok(), by_submit.ok());
    }
}
