//! MAPA's own machine file: what is refused, and that nothing is lost.

use std::sync::Arc;

use mapa_core::mig::{Model, Profile, Size};
use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeKind};
use mapa_topologies::mig::{self, Offer};
use mapa_topologies::{Labels, Machine, catalogue, named, read};
use proptest::prelude::*;

const SMALL: &str = r#"format = "mapa-machine"
version = 1
name = "small"
nodes = [
    { name = "cpu0", kind = "numa", number = 0 },
]
devices = [
    { name = "GPU0", up = "cpu0" },
    { name = "GPU1", up = "cpu0", gbps = 16.0, uuid = "GPU-1", index = 7 },
]
links = [
    { ends = ["GPU0", "GPU1"], class = "NV2" },
]
"#;

fn refused(from: &str, to: &str, message: &str) {
    assert!(SMALL.contains(from), "{from}");
    let error = Machine::from_toml(&SMALL.replacen(from, to, 1)).expect_err(to);
    assert_eq!(error.to_string(), message);
}

#[test]
fn defaults_are_those_documented() {
    let graph = read(SMALL.as_bytes()).unwrap().machine.graph().unwrap();
    let pair = graph.pair(0.into(), 1.into());
    assert_eq!(
        (pair.direct.gbps, pair.host.gbps, pair.host.class),
        (50.0, 12.0, LinkClass::Node)
    );
    assert_eq!(graph.find("gpu-1").unwrap(), 1.into());
    let faster = SMALL.to_owned() + "[gbps]\ndirect = 50\nhost = 63.0\n";
    let pair = Machine::from_toml(&faster)
        .unwrap()
        .graph()
        .unwrap()
        .pair(0.into(), 1.into());
    assert_eq!((pair.direct.gbps, pair.host.gbps), (100.0, 16.0));
}

#[test]
fn malformed_files_are_refused_by_line() {
    refused(
        "mapa-machine",
        "mapa-monster",
        "line 1: format `mapa-monster`: expected `mapa-machine`",
    );
    refused(
        "version = 1",
        "version = 2",
        "line 2: version 2: expected 1",
    );
    refused("version = 1\n", "", "line 1: missing field `version`");
    refused(
        r#"kind = "numa""#,
        r#"kind = "socket""#,
        "line 5: unknown variant `socket`, expected one of `machine`, `numa`, `host-bridge`, `pcie-switch`, `link-switch`, `nic`",
    );
    refused(
        ", number = 0",
        "",
        "line 5: a NUMA node without a number: expected `number = 0`",
    );
    refused(
        r#"kind = "numa""#,
        r#"kind = "machine""#,
        "line 5: only NUMA nodes have a number: expected `kind = \"numa\"`, or no `number`",
    );
    refused(
        r#"up = "cpu0" },"#,
        r#"up = "cpu9" },"#,
        "line 8: nothing is called `cpu9`: expected a node or device",
    );
    refused(
        r#"up = "cpu0" },"#,
        r#"gbps = 3 },"#,
        "line 8: gbps without `up`: expected the name of its parent",
    );
    refused(
        r#"name = "GPU1""#,
        r#"name = "GPU0""#,
        "line 9: two components are named `GPU0`: expected a name of its own for each",
    );
    refused(
        "gbps = 16.0",
        "gbps = -1",
        "line 9: GPU1: bandwidth -1 GB/s: expected a positive number, at most 1e9",
    );
    refused(
        "gbps = 16.0",
        "speed = 16.0",
        "line 9: unknown field `speed`, expected one of `name`, `index`, `product`, `uuid`, `pci`, `numa`, `cores`, `memory_bytes`, `mig`, `up`, `gbps`, `slot_gbps`",
    );
    refused(
        "NV2",
        "NV0",
        "line 12: unknown link `NV0`: expected NV#, PIX, PXB, PHB, NODE or SYS",
    );
    refused(
        r#""GPU1"]"#,
        r#""GPU3"]"#,
        "line 12: nothing is called `GPU3`: expected a node or device",
    );
    refused(
        r#""GPU1"]"#,
        r#""GPU0"]"#,
        "line 12: `GPU0` is linked to itself: expected two components",
    );
    refused(
        r#""GPU1"], class = "NV2""#,
        r#""cpu0"], class = "NV2""#,
        "line 12: `GPU0` and `cpu0` cannot be joined by a link of class direct-2: expected a host path between devices or cards, or direct links between devices or a device and a link switch",
    );
    refused(
        r#""GPU1"]"#,
        r#""GPU1", "GPU0"]"#,
        "line 12: 3 ends: expected two names",
    );
    refused(
        "index = 7",
        "index = 0",
        "line 9: `GPU1` has number 0, as another component has: expected one of its own",
    );
    refused(
        r#""GPU1", up"#,
        r#""", up"#,
        "line 9: `` cannot be a name: expected some text and, for a device, more than a number",
    );
    assert!(
        Machine::from_toml("format = ")
            .unwrap_err()
            .line()
            .is_some()
    );
    let none = "format = \"mapa-machine\"\nversion = 1\nname = \"none\"\n";
    assert_eq!(
        Machine::from_toml(none).unwrap_err().to_string(),
        "the machine has no devices: expected `devices = [{ name = \"GPU0\" }, ...]`"
    );
    let labels = SMALL.to_owned() + "[labels]\ndirect = \"N1\"\n";
    assert_eq!(
        Machine::from_toml(&labels).unwrap_err().to_string(),
        "line 15: label `N1`: expected letters"
    );
    let labels = SMALL.to_owned() + "[labels]\nsys = \"FAR\"\n";
    assert_eq!(
        Machine::from_toml(&labels).unwrap_err().to_string(),
        "line 15: label `FAR`: expected SYS or SOC"
    );
}

