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
fn speeds_of_links_are_compared() {
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
fn nothing_gives_an_error_and_one_dump_gives_itself() {
    assert_eq!(merge(Vec::new()).unwrap_err().kind(), ErrorKind::Malformed);
    let one = read(crate::corpus::text("nvidia_smi_topo/plain.txt").as_bytes()).unwrap();
    assert_eq!(merge(vec![one.clone()]).unwrap().dump, one);
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
