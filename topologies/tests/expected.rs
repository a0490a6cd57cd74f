//! What is expected on machines of the catalogue and of public rows: held against flows, against brute
//! force, and against what `auto` chose before.

mod copies_at_once;

use mapa_core::{
    BuiltIn, DeviceId, DeviceSet, Efficiency, Expected, Fabric, HardwareGraph, HostNetwork,
    LinkClass, NodeId, NodeKind, Operation, Pattern, PeerAccess, PeerSource, Policy, Request, auto,
    auto_with, fitting_model,
};
use mapa_topologies::{catalogue, named};
use proptest::prelude::*;

use copies_at_once::copies_at_once;

/// Machines of switches below roots below sockets; a bit for each pair says that its devices do not reach
/// each other's memory.
fn machines(off: impl Strategy<Value = u64>) -> impl Strategy<Value = HardwareGraph> {
    let place = (0u32..2, 0u32..2, 0u32..3);
    (prop::collection::vec(place, 2..9), off).prop_map(|(places, off)| {
        let mut fabric = Fabric::new();
        let ids: Vec<NodeId> = (0..places.len())
            .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
            .collect();
        let mut bit = 0;
        for b in 0..ids.len() {
            fabric.set_slot_gbps(ids[b], 31.5).unwrap();
            for a in 0..b {
                let (x, y) = (places[a], places[b]);
                let class = match () {
                    () if x.0 != y.0 => LinkClass::Sys,
                    () if x.1 != y.1 => LinkClass::Node,
                    () if x.2 != y.2 => LinkClass::Phb,
                    () => LinkClass::Pix,
                };
                fabric.link(ids[a], ids[b], class, 31.5).unwrap();
                let access = PeerAccess {
                    on: off >> (bit % 64) & 1 == 0,
                    source: PeerSource::Told,
                };
                fabric.set_peer_access(ids[a], ids[b], access).unwrap();
                bit += 1;
            }
        }
        fabric.lower().unwrap()
    })
}

proptest! {
    /// The closed form of a ring and of an exchange is the least of the max-min fair shares of their flows.
    #[test]
    fn collectives_are_as_fast_as_their_slowest_flow(graph in machines(prop_oneof![Just(0), Just(u64::MAX)])) {
        let all = graph.all();
        let host = HostNetwork::of(&graph);
        let order = host.in_order(&all);
        let n = order.len();
        let mut ring: Vec<_> = (0..n).map(|i| (Some(order[i]), Some(order[(i + 1) % n]))).collect();
        let nominal = Efficiency::nominal();
        let least = |flows: &[(Option<DeviceId>, Option<DeviceId>)]| {
            let rates = copies_at_once(&graph, flows, &nominal).unwrap();
            rates.into_iter().fold(f64::INFINITY, f64::min)
        };
        let found = Expected::nominal(Operation::AllReduce).of(&graph, &all).unwrap();
        prop_assert!((found.gbps - least(&ring)).abs() < 1e-6, "{} {}", found.gbps, least(&ring));
        ring.clear();
        for &a in &order {
            ring.extend(order.iter().filter(|&&b| b != a).map(|&b| (Some(a), Some(b))));
        }
        let found = Expected::nominal(Operation::AllToAll).of(&graph, &all).unwrap();
        let flow = least(&ring) * (n as f64 - 1.0);
        prop_assert!((found.gbps - flow).abs() < 1e-6, "{} {flow}", found.gbps);
    }

    /// No estimate is above its nominal bound, each is within its interval, and more peer access is never
    /// slower for a pair.
    #[test]
    fn estimates_are_within_their_bounds(graph in machines(any::<u64>())) {
        let all = graph.all();
        for operation in Operation::all().filter(|operation| operation.is_collective()) {
            let estimate = Expected::shipped(operation).of(&graph, &all).unwrap();
            prop_assert!(estimate.gbps > 0.0 && estimate.gbps <= estimate.nominal_gbps * (1.0 + 1e-12), "{operation} {estimate:?}");
            prop_assert!(estimate.low_gbps < estimate.gbps && estimate.gbps < estimate.high_gbps);
        }
    }

    /// The default policy finds the best set that there is, with any states of peer access.
    #[test]
    fn auto_finds_the_best_set(graph in machines(any::<u64>()), k in 2usize..5) {
        let wholes = graph.wholes();
        prop_assume!(k < wholes.len());
        let model = Expected::shipped(Operation::AllReduce);
        let value = |set: &DeviceSet| model.of(&graph, set).unwrap().gbps;
        let decision = auto().decide(&Request::new(Pattern::ring(k)), &graph.with_free(&wholes)).unwrap();
        let own = value(&decision.placement().set());
        let sets = (0u32..1 << wholes.len()).filter(|bits| bits.count_ones() as usize == k);
        let best = sets
            .map(|bits| value(&(0..32).filter(|i| bits >> i & 1 == 1).map(DeviceId).collect()))
            .fold(0.0, f64::max);
        prop_assert!((own - best).abs() <= 1e-6 * best, "{own} at {}, but some set has {best}", decision.placement().set());
    }
}

