//! The PCIe-aware scheduler on 60 and on 10,000 GPUs, in servers of four A100 with 28 instances.
//! Measures decisions per second as jobs start and end: on a fleet with two thirds of its instances
//! in use, and on a full fleet with waiting jobs. On 60 GPUs, a decision that visits every server
//! is measured too.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::mig::Size;
use mapa_core::{Fabric, FabricNode, HardwareGraph, NodeKind, PCIE_GEN4_GBPS};
use mapa_sched::{Action, Event, Fleet, Job, JobId, Scheduler, Time, step};
use mapa_sim::{Profile, Simulation, Workload};
use mapa_system_pcie::{PcieAware, PciePlan, pcie_aware};
use mapa_system_pcie_sim::PcieEqualShare;
use mapa_topologies::mig::{Offer, named};

/// A server of four A100, each on a host bridge of its own.
fn server() -> Arc<HardwareGraph> {
    let model = named("a100-40gb")
        .and_then(|gpu| gpu.model(Offer::PLAIN))
        .expect("it is in the catalogue");
    let mut fabric = Fabric::new();
    for i in 0..4 {
        let bridge = FabricNode {
            name: format!("bridge{i}"),
            kind: NodeKind::HostBridge,
        };
        let bridge = fabric.add(bridge).expect("a new name");
        let device = fabric.add_device(format!("GPU{i}")).expect("a new name");
        fabric
            .attach(device, bridge, PCIE_GEN4_GBPS)
            .expect("both are there");
    }
    fabric.set_mig(Some(&model));
    Arc::new(fabric.lower().expect("a sound fabric"))
}

/// Idle servers, each GPU in seven instances.
fn fleet(graph: &Arc<HardwareGraph>, servers: usize) -> Fleet {
    let mut fleet = Fleet::new(vec![graph.clone(); servers]);
    let wholes: Vec<_> = graph.wholes().iter().collect();
    let model = graph
        .model(wholes[0])
        .expect("it can be partitioned")
        .clone();
    let sevenths = model
        .fit(&[model.find("1g").expect("an A100 has it"); 7])
        .expect("it has seven");
    let machines: Vec<_> = fleet
        .machines()
        .iter()
        .map(|machine| machine.id())
        .collect();
    for machine in machines {
        for &whole in &wholes {
            fleet
                .layout_is(machine, whole, &sevenths)
                .expect("it has no tenants");
        }
    }
    fleet
}

/// Jobs of the paper's Table 2: ResNet50, Bloom560m and Bloom7b1 in turn, 50 s each.
struct Jobs([Job; 3]);

impl Jobs {
    fn new() -> Self {
        let job = |kind: &Profile| kind.submission(JobId(0), Time::ZERO, Size::new(1, 1), 50.0);
        Self(
            Profile::tang()
                .each_ref()
                .map(|kind| job(kind).expect("it has a throughput on 1g").job),
        )
    }

    fn get(&self, id: u64) -> Job {
        let mut job = self.0[id as usize % 3].clone();
        job.id = JobId(id);
        job
    }
}

/// A scheduler without a delay threshold, so that every job that arrives starts.
fn aware() -> PcieAware {
    PcieAware::new().delay_threshold(f64::INFINITY)
}

/// A scheduler and a fleet in use: as many jobs as fit run, the others wait.
struct Running {
    scheduler: PcieAware,
    fleet: Fleet,
    jobs: Jobs,
    /// The numbers of the next job to end and of the next job to arrive (`comes`).
    ends: u64,
    comes: u64,
}

impl Running {
    fn new(scheduler: PcieAware, fleet: Fleet, jobs: u64) -> Self {
        let mut running = Self {
            scheduler,
            fleet,
            jobs: Jobs::new(),
            ends: 0,
            comes: jobs,
        };
        let instances: usize = running.fleet.views().map(|view| view.free().len()).sum();
        let events: Vec<Event> = (0..jobs)
            .map(|id| Event::Arrived(running.jobs.get(id)))
            .collect();
        assert_eq!(running.instant(events), jobs.min(instances as u64));
        running
    }

    /// Gives the events of one instant to the scheduler. Returns the number of jobs that it starts.
    fn instant(&mut self, events: Vec<Event>) -> u64 {
        let mut orders = Vec::new();
        let now = Time(self.ends * 1_000_000);
        step(
            &mut self.scheduler,
            &mut self.fleet,
            now,
            events,
            &mut orders,
        )
        .expect("sound events");
        orders
            .iter()
            .filter(|order| matches!(order, Action::Place { .. }))
            .count() as u64
    }

