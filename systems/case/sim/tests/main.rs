//! CASE's manager in simulations: closed forms, and batches in the manner of its evaluation.
//!
//! Run times of the evaluation are not published. Those here are a fit to its headlines and one of
//! many that would do: mean run times of 19 and 20 s, a lognormal spread of 0.6 of processes, 40 % of
//! a process on the GPU (59 % on system D, 81 % above 5 GB), 70 % of host time before its one task,
//! run time as the fourth root of the footprint, large processes on D four times as long.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::Model;
use mapa_core::{
    Demand, DeviceId, DeviceInfo, Fabric, FabricNode, MachineId, NodeKind, Pattern, Request,
    lowest_id,
};
use mapa_sched::{Fleet, Job, JobId, NamedScheduler, Time};
use mapa_sim::testing::replay;
use mapa_sim::{
    Execution, Fixed, Occupancy, Outcome, Row, Scorer, Simulation, Span, Submission, Summary,
    TaskPlan, Workload,
};
use mapa_system_case::SCHEDULERS;
use mapa_system_case_sim::ByWarps;
use mapa_topologies::mig::{Offer, named};
use proptest::prelude::*;

fn fleet(gpu: &str, count: usize, profiles: &[&str]) -> Fleet {
    let model: Arc<Model> = named(gpu).unwrap().model(Offer::PLAIN).unwrap();
    let mut fabric = Fabric::new();
    for id in 0..count {
        let info = DeviceInfo {
            memory_bytes: Some(40 << 30),
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let kind = NodeKind::Device(info);
        let name = format!("GPU{id}");
        fabric.add(FabricNode { name, kind }).unwrap();
    }
    let mut fleet = Fleet::new([Arc::new(fabric.lower().unwrap())]);
    let wanted: Vec<_> = profiles
        .iter()
        .map(|name| model.find(name).unwrap())
        .collect();
    let layout = model.fit(&wanted).unwrap();
    for id in 0..count as u32 {
        fleet
            .layout_is(MachineId(0), DeviceId(id), &layout)
            .unwrap();
    }
    fleet
}

/// Systems C and D of the evaluation.
fn system(is_d: bool) -> Fleet {
    if is_d {
        let profiles = ["2g.10gb", "2g.10gb", "1g.5gb", "1g.5gb", "1g.5gb"];
        fleet("a100-40gb", 1, &profiles)
    } else {
        fleet("a30", 4, &["1g.6gb"; 4])
    }
}

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }
    fn of(&mut self, all: &[f64]) -> f64 {
        all[(self.unit() * all.len() as f64) as usize]
    }
    /// Lognormal of mean 1 and this coefficient of variation.
    fn lognormal(&mut self, variation: f64) -> f64 {
        let s2 = (1.0 + variation * variation).ln();
        let normal = (-2.0 * (1.0 - self.unit()).ln()).sqrt()
            * (2.0 * std::f64::consts::PI * self.unit()).cos();
        (normal * s2.sqrt() - s2 / 2.0).exp()
    }
}

const SMALL: [f64; 9] = [1.177, 2.351, 4.7, 1.309, 3.872, 1.611, 2.08, 2.148, 4.02];
const LARGE: [f64; 6] = [9.397, 7.2, 6.442, 8.321, 8.59, 7.856];

