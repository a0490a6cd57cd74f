//! MAPA's own machine file: nothing is lost. What is read and refused is in the corpus.

use std::sync::Arc;

use crate::corpus::text;
use mapa_core::mig::{Model, Profile, Size};
use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeKind};
use mapa_topologies::mig::{self, Offer};
use mapa_topologies::{Labels, Machine, catalogue, named, read};
use proptest::prelude::*;

#[test]
fn devices_of_one_setting_share_a_model() {
    let plain = text("machine_file/plain.toml");
    let both = plain.replace(r#"up = "cpu0""#, r#"mig = "a30-24gb", up = "cpu0""#);
    let machine = Machine::from_toml(&both).unwrap();
    let graph = machine.graph().unwrap();
    let [a, b] = [0, 1].map(|id| graph.model(id.into()).unwrap());
    assert!(Arc::ptr_eq(a, b));
    assert!(machine.to_toml().unwrap().contains(r#"mig = "a30""#));
}

#[test]
fn a_model_that_is_in_no_table_cannot_be_written() {
    let profile = Profile {
        name: "1g".into(),
        size: Size::new(1, 1),
        memory_bytes: 1 << 30,
        starts: vec![0, 1],
        max_instances: 2,
    };
    for name in ["mine", "a100-40gb"] {
        let model = Model::new(name, Size::new(2, 2), vec![profile.clone()]).unwrap();
        let mut machine = Machine::from_toml(&text("machine_file/plain.toml")).unwrap();
        machine.fabric.set_mig(Some(&Arc::new(model)));
        let error = machine.to_toml().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "GPU0 has the MIG model `{name}`, which differs from every table:"
            )),
            "{error}"
        );
    }
}

#[test]
fn every_model_of_the_tables_is_recognised_by_its_smallest_offer() {
    for entry in mig::catalogue() {
        let gpu = entry.gpu().unwrap();
        for offer in Offer::EVERY {
            let model = gpu.model(offer).unwrap();
            let (found, smallest) = mig::recognise(&model).unwrap();
            assert_eq!(
                (found.name, gpu.model(smallest).unwrap()),
                (entry.name, model)
            );
            assert!(offer.media || !smallest.media);
            assert!(offer.double_memory || !smallest.double_memory);
        }
    }
}

#[test]
fn every_machine_of_the_catalogue_reads_names_its_source_and_round_trips() {
    for entry in catalogue() {
        let machine = entry
            .machine()
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(machine.name, entry.name);
        assert!(
            !machine.source.is_empty() && !machine.title.is_empty(),
            "{}",
            entry.name
        );
        assert_eq!(named(entry.name).unwrap(), machine);
        assert_eq!(read(entry.toml().as_bytes()).unwrap().machine, machine);
        assert_eq!(
            Machine::from_toml(&machine.to_toml().unwrap()).unwrap(),
            machine
        );
        let graph = machine.graph().unwrap();
        let joined = graph.devices().len() - 1;
        assert!(
            (0..graph.len() as u32).all(|a| graph.neighbours(a.into()).len() == joined),
            "{}",
            entry.name
        );
    }
}

#[test]
fn machines_by_formula_and_names_that_nothing_bears() {
    assert_eq!(named("complete:5").unwrap().graph().unwrap().len(), 5);
    for name in [
        "complete:0",
        "complete:1025",
        "complete:-1",
        "complete:",
        "complete:99999999999999999999",
    ] {
        assert_eq!(
            named(name).unwrap_err().to_string(),
            format!("`{name}`: expected complete:N, N from 1 to 1024")
        );
    }
    let error = named("dgx-9").unwrap_err().to_string();
    insta::assert_snapshot!(
        error.split(", or ").next().unwrap(),
        @"no machine is called `dgx-9` (did you mean dgx-2, dgx-1p or dgx-1v?): expected a name that `mapa-bench machines` lists"
    );
}

