//! Ring packings of machines of the catalogue, and beside what was measured.

use crate::common::real_data;
use std::fmt::Write;

use mapa_core::{
    AllToAll, Channels, DeviceId, DeviceSet, HardwareGraph, Limits, Pattern, Policy, Rates,
    Request, RingPacking, TreePacking, max_bandwidth, preserved_gbps, ring_packing_gbps,
};
use mapa_topologies::{collective_rates, named};

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// All-reduce on the first n GPUs of a DGX-1 with P100s, nccl-tests of NCCL 2: uuudown/Tartan,
/// microbenchmark/scale_up_cl/nccl-v2/bandwidth.txt.
const MEASURED: [(usize, f64); 7] = [
    (2, 17.28),
    (3, 34.56),
    (4, 52.09),
    (5, 5.57),
    (6, 34.70),
    (7, 34.72),
    (8, 62.24),
];

#[test]
fn first_gpus_of_both_dgx_1_by_hand() {
    let v100 = [
        (2, 1.0),
        (3, 2.0),
        (4, 4.0),
        (5, 0.0),
        (6, 2.0),
        (7, 4.0),
        (8, 6.0),
    ];
    let p100 = [
        (2, 1.0),
        (3, 2.0),
        (4, 3.0),
        (5, 0.0),
        (6, 2.0),
        (7, 3.0),
        (8, 4.0),
    ];
    for (name, link, expected) in [("dgx-1v", 25.0, v100), ("dgx-1p", 20.0, p100)] {
        let graph = graph(name);
        for (n, links) in expected {
            let found = RingPacking::default()
                .of(&graph, &DeviceSet::first_n(n))
                .unwrap();
            assert!(found.is_exact());
            // Without a ring of NVLinks the host's 12 GB/s are left.
            let expected = if links == 0.0 {
                (12.0, true)
            } else {
                (links * link, false)
            };
            assert_eq!(
                (found.gbps, found.over_host),
                expected,
                "{name}, first {n}: {found:?}"
            );
        }
    }
}

#[test]
fn a_rate_measured_on_two_gpus_predicts_the_others() {
    let graph = graph("dgx-1p");
    let rates = Rates::calibrated(&graph, DeviceId(0), DeviceId(1), MEASURED[0].1).unwrap();
    for (n, measured) in MEASURED {
        let predicted = RingPacking::new(rates)
            .of(&graph, &DeviceSet::first_n(n))
            .unwrap()
            .gbps;
        let ratio = measured / predicted;
        match n {
            2 | 3 | 4 | 6 => assert!((ratio - 1.0).abs() < 0.02, "{n}: {predicted}"),
            // What NCCL found is less than what there is.
            _ => assert!(ratio < 1.0, "{n}: {predicted}"),
        }
    }
}

/// A line of the table of measurements: what it is compared with, on which machine of the
/// catalogue.
struct Compared {
    machine: &'static str,
    set: DeviceSet,
    rates: Rates,
    /// Both directions are added up where they were measured so.
    directions: f64,
    comment: &'static str,
}

fn library(machine: &str) -> Rates {
    collective_rates(&named(machine).unwrap()).unwrap()
}

