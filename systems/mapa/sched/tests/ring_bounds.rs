//! Bounds on rings of whole devices: what they are where that is known, and that nothing is below.

use std::time::Duration;

use mapa_core::{
    Fabric, HardwareGraph, LinkClass, Objective, Pattern, Request, SetScores, ring_packing_gbps,
};
use mapa_sched::bound::{Class, Measure, Proof, Solver};
use mapa_sched::{Job, JobId, RunTime, Time};
use mapa_system_mapa::topology::{Ascent, RingBounds, RingWork};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use proptest::collection::vec;
use proptest::prelude::*;

/// Devices on one host at 12 GB/s, with direct links of so many GB/s between some of them.
fn machine(devices: usize, links: &[(usize, usize, f64)]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let root = fabric.add_numa("cpu0", 0).unwrap();
    let ids: Vec<_> = (0..devices)
        .map(|at| fabric.add_device(format!("GPU{at}")).unwrap())
        .collect();
    for &id in &ids {
        fabric.attach(id, root, 12.0).unwrap();
    }
    for &(a, b, gbps) in links {
        fabric
            .link(ids[a], ids[b], LinkClass::Direct(1), gbps)
            .unwrap();
    }
    fabric.lower().unwrap()
}

/// One pair of the four is fast, the others go over the host.
fn one_fast_pair() -> HardwareGraph {
    machine(4, &[(0, 1, 50.0)])
}

/// Five devices, unlike each other.
fn odd() -> HardwareGraph {
    machine(
        5,
        &[
            (0, 1, 50.0),
            (1, 2, 25.0),
            (0, 2, 25.0),
            (2, 3, 20.0),
            (3, 4, 50.0),
        ],
    )
}

fn ring(devices: usize, ratio: f64, seconds: f64) -> RingWork {
    RingWork {
        arrives: 0.0,
        devices,
        ratio,
        seconds,
    }
}

fn bounds(graph: &HardwareGraph, jobs: &[RingWork]) -> RingBounds {
    RingBounds::new(graph, &ring_packing_gbps(), jobs).unwrap()
}

/// How much a set slows down a ring of a ratio.
struct Slowdowns<'a>(&'a HardwareGraph, Objective<'static>);

impl Slowdowns<'_> {
    fn at(&self, set: u32, ratio: f64) -> f64 {
        let size = set.count_ones() as usize;
        if size == 1 {
            return 1.0;
        }
        let scores = SetScores::of(self.0, &self.1, &Pattern::ring(size)).unwrap();
        let mut job = Job::new(JobId(0), Request::new(Pattern::ring(size)));
        job.link_ratio = Some(ratio);
        job.slowdown_at(scores.at(set).unwrap())
    }
}

/// All packings of disjoint sets of such sizes.
fn packings(devices: usize, sizes: &[usize]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for set in 1_u32..1 << devices {
        if sizes.contains(&(set.count_ones() as usize)) {
            let with: Vec<Vec<u32>> = all
                .iter()
                .filter(|values| values.iter().all(|other| other & set == 0))
                .map(|values| values.iter().copied().chain([set]).collect())
                .collect();
            all.extend(with);
        }
    }
    all
}

/// The least makespan of the linear program, with a column for every packing, and for every job and
/// set.
fn makespan_by_all_packings(graph: &HardwareGraph, jobs: &[RingWork]) -> f64 {
    let slowdowns = Slowdowns(graph, ring_packing_gbps());
    let devices = graph.wholes().len();
    let sizes: Vec<usize> = jobs.iter().map(|job| job.devices).collect();
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let mut on_set: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); 1 << devices];
    for packing in packings(devices, &sizes) {
        let time = problem.add_var(1.0, (0.0, f64::INFINITY));
        for set in packing {
            on_set[set as usize].push((time, -1.0));
        }
    }
    for job in jobs {
        let mut done = Vec::new();
        for set in 1_u32..1 << devices {
            if set.count_ones() as usize == job.devices {
                let time = problem.add_var(0.0, (0.0, f64::INFINITY));
                done.push((time, 1.0 / slowdowns.at(set, job.ratio)));
                on_set[set as usize].push((time, 1.0));
            }
        }
        problem.add_constraint(done, ComparisonOp::Ge, job.seconds);
    }
    for row in on_set {
        problem.add_constraint(row, ComparisonOp::Le, 0.0);
    }
    problem.solve().unwrap().solution().unwrap().objective()
}

