//! Application graphs: readers of logs, sources and counters, and the pattern file.

use std::fmt::Write;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::{DeviceId, LinkClass, Pattern};
use mapa_patterns::{
    Algorithm, Application, Counters, Reading, Source, read_nccl, read_pattern, write_pattern,
};
use mapa_topologies::named;

const LOG: &str = include_str!("../../mapa-patterns/tests/logs/tp2-dp2.log");
const JACOBI: &str = include_str!("../../mapa-patterns/tests/programs/jacobi.c");

/// The log with the calls of its steps repeated, up to about this many bytes.
fn long_log(bytes: usize) -> String {
    let calls: Vec<&str> = LOG
        .lines()
        .filter(|line| line.contains("opCount"))
        .collect();
    let mut text = LOG.to_owned();
    for step in 1_000_000.. {
        if text.len() > bytes {
            break;
        }
        for call in &calls {
            let (head, rest) = call.split_once("opCount ").expect("of a call");
            let (_, rest) = rest.split_once(' ').expect("of a call");
            writeln!(text, "{head}opCount {step:x} {rest}").expect("a string");
        }
    }
    text
}

fn logs(c: &mut Criterion) {
    let text = long_log(4 << 20);
    let mut group = c.benchmark_group("patterns");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("NCCL's log of 4 MiB", |b| {
        b.iter(|| {
            let job = read_nccl(&[("log", &text)]).expect("a sound log");
            let application = job.application(Algorithm::Ring).expect("four devices");
            assert_eq!((job.communicators.len(), application.pattern.len()), (5, 4));
        });
    });
    group.finish();
}

fn sources(c: &mut Criterion) {
    let mut group = c.benchmark_group("patterns");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(JACOBI.len() as u64));
    for ranks in [4, 64] {
        group.bench_function(format!("a Jacobi solver in C, {ranks} ranks"), |b| {
            b.iter(|| {
                let proposal =
                    Source::scan([("jacobi.c", JACOBI)]).propose(Some(ranks), Algorithm::Ring);
                assert_eq!(
                    proposal.expect("a chain").application.pattern.edges().len(),
                    ranks - 1
                );
            });
        });
    }
    group.finish();
}

/// The counters of a DGX-1V on which every link carries a different amount.
fn counters(c: &mut Criterion) {
    let graph = named("dgx-1v")
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue");
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); graph.len()];
    let mut pairs = 0;
    for (a, b) in (0..graph.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        if let LinkClass::Direct(links) = graph
            .pair(DeviceId(a as u32), DeviceId(b as u32))
            .direct
            .class
        {
            pairs += 1;
            for _ in 0..links {
                let bytes = 1_000_000 + 100_000 * ends.iter().map(Vec::len).sum::<usize>() as u64;
                ends[a].push(bytes);
                ends[b].push(bytes);
            }
        }
    }
    let mut text = String::new();
    for (id, links) in ends.iter().enumerate() {
        writeln!(text, "GPU {id}: Tesla V100-SXM2-16GB (UUID: GPU-{id:04x})").expect("a string");
        for (link, kib) in links.iter().enumerate() {
            writeln!(
                text,
                "\t Link {link}: Data Tx: {kib} KiB\n\t Link {link}: Data Rx: {kib} KiB"
            )
            .expect("a string");
        }
    }
    let mut group = c.benchmark_group("patterns");
    group.sample_size(10);
    group.bench_function("counters of a DGX-1V", |b| {
        b.iter(|| {
            let reading = Reading::read(&text).expect("a reading");
            let mut counters = Counters::new(&reading);
            counters.machine = Some(&graph);
            assert_eq!(
                counters.application().expect("a job").pattern.edges().len(),
                pairs
            );
        });
    });
    group.finish();
}

fn files(c: &mut Criterion) {
    let application = Application::new("large", "", Pattern::all_to_all(256));
    let text = write_pattern(&application);
    let mut group = c.benchmark_group("patterns");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("pattern file of 32,640 edges", |b| {
        b.iter(|| {
            assert_eq!(
                read_pattern(&text)
                    .expect("what was written")
                    .pattern
                    .edges()
                    .len(),
                32_640
            )
        });
    });
    group.finish();
}

criterion_group!(benches, logs, sources, counters, files);
