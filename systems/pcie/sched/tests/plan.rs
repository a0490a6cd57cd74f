//! The plan per port: what must be true of its schedules, and what it is for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, DeviceId, MachineId, Pattern, Refusal, Request};
use mapa_sched::{Action, Event, Job, JobId, NamedScheduler, RunTime, Scheduler, Time};
use mapa_system_pcie::{PcieBound, PciePlan, PciePorts, PcieWork, PortModel, pcie_bound};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::{cuttable, layout};
use mapa_system_pcie::SCHEDULERS;

fn job(id: u64, slices: u8, gbps: f64, arrives: u64, runs: u64) -> Job {
    let demand = Demand::slice(Size::new(slices, slices)).pcie_gbps(gbps);
    let mut job = Job::new(
        JobId(id),
        Request::new(Pattern::ring(1).with_demand(0, demand)),
    );
    job.arrived = Time::from_secs(arrives);
    job.run_time = RunTime::Fixed(Duration::from_secs(runs));
    job
}

fn slices_of(job: &Job) -> Size {
    match job.request.pattern.demands()[0].want {
        mapa_core::Want::Slice(size) => size,
        _ => Size::new(0, 0),
    }
}

const LAYOUTS: [&[&str]; 3] = [&["1g", "1g", "1g", "1g"], &["2g", "2g"], &["4g"]];

/// Machines of GPUs of four slices, each with one of [`LAYOUTS`], or whole; jobs to come.
fn prepared(machines: &[Vec<usize>], jobs: &[Job]) -> TestDriver {
    let mut driver = TestDriver::new(machines.iter().map(|gpus| cuttable(gpus.len())));
    for (machine, gpus) in (0..).map(MachineId).zip(machines) {
        for (whole, &number) in (0..).map(DeviceId).zip(gpus) {
            if let Some(profiles) = LAYOUTS.get(number) {
                let fleet = &mut driver.fleet;
                fleet.layout_is(machine, whole, &layout(profiles)).unwrap();
            }
        }
    }
    for job in jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
    }
    driver
}

fn run(machines: &[Vec<usize>], scheduler: &mut dyn Scheduler, jobs: &[Job]) -> TestDriver {
    let mut driver = prepared(machines, jobs);
    driver.run(scheduler);
    driver
}

fn starts(driver: &TestDriver) -> BTreeMap<JobId, Time> {
    let mut all = BTreeMap::new();
    for (at, order) in &driver.log {
        if let Action::Place { tenant, .. } = order {
            assert!(all.insert(tenant.job(), *at).is_none(), "{tenant} twice");
        }
    }
    all
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let slices = prop_oneof![4 => Just(1u8), 2 => Just(2), 1 => Just(4), 1 => Just(3)];
    let gbps = prop_oneof![2 => Just(0.0), 2 => Just(5.7), 2 => Just(17.65), 1 => Just(50.0)];
    vec((0u64..4, slices, gbps, 1u64..12), 1..24).prop_map(|rows| {
        let mut arrives = 0;
        let one = |(id, (gap, slices, gbps, runs)): (u64, (u64, u8, f64, u64))| {
            arrives += gap;
            job(id, slices, gbps, arrives, runs)
        };
        (0..).zip(rows).map(one).collect()
    })
}

fn fleets() -> impl Strategy<Value = Vec<Vec<usize>>> {
    vec(vec(0usize..4, 1..=2), 1..=3)
}

#[test]
fn jobs_that_share_a_port_end_no_sooner_than_it_carries_their_traffic() {
    // Four jobs of ten seconds, each of which could fill the port alone: 100 seconds in all until they have ended.
    let work = |gbps| PcieWork {
        arrives: 0.0,
        seconds: 10.0,
        gbps,
        slices: 1,
    };
    for model in [PortModel::EqualShare, PortModel::MaxMin] {
        let ports = PciePorts {
            gpus: 1,
            slices: 7,
            gbps: 30.0,
            model,
        };
        let least =
            |gbps| pcie_bound(&[work(gbps); 4], &ports, 1.0, PcieBound::Prices(300)).unwrap();
        assert!((95.0..=100.0).contains(&least(30.0).value), "{model:?}");
        // Those without traffic run side by side.
        assert!(least(0.0).value <= 40.0, "{model:?}");
    }
}

