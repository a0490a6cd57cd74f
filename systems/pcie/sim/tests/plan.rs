//! The plan per port in time: what it expects is what happens, and no scheduler is below the bound.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{
    Demand, DeviceInfo, Fabric, FabricNode, MachineId, NodeKind, PCIE_GEN4_GBPS, Pattern, Request,
};
use mapa_sched::bound::Solver;
use mapa_sched::{Fleet, Job, JobId, Scheduler, Time};
use mapa_sim::{Execution, Outcome, Simulation, Submission, Workload};
use mapa_system_pcie::{
    PcieAware, PcieBound, PciePlan, PciePorts, PcieWork, PortModel, pcie_bound,
};
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};
use mapa_topologies::mig::{Offer, named};
use proptest::collection::vec;
use proptest::prelude::*;

/// A100s in instances of 1g, each on a port of its own.
fn fleet(gpus: usize) -> Fleet {
    let model = named("a100-40gb").unwrap().model(Offer::PLAIN).unwrap();
    let mut fabric = Fabric::new();
    let root = FabricNode {
        name: "root".to_owned(),
        kind: NodeKind::HostBridge,
    };
    let root = fabric.add(root).unwrap();
    for gpu in 0..gpus {
        let info = DeviceInfo {
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let node = FabricNode {
            name: format!("GPU{gpu}"),
            kind: NodeKind::Device(info),
        };
        let gpu = fabric.add(node).unwrap();
        fabric.attach(gpu, root, PCIE_GEN4_GBPS).unwrap();
    }
    let graph = Arc::new(fabric.lower().unwrap());
    let mut fleet = Fleet::new([graph.clone()]);
    let smallest = model.find("1g").unwrap();
    let layout = model.fit(&[smallest; 7]).unwrap();
    for gpu in graph.wholes().iter() {
        fleet.layout_is(MachineId(0), gpu, &layout).unwrap();
    }
    fleet
}

/// Arrival, run time and demand of each job.
type Rows = Vec<(u64, u64, f64)>;

fn workload(rows: &Rows) -> Workload {
    let jobs = (0..).zip(rows).map(|(id, &(arrives, runs, gbps))| {
        let demand = Demand::slice(Size::new(1, 1)).pcie_gbps(gbps);
        let mut job = Job::new(JobId(id), Request::new(Pattern::single(demand)));
        job.arrived = Time::from_secs(arrives);
        // No two jobs end at one moment: the simulator's nanoseconds would order them by chance.
        let work = Duration::from_secs(runs) + Duration::from_nanos(id * 1_234_577);
        Submission::new(job, work)
    });
    Workload::new("rows", jobs.collect::<Vec<_>>())
}

fn run(jobs: &Workload, gpus: usize, scheduler: &mut dyn Scheduler, model: PortModel) -> Outcome {
    let physics: Box<dyn Execution> = match model {
        PortModel::EqualShare => Box::new(PcieEqualShare::default()),
        PortModel::MaxMin => Box::new(PcieMaxMin::new(jobs)),
    };
    let simulation = Simulation::new(jobs, fleet(gpus));
    simulation.run(scheduler, &*physics).unwrap()
}

fn completions(outcome: &Outcome) -> f64 {
    let runs = outcome.runs.iter();
    runs.map(|run| (run.ended() - run.arrived).as_secs_f64())
        .sum()
}

fn rows() -> impl Strategy<Value = Rows> {
    let gbps = prop_oneof![Just(0.0), Just(7.0), Just(19.0), Just(40.0)];
    vec((0_u64..60, 1_u64..60, gbps), 1..40)
}

fn models() -> impl Strategy<Value = PortModel> {
    prop_oneof![Just(PortModel::EqualShare), Just(PortModel::MaxMin)]
}

fn bound_of(rows: &Rows, gpus: usize, model: PortModel, slot: f64, by: PcieBound) -> f64 {
    let works = rows.iter().map(|&(arrives, runs, gbps)| PcieWork {
        arrives: arrives as f64,
        seconds: runs as f64,
        gbps,
        slices: 1,
    });
    let ports = PciePorts {
        gpus: gpus as u32,
        slices: 7,
        gbps: PCIE_GEN4_GBPS,
        model,
    };
    let works: Vec<PcieWork> = works.collect();
    pcie_bound(&works, &ports, slot, by).unwrap().value
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(40))]

    #[test]
    fn no_schedule_is_below_the_bound(
        rows in rows(), gpus in 1_usize..4, model in models(), slot in 1.0..20.0, rounds in 1_u32..200,
    ) {
        let jobs = workload(&rows);
        let bound = bound_of(&rows, gpus, model, slot, PcieBound::Prices(rounds));
        let all: [Box<dyn Scheduler>; 4] = [
            Box::new(PcieAware::new()),
            Box::new(PcieAware::first_gpu()),
            Box::new(PcieAware::new().shortest_first()),
            Box::new(PciePlan::new().model(model)),
        ];
        for mut scheduler in all {
            let outcome = run(&jobs, gpus, &mut *scheduler, model);
            prop_assert_eq!(outcome.runs.len(), rows.len());
            let sum = completions(&outcome);
            prop_assert!(sum >= bound * (1.0 - 1e-6), "{}: {sum} below {bound}", scheduler.name());
        }
    }

    /// In a burst nothing comes that the plan does not know: each job starts and ends when it was
    /// expected to, if the model is true.
    #[test]
    fn without_arrivals_a_plan_comes_true(rows in rows(), gpus in 1_usize..3, model in models()) {
        let rows: Rows = rows.into_iter().map(|(_, runs, gbps)| (0, runs, gbps)).collect();
        let jobs = workload(&rows);
        // Without a search at later events the plan of the burst stays as it is.
        let mut plan = PciePlan::new().model(model).moves(0);
        let mut first = fleet(gpus);
        let mut orders = Vec::new();
        let events = jobs.jobs.iter().map(|job| mapa_sched::Event::Arrived(job.job.clone()));
        mapa_sched::step(&mut plan, &mut first, Time::ZERO, events, &mut orders).unwrap();
        let expected: Vec<_> = (0..rows.len() as u64)
            .map(|id| plan.explain(JobId(id)).map(|planned| planned.expected.unwrap()))
            .collect();
        let outcome = run(&jobs, gpus, &mut PciePlan::new().model(model).moves(0), model);
        for ran in &outcome.runs {
            let Some((starts, ends)) = expected[ran.index] else {
                prop_assert_eq!(ran.started(), Time::ZERO);
                continue;
            };
            let close = |a: Time, b: Time| a.0.abs_diff(b.0) < 1_000_000;
            prop_assert!(close(ran.started(), starts) && close(ran.ended(), ends), "{ran:?} {starts} {ends}");
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(12))]

    /// Any prices are a bound of the linear program.
    #[test]
    fn prices_are_not_above_the_linear_program(rows in rows(), model in models()) {
        let rows: Rows = rows.into_iter().take(8).collect();
        let of = |by| bound_of(&rows, 1, model, 10.0, by);
        let (optimum, prices) = (of(PcieBound::Solver(Solver::default())), of(PcieBound::Prices(400)));
        prop_assert!(prices <= optimum * (1.0 + 1e-6), "{prices} above {optimum}");
    }
}

