//! Trees, all-to-all and searched channels: compared with slow oracles and with each other.

use mapa_core::{
    AllToAll, Bandwidth, Channels, DeviceId, DeviceSet, Fabric, FabricNode, HardwareGraph,
    LinkClass, NodeKind, Rates, RingPacking, TreePacking,
};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::gpus;

/// A small machine as the oracles read it: links of pairs and ports of link switches, GB/s per
/// direction; no host.
#[derive(Clone, Debug)]
struct Plan {
    n: usize,
    /// By pair `pairs(n)`.
    links: Vec<f64>,
    switches: Vec<Vec<f64>>,
}

fn pairs(n: usize) -> Vec<(usize, usize)> {
    (0..n)
        .flat_map(|a| (a + 1..n).map(move |b| (a, b)))
        .collect()
}

impl Plan {
    fn graph(&self) -> HardwareGraph {
        let mut fabric = Fabric::new();
        let ids = gpus(&mut fabric, self.n);
        for ((a, b), &gbps) in pairs(self.n)
            .into_iter()
            .zip(&self.links)
            .filter(|(_, gbps)| **gbps > 0.0)
        {
            fabric
                .link(ids[a], ids[b], LinkClass::Direct(1), gbps)
                .unwrap();
        }
        for (s, ports) in self.switches.iter().enumerate() {
            let switch = fabric
                .add(FabricNode {
                    name: format!("switch{s}"),
                    kind: NodeKind::LinkSwitch,
                })
                .unwrap();
            for (device, &gbps) in ports.iter().enumerate().filter(|(_, gbps)| **gbps > 0.0) {
                fabric
                    .link(ids[device], switch, LinkClass::Direct(1), gbps)
                    .unwrap();
            }
        }
        fabric.lower().unwrap()
    }

    /// The machine with its devices in another order.
    fn renumbered(&self, order: &[usize]) -> Self {
        let place = |a: usize, b: usize| {
            let (a, b) = (order[a].min(order[b]), order[a].max(order[b]));
            pairs(self.n)
                .iter()
                .position(|pair| *pair == (a, b))
                .unwrap()
        };
        let links = pairs(self.n)
            .into_iter()
            .map(|(a, b)| self.links[place(a, b)])
            .collect();
        let switches = self
            .switches
            .iter()
            .map(|ports| order.iter().map(|&at| ports[at]).collect())
            .collect();
        Self {
            n: self.n,
            links,
            switches,
        }
    }

    /// For each way between two devices, the capacities that a hop takes: positions in
    /// [`Plan::capacities`].
    fn ways(&self, at: usize, (a, b): (usize, usize)) -> Vec<Vec<usize>> {
        let mut ways = Vec::new();
        if self.links[at] > 0.0 {
            ways.push(vec![at]);
        }
        for (s, ports) in self
            .switches
            .iter()
            .enumerate()
            .filter(|(_, ports)| ports[a].min(ports[b]) > 0.0)
        {
            let _ = ports;
            let port = |device: usize| self.links.len() + s * self.n + device;
            ways.push(vec![port(a), port(b)]);
        }
        ways
    }

    fn capacities(&self) -> Vec<f64> {
        self.links
            .iter()
            .chain(self.switches.iter().flatten())
            .copied()
            .collect()
    }
}

fn plans(n: std::ops::RangeInclusive<usize>, switches: usize) -> impl Strategy<Value = Plan> {
    let link =
        prop_oneof![2 => Just(0.0), 5 => (1u8..=3).prop_map(|links| 20.0 * f64::from(links))];
    let port =
        prop_oneof![1 => Just(0.0), 4 => (1u8..=4).prop_map(|links| 25.0 * f64::from(links))];
    n.prop_flat_map(move |n| {
        (
            Just(n),
            vec(link.clone(), n * (n - 1) / 2),
            vec(vec(port.clone(), n), 0..=switches),
        )
            .prop_map(|(n, links, switches)| Plan { n, links, switches })
    })
}

fn trees(graph: &HardwareGraph) -> Bandwidth {
    TreePacking::new(Rates::NOMINAL)
        .of(graph, &graph.all())
        .unwrap()
}

fn rings(graph: &HardwareGraph) -> Bandwidth {
    RingPacking::new(Rates::NOMINAL)
        .of(graph, &graph.all())
        .unwrap()
}

fn exchange(graph: &HardwareGraph) -> Bandwidth {
    AllToAll::new(Rates::NOMINAL)
        .of(graph, &graph.all())
        .unwrap()
}

