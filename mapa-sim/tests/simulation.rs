//! The loop: against two simulators without an event queue, against closed forms, and at its edges.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Fabric, HardwareGraph, LinkClass, MachineId, Pattern, Policy, Request, greedy, lowest_id,
    preserve,
};
use mapa_sched::{
    Assignment, Event, Fifo, Fleet, Job, JobId, JobLimit, Scheduler, Tenant, Time, Token, Turn,
};
use mapa_sim::testing::{fifo, replay};
use mapa_sim::{
    ByBandwidth, Coupling, Execution, Fixed, Generator, Outcome, Row, Scorer, Simulation,
    Submission, Workload,
};
use mapa_topologies::named;
use proptest::prelude::*;

mod tasks;

/// Devices that are all joined, in pairs by double links.
fn machine(devices: usize) -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let ids: Vec<_> = (0..devices)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect();
    for a in 0..devices {
        for b in 0..a {
            let class = if a % 2 == 1 && b + 1 == a {
                LinkClass::Direct(2)
            } else {
                LinkClass::Direct(1)
            };
            let gbps = if class == LinkClass::Direct(2) {
                50.0
            } else {
                25.0
            };
            fabric.link(ids[b], ids[a], class, gbps).unwrap();
        }
    }
    Arc::new(fabric.lower().unwrap())
}

fn submission(id: u64, devices: usize, arrives: u64, runs: u64) -> Submission {
    let mut job = Job::new(
        JobId(id),
        Request::new(Pattern::ring(devices)).sensitive(id.is_multiple_of(2)),
    );
    job.arrived = Time(arrives);
    Submission::new(job, Duration::from_nanos(runs))
        .task(["VGG-16", "GMM", "AlexNet"][id as usize % 3])
}

/// Jobs in any order of arrival, many at one moment, some without work and some too large; times of
/// a few nanoseconds, where ties and roundings are frequent, or of seconds.
fn workloads() -> impl Strategy<Value = Workload> {
    let jobs = prop::collection::vec((1usize..7, 0u64..40, 0u64..30), 0..25);
    (jobs, prop::sample::select(vec![1u64, 7, 1_000_000_007])).prop_map(|(jobs, unit)| {
        let jobs = (0..).zip(jobs).map(|(id, (devices, arrives, runs))| {
            submission(id, devices, arrives * unit, runs * unit)
        });
        Workload::new("drawn", jobs)
    })
}

/// Whoever shares a machine is slower by a quarter for each other job; odd jobs by a third.
struct Shared;

impl Execution for Shared {
    fn name(&self) -> &str {
        "shared"
    }
    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        let here = at
            .machines()
            .flat_map(|at| {
                fleet
                    .tenants()
                    .filter(move |(_, machine, _)| *machine == at)
            })
            .count();
        let each = if job.job.id.0.is_multiple_of(2) {
            0.25
        } else {
            1.0 / 3.0
        };
        1.0 + each * (here as f64 - 1.0)
    }
    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

/// First come first served; and, by the hash of the moment, suspends a job, brings one back, moves
/// one, or asks to be woken.
#[derive(Default)]
struct Restless {
    waiting: Vec<Job>,
    running: Vec<Job>,
    wakes: u64,
}

impl Scheduler for Restless {
    fn name(&self) -> &str {
        "restless"
    }
    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            Event::Finished(job) => self.running.retain(|running| running.id != job),
            _ => {}
        }
    }
    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let draw = now.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        if draw.is_multiple_of(3) && !self.running.is_empty() {
            let job = self.running.remove(draw as usize % self.running.len());
            turn.suspend(Tenant::Job(job.id)).unwrap();
            self.waiting.push(job);
        } else if draw % 3 == 1 && !self.running.is_empty() {
            let job = &self.running[draw as usize % self.running.len()];
            let tenant = Tenant::Job(job.id);
            let elsewhere = turn
                .without(tenant)
                .map(|without| without.view().decide(greedy(), &job.request));
            if let Some(Ok(decision)) = elsewhere {
                turn.relocate(tenant, decision).unwrap();
            }
        }
        for job in std::mem::take(&mut self.waiting) {
            match turn.decide(lowest_id(), &job.request) {
                Ok(decision) => {
                    turn.place(Tenant::Job(job.id), decision).unwrap();
                    self.running.push(job);
                }
                Err(why) if why.kind() == "infeasible" => turn.reject(job.id, why),
                Err(_) => self.waiting.push(job),
            }
        }
        if draw.is_multiple_of(4)
            && self.wakes < 40
            && !(self.running.is_empty() && self.waiting.is_empty())
        {
            self.wakes += 1;
            turn.wake(Time(now.0.saturating_sub(3) + draw % 9), Token(draw % 5));
        }
    }
}

