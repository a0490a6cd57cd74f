//! The catalogue: what its page says of each product holds for its file; formulas have their closed
//! forms; real dumps are the catalogue's machines up to renumbering.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use crate::common::dumps::{count, ids};
use crate::common::isomorphism::{Likeness, isomorphism};
use crate::common::real_data;
use mapa_core::{DeviceId, Fabric, FabricWire, HardwareGraph, LinkClass, NodeKind};
use mapa_topologies::{Dump, Machine, catalogue, formulas, link_speeds, named, read};
use proptest::prelude::*;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How many direct links a device has: its port's, and those that do not go through a switch.
fn degrees(machine: &Machine) -> Vec<u32> {
    let mut links = BTreeMap::new();
    for (a, b, wire) in machine.fabric.wires() {
        if let FabricWire::Link(link) = wire {
            *links.entry(a).or_insert(0) += count(link.class);
            *links.entry(b).or_insert(0) += count(link.class);
        }
    }
    let devices = machine
        .fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)));
    devices
        .map(|(id, _)| links.get(&id).copied().unwrap_or(0))
        .collect()
}

/// GB/s per direction of one direct link, least and most.
fn link_gbps(machine: &Machine) -> Option<(f64, f64)> {
    let mut each = machine
        .fabric
        .wires()
        .filter_map(|(_, _, wire)| match wire {
            FabricWire::Link(link) if link.class.is_direct() => {
                Some(link.gbps / f64::from(count(link.class)))
            }
            _ => None,
        });
    let first = each.next()?;
    Some(each.fold((first, first), |(least, most), gbps| {
        (least.min(gbps), most.max(gbps))
    }))
}

#[test]
fn every_entry_says_what_it_is_where_it_is_from_and_what_was_assumed() {
    assert!(catalogue().len() >= 34);
    let names: BTreeSet<&str> = catalogue().iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), catalogue().len(), "no name twice");
    for entry in catalogue() {
        let machine = entry
            .machine()
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(machine.name, entry.name);
        assert!(
            !machine.title.is_empty() && !machine.source.is_empty() && !machine.notes.is_empty(),
            "{}",
            entry.name
        );
        assert!(!entry.family.is_empty(), "{}", entry.name);
        for part in machine
            .notes
            .iter()
            .chain([&machine.title, &machine.source])
        {
            assert!(
                !part.contains("data/samples") && !part.contains(" /"),
                "{}: `{part}` names a file nobody has",
                entry.name
            );
        }
        if entry.family != "hypothetical" {
            let all = machine.graph().unwrap();
            assert!(
                all.devices()
                    .iter()
                    .all(|device| device.memory_bytes.is_some()),
                "{}: memory",
                entry.name
            );
        }
    }
}

/// Of the new machines; those of the paper keep its 12 GB/s.
#[test]
fn host_hops_are_nominal_speeds_of_the_table_or_explained() {
    let pcie: Vec<f64> = link_speeds()
        .filter(|speed| speed.generation.starts_with("PCIe"))
        .map(|s| s.gbps)
        .collect();
    let nominal = |gbps: f64| {
        pcie.iter().any(|full| {
            [1.0, 2.0]
                .iter()
                .any(|part| (full / part - gbps).abs() < 0.02)
        })
    };
    for entry in catalogue() {
        let machine = entry.machine().unwrap();
        let said = machine.notes.join(" ");
        for (_, _, wire) in machine.fabric.wires() {
            let FabricWire::Up { gbps } = wire else {
                continue;
            };
            let explained =
                said.contains(&format!("{gbps} GB/s")) || said.contains(&format!("{gbps:.1} GB/s"));
            assert!(
                nominal(gbps) || explained,
                "{}: a hop of {gbps} GB/s",
                entry.name
            );
            assert!(
                explained || said.contains(&format!("{gbps}")),
                "{}: {gbps} GB/s is not in the notes",
                entry.name
            );
        }
    }
}

