//! Several dumps of one machine give one machine, and what they do not agree on is told.

use std::collections::HashMap;

use mapa_core::{
    DeviceInfo, Fabric, FabricNode, FabricWire, HardwareGraph, NodeId, NodeKind, testing,
};
use mapa_topologies::{
    Dump, ErrorKind, HostDetail, Machine, Merged, catalogue, merge, named, read,
};
use proptest::prelude::*;

/// What a machine file says, as if less had been told.
fn dump(machine: &Machine) -> Dump {
    read(machine.to_toml().unwrap().as_bytes()).unwrap()
}

/// A machine's host without direct links, or its direct links without a host, devices in the order
/// given.
fn part(machine: &Machine, name: &str, order: &[usize], host: bool) -> Dump {
    let from = &machine.fabric;
    let mut fabric = Fabric::new();
    let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
    let devices: Vec<(NodeId, &FabricNode)> = from
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .collect();
    for &i in order {
        let (id, node) = devices[i];
        let NodeKind::Device(info) = &node.kind else {
            unreachable!()
        };
        let pci = Some(format!("0000:{i:02x}:00.0"));
        let index = info.index.unwrap_or(i as u32);
        let info = DeviceInfo {
            pci,
            index: Some(index),
            ..info.clone()
        };
        ids.insert(
            id,
            fabric
                .add(FabricNode {
                    name: node.name.clone(),
                    kind: NodeKind::Device(info),
                })
                .unwrap(),
        );
    }
    for (id, node) in from.nodes() {
        let wanted = if host {
            node.kind != NodeKind::LinkSwitch
        } else {
            node.kind == NodeKind::LinkSwitch
        };
        if !matches!(node.kind, NodeKind::Device(_)) && wanted {
            ids.insert(id, fabric.add(node.clone()).unwrap());
        }
    }
    for (a, b, wire) in from.wires() {
        let (Some(&a), Some(&b)) = (ids.get(&a), ids.get(&b)) else {
            continue;
        };
        match wire {
            FabricWire::Up { gbps } if host => fabric.attach(a, b, gbps).unwrap(),
            FabricWire::Link(link) if link.class.is_host() == host => {
                fabric.link(a, b, link.class, link.gbps).unwrap()
            }
            _ => {}
        }
    }
    let mut dump = dump(&Machine {
        name: name.to_owned(),
        fabric,
        ..machine.clone()
    });
    if host {
        dump.says.direct = false;
        dump.says.direct_gbps = false;
    } else {
        dump.says.host = HostDetail::Nothing;
        dump.says.host_gbps = false;
    }
    dump
}

/// Everything about a graph but the devices' addresses, which `part` makes up.
fn facts(graph: &HardwareGraph) -> Vec<String> {
    let ids = || (0..graph.len() as u32).map(mapa_core::DeviceId);
    let device = |id| {
        let d = graph.device(id);
        format!(
            "{} {:?} {:?} {:?} {:?} {:?}",
            d.name, d.uuid, d.memory_bytes, d.numa, d.switch_port, d.unit
        )
    };
    let pairs = ids()
        .flat_map(|a| ids().map(move |b| (a, b)))
        .map(|(a, b)| format!("{:?}", graph.pair(a, b)));
    ids().map(device).chain(pairs).collect()
}

/// Asserts that what was merged is this machine, without a contradiction.
fn assert_is(merged: Merged, machine: &Machine) {
    assert_eq!(merged.contradictions, [], "{}", machine.name);
    let graph = merged.dump.into_machine().unwrap();
    let graph = graph.graph_with_host().unwrap();
    let expected = machine.graph_with_host().unwrap();
    assert_eq!(facts(&graph), facts(&expected), "{}", machine.name);
}

#[test]
fn a_dump_merged_with_itself_is_itself() {
    for entry in catalogue() {
        let machine = entry.machine().unwrap();
        let merged = merge(vec![dump(&machine), dump(&machine)]).unwrap();
        assert_is(merged, &machine);
    }
}

#[test]
fn links_of_one_dump_and_the_host_of_another_give_the_machine_whatever_their_numbering() {
    for entry in catalogue() {
        let machine = entry.machine().unwrap();
        let n = machine.fabric.device_count();
        let straight: Vec<usize> = (0..n).collect();
        let turned: Vec<usize> = (0..n).rev().collect();
        for (first, second) in [(true, false), (false, true)] {
            let dumps = vec![
                part(&machine, "a", &straight, first),
                part(&machine, "b", &turned, second),
            ];
            let merged = merge(dumps).unwrap();
            assert_is(merged, &machine);
        }
    }
}

