//! Backfilling: against schedulers that count, and by what is promised.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::testing::{joined_machines, patterns};
use mapa_core::{
    BuiltIn, Decision, Demand, DeviceId, HardwareGraph, LeaseId, MachineId, Pattern, Policy,
    Reason, Refusal, Request, View, greedy, lowest_id, packed, random,
};
use mapa_sched::{
    Action, Assignment, Conservative, Easy, Event, Fleet, Job, JobId, NamedScheduler, Order,
    RunTime, SCHEDULERS, Scheduler, Time, Turn, step,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::counts::{Kind, Simple, exact, starts, wrong};
use mapa_sched::testing::{TestDriver, WatchedScheduler};
use mapa_sched::testing::{cuttable, joined, layout, whole_machines};

fn job(id: usize, simple: &Simple, request: Request) -> Job {
    let mut job = Job::new(JobId(id as u64), request);
    job.arrived = Time::from_secs(simple.arrives);
    if let Some(estimate) = simple.estimate {
        job.run_time = RunTime::Fixed(Duration::from_secs(estimate));
    }
    job
}

/// Jobs to come, that ask for what `request` says of them.
pub(crate) fn prepared(
    machines: &[Arc<HardwareGraph>],
    jobs: &[Simple],
    request: impl Fn(usize, &Simple) -> Request,
) -> TestDriver {
    let mut driver = TestDriver::new(machines.iter().cloned());
    for (id, simple) in jobs.iter().enumerate() {
        driver
            .lengths
            .insert(JobId(id as u64), Duration::from_secs(simple.length));
        driver.at(
            Time::from_secs(simple.arrives),
            Event::Arrived(job(id, simple, request(id, simple))),
        );
        if let Some(cancelled) = simple.cancelled {
            driver.at(
                Time::from_secs(cancelled),
                Event::Cancelled(JobId(id as u64)),
            );
        }
    }
    driver
}

pub(crate) fn run(
    machines: &[Arc<HardwareGraph>],
    scheduler: &mut dyn Scheduler,
    jobs: &[Simple],
    request: impl Fn(usize, &Simple) -> Request,
) -> TestDriver {
    let mut driver = prepared(machines, jobs, request);
    driver.run(scheduler);
    driver
}

pub(crate) fn placed_and_rejected(driver: &TestDriver) -> Vec<&(Time, Action)> {
    driver
        .log
        .iter()
        .filter(|(_, order)| !matches!(order, Action::Wake { .. }))
        .collect()
}

pub(crate) fn ring(_: usize, simple: &Simple) -> Request {
    Request::new(Pattern::ring(simple.devices))
}

/// The second at which each job starts.
fn started(driver: &TestDriver, jobs: usize) -> Vec<Option<u64>> {
    let placed: BTreeMap<u64, u64> = driver
        .placed()
        .iter()
        .map(|(at, tenant, _)| (tenant.job().0, *at))
        .collect();
    (0..jobs as u64)
        .map(|id| placed.get(&id).copied())
        .collect()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1500))]

    #[test]
    fn on_devices_that_are_all_alike_easy_is_what_counts_say(jobs in exact(30), devices in 6usize..=8) {
        let driver = run(&[joined(&vec![1.0; devices])], &mut Easy::new(lowest_id()), &jobs, ring);
        prop_assert_eq!(started(&driver, jobs.len()), starts(devices, &jobs, Kind::Easy));
    }

    #[test]
    fn on_devices_that_are_all_alike_conservative_is_what_counts_say(jobs in exact(30), devices in 6usize..=8) {
        let driver = run(&[joined(&vec![1.0; devices])], &mut Conservative::new(lowest_id()), &jobs, ring);
        prop_assert_eq!(started(&driver, jobs.len()), starts(devices, &jobs, Kind::Conservative(100)));
    }

    #[test]
    fn with_wrong_estimates_too_easy_is_what_counts_say(jobs in wrong(20), devices in 6usize..=8) {
        let driver = run(&[joined(&vec![1.0; devices])], &mut Easy::new(greedy()), &jobs, ring);
        prop_assert_eq!(started(&driver, jobs.len()), starts(devices, &jobs, Kind::Easy));
    }

    #[test]
    fn with_wrong_estimates_too_conservative_is_what_counts_say(jobs in wrong(20), depth in 1usize..8) {
        let mut scheduler = Conservative::new(lowest_id()).depth(depth);
        let driver = run(&[joined(&[1.0; 6])], &mut scheduler, &jobs, ring);
        prop_assert_eq!(started(&driver, jobs.len()), starts(6, &jobs, Kind::Conservative(depth)));
    }
}

