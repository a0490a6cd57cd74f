//! Where bounds that are printed, or that come to mind, are wrong.

use mapa_sched::bound::Solver;
use mapa_system_energy::{
    Piece, Power, Schedule, SliceJob, SlicedGpus, Slots, energy_bound, linear_bound,
    printed_energy_bound, progress_bound, reduced, static_progress_bound,
};

use super::hunt::optimum;
use super::{machine, scaled};

fn of(p1: f64, p7: f64) -> SliceJob {
    let middle = f64::midpoint(p1, p7);
    SliceJob::new(0.0, 100.0, [p1, middle, middle, middle, p7]).unwrap()
}

/// One piece of job 0 on GPU 0.
fn piece(size: u8, from: f64, to: f64) -> Piece {
    Piece {
        job: 0,
        gpu: 0,
        size,
        from,
        to,
    }
}

fn below_the_chord() -> Power {
    Power::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 250.0]).unwrap()
}

/// The watt-minutes of these pieces on one GPU, if they are a schedule of these jobs.
fn energy(jobs: &[SliceJob], pieces: &[Piece], power: &Power) -> f64 {
    let own = Schedule {
        gpus: 1,
        pieces: pieces.to_vec(),
    };
    own.verify(jobs).unwrap();
    own.costs(jobs, power).watt_minutes
}

#[test]
fn the_printed_energy_is_undercut_by_a_job_that_seven_slices_run_eight_times_as_fast() {
    let jobs = [of(8.0, 1.0)];
    let printed = printed_energy_bound(&jobs, 1, &Power::A100);
    assert!((printed - 2000.0 / 7.0).abs() < 1e-9);
    let own = energy(&jobs, &[piece(7, 0.0, 1.0)], &Power::A100);
    assert_eq!(own, 250.0);
    assert_eq!(energy_bound(&jobs, 1, &Power::A100), Some(250.0));
    // So is a bound with the document's twin: eight sevenths of a minute at full power.
    let twin = [SliceJob::new(0.0, 100.0, [8.0, 4.0, 8.0 / 3.0, 2.0, 8.0 / 7.0]).unwrap()];
    assert!(energy(&twin, &[piece(7, 0.0, 8.0 / 7.0)], &Power::A100) > own);
}

#[test]
fn the_printed_energy_is_undercut_where_an_idle_gpu_is_off() {
    let jobs = [of(7.0, 1.0)];
    assert_eq!(printed_energy_bound(&jobs, 2, &Power::A100), 290.0);
    // The other GPU is off: as if there were one.
    assert_eq!(energy(&jobs, &[piece(7, 0.0, 1.0)], &Power::A100), 250.0);
    assert_eq!(energy_bound(&jobs, 1, &Power::A100), Some(250.0));
    assert_eq!(energy_bound(&jobs, 2, &Power::A100), Some(290.0));
}

#[test]
fn the_printed_energy_is_undercut_by_power_below_its_chord() {
    let (jobs, power) = ([of(7.0, 1.0)], below_the_chord());
    assert_eq!(printed_energy_bound(&jobs, 1, &power), 250.0);
    let slow = Schedule {
        gpus: 1,
        pieces: vec![piece(1, 0.0, 7.0)],
    };
    assert_eq!(energy(&jobs, &slow.pieces, &power), 7.0);
    assert_eq!(energy_bound(&jobs, 1, &power), None);
    // The reduction to a whole GPU is then no gain.
    let whole = reduced(&slow, &jobs);
    assert_eq!(whole.costs(&jobs, &power).watt_minutes, 250.0);
}

#[test]
fn the_manuscripts_power_is_not_concave_and_the_bound_holds_all_the_same() {
    let power = Power::A100_MANUSCRIPT;
    let steps: Vec<f64> = (0..7).map(|busy| power.added(busy, 1)).collect();
    assert!(
        steps.windows(2).any(|pair| pair[1] > pair[0] + 1.0),
        "{steps:?}"
    );
    assert!(power.is_above_chord());
    let jobs = [of(7.0, 1.0)];
    let bound = energy_bound(&jobs, 1, &power).unwrap();
    assert!(bound <= energy(&jobs, &[piece(7, 0.0, 1.0)], &power) + 1e-9);
    assert!(bound <= energy(&jobs, &[piece(1, 0.0, 7.0)], &power));
}

#[test]
fn the_best_schedule_without_preemption_bounds_no_schedule_with_it() {
    // A long job, and a short one that comes a minute later and is due at once.
    let jobs = [scaled(0.0, 10.0, 10.0, 1.0), scaled(1.0, 2.0, 1.0, 1.0)];
    let whole = machine("7");
    let started_once = optimum(&jobs, &whole).costs(&jobs, &Power::A100).tardiness;
    let preempted = Schedule {
        gpus: 1,
        pieces: vec![
            piece(7, 0.0, 1.0),
            Piece {
                job: 1,
                ..piece(7, 1.0, 2.0)
            },
            piece(7, 2.0, 11.0),
        ],
    };
    preempted.verify(&jobs).unwrap();
    let own = preempted.costs(&jobs, &Power::A100).tardiness;
    assert_eq!((started_once, own), (2.0, 1.0));
    let slots = Slots::even(&jobs, &whole, 100);
    for bound in [
        linear_bound(&jobs, 1, &slots, &Solver::default()),
        progress_bound(&jobs, 1, &slots, &Solver::default()),
        static_progress_bound(&jobs, &whole, &slots, &Solver::default()),
    ] {
        let bound = bound.unwrap();
        assert!(bound.value <= own + 1e-6 && bound.value > 0.7, "{bound:?}");
    }
}

#[test]
fn the_static_bound_is_undercut_by_other_layouts() {
    let jobs = [scaled(0.0, 1.0, 1.0, 1.0)];
    let fixed: SlicedGpus = machine("2");
    let slots = Slots::even(&jobs, &fixed, 50);
    let bound = static_progress_bound(&jobs, &fixed, &slots, &Solver::default()).unwrap();
    assert!(bound.value > 2.4, "{bound:?}");
    let whole = Schedule {
        gpus: 1,
        pieces: vec![piece(7, 0.0, 1.0)],
    };
    whole.verify(&jobs).unwrap();
    assert_eq!(whole.costs(&jobs, &Power::A100).tardiness, 0.0);
}
