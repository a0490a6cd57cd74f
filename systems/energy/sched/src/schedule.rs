//! Schedules as lists of what ran where, and whether they are possible.

use std::collections::BTreeSet;

use super::rule::Rule;
use super::state::{Start, State};
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::Power;
use mapa_sched::slices::{SIZES, SliceJob, class_of};

/// By how much times and shares may be off, relative to 1 or to the time: rounding.
const SAME: f64 = 1e-9;

/// A part of a job that ran on one slice without a break.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The position of the job in the list of jobs.
    pub job: usize,
    /// The number of the GPU.
    pub gpu: usize,
    /// The size of the slice, one of [`SIZES`].
    pub size: u8,
    /// When it started, minutes.
    pub from: f64,
    /// When it ended, minutes.
    pub to: f64,
}

/// What ran where and when. Layouts are those that the pieces need: they may change at every moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// How many GPUs there are.
    pub gpus: usize,
    /// What ran, in any order.
    pub pieces: Vec<Piece>,
}

/// What a schedule comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// When each job ended, minutes.
    pub ends: Vec<f64>,
    /// By how much jobs ended after their deadlines, minutes, all jobs together.
    pub tardiness: f64,
    /// What all GPUs drew from minute 0 to the last end, watt-minutes.
    pub watt_minutes: f64,
}

fn wrong(what: String) -> Error {
    ErrorKind::BadSchedule(format!("schedule: {what}")).into()
}

/// Whether a moment is before another by more than rounding.
fn is_before(a: f64, b: f64) -> bool {
    a < b - SAME * b.abs().max(1.0)
}

impl Schedule {
    /// Whether the schedule does all these jobs in a way that is possible, by a look at every piece and
    /// nothing else.
    ///
    /// # Errors
    /// The first violation, with the piece or the job at fault: a job, GPU or size that does not
    /// exist; a piece that does not end after it starts, or starts before the job arrives; a job on two
    /// slices at once; more than seven compute slices of a GPU in use; a job whose pieces do not add
    /// up to the whole job.
    ///
    /// # Complexity
    /// O(n log n) for n pieces.
    pub fn verify(&self, jobs: &[SliceJob]) -> Result<(), Error> {
        let mut by_job: Vec<Vec<&Piece>> = vec![Vec::new(); jobs.len()];
        for piece in &self.pieces {
            self.verify_piece(piece, jobs)?;
            by_job[piece.job].push(piece);
        }
        for (at, (job, mut pieces)) in jobs.iter().zip(by_job).enumerate() {
            pieces.sort_by(|a, b| a.from.total_cmp(&b.from));
            if let Some(own) = pieces
                .windows(2)
                .find(|pair| is_before(pair[1].from, pair[0].to))
            {
                let (from, to) = (own[1].from, own[0].to);
                return Err(wrong(format!(
                    "job {at} runs on two slices from minute {from}: expected one until minute {to}"
                )));
            }
            let done: f64 = pieces.iter().map(|piece| progress(job, piece)).sum();
            // The times of a piece are rounded, which is much for a job of milliseconds late in a day.
            let rounded: f64 = pieces.iter().map(|piece| piece.to / job.fastest()).sum();
            let slack = SAME * (1 + pieces.len()) as f64 + 4.0 * f64::EPSILON * rounded;
            if (done - 1.0).abs() > slack {
                return Err(wrong(format!(
                    "{done} of job {at} is done: expected all of it, 1"
                )));
            }
        }
        for gpu in self.used_gpus() {
            for (from, to, running) in self.spans(gpu) {
                let used: u32 = running.iter().map(|piece| u32::from(piece.size)).sum();
                if used > 7 && is_before(from, to) {
                    return Err(wrong(format!(
                        "{used} compute slices of GPU {gpu} in use at minute {from}: expected at most 7"
                    )));
                }
            }
        }
        Ok(())
    }

    fn verify_piece(&self, piece: &Piece, jobs: &[SliceJob]) -> Result<(), Error> {
        let Piece {
            job,
            gpu,
            size,
            from,
            to,
        } = *piece;
        let Some(arrives) = jobs.get(job).map(SliceJob::arrives) else {
            let count = jobs.len();
            return Err(wrong(format!(
                "a piece of job {job}: expected a job below {count}"
            )));
        };
        if gpu >= self.gpus {
            let gpus = self.gpus;
            return Err(wrong(format!(
                "job {job} on GPU {gpu}: expected a GPU below {gpus}"
            )));
        }
        if class_of(size).is_none() {
            return Err(wrong(format!(
                "job {job} on a slice of {size}: expected 1, 2, 3, 4 or 7"
            )));
        }
        if !(from.is_finite() && to.is_finite() && from < to) {
            return Err(wrong(format!(
                "job {job} runs from minute {from} to {to}: expected an end after the start"
            )));
        }
        if is_before(from, arrives) {
            return Err(wrong(format!(
                "job {job} runs from minute {from}: expected no start before it arrives at {arrives}"
            )));
        }
        Ok(())
    }

