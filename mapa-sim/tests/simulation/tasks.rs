//! Tasks, launches and limits: against the simulator without an event queue, and by closed forms.

use std::collections::BTreeSet;
use std::time::Duration;

use mapa_core::{Pattern, Request, greedy, lowest_id};
use mapa_sched::{
    Assignment, Event, Fleet, JobId, JobLimit, JobLimitTable, Scheduler, TaskId, Tenant, Time,
    Token, Turn,
};
use mapa_sim::testing::replay;
use mapa_sim::{
    ByBandwidth, Coupling, Execution, Fixed, Outcome, Simulation, Submission, TaskPlan, Workload,
};
use proptest::prelude::*;

use super::{machine, run, submission};

fn plan(devices: usize, pause: u64, work: u64) -> TaskPlan {
    TaskPlan {
        pause: Duration::from_nanos(pause),
        request: Request::new(Pattern::ring(devices)),
        work: Duration::from_nanos(work),
        grows: Vec::new(),
    }
}

/// Jobs of up to four tasks, many without a pause or without work, and many that grow.
fn workloads() -> impl Strategy<Value = Workload> {
    let grows = prop::collection::vec((0u64..9, 1usize..3), 0..3);
    let tasks = prop::collection::vec((1usize..4, 0u64..6, 0u64..9, grows), 0..4);
    let jobs = prop::collection::vec((1usize..4, 0u64..40, 0u64..20, tasks), 0..16);
    let units = prop::sample::select(vec![1u64, 7, 1_000_000_007]);
    (jobs, units).prop_map(|(jobs, unit)| {
        let jobs = (0..)
            .zip(jobs)
            .map(|(id, (devices, arrives, runs, tasks))| {
                let tasks = tasks.into_iter().map(|(devices, pause, work, mut grows)| {
                    grows.sort_unstable();
                    let task = plan(devices, pause * unit, work * unit);
                    grows.into_iter().fold(task, |task, (after, devices)| {
                        let after = Duration::from_nanos(after.min(work) * unit);
                        task.grow(after, Request::new(Pattern::ring(devices)))
                    })
                });
                submission(id, devices, arrives * unit, runs * unit).tasks(tasks)
            });
        Workload::new("drawn", jobs)
    })
}

/// Launches every third job, and places the others and all tasks where they fit. By the hash of the
/// moment it suspends a tenant, moves one, limits a job or lifts a limit.
#[derive(Default)]
struct Restless {
    waiting: Vec<(Tenant, Request)>,
    running: Vec<(Tenant, Request)>,
    rejected: BTreeSet<JobId>,
    wakes: u64,
    placed_tasks: usize,
}

impl Restless {
    fn drop_if(&mut self, is_over: impl Fn(Tenant) -> bool) {
        self.waiting.retain(|(tenant, _)| !is_over(*tenant));
        self.running.retain(|(tenant, _)| !is_over(*tenant));
    }
}