fn bytes(gigabytes: f64) -> u64 {
    (gigabytes * 1e9) as u64
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn isolated(id: u64, gigabytes: f64, s: f64) -> Submission {
    let demand = Demand::any().memory(bytes(gigabytes));
    let mut job = Job::new(JobId(id), Request::new(Pattern::single(demand)));
    job.isolated = true;
    Submission::new(job, seconds(s))
}

/// A process: host time before its task, the task, host time after it.
fn process(id: u64, gigabytes: f64, before: f64, task: f64, after: f64) -> Submission {
    let demand = Demand::any().shared().memory(bytes(gigabytes)).warps(1);
    let request = Request::new(Pattern::single(demand));
    let plan = TaskPlan {
        pause: seconds(before),
        request: request.clone(),
        work: seconds(task),
        grows: Vec::new(),
    };
    Submission::new(Job::new(JobId(id), request), seconds(after)).tasks([plan])
}

/// A batch of so many jobs, of which this share is isolated, in random order.
fn batch(is_d: bool, count: u64, share: f64, spread: f64, seed: u64) -> Workload {
    let mut draws = Draws(seed);
    let mut kinds: Vec<(f64, bool)> = (0..count)
        .map(|id| (draws.unit(), (id as f64) < share * count as f64))
        .collect();
    kinds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let jobs = (0..).zip(kinds).map(|(id, (_, is_isolated))| {
        if is_isolated {
            let is_large = is_d && draws.unit() < 0.4;
            let own = if is_large {
                draws.between(5.5, 9.5)
            } else {
                draws.between(1.6, 2.4)
            };
            return isolated(id, own, 19.0 * draws.lognormal(spread));
        }
        let is_large = is_d && draws.unit() < 7.0 / 15.0;
        let own = draws.of(if is_large { &LARGE } else { &SMALL });
        let times = if is_large { 4.0 } else { 1.0 };
        let life = 20.0 * times * (own / 2.5).powf(0.25) * draws.lognormal(0.6);
        let gpu = match (is_d, is_large) {
            (true, true) => 0.81,
            (true, false) => 0.59,
            _ => 0.4,
        };
        let host = life * (1.0 - gpu);
        process(id, own, 0.7 * host, life * gpu, 0.3 * host)
    });
    Workload::new("batch", jobs)
}

fn run(words: &str, fleet: Fleet, workload: &Workload) -> Outcome {
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id())).unwrap();
    let outcome = Simulation::new(workload, fleet)
        .repartition(Duration::from_secs(10))
        .run(scheduler.as_mut(), &Fixed)
        .unwrap();
    assert!(outcome.waiting.is_empty(), "{words}: no job waits for ever");
    assert!(outcome.rejected.is_empty(), "{words}: every job fits");
    outcome
}

/// The last end, and the mean turnaround of isolated jobs, in seconds.
fn measures(outcome: &Outcome, workload: &Workload) -> (f64, f64) {
    let end = outcome.runs.iter().map(|run| run.ended()).max();
    let isolated = outcome
        .runs
        .iter()
        .filter(|run| workload.jobs[run.index].job.isolated);
    let turnarounds: Vec<f64> = isolated
        .map(|run| (run.ended() - run.arrived).as_secs_f64())
        .collect();
    let sum: f64 = turnarounds.iter().sum();
    let end = (end.unwrap_or(Time::ZERO) - Time::ZERO).as_secs_f64();
    (end, sum / turnarounds.len().max(1) as f64)
}

/// The mean over seeds of the makespan and of the isolated turnaround under `a`, over those under
/// `b`.
fn ratios(a: &str, b: &str, is_d: bool, share: f64, spread: f64) -> (f64, f64) {
    let count = if is_d { 32 } else { 128 };
    let (mut makespan, mut turnaround) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let workload = batch(is_d, count, share, spread, seed);
        let of = |words| measures(&run(words, system(is_d), &workload), &workload);
        let (a, b) = (of(a), of(b));
        makespan += a.0 / b.0 / SEEDS as f64;
        turnaround += a.1 / b.1 / SEEDS as f64;
    }
    (makespan, turnaround)
}

const SEEDS: u64 = 12;

/// The mixes of the evaluation, by the share of isolated jobs.
const MIXED: [f64; 5] = [4.0 / 5.0, 2.0 / 3.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0];

#[test]
fn isolated_jobs_alone_gain_nothing_and_the_gain_rises_with_the_share_of_others() {
    for is_d in [false, true] {
        let (makespan, turnaround) = ratios("slurm-mig", "case", is_d, 1.0, 0.0);
        assert!((makespan - 1.0).abs() < 1e-12 && (turnaround - 1.0).abs() < 1e-12);
    }
    let gains: Vec<f64> = [1.0]
        .into_iter()
        .chain(MIXED)
        .chain([0.0])
        .map(|share| ratios("slurm-mig", "case", false, share, 0.0).0)
        .collect();
    assert!(gains.is_sorted(), "{gains:?}");
    // The published mean is 1.45; the fit gives it within what was set down beforehand.
    let mean = gains[1..6].iter().sum::<f64>() / 5.0;
    assert!((mean - 1.45).abs() < 0.15, "{mean}");
}

#[test]
fn a_balanced_manager_gains_by_its_layouts_and_loses_no_throughput_without() {
    let (on_d, _) = ratios("case", "case-balanced", true, 0.5, 0.3);
    assert!(on_d >= 1.15, "{on_d}");
    let (on_c, _) = ratios("case", "case-balanced", false, 0.5, 0.3);
    assert!(on_c >= 0.99, "{on_c}");
}

