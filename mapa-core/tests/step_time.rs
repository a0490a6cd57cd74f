//! The communication time of a step compared with its definition, and the policy that minimises it
//! compared with brute force.

use mapa_core::testing::{free_sets, joined_machines, machines, oracle, patterns};
use mapa_core::{
    Candidate, DeviceId, DeviceSet, Dimension, Fabric, FabricNode, HardwareGraph, Limits,
    LinkClass, NodeKind, Objective, Parallelism, Pattern, Policy, Rates, Request, Rules, StepTime,
    criteria::{max, min},
    edges_seconds, min_edges_seconds, min_step_time, preserved_gbps, step_seconds,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::gpus;

const MEASURED: Rates = Rates {
    direct: 0.75,
    host: 0.5,
    between_sockets: Some(5.0),
};

fn job(text: &str, bytes: &str) -> Parallelism {
    text.parse::<Parallelism>()
        .unwrap()
        .with_bytes_of(bytes)
        .unwrap()
}

/// The DGX-1V by hand: quads 0-3 and 4-7 fully joined, 0-4 to 3-7 across; PCIe of 12 elsewhere.
fn dgx_1v() -> HardwareGraph {
    dgx_1vs(1, 1.0)
}

/// As many DGX-1V, every two devices of different ones joined by a network of `gbps`.
fn dgx_1vs(servers: usize, gbps: f64) -> HardwareGraph {
    let double = [
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 5),
        (2, 3),
        (4, 7),
        (5, 6),
        (6, 7),
    ];
    let single = [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 6),
        (3, 7),
        (4, 5),
        (4, 6),
        (5, 7),
    ];
    let mut fabric = Fabric::new();
    let gpus = gpus(&mut fabric, 8 * servers);
    for b in 0..gpus.len() {
        for a in 0..b {
            let pair = (a % 8, b % 8);
            let (class, gbps) = match (double.contains(&pair), single.contains(&pair)) {
                _ if a / 8 != b / 8 => (LinkClass::Network, gbps),
                (true, _) => (LinkClass::Direct(2), 50.0),
                (_, true) => (LinkClass::Direct(1), 25.0),
                _ => (LinkClass::Sys, 12.0),
            };
            fabric.link(gpus[a], gpus[b], class, gbps).unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// Devices on islands of these sizes, by number: the links within an island, and the network between islands, GB/s.
fn islands(sizes: &[usize], links: &[usize], network: f64) -> HardwareGraph {
    let island = |(at, &size): (usize, &usize)| std::iter::repeat_n(at, size);
    let island_of: Vec<usize> = sizes.iter().enumerate().flat_map(island).collect();
    let mut fabric = Fabric::new();
    let gpus = gpus(&mut fabric, island_of.len());
    let mut links = links.iter().cycle();
    for b in 0..gpus.len() {
        for a in 0..b {
            let within = [
                (LinkClass::Direct(2), 50.0),
                (LinkClass::Direct(1), 25.0),
                (LinkClass::Sys, 12.0),
            ];
            let own = within[*links.next().unwrap()];
            let is_near = island_of[a] == island_of[b];
            let (class, gbps) = if is_near {
                own
            } else {
                (LinkClass::Network, network)
            };
            fabric.link(gpus[a], gpus[b], class, gbps).unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// The time by its definition, group by group, without the model's edges.
fn by_definition(
    job: &Parallelism,
    rates: Rates,
    graph: &HardwareGraph,
    placement: &[DeviceId],
    overlap: bool,
) -> f64 {
    let rate = |a: u16, b: u16| {
        let link = graph.link(placement[a as usize], placement[b as usize]);
        if link.class.is_direct() {
            link.gbps * rates.direct
        } else if link.class == LinkClass::Sys {
            (link.gbps * rates.host).min(rates.between_sockets.unwrap_or(f64::INFINITY))
        } else {
            link.gbps * rates.host
        }
    };
    let has_port = |a: u16| graph.device(placement[a as usize]).switch_port.is_some();
    let is_shared = |a: u16, b: u16| {
        !graph
            .link(placement[a as usize], placement[b as usize])
            .class
            .is_direct()
            || has_port(a) && has_port(b)
    };
    let time = |dimension: Dimension| {
        let gigabytes = job.bytes(dimension) / 1e9;
        let mut slowest = 0.0f64;
        for group in job
            .groups(dimension)
            .iter()
            .filter(|group| group.len() > 1 && gigabytes > 0.0)
        {
            let n = group.len() as f64;
            let slowest_of = |ways: usize, gigabytes: f64| {
                (0..ways)
                    .map(|i| gigabytes / rate(group[i], group[(i + 1) % group.len()]))
                    .fold(0.0, f64::max)
            };
            slowest = slowest.max(match dimension {
                Dimension::Pipeline => slowest_of(group.len() - 1, gigabytes),
                _ if job.is_all_to_all(dimension) => {
                    let one = |a: u16| {
                        let others = || group.iter().copied().filter(move |b| *b != a);
                        let own = others()
                            .map(|b| gigabytes / n / rate(a, b))
                            .fold(0.0, f64::max);
                        own.max(
                            others()
                                .filter(|b| is_shared(a, *b))
                                .map(|b| gigabytes / n / rate(a, b))
                                .sum(),
                        )
                    };
                    group.iter().map(|a| one(*a)).fold(0.0, f64::max)
                }
                Dimension::Sequence => slowest_of(group.len(), (n - 1.0) * gigabytes),
                _ => slowest_of(group.len(), 2.0 * (n - 1.0) / n * gigabytes),
            });
        }
        slowest
    };
    let times = Dimension::ALL.map(time);
    if overlap {
        times.into_iter().fold(0.0, f64::max)
    } else {
        times.iter().sum()
    }
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-12 * b.abs()
}

/// Checks that the policy makes the choice of brute force.
fn check(
    job: &Parallelism,
    rates: Rates,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Result<(), TestCaseError> {
    let request = Request::new(job.pattern());
    let view = graph.with_free(free);
    let parallelism = *job;
    let seconds = Objective::placement("", move |c: &Candidate<'_>| {
        -by_definition(&parallelism, rates, c.view.graph(), c.placement, false)
    });
    let best = oracle::best(&request, &view, &[seconds, preserved_gbps()]);
    let decision = min_step_time(job, rates).decide(&request, &view).ok();
    prop_assert_eq!(
        decision.as_ref().map(|d| d.placement().to_vec()),
        best.clone(),
        "{} {:?}",
        job,
        job
    );
    if let (Some(decision), Some(best)) = (decision, best) {
        prop_assert!(decision.search().complete());
        let value = decision.best().score("step_seconds").unwrap();
        prop_assert!(close(value, by_definition(job, rates, graph, &best, false)));
    }
    Ok(())
}

fn jobs(ranks: usize) -> impl Strategy<Value = Parallelism> {
    let degrees: Vec<[usize; 4]> = (1..=ranks)
        .flat_map(|t| {
            (1..=ranks / t).flat_map(move |p| (1..=ranks / t / p).map(move |d| [t, p, d]))
        })
        .flat_map(|[t, p, d]| (1..=ranks / t / p / d).map(move |s| [t, p, d, s]))
        .filter(|degrees| degrees.iter().product::<usize>() > 1)
        .collect();
    // Some of them make edges of different phases equal.
    let bytes = || select(vec![0.0, 1e9, 1e9, 1.5e9, 2e9, 1e7]);
    let order = select(vec!["megatron", "vllm", "pp-dp-ep-cp-tp", "dp-tp-cp-ep-pp"]);
    let experts = (any::<prop::sample::Index>(), any::<bool>());
    (
        select(degrees),
        prop::array::uniform6(bytes()),
        order,
        experts,
        any::<bool>(),
    )
        .prop_map(
            |([tensor, pipeline, data, sequence], bytes, order, (at, whole), ulysses)| {
                let job = Parallelism::new(tensor, pipeline, data)
                    .unwrap()
                    .with_sequence(sequence, ulysses)
                    .unwrap();
                let stage = data * sequence * if whole { tensor } else { 1 };
                let divisors: Vec<usize> =
                    (1..=stage).filter(|degree| stage % degree == 0).collect();
                let job = job
                    .with_experts(divisors[at.index(divisors.len())], whole && tensor > 1)
                    .unwrap();
                let with = |job: Parallelism, (dimension, bytes)| {
                    job.with_bytes(dimension, bytes).unwrap()
                };
                Dimension::ALL
                    .into_iter()
                    .zip(bytes)
                    .fold(job.with_order(order).unwrap(), with)
            },
        )
}

fn rates() -> impl Strategy<Value = Rates> {
    select(vec![Rates::NOMINAL, MEASURED])
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(200))]

    #[test]
    fn times_are_those_of_the_definition(
        graph in joined_machines(6..=8), job in jobs(6), rates in rates(), keys in prop::collection::vec(any::<u32>(), 8)
    ) {
        let mut order: Vec<DeviceId> = graph.all().iter().collect();
        order.sort_by_key(|id| keys[id.index()]);
        order.truncate(job.ranks());
        let model = StepTime::new(&job, rates);
        let value = model.seconds(&graph, &order).unwrap();
        prop_assert!(close(value, by_definition(&job, rates, &graph, &order, false)));
        let overlapping = model.clone().overlapping().seconds(&graph, &order).unwrap();
        prop_assert!(close(overlapping, by_definition(&job, rates, &graph, &order, true)));
        prop_assert!(overlapping <= value);
        prop_assert_eq!(model.seconds(&graph, &order[1..]), None);
        // No set allows less than its bound: the objective's own search would lose it.
        let (set, free) = (order.iter().copied().collect::<DeviceSet>(), graph.all());
        let one = Rules::new("").prefer(min(step_seconds(&job, rates)));
        let request = Request::new(job.pattern()).only(set);
        let decision = one.decide(&request, &graph.with_free(&free)).unwrap();
        prop_assert!(decision.best().score("step_seconds").unwrap() <= value * (1.0 + 1e-12));
    }

    #[test]
    fn decisions_are_those_of_brute_force(
        graph in joined_machines(2..=6), job in jobs(6), rates in rates(), free in free_sets(6)
    ) {
        check(&job, rates, &graph, &(&free & &graph.all()))?;
        check(&job, rates, &graph, &graph.all())?;
    }

    #[test]
    fn decisions_on_islands_are_those_of_brute_force(
        sizes in prop::collection::vec(1usize..=3, 2..=3), links in prop::collection::vec(0usize..3, 12),
        network in select(vec![3.0, 12.0, 25.0, 100.0]), job in jobs(4), rates in rates()
    ) {
        let graph = islands(&sizes, &links, network);
        check(&job, rates, &graph, &graph.all())?;
    }

    #[test]
    fn edges_that_do_not_connect_all_ranks_may_lie_on_different_islands(
        sizes in prop::collection::vec(1usize..=3, 2..=3), links in prop::collection::vec(0usize..3, 12),
        network in select(vec![3.0, 12.0, 25.0, 100.0]), bytes in prop::array::uniform2(select(vec![1e9, 2e9, 1e7]))
    ) {
        let graph = islands(&sizes, &links, network);
        let pattern = Pattern::from_edges(4, [(0, 1, bytes[0]), (2, 3, bytes[1])]).unwrap();
        let (request, free) = (Request::new(pattern.clone()), graph.all());
        let view = graph.with_free(&free);
        let seconds = Objective::placement("", |c: &Candidate<'_>| {
            let seconds = c.pattern.edges().iter().map(|e| {
                e.traffic / (c.view.graph().link(c.placement[e.a as usize], c.placement[e.b as usize]).gbps * 1e9)
            });
            -seconds.fold(0.0, f64::max)
        });
        let best = oracle::best(&request, &view, &[seconds, preserved_gbps()]);
        let decision = min_edges_seconds(&pattern, Rates::NOMINAL).decide(&request, &view).ok();
        prop_assert_eq!(decision.map(|d| d.placement().to_vec()), best);
    }

    #[test]
    fn decisions_are_those_of_brute_force_where_links_are_missing(graph in machines(2..=6), job in jobs(6)) {
        check(&job, Rates::NOMINAL, &graph, &graph.all())?;
    }

    #[test]
    fn the_objective_alone_and_with_all_phases_at_once_is_minimised(
        graph in machines(2..=5), job in jobs(5), overlap in any::<bool>()
    ) {
        let model = StepTime::new(&job, Rates::NOMINAL);
        let model = if overlap { model.overlapping() } else { model };
        let (request, free) = (Request::new(job.pattern()), graph.all());
        let view = graph.with_free(&free);
        let seconds = Objective::placement("", move |c: &Candidate<'_>| {
            -by_definition(&job, Rates::NOMINAL, c.view.graph(), c.placement, overlap)
        });
        let best = oracle::best(&request, &view, &[seconds]);
        let decision = Rules::new("").prefer(min(model.objective())).decide(&request, &view).ok();
        prop_assert_eq!(decision.map(|d| d.placement().to_vec()), best);
    }

    #[test]
    fn the_slowest_edge_of_any_pattern_is_minimised(graph in machines(2..=5), pattern in patterns(2..=5)) {
        let (request, free) = (Request::new(pattern.clone()), graph.all());
        let view = graph.with_free(&free);
        let slowest = |c: &Candidate<'_>| {
            let seconds = c.pattern.edges().iter().map(|e| {
                e.traffic / (c.view.graph().link(c.placement[e.a as usize], c.placement[e.b as usize]).gbps * 1e9)
            });
            -seconds.fold(0.0, f64::max)
        };
        let best = oracle::best(&request, &view, &[Objective::placement("", slowest)]);
        let decision = Rules::new("").prefer(min(edges_seconds(&pattern, Rates::NOMINAL))).decide(&request, &view).ok();
        prop_assert_eq!(decision.map(|d| d.placement().to_vec()), best);
    }
}