impl Scheduler for Restless {
    fn name(&self) -> &str {
        "restless"
    }
    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push((Tenant::Job(job.id), job.request)),
            Event::Finished(job) => self.drop_if(|tenant| tenant.job() == job),
            Event::TaskBegin { job, task, request } => {
                self.waiting.push((Tenant::Task(job, task), request));
            }
            Event::TaskEnd { job, task } => {
                self.drop_if(|tenant| tenant == Tenant::Task(job, task));
            }
            _ => {}
        }
    }
    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let draw = now.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let pick = |running: &[(Tenant, Request)]| draw as usize % running.len().max(1);
        if let Some((tenant, request)) = self.running.get(pick(&self.running)).cloned() {
            let limit = (!draw.is_multiple_of(2)).then_some(1 + (draw % 100) as u8);
            match draw % 5 {
                0 => {
                    turn.suspend(tenant).unwrap();
                    self.drop_if(|running| running == tenant);
                    self.waiting.push((tenant, request));
                }
                1 => {
                    let elsewhere = turn
                        .without(tenant)
                        .map(|without| without.view().decide(greedy(), &request));
                    if let Some(Ok(decision)) = elsewhere {
                        turn.relocate(tenant, decision).unwrap();
                    }
                }
                2 => turn.throttle(tenant.job(), JobLimit::MpsPercent(limit)),
                3 => turn.throttle(tenant.job(), JobLimit::PcieMbPerS(limit.map(u32::from))),
                _ => {}
            }
        }
        for (tenant, request) in std::mem::take(&mut self.waiting) {
            if self.rejected.contains(&tenant.job()) {
                continue;
            }
            match tenant {
                // A job that is back from a suspension has been placed before.
                Tenant::Job(job) if job.0.is_multiple_of(3) => turn.launch(job),
                _ => match turn.decide(lowest_id(), &request) {
                    Ok(decision) => {
                        turn.place(tenant, decision).unwrap();
                        self.placed_tasks += usize::from(matches!(tenant, Tenant::Task(..)));
                        self.running.push((tenant, request));
                    }
                    Err(why) if why.kind() == "infeasible" => {
                        for (running, _) in &self.running {
                            if running.job() == tenant.job() {
                                turn.suspend(*running).unwrap();
                            }
                        }
                        turn.reject(tenant.job(), why);
                        self.rejected.insert(tenant.job());
                        self.drop_if(|running| running.job() == tenant.job());
                    }
                    Err(_) => self.waiting.push((tenant, request)),
                },
            }
        }
        if draw.is_multiple_of(4) && self.wakes < 40 && !self.waiting.is_empty() {
            self.wakes += 1;
            turn.wake(Time(now.0.saturating_sub(3) + draw % 9), Token(draw % 5));
        }
    }
}

/// Whoever shares a machine is slower by a quarter for each other tenant, and by an eighth for one
/// whose PCIe is limited; and by the share of the multiprocessors.
struct Limited;

impl Execution for Limited {
    fn name(&self) -> &str {
        "limited"
    }
    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        self.slowdown_under(&JobLimitTable::default(), job, at, fleet)
    }
    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        let here = fleet
            .tenants()
            .filter(|(_, machine, _)| at.machines().any(|candidate| candidate == *machine));
        let others = here.map(|(tenant, ..)| match guards.on(tenant.job()).pcie_mb_s {
            Some(_) => 0.125,
            None => 0.25,
        });
        let computes = guards.on(job.job.id).mps_percent;
        let computes = computes.map_or(1.0, |percent| 100.0 / f64::from(percent));
        (1.0 + others.sum::<f64>()) * computes * job.devices() as f64
    }
    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1500))]

    #[test]
    fn tasks_and_limits_have_the_schedule_of_the_simulator_that_looks_through_everything(
        workload in workloads(), devices in prop::collection::vec(2usize..5, 1..3), which in 0usize..3,
    ) {
        let fleet = Fleet::new(devices.iter().map(|&n| machine(n)));
        let execution: [&dyn Execution; 3] = [&Fixed, &Limited, &ByBandwidth::eq_2()];
        let execution = execution[which];
        let mut restless = Restless::default();
        let fast = run(&workload, &fleet, &mut restless, execution);
        prop_assert_eq!(&fast, &replay(&workload, fleet, &mut Restless::default(), execution).unwrap());
        let tasks = fast.runs.iter().flat_map(|run| &run.tasks);
        let placed = tasks.filter(|task| !task.stays.is_empty()).count();
        prop_assert!(placed <= restless.placed_tasks, "no task runs that was not placed");
        for run in &fast.runs {
            let plans = &workload.jobs[run.index].tasks;
            let asks: Vec<_> = workload.jobs[run.index].asks().collect();
            prop_assert_eq!(run.tasks.len(), asks.len(), "a job ends after its last task");
            let mut from = run.started();
            let mut plans = plans.iter();
            for (task_run, ask) in run.tasks.iter().zip(&asks) {
                prop_assert_eq!(task_run.task, ask.task);
                let ends = task_run.stays.last().unwrap().until;
                match ask.grows {
                    None => {
                        prop_assert_eq!(task_run.begun, from + plans.next().unwrap().pause);
                        from = ends;
                    }
                    Some(_) => prop_assert_eq!(ends, from, "growth ends with its task"),
                }
            }
            prop_assert!(run.ended() >= from);
            prop_assert_eq!(run.launched.is_some(), run.stays.is_empty());
        }
    }
}