fn compared(system: &str, n: usize, op: &str, metric: &str) -> Compared {
    let whole = |machine, comment| Compared {
        machine,
        set: DeviceSet::first_n(n),
        rates: library(machine),
        directions: 1.0,
        comment,
    };
    match system {
        _ if metric.contains("NVLink") && system.starts_with("DGX-1 P100") => {
            let graph = graph("dgx-1p");
            let rates = Rates::calibrated(&graph, DeviceId(0), DeviceId(1), MEASURED[0].1).unwrap();
            let comment = match (op, n) {
                ("all_reduce_perf", 2) => "the rate comes from here",
                (_, 5) => {
                    "no ring of NVLinks: one over the host, whose shared hops are not counted"
                }
                ("all_reduce_perf", 7) => "as much as two of three rings",
                ("all_reduce_perf", 8) => "nine tenths of four rings",
                _ => "",
            };
            Compared {
                rates,
                ..whole("dgx-1p", comment)
            }
        }
        _ if metric.contains("PCIe") => Compared {
            rates: Rates {
                direct: 0.0,
                ..Rates::NOMINAL
            },
            ..whole("dgx-1p", "NCCL 1, over PCIe alone")
        },
        "8x A100 PCIe NV12 pairs" => whole(
            "a100-pcie-8-bridged",
            if n == 3 { "one pair, and PCIe" } else { "" },
        ),
        "2x H100 PCIe NVLink bridge" => whole("h100-nvl-4", "about half"),
        "8x A100-SXM4-80GB" => whole("dgx-a100", ""),
        "8x A100-SXM p2pBandwidthLatencyTest bidir" => Compared {
            directions: 2.0,
            ..whole("dgx-a100", "a copy both ways, no collective")
        },
        "8x H100 SXM" => Compared {
            directions: 2.0,
            ..whole(
                "hgx-h100",
                "both ways; above what NCCL counts a link as, below nominal",
            )
        },
        "2x RTX 2080 Ti NV2 bridge" => {
            whole("rtx-2080ti-x2", "128 MB; about as much as one of two links")
        }
        "2x RTX A6000 NV4" => whole("rtx-a6000-x2", "a copy, no collective"),
        "2x B200/H200 NV18" => whole("hgx-h200", "a copy, no collective; from a test's fixture"),
        other => panic!("a system that is not compared: {other}"),
    }
}

/// The rows of the page, one for each line of the file.
fn rows(measured: &str) -> String {
    let mut page = String::new();
    for line in measured.lines().skip(1) {
        let [system, n, _, op, gbps, metric, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("expected seven columns: {line}")
        };
        let Compared {
            machine,
            set,
            rates,
            directions,
            comment,
        } = compared(system, n.parse().unwrap(), op, metric);
        let predicted = RingPacking::new(rates)
            .of(&graph(machine), &set)
            .unwrap()
            .gbps
            * directions;
        let first = gbps
            .trim_start_matches('~')
            .split(['-', ' '])
            .next()
            .unwrap();
        let ratio = first.parse::<f64>().unwrap() / predicted;
        let op = op.split(' ').next().unwrap().trim_end_matches("_perf");
        let op = if metric.contains("issue") || metric.contains("bidir") {
            "both ways"
        } else {
            op
        };
        let op = if matches!(op, "p2p" | "nvlink duplex copy" | "nvlink") {
            "copy"
        } else {
            op
        };
        writeln!(
            page,
            "| {machine} | first {n} | {op} | {gbps} | {predicted:.1} | {ratio:.2} | {comment} |"
        )
        .unwrap();
    }
    page
}

#[test]
fn the_page_has_every_public_figure_beside_what_is_predicted() {
    let Some(data) = real_data() else {
        return;
    };
    let expected = rows(&std::fs::read_to_string(data.join("bandwidth/measured.tsv")).unwrap());
    for (n, gbps) in MEASURED {
        assert!(
            expected.contains(&format!("| dgx-1p | first {n} | all_reduce | {gbps:.2} |")),
            "{n}"
        );
    }
    let page = std::fs::read_to_string("../docs/reproduction/ring-packing.md").unwrap();
    assert!(
        page.contains(&expected),
        "docs/reproduction/ring-packing.md should have these rows:\n{expected}"
    );
}

/// As NCCL rates the links of a P100, and the sockets of a Broadwell.
const NCCL: Rates = Rates {
    direct: 18.0 / 20.0,
    host: 1.0,
    between_sockets: Some(6.0),
};

/// The rows of the page on other collectives and on the search that imitates NCCL's.
fn other_models() -> String {
    let graph = graph("dgx-1p");
    let mut page = String::new();
    for (n, measured) in MEASURED {
        let set = DeviceSet::first_n(n);
        let found = [
            Channels::new(NCCL, &Channels::SPEEDS).of(&graph, &set),
            RingPacking::new(NCCL).of(&graph, &set),
            TreePacking::new(NCCL).of(&graph, &set),
            AllToAll::new(NCCL).of(&graph, &set),
        ];
        let [channels, rings, trees, exchange] =
            found.map(|found| found.expect("there are two or more").gbps);
        writeln!(
            page,
            "| {n} | {measured:.2} | {channels:.1} | {rings:.1} | {trees:.1} | {exchange:.1} |"
        )
        .unwrap();
    }
    page
}