#[test]
fn switched_fabrics_are_ports_and_meshes_are_pairs() {
    for entry in catalogue() {
        let machine = entry.machine().unwrap();
        let switched = machine
            .fabric
            .nodes()
            .any(|(_, node)| node.kind == NodeKind::LinkSwitch);
        let graph = machine.graph().unwrap();
        assert!(
            graph
                .devices()
                .iter()
                .all(|device| device.switch_port.is_some() == switched),
            "{}",
            entry.name
        );
        // A device may not have more links to its peers than it has at all, unless a switch lets it
        // choose.
        if !switched {
            let sums = ids(&graph).map(|a| {
                ids(&graph)
                    .map(|b| count(graph.pair(a, b).direct.class))
                    .sum::<u32>()
            });
            assert_eq!(
                sums.collect::<Vec<_>>(),
                degrees(&machine),
                "{}",
                entry.name
            );
        }
    }
    let rack = graph("gb200-nvl72");
    for (a, b) in [(0, 3), (0, 4), (0, 71), (70, 71)] {
        assert_eq!(
            (
                rack.link(a.into(), b.into()).class,
                rack.link(a.into(), b.into()).gbps
            ),
            (LinkClass::Direct(18), 900.0)
        );
    }
}

// Formulas.

fn edges(graph: &HardwareGraph) -> Vec<(u32, u32)> {
    let direct = |a: u32, b: u32| graph.pair(DeviceId(a), DeviceId(b)).direct.exists();
    let n = graph.len() as u32;
    (0..n)
        .flat_map(|a| (0..a).filter(move |&b| direct(a, b)).map(move |b| (a, b)))
        .collect()
}

/// How many links it takes to get from each device to the one farthest from it; none if some cannot
/// be reached.
fn eccentricities(graph: &HardwareGraph) -> Vec<Option<usize>> {
    let mut next = vec![Vec::new(); graph.len()];
    for (a, b) in edges(graph) {
        next[a as usize].push(b as usize);
        next[b as usize].push(a as usize);
    }
    let from = |start: usize| {
        let mut far = vec![None; next.len()];
        far[start] = Some(0);
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &to in &next[at] {
                if far[to].is_none() {
                    far[to] = far[at].map(|steps: usize| steps + 1);
                    queue.push_back(to);
                }
            }
        }
        far.into_iter()
            .try_fold(0, |most, steps| Some(most.max(steps?)))
    };
    (0..graph.len()).map(from).collect()
}

/// The form's devices, links, links per device (least, most) and diameter.
fn check_shape(name: &str, devices: usize, links: usize, degree: (u32, u32), diameter: usize) {
    let machine = named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let graph = machine.graph().unwrap();
    let degrees = degrees(&machine);
    let far = eccentricities(&graph);
    assert_eq!(
        (graph.len(), edges(&graph).len()),
        (devices, links),
        "{name}"
    );
    assert_eq!(
        (
            *degrees.iter().min().unwrap(),
            *degrees.iter().max().unwrap()
        ),
        degree,
        "{name}"
    );
    assert_eq!(far.iter().copied().max().unwrap(), Some(diameter), "{name}");
    assert!(
        ids(&graph).all(|a| graph.neighbours(a).len() == devices - 1),
        "{name}: the host joins every two"
    );
}

#[test]
fn formulas_have_their_closed_forms() {
    for n in [1usize, 2, 3, 4, 7, 64] {
        let links = if n <= 2 { n - 1 } else { n };
        let degree = [0, 1, 2][(n - 1).min(2)];
        check_shape(&format!("ring:{n}"), n, links, (degree, degree), n / 2);
        check_shape(&format!("torus:{n}"), n, links, (degree, degree), n / 2);
        check_shape(
            &format!("mesh:{n}"),
            n,
            n - 1,
            (degree.min(1), degree),
            n - 1,
        );
    }
    check_shape("torus:4x4", 16, 32, (4, 4), 4);
    check_shape("torus:4x4x4", 64, 192, (6, 6), 6);
    check_shape("torus:3x5", 15, 30, (4, 4), 3);
    // Along a dimension of two there is one link, along one of one none.
    check_shape("torus:2x4", 8, 12, (3, 3), 3);
    check_shape("torus:2x2x2", 8, 12, (3, 3), 3);
    check_shape("torus:1x6x1", 6, 6, (2, 2), 3);
    check_shape("mesh:8x8", 64, 112, (2, 4), 14);
    check_shape("mesh:2x3x4", 24, 12 + 16 + 18, (3, 5), 6);
    for d in 1..=6u32 {
        let n = 1usize << d;
        check_shape(
            &format!("hypercube:{d}"),
            n,
            n * d as usize / 2,
            (d, d),
            d as usize,
        );
    }
    check_shape("hypercube:0", 1, 0, (0, 0), 0);
}

