//! Slurm's `gres.conf`: what no single text of the corpus shows, every real sample, and the writer.

use std::fs;

use crate::common::dumps::{classes, graph, read_as, refused, warnings};
use crate::common::real_data;
use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, NodeKind};
use mapa_topologies::{
    Dump, ErrorKind, HostDetail, Kind, Labels, Machine, Vendor, catalogue, named,
};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::SlurmGres, text)
}

/// Direct links of all devices, 0 where there are none.
fn links(machine: &Machine) -> Vec<Vec<u8>> {
    let graph = machine.graph().unwrap();
    let ids = || (0..machine.fabric.device_count() as u32).map(DeviceId);
    let count = |a, b| match graph.pair(a, b).direct.class {
        LinkClass::Direct(n) if a != b => n,
        _ => 0,
    };
    ids()
        .map(|a| ids().map(|b| count(a, b)).collect())
        .collect()
}

#[test]
fn a_short_text_that_names_a_thousand_devices_makes_no_pairs() {
    let dump = dump("Name=gpu File=/dev/nvidia[0-1023] Cores=0-7");
    assert_eq!(dump.machine.fabric.device_count(), 1024);
    assert_eq!(dump.machine.fabric.wires().count(), 0);
    assert_eq!(dump.says.host, HostDetail::Nothing);
    refused(
        "Name=gpu File=/dev/nvidia[0-99999999]",
        "line 1: more than 1024 devices: expected at most that many",
    );
    refused(
        "Name=gpu Count=2K",
        "line 1: more than 1024 devices: expected at most that many",
    );
}

#[test]
fn samples_read_to_what_they_show_or_are_refused_by_line() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let seen = manifest
        .lines()
        .filter(|row| row.starts_with("slurm_gres/"))
        .count();
    assert_eq!(seen, 3, "an expectation for every sample");
    let text = |name: &str| fs::read_to_string(data.join("samples/slurm_gres").join(name)).unwrap();

    let quads = dump(&text("gres_conf_a100_8_links44.txt"));
    let four = |a: usize, b: usize| if a != b && a / 4 == b / 4 { 4 } else { 0 };
    let expected: Vec<Vec<u8>> = (0..8)
        .map(|a| (0..8).map(|b| four(a, b)).collect())
        .collect();
    assert_eq!(links(&quads.machine), expected);
    assert_eq!(
        classes(&graph(&quads), 0, 1),
        (LinkClass::Direct(4), LinkClass::Sys)
    );
    assert_eq!(graph(&quads).pair(0.into(), 1.into()).direct.gbps, 100.0);
    assert!(quads.says.direct && quads.says.host == HostDetail::Nothing);
    assert_eq!(warnings(&quads.machine), [] as [&str; 0]);

    refused(
        &text("gres_conf_gb200_tray.txt"),
        "line 1: Links has 4 numbers, but the node has records of 1 devices: expected a record and a number for every device",
    );

    let mig = dump(&text("slurmd_G_h100_mig.txt"));
    assert_eq!(graph_names(&mig), ["GPU0", "GPU1"]);
    assert_eq!(
        warnings(&mig.machine),
        ["line 5: instance 4g.40gb: its file does not name the device, so it is left out"]
    );
    assert!(!mig.says.direct && mig.mig_instances.is_empty());
    assert_eq!(
        mig.into_machine().unwrap_err().kind(),
        ErrorKind::Incomplete
    );
}

fn graph_names(dump: &Dump) -> Vec<String> {
    graph(dump)
        .devices()
        .iter()
        .map(|device| device.name.clone())
        .collect()
}

fn read_back(machine: &Machine) -> Dump {
    let text = machine.to_slurm_gres().unwrap();
    let again = dump(&text);
    assert_eq!(warnings(&again.machine), [] as [&str; 0], "{text}");
    assert_eq!(links(&again.machine), links(machine), "{text}");
    again
}

