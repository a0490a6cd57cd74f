//! Schedules that are hunted for: random ones that take good choices often, and the best of tiny cases.

use mapa_system_energy::{Piece, Power, SIZES, Schedule, SliceJob, SlicedGpus};

/// Random draws (splitmix64).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn minutes(job: &SliceJob, size: u8) -> f64 {
    job.minutes()[SIZES
        .iter()
        .position(|&candidate| candidate == size)
        .unwrap()]
}

/// Layouts of one GPU that are worth a try.
const LAYOUTS: [&[u8]; 9] = [
    &[7],
    &[7],
    &[4, 3],
    &[3, 3],
    &[3, 2, 2],
    &[4, 2, 1],
    &[2, 2, 2, 1],
    &[1, 1, 1, 1, 1, 1, 1],
    &[2],
];

/// A schedule with preemption, moves and layouts that change at every event.
pub(crate) fn any_layouts(jobs: &[SliceJob], gpus: usize, draws: &mut Draws) -> Schedule {
    // Some schedules keep to whole GPUs, which the bounds are nearest to.
    let is_whole = draws.below(3) == 0;
    let layouts = |draws: &mut Draws| {
        let mut slices = Vec::new();
        for gpu in 0..gpus {
            let layout: &[u8] = if is_whole {
                &[7]
            } else {
                LAYOUTS[draws.below(LAYOUTS.len())]
            };
            slices.extend(layout.iter().map(|&size| (gpu, size)));
        }
        slices
    };
    preemptive(jobs, gpus, layouts, draws)
}

/// A schedule with preemption and moves on the layouts of a machine.
pub(crate) fn fixed_layouts(
    jobs: &[SliceJob],
    machine: &SlicedGpus,
    draws: &mut Draws,
) -> Schedule {
    let gpus = machine.gpus().iter().map(|&gpu| gpu as usize);
    let slices: Vec<(usize, u8)> = gpus.zip(machine.sizes().iter().copied()).collect();
    preemptive(jobs, machine.gpu_count(), |_| slices.clone(), draws)
}

fn preemptive(
    jobs: &[SliceJob],
    gpus: usize,
    mut layouts: impl FnMut(&mut Draws) -> Vec<(usize, u8)>,
    draws: &mut Draws,
) -> Schedule {
    let mut left = vec![1.0_f64; jobs.len()];
    let first = jobs
        .iter()
        .map(SliceJob::arrives)
        .fold(f64::INFINITY, f64::min);
    let mut now = if draws.below(2) == 0 { first } else { 0.0 };
    let mut pieces: Vec<Piece> = Vec::new();
    // By what jobs are taken, how often a draw decides instead, and how often time is cut.
    let (order, noise, cut) = (draws.below(4), draws.share() * 0.6, draws.share());
    while left.iter().any(|&value| value > 0.0) {
        let mut waiting: Vec<usize> = (0..jobs.len())
            .filter(|&at| left[at] > 0.0 && jobs[at].arrives() <= now)
            .collect();
        let key = |at: usize| match order {
            0 => left[at] * jobs[at].fastest(),
            1 => jobs[at].deadline(),
            2 => jobs[at].deadline().max(now + left[at] * jobs[at].fastest()),
            _ => at as f64,
        };
        waiting.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        let mut slices = layouts(draws);
        slices.sort_by_key(|slice| std::cmp::Reverse(slice.1));
        let mut running: Vec<(usize, usize, u8)> = Vec::new();
        for (gpu, size) in slices {
            if waiting.is_empty() || draws.share() < noise * 0.3 {
                continue;
            }
            let at = if draws.share() < noise {
                draws.below(waiting.len())
            } else {
                0
            };
            running.push((waiting.remove(at), gpu, size));
        }
        let arrivals = jobs
            .iter()
            .map(SliceJob::arrives)
            .filter(|&value| value > now);
        let mut next = arrivals.fold(f64::INFINITY, f64::min);
        for &(job, _, size) in &running {
            next = next.min(now + left[job] * minutes(&jobs[job], size));
        }
        if draws.share() < cut || next == f64::INFINITY {
            next = next.min(now + 0.05 + draws.share());
        }
        for (job, gpu, size) in running {
            let done = (next - now) / minutes(&jobs[job], size);
            left[job] -= done;
            // What is left by rounding is done.
            if left[job] < 1e-12 {
                left[job] = 0.0;
            }
            if next > now {
                pieces.push(Piece {
                    job,
                    gpu,
                    size,
                    from: now,
                    to: next,
                });
            }
        }
        now = next;
    }
    Schedule { gpus, pieces }
}

/// The schedule of least tardiness among all that neither preempt nor move, by every order of jobs on
/// every slice. Jobs start as soon as they can: waiting longer ends none sooner.
pub(crate) fn optimum(jobs: &[SliceJob], machine: &SlicedGpus) -> Schedule {
    let mut best: Option<(f64, Schedule)> = None;
    let mut own = Schedule {
        gpus: machine.gpu_count(),
        pieces: Vec::new(),
    };
    let mut free = vec![0.0; machine.sizes().len()];
    extend(jobs, machine, &mut own, &mut free, &mut best);
    best.unwrap().1
}

fn extend(
    jobs: &[SliceJob],
    machine: &SlicedGpus,
    own: &mut Schedule,
    free: &mut [f64],
    best: &mut Option<(f64, Schedule)>,
) {
    if own.pieces.len() == jobs.len() {
        let tardiness = own.costs(jobs, &Power::A100).tardiness;
        if best.as_ref().is_none_or(|(least, _)| tardiness < *least) {
            *best = Some((tardiness, own.clone()));
        }
        return;
    }
    for job in 0..jobs.len() {
        if own.pieces.iter().any(|piece| piece.job == job) {
            continue;
        }
        for slice in 0..free.len() {
            let (size, gpu) = (machine.sizes()[slice], machine.gpus()[slice] as usize);
            let before = free[slice];
            let from = before.max(jobs[job].arrives());
            let to = from + minutes(&jobs[job], size);
            own.pieces.push(Piece {
                job,
                gpu,
                size,
                from,
                to,
            });
            free[slice] = to;
            extend(jobs, machine, own, free, best);
            free[slice] = before;
            own.pieces.pop();
        }
    }
}

/// Chu's bound as it reads: at each moment the job with the least remaining time runs, until it ends or
/// another arrives.
pub(crate) fn slow_chu(jobs: &[SliceJob], gpus: usize) -> f64 {
    let mut left: Vec<f64> = jobs
        .iter()
        .map(|job| job.work() / (7.0 * gpus as f64))
        .collect();
    let (mut now, mut ends) = (0.0_f64, Vec::new());
    while ends.len() < jobs.len() {
        let later = jobs
            .iter()
            .map(SliceJob::arrives)
            .filter(|&value| value > now);
        let next = later.fold(f64::INFINITY, f64::min);
        let here = (0..jobs.len()).filter(|&at| left[at] > 0.0 && jobs[at].arrives() <= now);
        let Some(at) = here.min_by(|&a, &b| left[a].total_cmp(&left[b])) else {
            now = next;
            continue;
        };
        if now + left[at] <= next {
            now += left[at];
            left[at] = 0.0;
            ends.push(now);
        } else {
            left[at] -= next - now;
            now = next;
        }
    }
    let mut deadlines: Vec<f64> = jobs.iter().map(SliceJob::deadline).collect();
    deadlines.sort_by(f64::total_cmp);
    ends.iter()
        .zip(deadlines)
        .map(|(end, due)| (end - due).max(0.0))
        .sum()
}
