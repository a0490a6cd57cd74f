//! NCCL's and RCCL's topology files: every real one reads to what its manifest and its own lines
//! say, and what is odd is read or refused as the reader promises.

use crate::common;
use crate::common::real_data;

use std::collections::BTreeMap;
use std::fs;

use crate::common::dumps::{cards, classes, count, ids, pairs};
use mapa_core::testing::scaled;
use mapa_core::{
    DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LinkClass, NodeId, NodeKind,
};
use mapa_topologies::{Dump, ErrorKind, Kind, Machine, read};
use proptest::prelude::*;

/// What real files have.
const SAMPLES: &str = include_str!("facts/nccl-samples.csv");

/// Read with a warning.
const ODD: [&str; 2] = ["azure_ncv4-topo.xml", "sugarlxn_nccl_test_nccl_topo.xml"];

/// The links of each device to other devices or switches, by its PCI address: from nothing but the
/// lines of the text.
fn links_by_line(text: &str) -> BTreeMap<String, u32> {
    let attribute = |line: &str, name: &str| {
        let rest = line.split(&format!(" {name}=\"")).nth(1)?;
        Some(rest.split('"').next().unwrap_or_default().to_owned())
    };
    let (mut place, mut sums) = (String::new(), BTreeMap::new());
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("<pci ") {
            place = attribute(line, "busid").unwrap();
        } else if line.starts_with("<gpu ") {
            sums.insert(place.clone(), 0);
        } else if (line.starts_with("<nvlink ") || line.starts_with("<xgmi "))
            && attribute(line, "target").unwrap() != place
        {
            *sums.get_mut(&place).unwrap() +=
                attribute(line, "count").unwrap().parse::<u32>().unwrap();
        }
    }
    sums
}

fn check_sample(name: &str, text: &str, dump: &Dump) {
    let row = common::rows(SAMPLES).find(|row| row[0] == name);
    let row = row.unwrap_or_else(|| panic!("{name}: no expectation"));
    let counts: Vec<usize> = row[1..].iter().map(|cell| cell.parse().unwrap()).collect();
    let [devices, links, port, nics, ref host @ ..] = counts[..] else {
        panic!("{row:?}")
    };
    let (links, port) = (links as u32, port as u32);
    let machine = &dump.machine;
    assert_eq!(
        (machine.fabric.device_count(), cards(machine)),
        (devices, nics),
        "{name}"
    );
    assert_eq!(
        !machine.warnings.is_empty(),
        ODD.contains(&name),
        "{name}: {:?}",
        machine.warnings
    );
    if devices == 0 {
        return;
    }
    let graph = machine.graph().unwrap();
    let class = |(a, b): &(DeviceId, DeviceId)| graph.pair(*a, *b).host.class;
    let joined = |wanted: LinkClass| {
        pairs(&graph)
            .iter()
            .filter(|pair| class(pair) == wanted)
            .count()
    };
    let classes = [
        LinkClass::Pix,
        LinkClass::Pxb,
        LinkClass::Phb,
        LinkClass::Sys,
    ]
    .map(joined);
    assert_eq!(classes[..], *host, "{name}");
    let direct = |a: DeviceId, b: DeviceId| count(graph.pair(a, b).direct.class);
    let ports: Vec<u32> = ids(&graph)
        .map(|a| {
            graph
                .device(a)
                .switch_port
                .map_or(0, |port| count(port.class))
        })
        .collect();
    assert!(ports.iter().all(|&each| each == port), "{name}: {ports:?}");
    if port == 0 {
        assert_eq!(
            pairs(&graph)
                .iter()
                .map(|&(a, b)| direct(a, b))
                .sum::<u32>(),
            links,
            "{name}"
        );
    } else {
        assert!(
            pairs(&graph).iter().all(|&(a, b)| direct(a, b) == port),
            "{name}"
        );
    }
    for (place, sum) in links_by_line(text) {
        let device = graph.find(&place).unwrap();
        let port = ports[device.index()];
        let ours = if port > 0 {
            port
        } else {
            ids(&graph)
                .filter(|&b| b != device)
                .map(|b| direct(device, b))
                .sum()
        };
        assert_eq!(ours, sum, "{name}: {place}");
    }
    assert!(
        pairs(&graph)
            .iter()
            .all(|&(a, b)| graph.pair(a, b) == graph.pair(b, a)),
        "{name}"
    );
}

