//! The tree in NCCL's log: what no single text of the corpus shows.

use std::fmt::Write;

use crate::corpus::text;
use mapa_core::{DeviceId, LinkClass};
use mapa_topologies::{Dump, Kind, collective_rates, read};
use proptest::prelude::*;

/// A device of a made-up machine.
#[derive(Clone, Debug)]
struct Place {
    cpu: usize,
    /// The switches above it, from the CPU down.
    switches: Vec<usize>,
}

/// A machine: the switches of each CPU, each with switches below it, each with a number of devices.
fn machine() -> impl Strategy<Value = Vec<Vec<Vec<usize>>>> {
    let inner = prop::collection::vec(0usize..3, 1..3);
    prop::collection::vec(prop::collection::vec(inner, 0..3), 1..4)
}

/// The devices of a machine, in the order of their addresses.
fn places(machine: &[Vec<Vec<usize>>]) -> Vec<Place> {
    let mut places = Vec::new();
    for (cpu, outers) in machine.iter().enumerate() {
        for (o, inners) in outers.iter().enumerate() {
            for (i, &devices) in inners.iter().enumerate() {
                // The first inner switch stands for none: its devices are directly below the outer one.
                let switches = if i == 0 { vec![o] } else { vec![o, i] };
                places.extend(vec![Place { cpu, switches }; devices]);
            }
        }
    }
    places
}

/// The class of the path between two devices, by the levels that they have in common.
fn class(a: &Place, b: &Place) -> LinkClass {
    if a.cpu != b.cpu {
        LinkClass::Sys
    } else if a.switches == b.switches {
        LinkClass::Pix
    } else if a.switches[0] == b.switches[0] {
        LinkClass::Pxb
    } else {
        LinkClass::Phb
    }
}

/// How a version prints.
#[derive(Clone, Copy, Debug)]
struct Form {
    widths: bool,
    with_hosts: bool,
    link: &'static str,
    each: f64,
}

const FORMS: [Form; 4] = [
    Form {
        widths: true,
        with_hosts: false,
        link: "NVL",
        each: 21.0,
    },
    Form {
        widths: false,
        with_hosts: false,
        link: "NVL",
        each: 20.0,
    },
    Form {
        widths: false,
        with_hosts: true,
        link: "NVL",
        each: 20.6,
    },
    Form {
        widths: false,
        with_hosts: true,
        link: "XGMI",
        each: 48.0,
    },
];

/// Prints a machine as NCCL does. `links[i]` are those between devices i and i + 1.
fn printed(machine: &[Vec<Vec<usize>>], links: &[u32], form: Form, backwards: bool) -> String {
    let id = |id: usize| {
        if form.with_hosts {
            format!("0-{id:x}")
        } else {
            format!("{id:X}")
        }
    };
    let gpu = |device: usize| id((device + 1) << 12);
    let word = if form.widths { "Width" } else { "Bw" };
    let places = places(machine);
    let sum = |device: usize| {
        let before = device.checked_sub(1).map_or(0, |before| links[before]);
        let behind = if device + 1 < places.len() {
            links[device]
        } else {
            0
        };
        f64::from(before + behind) * form.each
    };
    let most = (0..places.len()).map(sum).fold(24.0, f64::max);
    let mut cpus: Vec<String> = Vec::new();
    for cpu in 0..machine.len() {
        let mut text = format!("CPU/{} (1/1/2)\n", id(cpu));
        let mut above: Vec<usize> = Vec::new();
        for (device, place) in places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.cpu == cpu)
        {
            let common = above
                .iter()
                .zip(&place.switches)
                .take_while(|(a, b)| a == b)
                .count();
            for depth in common..place.switches.len() {
                let switch = id((0x80
                    + 16 * cpu
                    + 4 * place.switches[0]
                    + depth * place.switches[depth])
                    << 20);
                writeln!(
                    text,
                    "{}+ PCI[24.0] - PCI/{switch} (1000c01010000000)",
                    " ".repeat(14 * depth)
                )
                .unwrap();
            }
            above.clone_from(&place.switches);
            let indent = " ".repeat(14 * above.len());
            writeln!(
                text,
                "{indent}+ PCI[24.0] - GPU/{} ({})",
                gpu(device),
                places.len() - device
            )
            .unwrap();
            let mut link = |other: usize, links: u32| {
                if links > 0 {
                    let gbps = f64::from(links) * form.each;
                    writeln!(
                        text,
                        "{indent}{:14}+ {}[{gbps:.1}] - GPU/{}",
                        "",
                        form.link,
                        gpu(other)
                    )
                    .unwrap();
                }
            };
            if device > 0 {
                link(device - 1, links[device - 1]);
            }
            if device + 1 < places.len() {
                link(device + 1, links[device]);
            }
        }
        for other in (0..machine.len()).filter(|&other| other != cpu) {
            writeln!(text, "+ SYS[10.0] - CPU/{}", id(other)).unwrap();
        }
        cpus.push(text);
    }
    if backwards {
        cpus.reverse();
    }
    let tree = format!(
        "=== System : max{word} 24.0 total{word} {most:.1} ===\n{}{}\n",
        cpus.concat(),
        "=".repeat(42)
    );
    tree.lines()
        .map(|line| format!("node1:12:34 [0] NCCL INFO {line}\n"))
        .collect()
}

