//! Job files: what they mean, what is refused and where, and that what is written is read back.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, DeviceSet, Pattern, Request, Shape};
use mapa_sched::{Job, JobId, RunTime, Time};
use mapa_sim::{
    Profile, Submission, TaskPlan, Workload, read_jobs, read_profiles, write_jobs, write_profiles,
};
use proptest::prelude::*;

/// The message with which a text is refused on this line (0: no line).
#[track_caller]
fn refused(text: &str, line: usize) -> String {
    let error = read_jobs(text).expect_err(text);
    assert_eq!(error.line().unwrap_or(0), line, "{text}: {error}");
    error.to_string()
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
    insta::assert_snapshot!(
        refused(
            both,
            3,
        ),
        @"line 3: columns `arrival_s` and `submit_s`: expected one of them, both are the arrival"
    );
    let malformed = "gpus,duration_s,submit_s\n3,17,soon\n";
    insta::assert_snapshot!(
        refused(malformed, 2),
        @"line 2: submit_s `soon`: expected seconds as a decimal number, not negative, such as 12.5"
    );
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
    let said = [
        "0,ring,0,5,0,x",
        "1025,ring,0,5,0,x",
        "-3,ring,0,5,0,x",
        "99999999999999999999,ring,0,5,0,x",
        "3,torus,0,5,0,x",
        "3,ring,-1,5,0,x",
        "3,ring,nan,5,0,x",
        "3,ring,1.5,5,0,x",
        "3,ring,0,inf,0,x",
        "3,ring,0,,0,x",
        "3,ring,0,18446744074,0,x",
        "3,ring,0,5,2,x",
        "3,ring,0,5,true,x",
        "3,\"ring\",0,5,0,x",
        "3,ring,0,5,0,\"a,b\"",
        "3,ring,0,5,0",
        "3,ring,0,5,0,x,y",
    ]
    .map(|line| refused(&with(line), 4));
    insta::assert_snapshot!(said.join("\n"), @"
    line 4: numGpus `0`: expected a number of devices from 1 to 1024
    line 4: numGpus `1025`: expected a number of devices from 1 to 1024
    line 4: numGpus `-3`: expected a number of devices from 1 to 1024
    line 4: numGpus `99999999999999999999`: expected a number of devices from 1 to 1024
    line 4: pattern `torus`: expected ring, chain, star, tree, all-to-all, ring-tree or independent
    line 4: arrival `-1`: expected whole cycles from 0 to 18446744073, such as 17
    line 4: arrival `nan`: expected whole cycles from 0 to 18446744073, such as 17
    line 4: arrival `1.5`: expected whole cycles from 0 to 18446744073, such as 17
    line 4: duration `inf`: expected whole cycles from 0 to 18446744073, such as 17
    line 4: duration ``: expected whole cycles from 0 to 18446744073, such as 17
    line 4: duration `18446744074`: expected whole cycles from 0 to 18446744073, such as 17
    line 4: bwSensitive `2`: expected 0 or 1
    line 4: bwSensitive `true`: expected 0 or 1
    line 4: a quote: expected 6 fields without quotes, as the released simulator reads them
    line 4: a quote: expected 6 fields without quotes, as the released simulator reads them
    line 4: 5 fields: expected 6: numGpus,pattern,arrival,duration,bwSensitive,task
    line 4: 7 fields: expected 6: numGpus,pattern,arrival,duration,bwSensitive,task
    ");
}

#[test]
fn every_column_of_our_own_form_is_read() {
    let text = "# source: by hand\n# note: a guess\n# 2026\n\
        id,arrival_s,gpus,duration_s,pattern,sensitive,task,estimate_s,priority,deadline_s,same_numa,like,isolated,slo_s,pcie_alpha,link_ratio\n\
        7,0.1,4,12.000000001,all-to-all,yes,\"a, b\",unknown,-2,100,true,Any,no,0.05,0.25,1.75\n\
        8,3,2,5,independent,,,7.5,,,,,,,,\n";
    let workload = read_jobs(text).unwrap();
    assert_eq!(
        (workload.source.as_str(), &workload.notes[..]),
        ("by hand", &["a guess".to_owned()][..])
    );
    let request = Request::new(Pattern::all_to_all(4))
        .sensitive(true)
        .same_numa(true)
        .unlike(true);
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
fn a_ratio_in_the_file_goes_before_that_of_the_task() {
    let text = "gpus,duration_s,task,link_ratio\n2,1,VGG-16,\n2,1,VGG-16,1.2\n2,1,other,\n";
    let workload = read_jobs(text).unwrap();
    let ratios: Vec<_> = workload.jobs.iter().map(|job| job.job.link_ratio).collect();
    assert_eq!(ratios, [Some(3.0), Some(1.2), None]);
    assert_eq!(
        read_jobs(&write_jobs(&workload).unwrap()).unwrap(),
        workload
    );
    let wrong = ["0.9", "inf", "fast"]
        .map(|ratio| refused(&format!("gpus,duration_s,link_ratio\n2,1,{ratio}\n"), 2));
    insta::assert_snapshot!(wrong.join("\n"), @"
    line 2: link_ratio `0.9`: expected a number such as 1.6, finite and not below 1
    line 2: link_ratio `inf`: expected a number such as 1.6, finite and not below 1
    line 2: link_ratio `fast`: expected a number such as 1.6, finite and not below 1
    ");
}

#[test]
fn malformed_rows_of_our_own_form_are_refused_with_line_and_expected_form() {
    let header =
        "# c\nid,gpus,duration_s,arrival_s,pattern,sensitive,estimate_s,priority,pcie_alpha\n";
    let with = |row: &str| format!("{header}5,1,1,0,,,,,\n\n{row}\n");
    let said = [
        "6,0,1,0,,,,,",
        "6,+2,1,0,,,,,",
        "6,,1,0,,,,,",
        "6,1,-1,0,,,,,",
        "6,1,NaN,0,,,,,",
        "6,1,1,inf,,,,,",
        "6,1,1,1e99,,,,,",
        "6,1,1,0.0000000001,,,,,",
        "6,1,1,0,loop,,,,",
        "6,1,1,0,,maybe,,,",
        "6,1,1,0,,,soon,,",
        "6,1,1,0,,,,high,",
        "6,1,1,0,,,,,nan",
        "6,1,1,0,,,,,-1",
        "x,1,1,0,,,,,",
        "5,1,1,0,,,,,",
        "6,1,1,0,,,,",
        "6,1,1,0,,,,,,",
    ]
    .map(|row| format!("{row:?} -> {}", refused(&with(row), 5)));
    insta::assert_snapshot!(said.join("\n"), @r#"
    "6,0,1,0,,,,," -> line 5: gpus `0`: expected a number of devices from 1 to 1024
    "6,+2,1,0,,,,," -> line 5: gpus `+2`: expected a number of devices from 1 to 1024
    "6,,1,0,,,,," -> line 5: gpus is empty: expected a value
    "6,1,-1,0,,,,," -> line 5: duration_s `-1`: expected seconds as a decimal number, not negative, such as 12.5
    "6,1,NaN,0,,,,," -> line 5: duration_s `NaN`: expected seconds as a decimal number, not negative, such as 12.5
    "6,1,1,inf,,,,," -> line 5: arrival_s `inf`: expected seconds as a decimal number, not negative, such as 12.5
    "6,1,1,1e99,,,,," -> line 5: arrival_s `1e99`: expected at most 18446744073.709551615 s, some 584 years
    "6,1,1,0.0000000001,,,,," -> line 5: arrival_s `0.0000000001`: expected whole nanoseconds, so at most nine digits after the point
    "6,1,1,0,loop,,,," -> line 5: pattern `loop`: expected ring, chain, star, tree, all-to-all, ring-tree or independent
    "6,1,1,0,,maybe,,," -> line 5: sensitive `maybe`: expected true or false
    "6,1,1,0,,,soon,," -> line 5: estimate_s `soon`: expected seconds as a decimal number, not negative, such as 12.5, or 1g.1m=50 2g.2m=25 and so on by size of slice, or unknown
    "6,1,1,0,,,,high," -> line 5: priority `high`: expected an integer, such as -1 or 10
    "6,1,1,0,,,,,nan" -> line 5: pcie_alpha `nan`: expected a number such as 0.5, finite and not below 0
    "6,1,1,0,,,,,-1" -> line 5: pcie_alpha `-1`: expected a number such as 0.5, finite and not below 0
    "x,1,1,0,,,,," -> line 5: id `x`: expected a whole number from 0 to 18446744073709551615
    "5,1,1,0,,,,," -> line 5: id 5 again, as on line 3: expected numbers that differ
    "6,1,1,0,,,," -> line 5: 8 fields: expected 9, as many as the header has; is the row cut off?
    "6,1,1,0,,,,,," -> line 5: 10 fields: expected 9, as many as the header has
    "#);
}

#[test]
fn a_malformed_header_is_refused_with_what_is_known() {
    insta::assert_snapshot!(
        refused("gpus,duration\n1,5\n",
        1),
        @"line 1: no column `duration_s`, but a column `duration`: expected id, arrival_s, gpus, duration_s, pattern, sensitive, task, estimate_s, priority, deadline_s, same_numa, like, isolated, slo_s, slice, pcie_gbps, pcie_alpha, link_ratio, memory_gb, tasks, grows, submit_s"
    );
    insta::assert_snapshot!(
        refused("# c\n\ngpus,arrival_s\n1,5\n",
        3),
        @"line 3: no column `duration_s`: expected gpus, duration_s"
    );
    insta::assert_snapshot!(
        refused("gpus,duration_s,gpus\n", 1),
        @"line 1: two columns `gpus`: expected one"
    );
    insta::assert_snapshot!(
        refused("hello\n",
        1),
        @"line 1: `hello`: expected a header with the columns gpus and duration_s, or lines such as 3,ring,120,17,1,vgg16.sh (MAPA's job file)"
    );
    insta::assert_snapshot!(
        refused("", 0),
        @"no jobs: expected a header with the columns gpus and duration_s, or lines such as 3,ring,120,17,1,vgg16.sh (MAPA's job file)"
    );
    insta::assert_snapshot!(
        refused("# nothing\n\n", 0),
        @"no jobs: expected a header with the columns gpus and duration_s, or lines such as 3,ring,120,17,1,vgg16.sh (MAPA's job file)"
    );
    assert_eq!(read_jobs("gpus,duration_s\n").unwrap().jobs, []);
}

#[test]
fn a_field_is_never_taken_over_the_end_of_its_line() {
    insta::assert_snapshot!(
        refused("gpus,duration_s,task\n1,17,\"abc\n2,5,def\n", 2),
        @"line 2: a quote is not closed on its line: expected fields without line breaks"
    );
    insta::assert_snapshot!(
        refused("# c\ntask,gpus,duration_s\nx,1,5\n\"a\nb\",1,5\n",
        4),
        @"line 4: a quote is not closed on its line: expected fields without line breaks"
    );
    insta::assert_snapshot!(
        refused("gpus,duration_s,task\n1,17,x\n2,5,\"def", 3),
        @"line 3: a quote is not closed on its line: expected fields without line breaks"
    );
    insta::assert_snapshot!(
        refused("gpus,duration_s,task\n1,17,x\n2,5,\"d\"\"ef", 3),
        @"line 3: a quote is not closed on its line: expected fields without line breaks"
    );
    insta::assert_snapshot!(
        refused("gpus,duration_s,task\r\n1,17,\"abc\r\n2,5,\"def\"\r\n",
        2),
        @"line 2: a quote is not closed on its line: expected fields without line breaks"
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
    let refused = |submission: Submission| {
        let written = write_jobs(&Workload::new("", [submission]));
        written.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        refused(own(Request::new(Pattern::from_edges(3, [(0, 1, 2.0)]).unwrap()))),
        @"job 3: a job file cannot hold its pattern: expected a shape or independent ranks, all with equal demands"
    );
    insta::assert_snapshot!(
        refused(own(Request::new(Pattern::ring(0)))),
        @"job 3: a job file cannot hold its pattern: expected a shape or independent ranks, all with equal demands"
    );
    insta::assert_snapshot!(
        refused(own(Request::new(Pattern::ring(2)).avoid(DeviceSet::from([1])))),
        @"job 3: a job file cannot hold its constraints: expected none but same_numa and like"
    );
    let plan = TaskPlan::new(Duration::ZERO, plain().job.request, Duration::ZERO);
    insta::assert_snapshot!(
        refused(plain().tasks([plan])),
        @"job 3: a job file cannot hold the tasks of a job that is isolated, on one NUMA node, of unlike devices, or on several devices"
    );
    insta::assert_snapshot!(
        refused(plain().task(" x")),
        @"job 3: a job file cannot hold a task's name with blanks at its ends"
    );
    insta::assert_snapshot!(
        refused(plain().task("x\ny")),
        @"job 3: a job file cannot hold a task's name of several lines"
    );
    insta::assert_snapshot!(
        refused(plain().task("x\ry")),
        @"job 3: a job file cannot hold a task's name of several lines"
    );
    insta::assert_snapshot!(
        refused(
            Submission {
                work: Duration::MAX,
                ..plain()
            },
        ),
        @"job 3: a job file cannot hold times beyond 584 years"
    );
    let mut strange = plain();
    strange.job.pcie_alpha = f64::NAN;
    insta::assert_snapshot!(
        refused(strange),
        @"job 3: a job file cannot hold a pcie_alpha that is not finite or below 0"
    );
    let mut strange = plain();
    strange.job.pcie_alpha = -0.5;
    insta::assert_snapshot!(
        refused(strange),
        @"job 3: a job file cannot hold a pcie_alpha that is not finite or below 0"
    );
    let ratios = [f64::NAN, f64::INFINITY, 0.5].map(|ratio| {
        let mut strange = plain();
        strange.job.link_ratio = Some(ratio);
        refused(strange)
    });
    insta::assert_snapshot!(ratios.join("\n"), @"
    job 3: a job file cannot hold a link_ratio that is not finite or below 1
    job 3: a job file cannot hold a link_ratio that is not finite or below 1
    job 3: a job file cannot hold a link_ratio that is not finite or below 1
    ");
    let mut strange = plain().task("VGG-16");
    strange.job.link_ratio = None;
    insta::assert_snapshot!(
        refused(strange),
        @"job 3: a job file cannot hold an unknown link_ratio of a task whose own is known"
    );
    let mut strange = plain();
    strange.job.run_time = RunTime::BySize([].into());
    insta::assert_snapshot!(
        refused(strange),
        @"job 3: a job file cannot hold run times by size: expected at least one, each for a size with compute and memory slices"
    );
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
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,,1g,0\n"),
        2),
        @"line 2: slice `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m), or any"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,,0g.1m,0\n"),
        2),
        @"line 2: slice `0g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m), or any"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,,01g.1m,0\n"), 2),
        @"line 2: slice `01g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m), or any"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,,1g.1m,-1\n"),
        2),
        @"line 2: pcie_gbps `-1`: expected GB/s from 0 to 4294967.295, at most three digits after the point"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,,1g.1m,5.7001\n"),
        2),
        @"line 2: pcie_gbps `5.7001`: expected GB/s from 0 to 4294967.295, at most three digits after the point"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,1g=5,1g.1m,0\n"),
        2),
        @"line 2: estimate_s `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)"
    );
    insta::assert_snapshot!(
        refused(&format!("{header}1,5,x,1g.1m,0\n"),
        2),
        @"line 2: estimate_s `x`: expected seconds as a decimal number, not negative, such as 12.5, or 1g.1m=50 2g.2m=25 and so on by size of slice, or unknown"
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
    let said = [
        ";",
        "2GB 1s;",
        "host 5s",
        "host 1s; host 2s; 1GB 1s",
        "host; 1GB 1s",
        "host 5; 1GB 1s",
        "host -5s; 1GB 1s",
        "2GB",
        "2GB 300w",
        "2GB 10s 300w",
        "300w 2GB 10s",
        "2 10s",
        "0.0000000001GB 10s",
        "2GB -3w 10s",
        "2GB 4294967296w 10s",
        "2GB 10m",
        "2GB 0.0000000001s",
        "2GB 10s +1GB",
        "2GB 10s +1GB 4s",
        "2GB 10s + at 4s",
        "2GB 10s +1GB at 11s",
        "2GB 10s +1GB at 4s +1GB at 3s",
        "+1GB at 4s",
        "2GB 18446744073s; 2GB 1s",
    ]
    .map(|tasks| refused(&of(tasks), 3));
    insta::assert_snapshot!(said.join("\n"), @"
    line 3: tasks `;`: an empty phase: expected phases such as host 5s; 2GB 300w 10s +1GB at 4s; host 2s
    line 3: tasks `2GB 1s;`: an empty phase: expected phases such as host 5s; 2GB 300w 10s +1GB at 4s; host 2s
    line 3: tasks `host 5s`: no task: expected phases such as host 5s; 2GB 300w 10s +1GB at 4s; host 2s
    line 3: tasks `host 1s; host 2s; 1GB 1s`: two host phases in a row: expected a task between them
    line 3: tasks ``: expected seconds with their unit, such as 12.5s
    line 3: tasks `5`: expected seconds with their unit, such as 12.5s
    line 3: tasks `-5`: expected seconds as a decimal number, not negative, such as 12.5
    line 3: tasks `2GB`: expected a task such as 2GB 300w 10s
    line 3: tasks `2GB 300w`: expected a task such as 2GB 300w 10s
    line 3: tasks `2GB 10s 300w`: expected a task such as 2GB 300w 10s
    line 3: tasks `300w`: expected memory of whole bytes with its unit (GB, MB, GiB, MiB), such as 2.5GB
    line 3: tasks `2`: expected memory of whole bytes with its unit (GB, MB, GiB, MiB), such as 2.5GB
    line 3: tasks `0.0000000001GB`: expected memory of whole bytes with its unit (GB, MB, GiB, MiB), such as 2.5GB
    line 3: tasks `-3w`: expected 0w to 4294967295w warps
    line 3: tasks `4294967296w`: expected 0w to 4294967295w warps
    line 3: tasks `10m`: expected seconds with their unit, such as 12.5s
    line 3: tasks `0.0000000001`: expected whole nanoseconds, so at most nine digits after the point
    line 3: tasks `2GB 10s +1GB`: expected growth such as +1GB 50w at 4s
    line 3: tasks `2GB 10s +1GB 4s`: expected growth such as +1GB 50w at 4s
    line 3: tasks ``: expected memory of whole bytes with its unit (GB, MB, GiB, MiB), such as 2.5GB
    line 3: tasks `2GB 10s +1GB at 11s`: expected growth in order, within the task's seconds
    line 3: tasks `2GB 10s +1GB at 4s +1GB at 3s`: expected growth in order, within the task's seconds
    line 3: tasks ``: expected memory of whole bytes with its unit (GB, MB, GiB, MiB), such as 2.5GB
    line 3: tasks `2GB 18446744073s; 2GB 1s`: expected phases of at most 18446744073.709551615 s together
    ");
    let columns = "gpus,duration_s,isolated,same_numa,slice,pcie_gbps,memory_gb,tasks,grows";
    let said = [
        "1,5,,,,,,1GB 1s,",
        "1,,,,,,,,",
        "2,,,,,,,1GB 1s,",
        "1,,yes,,,,,1GB 1s,",
        "1,,,yes,,,,1GB 1s,",
        "1,,,,any,,,1GB 1s,",
        "1,,,,,1,,1GB 1s,",
        "1,5,,,,,2GB,,",
        "1,5,,,,,-2,,",
        "1,5,,,,,,,maybe",
    ]
    .map(|row| format!("{row:?} -> {}", refused(&format!("{columns}\n{row}\n"), 2)));
    insta::assert_snapshot!(said.join("\n"), @r#"
    "1,5,,,,,,1GB 1s," -> line 2: a job with tasks has duration_s: expected an empty field, as tasks say it
    "1,,,,,,,," -> line 2: duration_s is empty: expected a value
    "2,,,,,,,1GB 1s," -> line 2: a job with tasks has more than one of gpus: expected 1
    "1,,yes,,,,,1GB 1s," -> line 2: a job with tasks has isolated: expected one of them
    "1,,,yes,,,,1GB 1s," -> line 2: a job with tasks has same_numa: expected one of them
    "1,,,,any,,,1GB 1s," -> line 2: a job with tasks has slice: expected one of them, as tasks share any instance
    "1,,,,,1,,1GB 1s," -> line 2: a job with tasks has pcie_gbps: expected one of them
    "1,5,,,,,2GB,," -> line 2: memory_gb `2GB`: expected GB from 0 to 18446744073.709551615, at most nine digits after the point
    "1,5,,,,,-2,," -> line 2: memory_gb `-2`: expected GB from 0 to 18446744073.709551615, at most nine digits after the point
    "1,5,,,,,,,maybe" -> line 2: grows `maybe`: expected true or false
    "#);
}

#[test]
fn tasks_that_a_file_cannot_hold_are_refused_with_the_job() {
    let job = |request| Job::new(JobId(3), request);
    let own = || Submission::new(job(part(5, 1)), Duration::ZERO);
    let task = |request| TaskPlan::new(Duration::ZERO, request, Duration::from_secs(1));
    let refused = |submission: Submission| {
        let written = write_jobs(&Workload::new("", [submission]));
        written.unwrap_err().to_string()
    };
    assert!(write_jobs(&Workload::new("", [own().tasks([task(part(5, 1))])])).is_ok());
    insta::assert_snapshot!(
        refused(own()),
        @"job 3: a job file cannot hold its demand: expected whole devices, or slices of a size or of any, with or without memory and PCIe traffic; or what its tasks hold"
    );
    insta::assert_snapshot!(
        refused(own().tasks([task(part(5, 2))])),
        @"job 3: a job file cannot hold its demand: expected whole devices, or slices of a size or of any, with or without memory and PCIe traffic; or what its tasks hold"
    );
    let exclusive = Request::new(Pattern::single(Demand::any().memory(5)));
    insta::assert_snapshot!(
        refused(own().tasks([task(exclusive)])),
        @"job 3: a job file cannot hold its tasks: expected memory and warps of any instance, shared, and growth in order"
    );
    let late = task(part(5, 1)).grow(Duration::from_secs(2), part(1, 0));
    insta::assert_snapshot!(
        refused(own().tasks([late])),
        @"job 3: a job file cannot hold its tasks: expected memory and warps of any instance, shared, and growth in order"
    );
    let mut alone = own().tasks([task(part(5, 1))]);
    alone.job.isolated = true;
    insta::assert_snapshot!(
        refused(alone),
        @"job 3: a job file cannot hold the tasks of a job that is isolated, on one NUMA node, of unlike devices, or on several devices"
    );
    let mut long = task(part(5, 1));
    long.work = Duration::from_secs(u64::MAX);
    insta::assert_snapshot!(
        refused(own().tasks([long])),
        @"job 3: a job file cannot hold times beyond 584 years"
    );
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
    let said = [-1.0, f64::NAN, f64::INFINITY, 1e30].map(|tokens| refused(size, tokens));
    insta::assert_snapshot!(said.join("\n"), @"
    profile `Bloom7b1`: -1 tokens: expected a number that is not negative, for at most 584 years
    profile `Bloom7b1`: NaN tokens: expected a number that is not negative, for at most 584 years
    profile `Bloom7b1`: inf tokens: expected a number that is not negative, for at most 584 years
    profile `Bloom7b1`: 1000000000000000000000000000000 tokens: expected a number that is not negative, for at most 584 years
    ");
}

#[test]
fn what_is_wrong_in_a_file_of_profiles_is_named_with_its_line() {
    let head = "format = \"mapa-profiles\"\nversion = 1\n";
    let profile = |lines: &str| format!("{head}[[profiles]]\nname = \"x\"\n{lines}\n");
    assert_eq!(read_profiles(head).unwrap(), []);
    assert_eq!(read_profiles(&profile("")).unwrap(), [Profile::new("x")]);
    let said = [
        ("".to_owned(), 1),
        (head.replace("profiles", "profile"), 1),
        (head.replace('1', "2"), 2),
        (profile("pcie_gbps = -1.0"), 3),
        (profile("pcie_gbps = 0.0001"), 3),
        (profile("pcie_gbps = nan"), 3),
        (profile("pcie_alpha = inf"), 3),
        (profile("throughput = { \"1g\" = 1.0 }"), 5),
        (profile("throughput = { \"1g.1m\" = 0.0 }"), 3),
        (profile("\n[[profiles]]\nname = \"x\""), 6),
        (profile("[[profiles]]\nname = \" \""), 5),
        (profile("speed = 1"), 5),
    ]
    .map(|(text, line)| {
        let error = read_profiles(&text).expect_err(&text);
        assert_eq!(error.line(), Some(line), "{text}: {error}");
        format!("{text:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "" -> line 1: missing field `format`
    "format = \"mapa-profile\"\nversion = 1\n" -> line 1: format = "mapa-profile": expected "mapa-profiles"
    "format = \"mapa-profiles\"\nversion = 2\n" -> line 2: version = 2: expected 1
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\npcie_gbps = -1.0\n" -> line 3: profile `x`: pcie_gbps = -1: expected 0, or GB/s from 0.001 to 4294967.295
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\npcie_gbps = 0.0001\n" -> line 3: profile `x`: pcie_gbps = 0.0001: expected 0, or GB/s from 0.001 to 4294967.295
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\npcie_gbps = nan\n" -> line 3: profile `x`: pcie_gbps = NaN: expected 0, or GB/s from 0.001 to 4294967.295
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\npcie_alpha = inf\n" -> line 3: profile `x`: pcie_alpha = inf: expected a finite number, not below 0
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\nthroughput = { \"1g\" = 1.0 }\n" -> line 5: profile `x`: throughput of `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\nthroughput = { \"1g.1m\" = 0.0 }\n" -> line 3: profile `x`: throughput of 1g.1m = 0: expected slices and a positive number
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\n\n[[profiles]]\nname = \"x\"\n" -> line 6: profile `x`: another profile above has this name: expected names that differ
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\n[[profiles]]\nname = \" \"\n" -> line 5: profile ` `: name ` `: expected some text in one line, without blanks at its ends
    "format = \"mapa-profiles\"\nversion = 1\n[[profiles]]\nname = \"x\"\nspeed = 1\n" -> line 5: unknown field `speed`, expected one of `name`, `pcie_gbps`, `pcie_alpha`, `throughput`, `source`, `notes`
    "#);
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
            let request = request.unlike(times.0 % 2 == 1);
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

#[test]
fn a_job_is_of_like_devices_unless_its_row_says_any() {
    let read = |word: &str| read_jobs(&format!("gpus,duration_s,like\n2,5,{word}\n"));
    let unlike = |word: &str| read(word).unwrap().jobs[0].job.request.unlike;
    assert_eq!(
        ["", "product", "any", "ANY"].map(unlike),
        [false, false, true, true]
    );
    insta::assert_snapshot!(read("same").unwrap_err(), @"line 2: like `same`: expected product or any");
    let tasks = read_jobs("gpus,duration_s,like,tasks\n1,,any,1GB 1s\n");
    insta::assert_snapshot!(tasks.unwrap_err(), @"line 2: a job with tasks has like: expected one of them");
    // The column is written only where a job needs it.
    let written = |word: &str| write_jobs(&read(word).unwrap()).unwrap();
    assert!(written("any").contains("like") && !written("").contains("like"));
}
