//! Draws the README's picture: a DGX-1V, and what two policies make of the same request. SVG on standard output.
//!
//! ```sh
//! cargo run -p mapa-examples --example picture > docs/img/dgx-1v.svg
//! ```

use std::error::Error;

use mapa_core::{
    Decision, DeviceId, DeviceSet, HardwareGraph, LinkClass, Pattern, Policy, Request, lowest_id, preserve,
};
use mapa_topologies::named;
use svg::Document;
use svg::node::element::{Circle, Group, Line, Rectangle, Text};

const FONT: &str = "system-ui, sans-serif";
const INK: &str = "#1f2933";
const GREY: &str = "#c3ccd5";
const DOUBLE: &str = "#1f7a4d";
const SINGLE: &str = "#d98e04";
const HOST: &str = "#c0392b";

fn main() -> Result<(), Box<dyn Error>> {
    let graph = named("dgx-1v")?.graph()?;
    let busy = DeviceSet::from([0]);
    let free = &graph.all() - &busy;
    let request = Request::new(Pattern::ring(4)).sensitive(true);
    let mut document = Document::new().set("viewBox", (0, 0, 860, 470)).set("font-family", FONT);
    document = document.add(Rectangle::new().set("width", 860).set("height", 470).set("fill", "white"));
    document = document.add(text(430.0, 30.0, 17, "A ring of four on a DGX-1V, GPU 0 in use").set("font-weight", 600));
    for (x, policy) in [(215.0, &lowest_id() as &dyn Policy), (645.0, &preserve())] {
        let decision = policy.decide(&request, &graph.with_free(&free))?;
        document = document.add(panel(x, &graph, &busy, &decision));
    }
    document = document.add(legend());
    println!("{document}");
    Ok(())
}

/// The halves of the machine left and right, the devices with a partner across in two rows each; no link passes behind a
/// device.
fn place(device: DeviceId, x: f64) -> (f64, f64) {
    let side = if device.0 < 4 { -1.0 } else { 1.0 };
    let (along, up) = [(152.0, 112.0), (48.0, 66.0), (48.0, -66.0), (152.0, -112.0)][device.0 as usize % 4];
    (x + side * along, 218.0 - up)
}

fn panel(x: f64, graph: &HardwareGraph, busy: &DeviceSet, decision: &Decision) -> Group {
    let mut group = Group::new();
    let ids = || (0..graph.len() as u32).map(DeviceId);
    for b in ids() {
        for a in (0..b.0).map(DeviceId) {
            let direct = graph.pair(a, b).direct;
            if direct.exists() {
                let width = if direct.class == LinkClass::Direct(1) { 1.5 } else { 4.0 };
                group = group.add(line(place(a, x), place(b, x), GREY, width));
            }
        }
    }
    let ranks = decision.placement();
    for edge in decision.pattern().edges() {
        let (a, b) = (ranks[usize::from(edge.a)], ranks[usize::from(edge.b)]);
        let (colour, width) = match graph.link(a, b).class {
            LinkClass::Direct(1) => (SINGLE, 4.0),
            LinkClass::Direct(_) => (DOUBLE, 8.0),
            _ => (HOST, 4.0),
        };
        let wire = line(place(a, x), place(b, x), colour, width);
        group = group.add(if colour == HOST { wire.set("stroke-dasharray", "7 6") } else { wire });
    }
    for device in ids() {
        let (cx, cy) = place(device, x);
        let (fill, ink) = if ranks.contains(&device) {
            (INK, "white")
        } else if busy.contains(device) {
            (GREY, "white")
        } else {
            ("white", INK)
        };
        let circle = Circle::new().set("cx", cx).set("cy", cy).set("r", 19).set("fill", fill);
        group = group.add(circle.set("stroke", if busy.contains(device) { GREY } else { INK }).set("stroke-width", 2));
        group = group.add(text(cx, cy + 5.5, 15, &device.to_string()).set("fill", ink).set("font-weight", 600));
    }
    let best = decision.best();
    let (double, single, host) = best.links().xyz();
    let gbps = best.score("effective_gbps").unwrap_or_default();
    let links = format!("{double} double, {single} single, {host} PCIe: {gbps:.1} GB/s predicted");
    group = group.add(text(x, 70.0, 16, decision.policy()).set("font-weight", 600));
    group.add(text(x, 376.0, 14, &links))
}

fn legend() -> Group {
    let mut group = Group::new();
    let entries = [
        (90.0, DOUBLE, 8.0, "two NVLinks, 50 GB/s"),
        (320.0, SINGLE, 4.0, "one NVLink, 25 GB/s"),
        (540.0, HOST, 4.0, "through the host, 12 GB/s"),
    ];
    for (x, colour, width, label) in entries {
        let wire = line((x, 416.0), (x + 36.0, 416.0), colour, width);
        group = group.add(if colour == HOST { wire.set("stroke-dasharray", "7 6") } else { wire });
        group = group.add(text(x + 46.0, 421.0, 13, label).set("text-anchor", "start"));
    }
    let chosen =
        "dark: chosen, in ring order along the coloured links; white: left free; grey: in use and links not used";
    group.add(text(430.0, 450.0, 13, chosen))
}

fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, width: f64) -> Line {
    let line = Line::new().set("x1", x1.round()).set("y1", y1.round()).set("x2", x2.round()).set("y2", y2.round());
    line.set("stroke", colour).set("stroke-width", width).set("stroke-linecap", "round")
}

fn text(x: f64, y: f64, size: u32, what: &str) -> Text {
    let text = Text::new(what).set("x", x.round()).set("y", y.round()).set("font-size", size);
    text.set("text-anchor", "middle").set("fill", INK)
}
