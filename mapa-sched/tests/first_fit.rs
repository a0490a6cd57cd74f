//! Lists that skip what does not fit: what the threshold and the limits promise.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::{machines, patterns};
use mapa_core::{
    Candidate, Fabric, HardwareGraph, LinkClass, Pattern, Policy, Request, Rules, criteria::max,
    effective_gbps, preserve,
};
use mapa_sched::{
    Action, Event, FirstFit, Job, JobId, LinkModel, ListOrder, NamedScheduler, Order, Queue,
    RunTime, SCHEDULERS, Scheduler, Time,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::whole_machines;

/// Jobs of these patterns with ratios, in order of arrival.
fn jobs(of: impl Strategy<Value = Pattern>) -> impl Strategy<Value = Vec<Job>> {
    let ratio = option::weighted(0.7, prop_oneof![Just(1.1), Just(1.6), Just(3.0)]);
    let one = (0u64..4, of, any::<bool>(), 1u64..9, ratio);
    vec(one, 1..24).prop_map(|rows| {
        let mut arrives = 0;
        let job = |(id, (gap, pattern, sensitive, seconds, ratio)): (u64, _)| {
            arrives += gap;
            let mut job = Job::new(JobId(id), Request::new(pattern).sensitive(sensitive));
            job.arrived = Time::from_secs(arrives);
            job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
            job.link_ratio = ratio;
            job
        };
        (0..).zip(rows).map(job).collect()
    })
}

fn rings() -> impl Strategy<Value = Pattern> {
    (1usize..=5).prop_map(Pattern::ring)
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

/// Neither ageing nor a limit on overtaking.
fn unaged(scheduler: FirstFit) -> FirstFit {
    scheduler
        .ageing(Duration::MAX, Duration::MAX)
        .overtaking(Duration::MAX)
}

/// The run time of a job at its best on idle machines, seconds, the slow way.
fn ideal(machines: &[Arc<HardwareGraph>], job: &Job) -> f64 {
    let best = Rules::new("best").prefer(max(effective_gbps()));
    let on = |graph: &Arc<HardwareGraph>| {
        if job.request.pattern.len() < 2 {
            return 1.0;
        }
        let all = graph.all();
        let decision = best.decide(&job.request, &graph.with_free(&all));
        let gbps = decision.map(|decision| {
            effective_gbps().score(&Candidate {
                view: graph.with_free(&all),
                pattern: decision.pattern(),
                placement: decision.placement(),
            })
        });
        gbps.map_or(1.0, |gbps| job.slowdown_at(gbps))
    };
    let seconds = job.run_time.on(None).unwrap().as_secs_f64();
    seconds * machines.iter().map(on).fold(f64::INFINITY, f64::min)
}

/// The rank of a job in an order: the lesser goes first.
fn rank(order: ListOrder, k: usize, ideal: f64) -> [f64; 2] {
    let k = k as f64;
    match order {
        ListOrder::Shortest => [ideal, 0.0],
        ListOrder::SmallestArea => [k * ideal, 0.0],
        ListOrder::Largest => [-k, -ideal],
        ListOrder::LargestArea => [-k * ideal, 0.0],
        ListOrder::LargestFifo => [-k, 0.0],
        _ => [0.0, 0.0],
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(150))]

    #[test]
    fn without_a_threshold_and_ageing_it_is_first_fit_in_that_order(
        machines in whole_machines(), jobs in jobs(patterns(1..=5)),
    ) {
        for order in ListOrder::ALL {
            let ranks: BTreeMap<JobId, [f64; 2]> = jobs.iter()
                .map(|job| (job.id, rank(order, job.request.pattern.len(), ideal(&machines, job))))
                .collect();
            // Patterns with the same edges in another order get times that may differ by rounding, and
            // then any order is right.
            let close = |a: &Job, b: &Job| {
                let [own, other] = [a, b].map(|job| &job.request.pattern);
                let near = (ranks[&a.id][0] - ranks[&b.id][0]).abs() <= 1e-9 * ranks[&a.id][0].abs();
                near && own.edges().len() == other.edges().len() && own != other
            };
            if jobs.iter().any(|a| jobs.iter().any(|b| close(a, b))) {
                continue;
            }
            let of_order = Order::by(move |a, b| {
                let [a, b] = [a, b].map(|job| ranks[&job.id]);
                a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
            });
            let mut queue = Queue::new(preserve(), of_order).first_fit();
            let scheduler = FirstFit::new(order).max_slowdown(f64::INFINITY).placed_by(preserve());
            prop_assert_eq!(run(&machines, &mut unaged(scheduler), &jobs), run(&machines, &mut queue, &jobs), "{:?}", order);
        }
    }

    #[test]
    fn nobody_is_lost_and_run_twice_it_is_the_same(
        machines in whole_machines(), jobs in jobs(patterns(1..=5)), order in 0usize..6, policy in any::<bool>(),
        phi in prop_oneof![Just(1.0), Just(1.2), Just(f64::INFINITY)], seconds in prop_oneof![Just(0u64), Just(5), Just(200)],
    ) {
        let limit = Duration::from_secs(seconds);
        let make = || {
            let scheduler = FirstFit::new(ListOrder::ALL[order]).max_slowdown(phi).ageing(limit, limit).overtaking(limit);
            if policy { scheduler.placed_by(preserve()) } else { scheduler }
        };
        let log = run(&machines, &mut make(), &jobs);
        prop_assert_eq!(&log, &run(&machines, &mut make(), &jobs));
        let mut left: Vec<JobId> = log.iter().filter_map(|(_, action)| match action {
            Action::Place { tenant, .. } => Some(tenant.job()),
            Action::Reject { job, .. } => Some(*job),
            _ => None,
        }).collect();
        left.sort();
        prop_assert!(left.into_iter().eq(jobs.iter().map(|job| job.id)));
    }

    #[test]
    fn a_sensitive_job_is_slower_than_the_threshold_on_an_idle_machine_alone(
        graph in machines(1..=6), jobs in jobs(patterns(1..=5)), policy in any::<bool>(),
        phi in prop_oneof![Just(1.0), Just(1.2)],
    ) {
        let machines = [Arc::new(graph)];
        let scheduler = unaged(FirstFit::new(ListOrder::Shortest).max_slowdown(phi));
        let mut scheduler = if policy { scheduler.placed_by(preserve()) } else { scheduler };
        let mut until: Vec<Time> = Vec::new();
        for (at, action) in run(&machines, &mut scheduler, &jobs) {
            let Action::Place { tenant, at: placed } = action else { continue };
            let job = &jobs[tenant.job().0 as usize];
            let seconds = job.run_time.on(None).unwrap();
            let idle = until.iter().all(|&end| end <= at);
            until.push(at + seconds);
            if idle || !job.request.is_sensitive() || job.request.pattern.len() < 2 {
                continue;
            }
            let all = machines[0].all();
            let gbps = effective_gbps().score(&Candidate {
                view: machines[0].with_free(&all),
                pattern: &job.request.pattern,
                placement: &placed.placement,
            });
            let slow = seconds.as_secs_f64() * job.slowdown_at(gbps);
            prop_assert!(slow <= phi * ideal(&machines, job) * (1.0 + 1e-9) + 1e-6, "job {}", job.id);
        }
    }

    #[test]
    fn nobody_is_overtaken_past_the_limit(
        machines in whole_machines(), jobs in jobs(rings()), order in 0usize..6, seconds in 0u64..20,
    ) {
        // Run times do not depend on links here, so areas are exact.
        let mut scheduler = FirstFit::new(ListOrder::ALL[order])
            .model(LinkModel::None)
            .ageing(Duration::MAX, Duration::MAX)
            .overtaking(Duration::from_secs(seconds));
        let devices: usize = machines.iter().map(|machine| machine.len()).sum();
        let area = |job: &Job| (job.request.pattern.len() as u64 * job.run_time.on(None).unwrap().as_secs()) as f64;
        let mut starts: Vec<(Time, JobId)> = Vec::new();
        let mut gone: BTreeMap<JobId, Time> = BTreeMap::new();
        for (at, action) in run(&machines, &mut scheduler, &jobs) {
            match action {
                Action::Place { tenant, .. } => {
                    starts.push((at, tenant.job()));
                    gone.insert(tenant.job(), at);
                }
                Action::Reject { job, .. } => drop(gone.insert(job, at)),
                _ => {}
            }
        }
        for job in &jobs {
            let waits = |other: &&Job| other.arrived <= job.arrived && gone[&other.id] >= job.arrived;
            let backlog: f64 = jobs.iter().filter(waits).map(area).sum();
            let limit = ((seconds as usize * devices) as f64).max(2.0 * backlog);
            let Some(own) = starts.iter().position(|(_, id)| *id == job.id) else { continue };
            let later: Vec<f64> = starts[..own].iter()
                .filter(|(_, id)| *id > job.id)
                .map(|(_, id)| area(&jobs[id.0 as usize]))
                .collect();
            // When the last of them started, the job was not overdue.
            let before_last: f64 = later[..later.len().saturating_sub(1)].iter().sum();
            prop_assert!(before_last <= limit + 1e-6, "job {}: {} past {}", job.id, before_last, limit);
        }
    }
}

/// Four devices below one root; a double link joins the first two.
fn one_link() -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let root = fabric.add_numa("cpu0", 0).unwrap();
    let device = |fabric: &mut Fabric, i| fabric.add_device(format!("GPU{i}")).unwrap();
    let ids: Vec<_> = (0..4).map(|i| device(&mut fabric, i)).collect();
    fabric
        .link(ids[0], ids[1], LinkClass::Direct(2), 50.0)
        .unwrap();
    for id in ids {
        fabric.attach(id, root, 12.0).unwrap();
    }
    Arc::new(fabric.lower().unwrap())
}

