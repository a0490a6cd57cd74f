//! `workers`: real processes in place of GPUs. What is asserted holds however slow the machine is;
//! how well simulations agree is in the report of `reproduce pcie`.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{answer, error, no};
use crate::schema::assert_valid;
use mapa_core::mig::Size;
use mapa_front::MachineSpec;
use mapa_front::simulation::fleet;
use mapa_sched::{JobId, Time};
use mapa_sim::testing::replay;
use mapa_sim::{Profile, Workload};
use mapa_system_pcie::PcieAware;
use mapa_system_pcie_sim::PcieEqualShare;
use mapa_topologies::named;
use serde_json::Value;

fn start(words: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-bench"));
    command
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// How many bytes a worker wants to copy next; none at its end.
fn wants(worker: &mut Child) -> Option<u32> {
    let mut bytes = [0; 4];
    worker
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut bytes)
        .ok()?;
    Some(u32::from_le_bytes(bytes))
}

fn go(worker: &mut Child) {
    worker.stdin.as_mut().unwrap().write_all(b"+").unwrap();
}

/// Returns once no process has this pipe open, within a minute.
fn closed(mut pipe: impl Read + Send + 'static) -> String {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.read_to_string(&mut text);
        let _ = tell.send(text);
    });
    told.recv_timeout(Duration::from_secs(60))
        .expect("a process still runs")
}

#[test]
fn a_worker_asks_for_all_its_bytes_chunk_by_chunk_and_ends_when_it_has_them() {
    let mut worker =
        start("workers work --compute 0.01 --bytes 10000 --chunk 3000 --ahead 2 --buffer 4096");
    let mut said = Vec::new();
    while let Some(bytes) = wants(&mut worker) {
        said.push(bytes);
        if bytes > 0 || said.len() == 1 {
            go(&mut worker);
        }
    }
    assert_eq!(said, [0, 3000, 3000, 3000, 1000, 0]);
    assert!(worker.wait().unwrap().success());
}

#[test]
fn a_worker_ends_when_nobody_waits_for_it_whether_it_copies_or_computes() {
    for bytes in [0, 1_000_000] {
        let words = format!(
            "workers work --compute 10000 --bytes {bytes} --chunk 1000 --ahead 2 --buffer 4096"
        );
        let mut worker = start(&words);
        assert_eq!(wants(&mut worker), Some(0));
        go(&mut worker);
        drop(worker.stdin.take());
        assert_eq!(closed(worker.stderr.take().unwrap()), "");
        worker.wait().unwrap();
    }
}

#[test]
fn no_worker_outlives_a_bench_that_is_killed() {
    let mut bench = start(
        "workers copy --machine a100-pcie-4-bridged --mig a100-40gb=3g,2g,1g,1g --sizes 1g.1m,2g.2m --gigabytes 1e5",
    );
    thread::sleep(Duration::from_millis(500));
    bench.kill().unwrap();
    bench.wait().unwrap();
    // Workers have it from the bench.
    closed(bench.stderr.take().unwrap());
}

#[test]
fn a_port_splits_equally_whatever_the_size_of_the_instances() {
    let copies = answer(
        "workers copy --machine a100-pcie-4-bridged --mig a100-40gb=3g,2g,1g,1g --sizes 1g.1m,2g.2m,3g.4m,1g.1m",
    );
    let gbps: Vec<f64> = copies["gbps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let (least, most) = (
        gbps.iter().copied().fold(f64::MAX, f64::min),
        gbps.iter().copied().fold(0.0, f64::max),
    );
    assert_eq!(gbps.len(), 4);
    assert!(most < 1.5 * least, "{gbps:?}");
    // Four at once, of which none waits for another before it starts.
    assert!(gbps.iter().sum::<f64>() < 1.25 * 30.08, "{gbps:?}");
}

