//! The decisions of the released code (socal-ucr/MAPA, tag sc21-final), reached with its settings.

use crate::common;

use std::fs;

use mapa_core::{
    BuiltIn, Candidate, DeviceId, DeviceSet, HardwareGraph, LinkClass, Objective, Pattern, Policy,
    Request, aggregate_gbps, effective_gbps, preserved_direct_gbps,
};
use mapa_topologies::named;
use serde::Deserialize;

#[derive(Deserialize)]
struct Oracle {
    decisions: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    arch: String,
    policy: String,
    size: usize,
    bw_sensitive: bool,
    busy_before: Vec<u32>,
    alloc_in_ring_order: Vec<u32>,
    #[serde(rename = "agg_bw_lastScore")]
    aggregate: f64,
    #[serde(rename = "predicted_bw")]
    effective: f64,
}

fn released(arch: &str) -> HardwareGraph {
    let mut machine = named(match arch {
        "dgx-v" => "dgx-1v",
        "dgx-p" => "dgx-1p",
        other => other,
    })
    .unwrap();
    machine.fabric.set_host_gbps(10.0).unwrap();
    machine.graph().unwrap()
}

#[test]
fn every_recorded_decision_is_reached() {
    let Some(data) = common::data("every_recorded_decision_is_reached") else {
        return;
    };
    let text = fs::read_to_string(data.join("oracle/mapa_original.json")).unwrap();
    let oracle: Oracle = serde_json::from_str(&text).unwrap();
    let (mut unique, mut tied) = (0, 0);
    for recorded in &oracle.decisions {
        let graph = released(&recorded.arch);
        let policy = BuiltIn::named(match recorded.policy.as_str() {
            "baseline" => "lowest-id",
            "topoAware" => "topo-aware-released",
            "greedy" => "greedy",
            "preserve" => "preserve-released",
            other => panic!("{other}"),
        })
        .unwrap();
        let busy: DeviceSet = recorded
            .busy_before
            .iter()
            .map(|id| DeviceId(id - 1))
            .collect();
        let free = &graph.all() - &busy;
        let view = graph.with_free(&free);
        let pattern = Pattern::ring(recorded.size);
        let request = Request::new(pattern.clone()).sensitive(recorded.bw_sensitive);
        let decision = policy.decide(&request, &view).unwrap();
        let theirs: Vec<DeviceId> = recorded
            .alloc_in_ring_order
            .iter()
            .map(|id| DeviceId(id - 1))
            .collect();
        let score = |o: &Objective<'_>, placement| {
            o.score(&Candidate {
                view,
                pattern: &pattern,
                placement,
            })
        };
        let ours = decision.placement();
        let name = format!(
            "{} {} {} of {:?}",
            recorded.arch, recorded.policy, recorded.size, free
        );

        // Their recorded scores are what we compute for their placement.
        assert!(
            (score(&aggregate_gbps(), &theirs) - recorded.aggregate).abs() < 1e-3,
            "{name}"
        );
        assert!(
            (score(&effective_gbps(), &theirs) - recorded.effective).abs() < 1e-3,
            "{name}"
        );

        // Ours is as good on what the policy goes by.
        let sensitive = recorded.bw_sensitive && recorded.size > 1;
        let goes_by: Vec<Objective<'_>> = match recorded.policy.as_str() {
            "preserve" if sensitive => vec![effective_gbps()],
            "preserve" => vec![preserved_direct_gbps(), aggregate_gbps()],
            "topoAware" => vec![],
            _ => vec![aggregate_gbps()],
        };
        for objective in &goes_by {
            let (a, b) = (score(objective, ours), score(objective, &theirs));
            assert!(
                (a - b).abs() < 1e-3,
                "{name}: {} {a} for {b}: {ours:?} for {theirs:?}",
                objective.name()
            );
        }
        let their_set: DeviceSet = theirs.iter().copied().collect();
        if matches!(recorded.policy.as_str(), "baseline" | "topoAware") {
            assert_eq!(ours.set(), their_set, "{name}: these go by ids");
            if recorded.policy == "topoAware" {
                assert!(
                    (score(&aggregate_gbps(), ours) - recorded.aggregate).abs() < 1e-3,
                    "{name}"
                );
            }
        } else if optima(&goes_by, &graph, &free, &pattern) == 1 {
            assert_eq!(ours.set(), their_set, "{name}: the optimum is unique");
            unique += 1;
        } else {
            tied += 1;
        }
    }
    assert_eq!(oracle.decisions.len(), 360);
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

#[derive(Deserialize)]
struct Tables {
    topologies: std::collections::BTreeMap<String, Table>,
}

#[derive(Deserialize)]
struct Table {
    n: usize,
    edges: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    a: u32,
    b: u32,
    #[serde(rename = "bw_GBps")]
    gbps: f64,
    #[serde(rename = "type")]
    kind: String,
}

#[test]
fn released_machines_have_every_link_of_their_tables() {
    let Some(data) = common::data("released_machines_have_every_link_of_their_tables") else {
        return;
    };
    let text = fs::read_to_string(data.join("oracle/mapa_original.json")).unwrap();
    let tables: Tables = serde_json::from_str(&text).unwrap();
    for (arch, table) in &tables.topologies {
        let graph = released(match arch.as_str() {
            "torus-2d" => "torus-2d-released",
            "cubeMesh-16" => "cube-mesh-16-released",
            other => other,
        });
        assert_eq!(
            (graph.len(), table.edges.len()),
            (table.n, table.n * (table.n - 1) / 2),
            "{arch}"
        );
        for edge in &table.edges {
            let link = graph.link(DeviceId(edge.a - 1), DeviceId(edge.b - 1));
            let kind = match link.class {
                LinkClass::Direct(2) => "DoubleNVLink",
                LinkClass::Direct(1) => "SingleNVLink",
                _ => "PCIe",
            };
            assert_eq!(
                (kind, link.gbps),
                (edge.kind.as_str(), edge.gbps),
                "{arch}: {}-{}",
                edge.a,
                edge.b
            );
        }
    }
    assert_eq!(tables.topologies.len(), 5);
}

#[test]
fn the_released_floor_makes_a_sensitive_pair_over_pcie_wait() {
    let graph = released("dgx-v");
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
    let graph = released("dgx-v");
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
