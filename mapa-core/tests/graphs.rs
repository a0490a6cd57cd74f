//! Matching in plain graphs, compared with an oracle that tries every vertex, with closed forms,
//! and between the methods of a search.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mapa_core::testing::graphs;
use mapa_core::{Graph, GraphSearch, Limits, MatchConfig, StopReason};
use proptest::prelude::*;

/// Every raw match, in lexicographic order: every target vertex is tried for every vertex, and
/// every pair is tested.
fn oracle(pattern: &Graph, target: &Graph, induced: bool) -> Vec<Vec<u32>> {
    let joined = |graph: &Graph, a: u32, b: u32| graph.neighbours(a).contains(&b);
    let mut maps = vec![Vec::new()];
    for u in 0..pattern.len() as u32 {
        let fits = |map: &[u32], v: u32| {
            pattern.labels()[u as usize] == target.labels()[v as usize]
                && (0..).zip(map).all(|(w, &x)| {
                    let (wanted, there) = (joined(pattern, u, w), joined(target, v, x));
                    x != v && (there || !wanted) && (wanted || !there || !induced)
                })
        };
        let longer = |map: Vec<u32>| {
            let fitting: Vec<u32> = (0..target.len() as u32)
                .filter(|&v| fits(&map, v))
                .collect();
            fitting
                .into_iter()
                .map(move |v| map.iter().copied().chain([v]).collect::<Vec<_>>())
        };
        maps = maps.into_iter().flat_map(longer).collect();
    }
    if pattern.is_empty() { Vec::new() } else { maps }
}

/// Of each class of matches that are equal up to an automorphism, the lexicographically smallest.
fn smallest(pattern: &Graph, raw: &[Vec<u32>]) -> BTreeSet<Vec<u32>> {
    let group = oracle(pattern, pattern, true);
    let smallest = |map: &Vec<u32>| {
        group
            .iter()
            .map(|g| g.iter().map(|&u| map[u as usize]).collect::<Vec<_>>())
            .min()
    };
    raw.iter().filter_map(smallest).collect()
}

fn visited(search: GraphSearch<'_>) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let outcome = search.visit(|map| {
        all.push(map.to_vec());
        ControlFlow::<()>::Continue(())
    });
    assert!(outcome.stats.complete());
    assert_eq!(outcome.stats.matches, all.len() as u64);
    all
}

fn check(pattern: &Graph, target: &Graph) {
    for induced in [false, true] {
        let raw = oracle(pattern, target, induced);
        for distinct in [false, true] {
            let matcher = MatchConfig::new()
                .induced(induced)
                .distinct(distinct)
                .compile_graph(pattern)
                .unwrap();
            let search = matcher.on(target);
            let expected = if distinct {
                smallest(pattern, &raw)
            } else {
                raw.iter().cloned().collect()
            };
            let place =
                format!("induced {induced}, distinct {distinct}: {pattern:?} in {target:?}");
            let mut found = visited(search);
            assert_eq!(search.first(), found.first().cloned(), "{place}");
            assert_eq!(search.is_match(), !expected.is_empty(), "{place}");
            found.sort_unstable();
            assert!(found.iter().eq(&expected), "{place}: {found:?}");
            let stats = search.count();
            assert_eq!(
                (stats.matches, stats.complete()),
                (expected.len() as u64, true),
                "{place}"
            );
        }
    }
}

/// A graph and its parts: small enough for the oracle, of one label or several, with loops in the
/// target.
fn instances(pattern: usize, target: usize) -> impl Strategy<Value = (Graph, Graph)> {
    (1u32..=3).prop_flat_map(move |labels| {
        (
            graphs(0..=pattern, labels, false),
            graphs(0..=target, labels, true),
        )
    })
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(20_000))]
    #[test]
    fn small_graphs_have_the_matches_of_the_oracle((pattern, target) in instances(4, 7)) {
        check(&pattern, &target);
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(20_000))]
    #[test]
    fn larger_graphs_have_the_counts_of_the_oracle((pattern, target) in instances(7, 12)) {
        // With more matches the oracle takes too long.
        let raw = MatchConfig::new().distinct(false).compile_graph(&pattern).unwrap();
        if raw.on(&target).count().matches < 2_000 {
            check(&pattern, &target);
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(2_000))]
    #[test]
    fn limits_hold((pattern, target) in instances(4, 7), limit in 0u64..30, induced: bool, distinct: bool) {
        let matcher = MatchConfig::new().induced(induced).distinct(distinct).compile_graph(&pattern).unwrap();
        let search = matcher.on(&target);
        let all = visited(search);
        let few = search.limits(Limits::NONE.matches(limit));
        let (counted, mut iter) = (few.count(), few.iter());
        let shown: Vec<_> = iter.by_ref().collect();
        prop_assert_eq!(&shown[..], &all[..all.len().min(limit as usize)]);
        for stats in [counted, iter.stats()] {
            prop_assert_eq!(stats.matches, shown.len() as u64);
            let over = all.len() as u64 > limit;
            prop_assert_eq!(stats.stopped, if over { StopReason::MatchLimit } else { StopReason::Exhausted });
        }
        let few = search.limits(Limits::NONE.nodes(limit));
        for stats in [few.count(), few.visit(|_| ControlFlow::<()>::Continue(())).stats] {
            prop_assert!(stats.nodes <= limit && stats.matches <= all.len() as u64);
            prop_assert!(stats.complete() && stats.matches == all.len() as u64 || stats.stopped == StopReason::NodeLimit);
        }
    }
}

fn cycle(n: u32) -> Graph {
    Graph::new(n as usize, (0..n).map(|v| (v, (v + 1) % n))).unwrap()
}

