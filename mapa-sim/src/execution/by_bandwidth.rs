//! Run times by effective bandwidth.
//!
//! The paper has no model of run times: "our simulator uses effective bandwidth as a proxy"
//! (section 5.1). Two of its figures give the end points of a model. Sensitive jobs gain by
//! bandwidth up to 50 GB/s (Fig. 16). Two GPUs joined by a double link run a network up to three
//! times as fast as over PCIe (Fig. 2b). Between these end points the time is assumed to be linear
//! in 1 / bandwidth, as for a program that computes for a while and then sends a fixed number of
//! bytes.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use mapa_core::{
    Candidate, DeviceId, MachineId, Objective, Pattern, Placement, effective_gbps,
    ring_packing_gbps,
};
use mapa_sched::{Assignment, Fleet, Job, JobLimitTable};

use super::{Execution, computing};
use crate::workload::{Submission, ratios};

/// Run times by effective bandwidth: T = D (1 + (r − 1) (1/B − 1/50) / (1/10 − 1/50)).
///
/// - D is the job's [work](Submission::work). Jobs on one device run for D.
/// - B is the bandwidth that a model predicts for the job's devices, GB/s, raised to
///   [`floor_gbps`](Self::floor_gbps) and capped at [`full_gbps`](Self::full_gbps).
/// - r is the ratio of the job's task: its run time at the floor over that at full speed. Of a task
///   without a ratio it is that of the job ([`link_ratio`](mapa_sched::Job::link_ratio)).
///
/// The floor corrects models that predict less than the links carry: Eq. 2 predicts 3.2 GB/s for
/// rings whose slowest link carries 12. Without the floor, the longest run times would come from
/// such predictions.
#[derive(Clone)]
pub struct ByBandwidth {
    model: Objective<'static>,
    /// The ratio of each task, by name. Default: [`RATIOS`](Self::RATIOS).
    pub ratios: BTreeMap<Arc<str>, f64>,
    /// The ratios of tasks that are not in `ratios`, of jobs that have none either: first of
    /// sensitive tasks, then of those that are not. Default: 1.6 and 1.1.
    pub other: (f64, f64),
    /// The least bandwidth of any job. Default: 10 GB/s, the released code's value for PCIe.
    pub floor_gbps: f64,
    /// The bandwidth beyond which no job runs faster. Default: 50 GB/s (Fig. 16). If it is not
    /// above the floor, every job runs at full speed.
    pub full_gbps: f64,
    known: Arc<Mutex<BTreeMap<PlacementId, f64>>>,
}

/// A placement: the fingerprint of the machine's graph, and the devices in rank order.
type PlacementId = (u64, Vec<DeviceId>);

impl ByBandwidth {
    /// The run time of the paper's sensitive networks over PCIe, over that on a double link. VGG-16
    /// has the "up to 3x" of Fig. 2b; the others are assumed.
    pub const RATIOS: [(&'static str, f64); 4] = ratios::RATIOS;

    /// The ratio of a task, if it is one of [`RATIOS`](Self::RATIOS).
    #[must_use]
    pub fn ratio_of(task: &str) -> Option<f64> {
        ratios::ratio_of(task)
    }

    /// Run times by the paper's Eq. 2.
    #[must_use]
    pub fn eq_2() -> Self {
        Self::new(effective_gbps())
    }

    /// Run times by ring packing, which needs no fit, and whose prediction never falls if links are
    /// added.
    #[must_use]
    pub fn ring_packing() -> Self {
        Self::new(ring_packing_gbps())
    }

    /// Run times by a model of bandwidth of your own, which predicts GB/s.
    #[must_use]
    pub fn new(model: Objective<'static>) -> Self {
        let ratios = Self::RATIOS
            .into_iter()
            .map(|(task, ratio)| (Arc::from(task), ratio))
            .collect();
        Self {
            model,
            ratios,
            other: Job::LINK_RATIOS.into(),
            floor_gbps: 10.0,
            full_gbps: 50.0,
            known: Arc::default(),
        }
    }

    /// The model that predicts B.
    #[must_use]
    pub fn model(&self) -> &Objective<'static> {
        &self.model
    }

    /// The bandwidth that the model predicts for a job's devices, GB/s. For a job on several
    /// machines it is the lowest of the predictions for its parts and of what a machine sends over
    /// the [network](Fleet::with_network). Parts of a single rank are left out, as they have no
    /// links.
    #[must_use]
    pub fn gbps(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        let pattern = &job.job.request.pattern;
        // Ranks may share a device.
        let ranks: usize = at.parts().map(|(ranks, ..)| ranks.len()).sum();
        if ranks != pattern.len() {
            return f64::NAN;
        }
        if at.rest.is_empty() {
            return self.gbps_on(pattern, at.machine, &at.placement, fleet);
        }
        let parts = at.parts().filter(|(ranks, ..)| ranks.len() > 1);
        let parts = parts.map(|(ranks, machine, placement)| {
            self.gbps_on(&pattern.part(ranks), machine, placement, fleet)
        });
        parts.fold(fleet.network_gbps().unwrap_or(f64::NAN), f64::min)
    }

    fn gbps_on(
        &self,
        pattern: &Pattern,
        machine: MachineId,
        placement: &Placement,
        fleet: &Fleet,
    ) -> f64 {
        let Ok(machine) = fleet.machine(machine) else {
            return f64::NAN;
        };
        let graph = machine.graph();
        if placement.iter().any(|&id| graph.check(id).is_err()) {
            return f64::NAN;
        }
        // On the idle machine: a model of links does not depend on who else is there.
        let score = || {
            let all = graph.all();
            self.model.score(&Candidate {
                view: graph.with_free(&all),
                pattern,
                placement,
            })
        };
        // Nearly all jobs are rings, and a simulation meets the same placements again and again.
        // Other patterns are not kept: the key would need the whole pattern.
        if *pattern != Pattern::ring(pattern.len()) {
            return score();
        }
        let here = (graph.fingerprint(), placement.to_vec());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(here).or_insert_with(score)
    }

    /// The ratio r of a job's task.
    fn ratio(&self, job: &Submission) -> f64 {
        let other = if job.job.request.is_sensitive() {
            self.other.0
        } else {
            self.other.1
        };
        let known = self.ratios.get(&job.task).copied();
        known.or(job.job.link_ratio).unwrap_or(other)
    }
}

impl Execution for ByBandwidth {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        if job.devices() < 2 {
            return 1.0;
        }
        // Also where one of them is NaN.
        if self.floor_gbps.partial_cmp(&self.full_gbps) != Some(Ordering::Less) {
            return 1.0;
        }
        let inverse = 1.0
            / self
                .gbps(job, at, fleet)
                .max(self.floor_gbps)
                .min(self.full_gbps);
        let [full, floor] = [1.0 / self.full_gbps, 1.0 / self.floor_gbps];
        1.0 + (self.ratio(job) - 1.0) * (inverse - full) / (floor - full)
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        self.slowdown(job, at, fleet) + (computing(guards, job) - 1.0)
    }
}

impl fmt::Debug for ByBandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByBandwidth")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
