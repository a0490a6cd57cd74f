//! Traces: what is read of them, what is selected, and the counts of the real ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Pattern, Shape, lowest_id};
use mapa_sched::{Fifo, Fleet, JobId, RunTime, Time};
use mapa_sim::{
    Fixed, Selection, Simulation, TraceKind, Workload, read_run_times, read_trace, read_trace_part,
};
use proptest::prelude::*;

const OPENB: &str = "submit_s,gpus,duration_s,gpu_milli,cpus,qos,gpu_spec,phase\n\
    0,1,100,1000,12,LS,,Running\n10,1,0,460,6,LS,,Running\n20,8,30,1000,6,BE,V100,Failed\n30,1,5,590,3,BE,,Pending\n";
const PHILLY: &str = "submit_s,gpus,duration_s,job_type,vc\n\
    0,1,2683,Transformer (batch size 128),23dbec\n7,4,60,ResNet-50 (batch size 64),795a4c\n\
    9,2,60,ResNet-18 (batch size 64),23dbec\n";

fn part(kind: TraceKind, text: &str, words: &str) -> Workload {
    read_trace_part(kind, text, &words.parse().unwrap()).unwrap()
}

fn ids(workload: &Workload) -> Vec<u64> {
    workload.jobs.iter().map(|job| job.job.id.0).collect()
}

#[track_caller]
fn has_note(workload: &Workload, words: &str) {
    assert!(
        workload.notes.iter().any(|note| note.contains(words)),
        "{words}: {:?}",
        workload.notes
    );
}

#[test]
fn what_a_trace_lacks_is_assumed_and_reported_with_counts() {
    let workload = read_trace(TraceKind::AlibabaOpenb, OPENB).unwrap();
    assert_eq!(ids(&workload), [0, 1, 2, 3]);
    assert_eq!(workload.jobs[2].job.request.pattern, Pattern::ring(8));
    assert_eq!(workload.jobs[1].work, Duration::ZERO);
    for words in [
        "every job is of the pattern ring",
        "4 jobs which the paper does not classify: whether they are sensitive is unknown",
        "2 jobs of less than a device",
        "1 job without run time",
        "2 jobs that are services",
        "3 jobs that were Running or Pending",
        "1 job that Failed",
    ] {
        has_note(&workload, words);
    }
}

#[test]
fn models_bear_the_papers_names_and_its_verdicts_and_count_as_sensitive_without() {
    let workload = read_trace(TraceKind::GavelPhilly, PHILLY).unwrap();
    let told: Vec<_> = workload
        .jobs
        .iter()
        .map(|job| (&*job.task, job.job.request.sensitivity.is_sensitive()))
        .collect();
    let expected = [
        ("Transformer (batch size 128)", true),
        ("ResNet-50", true),
        ("ResNet-18 (batch size 64)", true),
    ];
    assert_eq!(told, expected);
    has_note(&workload, "1 job which the paper does not classify");
    let other = part(TraceKind::GavelPhilly, PHILLY, "sensitive=yes,pattern=star");
    assert!(
        other
            .jobs
            .iter()
            .all(|job| job.job.request.sensitivity.is_sensitive())
    );
    assert_eq!(other.jobs[1].job.request.pattern, Shape::Star.pattern(4));
}

#[test]
fn selections_leave_out_what_they_say_and_count_it() {
    let openb = |words: &str| part(TraceKind::AlibabaOpenb, OPENB, words);
    assert_eq!(ids(&openb("first=2")), [0, 1]);
    has_note(&openb("first=2"), "left out: 2 jobs after the first 2");
    assert_eq!(ids(&openb("shared=leave-out")), [0, 2]);
    has_note(
        &openb("shared=leave-out"),
        "left out: 2 jobs that share a device",
    );
    assert_eq!(ids(&openb("max-gpus=1")), [0, 1, 3]);
    assert_eq!(ids(&openb("phase=Failed,phase=Pending,qos=BE")), [2, 3]);
    assert_eq!(ids(&openb("gpu_spec=V100")), [2]);
    let window = openb("from=10,until=30");
    assert_eq!(ids(&window), [1, 2]);
    assert_eq!(
        window
            .jobs
            .iter()
            .map(|job| job.job.arrived)
            .collect::<Vec<_>>(),
        [Time(0), Time::from_secs(10)]
    );
    has_note(&window, "left out: 2 jobs that arrive outside the window");
    let closer = openb("compress=4");
    assert_eq!(closer.jobs[1].job.arrived, Time(2_500_000_000));
    assert_eq!(closer.jobs[0].work, Duration::from_secs(100));
    assert_eq!(
        ids(&part(TraceKind::GavelPhilly, PHILLY, "vc=23dbec")),
        [0, 2]
    );
}

