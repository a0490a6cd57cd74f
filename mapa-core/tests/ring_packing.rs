//! Ring packings compared with a linear program over every directed ring, and properties of all of
//! them.

use mapa_core::testing::{oracle, switched_machines};
use mapa_core::{
    AllToAll, Bandwidth, Channels, DeviceId, DeviceSet, Fabric, FabricNode, FabricWire,
    HardwareGraph, Link, LinkClass, NodeId, NodeKind, Rates, RingPacking, TreePacking,
};
use proptest::prelude::*;

use crate::common::gpus;

const RATES: Rates = Rates {
    direct: 0.9,
    host: 0.75,
    between_sockets: Some(7.6),
};

fn packing() -> RingPacking {
    RingPacking::new(RATES)
}

fn of(graph: &HardwareGraph) -> Option<Bandwidth> {
    packing().of(graph, &graph.all())
}

/// The machine with its devices in another order.
fn renumbered(graph: &HardwareGraph, order: &[usize]) -> HardwareGraph {
    rebuilt(graph, order, |_| true)
}

/// The machine without direct links between two devices themselves.
fn without_link(graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> HardwareGraph {
    let order: Vec<usize> = (0..graph.len()).collect();
    rebuilt(graph, &order, |(x, y, link)| {
        !link.class.is_direct() || ends(graph, x, y) != [a.min(b), a.max(b)]
    })
}

/// The machine with its devices in this order, and the links that are kept.
fn rebuilt(
    graph: &HardwareGraph,
    order: &[usize],
    is_kept: impl Fn((NodeId, NodeId, Link)) -> bool,
) -> HardwareGraph {
    let fabric = graph.fabric();
    let old: Vec<_> = fabric.nodes().collect();
    let is_device = |node: &&FabricNode| matches!(node.kind, NodeKind::Device(_));
    let devices: Vec<_> = old
        .iter()
        .filter(|(_, node)| is_device(node))
        .map(|(id, _)| *id)
        .collect();
    let mut new = Fabric::new();
    let mut ids = std::collections::BTreeMap::new();
    for &at in order {
        ids.insert(
            devices[at],
            new.add(fabric.node(devices[at]).clone()).unwrap(),
        );
    }
    for (id, node) in old.iter().filter(|(_, node)| !is_device(node)) {
        ids.insert(*id, new.add((*node).clone()).unwrap());
    }
    for (a, b, wire) in fabric.wires() {
        let FabricWire::Link(link) = wire else {
            continue;
        };
        if !is_kept((a, b, link)) {
            continue;
        }
        new.link(ids[&a], ids[&b], link.class, link.gbps).unwrap();
    }
    new.lower().unwrap()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(if cfg!(debug_assertions) { 300 } else { 3_000 }))]

    #[test]
    fn it_is_what_all_directed_rings_can_carry(graph in switched_machines(2..=6)) {
        let found = of(&graph).unwrap();
        let expected = oracle::ring_packing(&graph, &graph.all(), &RATES).unwrap();
        prop_assert!((found.gbps - expected).abs() <= 1e-6 * expected.max(1.0), "{found:?}, expected {expected}");
        prop_assert!(found.is_exact(), "{found:?}");
        prop_assert_eq!(oracle::check_rings(&graph, &graph.all(), &RATES, &found), Ok(()));
    }

    #[test]
    fn larger_sets_are_exact_and_their_rings_fit(graph in switched_machines(7..=9)) {
        let found = of(&graph).unwrap();
        prop_assert!(found.is_exact(), "{found:?}");
        prop_assert_eq!(oracle::check_rings(&graph, &graph.all(), &RATES, &found), Ok(()));
    }

    #[test]
    fn the_numbers_of_devices_do_not_matter(
        (graph, order) in switched_machines(2..=8).prop_flat_map(|graph| {
            let order: Vec<usize> = (0..graph.len()).collect();
            (Just(graph), Just(order).prop_shuffle())
        })
    ) {
        prop_assert_eq!(of(&graph).unwrap().gbps, of(&renumbered(&graph, &order)).unwrap().gbps);
    }

    #[test]
    fn a_link_more_never_lowers_it(
        (graph, ends) in switched_machines(2..=7).prop_flat_map(|graph| {
            let devices: Vec<usize> = (0..graph.len()).collect();
            (Just(graph), prop::sample::subsequence(devices, 2))
        }),
        links in 1u8..5,
    ) {
        let [a, b] = [ends[0], ends[1]].map(|at| DeviceId(at as u32));
        // Two devices have direct links once, and many drawn pairs have some.
        let graph = without_link(&graph, a, b);
        let mut fabric = graph.fabric().clone();
        let ids: Vec<_> = fabric.nodes().map(|(id, _)| id).take(graph.len()).collect();
        fabric.link(ids[a.index()], ids[b.index()], LinkClass::Direct(links), 20.0 * f64::from(links)).unwrap();
        let (before, after) = (of(&graph).unwrap(), of(&fabric.lower().unwrap()).unwrap());
        prop_assert!(after.gbps >= before.gbps, "{before:?} became {after:?}");
    }
}

