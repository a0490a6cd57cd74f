//! An application graph in the language of Graphviz.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::application::Application;
use crate::unit::Unit;

/// The width of the busiest edge, and the smallest width of any edge, in points.
const WIDTHS: (f64, f64) = (6.0, 0.75);

/// The most edges for which each is labelled with its traffic. More labels would overlap; then the
/// traffic is a tooltip, which SVG shows under the pointer.
const LABELLED: usize = 24;

/// The most parallel lines drawn for one pair of ranks.
const STRANDS: usize = 4;

/// The most ranks that are always drawn on a circle.
const FEW: usize = 6;

impl Application {
    /// The application graph for Graphviz, which `dot -T svg` draws.
    ///
    /// Ranks are nodes. The width of an edge grows with the square root of its traffic, so that
    /// edges with little traffic stay visible. If the traffic has a unit, each edge is labelled
    /// with it, or the title states it if all edges carry the same. Equal edges between the same
    /// two ranks are drawn as parallel lines with one label, such as `2 x 1.0 GB`.
    ///
    /// The layout is that of springs (`neato`), which draws a ring as a circle and joined rings
    /// side by side. Graphs of up to 6 ranks, and graphs in which more than half of all pairs
    /// communicate, are drawn on a circle (`circo`).
    ///
    /// # Complexity
    /// O(n + e log e) for n ranks and e edges.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::Pattern;
    /// use mapa_patterns::Application;
    ///
    /// let dot = Application::new("ring", "an example", Pattern::ring(3)).to_dot();
    /// assert!(dot.contains("0 -- 1"));
    /// ```
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let mut line = |line: &str| writeln!(text, "{line}").unwrap_or_default();
        line(&format!("graph {} {{", quoted(&self.name)));
        let edges = self.pattern.edges();
        let is_one = edges
            .windows(2)
            .all(|pair| pair.first().map(|e| e.traffic) == pair.last().map(|e| e.traffic));
        let one = edges
            .first()
            .filter(|_| is_one)
            .and_then(|edge| self.unit.print(edge.traffic));
        let counted = match (one, self.unit) {
            (Some(one), _) => format!("\nevery edge: {one}"),
            (None, Unit::BytesPerStep) if !edges.is_empty() => "\nedges: bytes a step".to_owned(),
            _ => String::new(),
        };
        let title = format!(
            "{}\n{} ranks, {}{counted}",
            self.name,
            self.pattern.len(),
            self.source
        );
        line(&format!(
            "  graph [label={}, labelloc=t, fontname=\"sans-serif\"];",
            quoted(&title)
        ));
        line(&format!("  graph [layout={}];", self.layout()));
        let shape = if self.labels.is_empty() {
            "circle"
        } else {
            "ellipse"
        };
        line(&format!(
            "  node [shape={shape}, style=filled, fillcolor=\"#e3edf6\", fontname=\"sans-serif\"];"
        ));
        line("  edge [fontname=\"sans-serif\", fontsize=10, color=\"#0072b2\", len=2];");
        let ranks = if self.pattern.edges().is_empty() {
            self.pattern.demands().len()
        } else {
            self.pattern.len()
        };
        for rank in 0..ranks {
            let label = self
                .labels
                .get(rank)
                .map(|label| format!("{rank}\n{label}"));
            line(&format!(
                "  {rank}{};",
                label
                    .map(|label| format!(" [label={}]", quoted(&label)))
                    .unwrap_or_default()
            ));
        }
        let busiest = edges.iter().map(|edge| edge.traffic).fold(0.0, f64::max);
        for (a, b, traffic, count) in self.strands() {
            let width = (WIDTHS.0 * (traffic / busiest).sqrt()).max(WIDTHS.1);
            let color = ["#0072b2"].repeat(count.min(STRANDS)).join(":white:");
            let color = if count > 1 {
                format!(", color=\"{color}\"")
            } else {
                String::new()
            };
            let label = self
                .strand_label(traffic, count)
                .filter(|_| !is_one || count > 1);
            let label = label.map(|text| match edges.len() > LABELLED {
                true => format!(", edgetooltip={}", quoted(&text)),
                // A white background keeps the label legible where it covers a line.
                false => {
                    format!(", label=<<table border=\"0\" cellpadding=\"1\" bgcolor=\"white\"><tr><td>{text}</td></tr></table>>")
                }
            });
            line(&format!(
                "  {a} -- {b} [penwidth={width:.2}{color}{}];",
                label.unwrap_or_default()
            ));
        }
        line("}");
        text
    }

    /// The edges: both ranks, the traffic, and how many edges between these ranks carry this
    /// traffic.
    fn strands(&self) -> Vec<(u16, u16, f64, usize)> {
        let mut places = BTreeMap::new();
        let mut strands: Vec<(u16, u16, f64, usize)> = Vec::new();
        for edge in self.pattern.edges() {
            let place = *places
                .entry((edge.a, edge.b, edge.traffic.to_bits()))
                .or_insert(strands.len());
            match strands.get_mut(place) {
                Some((.., count)) => *count += 1,
                None => strands.push((edge.a, edge.b, edge.traffic, 1)),
            }
        }
        strands
    }

    /// The label of equal edges, such as `2 x 1.0 GB`. The title says that bytes are per step.
    fn strand_label(&self, traffic: f64, count: usize) -> Option<String> {
        let unit = if self.unit == Unit::BytesPerStep {
            Unit::Bytes
        } else {
            self.unit
        };
        unit.print(traffic).map(|text| {
            if count > 1 {
                format!("{count} x {text}")
            } else {
                text
            }
        })
    }

    /// The layout that suits the graph. Springs draw rings of four with crossing edges. If many
    /// ranks all communicate, springs push one into the middle, as if it were special.
    fn layout(&self) -> &'static str {
        let talk: BTreeSet<_> = self
            .pattern
            .edges()
            .iter()
            .map(|edge| (edge.a, edge.b))
            .collect();
        let pairs = self
            .pattern
            .len()
            .saturating_mul(self.pattern.len().saturating_sub(1))
            / 2;
        if self.pattern.len() <= FEW || talk.len() > pairs / 2 {
            "circo, mindist=1.2, splines=line"
        } else {
            "neato, overlap=false, splines=line"
        }
    }
}

