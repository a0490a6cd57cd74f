//! How good a placement within a set of devices can be at best, criterion by criterion.
//!
//! Each bound looks at the links within the set and not at the pattern's shape: n edges can do no better than the n best
//! links there, and counts of links can do no better than the best of all ways to share the edges out among the tiers
//! that occur there. Cheap, and exact where links are alike, as behind a link switch: there the first placement already
//! meets its bound, and nothing else need be looked at.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::criterion::{Criterion, Kind};
use crate::matching::Few;
use crate::pattern::{Demand, Pattern};
use crate::score::{Census, EdgeOn, Form, Objective, Seat, Subset, Tiers};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link};
use crate::view::View;

/// Tiers among which edges are shared out in every way; with more of them there is no bound.
const MOST_TIERS: usize = 3;

/// Edges that are shared out; with more of them there is no bound, since there are some E² / 2 ways.
const MOST_EDGES: usize = 256;

/// Sums of multiples of 1 / this, below [`MOST_EXACT`] / this, are exact in any order. Real bandwidths are such.
const FRACTIONS: f64 = 1024.0;

/// 2^52.
const MOST_EXACT: f64 = (1u64 << 52) as f64;

pub(super) struct Bounds<'b, 'a> {
    graph: &'b HardwareGraph,
    view: &'b View<'b>,
    pub(super) pattern: &'b Pattern,
    pub(super) criteria: &'b [Criterion<'a>],
    /// Whether all edges have the same traffic and join different pairs, so that each needs a link of its own.
    alike: bool,
    /// By criterion and the tiers that occur.
    known: RefCell<HashMap<(usize, u32), f64>>,
}