#[test]
fn shapes_without_an_edge_look_the_same_from_every_device() {
    for name in ["ring:9", "torus:4x4", "torus:3x3x3", "hypercube:4"] {
        let graph = graph(name);
        let start = eccentricities(&graph)[0];
        assert!(
            eccentricities(&graph).iter().all(|far| *far == start),
            "{name}"
        );
        // A translation, or a flip of bits, takes device 0 to any other: seen as a renumbering that
        // keeps all links.
        for to in ids(&graph) {
            let marked = |at: DeviceId| relinked(&graph, |_, _| None, at);
            assert!(
                isomorphism(&marked(DeviceId(0)), &marked(to), Likeness::Direct)
                    .unwrap()
                    .is_some(),
                "{name}: {to:?}"
            );
        }
    }
    let mesh = graph("mesh:3x3");
    let marked = |at: u32| relinked(&mesh, |_, _| None, DeviceId(at));
    assert!(
        isomorphism(&marked(0), &marked(4), Likeness::Direct)
            .unwrap()
            .is_none(),
        "a corner is not the middle"
    );
    assert!(
        isomorphism(&marked(0), &marked(8), Likeness::Direct)
            .unwrap()
            .is_some(),
        "a corner is a corner"
    );
}

/// The same direct links, more where `more` says so, and a further device that two links join to
/// `mark` alone.
fn relinked(
    graph: &HardwareGraph,
    more: impl Fn(DeviceId, DeviceId) -> Option<u8>,
    mark: DeviceId,
) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let devices: Vec<_> = (0..=graph.len())
        .map(|i| fabric.add_device(format!("D{i}")).unwrap())
        .collect();
    for a in ids(graph) {
        for b in ids(graph).filter(|&b| b < a) {
            let links = count(graph.pair(a, b).direct.class) as u8 + more(a, b).unwrap_or(0);
            if links > 0 {
                fabric
                    .link(
                        devices[a.index()],
                        devices[b.index()],
                        LinkClass::Direct(links),
                        25.0,
                    )
                    .unwrap();
            }
        }
    }
    fabric
        .link(
            devices[graph.len()],
            devices[mark.index()],
            LinkClass::Direct(2),
            50.0,
        )
        .unwrap();
    fabric.lower().unwrap()
}

#[test]
fn equal_shapes_by_different_names_are_isomorphic() {
    for (a, b) in [
        ("hypercube:3", "torus:2x2x2"),
        ("hypercube:4", "torus:4x4"),
        ("ring:6", "torus:6"),
        ("mesh:2x3", "mesh:3x2"),
    ] {
        assert!(
            isomorphism(&graph(a), &graph(b), Likeness::DirectAndHost)
                .unwrap()
                .is_some(),
            "{a}, {b}"
        );
    }
    for (a, b) in [
        ("hypercube:4", "torus:2x8"),
        ("ring:6", "mesh:6"),
        ("ring:6", "ring:7"),
        ("torus:3x4", "torus:2x6"),
    ] {
        assert!(
            isomorphism(&graph(a), &graph(b), Likeness::DirectAndHost)
                .unwrap()
                .is_none(),
            "{a}, {b}"
        );
    }
    // Twice a ring of three and a ring of six have equal degrees everywhere.
    assert!(
        isomorphism(&graph("fleet:2xring:3"), &graph("ring:6"), Likeness::Direct)
            .unwrap()
            .is_none()
    );
}

#[test]
fn speeds_can_be_set() {
    let gbps = |name: &str, a: u32, b: u32| graph(name).link(a.into(), b.into()).gbps;
    assert_eq!(
        (
            gbps("ring:8", 0, 1),
            gbps("ring:8@50", 0, 1),
            gbps("torus:4x4@62.5", 0, 4)
        ),
        (25.0, 50.0, 62.5)
    );
    assert_eq!(
        (gbps("hypercube:3@1", 0, 4), gbps("mesh:2x2@100", 0, 1)),
        (1.0, 100.0)
    );
    assert_eq!(
        (
            gbps("fleet:2xring:3@50", 0, 1),
            gbps("fleet:2xring:3@50", 0, 3)
        ),
        (50.0, 25.0)
    );
    assert_eq!(
        (
            gbps("fleet:2@12.5xring:3@50", 0, 1),
            gbps("fleet:2@12.5xring:3@50", 0, 3)
        ),
        (50.0, 12.5)
    );
}

