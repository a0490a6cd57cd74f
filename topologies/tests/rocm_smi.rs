//! What `rocm-smi --showtopo` prints, in its shapes, and what is refused.

use crate::common;

use std::fs;

use crate::common::dumps::{classes, graph, read_as, refused, warnings};
use mapa_core::{DeviceId, LinkClass};
use mapa_topologies::{Dump, HostDetail, Kind, Machine, PeerStatus, read};
use proptest::prelude::*;

/// Four devices in two pairs of XGMI, each pair on a NUMA node.
const WHOLE: &str = "
======================= ROCm System Management Interface =======================
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

=========================== Weight between two GPUs ============================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            15           72           72           
GPU1   15           0            72           72           
GPU2   72           72           0            15           
GPU3   72           72           15           0            

============================ Hops between two GPUs =============================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            1            3            3            
GPU1   1            0            3            3            
GPU2   3            3            0            1            
GPU3   3            3            1            0            

========================== Link Type between two GPUs ==========================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            XGMI         PCIE         PCIE         
GPU1   XGMI         0            PCIE         PCIE         
GPU2   PCIE         PCIE         0            XGMI         
GPU3   PCIE         PCIE         XGMI         0            

================================== Numa Nodes ==================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[0]\t\t: (Topology) Numa Affinity: 0
GPU[1]\t\t: (Topology) Numa Node: 0
GPU[1]\t\t: (Topology) Numa Affinity: 0
GPU[2]\t\t: (Topology) Numa Node: 1
GPU[2]\t\t: (Topology) Numa Affinity: 1
GPU[3]\t\t: (Topology) Numa Node: 1
GPU[3]\t\t: (Topology) Numa Affinity: 1
============================= End of ROCm SMI Log ==============================
";

fn dump(text: &str) -> Dump {
    read_as(Kind::RocmSmi, text)
}

/// The lines of one section, with its banner.
fn section(name: &str) -> String {
    let mut lines = WHOLE.lines().skip_while(|line| !line.contains(name));
    let banner = lines.next().unwrap();
    let rest: String = lines
        .take_while(|line| !line.starts_with("=="))
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{banner}\n{rest}")
}

#[test]
fn the_whole_output_reads() {
    let dump = dump(WHOLE);
    let graph = graph(&dump);
    assert_eq!(graph.len(), 4);
    assert_eq!(warnings(&dump.machine), [] as [&str; 0]);
    assert_eq!(
        classes(&graph, 0, 1),
        (LinkClass::Direct(1), LinkClass::Node)
    );
    assert_eq!(classes(&graph, 0, 2), (LinkClass::None, LinkClass::Sys));
    assert_eq!(
        classes(&graph, 2, 3),
        (LinkClass::Direct(1), LinkClass::Node)
    );
    assert_eq!(graph.device(DeviceId(3)).numa, Some(1));
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 25.0);
    assert!(
        dump.says.direct
            && dump.says.every_device
            && !dump.says.direct_gbps
            && !dump.says.host_gbps
    );
    assert_eq!(dump.says.host, HostDetail::Classes);
    assert_eq!(dump.machine.labels.print(LinkClass::Direct(1)), "XGMI1");
    let said = "The text does not say how many XGMI links join a pair: one is counted.";
    assert!(
        dump.machine.notes.iter().any(|note| note == said),
        "{:?}",
        dump.machine.notes
    );
    let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
    assert_eq!(again, dump.machine);
}

#[test]
fn banners_of_any_width_tables_and_carriage_returns_read_the_same() {
    let plain = graph(&dump(WHOLE));
    let wide = WHOLE.replace("=====", "=======");
    let markdown = WHOLE.lines().map(
        |line| match line.starts_with("GPU") && !line.contains('[') {
            true => format!(
                "| **{}** |\n",
                line.split_whitespace().collect::<Vec<_>>().join("** | **")
            ),
            false => format!("{line}\n"),
        },
    );
    let spaces = WHOLE.replace("]\t\t:", "]          :");
    for text in [
        wide,
        markdown.collect(),
        spaces,
        WHOLE.replace('\n', "\r\n"),
    ] {
        assert_eq!(graph(&dump(&text)), plain, "{text}");
    }
}

