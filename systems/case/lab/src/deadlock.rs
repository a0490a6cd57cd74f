//! Processes that ask for more while they hold some: who waits for ever.

use std::collections::BTreeMap;

use mapa_core::lowest_id;
use mapa_front::Error;
use mapa_sched::NamedScheduler;
use mapa_sim::{Fixed, Simulation, TaskPlan, Workload, mean_interval, share_interval, stream};
use mapa_system_case::SCHEDULERS;
use rand::RngExt;

use super::machine::PartitionedGpus;
use super::setting::{BatchSetting, CaseSystem, JobRatio};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

/// Batches for each seed.
const BATCHES: u64 = 4;

/// A kind of batch.
#[derive(Clone, Copy, PartialEq)]
struct DeadlockBatch {
    system: CaseSystem,
    /// Whether one instance is there, and not all of the system.
    is_one: bool,
    /// The share of its jobs that grow.
    grow: f64,
}

const fn kind(system: CaseSystem, is_one: bool, grow: f64) -> DeadlockBatch {
    DeadlockBatch {
        system,
        is_one,
        grow,
    }
}

const KINDS: [DeadlockBatch; 6] = [
    kind(CaseSystem::A, true, 0.1),
    kind(CaseSystem::A, true, 0.3),
    kind(CaseSystem::A, false, 1.0),
    kind(CaseSystem::C, false, 0.1),
    LARGE,
    kind(CaseSystem::C, false, 1.0),
];
const LARGE: DeadlockBatch = kind(CaseSystem::C, false, 0.3);

impl DeadlockBatch {
    fn setting(self) -> BatchSetting {
        BatchSetting {
            gpu: 1.0,
            ..BatchSetting::s1(self.system, JobRatio(0, 1))
        }
    }

    fn machine(self) -> Result<PartitionedGpus, Error> {
        if self.is_one {
            PartitionedGpus::of_one_instance()
        } else {
            PartitionedGpus::of(&self.setting())
        }
    }

    fn name(self) -> String {
        let instances = match self.is_one {
            true => "1 instance".to_owned(),
            false => format!("{} instances", 4 * self.system.gpus()),
        };
        format!("{instances}, {:.0} % grow", 100.0 * self.grow)
    }
}

/// Any number of growing processes on an instance; the same with free choice; one, and one that
/// asks for its peak at once.
const MANAGERS: [&str; 4] = [ANY, FREE, ONE, AT_ONCE];
const ANY: &str = "case,growers=any";
const FREE: &str = "case,growers=any,bind=free";
const ONE: &str = "case";
/// No manager: the name of a batch whose jobs ask for their peaks at once.
const AT_ONCE: &str = "case, peaks at once";

/// A batch of other jobs, of which some ask for half of their memory when half of their task is done.
fn batch(seed: u64, kind: DeadlockBatch, at_once: bool) -> Result<Workload, Error> {
    let mut batch = kind.setting().batch(seed)?;
    let mut grows = stream(seed, "case growth");
    for job in &mut batch.jobs {
        let unit: f64 = grows.random();
        if unit >= kind.grow || at_once {
            continue;
        }
        job.job.grows = true;
        job.tasks = job.tasks.iter().map(in_halves).collect();
    }
    Ok(batch)
}

/// The task with half of its memory at first, and the rest when half of its work is done.
fn in_halves(task: &TaskPlan) -> TaskPlan {
    let demand = task.request.pattern.demands().first().copied();
    let Some(demand) = demand else {
        return task.clone();
    };
    let first = demand.memory_bytes / 2;
    let with = |bytes: u64, warps: u32| {
        let mut request = task.request.clone();
        let demand = demand.memory(bytes).warps(warps);
        request.pattern = request.pattern.with_demand(0, demand);
        request
    };
    TaskPlan::new(task.pause, with(first, demand.warps), task.work)
        .grow(task.work / 2, with(demand.memory_bytes - first, 0))
}

