//! Matching of link ends by counters that mirror each other: one end received what the other sent.
//!
//! Ends that mirror each other within a tolerance form a graph. All ends in a component of this
//! graph carry equal traffic. So it does not matter which of them are joined, only how many links
//! join each two devices. These numbers form a table. Its sums over a device are the numbers of its
//! ends, and the machine's links are upper bounds. A depth-first search looks for tables. If
//! exactly one exists, the peers are known. If several exist, the peers are unclear.
//!
//! The tolerance starts at 0 and grows in steps until all ends fit: counters that mirror each other
//! exactly belong to one link, even if others are close. If ends mirror each other only
//! approximately, and others fit as well within the full tolerance, the peers are unclear.
//!
//! O(n^2) for n ends, and a search that visits at most [`NODES`] nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::LinkEnd;

/// The tolerances that are tried, up to the given one.
const STEPS: [f64; 5] = [0.0, 1e-6, 1e-4, 1e-3, 1e-2];
/// The most nodes of a search for tables.
const NODES: usize = 20_000;

/// The constraints on joining ends.
pub(super) struct JoinRules<'a> {
    /// Whether two ends, by index, may be of one link.
    pub(super) may_join: &'a dyn Fn(usize, usize) -> bool,
    /// The most links between two devices, the smaller first; none if unknown.
    pub(super) links: &'a dyn Fn(usize, usize) -> Option<usize>,
    /// How far the ends of a link may differ, as a share of its busier direction.
    pub(super) tolerance: f64,
}

/// The ends of links, as far as they are known.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Mirrored {
    /// The two ends of each link, by index.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Ends that mirror others in more than one way.
    pub(super) unclear: Vec<usize>,
    /// Ends that mirror no other.
    pub(super) lonely: Vec<usize>,
    /// The tolerance at which all other ends fit.
    pub(super) at: f64,
}

/// Whether two ends may be of one link: each received what the other sent, within a share of the
/// busier direction.
pub(super) fn mirror(a: &LinkEnd, b: &LinkEnd, tolerance: f64) -> bool {
    let most = a.busier().max(b.busier());
    (a.sent - b.received).abs().max((a.received - b.sent).abs()) <= tolerance * most
}

/// The sum of the differences of two ends, bytes.
fn apart(a: &LinkEnd, b: &LinkEnd) -> f64 {
    (a.sent - b.received).abs() + (a.received - b.sent).abs()
}

/// Finds the ends of each link.
pub(super) fn mirrored(ends: &[LinkEnd], rules: &JoinRules<'_>) -> Mirrored {
    let all: Vec<usize> = (0..ends.len()).collect();
    let (ends_left, lonely): (Vec<usize>, Vec<usize>) = all.iter().partition(|device| {
        all.iter()
            .any(|other| joins(ends, **device, *other, rules, rules.tolerance))
    });
    let steps = STEPS
        .into_iter()
        .filter(|step| *step < rules.tolerance)
        .chain([rules.tolerance]);
    let mut last = Vec::new();
    for at in steps {
        last = components(ends, &ends_left, rules, at);
        if let Some(found) = last
            .iter()
            .all(Component::is_even)
            .then(|| settle(ends, &last, rules))
            .flatten()
        {
            // Close counters are no evidence against others that fit within the full tolerance.
            let all = (at > 0.0 && at < rules.tolerance)
                .then(|| components(ends, &ends_left, rules, rules.tolerance));
            let all = all
                .and_then(|all| settle(ends, &all, rules))
                .filter(|all| !all.unclear.is_empty());
            let (at, found) = all.map_or((at, found), |all| (rules.tolerance, all));
            return Mirrored {
                lonely,
                at,
                ..found
            };
        }
    }
    // No tolerance fits all ends: components that fit by themselves are kept.
    let (mut good, bad): (Vec<Component>, Vec<Component>) =
        last.into_iter().partition(|component| {
            component.is_even() && settle(ends, std::slice::from_ref(component), rules).is_some()
        });
    let mut unclear: Vec<usize> = bad.iter().flat_map(Component::ends).collect();
    let found = settle(ends, &good, rules).unwrap_or_else(|| {
        unclear.extend(
            good.drain(..)
                .flat_map(|component| component.ends().collect::<Vec<_>>()),
        );
        Mirrored::default()
    });
    unclear.extend(found.unclear);
    unclear.sort_unstable();
    Mirrored {
        pairs: found.pairs,
        unclear,
        lonely,
        at: rules.tolerance,
    }
}

