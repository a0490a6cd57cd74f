//! Where each rank may lie, before any search.

use std::collections::BTreeMap;

use super::optimum::Optimum;
use crate::pattern::Demand;
use crate::score::{Objective, Seat};
use crate::topology::{DeviceId, DeviceSet, Unit};
use crate::view::View;

/// For each rank the devices that have room for it, that the request allows and of which the requirements approve.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) per_rank: Vec<DeviceSet>,
    /// All of them together.
    pub(super) union: DeviceSet,
    /// Of each device that has one, the next lower of those that only ids tell apart from it.
    pub(super) twin_below: BTreeMap<DeviceId, DeviceId>,
}

impl Domains {
    pub(super) fn new(optimum: &Optimum<'_, '_>) -> Self {
        let Optimum { request, view, .. } = *optimum;
        let eligible = request.eligible(view.graph());
        let domain = |demand: &Demand| Self::of(optimum, demand, &eligible);
        let demands = request.pattern.demands();
        let mut domains = Self::default();
        for (rank, demand) in demands.iter().enumerate() {
            let fresh = match demands[..rank].iter().rposition(|other| other == demand) {
                Some(same) => domains.per_rank[same].clone(),
                None => domain(demand),
            };
            domains.union = &domains.union | &fresh;
            domains.per_rank.push(fresh);
        }
        domains
    }

    /// Where a rank of this demand may lie, of what is eligible.
    pub(super) fn of(optimum: &Optimum<'_, '_>, demand: &Demand, eligible: &DeviceSet) -> DeviceSet {
        let Optimum { view, requirements, .. } = *optimum;
        let seats = || requirements.iter().filter_map(|requirement| requirement.test.seat());
        let room = &view.room_for(demand) & eligible;
        if seats().next().is_none() {
            return room;
        }
        room.iter().filter(|&id| seats().all(|test| test(&Seat { view: *view, demand, id }))).collect()
    }

    /// Finds the devices that only their ids tell apart, if that is all the same to every criterion, and keeps of such devices
    /// no more than there are ranks: those of lowest ids, which win every tie.
    ///
    /// Swapping two such devices, both present and with equal tenants, changes no link, no usage and nothing that a blind
    /// criterion sees, so a placement on the higher one is as good as the same on the lower.
    pub(super) fn without_twins(mut self, optimum: &Optimum<'_, '_>) -> Self {
        let Optimum { request, view, criteria, requirements, .. } = *optimum;
        let blind = criteria.iter().filter_map(|criterion| criterion.kind.objective()).all(Objective::is_blind);
        if !blind || view.is_of_any_layout() || requirements.iter().any(|requirement| requirement.test.sees_ids()) {
            return self;
        }
        // Runners-up are on other sets, also on sets that differ in ids only; instances aside.
        let wholes_too = request.runners_up == 0;
        let mut groups: BTreeMap<DeviceId, Vec<DeviceId>> = BTreeMap::new();
        for id in self.union.iter().filter(|&id| wholes_too || view.graph().device(id).unit != Unit::Whole) {
            if !request.must_include.contains(id) {
                groups.entry(view.graph().twin(id)).or_default().push(id);
            }
        }
        let mut surplus = DeviceSet::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            for (at, &id) in group.iter().enumerate() {
                let alike = |other: &&DeviceId| view.usage(**other) == view.usage(id) && self.has_both(**other, id);
                let below = group[..at].iter().rev().find(alike).copied();
                let ranks = request.pattern.len();
                if group[..at].iter().filter(alike).take(ranks).count() == ranks {
                    surplus.insert(id);
                } else if let Some(below) = below {
                    self.twin_below.insert(id, below);
                }
            }
        }
        if !surplus.is_empty() {
            self.union = &self.union - &surplus;
            self.per_rank.iter_mut().for_each(|domain| *domain = &*domain - &surplus);
        }
        self
    }

    /// Whether some ranks that share with nobody are more than the vertices of `part` that they can have at once: a search
    /// would try all orders of those that there are before it found out. Counted for ranks of each demand, and for all
    /// together.
    pub(super) fn are_too_few(&self, optimum: &Optimum<'_, '_>, part: &DeviceSet) -> bool {
        let demands = optimum.request.pattern.demands();
        let alone = || (0..demands.len()).filter(|&rank| !demands[rank].is_shared());
        let too_few = |ranks: &mut dyn Iterator<Item = usize>| {
            let (mut count, mut union) = (0, DeviceSet::new());
            for rank in ranks {
                union = &union | &self.per_rank[rank];
                count += 1;
            }
            count > at_once(optimum.view, &(&union & part))
        };
        let mut kinds = alone().filter(|&rank| !demands[..rank].contains(&demands[rank]));
        kinds.any(|kind| too_few(&mut alone().filter(|&rank| demands[rank] == demands[kind]))) || too_few(&mut alone())
    }

    /// Whether every rank may have both or neither.
    fn has_both(&self, a: DeviceId, b: DeviceId) -> bool {
        self.per_rank.iter().all(|domain| domain.contains(a) == domain.contains(b))
    }
}

/// How many of these vertices can be there at once, at most.
fn at_once(view: &View<'_>, set: &DeviceSet) -> usize {
    if !view.is_of_any_layout() {
        return set.len();
    }
    let graph = view.graph();
    let on = |whole: DeviceId| {
        let Some(model) = graph.model(whole) else { return usize::from(set.contains(whole)) };
        let here: Vec<_> =
            (graph.vertices(whole) & set).iter().filter_map(|id| graph.device(id).unit.instance()).collect();
        model.most_among(&view.instances_in_use(whole), &here).max(usize::from(set.contains(whole)))
    };
    let host = set.iter().filter(|&id| matches!(graph.device(id).unit, Unit::Numa | Unit::Nic)).count();
    host + graph.wholes().iter().map(on).sum::<usize>()
}
