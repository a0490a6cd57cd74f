//! Assembles the picture: title, host, lines, devices, legend, source.

use mapa_core::{HardwareGraph, Link, LinkClass};

use super::canvas::{Canvas, Path, fitted, gbps, line, number, text, width, wrapped};
use super::cards::{Cards, shape};
use super::layout::{CHIP_SIZE, Framed, LayoutInput, MARGIN, NAME_SIZE, PictureLayout, Rect};
use super::legend::{Legend, small_print};
use super::picture::Picture;
use super::routes::Routes;
use super::rows::Arrangement;
use super::style::{
    ACCENT, BAR, BAR_EDGE, BOX_EDGE, BOXES, INK, NIC, NIC_EDGE, PAPER, SOFT, Stroke, stroke,
};
use super::wires::{DrawnSwitch, DrawnWires, kinds};
use crate::machine::Machine;
use crate::writers::host::DrawnHost;

const TITLE_SIZE: f64 = 21.0;
const SUBTITLE_SIZE: f64 = 14.0;

/// One line of text in the heading.
struct HeadingLine {
    what: String,
    size: f64,
    y: f64,
}

/// The wrapped lines of the title and subtitle, and the y at which the machine may begin.
fn heading(title: &str, picture: &Picture, width: f64) -> (Vec<HeadingLine>, f64) {
    let mut lines = Vec::new();
    let mut y = MARGIN - 9.0;
    let parts = [
        (Some(title), TITLE_SIZE),
        (picture.subtitle.as_deref(), SUBTITLE_SIZE),
    ];
    for (what, size) in parts {
        for what in wrapped(what.unwrap_or_default(), size, width - 2.0 * MARGIN) {
            y += size
                + if size < TITLE_SIZE && lines.iter().all(|line: &HeadingLine| line.size != size) {
                    9.0
                } else {
                    4.0
                };
            lines.push(HeadingLine { what, size, y });
        }
    }
    (lines, y + 16.0)
}

/// Everything that is drawn, with its place.
struct Drawing<'a> {
    machine: &'a Machine,
    picture: &'a Picture,
    title: &'a str,
    cards: Cards<'a>,
    wires: &'a DrawnWires,
    kinds: Vec<Link>,
    layout: &'a PictureLayout,
    routes: Routes<'a>,
}

pub(super) fn draw(machine: &Machine, graph: &HardwareGraph, picture: &Picture) -> String {
    let edges = picture.edges.iter().map(|(a, b)| {
        (
            picture.placement[usize::from(*a)],
            picture.placement[usize::from(*b)],
        )
    });
    let wires = DrawnWires::of(&machine.fabric, graph, &edges.collect::<Vec<_>>());
    let host = DrawnHost::of(&machine.fabric, graph);
    let elsewhere: Vec<String> = host.empty.iter().chain(&host.cards).cloned().collect();
    let arrangement = Arrangement::of(host, &wires, graph.wholes().len());
    let cards = Cards::new(graph, picture);
    let own = [&machine.title, &machine.name]
        .into_iter()
        .find(|text| !text.trim().is_empty());
    let title = picture
        .title
        .as_deref()
        .unwrap_or(own.map_or("a machine", String::as_str));
    let plan = LayoutInput {
        arrangement: &arrangement,
        wires: &wires,
        card_height: cards.height(),
        longest_name: cards.longest_name(),
        top: &|width| heading(title, picture, width).1,
    };
    let layout = plan.layout();
    let routes = Routes::of(&arrangement, &layout, &wires);
    let kinds = kinds(&wires);
    Drawing {
        machine,
        picture,
        title,
        cards,
        wires: &wires,
        kinds,
        layout: &layout,
        routes,
    }
    .draw(graph, &elsewhere)
}