#[test]
fn each_section_alone_tells_what_it_can() {
    let alone = |name: &str| dump(&section(name));
    let both = |dump: &Dump| [classes(&graph(dump), 0, 1), classes(&graph(dump), 0, 2)];
    let (xgmi, pcie) = (
        (LinkClass::Direct(1), LinkClass::Sys),
        (LinkClass::None, LinkClass::Sys),
    );
    for name in ["Weight between", "Hops between", "Link Type between"] {
        let dump = alone(name);
        assert_eq!(both(&dump), [xgmi, pcie], "{name}");
        assert!(
            dump.says.direct && dump.says.host == HostDetail::Nothing,
            "{name}"
        );
    }
    let nodes = alone("Numa Nodes");
    assert_eq!(
        (nodes.says.direct, nodes.says.host),
        (false, HostDetail::Numa)
    );
    assert_eq!(both(&nodes), [(LinkClass::None, LinkClass::None); 2]);
    assert!(
        nodes
            .into_machine()
            .unwrap_err()
            .to_string()
            .contains("merge it")
    );
}

#[test]
fn weights_tell_links_from_ways_over_other_devices() {
    let dump = dump(&WHOLE.replace("72 ", "30 ").replace("PCIE", "XGMI"));
    let graph = graph(&dump);
    assert_eq!(
        classes(&graph, 0, 1),
        (LinkClass::Direct(1), LinkClass::Node)
    );
    assert_eq!(classes(&graph, 0, 2), (LinkClass::None, LinkClass::Sys));
    assert!(
        dump.machine
            .notes
            .iter()
            .any(|note| note.contains("only over other devices"))
    );
}

#[test]
fn bandwidths_tell_how_many_links_there_are() {
    let bandwidth = "
=================================== Bandwidth ===================================
       GPU0         GPU1         GPU2         GPU3         
GPU0   N/A          50000-200000 50000-50000  0-0          
GPU1   50000-200000 N/A          0-0          50000-100000 
GPU2   50000-50000  0-0          N/A          50000-200000 
GPU3   0-0          50000-100000 50000-200000 N/A          
Format: min-max; Units: mps
\"0-0\" min-max bandwidth indicates devices are not connected dirrectly
================================================================================
";
    let dump = dump(&(WHOLE.replace("PCIE", "XGMI").replace("72 ", "15 ") + bandwidth));
    let direct = |a: u32, b: u32| graph(&dump).pair(a.into(), b.into()).direct;
    assert_eq!(
        (direct(0, 1).class, direct(0, 1).gbps),
        (LinkClass::Direct(4), 200.0)
    );
    assert_eq!(
        (direct(0, 2).class, direct(1, 3).class),
        (LinkClass::Direct(1), LinkClass::Direct(2))
    );
    assert_eq!(
        (direct(0, 3).class, direct(1, 2).class),
        (LinkClass::None, LinkClass::None)
    );
    assert!(dump.says.direct_gbps);
}

#[test]
fn accessibility_is_peer_access() {
    let access = "====== Link accessibility between two GPUs ======
      GPU0        GPU1
GPU0  True        False
GPU1  True        True
";
    let dump = dump(access);
    let told: Vec<_> = dump
        .peer_access
        .iter()
        .map(|access| (access.from.0, access.to.0, access.status))
        .collect();
    assert_eq!(
        told,
        [(0, 1, PeerStatus::NotSupported), (1, 0, PeerStatus::Ok)]
    );
    assert!(!dump.says.direct);
    refused(
        &access.replace("False", "FALS"),
        "line 3: row GPU0, column GPU1: `FALS`: expected True or False",
    );
}

