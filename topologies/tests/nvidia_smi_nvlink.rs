//! `nvidia-smi nvlink`: what no single text of the corpus shows, and every real sample.

use std::fs;

use crate::common::dumps::{read_as, warnings};
use crate::common::real_data;
use mapa_core::{DeviceId, LinkClass, NodeKind};
use mapa_topologies::{Dump, Kind, Port, read, recognise};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::NvidiaSmiNvlink, text)
}

fn names(dump: &Dump) -> Vec<&str> {
    let devices = dump
        .machine
        .fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)));
    devices.map(|(_, node)| node.name.as_str()).collect()
}

/// Links of `-R`: from each device to these addresses.
fn remotes(devices: &[&[&str]]) -> String {
    let mut text = String::new();
    for (i, links) in devices.iter().enumerate() {
        text += &format!("GPU {i}: NVIDIA H100 PCIe (UUID: GPU-{i})\n");
        for (link, address) in links.iter().enumerate() {
            text += &format!("\t Link {link}: Remote Device {address}: Link {link}\n");
        }
    }
    text
}

struct Expected {
    name: &'static str,
    /// Devices, and how many links each has.
    links: &'static [(&'static str, usize)],
    /// Of each link.
    gbps: Option<f64>,
    peer_to_peer: Option<bool>,
    every_device: bool,
    /// How the warnings begin.
    warnings: &'static [&'static str],
}

const SAMPLES: [Expected; 7] = [
    Expected {
        name: "nvlink_c_a100_noheader.txt",
        links: &[("GPU0", 2)],
        gbps: None,
        peer_to_peer: Some(true),
        every_device: false,
        warnings: &["line 1: no device is named"],
    },
    Expected {
        name: "nvlink_c_h800.txt",
        links: &[("GPU0", 2)],
        gbps: None,
        peer_to_peer: Some(true),
        every_device: true,
        warnings: &[],
    },
    Expected {
        name: "nvlink_c_v100_dgx1_snip.txt",
        links: &[("GPU0", 1)],
        gbps: None,
        peer_to_peer: Some(true),
        every_device: false,
        warnings: &["line 9: something is left out here"],
    },
    Expected {
        name: "nvlink_s_3090.txt",
        links: &[("GPU0", 4), ("GPU1", 4)],
        gbps: Some(14.0625),
        peer_to_peer: None,
        every_device: true,
        warnings: &[
            "line 1: the UUID is redacted",
            "line 6: the UUID is redacted",
        ],
    },
    Expected {
        name: "nvlink_s_h800_8links.txt",
        links: &[("GPU0", 8)],
        gbps: Some(25.0),
        peer_to_peer: None,
        every_device: true,
        warnings: &[],
    },
    Expected {
        name: "nvlink_s_v100_dgx1_snip.txt",
        links: &[("GPU0", 6), ("GPU7", 6)],
        gbps: Some(25.0),
        peer_to_peer: None,
        every_device: false,
        warnings: &[
            "line 9: something is left out here",
            "line 11: GPU 1 to 6 missing",
        ],
    },
    Expected {
        name: "ppu_icn_s.txt",
        links: &[("GPU0", 4)],
        gbps: Some(50.0),
        peer_to_peer: None,
        every_device: false,
        warnings: &["line 1: no device is named"],
    },
];

/// Samples that begin amid the links of a device, with others below: refused at this line.
const CUT: [(&str, usize); 1] = [("nvlink_R_h100_remote.txt", 1)];

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let rows = manifest
        .lines()
        .filter(|row| row.split('\t').nth(1) == Some("nvidia_smi_nvlink"));
    let paths: Vec<&str> = rows.map(|row| row.split('\t').next().unwrap()).collect();
    assert_eq!(
        paths.len(),
        SAMPLES.len() + CUT.len(),
        "as many as the manifest had when this was written"
    );
    for path in paths {
        let text = fs::read_to_string(data.join("samples").join(path)).unwrap();
        let name = path.rsplit('/').next().unwrap();
        if let Some((_, line)) = CUT.iter().find(|(cut, _)| *cut == name) {
            assert_eq!(recognise(&text).unwrap(), Kind::NvidiaSmiNvlink);
            assert_eq!(
                read(text.as_bytes()).unwrap_err().line(),
                Some(*line),
                "{name}"
            );
            continue;
        }
        let expected = SAMPLES
            .iter()
            .find(|sample| sample.name == name)
            .expect(name);
        check_sample(&dump(&text), expected);
    }
}

