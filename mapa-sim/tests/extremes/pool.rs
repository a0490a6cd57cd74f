//! Extreme values of workloads, runs and what is measured of them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mapa_core::{HardwareGraph, Objective, Pattern, Request};
use mapa_sched::{Assignment, Fleet, Job, JobId, JobLimitTable, SCHEDULERS, Time};
use mapa_sim::*;

use crate::shared::{Extreme, values};

values!(ByBandwidth: Objective::values().into_iter().step_by(3).map(ByBandwidth::new));
values!(Column: [Column::Integers(vec![]), Column::Integers(vec![Some(i64::MIN), None]), Column::Numbers(vec![Some(f64::NAN), Some(f64::INFINITY)]), Column::Texts(vec![Some("\0\u{202e},\"\n".to_owned())]), Column::Flags(vec![None; 3])]);
values!(Error: [Error::malformed("\u{202e}"), Error::malformed("")].into_iter().chain(read_jobs("x").err()));
values!(ExecutionRow: executions());
values!(Fragmentation: [0, 1, 5, usize::MAX].map(Fragmentation::new));
values!(Generator: [Generator::mapa(), Generator::mapa_six(), of_jobs(0), of_jobs(usize::MAX)]);
values!(Group: SUMMARY.groups.clone());
values!(GroupSize: [GroupSize::Pooled, GroupSize::Several, GroupSize::Of(0), GroupSize::Of(usize::MAX)]);
values!(Jobs: [Jobs::All, Jobs::Several, Jobs::SensitiveSeveral, Jobs::Sensitive]);
values!(Measure: MEASURES.iter().copied());
values!(Occupancy: [Occupancy::default()]);
values!(OverTime: [OverTime::default()]);
values!(Outcome: [Outcome::default(), RUN.0.clone(), strange()]);
values!(Profile: [Profile::new(""), Profile { pcie_gbps: f64::NAN, pcie_alpha: f64::MAX, throughput: BTreeMap::from([(mapa_core::mig::Size::new(u8::MAX, 0), f64::MIN_POSITIVE)]), ..Profile::new("\0") }].into_iter().chain(Profile::tang()));
values!(Row: RUN.1.iter().cloned().chain(RUN.1.iter().map(strange_row)));
values!(Run: Outcome::values().into_iter().flat_map(|outcome| outcome.runs));
values!(RunTimes: [Generator::mapa().run_times]);
values!(Scorer: [Scorer::new()]);
values!(Simulated<'static>: [Simulated { outcome: &RUN.0, rows: &RUN.1, fleet: &RUN.2 }, Simulated { outcome: &RUN.0, rows: &[], fleet: &NO_MACHINE }]);
values!(Simulation<'static>: Fleet::values().into_iter().map(|fleet| Simulation::new(&WORKLOAD, fleet)));
values!(Submission: submissions());
values!(Summary: [SUMMARY.clone()]);
values!(Table: [Table::default(), OverTime::default().table(), SUMMARY.table()]);
values!(TaskPlan: [TaskPlan::new(Duration::MAX, ring(2), Duration::MAX), TaskPlan::new(Duration::ZERO, ring(1), Duration::ZERO).grow(Duration::MAX, ring(3))]);
values!(TraceKind: TraceKind::ALL);
values!(Workload: [Workload::new("", []), WORKLOAD.clone(), Workload::new("\0", submissions())]);

static NO_MACHINE: LazyLock<Fleet> = LazyLock::new(|| Fleet::new([]));

static WORKLOAD: LazyLock<Workload> = LazyLock::new(|| {
    let jobs = [(1, 1), (2, 10), (3, 0)].map(|(devices, seconds)| {
        let job = Job::new(JobId(devices), ring(devices as usize));
        Submission::new(job, Duration::from_secs(seconds))
    });
    Workload::new("three", jobs)
});

/// A simulation of three jobs, their rows, and the fleet.
static RUN: LazyLock<(Outcome, Vec<Row>, Fleet)> = LazyLock::new(|| {
    let fleet = || Fleet::new(HardwareGraph::values().into_iter().map(Arc::new));
    let policy = Box::new(mapa_core::greedy());
    let mut scheduler =
        SCHEDULERS[0].scheduler(SCHEDULERS[0].name, policy, mapa_sched::LinkModel::Usual);
    let scheduler = scheduler.as_mut().expect("the first scheduler");
    let outcome = Simulation::new(&WORKLOAD, fleet()).run(&mut **scheduler, &Fixed);
    let outcome = outcome.expect("three jobs");
    let rows = Row::of(&outcome, &WORKLOAD, &fleet(), &mut Scorer::new());
    (outcome, rows, fleet())
});

static SUMMARY: LazyLock<Summary> = LazyLock::new(|| Summary::of(&RUN.0, &RUN.1, &RUN.2));

/// Asks a model of run times for all jobs at all places: functions of a trait are not called by name.
pub(crate) fn ask(execution: &dyn Execution) {
    let (jobs, limits) = (submissions(), JobLimitTable::values());
    for fleet in Fleet::values() {
        for at in Assignment::values() {
            for job in &jobs {
                let _ = execution.slowdown(job, &at, &fleet);
                let all = [(job, &at), (job, &at)];
                for limits in &limits {
                    let _ = execution.slowdowns_under(limits, &all, &fleet);
                }
            }
        }
    }
    for graph in HardwareGraph::values() {
        for device in mapa_core::DeviceId::values() {
            let _ = execution.felt_on(&graph, device);
        }
    }
}

fn ring(devices: usize) -> Request {
    Request::new(Pattern::ring(devices))
}

fn of_jobs(jobs: usize) -> Generator {
    let mut generator = Generator::mapa();
    generator.jobs = jobs;
    generator
}

fn submissions() -> Vec<Submission> {
    let jobs = Job::values().into_iter().enumerate();
    let jobs = jobs.map(|(at, job)| {
        let work = if at % 2 == 0 {
            Duration::MAX
        } else {
            Duration::ZERO
        };
        Submission::new(job, work).task("\u{202e}")
    });
    jobs.collect()
}

/// A run that ends before it begins, of no job.
fn strange() -> Outcome {
    let mut outcome = RUN.0.clone();
    for run in &mut outcome.runs {
        (run.arrived, run.launched) = (Time(u64::MAX), Some(Time(u64::MAX)..Time(0)));
    }
    outcome.waiting = vec![usize::MAX];
    outcome.end = Time(u64::MAX);
    outcome
}

fn strange_row(row: &Row) -> Row {
    let mut row = row.clone();
    (row.arrived, row.started, row.ended) = (Time(u64::MAX), Time(1), Time(0));
    (row.work, row.ran) = (Duration::MAX, Duration::ZERO);
    row.deadline = Some(Time(0));
    row
}
