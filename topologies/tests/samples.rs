//! Every real dump of `nvidia-smi topo -m` reads to what its manifest says, or is refused by line.

use crate::common::real_data;
use std::fs;

use mapa_core::{DeviceId, HardwareGraph};
use mapa_topologies::{Dump, Machine, read};

/// Dumps that are cut within a device's row or before one: refused at this line.
const CUT: [(&str, usize); 4] = [
    ("a800_h800_nv8_tail.txt", 1),
    ("dgx2_v100x16_mlx5x10_head.txt", 5),
    ("dgx_a100_nic12_head.txt", 5),
    ("p100_or_v100x8_pcie_mlx4.txt", 6),
];

/// Dumps in which only rows of network cards are missing or cut: read, with a warning.
const CARDS_MISSING: [&str; 5] = [
    "dgx_a100_mlx12.txt",
    "gb200_nvl_tray_4gpu.txt",
    "h100_sxm_x8_10nic.txt",
    "ncsa_delta_commented.txt",
    "v100x8_dgx1v_nic0_numaid.txt",
];

/// The links between devices as the text has them, by nothing but splitting at white space: an
/// oracle for complete dumps.
fn printed(text: &str, n: usize) -> Vec<Vec<String>> {
    let plain = anstream_free(text);
    let rows = plain.lines().filter_map(|line| {
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|w| *w != "#" && *w != "|")
            .collect();
        let cell = |w: &str| {
            w == "X"
                || w.starts_with("NV")
                || ["SYS", "SOC", "NODE", "PHB", "PXB", "PIX"].contains(&w)
        };
        let is_row = words.first().is_some_and(|w| w.starts_with("GPU"))
            && words.get(1).is_some_and(|w| cell(w));
        is_row.then(|| words[1..=n].iter().map(|w| (*w).to_owned()).collect())
    });
    rows.collect()
}

fn anstream_free(text: &str) -> String {
    text.replace("\u{1b}[4m", "").replace("\u{1b}[0m", "")
}

fn matrix(machine: &Machine, graph: &HardwareGraph) -> Vec<Vec<String>> {
    let ids = || (0..graph.len() as u32).map(DeviceId);
    let cell = |a, b| {
        if a == b {
            "X".to_owned()
        } else {
            machine.labels.print(graph.link(a, b).class)
        }
    };
    ids().map(|a| ids().map(|b| cell(a, b)).collect()).collect()
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
        if kind != "nvidia_smi_topo" {
            continue;
        }
        seen += 1;
        let name = path.rsplit('/').next().unwrap();
        let bytes = fs::read(data.join("samples").join(path)).unwrap();
        if let Some((_, line)) = CUT.iter().find(|(cut, _)| *cut == name) {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.line(), Some(*line), "{name}: {error}");
            continue;
        }
        let machine = read(&bytes)
            .and_then(Dump::into_machine)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let graph = machine.graph().unwrap();
        assert_eq!(graph.len(), devices.parse::<usize>().unwrap(), "{name}");
        assert_eq!(
            matrix(&machine, &graph),
            printed(&String::from_utf8_lossy(&bytes), graph.len()),
            "{name}"
        );
        assert_eq!(
            !machine.warnings.is_empty(),
            CARDS_MISSING.contains(&name),
            "{name}: {:?}",
            machine.warnings
        );
        let host = |a: u32, b: u32| graph.pair(DeviceId(a), DeviceId(b)).host.class;
        for b in 0..graph.len() as u32 {
            assert!(
                (0..b).all(|a| host(a, b).is_host() && host(a, b) == host(b, a)),
                "{name}: a host path for every pair"
            );
        }
        let again = Machine::from_toml(&machine.to_toml().unwrap()).unwrap();
        assert_eq!(
            again,
            Machine {
                warnings: Vec::new(),
                ..machine
            },
            "{name}: through the machine file"
        );
    }
    assert_eq!(
        seen, 47,
        "as many as the manifest had when this was written"
    );
}

#[test]
fn host_paths_beneath_nvlink_are_inferred_as_the_machine_has_them() {
    let Some(data) = real_data() else {
        return;
    };
    let sample = |name: &str| fs::read(data.join("samples/nvidia_smi_topo").join(name)).unwrap();
    let hosts = |graph: &HardwareGraph| {
        let ids = || (0..graph.len() as u32).map(DeviceId);
        ids()
            .flat_map(|a| ids().map(move |b| graph.pair(a, b).host.class))
            .collect::<Vec<_>>()
    };
    // With four cards in view, a DGX-1V's whole host tree follows.
    let fixture = read(&sample("msccl_tools_dgx1_topo_fixture.txt"))
        .unwrap()
        .machine
        .graph()
        .unwrap();
    let known = mapa_topologies::named("dgx-1v").unwrap().graph().unwrap();
    assert_eq!(hosts(&fixture), hosts(&known));
    assert_eq!(fixture.host_tree(), known.host_tree());
}

#[test]
fn catalogue_host_paths_are_the_oracles() {
    let Some(data) = real_data() else {
        return;
    };
    let text = fs::read_to_string(data.join("oracle/go_gpuallocator.json")).unwrap();
    let oracle: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (theirs, ours) in [("dgx1_volta", "dgx-1v"), ("dgx1_pascal", "dgx-1p")] {
        let machine = mapa_topologies::named(ours).unwrap();
        let graph = machine.graph().unwrap();
        let topology = &oracle["topologies"][theirs];
        for a in 0..8u32 {
            for b in 0..8u32 {
                let cell = |table: &str| {
                    topology[table][a as usize][b as usize]
                        .as_str()
                        .unwrap()
                        .to_owned()
                };
                let pair = graph.pair(DeviceId(a), DeviceId(b));
                let print = |class| {
                    if a == b {
                        "X".to_owned()
                    } else {
                        machine.labels.print(class)
                    }
                };
                assert_eq!(print(pair.host.class), cell("p2p"), "{ours}: {a}-{b}");
                assert_eq!(
                    print(pair.best().class),
                    cell("nvidia_smi_topo_m"),
                    "{ours}: {a}-{b}"
                );
            }
        }
    }
}