fn run(
    workload: &Workload,
    fleet: &Fleet,
    scheduler: &mut dyn Scheduler,
    execution: &dyn Execution,
) -> Outcome {
    Simulation::new(workload, fleet.clone())
        .run(scheduler, execution)
        .unwrap()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(30))]

    #[test]
    fn jobs_may_have_any_numbers_and_many_of_them_leave(workload in workloads(), devices in 2usize..6, times in 1u64..3) {
        // Numbers that are those of other places, or of none. So often that the record is emptied on the way.
        let many = workload.jobs.len() as u64 * if times == 1 { 1 } else { 100 };
        let jobs = workload.jobs.iter().cycle().take(many as usize).cloned();
        let numbered = |number: fn(u64, u64) -> u64| {
            let mut jobs: Vec<Submission> = jobs.clone().collect();
            for (place, submission) in (0..).zip(&mut jobs) {
                submission.job.id = JobId(number(place, many));
            }
            Workload::new("numbered", jobs)
        };
        let fleet = Fleet::new([machine(devices)]);
        let outcomes = [|place, _| place, |place, many| many - 1 - place, |place, many| many / 2 + place].map(|number| {
            let workload = numbered(number);
            let outcome = run(&workload, &fleet, &mut Fifo::new(lowest_id()), &Fixed);
            for (index, job) in outcome.runs.iter().map(|run| (run.index, run.job)).chain(
                outcome.rejected.iter().map(|rejected| (rejected.index, rejected.job)),
            ) {
                assert_eq!(workload.jobs[index].job.id, job);
            }
            let times = outcome.runs.iter().map(|run| (run.index, run.arrived, run.started(), run.ended()));
            (times.collect::<Vec<_>>(), outcome.rejected.len(), outcome.end)
        });
        prop_assert_eq!(outcomes[0].0.len() + outcomes[0].1, many as usize);
        prop_assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1500))]

    #[test]
    fn any_scheduler_has_the_schedule_of_the_simulator_that_looks_through_everything(
        workload in workloads(), devices in prop::collection::vec(2usize..6, 1..3), which in 0usize..3, network in 0..3,
    ) {
        let fleet = Fleet::new(devices.iter().map(|&n| machine(n)));
        let fleet = match network {
            0 => fleet,
            1 => fleet.with_network(20.0),
            _ => fleet.with_network(20.0).spread_when_busy(),
        };
        let execution: [&dyn Execution; 3] = [&Fixed, &Shared, &ByBandwidth::eq_2()];
        let execution = execution[which];
        let fast = run(&workload, &fleet, &mut Fifo::new(preserve()), execution);
        prop_assert_eq!(&fast, &replay(&workload, fleet.clone(), &mut Fifo::new(preserve()), execution).unwrap());
        let fast = run(&workload, &fleet, &mut Restless::default(), execution);
        prop_assert_eq!(&fast, &replay(&workload, fleet, &mut Restless::default(), execution).unwrap());
    }

    #[test]
    fn drawn_jobs_on_drawn_fleets_have_the_schedule_of_the_simulator_that_looks_through_everything(
        fleet in mapa_sched::testing::fleets(1..=3, 1..=4),
        workload in mapa_sim::testing::workloads(0..=12, mapa_core::testing::requests(4, 1..=3)),
    ) {
        let fast = run(&workload, &fleet, &mut Fifo::new(lowest_id()), &Fixed);
        prop_assert_eq!(&fast, &replay(&workload, fleet, &mut Fifo::new(lowest_id()), &Fixed).unwrap());
    }

    #[test]
    fn first_in_first_out_is_what_a_queue_and_free_sets_make_of_it(
        mut workload in workloads(), devices in prop::collection::vec(2usize..6, 1..7),
    ) {
        // What takes no time still has its devices for an instant, which free sets do not show.
        workload.jobs.iter_mut().for_each(|job| job.work = job.work.max(Duration::from_nanos(1)));
        let graphs: Vec<_> = devices.iter().map(|&n| machine(n)).collect();
        let outcome = run(&workload, &Fleet::new(graphs.iter().cloned()), &mut Fifo::new(preserve()), &Fixed);
        let expected = fifo(&workload, &graphs, &preserve());
        let mut starts = vec![None; workload.jobs.len()];
        for run in &outcome.runs {
            prop_assert_eq!(run.stays.len(), 1);
            let at = &run.stays[0].at;
            starts[run.index] = Some((run.started(), at.machine, at.placement.to_vec()));
            prop_assert_eq!(run.ran(), workload.jobs[run.index].work);
        }
        prop_assert_eq!(starts, expected);
    }

    #[test]
    fn a_job_s_work_is_exactly_what_it_did_at_each_speed(workload in workloads(), devices in 2usize..6) {
        // By the log alone: the time of each job, cut wherever anybody starts or ends, at the speed
        // of that time.
        let outcome = run(&workload, &Fleet::new([machine(devices)]), &mut Fifo::new(lowest_id()), &Shared);
        let mut cuts: Vec<Time> = outcome.runs.iter().flat_map(|run| [run.started(), run.ended()]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for run in &outcome.runs {
            let each = if run.job.0.is_multiple_of(2) { 0.25 } else { 1.0 / 3.0 };
            let mut done = 0u128;
            let mut last = 0;
            for pair in cuts.windows(2).filter(|pair| run.started() <= pair[0] && pair[1] <= run.ended()) {
                let here = outcome.runs.iter().filter(|run| run.started() <= pair[0] && pair[1] <= run.ended()).count();
                let rate = (((1u64 << 32) as f64) / (1.0 + each * (here as f64 - 1.0))).round() as u128;
                done += rate * u128::from(pair[1].0 - pair[0].0);
                last = rate;
            }
            let work = workload.jobs[run.index].work.as_nanos() << 32;
            prop_assert!(done >= work && done.saturating_sub(last) < work.max(1), "{run:?} has done {done} of {work}");
        }
    }
}