/// A schedule drawn at random, with preemption and moves: the makespan, and the sum of completion
/// times. At each turn it draws which jobs run on which sets, for how long; now and then nobody
/// runs.
fn any_schedule(
    graph: &HardwareGraph,
    jobs: &[RingWork],
    mut draw: impl FnMut(u32) -> u32,
) -> [f64; 2] {
    let slowdowns = Slowdowns(graph, ring_packing_gbps());
    let devices = graph.wholes().len() as u32;
    let first = jobs
        .iter()
        .map(|job| job.arrives)
        .fold(f64::INFINITY, f64::min);
    let mut left: Vec<f64> = jobs.iter().map(|job| job.seconds).collect();
    let (mut now, mut sum) = (first, 0.0);
    while left.iter().any(|&value| value > 0.0) {
        let mut free = (1_u32 << devices) - 1;
        let mut running: Vec<(usize, f64)> = Vec::new();
        let start = draw(jobs.len() as u32) as usize;
        for at in (0..jobs.len()).map(|at| (at + start) % jobs.len()) {
            let job = &jobs[at];
            let is_there = left[at] > 0.0 && job.arrives <= now && draw(8) > 0;
            if !is_there || (free.count_ones() as usize) < job.devices {
                continue;
            }
            let mut set = 0_u32;
            while (set.count_ones() as usize) < job.devices {
                set |= free & (1 << draw(devices));
            }
            free &= !set;
            running.push((at, slowdowns.at(set, job.ratio)));
        }
        // Up to the first end, or less; time goes on where nobody runs.
        let ends = running.iter().map(|&(at, slowdown)| left[at] * slowdown);
        let most = ends.fold(20.0, f64::min);
        let is_whole = !running.is_empty() && draw(2) == 0;
        let length = if is_whole {
            most
        } else {
            most * f64::from(draw(5) + 1) / 5.0
        };
        now += length;
        for (at, slowdown) in running {
            left[at] -= length / slowdown;
            if left[at] < 1e-9 {
                left[at] = 0.0;
                sum += now - jobs[at].arrives;
            }
        }
    }
    [now - first, sum]
}

fn draws(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut at = seed;
    move |n| {
        at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((at >> 33) % u64::from(n)) as u32
    }
}

prop_compose! {
    fn work(devices: usize, latest: f64)(
        arrives in prop_oneof![Just(0.0), 0.0..=latest],
        devices in 1..=devices,
        ratio in prop_oneof![Just(1.0), Just(1.6), 1.0..4.0],
        seconds in 0.5..30.0,
    ) -> RingWork {
        RingWork { arrives, devices, ratio, seconds }
    }
}

fn machines() -> impl Strategy<Value = HardwareGraph> {
    prop_oneof![
        Just(one_fast_pair()),
        Just(odd()),
        Just(machine(2, &[])),
        Just(machine(5, &[(0, 1, 50.0), (2, 3, 50.0)]))
    ]
}

prop_compose! {
    fn cases()(graph in machines(), latest in prop_oneof![Just(0.0), Just(100.0)])(
        jobs in vec(work(graph.wholes().len(), latest), 1..9), graph in Just(graph),
    ) -> (HardwareGraph, Vec<RingWork>) {
        (graph, jobs)
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn no_schedule_with_preemption_and_moves_is_below_a_bound(
        (graph, jobs) in cases(), slots in 1_u32..60, rounds in 0_u32..80, seed: u64,
    ) {
        let all = bounds(&graph, &jobs).all(&Solver::default(), &Ascent { slots, rounds }).unwrap();
        for seed in [seed, seed ^ 1, seed ^ 2] {
            let [makespan, completion] = any_schedule(&graph, &jobs, draws(seed));
            for bound in &all {
                let own = if bound.measure == Measure::Makespan { makespan } else { completion };
                prop_assert!(own >= bound.value * (1.0 - 1e-9), "{own} is below {bound:?}");
            }
        }
    }

    /// Bounds of a better idea are not below those of a simpler one.
    #[test]
    fn bounds_ascend((graph, jobs) in cases(), slots in 1_u32..60, rounds in 0_u32..80) {
        let all = bounds(&graph, &jobs).all(&Solver::default(), &Ascent { slots, rounds }).unwrap();
        let names: Vec<&str> = all.iter().map(|bound| bound.name).collect();
        prop_assert_eq!(
            names, ["area", "critical-path", "configurations", "squashed-area", "slots", "rates"]
        );
        prop_assert!(all.iter().all(|bound| bound.class == Class::WholeDevices && bound.value.is_finite()));
        prop_assert!(all[3].value <= all[4].value && all[4].value <= all[5].value);
        let packed = &all[2];
        prop_assert!(packed.value >= all[0].value * (1.0 - 1e-9), "{all:?}");
        prop_assert_eq!(packed.proof, Proof::Optimum);
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(60))]

    #[test]
    fn configurations_are_the_program_over_all_packings(
        jobs in vec(work(4, 0.0), 1..7),
        links in vec((0_usize..4, 1_usize..4, prop_oneof![Just(50.0), Just(25.0), Just(17.0)]), 0..5),
    ) {
        let mut links: Vec<(usize, usize, f64)> = links
            .into_iter()
            .map(|(a, by, gbps)| (a.min((a + by) % 4), a.max((a + by) % 4), gbps))
            .collect();
        links.sort_by_key(|link| (link.0, link.1));
        links.dedup_by_key(|link| (link.0, link.1));
        let graph = machine(4, &links);
        let expected = makespan_by_all_packings(&graph, &jobs);
        let found = bounds(&graph, &jobs).configurations(&Solver::default()).unwrap().value;
        prop_assert!((found - expected).abs() <= 1e-5 * expected, "{found} {expected}");
    }
}