fn path(n: u32) -> Graph {
    Graph::new(n as usize, (1..n).map(|v| (v - 1, v))).unwrap()
}

/// Rows and columns of `n` vertices.
fn grid(n: u32) -> Graph {
    let at = move |row: u32, column: u32| row * n + column;
    let across = (0..n).flat_map(move |i| (1..n).map(move |j| (at(i, j - 1), at(i, j))));
    let down = (0..n).flat_map(move |i| (1..n).map(move |j| (at(j - 1, i), at(j, i))));
    Graph::new((n * n) as usize, across.chain(down)).unwrap()
}

fn count(config: MatchConfig, pattern: &Graph, target: &Graph) -> u64 {
    let stats = config.compile_graph(pattern).unwrap().on(target).count();
    assert!(stats.complete());
    stats.matches
}

#[test]
fn closed_forms_hold_on_grids_of_every_row_width() {
    for n in [5u64, 9, 30, 70, 90] {
        let grid = grid(n as u32);
        let (distinct, raw) = (MatchConfig::new(), MatchConfig::new().distinct(false));
        assert_eq!(count(distinct, &path(1), &grid), n * n);
        assert_eq!(count(distinct, &path(2), &grid), 2 * n * (n - 1));
        assert_eq!(count(raw, &cycle(4), &grid), 8 * (n - 1) * (n - 1));
        assert_eq!(
            count(distinct.induced(true), &cycle(4), &grid),
            (n - 1) * (n - 1)
        );
        assert_eq!(count(distinct, &cycle(3), &grid), 0);
        // Rectangles of 1 x 2.
        assert_eq!(count(distinct, &cycle(6), &grid), 2 * (n - 1) * (n - 2));
        let corners = 4 * (n - 1) * (n - 1);
        assert_eq!(count(distinct, &path(3), &grid), 2 * n * (n - 2) + corners);
        assert_eq!(count(raw, &path(3), &grid), 2 * (2 * n * (n - 2) + corners));
    }
}

#[test]
fn counts_that_share_candidates_are_falling_factorials() {
    let star = |leaves: u32| Graph::new(leaves as usize + 1, (1..=leaves).map(|v| (0, v))).unwrap();
    let loose = |n: usize| Graph::new(n, []).unwrap();
    let falling = |n: u64, k: u64| (n - k + 1..=n).product::<u64>();
    let raw = MatchConfig::new().distinct(false);
    assert_eq!(count(raw, &star(9), &star(12)), falling(12, 9));
    assert_eq!(count(MatchConfig::new(), &star(9), &star(12)), 220);
    assert_eq!(count(raw, &loose(7), &loose(11)), falling(11, 7));
    assert_eq!(count(MatchConfig::new(), &loose(7), &loose(11)), 330);
}

#[test]
fn more_matches_than_can_be_counted_are_not_complete() {
    let loose = |n: usize| Graph::new(n, []).unwrap();
    let matcher = MatchConfig::new()
        .distinct(false)
        .compile_graph(&loose(30))
        .unwrap();
    let stats = matcher.on(&loose(40)).count();
    assert_eq!(
        (stats.matches, stats.stopped),
        (u64::MAX, StopReason::MatchLimit)
    );
    // 40 over 30 distinct ones, although the raw ones are too many.
    assert_eq!(count(MatchConfig::new(), &loose(30), &loose(34)), 46_376);
}

#[test]
fn disconnected_patterns_are_found() {
    let two = Graph::new(4, [(0, 1), (2, 3)]).unwrap();
    // Each of the 5 edges of a ring, with each of the 2 edges that do not touch it.
    assert_eq!(count(MatchConfig::new(), &two, &cycle(5)), 5);
    assert_eq!(
        count(MatchConfig::new().distinct(false), &two, &cycle(5)),
        40
    );
}

#[test]
fn loops_in_a_target_change_nothing_and_in_a_pattern_are_refused() {
    let looped = Graph::new(4, grid(2).edges().chain([(2, 2)])).unwrap();
    for induced in [false, true] {
        assert_eq!(
            count(MatchConfig::new().induced(induced), &cycle(4), &looped),
            1
        );
    }
    let error = MatchConfig::new().compile_graph(&looped).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the pattern joins vertex 2 to itself: expected two ends of each edge"
    );
    let large = Graph::new(1025, []).unwrap();
    let error = MatchConfig::new().compile_graph(&large).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a pattern of 1025 vertices: expected at most 1024"
    );
}

#[test]
fn a_search_stops_when_the_caller_says_so_and_when_the_visitor_does() {
    let raw = MatchConfig::new()
        .distinct(false)
        .compile_graph(&path(12))
        .unwrap();
    let target = grid(30);
    let asked = Cell::new(0);
    let outcome = raw.on(&target).visit(|_| {
        asked.set(asked.get() + 1);
        if asked.get() == 7 {
            ControlFlow::Break("seven")
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(
        (outcome.broke, outcome.stats.stopped),
        (Some("seven"), StopReason::Visitor)
    );
    let stats = raw.on(&target).until(&|| true).count();
    assert_eq!(stats.stopped, StopReason::Caller);
    // Many vertices that share candidates: counting them must stop at the caller's limit too.
    let comb = Graph::new(
        40,
        (0..20)
            .map(|v| (v, v + 20))
            .chain((1..20).map(|v| (v - 1, v))),
    )
    .unwrap();
    let comb = MatchConfig::new()
        .distinct(false)
        .compile_graph(&comb)
        .unwrap();
    assert_eq!(
        comb.on(&target).until(&|| true).count().stopped,
        StopReason::Caller
    );
}