#[test]
fn two_jobs_that_slow_each_other_end_when_the_closed_form_says() {
    // Each takes 1.256 times as long while both are there (theory: piecewise linear). The second
    // comes after x.
    struct Pair;
    impl Execution for Pair {
        fn name(&self) -> &str {
            "pair"
        }
        fn slowdown(&self, _: &Submission, _: &Assignment, fleet: &Fleet) -> f64 {
            if fleet.tenants().count() == 2 {
                1.256
            } else {
                1.0
            }
        }
        fn coupling(&self) -> Coupling {
            Coupling::Machine
        }
    }
    let second = 1_000_000_000;
    for x in [0, second, 37 * second, 99 * second] {
        let jobs = [
            submission(0, 1, 0, 100 * second),
            submission(1, 1, x, 100 * second),
        ];
        let outcome = run(
            &Workload::new("pair", jobs),
            &Fleet::new([machine(2)]),
            &mut Fifo::new(lowest_id()),
            &Pair,
        );
        let ends: Vec<f64> = outcome
            .runs
            .iter()
            .map(|run| run.ended().0 as f64 / 1e9)
            .collect();
        let x = x as f64 / 1e9;
        let first = x + 1.256 * (100.0 - x);
        let then = first + (100.0 - (first - x) / 1.256);
        assert!(
            (ends[0] - first).abs() < 1e-7 && (ends[1] - then).abs() < 1e-7,
            "{ends:?}, {first}, {then}"
        );
    }
}

#[test]
fn devices_of_a_job_that_ends_are_free_for_one_that_arrives_at_that_nanosecond() {
    let jobs = [submission(0, 2, 0, 10), submission(1, 2, 10, 10)];
    let outcome = run(
        &Workload::new("tie", jobs),
        &Fleet::new([machine(2)]),
        &mut Fifo::new(lowest_id()),
        &Fixed,
    );
    assert_eq!(outcome.runs[1].waited(), Duration::ZERO);
    assert_eq!(
        (outcome.end, outcome.events, outcome.instants),
        (Time(20), 4, 3)
    );
}

