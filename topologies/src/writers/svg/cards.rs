//! Devices as cards: their names, their states (chosen, in use, free), and their MIG instances.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, HardwareGraph};

use super::canvas::{Canvas, fitted, number, text, width};
use super::layout::Rect;
use super::picture::Picture;
use super::style::{ACCENT, BUSY, BUSY_EDGE, BUSY_INK, CARD, CARD_EDGE, INK, PAPER, SOFT};

const NAME_SIZE: f64 = 14.0;
const SMALL: f64 = 11.0;
const PLAIN_HEIGHT: f64 = 48.0;
const SLOT: f64 = 15.0;
const SLOTS_FROM: f64 = 27.0;

/// The state of a device or instance in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CardState {
    Chosen,
    Busy,
    Free,
}

impl CardState {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Busy => "busy",
            Self::Free => "free",
        }
    }
}

/// The devices of a picture, with the ranks placed on them.
pub(super) struct Cards<'a> {
    graph: &'a HardwareGraph,
    picture: &'a Picture,
    ranks: BTreeMap<DeviceId, Vec<usize>>,
}

impl<'a> Cards<'a> {
    pub(super) fn new(graph: &'a HardwareGraph, picture: &'a Picture) -> Self {
        let mut ranks: BTreeMap<DeviceId, Vec<usize>> = BTreeMap::new();
        for (rank, &id) in picture.placement.iter().enumerate() {
            ranks.entry(id).or_default().push(rank);
        }
        Self {
            graph,
            picture,
            ranks,
        }
    }

    pub(super) fn state(&self, id: DeviceId) -> CardState {
        if self.ranks.contains_key(&id) {
            CardState::Chosen
        } else if self.picture.busy.contains(id) {
            CardState::Busy
        } else {
            CardState::Free
        }
    }

    /// The states that occur. A device that is drawn with instances counts as its instances.
    pub(super) fn states(&self) -> Vec<CardState> {
        let shown = |id: DeviceId| {
            let instances = self.instances(id);
            if instances.is_empty() {
                vec![id]
            } else {
                instances
            }
        };
        let mut states: Vec<CardState> = self
            .graph
            .wholes()
            .iter()
            .flat_map(shown)
            .map(|id| self.state(id))
            .collect();
        states.sort_unstable();
        states.dedup();
        states
    }

    /// The instances of a device that are drawn.
    fn instances(&self, whole: DeviceId) -> Vec<DeviceId> {
        let shown = |id: &DeviceId| {
            self.graph.device(*id).unit.instance().is_some()
                && (self.state(*id) != CardState::Free || self.picture.present.contains(*id))
        };
        self.graph.vertices(whole).iter().filter(shown).collect()
    }

    /// The height of every card.
    pub(super) fn height(&self) -> f64 {
        let slots = |id: DeviceId| {
            let model = self
                .graph
                .model(id)
                .filter(|_| !self.instances(id).is_empty())?;
            Some(SLOTS_FROM + SLOT * f64::from(model.size().memory) + 6.0)
        };
        self.graph
            .wholes()
            .iter()
            .filter_map(slots)
            .fold(PLAIN_HEIGHT, f64::max)
    }

    /// The width of the longest name.
    pub(super) fn longest_name(&self) -> f64 {
        let names = self.graph.wholes();
        names
            .iter()
            .map(|id| width(&self.graph.device(id).name, NAME_SIZE))
            .fold(0.0, f64::max)
    }

    fn ranks(&self, id: DeviceId) -> Option<String> {
        let ranks = self.ranks.get(&id)?;
        let list: Vec<String> = ranks.iter().map(ToString::to_string).collect();
        Some(format!(
            "{} {}",
            if list.len() == 1 { "rank" } else { "ranks" },
            list.join(", ")
        ))
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, id: DeviceId, rect: Rect) {
        let instances = self.instances(id);
        let state = if instances.is_empty() {
            self.state(id)
        } else {
            CardState::Free
        };
        let mut attributes = vec![
            ("class", format!("device {}", state.word())),
            ("data-device", id.to_string()),
        ];
        if let Some(ranks) = self.ranks.get(&id) {
            let list: Vec<String> = ranks.iter().map(ToString::to_string).collect();
            attributes.push(("data-rank", list.join(" ")));
        }
        canvas.open("g", &attributes);
        canvas.say("title", &[], &self.title(id));
        let (fill, edge, ink) = match state {
            CardState::Chosen => (INK, INK, PAPER),
            CardState::Busy => (BUSY, BUSY_EDGE, BUSY_INK),
            CardState::Free => (CARD, CARD_EDGE, INK),
        };
        let mut shape = shape(rect, 6.0, fill);
        shape.extend([
            ("class", "card".to_owned()),
            ("stroke", edge.to_owned()),
            ("stroke-width", "1.5".to_owned()),
        ]);
        canvas.add("rect", &shape);
        let name = fitted(&self.graph.device(id).name, NAME_SIZE, rect.w - 8.0);
        let second = if instances.is_empty() {
            self.second_line(id, rect)
        } else {
            None
        };
        let alone = instances.is_empty() && second.is_none();
        let (middle, y) = (
            rect.middle().0,
            if alone {
                rect.middle().1 + 5.0
            } else {
                rect.y + 20.0
            },
        );
        text(
            canvas,
            (middle, y),
            NAME_SIZE,
            ink,
            &[("text-anchor", "middle"), ("font-weight", "bold")],
            &name,
        );
        if let Some(ranks) = self.ranks(id).filter(|_| instances.is_empty()) {
            pill(canvas, (middle, rect.y + 38.0), &ranks, rect.w);
        } else if let Some(second) = second {
            let ink = if ink == INK { SOFT } else { ink };
            text(
                canvas,
                (middle, rect.y + 38.0),
                SMALL,
                ink,
                &[("text-anchor", "middle")],
                &second,
            );
        }
        if !instances.is_empty() {
            self.slots(canvas, id, &instances, rect);
        }
        canvas.close();
    }