#[test]
fn every_job_runs_once_no_faster_than_at_full_speed_and_alone_on_its_instance() {
    let words = "workers replay --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs 40 --gap 0.5 --pace 0.01";
    for scheduler in ["", "--first-gpu"] {
        let answer = answer(&format!("{words} {scheduler}"));
        let jobs = answer["jobs"].as_array().unwrap();
        let number = |job: &Value, key: &str| job[key].as_f64().unwrap();
        let ids: Vec<u64> = jobs.iter().map(|job| job["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (0..40).collect::<Vec<_>>());
        for job in jobs {
            assert!(
                number(job, "started_s") >= number(job, "arrived_s"),
                "{job}"
            );
            assert!(
                number(job, "ended_s") - number(job, "started_s") >= 0.999 * number(job, "work_s"),
                "{job}"
            );
        }
        for (job, other) in jobs
            .iter()
            .flat_map(|job| jobs.iter().map(move |other| (job, other)))
        {
            if job["id"] != other["id"] && job["device"] == other["device"] {
                let is_before = |a, b| number(a, "ended_s") <= number(b, "started_s");
                assert!(
                    is_before(job, other) || is_before(other, job),
                    "{job} {other}"
                );
            }
        }
        // What simulations are worth is seen on quiet machines; this much is left on any.
        for model in answer["simulated"].as_array().unwrap() {
            assert!(number(model, "retraced_correlation") > 0.9, "{model}");
        }
    }
}

/// All jobs arrive before the first ends, so who runs where does not depend on the clock.
#[test]
fn processes_start_where_and_in_the_order_that_the_oracle_says() {
    let machine = "--machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g";
    let words = format!("workers replay {machine} --jobs 8 --gap 3 --pace 0.02");
    let spec: MachineSpec = "a100-pcie-4-bridged mig=a100-40gb=1g,1g,1g,1g,1g,1g,1g"
        .parse()
        .unwrap();
    let graph = named("a100-pcie-4-bridged").unwrap();
    let loaded = spec.complete("a machine", graph, &mut drop).unwrap();
    for option in ["", "--first-gpu"] {
        let mut scheduler = match option {
            "" => PcieAware::new(),
            _ => PcieAware::first_gpu(),
        };
        let answer = answer(&format!("{words} {option}"));
        assert_valid("workers-replay", &answer);
        let jobs = answer["jobs"].as_array().unwrap();
        let submission = |job: &Value| {
            let kind = Profile::tang()
                .into_iter()
                .find(|profile| job["task"] == *profile.name)
                .unwrap();
            let number = |key: &str| job[key].as_f64().unwrap();
            let arrived = Time::ZERO + Duration::from_secs_f64(number("arrived_s"));
            let id = JobId(job["id"].as_u64().unwrap());
            kind.submission(id, arrived, Size::new(1, 1), number("work_s"))
                .unwrap()
        };
        let workload = Workload::new(
            "the same jobs",
            jobs.iter().map(submission).collect::<Vec<_>>(),
        );
        let fleet = fleet(&loaded).unwrap();
        let model = PcieEqualShare::default();
        let oracle = replay(&workload, fleet, &mut scheduler, &model).unwrap();
        let mut expected: Vec<(Time, u64, u32)> = oracle
            .runs
            .iter()
            .map(|run| (run.started(), run.job.0, run.stays[0].at.placement[0].0))
            .collect();
        expected.sort_unstable();
        let mut real: Vec<(f64, u64, u32)> = jobs
            .iter()
            .map(|job| {
                let device = u32::try_from(job["device"].as_u64().unwrap()).unwrap();
                (
                    job["started_s"].as_f64().unwrap(),
                    job["id"].as_u64().unwrap(),
                    device,
                )
            })
            .collect();
        real.sort_by(|a, b| a.0.total_cmp(&b.0));
        let real: Vec<(u64, u32)> = real.into_iter().map(|row| (row.1, row.2)).collect();
        let expected: Vec<(u64, u32)> = expected.into_iter().map(|row| (row.1, row.2)).collect();
        assert_eq!(real, expected, "{option}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    const GPUS: &str = "--machine a100-pcie-4-bridged --mig a100-40gb=3g,3g";
    insta::assert_snapshot!(
        error(&format!("workers copy {GPUS} --sizes 3g.4m,1g.1m --gigabytes 0.1")),
        @"error: 1 of 2 copies found no instance of their size"
    );
    insta::assert_snapshot!(
        error(&format!("workers copy {GPUS} --sizes 1g")),
        @"error: invalid value '1g' for '--sizes <SIZE>': `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)"
    );
    insta::assert_snapshot!(
        error(&format!("workers copy {GPUS} --sizes 3g.4m --gigabytes=-5")),
        @"error: cannot convert float seconds to Duration: value is negative"
    );
    insta::assert_snapshot!(
        error(&format!("workers replay {GPUS} --pace 0")),
        @"error: invalid value '0' for '--pace <S>': expected a number above 0, to a million"
    );
    assert_eq!(
        no("workers copy --machine dgx-a100 --mig a100-40gb=7g,1g --sizes 1g.1m").1,
        3
    );
    insta::assert_snapshot!(
        error("workers work --compute=-1 --bytes 0 --chunk 1 --ahead 1 --buffer 1"),
        @"error: invalid value '-1' for '--compute <COMPUTE>': expected a number of seconds, not below 0"
    );
}
