//! A row per finished job: its times, where it lay, and what that is worth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Candidate, Census, DeviceId, Objective, Pattern, Request, aggregate_gbps, effective_gbps, greedy, ring_packing_gbps,
};
use mapa_core::{HardwareGraph, Policy, Tiers};
use mapa_sched::{Fleet, JobId, Placed, Time};

use crate::outcome::Outcome;
use crate::workload::{Submission, Workload};

/// What a placement is worth on its machine, whoever else is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The pattern's edges by kind of link: double, single, PCIe.
    pub links: Census,
    /// Aggregated bandwidth (Eq. 1), GB/s; 0 for one device.
    pub aggregate_gbps: f64,
    /// The highest that the pattern could have on the idle machine (`BW_IdealAllocation`, section 2.2); 0 for one device. None if
    /// the pattern does not lie on the machine's whole devices, or the search for it reached its limit.
    pub ideal_aggregate_gbps: Option<f64>,
    /// Predicted effective bandwidth (Eq. 2), GB/s. Of one device it is what Eq. 2 makes of no links, 12.335 GB/s.
    pub effective_gbps: f64,
    /// The most rings of NCCL's kind at once, GB/s; none for one device.
    pub ring_packing_gbps: Option<f64>,
}

/// Works out what placements are worth, each once.
#[derive(Debug, Default)]
pub struct Scorer {
    ideals: Vec<(u64, Pattern, Option<f64>)>,
    known: BTreeMap<(u64, Vec<DeviceId>), Vec<(Pattern, Scores)>>,
}

impl Scorer {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it is worth that this pattern lies there.
    #[must_use]
    pub fn scores(&mut self, graph: &HardwareGraph, pattern: &Pattern, placement: &[DeviceId]) -> Scores {
        let here = (graph.fingerprint(), placement.to_vec());
        let known = self.known.get(&here).and_then(|all| all.iter().find(|(own, _)| own == pattern));
        if let Some(&(_, scores)) = known {
            return scores;
        }
        let all = graph.all();
        let candidate = Candidate { view: graph.with_free(&all), pattern, placement };
        let score = |objective: Objective<'_>| objective.score(&candidate);
        let scores = Scores {
            links: Census::of(pattern, placement, graph, &Tiers::PAPER),
            aggregate_gbps: score(aggregate_gbps()),
            ideal_aggregate_gbps: self.ideal(graph, pattern),
            effective_gbps: score(effective_gbps()),
            ring_packing_gbps: (pattern.len() > 1).then(|| score(ring_packing_gbps())),
        };
        self.known.entry(here).or_default().push((pattern.clone(), scores));
        scores
    }

    fn ideal(&mut self, graph: &HardwareGraph, pattern: &Pattern) -> Option<f64> {
        let fingerprint = graph.fingerprint();
        let known = self.ideals.iter().find(|(machine, own, _)| *machine == fingerprint && own == pattern);
        if let Some(&(.., ideal)) = known {
            return ideal;
        }
        let all = graph.all();
        let best = greedy().decide(&Request::new(pattern.clone()), &graph.with_free(&all)).ok();
        let ideal = best.filter(|best| best.search().complete()).and_then(|best| best.best().score("aggregate_gbps"));
        self.ideals.push((fingerprint, pattern.clone(), ideal));
        ideal
    }
}

/// A job that has finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its place in the workload.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// What it runs.
    pub task: Arc<str>,
    /// How many devices it has.
    pub devices: usize,
    /// Whether its speed depends on its links.
    pub sensitive: bool,
    /// When it arrived.
    pub arrived: Time,
    /// When it started.
    pub started: Time,
    /// When it ended.
    pub ended: Time,
    /// How long it would run at full speed.
    pub work: Duration,
    /// How long it ran.
    pub ran: Duration,
    /// Where it ended.
    pub at: Placed,
    /// What that is worth.
    pub scores: Scores,
}

impl Row {
    /// The rows of an outcome, by place in the workload. The fleet is the one it was run on; only its machines count.
    #[must_use]
    pub fn of(outcome: &Outcome, workload: &Workload, fleet: &Fleet, scorer: &mut Scorer) -> Vec<Self> {
        let row = |run: &crate::outcome::Run| {
            let Submission { job, work, task } = workload.jobs.get(run.index)?;
            let at = &run.stays.last()?.at;
            let graph = fleet.machine(at.machine).ok()?.graph();
            Some(Self {
                index: run.index,
                job: run.job,
                task: task.clone(),
                devices: job.request.pattern.len(),
                sensitive: job.request.bandwidth_sensitive,
                arrived: run.arrived,
                started: run.started(),
                ended: run.ended(),
                work: *work,
                ran: run.ran(),
                at: at.clone(),
                scores: scorer.scores(graph, &job.request.pattern, &at.placement),
            })
        };
        outcome.runs.iter().filter_map(row).collect()
    }

    /// From its arrival to its start.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started - self.arrived
    }

    /// From its arrival to its end.
    #[must_use]
    pub fn completion(&self) -> Duration {
        self.ended - self.arrived
    }
}
