//! The legend: explains the lines and fills that occur in the picture, and no others.

use mapa_core::{Link, LinkClass};

use super::canvas::{Canvas, Path, gbps, line, number, text, width};
use super::cards::{CardState, shape};
use super::layout::{MARGIN, Rect};
use super::style::{ACCENT, BUSY, BUSY_EDGE, CARD, CARD_EDGE, INK, SOFT, stroke};
use crate::machine::Labels;

const SIZE: f64 = 13.0;
const SWATCH: f64 = 34.0;
const LINE: f64 = 24.0;

/// What the legend explains.
pub(super) struct Legend<'a> {
    pub(super) kinds: &'a [Link],
    pub(super) labels: &'a Labels,
    /// The states to explain. `None` if the picture has no job and nothing in use: then all devices
    /// look alike.
    pub(super) states: Option<Vec<CardState>>,
    /// Whether the picture has lines in the job's colour.
    pub(super) used: bool,
}

enum LegendEntry {
    Kind(Link),
    Used,
    State(CardState),
}

impl Legend<'_> {
    /// Draws the legend in lines from `y` on. Returns the y of its last line.
    pub(super) fn draw(&self, canvas: &mut Canvas, room: f64, y: f64) -> f64 {
        let mut entries: Vec<LegendEntry> =
            self.kinds.iter().copied().map(LegendEntry::Kind).collect();
        entries.extend(self.used.then_some(LegendEntry::Used));
        entries.extend(
            self.states
                .iter()
                .flatten()
                .copied()
                .map(LegendEntry::State),
        );
        canvas.open("g", &[("class", "legend".to_owned())]);
        let (mut x, mut y) = (MARGIN, y);
        for entry in &entries {
            let label = self.label(entry);
            let wide = SWATCH + 8.0 + width(&label, SIZE) + 22.0;
            if x > MARGIN && x + wide > room - MARGIN + 22.0 {
                (x, y) = (MARGIN, y + LINE);
            }
            let attributes = match entry {
                LegendEntry::Kind(link) => vec![
                    ("class", "link".to_owned()),
                    ("data-class", self.labels.print(link.class)),
                    ("data-gbps", gbps(link.gbps)),
                ],
                LegendEntry::Used => vec![("class", "used".to_owned())],
                LegendEntry::State(state) => vec![("class", state.word().to_owned())],
            };
            canvas.open("g", &attributes);
            self.swatch(canvas, entry, (x, y));
            text(canvas, (x + SWATCH + 8.0, y + 4.5), SIZE, INK, &[], &label);
            canvas.close();
            x += wide;
        }
        canvas.close();
        if entries.is_empty() { y - LINE } else { y }
    }

    fn label(&self, entry: &LegendEntry) -> String {
        match entry {
            LegendEntry::Kind(link) => {
                let class = self.labels.print(link.class);
                format!("{class}: {} GB/s{}", gbps(link.gbps), meaning(link.class))
            }
            LegendEntry::Used => "used by the job".to_owned(),
            LegendEntry::State(CardState::Chosen) => "the job's, by rank".to_owned(),
            LegendEntry::State(CardState::Busy) => "in use".to_owned(),
            LegendEntry::State(CardState::Free) => "free".to_owned(),
        }
    }

    fn swatch(&self, canvas: &mut Canvas, entry: &LegendEntry, (x, y): (f64, f64)) {
        let path = Path::start(x, y).line(x + SWATCH, y);
        match entry {
            LegendEntry::Kind(link) => {
                let stroke = stroke(*link, self.kinds);
                line(
                    canvas,
                    &path,
                    stroke.colour,
                    &stroke.width(),
                    stroke.dash,
                    &[],
                );
            }
            LegendEntry::Used => line(canvas, &path, ACCENT, &number(6.0), None, &[]),
            LegendEntry::State(state) => {
                let (fill, edge) = match state {
                    CardState::Chosen => (INK, INK),
                    CardState::Busy => (BUSY, BUSY_EDGE),
                    CardState::Free => (CARD, CARD_EDGE),
                };
                let mut card = shape(
                    Rect {
                        x: x + 8.0,
                        y: y - 8.0,
                        w: SWATCH - 8.0,
                        h: 16.0,
                    },
                    3.0,
                    fill,
                );
                card.push(("stroke", edge.to_owned()));
                canvas.add("rect", &card);
            }
        }
    }
}

/// The explanation of a link class, empty if the class's word is clear by itself.
fn meaning(class: LinkClass) -> &'static str {
    match class {
        LinkClass::Network => ", network",
        LinkClass::Sys => ", host path between sockets",
        LinkClass::Node => ", host path between bridges",
        LinkClass::Phb => ", host path over one bridge",
        LinkClass::Pxb => ", host path over switches",
        LinkClass::Pix => ", host path over one switch",
        LinkClass::Board => ", host path on one board",
        _ => "",
    }
}

/// Draws lines of small print. Returns the y below them.
pub(super) fn small_print(canvas: &mut Canvas, lines: &[String], mut y: f64) -> f64 {
    for line in lines {
        text(canvas, (MARGIN, y), 11.0, SOFT, &[], line);
        y += 15.0;
    }
    y
}
