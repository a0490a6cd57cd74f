//! Routes lines between cards. No line passes behind a card: lines leave cards at their edges, and
//! run in channels between rows or in gaps between columns.

use std::collections::BTreeMap;

use mapa_core::DeviceId;

use super::canvas::Path;
use super::layout::{PictureLayout, arc_depth, channel_of, ordered};
use super::rows::Arrangement;
use super::wires::{DrawnWire, DrawnWires};

/// The edge of a card at which a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Top,
    Bottom,
}

/// The line or port that ends at a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CardEnd {
    /// A line, by its two devices.
    Wire(DeviceId, DeviceId),
    /// The port at a switch, by the switch's index.
    Port(usize),
}

/// Where on the edge of a card a line ends: -1 for the left part, 0 for the middle, 1 for the
/// right, and the order within that part.
type EdgePlace = (i8, isize);

/// The kind of route of a line.
enum RouteKind {
    /// Straight to the next card of the row.
    Beside,
    /// In an arc to a farther card of the row.
    Arc { span: usize },
    /// Straight to a card of the next row.
    Across,
    /// To a row beyond the next, through the gap to the right of this column.
    Past { column: usize },
}

/// The routes of all lines of a picture.
pub(super) struct Routes<'a> {
    arrangement: &'a Arrangement,
    layout: &'a PictureLayout,
    /// The x of each end, by device and side.
    ends: BTreeMap<(DeviceId, Side, CardEnd), f64>,
    /// The x of the lane of each line that passes rows.
    lanes: BTreeMap<(DeviceId, DeviceId), f64>,
}

/// The port of a device at a switch: from its card to the switch's bar.
pub(super) struct Stub {
    pub(super) x: f64,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) channel: usize,
}

impl<'a> Routes<'a> {
    pub(super) fn of(
        arrangement: &'a Arrangement,
        layout: &'a PictureLayout,
        wires: &DrawnWires,
    ) -> Self {
        let mut routes = Self {
            arrangement,
            layout,
            ends: BTreeMap::new(),
            lanes: BTreeMap::new(),
        };
        routes.spread(wires);
        routes.assign_lanes(wires);
        routes
    }

    fn at(&self, id: DeviceId) -> (usize, usize) {
        self.arrangement.at[id.index()]
    }

    fn near(&self, id: DeviceId) -> Side {
        if self.arrangement.rows[self.at(id).0].faces_up {
            Side::Top
        } else {
            Side::Bottom
        }
    }

    fn way(&self, a: DeviceId, b: DeviceId) -> RouteKind {
        let ((row, i), (other, j)) = ordered(self.at(a), self.at(b));
        match (other - row, i.abs_diff(j)) {
            (0, 1) => RouteKind::Beside,
            (0, span) => RouteKind::Arc { span },
            (1, _) => RouteKind::Across,
            _ => RouteKind::Past { column: i },
        }
    }

    /// Sets the place of every end of a line at the edge of its card, so that neighbouring lines
    /// rarely cross.
    fn spread(&mut self, wires: &DrawnWires) {
        let mut ends: BTreeMap<(DeviceId, Side), Vec<(EdgePlace, CardEnd)>> = BTreeMap::new();
        for wire in wires.all() {
            let end = CardEnd::Wire(wire.a, wire.b);
            for (device, other) in [(wire.a, wire.b), (wire.b, wire.a)] {
                let ((row, i), (other_row, j)) = (self.at(device), self.at(other));
                let lower = row > other_row;
                let (side, place) = match self.way(device, other) {
                    RouteKind::Beside => continue,
                    // Longer arcs end nearer to the middle of the card, so that arcs of one card do
                    // not cross.
                    RouteKind::Arc { span } if j < i => (self.near(device), (-1, span as isize)),
                    RouteKind::Arc { span } => (self.near(device), (1, -(span as isize))),
                    RouteKind::Across => (
                        if lower { Side::Top } else { Side::Bottom },
                        (0, j as isize),
                    ),
                    RouteKind::Past { .. } if lower && i != j => (Side::Top, (0, j as isize + 1)),
                    RouteKind::Past { .. } => continue,
                };
                ends.entry((device, side)).or_default().push((place, end));
            }
        }
        for (s, switch) in wires.switches.iter().enumerate() {
            for &id in switch.ports.keys() {
                ends.entry((id, self.near(id)))
                    .or_default()
                    .push(((0, self.at(id).1 as isize), CardEnd::Port(s)));
            }
        }
        for ((id, side), mut list) in ends {
            list.sort_unstable();
            let arcs = list.iter().any(|((group, _), _)| *group != 0);
            for group in [-1, 0, 1] {
                let here: Vec<&(EdgePlace, CardEnd)> =
                    list.iter().filter(|((g, _), _)| *g == group).collect();
                let (from, to) = match group {
                    -1 => (0.05, 0.3),
                    1 => (0.7, 0.95),
                    _ if arcs => (0.32, 0.68),
                    _ => (0.15, 0.85),
                };
                let card = self.layout.cards[id.index()];
                for (i, (_, end)) in here.iter().enumerate() {
                    let part = (i as f64 + 0.5) / here.len() as f64;
                    self.ends.insert(
                        (id, side, *end),
                        card.x + card.w * (from + (to - from) * part),
                    );
                }
            }
        }
    }