#[test]
fn a_bound_that_no_memory_holds_is_refused() {
    let ports = PciePorts {
        gpus: 1,
        slices: 7,
        gbps: 30.0,
        model: PortModel::EqualShare,
    };
    let work = |seconds, slices| PcieWork {
        arrives: 0.0,
        seconds,
        gbps: 1.0,
        slices,
    };
    let error = |work, ports: &PciePorts, slot| {
        let bound = pcie_bound(&[work], ports, slot, PcieBound::Prices(1));
        bound.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        error(work(1e300, 1), &ports, 1.0),
        @"bound: 2.2e300 slots of 1.0 s: expected at most 1e6"
    );
    insta::assert_snapshot!(
        error(work(1.0, 1), &ports, 1e-9),
        @"bound: 2.2e9 slots of 1e-9 s: expected at most 1e6"
    );
    let wide = PciePorts {
        slices: 17,
        ..ports
    };
    insta::assert_snapshot!(
        error(work(1.0, 1), &wide, 1.0),
        @"bound: PciePorts { gpus: 1, slices: 17, gbps: 30.0, model: EqualShare }: expected at most 16 slices"
    );
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(60))]

    /// A program that reports nonsense of its progress is not believed, and nobody else's plan suffers.
    #[test]
    fn progress_that_cannot_be_is_not_believed(machines in fleets(), jobs in jobs(), seconds in vec(0u64..40, 1..4)) {
        let with = |share: f64| {
            let mut driver = prepared(&machines, &jobs);
            for &second in &seconds {
                for job in &jobs {
                    driver.at(Time::from_secs(second), Event::Progress { job: job.id, share });
                }
            }
            driver.run(&mut PciePlan::new());
            driver.log
        };
        // So little is not counted yet, so these are the instants without any progress.
        let unseen = with(0.01);
        for share in [0.0, -0.5, 1.5, f64::INFINITY, f64::NAN] {
            prop_assert_eq!(&with(share), &unseen, "{}", share);
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(150))]

    #[test]
    fn no_job_is_lost_run_twice_put_on_too_little_or_overtaken_after_the_wait(
        machines in fleets(), jobs in jobs(), wait in prop_oneof![Just(0u64), Just(3), Just(8), Just(u64::MAX)],
        moves in prop_oneof![Just(0usize), Just(40)], max_min in any::<bool>(),
    ) {
        let wait = if wait == u64::MAX { Duration::MAX } else { Duration::from_secs(wait) };
        let model = if max_min { PortModel::MaxMin } else { PortModel::EqualShare };
        let mut plan = PciePlan::new().wait_threshold(wait).moves(moves).model(model);
        let driver = run(&machines, &mut plan, &jobs);
        let started = starts(&driver);
        let mut rejected = BTreeSet::new();
        for (_, order) in &driver.log {
            match order {
                Action::Reject { job, why } => {
                    prop_assert!(matches!(why, Refusal::Infeasible(_)));
                    prop_assert!(rejected.insert(*job));
                }
                Action::Move { .. } | Action::Suspend { .. } => prop_assert!(false, "no job is disturbed"),
                _ => {}
            }
        }
        for job in &jobs {
            let never = slices_of(job) == Size::new(3, 3);
            prop_assert_eq!(rejected.contains(&job.id), never);
            prop_assert_eq!(started.contains_key(&job.id), !never, "{} is lost", job.id);
        }
        prop_assert_eq!(plan.waiting().count(), 0);
        for (at, order) in &driver.log {
            let Action::Place { tenant, at: placed } = order else { continue };
            let graph = driver.fleet.machine(placed.machine).unwrap().graph();
            let had = graph.device(placed.placement[0]).size.unwrap();
            let own = &jobs[tenant.job().0 as usize];
            let waited = at.since(own.arrived);
            prop_assert!(had == slices_of(own) || waited >= wait && had.covers(slices_of(own)));
            for other in &jobs[..tenant.job().0 as usize] {
                let starves = at.since(other.arrived) >= wait;
                let waits = started.get(&other.id).is_some_and(|start| start > at);
                let could = had.covers(slices_of(other));
                prop_assert!(!(starves && waits && could), "{} overtaken by {tenant} at {at}", other.id);
            }
        }
    }

    #[test]
    fn one_seed_has_one_schedule(machines in fleets(), jobs in jobs(), seed in 0u64..5) {
        let once = || run(&machines, &mut PciePlan::new().seed(seed).moves(60), &jobs).log;
        prop_assert_eq!(once(), once());
    }

    /// Cordons move planned jobs to other GPUs, and keep them waiting if there is none.
    #[test]
    fn who_was_planned_for_a_cordoned_gpu_runs_elsewhere(jobs in jobs(), at in 0u64..20) {
        let mut driver = TestDriver::new([cuttable(2)]);
        for job in &jobs {
            driver.at(job.arrived, Event::Arrived(job.clone()));
        }
        let cordon = |cordoned| Event::Cordoned { machine: MachineId(0), whole: Some(DeviceId(0)), cordoned };
        driver.at(Time::from_secs(at), cordon(true));
        let all = |cordoned| Event::Cordoned { machine: MachineId(0), whole: None, cordoned };
        driver.at(Time::from_secs(at + 5), all(true));
        driver.at(Time::from_secs(at + 9), all(false));
        driver.run(&mut PciePlan::new());
        let started = starts(&driver);
        for job in &jobs {
            prop_assert_eq!(started.contains_key(&job.id), slices_of(job) != Size::new(3, 3), "{}", job.id);
        }
        let to_cordoned = driver.log.iter().filter(|(when, order)| match order {
            Action::Place { at: placed, .. } => {
                let graph = driver.fleet.machine(placed.machine).unwrap().graph();
                let whole = graph.device(placed.placement[0]).parent;
                let (from, until) = (Time::from_secs(at), Time::from_secs(at + 9));
                *when >= from && *when < until
                    && (whole == DeviceId(0) || *when >= Time::from_secs(at + 5))
            }
            _ => false,
        });
        prop_assert_eq!(to_cordoned.count(), 0);
    }
}