/// Where ports are busy, prices come close to the optimum.
#[test]
fn prices_come_close_to_the_linear_program_in_a_burst() {
    let rows: Rows = (0..16)
        .map(|job| (0, 10 + 3 * job, [19.0, 7.0, 40.0][job as usize % 3]))
        .collect();
    for model in [PortModel::EqualShare, PortModel::MaxMin] {
        let of = |by| bound_of(&rows, 1, model, 10.0, by);
        let optimum = of(PcieBound::Solver(Solver::default()));
        let prices = of(PcieBound::Prices(600));
        assert!(optimum > 1.5 * rows.iter().map(|row| row.1 as f64).sum::<f64>());
        assert!(
            prices > 0.98 * optimum && prices <= optimum * (1.0 + 1e-6),
            "{prices} {optimum}"
        );
    }
}

#[test]
fn progress_is_reported_while_a_job_runs_and_never_after() {
    struct Told(Vec<(u64, f64)>, PcieAware);
    impl Scheduler for Told {
        fn name(&self) -> &str {
            "told"
        }
        fn on_event(&mut self, now: Time, event: mapa_sched::Event) {
            if let mapa_sched::Event::Progress { share, .. } = event {
                self.0.push((now.0 / 1_000_000_000, share));
            }
            self.1.on_event(now, event);
        }
        fn act(&mut self, now: Time, turn: &mut mapa_sched::Turn<'_>) {
            self.1.act(now, turn);
        }
    }
    let jobs = workload(&vec![(5, 10, 0.0)]);
    let mut told = Told(Vec::new(), PcieAware::new());
    let simulation = Simulation::new(&jobs, fleet(1)).progress(Duration::from_secs(4));
    simulation
        .run(&mut told, &PcieEqualShare::default())
        .unwrap();
    assert_eq!(told.0, [(9, 0.4), (13, 0.8)]);
}

#[test]
fn a_bound_of_nonsense_is_an_error_that_names_it() {
    let work = PcieWork {
        arrives: 0.0,
        seconds: 1.0,
        gbps: 1.0,
        slices: 1,
    };
    let ports = PciePorts {
        gpus: 1,
        slices: 7,
        gbps: 30.0,
        model: PortModel::MaxMin,
    };
    let by = PcieBound::Prices(1);
    let error = |work, ports: &PciePorts, slot| {
        pcie_bound(&[work], ports, slot, by)
            .unwrap_err()
            .to_string()
    };
    let endless = PcieWork {
        seconds: f64::NAN,
        ..work
    };
    insta::assert_snapshot!(
        error(endless, &ports, 1.0),
        @"bound: job 0: PcieWork { arrives: 0.0, seconds: NaN, gbps: 1.0, slices: 1 }: expected seconds above 0, an arrival and GB/s of 0 or more, and 1 to 7 slices"
    );
    let wide = PcieWork { slices: 8, ..work };
    insta::assert_snapshot!(
        error(wide, &ports, 1.0),
        @"bound: job 0: PcieWork { arrives: 0.0, seconds: 1.0, gbps: 1.0, slices: 8 }: expected seconds above 0, an arrival and GB/s of 0 or more, and 1 to 7 slices"
    );
    insta::assert_snapshot!(
        error(work, &ports, 0.0),
        @"bound: PciePorts { gpus: 1, slices: 7, gbps: 30.0, model: MaxMin }, slots of 0 s: expected GPUs, GB/s and seconds above 0"
    );
    let none = PciePorts { gpus: 0, ..ports };
    insta::assert_snapshot!(
        error(work, &none, 1.0),
        @"bound: PciePorts { gpus: 0, slices: 7, gbps: 30.0, model: MaxMin }, slots of 1 s: expected GPUs, GB/s and seconds above 0"
    );
}
