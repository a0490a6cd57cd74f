//! Bounds on rings of whole devices, held against schedulers, and what they are on MAPA's job
//! files.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Fabric, HardwareGraph, LinkClass, Objective, Pattern, Policy, Request, Rules, Sensitivity,
    criteria::max, effective_gbps, preserve_with, preserved_gbps, ring_packing_gbps,
};
use mapa_sched::bound::{Bound, Measure, Solver};
use mapa_sched::{Conservative, Easy, Fifo, Fleet, Job, JobId, Order, Queue, Scheduler, Time};
use mapa_sim::{Arrivals, ByBandwidth, Generator, Outcome, Simulation, Submission, Workload};
use mapa_system_mapa::topology::{Ascent, RingBounds, RingWork};
use mapa_topologies::named;
use proptest::collection::vec;
use proptest::prelude::*;

fn graph(name: &str) -> Arc<HardwareGraph> {
    Arc::new(named(name).unwrap().graph().unwrap())
}

/// Five devices, unlike each other.
fn odd() -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let root = fabric.add_numa("cpu0", 0).unwrap();
    let ids: Vec<_> = (0..5)
        .map(|at| fabric.add_device(format!("GPU{at}")).unwrap())
        .collect();
    for &id in &ids {
        fabric.attach(id, root, 12.0).unwrap();
    }
    for (a, b, gbps) in [(0, 1, 50.0), (1, 2, 25.0), (0, 2, 25.0), (2, 3, 20.0)] {
        let class = LinkClass::Direct(1);
        fabric.link(ids[a], ids[b], class, gbps).unwrap();
    }
    Arc::new(fabric.lower().unwrap())
}

fn works(workload: &Workload) -> Vec<RingWork> {
    let jobs = workload.jobs.iter();
    jobs.map(|job| RingWork::try_from(&job.job).unwrap())
        .collect()
}

fn bounds(graph: &HardwareGraph, model: &Objective<'static>, workload: &Workload) -> RingBounds {
    RingBounds::new(graph, model, &works(workload)).unwrap()
}

/// Schedulers that place each job on its best set, by links that stay or by order alone.
fn schedulers(model: &Objective<'static>) -> Vec<Box<dyn Scheduler>> {
    let preserve = || preserve_with(model.clone(), preserved_gbps());
    let best = || Rules::new("best").prefer(max(model.clone()));
    let policies: [Box<dyn Policy>; 2] = [Box::new(preserve()), Box::new(best())];
    let mut all: Vec<Box<dyn Scheduler>> = Vec::new();
    for policy in policies {
        all.push(Box::new(Fifo::new(policy)));
    }
    for order in [Order::ShortestFirst, Order::SmallestFirst] {
        all.push(Box::new(Queue::new(preserve(), order.clone())));
        all.push(Box::new(Queue::new(best(), order).first_fit()));
    }
    all.push(Box::new(Easy::new(preserve())));
    all.push(Box::new(Conservative::new(best())));
    all
}

/// The makespan, and the sum of completion times, seconds.
fn measures(outcome: &Outcome) -> [f64; 2] {
    let first = outcome.runs.iter().map(|run| run.arrived).min().unwrap();
    let last = outcome.runs.iter().map(|run| run.ended()).max().unwrap();
    let completions = outcome.runs.iter().map(|run| run.ended() - run.arrived);
    [
        (last - first).as_secs_f64(),
        completions.sum::<Duration>().as_secs_f64(),
    ]
}

fn none_below(
    all: &[Bound],
    workload: &Workload,
    graph: &Arc<HardwareGraph>,
    model: &Objective<'static>,
) -> Result<(), TestCaseError> {
    for mut scheduler in schedulers(model) {
        let simulation = Simulation::new(workload, Fleet::new([graph.clone()]));
        let outcome = simulation
            .run(&mut *scheduler, &ByBandwidth::new(model.clone()))
            .unwrap();
        prop_assert_eq!(outcome.runs.len(), workload.jobs.len());
        let [makespan, completion] = measures(&outcome);
        for bound in all {
            let own = match bound.measure {
                Measure::Makespan => makespan,
                _ => completion,
            };
            // The simulator rounds times to nanoseconds.
            let least = bound.value * (1.0 - 1e-9) - 1e-6;
            prop_assert!(
                own >= least,
                "{}: {own} is below {bound:?}",
                scheduler.name()
            );
        }
    }
    Ok(())
}