#[test]
fn a_fleet_is_its_servers_and_a_network() {
    let machine = named("fleet:4xdgx-1v").unwrap();
    let (fleet, server) = (machine.graph().unwrap(), graph("dgx-1v"));
    assert_eq!(fleet.len(), 32);
    for a in ids(&fleet) {
        let (n, i) = (a.0 / 8, a.0 % 8);
        let device = fleet.device(a);
        assert_eq!(device.name, format!("n{n}-GPU{i}"));
        assert_eq!(
            device.numa,
            server.device(DeviceId(i)).numa.map(|numa| 100 * n + numa)
        );
        for b in ids(&fleet).filter(|&b| b != a) {
            if b.0 / 8 == n {
                assert_eq!(
                    fleet.pair(a, b),
                    server.pair(DeviceId(i), DeviceId(b.0 % 8))
                );
            } else {
                assert_eq!(
                    (fleet.link(a, b).class, fleet.link(a, b).gbps),
                    (LinkClass::Network, 25.0)
                );
            }
        }
    }
    assert!(
        machine.source.contains("dgx-1v")
            && machine.notes.iter().any(|note| note.contains("network"))
    );
    for name in [
        "fleet:1xdgx-2",
        "fleet:2xgb200-nvl72",
        "fleet:3xtorus:2x2x2",
        "fleet:2xazure-ndv4",
        "fleet:2xfrontier",
    ] {
        let machine = named(name).unwrap();
        assert_eq!(
            Machine::from_toml(&machine.to_toml().unwrap()).unwrap(),
            machine,
            "{name}"
        );
    }
    assert_eq!(named("fleet:2xfrontier").unwrap().labels.direct, "XGMI");
}

#[test]
fn names_that_are_no_formula_are_refused_with_the_form() {
    let refused = |name: &str, form: &str| {
        let error = named(name).expect_err(name).to_string();
        assert!(
            error.starts_with(&format!("`{name}`: expected {form}")),
            "{error}"
        );
    };
    for size in [
        "", "0", "1025", "-1", "+4", " 4", "4 ", "4x4", "4@", "4@0", "4@-1", "4@1e3", "4@inf",
        "4@nan", "4@@5", "٤",
    ] {
        refused(&format!("ring:{size}"), "ring:N[@GB/s], N from 1 to 1024");
    }
    for size in [
        "",
        "x",
        "4x",
        "x4",
        "4xx4",
        "0x4",
        "33x32",
        "1024x1024x1024",
        "2x2x2x2",
        "4X4",
        "99999999999999999999x1",
    ] {
        refused(
            &format!("torus:{size}"),
            "torus:A[xB[xC]][@GB/s], at most 1024 devices in all",
        );
        refused(
            &format!("mesh:{size}"),
            "mesh:A[xB[xC]][@GB/s], at most 1024 devices in all",
        );
    }
    for size in ["", "11", "-1", "2x2"] {
        refused(
            &format!("hypercube:{size}"),
            "hypercube:D[@GB/s], D from 0 to 10",
        );
    }
    for size in [
        "",
        "4",
        "x",
        "0xring:3",
        "4@xring:3",
        "4@0xring:3",
        "129xdgx-1v",
        "15xgb200-nvl72",
        "2xfleet:2xring:3",
        "2xFLEET:1xring:3",
    ] {
        refused(&format!("fleet:{size}"), "fleet:K[@GB/s]xMACHINE");
    }
    insta::assert_snapshot!(
        named("fleet:2xdgx-9").unwrap_err().to_string().split(", or ").next().unwrap(),
        @"no machine is called `dgx-9` (did you mean dgx-2, dgx-1p or dgx-1v?): expected a name that `mapa-bench machines` lists"
    );
    insta::assert_snapshot!(
        named("fleet:2xring:0").unwrap_err().to_string(),
        @"`ring:0`: expected ring:N[@GB/s], N from 1 to 1024"
    );
    let error = named("moebius:4").unwrap_err().to_string();
    assert!(
        formulas()
            .iter()
            .all(|formula| error.contains(formula.form)),
        "{error}"
    );
    assert_eq!(named("Torus:4x4").unwrap(), named("torus:4x4").unwrap());
}