/// The devices at the two ends of a wire; a link switch has an id beyond those of devices.
fn ends(graph: &HardwareGraph, x: NodeId, y: NodeId) -> [DeviceId; 2] {
    let ids: Vec<_> = graph.fabric().nodes().map(|(id, _)| id).collect();
    let at = |id| DeviceId(ids.iter().position(|other| *other == id).unwrap() as u32);
    let (x, y) = (at(x), at(y));
    [x.min(y), x.max(y)]
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(if cfg!(debug_assertions) { 60 } else { 600 }))]

    /// Beyond sixteen devices the best packing is not promised, but if there is a ring, one is
    /// found, and it fits.
    #[test]
    fn a_ring_of_many_devices_is_found_among_chords(
        order in (17usize..=24).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        chords in proptest::collection::vec(any::<[prop::sample::Index; 2]>(), 0..20),
    ) {
        let n = order.len();
        let mut fabric = Fabric::new();
        let ids = gpus(&mut fabric, n);
        for i in 0..n {
            fabric.link(ids[order[i]], ids[order[(i + 1) % n]], LinkClass::Direct(1), 25.0).unwrap();
        }
        for [a, b] in chords.into_iter().map(|ends| ends.map(|end| ids[end.index(n)])) {
            let _ = fabric.link(a, b, LinkClass::Direct(1), 25.0);
        }
        let graph = fabric.lower().unwrap();
        let found = RingPacking::default().of(&graph, &graph.all()).unwrap();
        prop_assert!(found.gbps >= 50.0 && found.at_most_gbps >= found.gbps && !found.over_host, "{found:?}");
        prop_assert_eq!(oracle::check_rings(&graph, &graph.all(), &Rates::NOMINAL, &found), Ok(()));
    }
}

#[test]
fn links_of_next_to_nothing_carry_nothing() {
    let mut fabric = Fabric::new();
    let ids = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        fabric
            .link(
                ids[a],
                ids[b],
                LinkClass::Direct(1),
                if (a, b) == (0, 1) { 1e-320 } else { 20.0 },
            )
            .unwrap();
    }
    let graph = fabric.lower().unwrap();
    for direct in [1.0, 1e-320, f64::NAN, f64::INFINITY, -1.0] {
        let rates = Rates {
            direct,
            ..Rates::NOMINAL
        };
        let found = [
            RingPacking::new(rates).of(&graph, &graph.all()),
            TreePacking::new(rates).of(&graph, &graph.all()),
            AllToAll::new(rates).of(&graph, &graph.all()),
            Channels::new(rates, &Channels::SPEEDS).of(&graph, &graph.all()),
        ];
        for found in found.map(Option::unwrap) {
            let none = direct < 1.0 || direct.is_nan();
            assert!(
                found.gbps.is_finite() && (found.gbps == 0.0) == none,
                "{direct}: {found:?}"
            );
        }
    }
}

#[test]
fn few_devices_and_none_at_all() {
    let mut fabric = Fabric::new();
    let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    fabric
        .link(ids[0], ids[1], LinkClass::Direct(2), 50.0)
        .unwrap();
    let graph = fabric.lower().unwrap();
    let of = |set: DeviceSet| RingPacking::default().of(&graph, &set);
    assert!(of([0].into()).is_none() && of(DeviceSet::new()).is_none());
    let pair = of([0, 1].into()).unwrap();
    assert_eq!(
        (pair.gbps, pair.over_host, &pair.rings[..]),
        (50.0, false, &[(vec![DeviceId(0), DeviceId(1)], 50.0)][..])
    );
    let apart = of([0, 2].into()).unwrap();
    assert_eq!(
        (apart.gbps, apart.at_most_gbps, apart.rings.len()),
        (0.0, 0.0, 0)
    );
    let sizes: Vec<usize> = RingPacking::default()
        .table(&graph, 0..=9)
        .map(|(set, _)| set.len())
        .collect();
    assert_eq!(sizes, [2, 2, 2, 3]);
}