/// Devices of which some are behind a link switch; some of these also have direct links of their
/// own.
fn switched(gbps: [f64; 3], on_switch: usize) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let gpus = gpus(&mut fabric, 6);
    let switch = fabric
        .add(FabricNode {
            name: "switch".to_owned(),
            kind: NodeKind::LinkSwitch,
        })
        .unwrap();
    for gpu in &gpus[..on_switch] {
        fabric
            .link(*gpu, switch, LinkClass::Direct(6), gbps[0])
            .unwrap();
    }
    for (i, a) in gpus.iter().enumerate() {
        for (j, b) in gpus[..i].iter().enumerate() {
            if i >= on_switch && j >= on_switch {
                fabric.link(*a, *b, LinkClass::Direct(1), gbps[1]).unwrap();
            } else if i >= on_switch {
                fabric.link(*a, *b, LinkClass::Sys, gbps[2]).unwrap();
            }
        }
    }
    fabric.lower().unwrap()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(100))]

    #[test]
    fn decisions_behind_link_switches_are_those_of_brute_force(
        gbps in prop::array::uniform3(select(vec![12.0, 25.0, 50.0, 100.0])),
        on_switch in 2usize..=6, job in jobs(6), free in free_sets(6)
    ) {
        let graph = switched(gbps, on_switch);
        check(&job, Rates::NOMINAL, &graph, &graph.all())?;
        check(&job, Rates::NOMINAL, &graph, &(&free & &graph.all()))?;
    }

    #[test]
    fn the_slowest_edge_of_weighted_patterns_is_minimised_then_as_for_jobs(
        graph in joined_machines(2..=6), free in free_sets(6), ranks in 2usize..=5,
        edges in prop::collection::vec((0u16..5, 0u16..5, select(vec![1e9, 2e9, 3.3e9, 1e7])), 1..9)
    ) {
        let edges = edges.into_iter().map(|(a, b, bytes)| (a % ranks as u16, b % ranks as u16, bytes));
        let pattern = Pattern::from_edges(ranks, edges.filter(|(a, b, _)| a != b)).unwrap();
        let free = &free & &graph.all();
        let (request, view) = (Request::new(pattern.clone()), graph.with_free(&free));
        let slowest = |c: &Candidate<'_>| {
            let seconds = c.pattern.edges().iter().map(|e| {
                e.traffic / (c.view.graph().link(c.placement[e.a as usize], c.placement[e.b as usize]).gbps * 1e9)
            });
            -seconds.fold(0.0, f64::max)
        };
        let best = oracle::best(&request, &view, &[Objective::placement("", slowest), preserved_gbps()]);
        let decision = min_edges_seconds(&pattern, Rates::NOMINAL).decide(&request, &view).ok();
        prop_assert_eq!(decision.map(|d| d.placement().to_vec()), best);
    }
}