#[test]
fn heavy_jobs_take_turns_on_a_port_where_that_ends_them_sooner() {
    // Four jobs that each want the whole port. Together they all end at 40 s; one after another at
    // 10, 20, 30 and 40 s.
    let jobs: Vec<Job> = (0..4).map(|id| job(id, 1, 30.0, 0, 10)).collect();
    let driver = run(&[vec![0]], &mut PciePlan::new(), &jobs);
    let times: Vec<Time> = starts(&driver).into_values().collect();
    let at = |seconds| Time::from_secs(seconds);
    let mut sorted = times.clone();
    sorted.sort();
    assert_eq!(sorted, [at(0), at(10), at(20), at(30)]);
}

#[test]
fn jobs_that_copy_little_start_at_once_beside_a_heavy_one() {
    let mut jobs = vec![job(0, 1, 30.0, 0, 10)];
    jobs.extend((1..4).map(|id| job(id, 1, 0.0, 0, 10)));
    let driver = run(&[vec![0]], &mut PciePlan::new(), &jobs);
    assert!(starts(&driver).values().all(|&at| at == Time::ZERO));
}

#[test]
fn an_idle_gpu_is_repartitioned_for_its_list_and_never_without_leave() {
    let jobs = [job(0, 4, 0.0, 0, 10), job(1, 1, 0.0, 0, 5)];
    let driver = run(&[vec![0]], &mut PciePlan::new(), &jobs);
    let started = starts(&driver);
    assert_eq!(started.len(), 2, "{started:?}");
    let mut still = PciePlan::new().repartition(None);
    let driver = run(&[vec![0]], &mut still, &jobs);
    assert_eq!(
        starts(&driver).keys().collect::<Vec<_>>(),
        [&JobId(1)],
        "no GPU has four slices in one"
    );
}

