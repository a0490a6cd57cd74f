//! Writes a machine as a graph in Graphviz's DOT language.

use std::fmt::Write;

use mapa_core::{FabricWire, HardwareGraph, LinkClass, NodeKind};

use super::host::{DrawnHost, HostBox, Item};
use crate::machine::Machine;

/// Pen width and colour by the number of links: largest number, width, colour. One link is thin and
/// sky blue; more links are wider. The colours are from Okabe and Ito's palette.
const STROKES: [(u8, &str, &str); 3] = [
    (1, "1.5", "#56b4e9"),
    (2, "4", "#0072b2"),
    (u8::MAX, "6", "#009e73"),
];

impl Machine {
    /// Writes the machine in Graphviz's DOT language; `dot -T svg` draws it.
    ///
    /// - Sockets, bridges and switches are nested clusters, as far as the host is known.
    /// - Direct links are edges, labelled with class and GB/s per direction.
    /// - A link switch is a node with one edge for each port.
    /// - Host paths have no edges: the clusters show them.
    /// - If [`Machine::graph`] fails for this machine, the text has no clusters.
    ///
    /// # Complexity
    ///
    /// O(devices² + links).
    ///
    /// # Examples
    ///
    /// ```
    /// let dot = mapa_topologies::named("summit")?.to_dot();
    /// assert!(dot.contains("\"GPU0\" -- \"GPU1\" [label=\"NV2 50 GB/s\""));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut dot = Dot {
            text: String::new(),
            clusters: 0,
        };
        dot.line(0, &format!("graph {} {{", quoted(&self.name)));
        dot.line(
            1,
            &format!(
                "graph [label={}, labelloc=t, fontname=\"sans-serif\", style=rounded];",
                quoted(&self.title)
            ),
        );
        dot.line(
            1,
            "node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];",
        );
        dot.line(1, "edge [fontname=\"sans-serif\", fontsize=10];");
        let graph = self.graph().ok();
        let host = graph
            .as_ref()
            .map(|graph| DrawnHost::of(&self.fabric, graph))
            .unwrap_or_default();
        let names = self.device_names(graph.as_ref());
        dot.items(1, &host.items, &names);
        host.cards.iter().for_each(|card| dot.card(1, card));
        host.empty
            .iter()
            .for_each(|name| dot.line(1, &format!("{} [fillcolor=\"#eef2f6\"];", quoted(name))));
        for (_, node) in self.fabric.nodes() {
            match &node.kind {
                NodeKind::LinkSwitch => {
                    let style = "shape=ellipse, style=filled, fillcolor=\"#e3edf6\"";
                    dot.line(1, &format!("{} [{style}];", quoted(&node.name)));
                }
                NodeKind::Device(_) if graph.is_none() => {
                    dot.line(1, &format!("{};", quoted(&node.name)))
                }
                _ => {}
            }
        }
        self.direct_links(&mut dot);
        dot.line(0, "}");
        dot.text
    }

    fn device_names(&self, graph: Option<&HardwareGraph>) -> Vec<String> {
        let wholes = graph
            .into_iter()
            .flat_map(|graph| graph.devices().iter().take(graph.wholes().len()));
        wholes.map(|device| device.name.clone()).collect()
    }

    fn direct_links(&self, dot: &mut Dot) {
        for (a, b, wire) in self.fabric.wires() {
            let FabricWire::Link(link) = wire else {
                continue;
            };
            let LinkClass::Direct(n) = link.class else {
                continue;
            };
            let stroke = STROKES.iter().find(|(most, ..)| n <= *most);
            let (_, width, colour) = stroke.copied().unwrap_or(STROKES[0]);
            let [a, b] = [a, b].map(|id| quoted(&self.fabric.node(id).name));
            let label = quoted(&format!(
                "{} {} GB/s",
                self.labels.print(link.class),
                link.gbps
            ));
            dot.line(
                1,
                &format!("{a} -- {b} [label={label}, penwidth={width}, color=\"{colour}\"];"),
            );
        }
    }
}

struct Dot {
    text: String,
    clusters: usize,
}

impl Dot {
    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "", indent = 2 * depth);
    }

    fn items(&mut self, depth: usize, items: &[Item], names: &[String]) {
        for item in items {
            match item {
                Item::Device(id) => {
                    if let Some(name) = names.get(id.index()) {
                        self.line(depth, &format!("{};", quoted(name)));
                    }
                }
                Item::Box(inner) => self.cluster(depth, inner, names),
            }
        }
    }

    fn cluster(&mut self, depth: usize, host: &HostBox, names: &[String]) {
        self.line(depth, &format!("subgraph cluster_{} {{", self.clusters));
        self.clusters += 1;
        self.line(depth + 1, &format!("label={};", quoted(&host.label())));
        host.cards
            .iter()
            .for_each(|card| self.card(depth + 1, card));
        self.items(depth + 1, &host.items, names);
        self.line(depth, "}");
    }

    fn card(&mut self, depth: usize, name: &str) {
        self.line(
            depth,
            &format!(
                "{} [shape=component, style=filled, fillcolor=\"#f6f0dc\"];",
                quoted(name)
            ),
        );
    }
}

/// A name as a quoted DOT string. A backslash is doubled, because it begins an escape such as `\N`,
/// which stands for the node's name.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