/// All orders of these devices, smallest first.
fn orders(devices: &[DeviceId]) -> Vec<Vec<DeviceId>> {
    if devices.is_empty() {
        return vec![Vec::new()];
    }
    let first = |&first: &DeviceId| {
        let rest: Vec<DeviceId> = devices.iter().copied().filter(|&id| id != first).collect();
        orders(&rest)
            .into_iter()
            .map(move |order| [vec![first], order].concat())
    };
    devices.iter().flat_map(first).collect()
}

/// Checks that the policy takes the first of the best of all orders of all devices.
fn check_all(job: &Parallelism, rates: Rates, graph: &HardwareGraph, orders: &[Vec<DeviceId>]) {
    let free = graph.all();
    let decision = min_step_time(job, rates)
        .decide(&Request::new(job.pattern()), &graph.with_free(&free))
        .unwrap();
    let values: Vec<f64> = orders
        .iter()
        .map(|order| by_definition(job, rates, graph, order, false))
        .collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let first = values
        .iter()
        .position(|value| close(*value, least))
        .unwrap();
    assert_eq!(decision.placement().to_vec(), orders[first], "{job:?}");
    assert!(
        close(decision.best().score("step_seconds").unwrap(), least)
            && decision.search().complete()
    );
}

#[test]
fn decisions_on_a_dgx_1v_are_those_of_brute_force() {
    let graph = dgx_1v();
    let orders = orders(&graph.all().iter().collect::<Vec<_>>());
    assert_eq!(orders.len(), 40_320);
    for (text, bytes) in [
        ("tp=4,pp=2", "tp=1e9"),
        ("tp=4,pp=2", "tp=2e9,pp=1e8"),
        ("tp=4,pp=2", "tp=1e9,pp=1.5e9"),
        ("tp=2,pp=2,dp=2", "tp=1e9"),
        ("tp=2,pp=2,dp=2", "tp=4e9,pp=1e8,dp=1e9"),
        ("tp=2,dp=4", "tp=1e9,dp=2e9"),
        ("tp=8", "tp=1e9"),
        ("dp=8", "dp=3e9"),
        ("pp=8", "pp=1e9"),
        ("pp=4,dp=2", "pp=1e9"),
        ("dp=8,ep=4", "dp=1e8,ep=2e9,edp=1e9"),
        ("tp=2,dp=4,ep=8,etp=1", "tp=1e9,dp=1e8,ep=4e9"),
        ("tp=2,sp=4", "tp=1e9,sp=1e9,dp=1e8"),
        ("tp=2,ulysses=2,pp=2,order=pp-tp-cp", "pp=1e9,sp=2e9,dp=0"),
    ] {
        check_all(&job(text, bytes), Rates::NOMINAL, &graph, &orders);
        check_all(&job(text, bytes), MEASURED, &graph, &orders);
    }
    for (text, free) in [
        ("tp=2,pp=2", [0, 1, 4, 5, 6].as_slice()),
        ("tp=4", &[1, 2, 5, 6, 7]),
        ("tp=3,dp=2", &[0, 1, 2, 3, 4, 5, 6]),
        ("dp=4,ep=4", &[0, 1, 2, 4, 5, 6]),
    ] {
        let free = free.iter().map(|&id| DeviceId(id)).collect();
        check(&job(text, "tp=1e9"), Rates::NOMINAL, &graph, &free).unwrap();
    }
}

