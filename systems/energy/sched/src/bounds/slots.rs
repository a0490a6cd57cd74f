//! How time is divided for the linear programs.

use super::super::machine::SlicedGpus;
use super::energy::last_end;
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::SliceJob;

/// Slots of time. Each ends where the next starts. The last has no end, and no limit on what is done
/// in it, at its start. So *any* slots give a bound, whenever jobs end: more slots give a better one,
/// and a last slot that starts too soon a worse one.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots(Vec<f64>);

impl Slots {
    /// Slots that start at these minutes.
    ///
    /// # Errors
    /// No start, one that is not finite or below 0, or one that is not after the one before.
    pub fn new(starts: Vec<f64>) -> Result<Self, Error> {
        let is_finite = starts
            .iter()
            .all(|start| start.is_finite() && *start >= 0.0);
        let grows = starts.windows(2).all(|pair| pair[0] < pair[1]);
        if starts.is_empty() || !is_finite || !grows {
            let what = "slots: expected starts of 0 minutes or more, at least one, each after the one before";
            return Err(ErrorKind::BadSlots(what.to_owned()).into());
        }
        Ok(Self(starts))
    }

    /// As many slots of one length, at most a million, and the last one. They start with the first arrival; the last one
    /// starts when all jobs can have ended, and the longest of them could run once more on the
    /// largest slice of the machine.
    #[must_use]
    pub fn even(jobs: &[SliceJob], machine: &SlicedGpus, count: usize) -> Self {
        let count = count.min(1_000_000);
        let arrivals = jobs.iter().map(SliceJob::arrives);
        let first = arrivals.reduce(f64::min).unwrap_or_default();
        let class = machine.largest_class();
        let longest = jobs.iter().map(|job| job.minutes()[class]);
        let compute: u32 = machine.sizes().iter().map(|&size| u32::from(size)).sum();
        let end = last_end(jobs, f64::from(compute) / 7.0) + longest.fold(0.0, f64::max);
        let step = (end - first) / count.max(1) as f64;
        let mut starts: Vec<f64> = (0..=count).map(|at| first + step * at as f64).collect();
        starts.dedup();
        Self(starts)
    }

    /// The slots from an arrival on: number, earliest moment of work in it, and its length from there
    /// (infinite for the last).
    pub(super) fn since(&self, arrives: f64) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let ends = self.0[1..].iter().copied().chain([f64::INFINITY]);
        let all = self.0.iter().copied().zip(ends).enumerate();
        all.filter(move |&(_, (_, end))| arrives < end)
            .map(move |(slot, (start, end))| {
                // Nothing is done before the first slot: who arrives sooner is let in there as if it
                // had all the time since.
                let from = if slot == 0 {
                    arrives
                } else {
                    start.max(arrives)
                };
                (slot, from, end - from)
            })
    }

    /// How long a slot is, minutes; infinite for the last.
    pub(super) fn length(&self, slot: usize, first: f64) -> f64 {
        let start = if slot == 0 {
            first.min(self.0[0])
        } else {
            self.0[slot]
        };
        self.0
            .get(slot + 1)
            .map_or(f64::INFINITY, |end| end - start)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
