//! The loop of drivers, its record and its timeline.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Fabric, HardwareGraph, LinkClass, MachineId, Pattern, Request, lowest_id, mig};
use mapa_sched::{
    Action, Driver, DriverView, Error, Event, Fifo, Fleet, Job, JobEnd, JobId, JobLimit, JobLimits,
    Scheduler, SchedulerRun, TaskId, Tenant, Time, Timeline, Token, Turn,
};
use proptest::prelude::*;

fn machine() -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let [a, b] = ["GPU0", "GPU1"].map(|name| fabric.add_device(name).unwrap());
    fabric.link(a, b, LinkClass::Direct(1), 25.0).unwrap();
    Arc::new(fabric.lower().unwrap())
}

fn ring(devices: usize) -> Request {
    Request::new(Pattern::ring(devices))
}

fn job(id: u64, devices: usize) -> Event {
    Event::Arrived(Job::new(JobId(id), ring(devices)))
}

/// A driver whose events come from outside, with nothing to tell in between. What it starts counts
/// from half a second later.
#[derive(Default)]
struct Inbox {
    letters: VecDeque<(Time, Vec<Event>)>,
    carried_out: Vec<Action>,
    settled: usize,
}

impl Inbox {
    fn letter(&mut self, second: u64, events: impl IntoIterator<Item = Event>) {
        let events = events.into_iter().collect();
        self.letters.push_back((Time::from_secs(second), events));
    }
}