/// A set over several servers has an edge on the network, so each server is searched by itself: C(32, 8) sets
/// are 10.5 million, those within servers four.
#[test]
fn servers_that_a_network_joins_are_taken_apart() {
    let graph = dgx_1vs(4, 12.0);
    for (text, bytes) in [("tp=8", "tp=1e9"), ("dp=8", "dp=3e9"), ("pp=8", "pp=1e9")] {
        let job = job(text, bytes);
        let request = Request::new(job.pattern());
        let decide = |graph: &HardwareGraph, free: &DeviceSet| {
            min_step_time(&job, Rates::NOMINAL)
                .decide(&request, &graph.with_free(free))
                .unwrap()
        };
        // The first server has a device in use, so the job goes to the second.
        let found = decide(&graph, &(&graph.all() - &DeviceSet::from([3])));
        let (alone, one) = (dgx_1v(), &dgx_1v().all());
        let alone = decide(&alone, one);
        assert!(found.search().complete() && found.search().nodes < 10_000);
        let moved = alone.placement().iter().map(|id| DeviceId(id.0 + 8));
        assert_eq!(
            found.placement().to_vec(),
            moved.collect::<Vec<_>>(),
            "{text}"
        );
        let seconds = |found: &mapa_core::Decision| found.best().score("step_seconds");
        assert_eq!(seconds(&found), seconds(&alone));
    }
}