#[test]
fn a_sensitive_job_waits_for_good_links_while_others_pass() {
    let job = |id: u64, devices, sensitive: bool, seconds| {
        let request = Request::new(Pattern::ring(devices)).sensitive(sensitive);
        let mut job = Job::new(JobId(id), request);
        job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
        job.link_ratio = sensitive.then_some(3.0);
        job
    };
    // The first job holds one end of the link.
    let mut holder = job(0, 1, false, 50);
    holder.request = holder.request.must_include([0].into());
    let jobs = [holder, job(1, 2, true, 5), job(2, 1, false, 9)];
    let starts = |mut scheduler: FirstFit| -> Vec<(u64, u64)> {
        let log = run(&[one_link()], &mut scheduler, &jobs);
        let placed = log.into_iter().filter_map(|(at, action)| match action {
            Action::Place { tenant, .. } => Some((tenant.job().0, at.0 / 1_000_000_000)),
            _ => None,
        });
        placed.collect()
    };
    let arrival = || FirstFit::new(ListOrder::Arrival);
    let at_once = [(0, 0), (1, 0), (2, 0)];
    assert_eq!(starts(arrival()), [(0, 0), (2, 0), (1, 50)], "it waits");
    assert_eq!(starts(arrival().max_slowdown(f64::INFINITY)), at_once);
    assert_eq!(starts(arrival().model(LinkModel::None)), at_once);
    let impatient = arrival().overtaking(Duration::ZERO);
    assert_eq!(
        starts(impatient),
        [(0, 0), (2, 0), (1, 50)],
        "its own work is more than what overtakes it"
    );
}