#[test]
fn selections_are_read_back_from_their_words() {
    for words in [
        "",
        "vc=23dbec,from=1.5,until=7,max-gpus=8,shared=leave-out,first=3,compress=2.5,pattern=independent,sensitive=yes",
    ] {
        assert_eq!(words.parse::<Selection>().unwrap().to_string(), words);
    }
    let said = [
        "first",
        "first=x",
        "first=5,first=10",
        "from=-1",
        "max-gpus=0",
        "shared=maybe",
        "compress=0",
        "compress=nan",
        "pattern=torus",
        "sensitive=perhaps",
    ]
    .map(|words| {
        let error = words.parse::<Selection>().unwrap_err().to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "first" -> `first`: expected such as first=100 or vc=23dbec
    "first=x" -> first=`x`: expected a whole number
    "first=5,first=10" -> `first=10`: already set by `first=5`: expected each setting once
    "from=-1" -> from=`-1`: expected seconds as a decimal number, not negative, such as 12.5
    "max-gpus=0" -> max-gpus=`0`: expected a number of devices from 1 to 1024
    "shared=maybe" -> shared=`maybe`: expected whole or leave-out
    "compress=0" -> compress=`0`: expected a number above 0
    "compress=nan" -> compress=`nan`: expected a number above 0
    "pattern=torus" -> pattern=`torus`: expected ring, chain, star, tree, all-to-all, ring-tree or independent
    "sensitive=perhaps" -> sensitive=`perhaps`: expected true or false
    "#);
    let strange = read_trace_part(TraceKind::GavelPhilly, PHILLY, &"user=me".parse().unwrap())
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        strange,
        @"`user`: expected a column (submit_s, gpus, duration_s, job_type, vc) or an option (first, from, until, max-gpus, shared, compress, pattern, sensitive)"
    );
}

/// Slurm's own words: a step, an array, a component, and jobs that are left out.
const SACCT: &str = "JobID|Submit|Start|End|Elapsed|AllocTRES|State|Timelimit|JobName|QOS\n\
    100|2024-01-31T12:00:00|2024-01-31T12:01:00|2024-02-01T14:31:00|1-02:30:00|billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4|COMPLETED|2-00:00:00|vgg16.sh|LS\n\
    100.batch|2024-01-31T12:01:00|2024-01-31T12:01:00|2024-02-01T14:31:00|1-02:30:00|cpu=8,gres/gpu=4|COMPLETED||batch|\n\
    101_7|2024-01-31T11:59:50|2024-01-31T12:00:00|2024-01-31T12:00:30|00:00:30|cpu=1,gres/gpu=1,gres/gpu:a100_1g.5gb=1|CANCELLED by 1001|UNLIMITED|a \"quoted, name|normal\n\
    102|2024-01-31T12:00:00|2024-01-31T12:00:00|2024-01-31T12:00:00|00:00:00|cpu=1,mem=4G|COMPLETED|01:00:00|host|\n\
    103|2024-01-31T12:00:00|2024-01-31T12:00:00|Unknown|00:10:00|gres/gpu=1|RUNNING|01:00:00|x|\n\
    104_[1-9]|2024-01-31T12:00:00|Unknown|Unknown|00:00:00||PENDING|01:00:00|x|\n\
    105|2024-01-31T12:00:00|None|2024-01-31T12:30:00|00:00:00||CANCELLED by 0|01:00:00|x|\n\
    106|2024-01-31T12:00:00|2024-01-31T12:00:00|2024-01-31T12:10:00|00:10:00|cpu=1,gres/shard=2|COMPLETED|01:00:00|x|\n\
    107+0|2024-01-31T12:00:10|2024-01-31T12:00:10|2024-01-31T12:10:00|00:00:00|gres/gpu:h100=2,gres/gpu:a100=1|FAILED|Partition_Limit|x|\n\
    108|2024-01-31T12:00:10|2024-01-31T12:00:10|2024-01-31T12:10:00|00:10:00|gres/gpu=4096|COMPLETED|Partition_Limit|x|\n";

#[test]
fn jobs_of_slurm_are_those_that_ran_on_whole_devices_to_their_end() {
    let workload = read_trace(TraceKind::SlurmSacct, SACCT).unwrap();
    let told: Vec<_> = workload
        .jobs
        .iter()
        .map(|job| {
            (
                job.job.id.0,
                job.devices(),
                job.job.arrived.0 / 1_000_000_000,
            )
        })
        .collect();
    assert_eq!(told, [(0, 4, 10), (2, 1, 0), (8, 3, 20)]);
    let [first, second, third] = &workload.jobs[..] else {
        panic!("{workload:?}")
    };
    assert_eq!(first.work, Duration::from_secs(95_400));
    let limit = RunTime::Fixed(Duration::from_secs(172_800));
    assert_eq!((&first.job.run_time, &*first.task), (&limit, "VGG-16"));
    assert!(first.job.request.sensitivity.is_sensitive());
    assert_eq!(&*second.task, "a \"quoted, name");
    assert_eq!(second.job.run_time, RunTime::Fixed(second.work));
    assert!(third.work.is_zero());
    let mut notes = workload.notes.clone();
    notes.sort_unstable();
    let expected = [
        "1 job of less than a device (MIG instances): each is given a whole one",
        "1 job that are components of heterogeneous jobs: each is a job of its own",
        "1 job with a limit of their time: the scheduler takes it as the estimate",
        "1 job without run time: kept, they end as they start",
        "2 jobs that are not COMPLETED: run for as long as they did",
        "2 jobs which the paper does not classify: whether they are sensitive is unknown",
        "arrivals are not in order, first on line 4: jobs are taken by arrival, those of one moment by line",
        "assumed: every job is of the pattern ring; the trace has no patterns",
        "left out: 1 job of more than 1024 GPUs",
        "left out: 1 job of shares of a GPU (gres/shard, gres/mps)",
        "left out: 1 job that had not ended",
        "left out: 1 job without GPUs",
        "left out: 1 step of a job",
        "left out: 2 jobs that never started",
        "time 0 is 2024-01-31T11:59:50; where the cluster's clock was changed, as in summer, arrivals are not corrected",
    ];
    assert_eq!(notes, expected);
    assert_eq!(
        ids(&part(TraceKind::SlurmSacct, SACCT, "state=COMPLETED")),
        [0]
    );
    assert_eq!(
        ids(&part(TraceKind::SlurmSacct, SACCT, "shared=leave-out")),
        [0, 8]
    );
    assert_eq!(
        ids(&part(TraceKind::SlurmSacct, SACCT, "from=10,until=20")),
        [0]
    );
}

#[test]
fn other_columns_of_slurm_say_the_same() {
    let rows = |gpus: &str, length: &str| {
        format!(
            "JOBID|{gpus}|Submit|{length}|\n1|gpu:a100:2|2024-02-29T23:59:59|90|\n\
             2|gpu:1|2024-03-01T00:00:09|3|\n1.0|gpu:1|2024-03-01T00:00:09|3|\n"
        )
    };
    let plain = read_trace(TraceKind::SlurmSacct, &rows("AllocGRES", "ElapsedRaw")).unwrap();
    let of = |submission: &mapa_sim::Submission| {
        (
            submission.devices(),
            submission.job.arrived,
            submission.work,
        )
    };
    let expected = [
        (2, Time::ZERO, Duration::from_secs(90)),
        (1, Time::from_secs(10), Duration::from_secs(3)),
    ];
    assert_eq!(plain.jobs.iter().map(of).collect::<Vec<_>>(), expected);
    let same = [
        // What was requested counts if nothing tells what a job had.
        rows("ReqTRES", "ElapsedRaw")
            .replace("gpu:a100:", "gres/gpu=")
            .replace("gpu:", "gres/gpu="),
        rows("AllocGRES", "Elapsed")
            .replace("|90|", "|01:30|")
            .replace("|3|", "|00:00:03|"),
        rows("AllocGRES", "Start|End")
            .replace("|90|", "|2024-03-01T00:00:00|2024-03-01T00:01:30|")
            .replace("|3|", "|2024-03-01T00:00:00|2024-03-01T00:00:03|"),
        // SLURM_TIME_FORMAT=%s
        rows("AllocGRES", "ElapsedRaw")
            .replace("2024-02-29T23:59:59", "1709251199")
            .replace("2024-03-01T00:00:09", "1709251209"),
    ];
    for text in same {
        assert_eq!(TraceKind::recognise(&text).unwrap(), TraceKind::SlurmSacct);
        let workload = read_trace(TraceKind::SlurmSacct, &text).unwrap();
        assert_eq!(workload.jobs, plain.jobs, "{text}");
    }
}

#[test]
fn what_is_wrong_in_slurms_words_is_named() {
    let refused = |text: &str, line: Option<usize>| {
        let error = read_trace(TraceKind::SlurmSacct, text).unwrap_err();
        assert_eq!(error.line(), line, "{text}: {error}");
        error.to_string()
    };
    insta::assert_snapshot!(
        refused("# c\nJobID|State\n", Some(2)),
        @"line 2: no column `submit`: expected jobid, submit"
    );
    insta::assert_snapshot!(
        refused("JobID|Submit|Elapsed\n",
        Some(1)),
        @"line 1: no column of GPUs: expected AllocTRES, AllocGRES or ReqTRES"
    );
    insta::assert_snapshot!(
        refused("JobID|Submit|AllocTRES|End\n", Some(1)),
        @"line 1: no column of run times: expected Elapsed, ElapsedRaw, or Start and End"
    );
    insta::assert_snapshot!(
        refused("", None),
        @"empty: expected the header of a trace and its jobs"
    );
    let header = "JobID|Submit|Start|End|Elapsed|AllocTRES|Timelimit\n";
    let good = "1|2024-01-31T12:00:00|2024-01-31T12:00:00|2024-01-31T13:00:00|01:00:00|gres/gpu=1|01:00:00\n";
    let said = [
        ("1|2024-01-31T12:00:00|", "1|12:00|"),
        ("1|2024-01-31T12:00:00|", "1|2023-02-29T12:00:00|"),
        ("1|2024-01-31T12:00:00|", "1||"),
        ("13:00:00", "25:00:00"),
        ("|01:00:00|", "|1 hour|"),
        ("13:00:00|01:00:00|", "11:00:00||"),
        ("gres/gpu=1", "gres/gpu=x"),
        ("=1|01:00:00", "=1|soon"),
        ("=1|01:00:00", "=1|01:00:00|x"),
    ]
    .map(|(old, new)| {
        refused(
            &format!("{header}{good}{}", good.replacen(old, new, 1)),
            Some(3),
        )
    });
    insta::assert_snapshot!(said.join("\n"), @"
    line 3: submit `12:00`: expected a moment such as 2024-01-31T12:00:00, or Unknown
    line 3: submit `2023-02-29T12:00:00`: expected a moment such as 2024-01-31T12:00:00, or Unknown
    line 3: submit: expected a moment such as 2024-01-31T12:00:00
    line 3: end `2024-01-31T25:00:00`: expected a moment such as 2024-01-31T12:00:00, or Unknown
    line 3: elapsed `1 hour`: expected [D-]HH:MM:SS, such as 1-02:30:00
    line 3: no run time: expected Elapsed, or an End after Start
    line 3: alloctres `gres/gpu=x`: expected a number of GPUs, such as gres/gpu=4 or gpu:a100:4
    line 3: timelimit `soon`: expected [D-]HH:MM:SS, such as 1-02:30:00
    line 3: 8 fields: expected 7, as many as the header has
    ");
    let later = good.replacen("2024-01", "2700-01", 1);
    let text = format!("{header}{good}{later}");
    insta::assert_snapshot!(
        refused(&text, Some(3)),
        @"line 3: submitted more than 584 years after the first job"
    );
}

#[test]
fn headers_tell_the_kind() {
    assert_eq!(
        TraceKind::recognise(OPENB).unwrap(),
        TraceKind::AlibabaOpenb
    );
    assert_eq!(
        TraceKind::recognise(PHILLY).unwrap(),
        TraceKind::GavelPhilly
    );
    for kind in TraceKind::ALL {
        assert_eq!(TraceKind::recognise(&kind.header()).unwrap(), kind);
        assert_eq!(kind.to_string().parse::<TraceKind>().unwrap(), kind);
    }
    let error = |text: &str| TraceKind::recognise(text).unwrap_err().to_string();
    insta::assert_snapshot!(
        error("a,b\n1,2\n"),
        @"columns a,b: expected those of alibaba-openb (submit_s,gpus,duration_s,gpu_milli,cpus,qos,gpu_spec,phase), gavel-philly (submit_s,gpus,duration_s,job_type,vc), tiresias (submit_s,gpus,duration_s,model,iterations), slurm-sacct (jobid|submit|start|end|elapsed|alloctres|state|timelimit|jobname)"
    );
    insta::assert_snapshot!(
        error("a,b\n"),
        @"columns a,b: expected those of alibaba-openb (submit_s,gpus,duration_s,gpu_milli,cpus,qos,gpu_spec,phase), gavel-philly (submit_s,gpus,duration_s,job_type,vc), tiresias (submit_s,gpus,duration_s,model,iterations), slurm-sacct (jobid|submit|start|end|elapsed|alloctres|state|timelimit|jobname)"
    );
    insta::assert_snapshot!(
        error("runtime_s\n1\n"),
        @"only run times: expected a trace; to draw jobs with these run times, give the file to a generator"
    );
    insta::assert_snapshot!(error(""), @"empty: expected the header of a trace");
    assert!("philly".parse::<TraceKind>().is_err());
}

#[test]
fn malformed_rows_are_refused_with_their_line() {
    let header = "submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n";
    let said = [
        "x,1,164,vgg19,606",
        "-1,1,164,vgg19,606",
        "1,0,164,vgg19,606",
        "1,2000,164,vgg19,606",
        "1,1,NaN,vgg19,606",
        "1,1,,vgg19,606",
        "1,1,164,vgg19",
    ]
    .map(|row| {
        let error = read_trace(TraceKind::Tiresias, &format!("{header}{row}\n")).unwrap_err();
        assert_eq!(error.line(), Some(3), "{row}");
        format!("{row:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "x,1,164,vgg19,606" -> line 3: submit_s `x`: expected seconds as a decimal number, not negative, such as 12.5
    "-1,1,164,vgg19,606" -> line 3: submit_s `-1`: expected seconds as a decimal number, not negative, such as 12.5
    "1,0,164,vgg19,606" -> line 3: gpus `0`: expected a number of devices from 1 to 1024
    "1,2000,164,vgg19,606" -> line 3: gpus `2000`: expected a number of devices from 1 to 1024
    "1,1,NaN,vgg19,606" -> line 3: duration_s `NaN`: expected seconds as a decimal number, not negative, such as 12.5
    "1,1,,vgg19,606" -> line 3: duration_s is empty: expected a value
    "1,1,164,vgg19" -> line 3: 4 fields: expected 5, as many as the header has; is the row cut off?
    "#);
    let milli = OPENB.replace("460", "0");
    insta::assert_snapshot!(
        read_trace(TraceKind::AlibabaOpenb, &milli).unwrap_err().to_string(),
        @"line 3: gpu_milli `0`: expected thousandths of a GPU, from 1 to 1000"
    );
}

#[test]
fn rows_out_of_order_are_kept_and_reported() {
    let text = "submit_s,gpus,duration_s,model,iterations\n5,1,1,vgg19,6\n3,1,1,vgg19,6\n";
    has_note(
        &read_trace(TraceKind::Tiresias, text).unwrap(),
        "first on line 3",
    );
}

#[test]
fn jobs_larger_than_the_machine_are_rejected_and_jobs_without_work_end_as_they_start() {
    let text =
        "submit_s,gpus,duration_s,model,iterations\n0,16,5,vgg19,6\n1,2,0,vgg19,6\n2,8,7,vgg19,6\n";
    let workload = read_trace(TraceKind::Tiresias, text).unwrap();
    let graph = mapa_topologies::named("dgx-1v").unwrap().graph().unwrap();
    let simulation = Simulation::new(&workload, Fleet::new([Arc::new(graph)]));
    let outcome = simulation.run(&mut Fifo::new(lowest_id()), &Fixed).unwrap();
    assert_eq!(
        outcome
            .rejected
            .iter()
            .map(|rejected| rejected.index)
            .collect::<Vec<_>>(),
        [0]
    );
    let times: Vec<_> = outcome
        .runs
        .iter()
        .map(|run| (run.index, run.started(), run.ended()))
        .collect();
    assert_eq!(
        times,
        [
            (1, Time::from_secs(1), Time::from_secs(1)),
            (2, Time::from_secs(2), Time::from_secs(9))
        ]
    );
}

#[test]
fn run_times_are_read_with_exponents() {
    let times = read_run_times("runtime_s\n0\n1.5\n4.62824e+06\n").unwrap();
    assert_eq!(
        times,
        [
            Duration::ZERO,
            Duration::from_millis(1500),
            Duration::from_secs(4_628_240)
        ]
    );
    assert_eq!(
        read_run_times("runtime_s\n0\n-1\n").unwrap_err().line(),
        Some(3)
    );
    assert!(read_run_times("runtime_s\n").is_err());
    assert!(read_run_times("seconds\n1\n").is_err());
}

/// A real trace; none if there is no real data.
fn trace(file: &str) -> Option<String> {
    let folder = crate::real_data::real_data()?;
    Some(std::fs::read_to_string(folder.join("traces").join(file)).unwrap())
}

/// What the manifest says of a real trace.
#[track_caller]
fn check_real(
    kind: TraceKind,
    text: &str,
    sizes: &[(usize, usize)],
    [p50, longest, span]: [u64; 3],
) -> Workload {
    assert_eq!(TraceKind::recognise(text).unwrap(), kind);
    let workload = read_trace(kind, text).unwrap();
    let mut counted = BTreeMap::new();
    for job in &workload.jobs {
        *counted.entry(job.devices()).or_insert(0) += 1;
    }
    assert_eq!(counted.into_iter().collect::<Vec<_>>(), sizes);
    let mut work: Vec<_> = workload.jobs.iter().map(|job| job.work).collect();
    work.sort_unstable();
    assert_eq!(work[work.len() / 2], Duration::from_secs(p50));
    assert_eq!(work[work.len() - 1], Duration::from_secs(longest));
    let arrivals = workload.jobs.iter().map(|job| job.job.arrived);
    assert_eq!(arrivals.clone().min(), Some(Time::ZERO));
    assert_eq!(arrivals.max(), Some(Time::from_secs(span)));
    assert_eq!(
        workload.jobs.last().unwrap().job.id,
        JobId(workload.jobs.len() as u64 - 1)
    );
    workload
}

#[test]
fn alibabas_pods_are_as_many_as_the_manifest_says() {
    let Some(text) = trace("alibaba_openb_v2023_gpu_pods.csv") else {
        return;
    };
    let sizes = [(1, 6989), (2, 16), (4, 15), (8, 44)];
    let workload = check_real(
        TraceKind::AlibabaOpenb,
        &text,
        &sizes,
        [492, 12_537_496, 12_901_761],
    );
    has_note(&workload, "3078 jobs of less than a device");
    has_note(&workload, "4011 jobs that are services");
    has_note(&workload, "1 job without run time");
    assert_eq!(
        part(TraceKind::AlibabaOpenb, &text, "phase=Succeeded")
            .jobs
            .len(),
        185
    );
    assert_eq!(
        part(TraceKind::AlibabaOpenb, &text, "shared=leave-out")
            .jobs
            .len(),
        7064 - 3078
    );
}

#[test]
fn phillys_jobs_are_as_many_as_the_manifest_says() {
    let Some(text) = trace("gavel_philly_msr_seed0.csv") else {
        return;
    };
    let sizes = [
        (1, 10480),
        (2, 463),
        (4, 2044),
        (7, 2),
        (8, 1916),
        (12, 6),
        (16, 255),
        (20, 1),
        (24, 5),
        (32, 91),
        (64, 1),
    ];
    check_real(
        TraceKind::GavelPhilly,
        &text,
        &sizes,
        [8801, 11_337_572, 10_817_570],
    );
    let small = part(TraceKind::GavelPhilly, &text, "max-gpus=8,vc=51b7ef");
    assert!(small.jobs.len() <= 18);
    let all: usize = ["51b7ef", "2869ce"]
        .map(|vc| {
            part(TraceKind::GavelPhilly, &text, &format!("vc={vc}"))
                .jobs
                .len()
        })
        .iter()
        .sum();
    assert_eq!(all, 18 + 533);
}

#[test]
fn tiresias_jobs_are_as_many_as_the_manifest_says() {
    let Some(text) = trace("tiresias_60_job.csv") else {
        return;
    };
    let sizes = [(1, 30), (2, 10), (4, 10), (8, 10)];
    let workload = check_real(TraceKind::Tiresias, &text, &sizes, [125, 1800, 1779]);
    let sensitive = workload
        .jobs
        .iter()
        .filter(|job| job.job.request.sensitivity.is_sensitive())
        .count();
    assert_eq!(sensitive, 54, "all but the six of GoogleNet");
}

#[test]
fn phillys_run_times_are_as_many_as_the_manifest_says() {
    let Some(text) = trace("philly_runtime_s.csv") else {
        return;
    };
    let mut times = read_run_times(&text).unwrap();
    times.sort_unstable();
    assert_eq!(
        (times.len(), times[times.len() / 2]),
        (83154, Duration::from_secs(1186))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..mapa_core::testing::cases(256) })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*", words in "\\PC*", rows in "([0-9a-z.,\"-]{0,30}\n){0,5}") {
        let _ = TraceKind::recognise(&text);
        let _ = read_run_times(&text);
        let selection = words.parse::<Selection>().unwrap_or_default();
        for kind in TraceKind::ALL {
            let _ = read_trace(kind, &text);
            let _ = read_trace_part(kind, &format!("{}\n{rows}", kind.header()), &selection);
        }
    }

    #[test]
    fn jobs_of_slurm_are_read_as_they_are_written(
        rows in proptest::collection::vec((0..2_000_000_i64, 0..1_000_000_u64, 0..2000_usize, any::<bool>()), 0..12),
    ) {
        let moment = |second: i64| {
            // Days of one month only, so that no calendar is needed here.
            let (day, rest) = (1 + second / 86_400, second % 86_400);
            format!("2024-01-{day:02}T{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
        };
        let length = |seconds: u64| {
            let (days, rest) = (seconds / 86_400, seconds % 86_400);
            let days = if days == 0 { String::new() } else { format!("{days}-") };
            format!("{days}{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
        };
        let (mut text, mut expected) = ("JobID|Submit|AllocTRES|Elapsed\n".to_owned(), Vec::new());
        for (number, (second, ran, gpus, is_typed)) in rows.iter().enumerate() {
            let kind = if *is_typed { ":a100" } else { "" };
            text += &format!("{number}|{}|cpu=1,gres/gpu{kind}={gpus}|{}\n", moment(*second), length(*ran));
            text += &format!("{number}.batch|{}|gres/gpu=1|00:00:01\n", moment(*second));
            if (1..=1024).contains(gpus) {
                expected.push((2 * number as u64, *second as u64, *ran, *gpus));
            }
        }
        let first = expected.iter().map(|row| row.1).min().unwrap_or(0);
        let expected = expected.iter().map(|row| (row.0, row.1 - first, row.2, row.3));
        let workload = read_trace(TraceKind::SlurmSacct, &text).unwrap();
        let told = workload.jobs.iter().map(|job| {
            (job.job.id.0, job.job.arrived.0 / 1_000_000_000, job.work.as_secs(), job.devices())
        });
        prop_assert_eq!(told.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn any_words_of_slurm_are_read_or_refused(
        rows in proptest::collection::vec(
            "[0-9+_.]{0,5}\\|([0-9-]{0,10}T?[0-9:]{0,9}|Unknown|None|\\PC{0,6})\\|[0-9:-]{0,12}\\|((gres/)?gpu[:=][a-z0-9.]{0,6}[=:]?[0-9]{0,20},?){0,3}",
            0..6,
        ),
    ) {
        let text = format!("JobID|Submit|Elapsed|AllocTRES\n{}\n", rows.join("\n"));
        let _ = read_trace(TraceKind::SlurmSacct, &text);
    }
}