/// Every pair joined alike.
fn alike(n: usize, gbps: f64) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let gpus = gpus(&mut fabric, n);
    for (i, a) in gpus.iter().enumerate() {
        gpus[..i]
            .iter()
            .for_each(|b| fabric.link(*a, *b, LinkClass::Direct(12), gbps).unwrap());
    }
    fabric.lower().unwrap()
}

#[test]
fn where_all_links_are_alike_a_step_takes_what_is_sent_over_their_bandwidth() {
    let graph = alike(16, 250.0);
    let free = graph.all();
    for (text, gigabytes) in [
        ("tp=4,pp=2,dp=2", 1.5 + 1.0 + 1.0),
        ("tp=8", 1.75),
        ("pp=3", 1.0),
        ("tp=2,dp=4", 1.0 + 1.5),
    ] {
        let job = job(text, "tp=1e9,pp=1e9,dp=1e9");
        let decision = min_step_time(&job, Rates::NOMINAL)
            .decide(&Request::new(job.pattern()), &graph.with_free(&free));
        let decision = decision.unwrap();
        assert_eq!(
            decision.best().score("step_seconds"),
            Some(gigabytes / 250.0),
            "{text}"
        );
        let ids: Vec<usize> = decision.placement().iter().map(|id| id.index()).collect();
        assert_eq!(ids, (0..job.ranks()).collect::<Vec<_>>());
        // The first order on the first set meets the bound of all sets.
        assert!(
            decision.search().nodes <= 64,
            "{text}: {} nodes",
            decision.search().nodes
        );
    }
}