fn check_sample(dump: &Dump, expected: &Expected) {
    let name = expected.name;
    let links = |device: usize| {
        dump.ports
            .iter()
            .filter(|port| port.device.index() == device)
            .count()
    };
    let found: Vec<_> = names(dump)
        .into_iter()
        .enumerate()
        .map(|(i, name)| (name, links(i)))
        .collect();
    assert_eq!(found, expected.links, "{name}");
    let as_told =
        |port: &Port| port.gbps == expected.gbps && port.peer_to_peer == expected.peer_to_peer;
    assert!(dump.ports.iter().all(as_told), "{name}: {:?}", dump.ports);
    assert!(
        dump.ports
            .iter()
            .all(|port| port.active == expected.gbps.map(|_| true)),
        "{name}"
    );
    assert_eq!(
        (dump.says.every_device, dump.says.direct),
        (expected.every_device, false),
        "{name}"
    );
    assert_eq!(dump.says.direct_gbps, expected.gbps.is_some(), "{name}");
    let warnings = warnings(&dump.machine);
    assert_eq!(
        warnings.len(),
        expected.warnings.len(),
        "{name}: {warnings:?}"
    );
    assert!(
        warnings
            .iter()
            .zip(expected.warnings)
            .all(|(w, start)| w.starts_with(start)),
        "{name}: {warnings:?}"
    );
}

#[test]
fn more_links_between_two_devices_than_can_be_are_refused() {
    let links = |address: &str| vec![address; 300].join(" ");
    let [a, b] = ["00000000:01:00.0", "00000000:02:00.0"].map(links);
    let [a, b]: [Vec<&str>; 2] = [&a, &b].map(|links| links.split(' ').collect());
    let error = read(remotes(&[b.as_slice(), a.as_slice()]).as_bytes())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "line 1: 300 links to one device: expected at most 255"
    );
}

proptest! {
    /// Any state the tool could print reads back to itself.
    #[test]
    fn printed_states_read_back(devices in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 1..19), 1..9)) {
        let mut text = String::new();
        for (i, links) in devices.iter().enumerate() {
            text += &format!("GPU {i}: NVIDIA B200 (UUID: GPU-{i:x})\n");
            for (link, up) in links.iter().enumerate() {
                text += &format!("\t Link {link}: {}\n", if *up { "53.125 GB/s" } else { "<inactive>" });
            }
        }
        let dump = dump(&text);
        let mut ports = dump.ports.iter();
        for (i, links) in devices.iter().enumerate() {
            for (link, up) in links.iter().enumerate() {
                let port = ports.next().unwrap();
                prop_assert_eq!((port.device.index(), port.link as usize, port.active), (i, link, Some(*up)));
                prop_assert_eq!(port.gbps, up.then_some(50.0));
            }
        }
        prop_assert!(ports.next().is_none() && dump.says.every_device);
    }

    /// Links between devices, printed as the tool does, are found again.
    #[test]
    fn printed_remotes_read_back(n in 2usize..9, counts in proptest::collection::vec(0usize..4, 36)) {
        let count = |a: usize, b: usize| if a == b { 0 } else { counts[a.max(b) * (a.max(b) - 1) / 2 + a.min(b)] };
        let address = |i: usize| format!("00000000:{:02X}:00.0", 0x10 + 3 * i);
        let links: Vec<Vec<String>> = (0..n).map(|a| (0..n).flat_map(|b| vec![address(b); count(a, b)]).collect()).collect();
        prop_assume!(links.iter().any(|links| !links.is_empty()));
        let links: Vec<Vec<&str>> = links.iter().map(|links| links.iter().map(String::as_str).collect()).collect();
        let dump = dump(&remotes(&links.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        prop_assert!(dump.says.direct);
        let graph = dump.machine.graph().unwrap();
        for a in 0..n {
            for b in 0..n {
                let class = graph.pair(DeviceId(a as u32), DeviceId(b as u32)).direct.class;
                let expected = count(a, b) as u8;
                prop_assert_eq!(class, if expected == 0 { LinkClass::None } else { LinkClass::Direct(expected) });
            }
        }
    }

    /// Of a text that ends too early, what is read is a part of the whole.
    #[test]
    fn cut_texts_are_refused_or_are_parts(cut in any::<prop::sample::Index>()) {
        let text = crate::corpus::text("nvidia_smi_nvlink/states.txt");
        let (whole, cut) = (dump(&text), cut.index(text.len()));
        match Kind::NvidiaSmiNvlink.read(&text[..cut]) {
            Ok(part) => prop_assert_eq!(&part.ports[..], &whole.ports[..part.ports.len()]),
            Err(error) => prop_assert!(error.line().is_some() || cut < 7),
        }
    }
}
