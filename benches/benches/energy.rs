//! Jobs with deadlines on MIG slices: a whole day under each rule, on 8 GPUs and on 10,000 with as
//! many jobs a minute for each GPU. Throughput is in jobs.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
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

criterion_group!(benches, days);