/// Arrival, devices, run time and network of each job.
type Rows = Vec<(u64, usize, u64, &'static str)>;

fn workload(rows: &Rows) -> Workload {
    let jobs = (0..)
        .zip(rows)
        .map(|(id, &(arrives, devices, seconds, task))| {
            let sensitive = if task == "GoogleNet" {
                Sensitivity::Insensitive
            } else {
                Sensitivity::Sensitive
            };
            let request = Request::new(Pattern::ring(devices)).sensitive(sensitive);
            let mut job = Job::new(JobId(id), request);
            job.arrived = Time::from_secs(arrives);
            Submission::new(job, Duration::from_secs(seconds)).task(task)
        });
    Workload::new("rows", jobs.collect::<Vec<_>>())
}

fn rows(latest: u64) -> impl Strategy<Value = Rows> {
    let task = prop_oneof![
        Just("VGG-16"),
        Just("AlexNet"),
        Just("ResNet-50"),
        Just("GoogleNet")
    ];
    vec((0..=latest, 1_usize..=5, 1_u64..40, task), 1..30)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(40))]

    #[test]
    fn no_scheduler_is_below_a_bound(
        rows in prop_oneof![rows(0), rows(200)],
        machine in prop_oneof![Just(None), Just(Some("dgx-1v")), Just(Some("summit"))],
        by_eq_2: bool, slots in 1_u32..100, rounds in 0_u32..100,
    ) {
        let graph = machine.map_or_else(odd, graph);
        let most = graph.wholes().len();
        let rows: Rows = rows.into_iter().map(|row| (row.0, row.1.min(most), row.2, row.3)).collect();
        let model = if by_eq_2 { effective_gbps() } else { ring_packing_gbps() };
        let workload = workload(&rows);
        let own = bounds(&graph, &model, &workload);
        let all = own.all(&Solver::default(), &Ascent { slots, rounds }).unwrap();
        none_below(&all, &workload, &graph, &model)?;
    }
}

/// MAPA's job files: 300 rings of one to five devices over its six networks.
fn mapa_six(arrivals: Arrivals, seed: u64) -> Workload {
    let mut jobs = Generator::mapa_six();
    jobs.arrivals = arrivals;
    jobs.generate(seed).unwrap()
}

#[test]
fn no_scheduler_is_below_a_bound_on_job_files() {
    for (name, arrivals) in [
        ("dgx-1v", Arrivals::AtOnce),
        (
            "dgx-1v",
            Arrivals::Load {
                load: 0.9,
                devices: 8,
            },
        ),
        (
            "cube-mesh-16",
            Arrivals::Load {
                load: 0.7,
                devices: 16,
            },
        ),
    ] {
        let (graph, model) = (graph(name), ring_packing_gbps());
        let workload = mapa_six(arrivals, 90_001);
        let own = bounds(&graph, &model, &workload);
        let all = own.all(&Solver::default(), &Ascent::default()).unwrap();
        none_below(&all, &workload, &graph, &model).unwrap();
    }
}

/// There are nearly always mixes of jobs at full bandwidth: links cost nothing in the bound, but on
/// a DGX-1V by ring packing.
#[test]
fn links_cost_next_to_no_makespan_in_the_bound() {
    let over = |name: &str, model: &Objective<'static>| {
        let graph = graph(name);
        let parts = (90_001..90_006).map(|seed| {
            let own = bounds(&graph, model, &mapa_six(Arrivals::AtOnce, seed));
            let packed = own.configurations(&Solver::default()).unwrap();
            packed.value / own.area().value - 1.0
        });
        parts.sum::<f64>() / 5.0
    };
    for (name, model, least, most) in [
        ("dgx-1v", effective_gbps(), 0.0, 1e-4),
        ("torus-2d", effective_gbps(), 0.0, 1e-4),
        ("dgx-1v", ring_packing_gbps(), 1e-3, 1e-2),
    ] {
        let own = over(name, &model);
        assert!(
            own >= least - 1e-9 && own <= most,
            "{name}, {}: {own}",
            model.name()
        );
    }
}

/// What sizes that do not fit together, and jobs that run no faster than they can, add to the
/// squashed area.
#[test]
fn prices_add_to_the_squashed_area() {
    let over = |arrivals: Arrivals| {
        let workload = mapa_six(arrivals, 90_001);
        let own = bounds(&graph("dgx-1v"), &effective_gbps(), &workload);
        let all = own.all(&Solver::default(), &Ascent::default()).unwrap();
        [all[4].value, all[5].value].map(|value| value / all[3].value - 1.0)
    };
    let [slots, rates] = over(Arrivals::AtOnce);
    assert!(
        slots > 5e-4 && rates >= slots && rates < 0.02,
        "{slots} {rates}"
    );
    let [_, rates] = over(Arrivals::Load {
        load: 0.9,
        devices: 8,
    });
    assert!(rates > 0.05, "{rates}");
}
