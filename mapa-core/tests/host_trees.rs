//! Hosts of any shape: what the default policy chooses has the most of the figure that is printed, and
//! the host's network carries what the hops of the tree carry.

use std::collections::BTreeMap;

use mapa_core::testing::{cases, drawn_machines};
use mapa_core::{
    Candidate, DeviceId, DeviceSet, Expected, Fabric, FabricNode, FabricWire, HardwareGraph,
    HostNetwork, NodeId, NodeKind, Operation, Part, Pattern, Policy, Request, auto, default_model,
};
use proptest::prelude::*;

/// Every set of `k` of the machine's devices.
fn sets(graph: &HardwareGraph, k: usize) -> impl Iterator<Item = DeviceSet> {
    let of = |bits: u32| (0..32).filter(move |i| bits >> i & 1 == 1).map(DeviceId);
    (0u32..1 << graph.len())
        .filter(move |bits| bits.count_ones() as usize == k)
        .map(move |bits| of(bits).collect())
}

/// The figure that is printed for the placement of a job on these devices.
fn printed(graph: &HardwareGraph, pattern: &Pattern, placement: &[DeviceId]) -> f64 {
    let wholes = graph.wholes();
    default_model(pattern, graph).score(&Candidate {
        view: graph.with_free(&wholes),
        pattern,
        placement,
    })
}

/// What the default policy's choice has, the most that any set has, and that set.
fn chosen_and_best(graph: &HardwareGraph, pattern: &Pattern) -> (f64, f64, DeviceSet) {
    let wholes = graph.wholes();
    let view = graph.with_free(&wholes);
    let decision = auto()
        .decide(&Request::new(pattern.clone()), &view)
        .unwrap();
    let own = printed(graph, pattern, decision.placement());
    let values = sets(graph, pattern.len()).map(|set| {
        let placement: Vec<DeviceId> = set.iter().collect();
        (printed(graph, pattern, &placement), set)
    });
    let best = values.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    (own, best.0, best.1)
}

/// The machine of the issue: five devices below three nodes, of which one has a narrow uplink.
fn uneven(known: bool) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let kind = NodeKind::Machine;
    let name = "machine".to_owned();
    let machine = fabric.add(FabricNode { name, kind }).unwrap();
    let cpus = [(0, 12.0), (1, 3.5), (2, 12.0)].map(|(i, gbps)| {
        let cpu = fabric.add_numa(format!("cpu{i}"), i).unwrap();
        fabric.attach(cpu, machine, gbps).unwrap();
        cpu
    });
    for (i, cpu) in [1, 2, 2, 0, 0].into_iter().enumerate() {
        let id = fabric.add_device(format!("G{i}")).unwrap();
        fabric.attach(id, cpus[cpu], 12.0).unwrap();
        if known {
            fabric.set_slot_gbps(id, 12.0).unwrap();
        }
    }
    fabric.lower().unwrap()
}

#[test]
fn a_narrow_uplink_of_one_socket_is_avoided_and_bounds_those_that_cross_it() {
    for known in [false, true] {
        let graph = uneven(known);
        for k in 2..=4 {
            let (own, best, set) = chosen_and_best(&graph, &Pattern::ring(k));
            assert_eq!(own, best, "{k} of {known}: {set}");
            assert!(
                own > 3.5,
                "no job of up to four devices needs the narrow uplink"
            );
        }
        let network = Expected::nominal(Operation::AllReduce);
        let of = |ids: [u32; 2]| network.of(&graph, &DeviceSet::from(ids)).unwrap().gbps;
        assert_eq!([of([0, 3]), of([1, 2]), of([1, 3])], [3.5, 12.0, 12.0]);
    }
    assert_eq!(chosen_and_best(&uneven(false), &Pattern::ring(2)).0, 12.0);
}

#[test]
fn the_interconnect_of_sockets_bounds_nobody_who_stays_on_one() {
    let graph = uneven(true);
    for (a, b) in [(1, 2), (3, 4)] {
        let ways = Expected::shipped(Operation::AllToAll).ways(&graph, &[a, b].map(DeviceId));
        assert!(!ways.is_empty());
        let mut terms = ways.iter().flat_map(|way| &way.terms);
        assert!(
            terms.all(|term| term.part != Part::SocketLink),
            "{a}, {b}: {ways:?}"
        );
    }
}

/// The hops of a host tree, read from the wires: by component what is above it, and the speed.
fn ups(graph: &HardwareGraph) -> (Vec<NodeId>, BTreeMap<NodeId, (NodeId, f64)>) {
    let fabric = graph.fabric();
    let is_device = |kind: &NodeKind| matches!(kind, NodeKind::Device(_));
    let devices = fabric.nodes().filter(|(_, node)| is_device(&node.kind));
    let ups = fabric
        .wires()
        .filter_map(|(child, parent, wire)| match wire {
            FabricWire::Up { gbps } => Some((child, (parent, gbps))),
            FabricWire::Link(_) => None,
        });
    (devices.map(|(id, _)| id).collect(), ups.collect())
}

