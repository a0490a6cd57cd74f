//! Jobs with deadlines on MIG slices: a whole day under each rule, on 8 GPUs and on 10,000 with as
//! many jobs a minute for each GPU; the bounds; training; and the same rules as schedulers of a
//! fleet, on 8 GPUs and on 1,000, with all that the simulator and the allocator do. Throughput is in
//! jobs.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::{MachineId, lowest_id};
use mapa_sched::Fleet;
use mapa_sched::bound::{Bound, Solver};
use mapa_sim::{BySize, Simulation, Workload};
use mapa_system_energy::learned::{Formulation, Learned, Observation};
use mapa_system_energy::{
    EnergyPlan, Fit, LargestFirst, Power, Rule, RuleScheduler, SliceJob, SlicedGpus, Slots, State,
    chu_bound, energy_bound, linear_bound, progress_bound, static_progress_bound,
};
use mapa_system_energy_rl::{Batch, KEPT, Reward, Source};
use mapa_system_energy_sim::slice_jobs;
use mapa_system_energy_sim::{Draw, LOADS, Totals, run};
use mapa_topologies::mig::{Offer, named};

/// A rule that is made anew for each day.
type Make = fn() -> Box<dyn Rule + Send>;

const RULES: [(&str, Make); 3] = [
    ("largest-first", || Box::new(LargestFirst)),
    ("fit, fullest", || Box::new(Fit::fullest())),
    ("energy-plan", || Box::new(EnergyPlan::default())),
];

fn day(jobs: &[SliceJob], machine: &SlicedGpus, rule: Make) -> Totals {
    run(jobs, State::new(machine.clone()), &mut *rule()).expect("rules start what is there")
}

fn one(c: &mut Criterion, group: &str, jobs: &[SliceJob], machine: &SlicedGpus) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.sample_size(10);
    let largest = day(jobs, machine, RULES[0].1);
    for (name, rule) in RULES {
        let totals = day(jobs, machine, rule);
        // On machines with room for all, the plan waits for slices, and may cut it too fine.
        assert!(
            totals.late <= largest.late + jobs.len() / 100,
            "{name}: {totals:?}"
        );
        group.bench_function(name, |b| b.iter(|| black_box(day(jobs, machine, rule))));
    }
    group.finish();
}

fn days(c: &mut Criterion) {
    let jobs = Draw::default().jobs(1).expect("the published parameters");
    let machine = SlicedGpus::new(SlicedGpus::SEARCHED, Power::A100).expect("it is sound");
    one(c, "energy: a day on 8 GPUs", &jobs, &machine);
    let machine = SlicedGpus::flexible(8, Power::A100, 0.4 / 60.0).expect("it is sound");
    one(c, "energy: a day on 8 GPUs, repartitioned", &jobs, &machine);
    let draw = Draw {
        per_minute: 20.0 * 1250.0,
        from: 540.0,
        most: 5000,
        ..Draw::default()
    };
    let jobs = draw.jobs(1).expect("a rate above 0");
    let layouts = vec![SlicedGpus::SEARCHED; 1250].join(" | ");
    let machine = SlicedGpus::new(&layouts, Power::A100).expect("it is sound");
    one(c, "energy: 5,000 jobs on 10,000 GPUs", &jobs, &machine);
    let machine = SlicedGpus::flexible(10_000, Power::A100, 0.4 / 60.0).expect("it is sound");
    one(
        c,
        "energy: 5,000 jobs on 10,000 GPUs, repartitioned",
        &jobs,
        &machine,
    );
}

