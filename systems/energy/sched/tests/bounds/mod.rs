//! Bounds on energy and tardiness: no schedule of their class is below them. Schedules come from a hunt for
//! good ones, with preemption and changing layouts, and from the exhaustive optimum of tiny cases.

mod counterexamples;
mod hunt;
mod reduction;
mod schedule;

use hunt::{Draws, any_layouts, fixed_layouts, optimum};
use mapa_sched::bound::{Bound, Class, Measure, Proof, Solver};
use mapa_system_energy::{
    Costs, Power, SIZES, SliceJob, SlicedGpus, Slots, bare_energy_bound, bounds, chu_bound,
    energy_bound, linear_bound, progress_bound, static_progress_bound,
};
use proptest::prelude::*;

/// By how much a bound may exceed a schedule: the tolerance of the solver.
const NOISE: f64 = 1e-6;

fn machine(layouts: &str) -> SlicedGpus {
    SlicedGpus::new(layouts, Power::A100).unwrap()
}

/// A job that size i runs `i` to the power of `gain` times as fast.
fn scaled(arrives: f64, deadline: f64, p7: f64, gain: f64) -> SliceJob {
    let minutes = SIZES.map(|size| p7 * (7.0 / f64::from(size)).powf(gain));
    SliceJob::new(arrives, deadline, minutes).unwrap()
}

prop_compose! {
    /// Sublinear, linear and superlinear jobs, and curves with steps; many arrive together.
    fn job()(
        arrives in prop_oneof![Just(0.0), 0.0..4.0_f64, Just(2.0)],
        p7 in prop_oneof![0.05..0.5_f64, 0.5..4.0],
        gains in prop::array::uniform4(prop_oneof![Just(1.0), 1.0..2.5_f64]),
        slack in 1.0..3.0_f64,
        is_linear in any::<bool>(),
    ) -> SliceJob {
        if is_linear {
            return scaled(arrives, arrives + slack * p7, p7, 1.0);
        }
        let mut minutes = [p7; 5];
        for class in (0..4).rev() {
            minutes[class] = minutes[class + 1] * gains[class];
        }
        SliceJob::new(arrives, arrives + slack * p7, minutes).unwrap()
    }
}

/// Slots with edges anywhere: before and after arrivals, few and many, and a last one that starts too
/// soon.
fn slots() -> impl Strategy<Value = Slots> {
    prop::collection::btree_set(0_u32..1500, 1..12).prop_map(|set| {
        let starts = set.into_iter().map(|number| f64::from(number) / 100.0);
        Slots::new(starts.collect()).unwrap()
    })
}

fn value(costs: &Costs, bound: &Bound) -> f64 {
    match bound.measure {
        Measure::Energy => costs.watt_minutes,
        Measure::Tardiness => costs.tardiness,
        Measure::Completion | Measure::Makespan => panic!("a bound on other schedules"),
    }
}

/// Fails if a schedule of this class is below a bound that covers it.
fn none_below(all: &[Bound], class: Class, costs: &Costs, what: &str) {
    for bound in all.iter().filter(|bound| bound.class.covers(class)) {
        let value = value(costs, bound);
        let noise = NOISE * (1.0 + value.abs());
        assert!(
            value >= bound.value - noise,
            "{what}: {value} is below {bound:?}"
        );
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(192))]

    #[test]
    fn no_schedule_is_below_a_bound_of_its_class(
        jobs in prop::collection::vec(job(), 1..7),
        layouts in prop::sample::select(vec!["7", "4,3", "3,2,2", "4,2,1|7", "2,1|3,3"]),
        slots in slots(),
        seed in any::<u64>(),
    ) {
        let machine = machine(layouts);
        let even = Slots::even(&jobs, &machine, 12);
        let mut draws = Draws(seed);
        let mut all = bounds(&jobs, &machine, &slots, &Solver::default()).unwrap();
        all.extend(bounds(&jobs, &machine, &even, &Solver::default()).unwrap());
        for _ in 0..24 {
            let own = any_layouts(&jobs, machine.gpu_count(), &mut draws);
            own.verify(&jobs).unwrap();
            none_below(&all, Class::AnyLayouts, &own.costs(&jobs, machine.power()), "any layouts");
            let own = fixed_layouts(&jobs, &machine, &mut draws);
            own.verify(&jobs).unwrap();
            none_below(&all, Class::FixedLayouts, &own.costs(&jobs, machine.power()), "fixed layouts");
        }
    }

    #[test]
    fn the_best_schedule_without_preemption_is_not_below_a_bound(
        jobs in prop::collection::vec(job(), 1..5),
        layouts in prop::sample::select(vec!["7", "4,3", "2|2", "3,2,2"]),
        count in 1..40_usize,
    ) {
        let machine = machine(layouts);
        let slots = Slots::even(&jobs, &machine, count);
        let all = bounds(&jobs, &machine, &slots, &Solver::default()).unwrap();
        let best = optimum(&jobs, &machine);
        best.verify(&jobs).unwrap();
        none_below(&all, Class::FixedLayouts, &best.costs(&jobs, machine.power()), "optimum");
    }

    #[test]
    fn programs_ascend_from_linear_to_progress_to_static(
        jobs in prop::collection::vec(job(), 0..7),
        layouts in prop::sample::select(vec!["7", "4,3", "3,2,2", "4,2,1|7"]),
        slots in slots(),
    ) {
        let (machine, solver) = (machine(layouts), Solver::default());
        let gpus = machine.gpu_count();
        let linear = linear_bound(&jobs, gpus, &slots, &solver).unwrap();
        let progress = progress_bound(&jobs, gpus, &slots, &solver).unwrap();
        let fixed = static_progress_bound(&jobs, &machine, &slots, &solver).unwrap();
        prop_assert!(linear.value >= 0.0);
        prop_assert!(progress.value >= linear.value - NOISE);
        prop_assert!(fixed.value >= progress.value - NOISE);
        let bare = bare_energy_bound(&jobs, gpus, &Power::A100).unwrap();
        prop_assert!(energy_bound(&jobs, gpus, &Power::A100).unwrap() >= bare - NOISE);
    }

    #[test]
    fn chus_bound_is_that_of_a_slow_shortest_remaining_time(
        jobs in prop::collection::vec(job(), 0..9),
        gpus in 1..4_usize,
    ) {
        let bound = chu_bound(&jobs, gpus).value;
        let slow = hunt::slow_chu(&jobs, gpus);
        prop_assert!((bound - slow).abs() <= 1e-9 * (1.0 + slow), "{bound} {slow}");
    }
}