/// By hop and direction, the flows that cross it, in a tree.
fn crossings(
    graph: &HardwareGraph,
    flows: &[(DeviceId, DeviceId)],
) -> BTreeMap<(NodeId, bool), u32> {
    let (devices, ups) = ups(graph);
    let chain = |id: DeviceId| {
        let up = |node: &NodeId| ups.get(node).map(|&(parent, _)| parent);
        std::iter::successors(Some(devices[id.index()]), up).collect::<Vec<_>>()
    };
    let mut loads = BTreeMap::new();
    for &(from, to) in flows {
        let (from, to) = (chain(from), chain(to));
        for (own, other, is_up) in [(&from, &to, true), (&to, &from, false)] {
            for node in own.iter().filter(|node| !other.contains(node)) {
                *loads.entry((*node, is_up)).or_default() += 1;
            }
        }
    }
    loads
}

/// What these flows reach, each as much as any other: the least that some hop leaves, of all hops, and of
/// those whose speed is told. A bridge or a NUMA node with the speed of slots is not told.
fn per_flow(graph: &HardwareGraph, flows: &[(DeviceId, DeviceId)]) -> (f64, f64) {
    let (devices, ups) = ups(graph);
    let ways = graph.fabric().own_ways().into_values();
    let slots: Vec<f64> = devices.iter().map(|id| ups[id].1).chain(ways).collect();
    let (mut of_all, mut of_told) = (f64::INFINITY, f64::INFINITY);
    for ((node, _), flows) in crossings(graph, flows) {
        let gbps = ups[&node].1;
        let each = gbps / f64::from(flows);
        of_all = of_all.min(each);
        let is_told = match graph.fabric().node(node).kind {
            NodeKind::Device(_) | NodeKind::PcieSwitch => true,
            _ => slots.iter().all(|slot| *slot != gbps),
        };
        if is_told {
            of_told = of_told.min(each);
        }
    }
    (of_all, of_told)
}

/// Whether nothing but the host joins devices, and all reach each other's memory.
fn is_plain(graph: &HardwareGraph) -> bool {
    let ids = || graph.wholes().iter().collect::<Vec<_>>();
    HostNetwork::of(graph).is_open()
        && (ids().iter()).all(|&a| ids().iter().all(|&b| !graph.pair(a, b).direct.exists()))
}

proptest! {
    #![proptest_config(cases(256))]

    /// The default's choice has the most of the printed figure, whatever the host looks like.
    #[test]
    fn no_set_has_more_of_the_printed_figure_than_the_default(graph in drawn_machines(2..=10), k in 2usize..=10, shape in 0..3) {
        let k = k.min(graph.len());
        let pattern = match shape {
            0 => Pattern::ring(k),
            1 => Pattern::star(k),
            _ => Pattern::all_to_all(k),
        };
        let (own, best, set) = chosen_and_best(&graph, &pattern);
        // Linear programs leave the last digits open.
        prop_assert!(own >= best * (1.0 - 1e-6), "{own}, but {set} has {best}: {:?}", graph.fabric());
    }

    /// A ring enters and leaves each part of the tree once, and is as fast as the narrowest hop; an exchange
    /// is as fast as the most crowded.
    #[test]
    fn the_network_carries_what_the_hops_of_the_tree_carry(graph in drawn_machines(2..=8).prop_filter("plain", is_plain), k in 2usize..=8) {
        let host = HostNetwork::of(&graph);
        for set in sets(&graph, k.min(graph.len())) {
            let order = host.in_order(&set);
            let n = order.len();
            let ring: Vec<_> = (0..n).map(|i| (order[i], order[(i + 1) % n])).collect();
            let all = (0..n * n).map(|at| (order[at / n], order[at % n]));
            let exchange: Vec<_> = all.filter(|(a, b)| a != b).collect();
            if host.is_drawn() {
                prop_assert!(crossings(&graph, &ring).values().all(|flows| *flows == 1), "{order:?} of {:?}", graph.fabric());
            }
            for (operation, flows, times) in [
                (Operation::AllReduce, &ring, 1.0),
                (Operation::AllToAll, &exchange, n as f64 - 1.0),
            ] {
                let gbps = Expected::nominal(operation).of(&graph, &set).unwrap().gbps;
                let (of_all, of_told) = per_flow(&graph, flows);
                let case = || format!("{operation} on {set}: {gbps}, hops leave {of_all}, those told {of_told}: {:?}", graph.fabric());
                prop_assert!(gbps >= of_all * times * (1.0 - 1e-6), "{}", case());
                prop_assert!(gbps <= of_told * times * (1.0 + 1e-6), "{}", case());
            }
        }
    }
}
