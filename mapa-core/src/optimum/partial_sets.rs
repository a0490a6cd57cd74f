//! Sets that are built device by device, where leading criteria bound partial sets: by what stays free and
//! other sums over pairs ([`super::by_loss`]), and by direct links ([`super::by_degree`]).

use std::cmp::Ordering;

use super::by_degree::{DegreeGoal, DirectLinks, Grower, Grown};
use super::by_loss::{Losses, Walker, walk};
use super::criterion::{Criterion, settle};
use super::problem::{Problem, RankedPlacement};
use super::visits::{SearchRun, VisitPlan};
use crate::ids::DeviceId;
use crate::matching::Few;
use crate::score::{DegreeBound, PairsOf, Subset};
use crate::topology::DeviceSet;

/// The criteria that are sums over pairs of devices: the first that is over the pairs that stay free, and
/// those after it, as far as the set of devices decides them.
#[derive(Default)]
pub(super) struct PairSums {
    /// By sum, the number of its criterion.
    of_criteria: Few<usize>,
    /// By sum, what sets lose of it.
    losses: Vec<Losses>,
}

impl PairSums {
    /// Those of a problem, for sets that have all of `must` and some of `rest`, where `below` has the next lower
    /// twin of each. None on machines whose devices can be cut, and where all devices must be taken.
    pub(super) fn new(
        problem: &Problem<'_, '_>,
        must: &DeviceSet,
        rest: &[DeviceId],
        below: &[Option<usize>],
    ) -> Self {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *problem;
        let graph = view.graph();
        let need = request.pattern.len() - must.len();
        if graph.can_be_cut() || need == 0 {
            return Self::default();
        }
        let free = view.free() & &graph.wholes();
        let decided = criteria.iter().take(problem.set_criteria()).enumerate();
        let sums = decided.filter_map(|(at, criterion)| {
            let (objective, sign) = criterion.exact_sum()?;
            Some((at, sign, objective.pair_sum()?))
        });
        let from_first = sums.skip_while(|(.., sum)| sum.of == PairsOf::Chosen);
        let (of_criteria, losses) = from_first
            .map(|(at, sign, sum)| {
                let value = |a, b| sign * (sum.value)(graph, a, b);
                let losses = Losses::new(sum.of, value, &free, must, (rest, below), need);
                (at, losses)
            })
            .unzip();
        Self {
            of_criteria,
            losses,
        }
    }

    /// The number of the first criterion that is such a sum.
    pub(super) fn first(&self) -> Option<usize> {
        self.of_criteria.first().copied()
    }

    /// An upper bound on the criterion with this number for all sets, if it is such a sum.
    pub(super) fn at_most(&self, at: usize, criterion: &Criterion<'_>) -> Option<f64> {
        let sum = self.of_criteria.iter().position(|of| *of == at)?;
        let losses = &self.losses[sum];
        Some(losses.key(criterion, losses.at_least_for_all()))
    }
}