fn unrelayed(graph: &HardwareGraph) -> Bandwidth {
    AllToAll::new(Rates::NOMINAL)
        .unrelayed()
        .of(graph, &graph.all())
        .unwrap()
}

fn channels(graph: &HardwareGraph) -> Bandwidth {
    Channels::new(Rates::NOMINAL, &Channels::SPEEDS)
        .of(graph, &graph.all())
        .unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

/// All partitions of `n` things: for each thing the number of its part, parts numbered as they
/// appear.
fn partitions(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        let grown = |parts: &Vec<usize>| {
            let next = parts.iter().max().map_or(0, |most| most + 1);
            (0..=next)
                .map(|part| [&parts[..], &[part]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(grown).collect();
    }
    all
}

/// Tutte and Nash-Williams: the least over partitions of what crosses / (parts - 1).
fn tutte_nash_williams(plan: &Plan) -> f64 {
    let crossing = |parts: &Vec<usize>| {
        let across = pairs(plan.n)
            .into_iter()
            .zip(&plan.links)
            .filter(|((a, b), _)| parts[*a] != parts[*b]);
        across.map(|(_, gbps)| gbps).sum::<f64>() / *parts.iter().max().unwrap() as f64
    };
    partitions(plan.n)
        .iter()
        .filter(|parts| parts.iter().any(|part| *part > 0))
        .map(crossing)
        .fold(f64::MAX, f64::min)
}

/// All spanning trees, each edge by each way, as their loads; then the packing as one linear
/// program.
fn listed_trees(plan: &Plan) -> f64 {
    let all = pairs(plan.n);
    let mut loads: Vec<Vec<f64>> = Vec::new();
    for edges in (0u32..1 << all.len()).filter(|edges| edges.count_ones() as usize == plan.n - 1) {
        let chosen: Vec<usize> = (0..all.len()).filter(|at| edges >> at & 1 == 1).collect();
        let mut part: Vec<usize> = (0..plan.n).collect();
        for &at in &chosen {
            let (from, to) = (part[all[at].0], part[all[at].1]);
            part.iter_mut()
                .filter(|part| **part == from)
                .for_each(|part| *part = to);
        }
        if part.iter().any(|p| *p != part[0]) {
            continue;
        }
        let mut of_tree = vec![vec![0.0; plan.capacities().len()]];
        for at in chosen {
            let with = |load: &Vec<f64>, way: &Vec<usize>| {
                let mut load = load.clone();
                way.iter().for_each(|&capacity| load[capacity] += 1.0);
                load
            };
            let ways = plan.ways(at, all[at]);
            of_tree = of_tree
                .iter()
                .flat_map(|load| ways.iter().map(move |way| with(load, way)))
                .collect();
        }
        loads.extend(of_tree);
    }
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let amounts: Vec<Variable> = loads
        .iter()
        .map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)))
        .collect();
    for (i, gbps) in plan.capacities().into_iter().enumerate() {
        let row: Vec<_> = amounts
            .iter()
            .zip(&loads)
            .map(|(&v, load)| (v, load[i]))
            .filter(|(_, x)| *x > 0.0)
            .collect();
        problem.add_constraint(&row[..], ComparisonOp::Le, gbps);
    }
    problem
        .solve()
        .unwrap()
        .into_solution()
        .unwrap()
        .objective()
}

/// The exchange as one linear program over arcs, with one flow for each source; a link switch is a
/// vertex. Without relays a flow leaves no device but its source.
fn arc_flows(plan: &Plan, relayed: bool) -> f64 {
    let mut arcs: Vec<(usize, usize, f64)> = Vec::new();
    for ((a, b), &gbps) in pairs(plan.n)
        .into_iter()
        .zip(&plan.links)
        .filter(|(_, gbps)| **gbps > 0.0)
    {
        arcs.extend([(a, b, gbps), (b, a, gbps)]);
    }
    for (s, ports) in plan.switches.iter().enumerate() {
        for (a, &gbps) in ports.iter().enumerate().filter(|(_, gbps)| **gbps > 0.0) {
            arcs.extend([(a, plan.n + s, gbps), (plan.n + s, a, gbps)]);
        }
    }
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let each = problem.add_var(1.0, (0.0, 1e6));
    let on = |source: usize, from: usize| relayed || from == source || from >= plan.n;
    let mut used: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); arcs.len()];
    for source in 0..plan.n {
        let mut balance: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); plan.n + plan.switches.len()];
        for (at, &(from, to, _)) in arcs
            .iter()
            .enumerate()
            .filter(|(_, (from, ..))| on(source, *from))
        {
            let flow = problem.add_var(0.0, (0.0, f64::INFINITY));
            used[at].push((flow, 1.0));
            balance[to].push((flow, 1.0));
            balance[from].push((flow, -1.0));
        }
        for (place, mut row) in balance
            .into_iter()
            .enumerate()
            .filter(|(place, _)| *place != source)
        {
            if place < plan.n {
                row.push((each, -1.0));
            }
            problem.add_constraint(&row[..], ComparisonOp::Eq, 0.0);
        }
    }
    for (row, (.., gbps)) in used.iter().zip(&arcs) {
        problem.add_constraint(&row[..], ComparisonOp::Le, *gbps);
    }
    problem
        .solve()
        .unwrap()
        .into_solution()
        .unwrap()
        .objective()
        * (plan.n as f64 - 1.0)
}

