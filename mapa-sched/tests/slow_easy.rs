//! EASY as its documentation says, the slow way: a copy of the fleet for every moment, every machine
//! asked, every job tried, nothing kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::testing::patterns;
use mapa_core::{BuiltIn, Decision, DeviceSet, Policy, Refusal};
use mapa_sched::testing::{WatchedScheduler, joined, whole_machines};
use mapa_sched::{Easy, Event, Fleet, Job, JobId, Scheduler, Tenant, Time, Turn, length};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::backfill::{names, placed_and_rejected, run, shaped};
use crate::counts::exact;

/// Jobs end when they are expected to, so that estimates need no care.
struct SlowEasy<P> {
    policy: P,
    waiting: Vec<Job>,
    ends: BTreeMap<JobId, Time>,
}

/// The head's job and moment, the fleet then, and what jobs that overtook it hold then.
struct Head {
    job: Job,
    at: Time,
    then: Fleet,
    taken: Vec<DeviceSet>,
}

impl<P: Policy> SlowEasy<P> {
    fn head(&self, job: &Job, fleet: &Fleet) -> Option<Head> {
        let mut then = fleet.clone();
        let mut ends: Vec<(Time, JobId)> = self.ends.iter().map(|(&job, &at)| (at, job)).collect();
        ends.sort_unstable();
        let moments: Vec<Time> = ends.iter().map(|(at, _)| *at).collect();
        for at in moments {
            for (_, ended) in ends.iter().filter(|(end, _)| *end == at) {
                then.book(&Event::Finished(*ended)).unwrap();
            }
            if then.decide(&self.policy, &job.request).is_ok() {
                let taken = vec![DeviceSet::new(); then.machines().len()];
                let job = job.clone();
                return Some(Head {
                    job,
                    at,
                    then,
                    taken,
                });
            }
        }
        None
    }

    /// The policy's decision over all machines, of which these devices are left.
    fn limited(&self, job: &Job, fleet: &Fleet, limits: &[DeviceSet]) -> Option<Decision> {
        let views = fleet
            .views()
            .zip(limits)
            .map(|(view, limit)| view.limited_to(limit));
        let found = views.filter_map(|view| self.policy.decide(&job.request, &view).ok());
        found.min_by(|a, b| a.order(b).then(a.stamp().machine.cmp(&b.stamp().machine)))
    }

    fn placed(&self, head: &Head, more: Option<&Decision>) -> Option<Decision> {
        let left = head.then.views().map(|view| {
            let left = view.free() - &head.taken[view.machine().0 as usize];
            match more.filter(|more| more.stamp().machine == view.machine()) {
                Some(more) => &left - &more.placement().set(),
                None => left,
            }
        });
        self.limited(&head.job, &head.then, &left.collect::<Vec<_>>())
    }

    /// A decision with which a job may run on beyond the head's moment.
    fn backfilled(
        &self,
        job: &Job,
        decision: &Decision,
        head: &Head,
        fleet: &Fleet,
    ) -> Option<Decision> {
        if self.placed(head, Some(decision)).is_some() {
            return Some(decision.clone());
        }
        let planned = self.placed(head, None)?;
        let mut limits: Vec<DeviceSet> = fleet.views().map(|view| view.free().clone()).collect();
        let there = &mut limits[planned.stamp().machine.0 as usize];
        *there = &*there - &planned.placement().set();
        let other = self.limited(job, fleet, &limits)?;
        self.placed(head, Some(&other)).is_some().then_some(other)
    }
}

impl<P: Policy> Scheduler for SlowEasy<P> {
    fn name(&self) -> &str {
        "slow-easy"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            event => {
                if let Some(job) = event.leaves() {
                    self.ends.remove(&job);
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut head: Option<Head> = None;
        for job in std::mem::take(&mut self.waiting) {
            let decision = match turn.decide(&self.policy, &job.request) {
                Err(why @ Refusal::Infeasible(_)) => {
                    turn.reject(job.id, why);
                    continue;
                }
                decision => decision.ok(),
            };
            let until = now + length(&job);
            let is_beyond = head.as_ref().is_some_and(|head| until > head.at);
            // The moment of the head has come: nothing overtakes it. It waits for a job that takes no time.
            let has_come = head.as_ref().is_some_and(|head| head.at <= now);
            let chosen = match (&head, decision) {
                _ if has_come => None,
                (Some(head), Some(decision)) if is_beyond => {
                    self.backfilled(&job, &decision, head, turn.fleet())
                }
                (_, decision) => decision,
            };
            let Some(chosen) = chosen else {
                head = head.or_else(|| self.head(&job, turn.fleet()));
                self.waiting.push(job);
                continue;
            };
            if let (true, Some(head)) = (is_beyond, &mut head) {
                let taken = &mut head.taken[chosen.stamp().machine.0 as usize];
                *taken = &*taken | &chosen.placement().set();
            }
            turn.place(Tenant::Job(job.id), chosen).unwrap();
            self.ends.insert(job.id, until);
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    #[test]
    fn easy_on_several_machines_is_what_a_visit_to_everything_gives(
        machines in whole_machines(), jobs in exact(24), shapes in vec(patterns(1..=5), 1..5), name in names(),
    ) {
        // Some take no time: they end at the very moment at which they start.
        let mut jobs = jobs;
        for job in jobs.iter_mut().filter(|job| job.length == 1) {
            (job.length, job.estimate) = (0, Some(0));
        }
        // On machines that are there twice too, where many moments and machines are equal.
        for machines in [machines.clone(), [machines.clone(), machines].concat()] {
            let policy = || BuiltIn::named(name).unwrap();
            let fast = run(&machines, &mut Easy::new(policy()), &jobs, shaped(&shapes));
            let mut slow = SlowEasy { policy: policy(), waiting: Vec::new(), ends: BTreeMap::new() };
            let slow = run(&machines, &mut slow, &jobs, shaped(&shapes));
            prop_assert_eq!(placed_and_rejected(&fast), placed_and_rejected(&slow));
        }
    }
}

#[test]
fn a_thousand_jobs_of_one_request_are_refused_at_once() {
    // The policy is asked about a request, however many jobs have it, and not about each job.
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Counted(Arc<AtomicUsize>);
    impl Policy for Counted {
        fn name(&self) -> &str {
            "counted"
        }
        fn decide(
            &self,
            request: &mapa_core::Request,
            view: &mapa_core::View<'_>,
        ) -> Result<Decision, Refusal> {
            self.0.fetch_add(1, Ordering::Relaxed);
            mapa_core::lowest_id().decide(request, view)
        }
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<crate::counts::Simple> = (0..1000)
        .map(|id| crate::counts::Simple {
            arrives: 0,
            devices: 1 + id % 4,
            length: 10,
            estimate: Some(10),
            cancelled: None,
        })
        .collect();
    let machines = vec![joined(&[1.0; 4]); 3];
    let mut largest = 0;
    let mut before = 0;
    let easy = Easy::new(Counted(asked.clone()));
    let mut watched = WatchedScheduler(easy, |_: &Easy, _, _: &mut Turn<'_>| {
        let now = asked.load(Ordering::Relaxed);
        largest = largest.max(now - before);
        before = now;
    });
    run(&machines, &mut watched, &jobs, crate::backfill::ring);
    // Twelve devices start at most twelve jobs at once, and after each start three machines may be
    // asked about four requests, and about the head.
    assert!(
        largest < 12 * 4 * 3 * 3,
        "{largest} questions at one instant"
    );
}