fn joins(ends: &[LinkEnd], a: usize, b: usize, rules: &JoinRules<'_>, tolerance: f64) -> bool {
    let (Some(own), Some(other)) = (ends.get(a), ends.get(b)) else {
        return false;
    };
    own.device != other.device
        && mirror(own, other, tolerance)
        && (rules.may_join)(a, b)
        && (rules.links)(own.device.min(other.device), own.device.max(other.device)) != Some(0)
}

/// The ends of one device in a component, on one side of it.
struct ComponentSlot {
    device: usize,
    ends: Vec<usize>,
}

/// A component: ends with equal traffic.
struct Component {
    slots: Vec<ComponentSlot>,
    /// By slot, the slots with ends that mirror its own.
    partners: Vec<BTreeSet<usize>>,
    /// By slot: its side, if the component is bipartite; none if both directions carry the same.
    sides: Option<Vec<bool>>,
}

impl Component {
    fn ends(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().flat_map(|slot| slot.ends.iter().copied())
    }

    /// Whether the number of ends allows joining all of them in pairs.
    fn is_even(&self) -> bool {
        let Some(sides) = &self.sides else {
            return self.ends().count().is_multiple_of(2);
        };
        let mut balance = 0;
        for (slot, side) in self.slots.iter().zip(sides) {
            let ends = slot.ends.len() as isize;
            balance += if *side { ends } else { -ends };
        }
        balance == 0
    }
}