const LINKS: &str = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity
GPU0\tX\tNV1\tNV2\t0-7\t0
GPU1\tNV1\tX\tSYS\t0-7\t0
GPU2\tNV2\tSYS\tX\t8-15\t1
";

fn contradictions(a: &str, b: &str) -> Vec<String> {
    let named = |text: &str, name: &str| {
        let mut dump = read(text.as_bytes()).unwrap();
        dump.machine.name = name.to_owned();
        dump
    };
    let merged = merge(vec![named(a, "left"), named(b, "right")]).unwrap();
    merged
        .contradictions
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn what_differs_is_told_with_both_sides() {
    assert_eq!(contradictions(LINKS, LINKS), [] as [&str; 0]);
    assert_eq!(
        contradictions(LINKS, &LINKS.replace("NV2", "NV3")),
        ["GPU0 - GPU2, direct links: left says NV2, right says NV3; left is followed"]
    );
    assert_eq!(
        contradictions(LINKS, &LINKS.replace("NV2", "PHB").replace("NV1", "PHB")),
        [
            "GPU0 - GPU1, direct links: left says NV1, right says no direct link; left is followed",
            "GPU0 - GPU2, direct links: left says NV2, right says no direct link; left is followed"
        ]
    );
    assert_eq!(
        contradictions(LINKS, &LINKS.replace("SYS", "NODE")),
        ["GPU1 - GPU2, path through the host: left says SYS, right says NODE; left is followed"]
    );
    assert_eq!(
        contradictions(LINKS, &LINKS.replace("8-15\t1", "8-15\t0")),
        ["GPU2, NUMA node: left says 1, right says 0; left is followed"]
    );
}

/// The first devices of a machine, as something that sees no more of it.
fn seen(machine: &Machine, devices: usize, host: bool) -> Dump {
    part(machine, "seen", &(0..devices).collect::<Vec<_>>(), host)
}

#[test]
fn devices_that_only_one_dump_names_are_told() {
    let dgx = named("dgx-1v").unwrap();
    let told = |dumps: Vec<Dump>| {
        let merged = merge(dumps).unwrap();
        merged
            .contradictions
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let all: Vec<usize> = (0..8).collect();
    let whole = || part(&dgx, "whole", &all, true);
    let said =
        "devices there are: whole says GPU6, GPU7 too, seen says 6 in all; whole is followed";
    assert_eq!(told(vec![whole(), seen(&dgx, 6, false)]), [said]);
    assert_eq!(told(vec![seen(&dgx, 6, false), whole()]), [said]);
}

#[test]
fn dumps_that_cannot_be_of_one_machine_are_refused() {
    let two = "\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n";
    let dumps = [two, LINKS].map(|text| read(text.as_bytes()).unwrap());
    let error = merge(dumps.into()).unwrap_err();
    let what = "topo-m names 2 devices in all, topo-m names 3 devices in all, and only device numbers identify them";
    assert_eq!(
        error.to_string(),
        format!("{what}: expected dumps of one machine")
    );
    let vendors = ["dgx-1v", "frontier"].map(|name| Dump::from(named(name).unwrap()));
    let error = merge(vendors.into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dgx-1v has NV links, frontier has XGMI: expected dumps of one machine"
    );
}

#[test]
fn devices_that_one_dump_lacks_are_joined_as_another_says() {
    let dgx = named("dgx-1v").unwrap();
    let all: Vec<usize> = (0..8).collect();
    for host in [false, true] {
        // One part of three devices, then both parts of all.
        let dumps = vec![
            seen(&dgx, 3, host),
            part(&dgx, "whole", &all, host),
            part(&dgx, "whole", &all, !host),
        ];
        let graph = merge(dumps)
            .unwrap()
            .dump
            .into_machine()
            .unwrap()
            .graph()
            .unwrap();
        assert_eq!(facts(&graph), facts(&dgx.graph().unwrap()), "{host}");
    }
}

#[test]
fn an_address_counts_for_more_than_a_number() {
    let dgx = named("dgx-1v").unwrap();
    let order: Vec<usize> = (0..8).collect();
    let mut renumbered = part(&dgx, "b", &order, false);
    // The same machine, by a tool that counts from the other end.
    let toml = renumbered.machine.to_toml().unwrap();
    let turned: Vec<String> = toml
        .lines()
        .map(|line| {
            let name = line
                .strip_prefix("name = \"GPU")
                .and_then(|rest| rest.strip_suffix('"'))
                .and_then(|n| n.parse::<usize>().ok());
            name.map_or(line.to_owned(), |n| {
                format!("name = \"GPU{n}\"\nindex = {}", 7 - n)
            })
        })
        .filter(|line| !line.starts_with("index = ") || line.contains('\n'))
        .collect();
    assert!(turned.join("\n").contains("index = 7"), "{toml}");
    let mut dump = read(turned.join("\n").as_bytes()).unwrap();
    dump.machine.name = "b".to_owned();
    dump.says = renumbered.says;
    renumbered = dump;
    let merged = merge(vec![part(&dgx, "a", &order, true), renumbered]).unwrap();
    let told: Vec<String> = merged
        .contradictions
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told.len(), 8, "{told:?}");
    assert_eq!(told[0], "GPU0, number: a says 0, b says 7; a is followed");
    let graph = merged.dump.into_machine().unwrap().graph().unwrap();
    assert_eq!(facts(&graph), facts(&dgx.graph().unwrap()));
}

#[test]
fn nothing_gives_an_error_and_one_dump_gives_itself() {
    assert_eq!(merge(Vec::new()).unwrap_err().kind(), ErrorKind::Malformed);
    let one = read(LINKS.as_bytes()).unwrap();
    assert_eq!(merge(vec![one.clone()]).unwrap().dump, one);
}

/// What is told of the merger of these texts, each named by its letter.
fn merged(texts: &[&str]) -> (Dump, Vec<String>) {
    let named = |(text, name): (&&str, char)| {
        let mut dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        dump.machine.name = name.to_string();
        dump
    };
    let merged = merge(texts.iter().zip('a'..).map(named).collect()).unwrap();
    let told = merged
        .contradictions
        .iter()
        .map(ToString::to_string)
        .collect();
    (merged.dump, told)
}

/// `nvidia-smi nvlink -s` of GPUs with so many links at this rate.
fn status(gpus: usize, links: usize, rate: &str) -> String {
    let gpu = |i| {
        let rows: String = (0..links)
            .map(|link| format!("\t Link {link}: {rate} GB/s\n"))
            .collect();
        format!("GPU {i}: NVIDIA A100 (UUID: GPU-0000000{i}-0000-0000-0000-000000000000)\n{rows}")
    };
    (0..gpus).map(gpu).collect()
}

/// `nvidia-smi topo -m` of GPUs with this between all of them.
fn topo(gpus: usize, cell: &str) -> String {
    let header: String = (0..gpus).map(|i| format!("\tGPU{i}")).collect();
    let cell = |a, b| if a == b { "X" } else { cell };
    let row = |a| {
        format!(
            "GPU{a}{}\n",
            (0..gpus)
                .map(|b| format!("\t{}", cell(a, b)))
                .collect::<String>()
        )
    };
    format!("{header}\n{}", (0..gpus).map(row).collect::<String>())
}

#[test]
fn one_identity_in_other_spellings_is_one_device() {
    let rocm = "{\"card0\": {\"Unique ID\": \"0x4a7c19da329a2b8c\", \"PCI Bus\": \"0000:C1:00.0\"}, \"card1\": {\"Unique ID\": \
                \"0x0a7c19da329a2b8d\", \"PCI Bus\": \"0000:C6:00.0\"}, \"system\": {\"(Topology) Link type between DRM devices 0 and \
                1\": \"XGMI\", \"(Topology) Weight between DRM devices 0 and 1\": \"15\", \"(Topology) Hops between DRM devices 0 and \
                1\": \"1\"}}";
    let file = |uuids: [&str; 2]| {
        let device =
            |(i, uuid): (usize, &&str)| format!("{{ name = \"GPU{i}\", uuid = \"{uuid}\" }}, ");
        let devices: String = uuids.iter().enumerate().map(device).collect();
        format!(
            "format = \"mapa-machine\"\nversion = 1\nname = \"x\"\ndevices = [{devices}]\n[labels]\ndirect = \"XGMI\"\n"
        )
    };
    for uuids in [
        ["4a7c19da329a2b8c", "a7c19da329a2b8d"],
        ["GPU-4A7C19DA329A2B8C", "GPU-0a7c19da329a2b8d"],
    ] {
        let (dump, _) = merged(&[&file(uuids), rocm]);
        assert_eq!(dump.machine.fabric.device_count(), 2, "{uuids:?}");
    }
    // Another UUID at the same address is a contradiction, and no second device.
    let other =
        file(["1111", "2222"]).replace("uuid = \"1111\"", "uuid = \"1111\", pci = \"c1:00.0\"");
    let (dump, told) = merged(&[rocm, &other]);
    assert_eq!(
        told.iter().filter(|told| told.contains("UUID")).count(),
        1,
        "{told:?}"
    );
    assert_eq!(
        dump.machine
            .fabric
            .nodes()
            .filter(|(_, node)| node.name.starts_with("GPU0"))
            .count(),
        1
    );
}

#[test]
fn addresses_tie_devices_whatever_the_order_of_dumps() {
    let file = |devices: &str| {
        format!("format = \"mapa-machine\"\nversion = 1\nname = \"x\"\ndevices = [{devices}]\n")
    };
    // One counts as CUDA does, one by PCI address; the third knows which is which.
    let cuda =
        file("{ name = \"GPU0\", pci = \"02:00.0\" }, { name = \"GPU1\", pci = \"01:00.0\" }");
    let list = "GPU 0: V100 (UUID: GPU-0a)\nGPU 1: V100 (UUID: GPU-0b)\n";
    let both = file(
        "{ name = \"GPU0\", pci = \"01:00.0\", uuid = \"GPU-0a\" }, { name = \"GPU1\", pci = \"02:00.0\", uuid = \"GPU-0b\" }",
    );
    for texts in [
        [&cuda, list, &both],
        [&both, list, &cuda],
        [list, &cuda, &both],
    ] {
        let (dump, _) = merged(&texts);
        let graph = dump.machine.graph().unwrap();
        assert_eq!(graph.len(), 2);
        assert_eq!(
            graph.find("GPU-0a").unwrap(),
            graph.find("01:00.0").unwrap(),
            "{texts:?}"
        );
        assert_eq!(
            graph.find("GPU-0b").unwrap(),
            graph.find("02:00.0").unwrap(),
            "{texts:?}"
        );
    }
}

#[test]
fn devices_that_the_host_s_dump_does_not_know_are_joined_by_an_assumed_path() {
    let (dump, told) = merged(&[&topo(2, "NV1"), "GPU 2: V100 (UUID: GPU-0c)\n"]);
    assert_eq!(
        told,
        ["devices there are: b says GPU2 too, a says 2 in all; b is followed"]
    );
    let machine = dump.into_machine().unwrap();
    assert!(
        machine.notes.iter().any(|note| note.contains("assumed")),
        "{:?}",
        machine.notes
    );
    let graph = machine.graph().unwrap();
    assert!(
        (0..2u32).all(|a| graph.pair(a.into(), 2.into()).host.class == mapa_core::LinkClass::Sys)
    );
}

#[test]
fn speeds_and_counts_of_links_are_compared() {
    assert_eq!(
        merged(&[&status(2, 4, "25"), &status(2, 4, "25.781")]).1,
        [] as [&str; 0],
        "with or without overhead"
    );
    let slower = merged(&[&status(1, 4, "50"), &status(1, 4, "20")]).1;
    assert_eq!(
        slower,
        [
            "GPU0, direct links: a says 4 links up of 50 GB/s, b says 4 links up of 20 GB/s; a is followed"
        ]
    );
    let fewer = merged(&[&status(1, 4, "25"), &status(1, 3, "25")]).1;
    assert_eq!(
        fewer,
        [
            "GPU0, direct links: a says 4 links up of 25 GB/s, b says 3 links up of 25 GB/s; a is followed"
        ]
    );
    let chain = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tSYS\nGPU1\tNV12\tX\tNV12\nGPU2\tSYS\tNV12\tX\n";
    let claimed = merged(&[&status(3, 12, "25"), chain]).1;
    assert_eq!(
        claimed,
        ["GPU1, direct links: b says 24 in all, a says 12 are up; b is followed"]
    );
    let (dump, told) = merged(&[&topo(4, "NV6"), &status(4, 6, "25")]);
    assert_eq!(
        told,
        [] as [&str; 0],
        "18 links each would be possible, 6 that are up are not: a switch"
    );
    assert!(
        dump.machine
            .graph()
            .unwrap()
            .devices()
            .iter()
            .all(|device| device.switch_port.is_some())
    );
    let file = |gbps: f64| {
        let text = named("dgx-1v").unwrap();
        let mut fabric = text.fabric.clone();
        fabric.set_direct_gbps(gbps).unwrap();
        Dump::from(Machine { fabric, ..text })
    };
    let told = merge(vec![file(25.0), file(50.0)]).unwrap().contradictions;
    assert_eq!(told.len(), 2, "NV1 and NV2: {told:?}");
    assert_eq!(told[0].kept.what, "25 GB/s");
}

#[test]
fn a_product_tells_its_generation_of_links() {
    let list = "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-0a)\nGPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-0b)\n";
    let (dump, _) = merged(&[&topo(2, "NV4"), list]);
    assert_eq!(
        dump.machine.graph().unwrap().link(0.into(), 1.into()).gbps,
        56.25
    );
}

#[test]
fn denied_access_over_direct_links_is_told_in_either_direction_and_behind_switches() {
    let denied = |gpus: usize, from: usize, to: usize| {
        let header: String = (0..gpus).map(|i| format!("\tGPU{i}")).collect();
        let cell = |a, b| {
            if a == b {
                "X"
            } else if (a, b) == (from, to) {
                "CNS"
            } else {
                "OK"
            }
        };
        let row = |a| {
            format!(
                "GPU{a}{}\n",
                (0..gpus)
                    .map(|b| format!("\t{}", cell(a, b)))
                    .collect::<String>()
            )
        };
        format!("{header}\n{}", (0..gpus).map(row).collect::<String>())
    };
    for (gpus, links) in [(2, "NV12"), (8, "NV18")] {
        for (from, to) in [(0, 1), (1, 0)] {
            let told = merged(&[&topo(gpus, links), &denied(gpus, from, to)]).1;
            let pair = format!(
                "GPU{from} - GPU{to}, peer access: a says {links}, b says CNS; a is followed"
            );
            assert_eq!(told, [pair]);
        }
    }
    // Of PCIe alone it may well be denied.
    let asked = format!("$ nvidia-smi topo -p2p p\n{}", denied(2, 0, 1));
    assert_eq!(merged(&[&topo(2, "NV12"), &asked]).1, [] as [&str; 0]);
}

#[test]
fn instances_listed_by_uuid_and_by_place_are_one() {
    let lgi = "| GPU instances: |\n| GPU Name Profile Instance Placement |\n|         ID       ID       Start:Size |\n|=====|\n\
               |   0  MIG 3g.20gb          9        2          4:4     |\n+---+\n|   0  MIG 1g.5gb          19        9          2:1     |\n+---+\n";
    let list = "GPU 0: A100 (UUID: GPU-0a)\n  MIG 3g.20gb     Device  0: (UUID: MIG-01)\n  MIG 1g.5gb      Device  1: (UUID: MIG-02)\n";
    let file = "format = \"mapa-machine\"\nversion = 1\nname = \"x\"\ndevices = [{ name = \"GPU0\", mig = \"a100-40gb\" }]\n";
    for texts in [
        &[file, lgi, list][..],
        &[list, lgi, file],
        &[file, lgi, lgi, list, list],
    ] {
        let (dump, _) = merged(texts);
        let uuids: Vec<_> = dump
            .mig_instances
            .iter()
            .map(|one| (one.profile.as_str(), one.uuid.as_deref()))
            .collect();
        assert_eq!(
            uuids,
            [("3g.20gb", Some("MIG-01")), ("1g.5gb", Some("MIG-02"))],
            "{texts:?}"
        );
        let layouts = dump.layouts().unwrap();
        assert_eq!(layouts.len(), 1);
        assert_eq!(layouts[0].1.instances().len(), 2);
    }
}

proptest! {
    #[test]
    fn any_machine_comes_together_from_its_parts(whole in testing::machines(1..=8), turn in any::<bool>(), host_first in any::<bool>()) {
        let machine = Machine { fabric: whole.fabric().clone(), ..named("complete:2").unwrap() };
        let n = machine.fabric.device_count();
        let mut order: Vec<usize> = (0..n).collect();
        let straight = order.clone();
        if turn {
            order.reverse();
        }
        let merged = merge(vec![part(&machine, "a", &straight, host_first), part(&machine, "b", &order, !host_first)]).unwrap();
        prop_assert_eq!(&merged.contradictions, &[]);
        let graph = merged.dump.machine.graph_with_host().unwrap();
        prop_assert_eq!(facts(&graph), facts(&machine.graph_with_host().unwrap()));
    }
}

#[test]
fn the_sets_that_one_dump_offers_hold_for_the_merged_machine() {
    let mut machine = named("dgx-a100").unwrap();
    let set = |ids: [u32; 2]| ids.into_iter().map(mapa_core::DeviceId).collect();
    machine
        .fabric
        .set_offered(Some(vec![set([0, 1]), set([2, 3])]))
        .unwrap();
    let bare = named("dgx-a100").unwrap();
    for dumps in [
        vec![dump(&machine), dump(&bare)],
        vec![dump(&bare), dump(&machine)],
    ] {
        let merged = merge(dumps).unwrap().dump.into_machine().unwrap();
        assert_eq!(merged.fabric.offered(), machine.fabric.offered());
    }
}
