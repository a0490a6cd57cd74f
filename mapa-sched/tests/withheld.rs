//! What only real machines tell: somebody else uses a device, a device is unhealthy, a job runs
//! already.

use std::time::Duration;

use mapa_core::{DeviceId, DeviceSet, LeaseId, MachineId, Pattern, Request, lowest_id};
use mapa_sched::{
    Action, Assignment, Driver, DriverView, Event, Fleet, Job, JobId, NamedScheduler, RunTime,
    SCHEDULERS, SchedulerRun, Time, step,
};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::{check_adoption, check_offered_sets, joined};

const MACHINE: MachineId = MachineId(0);

/// Four devices, all joined alike.
fn fleet() -> Fleet {
    Fleet::new([joined(&[50.0; 4])])
}

fn placed(devices: &[u32]) -> Assignment {
    Assignment {
        machine: MACHINE,
        lease: LeaseId::default(),
        placement: devices.iter().map(|&id| DeviceId(id)).collect(),
        rest: Vec::new(),
    }
}

fn job(id: u64, ranks: usize, seconds: u64) -> Job {
    let mut job = Job::new(JobId(id), Request::new(Pattern::ring(ranks)));
    job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
    job
}

fn adopted(job: Job, devices: &[u32], since: u64) -> Event {
    let at = placed(devices);
    Event::Adopted {
        job,
        at,
        since: Time::from_secs(since),
    }
}

/// One cause that comes or goes.
fn cause(which: u8, whole: u32, on: bool) -> Event {
    let whole = DeviceId(whole);
    match which {
        0 => Event::Cordoned {
            machine: MACHINE,
            whole: Some(whole),
            cordoned: on,
        },
        1 => Event::Occupied {
            machine: MACHINE,
            whole,
            occupied: on,
        },
        _ => Event::Health {
            machine: MACHINE,
            whole,
            trouble: on.then(|| "lost".to_owned()),
        },
    }
}

proptest! {
    #[test]
    fn a_device_is_withheld_as_long_as_any_cause_lasts(
        events in vec((0u8..3, 0u32..3, any::<bool>()), 0..40),
        cut in 0usize..40,
    ) {
        let graph = joined(&[50.0; 3]);
        let mut fleet = Fleet::new([graph.clone()]);
        // Slow and obvious: a table of the last reports.
        let mut told = [[false; 3]; 3];
        for (at, (which, whole, on)) in events.into_iter().enumerate() {
            fleet.book(&cause(which, whole, on)).unwrap();
            told[whole as usize][usize::from(which)] = on;
            let expected: DeviceSet = (0u32..3)
                .filter(|&whole| told[whole as usize].contains(&true))
                .map(DeviceId)
                .collect();
            prop_assert_eq!(fleet.machines()[0].cordoned(), expected);
            if at == cut {
                // Causes survive a restart of the driver.
                fleet = Fleet::restore([graph.clone()], fleet.snapshot()).unwrap();
            }
        }
    }
}

#[test]
fn nothing_of_another_machine_or_of_no_whole_device_is_booked() {
    let mut fleet = fleet();
    let before = fleet.clone();
    let far = MachineId(7);
    let whole = DeviceId(99);
    for event in [
        Event::Occupied {
            machine: far,
            whole: DeviceId(0),
            occupied: true,
        },
        Event::Health {
            machine: MACHINE,
            whole,
            trouble: Some("lost".to_owned()),
        },
        adopted(job(1, 2, 9), &[0], 0),
        adopted(job(1, 2, 9), &[0, 99], 0),
    ] {
        assert!(fleet.book(&event).is_err(), "{event:?}");
        assert_eq!(fleet, before);
    }
    fleet.book(&adopted(job(1, 2, 9), &[0, 1], 0)).unwrap();
    // Neither the same job twice, nor two jobs on one device.
    assert!(fleet.book(&adopted(job(1, 2, 9), &[2, 3], 0)).is_err());
    let error = fleet
        .book(&adopted(job(2, 2, 9), &[1, 2], 0))
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        error,
        @"job 2 cannot be adopted: not met: rank 0 is on device 1, which is not available"
    );
}