fn as_bus(n: usize) -> f64 {
    2.0 * (n as f64 - 1.0) / n as f64
}

/// Checks that channels fit: every hop goes over links first, then over switches (here one switch).
fn fits(plan: &Plan, found: &Bandwidth) -> bool {
    let n = plan.n;
    let mut load = vec![0.0; n * n];
    for (ring, gbps) in &found.rings {
        let mut seen: Vec<usize> = ring.iter().map(|id| id.index()).collect();
        for (at, from) in ring.iter().enumerate() {
            load[from.index() * n + ring[(at + 1) % n].index()] += gbps;
        }
        seen.sort_unstable();
        if seen != (0..n).collect::<Vec<_>>() {
            return false;
        }
    }
    let none = vec![0.0; n];
    let ports = plan.switches.first().unwrap_or(&none);
    let (mut leave, mut enter) = (vec![0.0; n], vec![0.0; n]);
    for ((a, b), &gbps) in pairs(n).into_iter().zip(&plan.links) {
        for (from, to) in [(a, b), (b, a)] {
            let beyond = (load[from * n + to] - gbps).max(0.0);
            leave[from] += beyond;
            enter[to] += beyond;
        }
    }
    (0..n).all(|at| leave[at] <= ports[at] + 1e-6 && enter[at] <= ports[at] + 1e-6)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(96))]

    #[test]
    fn trees_on_links_are_the_number_of_tutte_and_nash_williams(plan in plans(2..=7, 0)) {
        let found = trees(&plan.graph());
        prop_assert_eq!(found.gbps, found.at_most_gbps, "exact");
        let expected = tutte_nash_williams(&plan) * as_bus(plan.n);
        prop_assert!(close(found.gbps, expected), "{} for {expected}", found.gbps);
    }

    #[test]
    fn trees_over_switches_are_as_many_as_of_all_trees_listed(plan in plans(2..=4, 2)) {
        let found = trees(&plan.graph());
        prop_assert_eq!(found.gbps, found.at_most_gbps, "exact");
        let expected = listed_trees(&plan) * as_bus(plan.n);
        prop_assert!(close(found.gbps, expected), "{} for {expected}", found.gbps);
    }

    #[test]
    fn trees_that_are_returned_span_fit_and_add_up(plan in plans(2..=7, 0)) {
        let graph = plan.graph();
        let packing = TreePacking::new(Rates::NOMINAL).trees(&graph, &graph.all());
        let mut room = plan.links.clone();
        for (edges, gbps) in &packing {
            let mut part: Vec<usize> = (0..plan.n).collect();
            for (a, b) in edges {
                let (low, high) = (a.index().min(b.index()), a.index().max(b.index()));
                room[pairs(plan.n).iter().position(|pair| *pair == (low, high)).unwrap()] -= gbps;
                let (from, to) = (part[a.index()], part[b.index()]);
                part.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
            }
            prop_assert!(edges.len() == plan.n - 1 && part.iter().all(|p| *p == part[0]), "spans");
        }
        prop_assert!(room.iter().all(|room| *room >= -1e-9), "fits");
        let sum: f64 = packing.iter().map(|(_, gbps)| gbps).sum();
        prop_assert!(close(sum * as_bus(plan.n), trees(&graph).gbps));
    }

    #[test]
    fn all_to_all_is_what_flows_on_arcs_carry(plan in plans(2..=6, 2)) {
        let graph = plan.graph();
        for (found, relayed) in [(exchange(&graph), true), (unrelayed(&graph), false)] {
            prop_assert_eq!(found.gbps, found.at_most_gbps, "exact");
            let expected = arc_flows(&plan, relayed);
            prop_assert!(close(found.gbps, expected), "{} for {expected}, relayed: {relayed}", found.gbps);
        }
    }

    #[test]
    fn trees_reach_what_an_exchange_reaches_and_relays_do_not_hurt(plan in plans(2..=8, 2)) {
        let graph = plan.graph();
        let (trees, exchange, unrelayed) = (trees(&graph), exchange(&graph), unrelayed(&graph));
        prop_assert!(unrelayed.gbps <= exchange.at_most_gbps * (1.0 + 1e-9));
        prop_assert!(exchange.gbps <= trees.at_most_gbps * (1.0 + 1e-9));
    }

    #[test]
    fn trees_reach_what_rings_reach_and_rings_what_channels_reach(plan in plans(2..=7, 2)) {
        let graph = plan.graph();
        let (trees, rings, channels) = (trees(&graph), rings(&graph), channels(&graph));
        prop_assert!(rings.gbps <= trees.at_most_gbps * (1.0 + 1e-9));
        prop_assert!(channels.gbps <= rings.at_most_gbps * (1.0 + 1e-9));
    }

    #[test]
    fn another_link_never_lowers_trees_or_an_exchange(plan in plans(2..=7, 1), at: prop::sample::Index, more in 1u8..4) {
        let mut better = plan.clone();
        let at = at.index(plan.links.len());
        better.links[at] += 20.0 * f64::from(more);
        let (plan, better) = (plan.graph(), better.graph());
        for of in [trees, exchange, unrelayed] {
            prop_assert!(of(&plan).gbps <= of(&better).at_most_gbps * (1.0 + 1e-9));
        }
    }

    #[test]
    fn numbers_of_devices_do_not_matter(
        (plan, order) in plans(2..=7, 2).prop_flat_map(|plan| {
            let order = Just((0..plan.n).collect::<Vec<_>>()).prop_shuffle();
            (Just(plan), order)
        }),
    ) {
        let (graph, other) = (plan.graph(), plan.renumbered(&order).graph());
        for of in [trees, exchange, unrelayed] {
            prop_assert_eq!(of(&graph), of(&other));
        }
    }

    #[test]
    fn channels_fit_and_the_search_to_its_end_is_bounded_by_itself(plan in plans(2..=6, 1)) {
        let graph = plan.graph();
        let found = channels(&graph);
        prop_assert!(fits(&plan, &found), "{found:?}");
        prop_assert!(found.gbps <= found.at_most_gbps);
        let longer = Channels::new(Rates::NOMINAL, &Channels::SPEEDS).node_limit(1 << 17);
        let longer = longer.of(&graph, &graph.all()).unwrap();
        prop_assert!(found.gbps <= longer.gbps && longer.at_most_gbps <= found.at_most_gbps);
    }
}