#[test]
fn switched_machines_have_ports_not_pairs() {
    for (name, links, gbps) in [
        ("dgx-2", 6, 150.0),
        ("dgx-a100", 12, 300.0),
        ("hgx-h100", 18, 450.0),
    ] {
        let graph = named(name).unwrap().graph().unwrap();
        for (a, device) in (0u32..).zip(graph.devices()) {
            let port = device.switch_port.unwrap();
            assert_eq!(
                (port.class, port.gbps),
                (LinkClass::Direct(links), gbps),
                "{name}"
            );
            assert!((0..a).all(|b| graph.link(a.into(), b.into()) == port));
        }
    }
}

fn info() -> impl Strategy<Value = DeviceInfo> {
    let text = || proptest::option::of("[ -~]{0,8}");
    (
        proptest::option::of(any::<u32>()),
        text(),
        text(),
        proptest::option::of(0u32..9),
        proptest::option::of(0..1u64 << 62),
        proptest::option::of((0..mig::catalogue().len(), 0..Offer::EVERY.len())),
    )
        .prop_map(|(index, uuid, pci, numa, memory_bytes, mig)| DeviceInfo {
            product: uuid.clone(),
            index,
            uuid,
            pci,
            numa,
            memory_bytes,
            mig: mig.map(|(gpu, offer)| {
                mig::catalogue()[gpu]
                    .gpu()
                    .unwrap()
                    .model(Offer::EVERY[offer])
                    .unwrap()
            }),
        })
}

/// Machines with every kind of part, odd names and odd bandwidths.
fn machines() -> impl Strategy<Value = Machine> {
    let kinds = proptest::collection::vec(0usize..6, 0..6);
    let devices = proptest::collection::vec(info(), 1..6);
    let wires = proptest::collection::vec((any::<[u8; 2]>(), 0u8..9, 0.001f64..1e4), 0..20);
    (
        (kinds, devices, wires),
        "[ -~é]{0,12}",
        "NV|XGMI",
        "SYS|SOC",
    )
        .prop_map(|((kinds, devices, wires), text, direct, sys)| {
            let mut fabric = Fabric::new();
            let mut ids = Vec::new();
            for (i, kind) in kinds.into_iter().enumerate() {
                use NodeKind::{HostBridge, LinkSwitch, Machine, Nic, Numa, PcieSwitch};
                let kind = [
                    Machine,
                    Numa(i as u32),
                    HostBridge,
                    PcieSwitch,
                    LinkSwitch,
                    Nic,
                ][kind]
                    .clone();
                ids.push(
                    fabric
                        .add(FabricNode {
                            name: format!("{text}.{i}"),
                            kind,
                        })
                        .unwrap(),
                );
            }
            for (i, mut info) in devices.into_iter().enumerate() {
                info.uuid = info.uuid.map(|uuid| format!("{uuid}{i}"));
                info.pci = info.pci.map(|pci| format!("{pci}{i}"));
                ids.push(
                    fabric
                        .add(FabricNode {
                            name: format!("device {i} {text}"),
                            kind: NodeKind::Device(info),
                        })
                        .unwrap(),
                );
            }
            for ([a, b], class, gbps) in wires {
                let (a, b) = (
                    ids[usize::from(a) % ids.len()],
                    ids[usize::from(b) % ids.len()],
                );
                use LinkClass::{Board, Direct, Network, Node, Phb, Pix, Pxb, Sys};
                // What does not fit is refused, which is as well.
                let _ = match class {
                    8 => fabric.attach(a, b, gbps),
                    i => fabric.link(
                        a,
                        b,
                        [Direct(3), Sys, Node, Phb, Pxb, Pix, Board, Network][i as usize],
                        gbps,
                    ),
                };
            }
            fabric.set_virtual(text.len() % 2 == 1);
            let labels = Labels { direct, sys };
            Machine {
                name: text.clone(),
                title: text.clone(),
                source: text.clone(),
                notes: vec![text],
                vendor: Some(mapa_topologies::Vendor::Amd),
                labels,
                fabric,
                warnings: Vec::new(),
            }
        })
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1000))]

    #[test]
    fn writing_and_reading_gives_the_same_machine(machine in machines()) {
        let text = machine.to_toml().unwrap();
        prop_assert_eq!(Machine::from_toml(&text).unwrap(), machine, "{}", text);
    }
}
