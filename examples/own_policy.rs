//! A policy of one's own, two ways: from criteria, and by hand.

use std::error::Error;

use mapa_core::{Decision, Objective, Pattern, Policy, Refusal, Request, Rules, View, aggregate_gbps, max, min};
use mapa_topologies::named;

/// Cool devices first, among those the fastest links: criteria in order, and the exact optimum of them.
fn coolest(celsius: &[f64]) -> impl Policy + '_ {
    let hottest = Objective::chosen("hottest device", |chosen| {
        chosen.devices.iter().map(|device| celsius[device.index()]).fold(f64::MIN, f64::max)
    });
    Rules::new("coolest").prefer(min(hottest)).then(max(aggregate_gbps()))
}

/// Highest ids first, leaving the low ones to the display: found by hand, checked at the door.
struct FromTheTop;

impl Policy for FromTheTop {
    fn name(&self) -> &str {
        "from-the-top"
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        Decision::checked("from-the-top", request, view, view.free().iter().rev().take(request.pattern.len()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let graph = named("dgx-1v")?.graph()?;
    let free = graph.all();
    let view = graph.with_free(&free);
    let request = Request::new(Pattern::ring(3));
    let celsius = [71.0, 64.0, 80.0, 66.0, 59.0, 61.0, 77.0, 60.0];

    let cool = view.decide(coolest(&celsius), &request)?;
    println!("{}: {}", cool.policy(), cool.placement().set());
    assert_eq!(cool.placement().set().to_string(), "4,5,7");

    let top = view.decide(FromTheTop, &request)?;
    println!("{}: {}", top.policy(), top.placement().set());
    assert_eq!(top.placement().set().to_string(), "5,6,7");
    Ok(())
}