    /// One job ends and another arrives, so one job starts.
    fn go_on(&mut self) {
        let events = vec![
            Event::Finished(JobId(self.ends)),
            Event::Arrived(self.jobs.get(self.comes)),
        ];
        (self.ends, self.comes) = (self.ends + 1, self.comes + 1);
        assert_eq!(self.instant(events), 1);
    }
}

fn decisions(c: &mut Criterion) {
    let graph = server();
    for gpus in [60, 10_000] {
        let idle = fleet(&graph, gpus / 4);
        let instances = gpus as u64 * 7;
        let mut group = c.benchmark_group(format!("{gpus} GPUs in {instances} instances"));
        group.throughput(Throughput::Elements(1));
        for (name, make, jobs) in [
            (
                "pcie-aware, two thirds taken",
                aware as fn() -> PcieAware,
                instances * 2 / 3,
            ),
            (
                "first-gpu, two thirds taken",
                PcieAware::first_gpu,
                instances * 2 / 3,
            ),
            (
                "pcie-aware, all taken and 1,000 jobs wait",
                aware,
                instances + 1_000,
            ),
        ] {
            let mut running = Running::new(make(), idle.clone(), jobs);
            group.bench_function(format!("{name}: a job ends, another starts"), |b| {
                b.iter(|| running.go_on())
            });
        }
        if gpus <= 60 {
            let (bloom, policy) = (Jobs::new().get(2), pcie_aware(1.07, PCIE_GEN4_GBPS));
            group.bench_function("one decision by a visit to every server", |b| {
                b.iter(|| idle.decide(&policy, &bloom.request).expect("it is idle"));
            });
        }
        group.finish();
    }
}

/// Jobs that arrive evenly at a load of 0.6, or all at once.
fn workload(gpus: usize, count: u64, is_burst: bool) -> Workload {
    let kinds = Profile::tang();
    let gap = 50.0 / (0.6 * 7.0 * gpus as f64);
    let jobs = (0..count).map(|id| {
        let at = if is_burst { 0.0 } else { id as f64 * gap };
        let kind = &kinds[id as usize % 3];
        // Run times of 25 to 75 s.
        let seconds = 25.0 + (id * 37 % 51) as f64;
        let at = Time((at * 1e9) as u64);
        let own = kind.submission(JobId(id), at, Size::new(1, 1), seconds);
        own.expect("it has a throughput on 1g")
    });
    Workload::new("even", jobs.collect::<Vec<_>>())
}

/// Whole workloads with all that the simulator does, under pcie-aware and under the plan per port.
/// Throughput is in jobs.
fn plans(c: &mut Criterion) {
    let graph = server();
    for (gpus, jobs, is_burst) in [
        (4, 100, false),
        (60, 1_400, false),
        (60, 1_400, true),
        (1_000, 5_000, false),
    ] {
        let idle = fleet(&graph, gpus / 4);
        let workload = workload(gpus, jobs, is_burst);
        let run = |scheduler: &mut dyn Scheduler| {
            let simulation = Simulation::new(&workload, idle.clone());
            let outcome = simulation.run(scheduler, &PcieEqualShare::default());
            let outcome = outcome.expect("sound jobs");
            let runs = outcome.runs.iter();
            runs.map(|run| (run.ended() - run.arrived).as_secs_f64())
                .sum::<f64>()
        };
        let aware = run(&mut PcieAware::new());
        let coming = if is_burst { "burst" } else { "load 0.6" };
        let mut group = c.benchmark_group(format!("{gpus} GPUs, {jobs} jobs, {coming}"));
        group.throughput(Throughput::Elements(jobs));
        group.sample_size(10);
        group.bench_function("pcie-aware", |b| b.iter(|| run(&mut PcieAware::new())));
        for (name, moves) in [("pcie-plan", 300), ("pcie-plan,search=0", 0)] {
            let plan = || PciePlan::new().moves(moves);
            assert!(run(&mut plan()) < aware * 1.01, "{name}");
            group.bench_function(name, |b| b.iter(|| run(&mut plan())));
        }
        group.finish();
    }
}

criterion_group!(benches, decisions, plans);