#[test]
fn slow_links_cost_makespan_where_no_mix_avoids_them() {
    // A second of the fast pair does a second, one of the slow pair a third: 40 / (1 + 1 / 3) = 30.
    let jobs = [ring(2, 3.0, 10.0); 4];
    let own = bounds(&machine(4, &[(0, 1, 50.0)]), &jobs);
    assert!((own.area().value - 20.0).abs() < 1e-9);
    let found = own.configurations(&Solver::default()).unwrap();
    let slow = Slowdowns(&one_fast_pair(), ring_packing_gbps()).at(0b1100, 3.0);
    let expected = 40.0 / (1.0 + 1.0 / slow);
    assert!(slow > 2.0 && (found.value - expected).abs() < 1e-5 * expected);
}

#[test]
fn jobs_that_do_not_fit_side_by_side_run_one_after_another() {
    // Two jobs of five devices on eight: they end after 10 and 20 s at best. By area alone, 22.5 s.
    let ring_bounds = bounds(&machine(8, &[]), &[ring(5, 1.0, 10.0); 2]);
    assert!((ring_bounds.squashed_area().value - 22.5).abs() < 1e-9);
    let ascent = Ascent::default();
    for bound in [
        ring_bounds.slots(&ascent).unwrap(),
        ring_bounds.rates(&ascent).unwrap(),
    ] {
        assert!(
            bound.value > 29.7 && bound.value <= 30.0 + 1e-9,
            "{bound:?}"
        );
        assert_eq!(bound.proof, Proof::Prices);
    }
}

#[test]
fn a_job_alone_takes_its_ideal_time() {
    let job = RingWork {
        arrives: 7.0,
        ..ring(4, 2.0, 10.0)
    };
    let graph = odd();
    let ring_bounds = bounds(&graph, &[job]);
    let ideal = ring_bounds.ideal_seconds().next().unwrap();
    let slowdowns = Slowdowns(&graph, ring_packing_gbps());
    let sets = (0_u32..32).filter(|set| set.count_ones() == 4);
    let least = sets
        .map(|set| slowdowns.at(set, 2.0))
        .fold(f64::INFINITY, f64::min);
    assert!((ideal - 10.0 * least).abs() < 1e-9 && ideal > 10.0);
    assert!((ring_bounds.critical_path().value - ideal).abs() < 1e-9);
    for bound in &ring_bounds
        .all(&Solver::default(), &Ascent::default())
        .unwrap()[3..]
    {
        assert!((bound.value - ideal).abs() < 1e-6 * ideal, "{bound:?}");
    }
}

#[test]
fn what_arrives_late_cannot_have_ended_early() {
    let late = RingWork {
        arrives: 100.0,
        ..ring(2, 1.0, 10.0)
    };
    let own = bounds(&machine(2, &[]), &[ring(1, 1.0, 1.0), late, late]);
    assert!((own.area().value - 120.0).abs() < 1e-9);
    assert!((own.critical_path().value - 110.0).abs() < 1e-9);
}

