//! From a traffic matrix to an allocation: the bytes that each rank sends to each other rank become
//! an application graph. It is written to a pattern file, read back, and placed on devices whose
//! links suit the traffic.

use std::error::Error;

use mapa_core::{Edge, Policy, Rates, Request, greedy, lowest_id, min_edges_seconds};
use mapa_patterns::{
    Application, Evidence, TrafficMatrix, Unit, likeness, read_pattern, write_pattern,
};
use mapa_topologies::named;

fn main() -> Result<(), Box<dyn Error>> {
    // Bytes in one step between four ranks: two pairs that exchange much data, joined into a ring
    // by edges with little data, and one edge of noise.
    let mut traffic = TrafficMatrix::new(4)?;
    for (a, b, bytes) in [
        (1, 2, 8e9),
        (3, 0, 8e9),
        (0, 1, 1e9),
        (2, 3, 1e9),
        (0, 2, 4096.0),
    ] {
        traffic.add(a, b, bytes);
        traffic.add(b, a, 0.9 * bytes);
    }
    let mut job = Application::new("exchange", "traffic of one step", traffic.pattern()?);
    job.unit = Unit::BytesPerStep;
    let mut job = job.without_noise(0.001)?;
    // A step takes 0.4 s. In a step, the busiest edge carries 8 GB, in 500 messages of 16 MB.
    let evidence = Evidence {
        messages: Some("500x1.6e7".parse()?),
        iteration_seconds: Some(0.4),
        ..Evidence::default()
    };
    job.verdict = evidence.verdict()?;
    let shape = likeness(&job.pattern)
        .map(|shape| shape.to_string())
        .unwrap_or_default();
    println!("{}: a {shape} of {} ranks", job.name, job.pattern.len());
    job.notes.iter().for_each(|note| println!("{note}"));
    println!("{}", job.verdict);

    // A pattern file that is read back gives the same application.
    let job = read_pattern(&write_pattern(&job))?;

    // GPU 0 is in use by another job.
    let graph = named("dgx-1v")?.graph()?;
    let free = graph.all().iter().filter(|id| id.0 != 0).collect();
    let request = Request::new(job.pattern.clone()).sensitive(job.verdict.sensitivity);
    // Greedy adds up link bandwidths and ignores traffic. `min_edges_seconds` takes into account
    // how much traffic each edge carries.
    let fastest = min_edges_seconds(&job.pattern, Rates::NOMINAL);
    for policy in [&lowest_id() as &dyn Policy, &greedy(), &fastest] {
        let decision = graph.with_free(&free).decide(policy, &request)?;
        let ranks: Vec<String> = decision
            .placement()
            .iter()
            .map(|id| id.to_string())
            .collect();
        let seconds = |edge: &Edge| {
            let [a, b] = [edge.a, edge.b].map(|rank| decision.placement()[usize::from(rank)]);
            edge.traffic / (1e9 * graph.link(a, b).gbps)
        };
        let slowest = job.pattern.edges().iter().map(seconds).fold(0.0, f64::max);
        println!(
            "{:<14} ranks on {}: {slowest:.2} s a step",
            policy.name(),
            ranks.join(",")
        );
    }
    Ok(())
}
