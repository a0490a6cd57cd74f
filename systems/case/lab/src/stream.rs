//! A stream of jobs: whether isolated jobs starve, and what draining costs.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::{Demand, Pattern, Request, lowest_id};
use mapa_front::Error;
use mapa_sched::{Job, JobId, NamedScheduler, Time};
use mapa_sim::{
    Fixed, Interval, Simulation, Submission, TaskPlan, Workload, mean_interval, stream,
};
use mapa_system_case::SCHEDULERS;
use rand::RngExt;

use super::machine::PartitionedGpus;
use super::setting::{BatchSetting, CaseSystem, JobRatio, bytes};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

/// Seconds of a stream, and of a task; a task is a job.
const LASTS: f64 = 1200.0;
const TASK: f64 = 5.0;
/// Seconds between isolated jobs, and how long one runs.
const EVERY: f64 = 60.0;
const ISOLATED: f64 = 10.0;
/// Tasks on an instance on average.
const LOADS: [f64; 3] = [1.0, 2.0, 3.0];
const MANAGERS: [&str; 3] = ["case", "case,drain=on", "case-balanced"];

fn after(rng: &mut impl RngExt, mean: f64) -> f64 {
    let unit: f64 = rng.random();
    -mean * (1.0 - unit).ln()
}

/// Small tasks by a Poisson process, so that a given number are on each of four instances on
/// average, and an isolated job once a minute.
fn jobs(seed: u64, load: f64) -> Workload {
    let mut rng = stream(seed, "case stream");
    let mut all = Vec::new();
    let gap = TASK / (4.0 * load);
    let mut at = after(&mut rng, gap);
    while at < LASTS {
        all.push((at, Some(after(&mut rng, TASK))));
        at += after(&mut rng, gap);
    }
    let mut at = EVERY;
    while at < LASTS {
        all.push((at, None));
        at += EVERY;
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let jobs = (0..).zip(all).map(|(id, (at, task))| {
        let any = Demand::any().memory(bytes(1.0));
        let seconds = Duration::from_secs_f64;
        let (request, tasks, work) = match task {
            Some(takes) => {
                let request = Request::new(Pattern::single(any.shared().warps(64)));
                let plan = TaskPlan::new(Duration::ZERO, request.clone(), seconds(takes));
                (request, vec![plan], Duration::ZERO)
            }
            None => (
                Request::new(Pattern::single(any)),
                vec![],
                seconds(ISOLATED),
            ),
        };
        let mut job = Job::new(JobId(id), request);
        job.isolated = task.is_none();
        job.arrived = Time((at * 1e9) as u64);
        Submission::new(job, work).tasks(tasks)
    });
    Workload::new("stream", jobs)
}

/// Mean wait of isolated jobs, the longest, and the mean turnaround of the others, seconds.
type StreamWaits = [f64; 3];

fn one(seed: u64, load: f64, manager: &str) -> Result<StreamWaits, Error> {
    let workload = jobs(seed, load);
    let machine = PartitionedGpus::of(&BatchSetting::s1(CaseSystem::A, JobRatio(1, 1)))?;
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, manager, Box::new(lowest_id()))
        .map_err(Error::malformed)?;
    let outcome = Simulation::new(&workload, machine.fleet)
        .run(scheduler.as_mut(), &Fixed)
        .map_err(Error::malformed)?;
    let (mut waits, mut turns) = (Vec::new(), Vec::new());
    for run in &outcome.runs {
        if workload.jobs[run.index].job.isolated {
            waits.push(run.waited().as_secs_f64());
        } else {
            turns.push((run.ended() - run.arrived).as_secs_f64());
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    Ok([
        mean(&waits),
        waits.iter().copied().fold(0.0, f64::max),
        mean(&turns),
    ])
}

pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let kinds: Vec<f64> = LOADS.to_vec();
    let numbers = on_files(plan, bar, kinds.len(), |at, seed| {
        MANAGERS
            .iter()
            .map(|manager| one(seed, kinds[at], manager))
            .collect()
    })?;
    let of = |load: usize, manager: usize, at: usize| -> Interval {
        let values: Vec<f64> = numbers[load][manager]
            .iter()
            .map(|values| values[at])
            .collect();
        mean_interval(&values)
    };
    let mut section = Section::new("stream", "A stream of small tasks: who starves");
    let mut rows = Vec::new();
    for (load, tasks) in LOADS.iter().enumerate() {
        // Tasks of the other three instances do not matter: the one that is emptiest is waited for.
        let alone = TASK / tasks * (tasks.exp() - 1.0);
        for (manager, name) in MANAGERS.iter().enumerate() {
            let values = [0, 1, 2].map(|at| of(load, manager, at));
            let keys = ["mean_wait_s", "longest_wait_s", "others_turnaround_s"];
            let means = keys.into_iter().zip(values.map(|interval| interval.mean));
            section.insert(
                format!("{name} at {tasks}"),
                means.collect::<BTreeMap<_, _>>(),
            );
            let mut row = vec![format!("{tasks}"), (*name).to_owned()];
            row.extend(values.map(mean_pm));
            row.push(format!("{alone:.1}"));
            rows.push(row);
        }
    }
    let gaps: Vec<f64> = numbers[2][1]
        .iter()
        .zip(&numbers[2][0])
        .map(|(drained, plain)| drained[0] / plain[0])
        .collect();
    let gap = mean_interval(&gaps);
    let claim = Claim::new(
        "With three tasks an instance, draining halves the wait of isolated jobs",
        "none: MAPA's own",
        &[5],
    )
    .found(
        mean_pm(gap),
        Some(gap),
        "at most 0.5 of the wait without",
        Verdict::at_most(gap, 0.5),
    );
    let header = [
        "tasks an instance",
        "manager",
        "isolated: mean wait, s",
        "longest wait, s",
        "others: turnaround, s",
        "one instance empties after, s",
    ];
    Ok(section
        .claims([claim])
        .text(
            "One A30, twenty minutes. Tasks of 1 GB and 5 s (exponential) arrive by a Poisson process, an isolated job of 10 s once a minute. Without draining an \
             isolated job waits until an instance happens to be empty: with a tasks on average and tasks that arrive at rate r one instance empties after \
             (e^a - 1) / r on average, in the last column. Algorithm 2 spreads tasks over all four.",
        )
        .table(header, rows))
}