#[test]
fn what_is_planned_is_explained() {
    let mut plan = PciePlan::new();
    let jobs: Vec<Job> = (0..3).map(|id| job(id, 4, 0.0, 0, 10)).collect();
    let mut driver = TestDriver::new([cuttable(1)]);
    driver
        .fleet
        .layout_is(MachineId(0), DeviceId(0), &layout(&["4g"]))
        .unwrap();
    let mut orders = Vec::new();
    let events = jobs.iter().cloned().map(Event::Arrived);
    mapa_sched::step(
        &mut plan,
        &mut driver.fleet,
        Time::ZERO,
        events,
        &mut orders,
    )
    .unwrap();
    let waits: Vec<_> = (0..3).filter_map(|id| plan.explain(JobId(id))).collect();
    let at = |seconds| Time::from_secs(seconds);
    let mut expected: Vec<_> = waits.iter().filter_map(|wait| wait.expected).collect();
    expected.sort();
    assert_eq!(expected, [(at(10), at(20)), (at(20), at(30))]);
    assert!(
        waits
            .iter()
            .all(|wait| wait.whole == DeviceId(0) && wait.below.is_none())
    );
    assert_eq!(plan.explain(JobId(9)), None);
}

#[test]
fn settings_in_words_are_those_of_the_type_and_wrong_ones_are_named() {
    let policy = || Box::new(mapa_core::preserve()) as Box<dyn mapa_core::Policy>;
    let words = "pcie-plan,search=50,model=max-min,patience=none,wait=600,repartition=none,seed=3";
    assert_eq!(
        NamedScheduler::among(&SCHEDULERS, words, policy())
            .unwrap()
            .name(),
        "pcie-plan"
    );
    let said = [
        "pcie-plan,model=fair",
        "pcie-plan,search=many",
        "pcie-plan,wait=-1",
    ]
    .map(|words| {
        let error = NamedScheduler::among(&SCHEDULERS, words, policy())
            .err()
            .unwrap()
            .to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "pcie-plan,model=fair" -> scheduler `pcie-plan,model=fair`: `model=fair`: expected eq-2 or max-min
    "pcie-plan,search=many" -> scheduler `pcie-plan,search=many`: `search=many`: expected a whole number, at most 1000000
    "pcie-plan,wait=-1" -> scheduler `pcie-plan,wait=-1`: `wait=-1`: expected seconds from 0 on, or none
    "#);
}

/// What is seen to be done corrects a run time that was told wrong: the plan waits no longer for a
/// job that it thought short.
#[test]
fn observed_progress_moves_what_is_expected() {
    let mut plan = PciePlan::new();
    let mut driver = TestDriver::new([cuttable(1)]);
    driver
        .fleet
        .layout_is(MachineId(0), DeviceId(0), &layout(&["4g"]))
        .unwrap();
    let fleet = &mut driver.fleet;
    let events = (0..2).map(|id| Event::Arrived(job(id, 4, 0.0, 0, 10)));
    let mut orders = Vec::new();
    mapa_sched::step(&mut plan, fleet, Time::ZERO, events, &mut orders).unwrap();
    // After five seconds a tenth is done: the job takes fifty seconds, not ten.
    let now = Time::from_secs(5);
    let running = (0..2)
        .map(JobId)
        .find(|&id| plan.explain(id).is_none())
        .unwrap();
    let events = [Event::Progress {
        job: running,
        share: 0.1,
    }];
    mapa_sched::step(&mut plan, fleet, now, events, &mut orders).unwrap();
    let waiting = JobId(1 - running.0);
    let (starts, _) = plan.explain(waiting).unwrap().expected.unwrap();
    assert_eq!(starts, Time::from_secs(50));
}