#[test]
fn the_rate_of_equal_jobs_is_that_of_memory_or_of_workers() {
    // Property 5: W workers, c host and h task seconds, k tasks at once on an instance of 6 GiB.
    let jobs = 1200;
    for (c, h, gigabytes, workers) in [
        (10.0, 4.0, 1.5, 12),
        (1.0, 4.0, 1.5, 12),
        (20.0, 5.0, 3.0, 4),
        (2.0, 5.0, 2.0, 8),
    ] {
        let all = (0..jobs).map(|id| process(id, gigabytes, c, h, 0.0));
        let workload = Workload::new("equal", all);
        let words = format!("case,bind=free,context=0,workers={workers}");
        let outcome = run(&words, fleet("a30", 1, &["1g.6gb"]), &workload);
        let (end, _) = measures(&outcome, &workload);
        let capacity = named("a30")
            .unwrap()
            .model(Offer::PLAIN)
            .unwrap()
            .profiles()[0]
            .memory_bytes;
        let k = capacity.div_ceil(bytes(gigabytes)) - 1;
        let expected = (k as f64 / h).min(f64::from(workers) / (c + h));
        let rate = jobs as f64 / end;
        assert!((rate / expected - 1.0).abs() < 0.03, "{rate} {expected}");
    }
}

#[test]
fn measures_and_places_are_those_of_the_tasks() {
    // Two processes on an instance of a quarter of an A30, and an isolated job on another.
    let mut workload = Workload::new(
        "three",
        [
            process(0, 2.0, 1.0, 4.0, 1.0),
            process(1, 3.0, 3.0, 4.0, 0.0),
            isolated(2, 5.0, 8.0),
        ],
    );
    workload.jobs[1].tasks[0].grows =
        TaskPlan::new(seconds(0.0), Request::new(Pattern::ring(1)), seconds(0.0))
            .grow(seconds(1.0), process(1, 1.0, 0.0, 0.0, 0.0).job.request)
            .grows;
    let fleet = fleet("a30", 1, &["1g.6gb", "1g.6gb"]);
    let mut occupancy = Occupancy::default();
    let mut scheduler =
        NamedScheduler::among(&SCHEDULERS, "case,context=0", Box::new(lowest_id())).unwrap();
    let outcome = Simulation::new(&workload, fleet.clone())
        .observe(|now, fleet| occupancy.observe(now, fleet))
        .run(scheduler.as_mut(), &Fixed)
        .unwrap();
    occupancy.end(outcome.end);
    let rows = Row::of(&outcome, &workload, &fleet, &mut Scorer::new());
    let of = |row: &Row| {
        (
            row.job.0,
            row.devices,
            row.work.as_secs_f64(),
            row.ran.as_secs_f64(),
        )
    };
    let rows_are: Vec<_> = rows.iter().map(of).collect();
    assert_eq!(
        rows_are,
        [(0, 1, 6.0, 6.0), (1, 1, 7.0, 7.0), (2, 1, 8.0, 8.0)]
    );
    let summary = Summary::of(&outcome, &rows, &fleet);
    assert_eq!(summary.count("finished"), Some(3));
    // Of 8 s: one quarter for 8, and one for 1 to 7, which both tasks hold together.
    assert_eq!(summary.number("utilisation"), Some((8.0 + 6.0) / 4.0 / 8.0));

    let tenants: Vec<_> = occupancy
        .occupants()
        .iter()
        .map(|occupant| {
            let times = [occupant.from, occupant.until].map(|at| (at - Time::ZERO).as_secs_f64());
            (
                occupant.tenant.to_string(),
                times,
                occupant.bytes / 1_000_000_000,
                occupant.exclusive,
            )
        })
        .collect();
    let expected = [
        ("job 2", [0.0, 8.0], 5, true),
        ("task 0 of job 0", [1.0, 5.0], 2, false),
        ("task 0 of job 1", [3.0, 7.0], 3, false),
        ("task 1 of job 1", [4.0, 7.0], 1, false),
    ];
    assert_eq!(
        tenants,
        expected.map(|(who, at, gb, alone)| (who.to_owned(), at, gb, alone))
    );
    assert_eq!(occupancy.present().len(), 2);
    assert!(occupancy.changing().is_empty());
}