#[test]
fn a_fleet_of_as_many_devices_as_there_may_be_is_made_in_seconds() {
    let start = Instant::now();
    let machine = named("fleet:128xdgx-a100").unwrap();
    let made = start.elapsed();
    assert_eq!(machine.fabric.device_count(), 1024);
    assert!(made.as_secs() < 30, "{made:?}");
}

// Isomorphism.

/// The same machine with its devices in another order: device `i` becomes device `order[i]`.
fn renumbered(graph: &HardwareGraph, order: &[usize]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let devices: Vec<_> = (0..graph.len())
        .map(|i| fabric.add_device(format!("D{i}")).unwrap())
        .collect();
    for a in ids(graph) {
        for b in ids(graph).filter(|&b| b < a) {
            let (pair, x, y) = (
                graph.pair(a, b),
                devices[order[a.index()]],
                devices[order[b.index()]],
            );
            for link in [pair.direct, pair.host] {
                if link.exists() {
                    fabric.link(x, y, link.class, link.gbps).unwrap();
                }
            }
        }
    }
    fabric.lower().unwrap()
}

/// That the answer is a renumbering, and keeps what is to be kept.
fn verify(a: &HardwareGraph, b: &HardwareGraph, by: Likeness, map: &[DeviceId], what: &str) {
    assert_eq!(map.iter().collect::<BTreeSet<_>>().len(), a.len(), "{what}");
    for x in ids(a) {
        for y in ids(a).filter(|&y| y != x) {
            let (here, there) = (a.pair(x, y), b.pair(map[x.index()], map[y.index()]));
            match by {
                Likeness::Direct => assert_eq!(here.direct.class, there.direct.class, "{what}"),
                Likeness::Best => assert_eq!(here.best().class, there.best().class, "{what}"),
                _ => assert_eq!(
                    (here.direct.class, here.host.class),
                    (there.direct.class, there.host.class),
                    "{what}"
                ),
            }
        }
    }
}

const BY: [Likeness; 3] = [Likeness::Direct, Likeness::Best, Likeness::DirectAndHost];

