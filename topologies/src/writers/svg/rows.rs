//! Arranges devices in rows of cards on one grid of columns, with boxes around neighbouring columns
//! of a row.
//!
//! Lines between devices run in channels between rows. If many lines are needed, two rows face each
//! other. A machine whose sockets are directly linked to each other has one row for each socket, as
//! a torus is usually drawn.

use mapa_core::DeviceId;

use super::wires::DrawnWires;
use crate::writers::host::{DrawnHost, HostBox, Item};

/// A row of devices, and the boxes around them.
#[derive(Clone, Debug, Default)]
pub(super) struct CardRow {
    pub(super) devices: Vec<DeviceId>,
    /// The boxes, outer ones before inner ones.
    pub(super) spans: Vec<RowBox>,
    /// Whether the row's lines leave upwards. The names of its boxes are then below the cards.
    pub(super) faces_up: bool,
}

/// A box over the columns `first..=last` of a row.
#[derive(Clone, Debug)]
pub(super) struct RowBox {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) cards: Vec<String>,
    pub(super) first: usize,
    pub(super) last: usize,
    /// The number of boxes around this box.
    pub(super) depth: usize,
}

impl CardRow {
    /// The deepest nesting of boxes around a device of the row.
    pub(super) fn levels(&self) -> usize {
        self.spans
            .iter()
            .map(|span| span.depth + 1)
            .max()
            .unwrap_or(0)
    }

    fn push(&mut self, item: &Item, depth: usize) {
        match item {
            Item::Device(id) => self.devices.push(*id),
            Item::Box(inner) => {
                let at = self.spans.len();
                let (name, what, cards) =
                    (inner.name.clone(), inner.what.clone(), inner.cards.clone());
                self.spans.push(RowBox {
                    name,
                    what,
                    cards,
                    first: self.devices.len(),
                    last: 0,
                    depth,
                });
                inner
                    .items
                    .iter()
                    .for_each(|item| self.push(item, depth + 1));
                self.spans[at].last = self.devices.len().saturating_sub(1);
            }
        }
    }
}

/// The rows of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrangement {
    /// Boxes around all rows, outer ones first.
    pub(super) frames: Vec<HostBox>,
    pub(super) rows: Vec<CardRow>,
    /// For each device, its row and column.
    pub(super) at: Vec<(usize, usize)>,
}

impl Arrangement {
    pub(super) fn of(host: DrawnHost, wires: &DrawnWires, devices: usize) -> Self {
        let mut items = host.items;
        let mut frames = Vec::new();
        while let [Item::Box(only)] = items.as_mut_slice() {
            let inner = std::mem::take(&mut only.items);
            frames.push(HostBox {
                items: Vec::new(),
                ..only.clone()
            });
            items = inner;
        }
        let counts: Vec<usize> = items.iter().map(|item| item.devices().len()).collect();
        let across = crosses(&items, wires, devices);
        let columns = columns(&counts, wires, across, devices);
        let items: Vec<Item> = items
            .into_iter()
            .flat_map(|item| pieces(item, columns))
            .collect();
        let mut rows = flow(&items, columns);
        let paired = !wires.switches.is_empty() || rows.len() <= 2;
        if paired && (across || !wires.switches.is_empty()) {
            rows.iter_mut()
                .skip(1)
                .step_by(2)
                .for_each(|row| row.faces_up = true);
        }
        let mut at = vec![(0, 0); devices];
        for (r, row) in rows.iter().enumerate() {
            for (column, id) in row.devices.iter().enumerate() {
                at[id.index()] = (r, column);
            }
        }
        Self { frames, rows, at }
    }

    pub(super) fn columns(&self) -> usize {
        self.rows
            .iter()
            .map(|row| row.devices.len())
            .max()
            .unwrap_or(0)
    }
}

/// Whether direct links join devices of different items.
fn crosses(items: &[Item], wires: &DrawnWires, devices: usize) -> bool {
    let mut item_of = vec![0; devices];
    for (i, item) in items.iter().enumerate() {
        item.devices().iter().for_each(|id| item_of[id.index()] = i);
    }
    wires
        .direct
        .iter()
        .any(|wire| item_of[wire.a.index()] != item_of[wire.b.index()])
}

/// The most columns of a row if no lines join its items.
const WIDE: usize = 8;
/// The most columns of any row.
const WIDEST: usize = 12;

/// The largest number of columns that the rows may have.
fn columns(counts: &[usize], wires: &DrawnWires, across: bool, devices: usize) -> usize {
    let largest = counts.iter().copied().max().unwrap_or(1).min(WIDEST);
    let switched = !wires.switches.is_empty();
    let wanted = match devices {
        few if few <= 4 && (!across || switched) => few,
        // Two rows that face each other, or more such pairs if one is not enough.
        _ if switched => devices.div_ceil(2).min(WIDEST),
        _ if !across && devices <= 10 => devices,
        _ if !across => WIDE,
        // One row for each of several items of equal size, as in a torus or a mesh.
        _ if counts.len() >= 3 && largest >= 3 && counts.iter().all(|&n| n == counts[0]) => largest,
        few @ ..=3 => few,
        4..=8 => devices.div_ceil(2),
        9..=16 => 4,
        _ => WIDEST.min(devices.isqrt() + 2),
    };
    wanted.max(largest).max(1)
}

/// Splits an item with more devices than a row into parts that fit. Other items stay whole.
fn pieces(item: Item, columns: usize) -> Vec<Item> {
    let Item::Box(whole) = item else {
        return vec![item];
    };
    if whole
        .items
        .iter()
        .map(|item| item.devices().len())
        .sum::<usize>()
        <= columns
    {
        return vec![Item::Box(whole)];
    }
    let inner: Vec<Item> = whole
        .items
        .into_iter()
        .flat_map(|item| pieces(item, columns))
        .collect();
    let mut parts: Vec<(usize, Vec<Item>)> = Vec::new();
    for item in inner {
        let count = item.devices().len();
        match parts.last_mut() {
            Some((filled, part)) if *filled + count <= columns => {
                *filled += count;
                part.push(item);
            }
            _ => parts.push((count, vec![item])),
        }
    }
    let mut cards = whole.cards;
    let part = |(i, (_, items)): (usize, (usize, Vec<Item>))| {
        let name = if i == 0 {
            whole.name.clone()
        } else {
            format!("{} (more)", whole.name)
        };
        Item::Box(HostBox {
            name,
            what: whole.what.clone(),
            items,
            cards: std::mem::take(&mut cards),
        })
    };
    parts.into_iter().enumerate().map(part).collect()
}

/// Fills rows with items one after another, as words fill lines.
fn flow(items: &[Item], columns: usize) -> Vec<CardRow> {
    let mut rows: Vec<CardRow> = Vec::new();
    for item in items {
        let count = item.devices().len();
        if rows
            .last()
            .is_none_or(|row| row.devices.len() + count > columns)
        {
            rows.push(CardRow::default());
        }
        if let Some(row) = rows.last_mut() {
            row.push(item, 0);
        }
    }
    rows
}
