//! How do the paper's jobs fare under a policy of your own? The policy, its simulation, and a
//! comparison with preserve.

// -- at most 25 lines
use mapa_core::{Objective, Policy, Rules, criteria, preserve, preserved_gbps};
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{ByBandwidth, Generator, Row, Scorer, Simulation, Summary};

/// The placements with fewest edges over the host. Among those, the one that keeps most bandwidth
/// for other jobs.
fn off_the_host() -> impl Policy {
    let over_host = Objective::edges("host edges", |edge| (!edge.link.class.is_direct()).into());
    Rules::new("off-the-host")
        .prefer(criteria::min(over_host))
        .then(criteria::max(preserved_gbps()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fleet = Fleet::new([mapa_topologies::named("dgx-1v")?.graph()?.into()]);
    let jobs = Generator::mapa().generate(1)?;
    let own: Box<dyn Policy> = Box::new(off_the_host());
    for policy in [own, Box::new(preserve())] {
        let (name, mut fifo) = (policy.name().to_owned(), Fifo::new(policy));
        let simulation = Simulation::new(&jobs, fleet.clone());
        let outcome = simulation.run(&mut fifo, &ByBandwidth::ring_packing())?;
        let rows = Row::of(&outcome, &jobs, &fleet, &mut Scorer::new());
        let summary = Summary::of(&outcome, &rows, &fleet);
        let [rate, slowdown] = ["jobs_per_hour", "execution_slowdown_mean"]
            .map(|name| summary.number(name).expect("a measure of this name"));
        println!("{name}: {rate:.0} jobs an hour, {slowdown:.2} times as long as at full speed");
    }
    Ok(())
}
// -- end