    /// The text below the name, if there is room for it.
    fn second_line(&self, id: DeviceId, rect: Rect) -> Option<String> {
        let memory = |bytes: u64| format!("{} GiB", number(bytes as f64 / f64::from(1 << 30)));
        let label = match self.state(id) {
            CardState::Chosen => return self.ranks(id),
            CardState::Busy => Some("in use".to_owned()),
            CardState::Free => self.graph.device(id).memory_bytes.map(memory),
        };
        label.filter(|label| width(label, SMALL) <= rect.w - 6.0)
    }

    /// Draws the memory slices of a device from the top down, and the instances on them.
    fn slots(&self, canvas: &mut Canvas, whole: DeviceId, instances: &[DeviceId], rect: Rect) {
        let Some(model) = self.graph.model(whole) else {
            return;
        };
        let top = rect.y + SLOTS_FROM;
        let slices = f64::from(model.size().memory);
        let column = Rect {
            x: rect.x + 5.0,
            y: top,
            w: rect.w - 10.0,
            h: SLOT * slices,
        };
        let mut grid = shape(column, 0.0, "#f3f5f7");
        grid.push(("stroke", BUSY_EDGE.to_owned()));
        canvas.add("rect", &grid);
        for &id in instances {
            let Some(instance) = self.graph.device(id).unit.instance() else {
                continue;
            };
            let span = model.span(instance);
            let (from, to) = (f64::from(span.start), f64::from(span.end));
            let slot = Rect {
                y: top + SLOT * from,
                h: SLOT * (to - from),
                ..column
            };
            let state = self.state(id);
            let (fill, ink) = match state {
                CardState::Chosen => (INK, PAPER),
                CardState::Busy => (BUSY, BUSY_INK),
                CardState::Free => (CARD, INK),
            };
            let class = format!("instance {}", state.word());
            canvas.open("g", &[("class", class), ("data-device", id.to_string())]);
            canvas.say("title", &[], &self.title(id));
            let mut own = shape(slot, 3.0, fill);
            own.push(("stroke", CARD_EDGE.to_owned()));
            canvas.add("rect", &own);
            let y = slot.middle().1 + 4.0;
            let ranks = self
                .ranks(id)
                .map(|ranks| fitted(&ranks, SMALL, column.w / 2.0));
            let taken = ranks
                .as_ref()
                .map_or(0.0, |ranks| width(ranks, SMALL) + 6.0);
            let profile = fitted(
                &model.profile(instance.profile).name,
                SMALL,
                column.w - 8.0 - taken,
            );
            text(canvas, (slot.x + 4.0, y), SMALL, ink, &[], &profile);
            if let Some(ranks) = ranks {
                let attributes = [("text-anchor", "end"), ("font-weight", "bold")];
                text(
                    canvas,
                    (slot.right() - 4.0, y),
                    SMALL,
                    "#ffb27a",
                    &attributes,
                    &ranks,
                );
            }
            canvas.close();
        }
    }

    /// The tooltip of a card.
    fn title(&self, id: DeviceId) -> String {
        let device = self.graph.device(id);
        let parts = [
            Some(device.name.clone()),
            device.product.clone(),
            device.index.map(|index| format!("number {index}")),
            device.pci.clone(),
            device.uuid.clone(),
            device.numa.map(|numa| format!("NUMA {numa}")),
            self.ranks(id),
            (self.state(id) == CardState::Busy).then(|| "in use".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Draws the ranks on a device in a rounded box around the point `(x, y)`.
fn pill(canvas: &mut Canvas, (x, y): (f64, f64), ranks: &str, room: f64) {
    let size = SMALL + 1.0;
    let label = fitted(ranks, size, room - 16.0);
    let w = (width(&label, size) + 12.0).min(room - 6.0);
    canvas.add(
        "rect",
        &shape(
            Rect {
                x: x - w / 2.0,
                y: y - 12.5,
                w,
                h: 17.0,
            },
            8.5,
            ACCENT,
        ),
    );
    text(
        canvas,
        (x, y),
        size,
        PAPER,
        &[("text-anchor", "middle"), ("font-weight", "bold")],
        &label,
    );
}

/// The SVG attributes of a rectangle.
pub(super) fn shape(rect: Rect, radius: f64, fill: &str) -> Vec<(&'static str, String)> {
    let mut attributes = vec![
        ("x", number(rect.x)),
        ("y", number(rect.y)),
        ("width", number(rect.w)),
        ("height", number(rect.h)),
    ];
    if radius > 0.0 {
        attributes.push(("rx", number(radius)));
    }
    attributes.push(("fill", fill.to_owned()));
    attributes
}
