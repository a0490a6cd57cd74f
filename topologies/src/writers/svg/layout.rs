//! Computes the coordinates of everything in the picture from rows and columns.

use mapa_core::DeviceId;

use super::canvas::{fitted, width};
use super::rows::{Arrangement, CardRow, RowBox};
use super::wires::{DrawnSwitch, DrawnWire, DrawnWires};

/// The intended width of a picture. Pictures with many columns are wider.
const TARGET: f64 = 1200.0;
/// The margin around the picture.
pub(super) const MARGIN: f64 = 24.0;
/// The distance between the edge of a box and its contents.
const PAD: f64 = 8.0;
/// The height of the name of a box.
const NAME: f64 = 20.0;
/// The height of a line of network cards.
const CHIP: f64 = 21.0;
pub(super) const CHIP_SIZE: f64 = 11.0;
pub(super) const NAME_SIZE: f64 = 12.0;
/// The height of the bar of a link switch.
const BAR: f64 = 30.0;
const BAR_GAP: f64 = 12.0;
/// The height reserved for the label of a port.
const PORT: f64 = 30.0;
/// The width of a lane. A lane is for a line that passes whole rows.
const LANE: f64 = 8.0;
const MOST_LANES: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

impl Rect {
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }

    pub(super) fn middle(self) -> (f64, f64) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }
}

/// A box of the host with its coordinates, name and network cards.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    pub(super) rect: Rect,
    pub(super) label: String,
    pub(super) full: String,
    /// The left end of the base line of the name.
    pub(super) text: (f64, f64),
    pub(super) depth: usize,
    pub(super) chips: Vec<Chip>,
}

/// A network card with its coordinates.
#[derive(Clone, Debug)]
pub(super) struct Chip {
    pub(super) rect: Rect,
    pub(super) label: String,
    pub(super) full: String,
}

/// The bar of a link switch in one channel. A switch with ports in several channels has several
/// bars.
#[derive(Clone, Copy, Debug)]
pub(super) struct SwitchBar {
    pub(super) switch: usize,
    pub(super) channel: usize,
    pub(super) rect: Rect,
}

/// The coordinates of everything in the picture.
#[derive(Clone, Debug, Default)]
pub(super) struct PictureLayout {
    pub(super) width: f64,
    /// The y below the machine, at which the legend may begin.
    pub(super) bottom: f64,
    pub(super) cards: Vec<Rect>,
    pub(super) boxes: Vec<Framed>,
    pub(super) bars: Vec<SwitchBar>,
    /// For each switch with several bars, the x of the middle of the trunk that joins them.
    pub(super) trunks: Vec<Option<f64>>,
    /// For each column, the x of the middle of the gap to its right, and how far lanes spread from
    /// it to either side.
    pub(super) gaps: Vec<(f64, f64)>,
}

/// The depth of the control points of an arc that spans this many columns.
pub(super) fn arc_depth(span: usize) -> f64 {
    (24.0 + 17.0 * (span as f64 - 1.0)).min(150.0)
}

/// The channel that a row's own lines use. Channel `n` is the space below row `n`.
pub(super) fn channel_of(row: usize, faces_up: bool) -> usize {
    if faces_up { row.saturating_sub(1) } else { row }
}

/// The input of a layout.
pub(super) struct LayoutInput<'a> {
    pub(super) arrangement: &'a Arrangement,
    pub(super) wires: &'a DrawnWires,
    pub(super) card_height: f64,
    pub(super) longest_name: f64,
    /// The y at which the machine may begin, given the width of the picture.
    pub(super) top: &'a dyn Fn(f64) -> f64,
}