#[test]
fn jobs_of_one_moment_are_reported_in_the_order_of_the_workload_whatever_their_numbers() {
    let jobs = [
        submission(9, 2, 5, 10),
        submission(3, 2, 5, 10),
        submission(7, 2, 0, 1),
    ];
    let outcome = run(
        &Workload::new("ties", jobs),
        &Fleet::new([machine(2)]),
        &mut Fifo::new(lowest_id()),
        &Fixed,
    );
    let starts: Vec<u64> = outcome.runs.iter().map(|run| run.started().0).collect();
    assert_eq!(starts, [5, 15, 0]);
}

#[test]
fn with_fixed_run_times_no_policy_that_never_waits_changes_when_jobs_run() {
    let workload = Generator::mapa().generate(3).unwrap();
    let graph = Arc::new(named("dgx-1v").unwrap().graph().unwrap());
    let policies: [Box<dyn Policy>; 3] = [
        Box::new(lowest_id()),
        Box::new(greedy()),
        Box::new(preserve()),
    ];
    let times = policies.map(|policy| {
        let outcome = run(
            &workload,
            &Fleet::new([graph.clone()]),
            &mut Fifo::new(policy),
            &Fixed,
        );
        outcome
            .runs
            .iter()
            .map(|run| (run.started(), run.ended()))
            .collect::<Vec<_>>()
    });
    assert_eq!(times[0].len(), 300);
    assert!(times.iter().all(|spans| *spans == times[0]));
}

#[test]
fn what_can_never_fit_is_rejected_and_blocks_no_other_job() {
    let jobs = [submission(0, 6, 0, 10), submission(1, 2, 0, 10)];
    let outcome = run(
        &Workload::new("large", jobs),
        &Fleet::new([machine(2)]),
        &mut Fifo::new(lowest_id()),
        &Fixed,
    );
    assert_eq!(outcome.rejected.len(), 1);
    insta::assert_snapshot!(
        outcome.rejected[0].why.to_string(),
        @"6 devices are wanted, the request and the machine allow 2"
    );
    assert_eq!(outcome.runs.len(), 1);
}

