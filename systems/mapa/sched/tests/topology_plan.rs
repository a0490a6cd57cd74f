//! The plan for topologies: what it promises of order, waits and repetition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::{machines, patterns};
use mapa_core::{HardwareGraph, Pattern, Request};
use mapa_sched::{
    Action, Event, FirstFit, Job, JobId, LinkModel, ListOrder, RunTime, Scheduler, Tenant, Time,
};
use mapa_system_mapa::{PlanGoal, TopologyPlan, Trust};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;

/// Jobs of these patterns, in order of arrival; or all at once.
fn jobs(of: impl Strategy<Value = Pattern>) -> impl Strategy<Value = Vec<Job>> {
    let ratio = prop_oneof![Just(1.1), Just(1.6), Just(3.0)];
    let one = (0u64..4, of, any::<bool>(), 1u64..90, ratio);
    (vec(one, 1..40), any::<bool>()).prop_map(|(rows, at_once)| {
        let mut arrives = 0;
        let job = |(id, (gap, pattern, sensitive, seconds, ratio)): (u64, _)| {
            arrives += if at_once { 0 } else { gap };
            let mut job = Job::new(JobId(id), Request::new(pattern).sensitive(sensitive));
            job.arrived = Time::from_secs(arrives);
            job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
            job.link_ratio = Some(ratio);
            job
        };
        (0..).zip(rows).map(job).collect()
    })
}

fn rings() -> impl Strategy<Value = Pattern> {
    (1usize..=5).prop_map(Pattern::ring)
}

fn run(
    machines: &[Arc<HardwareGraph>],
    scheduler: &mut dyn Scheduler,
    jobs: &[Job],
) -> Vec<(Time, Action)> {
    let mut driver = TestDriver::new(machines.iter().cloned());
    for job in jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
    }
    driver.run(scheduler);
    driver.log
}

/// When each job starts.
fn starts(log: &[(Time, Action)]) -> BTreeMap<JobId, Time> {
    let mut all = BTreeMap::new();
    for (at, action) in log {
        if let Action::Place {
            tenant: Tenant::Job(job),
            ..
        } = action
        {
            assert!(all.insert(*job, *at).is_none(), "{job} starts twice");
        }
    }
    all
}

fn rejected(log: &[(Time, Action)]) -> BTreeSet<JobId> {
    let job = |(_, action): &(Time, Action)| match action {
        Action::Reject { job, .. } => Some(*job),
        _ => None,
    };
    log.iter().filter_map(job).collect()
}

