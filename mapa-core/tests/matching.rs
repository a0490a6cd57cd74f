//! The engine compared with oracles, closed forms and petgraph.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mapa_core::testing::{free_sets, machines, oracle, patterns};
use mapa_core::{
    DeviceId, DeviceSet, Limits, LinkClass, MatchConfig, Pattern, SearchStats, StopReason,
};
use petgraph::graph::UnGraph;
use proptest::prelude::*;

use crate::common::complete;

fn found(search: mapa_core::Search<'_>) -> Vec<Vec<DeviceId>> {
    let mut all = Vec::new();
    let outcome = search.visit(|placement| {
        all.push(placement.to_vec());
        ControlFlow::<()>::Continue(())
    });
    assert!(outcome.stats.complete());
    all
}

#[test]
fn distinct_rings_of_a_complete_graph_of_eight() {
    let graph = complete(8);
    let count = |k| Pattern::ring(k).matcher().on(&graph).count().matches;
    assert_eq!(
        (2..=8).map(count).collect::<Vec<_>>(),
        [28, 56, 210, 672, 1680, 2880, 2520]
    );
    let raw = MatchConfig::new()
        .distinct(false)
        .compile(&Pattern::ring(6));
    assert_eq!(raw.on(&graph).count().matches, 20160);
}

#[test]
fn closed_forms_hold_on_complete_graphs_of_every_word_count() {
    for n in [5u64, 12, 64, 65, 128, 129, 256, 257] {
        let graph = complete(n as usize);
        let choose2 = n * (n - 1) / 2;
        let choose3 = choose2 * (n - 2) / 3;
        let count = |pattern: Pattern| pattern.matcher().on(&graph).count().matches;
        assert_eq!(count(Pattern::ring(1)), n);
        assert_eq!(count(Pattern::ring(2)), choose2);
        assert_eq!(count(Pattern::ring(3)), choose3);
        assert_eq!(count(Pattern::chain(3)), 3 * choose3);
        assert_eq!(count(Pattern::all_to_all(3)), choose3);
        let raw = MatchConfig::new()
            .distinct(false)
            .compile(&Pattern::chain(3));
        assert_eq!(raw.on(&graph).count().matches, n * (n - 1) * (n - 2));
    }
}

#[test]
fn every_terminal_keeps_the_limits_and_says_so() {
    let graph = complete(8);
    let ring = Pattern::ring(5);
    let search = ring.matcher().on(&graph);
    for limit in [0, 1, 7, 671, 672, 673] {
        let limited = search.limits(Limits::NONE.matches(limit));
        let reason = if limit >= 672 {
            StopReason::Exhausted
        } else {
            StopReason::MatchLimit
        };
        let visited = limited.visit(|_| ControlFlow::<()>::Continue(())).stats;
        assert_eq!((visited.matches, visited.stopped), (limit.min(672), reason));
        let counted = limited.count();
        assert_eq!((counted.matches, counted.stopped), (limit.min(672), reason));
        let mut matches = limited.iter();
        assert_eq!(matches.by_ref().count() as u64, limit.min(672));
        assert_eq!(matches.stats().stopped, reason);
    }
    let nodes = search.count().nodes;
    for limit in [0, 1, 100, nodes - 1, nodes] {
        let limited = search.limits(Limits::NONE.nodes(limit));
        let reason = if limit == nodes {
            StopReason::Exhausted
        } else {
            StopReason::NodeLimit
        };
        for stats in [
            limited.visit(|_| ControlFlow::<()>::Continue(())).stats,
            limited.count(),
        ] {
            assert_eq!((stats.nodes, stats.stopped), (limit, reason));
        }
    }
    let stop = || true;
    let large = complete(16);
    let stopped = ring.matcher().on(&large).until(&stop).count();
    assert_eq!(stopped.stopped, StopReason::Caller);
    assert!(stopped.nodes < 6000, "{stopped:?}");
    assert_eq!(
        ring.matcher()
            .on(&large)
            .until(&stop)
            .threads(3)
            .count()
            .stopped,
        StopReason::Caller
    );
    let broke = search.visit(|_| ControlFlow::Break(7));
    assert_eq!(
        (broke.broke, broke.stats.stopped, broke.stats.matches),
        (Some(7), StopReason::Visitor, 1)
    );
}