/// Servers that each job takes as a whole: a fleet of processors that are counted.
fn servers_of_two(servers: usize) -> Vec<Arc<HardwareGraph>> {
    vec![joined(&[1.0; 2]); servers]
}

fn whole_servers(jobs: &[Simple]) -> Vec<Simple> {
    let whole = |job: &Simple| Simple { devices: 1, ..*job };
    jobs.iter().map(whole).collect()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(600))]

    #[test]
    fn on_servers_that_jobs_take_as_a_whole_easy_is_what_counts_say(jobs in exact(30), servers in 1usize..=5) {
        let jobs = whole_servers(&jobs);
        let pair = |_: usize, _: &Simple| Request::new(Pattern::ring(2));
        let driver = run(&servers_of_two(servers), &mut Easy::new(lowest_id()), &jobs, pair);
        prop_assert_eq!(started(&driver, jobs.len()), starts(servers, &jobs, Kind::Easy));
    }

    #[test]
    fn on_servers_that_jobs_take_as_a_whole_conservative_is_what_counts_say(
        jobs in exact(30), servers in 1usize..=5, depth in 1usize..30,
    ) {
        let jobs = whole_servers(&jobs);
        let pair = |_: usize, _: &Simple| Request::new(Pattern::ring(2));
        let mut scheduler = Conservative::new(lowest_id()).depth(depth);
        let driver = run(&servers_of_two(servers), &mut scheduler, &jobs, pair);
        prop_assert_eq!(started(&driver, jobs.len()), starts(servers, &jobs, Kind::Conservative(depth)));
    }
}

fn simple(arrives: u64, devices: usize, length: u64, estimate: u64) -> Simple {
    Simple {
        arrives,
        devices,
        length,
        estimate: Some(estimate),
        cancelled: None,
    }
}

#[test]
fn a_job_that_takes_no_time_leaves_the_head_of_easy_its_reservation() {
    // At 100 the second job starts and ends. The third needs all devices then, and the fourth must not
    // take any.
    let jobs = [
        simple(0, 3, 100, 100),
        simple(1, 2, 0, 0),
        simple(1, 4, 10, 10),
        simple(1, 2, 1000, 1000),
    ];
    let driver = run(
        &[joined(&[1.0; 4])],
        &mut Easy::new(lowest_id()),
        &jobs,
        ring,
    );
    let expected = [Some(0), Some(100), Some(100), Some(110)];
    assert_eq!(started(&driver, jobs.len()), expected);
}

#[test]
fn events_that_change_nothing_break_no_promise_of_conservative() {
    let jobs = [
        simple(0, 2, 100, 100),
        simple(0, 1, 50, 200),
        simple(0, 1, 200, 200),
        // Reserved at 200, and at 100. When the second job ends early, the last is in the way of the
        // one before it, which could have been first.
        simple(1, 3, 100, 100),
        simple(2, 2, 100, 100),
    ];
    let mut driver = prepared(&[joined(&[1.0; 4]), joined(&[1.0])], &jobs, ring);
    let (machine, whole) = (MachineId(1), DeviceId(0));
    let occupied = Event::Occupied {
        machine,
        whole,
        occupied: true,
    };
    driver.at(Time::ZERO, occupied);
    let cordoned = Event::Cordoned {
        machine,
        whole: Some(whole),
        cordoned: true,
    };
    driver.at(Time::from_secs(60), cordoned);
    driver.run(&mut Conservative::new(lowest_id()));
    let expected = [0, 0, 0, 200, 100].map(Some);
    assert_eq!(started(&driver, jobs.len()), expected);
}

#[test]
fn ranks_that_share_wait_for_no_device_of_their_own() {
    // Two ranks share the only device, which one job has alone until 100. They fit there, both, as soon as it has gone; who
    // counted a free device for each would never plan them.
    let jobs = [simple(0, 1, 100, 100), simple(1, 2, 10, 10)];
    let request = |id: usize, _: &Simple| match id {
        0 => Request::new(Pattern::single(Demand::whole())),
        _ => Request::new(Pattern::ring(2).each(Demand::any().shared())),
    };
    let mut reserved = Vec::new();
    let mut easy = WatchedScheduler(Easy::new(packed()), |easy: &Easy, now, _: &mut Turn<'_>| {
        reserved.extend(easy.reservation().filter(|_| now == Time::from_secs(1)));
    });
    let driver = run(&[joined(&[1.0])], &mut easy, &jobs, request);
    assert_eq!(started(&driver, 2), [Some(0), Some(100)]);
    assert_eq!(reserved, [(JobId(1), Time::from_secs(100))]);
    let driver = run(
        &[joined(&[1.0])],
        &mut Conservative::new(packed()),
        &jobs,
        request,
    );
    assert_eq!(started(&driver, 2), [Some(0), Some(100)]);
}

