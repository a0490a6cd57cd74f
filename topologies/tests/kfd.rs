//! KFD's tree, file by file and as `grep` prints it, and what is rejected.

use std::collections::BTreeMap;
use std::fs;

use crate::common::dumps::{classes, graph};
use crate::common::real_data;
use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_topologies::{Dump, Error, HostDetail, KfdTree, Kind, Machine, PeerStatus, read};
use proptest::prelude::*;

/// A tree as files below `nodes`, in the form of the kernel's.
#[derive(Clone, Default)]
struct Tree(BTreeMap<String, String>);

impl Tree {
    fn put(&mut self, path: String, lines: &[(&str, u64)]) {
        self.0.insert(
            path,
            lines
                .iter()
                .map(|(key, value)| format!("{key} {value}\n"))
                .collect(),
        );
    }

    fn processor(&mut self, node: u32) {
        self.0.insert(format!("{node}/gpu_id"), "0\n".to_owned());
        self.put(
            format!("{node}/properties"),
            &[("cpu_cores_count", 64), ("simd_count", 0), ("domain", 0)],
        );
        self.put(
            format!("{node}/mem_banks/0/properties"),
            &[("heap_type", 0), ("size_in_bytes", 1 << 39)],
        );
    }

    /// A GPU whose links are put in by [`Tree::link`].
    fn gpu(&mut self, node: u32, gfx: u64, location: u64, unique: u64, links: u64) {
        self.0
            .insert(format!("{node}/gpu_id"), format!("{}\n", 1000 + node));
        self.0.insert(format!("{node}/name"), "\n".to_owned());
        let properties = [
            ("cpu_cores_count", 0),
            ("simd_count", 416),
            ("io_links_count", links),
            ("gfx_target_version", gfx),
            ("location_id", location),
            ("domain", 0),
            ("hive_id", 12_609_507_387_757_274_807),
            ("unique_id", unique),
        ];
        self.put(format!("{node}/properties"), &properties);
        self.put(
            format!("{node}/mem_banks/0/properties"),
            &[("heap_type", 1), ("size_in_bytes", 64 << 30)],
        );
        self.put(
            format!("{node}/caches/0/properties"),
            &[("size", 16), ("type", 9)],
        );
    }

    fn link(&mut self, kind: &str, from: u32, to: u32, told: [u64; 4]) {
        let prefix = format!("{from}/{kind}/");
        let number = self
            .0
            .keys()
            .filter(|path| path.starts_with(&prefix))
            .count();
        let [wire, weight, min, max] = told;
        let lines = [
            ("type", wire),
            ("version_major", 0),
            ("node_from", u64::from(from)),
            ("node_to", u64::from(to)),
            ("weight", weight),
            ("min_bandwidth", min),
            ("max_bandwidth", max),
        ];
        self.put(format!("{prefix}{number}/properties"), &lines);
    }

    /// What `grep -r ""` prints of it, below `root`.
    fn text(&self, root: &str) -> String {
        let lines = self
            .0
            .iter()
            .flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
        lines
            .map(|(path, line)| format!("{root}{path}:{line}\n"))
            .collect()
    }
}

const ROOT: &str = "/sys/class/kfd/kfd/topology/nodes/";

/// Two sockets with four MI210 each, linked among each other: the shape of a machine of which the
/// kernel's files are public (ROCm/k8s-device-plugin), with round figures.
fn mi210() -> Tree {
    let mut tree = Tree::default();
    (0..2).for_each(|node| tree.processor(node));
    for node in 2..10u32 {
        tree.gpu(
            node,
            90010,
            u64::from(0x6300 + 0x100 * node),
            1_000 + u64::from(node),
            4,
        );
        let socket = (node - 2) / 4;
        tree.link("io_links", node, socket, [2, 20, 312, 32000]);
        for peer in (2..10).filter(|&peer| peer != node) {
            if (peer - 2) / 4 == socket {
                tree.link("io_links", node, peer, [11, 15, 50000, 50000]);
            } else {
                tree.link("p2p_links", node, peer, [2, 72, 0, 0]);
            }
        }
    }
    tree
}

fn dump(tree: &Tree) -> Dump {
    let dump = read(tree.text(ROOT).as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dump.kind, Kind::Kfd);
    dump
}

/// The line at fault and the message, without the number of the line.
fn refused(tree: &Tree) -> String {
    let text = tree.text("nodes/");
    let error = Kind::Kfd.read(&text).unwrap_err();
    let line = error
        .line()
        .and_then(|line| text.lines().nth(line - 1))
        .unwrap_or_default();
    format!("{line}: {}", error.to_string().split_once(": ").unwrap().1)
}

