//! Schedulers as users write them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{
    Demand, DeviceId, MachineId, Pattern, Refusal, Request, Rules, criteria::least, fewest_warps,
};
use mapa_sched::{Action, Event, Job, JobId, RunTime, Scheduler, TaskId, Tenant, Time, Turn};

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::{cuttable, layout};

/// Earliest deadline first, each job on the free instance on which it runs shortest; no job blocks the queue.
#[derive(Default)]
struct EarliestDeadline {
    waiting: Vec<Job>,
}

impl Scheduler for EarliestDeadline {
    fn name(&self) -> &str {
        "earliest-deadline"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        if let Event::Arrived(job) = event {
            self.waiting.push(job);
            self.waiting
                .sort_by_key(|job| (job.deadline.unwrap_or(Time(u64::MAX)), job.id));
        }
    }

    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        self.waiting.retain(|job| {
            let run_time = job.run_time.clone();
            let shortest = Rules::new("shortest-run").prefer(least("run time", move |seat| {
                let length = run_time.on(seat.device().size);
                length.map_or(f64::NAN, |length| length.as_secs_f64())
            }));
            turn.start(Tenant::Job(job.id), shortest, &job.request)
                .is_err()
        });
    }
}

#[test]
fn a_scheduler_by_deadlines_and_run_times_by_size() {
    let mut driver = TestDriver::new([cuttable(1)]);
    driver
        .fleet
        .layout_is(MachineId(0), DeviceId(0), &layout(&["1g", "1g", "2g"]))
        .unwrap();
    let by_size = |one, two| {
        let seconds = [(Size::new(1, 1), one), (Size::new(2, 2), two)];
        RunTime::BySize(
            seconds
                .map(|(size, seconds)| (size, Duration::from_secs(seconds)))
                .into(),
        )
    };
    // The last to come is the most urgent.
    for (id, run_time, deadline) in [
        (0, by_size(8, 4), 50),
        (1, by_size(8, 4), 40),
        (2, by_size(6, 6), 30),
        (3, by_size(8, 2), 9),
    ] {
        let mut job = Job::new(
            JobId(id),
            Request::new(Pattern::ring(1).each(Demand::any())),
        );
        (job.run_time, job.deadline) = (run_time, Some(Time::from_secs(deadline)));
        driver.at(Time::ZERO, Event::Arrived(job));
    }
    driver.run(&mut EarliestDeadline::default());
    let size = |placed: &mapa_sched::Assignment| {
        driver
            .fleet
            .machine(placed.machine)
            .unwrap()
            .graph()
            .device(placed.placement[0])
            .size
            .unwrap()
            .compute
    };
    let placed: Vec<_> = driver
        .placed()
        .iter()
        .map(|(at, tenant, placed)| (*at, tenant.job().0, size(placed)))
        .collect();
    assert_eq!(placed, [(0, 3, 2), (0, 2, 1), (0, 1, 1), (2, 0, 2)]);
}

/// Packs tasks of unisolated jobs as CASE does: workers are launched without a device up to a
/// limit; a task that finds no room is blocked until one does.
struct Packing {
    workers: usize,
    waiting: VecDeque<JobId>,
    running: usize,
    blocked: VecDeque<(Tenant, Request)>,
}

impl Packing {
    fn new(workers: usize) -> Self {
        Self {
            workers,
            waiting: VecDeque::new(),
            running: 0,
            blocked: VecDeque::new(),
        }
    }
}

impl Scheduler for Packing {
    fn name(&self) -> &str {
        "packing"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push_back(job.id),
            Event::TaskBegin { job, task, request } => {
                self.blocked.push_back((Tenant::Task(job, task), request))
            }
            Event::TaskEnd { job, task } => self
                .blocked
                .retain(|(tenant, _)| *tenant != Tenant::Task(job, task)),
            Event::Finished(_) => self.running -= 1,
            _ => {}
        }
    }

    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        self.blocked.retain(|(tenant, request)| {
            match turn.start(*tenant, fewest_warps(), request) {
                Err(why @ Refusal::Infeasible(_)) => {
                    turn.reject(tenant.job(), why);
                    false
                }
                answer => answer.is_err(),
            }
        });
        while self.running < self.workers {
            let Some(job) = self.waiting.pop_front() else {
                break;
            };
            self.running += 1;
            turn.launch(job);
        }
    }
}

#[test]
fn tasks_share_devices_as_their_memory_allows() {
    let mut driver = TestDriver::new([cuttable(2)]);
    let task = |gib: u64, warps, seconds| {
        let demand = Demand::any().shared().memory(gib << 30).warps(warps);
        (
            Request::new(Pattern::ring(1).each(demand)),
            Duration::from_secs(seconds),
        )
    };
    let programs = [
        vec![task(10, 100, 4), task(10, 100, 4)],
        vec![task(10, 50, 2)],
        vec![task(10, 50, 2)],
        vec![task(20, 10, 5)],
        vec![task(1, 10, 1)],
    ];
    for (id, program) in (0..).map(JobId).zip(programs) {
        driver.program(id, program.into());
        driver.at(
            Time::ZERO,
            Event::Arrived(Job::new(id, Request::new(Pattern::ring(0)))),
        );
    }
    driver.run(&mut Packing::new(4));
    let of = |job, task| Tenant::Task(JobId(job), TaskId(task));
    let placed: Vec<_> = driver
        .placed()
        .iter()
        .map(|(at, tenant, placed)| (*at, *tenant, placed.placement[0].0))
        .collect();
    // Job 3 wants 20 of 24 GiB: it is blocked until a device is empty. Job 4 is launched once a
    // worker is free.
    let expected = [
        (0, of(0, 0), 0),
        (0, of(1, 0), 1),
        (0, of(2, 0), 1),
        (2, of(3, 0), 1),
        (2, of(4, 0), 1),
        (4, of(0, 1), 0),
    ];
    assert_eq!(placed, expected);
    let launched: BTreeMap<_, _> = driver
        .log
        .iter()
        .filter_map(|(at, order)| match order {
            Action::Launch { job } => Some((job.0, at.0 / 1_000_000_000)),
            _ => None,
        })
        .collect();
    assert_eq!(launched, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 2)].into());
    assert_eq!(driver.fleet.tenants().count(), 0);
}
