//! Workloads that a request names.

use mapa_front::{WorkloadSpec, generated};
use mapa_sim::{Generator, Workload};

use crate::common::InMemory;

fn meant(words: &str, files: &InMemory) -> Result<Workload, String> {
    let spec: WorkloadSpec = words
        .parse()
        .map_err(|error: mapa_front::Error| error.to_string())?;
    spec.load(files).map_err(|error| error.to_string())
}

#[test]
fn without_words_it_is_the_papers_mix_of_the_first_seed() {
    let none = InMemory::default();
    assert_eq!(
        meant("", &none).unwrap(),
        Generator::mapa().generate(1).unwrap()
    );
    assert_eq!(
        meant("seed=4", &none).unwrap(),
        generated("mapa", 4).unwrap()
    );
    assert_eq!(meant("generate=mapa,jobs=7", &none).unwrap().jobs.len(), 7);
}

#[test]
fn job_files_are_named_in_the_source_and_in_errors() {
    let files = InMemory::default()
        .with("good.txt", b"3,ring,120,17,1,vgg16.sh\n")
        .with(
            "bad.txt",
            b"3,ring,120,17,1,vgg16.sh\n0,ring,120,17,1,vgg16.sh\n",
        )
        .with("bytes.txt", b"3,ring,120,17,1,x\n\xff\n");
    let jobs = meant("good.txt", &files).unwrap();
    assert!(jobs.source.ends_with("good.txt"), "{}", jobs.source);
    assert_eq!(jobs.jobs[0].job.arrived.0, 120_000_000_000);
    let at_once = meant("good.txt at_once=true", &files).unwrap();
    assert_eq!(at_once.jobs[0].job.arrived.0, 0);
    let error = meant("bad.txt", &files).unwrap_err();
    insta::assert_snapshot!(
        error,
        @"bad.txt: line 2: numGpus `0`: expected a number of devices from 1 to 1024"
    );
    let error = meant("bytes.txt", &files).unwrap_err();
    assert_eq!(error, "bytes.txt: line 2: expected text in UTF-8");
    let error = meant("none.txt", &files).unwrap_err();
    assert_eq!(error, "none.txt: no such file");
}

#[test]
fn traces_are_known_by_name_or_header_and_selected() {
    let text = "submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n30,8,147,vgg11,133\n";
    let files = InMemory::default().with("trace.csv", text.as_bytes());
    let plain = meant("trace=trace.csv", &files).unwrap();
    assert_eq!(plain, meant("trace=tiresias=trace.csv", &files).unwrap());
    let small = meant("trace=trace.csv select=max-gpus=4", &files).unwrap();
    assert_eq!(small.jobs.len(), 1);
    let error = |words: &str| meant(words, &files).unwrap_err();
    insta::assert_snapshot!(
        error("trace=gavel-philly=trace.csv"),
        @"trace.csv: line 1: no column `job_type`, but a column `model`: expected submit_s, gpus, duration_s, job_type, vc"
    );
    insta::assert_snapshot!(
        error("trace=philly=trace.csv"),
        @"no trace is called `philly`: expected alibaba-openb, gavel-philly, tiresias, slurm-sacct"
    );
    insta::assert_snapshot!(
        error("trace=trace.csv select=first"),
        @"--select: `first`: expected such as first=100 or vc=23dbec"
    );
    let nothing = meant("trace=trace.csv select=model=none", &files).unwrap();
    assert!(nothing.jobs.is_empty());
    assert!(
        nothing
            .notes
            .iter()
            .any(|note| note.starts_with("no job is left"))
    );
}

#[test]
fn keys_of_two_sources_are_refused() {
    let files = InMemory::default().with("a.csv", b"3,ring,120,17,1,vgg16.sh\n");
    for (words, error) in [
        (
            "jobs=a.csv trace=a.csv",
            "a workload cannot have jobs and trace: expected one of them",
        ),
        (
            "jobs=a.csv generate=mapa",
            "a workload cannot have jobs and generate: expected one of them",
        ),
        (
            "select=first=1",
            "`select` is for traces: expected `trace` too",
        ),
        (
            "jobs=a.csv seed=3",
            "`run_times` and `seed` are for generators: expected neither beside `jobs` or `trace`",
        ),
    ] {
        assert_eq!(meant(words, &files).unwrap_err(), error);
    }
}

#[test]
fn run_times_are_drawn_from_a_file() {
    let files = InMemory::default().with("times.csv", b"runtime_s\n3\n7\n");
    let drawn = meant("run_times=times.csv generate=mapa,jobs=40", &files).unwrap();
    let mut seconds: Vec<u64> = drawn.jobs.iter().map(|job| job.work.as_secs()).collect();
    seconds.sort_unstable();
    seconds.dedup();
    assert_eq!(seconds, [3, 7]);
    assert!(
        drawn.source.contains("times=empirical(2)"),
        "{}",
        drawn.source
    );
    assert!(drawn.source.ends_with("times.csv"), "{}", drawn.source);
}