#[test]
fn rings_and_injections_are_as_many_as_the_formulas_say() {
    let falling = |n: u64, k: u64| (n - k + 1..=n).product::<u64>();
    for n in [7, 12, 16] {
        let graph = complete(n as usize);
        for k in 3..=n.min(8) {
            let ring = Pattern::ring(k as usize);
            let distinct = falling(n, k) / (2 * k);
            assert_eq!(
                ring.matcher().on(&graph).count().matches,
                distinct,
                "C({n},{k}) ({k}-1)! / 2"
            );
            assert_eq!(
                MatchConfig::new()
                    .by_rank(true)
                    .compile(&ring)
                    .on(&graph)
                    .count()
                    .matches,
                distinct
            );
            let raw = MatchConfig::new().distinct(false).compile(&ring);
            assert_eq!(
                raw.on(&graph).count().matches,
                falling(n, k),
                "{n}! / ({n}-{k})!"
            );
        }
    }
}

#[test]
fn raw_matches_are_counted_one_by_one_where_classes_are_not_alike() {
    let graph = complete(6);
    let raw = MatchConfig::new()
        .distinct(false)
        .compile(&Pattern::ring(4));
    let search = raw.on(&graph);
    let nodes = search.count().nodes;
    assert!(
        nodes < 100,
        "360 matches are counted as 45 times 8: {nodes} nodes"
    );
    let first_on_zero = [DeviceSet::from([0]), graph.all(), graph.all(), graph.all()];
    assert_eq!(search.domains(&first_on_zero).count().matches, 5 * 4 * 3);
    let any_but_an_edge_on_zero = |edge: &mapa_core::Edge, _: mapa_core::Link| edge.b != 3;
    assert_eq!(search.links(&any_but_an_edge_on_zero).count().matches, 0);
    assert_eq!(
        search.limits(Limits::NONE.matches(100)).count().matches,
        100
    );
}

#[test]
fn patterns_larger_than_any_machine_cost_nothing_and_match_nothing() {
    let graph = complete(3);
    for shape in mapa_core::Shape::ALL {
        let pattern = shape.pattern(1_000_000_000);
        assert_eq!(pattern.matcher().on(&graph).count().matches, 0, "{shape}");
    }
}

#[test]
fn the_empty_pattern_has_no_match() {
    let graph = complete(3);
    assert_eq!(
        Pattern::ring(0).matcher().on(&graph).count(),
        SearchStats::default()
    );
    assert_eq!(Pattern::ring(0).matcher().on(&graph).first(), None);
}