#[test]
fn jobs_that_nobody_places_are_listed_as_waiting() {
    struct Idle;
    impl Scheduler for Idle {
        fn name(&self) -> &str {
            "idle"
        }
        fn on_event(&mut self, _: Time, _: Event) {}
        fn act(&mut self, _: Time, _: &mut Turn<'_>) {}
    }
    let jobs = [submission(0, 1, 4, 10), submission(1, 1, 0, 10)];
    let outcome = run(
        &Workload::new("idle", jobs),
        &Fleet::new([machine(2)]),
        &mut Idle,
        &Fixed,
    );
    assert_eq!((outcome.waiting, outcome.end), (vec![0, 1], Time(4)));
}

#[test]
fn a_scheduler_that_asks_to_be_woken_forever_ends_with_its_last_job_or_at_its_limit() {
    let forever: fn(&mut Turn<'_>, Time) =
        |turn, now| turn.wake(now + Duration::from_nanos(7), Token(0));
    let never = Workload::new("never", [submission(0, 1, 0, 10)]);
    let stopped = Simulation::new(&never, Fleet::new([machine(2)])).until(Time(30));
    let outcome = stopped.run(&mut Orders(forever), &Fixed).unwrap();
    assert_eq!(
        (outcome.waiting, outcome.end, outcome.instants),
        (vec![0], Time(28), 5)
    );
    let once: fn(&mut Turn<'_>, Time) = |turn, now| {
        if now == Time::ZERO {
            turn.start(
                Tenant::Job(JobId(0)),
                lowest_id(),
                &Request::new(Pattern::ring(1)),
            )
            .unwrap();
        }
        turn.wake(now + Duration::from_nanos(7), Token(0));
    };
    let outcome = run(&never, &Fleet::new([machine(2)]), &mut Orders(once), &Fixed);
    assert_eq!((outcome.runs.len(), outcome.end), (1, Time(10)));
}

#[test]
fn layouts_take_as_long_as_is_said_and_the_observer_sees_every_instant() {
    let graph = named("dgx-a100").unwrap();
    let mut fabric = graph.fabric.clone();
    let model = mapa_topologies::mig::named("a100-40gb")
        .unwrap()
        .model(mapa_topologies::mig::Offer::PLAIN)
        .unwrap();
    fabric.set_mig(Some(&model));
    let graph = Arc::new(fabric.lower().unwrap());
    struct Cutter(mapa_core::mig::Layout);
    impl Scheduler for Cutter {
        fn name(&self) -> &str {
            "cutter"
        }
        fn on_event(&mut self, _: Time, _: Event) {}
        fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
            if now == Time(3) {
                turn.repartition(MachineId(0), mapa_core::DeviceId(0), self.0.clone())
                    .unwrap();
            }
        }
    }
    let layout = model
        .fit(&[model.find("3g").unwrap(), model.find("2g").unwrap()])
        .unwrap();
    let workload = Workload::new("cut", [submission(0, 1, 3, 10)]);
    let mut seen = Vec::new();
    let simulation =
        Simulation::new(&workload, Fleet::new([graph])).repartition(Duration::from_nanos(40));
    let mut cutter = Cutter(layout.clone());
    simulation
        .observe(|now, fleet| {
            seen.push((
                now,
                fleet.machines()[0].view().layout_of(mapa_core::DeviceId(0)) == layout,
            ))
        })
        .run(&mut cutter, &Fixed)
        .unwrap();
    assert_eq!(seen, [(Time(3), false), (Time(43), true)]);
}

/// Gives the same order at every instant.
struct Orders(fn(&mut Turn<'_>, Time));

impl Scheduler for Orders {
    fn name(&self) -> &str {
        "orders"
    }
    fn on_event(&mut self, _: Time, _: Event) {}
    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        (self.0)(turn, now);
    }
}

#[track_caller]
fn refused(order: fn(&mut Turn<'_>, Time)) -> String {
    let workload = Workload::new("one", [submission(0, 1, 0, 10)]);
    let run = Simulation::new(&workload, Fleet::new([machine(2)])).run(&mut Orders(order), &Fixed);
    run.unwrap_err().to_string()
}

#[test]
fn orders_that_cannot_be_carried_out_name_whom_they_are_for() {
    insta::assert_snapshot!(
        refused(
            |turn, _| {
                drop(turn.start(
                    Tenant::Job(JobId(7)),
                    lowest_id(),
                    &Request::new(Pattern::ring(1)),
                ))
            },
        ),
        @"the scheduler ordered a place for job 7: this job does not wait or run; expected one that does"
    );
    insta::assert_snapshot!(
        refused(
            |turn, _| {
                let task = Tenant::Task(JobId(0), mapa_sched::TaskId(1));
                drop(turn.start(task, lowest_id(), &Request::new(Pattern::ring(1))));
            },
        ),
        @"the scheduler ordered a place for task 1 of job 0: this task has not begun or is over; expected one that requests a device"
    );
    insta::assert_snapshot!(
        refused(|turn, _| turn.launch(JobId(4))),
        @"the scheduler ordered a launch for job 4: this job does not wait or run; expected one that does"
    );
    insta::assert_snapshot!(
        refused(
            |turn, _| {
                turn.launch(JobId(0));
                turn.launch(JobId(0));
            },
        ),
        @"the scheduler ordered a launch for job 0: this job has started; expected one that waits"
    );
    insta::assert_snapshot!(
        refused(
            |turn, _| {
                turn.launch(JobId(0));
                drop(turn.start(
                    Tenant::Job(JobId(0)),
                    lowest_id(),
                    &Request::new(Pattern::ring(1)),
                ));
            },
        ),
        @"the scheduler ordered a place for job 0: this job was launched; expected one of its tasks"
    );
    insta::assert_snapshot!(
        refused(|turn, _| turn.throttle(JobId(4), JobLimit::MpsPercent(Some(3)))),
        @"the scheduler ordered a guard for job 4: this job does not wait or run; expected one that does"
    );
    insta::assert_snapshot!(
        refused(
            |turn, _| {
                drop(turn.start(
                    Tenant::Job(JobId(0)),
                    lowest_id(),
                    &Request::new(Pattern::ring(1)),
                ));
                turn.throttle(JobId(0), JobLimit::MpsPercent(Some(0)));
            },
        ),
        @"job 0: a slowdown of inf: expected a number between 2^-31 and 2^31"
    );
    insta::assert_snapshot!(
        refused(|turn, now| turn.wake(now, Token(1))),
        @"after 1000000 wakes at one moment the scheduler still asks to be woken at that moment: it never lets time go on; expected a later moment"
    );
}

#[test]
fn a_workload_that_cannot_be_run_is_refused_by_the_job_at_fault() {
    struct Never(f64);
    impl Execution for Never {
        fn name(&self) -> &str {
            "never"
        }
        fn slowdown(&self, _: &Submission, _: &Assignment, _: &Fleet) -> f64 {
            self.0
        }
    }
    let fleet = Fleet::new([machine(2)]);
    let error = |jobs: Vec<Submission>, execution: &dyn Execution| {
        let workload = Workload::new("bad", jobs);
        Simulation::new(&workload, fleet.clone())
            .run(&mut Fifo::new(lowest_id()), execution)
            .unwrap_err()
            .to_string()
    };
    let twice = error(vec![submission(4, 1, 0, 1), submission(4, 1, 1, 1)], &Fixed);
    assert_eq!(
        twice,
        "job 4: its number is given twice: expected numbers that differ"
    );
    let wrong = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300]
        .map(|slowdown| error(vec![submission(4, 1, 0, 1)], &Never(slowdown)));
    insta::assert_snapshot!(wrong.join("\n"), @"
    job 4: a slowdown of NaN: expected a number between 2^-31 and 2^31
    job 4: a slowdown of inf: expected a number between 2^-31 and 2^31
    job 4: a slowdown of 0: expected a number between 2^-31 and 2^31
    job 4: a slowdown of -1: expected a number between 2^-31 and 2^31
    job 4: a slowdown of 100000000000000000000000000000000000000000000000000000000000...: expected a number between 2^-31 and 2^31
    ");
    let long = error(vec![submission(5, 1, 10, u64::MAX)], &Fixed);
    insta::assert_snapshot!(
        long,
        @"job 5: it would end after more than 584 years: expected shorter jobs, as no later moment can be represented"
    );
    assert!(
        !error(
            vec![Submission {
                work: Duration::MAX,
                ..submission(6, 1, 0, 1)
            }],
            &Fixed
        )
        .is_empty()
    );
}

#[test]
fn sensitive_jobs_take_as_long_as_the_documented_curve_says() {
    // On a DGX-1V by Eq. 2: 3 and 0 share a double link (58.93, so full speed), 0 and 1 a single
    // one (27.72), 0 and 5 only PCIe (10.37).
    let graph = Arc::new(named("dgx-1v").unwrap().graph().unwrap());
    let fleet = Fleet::new([graph.clone()]);
    let model = ByBandwidth::eq_2();
    let slowdown = |devices: &[u32], task: &str, sensitive: bool| {
        let request = Request::new(Pattern::ring(devices.len())).sensitive(sensitive);
        let submission =
            Submission::new(Job::new(JobId(0), request), Duration::from_secs(1)).task(task);
        let placement = devices.iter().map(|&id| mapa_core::DeviceId(id)).collect();
        let at = Assignment {
            machine: MachineId(0),
            lease: mapa_core::LeaseId(0),
            placement,
            rest: Vec::new(),
        };
        model.slowdown(&submission, &at, &fleet)
    };
    let curve = |ratio: f64, gbps: f64| 1.0 + (ratio - 1.0) * (1.0 / gbps - 0.02) / 0.08;
    for (found, expected) in [
        (slowdown(&[0, 3], "VGG-16", true), 1.0),
        (slowdown(&[0, 1], "VGG-16", true), curve(3.0, 27.720_348)),
        (slowdown(&[0, 5], "VGG-16", true), curve(3.0, 10.37)),
        (slowdown(&[0, 5], "AlexNet", true), curve(2.2, 10.37)),
        (slowdown(&[0, 5], "other", true), curve(1.6, 10.37)),
        (slowdown(&[0, 5], "other", false), curve(1.1, 10.37)),
        // Two hops over PCIe: 3.21 GB/s by Eq. 2, taken as the floor.
        (slowdown(&[0, 5, 7], "VGG-16", true), 3.0),
        (slowdown(&[0], "VGG-16", true), 1.0),
    ] {
        assert!((found - expected).abs() < 2e-3, "{found} is not {expected}");
    }
    for floor in [50.0, 60.0, f64::NAN] {
        let mut model = ByBandwidth::eq_2();
        model.floor_gbps = floor;
        let at = Assignment {
            machine: MachineId(0),
            lease: mapa_core::LeaseId(0),
            placement: [0, 5].into_iter().map(mapa_core::DeviceId).collect(),
            rest: Vec::new(),
        };
        assert_eq!(
            model
                .slowdown(&submission(0, 2, 0, 1), &at, &fleet)
                .to_bits(),
            1f64.to_bits()
        );
    }
}

#[test]
fn a_replay_is_the_same_on_any_number_of_threads() {
    let mut generator = Generator::mapa();
    (generator.jobs, generator.sizes) = (400, (1..=12).into());
    let workload = generator.generate(3).unwrap();
    // Made anew, so that threads race for the tables that they share.
    let fleet = || {
        let graphs = ["dgx-1v", "dgx-1p", "dgx-1v", "dgx-1v"]
            .map(|name| Arc::new(named(name).unwrap().graph().unwrap()));
        Fleet::new(graphs).with_network(25.0)
    };
    let run = |fleet: &Fleet| {
        run(
            &workload,
            fleet,
            &mut Fifo::new(preserve()),
            &ByBandwidth::eq_2(),
        )
    };
    let expected = run(&fleet());
    assert_eq!(expected.runs.len(), 400);
    assert!(
        expected
            .runs
            .iter()
            .any(|run| !run.stays[0].at.rest.is_empty())
    );
    for threads in [1, 2, 4] {
        let fleet = fleet();
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(&fleet))).collect();
            for outcome in runs {
                assert_eq!(outcome.join().unwrap(), expected, "{threads} threads");
            }
        });
    }
}