/// The lowest ids; a job of three or more wants a spare device besides.
struct WithSpare;

impl Policy for WithSpare {
    fn name(&self) -> &str {
        "with-spare"
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let ranks = request.pattern.len();
        if ranks >= 3 && view.free().len() <= ranks {
            return Err(Refusal::Busy(Reason::Rule("a spare device".into())));
        }
        lowest_id().decide(request, view)
    }
}

#[test]
fn a_job_that_leaves_the_head_its_devices_waits_if_the_heads_policy_needs_more_than_these() {
    // The head has three devices and a spare at 100. The last job, on the device that the head would not take, takes the spare.
    let jobs = [
        simple(0, 1, 100, 100),
        simple(1, 3, 10, 10),
        simple(2, 1, 1000, 1000),
    ];
    let driver = run(&[joined(&[1.0; 4])], &mut Easy::new(WithSpare), &jobs, ring);
    assert_eq!(started(&driver, 3), [0, 100, 100].map(Some));
}

#[test]
fn a_job_that_starts_before_the_head_moves_its_reservation() {
    // One job goes before all others here. The head has all four devices at 100, until that job starts and stays until 202;
    // then a job of 150 seconds, last in the queue, is not in its way.
    let jobs = [
        simple(0, 2, 100, 100),
        simple(1, 4, 10, 10),
        simple(2, 1, 200, 200),
        simple(3, 1, 150, 150),
    ];
    let first = Order::by(|a, b| (a.id.0 != 2).cmp(&(b.id.0 != 2)));
    let mut seen = BTreeMap::new();
    let easy = Easy::new(lowest_id()).order(first);
    let mut easy = WatchedScheduler(easy, |easy: &Easy, now, _: &mut Turn<'_>| {
        seen.insert(now, easy.reservation());
    });
    let driver = run(&[joined(&[1.0; 4])], &mut easy, &jobs, ring);
    assert_eq!(started(&driver, 4), [0, 202, 2, 3].map(Some));
    let at = |second| seen[&Time::from_secs(second)];
    let reserved = |second| Some((JobId(1), Time::from_secs(second)));
    assert_eq!(
        [at(1), at(2), at(3)],
        [reserved(100), reserved(202), reserved(202)]
    );
}

#[test]
fn nothing_is_reserved_for_a_head_that_has_gone() {
    let withdrawn = Simple {
        cancelled: Some(50),
        ..simple(1, 4, 10, 10)
    };
    let jobs = [simple(0, 2, 100, 100), withdrawn];
    let mut seen = BTreeMap::new();
    let mut easy = WatchedScheduler(
        Easy::new(lowest_id()),
        |easy: &Easy, now, _: &mut Turn<'_>| {
            seen.insert(now, easy.reservation());
        },
    );
    run(&[joined(&[1.0; 4])], &mut easy, &jobs, ring);
    let at = |second| seen[&Time::from_secs(second)];
    assert_eq!(at(1), Some((JobId(1), Time::from_secs(100))));
    assert_eq!(at(50), None);
}

#[test]
fn a_job_that_is_adopted_renews_the_plan_of_its_machine() {
    // Four devices: two are in use for ten hours, and the second job waits for all. A job is adopted on
    // one more, and the third job fits on the other meanwhile.
    let jobs = [
        simple(0, 2, 36_000, 36_000),
        simple(1, 4, 10, 10),
        simple(6, 1, 10, 10),
    ];
    let arrived = |id: usize| Event::Arrived(job(id, &jobs[id], ring(id, &jobs[id])));
    let at = Assignment {
        machine: MachineId(0),
        lease: LeaseId::default(),
        placement: [DeviceId(2)].into_iter().collect(),
        rest: Vec::new(),
    };
    let adopted = Event::Adopted {
        job: Job::new(JobId(9), Request::new(Pattern::ring(1))),
        at,
        since: Time::ZERO,
    };
    let (mut fleet, mut orders) = (Fleet::new([joined(&[1.0; 4])]), Vec::new());
    let mut scheduler = Conservative::new(lowest_id());
    for (second, event) in [
        (0, arrived(0)),
        (1, arrived(1)),
        (5, adopted),
        (6, arrived(2)),
    ] {
        let now = Time::from_secs(second);
        step(&mut scheduler, &mut fleet, now, [event], &mut orders).unwrap();
    }
    let holders: Vec<u64> = fleet.tenants().map(|(tenant, ..)| tenant.job().0).collect();
    assert_eq!(holders, [0, 2, 9]);
}