#[test]
fn one_device_has_no_bandwidth_and_two_have_their_link() {
    let plan = Plan {
        n: 2,
        links: vec![40.0],
        switches: vec![vec![25.0, 50.0]],
    };
    let graph = plan.graph();
    for found in [trees(&graph), exchange(&graph), unrelayed(&graph)] {
        assert_eq!(
            (found.gbps, found.at_most_gbps, found.over_host),
            (65.0, 65.0, false)
        );
    }
    assert_eq!(
        channels(&graph).gbps,
        65.0,
        "thirteen of 5: eight over the links, five over the switch"
    );
    let one = DeviceSet::from([1]);
    assert_eq!(TreePacking::new(Rates::NOMINAL).of(&graph, &one), None);
    assert_eq!(AllToAll::new(Rates::NOMINAL).of(&graph, &one), None);
    assert_eq!(
        Channels::new(Rates::NOMINAL, &Channels::SPEEDS).of(&graph, &DeviceSet::new()),
        None
    );
}

#[test]
fn a_switch_with_equal_ports_gives_a_port_in_every_model() {
    for n in [2, 3, 5, 8, 16] {
        let graph = Plan {
            n,
            links: vec![0.0; n * (n - 1) / 2],
            switches: vec![vec![240.0; n]],
        }
        .graph();
        for found in [
            trees(&graph),
            exchange(&graph),
            unrelayed(&graph),
            channels(&graph),
        ] {
            assert_eq!(
                (found.gbps, found.at_most_gbps),
                (240.0, 240.0),
                "{n} devices: {found:?}"
            );
        }
    }
}

