//! Run times by effective bandwidth.
//!
//! The paper has no model of run times: "our simulator uses effective bandwidth as a proxy" (section 5.1). Two of its figures bound
//! one: sensitive jobs gain by bandwidth up to 50 GB/s (Fig. 16), and two GPUs joined by a double link run a network up to three
//! times as fast as over PCIe (Fig. 2b). Between those two points the time is taken to be linear in 1 / bandwidth, as that of a
//! program which computes for a while and then sends so many bytes.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use mapa_core::{Candidate, DeviceId, MachineId, Objective, Pattern, Placement, effective_gbps, ring_packing_gbps};
use mapa_sched::{Fleet, Placed};

use super::Execution;
use crate::workload::Submission;

/// T = D (1 + (r − 1) (1/B − 1/50) / (1/10 − 1/50)): D is the job's [work](Submission::work), B what a model of bandwidth says of where it lies,
/// GB/s, taken as at least [`floor_gbps`](Self::floor_gbps) and at most [`full_gbps`](Self::full_gbps), and r its task's ratio: how many times as long it takes at
/// the floor as at full speed. Jobs on one device run for D.
///
/// The floor is there because models know less than links: Eq. 2 predicts 3.2 GB/s for rings whose slowest link carries 12. Without
/// it such predictions, not links, would make the tail.
#[derive(Clone)]
pub struct ByBandwidth {
    model: Objective<'static>,
    /// The ratio of each task, by name. Default: [`RATIOS`](Self::RATIOS).
    pub ratios: BTreeMap<Arc<str>, f64>,
    /// The ratio of all other tasks that are sensitive; and of those that are not. Default: 1.6 and 1.1.
    pub other: (f64, f64),
    /// No job has less. Default: 10 GB/s, what the released code takes PCIe for.
    pub floor_gbps: f64,
    /// More makes no job faster. Default: 50 GB/s (Fig. 16). If it is not above the floor, every job runs at full speed.
    pub full_gbps: f64,
    known: Arc<Mutex<BTreeMap<Where, f64>>>,
}

/// A machine by its fingerprint, a placement in rank order.
type Where = (u64, Vec<DeviceId>);

impl ByBandwidth {
    /// How many times as long the paper's sensitive networks take over PCIe as over a double link: VGG-16 as Fig. 2b's "up to 3x", the
    /// others assumed.
    pub const RATIOS: [(&'static str, f64); 4] =
        [("AlexNet", 2.2), ("Inception-v3", 1.6), ("ResNet-50", 1.6), ("VGG-16", 3.0)];

    /// By the paper's Eq. 2.
    #[must_use]
    pub fn eq_2() -> Self {
        Self::new(effective_gbps())
    }

    /// By ring packing, which needs no fit and never says that more links are worse.
    #[must_use]
    pub fn ring_packing() -> Self {
        Self::new(ring_packing_gbps())
    }

    /// By another model of bandwidth, GB/s.
    #[must_use]
    pub fn new(model: Objective<'static>) -> Self {
        let ratios = Self::RATIOS.into_iter().map(|(task, ratio)| (Arc::from(task), ratio)).collect();
        Self { model, ratios, other: (1.6, 1.1), floor_gbps: 10.0, full_gbps: 50.0, known: Arc::default() }
    }

    /// What says B.
    #[must_use]
    pub fn model(&self) -> &Objective<'static> {
        &self.model
    }

    /// What the model says of where a job lies, GB/s. On several machines it is the least of what the model says of each part and what
    /// a machine sends over the [network](Fleet::with_network); parts of one rank send over the network alone.
    #[must_use]
    pub fn gbps(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        let pattern = &job.job.request.pattern;
        if at.rest.is_empty() {
            return self.gbps_on(pattern, at.machine, &at.placement, fleet);
        }
        let parts = at.parts().filter(|(ranks, ..)| ranks.len() > 1);
        let parts =
            parts.map(|(ranks, machine, placement)| self.gbps_on(&pattern.part(ranks), machine, placement, fleet));
        parts.fold(fleet.network_gbps().unwrap_or(f64::NAN), f64::min)
    }

    fn gbps_on(&self, pattern: &Pattern, machine: MachineId, placement: &Placement, fleet: &Fleet) -> f64 {
        let Ok(machine) = fleet.machine(machine) else { return f64::NAN };
        let graph = machine.graph();
        let score = || {
            let all = graph.all();
            self.model.score(&Candidate { view: graph.with_free(&all), pattern, placement })
        };
        if *pattern != Pattern::ring(pattern.len()) {
            return score();
        }
        let here = (graph.fingerprint(), placement.to_vec());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(here).or_insert_with(score)
    }

    fn ratio(&self, job: &Submission) -> f64 {
        let other = if job.job.request.bandwidth_sensitive { self.other.0 } else { self.other.1 };
        self.ratios.get(&job.task).copied().unwrap_or(other)
    }
}

impl Execution for ByBandwidth {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        if job.devices() < 2 {
            return 1.0;
        }
        if self.floor_gbps.partial_cmp(&self.full_gbps) != Some(Ordering::Less) {
            return 1.0;
        }
        let inverse = 1.0 / self.gbps(job, at, fleet).max(self.floor_gbps).min(self.full_gbps);
        let [full, floor] = [1.0 / self.full_gbps, 1.0 / self.floor_gbps];
        1.0 + (self.ratio(job) - 1.0) * (inverse - full) / (floor - full)
    }
}

impl fmt::Debug for ByBandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByBandwidth").field("model", &self.model).finish_non_exhaustive()
    }
}