impl Driver for Inbox {
    type Error = Error;
    fn next(
        &mut self,
        _: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Error> {
        let Some((now, letter)) = self.letters.pop_front() else {
            return Ok(None);
        };
        events.extend(letter.into_iter().map(|event| (now, event)));
        Ok(Some(now))
    }
    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Error> {
        self.carried_out.push(order.clone());
        Ok(seen.now + Duration::from_millis(500))
    }
    fn settle(&mut self, _: DriverView<'_>) -> Result<(), Error> {
        self.settled += 1;
        Ok(())
    }
}

#[test]
fn a_run_stops_when_the_driver_has_nothing_to_tell_and_goes_on_when_it_has() {
    let mut drive = SchedulerRun::new(Fleet::new([machine()]));
    let mut fifo = Fifo::new(lowest_id());
    let mut inbox = Inbox::default();
    inbox.letter(1, [job(0, 2), job(1, 1), job(2, 3)]);
    drive.run(&mut fifo, &mut inbox).unwrap();
    let stay = drive.record().stay(Tenant::Job(JobId(0))).unwrap();
    assert_eq!(stay.from, Time(1_500_000_000), "when the driver says");
    assert_eq!(drive.record().present().len(), 3);
    assert!(drive.record().left().is_empty());
    assert!(!drive.instant(&mut fifo, &mut inbox).unwrap());

    inbox.letter(4, [Event::Finished(JobId(0))]);
    inbox.letter(5, [Event::Failed(JobId(1))]);
    inbox.letter(6, [Event::Cancelled(JobId(7))]);
    drive.run(&mut fifo, &mut inbox).unwrap();
    let record = drive.record();
    assert_eq!((record.events(), record.instants()), (6, 4));
    assert_eq!(inbox.settled, 4);
    assert_eq!(record.present().len(), 0);
    let left: Vec<_> = record
        .left()
        .iter()
        .map(|departed| {
            (
                departed.life.job.0,
                departed.at.0 / 1_000_000_000,
                &departed.how,
            )
        })
        .collect();
    assert!(
        matches!(
            left[..],
            [
                (0, 4, JobEnd::Finished),
                (2, 4, JobEnd::Rejected(_)),
                (1, 5, JobEnd::Failed)
            ]
        ),
        "{left:?}"
    );
    let first = &record.left()[0].life.stays.list()[0];
    assert_eq!(
        (first.from.0, first.until),
        (1_500_000_000, Time::from_secs(4))
    );
    assert_eq!(drive.record_mut().take_left().len(), 3);
    assert!(drive.record().left().is_empty());
}

#[test]
fn an_impossible_fact_is_an_error_and_yet_the_orders_of_its_instant_are_carried_out() {
    let mut drive = SchedulerRun::new(Fleet::new([machine()]));
    let mut fifo = Fifo::new(lowest_id());
    let mut inbox = Inbox::default();
    let nowhere = Event::LayoutIs {
        machine: MachineId(9),
        whole: mapa_core::DeviceId(0),
        layout: mig::Layout::default(),
    };
    inbox.letter(0, [nowhere, job(0, 1)]);
    inbox.letter(1, [job(1, 1)]);
    let error = drive.run(&mut fifo, &mut inbox).unwrap_err();
    assert!(error.is_unknown_machine(), "{error}");
    assert_eq!(inbox.carried_out.len(), 1);
    drive.run(&mut fifo, &mut inbox).unwrap();
    assert_eq!(inbox.carried_out.len(), 2);
    for id in [0, 1] {
        let tenant = Tenant::Job(JobId(id));
        let stay = drive.record().stay(tenant).unwrap();
        let (machine, lease) = drive.seen().fleet.lease_of(tenant).unwrap();
        assert_eq!(
            (machine, &lease.placement),
            (stay.at.machine, &stay.at.placement)
        );
    }
}

/// Gives the orders of a list, an instant each.
struct Script(VecDeque<fn(&mut Turn<'_>)>);

impl Scheduler for Script {
    fn name(&self) -> &str {
        "script"
    }
    fn on_event(&mut self, _: Time, _: Event) {}
    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        self.0.pop_front().into_iter().for_each(|act| act(turn));
    }
}

#[test]
fn the_record_has_launches_tasks_moves_and_limits_and_forgets_none_of_a_job_that_leaves() {
    const JOB: JobId = JobId(3);
    const TASK: Tenant = Tenant::Task(JOB, TaskId(0));
    let script: [fn(&mut Turn<'_>); 6] = [
        |turn| {
            turn.launch(JOB);
            turn.throttle(JOB, JobLimit::PcieMbPerS(Some(7)));
            turn.throttle(JOB, JobLimit::MpsPercent(Some(40)));
            turn.throttle(JobId(9), JobLimit::MpsPercent(Some(40)));
        },
        |turn| drop(turn.start(TASK, lowest_id(), &ring(1)).unwrap()),
        |turn| {
            turn.suspend(TASK).unwrap();
            turn.throttle(JOB, JobLimit::PcieMbPerS(None));
        },
        |turn| drop(turn.start(TASK, lowest_id(), &ring(2)).unwrap()),
        |_| {},
        |_| {},
    ];
    let mut script = Script(script.into());
    let mut drive = SchedulerRun::new(Fleet::new([machine()]));
    let mut inbox = Inbox::default();
    let begins = |task| Event::TaskBegin {
        job: JOB,
        task: TaskId(task),
        request: ring(1),
    };
    inbox.letter(0, [job(3, 1)]);
    inbox.letter(1, [begins(0)]);
    inbox.letter(2, []);
    inbox.letter(3, []);
    drive.run(&mut script, &mut inbox).unwrap();
    let record = drive.record();
    let limits = record.guards().on(JOB);
    assert_eq!((limits.pcie_mb_s, limits.mps_percent), (None, Some(40)));
    assert_eq!(
        record.guards().on(JobId(9)),
        JobLimits::default(),
        "nobody there"
    );
    assert_eq!(record.stay(TASK).unwrap().at.devices(), 2);
    assert!(record.stay(Tenant::Job(JOB)).is_none());

    let task_end = Event::TaskEnd {
        job: JOB,
        task: TaskId(0),
    };
    inbox.letter(4, [task_end, begins(1)]);
    inbox.letter(5, [Event::Finished(JOB)]);
    drive.run(&mut script, &mut inbox).unwrap();
    let record = drive.record();
    assert_eq!(record.guards().on(JOB), JobLimits::default());
    let life = &record.left()[0].life;
    assert_eq!(life.launched, Some(Time(500_000_000)));
    let [first, second] = &life.tasks[..] else {
        panic!("{life:?}")
    };
    let times: Vec<_> = first
        .stays
        .list()
        .iter()
        .map(|stay| (stay.from.0 / 100_000_000, stay.until.0 / 100_000_000))
        .collect();
    assert_eq!(times, [(15, 25), (35, 40)]);
    assert_eq!(first.ended, Some(Time::from_secs(4)));
    assert_eq!(
        (second.begun, second.ended),
        (Time::from_secs(4), Some(Time::from_secs(5)))
    );
    assert!(second.stays.list().is_empty());
}

proptest! {
    #[test]
    fn a_timeline_gives_facts_by_moment_kind_and_number_and_never_those_that_were_cancelled(
        events in prop::collection::vec((0u64..4, 0u8..5, 0u64..3, any::<bool>()), 0..40),
    ) {
        let mut timeline = Timeline::default();
        let mut expected = Vec::new();
        for (place, (at, kind, number, stays)) in events.into_iter().enumerate() {
            let (job, task) = (JobId(number), TaskId(number));
            let event = match kind {
                0 => Event::Finished(job),
                1 => Event::TaskEnd { job, task },
                2 => Event::Arrived(Job::new(JobId(place as u64), ring(1))),
                3 => Event::TaskBegin { job, task, request: ring(1) },
                _ => Event::Woken(Token(number)),
            };
            let key = timeline.put(Time(at), event.clone());
            // Arrivals keep their order, whatever their numbers.
            let number = if kind == 2 { 0 } else { number };
            if stays {
                expected.push((Time(at), kind, number, place, event));
            } else {
                prop_assert_eq!(timeline.cancel(key), Some(event));
                prop_assert_eq!(timeline.cancel(key), None);
            }
        }
        expected.sort_by_key(|(at, kind, number, place, _)| (*at, *kind, *number, *place));
        for now in 0..4 {
            let now = Time(now);
            while let Some((at, event)) = timeline.take(now) {
                let (time, .., same) = expected.remove(0);
                // Arrivals are of kind 2.
                for at in 0..5 {
                    let next = expected.first().is_some_and(|row| (row.0, row.1) < (Time(at), 2));
                    prop_assert_eq!(timeline.is_before_arrival(Time(at)), next);
                }
                prop_assert_eq!((at, event), (time, same));
            }
            prop_assert_eq!(timeline.next(), expected.first().map(|row| row.0));
            prop_assert!(timeline.next().is_none_or(|next| next > now));
        }
    }
}
