//! A fleet of servers of two kinds. Each job goes to the best server; a job that is too large for
//! every server is spread over several.
//!
//! With a number of GPUs and a number of jobs as arguments, it replays that many jobs on DGX-1V
//! servers and prints how long that took: `cargo run --release --example fleet -- 10000 1000000`.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use mapa_core::{Pattern, Request, preserve};
use mapa_sched::{Action, Event, Fifo, Fleet, Job, JobId, Time, step};
use mapa_sim::{Arrivals, Fixed, Generator, Simulation};
use mapa_topologies::named;

/// Four jobs on 20 DGX-1V and two DGX-2, joined by a network of 25 GB/s.
fn a_few_jobs() -> Result<(), Box<dyn Error>> {
    let [small, large] = [
        Arc::new(named("dgx-1v")?.graph()?),
        Arc::new(named("dgx-2")?.graph()?),
    ];
    let servers = std::iter::repeat_n(small, 20).chain(std::iter::repeat_n(large, 2));
    let mut fleet = Fleet::new(servers).with_network(25.0);

    let job = |(id, gpus): (u64, usize)| {
        Event::Arrived(Job::new(
            JobId(id),
            Request::new(Pattern::ring(gpus)).sensitive(true),
        ))
    };
    let mut orders = Vec::new();
    step(
        &mut Fifo::new(preserve()),
        &mut fleet,
        Time::ZERO,
        (0..).zip([4, 12, 40, 500]).map(job),
        &mut orders,
    )?;
    for order in &orders {
        match order {
            Action::Place { tenant, at } => {
                let part =
                    |(_, server, placement): (_, mapa_core::MachineId, &mapa_core::Placement)| {
                        format!("{} on server {server}", placement.len())
                    };
                println!(
                    "{tenant}: GPUs {}",
                    at.parts().map(part).collect::<Vec<_>>().join(", ")
                );
            }
            Action::Reject { job, why } => println!("job {job}: {why}"),
            _ => {}
        }
    }
    Ok(())
}

/// Replays jobs of the paper's mix on DGX-1V servers, at an arrival rate that the fleet can just
/// sustain.
fn replay(gpus: usize, jobs: usize) -> Result<(), Box<dyn Error>> {
    let graph = Arc::new(named("dgx-1v")?.graph()?);
    let fleet = Fleet::new(std::iter::repeat_n(graph, gpus / 8));
    let mut generator = Generator::mapa();
    // A job uses three GPUs for 14.5 s on average. The load is 0.9.
    let per_hour = 0.9 * gpus as f64 / (3.0 * 14.5) * 3600.0;
    (generator.jobs, generator.arrivals) = (jobs, Arrivals::Poisson { per_hour });
    let workload = generator.generate(1)?;
    let start = Instant::now();
    let outcome = Simulation::new(&workload, fleet).run(&mut Fifo::new(preserve()), &Fixed)?;
    let took = start.elapsed().as_secs_f64();
    println!(
        "{} servers: {} jobs ended by {} s",
        gpus / 8,
        outcome.runs.len(),
        outcome.end.0 / 1_000_000_000
    );
    println!("{took:.2} s, {:.0} decisions a second", jobs as f64 / took);
    // On Linux, the peak memory use of this process.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter(|line| line.starts_with("VmHWM"))
        .for_each(|line| println!("{line}"));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    match numbers[..] {
        [] => a_few_jobs(),
        [gpus, jobs] if gpus >= 8 => replay(gpus, jobs),
        _ => Err(
            "expected no arguments, or a number of GPUs (8 or more) and a number of jobs".into(),
        ),
    }
}