/// The models of the devices of `SMALL`, with this setting on the first.
fn models(setting: &str) -> [Option<Arc<Model>>; 2] {
    let text = SMALL.replacen(
        r#"up = "cpu0" },"#,
        &format!(r#"up = "cpu0", {setting} }},"#),
        1,
    );
    let graph = Machine::from_toml(&text).unwrap().graph().unwrap();
    [0, 1].map(|id| graph.model(id.into()).cloned())
}

#[test]
fn devices_can_say_how_they_can_be_cut_up() {
    let a100 = |offer| mig::named("a100-40gb").unwrap().model(offer).unwrap();
    let double_memory = Offer {
        double_memory: true,
        ..Offer::PLAIN
    };
    for (setting, offer) in [
        (r#"mig = "a100-40gb""#, Offer::PLAIN),
        (r#"mig = { gpu = "A100-40GB" }"#, Offer::PLAIN),
        (
            r#"mig = { gpu = "a100-40gb", media = false, double_memory = true }"#,
            double_memory,
        ),
        (
            r#"mig = { gpu = "a100-40gb", media = true, double_memory = true }"#,
            Offer::ALL,
        ),
    ] {
        assert_eq!(models(setting), [Some(a100(offer)), None], "{setting}");
    }
    let both = SMALL.replace(r#"up = "cpu0""#, r#"mig = "a30-24gb", up = "cpu0""#);
    let machine = Machine::from_toml(&both).unwrap();
    let graph = machine.graph().unwrap();
    let [a, b] = [0, 1].map(|id| graph.model(id.into()).unwrap());
    assert!(
        Arc::ptr_eq(a, b),
        "one model for all devices of one setting"
    );
    assert!(machine.to_toml().unwrap().contains(r#"mig = "a30""#));
}

#[test]
fn malformed_ways_to_be_cut_up_are_refused_by_line() {
    let gpu1 = |mig: &str, message: &str| {
        refused("gbps = 16.0", &format!("gbps = 16.0, mig = {mig}"), message)
    };
    let names = "a30, a100-40gb, a100-80gb, h100-80gb, h100-94gb, h100-96gb, h200, gh200, b200, gb200, rtx-pro-6000";
    let unknown = format!("line 9: no GPU with MIG is called `v100`: expected {names}");
    gpu1(r#""v100""#, &unknown);
    gpu1(r#"{ gpu = "v100", media = true }"#, &unknown);
    let form = r#"expected `mig = "a100-40gb"` or `mig = { gpu = "a100-40gb", media = true, double_memory = true }`"#;
    gpu1(
        "true",
        &format!("line 9: invalid type: boolean `true`, {form}"),
    );
    gpu1(
        r#"["a30"]"#,
        &format!("line 9: invalid type: sequence, {form}"),
    );
    gpu1("{ media = true }", "line 9: missing field `gpu`");
    gpu1(
        r#"{ gpu = "a30", medai = true }"#,
        "line 9: unknown field `medai`, expected one of `gpu`, `media`, `double_memory`",
    );
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
        let mut machine = Machine::from_toml(SMALL).unwrap();
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
    assert!(
        error.starts_with(
            "no machine is called `dgx-9` (did you mean dgx-2?): expected dgx-1p, dgx-1v,"
        ),
        "{error}"
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
            let labels = Labels { direct, sys };
            Machine {
                name: text.clone(),
                title: text.clone(),
                source: text.clone(),
                notes: vec![text],
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

    #[test]
    fn any_edit_is_read_or_refused(at in 0..SMALL.len(), with in "\\PC{0,4}", cut in 0usize..8) {
        let mut text = SMALL.as_bytes().to_vec();
        text.splice(at..(at + cut).min(SMALL.len()), with.bytes());
        if let Ok(text) = std::str::from_utf8(&text) {
            let _ = Machine::from_toml(text);
        }
    }
}

#[test]
fn partitions_are_sets_of_named_devices_and_round_trip() {
    let text = |partitions: &str| {
        format!(
            r#"
format = "mapa-machine"
version = 1
name = "four"
partitions = {partitions}
devices = [{{ name = "GPU0" }}, {{ name = "GPU1" }}, {{ name = "GPU2" }}, {{ name = "GPU3" }}]
"#
        )
    };
    let machine =
        Machine::from_toml(&text(r#"[["GPU2", "GPU3"], ["GPU1"], ["GPU1", "GPU0"]]"#)).unwrap();
    let graph = machine.graph().unwrap();
    let sets = [vec![1], vec![0, 1], vec![2, 3]];
    let found: Vec<Vec<u32>> = graph
        .offered()
        .unwrap()
        .iter()
        .map(|own| own.iter().map(|id| id.0).collect())
        .collect();
    assert_eq!(found, sets);
    assert_eq!(
        Machine::from_toml(&machine.to_toml().unwrap()).unwrap(),
        machine
    );
    for (bad, expected) in [
        (
            r#"[["GPU0", "GPU9"]]"#,
            "`GPU9`: expected the name of a device",
        ),
        ("[[]]", "a set without devices"),
        ("[]", "no set of devices at all"),
    ] {
        let error = Machine::from_toml(&text(bad)).unwrap_err().to_string();
        assert!(error.contains(expected), "{bad}: {error}");
    }
}
