//! [`FirstFit`] against a list that is sorted at every turn, and in which every start is added to all jobs that it
//! overtakes.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{HardwareGraph, Pattern, Policy, Refusal, Request, preserve};
use mapa_sched::testing::{TestDriver, whole_machines};
use mapa_sched::{
    Action, Event, FirstFit, Job, JobId, LinkModel, ListOrder, RunTime, Scheduler, Tenant, Time,
    Turn,
};
use proptest::collection::vec;
use proptest::prelude::*;

struct SlowJob {
    job: Job,
    serial: u64,
    seconds: f64,
    overtaken: f64,
    limit: f64,
    hopeful: bool,
}

impl SlowJob {
    fn area(&self) -> f64 {
        self.job.request.pattern.len() as f64 * self.seconds
    }
}

/// The list without a threshold, whose run times do not depend on links.
struct SlowList {
    order: ListOrder,
    /// Patience and pace, and the limit on overtaking, seconds; by default in mean run times.
    ageing: Option<(f64, f64)>,
    overtaking: Option<f64>,
    devices: f64,
    arrived: Vec<Job>,
    waiting: Vec<SlowJob>,
    serial: u64,
    seconds: Vec<f64>,
}

impl SlowList {
    fn mean(&self) -> f64 {
        if self.seconds.is_empty() {
            return 1.0;
        }
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    fn admit(&mut self) {
        let before = self.waiting.len();
        for job in std::mem::take(&mut self.arrived) {
            let seconds = job.run_time.on(None).unwrap().as_secs_f64();
            self.seconds.push(seconds);
            let (serial, limit) = (self.serial, f64::INFINITY);
            self.serial += 1;
            self.waiting.push(SlowJob {
                job,
                serial,
                seconds,
                overtaken: 0.0,
                limit,
                hopeful: true,
            });
        }
        let backlog: f64 = self.waiting.iter().map(SlowJob::area).sum();
        let least = self
            .overtaking
            .unwrap_or(FirstFit::OVERTAKING * self.mean());
        for job in &mut self.waiting[before..] {
            job.limit = (least * self.devices).max(2.0 * backlog);
        }
    }

    fn sort(&mut self, now: Time) {
        let drain = self.waiting.iter().map(SlowJob::area).sum::<f64>() / self.devices;
        let default = (
            FirstFit::PATIENCE * self.mean(),
            FirstFit::PACE * self.mean(),
        );
        let (patience, pace) = self.ageing.unwrap_or(default);
        let patience = patience.max(drain);
        let order = self.order;
        let rank = |waiter: &SlowJob| {
            let waited = now.since(waiter.job.arrived).as_secs_f64();
            let weight = 1.0 + (waited - patience).max(0.0) / pace;
            let (k, seconds) = (waiter.job.request.pattern.len() as f64, waiter.seconds);
            match order {
                ListOrder::Shortest => [seconds / weight, 0.0],
                ListOrder::SmallestArea => [k * seconds / weight, 0.0],
                ListOrder::Largest => [-k * weight, -seconds * weight],
                ListOrder::LargestArea => [-k * seconds * weight, 0.0],
                ListOrder::LargestFifo => [-k * weight, 0.0],
                _ => [0.0, 0.0],
            }
        };
        self.waiting.sort_by(|a, b| {
            let [own, other] = [rank(a), rank(b)];
            let ranks = own[0]
                .total_cmp(&other[0])
                .then(own[1].total_cmp(&other[1]));
            ranks.then(a.serial.cmp(&b.serial))
        });
    }

    /// Starts or rejects a job. Returns whether it leaves the list.
    fn try_one(&mut self, at: usize, turn: &mut Turn<'_>) -> bool {
        let job = &self.waiting[at].job;
        match turn.start(Tenant::Job(job.id), preserve(), &job.request) {
            Ok(_) => {
                let started = self.waiting.remove(at);
                let earlier = self
                    .waiting
                    .iter_mut()
                    .filter(|other| other.serial < started.serial);
                earlier.for_each(|other| other.overtaken += started.area());
                true
            }
            Err(why @ Refusal::Infeasible(_)) => {
                turn.reject(job.id, why);
                self.waiting.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// Starts overdue jobs. Returns whether others may start, those from `next` on.
    fn serve_overdue(&mut self, next: &mut usize, turn: &mut Turn<'_>) -> bool {
        loop {
            let overdue = self
                .waiting
                .iter()
                .enumerate()
                .filter(|(_, job)| job.hopeful && job.overtaken > job.limit);
            let Some((at, _)) = overdue.min_by_key(|(_, job)| job.serial) else {
                return true;
            };
            let request = self.waiting[at].job.request.clone();
            if self.try_one(at, turn) {
                *next -= usize::from(at < *next);
                continue;
            }
            let has_place = turn
                .views()
                .any(|view| preserve().decide(&request, &view.as_if_idle()).is_ok());
            if turn.fleet().tenants().next().is_some() && has_place {
                return false;
            }
            self.waiting[at].hopeful = false;
        }
    }
}

impl Scheduler for SlowList {
    fn name(&self) -> &str {
        "slow-list"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.arrived.push(job),
            event => {
                if let Some(job) = event.leaves() {
                    self.arrived.retain(|arrived| arrived.id != job);
                    self.waiting.retain(|waiter| waiter.job.id != job);
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.admit();
        self.sort(now);
        let mut at = 0;
        while self.serve_overdue(&mut at, turn) && at < self.waiting.len() {
            if !self.try_one(at, turn) {
                at += 1;
            }
        }
    }
}

/// Jobs of whole seconds, so that sums of areas are exact: many at one moment, and some that arrived long before they are
/// told of.
fn jobs(of: impl Strategy<Value = Pattern>) -> impl Strategy<Value = Vec<(Time, Job)>> {
    let one = (
        0u64..4,
        of,
        1u64..9,
        prop_oneof![4 => Just(0u64), 1 => 1u64..30],
    );
    vec(one, 1..60).prop_map(|rows| {
        let mut told = 30;
        let job = |(id, (gap, pattern, seconds, before)): (u64, _)| {
            told += gap;
            let mut job = Job::new(JobId(id), Request::new(pattern));
            job.arrived = Time::from_secs(told - before);
            job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
            (Time::from_secs(told), job)
        };
        (0..).zip(rows).map(job).collect()
    })
}

fn run(
    machines: &[Arc<HardwareGraph>],
    scheduler: &mut dyn Scheduler,
    jobs: &[(Time, Job)],
) -> Vec<(Time, Action)> {
    let mut driver = TestDriver::new(machines.iter().cloned());
    for (told, job) in jobs {
        driver.at(*told, Event::Arrived(job.clone()));
    }
    driver.run(scheduler);
    driver.log
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    #[test]
    fn a_list_by_classes_does_what_a_sorted_list_does(
        machines in whole_machines(), jobs in jobs(patterns(1..=5)), order in proptest::sample::select(ListOrder::ALL.to_vec()),
        ageing in proptest::option::of((0u64..30, 1u64..20)), overtaking in proptest::option::of(0u64..20),
    ) {
        let mut fast = FirstFit::new(order).model(LinkModel::None).max_slowdown(f64::INFINITY).placed_by(preserve());
        if let Some((patience, pace)) = ageing {
            fast = fast.ageing(Duration::from_secs(patience), Duration::from_secs(pace));
        }
        if let Some(limit) = overtaking {
            fast = fast.overtaking(Duration::from_secs(limit));
        }
        let mut slow = SlowList {
            order,
            ageing: ageing.map(|(patience, pace)| (patience as f64, pace as f64)),
            overtaking: overtaking.map(|limit| limit as f64),
            devices: machines.iter().map(|machine| machine.wholes().len()).sum::<usize>() as f64,
            arrived: Vec::new(),
            waiting: Vec::new(),
            serial: 0,
            seconds: Vec::new(),
        };
        prop_assert_eq!(run(&machines, &mut fast, &jobs), run(&machines, &mut slow, &jobs));
    }
}
