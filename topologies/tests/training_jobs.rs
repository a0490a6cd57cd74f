//! Placements of training jobs on machines of the catalogue.

use mapa_core::{HardwareGraph, Limits, Parallelism, Policy, Rates, Request, min_step_time};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// What the policy reaches for a job on all of the machine's devices.
fn step(machine: &str, job: &str, nodes: u64) -> (f64, Vec<usize>) {
    let (graph, job): (_, Parallelism) = (graph(machine), job.parse().unwrap());
    let (free, request) = (
        graph.all(),
        Request::new(job.pattern()).limits(Limits::NONE.nodes(nodes)),
    );
    let decision = min_step_time(&job, Rates::NOMINAL)
        .decide(&request, &graph.with_free(&free))
        .unwrap();
    let ids = decision.placement().iter().map(|id| id.index()).collect();
    (decision.best().score("step_seconds").unwrap(), ids)
}

#[test]
fn every_server_of_a_fleet_has_one_tensor_group_though_the_search_stops_early() {
    for servers in 2..=4 {
        let (machine, job) = (
            format!("fleet:{servers}xdgx-1v"),
            format!("tp=8,pp={servers}"),
        );
        let (seconds, ids) = step(&machine, &job, 20_000);
        // Rings of double links, 1.75 GB over 50 GB/s; 30 MB over the network's 25 GB/s.
        assert_eq!(seconds, 0.035 + 0.0012, "{machine}");
        for group in ids.chunks(8) {
            assert!(
                group.iter().all(|id| id / 8 == group[0] / 8),
                "{machine}: {ids:?}"
            );
        }
    }
}