#[test]
fn samples_read_to_their_manifest() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for row in manifest.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (path, kind, devices) = (columns[0], columns[1], columns[3]);
        if kind != "nccl_xml" {
            continue;
        }
        seen += 1;
        let name = path.rsplit('/').next().unwrap();
        let text = fs::read_to_string(data.join("samples").join(path)).unwrap();
        let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(dump.kind, Kind::NcclTopology);
        assert_eq!(
            dump.machine.fabric.device_count(),
            devices.parse::<usize>().unwrap(),
            "{name}"
        );
        check_sample(name, &text, &dump);
        let again = Machine::from_toml(&dump.machine.to_toml().unwrap());
        if devices == "0" {
            assert_eq!(
                dump.into_machine().unwrap_err().kind(),
                ErrorKind::Incomplete,
                "{name}"
            );
        } else {
            assert_eq!(
                again.unwrap(),
                Machine {
                    warnings: Vec::new(),
                    ..dump.machine.clone()
                },
                "{name}"
            );
        }
    }
    assert_eq!(
        seen,
        common::rows(SAMPLES).count(),
        "as many as the manifest had when this was written"
    );
}

#[test]
fn excerpts_that_are_cut_are_refused_where_they_end() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for row in manifest
        .lines()
        .filter(|row| row.starts_with("nccl_xml_excerpt/"))
    {
        seen += 1;
        let path = row.split('\t').next().unwrap();
        let bytes = fs::read(data.join("samples").join(path)).unwrap();
        let read = read(&bytes);
        match path.rsplit('/').next().unwrap() {
            "dgx1v_v100_nccl_topo_head.txt" => assert_eq!(read.unwrap_err().line(), Some(15)),
            "h200_vm_nccl_topo_head.txt" => assert_eq!(read.unwrap_err().line(), Some(17)),
            // Four PCI addresses of which the text does not say what they are.
            "g5_12xlarge_minimal.txt" => assert_eq!(read.unwrap().machine.fabric.device_count(), 0),
            other => panic!("{other}: no expectation"),
        }
    }
    assert_eq!(seen, 3);
}

#[test]
fn rates_are_those_of_the_generation() {
    let Some(data) = real_data() else {
        return;
    };
    for (name, a, b, gbps) in [
        ("zy-uestc_yccl_topo_h800.xml", 0, 7, 200.0),
        ("oracle-quickstart_oci-hpc_H100-topology.xml", 0, 7, 450.0),
        ("azurehpc_run_nccl_tests_ncv4_nc48v4-topo.xml", 0, 1, 300.0),
        ("rocm_topo_4p1h.xml", 0, 1, 46.0),
        ("rocm_topo_16p1h_vm.xml", 0, 3, 200.0),
        ("rocm_topo_8p_940vm.xml", 0, 7, 64.0),
    ] {
        let dump = read(&fs::read(data.join("samples/nccl_xml").join(name)).unwrap()).unwrap();
        assert!(dump.says.direct && dump.says.direct_gbps, "{name}");
        let graph = dump.machine.graph().unwrap();
        assert_eq!(
            graph.pair(DeviceId(a), DeviceId(b)).direct.gbps,
            gbps,
            "{name}"
        );
    }
}

/// A file around these CPUs.
fn system(cpus: &str) -> String {
    format!("<system version=\"1\">\n{cpus}\n</system>")
}

/// A CPU around these parts.
fn cpu(numa: i32, parts: &str) -> String {
    format!("<cpu numaid=\"{numa}\">{parts}</cpu>")
}

/// A GPU at `0000:PLACE:00.0` with these links.
fn gpu(place: &str, dev: u32, links: &str) -> String {
    format!(
        "<pci busid=\"0000:{place}:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\">\
         <gpu dev=\"{dev}\" sm=\"70\" rank=\"{dev}\" gdr=\"1\">{links}</gpu></pci>"
    )
}