#[test]
fn layouts_that_change_are_seen() {
    // Five isolated jobs that only large instances hold, on a layout of two: small ones are replaced.
    let jobs = (0..5).map(|id| isolated(id, 8.0, 100.0));
    let workload = Workload::new("large", jobs);
    let fleet = system(true);
    let mut occupancy = Occupancy::default();
    let mut scheduler =
        NamedScheduler::among(&SCHEDULERS, "case-balanced", Box::new(lowest_id())).unwrap();
    let outcome = Simulation::new(&workload, fleet)
        .repartition(Duration::from_secs(10))
        .observe(|now, fleet| occupancy.observe(now, fleet))
        .run(scheduler.as_mut(), &Fixed)
        .unwrap();
    occupancy.end(outcome.end);
    let spans: Vec<_> = occupancy
        .changing()
        .iter()
        .map(|span| (span.from, span.until))
        .collect();
    assert_eq!(spans, [(Time::ZERO, Time::from_secs(10))]);
    let born = occupancy
        .present()
        .iter()
        .filter(|span| span.from == Time::from_secs(10));
    assert_eq!(born.count(), 1);
    let whole = |span: &&Span| span.until == outcome.end;
    assert_eq!(occupancy.present().iter().filter(whole).count(), 4);
}

/// Processes of one or two tasks that grow up to twice, and jobs that must be alone. Every fifth
/// process denies that it grows, and every seventh declares less than it takes.
fn growers() -> impl Strategy<Value = Workload> {
    let grows = prop::collection::vec((0u64..10, 1u64..9), 0..3);
    let tasks = prop::collection::vec((0u64..5, 1u64..14, 0u64..10, grows), 1..3);
    let jobs = prop::collection::vec((0u64..20, any::<bool>(), tasks), 1..14);
    jobs.prop_map(|jobs| {
        let jobs = (0..).zip(jobs).map(|(id, (arrives, is_alone, tasks))| {
            let mut own = if is_alone && id % 3 == 0 {
                isolated(id, 1.0 + tasks.len() as f64, 6.0)
            } else {
                of_parts(id, &tasks)
            };
            own.job.arrived = Time::from_secs(arrives);
            own
        });
        Workload::new("growers", jobs)
    })
}

type Drawn = (u64, u64, u64, Vec<(u64, u64)>);

/// A process of tasks: a pause, fifths of a GB, seconds, and growths of fifths at a second.
fn of_parts(id: u64, tasks: &[Drawn]) -> Submission {
    let of = |fifths: u64| {
        let demand = Demand::any().shared().memory(bytes(0.2 * fifths as f64));
        Request::new(Pattern::single(demand.warps(1)))
    };
    let plans = tasks.iter().map(|(pause, fifths, work, grows)| {
        let task = TaskPlan::new(seconds(*pause as f64), of(*fifths), seconds(*work as f64));
        let mut grows = grows.clone();
        grows.sort_unstable();
        grows.iter().fold(task, |task, &(after, fifths)| {
            task.grow(seconds(after.min(*work) as f64), of(fifths))
        })
    });
    let most = tasks
        .iter()
        .map(|(_, fifths, _, grows)| fifths + grows.iter().map(|(_, fifths)| fifths).sum::<u64>());
    let most = most.max().unwrap_or(0);
    let declared = if id % 7 == 6 { most / 2 } else { most };
    let mut job = Job::new(JobId(id), of(declared));
    job.grows = id % 5 != 4 && tasks.iter().any(|(.., grows)| !grows.is_empty());
    Submission::new(job, seconds(1.0)).tasks(plans)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn growing_processes_have_the_schedule_of_the_slow_simulator_and_never_hang(
        workload in growers(), is_d in any::<bool>(),
    ) {
        let fleet = || if is_d { system(true) } else { fleet("a30", 1, &["1g.6gb"; 2]) };
        for words in ["case", "case-balanced", "slurm-mig", "case,growers=any"] {
            let make = || NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id())).unwrap();
            // Without effect on each other, and with an instance of two tasks twice as slow.
            let crowded = ByWarps::new(1.0);
            for execution in [&Fixed as &dyn Execution, &crowded] {
                let fast = Simulation::new(&workload, fleet())
                    .run(make().as_mut(), execution)
                    .unwrap();
                let slow = replay(&workload, fleet(), make().as_mut(), execution).unwrap();
                prop_assert_eq!(&fast, &slow, "{}", words);
                if !words.contains("any") {
                    prop_assert!(fast.waiting.is_empty(), "{words}: {:?} wait for ever", fast.waiting);
                }
            }
        }
    }
}

