//! Work under a flag that is set: it ends, says so, and leaves nothing behind that would change a later answer.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mapa_core::{
    BuiltIn, Graph, MatchConfig, Pattern, Policy, Refusal, Request, StopFlag, StopReason,
};

use crate::common::complete;

/// A flag that is set.
fn set() -> StopFlag {
    let flag = StopFlag::new();
    flag.set();
    flag
}

/// A flag that sets itself at this look.
fn at_look(number: u32) -> StopFlag {
    let looks = Arc::new(AtomicU32::new(0));
    StopFlag::when(move || looks.fetch_add(1, Relaxed) >= number)
}

#[test]
fn a_pattern_whose_compilation_was_ended_is_compiled_anew_without_the_flag() {
    let (graph, ring) = (complete(8), Pattern::ring(8));
    set().watch(|| {
        let matcher = ring.matcher();
        assert!(!matcher.is_whole());
        let search = matcher.on(&graph);
        let visited = search.visit(|_| ControlFlow::<()>::Continue(())).stats;
        for stats in [search.count(), search.threads(3).count(), visited] {
            assert_eq!((stats.stopped, stats.matches), (StopReason::TimeLimit, 0));
        }
        assert_eq!((search.iter().next(), search.first()), (None, None));
    });
    assert!(ring.matcher().is_whole());
    let stats = ring.matcher().on(&graph).count();
    assert_eq!((stats.matches, stats.complete()), (2520, true));
}

#[test]
fn a_graph_whose_compilation_was_ended_is_not_counted() {
    let ring = |n: u32| Graph::new(n as usize, (0..n).map(|i| (i, (i + 1) % n))).unwrap();
    let (pattern, target) = (ring(4), ring(4));
    let compiled = set().watch(|| MatchConfig::new().compile_graph(&pattern).unwrap());
    set().watch(|| {
        let search = compiled.on(&target);
        assert_eq!(search.count().stopped, StopReason::TimeLimit);
        let mut matches = search.iter();
        assert_eq!(matches.next(), None);
        assert_eq!(matches.stats().stopped, StopReason::TimeLimit);
    });
    let whole = MatchConfig::new().compile_graph(&pattern).unwrap();
    assert_eq!(whole.on(&target).count().matches, 1);
}

#[test]
fn a_count_ends_at_any_look_with_fewer_matches() {
    let graph = complete(12);
    let ring = Pattern::ring(7);
    let all = ring.matcher().on(&graph).count();
    assert!(all.complete());
    for threads in [1, 3] {
        for number in [0, 1, 5, 40] {
            let nothing = || ();
            let ((), stats) = at_look(number).watch(|| {
                let search = ring.matcher().on(&graph).threads(threads);
                search.fold(nothing, |(), _| {}, |(), ()| ())
            });
            let what = (threads, number);
            assert_eq!(stats.stopped, StopReason::TimeLimit, "{what:?}");
            assert!(stats.matches < all.matches, "{what:?}");
        }
    }
}

#[test]
fn every_policy_ends_under_a_flag_and_answers_as_ever_without_it() {
    let graph = complete(12);
    let free = graph.all();
    for row in BuiltIn::ALL {
        let Ok(fresh) = BuiltIn::named(row.name) else {
            continue;
        };
        let request = Request::new(Pattern::ring(5));
        let expected = fresh.decide(&request, &complete(12).with_free(&free));
        for number in [0, 1, 10, 1000] {
            let policy = BuiltIn::named(row.name).unwrap();
            let request = Request::new(Pattern::ring(5));
            let cut = at_look(number).watch(|| policy.decide(&request, &graph.with_free(&free)));
            match &cut {
                Ok(decision) if decision.search().complete() => {}
                Ok(decision) => assert_eq!(decision.search().stopped, StopReason::TimeLimit),
                Err(Refusal::LimitReached(stats)) => {
                    assert_eq!(stats.stopped, StopReason::TimeLimit, "{}", row.name);
                }
                Err(other) => assert!(expected.is_err(), "{}: {other}", row.name),
            }
            // The machine keeps answers and tables: none of them is what was left of a search.
            let after = policy.decide(&request, &graph.with_free(&free));
            let placement = |answer: &Result<mapa_core::Decision, Refusal>| {
                answer
                    .as_ref()
                    .ok()
                    .map(|decision| (decision.placement().clone(), decision.search().complete()))
            };
            assert_eq!(placement(&after), placement(&expected), "{}", row.name);
        }
    }
}

#[test]
fn a_pair_with_a_hundred_thousand_edges_is_compiled() {
    // Each edge sorted those before it: minutes.
    let edges = (0..100_000).map(|i| (0, 1, f64::from(1 + i % 977)));
    let pattern = Pattern::from_edges(3, edges.chain([(1, 2, 1.0)])).unwrap();
    assert_eq!(pattern.matcher().symmetries(), 1);
}