/// The components of the graph of ends that mirror each other, in the order of their first ends.
fn components(
    ends: &[LinkEnd],
    of: &[usize],
    rules: &JoinRules<'_>,
    tolerance: f64,
) -> Vec<Component> {
    let neighbours = |device: usize| {
        of.iter()
            .copied()
            .filter(move |other| joins(ends, device, *other, rules, tolerance))
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for &first in of {
        if !seen.insert(first) {
            continue;
        }
        // By end, its side in a colouring with two colours.
        let (mut colours, mut stack, mut two) =
            (BTreeMap::from([(first, false)]), vec![first], true);
        while let Some(own) = stack.pop() {
            let colour = colours.get(&own).copied().unwrap_or_default();
            for other in neighbours(own) {
                match colours.get(&other) {
                    Some(theirs) => two &= *theirs != colour,
                    None => {
                        colours.insert(other, !colour);
                        seen.insert(other);
                        stack.push(other);
                    }
                }
            }
        }
        found.push(component(ends, &colours, two, &neighbours));
    }
    found
}

fn component<N: Iterator<Item = usize>>(
    ends: &[LinkEnd],
    colours: &BTreeMap<usize, bool>,
    two: bool,
    neighbours: &impl Fn(usize) -> N,
) -> Component {
    let key = |end: usize| {
        let side = two && colours.get(&end).copied().unwrap_or_default();
        ends.get(end).map(|end| (side, end.device))
    };
    let mut slots: BTreeMap<(bool, usize), Vec<usize>> = BTreeMap::new();
    colours.keys().for_each(|end| {
        slots
            .entry(key(*end).unwrap_or_default())
            .or_default()
            .push(*end)
    });
    let place: BTreeMap<(bool, usize), usize> = slots.keys().copied().zip(0..).collect();
    let partners = |ends: &Vec<usize>| {
        let others = ends
            .iter()
            .flat_map(|end| neighbours(*end))
            .filter_map(&key);
        others.filter_map(|key| place.get(&key).copied()).collect()
    };
    Component {
        partners: slots.values().map(partners).collect(),
        sides: two.then(|| slots.keys().map(|(side, _)| *side).collect()),
        slots: slots
            .into_iter()
            .map(|((_, device), ends)| ComponentSlot { device, ends })
            .collect(),
    }
}

/// The number of links between two slots, by component and slots, the smaller first.
type SlotTable = BTreeMap<(usize, usize, usize), usize>;

/// The result of a search for tables.
enum TableSearchResult {
    None,
    One(SlotTable),
    /// Several, which differ in these components.
    Several(BTreeSet<usize>),
    /// The search was cut off.
    Endless,
}

/// Pairs, if some table exists. Components that several tables join differently are left unclear.
fn settle(ends: &[LinkEnd], components: &[Component], rules: &JoinRules<'_>) -> Option<Mirrored> {
    let mut unclear: BTreeSet<usize> = BTreeSet::new();
    loop {
        let left = (0..components.len())
            .filter(|component| !unclear.contains(component))
            .collect();
        let before = unclear.len();
        match tables(components, left, rules) {
            TableSearchResult::None => return None,
            TableSearchResult::One(table) => {
                let left = unclear
                    .iter()
                    .filter_map(|component| components.get(*component))
                    .flat_map(Component::ends);
                let pairs = pairs(ends, components, &table);
                return Some(Mirrored {
                    pairs,
                    unclear: left.collect(),
                    ..Mirrored::default()
                });
            }
            TableSearchResult::Several(differ) => unclear.extend(differ),
            TableSearchResult::Endless => {
                let several = |component: &usize| {
                    components
                        .get(*component)
                        .is_some_and(|component| component.slots.len() > 2)
                };
                unclear.extend((0..components.len()).filter(several));
            }
        }
        if unclear.len() == before {
            return None;
        }
    }
}

fn tables(components: &[Component], left: Vec<usize>, rules: &JoinRules<'_>) -> TableSearchResult {
    let open = components
        .iter()
        .map(|component| component.slots.iter().map(|slot| slot.ends.len()).collect())
        .collect();
    let mut search = TableSearch {
        components,
        left,
        rules,
        open,
        table: SlotTable::new(),
        found: Vec::new(),
        nodes: 0,
    };
    search.run(None);
    if search.nodes >= NODES && search.found.len() < 2 {
        return TableSearchResult::Endless;
    }
    let mut found = search.found.into_iter();
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            let differ = first
                .keys()
                .chain(second.keys())
                .filter(|key| first.get(key) != second.get(key));
            TableSearchResult::Several(differ.map(|(component, ..)| *component).collect())
        }
        (Some(only), None) => TableSearchResult::One(only),
        (None, _) => TableSearchResult::None,
    }
}

/// A depth-first search for tables. The slot with the fewest partners is joined to its partners in
/// order, until none of its ends is open. So each table is found once.
struct TableSearch<'a> {
    components: &'a [Component],
    left: Vec<usize>,
    rules: &'a JoinRules<'a>,
    /// By component and slot: ends that are not joined yet.
    open: Vec<Vec<usize>>,
    table: SlotTable,
    found: Vec<SlotTable>,
    nodes: usize,
}