impl Drawing<'_> {
    fn draw(&self, graph: &HardwareGraph, elsewhere: &[String]) -> String {
        // The part below the machine is drawn first: it determines the height of the picture.
        let mut below = Canvas::default();
        let bottom = self.below(&mut below, elsewhere);
        let (w, h) = (self.layout.width, bottom + MARGIN - 12.0);
        let mut canvas = Canvas::default();
        canvas.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg".to_owned()),
                ("viewBox", format!("0 0 {} {}", number(w), number(h))),
                ("font-family", "sans-serif".to_owned()),
                ("role", "img".to_owned()),
            ],
        );
        canvas.say("title", &[], self.title);
        canvas.say("desc", &[], &self.description(graph));
        canvas.add(
            "rect",
            &[
                ("width", number(w)),
                ("height", number(h)),
                ("fill", PAPER.to_owned()),
            ],
        );
        self.heading(&mut canvas);
        self.host(&mut canvas);
        self.lines(&mut canvas);
        self.switches(&mut canvas);
        self.job(&mut canvas);
        self.names(&mut canvas);
        canvas.open("g", &[("class", "devices".to_owned())]);
        for (id, rect) in (0u32..).zip(&self.layout.cards) {
            self.cards.draw(&mut canvas, id.into(), *rect);
        }
        canvas.close();
        canvas.raw(&below.finish());
        canvas.finish()
    }

    fn description(&self, graph: &HardwareGraph) -> String {
        let links: Vec<String> = self
            .kinds
            .iter()
            .map(|kind| format!("{} at {} GB/s", self.print(kind.class), gbps(kind.gbps)))
            .collect();
        let devices = graph.wholes().len();
        let chosen: Vec<&str> = self
            .picture
            .placement
            .iter()
            .map(|&id| graph.device(id).name.as_str())
            .collect();
        let job = if chosen.is_empty() {
            String::new()
        } else {
            format!(" The job has {}, in rank order.", chosen.join(", "))
        };
        let links = if links.is_empty() {
            String::new()
        } else {
            format!(" Links: {}.", links.join(", "))
        };
        format!(
            "{devices} device{}.{links}{job}",
            if devices == 1 { "" } else { "s" }
        )
    }

    fn print(&self, class: LinkClass) -> String {
        self.machine.labels.print(class)
    }

    fn heading(&self, canvas: &mut Canvas) {
        for line in heading(self.title, self.picture, self.layout.width).0 {
            let more: &[(&str, &str)] = if line.size == TITLE_SIZE {
                &[("font-weight", "bold")]
            } else {
                &[]
            };
            let ink = if line.size == TITLE_SIZE { INK } else { SOFT };
            text(canvas, (MARGIN, line.y), line.size, ink, more, &line.what);
        }
    }

    fn host(&self, canvas: &mut Canvas) {
        canvas.open("g", &[("class", "host".to_owned())]);
        let mut boxes: Vec<&Framed> = self.layout.boxes.iter().collect();
        boxes.sort_by_key(|framed| framed.depth);
        for framed in boxes {
            canvas.open("g", &[("class", "box".to_owned())]);
            canvas.say("title", &[], &framed.full);
            let mut attributes = shape(framed.rect, 5.0, BOXES[framed.depth.min(BOXES.len() - 1)]);
            attributes.push(("stroke", BOX_EDGE.to_owned()));
            canvas.add("rect", &attributes);
            canvas.close();
        }
        canvas.close();
    }

    /// Draws the direct links that the job does not use.
    fn lines(&self, canvas: &mut Canvas) {
        canvas.open("g", &[("class", "links".to_owned())]);
        let faded = self.faded();
        for wire in self.wires.direct.iter().filter(|wire| !wire.used) {
            let Stroke { colour, dash, .. } = stroke(wire.link, &self.kinds);
            let class = [
                ("class", self.print(wire.link.class)),
                ("stroke-opacity", faded.to_owned()),
            ];
            line(
                canvas,
                &self.routes.wire(wire),
                colour,
                &self.wire_width(wire.link, 0.0),
                dash,
                &class,
            );
        }
        canvas.close();
    }

    /// The opacity of links that the job does not use: full if there is no job.
    fn faded(&self) -> &'static str {
        if self.picture.placement.is_empty() {
            "1"
        } else {
            "0.45"
        }
    }

    fn wire_width(&self, link: Link, more: f64) -> String {
        number(stroke(link, &self.kinds).width + more)
    }

    fn switches(&self, canvas: &mut Canvas) {
        for (s, switch) in self.wires.switches.iter().enumerate() {
            canvas.open(
                "g",
                &[
                    ("class", "switch".to_owned()),
                    ("data-switches", switch.names.len().to_string()),
                ],
            );
            canvas.say("title", &[], &switch.names.join(", "));
            for (&id, port) in &switch.ports {
                let Some(stub) = self.routes.stub(id, s) else {
                    continue;
                };
                let Stroke {
                    colour,
                    width,
                    dash,
                } = stroke(*port, &self.kinds);
                let path = Path::start(stub.x, stub.from).line(stub.x, stub.to);
                let class = [
                    ("class", "port".to_owned()),
                    ("stroke-opacity", self.faded().to_owned()),
                ];
                line(canvas, &path, colour, &number(width), dash, &class);
            }
            self.bars(canvas, s);
            canvas.close();
        }
    }

    fn bars(&self, canvas: &mut Canvas, s: usize) {
        let bars: Vec<_> = self
            .layout
            .bars
            .iter()
            .filter(|bar| bar.switch == s)
            .collect();
        let edge = |mut attributes: Vec<(&'static str, String)>| {
            attributes.extend([
                ("stroke", BAR_EDGE.to_owned()),
                ("stroke-width", "1.5".to_owned()),
            ]);
            attributes
        };
        if let (Some(x), Some(first), Some(last)) =
            (self.layout.trunks[s], bars.first(), bars.last())
        {
            let (top, bottom) = (first.rect.y, last.rect.bottom());
            let h = first.rect.h;
            let trunk = Rect {
                x: x - h / 2.0,
                y: top,
                w: h,
                h: bottom - top,
            };
            canvas.add("rect", &edge(shape(trunk, 4.0, BAR)));
        }
        for bar in bars {
            canvas.add("rect", &edge(shape(bar.rect, 4.0, BAR)));
        }
    }

    /// The label of a switch's bar: name and ports if they fit, otherwise as much of the name as
    /// fits.
    fn bar_label(&self, switch: &DrawnSwitch, room: f64) -> String {
        let name = match switch.names.as_slice() {
            [only] => only.clone(),
            [first, .., last] => format!("{first} to {last}: {} switches", switch.names.len()),
            [] => String::new(),
        };
        let ports = switch.ports.len();
        let first = switch.ports.values().next().copied().unwrap_or_default();
        let alike = switch.ports.values().all(|port| *port == first);
        let each = format!(
            " · {ports} ports, each {} of {} GB/s",
            self.port_label(switch, first),
            gbps(first.gbps * switch.names.len() as f64)
        );
        let long = format!(
            "{name}{}",
            if alike {
                each
            } else {
                format!(" · {ports} ports")
            }
        );
        if width(&long, 12.0) <= room {
            long
        } else {
            fitted(&name, 12.0, room)
        }
    }

    fn port_label(&self, switch: &DrawnSwitch, port: Link) -> String {
        match switch.names.len() {
            1 => self.print(port.class),
            n => format!("{n} × {}", self.print(port.class)),
        }
    }

    /// Draws the links, ports and host paths that the edges of the job use.
    fn job(&self, canvas: &mut Canvas) {
        canvas.open("g", &[("class", "job".to_owned())]);
        let mut used: Vec<(Path, String, Option<&'static str>)> = Vec::new();
        for (s, switch) in self.wires.switches.iter().enumerate() {
            let ports = switch
                .used
                .iter()
                .filter_map(|&(a, b)| Some((self.routes.through(a, b, s)?, a)));
            used.extend(
                ports.map(|(path, a)| (path, self.wire_width(switch.ports[&a], 0.0), None)),
            );
        }
        let direct = self.wires.direct.iter().filter(|wire| wire.used);
        used.extend(direct.map(|wire| {
            (
                self.routes.wire(wire),
                self.wire_width(wire.link, 2.0),
                None,
            )
        }));
        let host = self.wires.host.iter();
        used.extend(host.map(|wire| {
            (
                self.routes.wire(wire),
                number(4.0),
                stroke(wire.link, &self.kinds).dash,
            )
        }));
        for (path, width, dash) in used {
            line(
                canvas,
                &path,
                ACCENT,
                &width,
                dash,
                &[("class", "used".to_owned())],
            );
        }
        canvas.close();
    }

    /// Draws the names of boxes, the network cards, and the labels of bars and ports. They are
    /// drawn after the lines and with a halo, so that lines do not hide them.
    fn names(&self, canvas: &mut Canvas) {
        canvas.open("g", &[("class", "names".to_owned())]);
        let halo = [
            ("stroke", PAPER),
            ("stroke-width", "3"),
            ("stroke-linejoin", "round"),
            ("paint-order", "stroke"),
        ];
        for framed in &self.layout.boxes {
            text(canvas, framed.text, NAME_SIZE, SOFT, &halo, &framed.label);
            for chip in &framed.chips {
                canvas.open("g", &[("class", "nic".to_owned())]);
                canvas.say("title", &[], &chip.full);
                let mut attributes = shape(chip.rect, 3.0, NIC);
                attributes.push(("stroke", NIC_EDGE.to_owned()));
                canvas.add("rect", &attributes);
                let (x, y) = chip.rect.middle();
                text(
                    canvas,
                    (x, y + 4.0),
                    CHIP_SIZE,
                    INK,
                    &[("text-anchor", "middle")],
                    &chip.label,
                );
                canvas.close();
            }
        }
        for bar in &self.layout.bars {
            let label = self.bar_label(&self.wires.switches[bar.switch], bar.rect.w - 16.0);
            let at = (bar.rect.middle().0, bar.rect.y + 15.0);
            let halo = [("stroke", BAR), ("stroke-width", "5"), halo[2], halo[3]];
            let bold = [("text-anchor", "middle"), ("font-weight", "bold")];
            text(
                canvas,
                at,
                12.0,
                INK,
                &[&bold[..], &halo[..]].concat(),
                &label,
            );
        }
        for (s, switch) in self.wires.switches.iter().enumerate() {
            for (&id, port) in &switch.ports {
                let Some(stub) = self.routes.stub(id, s) else {
                    continue;
                };
                let label = self.port_label(switch, *port);
                // Half the width of a card has room for one label. If a device has more ports, the
                // bar and the legend explain them.
                let card = self.layout.cards[id.index()];
                let alone = self
                    .wires
                    .switches
                    .iter()
                    .filter(|other| other.ports.contains_key(&id))
                    .count()
                    == 1;
                if alone && width(&label, 11.0) + 8.0 <= card.w / 2.0 + 8.0 {
                    let y = stub.to + if stub.to > stub.from { -8.0 } else { 16.0 };
                    text(canvas, (stub.x + 6.0, y), 11.0, SOFT, &halo, &label);
                }
            }
        }
        canvas.close();
    }

    /// Draws the legend, the names in `elsewhere`, and the source. Returns the y at which they end.
    fn below(&self, canvas: &mut Canvas, elsewhere: &[String]) -> f64 {
        let has_states = !self.picture.placement.is_empty() || !self.picture.busy.is_empty();
        let used = self.wires.all().any(|wire| wire.used)
            || self
                .wires
                .switches
                .iter()
                .any(|switch| !switch.used.is_empty());
        let legend = Legend {
            kinds: &self.kinds,
            labels: &self.machine.labels,
            states: has_states.then(|| self.cards.states()),
            used,
        };
        let y = legend.draw(canvas, self.layout.width, self.layout.bottom + 26.0);
        let room = self.layout.width - 2.0 * MARGIN;
        let mut print = Vec::new();
        if !elsewhere.is_empty() {
            print.extend(wrapped(
                &format!("Not near any device: {}", elsewhere.join(", ")),
                11.0,
                room,
            ));
        }
        if !self.machine.source.trim().is_empty() {
            print.extend(wrapped(
                &format!("Source: {}", self.machine.source),
                11.0,
                room,
            ));
        }
        small_print(canvas, &print, y + 28.0)
    }
}
