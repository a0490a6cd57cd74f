//! The matcher, the optimum and the oracle agree on any small machine, pattern, free set and criteria.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_core::testing::{free_sets, joined_machines, machines, oracle, patterns, requests};
use mapa_core::{
    DeviceSet, HardwareGraph, MatchConfig, Objective, Pattern, Policy, Request, Rules, Tiers, aggregate_gbps, effective_gbps,
    max, preserved_gbps,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

type Case = (HardwareGraph, Pattern, DeviceSet, Request, Vec<u8>, u64);

fn cases() -> impl Strategy<Value = Case> {
    let machine = prop_oneof![machines(1..=6), joined_machines(1..=6)];
    machine.prop_flat_map(|graph| {
        let n = graph.len();
        let criteria = proptest::collection::vec(0u8..5, 0..3);
        (Just(graph), patterns(1..=5), free_sets(n), requests(n, 1..=4), criteria, any::<u64>())
    })
}

fn objective(kind: u8, seed: u64) -> Objective<'static> {
    match kind {
        0 => aggregate_gbps(),
        1 => effective_gbps(),
        2 => preserved_gbps(),
        3 => Objective::edges("weighted", |edge| edge.traffic * edge.link.gbps),
        _ => Objective::links("any", Tiers::PAPER, move |census| {
            let (x, y, z) = census.xyz();
            let mix = |hash: u64, &v: &u32| (hash ^ u64::from(v)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            ([x, y, z].iter().fold(seed, mix) % 17) as f64
        }),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(512), 0);
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::PassThrough, &bytes));
    let Ok(case) = cases().new_tree(&mut runner) else { return };
    let (graph, pattern, free, request, criteria, seed) = case.current();
    for induced in [false, true] {
        let raw = oracle::raw_matches(&pattern, &graph, &free, induced);
        let distinct = oracle::distinct(&pattern, &raw);
        let count = |once: bool| {
            let matcher = MatchConfig::new().induced(induced).distinct(once).compile(&pattern);
            let search = matcher.on(&graph).within(&free);
            let listed = search.iter().count() as u64;
            assert_eq!(search.count().matches, listed);
            listed
        };
        assert_eq!((count(false), count(true)), (raw.len() as u64, distinct.len() as u64));
        let matcher = MatchConfig::new().induced(induced).compile(&pattern);
        assert!(matcher.on(&graph).within(&free).iter().map(|placement| placement.to_vec()).eq_by_set(&distinct));
    }
    let objectives: Vec<_> = criteria.iter().map(|&kind| objective(kind, seed)).collect();
    let policy = objectives.iter().fold(Rules::new("fuzz"), |rules, objective| rules.prefer(max(objective.clone())));
    let view = graph.with_free(&free);
    let decision = policy.decide(&request, &view);
    let expected = oracle::best(&request, &view, &objectives);
    assert_eq!(decision.ok().map(|decision| decision.placement().to_vec()), expected);
});

/// Whatever the order.
trait SameSet: Iterator<Item = Vec<mapa_core::DeviceId>> + Sized {
    fn eq_by_set(self, other: &std::collections::BTreeSet<Vec<mapa_core::DeviceId>>) -> bool {
        self.collect::<std::collections::BTreeSet<_>>() == *other
    }
}

impl<I: Iterator<Item = Vec<mapa_core::DeviceId>>> SameSet for I {}
