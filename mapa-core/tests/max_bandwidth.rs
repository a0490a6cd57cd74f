//! Decisions by ring packing, compared with all sets: in both directions, and with further
//! criteria.

use mapa_core::testing::switched_machines;
use mapa_core::{
    DeviceId, DeviceSet, HardwareGraph, Objective, Pattern, Policy, Request, RingPacking, Rules,
    criteria::{max, min},
    max_bandwidth,
};
use proptest::prelude::*;

/// The values of all sets of `k` of the free devices that have `must` in them.
fn values(graph: &HardwareGraph, free: &DeviceSet, must: &DeviceSet, k: usize) -> Vec<f64> {
    let sets = (0u32..1 << graph.len()).map(|bits| -> DeviceSet {
        (0..graph.len() as u32)
            .filter(|i| bits >> i & 1 == 1)
            .map(DeviceId)
            .collect()
    });
    let sets = sets.filter(|set| set.len() == k && set.is_subset(free) && must.is_subset(set));
    let packing = RingPacking::default();
    sets.map(|set| packing.of(graph, &set).map_or(0.0, |found| found.gbps))
        .collect()
}

/// The choice of a policy with this single criterion, and its runners-up.
fn chosen(
    rules: Rules<'static>,
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Vec<f64> {
    let decision = rules.decide(request, &graph.with_free(free)).unwrap();
    assert!(decision.search().complete());
    let scored = std::iter::once(decision.best())
        .chain(decision.runners_up().iter().map(|other| &other.scored));
    scored
        .map(|scored| scored.score("ring_packing_gbps").unwrap())
        .collect()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(if cfg!(debug_assertions) { 200 } else { 2_000 }))]

    #[test]
    fn the_highest_and_the_lowest_are_those_of_all_sets(
        (graph, bits, must, k) in switched_machines(2..=8).prop_flat_map(|graph| {
            let n = graph.len();
            (Just(graph), 1u32..1 << n, any::<Option<prop::sample::Index>>(), 1usize..=n)
        }),
        runners_up in 0usize..4,
    ) {
        let free: DeviceSet = (0..graph.len() as u32).filter(|i| bits >> i & 1 == 1).map(DeviceId).collect();
        let k = k.min(free.len());
        let must: DeviceSet = must.map(|at| free.iter().nth(at.index(free.len())).unwrap()).into_iter().collect();
        let request = Request::new(Pattern::independent(k)).must_include(must.clone()).runners_up(runners_up);
        let mut expected = values(&graph, &free, &must, k);
        expected.sort_by(|a, b| b.total_cmp(a));
        let wanted = expected.len().min(runners_up + 1);
        let objective = || -> Objective<'static> { RingPacking::default().objective() };
        let highest = chosen(Rules::new("highest").prefer(max(objective())), &request, &graph, &free);
        prop_assert_eq!(&highest[..], &expected[..wanted]);
        let lowest = chosen(Rules::new("lowest").prefer(min(objective())), &request, &graph, &free);
        expected.reverse();
        prop_assert_eq!(&lowest[..], &expected[..wanted]);
    }

    #[test]
    fn max_bandwidth_leaves_most_among_the_best(graph in switched_machines(3..=8), bits in any::<u32>(), k in 2usize..=5) {
        let free: DeviceSet = (0..graph.len() as u32).filter(|i| bits >> i & 1 == 1).map(DeviceId).collect();
        prop_assume!(free.len() >= k);
        let request = Request::new(Pattern::independent(k));
        let decision = max_bandwidth().decide(&request, &graph.with_free(&free)).unwrap();
        let best = values(&graph, &free, &DeviceSet::new(), k).into_iter().fold(0.0, f64::max);
        prop_assert_eq!(decision.best().score("ring_packing_gbps"), Some(best));
        let sets = (0u32..1 << graph.len()).map(|bits| -> DeviceSet {
            (0..graph.len() as u32).filter(|i| bits >> i & 1 == 1).map(DeviceId).collect()
        });
        let equal = sets.filter(|set| {
            set.len() == k
                && set.is_subset(&free)
                && RingPacking::default().of(&graph, set).is_some_and(|found| found.gbps == best)
        });
        let left = |set: &DeviceSet| graph.bandwidth_within(&(&free - set), |_| true);
        let most = equal.map(|set| left(&set)).fold(0.0, f64::max);
        let own = left(&decision.placement().iter().copied().collect());
        prop_assert!((own - most).abs() <= 1e-9 * most.max(1.0), "{own}, {most}");
    }
}
