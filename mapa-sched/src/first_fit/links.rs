//! How much slower jobs run on slower links, and where they run fastest.

use std::sync::Arc;

use mapa_core::{
    Candidate, Decision, DeviceId, DeviceSet, HardwareGraph, Objective, Pattern, Policy, Reason,
    Refusal, Request, Rules, criteria::max, effective_gbps, preserved_direct_gbps, when,
};

use super::sets::{Aim, FoundSet, MachineSets};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::turn::Turn;

/// The model by which a scheduler expects run times to depend on links.
#[derive(Clone, Debug, Default)]
pub enum LinkModel {
    /// The scheduler's own default: Eq. 2.
    #[default]
    Usual,
    /// By the bandwidth that this model predicts, GB/s.
    By(Objective<'static>),
    /// None: run times do not depend on links, and no job gains by waiting for better ones.
    None,
}

/// Jobs with equal requests and equal ratios, which get equal answers on one state of the fleet.
#[derive(Clone, Debug)]
pub(super) struct RequestClass {
    request: Request,
    ratio: f64,
    /// How many jobs of the class wait.
    pub(super) jobs: usize,
    /// Whether it was refused on the present state.
    pub(super) refused: bool,
    /// Whether it is a ring on whole devices without constraints, for which tables are made.
    plain: bool,
    /// The most bandwidth that an idle machine has for it, by fingerprint, GB/s.
    best: Vec<(u64, f64)>,
}

impl RequestClass {
    pub(super) fn of(job: &Job) -> Self {
        let request = job.request.clone();
        let ring = Pattern::ring(request.pattern.len());
        // Sensitivity does not change which sets are possible, so it may differ.
        let plain = Request {
            sensitivity: request.sensitivity,
            ..Request::new(ring)
        };
        Self {
            plain: request == plain && !request.pattern.is_empty(),
            ratio: job.link_ratio(),
            request,
            jobs: 0,
            refused: false,
            best: Vec::new(),
        }
    }

    pub(super) fn holds(&self, job: &Job) -> bool {
        self.ratio.to_bits() == job.link_ratio().to_bits() && self.request == job.request
    }
}

/// Whether a job's speed depends on its set of devices enough to be placed by it.
pub(super) fn is_sensitive(job: &Job) -> bool {
    job.request.is_sensitive() && job.request.pattern.len() > 1
}

/// Slowdowns by a model of bandwidth.
pub(super) struct LinkSlowdowns {
    /// `None`: run times do not depend on links.
    model: Option<Objective<'static>>,
    /// Places sensitive jobs where they run fastest, and others where most direct bandwidth stays.
    fastest: Box<dyn Policy>,
    /// The different machines of the fleet, each with its sets if it is small.
    machines: Vec<(Arc<HardwareGraph>, Option<MachineSets>)>,
}

impl LinkSlowdowns {
    pub(super) fn new(model: LinkModel) -> Self {
        let model = match model {
            LinkModel::Usual => Some(effective_gbps()),
            LinkModel::By(model) => Some(model),
            LinkModel::None => None,
        };
        // Without a model of run times, sets are still compared by Eq. 2.
        let by = model.clone().unwrap_or_else(effective_gbps);
        let left = || Rules::new("fastest").prefer(max(preserved_direct_gbps()));
        let sensitive = Rules::new("fastest")
            .prefer(max(by.clone()))
            .then(max(preserved_direct_gbps()));
        let of_links = |request: &Request| request.is_sensitive() && request.pattern.len() > 1;
        Self {
            model,
            fastest: Box::new(when("fastest", of_links, sensitive, left().then(max(by)))),
            machines: Vec::new(),
        }
    }

    /// The policy that places sensitive jobs where they run fastest, and others where most direct
    /// bandwidth stays.
    pub(super) fn fastest(&self) -> &dyn Policy {
        &*self.fastest
    }

    /// Notes the different machines of a fleet. O(machines) the first time, else O(1).
    pub(super) fn learn(&mut self, fleet: &Fleet) {
        if !self.machines.is_empty() {
            return;
        }
        for machine in fleet.machines() {
            let graph = machine.graph();
            // Equal machines share their tables; a fleet has few kinds.
            let known = |(machine, _): &(Arc<HardwareGraph>, _)| {
                machine.fingerprint() == graph.fingerprint()
            };
            if !self.machines.iter().any(known) {
                self.machines.push((graph.clone(), MachineSets::of(graph)));
            }
        }
    }

    /// How many times its run time at full speed a job takes on the best set of the fleet.
    pub(super) fn ideal_slowdown(&mut self, job: &Job, class: &mut RequestClass) -> f64 {
        // Clones of the `Arc`s, as the call below may fill tables of `self`.
        let graphs: Vec<_> = self
            .machines
            .iter()
            .map(|(graph, _)| graph.clone())
            .collect();
        let each = graphs.iter();
        let least = each.map(|graph| self.ideal_slowdown_on(graph, job, class));
        let least = least.fold(f64::INFINITY, f64::min);
        // Only a fleet without machines leaves the infinity of the fold.
        if least.is_finite() { least } else { 1.0 }
    }