#[test]
fn a_pattern_larger_than_the_machine_has_no_match() {
    assert_eq!(
        Pattern::ring(5).matcher().on(&complete(4)).count().matches,
        0
    );
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(2000))]

    #[test]
    fn distinct_matches_are_the_smallest_of_each_class(
        (graph, free) in machines(1..=7).prop_flat_map(|g| { let n = g.len(); (Just(g), free_sets(n)) }),
        pattern in patterns(1..=5),
        induced in any::<bool>(),
    ) {
        let raw = oracle::raw_matches(&pattern, &graph, &free, induced);
        let all = MatchConfig::new().induced(induced).distinct(false).compile(&pattern);
        let all = found(all.on(&graph).within(&free));
        prop_assert_eq!(all.iter().cloned().collect::<BTreeSet<_>>(), raw.iter().cloned().collect());
        prop_assert_eq!(all.len(), raw.len(), "no match twice");

        let distinct = MatchConfig::new().induced(induced).compile(&pattern);
        let search = distinct.on(&graph).within(&free);
        let visited = found(search);
        prop_assert_eq!(visited.iter().cloned().collect::<BTreeSet<_>>(), oracle::distinct(&pattern, &raw));
        prop_assert_eq!(visited.len() as u128 * distinct.symmetries(), raw.len() as u128);

        // The same matches in the same order from the iterator and, put together, from the leaves.
        prop_assert_eq!(search.iter().map(|p| p.to_vec()).collect::<Vec<_>>(), visited.clone());
        let mut leaves = Vec::new();
        search.visit_leaves(|leaf| {
            for device in leaf.devices() {
                let mut placement = leaf.placement.to_vec();
                placement[leaf.rank] = device;
                leaves.push(placement);
            }
            ControlFlow::<()>::Continue(())
        });
        prop_assert_eq!(&leaves, &visited);
        prop_assert_eq!(search.count().matches, visited.len() as u64);
        prop_assert_eq!(search.first().map(|p| p.to_vec()), visited.first().cloned());
    }

    #[test]
    fn domains_and_link_predicates_filter_raw_matches(
        (graph, domains) in machines(1..=6).prop_flat_map(|g| {
            let n = g.len();
            (Just(g), proptest::collection::vec(free_sets(n), 4))
        }),
        pattern in patterns(1..=4),
        least in proptest::sample::select(vec![LinkClass::None, LinkClass::Pix, LinkClass::Direct(2)]),
    ) {
        let ok = |_: &mapa_core::Edge, link: mapa_core::Link| link.class >= least;
        let matcher = MatchConfig::new().distinct(false).compile(&pattern);
        let fast: BTreeSet<_> = found(matcher.on(&graph).domains(&domains).links(&ok)).into_iter().collect();
        let mut slow = oracle::raw_matches(&pattern, &graph, &graph.all(), false);
        slow.retain(|map| {
            map.iter().zip(&domains).all(|(device, domain)| domain.contains(*device))
                && pattern.edges().iter().all(|e| graph.link(map[e.a as usize], map[e.b as usize]).class >= least)
        });
        prop_assert_eq!(fast, slow.into_iter().collect());
    }

    /// petgraph's VF2 is node-induced, so it is an oracle for that option only.
    #[test]
    fn induced_counts_are_petgraphs(graph in machines(1..=7), pattern in patterns(2..=4)) {
        // petgraph has no parallel edges in its matching.
        let pairs: BTreeSet<(u32, u32)> = pattern.edges().iter().map(|e| (e.a.into(), e.b.into())).collect();
        let mut small = UnGraph::<(), ()>::from_edges(&pairs);
        while small.node_count() < pattern.len() {
            small.add_node(());
        }
        let mut large = UnGraph::<(), ()>::default();
        let nodes: Vec<_> = (0..graph.len()).map(|_| large.add_node(())).collect();
        for a in 0..graph.len() as u32 {
            for b in 0..a {
                if graph.link(DeviceId(a), DeviceId(b)).exists() {
                    large.add_edge(nodes[a as usize], nodes[b as usize], ());
                }
            }
        }
        let (small, large) = (&small, &large);
        let (mut nodes, mut edges) = (|_: &(), _: &()| true, |_: &(), _: &()| true);
        let theirs = petgraph::algo::subgraph_isomorphisms_iter(&small, &large, &mut nodes, &mut edges);
        let theirs = if small.node_count() > large.node_count() { 0 } else { theirs.map_or(0, Iterator::count) };
        let ours = MatchConfig::new().induced(true).distinct(false).compile(&pattern);
        prop_assert_eq!(ours.on(&graph).count().matches, theirs as u64);
    }

    #[test]
    fn foreign_ids_in_a_device_set_are_never_found(ids in proptest::collection::vec(0u32..2000, 0..20)) {
        let graph = complete(4);
        let within: DeviceSet = ids.iter().copied().map(DeviceId).collect();
        let pattern = Pattern::ring(2);
        for placement in pattern.matcher().on(&graph).within(&within).iter() {
            prop_assert!(placement.iter().all(|d| d.index() < 4));
        }
    }
}