#[test]
fn the_page_has_the_other_models_beside_what_was_measured() {
    let expected = other_models();
    let page = std::fs::read_to_string("../docs/bandwidth-models.md").unwrap();
    assert!(
        page.contains(&expected),
        "docs/bandwidth-models.md should have these rows:\n{expected}"
    );
}

/// Every free set of a DGX-1V and every size: nobody gets less than the best there is, nor leaves
/// less than that allows, nor goes through the host without need.
#[test]
fn max_bandwidth_never_gives_less_than_the_best_free_set() {
    let graph = graph("dgx-1v");
    let rings = RingPacking::default();
    let table: Vec<(DeviceSet, f64)> = rings
        .table(&graph, 2..=8)
        .map(|(set, found)| (set, found.gbps))
        .collect();
    let policy = max_bandwidth();
    for free in 1u32..256 {
        let free: DeviceSet = (0..8)
            .filter(|i| free >> i & 1 == 1)
            .map(DeviceId)
            .collect();
        for k in 2..=free.len() {
            let decision = policy
                .decide(&Request::new(Pattern::ring(k)), &graph.with_free(&free))
                .unwrap();
            let left = |set: &DeviceSet| graph.bandwidth_within(&(&free - set), |_| true);
            let best = table
                .iter()
                .filter(|(set, _)| set.len() == k && set.is_subset(&free));
            let best = best
                .map(|(set, gbps)| (*gbps, left(set)))
                .max_by(|a, b| a.partial_cmp(b).unwrap())
                .unwrap();
            let score = |name: &str| decision.best().score(name).unwrap();
            let found = (
                score(ring_packing_gbps().name()),
                score(preserved_gbps().name()),
            );
            assert_eq!(found, best, "{k} of {free}");
            assert!(decision.search().complete());
            // The order of ranks is a ring of direct links where there is one.
            let set: DeviceSet = decision.placement().iter().copied().collect();
            let (_, _, host) = decision.best().links().xyz();
            assert!(
                host == 0 || rings.of(&graph, &set).is_some_and(|found| found.over_host),
                "{k} of {free}"
            );
        }
    }
}

#[test]
fn a_limit_that_ends_the_search_within_a_server_leaves_what_was_found() {
    let graph = graph("fleet:8xdgx-1v");
    let request = Request::new(Pattern::ring(4)).runners_up(20_000);
    let all = graph.all();
    for nodes in [2_000, 20_000, 200_000] {
        let request = request.clone().limits(Limits::NONE.nodes(nodes));
        let decision = max_bandwidth()
            .decide(&request, &graph.with_free(&all))
            .unwrap();
        assert!(!decision.search().complete(), "{nodes}");
        assert_eq!(
            decision.best().score("ring_packing_gbps"),
            Some(100.0),
            "{nodes}"
        );
    }
}

#[test]
fn servers_of_a_fleet_are_looked_at_one_by_one() {
    let graph = graph("fleet:8xdgx-1v");
    let policy = max_bandwidth();
    let decide = |k: usize, free: &DeviceSet| {
        policy
            .decide(&Request::new(Pattern::ring(k)), &graph.with_free(free))
            .unwrap()
    };
    for (k, gbps) in [(2, 50.0), (4, 100.0), (8, 150.0)] {
        let decision = decide(k, &graph.all());
        assert!(decision.search().complete(), "{k}");
        assert_eq!(decision.best().score("ring_packing_gbps"), Some(gbps));
        assert!(
            decision.placement().iter().all(|id| id.index() < 8),
            "the first server is as good as any"
        );
    }
    // Only the third server has eight left.
    let busy: DeviceSet = (0..64)
        .filter(|id| id % 8 == 3 && id / 8 != 2)
        .map(DeviceId)
        .collect();
    let decision = decide(8, &(&graph.all() - &busy));
    assert!(
        decision.search().complete() && decision.placement().iter().all(|id| id.index() / 8 == 2)
    );
}
