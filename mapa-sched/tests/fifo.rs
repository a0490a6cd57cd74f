//! First in, first out, against a model that recomputes everything from the jobs alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{
    BuiltIn, Decision, DeviceSet, HardwareGraph, MachineId, Pattern, Placement, Policy, Reason,
    Refusal, Request, lowest_id, random,
};
use mapa_sched::{Action, Event, Fifo, Job, JobId, RunTime, Scheduler, Tenant, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::{joined, whole_machines};

/// A job, in seconds.
#[derive(Clone, Debug)]
struct Plan {
    arrives: u64,
    request: Request,
    length: u64,
    cancelled: Option<u64>,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let one = (
        0u64..4,
        patterns(1..=5),
        any::<bool>(),
        1u64..6,
        option::weighted(0.3, 0u64..8),
    );
    vec(one, 1..10).prop_map(|rows| {
        let mut arrives = 0;
        let plan = |(gap, pattern, sensitive, length, cancelled): (_, _, _, _, Option<u64>)| {
            arrives += gap;
            let request = Request::new(pattern).sensitive(sensitive);
            Plan {
                arrives,
                request,
                length,
                cancelled: cancelled.map(|after| arrives + after),
            }
        };
        rows.into_iter().map(plan).collect()
    })
}

#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Started(u64, MachineId, Placement),
    Rejected(u64),
    Cancelled,
    WaitsForEver,
}

/// The best of all machines with what runs at that moment taken away, from scratch.
fn decide(
    machines: &[Arc<HardwareGraph>],
    policy: &dyn Policy,
    request: &Request,
    taken: impl Fn(MachineId) -> DeviceSet,
) -> Result<(MachineId, Decision), bool> {
    let ask = |(id, graph): (u32, &Arc<HardwareGraph>)| {
        let free = &graph.all() - &taken(MachineId(id));
        graph
            .with_free(&free)
            .decide(policy, request)
            .map(|decision| (MachineId(id), decision))
    };
    let (can, cannot): (Vec<_>, Vec<_>) = (0..).zip(machines).map(ask).partition(Result::is_ok);
    // The first of equals.
    let best = can
        .into_iter()
        .flatten()
        .min_by(|(_, a), (_, b)| a.order(b));
    best.ok_or(
        cannot
            .iter()
            .all(|answer| matches!(answer, Err(Refusal::Infeasible(_)))),
    )
}

/// What becomes of each job: it starts at the first instant at which all before it have left the
/// queue and the policy has a decision.
fn model(machines: &[Arc<HardwareGraph>], policy: &dyn Policy, plans: &[Plan]) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::new();
    let mut turn = 0;
    for plan in plans {
        turn = plan.arrives.max(turn);
        let end =
            |start: u64, plan: &Plan| (start + plan.length).min(plan.cancelled.unwrap_or(u64::MAX));
        let ends = fates
            .iter()
            .zip(plans)
            .filter_map(|(fate, plan)| match fate {
                Fate::Started(start, ..) => Some(end(*start, plan)),
                _ => None,
            });
        let instants: BTreeSet<u64> = plans
            .iter()
            .flat_map(|plan| [Some(plan.arrives), plan.cancelled])
            .flatten()
            .chain(ends)
            .collect();
        let at = |now: u64| {
            let taken = |machine| {
                let runs = |(fate, plan): (&Fate, &Plan)| match fate {
                    Fate::Started(start, at, placement)
                        if *at == machine && now < end(*start, plan) =>
                    {
                        Some(placement.set())
                    }
                    _ => None,
                };
                fates
                    .iter()
                    .zip(plans)
                    .filter_map(runs)
                    .fold(DeviceSet::new(), |all, set| &all | &set)
            };
            if plan.cancelled.is_some_and(|cancelled| cancelled <= now) {
                return Some(Fate::Cancelled);
            }
            match decide(machines, policy, &plan.request, taken) {
                Ok((machine, decision)) => {
                    Some(Fate::Started(now, machine, decision.placement().clone()))
                }
                Err(true) => Some(Fate::Rejected(now)),
                Err(false) => None,
            }
        };
        let found = instants
            .range(turn..)
            .find_map(|&now| Some((now, at(now)?)));
        // A job that is cancelled before its turn holds no job up.
        let found = if turn == u64::MAX && plan.cancelled.is_some() {
            Some((turn, Fate::Cancelled))
        } else {
            found
        };
        let (left, fate) = found.unwrap_or((u64::MAX, Fate::WaitsForEver));
        turn = left;
        fates.push(fate);
    }
    fates
}

