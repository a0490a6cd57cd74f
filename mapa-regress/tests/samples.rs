//! Which devices a measurement was made on, and what sample it makes.

use mapa_core::{HardwareGraph, LinkClass};
use mapa_regress::{Column, RankOrder, SampleConfig, Samples, read_measurements, samples};

fn named(name: &str) -> HardwareGraph {
    mapa_topologies::named(name).unwrap().graph().unwrap()
}

fn read(text: &str, graph: &HardwareGraph, config: &SampleConfig) -> Result<Samples, String> {
    samples(&read_measurements(text).unwrap(), graph, config).map_err(|error| error.to_string())
}

fn rings(samples: &Samples) -> Vec<Vec<u32>> {
    samples
        .rings
        .iter()
        .map(|ring| ring.iter().map(|id| id.0).collect())
        .collect()
}

/// A run of nccl-tests on these devices: number and place on PCI.
fn run(devices: &[(u32, &str)], gbps: f64) -> String {
    let ranks = devices.iter().enumerate().map(|(rank, (number, pci))| {
        format!("#  Rank {rank:2} Group  0 Pid  1 on node1 device {number:2} [{pci}] Tesla\n")
    });
    let ranks: String = ranks.collect();
    format!(
        "# Using devices\n{ranks}# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n 1024 256 float sum -1 9 9 {gbps} 0 9 9 99 0\n# Avg bus bandwidth : 1\n"
    )
}

const WITH_PCI: &str = r#"
    format = "mapa-machine"
    version = 1
    name = "two"
    devices = [
        { name = "GPU0", pci = "00000000:07:00.0" },
        { name = "GPU1", pci = "00000000:8B:00.0" },
        { name = "GPU2", pci = "00000009:8b:00.0" },
    ]
    links = [
        { ends = ["GPU0", "GPU1"], class = "nv2", gbps = 50.0 },
        { ends = ["GPU1", "GPU2"], class = "nv1", gbps = 25.0 },
        { ends = ["GPU2", "GPU0"], class = "nv1", gbps = 25.0 },
    ]
"#;

#[test]
fn a_ring_is_the_best_of_its_set_or_the_order_of_ranks() {
    let dgx = named("dgx-1v");
    let text = "devices,gbps\n0 2 1 3,40\n0 3,46\n";
    let best = read(text, &dgx, &SampleConfig::default()).unwrap();
    let counts: Vec<_> = best
        .samples
        .iter()
        .map(|sample| (sample.links.xyz(), sample.ranks, sample.gbps))
        .collect();
    assert_eq!(best.classes, [LinkClass::Direct(2), LinkClass::Direct(1)]);
    assert_eq!(counts, [((3, 1, 0), 4, 40.0), ((2, 0, 0), 2, 46.0)]);
    let given = SampleConfig {
        order: RankOrder::AsGiven,
        ..SampleConfig::default()
    };
    let given = read(text, &dgx, &given).unwrap();
    assert_eq!(
        (rings(&given)[0].as_slice(), given.samples[0].links.xyz()),
        (&[0, 2, 1, 3][..], (2, 2, 0))
    );
}

#[test]
fn devices_are_found_by_their_place_on_pci_whatever_their_number() {
    let machine = mapa_topologies::Machine::from_toml(WITH_PCI)
        .unwrap()
        .graph()
        .unwrap();
    let find =
        |devices: &[(u32, &str)]| read(&run(devices, 5.0), &machine, &SampleConfig::default());
    let found = find(&[(0, "0000:8b:00"), (1, "0000:07:00")]).unwrap();
    assert_eq!((rings(&found), found.by_number), (vec![vec![0, 1]], false));
    assert_eq!(
        rings(&find(&[(0, "0x07"), (1, "0009:8b:00.0")]).unwrap()),
        [[0, 2]]
    );
    insta::assert_snapshot!(
        find(&[(0, "0x07"), (1, "0x8b")]).unwrap_err(),
        @"line 2: 2 devices of the machine are at bus 0x8b on PCI: expected one"
    );
    insta::assert_snapshot!(
        find(&[(0, "0x07"), (1, "0001:8b:00")]).unwrap_err(),
        @"line 2: no device of the machine is at 0001:8b:00 on PCI: expected the machine that was measured"
    );
    insta::assert_snapshot!(
        find(&[(0, "0x07"), (1, "0000:07:00")]).unwrap_err(),
        @"line 2: GPU0 is named twice: expected each device once"
    );
}