#[test]
fn without_jobs_every_bound_is_0() {
    let own = bounds(&odd(), &[]);
    let all = own.all(&Solver::default(), &Ascent::default()).unwrap();
    assert!(all.iter().all(|bound| bound.value == 0.0), "{all:?}");
}

#[test]
fn a_bound_of_nonsense_is_an_error_that_names_what_is_expected() {
    let model = ring_packing_gbps();
    let error = |graph: &HardwareGraph, job: RingWork| {
        let made = RingBounds::new(graph, &model, &[ring(1, 1.0, 1.0), job]);
        made.map(|_| ()).unwrap_err().to_string()
    };
    let graph = odd();
    let said = [
        ring(2, 2.0, f64::NAN),
        ring(2, 0.5, 1.0),
        ring(0, 1.0, 1.0),
        ring(6, 1.0, 1.0),
        ring(4, 1e300, 1.0),
        ring(1, 1.0, 1e11),
    ]
    .map(|job| error(&graph, job).to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    bound: job 1: RingWork { arrives: 0.0, devices: 2, ratio: 2.0, seconds: NaN }: expected an arrival of 0 to 1e10 s, seconds above 0, and a ratio of 1 or more
    bound: job 1: RingWork { arrives: 0.0, devices: 2, ratio: 0.5, seconds: 1.0 }: expected an arrival of 0 to 1e10 s, seconds above 0, and a ratio of 1 or more
    bound: job 1: RingWork { arrives: 0.0, devices: 0, ratio: 1.0, seconds: 1.0 }: expected 1 to 5 devices
    bound: job 1: RingWork { arrives: 0.0, devices: 6, ratio: 1.0, seconds: 1.0 }: expected 1 to 5 devices
    bound: job 1: RingWork { arrives: 0.0, devices: 4, ratio: 1e300, seconds: 1.0 }: expected an arrival and a run time of at most 1e10 s
    bound: job 1: RingWork { arrives: 0.0, devices: 1, ratio: 1.0, seconds: 100000000000.0 }: expected an arrival and a run time of at most 1e10 s
    ");
    let text = error(&machine(17, &[]), ring(1, 1.0, 1.0));
    insta::assert_snapshot!(
        text,
        @"bound: a machine of 17 devices, 17 with their instances: expected at most 16 devices that cannot be partitioned"
    );
    let none = Ascent {
        slots: 0,
        rounds: 1,
    };
    let text = bounds(&graph, &[]).rates(&none).unwrap_err().to_string();
    insta::assert_snapshot!(
        text,
        @"bound: Ascent { slots: 0, rounds: 1 }: expected 1 to 100000 slots"
    );
    let endless = Ascent {
        slots: 1,
        rounds: u32::MAX,
    };
    let text = bounds(&graph, &[]).rates(&endless).unwrap_err().to_string();
    insta::assert_snapshot!(
        text,
        @"bound: Ascent { slots: 1, rounds: 4294967295 }: expected at most 1000000 rounds"
    );
}

#[test]
fn jobs_of_schedulers_become_rings_or_an_error_that_says_why_not() {
    let mut job = Job::new(JobId(7), Request::new(Pattern::ring(3)));
    let error = |job: &Job| RingWork::try_from(job).unwrap_err().to_string();
    insta::assert_snapshot!(
        error(&job),
        @"bound: job 7: its run time is not one number: expected that at full speed"
    );
    job.run_time = RunTime::Fixed(Duration::from_millis(2500));
    job.arrived = Time::from_secs(4);
    job.link_ratio = Some(1.5);
    let work = RingWork::try_from(&job).unwrap();
    assert_eq!(
        (work.arrives, work.devices, work.ratio, work.seconds),
        (4.0, 3, 1.5, 2.5)
    );
    job.request = Request::new(Pattern::chain(3));
    insta::assert_snapshot!(
        error(&job),
        @"bound: job 7: its pattern is no plain ring: expected a ring of whole devices, or one device"
    );
    job.request = Request::new(Pattern::ring(1));
    assert_eq!(RingWork::try_from(&job).unwrap().ratio, 1.0);
}

#[test]
fn a_solver_at_its_limit_still_leaves_the_area() {
    let own = bounds(&one_fast_pair(), &[ring(2, 3.0, 10.0); 4]);
    let solver = Solver {
        columns: Solver::COLUMNS,
        seconds: Some(0.0),
    };
    let bound = own.configurations(&solver).unwrap();
    assert!(bound.value >= own.area().value * (1.0 - 1e-9), "{bound:?}");
}
