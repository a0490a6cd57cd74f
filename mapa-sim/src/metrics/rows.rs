//! A row per finished job: its times, where it lay, and what that is worth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Candidate, Census, Coefficients, DeviceId, MachineId, Objective, Pattern, Placement, Request, aggregate_gbps,
    effective_gbps, greedy, ring_packing_gbps,
};
use mapa_core::{HardwareGraph, Policy, Tiers};
use mapa_sched::{Fleet, JobId, Placed, Time};

use crate::outcome::Outcome;
use crate::table::{Column, Table};
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
    /// Whether Eq. 2 was fitted to such ([`Coefficients::in_domain`]): two to five devices, no bond of more than two links. Outside, its
    /// predictions mean nothing: they may be negative or above what any link carries.
    pub in_domain: bool,
    /// The most rings of NCCL's kind at once, GB/s; none for one device.
    pub ring_packing_gbps: Option<f64>,
}

/// A machine by its fingerprint, a placement in rank order.
type Where = (u64, Vec<DeviceId>);

/// Works out what placements are worth, each once.
#[derive(Debug, Default)]
pub struct Scorer {
    ideals: Vec<(u64, Pattern, Option<f64>)>,
    known: BTreeMap<Where, Vec<(Pattern, Scores)>>,
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
            in_domain: Coefficients::in_domain(pattern, placement, graph),
            ring_packing_gbps: (pattern.len() > 1).then(|| score(ring_packing_gbps())),
        };
        self.known.entry(here).or_default().push((pattern.clone(), scores));
        scores
    }

    /// The same for a job on one machine of a fleet or on several. There an edge of the pattern between machines counts as
    /// PCIe, and in Eq. 1 for what a machine sends over the network; effective bandwidth and ring packing are the least over the
    /// parts of several ranks and the network, which no model was fitted to; an ideal is not known. None if the fleet does not have the machines.
    #[must_use]
    pub fn scores_at(&mut self, fleet: &Fleet, pattern: &Pattern, at: &Placed) -> Option<Scores> {
        if at.rest.is_empty() {
            return Some(self.scores(fleet.machine(at.machine).ok()?.graph(), pattern, &at.placement));
        }
        let network = fleet.network_gbps().unwrap_or(f64::NAN);
        let mut all = Scores {
            links: Census::default(),
            aggregate_gbps: 0.0,
            ideal_aggregate_gbps: None,
            effective_gbps: network,
            in_domain: false,
            ring_packing_gbps: Some(network),
        };
        let (mut double, mut single, mut pcie, mut inside) = (0, 0, 0, 0);
        for (ranks, machine, placement) in at.parts() {
            let part = pattern.part(ranks);
            inside += part.edges().len();
            let own = self.scores(fleet.machine(machine).ok()?.graph(), &part, placement);
            let (x, y, z) = own.links.xyz();
            (double, single, pcie) = (double + x, single + y, pcie + z);
            all.aggregate_gbps += own.aggregate_gbps;
            if part.len() > 1 {
                all.effective_gbps = all.effective_gbps.min(own.effective_gbps);
                all.ring_packing_gbps = all.ring_packing_gbps.zip(own.ring_packing_gbps).map(|(a, b)| a.min(b));
            }
        }
        let between = pattern.edges().len() - inside;
        all.links = Census::from_xyz(double, single, pcie + between as u32);
        all.aggregate_gbps += network * between as f64;
        Some(all)
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

/// What work counts as at least in a bounded slowdown: ten seconds, as Feitelson and Rudolph (1998) have it.
pub const BOUND: Duration = Duration::from_secs(10);

fn ratio(of: Duration, to: Duration) -> Option<f64> {
    (!to.is_zero()).then(|| of.as_secs_f64() / to.as_secs_f64())
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
                scores: scorer.scores_at(fleet, &job.request.pattern, at)?,
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

    /// Its completion time over its work: how many times as long it took as alone and at full speed. None, if it has no work.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        ratio(self.completion(), self.work)
    }

    /// The same with [`BOUND`] in place of shorter work, at least 1: the bounded slowdown of Feitelson and Rudolph (1998), so that
    /// jobs of no length do not outweigh all others. Theirs divides by the time a job ran, which here is part of what policies are
    /// compared by.
    #[must_use]
    pub fn bounded_slowdown(&self) -> f64 {
        ratio(self.completion(), self.work.max(BOUND)).unwrap_or(1.0).max(1.0)
    }

    /// How long it ran over its work: what its links cost it. None, if it has no work.
    #[must_use]
    pub fn execution_slowdown(&self) -> Option<f64> {
        ratio(self.ran, self.work)
    }

    /// Its aggregated bandwidth over the highest that it could have on the idle machine, as Fig. 4 has it. None of one device, and
    /// where the highest is not known.
    #[must_use]
    pub fn share_of_ideal(&self) -> Option<f64> {
        self.scores.ideal_aggregate_gbps.filter(|&ideal| ideal > 0.0).map(|ideal| self.scores.aggregate_gbps / ideal)
    }

    /// These rows as a table: times in seconds, bandwidths in GB/s. `devices` is how many a job has, `placement` the names of its devices
    /// in rank order on `machine` (its first one, of a job on several), `links_*` its pattern's edges by kind, `share_of_ideal` that of
    /// Fig. 4, `in_domain` whether Eq. 2, `effective_gbps`, was fitted to such. The fleet is the one they ran on. O(devices of all jobs).
    #[must_use]
    pub fn table(rows: &[Self], fleet: &Fleet) -> Table {
        let integers =
            |of: &dyn Fn(&Self) -> u64| Column::Integers(rows.iter().map(|row| i64::try_from(of(row)).ok()).collect());
        let numbers = |of: &dyn Fn(&Self) -> Option<f64>| Column::Numbers(rows.iter().map(of).collect());
        let texts = |of: &dyn Fn(&Self) -> String| Column::Texts(rows.iter().map(|row| Some(of(row))).collect());
        let seconds = |of: &dyn Fn(&Self) -> Duration| numbers(&|row| Some(of(row).as_secs_f64()));
        let moment = |of: &dyn Fn(&Self) -> Time| seconds(&|row| of(row) - Time::ZERO);
        let links = |of: fn((u32, u32, u32)) -> u32| integers(&|row| u64::from(of(row.scores.links.xyz())));
        Table::of([
            ("index", integers(&|row| row.index as u64)),
            ("job", integers(&|row| row.job.0)),
            ("task", texts(&|row| row.task.to_string())),
            ("devices", integers(&|row| row.devices as u64)),
            ("sensitive", Column::Flags(rows.iter().map(|row| Some(row.sensitive)).collect())),
            ("arrived_s", moment(&|row| row.arrived)),
            ("started_s", moment(&|row| row.started)),
            ("ended_s", moment(&|row| row.ended)),
            ("work_s", seconds(&|row| row.work)),
            ("ran_s", seconds(&|row| row.ran)),
            ("wait_s", seconds(&Self::waited)),
            ("completion_s", seconds(&Self::completion)),
            ("slowdown", numbers(&Self::slowdown)),
            ("bounded_slowdown", numbers(&|row| Some(row.bounded_slowdown()))),
            ("execution_slowdown", numbers(&Self::execution_slowdown)),
            ("machine", integers(&|row| u64::from(row.at.machine.0))),
            ("placement", texts(&|row| row.names(fleet))),
            ("links_double", links(|(double, ..)| double)),
            ("links_single", links(|(_, single, _)| single)),
            ("links_pcie", links(|(.., pcie)| pcie)),
            ("aggregate_gbps", numbers(&|row| Some(row.scores.aggregate_gbps))),
            ("ideal_aggregate_gbps", numbers(&|row| row.scores.ideal_aggregate_gbps)),
            ("share_of_ideal", numbers(&Self::share_of_ideal)),
            ("effective_gbps", numbers(&|row| Some(row.scores.effective_gbps))),
            ("in_domain", Column::Flags(rows.iter().map(|row| Some(row.scores.in_domain)).collect())),
            ("ring_packing_gbps", numbers(&|row| row.scores.ring_packing_gbps)),
        ])
    }

    /// The names of its devices in rank order; their numbers, if the fleet is another one. On several machines each begins with its
    /// number and a colon.
    fn names(&self, fleet: &Fleet) -> String {
        let part = |(_, machine, placement): (_, MachineId, &Placement)| {
            let graph = fleet.machine(machine).ok().map(|machine| machine.graph());
            let known = |id: DeviceId| graph.filter(|graph| (id.0 as usize) < graph.devices().len());
            let name = |&id: &DeviceId| known(id).map_or_else(|| id.to_string(), |graph| graph.device(id).name.clone());
            let names = placement.iter().map(name).collect::<Vec<_>>().join(" ");
            if self.at.rest.is_empty() { names } else { format!("{machine}: {names}") }
        };
        self.at.parts().map(part).collect::<Vec<_>>().join(", ")
    }
}