#[test]
fn every_scheduler_leaves_an_adopted_job_its_devices_and_gives_them_when_it_ends() {
    for row in &SCHEDULERS {
        check_adoption(row);
    }
}

#[test]
fn backfilling_counts_an_adopted_jobs_time_from_its_start() {
    for name in ["easy-backfill", "conservative-backfill"] {
        let mut scheduler =
            NamedScheduler::among(&SCHEDULERS, name, Box::new(lowest_id())).unwrap();
        let (mut fleet, mut orders) = (fleet(), Vec::new());
        // It has run for 50 of 60 seconds: the four devices are free in ten. A job of twenty would
        // delay the head, one of five does not.
        let events = vec![
            adopted(job(1, 3, 60), &[0, 1, 2], 0),
            Event::Arrived(job(2, 4, 100)),
            Event::Arrived(job(3, 1, 20)),
            Event::Arrived(job(4, 1, 5)),
        ];
        step(
            &mut *scheduler,
            &mut fleet,
            Time::from_secs(50),
            events,
            &mut orders,
        )
        .unwrap();
        let started: Vec<JobId> = orders
            .iter()
            .filter_map(|order| match order {
                Action::Place { tenant, .. } => Some(tenant.job()),
                _ => None,
            })
            .collect();
        assert_eq!(started, [JobId(4)], "{name}");
    }
}

/// Tells one instant of events, and does nothing.
struct Once(Vec<(Time, Event)>);

impl Driver for Once {
    type Error = mapa_sched::Error;

    fn next(
        &mut self,
        _: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Self::Error> {
        events.append(&mut self.0);
        Ok(events.first().map(|(at, _)| *at))
    }

    fn carry_out(&mut self, seen: DriverView<'_>, _: &Action) -> Result<Time, Self::Error> {
        Ok(seen.now)
    }
}

#[test]
fn the_record_has_an_adopted_job_since_its_start() {
    let mut drive = SchedulerRun::new(fleet());
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, "fifo", Box::new(lowest_id())).unwrap();
    let now = Time::from_secs(50);
    let mut driver = Once(vec![(now, adopted(job(1, 2, 60), &[1, 2], 7))]);
    drive.run(&mut *scheduler, &mut driver).unwrap();
    let life = drive.record().life(JobId(1)).unwrap();
    let stay = life.stays.open().unwrap();
    assert_eq!(
        (stay.from, stay.at.placement.set()),
        (Time::from_secs(7), DeviceSet::from([1, 2]))
    );
}

/// Tables of sets know nothing of pairs.
#[test]
fn every_scheduler_starts_a_job_on_the_sets_that_are_offered() {
    for name in [
        "fifo",
        "easy-backfill",
        "conservative-backfill",
        "shortest-first",
        "first-fit",
    ] {
        check_offered_sets(NamedScheduler::find(&SCHEDULERS, name).unwrap());
    }
}

/// A device whose user is adopted and which is cordoned at the same moment keeps its user.
#[test]
fn an_adoption_comes_before_a_cordon_of_its_moment() {
    let mut timeline = mapa_sched::Timeline::default();
    timeline.put(Time::ZERO, cause(0, 1, true));
    timeline.put(Time::ZERO, adopted(job(1, 1, 100), &[1], 0));
    let events: Vec<Event> = std::iter::from_fn(|| timeline.take(Time::ZERO))
        .map(|pair| pair.1)
        .collect();
    let mut fleet = fleet();
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, "fifo", Box::new(lowest_id())).unwrap();
    step(
        &mut *scheduler,
        &mut fleet,
        Time::ZERO,
        events,
        &mut Vec::new(),
    )
    .unwrap();
    assert_eq!(fleet.tenants().count(), 1);
}
