//! The reduction of schedules to whole GPUs.

use mapa_system_energy::{Piece, Power, Schedule, SliceJob, reduced};
use proptest::prelude::*;

use super::hunt::{Draws, any_layouts};
use super::{job, scaled};

/// Powers above their chords, of which the second and third are not concave.
const POWERS: [[f64; 8]; 3] = [
    [40.0, 120.0, 160.0, 200.0, 240.0, 250.0, 250.0, 250.0],
    [40.0, 119.0, 160.0, 205.3, 243.9, 247.7, 248.5, 248.5],
    [10.0, 100.0, 100.0, 100.0, 100.0, 115.0, 150.0, 150.0],
];

fn twins(jobs: &[SliceJob]) -> Vec<SliceJob> {
    jobs.iter().map(SliceJob::linear).collect()
}

proptest! {
    #[test]
    fn the_reduced_schedule_is_possible_ends_no_job_later_and_draws_no_more(
        jobs in prop::collection::vec(job(), 1..9),
        gpus in 1..4_usize,
        seed in any::<u64>(),
    ) {
        let own = any_layouts(&jobs, gpus, &mut Draws(seed));
        own.verify(&jobs).unwrap();
        let (whole, twins) = (reduced(&own, &jobs), twins(&jobs));
        whole.verify(&twins).unwrap();
        prop_assert!(whole.pieces.iter().all(|piece| piece.size == 7));
        for watts in POWERS {
            let power = Power::new(watts).unwrap();
            prop_assert!(power.is_above_chord());
            let (before, after) = (own.costs(&jobs, &power), whole.costs(&twins, &power));
            prop_assert!(after.ends.iter().zip(&before.ends).all(|(a, b)| a <= b));
            prop_assert!(after.tardiness <= before.tardiness);
            prop_assert!(after.watt_minutes <= before.watt_minutes * (1.0 + 1e-9));
        }
    }

    #[test]
    fn linear_twins_are_no_slower_on_any_size_and_take_the_least_work(job in job()) {
        let twin = job.linear();
        prop_assert!(twin.minutes().iter().zip(job.minutes()).all(|(a, b)| *a <= b * (1.0 + 1e-12)));
        prop_assert!((twin.work() - job.work()).abs() <= 1e-12 * job.work());
        prop_assert_eq!((twin.arrives(), twin.deadline()), (job.arrives(), job.deadline()));
    }
}

#[test]
fn parts_beside_each_other_run_one_after_the_other() {
    let jobs = [scaled(0.0, 9.0, 1.0, 1.0), scaled(0.0, 9.0, 2.0, 1.0)];
    let own = Schedule {
        gpus: 1,
        pieces: vec![
            Piece {
                job: 0,
                gpu: 0,
                size: 3,
                from: 0.0,
                to: 7.0 / 3.0,
            },
            Piece {
                job: 1,
                gpu: 0,
                size: 4,
                from: 0.0,
                to: 3.5,
            },
        ],
    };
    own.verify(&jobs).unwrap();
    let whole = reduced(&own, &jobs);
    let times: Vec<(usize, f64, f64)> = whole
        .pieces
        .iter()
        .map(|piece| (piece.job, piece.from, piece.to))
        .collect();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(
        near(times[0].2, 1.0) && near(times[1].2, 7.0 / 3.0) && near(times[2].2, 3.0),
        "{times:?}"
    );
}

#[test]
fn twins_by_the_run_time_on_one_slice_do_not_fit_where_jobs_are_superlinear() {
    // The whole GPU does in a minute what takes one slice eight.
    let job = SliceJob::new(0.0, 100.0, [8.0, 4.0, 2.5, 2.0, 1.0]).unwrap();
    let own = Schedule {
        gpus: 1,
        pieces: vec![Piece {
            job: 0,
            gpu: 0,
            size: 7,
            from: 0.0,
            to: 1.0,
        }],
    };
    let whole = reduced(&own, &[job]);
    whole.verify(&[job.linear()]).unwrap();
    let printed = SliceJob::new(0.0, 100.0, [8.0, 4.0, 8.0 / 3.0, 2.0, 8.0 / 7.0]).unwrap();
    let error = whole.verify(&[printed]).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"schedule: 0.875 of job 0 is done: expected all of it, 1");
}