#[test]
fn every_machine_is_itself_in_any_order_and_quickly() {
    for entry in catalogue() {
        let graph = graph(entry.name);
        // A permutation without pattern: multiply by a number prime to n.
        let n = graph.len();
        let step = (n / 2 + 1..).find(|step| gcd(*step, n) == 1).unwrap();
        let order: Vec<usize> = (0..n).map(|i| (i * step + n / 3) % n).collect();
        let other = renumbered(&graph, &order);
        for by in BY {
            let start = Instant::now();
            let map = isomorphism(&graph, &other, by)
                .unwrap()
                .unwrap_or_else(|| panic!("{}: {by:?}", entry.name));
            let took = start.elapsed();
            assert!(
                took.as_millis() < 1000,
                "{}: {by:?} took {took:?}",
                entry.name
            );
            verify(&graph, &other, by, &map, entry.name);
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn a_machine_with_one_link_changed_is_another() {
    for name in [
        "dgx-1v",
        "dgx-1p",
        "frontier",
        "torus-2d",
        "a100-pcie-8-bridged",
        "mi250-x16",
        "hypercube:5",
    ] {
        let graph = graph(name);
        let same: Vec<usize> = (0..graph.len()).collect();
        let plain = renumbered(&graph, &same);
        assert!(
            isomorphism(&graph, &plain, Likeness::Direct)
                .unwrap()
                .is_some(),
            "{name}"
        );
        for (x, y) in edges(&graph) {
            let more = |a: DeviceId, b: DeviceId| (a.0 == x && b.0 == y).then_some(1);
            let (one, other) = (
                relinked(&graph, |_, _| None, DeviceId(0)),
                relinked(&graph, more, DeviceId(0)),
            );
            assert!(
                isomorphism(&one, &other, Likeness::Direct)
                    .unwrap()
                    .is_none(),
                "{name}: {x}-{y}"
            );
        }
    }
}

#[test]
fn host_paths_count_where_they_are_asked_for() {
    let [server, cloud] = [graph("dgx-1v"), graph("aws-p3-16xlarge")];
    for (by, alike) in [
        (Likeness::Direct, true),
        (Likeness::Best, false),
        (Likeness::DirectAndHost, false),
    ] {
        assert_eq!(
            isomorphism(&server, &cloud, by).unwrap().is_some(),
            alike,
            "{by:?}"
        );
    }
    let [frontier, mi250] = [graph("frontier"), graph("mi250-x8")];
    assert!(
        isomorphism(&frontier, &mi250, Likeness::Direct)
            .unwrap()
            .is_some(),
        "one wiring, two numberings"
    );
    // Equal fabrics, other hosts beneath.
    let [aws, azure] = [graph("aws-p4d-24xlarge"), graph("azure-ndv4")];
    assert!(isomorphism(&aws, &azure, Likeness::Best).unwrap().is_some());
    assert!(
        isomorphism(&aws, &azure, Likeness::DirectAndHost)
            .unwrap()
            .is_none(),
        "two sockets, four NUMA nodes"
    );
}

#[test]
fn more_than_the_matcher_can_take_is_an_error_not_a_no() {
    let large = graph("fleet:128xdgx-1v");
    let error = isomorphism(&large, &large, Likeness::Best).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"a pattern of 2048 vertices: expected at most 1024"
    );
    let fits = graph("complete:1024");
    assert!(
        isomorphism(&fits, &fits, Likeness::Direct)
            .unwrap()
            .is_some()
    );
}

proptest! {
    #[test]
    fn random_machines_are_themselves_in_any_order(
        n in 1usize..9,
        links in proptest::collection::vec(0u8..4, 36),
        seed in any::<u64>(),
        change in any::<(bool, usize)>(),
    ) {
        let build = |links: &[u8]| {
            let mut fabric = Fabric::new();
            let devices: Vec<_> = (0..n).map(|i| fabric.add_device(format!("D{i}")).unwrap()).collect();
            for (i, (a, b)) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).enumerate() {
                if links[i] > 0 {
                    fabric.link(devices[a], devices[b], LinkClass::Direct(links[i]), 25.0).unwrap();
                }
            }
            fabric.lower().unwrap()
        };
        let graph = build(&links);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&i| seed.rotate_left(7 * i as u32).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let other = renumbered(&graph, &order);
        let map = isomorphism(&graph, &other, Likeness::Best).unwrap().expect("isomorphic");
        verify(&graph, &other, Likeness::Best, &map, "random");
        // Against all orders.
        if change.0 && (2..=6).contains(&n) {
            let mut changed = links.clone();
            let at = change.1 % (n * (n - 1) / 2);
            changed[at] = (changed[at] + 1) % 4;
            let changed = build(&changed);
            let found = isomorphism(&other, &changed, Likeness::Best).unwrap();
            prop_assert_eq!(found.is_some(), by_trying_all(&other, &changed));
        }
    }

    #[test]
    fn no_name_panics(name in "(ring|torus|mesh|hypercube|complete|fleet):[0-9x@.]{0,8}(xring:[0-9]{0,2}|xdgx-1v)?") {
        let _ = named(&name);
    }

    #[test]
    fn no_text_panics(name in "\\PC{0,12}:\\PC{0,12}") {
        let _ = named(&name);
    }
}

fn by_trying_all(a: &HardwareGraph, b: &HardwareGraph) -> bool {
    fn extend(a: &HardwareGraph, b: &HardwareGraph, map: &mut Vec<DeviceId>) -> bool {
        if map.len() == a.len() {
            return true;
        }
        let x = DeviceId(map.len() as u32);
        ids(b).any(|y| {
            let fits = !map.contains(&y)
                && (0..map.len())
                    .all(|i| a.link(x, DeviceId(i as u32)).class == b.link(y, map[i]).class);
            map.push(y);
            let found = fits && extend(a, b, map);
            map.pop();
            found
        })
    }
    a.len() == b.len() && extend(a, b, &mut Vec::new())
}

// Real dumps.

/// Dumps of `nvidia-smi topo -m`, the machines of the catalogue that they are of, and what must
/// agree.
const DUMPS: [(&str, &str, Likeness); 31] = [
    (
        "msccl_tools_dgx1_topo_fixture.txt",
        "dgx-1v",
        Likeness::DirectAndHost,
    ),
    ("oneflow_v100x8_mlx5.txt", "dgx-1v", Likeness::Best),
    ("oneflow_v100x8_mixed_tabs.txt", "dgx-1v", Likeness::Best),
    ("v100x8_dgx1v_nic0_numaid.txt", "dgx-1v", Likeness::Best),
    (
        "v100x8_vm_phb.txt",
        "aws-p3-16xlarge",
        Likeness::DirectAndHost,
    ),
    ("v100x8_vm_phb.txt", "dgx-1v", Likeness::Direct),
    ("dgx1p_p100_garbled_header.txt", "dgx-1p", Likeness::Best),
    ("p3_8xlarge_v100x4.txt", "aws-p3-8xlarge", Likeness::Best),
    (
        "cuda_fast_v100x4_header_notab.txt",
        "aws-p3-8xlarge",
        Likeness::Best,
    ),
    ("dgx_a100_mlx12.txt", "dgx-a100", Likeness::Best),
    ("della_a100x4_mlx5.txt", "hgx-a100-4", Likeness::Best),
    (
        "ncsa_delta_commented.txt",
        "ncsa-delta-a100x4",
        Likeness::DirectAndHost,
    ),
    ("h100_sxm_x8_10nic.txt", "hgx-h100", Likeness::Best),
    ("stas_h100x8_nv18.txt", "hgx-h100", Likeness::Best),
    ("stas_h100x8_nv18_numa2.txt", "dgx-h100", Likeness::Best),
    (
        "princeton_h200_x8_nic6_emptycpu.txt",
        "hgx-h200",
        Likeness::Best,
    ),
    ("gb200_nvl_tray_4gpu.txt", "gb200-tray", Likeness::Best),
    ("gh200x4_isambard_or_vista.txt", "gh200-x4", Likeness::Best),
    (
        "a100_pcie_x4_nvbridge.txt",
        "a100-pcie-4-bridged",
        Likeness::Best,
    ),
    (
        "a100_pcie_x8_nv12_pairs.txt",
        "a100-pcie-8-bridged",
        Likeness::Best,
    ),
    ("azure_nc96ads_v4_like.txt", "azure-ncv4", Likeness::Best),
    ("a6000x3_partial_nvlink.txt", "rtx-a6000-x3", Likeness::Best),
    ("rtx3090x2_nvlink.txt", "rtx-3090-x2", Likeness::Best),
    ("rtx_nv2_x2.txt", "rtx-2080ti-x2", Likeness::Best),
    (
        "stas_rtx_titan_or_3090_nv2.txt",
        "rtx-2080ti-x2",
        Likeness::Best,
    ),
    (
        "rtx4090x2_node_nic.txt",
        "rtx-4090-x2",
        Likeness::DirectAndHost,
    ),
    ("rtx5090x2_phb.txt", "rtx-5090-x2", Likeness::DirectAndHost),
    ("p40x8_pcie_soc.txt", "p40-x8", Likeness::DirectAndHost),
    (
        "stelline_esc8000a_4gpu.txt",
        "rtx-6000-ada-x4",
        Likeness::DirectAndHost,
    ),
    ("traverse_p9_v100x4.txt", "ac922", Likeness::Best),
    (
        "aws_g5_a10g_sys_indented.txt",
        "aws-g5-12xlarge",
        Likeness::DirectAndHost,
    ),
];

#[test]
fn dumps_are_the_catalogues_machines_up_to_renumbering() {
    let names: BTreeSet<&str> = DUMPS.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(names.len(), 24, "as docs/catalogue.md says");
    let Some(data) = real_data() else {
        return;
    };
    for (file, name, by) in DUMPS {
        let dump = dumped(&data.join("samples/nvidia_smi_topo").join(file));
        let known = graph(name);
        let map = isomorphism(&dump, &known, by)
            .unwrap()
            .unwrap_or_else(|| panic!("{file} is not {name}"));
        verify(&dump, &known, by, &map, file);
    }
}

fn dumped(path: &std::path::Path) -> HardwareGraph {
    let bytes = fs::read(path).unwrap();
    let machine = read(&bytes)
        .and_then(Dump::into_machine)
        .unwrap_or_else(|error| panic!("{path:?}: {error}"));
    machine.graph().unwrap()
}

#[test]
fn all_dumps_of_a_dgx_1v_are_one_machine_in_several_numberings() {
    let Some(data) = real_data() else {
        return;
    };
    let known = graph("dgx-1v");
    let files = DUMPS
        .iter()
        .filter(|(_, name, _)| *name == "dgx-1v")
        .map(|(file, ..)| *file);
    let dumps: Vec<(&str, HardwareGraph)> = files
        .map(|file| {
            (
                file,
                dumped(&data.join("samples/nvidia_smi_topo").join(file)),
            )
        })
        .collect();
    assert_eq!(dumps.len(), 5);
    for (one, a) in &dumps {
        for (other, b) in &dumps {
            let map = isomorphism(a, b, Likeness::Direct)
                .unwrap()
                .unwrap_or_else(|| panic!("{one}, {other}"));
            verify(a, b, Likeness::Direct, &map, one);
        }
    }
    let table = |graph: &HardwareGraph| {
        ids(graph)
            .flat_map(|a| ids(graph).map(move |b| (a, b)))
            .map(|(a, b)| graph.pair(a, b).direct.class)
            .collect::<Vec<_>>()
    };
    let numberings: BTreeSet<Vec<LinkClass>> = dumps
        .iter()
        .map(|(_, graph)| table(graph))
        .chain([table(&known)])
        .collect();
    assert_eq!(
        numberings.len(),
        2,
        "the usual one, and that of oneflow_v100x8_mixed_tabs.txt"
    );
}

// The page.

/// One line of the page's table.
fn row(machine: &Machine) -> String {
    let degrees = degrees(machine);
    let (least, most) = (
        *degrees.iter().min().unwrap(),
        *degrees.iter().max().unwrap(),
    );
    let links = match (least, most) {
        (_, 0) => "-".to_owned(),
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let switched = machine
        .fabric
        .nodes()
        .any(|(_, node)| node.kind == NodeKind::LinkSwitch);
    let direct = match link_gbps(machine) {
        None => "-".to_owned(),
        Some((least, most)) if least == most => most.to_string(),
        Some((least, most)) => format!("{least} to {most}"),
    };
    let host: BTreeSet<String> = machine
        .fabric
        .wires()
        .filter_map(|(a, _, wire)| match (&machine.fabric.node(a).kind, wire) {
            (NodeKind::Nic, _) => None,
            (_, FabricWire::Up { gbps }) => Some(format!("{gbps:>8}")),
            _ => None,
        })
        .collect();
    let host: Vec<&str> = host.iter().map(|gbps| gbps.trim()).collect();
    format!(
        "| `{}` | {} | {}{} | {direct} | {} | {} |",
        machine.name,
        degrees.len(),
        links,
        if switched { ", to a switch" } else { "" },
        host.join(", "),
        machine.title,
    )
}

#[test]
fn the_pages_tables_are_what_the_catalogue_says() {
    let page = include_str!("../../docs/catalogue.md");
    let mut expected = String::new();
    let mut family = "";
    for entry in catalogue() {
        if entry.family != family {
            family = entry.family;
            let _ = writeln!(expected, "## {family}");
        }
        let _ = writeln!(expected, "{}", row(&entry.machine().unwrap()));
    }
    for formula in formulas() {
        let _ = writeln!(
            expected,
            "| `{}` | {} | `{}` |",
            formula.form, formula.what, formula.example
        );
    }
    let families: BTreeSet<&str> = catalogue().iter().map(|entry| entry.family).collect();
    let is_told = |line: &&str| {
        line.starts_with("| `")
            || line
                .strip_prefix("## ")
                .is_some_and(|title| families.contains(title))
    };
    let told: Vec<&str> = page.lines().filter(is_told).collect();
    assert_eq!(
        told.join("\n"),
        expected.trim_end(),
        "docs/catalogue.md; the right-hand side is what it must say"
    );
}
