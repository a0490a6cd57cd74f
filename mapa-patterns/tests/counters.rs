//! Counters of links become application graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::common::notes;
use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_patterns::{Application, Counters, Error, NoteKind, PcieSamples, Reading, Unit};
use mapa_topologies::{Kind, named};
use proptest::collection::vec;
use proptest::prelude::*;

/// As the paper's Fig. 9b prints it: GPUs 5 and 6 of a DGX-1 with P100s.
const FIG_9B: &str = include_str!("readings/fig-9b.txt");

fn graph(name: &str) -> HardwareGraph {
    named(name).unwrap().graph().unwrap()
}

/// What each link of each GPU sent and received, KiB, as `-gt d` prints it.
fn print(devices: &[(u32, &[(u64, u64)])]) -> String {
    let mut text = String::new();
    for (number, links) in devices {
        writeln!(
            text,
            "GPU {number}: Tesla V100-SXM2-16GB (UUID: GPU-{number:04x})"
        )
        .unwrap();
        for (link, (sent, received)) in links.iter().enumerate() {
            write!(
                text,
                "\t Link {link}: Data Tx: {sent} KiB\n\t Link {link}: Data Rx: {received} KiB\n"
            )
            .unwrap();
        }
    }
    text
}

fn reading(devices: &[(u32, &[(u64, u64)])]) -> Reading {
    Reading::read(&print(devices)).unwrap()
}

/// Edges between labels, in KiB.
fn edges(application: &Application) -> Vec<(String, String, f64)> {
    let label = |rank: u16| application.label(usize::from(rank));
    application
        .pattern
        .edges()
        .iter()
        .map(|edge| (label(edge.a), label(edge.b), edge.traffic / 1024.0))
        .collect()
}

fn edge(a: u32, b: u32, kib: u64) -> (String, String, f64) {
    (format!("GPU{a}"), format!("GPU{b}"), kib as f64)
}

fn kinds(application: &Application) -> Vec<NoteKind> {
    application.notes.iter().map(|note| note.kind).collect()
}

fn between(before: &str, after: &str, resets: bool) -> Result<Application, Error> {
    let (before, after) = (Reading::read(before)?, Reading::read(after)?);
    let mut counters = Counters::new(&after);
    counters.before = Some(&before);
    counters.resets = resets;
    counters.application()
}

#[test]
fn the_papers_example_is_one_edge_with_and_without_its_machine() {
    let reading = Reading::read(FIG_9B).unwrap();
    let alone = Counters::new(&reading).application().unwrap();
    let p100 = graph("dgx-1p");
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&p100);
    let on_machine = counters.application().unwrap();
    for application in [&alone, &on_machine] {
        assert_eq!(edges(application), [edge(5, 6, 6_417_636_280)]);
        assert_eq!(
            (application.unit, application.pattern.len()),
            (Unit::Bytes, 2)
        );
    }
    assert!(
        notes(&alone).contains(
            "inferred from counters that mirror each other, without the machine: GPU5 link 0 and GPU6 link 2"
        )
    );
    assert_eq!(kinds(&on_machine), []);
}

#[test]
fn the_difference_of_two_readings_counts() {
    let before = print(&[(0, &[(100, 50), (7, 7)]), (1, &[(50, 100), (9, 9)])]);
    let after = print(&[
        (0, &[(100_100, 40_050), (7, 7)]),
        (1, &[(40_050, 100_100), (9, 9)]),
    ]);
    let application = between(&before, &after, false).unwrap();
    assert_eq!(edges(&application), [edge(0, 1, 100_000)]);
    assert!(application.source.starts_with("two readings: payload"));
}

