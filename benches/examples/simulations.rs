//! How many jobs a second are simulated under each scheduler, as one table:
//!
//! ```text
//! cargo run --release -p mapa-benches --example simulations
//! cargo run --release -p mapa-benches --example simulations backfill    # schedulers whose name has this word
//! cargo run --release -p mapa-benches --example simulations million     # a million jobs, and the memory of the process
//! ```
//!
//! Jobs are the paper's mix, placed by `auto`; run times follow the links. On 1,250 servers of eight GPUs they come at
//! random: at a load of 0.5 nearly none waits, at 1.2 thousands do by the end. On sixteen servers all come at once, so
//! that nearly all wait all the time: what a job costs then should not depend on how many wait. Times are CPU time of
//! this process, with the metrics over time that `mapa-bench simulate` prints. Every row asserts that all jobs have run.

use std::sync::Arc;

use mapa_core::auto;
use mapa_sched::{Fleet, NamedScheduler, SCHEDULERS};
use mapa_sim::{Arrivals, ByBandwidth, Fragmentation, Generator, OverTime, Simulation};
use mapa_topologies::named;
use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of this process.
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The CPU seconds of a simulation.
fn simulated(scheduler: &NamedScheduler, servers: usize, jobs: usize, arrivals: Arrivals) -> f64 {
    let graph = named("dgx-1v").and_then(|machine| machine.graph());
    let graph = Arc::new(graph.expect("it is in the catalogue"));
    let mut generator = Generator::mapa();
    (generator.jobs, generator.arrivals) = (jobs, arrivals);
    let workload = generator.generate(1).expect("the paper's mix");
    let fleet = Fleet::new(vec![graph; servers]);
    let mut made = NamedScheduler::among(&SCHEDULERS, scheduler.name, Box::new(auto()))
        .expect("a name of the list");
    let (mut fragmentation, mut over_time) = (Fragmentation::default(), OverTime::default());
    let began = cpu();
    let outcome = Simulation::new(&workload, fleet)
        .observe(|now, fleet| over_time.observe(now, fleet, &mut fragmentation))
        .run(&mut *made, &ByBandwidth::ring_packing())
        .expect("a sound workload");
    let took = cpu() - began;
    assert_eq!(outcome.runs.len(), jobs, "every job has run");
    took
}

/// The most memory that this process had at once, GB, where the system tells.
fn peak_gb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kb: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb * 1024.0 / 1e9)
}

/// A million jobs, nearly none of which waits. Most memory is that of the jobs and of what became of each.
fn million(arrivals: Arrivals) {
    let fifo = SCHEDULERS.iter().find(|row| row.name == "fifo");
    let took = simulated(fifo.expect("it is in the list"), 1250, 1_000_000, arrivals);
    println!(
        "fifo, 1,250 servers, load 0.5, a million jobs: {:.0} jobs/s",
        1e6 / took
    );
    if let Some(peak) = peak_gb() {
        println!("{peak:.2} GB at most");
    }
}

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let load = |load| Arrivals::Load {
        load,
        devices: 10_000,
    };
    if only == "million" {
        return million(load(0.5));
    }
    let rows = [
        ("1,250 servers, load 0.5", 1250, 20_000, load(0.5)),
        ("1,250 servers, load 1.2", 1250, 20_000, load(1.2)),
        ("16 servers, 2,000 at once", 16, 2_000, Arrivals::AtOnce),
        ("16 servers, 20,000 at once", 16, 20_000, Arrivals::AtOnce),
    ];
    println!(
        "{:24}{:28}{:>12}{:>14}",
        "scheduler", "jobs", "jobs/s", "us a job"
    );
    for scheduler in SCHEDULERS
        .iter()
        .filter(|scheduler| scheduler.name.contains(&only))
    {
        for (name, servers, jobs, arrivals) in &rows {
            let took = simulated(scheduler, *servers, *jobs, arrivals.clone());
            let (rate, each) = (*jobs as f64 / took, took * 1e6 / *jobs as f64);
            println!("{:24}{name:28}{rate:>12.0}{each:>14.1}", scheduler.name);
        }
    }
}