/// A text as a string of Graphviz. A plain backslash would begin an escape such as `\N`, the node's
/// name.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use mapa_core::{Pattern, Shape};

    use super::*;

    #[test]
    fn the_layout_follows_from_how_many_pairs_talk_and_labels_from_how_many_edges() {
        let drawn = |shape: Shape, ranks| {
            let mut pattern: Vec<_> = shape
                .pattern(ranks)
                .edges()
                .iter()
                .map(|e| (e.a, e.b, e.traffic))
                .collect();
            pattern[0].2 = 2.0;
            let pattern = Pattern::from_edges(ranks, pattern).unwrap();
            Application {
                unit: Unit::Channels,
                ..Application::new("a", "", pattern)
            }
            .to_dot()
        };
        assert!(
            drawn(Shape::Ring, 8).contains("layout=neato")
                && drawn(Shape::AllToAll, 8).contains("layout=circo")
        );
        assert!(
            drawn(Shape::Ring, 4).contains("layout=circo")
                && drawn(Shape::Ring, 24).contains("<td>1 channel</td>")
        );
        let many = drawn(Shape::Ring, 25);
        assert!(!many.contains(", label=") && many.contains("edgetooltip=\"1 channel\""));
    }

    #[test]
    fn what_all_edges_carry_is_said_once_and_edges_alike_are_strands() {
        let of = |edges: &[(u16, u16, f64)]| {
            let pattern = Pattern::from_edges(3, edges.iter().copied()).unwrap();
            Application {
                unit: Unit::BytesPerStep,
                ..Application::new("a", "", pattern)
            }
            .to_dot()
        };
        let even = of(&[(0, 1, 1e9), (1, 2, 1e9)]);
        assert!(
            even.contains("every edge: 1.0 GB a step") && !even.contains("<td>"),
            "{even}"
        );
        let twice = of(&[(0, 1, 1e9), (1, 2, 2e9), (0, 1, 1e9)]);
        assert!(
            twice.contains("edges: bytes a step") && twice.matches("0 -- 1").count() == 1,
            "{twice}"
        );
        assert!(
            twice.contains("<td>2 x 1.0 GB</td>") && twice.contains("#0072b2:white:#0072b2"),
            "{twice}"
        );
    }

    #[test]
    fn texts_cannot_leave_their_quotes() {
        assert_eq!(quoted("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd e\"");
    }
}
