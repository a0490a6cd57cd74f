//! Bounds on energy and tardiness, held against every rule on drawn days.

use mapa_sched::bound::{Measure, Solver};
use mapa_system_energy::{
    EnergyPlan, Fit, LargestFirst, LeastCost, MeanFinish, Power, RandomSlice, Recorder, Rule,
    SliceJob, SlicedGpus, Slots, SmallestFirst, Start, State, bounds, reduced,
};
use mapa_system_energy_sim::{Draw, LOADS, run};
use proptest::prelude::*;

/// Starts any job on any free slice, or waits as long as something runs.
struct Anything(Box<dyn FnMut(usize) -> usize>);

impl Rule for Anything {
    fn name(&self) -> &'static str {
        "anything"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        let draw = &mut self.0;
        let free: Vec<usize> = (0..state.running().len())
            .filter(|&number| state.running()[number].is_none())
            .collect();
        let is_idle = free.len() == state.running().len();
        if free.is_empty() || state.queue().is_empty() || (!is_idle && draw(3) == 0) {
            return None;
        }
        Some(Start {
            waiting: draw(state.queue().len()),
            slice: free[draw(free.len())],
        })
    }
}

fn draws(seed: u64) -> impl FnMut(usize) -> usize + 'static {
    let mut at = seed;
    move |n| {
        at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((at >> 33) % n as u64) as usize
    }
}

fn rules(seed: u64) -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(LargestFirst),
        Box::new(SmallestFirst),
        Box::new(MeanFinish),
        Box::new(Fit::default()),
        Box::new(Fit::fullest()),
        Box::new(LeastCost::default()),
        Box::new(EnergyPlan::default()),
        Box::new(RandomSlice::new(draws(seed))),
        Box::new(Anything(Box::new(draws(seed ^ 1)))),
        Box::new(Anything(Box::new(draws(seed ^ 2)))),
    ]
}

/// The jobs of part of a morning, at so many a minute.
fn morning(seed: u64, jobs: usize, rate: f64, is_tight: bool) -> Vec<SliceJob> {
    let plain = if is_tight {
        Draw::tight()
    } else {
        Draw::default()
    };
    let draw = Draw {
        per_minute: rate / LOADS[9],
        from: 540.0,
        most: jobs,
        ..plain
    };
    draw.jobs(seed).unwrap()
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(48))]

    #[test]
    fn no_rule_is_below_a_bound_and_reduction_keeps_it_so(
        seed in 0..10_000_u64,
        jobs in 1..14_usize,
        rate in prop::sample::select(vec![0.5, 4.0, 16.0]),
        is_tight in any::<bool>(),
        layouts in prop::sample::select(vec!["7", "4,3", "3,2,2", "4,2,1|7"]),
        count in 1..24_usize,
    ) {
        let jobs = morning(seed, jobs, rate, is_tight);
        let machine = SlicedGpus::new(layouts, Power::A100).unwrap();
        let slots = Slots::even(&jobs, &machine, count);
        let all = bounds(&jobs, &machine, &slots, &Solver::default()).unwrap();
        let twins: Vec<SliceJob> = jobs.iter().map(SliceJob::linear).collect();
        for rule in rules(seed) {
            let mut recorder = Recorder::new(rule);
            let totals = run(&jobs, State::new(machine.clone()), &mut recorder).unwrap();
            let schedule = recorder.schedule();
            schedule.verify(&jobs).unwrap();
            let costs = schedule.costs(&jobs, machine.power());
            // The schedule is what the simulator did.
            prop_assert!((costs.tardiness - totals.tardiness).abs() < 1e-9 * (1.0 + totals.tardiness));
            prop_assert!((costs.watt_minutes / totals.watt_minutes - 1.0).abs() < 1e-9);
            for bound in &all {
                let value = match bound.measure {
                    Measure::Energy => costs.watt_minutes,
                    Measure::Tardiness => costs.tardiness,
                    Measure::Completion | Measure::Makespan => panic!("a bound on other schedules"),
                };
                prop_assert!(value >= bound.value - 1e-6 * (1.0 + value), "{} {bound:?}", recorder.name());
            }
            let whole = reduced(schedule, &jobs);
            whole.verify(&twins).unwrap();
            let less = whole.costs(&twins, machine.power());
            prop_assert!(less.tardiness <= costs.tardiness);
            prop_assert!(less.watt_minutes <= costs.watt_minutes * (1.0 + 1e-9));
            // Bounds by work alone hold for the linear twins too.
            for bound in all.iter().filter(|bound| ["chu", "linear"].contains(&bound.name)) {
                prop_assert!(less.tardiness >= bound.value - 1e-6 * (1.0 + less.tardiness), "reduced: {bound:?}");
            }
        }
    }
}

#[test]
fn tight_days_have_bounds_in_their_order_and_relaxed_days_have_none_to_speak_of() {
    let machine = SlicedGpus::new("3,2,2 | 3,2,2 | 3,2,2 | 3,2,2", Power::A100).unwrap();
    for seed in 0..3 {
        let jobs = morning(seed, 50, 8.0, true);
        let slots = Slots::even(&jobs, &machine, 30);
        let all = bounds(&jobs, &machine, &slots, &Solver::default()).unwrap();
        let [chu, linear, progress, fixed] = [1, 2, 3, 4].map(|at| all[at].value / 50.0);
        assert!(
            chu <= progress && linear + 0.2 < progress && progress + 1.0 < fixed,
            "{all:?}"
        );
        let ours = run(
            &jobs,
            State::new(machine.clone()),
            &mut EnergyPlan::default(),
        )
        .unwrap();
        assert!(
            (0.4..1.0).contains(&(fixed / ours.mean_tardiness())),
            "{all:?} {ours:?}"
        );
        let published = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).unwrap();
        let jobs = Draw {
            from: 540.0,
            most: 100,
            ..Draw::default()
        }
        .jobs(seed)
        .unwrap();
        let slots = Slots::even(&jobs, &published, 20);
        let all = bounds(&jobs, &published, &slots, &Solver::default()).unwrap();
        assert!(
            all[1..].iter().all(|bound| bound.value <= 0.03 * 100.0),
            "{all:?}"
        );
    }
}
