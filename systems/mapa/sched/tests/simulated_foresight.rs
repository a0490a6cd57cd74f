//! What no placement can change, and what none can exceed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    BuiltIn, Candidate, DeviceId, Foresight, HardwareGraph, Objective, Pattern, Policy,
    effective_gbps, preserve_with, preserved_gbps, ring_packing_gbps,
};
use mapa_sched::{Fifo, Fleet, Scheduler, Time};
use mapa_sim::{Fixed, Generator, Outcome, Simulation, Workload};
use mapa_topologies::named;

fn graph(name: &str) -> Arc<HardwareGraph> {
    Arc::new(
        named(name)
            .and_then(|machine| machine.graph())
            .expect("it is in the catalogue"),
    )
}

fn workload(seed: u64, jobs: usize) -> Workload {
    let mut generator = Generator::mapa();
    generator.jobs = jobs;
    generator.generate(seed).expect("a mix")
}

fn run(workload: &Workload, graph: &Arc<HardwareGraph>, scheduler: &mut dyn Scheduler) -> Outcome {
    Simulation::new(workload, Fleet::new([graph.clone()]))
        .run(scheduler, &Fixed)
        .expect("a workload that fits")
}

/// When each job starts and ends.
fn times(outcome: &Outcome) -> Vec<(Time, Time)> {
    outcome
        .runs
        .iter()
        .map(|run| (run.started(), run.ended()))
        .collect()
}

fn never_waiting(model: &Objective<'static>) -> Vec<Box<dyn Scheduler>> {
    let by_policy = |policy: Box<dyn Policy>| Box::new(Fifo::new(policy)) as Box<dyn Scheduler>;
    let names = BuiltIn::ALL
        .iter()
        .filter(|policy| !policy.for_instances && policy.name != "preserve-released");
    let mut all: Vec<_> = names
        .map(|policy| by_policy(BuiltIn::named(policy.name).expect("it is built in")))
        .collect();
    let policy = Foresight::new(model.clone());
    let ahead = || {
        mapa_system_mapa::Foresight::new(policy.clone())
            .by(policy.clone())
            .patience(None)
    };
    all.push(by_policy(Box::new(preserve_with(
        model.clone(),
        preserved_gbps(),
    ))));
    all.push(Box::new(ahead()));
    all.push(Box::new(ahead().queue(6)));
    all.push(Box::new(ahead().queue(8).known_ends()));
    all
}

#[test]
fn with_fixed_run_times_all_that_never_wait_have_the_same_schedule() {
    for (name, seed) in [("dgx-1v", 1), ("torus-2d", 2), ("cube-mesh-16", 3)] {
        let (graph, workload) = (graph(name), workload(seed, 60));
        let expected = times(&run(
            &workload,
            &graph,
            &mut Fifo::new(mapa_core::lowest_id()),
        ));
        assert_eq!(expected.len(), 60);
        for mut scheduler in never_waiting(&ring_packing_gbps()) {
            let outcome = run(&workload, &graph, &mut *scheduler);
            assert_eq!(times(&outcome), expected, "{name}, {}", scheduler.name());
        }
    }
}

/// The sum of the bandwidths of sensitive jobs on two devices and more, at best, for jobs whose
/// times are known: over all ways to place one after another, those that leave the same devices to
/// the same jobs being one.
struct Clairvoyant<'c> {
    workload: &'c Workload,
    times: &'c [(Time, Time)],
    /// By set, as a mask.
    own: Vec<f64>,
}