#[test]
fn ranks_that_share_a_device_have_scores_and_a_far_device_has_none() {
    let fleet = Fleet::new([machine(2)]);
    let at = |ids: [u32; 2]| Assignment {
        machine: MachineId(0),
        lease: mapa_core::LeaseId(0),
        placement: ids.into_iter().map(mapa_core::DeviceId).collect(),
        rest: Vec::new(),
    };
    let pair = Pattern::independent(2);
    let scores = |at: &Assignment| Scorer::new().scores_at(&fleet, &pair, at);
    assert_eq!(at([1, 1]).devices(), 1);
    assert!(scores(&at([1, 1])).is_some());
    assert_eq!(at([1, u32::MAX]).devices(), 2);
    assert!(scores(&at([1, u32::MAX])).is_none());
}

#[test]
fn over_several_machines_the_least_bandwidth_counts_and_an_edge_between_them_is_the_network_s() {
    // Four devices, then three: a ring of seven is two chains and two edges over the network.
    let workload = Workload::new("one", [submission(0, 7, 0, 1000)]);
    let [slow, fast] = [20.0, 1000.0].map(|gbps| {
        let fleet = Fleet::new([machine(4), machine(4)]).with_network(gbps);
        let outcome = run(&workload, &fleet, &mut Fifo::new(greedy()), &Fixed);
        Row::of(&outcome, &workload, &fleet, &mut Scorer::new()).remove(0)
    });
    assert_eq!(slow.at.devices(), 7);
    assert_eq!(
        (slow.scores.effective_gbps, slow.scores.in_domain),
        (20.0, false)
    );
    let own = |n: usize| {
        let (graph, part) = (machine(4), Pattern::chain(n));
        let ids: Vec<_> = (0..n as u32).map(mapa_core::DeviceId).collect();
        Scorer::new().scores(&graph, &part, &ids).unwrap()
    };
    // The rank orders are those that greedy takes; each part has both double links, or one.
    let parts = [own(4), own(3)];
    let least = parts[0]
        .ring_packing_gbps
        .zip(parts[1].ring_packing_gbps)
        .map(|(a, b)| a.min(b));
    assert_eq!(fast.scores.ring_packing_gbps, least);
    assert_eq!(
        fast.scores.aggregate_gbps,
        slow.scores.aggregate_gbps + 2.0 * 980.0
    );
    assert_eq!(fast.scores.links.edges(), 7);
    assert_eq!(fast.scores.links.xyz().2, 2, "both edges over the network");
    assert!(fast.share_of_ideal().is_none());
    let table = Row::table(
        &[slow.clone(), fast.clone()],
        &Fleet::new([machine(4), machine(4)]),
    );
    assert!(
        table.to_csv().unwrap().contains("\"0: GPU"),
        "devices go by their machine's number"
    );
    // How long it runs follows.
    let fleet = Fleet::new([machine(4), machine(4)]).with_network(20.0);
    let model = ByBandwidth::eq_2();
    assert_eq!(model.gbps(&workload.jobs[0], &slow.at, &fleet), 20.0);
    assert!(model.slowdown(&workload.jobs[0], &slow.at, &fleet) > 1.0);
}
