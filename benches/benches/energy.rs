//! Jobs with deadlines on MIG slices: a whole day under each rule, on 8 GPUs and on 10,000 with as
//! many jobs a minute for each GPU. Throughput is in jobs.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_rl::{Batch, KEPT, Reward, Source};
use mapa_sched::energy::learned::{Formulation, Learned, Observation};
use mapa_sched::energy::{EnergyPlan, Fit, LargestFirst, Machine, Power, Rule, SliceJob, State};
use mapa_sim::energy::{Draw, Totals, run};

/// A rule that is made anew for each day.
type Make = fn() -> Box<dyn Rule>;

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
}

/// The environment of training: eight days side by side, with observations and masks, under
/// largest-first. Throughput is in steps.
fn environment(c: &mut Criterion) {
    const STEPS: usize = 500;
    let machine = Machine::new(Machine::PUBLISHED, Power::A100).expect("it is sound");
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
        late.fold((seen[0], 0.0_f64), |all, own| (all.0, all.1.max(own)))
    };
    // Half the load is above what whole GPUs carry: a day has late jobs, and jobs in time.
    let worst = (0..5000).map(|_| step().1).fold(0.0, f64::max);
    assert!(0.2 < worst && worst < 0.8, "{worst}");
    let mut group = c.benchmark_group("energy: steps of days with observations");
    group.throughput(Throughput::Elements(8 * STEPS as u64));
    group.bench_function("8 days", |b| {
        b.iter(|| (0..STEPS).for_each(|_| drop(black_box(step()))));
    });
    group.finish();
}

/// A day under a net that ships, which has fewer late jobs than largest-first. Throughput is in jobs.
fn learned(c: &mut Criterion) {
    let jobs = Draw::default().jobs(1).expect("the published parameters");
    let machine = Machine::new(Machine::PUBLISHED, Power::A100).expect("it is sound");
    let mut group = c.benchmark_group("energy: a day under a net");
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.sample_size(10);
    let largest = day(&jobs, &machine, RULES[0].1);
    let kept = KEPT.iter().find(|own| own.settings == "ours");
    let weights = kept.expect("it ships").weights().expect("it is sound");
    let mut rule = Learned::new(weights, &machine).expect("it is for this machine");
    let mut one = || {
        let state = State::new(machine.clone());
        run(&jobs, state, &mut rule).expect("rules start what is there")
    };
    let own = one();
    assert!(own.late < largest.late, "{own:?}");
    group.bench_function("2 layers of 128", |b| b.iter(|| black_box(one())));
    group.finish();
}

criterion_group!(benches, days, environment, learned);