#[test]
fn behind_a_link_switch_an_all_to_all_takes_what_a_port_sends_and_the_first_order_is_known_to_be_best()
 {
    let graph = switched([100.0, 0.0, 0.0], 6);
    let free = graph.all();
    for (text, bytes, gigabytes) in [
        // Of 6 GB, 1 GB stays and 5 leave by the port.
        ("dp=6,ep=6", "dp=0,edp=0,ep=6e9", 5.0),
        ("dp=6,ep=3", "dp=0,edp=0,ep=6e9", 4.0),
        ("ulysses=6", "dp=0,sp=6e9", 5.0),
        // A ring of six passes 1 GB on five times.
        ("sp=6", "dp=0,sp=1e9", 5.0),
        ("pp=2,dp=3,ep=3", "pp=1e9,dp=1.5e9,ep=3e9", 1.0 + 2.0 + 2.0),
    ] {
        let job = job(text, bytes);
        let decision = min_step_time(&job, Rates::NOMINAL)
            .decide(&Request::new(job.pattern()), &graph.with_free(&free));
        let decision = decision.unwrap();
        assert_eq!(
            decision.best().score("step_seconds"),
            Some(gigabytes / 100.0),
            "{text}"
        );
        assert!(
            decision.search().nodes <= 16,
            "{text}: {} nodes",
            decision.search().nodes
        );
    }
    // Links of their own carry an edge each.
    let job = job("dp=6,ep=6", "dp=0,ep=6e9");
    let devices: Vec<DeviceId> = alike(6, 100.0).all().iter().collect();
    assert_eq!(
        StepTime::new(&job, Rates::NOMINAL).seconds(&alike(6, 100.0), &devices),
        Some(0.01)
    );
}

