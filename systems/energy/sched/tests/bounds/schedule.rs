//! The verifier of schedules, and what schedules cost.

use mapa_system_energy::{Piece, Power, Schedule, SliceJob};

use super::scaled;

/// What makes a schedule impossible.
type Spoil = fn(&mut Schedule);

fn jobs() -> [SliceJob; 2] {
    [scaled(0.0, 2.0, 1.0, 1.0), scaled(1.0, 9.0, 2.0, 1.0)]
}

fn good() -> Schedule {
    Schedule {
        gpus: 2,
        pieces: vec![
            Piece {
                job: 0,
                gpu: 0,
                size: 2,
                from: 0.0,
                to: 3.5,
            },
            Piece {
                job: 1,
                gpu: 0,
                size: 4,
                from: 1.0,
                to: 2.75,
            },
            Piece {
                job: 1,
                gpu: 1,
                size: 7,
                from: 2.75,
                to: 3.75,
            },
        ],
    }
}

#[test]
fn what_is_impossible_in_a_schedule_is_named() {
    good().verify(&jobs()).unwrap();
    let spoils: [Spoil; 11] = [
        |schedule| schedule.pieces[0].job = 2,
        |schedule| schedule.pieces[2].gpu = 2,
        |schedule| schedule.pieces[0].size = 5,
        |schedule| schedule.pieces[0].to = 0.0,
        |schedule| schedule.pieces[0].to = f64::NAN,
        |schedule| schedule.pieces[1].from = 0.5,
        |schedule| schedule.pieces[2].from = 2.5,
        |schedule| schedule.pieces[2].to = 3.0,
        |schedule| schedule.pieces[2].to = 4.0,
        |schedule| schedule.pieces.retain(|piece| piece.job == 1),
        |schedule| {
            schedule.pieces[0] = Piece {
                job: 0,
                gpu: 0,
                size: 4,
                from: 0.0,
                to: 1.75,
            };
        },
    ];
    let said = spoils.map(|spoil| {
        let mut own = good();
        spoil(&mut own);
        own.verify(&jobs()).unwrap_err().to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    schedule: a piece of job 2: expected a job below 2
    schedule: job 1 on GPU 2: expected a GPU below 2
    schedule: job 0 on a slice of 5: expected 1, 2, 3, 4 or 7
    schedule: job 0 runs from minute 0 to 0: expected an end after the start
    schedule: job 0 runs from minute 0 to NaN: expected an end after the start
    schedule: job 1 runs from minute 0.5: expected no start before it arrives at 1
    schedule: job 1 runs on two slices from minute 2.5: expected one until minute 2.75
    schedule: 0.625 of job 1 is done: expected all of it, 1
    schedule: 1.125 of job 1 is done: expected all of it, 1
    schedule: -0 of job 0 is done: expected all of it, 1
    schedule: 8 compute slices of GPU 0 in use at minute 1: expected at most 7
    ");
}

#[test]
fn energy_is_that_of_busy_slices_while_all_gpus_are_on() {
    let costs = good().costs(&jobs(), &Power::A100);
    assert_eq!(costs.ends, [3.5, 3.75]);
    assert_eq!(costs.tardiness, 1.5);
    // GPU 0: 2 slices for a minute, 6 for 1.75, 2 for 0.75, none for a quarter. GPU 1: idle, then 7.
    let first = 160.0 + 250.0 * 1.75 + 160.0 * 0.75 + 40.0 * 0.25;
    let second = 40.0 * 2.75 + 250.0;
    assert!(
        (costs.watt_minutes - first - second).abs() < 1e-9,
        "{costs:?}"
    );
}

#[test]
fn a_short_job_late_in_a_day_is_not_refused_for_rounding() {
    let job = scaled(1000.0, 1001.0, 1e-5, 1.0);
    let to = job.arrives() + job.minutes()[1];
    let piece = Piece {
        job: 0,
        gpu: 0,
        size: 2,
        from: 1000.0,
        to,
    };
    Schedule {
        gpus: 1,
        pieces: vec![piece],
    }
    .verify(&[job])
    .unwrap();
    // A fifth more is no rounding.
    let more = Piece {
        to: to + 0.2 * job.minutes()[1],
        ..piece
    };
    assert!(
        Schedule {
            gpus: 1,
            pieces: vec![more]
        }
        .verify(&[job])
        .is_err()
    );
}
