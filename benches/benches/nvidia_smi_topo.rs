//! Reading a machine: text to fabric, fabric to graph, and the machine file.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mapa_topologies::{named, read};

/// A dump as the tool prints it for `n` devices.
fn dump(n: usize) -> String {
    let cell = |a: usize, b: usize| {
        if a == b {
            " X "
        } else if (a + b).is_multiple_of(2) {
            "NODE"
        } else {
            "SYS"
        }
    };
    let header: String = (0..n).map(|i| format!("\tGPU{i}")).collect();
    let row = |a| format!("GPU{a}{}\t0-15\t0\n", (0..n).map(|b| format!("\t{}", cell(a, b))).collect::<String>());
    format!("{header}\tCPU Affinity\tNUMA Affinity\n{}", (0..n).map(row).collect::<String>())
}

fn reading(c: &mut Criterion) {
    for n in [8, 16, 72] {
        let text = dump(n);
        let machine = read(text.as_bytes()).expect("it is well formed").machine;
        let mut group = c.benchmark_group(format!("{n} devices"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("read nvidia-smi topo -m", |b| {
            b.iter(|| {
                assert_eq!(read(black_box(text.as_bytes())).expect("as before").machine.fabric.device_count(), n)
            });
        });
        group.bench_function("lower to a graph", |b| {
            b.iter(|| assert_eq!(black_box(&machine).graph().expect("as before").len(), n));
        });
        group.finish();
    }
    c.bench_function("a machine of the catalogue", |b| {
        b.iter(|| assert_eq!(named(black_box("dgx-1v")).expect("it is there").fabric.device_count(), 8));
    });
}

criterion_group!(benches, reading);
criterion_main!(benches);