proptest! {
    /// A machine printed as NCCL prints it reads back: classes of paths, and numbers and bandwidths of direct links.
    #[test]
    fn printed_machines_read_back(
        machine in machine(),
        links in prop::collection::vec(0u32..3, 40),
        form in prop::sample::select(FORMS.to_vec()),
        backwards in any::<bool>(),
    ) {
        let text = printed(&machine, &links, form, backwards);
        let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!((dump.kind, &dump.machine.warnings[..]), (Kind::NcclLog, &[][..]), "{}", text);
        let places = places(&machine);
        prop_assert_eq!(dump.machine.fabric.device_count(), places.len());
        if places.is_empty() {
            return Ok(());
        }
        let graph = dump.into_machine().unwrap().graph().unwrap();
        for b in 0..places.len() {
            for a in 0..b {
                let pair = graph.pair(DeviceId(a as u32), DeviceId(b as u32));
                prop_assert_eq!(pair.host.class, class(&places[a], &places[b]), "{} {}\n{}", a, b, text);
                let told = if a + 1 == b { links[a] } else { 0 };
                let number = match pair.direct.class {
                    LinkClass::Direct(links) => u32::from(links),
                    _ => 0,
                };
                prop_assert_eq!(number, told, "{} {}\n{}", a, b, text);
                if told > 0 {
                    prop_assert!((pair.direct.gbps - f64::from(told) * form.each).abs() < 0.06, "{}", text);
                }
            }
        }
    }

    /// Cut before its last line, a log is refused, or read with a warning. With any byte changed, it is read or refused.
    #[test]
    fn damaged_logs_are_read_or_refused(cut in any::<prop::sample::Index>(), byte in any::<u8>(), at in any::<prop::sample::Index>()) {
        let plain = text("nccl_log/plain.txt");
        let end = plain.find("NCCL INFO ====================").unwrap();
        if let Ok(dump) = Kind::NcclLog.read(&plain[..cut.index(end)]) {
            prop_assert!(!dump.machine.warnings.is_empty());
        }
        let at = at.index(plain.len());
        let mut bytes = plain.into_bytes();
        bytes[at] = byte;
        let machine = Kind::NcclLog
            .read(&String::from_utf8_lossy(&bytes))
            .and_then(Dump::into_machine);
        if let Ok(machine) = machine {
            prop_assert!(machine.graph().is_ok());
        }
    }
}

#[test]
fn figures_that_are_counted_already_are_not_taken_for_another_generation() {
    // 20 GB/s a link is also the nominal bandwidth of NVLink 1.
    let machine = read(text("nccl_log/plain.txt").as_bytes())
        .unwrap()
        .into_machine()
        .unwrap();
    assert_eq!(mapa_topologies::link_generation(&machine), None);
    let rates = collective_rates(&machine).unwrap();
    assert_eq!((rates.direct, rates.host), (1.0, 1.0));
}

#[test]
fn more_than_any_machine_has_is_refused() {
    let tree = |rows: String| {
        format!(
            "=== System : maxBw 12.0 totalBw 12.0 ===\nCPU/0 (1/1/2)\n{rows}{}\n",
            "=".repeat(42)
        )
    };
    let gpus = tree(
        (1..=1025)
            .map(|i| format!("+ PCI[12.0] - GPU/{:X} ({i})\n", i << 12))
            .collect(),
    );
    let error = Kind::NcclLog.read(&gpus).unwrap_err().to_string();
    assert_eq!(error, "line 1027: more than 1024 devices");
    let deep = tree(
        (1..200)
            .map(|i| format!("{}+ PCI[12.0] - PCI/{:X}000\n", " ".repeat(i), i))
            .collect(),
    );
    let error = Kind::NcclLog.read(&deep).unwrap_err().to_string();
    assert_eq!(error, "line 131: more than 128 levels");
}