#[test]
fn json_tells_the_same_as_the_text() {
    let mut pairs = Vec::new();
    for b in 0..4 {
        for a in 0..b {
            let near = a / 2 == b / 2;
            let (weight, hops, kind) = if near {
                (15, 1, "XGMI")
            } else {
                (72, 3, "PCIE")
            };
            pairs.push(format!(
                "\"(Topology) Weight between DRM devices {a} and {b}\": \"{weight}\""
            ));
            pairs.push(format!(
                "\"(Topology) Hops between DRM devices {a} and {b}\": {hops}"
            ));
            pairs.push(format!(
                "\"(Topology) Link type between DRM devices {a} and {b}\": \"{kind}\""
            ));
        }
    }
    let cards = (0..4).map(|i| {
        let (node, bus) = (i / 2, 0x60 + i);
        format!("\"card{i}\": {{\"(Topology) Numa Node\": \"{node}\", \"PCI Bus\": \"0000:{bus:X}:00.0\", \"Card Series\": \"AMD Instinct MI210\", \"Unique ID\": \"0x{i}f\"}}")
    });
    let cards: Vec<String> = cards.collect();
    let json = format!(
        "{{\"system\": {{{}}},\n{}}}",
        pairs.join(",\n"),
        cards.join(",\n")
    );
    let dump = self::dump(&json);
    let (ours, plain) = (graph(&dump), graph(&self::dump(WHOLE)));
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        assert_eq!(classes(&ours, a, b), classes(&plain, a, b));
    }
    // The product tells what a link carries.
    assert_eq!(
        (
            ours.pair(0.into(), 1.into()).direct.gbps,
            dump.says.direct_gbps
        ),
        (50.0, true)
    );
    let device = ours.device(DeviceId(2));
    assert_eq!(
        (device.pci.as_deref(), device.numa),
        (Some("0000:62:00.0"), Some(1))
    );
    assert_eq!(device.uuid.as_deref(), Some("GPU-000000000000002f"));
    assert_eq!(device.product.as_deref(), Some("AMD Instinct MI210"));
    // The tool may warn before.
    assert_eq!(
        graph(&self::dump(&format!("WARNING: low-power state\n\n{json}"))),
        ours
    );

    refused(
        &json.replace("\"(Topology) Hops between DRM devices 1 and 3\": 3,", ""),
        "system: 5 pairs of 4 devices in matrix Hops: expected every pair once",
    );
    refused(
        &json.replacen("PCIE", "CABLE", 1),
        "system.(Topology) Link type between DRM devices 0 and 2: `CABLE`: expected XGMI or PCIE",
    );
    let cut = read(&json.as_bytes()[..json.len() / 2]).unwrap_err();
    assert!(cut.line().is_some(), "{cut}");
}

#[test]
fn matrices_that_are_cut_or_garbled_are_refused_by_line() {
    let lines: Vec<&str> = WHOLE.lines().collect();
    let upto = |n: usize| lines[..n].join("\n");
    let missing = |row: &str| {
        format!("the matrix ends, but row {row} is missing: expected a row for every column")
    };
    refused(&upto(8), &format!("line 8: {}", missing("GPU2")));
    refused(&upto(6), &format!("line 6: {}", missing("GPU0")));
    refused(
        &upto(5),
        "line 5: no header follows: expected a line with the names of the devices",
    );
    refused(
        &upto(8).replace("15           0 ", "15 "),
        "line 8: row GPU1 has 3 cells: expected 4",
    );
    refused(
        &WHOLE.replacen(
            "GPU3   72           72           15           0 ",
            "GPU3   72           7            15           0 ",
            1,
        ),
        "line 10: row GPU3, column GPU1 has 7, but row GPU1, column GPU3 72: expected a symmetric matrix",
    );
    refused(
        &WHOLE.replace("XGMI", "XGM"),
        "line 22: row GPU1, column GPU0: `XGM`: expected XGMI or PCIE",
    );
    refused(
        &WHOLE.replacen("GPU1   15           0 ", "GPU1   15           1 ", 1),
        "line 8: row GPU1, column GPU1: `1`: expected 0 on the diagonal",
    );
    refused(
        &WHOLE.replacen("GPU2   72", "GPU1   72", 1),
        "line 9: row GPU1: expected row GPU2, in the order of the columns",
    );
    refused(
        &WHOLE.replacen("GPU3   3 ", "GPU3   x ", 1).replacen(
            "3            3            \nGPU1",
            "3            x            \nGPU1",
            1,
        ),
        "line 17: row GPU3, column GPU0: `x`: expected a number",
    );
    refused(
        &format!("{WHOLE}{WHOLE}"),
        "line 40: this section appears a second time: expected the output for one machine",
    );
    refused(
        &WHOLE.replace("GPU[3]", "GPU[4]"),
        "line 33: GPU[4] is in no matrix: expected a row and a column GPU4",
    );
    refused(
        &WHOLE.replace("Numa Node: 1", "Numa Node: one"),
        "line 31: `one`: expected the number of a NUMA node",
    );
}