#[test]
fn links_processors_and_memory_read() {
    let dump = dump(&mi210());
    let graph = graph(&dump);
    assert_eq!(graph.len(), 8);
    assert_eq!(
        classes(&graph, 0, 3),
        (LinkClass::Direct(1), LinkClass::Node)
    );
    assert_eq!(classes(&graph, 0, 4), (LinkClass::None, LinkClass::Sys));
    assert_eq!(graph.pair(0.into(), 3.into()).direct.gbps, 50.0);
    assert_eq!(graph.pair(0.into(), 4.into()).host.gbps, 32.0);
    let device = graph.device(DeviceId(5));
    assert_eq!(
        (device.numa, device.memory_bytes, device.index),
        (Some(1), Some(64 << 30), None)
    );
    assert_eq!(device.pci.as_deref(), Some("0000:6a:00.0"));
    assert_eq!(device.uuid.as_deref(), Some("GPU-00000000000003ef"));
    assert_eq!(device.product.as_deref(), Some("AMD gfx90a"));
    let says = dump.says;
    assert!(says.every_device && says.direct && says.direct_gbps && says.host_gbps);
    assert_eq!(says.host, HostDetail::Classes);
    assert_eq!(dump.peer_access.len(), 32);
    assert!(
        dump.peer_access
            .iter()
            .all(|access| access.status == PeerStatus::Ok)
    );
    assert_eq!(dump.machine.warnings, []);
    let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
    assert_eq!(again, dump.machine);
}

#[test]
fn grep_reads_the_same_from_any_folder() {
    let plain = graph(&dump(&mi210()));
    for root in [
        "",
        "./",
        "nodes/",
        "/sys/devices/virtual/kfd/kfd/topology/nodes/",
        "/tmp/0000:63:00.0/nodes/",
    ] {
        let text = mi210().text(root);
        assert_eq!(graph(&read(text.as_bytes()).unwrap()), plain, "{root}");
    }
    let shuffled: String = mi210()
        .text(ROOT)
        .lines()
        .rev()
        .map(|line| format!("{line}\r\n"))
        .collect();
    assert_eq!(graph(&read(shuffled.as_bytes()).unwrap()), plain);
}

/// The tree, file by file.
fn in_folder(tree: &Tree) -> Result<KfdTree, Error> {
    let mut files = KfdTree::new("/copy/nodes");
    for (path, text) in &tree.0 {
        files.add_file(path, text)?;
    }
    Ok(files)
}

#[test]
fn the_tree_reads_file_by_file() {
    let (dump, plain) = (in_folder(&mi210()).unwrap().read().unwrap(), dump(&mi210()));
    assert_eq!(
        (dump.machine, dump.says, dump.peer_access),
        (plain.machine, plain.says, plain.peer_access)
    );
    assert!(KfdTree::new("/copy/nodes").is_empty());
}

#[test]
fn hidden_files_are_a_warning() {
    let mut files = in_folder(&mi210()).unwrap();
    files.add_hidden("11/properties");
    let machine = files.read().unwrap().machine;
    let warnings: Vec<String> = machine.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["1 files are hidden from this user: the machine may have more"]
    );
}

#[test]
fn errors_of_a_folder_name_the_file() {
    let mut tree = mi210();
    let link = "4/io_links/1/properties".to_owned();
    tree.0.insert(link, "type eleven\n".to_owned());
    assert_eq!(
        in_folder(&tree).unwrap_err().to_string(),
        "/copy/nodes/4/io_links/1/properties: type `eleven`: expected a whole number"
    );
}

#[test]
fn pairs_without_a_bandwidth_have_no_link_where_others_have() {
    let mut tree = mi210();
    for (a, b) in [(2, 3), (3, 2)] {
        let links = tree
            .0
            .iter()
            .filter(|(path, _)| path.starts_with(&format!("{a}/io_links/")));
        let (path, text) = links
            .clone()
            .find(|(_, text)| text.contains(&format!("node_to {b}\n")))
            .unwrap();
        let (path, text) = (path.clone(), text.replace(" 50000", " 0"));
        tree.0.insert(path, text);
    }
    let dump = dump(&tree);
    assert_eq!(
        classes(&graph(&dump), 0, 1),
        (LinkClass::None, LinkClass::Node)
    );
    assert!(
        dump.machine
            .notes
            .iter()
            .any(|note| note.contains("only over other devices"))
    );
}