impl TableSearch<'_> {
    /// Joins the open ends. `at` is the component and slot being joined, and its first partner that
    /// may follow.
    fn run(&mut self, at: Option<(usize, usize, usize)>) {
        self.nodes += 1;
        if self.nodes >= NODES || self.found.len() >= 2 {
            return;
        }
        let at = at.filter(|(component, slot, _)| self.open(*component, *slot) > 0);
        let Some((component, slot, first)) = at.or_else(|| self.next()) else {
            self.found.push(self.table.clone());
            return;
        };
        for partner in self.partners(component, slot, first) {
            let key = (component, slot.min(partner), slot.max(partner));
            self.join(key, true);
            if self.is_possible(component, (slot, partner)) {
                self.run(Some((component, slot, partner)));
            }
            self.join(key, false);
        }
    }

    fn open(&self, component: usize, slot: usize) -> usize {
        self.open
            .get(component)
            .and_then(|open| open.get(slot))
            .copied()
            .unwrap_or_default()
    }

    fn join(&mut self, key: (usize, usize, usize), on: bool) {
        let (component, a, b) = key;
        let count = self.table.entry(key).or_default();
        *count = if on {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        if *count == 0 {
            self.table.remove(&key);
        }
        for slot in [a, b] {
            if let Some(open) = self
                .open
                .get_mut(component)
                .and_then(|open| open.get_mut(slot))
            {
                *open = if on {
                    open.saturating_sub(1)
                } else {
                    *open + 1
                };
            }
        }
    }

    /// The open slot with the fewest partners in the first component that has one.
    fn next(&self) -> Option<(usize, usize, usize)> {
        let is_open = |component: &&usize| {
            self.open
                .get(**component)
                .is_some_and(|open| open.iter().any(|left| *left > 0))
        };
        let component = *self.left.iter().find(is_open)?;
        let slots = 0..self.components.get(component)?.slots.len();
        let open = slots.filter(|slot| self.open(component, *slot) > 0);
        let slot = open.min_by_key(|slot| (self.partners(component, *slot, 0).len(), *slot))?;
        Some((component, slot, 0))
    }

    /// The open slots from `first` on that an end of this slot may be joined to.
    fn partners(&self, component: usize, slot: usize, first: usize) -> Vec<usize> {
        let Some(own) = self.components.get(component) else {
            return Vec::new();
        };
        let partners = own
            .partners
            .get(slot)
            .into_iter()
            .flatten()
            .copied()
            .filter(|partner| *partner >= first);
        partners
            .filter(|partner| {
                self.open(component, *partner) > 0 && self.room(component, slot, *partner) > 0
            })
            .collect()
    }

    /// The number of links that may still be added between the devices of two slots.
    fn room(&self, component: usize, a: usize, b: usize) -> usize {
        let Some(pair) = self.devices(component, a, b) else {
            return 0;
        };
        let Some(most) = (self.rules.links)(pair.0, pair.1) else {
            return usize::MAX;
        };
        let used = self
            .table
            .iter()
            .filter(|((component, a, b), _)| self.devices(*component, *a, *b) == Some(pair));
        most.saturating_sub(used.map(|(_, count)| count).sum())
    }

    /// The devices of two slots of a component, the smaller first.
    fn devices(&self, component: usize, a: usize, b: usize) -> Option<(usize, usize)> {
        let slots = &self.components.get(component)?.slots;
        let (a, b) = (slots.get(a)?.device, slots.get(b)?.device);
        Some((a.min(b), a.max(b)))
    }

    /// Whether all other slots of the component still have partners for their open ends.
    fn is_possible(&self, component: usize, (slot, from): (usize, usize)) -> bool {
        let Some(own) = self.components.get(component) else {
            return false;
        };
        (0..own.slots.len()).all(|other| {
            let first = if other == slot { from } else { 0 };
            let partners = self.partners(component, other, first).into_iter();
            let most: usize = partners
                .map(|partner| {
                    self.open(component, partner)
                        .min(self.room(component, other, partner))
                })
                .fold(0, usize::saturating_add);
            most >= self.open(component, other)
        })
    }
}

/// The ends of each link of a table. Among ends that may be joined, the closest are joined first.
fn pairs(ends: &[LinkEnd], components: &[Component], table: &SlotTable) -> Vec<(usize, usize)> {
    let mut used = BTreeSet::new();
    let mut joined = Vec::new();
    for (&(component, a, b), &count) in table {
        let slot = |at: usize| {
            components
                .get(component)
                .and_then(|component| component.slots.get(at))
                .map(|slot| &slot.ends)
        };
        let (Some(of_a), Some(of_b)) = (slot(a), slot(b)) else {
            continue;
        };
        let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
        for &end in of_a {
            let near =
                |other: &usize| Some((apart(ends.get(end)?, ends.get(*other)?), end, *other));
            candidates.extend(of_b.iter().filter_map(near));
        }
        candidates.sort_by(|x, y| {
            x.0.total_cmp(&y.0)
                .then_with(|| (x.1, x.2).cmp(&(y.1, y.2)))
        });
        let mut left = count;
        for (_, end, other) in candidates {
            if left > 0 && !used.contains(&end) && !used.contains(&other) {
                used.extend([end, other]);
                joined.push((end, other));
                left -= 1;
            }
        }
    }
    joined.sort_unstable();
    joined
}