/// Fifty jobs at eight a minute with tight deadlines, on four GPUs: the bounds by linear programs, by the
/// number of slots. Each is held against a schedule. Then a day of 4,000 jobs: the other two.
fn bounds(c: &mut Criterion) {
    let draw = Draw {
        per_minute: 8.0 / LOADS[9],
        from: 540.0,
        most: 50,
        ..Draw::tight()
    };
    let jobs = draw.jobs(0).expect("a rate above 0");
    let machine =
        SlicedGpus::new("3,2,2 | 3,2,2 | 3,2,2 | 3,2,2", Power::A100).expect("it is sound");
    let late = day(&jobs, &machine, RULES[2].1).tardiness;
    let mut group = c.benchmark_group("energy: bounds of 50 jobs");
    group.sample_size(10);
    for count in [15, 30, 60] {
        let slots = Slots::even(&jobs, &machine, count);
        let solver = Solver::default();
        let mut one = |name: &str, bound: &dyn Fn() -> Bound| {
            let own = bound();
            assert!(0.0 <= own.value && own.value <= late, "{own:?} {late}");
            group.bench_function(format!("{name}, {count} slots"), |b| {
                b.iter(|| black_box(bound()))
            });
        };
        one("linear", &|| {
            linear_bound(&jobs, 4, &slots, &solver).expect("it is small")
        });
        one("progress", &|| {
            progress_bound(&jobs, 4, &slots, &solver).expect("it is small")
        });
        one("progress-static", &|| {
            static_progress_bound(&jobs, &machine, &slots, &solver).expect("it is small")
        });
    }
    group.finish();
    let jobs = Draw::default().jobs(1).expect("the published parameters");
    let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).expect("it is sound");
    let totals = day(&jobs, &machine, RULES[2].1);
    let energy = || energy_bound(&jobs, 8, &Power::A100);
    assert!(energy().is_some_and(|bound| bound <= totals.watt_minutes));
    assert!(chu_bound(&jobs, 8).value <= totals.tardiness);
    let mut group = c.benchmark_group("energy: bounds of a day");
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.bench_function("energy", |b| b.iter(|| black_box(energy())));
    group.bench_function("chu", |b| b.iter(|| black_box(chu_bound(&jobs, 8))));
    group.finish();
}

/// The environment of training: eight days side by side, with observations and masks, under
/// largest-first. Throughput is in steps.
fn environment(c: &mut Criterion) {
    const STEPS: usize = 500;
    let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).expect("it is sound");
    let source = Source {
        observation: Observation::new(Formulation::Enhanced, &machine),
        machine,
        draw: Draw::default(),
        reward: Reward::Code,
        seed: 1,
    };
    let mut batch = Batch::new(source, 8).expect("days are drawn");
    let (mut seen, mut masks, mut actions) = (Vec::new(), Vec::new(), Vec::new());
    let mut step = move || {
        seen.clear();
        masks.clear();
        actions.clear();
        batch.observe(&mut seen);
        batch.masks(&mut masks);
        for day in batch.days() {
            let start = LargestFirst.choose(day.state());
            actions.push(start.expect("a decision is due").slice);
        }
        batch.step(&actions).expect("slices are free");
        let numbers = (seen.len(), masks.len());
        assert_eq!(numbers, (8 * 88, 8 * 20));
        let late = batch.finished().iter().map(Totals::late_share);
        late.fold((seen[0], 0.0_f64), |all, value| (all.0, all.1.max(value)))
    };
    // Half the load is above what whole GPUs carry: a day has late jobs, and jobs in time.
    let worst = (0..5000).map(|_| step().1).fold(0.0, f64::max);
    assert!(0.2 < worst && worst < 0.8, "{worst}");
    let mut group = c.benchmark_group("energy: steps of days with observations");
    group.throughput(Throughput::Elements(8 * STEPS as u64));
    group.bench_function("8 days", |b| {
        b.iter(|| {
            (0..STEPS).for_each(|_| {
                black_box(step());
            });
        });
    });
    group.finish();
}

/// A day under a net that ships, which has fewer late jobs than largest-first. Throughput is in jobs.
fn learned(c: &mut Criterion) {
    let jobs = Draw::default().jobs(1).expect("the published parameters");
    let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).expect("it is sound");
    let mut group = c.benchmark_group("energy: a day under a net");
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.sample_size(10);
    let largest = day(&jobs, &machine, RULES[0].1);
    let kept = KEPT.iter().find(|report| report.settings == "ours");
    let weights = kept.expect("it ships").weights().expect("it is sound");
    let mut rule = Learned::new(weights, &machine).expect("it is for this machine");
    let mut one = || {
        let state = State::new(machine.clone());
        run(&jobs, state, &mut rule).expect("rules start what is there")
    };
    let totals = one();
    assert!(totals.late < largest.late, "{totals:?}");
    group.bench_function("2 layers of 128", |b| b.iter(|| black_box(one())));
    group.finish();
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
        let fleet = servers(count, SlicedGpus::PUBLISHED);
        let layouts = vec![SlicedGpus::PUBLISHED; count as usize].join(" | ");
        let machine = SlicedGpus::new(&layouts, Power::A100).expect("it is sound");
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

criterion_group!(benches, days, bounds, environment, learned, fleets);