fn goal() -> impl Strategy<Value = PlanGoal> {
    prop_oneof![
        Just(PlanGoal::Completion),
        Just(PlanGoal::Makespan),
        Just(PlanGoal::Slowdown)
    ]
}

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![
        Just(Trust::Exact),
        Just(Trust::Rough),
        Just(Trust::ClassMeans)
    ]
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(48))]

    /// Every job starts once or is rejected, whatever it asks for, on one machine or three.
    #[test]
    fn nobody_is_lost(
        graph in machines(1..=8), other in machines(1..=8), count in 1usize..=3,
        jobs in jobs(prop_oneof![rings(), patterns(1..=4)]), goal in goal(), trust in trust(),
    ) {
        let all = [Arc::new(graph), Arc::new(other.clone()), Arc::new(other)];
        let machines = &all[..count];
        let mut plan = TopologyPlan::new().goal(goal).trust(trust);
        let log = run(machines, &mut plan, &jobs);
        let (starts, rejected) = (starts(&log), rejected(&log));
        let largest = machines.iter().map(|machine| machine.len()).max().unwrap();
        for job in &jobs {
            prop_assert!(starts.contains_key(&job.id) != rejected.contains(&job.id), "{}", job.id);
            if job.request.pattern.len() > largest {
                prop_assert!(rejected.contains(&job.id));
            }
        }
        prop_assert_eq!(plan.waiting().count(), 0);
    }

    /// The same seed gives the same schedule.
    #[test]
    fn a_seed_has_one_schedule(graph in machines(1..=8), jobs in jobs(rings()), goal in goal(), seed in 0u64..9) {
        let machines = [Arc::new(graph)];
        let once = || run(&machines, &mut TopologyPlan::new().goal(goal).seed(seed), &jobs);
        prop_assert_eq!(once(), once());
    }

    /// If the scheduler knows only class means, the plan is the list that it falls back to.
    #[test]
    fn without_trust_it_is_a_list_with_a_threshold(graph in machines(1..=8), jobs in jobs(rings())) {
        let machines = [Arc::new(graph)];
        let mut plan = TopologyPlan::new().trust(Trust::ClassMeans);
        let mut list = FirstFit::new(ListOrder::Shortest);
        let places = |log: Vec<(Time, Action)>| -> Vec<_> {
            log.into_iter().filter(|(_, action)| matches!(action, Action::Place { .. })).collect()
        };
        prop_assert_eq!(places(run(&machines, &mut plan, &jobs)), places(run(&machines, &mut list, &jobs)));
    }

    /// Where run times do not depend on links, nobody waits for better ones: a job that fits beside
    /// nobody else, on an idle machine, starts.
    #[test]
    fn an_idle_machine_is_not_left_idle(graph in machines(2..=8), jobs in jobs(rings()), none in any::<bool>()) {
        let model = if none { LinkModel::None } else { LinkModel::Usual };
        let machines = [Arc::new(graph)];
        let log = run(&machines, &mut TopologyPlan::new().model(model), &jobs);
        let starts = starts(&log);
        let run = |job: &Job| job.run_time.on(None).unwrap();
        // The driver runs jobs for their run time at full speed.
        let mut moments: Vec<Time> = jobs.iter().map(|job| job.arrived).collect();
        moments.extend(jobs.iter().filter_map(|job| Some(*starts.get(&job.id)? + run(job))));
        for at in moments {
            let started = |job: &&Job| starts.get(&job.id).is_some_and(|start| *start <= at);
            let busy = jobs.iter().filter(started).any(|job| starts[&job.id] + run(job) > at);
            let waits = jobs.iter().any(|job| job.arrived <= at && starts.get(&job.id).is_some_and(|start| *start > at));
            prop_assert!(busy || !waits, "idle at {at:?} while a job waits");
        }
    }

    /// Later arrivals that start before a job hold no more device-time than the limit and one job.
    #[test]
    fn overtaking_is_bounded(graph in machines(4..=8), rows in vec((1usize..=3, 1u64..20), 60..160), large in 1u64..40) {
        let devices = graph.len();
        // One job that wants the whole machine, and a stream of small ones.
        let mut jobs = vec![Job::new(JobId(0), Request::new(Pattern::ring(devices)).sensitive(true))];
        jobs[0].run_time = RunTime::Fixed(Duration::from_secs(large));
        jobs[0].arrived = Time::from_secs(3);
        for (id, (size, seconds)) in (1..).zip(rows) {
            let mut job = Job::new(JobId(id), Request::new(Pattern::ring(size.min(devices))));
            job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
            job.link_ratio = Some(1.0);
            job.arrived = Time::from_secs(id);
            jobs.push(job);
        }
        jobs[0].link_ratio = Some(1.0);
        jobs.sort_by_key(|job| job.arrived);
        let log = run(&[Arc::new(graph)], &mut TopologyPlan::new().ageing(false), &jobs);
        let starts = starts(&log);
        prop_assume!(rejected(&log).is_empty());
        prop_assert_eq!(starts.len(), jobs.len());
        let seconds = |job: &Job| job.run_time.on(None).unwrap().as_secs_f64();
        let area = |job: &Job| seconds(job) * job.request.pattern.len() as f64;
        let passed: f64 = jobs
            .iter()
            .filter(|job| job.arrived > Time::from_secs(3) && starts[&job.id] < starts[&JobId(0)])
            .map(area)
            .sum();
        let most = jobs.iter().map(area).fold(0.0, f64::max);
        let longest = jobs.iter().map(seconds).fold(0.0, f64::max);
        // The most that ran and waited at a moment while it waited.
        let backlog = |at: Time| -> f64 {
            let there = jobs.iter().filter(|job| job.arrived <= at);
            there
                .map(|job| {
                    let start = starts[&job.id].max(at);
                    let end = starts[&job.id] + job.run_time.on(None).unwrap();
                    end.since(start.min(end)).as_secs_f64() * job.request.pattern.len() as f64
                })
                .sum()
        };
        let waits = jobs.iter().map(|job| job.arrived).filter(|at| *at <= starts[&JobId(0)]);
        let drained = waits.map(backlog).fold(0.0, f64::max);
        let limit = (14.0 * longest * devices as f64).max(2.0 * drained);
        prop_assert!(passed <= limit + most, "{passed} {limit}");
    }
}
