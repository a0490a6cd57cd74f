//! What would a policy of one's own make of the paper's jobs? Twenty lines, policy, simulation and comparison.

// -- at most 20 lines
use mapa_core::{Objective, Policy, Rules, max, min, preserve, preserved_gbps};
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{ByBandwidth, Generator, Row, Scorer, Simulation, Summary};

/// As few edges over the host as can be; of those placements the one that keeps most bandwidth for others.
fn off_the_host() -> impl Policy {
    let over_host = Objective::edges("edges over the host", |edge| f64::from(u8::from(!edge.link.class.is_direct())));
    Rules::new("off-the-host").prefer(min(over_host)).then(max(preserved_gbps()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fleet = Fleet::new([mapa_topologies::named("dgx-1v")?.graph()?.into()]);
    let jobs = Generator::mapa().generate(1)?;
    for policy in [Box::new(off_the_host()) as Box<dyn Policy>, Box::new(preserve())] {
        let (name, mut fifo) = (policy.name().to_owned(), Fifo::new(policy));
        let outcome = Simulation::new(&jobs, fleet.clone()).run(&mut fifo, &ByBandwidth::ring_packing())?;
        let rows = Row::of(&outcome, &jobs, &fleet, &mut Scorer::new());
        let Summary { jobs_per_hour, execution_slowdown, .. } = Summary::of(&outcome, &rows, &fleet);
        println!("{name}: {jobs_per_hour:.0} jobs an hour, {execution_slowdown:.2} times as long as at full speed");
    }
    Ok(())
}
// -- end