#[test]
fn another_pattern_has_no_step_time() {
    let graph = alike(4, 25.0);
    let (free, placement) = (graph.all(), [0, 1, 2, 3].map(DeviceId));
    let objective = step_seconds(&job("tp=4", "tp=1e9"), Rates::NOMINAL);
    let value = |pattern: &Pattern| {
        objective.score(&Candidate {
            view: graph.with_free(&free),
            pattern,
            placement: &placement,
        })
    };
    assert!(value(&Pattern::ring(4)).is_nan());
    assert_eq!(value(&job("tp=4", "tp=1e9").pattern()), 0.06);
    assert_eq!(
        StepTime::new(&job("tp=4", "tp=1"), Rates::NOMINAL)
            .seconds(&graph, &[0, 1, 2, 9].map(DeviceId)),
        None
    );
}

#[test]
fn a_search_that_stops_early_gives_an_order_and_says_so() {
    let graph = dgx_1v();
    let free = graph.all();
    let job = job("tp=2,pp=2,dp=2", "tp=1e9");
    let decide = |nodes| {
        let request = Request::new(job.pattern()).limits(Limits::NONE.nodes(nodes));
        min_step_time(&job, Rates::NOMINAL).decide(&request, &graph.with_free(&free))
    };
    let stopped = decide(12).unwrap();
    assert!(!stopped.search().complete() && stopped.search().nodes <= 12);
    let best = decide(Request::NODES).unwrap();
    assert!(best.search().complete());
    assert!(best.best().score("step_seconds") < stopped.best().score("step_seconds"));
    assert_eq!(decide(0).unwrap_err().kind(), "limit_reached");
}

#[test]
fn steps_of_another_criterion_are_decided_by_weighing_every_order() {
    let graph = dgx_1v();
    let free = graph.all();
    let job = job("tp=2,pp=2", "tp=1e9");
    let request = Request::new(job.pattern());
    let seconds = || step_seconds(&job, Rates::NOMINAL);
    let coarse = Rules::new("")
        .prefer(min(seconds()).in_steps_of(1.0))
        .then(max(preserved_gbps()));
    let any = Rules::new("").prefer(max(preserved_gbps()));
    let placement = |rules: &Rules<'_>| {
        rules
            .decide(&request, &graph.with_free(&free))
            .unwrap()
            .placement()
            .to_vec()
    };
    assert_eq!(
        placement(&coarse),
        placement(&any),
        "no step takes a second"
    );
}