#[test]
fn two_that_hold_and_ask_hang_unless_one_process_at_most_may_grow() {
    // 3 GB each on 6 GB, and each asks for 1 GB more after half of its work.
    let grower = |id| {
        let of = |gigabytes: f64| {
            let demand = Demand::any().shared().memory(bytes(gigabytes)).warps(1);
            Request::new(Pattern::single(demand))
        };
        let task = TaskPlan::new(seconds(1.0), of(3.0), seconds(10.0)).grow(seconds(5.0), of(1.0));
        let mut job = Job::new(JobId(id), of(4.0));
        job.grows = true;
        Submission::new(job, seconds(0.0)).tasks([task])
    };
    let workload = Workload::new("growers", [grower(0), grower(1)]);
    let outcome = |words: &str| {
        let mut scheduler =
            NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id())).unwrap();
        Simulation::new(&workload, fleet("a30", 1, &["1g.6gb"]))
            .run(scheduler.as_mut(), &Fixed)
            .unwrap()
    };
    let hangs = outcome("case,growers=any,context=0");
    assert_eq!((hangs.waiting, hangs.runs.len()), (vec![0, 1], 0));
    // One after the other: the second's task waits for the first's end.
    let ends = outcome("case,context=0");
    assert!(ends.waiting.is_empty());
    let ended: Vec<Time> = ends.runs.iter().map(|run| run.ended()).collect();
    assert_eq!(ended, [Time::from_secs(11), Time::from_secs(21)]);
    // Contexts change nothing.
    assert!(outcome("case").waiting.is_empty());
    assert!(outcome("case-balanced").waiting.is_empty());
    assert!(outcome("slurm-mig").waiting.is_empty());
}

#[test]
fn what_fits_a_layout_to_come_waits_and_what_fits_none_is_rejected_with_its_size() {
    let ends = |words: &str, profiles: &[&str], jobs: Vec<Submission>| {
        let workload = Workload::new("few", jobs);
        let mut scheduler =
            NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id())).unwrap();
        let outcome = Simulation::new(&workload, fleet("a100-40gb", 1, profiles))
            .repartition(Duration::from_secs(10))
            .run(scheduler.as_mut(), &Fixed)
            .unwrap();
        assert!(outcome.waiting.is_empty(), "{words}");
        let why = outcome
            .rejected
            .iter()
            .map(|rejected| rejected.why.to_string());
        (outcome.runs.len(), why.collect::<Vec<_>>())
    };
    let large = || process(0, 8.0, 0.0, 5.0, 0.0);
    let (ran, _) = ends("case,reprovision=on", &["1g.5gb"; 7], vec![large()]);
    assert_eq!(ran, 1, "seven small instances make way for a large one");
    let (ran, why) = ends("case", &["1g.5gb"; 7], vec![large()]);
    assert_eq!(ran, 0);
    assert!(
        why[0].contains("holds 8.30 GB when empty: the largest has 5.10 GB"),
        "{why:?}"
    );
    // While one large instance is made for the first, small tasks begin and have none.
    let mut jobs = vec![isolated(9, 30.0, 20.0)];
    jobs.extend((0..3).map(|id| process(id, 1.0, 10.0 + 0.1 * id as f64, 2.0, 0.0)));
    let (ran, _) = ends("case-balanced", &["1g.5gb"; 2], jobs);
    assert_eq!(ran, 4);
    // A process that grows stays where it is, so it starts where its peak fits.
    let demand = |gb: f64| {
        let demand = Demand::any().shared().memory(bytes(gb)).warps(1);
        Request::new(Pattern::single(demand))
    };
    let plan =
        TaskPlan::new(Duration::ZERO, demand(2.0), seconds(10.0)).grow(seconds(3.0), demand(5.0));
    let mut job = Job::new(JobId(0), demand(7.0));
    job.grows = true;
    let grower = Submission::new(job, Duration::ZERO).tasks([plan]);
    let layout = ["2g.10gb", "2g.10gb", "1g.5gb", "1g.5gb", "1g.5gb"];
    assert_eq!(ends("case,bind=free", &layout, vec![grower]).0, 1);
}