#[test]
fn numbers_count_among_what_was_visible_and_contradictions_are_told() {
    let dgx = named("dgx-1v");
    let config = SampleConfig::default();
    let two = run(&[(0, "0000:07:00"), (1, "0000:8b:00")], 5.0);
    let plain = read(&two, &dgx, &config).unwrap();
    assert_eq!((rings(&plain), plain.by_number), (vec![vec![0, 1]], true));
    let seen = format!("CUDA_VISIBLE_DEVICES=3,GPU5 ./all_reduce_perf -g 2\n{two}");
    assert_eq!(rings(&read(&seen, &dgx, &config).unwrap()), [[3, 5]]);
    let fewer = format!("CUDA_VISIBLE_DEVICES=3 ./all_reduce_perf -g 2\n{two}");
    insta::assert_snapshot!(
        read(&fewer, &dgx, &config).unwrap_err(),
        @"line 3: device 1: expected one of the 1 visible devices, counted from 0"
    );
    let masked = format!("{two}{}", run(&[(0, "0000:8b:00"), (1, "0000:c1:00")], 5.0));
    let error = read(&masked, &dgx, &config).unwrap_err();
    insta::assert_snapshot!(
        error,
        @"line 8: the device at 0000:8b:00 on PCI is GPU0 by its number, and GPU1 in another run, because numbers depend on CUDA_VISIBLE_DEVICES: expected a machine described with PCI addresses, as by --live, `NCCL_TOPO_DUMP_FILE` or hwloc"
    );
}

#[test]
fn what_is_no_sample_is_left_out_with_the_reason() {
    let dgx = named("dgx-1v");
    let text = "OP,GPU,Bandwidth\nall_reduce_perf,1,0.00\nall_reduce_perf,2,17.28\nbroadcast_perf,2,17.46\n";
    let found = read(text, &dgx, &SampleConfig::default()).unwrap();
    assert_eq!(
        (found.samples.len(), found.samples[0].label.as_str()),
        (1, "line 3")
    );
    let why: Vec<_> = found
        .left_out
        .iter()
        .map(|(label, why)| (label.as_str(), why.as_str()))
        .collect();
    assert_eq!(
        why,
        [
            ("line 2", "one device has no collective bandwidth"),
            ("line 4", "broadcast, not all_reduce")
        ]
    );
    let all = read(
        text,
        &dgx,
        &SampleConfig {
            op: None,
            ..SampleConfig::default()
        },
    )
    .unwrap();
    assert_eq!(all.samples.len(), 2);
    // Without the program's name the columns tell.
    let gathers = run(&[(0, "0x01"), (1, "0x02")], 5.0)
        .replace(" sum -1 ", " none -1 ")
        .replace(" 256 ", " 128 ");
    let found = read(&gathers, &dgx, &SampleConfig::default()).unwrap();
    assert_eq!(
        found.left_out,
        [(
            "line 2".to_owned(),
            "all_gather or alltoall, not all_reduce".to_owned()
        )]
    );
    let either = SampleConfig {
        op: Some("alltoall".to_owned()),
        ..SampleConfig::default()
    };
    assert_eq!(read(&gathers, &dgx, &either).unwrap().samples.len(), 1);
}

#[test]
fn the_column_is_the_one_asked_for_or_an_error() {
    let dgx = named("dgx-1v");
    let in_place = SampleConfig {
        column: Column::InPlace,
        ..SampleConfig::default()
    };
    let two = run(&[(0, "0x01"), (1, "0x02")], 5.0);
    assert_eq!(read(&two, &dgx, &in_place).unwrap().samples[0].gbps, 99.0);
    insta::assert_snapshot!(
        read("devices,gbps\n0 1,5\n", &dgx, &in_place).unwrap_err(),
        @"line 2: no bandwidth in the chosen column: expected another column"
    );
}

#[test]
fn measurements_that_cannot_be_on_the_machine_are_refused() {
    let dgx = named("dgx-1v");
    let error = |text: &str| read(text, &dgx, &SampleConfig::default()).unwrap_err();
    insta::assert_snapshot!(
        error("devices,gbps\n0 9,5\n"),
        @"line 2: no single device is called `9`: expected an id below 8, or a name, UUID or PCI address"
    );
    insta::assert_snapshot!(
        error("devices,gbps\n0 3 0,5\n"),
        @"line 2: GPU0 is named twice: expected each device once"
    );
    insta::assert_snapshot!(
        error("devices,gbps\nfirst 9,5\n"),
        @"line 2: the first 9 devices: expected at most 8, all that the machine has"
    );
    let hosts = run(&[(0, "0x01"), (1, "0x02")], 5.0).replacen("node1", "node2", 1);
    insta::assert_snapshot!(
        error(&hosts),
        @"line 2: ranks on node2 and node1: expected one machine"
    );
    let unknown = "# size count type redop time algbw busbw error\n 1024 256 float sum 25.34 9.3 12.5 0\n# Avg bus bandwidth : 12.5\n";
    insta::assert_snapshot!(
        error(unknown),
        @"line 1: the run does not name its devices: expected lines such as `# Rank 0 .. device 0 [0000:07:00] ..`, or a CSV with a column `devices`"
    );
}
