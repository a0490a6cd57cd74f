//! Queues in other orders, against sorting anew at every instant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{HardwareGraph, Pattern, Policy, Refusal, Request, lowest_id, preserve};
use mapa_sched::{
    Action, BuiltIn, Event, Job, JobId, Order, Queue, RunTime, Scheduler, Tenant, Time, Turn,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::driver::Driver;
use crate::machines::{joined, whole_machines};

/// The same the slow way: all that wait are sorted, and asked one after another.
struct Sorted<K> {
    waiting: Vec<Job>,
    key: fn(&Job) -> K,
    first_fit: bool,
}

impl<K: Ord> Scheduler for Sorted<K> {
    fn name(&self) -> &str {
        "sorted"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            Event::Cancelled(job) | Event::Failed(job) => {
                self.waiting.retain(|waiting| waiting.id != job)
            }
            _ => {}
        }
    }

    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        self.waiting
            .sort_by_key(|job| ((self.key)(job), job.arrived, job.id));
        let mut blocked = false;
        self.waiting.retain(|job| {
            if blocked {
                return true;
            }
            match turn.start(Tenant::Job(job.id), preserve(), &job.request) {
                Ok(_) => return false,
                Err(why @ Refusal::Infeasible(_)) => {
                    turn.reject(job.id, why);
                    return false;
                }
                Err(_) => blocked = !self.first_fit,
            }
            true
        });
    }
}

/// The gap before a job, what it asks for, whether it is sensitive, its seconds, its priority, when
/// it withdraws.
type Row = (u64, Pattern, bool, Option<u64>, i64, Option<u64>);

/// Jobs with the second at which they withdraw, if they do.
fn jobs() -> impl Strategy<Value = Vec<(Job, Option<u64>)>> {
    let one = (
        0u64..4,
        patterns(1..=5),
        any::<bool>(),
        option::weighted(0.8, 1u64..6),
        -2i64..3,
        option::weighted(0.2, 0u64..8),
    );
    vec(one, 1..14).prop_map(|rows| {
        let mut arrives = 0;
        let job = |(id, row): (u64, Row)| {
            let (gap, pattern, sensitive, length, priority, cancelled) = row;
            arrives += gap;
            let mut job = Job::new(JobId(id), Request::new(pattern).sensitive(sensitive));
            (job.arrived, job.priority) = (Time::from_secs(arrives), priority);
            job.run_time = length.map_or(RunTime::Unknown, |length| {
                RunTime::Fixed(Duration::from_secs(length))
            });
            (job, cancelled.map(|after| arrives + after))
        };
        (0..).zip(rows).map(job).collect()
    })
}

fn run(
    machines: &[Arc<HardwareGraph>],
    scheduler: &mut dyn Scheduler,
    jobs: &[(Job, Option<u64>)],
) -> Vec<(Time, Action)> {
    let mut driver = Driver::new(machines.iter().cloned());
    for (job, cancelled) in jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
        if let Some(cancelled) = cancelled {
            driver.at(Time::from_secs(*cancelled), Event::Cancelled(job.id));
        }
    }
    driver.run(scheduler);
    driver.log
}

type Key = (i64, Duration);
type ByKey = fn(&Job) -> Key;

fn by_arrival(_: &Job) -> Key {
    (0, Duration::ZERO)
}

fn by_length(job: &Job) -> Key {
    job.run_time
        .on(None)
        .map_or((1, Duration::ZERO), |length| (0, length))
}

fn by_size(job: &Job) -> Key {
    (job.request.pattern.len() as i64, Duration::ZERO)
}

fn by_priority(job: &Job) -> Key {
    (-job.priority, Duration::ZERO)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_order_is_that_of_sorting_anew(machines in whole_machines(), jobs in jobs()) {
        let orders: [(Order, ByKey); 5] = [
            (Order::Arrival, by_arrival),
            (Order::ShortestFirst, by_length),
            (Order::SmallestFirst, by_size),
            (Order::Priority, by_priority),
            (Order::by(|a, b| by_size(b).cmp(&by_size(a))), |job| (-by_size(job).0, Duration::ZERO)),
        ];
        for (order, key) in orders {
            for first_fit in [false, true] {
                let queue = Queue::new(preserve(), order.clone());
                let mut queue = if first_fit { queue.first_fit() } else { queue };
                let orders = run(&machines, &mut queue, &jobs);
                let expected = run(&machines, &mut Sorted { waiting: Vec::new(), key, first_fit }, &jobs);
                prop_assert_eq!(orders, expected, "{:?}, first fit: {}", order, first_fit);
            }
        }
    }

    #[test]
    fn a_policy_or_a_choice_of_it_give_the_same_orders(machines in whole_machines(), jobs in jobs()) {
        let by_policy = run(&machines, &mut Queue::new(preserve(), Order::SmallestFirst).first_fit(), &jobs);
        let choice = Queue::choosing(|job, turn| turn.decide(preserve(), &job.request), Order::SmallestFirst);
        prop_assert_eq!(by_policy, run(&machines, &mut choice.first_fit(), &jobs));
    }
}

#[test]
fn every_built_in_scheduler_carries_its_name_and_runs() {
    for built_in in BuiltIn::ALL {
        let policy: Box<dyn Policy> = Box::new(lowest_id());
        let mut scheduler = BuiltIn::named(built_in.name, policy).unwrap();
        let with_policy = format!("{}, lowest-id", built_in.name);
        assert_eq!(
            scheduler.name(),
            if built_in.policy.is_some() {
                built_in.name
            } else {
                &with_policy
            }
        );
        let job = |id: u64, devices| {
            let mut job = Job::new(JobId(id), Request::new(Pattern::ring(devices)));
            job.run_time = RunTime::Fixed(Duration::from_secs(10 - id));
            job.priority = id as i64;
            (job, None)
        };
        // Four devices: the second job does not fit beside the first, the third does.
        let orders = run(
            &[joined(&[1.0; 4])],
            &mut *scheduler,
            &[job(0, 3), job(1, 2), job(2, 1), job(3, 5)],
        );
        let placed = orders.iter().filter_map(|(at, order)| match order {
            Action::Place { tenant, .. } => Some((tenant.job().0, at.0 / 1_000_000_000)),
            _ => None,
        });
        let starts: BTreeMap<u64, u64> = placed.collect();
        let expected = match built_in.name {
            "fifo" | "foresight" | "energy" | "energy-plan" | "slo" | "slo-replay" => {
                [(0, 0), (1, 10), (2, 10)]
            }
            "easy-backfill"
            | "conservative-backfill"
            | "pcie-aware"
            | "first-gpu"
            | "pcie-plan"
            | "case"
            | "case-balanced"
            | "slurm-mig" => [(0, 0), (1, 10), (2, 0)],
            _ => [(0, 9), (1, 0), (2, 0)],
        };
        assert_eq!(starts, expected.into(), "{}", built_in.name);
        let rejected = orders
            .iter()
            .filter(|(_, order)| matches!(order, Action::Reject { job: JobId(3), .. }));
        assert_eq!(rejected.count(), 1, "{}", built_in.name);
    }
    assert!(BuiltIn::named("lifo", Box::new(lowest_id())).is_err());
}
