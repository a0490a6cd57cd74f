//! Two ways to write a policy of your own: from rules, and by hand.

use std::error::Error;

use mapa_core::{
    Decision, Pattern, Policy, Refusal, Request, Rules, View, aggregate_gbps,
    criteria::{least, max},
};
use mapa_topologies::named;

/// What `nvidia-smi --query-gpu=index,temperature.gpu,memory.used --format=csv,noheader,nounits`
/// prints on a machine on which GPU 2 is hot and a process of another user runs on GPU 6.
const GPUS: &str =
    "0, 71, 3\n1, 64, 3\n2, 85, 3\n3, 66, 3\n4, 59, 3\n5, 61, 3\n6, 57, 15360\n7, 60, 3\n";

#[derive(Clone, Copy, Default)]
struct Gpu {
    celsius: u8,
    used_mib: u32,
}

// -- at most 12 lines
/// Chooses among cool devices that no other process uses: the fastest links, then the coolest.
fn healthy(gpus: &[Gpu]) -> impl Policy + '_ {
    Rules::new("healthy")
        .require("below 80 C", |seat| gpus[seat.whole().index()].celsius < 80)
        .require("not in use by others", |seat| {
            gpus[seat.whole().index()].used_mib < 500
        })
        .prefer(max(aggregate_gbps()))
        .then(least("degrees", |seat| gpus[seat.whole().index()].celsius))
}
// -- end

// -- at most 12 lines
/// Chooses the highest ids and leaves the low ones to the display. The choice is made by hand, and
/// `Decision::checked` verifies it.
struct FromTheTop;

impl Policy for FromTheTop {
    fn name(&self) -> &str {
        "from-the-top"
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let highest = view.free().iter().rev().take(request.pattern.len());
        Decision::checked(self.name().to_owned(), request, view, highest)
    }
}
// -- end

fn read(text: &str) -> Result<Vec<Gpu>, Box<dyn Error>> {
    let mut gpus = vec![Gpu::default(); text.lines().count()];
    for line in text.lines() {
        let [index, celsius, used_mib] = line.split(", ").collect::<Vec<_>>()[..] else {
            return Err(line.into());
        };
        let gpu = gpus
            .get_mut(index.parse::<usize>()?)
            .ok_or("the numbers have a gap")?;
        *gpu = Gpu {
            celsius: celsius.parse()?,
            used_mib: used_mib.parse()?,
        };
    }
    Ok(gpus)
}

fn main() -> Result<(), Box<dyn Error>> {
    let graph = named("dgx-1v")?.graph()?;
    let free = graph.all();
    let view = graph.with_free(&free);
    let gpus = read(GPUS)?;
    for devices in [2, 3] {
        let request = Request::new(Pattern::ring(devices));
        for policy in [&healthy(&gpus) as &dyn Policy, &FromTheTop] {
            let decision = view.decide(policy, &request)?;
            let gbps = decision.best().score("aggregate_gbps").unwrap_or_default();
            println!(
                "{}: {} at {gbps} GB/s",
                decision.policy(),
                decision.placement().set()
            );
        }
    }
    match view.decide(healthy(&gpus), &Request::new(Pattern::ring(7))) {
        Ok(decision) => println!("{}: {}", decision.policy(), decision.placement().set()),
        Err(refusal) => println!("healthy: {}: {refusal}", refusal.kind()),
    }
    Ok(())
}