/// Two packages of four partitions each, in the form of the kernel's files for such a machine.
fn partitions(shared_location: bool) -> Tree {
    let mut tree = Tree::default();
    tree.processor(0);
    for node in 1..9u32 {
        let (package, part) = ((node - 1) / 4, u64::from((node - 1) % 4));
        let function = if shared_location { 0 } else { part };
        tree.gpu(
            node,
            90402,
            u64::from(0x2700 + 0x1000 * package) + function,
            77 + u64::from(package),
            8,
        );
        tree.link("io_links", node, 0, [2, 20, 0, 64000]);
        for peer in (1..9).filter(|&peer| peer != node) {
            let inside = (peer - 1) / 4 == package;
            tree.link(
                "io_links",
                node,
                peer,
                if inside {
                    [11, 13, 819_200, 819_200]
                } else {
                    [11, 41, 0, 0]
                },
            );
        }
    }
    tree
}

#[test]
fn partitions_are_told_apart_or_left_without_address() {
    let by_function = dump(&partitions(false));
    let graph = graph(&by_function);
    assert_eq!(graph.len(), 8);
    assert_eq!(
        graph.device(DeviceId(6)).pci.as_deref(),
        Some("0000:37:00.2")
    );
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 819.2);
    assert_eq!(
        graph.pair(0.into(), 4.into()).direct.class,
        LinkClass::Direct(1)
    );
    assert_eq!(graph.pair(0.into(), 4.into()).direct.gbps, 64.0);
    // They share the unique id, and here the address too.
    assert!(graph.devices().iter().all(|device| device.uuid.is_none()));
    let shared = self::graph(&dump(&partitions(true)));
    assert!(shared.devices().iter().all(|device| device.pci.is_none()));
    assert_eq!(shared.len(), 8);
}

#[test]
fn what_the_kernel_hides_from_a_container_is_a_warning() {
    let mut tree = mi210();
    tree.0.retain(|path, text| {
        let hidden = path.starts_with("9/") || text.contains("node_to 9\n");
        !hidden
    });
    let mut text = tree.text(ROOT);
    for path in [
        "9/properties",
        "6/io_links/3/properties",
        "7/io_links/3/properties",
        "8/io_links/3/properties",
    ] {
        text += &format!("grep: {ROOT}{path}: Operation not permitted\n");
    }
    let dump = read(text.as_bytes()).unwrap();
    assert_eq!(graph(&dump).len(), 7);
    assert!(!dump.says.every_device);
    assert_eq!(dump.machine.warnings.len(), 1);
    assert!(
        dump.machine.warnings[0]
            .what
            .starts_with("4 files are hidden"),
        "{}",
        dump.machine.warnings[0]
    );
}

#[test]
fn trees_that_are_cut_or_disagree_are_refused_by_line() {
    let changed = |path: &str, from: &str, to: &str| {
        let mut tree = mi210();
        let text = tree.0.get_mut(path).unwrap();
        assert!(text.contains(from));
        *text = text.replacen(from, to, 1);
        tree
    };
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "weight 15", "weight heavy")),
        @"nodes/3/io_links/2/properties:weight heavy: 3/io_links/2/properties: weight `heavy`: expected a whole number"
    );
    insta::assert_snapshot!(
        refused(&changed(
            "3/io_links/2/properties",
            "max_bandwidth 50000",
            "max_bandwidth 100000",
        )),
        @"nodes/4/io_links/2/properties:node_to 3: 4/io_links/2/properties: differs from 3/io_links/2/properties in type, weight or bandwidth: expected the same from both ends"
    );
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "node_from 3", "node_from 4")),
        @"nodes/3/io_links/2/properties:node_from 4: 3/io_links/2/properties: node_from 4: expected 3, the node of this link"
    );
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "node_to 4", "node_to 3")),
        @"nodes/3/io_links/2/properties:node_from 3: 3/io_links/2/properties: leads from node 3 to itself: expected another node"
    );
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "node_to 4", "node_to 2")),
        @"nodes/3/io_links/2/properties:node_to 2: 3/io_links/2/properties: a second link from node 3 to 2: expected one"
    );
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "node_to 4", "node_to 40")),
        @"nodes/3/io_links/2/properties:node_to 40: 3/io_links/2/properties: leads to node 40, which has no properties: expected the whole tree"
    );
    insta::assert_snapshot!(
        refused(&changed("3/io_links/2/properties", "type 11\n", "")),
        @"nodes/3/io_links/2/properties:node_from 3: 3/io_links/2/properties: expected the link's type, such as 2 (PCIe) or 11 (XGMI)"
    );
    insta::assert_snapshot!(
        refused(&changed("5/properties", "io_links_count 4", "io_links_count 5")),
        @"nodes/5/properties:io_links_count 5: 5/properties: io_links_count is 5, but the tree has 4 links: expected all of them"
    );
    let twice = mi210().text("") + &mi210().text("");
    let error = Kind::Kfd.read(&twice).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"line 574: 0/mem_banks/0/properties: a second heap_type: expected the tree of one machine"
    );
    let mut none = Tree::default();
    none.processor(0);
    insta::assert_snapshot!(
        Kind::Kfd.read(&none.text("")).unwrap_err().to_string(),
        @"no GPU: expected a node with a simd_count above 0 in its properties"
    );
}