#[test]
fn a_device_is_behind_one_switch_at_most() {
    // Two groups of three share a pair, whose links are counted once.
    let rows = [
        "-1,200,200,0",
        "200,-1,200,200",
        "200,200,-1,200",
        "0,200,200,-1",
    ];
    let rows = rows.iter().enumerate();
    let text: String = rows
        .map(|(at, row)| format!("Name=gpu File=/dev/nvidia{at} Links={row}\n"))
        .collect();
    let machine = dump(&text).machine;
    assert_eq!(links(&machine)[1], [200, 0, 200, 200]);
}

#[test]
fn catalogue_machines_are_written_and_read_back() {
    for entry in catalogue() {
        let machine = named(entry.name).unwrap();
        let again = read_back(&machine);
        let ports = |machine: &Machine| {
            let graph = machine.graph().unwrap();
            let devices = (0..machine.fabric.device_count() as u32).map(DeviceId);
            devices
                .map(|id| graph.device(id).switch_port.map(|port| port.class))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ports(&again.machine),
            ports(&machine),
            "{}: switches are inferred again",
            entry.name
        );
    }
}

#[test]
fn the_written_form_is_stable() {
    let text = named("dgx-1v").unwrap().to_slurm_gres().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("# dgx-1v: ") && lines[1].starts_with("# Source: "),
        "{text}"
    );
    assert_eq!(lines.len(), 10);
    assert!(
        lines[2].ends_with(" File=/dev/nvidia0 Links=-1,1,1,2,2,0,0,0"),
        "{text}"
    );
}

fn machine(counts: &[u8], n: usize, indices: bool, product: Option<&str>, amd: bool) -> Machine {
    let mut fabric = Fabric::new();
    let ids: Vec<_> = (0..n)
        .map(|i| {
            let index = indices.then_some(2 * i as u32 + 1);
            let info = DeviceInfo {
                index,
                product: product.map(str::to_owned),
                ..DeviceInfo::default()
            };
            fabric
                .add(FabricNode {
                    name: format!("dev-{i}"),
                    kind: NodeKind::Device(info),
                })
                .unwrap()
        })
        .collect();
    for b in 0..n {
        for a in 0..b {
            let links = counts[b * (b - 1) / 2 + a];
            if links > 0 {
                fabric
                    .link(ids[a], ids[b], LinkClass::Direct(links), f64::from(links))
                    .unwrap();
            }
        }
    }
    let direct = if amd { "XGMI" } else { "NV" };
    Machine {
        name: "random".to_owned(),
        title: "a machine\nName=gpu".to_owned(),
        source: "a test".to_owned(),
        notes: Vec::new(),
        vendor: Some(if amd { Vendor::Amd } else { Vendor::Nvidia }),
        labels: Labels {
            direct: direct.to_owned(),
            ..Labels::default()
        },
        fabric,
        warnings: Vec::new(),
    }
}

proptest! {
    #[test]
    fn any_machine_is_written_and_read_back_with_its_links(
        n in 1usize..9,
        counts in proptest::collection::vec(prop_oneof![Just(0u8), 1u8..20, Just(255)], 36),
        indices in any::<bool>(),
        product in proptest::option::of(prop::sample::select(vec!["Tesla V100", "A100 4g.40gb", "x\ny", " ", "(null)", "#1", "é"])),
        amd in any::<bool>(),
    ) {
        let machine = machine(&counts, n, indices, product, amd);
        let again = read_back(&machine);
        let numbers = |machine: &Machine| {
            let graph = machine.graph().unwrap();
            let devices = graph.devices().iter().enumerate();
            devices.map(|(id, device)| device.index.unwrap_or(id as u32)).collect::<Vec<_>>()
        };
        prop_assert_eq!(numbers(&again.machine), numbers(&machine));
    }

    #[test]
    fn a_text_that_is_cut_has_no_other_links(at in any::<prop::sample::Index>()) {
        let plain = crate::corpus::text("slurm_gres/plain.conf");
        let at = at.index(plain.len());
        if let Ok(dump) = Kind::SlurmGres.read(&plain[..at]) {
            let alone = dump.machine.fabric.device_count() == 1;
            prop_assert!(!dump.says.direct || alone || at >= plain.len() - 2);
        }
    }
}