    fn assign_lanes(&mut self, wires: &DrawnWires) {
        let mut by_column: BTreeMap<usize, Vec<(DeviceId, DeviceId)>> = BTreeMap::new();
        for wire in wires.all() {
            if let RouteKind::Past { column } = self.way(wire.a, wire.b) {
                by_column.entry(column).or_default().push((wire.a, wire.b));
            }
        }
        for (column, pairs) in by_column {
            let (middle, reach) = self.layout.gaps[column];
            let lanes = pairs.len().min(6);
            for (i, pair) in pairs.into_iter().enumerate() {
                let part = ((i % lanes) as f64 + 0.5) / lanes as f64;
                self.lanes.insert(pair, middle + reach * (2.0 * part - 1.0));
            }
        }
    }

    fn x(&self, id: DeviceId, side: Side, end: CardEnd) -> f64 {
        let middle = self.layout.cards[id.index()].middle().0;
        self.ends.get(&(id, side, end)).copied().unwrap_or(middle)
    }

    /// The route of a line.
    pub(super) fn wire(&self, wire: &DrawnWire) -> Path {
        let (a, b) = if self.at(wire.a) <= self.at(wire.b) {
            (wire.a, wire.b)
        } else {
            (wire.b, wire.a)
        };
        let end = CardEnd::Wire(wire.a, wire.b);
        let (from, to) = (self.layout.cards[a.index()], self.layout.cards[b.index()]);
        match self.way(a, b) {
            RouteKind::Beside => {
                Path::start(from.right(), from.middle().1).line(to.x, to.middle().1)
            }
            RouteKind::Arc { span } => {
                let side = self.near(a);
                let (x1, x2) = (self.x(a, side, end), self.x(b, side, end));
                let (y, down) = if side == Side::Top {
                    (from.y, -1.0)
                } else {
                    (from.bottom(), 1.0)
                };
                let depth = y + down * arc_depth(span);
                Path::start(x1, y).curve([x1, depth], [x2, depth], [x2, y])
            }
            RouteKind::Across => {
                let (x1, x2) = (self.x(a, Side::Bottom, end), self.x(b, Side::Top, end));
                Path::start(x1, from.bottom()).line(x2, to.y)
            }
            RouteKind::Past { .. } => self.past(a, b, end),
        }
    }

    /// The route of a line that passes rows. It leaves the upper card at the right and goes down
    /// between the columns. It enters the lower card at the right if that card is in the same
    /// column, and from above otherwise.
    fn past(&self, a: DeviceId, b: DeviceId, end: CardEnd) -> Path {
        let (from, to) = (self.layout.cards[a.index()], self.layout.cards[b.index()]);
        let pair = (a.min(b), a.max(b));
        let x = self.lanes.get(&pair).copied().unwrap_or(from.right() + 4.0);
        let radius = (x - from.right()).clamp(1.0, 10.0);
        // The ends are at a quarter and at three quarters of the height: the middle is for links to
        // the next card.
        let y = from.y + from.h * 0.75;
        let path = Path::start(from.right(), y)
            .line(x - radius, y)
            .turn(x, y, x, y + radius);
        if self.at(a).1 == self.at(b).1 {
            let y = to.y + to.h * 0.25;
            return path
                .line(x, y - radius)
                .turn(x, y, x - radius, y)
                .line(to.right(), y);
        }
        let above = self.layout.cards[self.arrangement.rows[self.at(b).0 - 1].devices[0].index()];
        path.line(x, above.bottom() + 6.0)
            .line(self.x(b, Side::Top, end), to.y)
    }

    /// The port of a device at a switch.
    pub(super) fn stub(&self, id: DeviceId, switch: usize) -> Option<Stub> {
        let side = self.near(id);
        let row = self.at(id).0;
        let channel = channel_of(row, side == Side::Top);
        let bar = self
            .layout
            .bars
            .iter()
            .find(|bar| bar.switch == switch && bar.channel == channel)?;
        let card = self.layout.cards[id.index()];
        let (from, to) = match side {
            Side::Top => (card.y, bar.rect.bottom()),
            Side::Bottom => (card.bottom(), bar.rect.y),
        };
        Some(Stub {
            x: self.x(id, side, CardEnd::Port(switch)),
            from,
            to,
            channel,
        })
    }

    /// The route between two devices through a switch.
    pub(super) fn through(&self, a: DeviceId, b: DeviceId, switch: usize) -> Option<Path> {
        let (a, b) = (self.stub(a, switch)?, self.stub(b, switch)?);
        let inside = |channel| {
            let bar = self
                .layout
                .bars
                .iter()
                .find(|bar| bar.switch == switch && bar.channel == channel)?;
            Some(bar.rect.bottom() - 7.0)
        };
        let (y1, y2) = (inside(a.channel)?, inside(b.channel)?);
        let path = Path::start(a.x, a.from).line(a.x, y1);
        let path = match self.layout.trunks.get(switch).copied().flatten() {
            Some(trunk) if a.channel != b.channel => path.line(trunk, y1).line(trunk, y2),
            _ => path,
        };
        Some(path.line(b.x, y2).line(b.x, b.from))
    }
}