#[test]
fn counters_that_run_backwards_are_refused_with_their_line_or_count_from_their_reset() {
    let before = print(&[(0, &[(1000, 500), (10, 20)]), (1, &[(500, 1000), (20, 10)])]);
    // Link 0 was reset at both ends; link 1 went on.
    let after = print(&[(0, &[(300, 200), (12, 24)]), (1, &[(200, 300), (24, 12)])]);
    let error = between(&before, &after, false).unwrap_err();
    assert_eq!(error.line(), Some(3), "{error}");
    insta::assert_snapshot!(
        error.to_string(),
        @"line 3: GPU0 link 0 sent 307200 and received 204800 bytes, but sent 1024000 and received 512000 bytes in the earlier reading: its counters were reset between the readings (or have wrapped, at a width that is not documented): expected two readings without a reset between them, or --resets to count from the reset"
    );
    let application = between(&before, &after, true).unwrap();
    assert_eq!(edges(&application), [edge(0, 1, 302)]);
    let places: Vec<&str> = application
        .notes
        .iter()
        .map(|note| note.place.as_str())
        .collect();
    assert!(
        places.contains(&"line 3") && places.contains(&"line 8"),
        "{places:?}"
    );
    // The readings the wrong way around: nothing ran forwards.
    let swapped = between(
        &print(&[(0, &[(9, 9)]), (1, &[(9, 9)])]),
        &print(&[(0, &[(5, 5)]), (1, &[(5, 5)])]),
        false,
    );
    insta::assert_snapshot!(
        swapped.unwrap_err().to_string(),
        @"line 3: GPU0 link 0 sent 5120 and received 5120 bytes, but sent 9216 and received 9216 bytes in the earlier reading: no counter ran forwards: expected the earlier reading first"
    );
}