    /// How many times its run time at full speed a job takes on the best set of a machine.
    pub(super) fn ideal_slowdown_on(
        &mut self,
        graph: &HardwareGraph,
        job: &Job,
        class: &mut RequestClass,
    ) -> f64 {
        if self.model.is_none() || job.request.pattern.len() < 2 {
            return 1.0;
        }
        let key = graph.fingerprint();
        let known = class.best.iter().find(|(candidate, _)| *candidate == key);
        let gbps = match known {
            Some((_, gbps)) => *gbps,
            None => {
                let gbps = self.most_gbps(graph, class);
                class.best.push((key, gbps));
                gbps
            }
        };
        job.slowdown_at(gbps)
    }

    /// The most bandwidth that the idle machine has for a class; infinite if it has no place for
    /// it.
    fn most_gbps(&mut self, graph: &HardwareGraph, class: &RequestClass) -> f64 {
        let all = ((1u64 << graph.len().min(32)) - 1) as u32;
        if let Some(found) = self.find(graph, class, Aim::Fastest, all) {
            return found.map_or(f64::INFINITY, |found_set| found_set.gbps);
        }
        let Some(model) = &self.model else {
            return f64::INFINITY;
        };
        let all = graph.all();
        let fastest = Rules::new("fastest").prefer(max(model.clone()));
        let decision = fastest.decide(&class.request, &graph.with_free(&all));
        decision.map_or(f64::INFINITY, |decision| self.gbps(graph, &decision))
    }

    /// The bandwidth of a decision by the model, GB/s; infinite if links do not matter.
    fn gbps(&self, graph: &HardwareGraph, decision: &Decision) -> f64 {
        let Some(model) = &self.model else {
            return f64::INFINITY;
        };
        let all = graph.all();
        model.score(&Candidate {
            view: graph.with_free(&all),
            pattern: decision.pattern(),
            placement: decision.placement(),
        })
    }

    /// How many times its run time at full speed a job takes where it was decided to be.
    pub(super) fn slowdown(&self, job: &Job, graph: &HardwareGraph, decision: &Decision) -> f64 {
        if self.model.is_none() || job.request.pattern.len() < 2 {
            return 1.0;
        }
        job.slowdown_at(self.gbps(graph, decision))
    }

    /// The best set of a small machine for a plain class, or that there is none. The outer `None`
    /// says that a policy must decide.
    fn find(
        &mut self,
        graph: &HardwareGraph,
        class: &RequestClass,
        aim: Aim,
        free: u32,
    ) -> Option<Option<FoundSet>> {
        let k = class.request.pattern.len();
        let model = self.model.as_ref()?;
        let mut machines = self.machines.iter_mut();
        let (_, sets) =
            machines.find(|(machine, _)| machine.fingerprint() == graph.fingerprint())?;
        let sets = sets.as_mut().filter(|_| class.plain && k <= graph.len())?;
        Some(sets.best(graph, model, (k, aim), free))
    }

    /// The decision of [`fastest`](Self::fastest) for a job of a class, with its slowdown. On one
    /// machine of up to sixteen whole devices a ring's set is looked up, and the policy only orders
    /// its ranks.
    pub(super) fn decide(
        &mut self,
        job: &Job,
        class: &RequestClass,
        turn: &Turn<'_>,
    ) -> Result<Decision, Refusal> {
        // Tables know nothing of sets that a machine does not offer.
        let [machine] = turn.fleet().machines() else {
            return turn.decide(&*self.fastest, &job.request);
        };
        if machine.graph().offered().is_some() {
            return turn.decide(&*self.fastest, &job.request);
        }
        let view = machine.view();
        // On a larger machine bits are lost here, but it has no tables, so the policy decides
        // there.
        let free = view.free().word(0) as u32;
        let aim = if is_sensitive(job) {
            Aim::Fastest
        } else {
            Aim::MostLeft
        };
        match self.find(machine.graph(), class, aim, free) {
            Some(Some(found)) => {
                let ids = (0..machine.graph().len() as u32).filter(|at| found.set >> at & 1 != 0);
                let set: DeviceSet = ids.map(DeviceId).collect();
                self.fastest.decide(&job.request, &view.limited_to(&set))
            }
            Some(None) if view.free().len() < job.request.pattern.len() => {
                Err(Refusal::Busy(Reason::InUse {
                    wanted: job.request.pattern.len(),
                    free: view.free().len(),
                    allowed: machine.graph().len(),
                }))
            }
            // None of the sets closes a ring, perhaps: the policy says why.
            Some(None) | None => turn.decide(&*self.fastest, &job.request),
        }
    }
}