/// Launches or places every job, and places every task, at once, oldest first.
struct AtOnce {
    launches: bool,
    blocked: Vec<(Tenant, Request)>,
}

impl Scheduler for AtOnce {
    fn name(&self) -> &str {
        "at once"
    }
    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.blocked.push((Tenant::Job(job.id), job.request)),
            Event::TaskBegin { job, task, request } => {
                self.blocked.push((Tenant::Task(job, task), request));
            }
            _ => {}
        }
    }
    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        let launches = self.launches;
        self.blocked.retain(|(tenant, request)| match tenant {
            Tenant::Job(job) if launches => {
                turn.launch(*job);
                false
            }
            _ => turn.start(*tenant, lowest_id(), request).is_err(),
        });
    }
}

fn at_once(launches: bool, jobs: impl IntoIterator<Item = Submission>, devices: usize) -> Outcome {
    let mut scheduler = AtOnce {
        launches,
        blocked: Vec::new(),
    };
    let workload = Workload::new("tasks", jobs);
    run(
        &workload,
        &Fleet::new([machine(devices)]),
        &mut scheduler,
        &Fixed,
    )
}

#[test]
fn launched_jobs_share_devices_that_each_needs_only_during_its_tasks() {
    // Host for 3, a task of 5, host for 2, a task of 4, and host for 6: 20 alone.
    let job = |id| submission(id, 1, 0, 6).tasks([plan(1, 3, 5), plan(1, 2, 4)]);
    let one = at_once(true, [job(0)], 2);
    let run = &one.runs[0];
    assert_eq!(
        (run.launched.clone(), run.ended()),
        (Some(Time(0)..Time(20)), Time(20))
    );
    assert_eq!(run.ran(), Duration::from_nanos(20));
    let begun: Vec<Time> = run.tasks.iter().map(|task| task.begun).collect();
    assert_eq!(begun, [Time(3), Time(10)]);

    // Three on two devices: the third's first task is blocked until 8 and runs until 13; until then
    // so is the second's second task, which begins at 10.
    let three = at_once(true, [job(0), job(1), job(2)], 2);
    let ends: Vec<Time> = three.runs.iter().map(|run| run.ended()).collect();
    assert_eq!(ends, [Time(20), Time(23), Time(25)]);
    let starts = |run: usize| {
        let tasks = three.runs[run].tasks.iter();
        tasks
            .map(|task| (task.task, task.begun, task.stays[0].from))
            .collect::<Vec<_>>()
    };
    let [first, second] = [TaskId(0), TaskId(1)];
    assert_eq!(
        starts(1),
        [(first, Time(3), Time(3)), (second, Time(10), Time(13))]
    );
    assert_eq!(
        starts(2),
        [(first, Time(3), Time(8)), (second, Time(15), Time(15))]
    );
}

#[test]
fn a_job_with_devices_ends_when_its_own_work_and_its_tasks_are_done() {
    // Its own work ends at 6; the task begins at 3 and ends at 12.
    let long = at_once(false, [submission(0, 1, 0, 6).tasks([plan(1, 3, 9)])], 2);
    assert_eq!(
        (long.runs[0].ended(), long.runs[0].tasks[0].begun),
        (Time(12), Time(3))
    );
    let short = at_once(false, [submission(0, 1, 0, 30).tasks([plan(1, 3, 9)])], 2);
    assert_eq!(short.runs[0].ended(), Time(30));
    // Without a second device the task is blocked forever, and the job waits for it.
    let never = at_once(false, [submission(0, 1, 0, 6).tasks([plan(1, 3, 9)])], 1);
    assert_eq!((never.waiting, never.end), (vec![0], Time(3)));
}