#[test]
fn a_reservation_beyond_the_depth_is_kept_when_its_moment_comes() {
    // The first two are on a machine of four, the third on one of two. The fourth needs four devices
    // and cannot be planned as long as the first may run for ever, so the fifth is reserved at 100.
    // When the first ends, the fourth is reserved before it, which makes the depth full.
    let mut jobs = vec![
        simple(0, 2, 50, 0),
        simple(0, 2, 200, 200),
        simple(0, 2, 100, 100),
        simple(1, 4, 10, 10),
        simple(2, 2, 10, 10),
    ];
    jobs[0].estimate = Some(u64::MAX);
    let machines = [joined(&[1.0; 4]), joined(&[1.0; 2])];
    let mut scheduler = Conservative::new(lowest_id()).depth(1);
    let driver = run(&machines, &mut scheduler, &jobs, ring);
    let starts = started(&driver, jobs.len());
    assert_eq!(starts, [0, 0, 0, 200, 100].map(Some));
}

#[test]
fn jobs_that_run_three_times_as_long_as_they_say_do_not_overtake_the_head_of_easy_forever() {
    // Two jobs a second on one device each keep eight devices busy; the large job comes after
    // twenty seconds.
    let small = |id: u64| Simple {
        arrives: id / 2,
        devices: 1,
        length: 15,
        estimate: Some(5),
        cancelled: None,
    };
    for devices in 5..=8 {
        let large = Simple {
            devices,
            ..small(40)
        };
        let jobs: Vec<Simple> = (0..40)
            .map(small)
            .chain([large])
            .chain((40..400).map(small))
            .collect();
        let driver = run(
            &[joined(&[1.0; 8])],
            &mut Easy::new(lowest_id()),
            &jobs,
            ring,
        );
        let starts = started(&driver, jobs.len());
        // At the head it is when the 40 before it have started, eight every 15 seconds; then those
        // that run must end.
        let before = (0..40).filter_map(|job| starts[job]).max().unwrap();
        let start = starts[40].unwrap();
        assert!(
            start <= before + 2 * 15,
            "{devices} devices: {start} is long after {before}"
        );
        assert!(starts.iter().all(Option::is_some));
    }
}

/// A request of any shape for a job, the same for the same job; some are sensitive, some want
/// direct links.
pub(crate) fn shaped(shapes: &[Pattern]) -> impl Fn(usize, &Simple) -> Request {
    move |id, simple| {
        let shape = shapes[id % shapes.len()].clone();
        let request = Request::new(shape).sensitive(simple.length % 2 == 0);
        if simple.length % 5 == 0 {
            request.min_link(mapa_core::LinkClass::Direct(1))
        } else {
            request
        }
    }
}

pub(crate) fn names() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "lowest-id",
        "topo-aware",
        "greedy",
        "preserve",
        "max-bandwidth",
    ])
}

fn no_job_could_start_when_idle<'a>(
    turn: &Turn<'_>,
    policy: &dyn Policy,
    waiting: impl Iterator<Item = &'a Job>,
) {
    let mut waiting = waiting.filter(|_| turn.fleet().tenants().count() == 0);
    let able = waiting.find(|job| turn.decide(policy, &job.request).is_ok());
    assert!(able.is_none(), "the fleet is idle, and {able:?} waits");
}