#[test]
fn a_cut_section_of_numa_nodes_is_a_warning() {
    let cut: String = WHOLE
        .lines()
        .take(29)
        .map(|line| format!("{line}\n"))
        .collect();
    let dump = dump(&cut);
    assert_eq!(
        warnings(&dump.machine),
        ["line 26: the section has no NUMA node for GPU2, GPU3"]
    );
    assert_eq!(dump.says.host, HostDetail::Numa);
    assert_eq!(
        classes(&graph(&dump), 0, 1),
        (LinkClass::Direct(1), LinkClass::Node)
    );
    assert_eq!(
        classes(&graph(&dump), 2, 3),
        (LinkClass::Direct(1), LinkClass::Sys)
    );
}

/// Devices, pairs with direct links, pairs on one NUMA node, warnings.
const EXPECTED: [(&str, usize, usize, usize, &[&str]); 6] = [
    ("rocm_smi_gfx906_x4.txt", 4, 0, 6, &[]),
    (
        "rocm_smi_mi100x2_collapsed.txt",
        2,
        0,
        0,
        &["line 2: the white space of the matrix is lost: cells are read in their order"],
    ),
    ("rocm_smi_mi100x4_pcie.txt", 4, 0, 2, &[]),
    ("rocm_smi_mi300a_x4.txt", 4, 6, 0, &[]),
    (
        "rocm_smi_mi_pcie4_w52.txt",
        4,
        0,
        0,
        &["line 23: the section has no NUMA node for GPU0, GPU1, GPU2, GPU3"],
    ),
    ("rocm_smi_showtopotype_mi300x_vf.txt", 8, 28, 0, &[]),
];

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = common::data("samples_read_to_what_they_show") else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let names = manifest
        .lines()
        .filter_map(|row| row.split('\t').next()?.strip_prefix("rocm_topo/rocm_smi_"));
    let mut listed: Vec<String> = names.map(|name| format!("rocm_smi_{name}")).collect();
    listed.sort();
    assert_eq!(
        listed,
        EXPECTED.map(|(name, ..)| name),
        "an expectation for every sample"
    );
    for (name, devices, direct, near, warned) in EXPECTED {
        let text = fs::read_to_string(data.join("samples/rocm_topo").join(name)).unwrap();
        let dump = dump(&text);
        let graph = graph(&dump);
        let n = graph.len() as u32;
        let pairs: Vec<_> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let count = |is: &dyn Fn((LinkClass, LinkClass)) -> bool| {
            pairs
                .iter()
                .filter(|&&(a, b)| is(classes(&graph, a, b)))
                .count()
        };
        assert_eq!(graph.len(), devices, "{name}");
        assert_eq!(
            count(&|(link, _)| link == LinkClass::Direct(1)),
            direct,
            "{name}"
        );
        assert_eq!(count(&|(_, host)| host == LinkClass::Node), near, "{name}");
        assert_eq!(
            count(&|(_, host)| host == LinkClass::Sys),
            pairs.len() - near,
            "{name}"
        );
        assert_eq!(warnings(&dump.machine), warned, "{name}");
        let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
        assert_eq!(
            again,
            Machine {
                warnings: Vec::new(),
                ..dump.machine
            },
            "{name}"
        );
    }
}

proptest! {
    /// Whatever is cut off the end, nothing else is read into the pairs that are left.
    #[test]
    fn a_text_that_is_cut_reads_to_the_same_links_or_is_refused(at in 0usize..WHOLE.len()) {
        let Ok(dump) = Kind::RocmSmi.read(&WHOLE[..at]) else { return Ok(()) };
        let (ours, plain) = (graph(&dump), graph(&self::dump(WHOLE)));
        prop_assert!(ours.len() <= plain.len());
        for b in 0..if dump.says.direct { ours.len() as u32 } else { 0 } {
            for a in 0..b {
                prop_assert_eq!(classes(&ours, a, b).0, classes(&plain, a, b).0);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in "(?s).{0,300}") {
        let _ = Kind::RocmSmi.read(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(proptest::sample::select(vec![
        "=== Weight between two GPUs ===\n", "== Hops between two GPUs ==\n", "Link Type between two GPUs\n",
        "=== Bandwidth ===\n", "=== Numa Nodes ===\n", "===\n", "GPU0", "GPU1", "GPU2", "0", "15", "40", "XGMI", "PCIE",
        "0-0", "50000-100000", "N/A", "\n", "\n", "GPU[0] : (Topology) Numa Node: 0\n", "GPU[1] : PCI Bus: 0000:01:00.0\n",
    ]), 0..40)) {
        if let Ok(dump) = Kind::RocmSmi.read(&words.join(" ")) {
            prop_assert!(!dump.machine.graph().unwrap().is_empty());
        }
    }
}