fn link(place: &str, count: u32) -> String {
    format!("<nvlink target=\"0000:{place}:00.0\" count=\"{count}\" tclass=\"0x030200\"/>")
}

fn machine(text: &str) -> Machine {
    Kind::NcclTopology
        .read(text)
        .and_then(Dump::into_machine)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn more_devices_than_any_machine_has_are_refused() {
    let many: String = (0..1025).map(|i| format!("<gpu dev=\"{i}\"/>")).collect();
    let text = system(&cpu(0, &format!("<pci busid=\"0:0.0\">{many}</pci>")));
    assert_eq!(
        Kind::NcclTopology.read(&text).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
}

#[test]
fn the_largest_files_are_read_or_refused_in_time() {
    let filled = |part: &str| part.repeat(((scaled(15) as usize) << 20) / part.len());
    let numbered =
        |each: fn(usize) -> String| (0..scaled(300_000) as usize).map(each).collect::<String>();
    let gpus: String = (0..1000)
        .map(|id| {
            gpu(
                "0b",
                id,
                &format!("<nvlink target=\"{id:x}:0.0\" count=\"1\"/>")
                    .repeat(scaled(200) as usize),
            )
        })
        .collect();
    let start = std::time::Instant::now();
    for text in [
        system(&filled("<cpu numaid=\"0\"/>")),
        system(&filled("<cpu/>")),
        system(&cpu(
            0,
            &filled(
                "<pci busid=\"a\" class=\"0x060400\"><pci busid=\"b\" class=\"0x020000\"/></pci>",
            ),
        )),
        system(&cpu(
            0,
            &format!("<nic>{}</nic>", filled("<net name=\"a\"/>")),
        )),
        system(&cpu(
            0,
            &format!(
                "<nic>{}</nic>",
                numbered(|i| format!("<net name=\"a{i}\"/>"))
            ),
        )),
        system(&numbered(|i| format!("<cpu host_hash=\"{i}\"/>"))),
        system(&numbered(|i| format!("<odd{i}/>"))),
        system(&cpu(0, &gpu("0b", 0, &filled(&link("0c", 1))))),
        system(&cpu(
            0,
            &gpu("0b", 0, &filled("<nvlink target=\"a\" count=\"0\"/>")),
        )),
        system(&cpu(0, &gpus.replace("0000:0b", "0000:0c"))),
    ] {
        let _ = Kind::NcclTopology.read(&text);
    }
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// What NCCL makes of a path through the host.
fn in_words_of_nccl(class: LinkClass) -> LinkClass {
    match class {
        LinkClass::Node => LinkClass::Phb,
        LinkClass::None => LinkClass::Sys,
        class => class,
    }
}

/// Writes a machine, and holds what is read back against it.
fn check_written(machine: &Machine) -> HardwareGraph {
    let text = machine
        .to_nccl_xml()
        .unwrap_or_else(|error| panic!("{}: {error}", machine.name));
    let again = read(text.as_bytes()).unwrap();
    assert_eq!(again.machine.warnings, [], "{text}");
    let (graph, read) = (machine.graph().unwrap(), again.machine.graph().unwrap());
    assert_eq!(read.len(), machine.fabric.device_count(), "{text}");
    for (a, b) in pairs(&read) {
        let (was, is) = (graph.pair(a, b), read.pair(a, b));
        assert_eq!(
            (is.direct.class, is.host.class),
            (was.direct.class, in_words_of_nccl(was.host.class)),
            "{a}-{b}\n{text}"
        );
        if !text.contains("no known generation") {
            assert!(
                (is.direct.gbps - was.direct.gbps).abs() < 0.01,
                "{a}-{b}\n{text}"
            );
        }
    }
    read
}

#[test]
fn machines_of_the_catalogue_read_back_as_they_were_written() {
    for entry in mapa_topologies::catalogue() {
        let machine = entry.machine().unwrap();
        let read = check_written(&machine);
        let ports = |graph: &HardwareGraph| {
            graph
                .devices()
                .iter()
                .map(|device| device.switch_port)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ports(&read),
            ports(&machine.graph().unwrap()),
            "{}",
            entry.name
        );
    }
}

#[test]
fn samples_read_back_as_they_were_written() {
    let Some(data) = real_data() else {
        return;
    };
    let (mut written, mut no_tree) = (0, Vec::new());
    for kind in ["nccl_xml", "hwloc_xml", "nvidia_smi_topo"] {
        for file in fs::read_dir(data.join("samples").join(kind)).unwrap() {
            let path = file.unwrap().path();
            let Ok(machine) = read(&fs::read(&path).unwrap()).and_then(Dump::into_machine) else {
                continue;
            };
            if machine.to_nccl_xml().is_err() {
                no_tree.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                continue;
            }
            let again = check_written(&machine);
            written += 1;
            if kind == "nccl_xml" {
                let numa = |graph: &HardwareGraph| {
                    graph
                        .devices()
                        .iter()
                        .map(|device| device.numa)
                        .collect::<Vec<_>>()
                };
                assert_eq!(numa(&again), numa(&machine.graph().unwrap()), "{path:?}");
            }
        }
    }
    no_tree.sort();
    assert_eq!(
        (written, no_tree),
        (53 + 17 + 43, vec![]),
        "as many as there were when this was written, all trees"
    );
}

#[test]
fn what_is_lost_is_said_in_front() {
    let text = mapa_topologies::named("dgx-1v")
        .unwrap()
        .to_nccl_xml()
        .unwrap();
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert!(
        lines[0].starts_with("<!-- Some devices have no PCI address"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("<!-- Some hops fit no PCIe link"),
        "{text}"
    );
    assert_eq!(lines[2], "<system version=\"1\">");
    assert!(text.contains("<gpu dev=\"0\" sm=\"70\" rank=\"0\" gdr=\"1\">"));
    // Nothing is lost of a file that NCCL wrote itself, but what is not read.
    let whole = gpu("0b", 0, &link("0c", 2)) + &gpu("0c", 1, &link("0b", 2));
    let text = machine(&system(&cpu(3, &whole))).to_nccl_xml().unwrap();
    assert!(
        text.starts_with(
            "<system version=\"1\">\n  <cpu numaid=\"3\">\n    <pci busid=\"0000:0b:00.0\""
        ),
        "{text}"
    );
    let odd = text.replace("sm=\"70\"", "");
    assert!(!odd.contains("no known generation"));
    let mut machine = machine(&odd);
    machine.fabric.set_direct_gbps(23.0).unwrap();
    assert!(
        machine
            .to_nccl_xml()
            .unwrap()
            .contains("Some direct links fit no known generation")
    );
}

#[test]
fn amds_links_are_written_as_rccl_reads_them() {
    let xgmi = |place: &str| link(place, 1).replace("nvlink", "xgmi");
    let text = system(&cpu(
        0,
        &(gpu("0b", 0, &xgmi("0c")) + &gpu("0c", 1, &xgmi("0b"))),
    ))
    .replace("sm=\"70\"", "gcn=\"908\"");
    let written = machine(&text).to_nccl_xml().unwrap();
    assert!(
        written.contains("<system version=\"2\">") && written.contains("gcn=\"gfx90a\""),
        "{written}"
    );
    assert!(
        written.contains("<xgmi target=\"0000:0c:00.0\" count=\"1\" tclass=\"0x038000\"/>"),
        "{written}"
    );
    check_written(&machine(&text));
}

#[test]
fn switches_that_are_not_one_are_written_as_links() {
    let mut fabric = Fabric::new();
    let devices = [0, 1, 2, 3].map(|id| fabric.add_device(format!("GPU{id}")).unwrap());
    for half in [0, 2] {
        let switch = fabric
            .add(FabricNode {
                name: format!("switch{half}"),
                kind: NodeKind::LinkSwitch,
            })
            .unwrap();
        for device in &devices[half..half + 2] {
            fabric
                .link(*device, switch, LinkClass::Direct(4), 100.0)
                .unwrap();
        }
    }
    let machine = Machine {
        fabric,
        ..mapa_topologies::named("dgx-1v").unwrap()
    };
    let read = check_written(&machine);
    assert_eq!(classes(&read, 0, 1).0, LinkClass::Direct(4));
    assert!(
        machine
            .to_nccl_xml()
            .unwrap()
            .contains("The link switches do not act as one switch")
    );
}

#[test]
fn paths_of_no_tree_and_of_several_servers_are_refused() {
    let three = |classes: [LinkClass; 3]| {
        let mut fabric = Fabric::new();
        let ids = [0, 1, 2].map(|id| fabric.add_device(format!("GPU{id}")).unwrap());
        for ((a, b), class) in [(0, 1), (1, 2), (0, 2)].into_iter().zip(classes) {
            fabric.link(ids[a], ids[b], class, 12.0).unwrap();
        }
        Machine {
            fabric,
            ..mapa_topologies::named("dgx-1v").unwrap()
        }
    };
    check_written(&three([LinkClass::Pix, LinkClass::Sys, LinkClass::Sys]));
    check_written(&three([LinkClass::Pxb, LinkClass::Phb, LinkClass::Node]));
    let message = |classes| three(classes).to_nccl_xml().unwrap_err().to_string();
    insta::assert_snapshot!(
        message([LinkClass::Pix, LinkClass::Pix, LinkClass::Sys]),
        @"GPU0 and GPU2 have a host path of class Sys, but the tree that fits their other paths gives Pix: expected host paths that form a tree, as NCCL's topology is a tree"
    );
    insta::assert_snapshot!(
        message([LinkClass::Pix, LinkClass::Network, LinkClass::Network]),
        @"GPU0 and GPU2 are in different servers: expected one server, as NCCL's topology describes one"
    );
    let none = Machine {
        fabric: Fabric::new(),
        ..mapa_topologies::named("dgx-1v").unwrap()
    };
    assert!(none.to_nccl_xml().is_err());
}

#[test]
fn cards_are_written_where_they_are_nearest() {
    let machine = mapa_topologies::named("dgx-1v").unwrap();
    let mut fabric = Fabric::new();
    let numa = [0, 1].map(|number| fabric.add_numa(format!("numa{number}"), number).unwrap());
    let bridge = fabric
        .add(FabricNode {
            name: "bridge".to_owned(),
            kind: NodeKind::HostBridge,
        })
        .unwrap();
    let switch = fabric
        .add(FabricNode {
            name: "switch".to_owned(),
            kind: NodeKind::PcieSwitch,
        })
        .unwrap();
    let below = fabric
        .add(FabricNode {
            name: "below".to_owned(),
            kind: NodeKind::PcieSwitch,
        })
        .unwrap();
    let device = fabric.add_device("GPU0").unwrap();
    let up = [
        (bridge, numa[0]),
        (switch, bridge),
        (below, switch),
        (device, switch),
    ];
    up.into_iter()
        .for_each(|(child, parent)| fabric.attach(child, parent, 15.753_846).unwrap());
    for (name, parent) in [
        ("a&<\">b", switch),
        ("pxb", below),
        ("phb", bridge),
        ("0000:41:00.0", numa[1]),
    ] {
        let card = fabric
            .add(FabricNode {
                name: name.to_owned(),
                kind: NodeKind::Nic,
            })
            .unwrap();
        fabric.attach(card, parent, 15.753_846).unwrap();
    }
    let text = Machine { fabric, ..machine }.to_nccl_xml().unwrap();
    let again = read(text.as_bytes())
        .unwrap()
        .machine
        .graph_with_host()
        .unwrap();
    let class = |name: &str| {
        again
            .pair(DeviceId(0), again.find(name).unwrap())
            .host
            .class
    };
    assert_eq!(
        [class("a&<\">b"), class("pxb"), class("phb")],
        [LinkClass::Pix, LinkClass::Pxb, LinkClass::Phb],
        "{text}"
    );
    assert_eq!(
        again.device(again.find("0000:41:00.0").unwrap()).numa,
        Some(1),
        "{text}"
    );
}

/// Any machine that is a tree, with links and switches of one generation: what joins the devices of
/// each of up to three CPUs, their direct links, and whether they hang from a switch.
fn machines() -> impl Strategy<Value = Machine> {
    let leaf = 1usize..4;
    let top = proptest::collection::vec(leaf, 1..4);
    let cpu = proptest::collection::vec(top, 1..4);
    let links = proptest::collection::vec((0usize..64, 0usize..64, 1u8..20), 0..20);
    let port = proptest::option::of(1u8..19);
    (
        proptest::collection::vec(cpu, 1..4),
        links,
        port,
        any::<bool>(),
    )
        .prop_map(|(cpus, links, port, by_pairs)| {
            let tree = tree(&cpus);
            let mut fabric = if by_pairs { as_pairs(&tree) } else { tree };
            let is_device = |node: &FabricNode| matches!(node.kind, NodeKind::Device(_));
            let devices: Vec<_> = fabric
                .nodes()
                .filter(|(_, node)| is_device(node))
                .map(|(id, _)| id)
                .collect();
            for (a, b, count) in links {
                let (a, b) = (devices[a % devices.len()], devices[b % devices.len()]);
                // A pair that has links keeps them.
                let _ = fabric.link(a, b, LinkClass::Direct(count), f64::from(count) * 25.0);
            }
            if let Some(port) = port {
                let switch = fabric
                    .add(FabricNode {
                        name: "nvswitch".to_owned(),
                        kind: NodeKind::LinkSwitch,
                    })
                    .unwrap();
                for (id, &device) in (0u8..).zip(&devices).filter(|(id, _)| id % 5 < 4) {
                    let links = port + id % 2;
                    fabric
                        .link(
                            device,
                            switch,
                            LinkClass::Direct(links),
                            f64::from(links) * 25.0,
                        )
                        .unwrap();
                }
            }
            Machine {
                fabric,
                ..mapa_topologies::named("dgx-1v").unwrap()
            }
        })
}

fn tree(cpus: &[Vec<Vec<usize>>]) -> Fabric {
    let mut fabric = Fabric::new();
    let mut number = 0..;
    let mut add = |fabric: &mut Fabric, kind: NodeKind, above: Option<NodeId>| {
        let name = format!("part{}", number.next().unwrap());
        let node = fabric.add(FabricNode { name, kind }).unwrap();
        above
            .into_iter()
            .for_each(|above| fabric.attach(node, above, 15.753_846).unwrap());
        node
    };
    let machine = add(&mut fabric, NodeKind::Machine, None);
    for (id, tops) in (0u32..).zip(cpus) {
        let numa = add(&mut fabric, NodeKind::Numa(id), Some(machine));
        let bridge = add(&mut fabric, NodeKind::HostBridge, Some(numa));
        for leaves in tops {
            let top = add(&mut fabric, NodeKind::PcieSwitch, Some(bridge));
            for devices in leaves {
                let leaf = add(&mut fabric, NodeKind::PcieSwitch, Some(top));
                for _ in 0..*devices {
                    add(
                        &mut fabric,
                        NodeKind::Device(DeviceInfo::default()),
                        Some(leaf),
                    );
                }
            }
        }
    }
    fabric
}

/// The same, as a table of pairs tells it.
fn as_pairs(tree: &Fabric) -> Fabric {
    let graph = tree.clone().lower().unwrap();
    let mut fabric = Fabric::new();
    let nodes: Vec<NodeId> = graph
        .devices()
        .iter()
        .map(|device| fabric.add_device(device.name.clone()).unwrap())
        .collect();
    for (a, b) in pairs(&graph) {
        let host = graph.pair(a, b).host;
        fabric
            .link(nodes[a.index()], nodes[b.index()], host.class, host.gbps)
            .unwrap();
    }
    fabric
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(128))]

    #[test]
    fn any_tree_reads_back_as_it_was_written(machine in machines()) {
        check_written(&machine);
    }
}