/// The makespan in seconds; `None` if jobs wait for ever.
fn one(seed: u64, kind: DeadlockBatch, manager: &str) -> Result<Option<f64>, Error> {
    let batch = batch(seed, kind, manager == AT_ONCE)?;
    let words = if manager == AT_ONCE { ONE } else { manager };
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id()))
        .map_err(Error::malformed)?;
    let outcome = Simulation::new(&batch, kind.machine()?.fleet)
        .run(scheduler.as_mut(), &Fixed)
        .map_err(Error::malformed)?;
    let end = outcome.runs.iter().map(mapa_sim::Run::ended).max();
    let all = outcome.runs.len() == batch.jobs.len();
    Ok(end.filter(|_| all).map(|end| end.0 as f64 / 1e9))
}

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let ends = on_files(plan, bar, KINDS.len(), |at, seed| {
        let each = MANAGERS.iter().map(|manager| {
            let batches = 0..BATCHES;
            // Batches of one seed have seeds of their own, which no other seed has.
            let seeds = batches.map(|batch| seed.wrapping_add(batch << 32));
            seeds
                .map(|seed| one(seed, KINDS[at], manager))
                .collect::<Result<Vec<_>, _>>()
        });
        each.collect()
    })?;
    let mut section = Section::new("deadlock", "Processes that grow: who waits for ever");
    let mut rows = Vec::new();
    let mut hangs = [0usize; 4];
    let mut faster = Vec::new();
    for (kind, ends) in KINDS.iter().zip(&ends) {
        let name = kind.name();
        let mut row = vec![name.clone()];
        let mut numbers = BTreeMap::new();
        for ((manager, ends), hangs) in MANAGERS.iter().zip(ends).zip(&mut hangs) {
            let all: Vec<Option<f64>> = ends.iter().flatten().copied().collect();
            let hung = all.iter().filter(|value| value.is_none()).count();
            *hangs += hung;
            let share = share_interval(hung, all.len());
            numbers.insert(format!("{manager}: hanging percent"), 100.0 * share.mean);
            if matches!(*manager, ONE | AT_ONCE) {
                let took: Vec<f64> = all.iter().copied().flatten().collect();
                let took = mean_interval(&took);
                numbers.insert(format!("{manager}: makespan seconds"), took.mean);
                row.push(format!("{:.0} %, {:.0} s", 100.0 * share.mean, took.mean));
            } else {
                row.push(format!(
                    "{:.0} % ({:.0} to {:.0})",
                    100.0 * share.mean,
                    100.0 * share.low,
                    100.0 * share.high
                ));
            }
        }
        if *kind == LARGE {
            let mean = |all: &Vec<Option<f64>>| {
                let took: Vec<f64> = all.iter().copied().flatten().collect();
                took.iter().sum::<f64>() / took.len() as f64
            };
            let pairs = ends[2].iter().zip(&ends[3]);
            faster = pairs
                .map(|(one, at_once)| mean(at_once) / mean(one))
                .collect();
        }
        section.insert(name, numbers);
        rows.push(row);
    }
    let faster = mean_interval(&faster);
    let claims = [
        Claim::new(
            "With any number of growing processes on an instance batches hang",
            "not treated",
            &[1, 2, 3],
        )
        .found(
            format!(
                "{} of {} hang",
                hangs[0],
                KINDS.len() as u64 * BATCHES * plan.files as u64
            ),
            None,
            "exact",
            Verdict::of(hangs[0] > 0),
        ),
        Claim::new(
            "With one growing process on an instance none hangs",
            "not treated",
            &[1, 2, 3],
        )
        .found(
            format!("{} hang", hangs[2]),
            None,
            "exact",
            Verdict::of(hangs[2] == 0),
        ),
        Claim::new(
            "16 instances, 30 % grow: to grow is faster than to ask for the peak at once",
            "not treated",
            &[1, 2, 3],
        )
        .found(
            format!("{} times as fast", mean_pm(faster)),
            Some(faster),
            "above 1",
            Verdict::above(faster, 1.0),
        ),
    ];
    let header = [
        "batch",
        "any number grow",
        "any number, free choice",
        "one an instance",
        "peaks at once",
    ];
    Ok(section
        .claims(claims)
        .text(format!(
            "Batches without isolated jobs, and no time on the host: 32 jobs on one or four instances, 128 on sixteen. Some jobs hold half of their memory, and ask for the other half when half of their task is done; none knows when. Two that hold and ask on \
             one instance can wait for each other for ever. The remedy: one process an instance may grow, and it waits only for tasks that ask once for all and end. Shares of hanging \
             batches with 95 % intervals (Wilson), of {} batches each; makespans are means.",
            BATCHES * plan.files as u64
        ))
        .table(header, rows)
        .text(
            "Where few grow the remedy costs nothing. Where all grow it takes them one by one, and to ask for the peak at once is faster; the manager does not change its rule by itself.",
        ))
}