#[test]
fn one_job_alone_is_bounded_to_half_a_slot() {
    // Five minutes from minute 3 on, due at minute 4: 4 minutes late. On a slice of 4: 7.
    let jobs = [scaled(3.0, 4.0, 5.0, 0.6)];
    let machine = machine("4,3");
    for count in [10, 100, 400] {
        let slots = Slots::even(&jobs, &machine, count);
        let fastest = progress_bound(&jobs, 1, &slots, &Solver::default()).unwrap();
        let fixed = static_progress_bound(&jobs, &machine, &slots, &Solver::default()).unwrap();
        let on_four = 5.0 * (7.0_f64 / 4.0).powf(0.6) - 1.0;
        let half = 8.0 / count as f64;
        assert!(
            fastest.value <= 4.0 + NOISE && fastest.value > 4.0 - half,
            "{fastest:?}"
        );
        assert!(
            fixed.value <= on_four + NOISE && fixed.value > on_four - half,
            "{fixed:?}"
        );
        assert_eq!(fixed.proof, Proof::Optimum);
    }
}

#[test]
fn without_jobs_or_gpus_bounds_are_0() {
    let slots = Slots::new(vec![0.0]).unwrap();
    let one = [scaled(0.0, 9.0, 1.0, 1.0)];
    assert_eq!(chu_bound(&[], 1).value, 0.0);
    assert_eq!(chu_bound(&one, 0).value, 0.0);
    assert_eq!(energy_bound(&one, 0, &Power::A100), None);
    let none = progress_bound(&[], 1, &slots, &Solver::default()).unwrap();
    assert_eq!((none.value, none.proof), (0.0, Proof::Formula));
    assert_eq!(Slots::even(&[], &machine("7"), 5).count(), 1);
}

#[test]
fn slots_and_limits_that_make_no_sense_are_refused() {
    let said = [
        vec![],
        vec![f64::NAN],
        vec![1.0, 1.0],
        vec![2.0, 1.0],
        vec![-1.0],
    ]
    .map(|starts| Slots::new(starts).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    slots: expected starts of 0 minutes or more, at least one, each after the one before
    slots: expected starts of 0 minutes or more, at least one, each after the one before
    slots: expected starts of 0 minutes or more, at least one, each after the one before
    slots: expected starts of 0 minutes or more, at least one, each after the one before
    slots: expected starts of 0 minutes or more, at least one, each after the one before
    ");
    let jobs = [scaled(0.0, 1.0, 5.0, 0.6); 3];
    let slots = Slots::even(&jobs, &machine("7"), 20);
    let said = [-1.0, f64::NAN].map(|seconds| {
        let solver = Solver {
            columns: 1000,
            seconds: Some(seconds),
        };
        let error = progress_bound(&jobs, 1, &slots, &solver).unwrap_err();
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    linear program: limit of -1 seconds: expected 0 or more
    linear program: limit of NaN seconds: expected 0 or more
    ");
}

#[test]
fn a_program_that_is_too_large_for_microlp_is_an_error_and_one_at_its_limit_proves_nothing() {
    let jobs: Vec<SliceJob> = (0..8)
        .map(|at| scaled(f64::from(at) / 4.0, 3.0, 2.5, 0.6))
        .collect();
    let slots = Slots::even(&jobs, &machine("7"), 60);
    let small = Solver {
        columns: 100,
        seconds: None,
    };
    let error = progress_bound(&jobs, 1, &slots, &small).unwrap_err();
    assert!(error.is_too_large());
    insta::assert_snapshot!(
        error,
        @"linear program of 2288 columns is too large for microlp: expected at most 100; use fewer slots"
    );
    let hasty = Solver {
        columns: 10_000,
        seconds: Some(0.0),
    };
    let bound = progress_bound(&jobs, 1, &slots, &hasty).unwrap();
    assert_eq!((bound.value, bound.proof), (0.0, Proof::Nothing));
    let full = progress_bound(&jobs, 1, &slots, &Solver::default()).unwrap();
    assert!(
        full.value > 10.0 && full.proof == Proof::Optimum,
        "{full:?}"
    );
}