#[test]
fn a_task_that_grows_stands_still_until_it_has_what_it_asks_for() {
    // A task of 10 that asks for a second device after 4, and for a third after 6.
    let grower = |id| {
        let one = || Request::new(Pattern::ring(1));
        let task = plan(1, 1, 10).grow(Duration::from_nanos(4), one());
        submission(id, 1, 0, 2).tasks([task.grow(Duration::from_nanos(6), one())])
    };
    let begun = |outcome: &Outcome, run: usize| -> Vec<(u64, u64, u64, u64)> {
        let tasks = outcome.runs[run].tasks.iter();
        let of = |task_run: &mapa_sim::TaskRun| {
            let stay = &task_run.stays[0];
            (task_run.task.0, task_run.begun.0, stay.from.0, stay.until.0)
        };
        tasks.map(of).collect()
    };
    let alone = at_once(true, [grower(0)], 3);
    let expected = [(0, 1, 1, 11), (1, 5, 5, 11), (2, 7, 7, 11)];
    assert_eq!(begun(&alone, 0), expected);
    assert_eq!(alone.runs[0].ended(), Time(13));

    // Another job has the third device from 1 to 15: 6 of 10 are done at 7, and 4 remain at 15. The
    // task behind the growth has the next number.
    let other = submission(1, 1, 0, 0).tasks([plan(1, 0, 15)]);
    let mut first = grower(0);
    first.tasks.push(plan(1, 3, 5));
    let both = at_once(true, [first, other], 3);
    let expected = [
        (0, 1, 1, 19),
        (1, 5, 5, 19),
        (2, 7, 15, 19),
        (3, 22, 22, 27),
    ];
    assert_eq!(begun(&both, 0), expected);
    assert_eq!(both.runs[0].ended(), Time(29));

    // Two that hold one device each and ask for the other's hang.
    let two = at_once(true, [grower(0), grower(1)], 2);
    assert_eq!((two.waiting, two.end), (vec![0, 1], Time(5)));
}

#[test]
fn growth_that_cannot_be_is_an_error_that_names_the_job() {
    let grow = |after: &[u64]| {
        let task = after.iter().fold(plan(1, 0, 5), |task, &after| {
            let request = Request::new(Pattern::ring(1));
            task.grow(Duration::from_nanos(after), request)
        });
        let workload = Workload::new("one", [submission(3, 1, 0, 6).tasks([task])]);
        let fleet = Fleet::new([machine(2)]);
        Simulation::new(&workload, fleet)
            .run(&mut Restless::default(), &Fixed)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(
        grow(&[6]),
        @"job 3: a task grows after its work is done: expected growth within its work"
    );
    insta::assert_snapshot!(
        grow(&[4, 2]),
        @"job 3: a task's growths are not in order: expected each after the one before"
    );
}

#[test]
fn limits_slow_a_job_down_from_their_moment_until_they_are_lifted() {
    // Half speed from 2 to 12, so 5 of 10 are done by then, and 2 before: it ends at 15.
    struct Half;
    impl Scheduler for Half {
        fn name(&self) -> &str {
            "half"
        }
        fn on_event(&mut self, _: Time, _: Event) {}
        fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
            let job = JobId(0);
            match now.0 {
                0 => {
                    let request = Request::new(Pattern::ring(1));
                    turn.start(Tenant::Job(job), lowest_id(), &request).unwrap();
                    turn.wake(Time(2), Token(0));
                    turn.wake(Time(12), Token(0));
                }
                2 => turn.throttle(job, JobLimit::MpsPercent(Some(50))),
                12 => turn.throttle(job, JobLimit::MpsPercent(None)),
                _ => {}
            }
        }
    }
    let workload = Workload::new("one", [submission(0, 1, 0, 10)]);
    let outcome = Simulation::new(&workload, Fleet::new([machine(2)]))
        .run(&mut Half, &Fixed)
        .unwrap();
    assert_eq!(outcome.runs[0].ended(), Time(15));
}