impl Clairvoyant<'_> {
    fn best(&self) -> f64 {
        // Who holds what, by job, of those that run; and the most that there can be until then.
        let mut states: HashMap<Vec<(usize, u32)>, f64> = HashMap::from([(Vec::new(), 0.0)]);
        // Jobs start in their order, so one after another sees all ends before.
        for (at, job) in self.workload.jobs.iter().enumerate() {
            let (start, _) = self.times[at];
            let request = &job.job.request;
            let (k, counts) = (
                request.pattern.len() as u32,
                request.is_sensitive() && request.pattern.len() > 1,
            );
            let mut next: HashMap<Vec<(usize, u32)>, f64> = HashMap::new();
            for (held, sum) in &states {
                let held: Vec<_> = held
                    .iter()
                    .copied()
                    .filter(|(job, _)| self.times[*job].1 > start)
                    .collect();
                let free = 255 & !held.iter().map(|(_, on)| on).sum::<u32>();
                for on in (1..=free).filter(|on| on & !free == 0 && on.count_ones() == k) {
                    let sum = sum + if counts { self.own[on as usize] } else { 0.0 };
                    let state = [&held[..], &[(at, on)]].concat();
                    let best = next.entry(state).or_insert(f64::NEG_INFINITY);
                    *best = best.max(sum);
                }
            }
            states = next;
        }
        states.into_values().fold(f64::NEG_INFINITY, f64::max)
    }
}

#[test]
fn no_policy_is_above_the_clairvoyant_bound() {
    let graph = graph("dgx-1v");
    let all = graph.all();
    for model in [effective_gbps(), ring_packing_gbps()] {
        let value = |pattern: &Pattern, placement: &[DeviceId]| {
            model.score(&Candidate {
                view: graph.with_free(&all),
                pattern,
                placement,
            })
        };
        let own = |on: u32| {
            let mut ring: Vec<DeviceId> = (0..8)
                .filter(|at| on >> at & 1 == 1)
                .map(DeviceId)
                .collect();
            let pattern = Pattern::ring(ring.len());
            let mut best = f64::NEG_INFINITY;
            if (2..=5).contains(&ring.len()) {
                orders(&mut ring, 1, &mut |ring| {
                    best = best.max(value(&pattern, ring))
                });
            }
            best
        };
        let own: Vec<f64> = (0..256).map(own).collect();
        for seed in 1..4 {
            let workload = workload(seed, 14);
            let mut reached = Vec::new();
            let mut expected = Vec::new();
            for mut scheduler in never_waiting(&model) {
                let outcome = run(&workload, &graph, &mut *scheduler);
                let sum = outcome.runs.iter().map(|run| {
                    let request = &workload.jobs[run.index].job.request;
                    let counts = request.is_sensitive() && request.pattern.len() > 1;
                    if counts {
                        value(&request.pattern, &run.stays[0].at.placement)
                    } else {
                        0.0
                    }
                });
                reached.push((scheduler.name().to_owned(), sum.sum::<f64>()));
                expected = times(&outcome);
            }
            let bound = Clairvoyant {
                workload: &workload,
                times: &expected,
                own: own.clone(),
            }
            .best();
            for (name, sum) in reached {
                assert!(
                    sum <= bound + 1e-6,
                    "{name}, seed {seed}, {}: {sum} above {bound}",
                    model.name()
                );
            }
        }
    }
}

fn orders(devices: &mut [DeviceId], from: usize, f: &mut impl FnMut(&[DeviceId])) {
    if from >= devices.len() {
        return f(devices);
    }
    for other in from..devices.len() {
        devices.swap(from, other);
        orders(devices, from + 1, f);
        devices.swap(from, other);
    }
}

#[test]
fn with_run_times_by_bandwidth_patience_pays() {
    let (graph, workload) = (graph("cube-mesh-16"), workload(7, 120));
    let execution = mapa_sim::ByBandwidth::ring_packing();
    let makespan = |scheduler: &mut dyn Scheduler| -> Duration {
        let simulation = Simulation::new(&workload, Fleet::new([graph.clone()]));
        simulation
            .run(scheduler, &execution)
            .expect("a workload that fits")
            .end
            .since(Time::ZERO)
    };
    let policy = Foresight::new(ring_packing_gbps());
    let preserve = makespan(&mut Fifo::new(preserve_with(
        ring_packing_gbps(),
        preserved_gbps(),
    )));
    let patient = makespan(&mut mapa_system_mapa::Foresight::new(policy.clone()).by(policy));
    assert!(
        patient.as_secs_f64() < 0.9 * preserve.as_secs_f64(),
        "{patient:?} of {preserve:?}"
    );
}