impl<'o, 'a> SearchRun<'_, 'o, 'a> {
    /// Whether no set is better than those found by the criteria before the first sum over pairs.
    pub(super) fn is_decided(&self, sums: &PairSums, ideal: &[f64]) -> bool {
        let worst = self.top.last().filter(|_| self.is_full());
        match (sums.first(), worst) {
            (Some(0), _) => true,
            (Some(at), Some(worst)) => worst.keys[..at] == ideal[..at],
            _ => false,
        }
    }

    /// Visits the sets that can still win, if the leading criteria bound partial sets. Returns false if they do
    /// not: then all sets must be visited. `ideal` has upper bounds for all sets.
    pub(super) fn visit_partial_sets(
        &mut self,
        sums: PairSums,
        must: &DeviceSet,
        ideal: &mut [f64],
        plan: &VisitPlan<'_, 'o, 'a>,
    ) -> bool {
        let Some(first) = sums.first() else {
            return false;
        };
        let proof = if self.is_decided(&sums, ideal) {
            Proof::OfFirst
        } else {
            self.proven_by_degree(first, &sums.losses[0], must, ideal, plan)
        };
        match proof {
            Proof::None => return false,
            Proof::OfFirst => self.visit_by_loss(sums, ideal, plan),
            Proof::OfAll => {}
        }
        true
    }

    /// Visits the sets that can still win where no set is better by the criteria before the first sum over
    /// pairs: branch and bound over partial sets. `ideal` has upper bounds for sets that were not visited yet.
    fn visit_by_loss(&mut self, mut sums: PairSums, ideal: &[f64], plan: &VisitPlan<'_, 'o, 'a>) {
        let nodes = self.problem.limits.nodes;
        let first = &mut sums.losses[0];
        let steps = (first.ids.len() * self.problem.request.pattern.len() / 64) as u64;
        let mut grown = Vec::new();
        for (loss, set) in first.grown() {
            // The first set is free: there is an answer before any limit can end the search.
            if self.top.is_empty() {
                self.visit_set(&set, plan);
            }
            grown.push((loss, set));
            if !self.step(steps) {
                return;
            }
        }
        // The best first; one of each loss is as good as all for a start.
        grown.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        grown.dedup_by(|b, a| a.0 == b.0);
        for (_, set) in grown
            .iter()
            .take(self.problem.request.runners_up.saturating_add(2))
        {
            self.visit_set(set, plan);
        }
        first.learn(|steps| self.stats.nodes <= nodes / 2 && self.step(steps));
        let mut walker = LossWalker {
            run: self,
            of_criteria: &sums.of_criteria,
            ideal,
            plan,
        };
        walk(&sums.losses, &mut walker);
    }

    /// Proves what the best sets have by the criteria before `at`, where each is bounded by the direct links
    /// of single devices, and lowers `ideal` to that.
    fn proven_by_degree(
        &mut self,
        at: usize,
        losses: &Losses,
        must: &DeviceSet,
        ideal: &mut [f64],
        plan: &VisitPlan<'_, 'o, 'a>,
    ) -> Proof {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *self.problem;
        let graph = view.graph();
        let mut ids = losses.ids.clone();
        ids.extend(must.iter());
        let devices: DeviceSet = ids.iter().copied().collect();
        let part = Subset {
            graph,
            devices: &devices,
        };
        let bound_of = |criterion: &Criterion<'a>| {
            let (objective, sign) = criterion.exact_sum()?;
            let by_degree = objective.foresight()?.by_degree.as_ref()?;
            by_degree(part, request.pattern.len()).filter(|_| sign > 0.0)
        };
        let bounds: Option<Vec<DegreeBound>> = criteria[..at].iter().map(bound_of).collect();
        let Some(bounds) = bounds else {
            return Proof::None;
        };
        let gbps = |a: usize, b: usize| graph.pair(ids[a], ids[b]).direct.gbps;
        let links = DirectLinks::new(ids.len(), gbps);
        let need = request.pattern.len() - must.len();
        let mut walker = DegreeWalker {
            run: self,
            bounds: &bounds,
            phase: 0,
            goals: Few::new(),
            plan,
        };
        // First come the sets that are better by the first criterion, then those that are better by the second
        // among equals, and so on; the last are those that are equal by all, if there are few.
        for phase in 0..=at {
            walker.phase = phase;
            if !walker.raise_goals() {
                return if phase == at {
                    Proof::OfFirst
                } else {
                    Proof::None
                };
            }
            let mut grown = Grown::new(&links, losses, must.len(), need);
            // A limit that ends this ends the whole search.
            if !grown.grow_all(&mut walker) {
                return Proof::OfAll;
            }
            if let Some((ideal, key)) = ideal.get_mut(phase).zip(walker.key()) {
                *ideal = key;
            }
        }
        Proof::OfAll
    }
}

/// How much is proven before all sets are visited.
enum Proof {
    /// Nothing: any set may be better.
    None,
    /// No set that was not visited is better by the criteria before the first sum over pairs.
    OfFirst,
    /// No set that was not visited is better.
    OfAll,
}

