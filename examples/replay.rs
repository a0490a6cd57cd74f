//! How would these jobs have fared under another policy? Replays the paper's mix on a DGX-1V under
//! its four policies, with a model of run times of its own: jobs that communicate over the host slow each
//! other down.

use std::error::Error;
use std::sync::Arc;

use mapa_core::{Census, Policy, Tiers, greedy, lowest_id, preserve, topo_aware};
use mapa_sched::{Assignment, Fifo, Fleet};
use mapa_sim::{Coupling, Execution, Generator, Simulation, Submission};
use mapa_topologies::named;

/// A job whose edges all use NVLinks runs at full speed. A job that uses the host runs longer by a
/// fifth of its work for each job on the machine that uses the host.
struct SharedHost;

/// Whether a job with this placement communicates over the host.
fn uses_host(fleet: &Fleet, at: &Assignment, job: &Submission) -> bool {
    let pattern = &job.job.request.pattern;
    let machine = fleet.machine(at.machine);
    machine.is_ok_and(|machine| {
        Census::of(pattern, &at.placement, machine.graph(), &Tiers::PAPER)
            .xyz()
            .2
            > 0
    })
}

impl Execution for SharedHost {
    fn name(&self) -> &str {
        "shared host"
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        if !uses_host(fleet, at, job) {
            return 1.0;
        }
        let Ok(machine) = fleet.machine(at.machine) else {
            return 1.0;
        };
        let on_host = machine.leases().filter(|lease| {
            Census::of(
                &lease.pattern,
                &lease.placement,
                machine.graph(),
                &Tiers::PAPER,
            )
            .xyz()
            .2 > 0
        });
        1.0 + 0.2 * on_host.count() as f64
    }

    // A job that starts or ends changes the speed of the others on the machine.
    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let graph = Arc::new(named("dgx-1v")?.graph()?);
    let workload = Generator::mapa().generate(1)?;
    println!("{}", workload.source);
    let policies: [Box<dyn Policy>; 4] = [
        Box::new(lowest_id()),
        Box::new(topo_aware()),
        Box::new(greedy()),
        Box::new(preserve()),
    ];
    for policy in policies {
        let name = policy.name().to_owned();
        let fleet = Fleet::new([graph.clone()]);
        let outcome =
            Simulation::new(&workload, fleet.clone()).run(&mut Fifo::new(policy), &SharedHost)?;
        let on_host = outcome
            .runs
            .iter()
            .filter(|run| uses_host(&fleet, &run.stays[0].at, &workload.jobs[run.index]));
        let (jobs, seconds) = (on_host.count(), outcome.end.0 as f64 / 1e9);
        println!(
            "{name:12}{jobs:4} of {} jobs use the host, the last ends after {seconds:.1} s",
            outcome.runs.len()
        );
    }
    Ok(())
}
