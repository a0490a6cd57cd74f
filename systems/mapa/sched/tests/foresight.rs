//! Patience: what it never does, and one head that waits.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{
    Fabric, HardwareGraph, LinkClass, Patience, Pattern, Request, foresight, preserve,
};
use mapa_sched::{Action, Event, Fifo, Fleet, Job, JobId, RunTime, Scheduler, Time, Turn, step};
use mapa_system_mapa::Foresight;
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::whole_machines;
use mapa_sched::testing::{TestDriver, WatchedScheduler};

fn job(id: u64, request: Request, arrives: u64, runs: u64) -> Job {
    let mut job = Job::new(JobId(id), request);
    (job.arrived, job.run_time) = (
        Time::from_secs(arrives),
        RunTime::Fixed(Duration::from_secs(runs)),
    );
    job
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let ring = (1usize..=5).prop_map(Pattern::ring);
    let one = (
        0u64..3,
        prop_oneof![3 => ring, 1 => patterns(1..=5)],
        any::<bool>(),
        1u64..9,
    );
    vec(one, 1..16).prop_map(|rows| {
        let mut arrives = 0;
        let job = |(id, (gap, pattern, sensitive, runs)): (u64, (u64, Pattern, bool, u64))| {
            arrives += gap;
            job(
                id,
                Request::new(pattern).sensitive(sensitive),
                arrives,
                runs,
            )
        };
        (0..).zip(rows).map(job).collect()
    })
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

/// Asserts after each instant that a queue head waits only for a running job.
fn watched(scheduler: Foresight) -> impl Scheduler {
    WatchedScheduler(
        scheduler,
        |foresight: &Foresight, now: Time, turn: &mut Turn<'_>| {
            let idle = turn.fleet().tenants().next().is_none();
            assert!(
                !idle || foresight.waiting().len() == 0,
                "at {now} the machine is idle, and a job waits"
            );
        },
    )
}

fn keen() -> Patience {
    Patience {
        kappa: 0.0,
        slowdown: 9.0,
        ..Patience::default()
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(100))]

    #[test]
    fn a_head_starts_no_later_than_the_machine_is_idle_and_no_job_is_overtaken(
        machines in whole_machines(), jobs in jobs(), queue in 0usize..4, known in any::<bool>(), keen_ones in any::<bool>(),
    ) {
        let patience = if keen_ones { keen() } else { Patience::default() };
        let scheduler = Foresight::new(foresight()).patience(Some(patience)).queue(queue);
        let scheduler = if known { scheduler.known_ends() } else { scheduler };
        let log = run(&machines[..1], &mut watched(scheduler), &jobs);
        let left = log.iter().filter_map(|(_, order)| match order {
            Action::Place { tenant, .. } => Some(tenant.job()),
            Action::Reject { job, .. } => Some(*job),
            _ => None,
        });
        prop_assert!(left.eq(jobs.iter().map(|job| job.id)), "one after another, all of them");
    }

    #[test]
    fn without_patience_it_is_first_in_first_out(machines in whole_machines(), jobs in jobs()) {
        let fifo = run(&machines, &mut Fifo::new(foresight()), &jobs);
        let without = Foresight::new(foresight()).patience(None);
        let gains_nothing = Patience { slowdown: 1.0, kappa: 0.0, ..Patience::default() };
        let indifferent = Foresight::default().patience(Some(gains_nothing));
        for mut scheduler in [without, indifferent] {
            prop_assert_eq!(&fifo, &run(&machines, &mut scheduler, &jobs));
        }
    }

    #[test]
    fn on_several_machines_it_is_first_in_first_out(machine in whole_machines(), jobs in jobs()) {
        let machines = [machine[0].clone(), machine[0].clone()];
        let mut patient = Foresight::new(preserve()).patience(Some(keen())).queue(3).known_ends();
        prop_assert_eq!(run(&machines, &mut Fifo::new(preserve()), &jobs), run(&machines, &mut patient, &jobs));
    }
}

/// Two pairs joined by double links, the rest through the host.
fn pairs() -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let root = fabric.add_numa("cpu0", 0).unwrap();
    let ids: Vec<_> = (0..4)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect();
    ids.iter()
        .for_each(|&id| fabric.attach(id, root, 12.0).unwrap());
    fabric
        .link(ids[0], ids[1], LinkClass::Direct(2), 50.0)
        .unwrap();
    fabric
        .link(ids[2], ids[3], LinkClass::Direct(2), 50.0)
        .unwrap();
    Arc::new(fabric.lower().unwrap())
}

#[test]
fn a_head_waits_for_the_pair_that_comes_free() {
    // Half of each pair is in use, for 5 and for 40 seconds.
    let request = |device: u32| Request::new(Pattern::ring(1)).only([device].into());
    let ring = || Request::new(Pattern::ring(2)).sensitive(true);
    let jobs = [
        job(0, request(0), 0, 5),
        job(1, request(2), 0, 40),
        job(2, ring(), 1, 10),
        job(3, ring(), 1, 10),
    ];
    let starts = |scheduler: &mut dyn Scheduler| -> Vec<(u64, String)> {
        let log = run(&[pairs()], scheduler, &jobs);
        let place = |(at, order): &(Time, Action)| match order {
            Action::Place { at: placed, .. } => {
                Some((at.0 / 1_000_000_000, placed.placement.set().to_string()))
            }
            _ => None,
        };
        log.iter().filter_map(place).collect()
    };
    let of = |starts: &[(u64, &str)]| {
        starts
            .iter()
            .map(|(at, on)| (*at, (*on).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        starts(&mut Fifo::new(foresight())),
        of(&[(0, "0"), (0, "2"), (1, "1,3"), (11, "0,1")])
    );
    assert_eq!(
        starts(&mut Foresight::default()),
        of(&[(0, "0"), (0, "2"), (5, "0,1"), (15, "0,1")])
    );
}

#[test]
fn on_several_machines_jobs_are_spread_as_by_any_queue() {
    let mut fleet = Fleet::new([pairs(), pairs()]).with_network(5.0);
    let arrived = Event::Arrived(job(0, Request::new(Pattern::ring(6)).sensitive(true), 0, 5));
    let mut orders = Vec::new();
    step(
        &mut Foresight::default(),
        &mut fleet,
        Time::ZERO,
        [arrived],
        &mut orders,
    )
    .unwrap();
    let [Action::Place { at, .. }] = &orders[..] else {
        panic!("{orders:?}")
    };
    assert_eq!(at.parts().count(), 2);
}