impl LayoutInput<'_> {
    pub(super) fn layout(&self) -> PictureLayout {
        let mut layout = PictureLayout::default();
        let (xs, card_width) = self.columns(&mut layout);
        self.rows(&mut layout, &xs, card_width);
        layout
    }

    fn at(&self, id: DeviceId) -> (usize, usize) {
        self.arrangement.at[id.index()]
    }

    /// The left edges of the columns, and the width of a card.
    fn columns(&self, layout: &mut PictureLayout) -> (Vec<f64>, f64) {
        let columns = self.arrangement.columns();
        let gaps: Vec<f64> = (0..=columns).map(|boundary| self.gap(boundary)).collect();
        let trunks = self
            .wires
            .switches
            .iter()
            .filter(|switch| self.channels_of(switch).len() > 1)
            .count();
        let frames = self.arrangement.frames.len() as f64 * PAD;
        let fixed =
            2.0 * (MARGIN + frames) + gaps.iter().sum::<f64>() + trunks as f64 * (BAR + BAR_GAP);
        let least = (self.longest_name + 14.0).clamp(60.0, 96.0);
        let card = ((TARGET - fixed) / columns.max(1) as f64)
            .clamp(least, 124.0)
            .floor();
        let content = fixed + card * columns as f64;
        layout.width = content.max(800.0);
        let mut x = (layout.width - content) / 2.0 + MARGIN + frames;
        let mut xs = Vec::new();
        for (column, gap) in gaps.iter().enumerate() {
            if column > 0 {
                layout.gaps.push((x + gap / 2.0, gap / 2.0 - 4.0));
            }
            x += gap;
            if column < columns {
                xs.push(x);
                x += card;
            }
        }
        let mut trunk = x + BAR_GAP + BAR / 2.0;
        for switch in &self.wires.switches {
            let several = self.channels_of(switch).len() > 1;
            layout.trunks.push(several.then_some(trunk));
            trunk += if several { BAR + BAR_GAP } else { 0.0 };
        }
        (xs, card)
    }

    /// The width of the gap before a column. The gap holds edges of boxes, links between
    /// neighbours, and lanes.
    fn gap(&self, boundary: usize) -> f64 {
        let columns = self.arrangement.columns();
        let edges = self.arrangement.rows.iter().map(|row| {
            // Each level of nesting adds one padding, so boxes that hold deeper boxes reach further
            // beyond their outermost cards.
            let reach = |touches: &dyn Fn(&RowBox) -> bool| {
                let levels = row
                    .spans
                    .iter()
                    .filter(|span| touches(span))
                    .map(|span| row.levels() - span.depth);
                levels.max().unwrap_or(0)
            };
            reach(&|span| span.last + 1 == boundary) + reach(&|span| span.first == boundary)
        });
        let edges = edges.max().unwrap_or(0) as f64 * PAD;
        let inner = boundary > 0 && boundary < columns;
        let lanes = boundary
            .checked_sub(1)
            .map_or(0, |column| self.lanes(column));
        let joined = inner
            && self.wires.all().any(|wire| {
                let ((row, a), (other, b)) = (self.at(wire.a), self.at(wire.b));
                row == other && a.abs_diff(b) == 1 && a.max(b) == boundary
            });
        let least = if joined { 34.0 } else { 0.0 };
        // Outermost boxes (sockets) are further apart than their contents.
        let apart = |row: &CardRow| {
            row.spans
                .iter()
                .any(|span| span.depth == 0 && span.first == boundary)
        };
        let between = match inner {
            true if self.arrangement.rows.iter().any(apart) => 16.0,
            true => 8.0,
            false => 0.0,
        };
        (edges + between).max(least)
            + if lanes > 0 {
                12.0 + LANE * lanes as f64
            } else {
                0.0
            }
    }

    /// The number of lanes to the right of a column.
    fn lanes(&self, column: usize) -> usize {
        let past = self.wires.all().filter(|wire| {
            let (upper, lower) = ordered(self.at(wire.a), self.at(wire.b));
            lower.0 - upper.0 > 1 && upper.1 == column
        });
        past.count().min(MOST_LANES)
    }

    /// The channels in which a switch has ports.
    fn channels_of(&self, switch: &DrawnSwitch) -> Vec<usize> {
        let mut channels: Vec<usize> = switch.ports.keys().map(|&id| self.channel(id)).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    fn channel(&self, id: DeviceId) -> usize {
        let row = self.at(id).0;
        channel_of(row, self.arrangement.rows[row].faces_up)
    }

    fn rows(&self, layout: &mut PictureLayout, xs: &[f64], card_width: f64) {
        let rows = &self.arrangement.rows;
        layout.cards = vec![Rect::default(); self.arrangement.at.len()];
        let (left, right) = self.sides(layout, xs, card_width);
        let mut y = (self.top)(layout.width);
        let mut frames = Vec::new();
        for (depth, frame) in self.arrangement.frames.iter().enumerate() {
            let pad = PAD * (self.arrangement.frames.len() - depth) as f64;
            let rect = Rect {
                x: left - pad,
                y,
                w: right - left + 2.0 * pad,
                h: 0.0,
            };
            let (framed, header) = framed(&frame.name, &frame.what, &frame.cards, rect, depth, y);
            frames.push(framed);
            y += header;
        }
        let nesting = self.arrangement.frames.len();
        for (r, row) in rows.iter().enumerate() {
            let headers = self.headers(r, xs, card_width);
            let (far, near) = (headers.iter().sum::<f64>(), PAD * headers.len() as f64);
            let card_y = if row.faces_up { y + near } else { y + far };
            for (column, id) in row.devices.iter().enumerate() {
                layout.cards[id.index()] = Rect {
                    x: xs[column],
                    y: card_y,
                    w: card_width,
                    h: self.card_height,
                };
            }
            for span in &row.spans {
                let within = &headers[span.depth..];
                let (far, near) = (within.iter().sum::<f64>(), PAD * within.len() as f64);
                let rect = span_rect(
                    xs,
                    card_width,
                    (span.first, span.last),
                    PAD * within.len() as f64,
                );
                let (above, below) = if row.faces_up {
                    (near, far)
                } else {
                    (far, near)
                };
                let rect = Rect {
                    y: card_y - above,
                    h: above + self.card_height + below,
                    ..rect
                };
                let text_y = if row.faces_up {
                    rect.bottom() - within[0]
                } else {
                    rect.y
                };
                layout.boxes.push(
                    framed(
                        &span.name,
                        &span.what,
                        &span.cards,
                        rect,
                        nesting + span.depth,
                        text_y,
                    )
                    .0,
                );
            }
            y += far + self.card_height + near;
            let height = self.channel_height(r, near);
            self.bars(layout, r, y, (left, right));
            y += height;
        }
        for (depth, mut frame) in frames.into_iter().enumerate().rev() {
            y += PAD;
            frame.rect.h = y - frame.rect.y;
            layout.boxes.insert(0, Framed { depth, ..frame });
        }
        layout.bottom = y;
    }

    /// The left and right ends of the area that the frames enclose.
    fn sides(&self, layout: &PictureLayout, xs: &[f64], card_width: f64) -> (f64, f64) {
        let first = xs.first().copied().unwrap_or(MARGIN) - self.gap(0);
        let last = xs.last().copied().unwrap_or(MARGIN)
            + card_width
            + self.gap(self.arrangement.columns());
        let trunk = layout
            .trunks
            .iter()
            .flatten()
            .copied()
            .fold(f64::MIN, f64::max)
            + BAR / 2.0
            + BAR_GAP / 2.0;
        (first, last.max(trunk))
    }

    /// The heights of the names and network cards of a row's boxes, by nesting level.
    fn headers(&self, row: usize, xs: &[f64], card_width: f64) -> Vec<f64> {
        let row = &self.arrangement.rows[row];
        let levels = row.levels();
        let header = |depth: usize| {
            let spans = row.spans.iter().filter(|span| span.depth == depth);
            let lines = spans.map(|span| {
                let rect = span_rect(
                    xs,
                    card_width,
                    (span.first, span.last),
                    PAD * (levels - depth) as f64,
                );
                chips(&span.cards, rect)
                    .last()
                    .map_or(0.0, |chip| chip.rect.y + CHIP)
            });
            NAME + lines.fold(0.0, f64::max)
        };
        (0..levels).map(header).collect()
    }

    /// The height of the channel below a row.
    fn channel_height(&self, row: usize, near: f64) -> f64 {
        let rows = &self.arrangement.rows;
        let is_last = row + 1 == rows.len();
        let faces_here = |r: usize| channel_of(r, rows[r].faces_up) == row;
        let arcs = |r: usize| {
            if r < rows.len() && faces_here(r) {
                self.arcs(r, near)
            } else {
                0.0
            }
        };
        let below = arcs(row + 1);
        let bars = self
            .lanes_of_bars(row)
            .iter()
            .map(|(_, lane)| lane + 1)
            .max()
            .unwrap_or(0) as f64;
        let bars = if bars > 0.0 {
            bars * (BAR + BAR_GAP) - BAR_GAP
        } else {
            0.0
        };
        let ports = |r: usize| {
            if r < rows.len() && faces_here(r) && self.has_ports(r) {
                PORT
            } else {
                0.0
            }
        };
        let crossing = self.crossing(row);
        let own = arcs(row) + below + bars + ports(row) + ports(row + 1);
        match (crossing, is_last) {
            (0, true) => own,
            (0, false) => own.max(18.0),
            // More crossing lines need more height, so that they run steeper.
            (lines, _) => own.max(12.0) + room_to_cross(lines),
        }
    }

    /// The number of lines that cross a channel: those to the next row, and those that end in the
    /// next row after passing other rows. Lines that pass the channel in a lane do not count.
    fn crossing(&self, channel: usize) -> usize {
        let crosses = |wire: &&DrawnWire| {
            let (upper, lower) = ordered(self.at(wire.a), self.at(wire.b));
            lower.0 == channel + 1
                && upper.0 <= channel
                && (upper.0 == channel || upper.1 != lower.1)
        };
        self.wires.all().filter(crosses).count()
    }

    fn has_ports(&self, row: usize) -> bool {
        self.wires
            .switches
            .iter()
            .flat_map(|switch| switch.ports.keys())
            .any(|&id| self.at(id).0 == row)
    }

    /// The height that the arcs of a row need beyond the edges of its boxes.
    fn arcs(&self, row: usize, near: f64) -> f64 {
        let spans = self.wires.all().filter_map(|wire| {
            let ((a, i), (b, j)) = (self.at(wire.a), self.at(wire.b));
            (a == row && b == row && i.abs_diff(j) > 1).then(|| i.abs_diff(j))
        });
        spans
            .max()
            .map_or(0.0, |span| (arc_depth(span) * 0.75 - near).max(0.0) + 12.0)
    }

    /// The switches with ports in a channel, each with the lane of its bar. Switches of the upper
    /// row alone come first, and those of the lower row alone last. Switches that share no column
    /// share a lane.
    fn lanes_of_bars(&self, channel: usize) -> Vec<(usize, usize)> {
        let mut here: Vec<(usize, usize, (usize, usize))> = Vec::new();
        for (i, switch) in self.wires.switches.iter().enumerate() {
            let inside = || {
                switch
                    .ports
                    .keys()
                    .filter(|&&id| self.channel(id) == channel)
                    .map(|&id| self.at(id))
            };
            let (Some(first), Some(last)) =
                (inside().map(|at| at.1).min(), inside().map(|at| at.1).max())
            else {
                continue;
            };
            let upper = inside().any(|at| at.0 == channel);
            let lower = inside().any(|at| at.0 != channel);
            let last = if self.channels_of(switch).len() > 1 {
                usize::MAX
            } else {
                last
            };
            here.push((
                if upper && lower {
                    1
                } else {
                    2 * usize::from(lower)
                },
                i,
                (first, last),
            ));
        }
        here.sort_unstable();
        let mut lanes: Vec<Vec<(usize, (usize, usize))>> = Vec::new();
        let mut placed = Vec::new();
        for (order, i, (first, last)) in here {
            let free = |lane: &Vec<(usize, (usize, usize))>| {
                lane.iter()
                    .all(|(o, (f, l))| *o == order && (*l < first || last < *f))
            };
            let lane = lanes.iter().position(free).unwrap_or(lanes.len());
            if lane == lanes.len() {
                lanes.push(Vec::new());
            }
            lanes[lane].push((order, (first, last)));
            placed.push((i, lane));
        }
        placed
    }

    fn bars(
        &self,
        layout: &mut PictureLayout,
        channel: usize,
        top: f64,
        (left, right): (f64, f64),
    ) {
        let rows = &self.arrangement.rows;
        let near = PAD * rows[channel].levels() as f64;
        let own = if channel_of(channel, rows[channel].faces_up) == channel {
            self.arcs(channel, near)
        } else {
            0.0
        };
        let y = top
            + own
            + if self.has_ports(channel) && !rows[channel].faces_up {
                PORT
            } else {
                0.0
            };
        // Half the height reserved for lines from row to row is above the bars.
        let crossing = self.crossing(channel);
        let y = y + if crossing > 0 {
            room_to_cross(crossing) / 2.0
        } else {
            0.0
        };
        for (switch, lane) in self.lanes_of_bars(channel) {
            let ports = self.wires.switches[switch]
                .ports
                .keys()
                .filter(|&&id| self.channel(id) == channel);
            let cards: Vec<Rect> = ports
                .map(|id| self.arrangement.at[id.index()].1)
                .map(|column| column_rect(layout, column, self))
                .collect();
            let from = cards
                .iter()
                .map(|card| card.x)
                .fold(right, f64::min)
                .max(left);
            let to = cards.iter().map(|card| card.right()).fold(left, f64::max);
            let to = layout.trunks[switch].map_or(to, |trunk| trunk + BAR / 2.0);
            let rect = Rect {
                x: from,
                y: y + lane as f64 * (BAR + BAR_GAP),
                w: to - from,
                h: BAR,
            };
            layout.bars.push(SwitchBar {
                switch,
                channel,
                rect,
            });
        }
    }
}

