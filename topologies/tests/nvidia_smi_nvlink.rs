//! What `nvidia-smi nvlink` prints with each of its options, as it gets pasted, what is refused,
//! and every real sample.

use crate::common;

use std::fs;

use crate::common::dumps::{read_as, warnings};
use mapa_core::{DeviceId, LinkClass, NodeKind};
use mapa_topologies::{Counter, Dump, ErrorKind, Kind, Port, Traffic, read, recognise};
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

fn pci(dump: &Dump) -> Vec<Option<String>> {
    let nodes = dump
        .machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some(info.pci.clone()),
            _ => None,
        });
    nodes.collect()
}

fn uuids(dump: &Dump) -> Vec<Option<String>> {
    let nodes = dump
        .machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some(info.uuid.clone()),
            _ => None,
        });
    nodes.collect()
}

fn refused(text: &str, message: &str) {
    assert_eq!(recognise(text).unwrap(), Kind::NvidiaSmiNvlink, "{text}");
    let error = read(text.as_bytes()).expect_err(text).to_string();
    assert!(error.starts_with(message), "{error}\n{text}");
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
    let Some(data) = common::data("samples_read_to_what_they_show") else {
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
fn inactive_links_are_kept_as_such() {
    let dump = dump(
        "GPU 0: A (UUID: GPU-1)\n Link 0: 26.562 GB/s\n Link 1: <inactive>\n Link 2 is inactive\n",
    );
    let ports: Vec<_> = dump
        .ports
        .iter()
        .map(|port| (port.link, port.active, port.gbps))
        .collect();
    assert_eq!(
        ports,
        [
            (0, Some(true), Some(25.0)),
            (1, Some(false), None),
            (2, Some(false), None)
        ]
    );
    assert!(dump.says.direct_gbps && dump.machine.notes.is_empty());
    let down =
        self::dump("GPU 0: A (UUID: GPU-1)\n\t Link 0: <inactive>\nGPU 1: A (UUID: GPU-2)\n");
    assert!(!down.says.direct_gbps && names(&down).len() == 2);
}

#[test]
fn a_verdict_stands_for_all_links() {
    let dump = dump(
        "GPU 0: A (UUID: GPU-1)\n\t NVML: Unable to retrieve Nvlink information as all links are inActive\n",
    );
    assert_eq!(
        (names(&dump).len(), dump.ports.len(), dump.says.direct),
        (1, 0, false)
    );
}

#[test]
fn counters_add_up_to_traffic() {
    let text = "GPU 0: A100 (UUID: GPU-1)\n\t Link 0: Data Tx: 3 KiB\n\t Link 0: Data Rx: 1 MiB\n\t Link 1: Raw Tx: N/A\n";
    let traffic: Vec<_> = dump(text).ports.iter().map(|port| port.traffic).collect();
    assert_eq!(
        traffic,
        [
            Some(Traffic {
                sent: 3072,
                received: 1 << 20
            }),
            None
        ]
    );
    let old = dump("GPU 0: V100 (UUID: GPU-1)\n  Link 0: Rx0: 100 KBytes, Tx0: 50 KBytes\n");
    assert_eq!(
        old.ports[0].traffic,
        Some(Traffic {
            sent: 51_200,
            received: 102_400
        })
    );
    let told = |dump: &Dump| {
        dump.ports[0]
            .counted
            .map(|own| (own.counter, own.sent_line, own.received_line))
    };
    assert_eq!(told(&old), Some((Counter::Set(0), Some(2), Some(2))));
    assert_eq!(
        told(&self::dump(text)),
        Some((Counter::Data, Some(2), Some(3)))
    );
    let mixed = Kind::NvidiaSmiNvlink
        .read("GPU 0: V100\n  Link 0: Data Tx: 4 KiB\n  Link 0: Raw Rx: 4 KiB\n");
    assert!(
        mixed
            .unwrap_err()
            .to_string()
            .starts_with("line 3: link 0: this fact appears a second time")
    );
    let errors = dump(
        "GPU 0: V100 (UUID: GPU-1)\n  Link 0: Replay Errors: 7\n  Link 0: CRC Errors: 1\n\n  Link 1: Replay Errors: 0\n",
    );
    assert_eq!(errors.ports.len(), 2);
    assert!(
        errors
            .ports
            .iter()
            .all(|port| port.traffic.is_none() && port.active.is_none())
    );
}

#[test]
fn remote_addresses_of_the_devices_themselves_make_direct_links() {
    let [a, b, c] = ["00000000:C2:00.0", "00000000:D5:00.0", "00000000:E1:00.0"];
    let dump = dump(&remotes(&[&[b, b, c], &[a, a], &[a]]));
    assert_eq!(
        pci(&dump),
        ["0000:c2:00.0", "0000:d5:00.0", "0000:e1:00.0"].map(|pci| Some(pci.to_owned()))
    );
    assert!(dump.says.direct && dump.says.every_device && !dump.says.direct_gbps);
    assert_eq!(
        dump.ports[0].remote,
        Some(("0000:d5:00.0".to_owned(), Some(0)))
    );
    assert!(
        dump.machine.notes[0].contains("read as the devices' own"),
        "{:?}",
        dump.machine.notes
    );
    let graph = dump.into_machine().unwrap().graph().unwrap();
    let direct = |a: u32, b: u32| graph.pair(DeviceId(a), DeviceId(b)).direct;
    assert_eq!(
        (direct(0, 1).class, direct(0, 1).gbps),
        (LinkClass::Direct(2), 50.0)
    );
    assert_eq!(
        (direct(2, 0).class, direct(1, 2).class),
        (LinkClass::Direct(1), LinkClass::None)
    );
}

#[test]
fn remote_addresses_follow_the_vendors_numbers_whatever_the_order_of_lines() {
    let line = |i: usize, address: &str| {
        format!("GPU {i}: A (UUID: GPU-{i})\n Link 0: Remote Device {address}: Link 0\n")
    };
    let dump = dump(&(line(1, "00000000:01:00.0") + &line(0, "00000000:02:00.0")));
    assert_eq!(names(&dump), ["GPU1", "GPU0"]);
    assert_eq!(
        pci(&dump),
        [
            Some("0000:02:00.0".to_owned()),
            Some("0000:01:00.0".to_owned())
        ]
    );
}

#[test]
fn remote_addresses_that_all_devices_share_are_one_switched_fabric() {
    let switches: Vec<String> = (5..9)
        .map(|bus| format!("00000000:{bus:02x}:00.0"))
        .collect();
    let all: Vec<&str> = switches.iter().map(String::as_str).collect();
    let one_more: Vec<&str> = all.iter().copied().chain([all[0]]).collect();
    // As many switches as devices: but then devices would have links to themselves.
    for n in [2, 4, 8] {
        let mut devices: Vec<&[&str]> = vec![&one_more; n];
        devices[1] = &all;
        let dump = dump(&remotes(&devices));
        assert!(
            dump.says.direct && pci(&dump).iter().all(Option::is_none),
            "{n}"
        );
        assert!(
            dump.machine.notes[0].contains("switches"),
            "{:?}",
            dump.machine.notes
        );
        let graph = dump.into_machine().unwrap().graph().unwrap();
        assert_eq!(
            graph.device(DeviceId(0)).switch_port.map(|port| port.class),
            Some(LinkClass::Direct(5))
        );
        assert_eq!(
            graph.link(DeviceId(0), DeviceId(1)).class,
            LinkClass::Direct(4)
        );
    }
}

#[test]
fn remote_addresses_from_which_nothing_follows_are_only_noted() {
    let [a, b, c, d] = [
        "00000000:0A:00.0",
        "00000000:0B:00.0",
        "00000000:0C:00.0",
        "00000000:0D:00.0",
    ];
    let cases: [(&str, &[&[&str]]); 4] = [
        ("one device of more", &[&[b, c]]),
        ("two devices of a mesh of four", &[&[b, c, d], &[a, c, d]]),
        ("more links one way", &[&[b, b], &[a]]),
        ("two halves", &[&[a], &[a], &[b], &[b]]),
    ];
    for (what, devices) in cases {
        let dump = dump(&remotes(devices));
        assert!(
            !dump.says.direct && dump.machine.fabric.wires().count() == 0,
            "{what}"
        );
        assert!(
            dump.machine.notes[0].contains("do not show whether"),
            "{what}"
        );
        assert!(
            dump.ports.iter().all(|port| port.remote.is_some()),
            "{what}"
        );
    }
    let gap = dump(&remotes(&[&[b], &[a]]).replace("GPU 1:", "GPU 3:"));
    assert!(
        !gap.says.direct && !gap.says.every_device,
        "devices are missing"
    );
    assert_eq!(
        dump(&remotes(&[&[b], &[a]]))
            .into_machine()
            .unwrap()
            .graph()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn addresses_alone_are_remote_ends_too() {
    let dump = dump(
        "PPU 0: PPU (UUID: GPU-1)\n    Link 0: 00000000:02:00.0\nPPU 1: PPU (UUID: GPU-2)\n    Link 4: 00000000:01:00.0\n",
    );
    assert_eq!(
        dump.ports[1].remote,
        Some(("0000:01:00.0".to_owned(), None))
    );
    assert!(dump.says.direct);
    assert_eq!(
        uuids(&dump),
        [Some("GPU-1".to_owned()), Some("GPU-2".to_owned())]
    );
}

#[test]
fn marks_prompts_line_ends_and_more_output_around_it() {
    let plain = "GPU 0: A (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\nGPU 1: A (UUID: GPU-2)\n\t Link 0: 25 GB/s\n";
    let expected = dump(plain);
    let same = |text: &str| {
        let dump = dump(text);
        assert_eq!(
            (&dump.ports, names(&dump), uuids(&dump)),
            (&expected.ports, names(&expected), uuids(&expected)),
            "{text}"
        );
        assert_eq!(warnings(&dump.machine), [""; 0], "{text}");
    };
    same(&plain.replace('\n', "\r\n"));
    same(&plain.replace("\t ", ""));
    same(&format!(
        "user@gpu01:~$ nvidia-smi nvlink -s\n{plain}\nLink up, all is well. See the Link 0: it is fine\nuser@gpu01:~$ "
    ));
    same(&format!("{plain}\t C2C Link 0: 44.712 GB/s\n"));
    for mark in [
        "# ",
        "> ",
        "// ",
        "2025/05/21 09:40:05 s114 ",
        "[rank0]: ",
        "| ",
    ] {
        same(
            &plain
                .lines()
                .map(|line| format!("{mark}{line}\n"))
                .collect::<String>(),
        );
    }
}

#[test]
fn what_is_cut_or_broken_is_refused_by_line() {
    let head = "GPU 0: A (UUID: GPU-1)\n";
    for link in [
        "Link 0: 25.78",
        "Link 0: 25.781 GB",
        "Link 0:",
        "Link 0, P2P is",
        "Link 0: Remote Device 00000000:08:00.0: Lin",
    ] {
        refused(
            &format!("{head}\t {link}"),
            "line 2: link 0: expected a line such as `Link 0: 25.781 GB/s`",
        );
    }
    refused(
        &format!("{head} Link 1: 25 GB/s\n Link 0: 25 GB/s\n"),
        "line 3: link 0 after link 1: the links of an unnamed device",
    );
    refused(
        &format!("{head} Link 0: 25 GB/s\n Link 0: 25 GB/s\n"),
        "line 3: link 0: this fact appears a second time",
    );
    refused(
        &format!("{head} Link 0: <inactive>\n Link 0: 25 GB/s\n"),
        "line 3: link 0: this fact appears a second time",
    );
    refused(
        &format!(" Link 0: 25 GB/s\n{head} Link 0: 25 GB/s\n"),
        "line 1: links of a device that is not named",
    );
    refused(
        "Link 1: 25 GB/s\nLink 0: 25 GB/s\n",
        "line 2: link 0 after link 1",
    );
    refused(
        &format!("nk 3: 25 GB/s\n{head} Link 0: 25 GB/s\n"),
        "line 1: the beginning of the line is lost",
    );
    refused(
        &format!("{head} Link 0: 25 GB/s\n{head} Link 0: 25 GB/s\n"),
        "line 3: GPU 0 appears a second time, after line 1",
    );
    refused(
        &format!("{head} Link 0: 25 GB/s\nGPU 1: A (UUID: GPU-"),
        "line 3: the UUID does not end",
    );
    refused(
        &format!("{head} Link 0: 25 GB/s\nGPU 1: A\n Link 0: 25 GB/s\n"),
        "line 3: GPU 1 has no UUID, but others have",
    );
    refused(
        &format!("{head} Link 0: 25 GB/s\nGPU 1: A (UUID: GPU-1)\n"),
        "line 3: `GPU1` has UUID gpu-1, as another",
    );
    let many: String = (0..300)
        .map(|i| format!(" Link {i}: Remote Device 00000000:02:00.0: Link {i}\n"))
        .collect();
    let back = many.replace(":02:", ":01:");
    refused(
        &format!("{head}{many}GPU 1: A (UUID: GPU-2)\n{back}"),
        "line 1: 300 links to one device: expected at most 255",
    );
    let error = Kind::NvidiaSmiNvlink.read("hello").unwrap_err();
    assert_eq!((error.kind(), error.line()), (ErrorKind::Malformed, None));
    assert_eq!(
        Kind::NvidiaSmiNvlink
            .read("...\nLink 4: 25 GB/s\n")
            .unwrap_err()
            .line(),
        None,
        "whose is it?"
    );
}

#[test]
fn other_texts_are_not_taken_for_links() {
    let matrix =
        "GPU 0: A (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n";
    assert_eq!(
        recognise(matrix).unwrap(),
        Kind::NvidiaSmiTopo,
        "a matrix says more"
    );
    assert_eq!(
        recognise("GPU 0: A (UUID: GPU-1)\nC2C Link 0: 44.712 GB/s\n").unwrap(),
        Kind::NvidiaSmiList
    );
    assert_eq!(
        recognise("Link 0: whatever\n").unwrap_err().kind(),
        ErrorKind::Unknown
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
    fn cut_texts_are_refused_or_are_parts(cut in 0usize..140) {
        let text = "GPU 0: A (UUID: GPU-1)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>\nGPU 1: A (UUID: GPU-2)\n\t Link 0: 25.781 GB/s\n\t Link 1: 25.781 GB/s\n";
        let whole = dump(text);
        match Kind::NvidiaSmiNvlink.read(&text[..cut.min(text.len())]) {
            Ok(part) => prop_assert_eq!(&part.ports[..], &whole.ports[..part.ports.len()]),
            Err(error) => prop_assert!(error.line().is_some() || cut < 7),
        }
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "GPU 0: T4", "GPU 1: T4", "GPU 1: T4 (UUID: GPU-1)", "Link 0:", "Link 1:", "Link 1,", "25 GB/s", "<inactive>",
            "Remote Device 00000000:01:00.0: Link 1", "Remote Device 00000000:02:00.0: Link 1", "P2P is supported: true",
            "Data Tx: 1 KiB", "Rx0: 1 KBytes, Tx0: 2 KBytes", "\n", "\n", "\n", "...", "é", "99999999999", "[snip]",
        ]), 0..30)) {
        let text = words.join(" ");
        let _ = recognise(&text);
        if let Ok(dump) = Kind::NvidiaSmiNvlink.read(&text) {
            let n = names(&dump).len();
            prop_assert!(n > 0 && dump.ports.iter().all(|port| port.device.index() < n));
            prop_assert!(dump.machine.graph().is_ok());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in ".{0,200}") {
        let _ = Kind::NvidiaSmiNvlink.read(&text);
        let _ = read(text.as_bytes());
    }
}
