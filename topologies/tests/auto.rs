//! The default policy on every machine of the catalogue: compared with all sets of devices, and with
//! every other policy.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{
    BuiltIn, Candidate, DeviceId, DeviceSet, HardwareGraph, Pattern, Policy, Request, auto,
    default_model, fitting_model,
};
use mapa_topologies::{catalogue, named, read};

use crate::common::real_data;

/// The most devices for which every free set is tried.
const ALL_FREE_SETS: usize = 10;

/// The free sets that are tried on larger machines, for each size of job.
const SAMPLE: u32 = 24;

/// Every machine of the catalogue with at most sixteen devices, once for each graph.
fn machines() -> Vec<(String, HardwareGraph)> {
    let mut seen = BTreeSet::new();
    let all = catalogue().iter().map(|entry| entry.name.to_owned());
    all.map(|name| (named(&name).unwrap().graph().unwrap(), name))
        .filter(|(graph, _)| graph.len() <= 16 && seen.insert(graph.fingerprint()))
        .map(|(graph, name)| (name, graph))
        .collect()
}

fn members(bits: u32) -> DeviceSet {
    (0..32)
        .filter(|i| bits >> i & 1 == 1)
        .map(DeviceId)
        .collect()
}

/// The free sets to try for jobs of k ranks: all with room, or a sample that a multiplicative
/// generator draws (its steps are those of Knuth's MMIX).
fn free_sets(n: usize, k: usize) -> Vec<u32> {
    let has_room = |bits: &u32| bits.count_ones() as usize >= k;
    if n <= ALL_FREE_SETS {
        return (1u32..1 << n).filter(has_room).collect();
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let draws = std::iter::from_fn(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Some((state >> 40) as u32 & ((1 << n) - 1))
    });
    draws.filter(has_room).take(SAMPLE as usize).collect()
}

/// The bandwidth of every set of k devices by the model that fits the pattern, without a search.
fn by_set(graph: &HardwareGraph, pattern: &Pattern) -> BTreeMap<u32, f64> {
    let model = fitting_model(pattern);
    let all = graph.all();
    let sets = (0u32..1 << graph.len()).filter(|bits| bits.count_ones() as usize == pattern.len());
    sets.map(|bits| {
        let placement: Vec<DeviceId> = members(bits).iter().collect();
        let candidate = Candidate {
            view: graph.with_free(&all),
            pattern,
            placement: &placement,
        };
        (bits, model.score(&candidate))
    })
    .collect()
}

/// Whether two values are equal, but for the digits that a linear program leaves open.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

/// Checks the decisions for jobs of this pattern on every free set.
fn check(name: &str, graph: &HardwareGraph, pattern: &Pattern, others: &[Box<dyn Policy>]) {
    let policy = auto();
    let model = fitting_model(pattern);
    let known = by_set(graph, pattern);
    let request = Request::new(pattern.clone());
    for free_bits in free_sets(graph.len(), pattern.len()) {
        let free = members(free_bits);
        let view = graph.with_free(&free);
        let inside = known.iter().filter(|(bits, _)| **bits & !free_bits == 0);
        let best = inside.map(|(_, gbps)| *gbps).fold(0.0, f64::max);
        let decision = policy.decide(&request, &view).unwrap();
        assert!(decision.search().complete(), "{name} {free}");
        let own = decision.best().score(model.name()).unwrap();
        assert!(
            same(own, best),
            "{name}, {pattern:?} on {free}: {own} at {}, but some set has {best}",
            decision.placement().set()
        );
        for other in others {
            let Ok(decided) = other.decide(&request, &view) else {
                continue;
            };
            let candidate = Candidate {
                view,
                pattern,
                placement: decided.placement(),
            };
            let theirs = model.score(&candidate);
            assert!(
                theirs <= own || same(own, theirs),
                "{name} on {free}: {} has {theirs}, auto {own}",
                other.name()
            );
        }
    }
}

#[test]
fn no_set_and_no_other_policy_has_more_bandwidth_for_a_ring() {
    let others: Vec<Box<dyn Policy>> = BuiltIn::ALL
        .iter()
        .filter(|built_in| !built_in.for_instances && built_in.name != "auto")
        .map(BuiltIn::policy)
        .collect();
    let mut checked = 0;
    for (name, graph) in machines() {
        for k in 2..=graph.len().min(8) {
            check(&name, &graph, &Pattern::ring(k), &others);
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn no_set_has_more_bandwidth_for_a_tree_or_an_exchange() {
    for (name, graph) in machines() {
        // Each value is a linear program.
        if graph.len() > 8 {
            continue;
        }
        for k in [3, 4, 6] {
            if k <= graph.len() {
                check(&name, &graph, &Pattern::binary_tree(k), &[]);
                check(&name, &graph, &Pattern::all_to_all(k), &[]);
            }
        }
    }
}

/// Where all links are alike, the host decides: devices on one switch rather than anywhere.
#[test]
fn on_pcie_alone_it_keeps_a_job_together_and_close_groups_whole() {
    let graph = named("l40s-x8").unwrap().graph().unwrap();
    let level = |a: u32, b: u32| graph.pair(DeviceId(a), DeviceId(b)).host.class;
    let closest = (0..8)
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .map(|(a, b)| level(a, b))
        .max()
        .unwrap();
    for free in 0u32..1 << 8 {
        let free = members(free);
        let pairs: Vec<(u32, u32)> = free
            .iter()
            .flat_map(|b| {
                free.iter()
                    .take_while(move |a| *a < b)
                    .map(move |a| (a.0, b.0))
            })
            .collect();
        let Some(&(a, b)) = pairs.iter().max_by_key(|(a, b)| level(*a, *b)) else {
            continue;
        };
        let view = graph.with_free(&free);
        let two = auto()
            .decide(&Request::new(Pattern::ring(2)), &view)
            .unwrap();
        let placed: Vec<u32> = two.placement().iter().map(|id| id.0).collect();
        assert_eq!(level(placed[0], placed[1]), level(a, b), "{free}");
        // A job on one device takes one that has no close neighbour left, if there is one.
        let close = |id: DeviceId| {
            free.iter()
                .any(|other| other != id && level(other.0, id.0) == closest)
        };
        let one = auto()
            .decide(&Request::new(Pattern::ring(1)), &view)
            .unwrap();
        let alone = free.iter().any(|id| !close(id));
        assert_eq!(close(one.placement()[0]), !alone, "{free}");
    }
}

/// A report from the field: of three sockets one has a narrow uplink, and a job of two got 3.5 GB/s where
/// 12 were free. `mapa-core/tests/host_trees.rs` has the same machine.
#[test]
fn a_machine_with_uneven_uplinks_gives_two_devices_that_need_none_of_them() {
    let Some(data) = real_data() else { return };
    let text = std::fs::read(data.join("field/inputs/uneven-uplinks.toml")).unwrap();
    let graph = read(&text).unwrap().into_machine().unwrap();
    let graph = graph.graph().unwrap();
    let wholes = graph.wholes();
    let view = graph.with_free(&wholes);
    let pattern = Pattern::ring(2);
    let decision = auto()
        .decide(&Request::new(pattern.clone()), &view)
        .unwrap();
    let candidate = Candidate {
        view,
        pattern: &pattern,
        placement: decision.placement(),
    };
    assert_eq!(default_model(&pattern, &graph).score(&candidate), 12.0);
}
