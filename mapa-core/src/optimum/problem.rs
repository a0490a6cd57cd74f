//! The definition of the optimum: which placements are admitted, and which of two is better.

use std::cmp::Ordering;

use super::criterion::{Criterion, CriterionKind};
use super::requirement::{Requirement, RequirementTest};
use crate::ids::DeviceId;
use crate::matching::{Few, Limits, Placement, SearchStats, without_layout};
use crate::request::Request;
use crate::score::{Candidate, Form, Objective, PairsOf};
use crate::topology::DeviceSet;
use crate::view::View;

/// Which placements are admitted, and which of them is best. The first criterion decides; among
/// equals the second, and so on.
pub(crate) struct Problem<'o, 'a> {
    pub(crate) request: &'o Request,
    pub(crate) view: &'o View<'o>,
    pub(crate) criteria: &'o [Criterion<'a>],
    pub(crate) requirements: &'o [Requirement<'a>],
    pub(crate) limits: Limits,
}

/// A placement that may be chosen.
pub(crate) struct RankedPlacement {
    /// A key per criterion, the higher the better. 0 for the lowest ids, which `set` decides.
    pub(crate) keys: Few<f64>,
    /// Its devices.
    pub(crate) set: DeviceSet,
    /// The device of each rank.
    pub(crate) placement: Placement,
}

/// The best entries, best first, and the statistics of the search.
pub(crate) type RankedAnswer = (Vec<RankedPlacement>, SearchStats);

/// The result of one algorithm.
pub(super) enum AlgorithmResult {
    /// The answer.
    Settled(RankedAnswer),
    /// Another algorithm must find it.
    Open {
        /// The nodes that the algorithm spent without a result.
        spent: u64,
    },
}

impl AlgorithmResult {
    /// No answer, and no nodes spent.
    pub(super) const NOT_TRIED: Self = Self::Open { spent: 0 };

    /// This answer, or that of another algorithm with the nodes that are left.
    pub(super) fn or_else(
        self,
        problem: &Problem<'_, '_>,
        other: impl FnOnce(&Problem<'_, '_>) -> RankedAnswer,
    ) -> RankedAnswer {
        match self {
            Self::Settled(answer) => answer,
            Self::Open { spent } => {
                let (entries, mut stats) = other(&problem.after(spent));
                stats.nodes += spent;
                (entries, stats)
            }
        }
    }
}

impl<'o, 'a> Problem<'o, 'a> {
    /// This problem with `spent` nodes subtracted from its limit.
    pub(super) fn after(&self, spent: u64) -> Self {
        Self {
            limits: self.limits.nodes(self.limits.nodes.saturating_sub(spent)),
            ..*self
        }
    }

    /// The objectives of the criteria.
    pub(super) fn objectives(&self) -> impl Iterator<Item = &'o Objective<'a>> + use<'o, 'a> {
        self.criteria.iter().filter_map(Criterion::objective)
    }

    /// The number of leading criteria that the set of devices decides.
    pub(super) fn set_criteria(&self) -> usize {
        let pattern = &self.request.pattern;
        let mut criteria = self.criteria.iter();
        criteria
            .position(|c| c.objective().is_some_and(|o| !o.is_of_set(pattern)))
            .unwrap_or(self.criteria.len())
    }

    /// The tests of the requirements.
    pub(super) fn tests(&self) -> impl Iterator<Item = &'o RequirementTest<'a>> + use<'o, 'a> {
        self.requirements
            .iter()
            .map(|requirement| &requirement.test)
    }

    /// The objectives whose scores are tested by requirements.
    pub(super) fn tested_objectives(
        &self,
    ) -> impl Iterator<Item = &'o Objective<'a>> + use<'o, 'a> {
        self.tests().filter_map(RequirementTest::objective)
    }

    /// Whether placements that differ only by an automorphism of the pattern are equal to all
    /// criteria and requirements.
    pub(super) fn is_symmetric(&self) -> bool {
        !self.tests().any(RequirementTest::sees_ranks)
            && self.objectives().all(Objective::is_symmetric)
            && self.tested_objectives().all(Objective::is_symmetric)
    }

    /// The parts of `free`. A placement must be within one part.
    pub(super) fn parts(&self, free: &DeviceSet) -> Vec<DeviceSet> {
        if !self.request.same_numa {
            return vec![free.clone()];
        }
        self.view
            .graph()
            .numa_nodes()
            .iter()
            .map(|(_, node)| node & free)
            .collect()
    }

