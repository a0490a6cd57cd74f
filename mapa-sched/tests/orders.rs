//! Queues in other orders, against sorting anew at every instant.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{HardwareGraph, Pattern, Refusal, Request, lowest_id, preserve};
use mapa_sched::{
    Action, Event, Job, JobId, NamedScheduler, Order, Queue, RunTime, SCHEDULERS, Scheduler,
    Tenant, Time, Turn,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::{starts_of_three, whole_machines};

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
    let mut driver = TestDriver::new(machines.iter().cloned());
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
    #![proptest_config(mapa_core::testing::cases(300))]

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
fn every_general_scheduler_carries_its_name_and_runs() {
    for row in &SCHEDULERS {
        let expected = match row.name {
            "fifo" => [(0, 0), (1, 10), (2, 10)],
            "easy-backfill" | "conservative-backfill" => [(0, 0), (1, 10), (2, 0)],
            _ => [(0, 9), (1, 0), (2, 0)],
        };
        assert_eq!(starts_of_three(row), expected.into(), "{}", row.name);
    }
    assert!(NamedScheduler::among(&SCHEDULERS, "lifo", Box::new(lowest_id())).is_err());
}
