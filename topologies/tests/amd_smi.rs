//! `amd-smi topology` and `amd-smi xgmi`: what no single text of the corpus shows, and every real sample.

use std::fs;

use crate::common::dumps::{classes, graph, read_as};
use crate::common::real_data;
use crate::corpus::text;
use mapa_core::{HardwareGraph, LinkClass};
use mapa_topologies::{HostDetail, Kind, Machine, PeerStatus, Traffic, read};
use proptest::prelude::*;

fn addresses(graph: &HardwareGraph) -> Vec<Option<&str>> {
    graph
        .devices()
        .iter()
        .map(|device| device.pci.as_deref())
        .collect()
}

#[test]
fn json_tells_the_same_as_the_tables() {
    let [json, tables] = ["list.json", "plain.txt"].map(|name| {
        read_as(
            Kind::AmdSmiTopology,
            &text(&format!("amd_smi_topology/{name}")),
        )
    });
    assert_eq!(graph(&json), graph(&tables));
    assert_eq!(
        (json.says, json.peer_access),
        (tables.says, tables.peer_access)
    );
}

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let names = manifest
        .lines()
        .filter_map(|row| row.split('\t').next()?.strip_prefix("rocm_topo/"));
    let seen = names.filter(|name| !name.starts_with("rocm_smi_")).count();
    assert_eq!(seen, 4, "an expectation for every sample");
    let sample =
        |name: &str| fs::read_to_string(data.join("samples/rocm_topo").join(name)).unwrap();

    let pcie = read_as(
        Kind::AmdSmiTopology,
        &sample("amd_smi_topology_2x_pcie.txt"),
    );
    assert_eq!(
        addresses(&graph(&pcie)),
        [Some("0000:03:00.0"), Some("0000:0c:00.0")]
    );
    assert_eq!(
        classes(&graph(&pcie), 0, 1),
        (LinkClass::None, LinkClass::Node)
    );
    assert!(
        pcie.peer_access
            .iter()
            .all(|access| access.status == PeerStatus::NotSupported)
    );
    assert_eq!(pcie.says.host, HostDetail::Classes);

    let access = read_as(
        Kind::AmdSmiTopology,
        &sample("amd_smi_topology_access_type_json.json"),
    );
    assert_eq!(
        addresses(&graph(&access)),
        [Some("0000:08:00.0"), Some("0000:44:00.0")]
    );
    assert_eq!(
        classes(&graph(&access), 0, 1),
        (LinkClass::None, LinkClass::Sys)
    );
    assert_eq!(access.peer_access.len(), 2);

    // Elided with "..." in the changelog it is from: no JSON.
    let elided = read(sample("amd_smi_topology_new_json.json").as_bytes()).unwrap_err();
    assert_eq!(elided.line(), Some(14), "{elided}");

    let xgmi = read_as(Kind::AmdSmiXgmi, &sample("amd_smi_xgmi.txt"));
    let eight = graph(&xgmi);
    assert_eq!((eight.len(), xgmi.ports.len()), (8, 56));
    for b in 0..8 {
        for a in 0..b {
            let direct = eight.pair(a.into(), b.into()).direct;
            assert_eq!((direct.class, direct.gbps), (LinkClass::Direct(1), 64.0));
        }
    }
    let port = |device, link| {
        xgmi.ports
            .iter()
            .find(|port| (port.device.0, port.link) == (device, link))
            .unwrap()
    };
    assert_eq!(
        port(0, 0).traffic,
        Some(Traffic {
            sent: 1024,
            received: 2048
        })
    );
    assert_eq!(port(7, 6).remote, Some(("0000:bf:00.0".to_owned(), None)));
    assert_eq!(xgmi.machine.warnings, []);

    for dump in [pcie, access, xgmi] {
        let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
        assert_eq!(again, dump.machine);
    }
}

proptest! {
    #[test]
    fn a_text_that_is_cut_reads_to_the_same_links_or_is_refused(at in 0usize..2000) {
        for (kind, name) in [
            (Kind::AmdSmiTopology, "amd_smi_topology/plain.txt"),
            (Kind::AmdSmiTopology, "amd_smi_topology/list.json"),
            (Kind::AmdSmiXgmi, "amd_smi_xgmi/plain.txt"),
        ] {
            let whole = text(name);
            let Ok(cut) = kind.read(&whole[..at.min(whole.len())]) else { continue };
            let (ours, plain) = (graph(&cut), graph(&read_as(kind, &whole)));
            prop_assert_eq!(addresses(&ours), addresses(&plain));
        }
    }
}