    /// Whether a match meets the requirements that domains and edge tests do not cover.
    pub(super) fn admits(&self, placement: &[DeviceId]) -> bool {
        if !self.request.has_required(placement) || without_layout(self.view, placement).is_some() {
            return false;
        }
        if self.requirements.is_empty() {
            return true;
        }
        let candidate = self.candidate(placement);
        self.tests().all(|test| test.admits(&candidate))
    }

    /// A placement as objectives and tests see it.
    pub(super) fn candidate<'c>(&'c self, placement: &'c [DeviceId]) -> Candidate<'c> {
        Candidate {
            view: *self.view,
            pattern: &self.request.pattern,
            placement,
        }
    }

    /// The limits that are left after a search.
    pub(super) fn left(&self, stats: &SearchStats) -> Limits {
        let Limits { matches, nodes } = self.limits;
        Limits {
            matches: matches.saturating_sub(stats.matches),
            nodes: nodes.saturating_sub(stats.nodes),
        }
    }

    /// The key of a criterion for a placement. If the set of devices decides it,
    /// [`Problem::set_key`] is cheaper.
    pub(super) fn key(&self, criterion: &Criterion<'_>, placement: &[DeviceId]) -> f64 {
        criterion.objective().map_or(0.0, |objective| {
            criterion.key(objective.score(&self.candidate(placement)))
        })
    }

    /// The key of a criterion that the set of devices decides; `None` if the rank order matters.
    pub(super) fn set_key(&self, criterion: &Criterion<'_>, set: &DeviceSet) -> Option<f64> {
        match criterion.objective() {
            Some(objective) => objective
                .score_set(self.view, &self.request.pattern, set)
                .map(|value| criterion.key(value)),
            None => Some(0.0),
        }
    }

    /// The keys by which an entry is compared with one on another machine. For objectives of the
    /// devices that stay free, the value before the placement is subtracted, as the bandwidth of an
    /// idle machine is not due to the placement.
    pub(crate) fn keys_across_machines(&self, entry: &RankedPlacement) -> Few<f64> {
        let mut keys = entry.keys.clone();
        for (criterion, key) in self.criteria.iter().zip(&mut keys) {
            let Some(objective) = criterion.objective() else {
                continue;
            };
            if !matches!(objective.form(), Form::Rest(_)) {
                continue;
            }
            if let Some(taken) = self.taken(objective, &entry.set) {
                *key = criterion.key(-taken);
                continue;
            }
            let pattern = &self.request.pattern;
            let left = objective.score_set(self.view, pattern, &entry.set);
            let before = objective.score_set(self.view, pattern, &DeviceSet::new());
            if let (Some(left), Some(before)) = (left, before) {
                *key = criterion.key(left - before);
            }
        }
        keys
    }

    /// What a set takes of a sum over the pairs of whole devices that stay free. `None` for other objectives,
    /// and where instances are chosen. O(k f) for k of f free devices, not O(f²).
    fn taken(&self, objective: &Objective<'_>, set: &DeviceSet) -> Option<f64> {
        let graph = self.view.graph();
        let sum = objective.pair_sum().filter(|sum| sum.of == PairsOf::Left)?;
        let free = self.view.free() & &graph.wholes();
        if graph.can_be_cut() || !set.is_subset(&free) {
            return None;
        }
        let pairs = set.iter().flat_map(|a| {
            let others = free.iter().filter(move |&b| b != a);
            // A pair within the set comes twice.
            others
                .filter(move |&b| a < b || !set.contains(b))
                .map(move |b| (a, b))
        });
        Some(pairs.fold(0.0, |taken, (a, b)| taken + (sum.value)(graph, a, b)))
    }

    /// Compares two entries on one criterion; the better is greater.
    pub(crate) fn compare(&self, at: usize, a: &RankedPlacement, b: &RankedPlacement) -> Ordering {
        self.order(at, (a.keys[at], b.keys[at]), (&a.set, &b.set))
    }

    /// Compares two placements on one criterion, by their keys and sets; the better is greater.
    pub(super) fn order(
        &self,
        at: usize,
        keys: (f64, f64),
        sets: (&DeviceSet, &DeviceSet),
    ) -> Ordering {
        match self.criteria[at].kind {
            CriterionKind::LowestIds => sets.1.cmp(sets.0),
            _ => keys.0.total_cmp(&keys.1),
        }
    }
}