/// Visits the sets that sums over pairs leave a chance.
struct LossWalker<'w, 'p, 'r, 'o, 'a> {
    run: &'w mut SearchRun<'r, 'o, 'a>,
    /// By sum, the number of its criterion.
    of_criteria: &'w [usize],
    /// Upper bounds of all criteria for sets that were not visited yet.
    ideal: &'w [f64],
    plan: &'w VisitPlan<'p, 'o, 'a>,
}

impl Walker for LossWalker<'_, '_, '_, '_, '_> {
    fn cuts(
        &mut self,
        sums: &[Losses],
        least: &dyn Fn(usize) -> f64,
        chosen: &[usize],
        from: usize,
    ) -> bool {
        let run = &*self.run;
        let Some(worst) = run.top.last().filter(|_| run.is_full()) else {
            return false;
        };
        let mut next = self.of_criteria.iter().zip(sums).enumerate().peekable();
        for (at, criterion) in run.problem.criteria.iter().enumerate() {
            let sum = next.next_if(|(_, (of, _))| **of == at);
            let key = sum.map_or(self.ideal[at], |(sum, (_, losses))| {
                losses.key(criterion, least(sum))
            });
            match key.total_cmp(&worst.keys[at]) {
                Ordering::Less => return true,
                Ordering::Greater => return false,
                Ordering::Equal => {}
            }
        }
        // No set is better, and these have higher ids.
        sums[0].lowest(chosen, from) >= worst.set
    }

    fn take(&mut self, sums: &[Losses], _: f64, chosen: &[usize]) {
        let set = sums[0].set(chosen.iter().copied());
        self.run.visit_set(&set, self.plan);
    }

    fn goes_on(&mut self, steps: u64) -> bool {
        self.run.step(steps)
    }
}

/// Visits the sets that the direct links of each device leave a chance.
struct DegreeWalker<'w, 'p, 'r, 'o, 'a> {
    run: &'w mut SearchRun<'r, 'o, 'a>,
    /// By criterion before the first sum over pairs.
    bounds: &'w [DegreeBound],
    /// The number of the criterion by which better sets are sought; after the last, equal ones.
    phase: usize,
    goals: Few<DegreeGoal>,
    plan: &'w VisitPlan<'p, 'o, 'a>,
}

impl DegreeWalker<'_, '_, '_, '_, '_> {
    fn worst(&self) -> Option<&RankedPlacement> {
        self.run.top.last().filter(|_| self.run.is_full())
    }

    /// The key of the last entry by the criterion in question.
    fn key(&self) -> Option<f64> {
        self.worst()?.keys.get(self.phase).copied()
    }

    /// Sets the goals: more than the last entry has by the criterion in question, and as much by those before.
    /// Returns false if other ways than direct links may carry that.
    fn raise_goals(&mut self) -> bool {
        let Some(keys) = self.worst().map(|worst| worst.keys.clone()) else {
            return false;
        };
        self.goals.clear();
        for (at, (&bound, &value)) in self
            .bounds
            .iter()
            .zip(&keys)
            .enumerate()
            .take(self.phase + 1)
        {
            let more = at == self.phase;
            let otherwise = settle(bound.otherwise);
            if value > otherwise || more && value == otherwise {
                self.goals.push(DegreeGoal { bound, value, more });
            } else if more || self.phase == self.bounds.len() {
                return false;
            }
        }
        true
    }
}

impl Grower for DegreeWalker<'_, '_, '_, '_, '_> {
    fn goals(&self) -> &[DegreeGoal] {
        &self.goals
    }

    fn cuts(&mut self, losses: &Losses, loss: f64) -> bool {
        // Before, a set that leaves less may be better by the criterion in question.
        let at = self.bounds.len();
        self.phase == at
            && self.worst().is_some_and(|worst| {
                losses.key(&self.run.problem.criteria[at], loss) < worst.keys[at]
            })
    }

    fn take(&mut self, losses: &Losses, chosen: &[usize]) {
        if !losses.has_lower_twins(chosen) {
            return;
        }
        let set = losses.set(chosen.iter().copied());
        self.run.visit_set(&set, self.plan);
        self.raise_goals();
    }

    fn goes_on(&mut self, steps: u64) -> bool {
        self.run.step(steps)
    }
}