#[test]
fn readings_of_different_links_devices_or_counters_are_refused() {
    let one: &[(u64, u64)] = &[(1, 1)];
    let two: &[(u64, u64)] = &[(1, 1), (2, 2)];
    let said = [
        (
            print(&[(0, one), (1, one)]),
            print(&[(0, two), (1, one)]),
            Some(5),
        ),
        (
            print(&[(0, two), (1, one)]),
            print(&[(0, one), (1, one)]),
            Some(3),
        ),
        (print(&[(0, one)]), print(&[(0, one), (1, one)]), None),
        (print(&[(0, one), (1, one)]), print(&[(0, one)]), None),
        (
            print(&[(0, one)]).replace("GPU-0000", "GPU-ffff"),
            print(&[(0, one)]),
            Some(3),
        ),
        (
            print(&[(0, one)]).replace("Data", "Raw"),
            print(&[(0, one)]),
            None,
        ),
    ]
    .map(|(before, after, line)| {
        let error = between(&before, &after, false).unwrap_err();
        assert_eq!(error.line(), line, "{error}");
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    line 5: GPU0 link 1 is not counted in the earlier reading: expected the same links in both
    line 3: GPU0 link 1, line 5 of the earlier reading, is not counted in the later: expected the same links in both
    GPU1 is in the later reading alone (line 6 of it): expected the same GPUs in both
    GPU1 is in the earlier reading alone (line 6 of it): expected the same GPUs in both
    line 3: GPU0 is GPU-0000, but was GPU-ffff in the earlier reading: expected the same GPU
    the readings are of two counters, Raw and Data: expected the same option for both
    ");
}

#[test]
fn what_counts_no_bytes_both_ways_is_refused() {
    let said = [
        "GPU 0: V100\n Link 0: Data Tx: N/A\n Link 0: Data Rx: N/A\n",
        "GPU 0: V100\n Link 0: Rx0: 5 Packets, Tx0: 6 Packets\n",
        "GPU 0: V100\n Link 0: Data Tx: 4 KiB\n",
        "GPU 0: V100\n Link 0: Data Tx: 4 KiB\n Link 0: Data Rx: 4\n",
        "GPU 0: V\n Link 0: Data Tx: 4 KiB\n Link 0: Data Rx: 4 KiB\n Link 1: Raw Tx: 4 KiB\n Link 1: Raw Rx: 4 KiB\n",
        "",
    ]
    .map(|text| {
        let error = Reading::read(text).unwrap_err().to_string();
        format!("{text:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "GPU 0: V100\n Link 0: Data Tx: N/A\n Link 0: Data Rx: N/A\n" -> no byte counters, but perhaps packets or cycles, or N/A: expected the output of `nvidia-smi nvlink -gt d` or `-g 0` while bytes are counted
    "GPU 0: V100\n Link 0: Rx0: 5 Packets, Tx0: 6 Packets\n" -> no byte counters, but perhaps packets or cycles, or N/A: expected the output of `nvidia-smi nvlink -gt d` or `-g 0` while bytes are counted
    "GPU 0: V100\n Link 0: Data Tx: 4 KiB\n" -> line 2: link 0 is counted in one direction: expected both Tx and Rx
    "GPU 0: V100\n Link 0: Data Tx: 4 KiB\n Link 0: Data Rx: 4\n" -> line 3: link 0: expected a line such as `Link 0: 25.781 GB/s`, `Link 0: <inactive>`, `Link 0: Remote Device 00000000:1B:00.0: Link 5`, `Link 0, P2P is supported: true` or `Link 0: Data Tx: 12 KiB`
    "GPU 0: V\n Link 0: Data Tx: 4 KiB\n Link 0: Data Rx: 4 KiB\n Link 1: Raw Tx: 4 KiB\n Link 1: Raw Rx: 4 KiB\n" -> line 4: another counter than those above: expected one of `-gt d`, `-gt r`, `-g 0` and `-g 1`
    "" -> no links found: expected a line such as `Link 0: 25.781 GB/s`, `Link 0: <inactive>`, `Link 0: Remote Device 00000000:1B:00.0: Link 5`, `Link 0, P2P is supported: true` or `Link 0: Data Tx: 12 KiB`
    "#);
}

#[test]
fn links_below_the_noise_are_left_out_and_told() {
    let devices: [(u32, &[(u64, u64)]); 2] = [
        (0, &[(100_000, 0), (900, 5)]),
        (1, &[(0, 100_000), (5, 900)]),
    ];
    let reading = reading(&devices);
    let mut counters = Counters::new(&reading);
    let application = counters.application().unwrap();
    assert_eq!(edges(&application), [edge(0, 1, 100_000)]);
    assert!(
        notes(&application)
            .contains("left-out: 2 of 4 link ends with traffic carry less than 1 % of the busiest")
    );
    counters.noise = 0.0;
    assert_eq!(
        edges(&counters.application().unwrap()),
        [edge(0, 1, 100_900)]
    );
    counters.noise = 2.0;
    assert!(counters.application().is_err());
}

#[test]
fn ends_that_were_read_at_different_moments_match_within_the_tolerance() {
    let reading = reading(&[(0, &[(100_000, 80_000)]), (1, &[(80_300, 100_500)])]);
    let mut counters = Counters::new(&reading);
    assert_eq!(
        edges(&counters.application().unwrap()),
        [edge(0, 1, 100_500)]
    );
    counters.tolerance = 1e-3;
    let application = counters.application().unwrap();
    // Not the ends of one link any more, but nobody else could have been their peers.
    assert_eq!(
        kinds(&application),
        [NoteKind::Undecided, NoteKind::Assumed],
        "{}",
        notes(&application)
    );
}

#[test]
fn several_assignments_that_fit_become_all_to_all_and_say_so() {
    // Four devices whose links all carry the same: without the machine any two could be joined.
    let same: &[(u64, u64)] = &[(5000, 5000)];
    let reading = reading(&[(0, same), (1, same), (2, same), (3, same)]);
    let application = Counters::new(&reading).application().unwrap();
    assert_eq!(application.pattern.edges().len(), 6);
    assert!(
        kinds(&application).contains(&NoteKind::Undecided)
            && kinds(&application).contains(&NoteKind::Assumed)
    );
    assert!(
        edges(&application)
            .iter()
            .all(|(.., kib)| (kib - 5000.0 / 3.0).abs() < 1e-6)
    );
}

#[test]
fn a_busy_machine_whose_links_all_carry_the_same_is_its_own_graph() {
    let machine = graph("dgx-1v");
    let links = [(7000, 7000); 6];
    let devices: Vec<(u32, &[(u64, u64)])> = (0..8).map(|number| (number, &links[..])).collect();
    let reading = reading(&devices);
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&machine);
    let application = counters.application().unwrap();
    let expected: Vec<_> = joined(&machine)
        .into_iter()
        .map(|((a, b), n)| edge(a, b, 7000 * n as u64))
        .collect();
    assert_eq!(
        (edges(&application), kinds(&application)),
        (expected, vec![])
    );
}

#[test]
fn traffic_with_devices_that_were_not_read_is_left_out_and_named() {
    // A ring of 0, 1, 2 and 3: 0 sends 50,000, all others 80,000, striped over the links of each
    // pair.
    let machine = graph("dgx-1v");
    let idle = (0, 0);
    let gpu0 = [(50_000, 0), (0, 40_000), (0, 40_000), idle, idle, idle];
    let gpu1 = [(0, 50_000), (40_000, 0), (40_000, 0), idle, idle, idle];
    let gpu2 = [
        (0, 40_000),
        (0, 40_000),
        (40_000, 0),
        (40_000, 0),
        idle,
        idle,
    ];
    let two = reading(&[(0, &gpu0), (1, &gpu1)]);
    let three = reading(&[(0, &gpu0), (1, &gpu1), (2, &gpu2)]);
    for (reading, expected) in [
        (two, vec![edge(0, 1, 50_000)]),
        (three, vec![edge(0, 1, 50_000), edge(1, 2, 80_000)]),
    ] {
        let mut counters = Counters::new(&reading);
        counters.machine = Some(&machine);
        let application = counters.application().unwrap();
        assert_eq!(edges(&application), expected, "{}", notes(&application));
        let told = notes(&application);
        assert!(
            told.contains("left-out: traffic with devices outside the reading, 164 MB in all: GPU0 link 1 (41.0 MB)"),
            "{told}"
        );
    }
}

#[test]
fn what_could_lead_inside_or_outside_is_told_and_keeps_to_the_links() {
    // A ring of equal traffic over GPUs of which two were read, joined by one link.
    let machine = graph("dgx-1v");
    let ring = [(7000, 0), (0, 7000), (0, 0), (0, 0), (0, 0), (0, 0)];
    let reading = reading(&[(0, &ring), (1, &ring)]);
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&machine);
    let application = counters.application().unwrap();
    assert_eq!(edges(&application), [edge(0, 1, 7000)]);
    assert_eq!(
        kinds(&application),
        [NoteKind::Undecided, NoteKind::LeftOut],
        "{}",
        notes(&application)
    );
    assert!(notes(&application).contains("(--remotes)"));
}

#[test]
fn another_machine_than_that_of_the_reading_is_told() {
    let machine = graph("dgx-1v");
    let reading = Reading::read(FIG_9B).unwrap();
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&machine);
    counters.title = Some("NVIDIA DGX-1 with eight Tesla V100");
    let told = notes(&counters.application().unwrap());
    assert!(told.contains("GPU5 has 4 links, the machine's 6"), "{told}");
    assert!(told.contains("GPU5 is a Tesla P100"), "{told}");
}

#[test]
fn near_counters_are_no_evidence_against_others_that_are_near_enough() {
    // A ring of 0, 1, 3 and 2, of which 0 and 3 were read at almost the same moment.
    let machine = graph("dgx-1v");
    let gpu = |kib: u64| [(kib, kib), (kib, kib), (0, 0), (0, 0), (0, 0), (0, 0)];
    let (first, second) = (gpu(10_000_000), gpu(10_050_000));
    let (late, later) = (gpu(10_000_010), gpu(10_050_010));
    let none = gpu(0);
    let mut devices: Vec<(u32, &[(u64, u64)])> =
        vec![(0, &first), (1, &second), (2, &later), (3, &late)];
    devices.extend((4..8).map(|number| (number, &none[..])));
    let reading = reading(&devices);
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&machine);
    let application = counters.application().unwrap();
    assert!(
        kinds(&application).contains(&NoteKind::Undecided),
        "{}",
        notes(&application)
    );
    assert!(application.pattern.edges().len() > 2);
}

#[test]
fn what_the_driver_says_of_other_ends_comes_first() {
    let text = print(&[
        (0, &[(9000, 4000), (3000, 1000)]),
        (1, &[(4000, 9000)]),
        (2, &[(1000, 2000)]),
    ]);
    let says = "GPU 0: V100 (UUID: GPU-0000)\n Link 0: Remote Device 00000000:07:00.0: Link 0\n Link 1: Remote Device 00000000:0A:00.0: Link 0
GPU 1: V100 (UUID: GPU-0001)\n Link 0: Remote Device 00000000:06:00.0: Link 0
GPU 2: V100 (UUID: GPU-0002)\n Link 0: Remote Device 00000000:06:00.0: Link 1\n";
    let (reading, remotes) = (
        Reading::read(&text).unwrap(),
        Kind::NvidiaSmiNvlink.read(says).unwrap(),
    );
    let mut counters = Counters::new(&reading);
    counters.remotes = Some(&remotes);
    let application = counters.application().unwrap();
    assert_eq!(edges(&application), [edge(0, 1, 9000), edge(0, 2, 3000)]);
    // GPU2 received less than GPU0 sent it.
    assert!(
        notes(&application).contains("disagree by more than 1 %: GPU0 link 1 sent"),
        "{}",
        notes(&application)
    );
    // No other ends in what was given for them.
    let none = Kind::NvidiaSmiNvlink.read(&text).unwrap();
    counters.remotes = Some(&none);
    insta::assert_snapshot!(
        counters.application().unwrap_err().to_string(),
        @"no remote ends of links: expected the output of `nvidia-smi nvlink -R` or `-p`"
    );
}

#[test]
fn ranks_are_in_the_order_that_is_told() {
    let text = print(&[
        (0, &[(9000, 4000), (3000, 1000)]),
        (1, &[(4000, 9000)]),
        (2, &[(1000, 3000)]),
    ]);
    let reading = Reading::read(&text).unwrap();
    let mut counters = Counters::new(&reading);
    let devices = ["GPU-0002", "gpu0"].map(str::to_owned);
    counters.devices = &devices;
    let application = counters.application().unwrap();
    assert_eq!(application.labels, ["GPU2", "GPU0"]);
    assert_eq!(
        edges(&application),
        [("GPU2".to_owned(), "GPU0".to_owned(), 3000.0)]
    );
    assert!(notes(&application).contains("between the job's devices and others"));
    let said = [["7", "0"], ["0", "GPU0"]].map(|words| {
        let devices = words.map(str::to_owned);
        let mut counters = Counters::new(&reading);
        counters.devices = &devices;
        format!("{words:?} -> {}", counters.application().unwrap_err())
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    ["7", "0"] -> --devices 7: device `7` is not in the reading: expected one of GPU0, GPU1, GPU2
    ["0", "GPU0"] -> device `GPU0` is named twice: expected each device once
    "#);
}

#[test]
fn behind_switches_everybody_may_have_talked_to_everybody() {
    let machine = graph("dgx-2");
    let busy = |kib: u64| [(kib, kib); 6];
    let (busy, idle) = (busy(6000), busy(0));
    let devices: Vec<(u32, &[(u64, u64)])> = (0..16)
        .map(|number| (number, if number < 4 { &busy[..] } else { &idle }))
        .collect();
    let reading = reading(&devices);
    let mut counters = Counters::new(&reading);
    counters.machine = Some(&machine);
    let application = counters.application().unwrap();
    assert_eq!(
        (application.pattern.len(), application.pattern.edges().len()),
        (4, 6)
    );
    for rank in 0..4 {
        let own = application
            .pattern
            .edges()
            .iter()
            .filter(|edge| edge.a == rank || edge.b == rank);
        assert!((own.map(|edge| edge.traffic).sum::<f64>() - 36_000.0 * 1024.0).abs() < 1.0);
    }
    assert_eq!(kinds(&application), [NoteKind::Assumed]);
    assert!(notes(&application).contains("the links lead to switches"));
}

#[test]
fn traffic_over_pcie_of_devices_without_direct_traffic_is_assumed_never_silent() {
    let text = print(&[
        (0, &[(90_000, 40_000)]),
        (1, &[(40_000, 90_000)]),
        (2, &[(0, 0)]),
    ]);
    let reading = Reading::read(&text).unwrap();
    let samples = "# gpu rxpci txpci\n# Idx  MB/s  MB/s\n    0    10    20\n    1     0     5\n    2    20    10\n";
    let samples = PcieSamples::read(samples, 1.0).unwrap();
    let mut counters = Counters::new(&reading);
    counters.pcie = Some(&samples);
    let application = counters.application().unwrap();
    assert_eq!(application.labels, ["GPU0", "GPU1", "GPU2"]);
    let pairs: Vec<_> = application
        .pattern
        .edges()
        .iter()
        .map(|edge| (edge.a, edge.b))
        .collect();
    assert_eq!(pairs, [(0, 1), (0, 2)]);
    assert_eq!(application.pattern.edges()[1].traffic, 20e6);
    let notes = notes(&application);
    assert!(
        notes.contains("it may be traffic with the host")
            && notes.contains("PCIe traffic of GPU1, assumed to be with the host"),
        "{notes}"
    );
}

/// How many direct links join each two devices.
fn joined(machine: &HardwareGraph) -> BTreeMap<(u32, u32), usize> {
    let n = machine.len() as u32;
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
    let links = |(a, b): (u32, u32)| match machine.pair(DeviceId(a), DeviceId(b)).direct.class {
        LinkClass::Direct(links) => Some(((a, b), usize::from(links))),
        _ => None,
    };
    pairs.filter_map(links).collect()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]

    /// Traffic between joined devices, spread over their links, which every device numbers in an
    /// order of its own.
    #[test]
    fn traffic_comes_back_from_the_counters_that_it_leaves(
        amounts in vec((1_000_000_u64..100_000_000, 1_000_000_u64..100_000_000, any::<bool>(), 0.3_f64..0.7), 16),
        order in vec(any::<u32>(), 48),
        lag in 0_u64..3,
        on_machine in any::<bool>(),
    ) {
        let machine = graph("dgx-1v");
        let mut links: Vec<Vec<(u64, u64)>> = vec![Vec::new(); 8];
        let mut expected = Vec::new();
        for (((a, b), count), (forth, back, talks, share)) in joined(&machine).into_iter().zip(amounts) {
            let (forth, back) = if talks { (forth, back) } else { (0, 0) };
            for link in 0..count {
                let part = |all: u64| if count == 1 { all } else {
                    let first = (all as f64 * share) as u64;
                    if link == 0 { first } else { all - first }
                };
                // The second end was read a little later.
                let later = if talks { lag } else { 0 };
                links[a as usize].push((part(forth), part(back)));
                links[b as usize].push((part(back) + later, part(forth) + later));
            }
            if talks {
                expected.push(edge(a, b, (forth + count as u64 * lag).max(back + count as u64 * lag)));
            }
        }
        for (device, rates) in links.iter_mut().enumerate() {
            let mut keyed: Vec<_> = rates.iter().copied().zip(&order[device * 6..]).collect();
            keyed.sort_by_key(|(_, key)| **key);
            *rates = keyed.into_iter().map(|(link, _)| link).collect();
        }
        let devices: Vec<(u32, &[(u64, u64)])> = (0..).zip(links.iter().map(Vec::as_slice)).collect();
        let text = print(&devices);
        let reading = Reading::read(&text).unwrap();
        let mut counters = Counters::new(&reading);
        counters.machine = on_machine.then_some(&machine);
        counters.tolerance = 1e-4;
        match counters.application() {
            Ok(application) => {
                let mut found = edges(&application);
                expected.sort_by(|x, y| x.partial_cmp(y).unwrap());
                found.sort_by(|x, y| x.partial_cmp(y).unwrap());
                prop_assert_eq!(found.len(), expected.len(), "{}\n{}", text, notes(&application));
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert_eq!((&found.0, &found.1), (&expected.0, &expected.1), "{}", text);
                    // The slower direction may have been the lagging one.
                    prop_assert!((found.2 - expected.2).abs() <= 2.0 * lag as f64, "{:?} {:?}\n{}", found, expected, text);
                }
                prop_assert_eq!(counters.application().unwrap(), application);
            }
            Err(_) => prop_assert!(expected.is_empty()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(pieces in vec(prop_oneof![
        Just("GPU 0: V (UUID: GPU-1)\n"), Just("GPU 1: V (UUID: GPU-2)\n"), Just(" Link 0: "), Just(" Link 1: "), Just("Data Tx: 7 KiB\n"),
        Just("Data Rx: 7 KiB\n"), Just("Raw Rx: N/A\n"), Just("Rx0: 9 KBytes, Tx0: 4 KBytes\n"), Just("\n"), Just("é"),
        Just("18446744073709551615 KiB\n"), Just("# gpu rxpci txpci\n"), Just("0 1 2\n"), Just("0 - 9\n"),
    ], 0..24)) {
        let text: String = pieces.concat();
        let _ = PcieSamples::read(&text, 1.0);
        if let Ok(reading) = Reading::read(&text) {
            let mut counters = Counters::new(&reading);
            counters.before = Some(&reading);
            let _ = counters.application();
            counters.before = None;
            if let Ok(application) = counters.application() {
                prop_assert_eq!(application.labels.len(), application.pattern.len());
            }
        }
    }
}