fn is_rejected(driver: &TestDriver, id: usize) -> bool {
    driver
        .log
        .iter()
        .any(|(_, order)| matches!(order, Action::Reject { job, .. } if job.0 == id as u64))
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn with_exact_estimates_the_head_never_starts_later_than_it_was_promised(
        machines in whole_machines(), jobs in exact(16), shapes in vec(patterns(1..=5), 1..8), name in names(),
    ) {
        let mut promised: BTreeMap<JobId, Time> = BTreeMap::new();
        let mut scheduler = WatchedScheduler(Easy::new(BuiltIn::named(name).unwrap()), |easy: &Easy, _, _: &mut Turn<'_>| {
            if let Some((job, at)) = easy.reservation() {
                let first = *promised.entry(job).or_insert(at);
                assert!(at <= first, "job {job} was promised {first}, now it is {at}");
                promised.insert(job, at);
            }
        });
        let driver = run(&machines, &mut scheduler, &jobs, shaped(&shapes));
        for (second, tenant, _) in driver.placed() {
            let at = promised.get(&tenant.job());
            prop_assert!(at.is_none_or(|&at| Time::from_secs(second) <= at), "{} at {}, not {:?}", tenant, second, at);
        }
    }

    #[test]
    fn with_exact_estimates_no_job_starts_later_than_conservative_has_promised(
        machines in whole_machines(), jobs in exact(16), shapes in vec(patterns(1..=5), 1..8), name in names(),
    ) {
        let mut promised: BTreeMap<JobId, Time> = BTreeMap::new();
        let policy = BuiltIn::named(name).unwrap();
        let mut scheduler = WatchedScheduler(Conservative::new(policy), |scheduler: &Conservative, now, _: &mut Turn<'_>| {
            for (job, at, ..) in scheduler.reservations() {
                assert!(at > now, "a moment to come");
                let first = *promised.entry(job).or_insert(at);
                assert!(at <= first, "job {job} was promised {first}, now it is {at}");
                promised.insert(job, at);
            }
            let reserved: BTreeSet<JobId> = scheduler.reservations().map(|(job, ..)| job).collect();
            assert_eq!(reserved.len(), scheduler.reservations().count(), "one reservation a job");
            assert!(scheduler.waiting().all(|job| reserved.contains(&job.id)), "everybody has one");
        });
        let driver = run(&machines, &mut scheduler, &jobs, shaped(&shapes));
        for (second, tenant, _) in driver.placed() {
            let at = promised.get(&tenant.job());
            prop_assert!(at.is_none_or(|&at| Time::from_secs(second) <= at), "{} at {}, not {:?}", tenant, second, at);
        }
        let all = started(&driver, jobs.len());
        prop_assert!((0..jobs.len()).all(|id| all[id].is_some() != is_rejected(&driver, id)), "started or rejected");
    }

    #[test]
    fn reservations_of_one_moment_do_not_overlap(
        machines in whole_machines(), jobs in wrong(16), shapes in vec(patterns(1..=5), 1..8), name in names(),
    ) {
        let lengths: Vec<Duration> =
            jobs.iter().map(|job| job.estimate.map_or(Duration::from_secs(315_360_000), Duration::from_secs)).collect();
        let policy = BuiltIn::named(name).unwrap();
        let mut scheduler = WatchedScheduler(Conservative::new(policy), |scheduler: &Conservative, _, _: &mut Turn<'_>| {
            let slots: Vec<_> = scheduler.reservations().collect();
            for (i, (a, from, machine, set)) in slots.iter().enumerate() {
                for (b, other_from, other_machine, other) in &slots[..i] {
                    let until = *from + lengths[a.0 as usize];
                    let other_until = *other_from + lengths[b.0 as usize];
                    let at_once = *from < other_until && *other_from < until;
                    assert!(!at_once || machine != other_machine || set.is_disjoint(other), "jobs {a} and {b}");
                }
            }
        });
        run(&machines, &mut scheduler, &jobs, shaped(&shapes));
    }

    #[test]
    fn wrong_estimates_lose_no_job_and_leave_none_waiting_on_an_idle_fleet(
        machines in whole_machines(),
        jobs in wrong(16),
        shapes in vec(patterns(1..=5), 1..8),
        name in names(),
        depth in 1usize..5,
    ) {
        let policy = || BuiltIn::named(name).unwrap();
        let easy = WatchedScheduler(Easy::new(policy()), |scheduler: &Easy, _, turn: &mut Turn<'_>| {
            no_job_could_start_when_idle(turn, &policy(), scheduler.waiting());
        });
        let conservative = Conservative::new(policy()).depth(depth);
        let conservative = WatchedScheduler(conservative, |scheduler: &Conservative, _, turn: &mut Turn<'_>| {
            no_job_could_start_when_idle(turn, &policy(), scheduler.waiting());
        });
        let schedulers: [Box<dyn Scheduler>; 2] = [Box::new(easy), Box::new(conservative)];
        for mut scheduler in schedulers {
            let driver = run(&machines, &mut *scheduler, &jobs, shaped(&shapes));
            let all = started(&driver, jobs.len());
            for id in 0..jobs.len() {
                let gone = all[id].is_some() || is_rejected(&driver, id) || jobs[id].cancelled.is_some();
                prop_assert!(gone, "job {} waits for ever", id);
                if is_rejected(&driver, id) {
                    let answer = Fleet::new(machines.iter().cloned()).decide(policy(), &shaped(&shapes)(id, &jobs[id]));
                    prop_assert!(matches!(answer, Err(Refusal::Infeasible(_))));
                }
            }
            prop_assert_eq!(driver.fleet.tenants().count(), 0, "all is given back");
        }
    }

    #[test]
    fn the_same_jobs_get_the_same_orders_by_backfilling(
        machines in whole_machines(), jobs in wrong(16), shapes in vec(patterns(1..=5), 1..8), seed in any::<u64>(),
    ) {
        let drawn = move |job: &Job| -> Box<dyn mapa_core::Policy> { Box::new(random("placement", seed, job.id.0)) };
        let easy = || run(&machines, &mut Easy::choosing(drawn), &jobs, shaped(&shapes)).log;
        prop_assert_eq!(easy(), easy());
        let conservative = || run(&machines, &mut Conservative::choosing(drawn), &jobs, shaped(&shapes)).log;
        prop_assert_eq!(conservative(), conservative());
    }

    #[test]
    fn facts_of_unknown_jobs_change_nothing(
        machines in whole_machines(), jobs in wrong(12), events in vec((0u64..40, any::<bool>()), 1..6),
    ) {
        for row in SCHEDULERS {
            let make = || NamedScheduler::among(&SCHEDULERS, row.name, Box::new(greedy())).unwrap();
            let plain = run(&machines, &mut *make(), &jobs, ring);
            let mut driver = prepared(&machines, &jobs, ring);
            for (second, ended) in &events {
                let unknown = JobId(1000 + second);
                let event = if *ended { Event::Finished(unknown) } else { Event::Cancelled(unknown) };
                driver.at(Time::from_secs(*second), event);
            }
            driver.run(&mut *make());
            prop_assert_eq!(placed_and_rejected(&driver), placed_and_rejected(&plain), "{}", row.name);
        }
    }

    #[test]
    fn jobs_that_share_devices_or_take_instances_all_run(jobs in wrong(14), depth in 1usize..20) {
        let request = |_: usize, simple: &Simple| {
            let demand = match simple.devices {
                1 | 2 => Demand::any().shared().memory(simple.length << 30),
                3 => Demand::slice(Size::new(1, 1)),
                4 => Demand::at_least(Size::new(2, 2)),
                _ => Demand::whole(),
            };
            Request::new(Pattern::ring(1 + simple.devices % 2).each(demand))
        };
        let schedulers: [Box<dyn Scheduler>; 2] =
            [Box::new(Easy::new(packed())), Box::new(Conservative::new(packed()).depth(depth))];
        for mut scheduler in schedulers {
            let mut driver = prepared(&[cuttable(3), cuttable(1)], &jobs, request);
            driver.fleet.layout_is(MachineId(0), DeviceId(0), &layout(&["1g", "1g", "2g"])).unwrap();
            driver.fleet.layout_is(MachineId(1), DeviceId(0), &layout(&["2g", "2g"])).unwrap();
            driver.run(&mut *scheduler);
            let all = started(&driver, jobs.len());
            for id in 0..jobs.len() {
                let gone = all[id].is_some() || is_rejected(&driver, id) || jobs[id].cancelled.is_some();
                prop_assert!(gone, "job {} waits for ever", id);
            }
            prop_assert_eq!(driver.fleet.tenants().count(), 0, "all is given back");
        }
    }

    #[test]
    fn on_larger_machines_promises_hold_too(machine in joined_machines(8..=10), jobs in exact(24), name in names()) {
        let mut promised: BTreeMap<JobId, Time> = BTreeMap::new();
        let policy = BuiltIn::named(name).unwrap();
        let mut scheduler = WatchedScheduler(Conservative::new(policy), |scheduler: &Conservative, _, _: &mut Turn<'_>| {
            for (job, at, ..) in scheduler.reservations() {
                let first = *promised.entry(job).or_insert(at);
                assert!(at <= first, "job {job} was promised {first}, now it is {at}");
            }
        });
        let driver = run(&[Arc::new(machine)], &mut scheduler, &jobs, ring);
        let all = started(&driver, jobs.len());
        let known = |id: usize| promised.get(&JobId(id as u64)).copied();
        let kept = |id: usize| all[id].is_some_and(|second| known(id).is_none_or(|at| Time::from_secs(second) <= at));
        prop_assert!((0..jobs.len()).all(kept));
    }
}
