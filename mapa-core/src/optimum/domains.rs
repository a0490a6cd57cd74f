//! The domain of each rank: the devices on which it may be placed, before any search.

use std::collections::BTreeMap;

use super::problem::Problem;
use crate::pattern::Demand;
use crate::score::{Objective, Seat};
use crate::topology::{DeviceId, DeviceSet, Unit};
use crate::view::View;

/// By rank, the devices that have room for it, that the request allows and that pass the
/// requirements.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) per_rank: Vec<DeviceSet>,
    /// The union of all domains.
    pub(super) union: DeviceSet,
    /// By device, the next lower of its twins: devices that differ from it only in their ids.
    pub(super) twin_below: BTreeMap<DeviceId, DeviceId>,
}

impl Domains {
    pub(super) fn new(problem: &Problem<'_, '_>) -> Self {
        let Problem { request, view, .. } = *problem;
        let eligible = request.eligible(view.graph());
        let demands = request.pattern.demands();
        let mut domains = Self::default();
        for (rank, demand) in demands.iter().enumerate() {
            // Ranks of equal demand have equal domains: requirements are tested once for each
            // demand.
            let fresh = match demands[..rank].iter().rposition(|other| other == demand) {
                Some(same) => domains.per_rank[same].clone(),
                None => Self::of(problem, demand, &eligible),
            };
            domains.union = &domains.union | &fresh;
            domains.per_rank.push(fresh);
        }
        domains
    }

    /// The domain of a rank with this demand, within `eligible`.
    pub(super) fn of(
        problem: &Problem<'_, '_>,
        demand: &Demand,
        eligible: &DeviceSet,
    ) -> DeviceSet {
        let Problem {
            view, requirements, ..
        } = *problem;
        let seats = || {
            requirements
                .iter()
                .filter_map(|requirement| requirement.test.seat())
        };
        let room = &view.room_for(demand) & eligible;
        if seats().next().is_none() {
            return room;
        }
        room.iter()
            .filter(|&id| {
                seats().all(|test| {
                    test(&Seat {
                        view: *view,
                        demand,
                        id,
                    })
                })
            })
            .collect()
    }

    /// Finds twins, which are devices that differ only in their ids, and keeps at most as many of a
    /// group as the job has ranks. The lowest ids are kept, since they win every tie. Changes
    /// nothing if a criterion or requirement may distinguish twins.
    ///
    /// Swapping two twins with equal usage changes no link and nothing that a blind criterion sees.
    /// So a placement on the higher one is as good as the same placement on the lower one.
    pub(super) fn without_twins(mut self, problem: &Problem<'_, '_>) -> Self {
        let Problem {
            request,
            view,
            criteria,
            requirements,
            ..
        } = *problem;
        let blind = criteria
            .iter()
            .filter_map(|criterion| criterion.objective())
            .all(Objective::is_blind);
        if !blind
            || view.is_of_any_layout()
            || requirements
                .iter()
                .any(|requirement| requirement.test.sees_ids())
        {
            return self;
        }
        // Runners-up are on other sets of devices. A set that differs only in the ids of whole
        // devices counts as another one; a set that differs only in equal instances does not.
        let wholes_too = request.runners_up == 0;
        // `twin` gives one representative for devices with equal links. Required devices stay as
        // they are.
        let mut groups: BTreeMap<DeviceId, Vec<DeviceId>> = BTreeMap::new();
        for id in self
            .union
            .iter()
            .filter(|&id| wholes_too || view.graph().device(id).unit != Unit::Whole)
        {
            if !request.must_include.contains(id) {
                groups.entry(view.graph().twin(id)).or_default().push(id);
            }
        }
        let mut surplus = DeviceSet::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            for (at, &id) in group.iter().enumerate() {
                let alike = |other: &&DeviceId| {
                    view.usage(**other) == view.usage(id) && self.has_both(**other, id)
                };
                let below = group[..at].iter().rev().find(alike).copied();
                let ranks = request.pattern.len();
                if group[..at].iter().filter(alike).take(ranks).count() == ranks {
                    // As many lower twins as ranks: no placement needs this one.
                    surplus.insert(id);
                } else if let Some(below) = below {
                    self.twin_below.insert(id, below);
                }
            }
        }
        if !surplus.is_empty() {
            self.union = &self.union - &surplus;
            self.per_rank
                .iter_mut()
                .for_each(|domain| *domain = &*domain - &surplus);
        }
        self
    }

    /// Whether the exclusive ranks, of one demand or all together, outnumber the vertices of `part`
    /// that they can have at once. Without this check, a search would try all orders of the other
    /// ranks before it found no placement.
    pub(super) fn are_too_few(&self, problem: &Problem<'_, '_>, part: &DeviceSet) -> bool {
        let demands = problem.request.pattern.demands();
        let alone = || (0..demands.len()).filter(|&rank| !demands[rank].is_shared());
        let too_few = |ranks: &mut dyn Iterator<Item = usize>| {
            let (mut count, mut union) = (0, DeviceSet::new());
            for rank in ranks {
                union = &union | &self.per_rank[rank];
                count += 1;
            }
            count > at_once(problem.view, &(&union & part))
        };
        let mut kinds = alone().filter(|&rank| !demands[..rank].contains(&demands[rank]));
        kinds.any(|kind| too_few(&mut alone().filter(|&rank| demands[rank] == demands[kind])))
            || too_few(&mut alone())
    }

    /// Whether each rank's domain has both devices or neither.
    fn has_both(&self, a: DeviceId, b: DeviceId) -> bool {
        self.per_rank
            .iter()
            .all(|domain| domain.contains(a) == domain.contains(b))
    }
}

/// The most of these vertices that can be present at once.
fn at_once(view: &View<'_>, set: &DeviceSet) -> usize {
    if !view.is_of_any_layout() {
        return set.len();
    }
    let graph = view.graph();
    let on = |whole: DeviceId| {
        let Some(model) = graph.model(whole) else {
            return usize::from(set.contains(whole));
        };
        let here: Vec<_> = (graph.vertices(whole) & set)
            .iter()
            .filter_map(|id| graph.device(id).unit.instance())
            .collect();
        model
            .most_among(&view.instances_in_use(whole), &here)
            .max(usize::from(set.contains(whole)))
    };
    let host = set
        .iter()
        .filter(|&id| matches!(graph.device(id).unit, Unit::Numa | Unit::Nic))
        .count();
    host + graph.wholes().iter().map(on).sum::<usize>()
}
