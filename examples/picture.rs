//! Draws the README's picture: a DGX-1V with the placements that two policies choose for the same
//! request. Prints SVG to standard output.
//!
//! ```sh
//! cargo run -p mapa-examples --example picture > docs/img/dgx-1v.svg
//! ```

use std::error::Error;

use mapa_core::{DeviceSet, Pattern, Policy, Request, RingPacking, auto, lowest_id};
use mapa_topologies::{Machine, Picture, named};

fn main() -> Result<(), Box<dyn Error>> {
    let machine = named("dgx-1v")?;
    let [left, right] = [drawn(&machine, &lowest_id())?, drawn(&machine, &auto())?];
    let (width, height) = size(&left).ok_or("a picture has a size")?;
    println!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\">",
        2.0 * width
    );
    for (picture, x) in [(left, 0.0), (right, width)] {
        // Each picture becomes a nested `svg` element with its own coordinates.
        let place = format!(
            "<svg x=\"{x}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"xMidYMin\" "
        );
        print!("{}", picture.replacen("<svg ", &place, 1));
    }
    println!("</svg>");
    Ok(())
}

/// Draws a ring of four as this policy places it while GPU 0 is in use.
fn drawn(machine: &Machine, policy: &dyn Policy) -> Result<String, Box<dyn Error>> {
    let graph = machine.graph()?;
    let busy = DeviceSet::from([0]);
    let free = &graph.all() - &busy;
    let decision = policy.decide(&Request::new(Pattern::ring(4)), &graph.with_free(&free))?;
    let packing = RingPacking::default().of(&graph, &decision.placement().set());
    let gbps = packing.ok_or("several devices have a bandwidth")?.gbps;
    let picture = Picture::new()
        .title(format!("A ring of four by {}", decision.policy()))
        .subtitle(format!(
            "{gbps} GB/s by ring packing, links at nominal rate"
        ))
        .job(decision.pattern(), decision.placement())
        .busy(busy);
    Ok(machine.to_svg(&picture)?)
}

fn size(picture: &str) -> Option<(f64, f64)> {
    let view = picture.split_once("viewBox=\"0 0 ")?.1.split_once('"')?.0;
    let (width, height) = view.split_once(' ')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}