/// What the README says first: the free devices with the lowest ids, and those that `auto` takes.
#[test]
fn on_a_dgx_1v_with_two_gpus_in_use_three_carry_10_or_46_gbps() {
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    let free = &graph.wholes() - &DeviceSet::from([0, 1]);
    let (view, request) = (graph.with_free(&free), Request::new(Pattern::ring(3)));
    let model = Expected::shipped(Operation::AllReduce);
    let gbps = |policy: &str| {
        let decision = BuiltIn::named(policy)
            .unwrap()
            .decide(&request, &view)
            .unwrap();
        model
            .of(&graph, &decision.placement().set())
            .unwrap()
            .gbps
            .round()
    };
    assert_eq!((gbps("lowest-id"), gbps("auto")), (10.0, 46.0));
    let readme = include_str!("../../README.md");
    assert!(readme.contains("**10 GB/s**") && readme.contains("**46 GB/s**"));
}

/// Whether direct links join every two devices.
fn is_all_direct(graph: &HardwareGraph) -> bool {
    let ids: Vec<DeviceId> = graph.wholes().iter().collect();
    ids.iter()
        .enumerate()
        .all(|(i, &b)| ids[..i].iter().all(|&a| graph.pair(a, b).direct.exists()))
}

#[test]
fn on_direct_links_alone_auto_takes_the_sets_it_took_before() {
    let (now, mut checked) = (auto(), 0);
    for entry in catalogue() {
        let graph = named(entry.name).unwrap().graph().unwrap();
        if graph.len() < 3 || graph.len() > 16 || !is_all_direct(&graph) {
            continue;
        }
        for k in 2..graph.len() {
            for pattern in [Pattern::ring(k), Pattern::star(k), Pattern::all_to_all(k)] {
                let before = auto_with(fitting_model(&pattern));
                let request = Request::new(pattern);
                for lacking in (0..graph.len() as u32).map(DeviceId) {
                    let mut free = graph.wholes();
                    free.remove(lacking);
                    let view = graph.with_free(&free);
                    let [own, other] = [&now, &before]
                        .map(|policy| policy.decide(&request, &view).unwrap().placement().to_vec());
                    assert_eq!(own, other, "{}: {k} of {free}", entry.name);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn what_products_tell_of_links_is_known() {
    let host = |name: &str| {
        let graph = named(name).unwrap().graph().unwrap();
        let host = HostNetwork::of(&graph);
        (
            host.slot_gbps(DeviceId(0)).round(),
            host.all_known(),
            host.is_open(),
        )
    };
    // The paper's 12 GB/s are no PCIe link: the product's slot counts.
    assert_eq!(host("dgx-1v"), (16.0, true, true));
    assert_eq!(host("hgx-h100"), (63.0, true, true));
    // NVLink to the CPU is no slot.
    assert_eq!(host("ac922"), (75.0, true, true));
    assert_eq!(host("rtx-4090-x2"), (32.0, true, false));
    // A bridge joins two GeForce cards; nothing else needs P2P.
    assert!(host("rtx-3090-x2").2);
    assert!(!host("torus:4").1);
    let sockets = |name: &str| {
        let graph = named(name).unwrap().graph().unwrap();
        let host = HostNetwork::of(&graph);
        graph
            .wholes()
            .iter()
            .map(|id| host.socket(id))
            .collect::<Vec<_>>()
    };
    assert_eq!(sockets("l40s-x8").len(), 8);
    assert_eq!(sockets("mi250-x8"), [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn idle_links_count_at_the_generation_of_the_product() {
    let mut machine = named("l40s-x4").unwrap();
    for device in machine_devices(&machine) {
        assert_eq!(machine.fabric.slot_gbps(device), Some(31.5));
    }
    // The same machine with its links at the speed of PCIe 1, as a tool finds an idle one.
    let text = machine.to_toml().unwrap().replace("31.5", "4.0");
    machine = mapa_topologies::read(text.as_bytes())
        .unwrap()
        .into_machine()
        .unwrap();
    for device in machine_devices(&machine) {
        let slot = machine.fabric.slot_gbps(device).unwrap();
        assert!((slot - 31.5).abs() < 0.1, "{slot}");
    }
    assert!(
        machine.notes.iter().any(|note| note.contains("idle")),
        "{:?}",
        machine.notes
    );
}

fn machine_devices(machine: &mapa_topologies::Machine) -> Vec<NodeId> {
    let nodes = machine.fabric.nodes();
    nodes
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect()
}

#[test]
fn what_is_told_of_peers_and_cores_is_kept_in_the_machine_file() {
    let mut machine = named("l40s-x4").unwrap();
    let ids = machine_devices(&machine);
    machine.fabric.set_cores(ids[0], "0-15").unwrap();
    let on = PeerAccess {
        on: true,
        source: PeerSource::Told,
    };
    let off = PeerAccess { on: false, ..on };
    machine.fabric.set_peer_access_everywhere(off);
    machine.fabric.set_peer_access(ids[2], ids[1], on).unwrap();
    let text = machine.to_toml().unwrap();
    let read = mapa_topologies::Machine::from_toml(&text).unwrap();
    let graph = read.graph().unwrap();
    let peers = |a, b| graph.peer_access(DeviceId(a), DeviceId(b));
    assert_eq!((peers(0, 1), peers(1, 2), peers(2, 3)), (off, on, off));
    let nodes = machine_devices(&read);
    assert_eq!(
        (read.fabric.cores(nodes[0]), read.fabric.cores(nodes[1])),
        (Some("0-15"), None)
    );
    assert_eq!(read.to_toml().unwrap(), text);
    let wrong = text.replace("p2p = \"off\"", "p2p = \"no\"");
    let error = mapa_topologies::Machine::from_toml(&wrong)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(error, @"line 7: unknown variant `no`, expected `on` or `off`");
}
