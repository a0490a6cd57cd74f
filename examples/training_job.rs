//! A training job with tensor and pipeline parallelism: the placement with the least communication
//! time of a step, beside the placements by other policies.

use std::error::Error;

use mapa_core::{
    Dimension, Parallelism, Policy, Rates, Request, StepTime, greedy, lowest_id, min_step_time,
};
use mapa_topologies::named;

fn main() -> Result<(), Box<dyn Error>> {
    let graph = named("dgx-1v")?.graph()?;
    // GPU 0 is in use by another job.
    let free = graph.all().iter().filter(|id| id.0 != 0).collect();
    let view = graph.with_free(&free);
    // Two tensor groups of two ranks, as two pipeline stages: 2 GB are all-reduced within a group,
    // and 100 MB are sent between stages.
    let job = "tp=2,pp=2".parse::<Parallelism>()?;
    let job = job
        .with_bytes(Dimension::Tensor, 2e9)?
        .with_bytes(Dimension::Pipeline, 1e8)?;
    let model = StepTime::new(&job, Rates::NOMINAL);
    let request = Request::new(job.pattern());
    let best = min_step_time(&job, Rates::NOMINAL);
    for policy in [&lowest_id() as &dyn Policy, &greedy(), &best] {
        let decision = view.decide(policy, &request)?;
        let seconds = model
            .seconds(&graph, decision.placement())
            .unwrap_or(f64::INFINITY);
        let ranks: Vec<String> = decision
            .placement()
            .iter()
            .map(|id| id.to_string())
            .collect();
        println!(
            "{:<14} ranks on {}: {:.1} ms a step",
            policy.name(),
            ranks.join(","),
            1e3 * seconds
        );
    }
    Ok(())
}