#[test]
fn where_direct_links_join_nobody_the_host_is_left() {
    let mut fabric = Fabric::new();
    let ids = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    let node = fabric.add_numa("cpu0", 0).unwrap();
    ids.iter()
        .for_each(|id| fabric.attach(*id, node, 12.0).unwrap());
    fabric
        .link(ids[0], ids[1], LinkClass::Direct(2), 50.0)
        .unwrap();
    fabric
        .link(ids[1], ids[2], LinkClass::Direct(1), 5.0)
        .unwrap();
    let graph = fabric.lower().unwrap();
    let rates = Rates {
        direct: 1.0,
        host: 0.5,
        between_sockets: None,
    };
    for (set, gbps) in [
        (DeviceSet::from([0, 1]), 50.0),
        ([0, 1, 2].into(), 20.0 / 3.0),
        ([0, 1, 2, 3].into(), 6.0),
    ] {
        let found = TreePacking::new(rates).of(&graph, &set).unwrap();
        assert_eq!(
            (found.gbps, found.over_host),
            (f64::round(gbps * 1e6) / 1e6, set.len() == 4),
            "{set:?}"
        );
    }
}

#[test]
fn without_a_speed_that_links_reach_there_are_no_channels() {
    let graph = Plan {
        n: 3,
        links: vec![40.0; 3],
        switches: Vec::new(),
    }
    .graph();
    for speeds in [&[][..], &[0.0, -3.0, f64::NAN, f64::INFINITY], &[50.0]] {
        let found = Channels::new(Rates::NOMINAL, speeds)
            .of(&graph, &graph.all())
            .unwrap();
        assert_eq!(
            (found.gbps, found.rings.len(), found.over_host),
            (40.0, 0, true),
            "the slow path is left"
        );
    }
    let at_most = |most| {
        Channels::new(Rates::NOMINAL, &[5.0, 20.0])
            .at_most(most)
            .of(&graph, &graph.all())
            .unwrap()
    };
    assert_eq!(
        (at_most(3).gbps, at_most(64).gbps, at_most(1).gbps),
        (60.0, 80.0, 20.0)
    );
    assert_eq!(at_most(1).rings[0].0, [0, 1, 2].map(DeviceId));
}
/// A DGX-1 with P100s, its links as NCCL rates them (18.0), the pairs in the order of `pairs(8)`.
fn dgx_1p(n: usize) -> HardwareGraph {
    let joined = [
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 3),
        (1, 5),
        (2, 3),
        (2, 6),
        (3, 7),
    ];
    let upper = [(4, 5), (4, 6), (4, 7), (5, 6), (5, 7), (6, 7)];
    let gbps = |pair: &(usize, usize)| {
        if joined.contains(pair) || upper.contains(pair) {
            18.0
        } else {
            0.0
        }
    };
    Plan {
        n,
        links: pairs(n).iter().map(gbps).collect(),
        switches: Vec::new(),
    }
    .graph()
}

/// Measured by the Tartan suite (uuudown/Tartan, all_reduce_perf over NVLink, first n GPUs): 17.28, 34.56, 52.09, 5.57, 34.70, 34.72, 62.24
/// GB/s. At 17.3/18 of the rated speed these are 18, 36, 54, host, 36, 36, 65.
#[test]
fn channels_of_a_dgx_1p_are_those_measured_but_for_seven_and_eight() {
    let found: Vec<f64> = (2..=8).map(|n| channels(&dgx_1p(n)).gbps).collect();
    assert_eq!(found, [18.0, 36.0, 54.0, 0.0, 36.0, 54.0, 72.0]);
}

#[test]
fn one_more_link_can_lead_the_search_for_channels_astray() {
    let links = "1 1 1 3 3 2 0 3 3 1 2 3 2 2 3 0 2 3 0 0 0"
        .split(' ')
        .map(|links| 20.0 * links.parse::<f64>().unwrap());
    let mut plan = Plan {
        n: 7,
        links: links.collect(),
        switches: Vec::new(),
    };
    let before = channels(&plan.graph());
    plan.links[pairs(7).iter().position(|pair| *pair == (0, 5)).unwrap()] += 20.0;
    let after = channels(&plan.graph());
    assert_eq!((before.gbps, after.gbps), (160.0, 140.0));
    assert!(
        after.at_most_gbps >= 160.0,
        "what it has missed is not ruled out"
    );
}
