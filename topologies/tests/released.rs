//! The decisions of the released code (socal-ucr/MAPA, tag sc21-final), reached with its settings.

use crate::common::rows;
use mapa_core::{
    BuiltIn, Candidate, DeviceId, DeviceSet, HardwareGraph, LinkClass, Objective, Pattern, Policy,
    Request, aggregate_gbps, effective_gbps, preserved_direct_gbps,
};
use mapa_topologies::named;

/// What it decided: the file says where it is from.
const DECISIONS: &str = include_str!("facts/sc21-decisions.csv");
const README: &str = include_str!("../../README.md");
const LINKS: &str = include_str!("facts/sc21-links.csv");

fn ids<T: FromIterator<DeviceId>>(cell: &str) -> T {
    let numbers = cell.split_whitespace().map(|id| id.parse().unwrap());
    numbers.map(DeviceId).collect()
}

/// A machine whose host paths count as much as in the released code.
fn released(machine: &str) -> HardwareGraph {
    let mut machine = named(machine).unwrap();
    machine.fabric.set_host_gbps(10.0).unwrap();
    machine.graph().unwrap()
}

#[test]
fn every_recorded_decision_is_reached() {
    let decisions: Vec<_> = rows(DECISIONS).collect();
    let (mut unique, mut tied) = (0, 0);
    for row in &decisions {
        let [machine, name, gpus, sensitive, busy, theirs, ..] = row[..] else {
            panic!("{row:?}")
        };
        let recorded = |at: usize| -> f64 { row[at].parse().unwrap() };
        let graph = released(machine);
        let policy = BuiltIn::named(name).unwrap();
        let size: usize = gpus.parse().unwrap();
        let free = &graph.all() - &ids::<DeviceSet>(busy);
        let view = graph.with_free(&free);
        let pattern = Pattern::ring(size);
        let request = Request::new(pattern.clone()).sensitive(sensitive == "yes");
        let decision = policy.decide(&request, &view).unwrap();
        let theirs: Vec<DeviceId> = ids(theirs);
        let score = |o: &Objective<'_>, placement| {
            o.score(&Candidate {
                view,
                pattern: &pattern,
                placement,
            })
        };
        let ours = decision.placement();
        let what = format!("{machine} {name} {size} of {free:?}");

        // Their recorded scores are what we compute for their placement.
        assert!(
            (score(&aggregate_gbps(), &theirs) - recorded(6)).abs() < 1e-3,
            "{what}"
        );
        assert!(
            (score(&effective_gbps(), &theirs) - recorded(7)).abs() < 1e-3,
            "{what}"
        );

        // Ours is as good on what the policy goes by.
        let sensitive = sensitive == "yes" && size > 1;
        let goes_by: Vec<Objective<'_>> = match name {
            "preserve-released" if sensitive => vec![effective_gbps()],
            "preserve-released" => vec![preserved_direct_gbps(), aggregate_gbps()],
            "topo-aware-released" => vec![],
            _ => vec![aggregate_gbps()],
        };
        for objective in &goes_by {
            let (a, b) = (score(objective, ours), score(objective, &theirs));
            assert!(
                (a - b).abs() < 1e-3,
                "{what}: {} {a} for {b}: {ours:?} for {theirs:?}",
                objective.name()
            );
        }
        let their_set: DeviceSet = theirs.iter().copied().collect();
        if matches!(name, "lowest-id" | "topo-aware-released") {
            assert_eq!(ours.set(), their_set, "{what}: these go by ids");
            if name == "topo-aware-released" {
                assert!(
                    (score(&aggregate_gbps(), ours) - recorded(6)).abs() < 1e-3,
                    "{what}"
                );
            }
        } else if optima(&goes_by, &graph, &free, &pattern) == 1 {
            assert_eq!(ours.set(), their_set, "{what}: the optimum is unique");
            unique += 1;
        } else {
            tied += 1;
        }
    }
    assert_eq!(decisions.len(), 360);
    assert!(README.contains("repeats all 360 decisions that they recorded"));
    assert!(unique >= 20, "{unique} unique, {tied} tied");
}

/// How many sets of devices reach the best value.
fn optima(
    goes_by: &[Objective<'_>],
    graph: &HardwareGraph,
    free: &DeviceSet,
    pattern: &Pattern,
) -> usize {
    let view = graph.with_free(free);
    let mut best: Vec<f64> = Vec::new();
    let mut sets = std::collections::BTreeSet::new();
    for placement in pattern.matcher().on(graph).within(free).iter() {
        let candidate = Candidate {
            view,
            pattern,
            placement: &placement,
        };
        // Thousandths, so that sums in another order are equal.
        let values: Vec<f64> = goes_by
            .iter()
            .map(|o| (o.score(&candidate) * 1e3).round())
            .collect();
        if best.is_empty() || values.partial_cmp(&best) == Some(std::cmp::Ordering::Greater) {
            best = values.clone();
            sets.clear();
        }
        if values == best {
            sets.insert(placement.set());
        }
    }
    sets.len()
}

#[test]
fn released_machines_have_every_link_of_their_tables() {
    let links: Vec<_> = rows(LINKS).collect();
    let mut pairs = 0;
    for name in [
        "dgx-1v",
        "dgx-1p",
        "summit",
        "torus-2d-released",
        "cube-mesh-16-released",
    ] {
        let graph = released(name);
        pairs += graph.len() * (graph.len() - 1) / 2;
        for row in links.iter().filter(|row| row[0] == name) {
            let (a, b, kind, gbps) = (row[1], row[2], row[3], row[4]);
            let [x, y] = [a, b].map(|id| DeviceId(id.parse().unwrap()));
            let link = graph.link(x, y);
            let found = match link.class {
                LinkClass::Direct(2) => "NV2",
                LinkClass::Direct(1) => "NV1",
                _ => "PCIe",
            };
            assert_eq!(
                (found, link.gbps),
                (kind, gbps.parse().unwrap()),
                "{name}: {a}-{b}"
            );
        }
    }
    assert_eq!(links.len(), pairs);
}

#[test]
fn the_released_floor_makes_a_sensitive_pair_over_pcie_wait() {
    let graph = released("dgx-1v");
    let request = Request::new(Pattern::ring(2)).sensitive(true);
    let free = DeviceSet::from([0, 5]);
    let decide = |name: &str, free| {
        BuiltIn::named(name)
            .unwrap()
            .decide(&request, &graph.with_free(free))
    };
    assert_eq!(decide("preserve", &free).unwrap().placement().set(), free);
    let refusal = decide("preserve-released", &free).unwrap_err();
    assert_eq!(refusal.kind(), "busy", "{refusal}");
}

#[test]
fn four_gpus_fall_back_to_lowest_id_in_the_released_topo_aware() {
    let graph = released("dgx-1v");
    let free = DeviceSet::from([0, 2, 4, 5, 6, 7]);
    let request = Request::new(Pattern::ring(4));
    let set = |name: &str| {
        BuiltIn::named(name)
            .unwrap()
            .decide(&request, &graph.with_free(&free))
            .unwrap()
            .placement()
            .set()
            .to_string()
    };
    assert_eq!(
        (set("topo-aware-released"), set("topo-aware")),
        ("0,2,4,5".into(), "4,5,6,7".into())
    );
}