/// The rectangle of some card in this column. Every row has its cards at the same x.
fn column_rect(layout: &PictureLayout, column: usize, plan: &LayoutInput<'_>) -> Rect {
    let rows = plan.arrangement.rows.iter();
    let id = rows
        .filter_map(|row| row.devices.get(column))
        .find(|id| layout.cards[id.index()].w > 0.0);
    id.map_or(Rect::default(), |id| layout.cards[id.index()])
}

/// The extra height that this many lines from row to row need in a channel.
fn room_to_cross(lines: usize) -> f64 {
    34.0 + 7.0 * lines.min(16) as f64
}

/// Orders two (row, column) places: the upper one first.
pub(super) fn ordered<T: Ord>(a: T, b: T) -> (T, T) {
    if a <= b { (a, b) } else { (b, a) }
}

fn span_rect(xs: &[f64], card_width: f64, (first, last): (usize, usize), pad: f64) -> Rect {
    let (from, to) = (
        xs.get(first).copied().unwrap_or(0.0),
        xs.get(last).copied().unwrap_or(0.0),
    );
    Rect {
        x: from - pad,
        y: 0.0,
        w: to + card_width - from + 2.0 * pad,
        h: 0.0,
    }
}

/// Places the name and the network cards of a box. Returns the box, and the height of name and
/// cards.
fn framed(
    name: &str,
    what: &str,
    cards: &[String],
    rect: Rect,
    depth: usize,
    y: f64,
) -> (Framed, f64) {
    let full = if what.is_empty() || what == name {
        name.to_owned()
    } else {
        format!("{name} · {what}")
    };
    let room = rect.w - 12.0;
    let label = if width(&full, NAME_SIZE) <= room {
        full.clone()
    } else {
        fitted(name, NAME_SIZE, room)
    };
    let mut chips = chips(cards, rect);
    for chip in &mut chips {
        chip.rect.y += y + NAME;
    }
    let header = NAME
        + chips
            .last()
            .map_or(0.0, |chip| chip.rect.y - y - NAME + CHIP);
    let text = (rect.x + 7.0, y + 14.0);
    (
        Framed {
            rect,
            label,
            full,
            text,
            depth,
            chips,
        },
        header,
    )
}

/// Places network cards in lines within a box, with y counted from 0.
pub(super) fn chips(cards: &[String], rect: Rect) -> Vec<Chip> {
    let room = rect.w - 14.0;
    let (mut x, mut y) = (0.0, 0.0);
    let mut chips = Vec::new();
    for card in cards {
        let label = fitted(card, CHIP_SIZE, room - 10.0);
        let w = (width(&label, CHIP_SIZE) + 10.0).min(room);
        if x > 0.0 && x + w > room {
            (x, y) = (0.0, y + CHIP);
        }
        let rect = Rect {
            x: rect.x + 7.0 + x,
            y,
            w,
            h: CHIP - 4.0,
        };
        chips.push(Chip {
            rect,
            label,
            full: card.clone(),
        });
        x += w + 5.0;
    }
    chips
}
