//! The simulator against queueing theory: means and quantiles that are known exactly, at fixed
//! seeds. The tolerances are three to four standard errors of these samples.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Fabric, HardwareGraph, Pattern, Request, lowest_id};
use mapa_sched::{Assignment, Fifo, Fleet, Job, JobId, Time};
use mapa_sim::{Coupling, Execution, Fixed, Outcome, Simulation, Submission, Workload, stream};
use rand_distr::{Distribution, Exp};

const SECOND: f64 = 1e9;

fn machine(devices: usize) -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    for i in 0..devices {
        fabric.add_device(format!("GPU{i}")).unwrap();
    }
    Arc::new(fabric.lower().unwrap())
}

/// Arrivals of a Poisson process of one job a second, which take by `length` of a draw from the
/// exponential distribution of mean 1.
fn poisson(jobs: u64, length: impl Fn(f64) -> f64) -> Workload {
    let [mut gaps, mut lengths] = ["gaps", "lengths"].map(|name| stream(11, name));
    let unit = Exp::new(1.0).unwrap();
    let mut now = 0.0;
    let jobs = (0..jobs).map(|id| {
        now += unit.sample(&mut gaps) * SECOND;
        let mut job = Job::new(JobId(id), Request::new(Pattern::ring(1)));
        job.arrived = Time(now as u64);
        Submission::new(
            job,
            Duration::from_nanos((length(unit.sample(&mut lengths)) * SECOND) as u64),
        )
    });
    Workload::new("Poisson", jobs.collect::<Vec<_>>())
}

fn sojourns(outcome: &Outcome) -> Vec<f64> {
    let mut all: Vec<f64> = outcome
        .runs
        .iter()
        .map(|run| (run.ended() - run.arrived).as_nanos() as f64 / SECOND)
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// All jobs of a machine share one processor equally.
struct ProcessorSharing;

impl Execution for ProcessorSharing {
    fn name(&self) -> &str {
        "processor sharing"
    }
    fn slowdown(&self, _: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        fleet
            .machine(at.machine)
            .map_or(1.0, |machine| machine.leases().count() as f64)
    }
    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }
}

#[test]
fn one_server_in_order_has_the_mean_and_the_99th_percentile_of_m_m_1() {
    let load = 0.7;
    let workload = poisson(100_000, |draw| load * draw);
    let outcome = Simulation::new(&workload, Fleet::new([machine(1)]))
        .run(&mut Fifo::new(lowest_id()), &Fixed)
        .unwrap();
    let times = sojourns(&outcome);
    // E[T] = 1 / (mu - lambda); T is exponential, so its 99th percentile is ln(100) times that.
    let expected = 1.0 / (1.0 / load - 1.0);
    let found = mean(&times);
    assert!((found / expected - 1.0).abs() < 0.06, "{found}, {expected}");
    let (found, expected) = (times[times.len() * 99 / 100], expected * 100f64.ln());
    assert!((found / expected - 1.0).abs() < 0.08, "{found}, {expected}");
}

#[test]
fn shared_processors_have_the_same_mean_whatever_the_lengths_are_distributed_like() {
    // M/G/1-PS: E[T] = E[S] / (1 - rho), for lengths that are all alike, exponential, or of two
    // kinds.
    let load = 0.6;
    let two = |draw: f64| {
        if draw < 1.0 {
            0.2 * load
        } else {
            load * (1.0 - 0.2 * (1.0 - (-1f64).exp())) / (-1f64).exp()
        }
    };
    let lengths: [&dyn Fn(f64) -> f64; 3] = [&|_| load, &|draw| load * draw, &two];
    for length in lengths {
        let workload = poisson(20_000, length);
        let outcome = Simulation::new(&workload, Fleet::new([machine(40)]))
            .run(&mut Fifo::new(lowest_id()), &ProcessorSharing)
            .unwrap();
        assert!(
            outcome
                .runs
                .iter()
                .all(|run| run.waited() == Duration::ZERO),
            "nobody waits for a device"
        );
        let (found, expected) = (mean(&sojourns(&outcome)), load / (1.0 - load));
        assert!((found / expected - 1.0).abs() < 0.08, "{found}, {expected}");
    }
}
