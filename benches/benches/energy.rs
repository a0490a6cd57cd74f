//! Jobs with deadlines on MIG slices: a whole day under each rule, on 8 GPUs and on 10,000 with as
//! many jobs a minute for each GPU; and the same rules as schedulers of a fleet, on 8 GPUs and on
//! 1,000, with all that the simulator and the allocator do. Throughput is in jobs.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::{MachineId, lowest_id};
use mapa_sched::Fleet;
use mapa_sched::energy::RuleScheduler;
use mapa_sched::energy::{EnergyPlan, Fit, LargestFirst, Machine, Power, Rule, SliceJob, State};
use mapa_sim::energy::{Draw, Totals, run};
use mapa_sim::{BySize, Simulation, Workload, slice_jobs};
use mapa_topologies::mig::{Offer, named};

/// A rule that is made anew for each day.
type Make = fn() -> Box<dyn Rule + Send>;

const RULES: [(&str, Make); 3] = [
    ("largest-first", || Box::new(LargestFirst)),
    ("fit, fullest", || Box::new(Fit::fullest())),
    ("energy-plan", || Box::new(EnergyPlan::default())),
];

fn day(jobs: &[SliceJob], machine: &Machine, rule: Make) -> Totals {
    run(jobs, State::new(machine.clone()), &mut *rule()).expect("rules start what is there")
}

fn one(c: &mut Criterion, group: &str, jobs: &[SliceJob], machine: &Machine) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.sample_size(10);
    let largest = day(jobs, machine, RULES[0].1);
    for (name, rule) in RULES {
        let own = day(jobs, machine, rule);
        // On machines with room for all, the plan waits for slices, and may cut it too fine.
        assert!(
            own.late <= largest.late + jobs.len() / 100,
            "{name}: {own:?}"
        );
        group.bench_function(name, |b| b.iter(|| black_box(day(jobs, machine, rule))));
    }
    group.finish();
}

fn days(c: &mut Criterion) {
    let jobs = Draw::default().jobs(1).expect("the published parameters");
    let machine = Machine::new(Machine::SEARCHED, Power::A100).expect("it is sound");
    one(c, "energy: a day on 8 GPUs", &jobs, &machine);
    let machine = Machine::flexible(8, Power::A100, 0.4 / 60.0).expect("it is sound");
    one(c, "energy: a day on 8 GPUs, repartitioned", &jobs, &machine);
    let draw = Draw {
        per_minute: 20.0 * 1250.0,
        from: 540.0,
        most: 5000,
        ..Draw::default()
    };
    let jobs = draw.jobs(1).expect("a rate above 0");
    let layouts = vec![Machine::SEARCHED; 1250].join(" | ");
    let machine = Machine::new(&layouts, Power::A100).expect("it is sound");
    one(c, "energy: 5,000 jobs on 10,000 GPUs", &jobs, &machine);
    let machine = Machine::flexible(10_000, Power::A100, 0.4 / 60.0).expect("it is sound");
    one(c, "energy: 5,000 jobs on 10,000 GPUs, repartitioned", &jobs, &machine);
}

/// So many servers of eight A100s with these layouts.
fn servers(count: u32, layouts: &str) -> Fleet {
    let model = named("a100-40gb").and_then(|gpu| gpu.model(Offer::PLAIN));
    let model = model.expect("it is in the catalogue");
    let mut machine = mapa_topologies::named("dgx-a100").expect("it is in the catalogue");
    machine.fabric.set_mig(Some(&model));
    let graph = Arc::new(machine.graph().expect("it is sound"));
    let mut fleet = Fleet::new((0..count).map(|_| graph.clone()));
    for id in (0..count).map(MachineId) {
        for (gpu, layout) in graph.wholes().iter().zip(layouts.split('|')) {
            let sizes = layout.split(',').map(|size| format!("{}g", size.trim()));
            let profiles: Vec<_> = sizes
                .map(|size| model.find(&size).expect("an A100 has it"))
                .collect();
            let layout = model.fit(&profiles).expect("it is legal");
            fleet.layout_is(id, gpu, &layout).expect("an idle device");
        }
    }
    fleet
}

/// How many jobs were late.
fn on_fleet(workload: &Workload, fleet: &Fleet, rule: Make) -> usize {
    let mut scheduler = RuleScheduler::new(rule(), lowest_id());
    let outcome = Simulation::new(workload, fleet.clone())
        .run(&mut scheduler, &BySize)
        .expect("rules start what is there");
    let runs = outcome.runs.iter();
    let late = runs.filter(|run| workload.jobs[run.index].job.deadline < Some(run.ended()));
    late.count()
}

fn fleets(c: &mut Criterion) {
    let many = Draw {
        per_minute: 20.0 * 125.0,
        from: 540.0,
        most: 5000,
        ..Draw::default()
    };
    for (count, draw) in [(1, Draw::default()), (125, many)] {
        let jobs = draw.jobs(1).expect("a rate above 0");
        let workload = slice_jobs("a day", &jobs);
        let fleet = servers(count, Machine::PUBLISHED);
        let layouts = vec![Machine::PUBLISHED; count as usize].join(" | ");
        let machine = Machine::new(&layouts, Power::A100).expect("it is sound");
        let name = format!("energy: a fleet of {} GPUs", 8 * count);
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(jobs.len() as u64));
        group.sample_size(10);
        for (name, rule) in RULES {
            let expected = day(&jobs, &machine, rule).late;
            group.bench_function(name, |b| {
                b.iter(|| assert_eq!(on_fleet(black_box(&workload), &fleet, rule), expected));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, days, fleets);