impl<'b, 'a> Bounds<'b, 'a> {
    pub(super) fn new(view: &'b View<'b>, pattern: &'b Pattern, criteria: &'b [Criterion<'a>]) -> Self {
        let mut pairs: Vec<_> = pattern.edges().iter().map(|edge| (edge.a, edge.b)).collect();
        pairs.sort_unstable();
        let alike = pairs.windows(2).all(|pair| pair[0] != pair[1]) && pattern.traffic().is_some();
        Self { graph: view.graph(), view, pattern, criteria, alike, known: RefCell::default() }
    }

    /// The most that `criteria[at]` can be for any placement within `set`; signed as keys are, the higher the better.
    /// O(k²) for k devices.
    pub(super) fn within(&self, at: usize, set: &DeviceSet) -> f64 {
        let (objective, sign) = match &self.criteria[at].kind {
            Kind::Max(objective) => (objective, 1.0),
            Kind::Min(objective) => (objective, -1.0),
            Kind::LowestIds => return 0.0,
        };
        match objective.form() {
            Form::Edges(f) => self.edges(|edge| sign * f(edge), set),
            Form::Links(tiers, f) => self.links(at, tiers, |census| sign * f(census), set),
            Form::Devices(f) => self.devices(|seat| sign * f(seat), set),
            Form::Rest(_) => objective.each_left().map_or(f64::INFINITY, |f| self.left(|link| sign * f(link), set)),
            _ => {
                let part = Subset { graph: self.graph, devices: set };
                let stated = objective.foresight().map(|foresight| (foresight.within)(part, self.pattern.len()));
                stated.filter(|value| !value.is_nan()).map_or(f64::INFINITY, |value| sign * value)
            }
        }
    }

    /// The same for placements on exactly the devices of `set`.
    pub(super) fn of(&self, at: usize, set: &DeviceSet) -> f64 {
        let stated = |objective: &Objective<'_>| objective.best_on(Subset { graph: self.graph, devices: set });
        let stated = match &self.criteria[at].kind {
            Kind::Max(objective) => stated(objective),
            Kind::Min(objective) => stated(objective).map(|value| -value),
            Kind::LowestIds => None,
        };
        // A bound that is not a number bounds nothing.
        stated.filter(|value| !value.is_nan()).unwrap_or_else(|| self.within(at, set))
    }

    /// Every rank on the best device for it, as if it were alone.
    fn devices(&self, f: impl Fn(&Seat<'_>) -> f64, set: &DeviceSet) -> f64 {
        let best = |demand: &Demand| {
            let values = set.iter().map(|id| f(&Seat { view: *self.view, demand, id }));
            values.fold(f64::NEG_INFINITY, f64::max)
        };
        self.pattern.demands().iter().map(best).sum()
    }

    /// What stays free is what is free, less what the chosen devices are joined by to everything free, which counts what
    /// joins them to each other twice: at most all, less the devices of the least value, plus the best pairs in `set`.
    fn left(&self, f: impl Fn(Link) -> f64, set: &DeviceSet) -> f64 {
        let k = self.pattern.len();
        if self.graph.can_be_cut() || k > set.len() {
            return f64::INFINITY;
        }
        let free = &(self.view.free() & &self.graph.wholes()) | set;
        let mut lost: BTreeMap<DeviceId, f64> = set.iter().map(|id| (id, 0.0)).collect();
        let (mut all, mut size, mut within, mut round) = (0.0, 0.0, Vec::new(), true);
        for (a, b, link) in self.graph.links_within(&free) {
            let value = f(link);
            all += value;
            size += value.abs();
            round &= (value * FRACTIONS).fract() == 0.0;
            let inside = [a, b].map(|id| lost.get_mut(&id).map(|sum| *sum += value).is_some());
            if inside == [true; 2] {
                within.push(value);
            }
        }
        let mut lost: Vec<f64> = lost.into_values().collect();
        lost.sort_unstable_by(f64::total_cmp);
        // A pair that nothing joins is worth nothing.
        within.resize(set.len() * (set.len() - 1) / 2, 0.0);
        within.sort_unstable_by(|a, b| b.total_cmp(a));
        let twice: f64 = within.iter().take(k * k.saturating_sub(1) / 2).sum();
        // Added up in another order than a score is, so it may be some last digits too low, unless no digit is ever lost.
        let exact = round && size * FRACTIONS < MOST_EXACT;
        let noise = if exact { 0.0 } else { size * f64::EPSILON * within.len() as f64 };
        let bound = all - lost[..k].iter().sum::<f64>() + twice + noise;
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    fn edges(&self, f: impl Fn(EdgeOn) -> f64, set: &DeviceSet) -> f64 {
        let mut best: Few<(u64, f64)> = Few::new();
        let mut each_at_best = 0.0;
        for edge in self.pattern.edges() {
            let traffic = edge.traffic;
            let known = best.iter().find(|(bits, _)| *bits == traffic.to_bits()).map(|(_, value)| *value);
            // `max` passes over NaN, which ranks below everything.
            let value = known.unwrap_or_else(|| {
                let values = links(self.graph, set).map(|link| f(EdgeOn { traffic, link }));
                values.fold(f64::NEG_INFINITY, f64::max)
            });
            if known.is_none() {
                best.push((traffic.to_bits(), value));
            }
            each_at_best += value;
        }
        if !self.alike {
            return each_at_best;
        }
        let traffic = self.pattern.edges().first().map_or(1.0, |edge| edge.traffic);
        let mut values: Vec<f64> = links(self.graph, set).map(|link| f(EdgeOn { traffic, link })).collect();
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values.truncate(self.pattern.edges().len());
        let sizes: f64 = values.iter().map(|value| value.abs()).sum();
        // Added up in another order than a score is, so it may be some last digits too low.
        let distinct = values.iter().sum::<f64>() + sizes * f64::EPSILON * values.len() as f64;
        if distinct.is_nan() { each_at_best } else { each_at_best.min(distinct) }
    }

    fn links(&self, at: usize, tiers: &Tiers, f: impl Fn(&Census) -> f64, set: &DeviceSet) -> f64 {
        let mut occur = 0u32;
        for link in links(self.graph, set) {
            occur |= 1 << tiers.of(link.class);
        }
        *self.known.borrow_mut().entry((at, occur)).or_insert_with(|| {
            let occurring: Few<usize> = (0..32).filter(|tier| occur >> tier & 1 == 1).collect();
            if occurring.len() > MOST_TIERS || self.pattern.edges().len() > MOST_EDGES {
                return f64::INFINITY;
            }
            let mut best = f64::NEG_INFINITY;
            share_out(self.pattern.edges().len() as u32, &occurring, Census::default(), &mut |census| {
                best = best.max(f(census));
            });
            best
        })
    }
}

/// The best links between all pairs of a set that are joined.
fn links<'s>(graph: &'s HardwareGraph, set: &'s DeviceSet) -> impl Iterator<Item = Link> + 's {
    let pairs = set.iter().flat_map(move |b| set.iter().take_while(move |a| *a < b).map(move |a: DeviceId| (a, b)));
    pairs.map(|(a, b)| graph.link(a, b)).filter(|link| link.exists())
}

/// Every census with `edges` edges in all, on these tiers.
fn share_out(edges: u32, tiers: &[usize], so_far: Census, f: &mut impl FnMut(&Census)) {
    match tiers {
        [] if edges == 0 => f(&so_far),
        [] => {}
        [last] => f(&so_far.with(*last, edges)),
        [tier, rest @ ..] => {
            for here in 0..=edges {
                share_out(edges - here, rest, so_far.with(*tier, here), f);
            }
        }
    }
}