    /// What the schedule comes to. It should be [verified](Self::verify): pieces of unknown jobs are
    /// left out here, and a job without pieces ends at minute 0. O(n log n) for n pieces.
    #[must_use]
    pub fn costs(&self, jobs: &[SliceJob], power: &Power) -> Costs {
        let mut ends = vec![0.0_f64; jobs.len()];
        for piece in &self.pieces {
            if let Some(end) = ends.get_mut(piece.job) {
                *end = end.max(piece.to);
            }
        }
        let late = ends.iter().zip(jobs).map(|(end, job)| end - job.deadline());
        let tardiness = late.map(|late| late.max(0.0)).sum();
        let last = ends.iter().copied().fold(0.0, f64::max);
        // All GPUs idle, and what the busy ones draw more.
        let mut watt_minutes = self.gpus as f64 * last * power.watts(0);
        for gpu in self.used_gpus() {
            for (from, to, running) in self.spans(gpu) {
                let used = running
                    .iter()
                    .map(|piece| piece.size)
                    .fold(0, u8::saturating_add);
                watt_minutes += (to - from) * power.added(0, used);
            }
        }
        Costs {
            ends,
            tardiness,
            watt_minutes,
        }
    }

    /// The GPUs with pieces, ascending: there may be any number of others.
    pub(super) fn used_gpus(&self) -> BTreeSet<usize> {
        let gpus = self.pieces.iter().map(|piece| piece.gpu);
        gpus.filter(|&gpu| gpu < self.gpus).collect()
    }

    /// The times between starts and ends on a GPU, and what runs there then.
    pub(super) fn spans(&self, gpu: usize) -> Vec<(f64, f64, Vec<Piece>)> {
        let mut starts: Vec<Piece> = self
            .pieces
            .iter()
            .filter(|piece| piece.gpu == gpu)
            .copied()
            .collect();
        starts.sort_by(|a, b| a.from.total_cmp(&b.from));
        let mut moments: Vec<f64> = starts
            .iter()
            .flat_map(|start| [start.from, start.to])
            .collect();
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let mut starts = starts.into_iter().peekable();
        let mut running: Vec<Piece> = Vec::new();
        let mut spans = Vec::new();
        for values in moments.windows(2) {
            let &[from, to] = values else { continue };
            running.retain(|piece| piece.to > from);
            while let Some(piece) = starts.next_if(|piece| piece.from <= from) {
                running.push(piece);
            }
            if !running.is_empty() {
                spans.push((from, to, running.clone()));
            }
        }
        spans
    }
}

/// The share of the job that a piece does.
pub(super) fn progress(job: &SliceJob, piece: &Piece) -> f64 {
    let class = class_of(piece.size).unwrap_or_default();
    (piece.to - piece.from) / job.minutes()[class]
}

/// A rule that does what another rule does, and keeps the schedule that comes of it. Run times are
/// those that the rule is told.
#[derive(Clone, Debug)]
pub struct Recorder<R> {
    rule: R,
    schedule: Schedule,
}

impl<R: Rule> Recorder<R> {
    /// Keeps what this rule does.
    pub fn new(rule: R) -> Self {
        Self {
            rule,
            schedule: Schedule::default(),
        }
    }

    /// What it did.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl<R: Rule> Rule for Recorder<R> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        let machine = state.machine();
        self.schedule.gpus = machine.gpu_count();
        let start = self.rule.choose(state)?;
        let waiting = state.queue().get(start.waiting);
        let size = machine
            .sizes()
            .get(start.slice)
            .filter(|size| SIZES.contains(size));
        // What the queue or the machine does not have cannot start, so nothing is kept of it.
        if let (Some(own), Some(&size)) = (waiting, size) {
            self.schedule.pieces.push(Piece {
                job: own.id as usize,
                gpu: machine.gpus()[start.slice] as usize,
                size,
                from: state.now(),
                to: state.finish_on(&own.job, start.slice),
            });
        }
        Some(start)
    }
}
