//! The sum of completion times by one fast machine.
//!
//! Let a job's device-time be its devices times its ideal time p, and M the mean time of its
//! progress. Then its end C is not before M + p / 2, because it makes at most 1 / p of its progress
//! a second. All progress together takes at most m device-seconds a second. Under that alone, the
//! sum of M is least if one machine of speed m always works on the job of the least device-time
//! that is present, and interrupts others for it (Goemans' mean busy times).
//!
//! That schedule also has the prices that prove it. Let `pi(t)` be the price of a device-second at
//! t. The job in service at t has the least `t / area + pi(t)` there, among all moments from its
//! arrival on. So `pi` falls by 1 / area a second while a job is in service, jumps up where an
//! arrival interrupts another job, and is 0 when the machine is idle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::work::Ideal;

/// A time in which the machine works on one job.
#[derive(Clone, Copy, Debug)]
struct WorkPiece {
    from: f64,
    until: f64,
    job: usize,
}

/// The schedule of the fast machine.
pub(super) struct Squashed<'a> {
    jobs: &'a [Ideal],
    devices: f64,
    /// In order of time.
    pieces: Vec<WorkPiece>,
}

impl<'a> Squashed<'a> {
    /// The schedule. O(n log n) for n jobs.
    pub(super) fn new(jobs: &'a [Ideal], devices: usize) -> Self {
        let mut own = Self {
            jobs,
            devices: devices as f64,
            pieces: Vec::with_capacity(2 * jobs.len()),
        };
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by(|&a, &b| jobs[a].arrives.total_cmp(&jobs[b].arrives));
        let mut left: Vec<f64> = jobs.iter().map(|job| job.area() / own.devices).collect();
        // Of positive numbers, the larger has the larger bits.
        let key = |job: usize| Reverse((jobs[job].area().to_bits(), job));
        let mut present = BinaryHeap::new();
        let (mut now, mut next) = (0.0_f64, 0);
        loop {
            if present.is_empty() {
                let Some(&job) = order.get(next) else {
                    return own;
                };
                now = now.max(jobs[job].arrives);
            }
            while let Some(&job) = order.get(next)
                && jobs[job].arrives <= now
            {
                present.push(key(job));
                next += 1;
            }
            let Some(Reverse((_, job))) = present.pop() else {
                continue;
            };
            let arrival = order
                .get(next)
                .map_or(f64::INFINITY, |&job| jobs[job].arrives);
            let until = (now + left[job]).min(arrival);
            own.pieces.push(WorkPiece {
                from: now,
                until,
                job,
            });
            if now + left[job] > arrival {
                left[job] -= arrival - now;
                present.push(key(job));
            }
            now = until;
        }
    }

    /// The least sum of completion times, end less arrival, seconds.
    pub(super) fn completions(&self) -> f64 {
        let busy = self.pieces.iter().map(|piece| {
            let mean = f64::midpoint(piece.from, piece.until);
            let share = (piece.until - piece.from) * self.devices / self.jobs[piece.job].area();
            share * mean
        });
        let halves = self.jobs.iter().map(|job| job.seconds / 2.0 - job.arrives);
        busy.sum::<f64>() + halves.sum::<f64>()
    }

    /// The price of a device-second at both ends of the slots between these times, which ascend:
    /// just after the first, just before the second, just after the second, and so on.
    pub(super) fn prices(&self, times: &[f64]) -> Vec<f64> {
        let offsets = self.offsets();
        let mut prices = Vec::with_capacity(2 * times.len());
        for ends in times.windows(2) {
            // The first piece that goes on after the slot begins, and the last that begins before
            // it ends.
            let after = self.pieces.partition_point(|piece| piece.until <= ends[0]);
            let before = self.pieces.partition_point(|piece| piece.from < ends[1]);
            let at = |piece: Option<&WorkPiece>, time: f64| {
                let piece = piece.filter(|piece| piece.from <= time && time <= piece.until);
                piece.map_or(0.0, |piece| {
                    (offsets[piece.job] - time / self.jobs[piece.job].area()).max(0.0)
                })
            };
            prices.push(at(self.pieces.get(after), ends[0]));
            prices.push(at(self.pieces[..before].last(), ends[1]));
        }
        prices
    }

    /// Per job, the least `t / area + pi(t)`: its value in all of its pieces.
    fn offsets(&self) -> Vec<f64> {
        let mut offsets = vec![f64::NAN; self.jobs.len()];
        let mut after: Option<(f64, f64)> = None;
        for piece in self.pieces.iter().rev() {
            let area = self.jobs[piece.job].area();
            if offsets[piece.job].is_nan() {
                // It ends here. The price goes on without a jump, or is 0 if nobody is served next.
                let price = after.map_or(
                    0.0,
                    |(from, price)| {
                        if from > piece.until { 0.0 } else { price }
                    },
                );
                offsets[piece.job] = piece.until / area + price;
            }
            after = Some((piece.from, offsets[piece.job] - piece.from / area));
        }
        offsets
    }
}