#[test]
fn settings_say_what_was_expected() {
    let named = |words: &str| NamedScheduler::among(&SCHEDULERS, words, Box::new(preserve()));
    for words in [
        "first-fit",
        "first-fit,order=largest-fifo,max-slowdown=none,place=fastest,model=ring-packing",
        "first-fit,patience=none,pace=50,overtaking=none",
    ] {
        assert!(named(words).is_ok(), "{words}");
    }
    let said = [
        "first-fit,order=best",
        "first-fit,max-slowdown=0.9",
        "first-fit,model=tree",
        "first-fit,place=best",
        "first-fit,overtaking=-1",
    ]
    .map(|words| {
        let error = named(words).err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "first-fit,order=best" -> scheduler `first-fit,order=best`: `order=best`: expected arrival, shortest, smallest-area, largest, largest-area, largest-fifo
    "first-fit,max-slowdown=0.9" -> scheduler `first-fit,max-slowdown=0.9`: `max-slowdown=0.9`: expected a factor of at least 1, or none
    "first-fit,model=tree" -> scheduler `first-fit,model=tree`: `model=tree`: expected eq-2 or ring-packing
    "first-fit,place=best" -> scheduler `first-fit,place=best`: `place=best`: expected policy or fastest
    "first-fit,overtaking=-1" -> scheduler `first-fit,overtaking=-1`: `overtaking=-1`: expected seconds from 0 on, or none
    "#);
}