/// The same by the scheduler.
fn run(
    machines: &[Arc<HardwareGraph>],
    fifo: &mut Fifo,
    plans: &[Plan],
) -> (TestDriver, Vec<Fate>) {
    let mut driver = TestDriver::new(machines.iter().cloned());
    for (id, plan) in (0..).map(JobId).zip(plans) {
        let mut job = Job::new(id, plan.request.clone());
        (job.arrived, job.run_time) = (
            Time::from_secs(plan.arrives),
            RunTime::Fixed(Duration::from_secs(plan.length)),
        );
        driver.at(job.arrived, Event::Arrived(job));
        if let Some(cancelled) = plan.cancelled {
            driver.at(Time::from_secs(cancelled), Event::Cancelled(id));
        }
    }
    driver.run(fifo);
    let waits: BTreeSet<JobId> = fifo.waiting().map(|job| job.id).collect();
    let fate = |id| {
        let of_job = |(time, order): &(Time, Action)| {
            let second = time.0 / 1_000_000_000;
            match order {
                Action::Place { tenant, at } if *tenant == Tenant::Job(id) => {
                    Some(Fate::Started(second, at.machine, at.placement.clone()))
                }
                Action::Reject {
                    job,
                    why: Refusal::Infeasible(_),
                } if *job == id => Some(Fate::Rejected(second)),
                _ => None,
            }
        };
        let mut fates = driver.log.iter().filter_map(of_job);
        let fate = fates.next();
        assert!(fates.next().is_none(), "one order a job");
        assert!(
            fate.is_none() || !waits.contains(&id),
            "a job that has left the queue does not wait"
        );
        fate.unwrap_or(if waits.contains(&id) {
            Fate::WaitsForEver
        } else {
            Fate::Cancelled
        })
    };
    let fates = (0..plans.len() as u64).map(JobId).map(fate).collect();
    (driver, fates)
}

fn names() -> impl Strategy<Value = &'static str> {
    // The model knows what is free, and not whose the rest is, which foresight asks.
    let by_free = |policy: &&BuiltIn| !policy.for_instances && policy.name != "foresight";
    let whole = BuiltIn::ALL
        .iter()
        .filter(by_free)
        .map(|policy| policy.name);
    proptest::sample::select(whole.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    #[test]
    fn each_job_starts_at_the_first_instant_at_which_it_can(machines in whole_machines(), plans in plans(), name in names()) {
        let policy = BuiltIn::named(name).unwrap();
        let mut fifo = Fifo::new(BuiltIn::named(name).unwrap());
        let (driver, fates) = run(&machines, &mut fifo, &plans);
        prop_assert_eq!(fates, model(&machines, &policy, &plans));
        let started = driver.placed();
        prop_assert!(started.is_sorted_by_key(|(_, tenant, _)| tenant.job()), "in the order of arrival");
        let left = driver.fleet.views().map(|view| view.graph().len() - view.free().len()).sum::<usize>();
        prop_assert_eq!(left, 0, "all is given back");
    }

    #[test]
    fn the_same_jobs_get_the_same_orders(machines in whole_machines(), plans in plans(), seed in any::<u64>()) {
        let drawn = || Fifo::choosing(move |job, turn| turn.decide(random("placement", seed, job.id.0), &job.request));
        let (a, b) = (run(&machines, &mut drawn(), &plans).0, run(&machines, &mut drawn(), &plans).0);
        prop_assert_eq!(a.log, b.log);
        prop_assert_eq!(a.fleet, b.fleet);
    }
}

fn ring(id: u64, devices: usize) -> Job {
    let mut job = Job::new(JobId(id), Request::new(Pattern::ring(devices)));
    job.run_time = RunTime::Fixed(Duration::from_secs(10));
    job
}

#[test]
fn a_head_that_waits_blocks_and_one_that_is_impossible_does_not() {
    let mut driver = TestDriver::new([joined(&[1.0; 4])]);
    for job in [
        ring(0, 3),
        ring(1, 9),
        ring(2, 2),
        ring(3, 1),
        ring(4, 1),
        ring(5, 1),
    ] {
        driver.at(Time::ZERO, Event::Arrived(job));
    }
    driver.at(Time::from_secs(3), Event::Cancelled(JobId(3)));
    driver.run(&mut Fifo::new(lowest_id()));
    let why = Refusal::Infeasible(Reason::TooFewDevices {
        wanted: 9,
        allowed: 4,
    });
    assert_eq!(
        driver.log[1],
        (Time::ZERO, Action::Reject { job: JobId(1), why })
    );
    let starts: Vec<_> = driver
        .placed()
        .iter()
        .map(|(second, tenant, _)| (*second, tenant.job().0))
        .collect();
    assert_eq!(
        starts,
        [(0, 0), (10, 2), (10, 4), (10, 5)],
        "one device was free from the beginning"
    );
}

#[test]
fn what_a_fifo_chooses_with_may_change_from_job_to_job() {
    let mut driver = TestDriver::new([joined(&[1.0; 2])]);
    for id in 0..3 {
        driver.at(Time::ZERO, Event::Arrived(ring(id, 1)));
    }
    let mut asked = 0;
    let mut fifo = Fifo::choosing(move |job, turn| {
        asked += 1;
        assert_eq!(
            turn.views().map(|view| view.free().len()).sum::<usize>(),
            [2, 1, 0, 2][asked - 1]
        );
        turn.decide(lowest_id(), &job.request)
    });
    assert_eq!(fifo.name(), "fifo");
    driver.run(&mut fifo);
    assert_eq!(
        driver
            .placed()
            .iter()
            .map(|(second, ..)| *second)
            .collect::<Vec<_>>(),
        [0, 0, 10]
    );
}
