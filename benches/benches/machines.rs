//! Reading a machine (text to fabric, fabric to graph), merging, comparing and drawing machines,
//! and reading the longest texts that are accepted.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_topologies::{Dump, MAX_BYTES, Picture, merge, named, read};

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
    let row = |a| {
        format!(
            "GPU{a}{}\t0-15\t0\n",
            (0..n)
                .map(|b| format!("\t{}", cell(a, b)))
                .collect::<String>()
        )
    };
    format!(
        "{header}\tCPU Affinity\tNUMA Affinity\n{}",
        (0..n).map(row).collect::<String>()
    )
}

fn reading(c: &mut Criterion) {
    for n in [8, 16, 72] {
        let text = dump(n);
        let machine = read(text.as_bytes()).expect("it is well formed").machine;
        let mut group = c.benchmark_group(format!("{n} devices"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("read nvidia-smi topo -m", |b| {
            b.iter(|| {
                assert_eq!(
                    read(black_box(text.as_bytes()))
                        .expect("as before")
                        .machine
                        .fabric
                        .device_count(),
                    n
                )
            });
        });
        group.bench_function("lower to a graph", |b| {
            b.iter(|| assert_eq!(black_box(&machine).graph().expect("as before").len(), n));
        });
        group.finish();
    }
    c.bench_function("a machine of the catalogue", |b| {
        b.iter(|| {
            assert_eq!(
                named(black_box("dgx-1v"))
                    .expect("it is there")
                    .fabric
                    .device_count(),
                8
            )
        });
    });
}

/// One machine in the formats that MAPA writes, read again.
fn formats(c: &mut Criterion) {
    for name in ["dgx-1v", "dgx-2"] {
        let machine = named(name).expect("it is there");
        let devices = machine.fabric.device_count();
        let mut group = c.benchmark_group(name);
        let texts = [
            ("machine file", machine.to_toml()),
            ("NCCL topology XML", machine.to_nccl_xml()),
            ("Slurm gres.conf", machine.to_slurm_gres()),
        ];
        for (format, text) in texts {
            let text = text.expect("it can be written");
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(format!("read {format}"), |b| {
                b.iter(|| {
                    let dump = read(black_box(text.as_bytes())).expect("as written");
                    assert_eq!(dump.machine.fabric.device_count(), devices);
                });
            });
        }
        group.finish();
    }
}

fn machines(c: &mut Criterion) {
    for name in ["dgx-1v", "gb200-nvl72"] {
        let machine = named(name).expect("it is there");
        let devices = machine.fabric.device_count();
        let mut group = c.benchmark_group(name);
        let dumps = vec![Dump::from(machine.clone()); 2];
        group.bench_function("merge two dumps", |b| {
            b.iter(|| {
                let merged = merge(black_box(dumps.clone())).expect("both are whole");
                assert_eq!(
                    (
                        merged.contradictions.len(),
                        merged.dump.machine.fabric.device_count()
                    ),
                    (0, devices)
                );
            });
        });
        group.bench_function("draw", |b| {
            let options = Picture::new();
            b.iter(|| {
                assert!(
                    black_box(&machine)
                        .to_svg(&options)
                        .expect("72 at most")
                        .ends_with("</svg>\n")
                )
            });
        });
        group.finish();
    }
}

/// Texts of the largest accepted size, 16 MiB, of the forms that cost readers most. Every text gets
/// an answer, if only an error.
fn longest(c: &mut Criterion) {
    let repeated = |piece: &str| piece.repeat(MAX_BYTES / piece.len());
    let many = |line: &dyn Fn(usize) -> String| {
        let mut text = String::with_capacity(MAX_BYTES);
        for i in 0.. {
            let line = line(i);
            if text.len() + line.len() > MAX_BYTES {
                break;
            }
            text += &line;
        }
        text
    };
    let texts = [
        ("rows of a matrix", many(&|i| format!("GPU{i} X\n"))),
        ("rows without links", many(&|i| format!("GPU{i} q\n"))),
        (
            "links of a GPU",
            many(&|i| format!("\t Link {i}: 25.781 GB/s\n")),
        ),
        (
            "GPUs of a list",
            many(&|i| format!("GPU {i}: V100 (UUID: GPU-{i})\n")),
        ),
        (
            "an open element",
            "<system version=\"1\"><cpu numaid=\"0\">".to_owned()
                + &repeated("<pci busid=\"0:0:0.0\"/>"),
        ),
        ("a deep element", repeated("<system>")),
        (
            "records of Slurm",
            repeated("Name=gpu File=/dev/nvidia0 Links=-1\n"),
        ),
        (
            "files of KFD",
            many(&|i| format!("/sys/class/kfd/kfd/topology/nodes/{i}/gpu_id:{i}\n")),
        ),
        (
            "a list in JSON",
            "[".to_owned() + &repeated("{\"gpu\":0,\"bdf\":\"0:0\",\"links\":[]},"),
        ),
        ("no words", repeated(" ")),
    ];
    let mut group = c.benchmark_group("16 MiB");
    group.sample_size(10);
    for (name, text) in texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| assert!(read(black_box(text.as_bytes())).is_err(), "{name}"))
        });
    }
    group.finish();
}

criterion_group!(benches, reading, formats, machines, longest);