/// The rule by which AMD's device plugin weighs a pair: lower is better.
fn plugin_weight(graph: &HardwareGraph, a: usize, b: usize, same_device: bool) -> u64 {
    let pair = graph.pair(DeviceId(a as u32), DeviceId(b as u32));
    let device = if same_device { 10 } else { 20 };
    let link = if pair.direct.class.is_direct() {
        10
    } else {
        40
    };
    device
        + link
        + if pair.host.class == LinkClass::Node {
            10
        } else {
            20
        }
}

#[test]
fn pairs_weigh_what_the_device_plugin_has_for_such_trees() {
    let Some(data) = real_data() else {
        return;
    };
    let text = fs::read_to_string(data.join("oracle/rocm_k8s_device_plugin.json")).unwrap();
    let oracle: serde_json::Value = serde_json::from_str(&text).unwrap();
    let topology = &oracle["topologies"]["mi210_8"];
    let dump = dump(&mi210());
    let graph = graph(&dump);
    let devices = topology["devices"].as_array().unwrap();
    assert_eq!(devices.len(), graph.len());
    let mut seen = 0;
    for b in 0..8 {
        let device = graph.device(DeviceId(b as u32));
        assert_eq!(device.numa.map(u64::from), devices[b]["NumaNode"].as_u64());
        for a in 0..b {
            let node = |i: usize| devices[i]["NodeId"].as_u64().unwrap().to_string();
            let theirs = &topology["pair_weight_by_node_id"][node(a)][node(b)];
            assert_eq!(
                theirs.as_u64(),
                Some(plugin_weight(&graph, a, b, false)),
                "{a}-{b}"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 28);
    // Partitions of a package weigh 30, those of two packages on one NUMA node 40.
    let parts = self::graph(&self::dump(&partitions(false)));
    assert_eq!(
        (
            plugin_weight(&parts, 0, 1, true),
            plugin_weight(&parts, 0, 4, false)
        ),
        (30, 40)
    );
    let weights = oracle["topologies"]["mi300_cpx_8x8"]["pair_weight_by_node_id"]["2"]
        .as_object()
        .unwrap();
    assert_eq!(
        (weights["3"].as_u64(), weights["10"].as_u64()),
        (Some(30), Some(40))
    );
}

proptest! {
    #[test]
    fn a_text_that_is_cut_is_refused_or_has_the_same_links(cut in 0usize..20_000) {
        let text = mi210().text("");
        let Ok(dump) = Kind::Kfd.read(&text[..cut.min(text.len())]) else { return Ok(()) };
        let (ours, plain) = (graph(&dump), graph(&self::dump(&mi210())));
        for b in 0..ours.len() as u32 {
            for a in 0..b {
                prop_assert_eq!(classes(&ours, a, b), classes(&plain, a, b));
            }
        }
    }

    /// Any figures at any place of the tree.
    #[test]
    fn any_figures_are_read_or_refused(changes in proptest::collection::vec((any::<prop::sample::Index>(), prop::sample::select(
        vec!["0", "1", "2", "3", "9", "11", "15", "41", "50000", "4294967295", "18446744073709551615", "99999999999999999999", "-1", ""],
    )), 0..6)) {
        let text = mi210().text("");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, value) in changes {
            let line = at.get(&lines).clone();
            let key = line.rsplit_once(' ').map_or(line.as_str(), |(key, _)| key);
            let at = at.index(lines.len());
            lines[at] = format!("{key} {value}");
        }
        if let Ok(dump) = Kind::Kfd.read(&lines.join("\n")) {
            prop_assert!(!dump.machine.graph().unwrap().is_empty());
            let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
            prop_assert_eq!(again, Machine { warnings: Vec::new(), ..dump.machine });
        }
    }
}
