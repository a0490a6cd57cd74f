//! Who was overtaken by how much.
//!
//! A job is overtaken by every start of a job that arrived later. To add the area of each start to all jobs that arrived
//! earlier costs a pass over the list. Instead the starts are noted, and each job has a moment before which it cannot be
//! overdue: when all starts together come to what it still may be overtaken by. Only then are the starts since it was last
//! looked at added to it, in their order, so that its sum has the same bits as if each had been added at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Device-seconds as an integer, in units of 2^-48: sums of these do not depend on their order.
pub(super) fn exact(area: f64) -> i128 {
    // Ten years of a million devices are 3e14: what is above 2^52 counts as that, so that a sum of millions fits.
    let area = if area.is_nan() {
        0.0
    } else {
        area.clamp(0.0, 4.5e15)
    };
    (area * UNIT) as i128
}

/// Device-seconds of an integer of [`exact`].
pub(super) fn seconds(area: i128) -> f64 {
    area as f64 / UNIT
}

const UNIT: f64 = (1u64 << 48) as f64;

/// A job that waits.
#[derive(Clone, Debug)]
struct Overtakable {
    /// How much of the starts makes it overdue, device-seconds.
    limit: f64,
    /// The area of later arrivals that started before it, among the starts that were looked at.
    overtaken: f64,
    /// How many starts there were when it came, and when it was last looked at.
    since: u64,
    looked: u64,
    /// The sum of all starts at which it is looked at again.
    next: i128,
}

/// The starts, and the jobs that they overtake, by serial number: how many jobs arrived before each.
#[derive(Clone, Debug, Default)]
pub(super) struct OvertakenJobs {
    /// The serial number and the area of each start since the first job came that waits.
    starts: VecDeque<(u64, f64)>,
    /// How many starts are not in the list any more.
    dropped: u64,
    /// The sum of all areas, each rounded up.
    sum: i128,
    jobs: BTreeMap<u64, Overtakable>,
    /// The jobs by the sum at which they are looked at next.
    next: BTreeSet<(i128, u64)>,
    overdue: BTreeSet<u64>,
}

impl OvertakenJobs {
    /// Adds a job. One without a limit is never overdue, and not kept.
    pub(super) fn insert(&mut self, serial: u64, limit: f64) {
        if limit == f64::INFINITY {
            return;
        }
        let since = self.dropped + self.starts.len() as u64;
        let mut job = Overtakable {
            limit,
            overtaken: 0.0,
            since,
            looked: since,
            next: 0,
        };
        self.ask_again(serial, &mut job);
        self.jobs.insert(serial, job);
    }

    /// Removes a job, if it is there. The starts before the first job that is left are forgotten.
    pub(super) fn remove(&mut self, serial: u64) {
        let Some(job) = self.jobs.remove(&serial) else {
            return;
        };
        self.next.remove(&(job.next, serial));
        self.overdue.remove(&serial);
        // Jobs come in the order of their numbers, so the first has seen most starts.
        let first = self.jobs.first_key_value().map(|(_, job)| job.since);
        let all = self.dropped + self.starts.len() as u64;
        while self.dropped < first.unwrap_or(all) {
            self.starts.pop_front();
            self.dropped += 1;
        }
    }

    /// Notes that a job has started, which does not wait any more: it overtakes all that arrived before it.
    ///
    /// # Complexity
    /// O(log n) for n jobs that wait, and for each that may be overdue the number of starts since it was last looked at.
    pub(super) fn start(&mut self, serial: u64, area: f64) {
        if self.jobs.is_empty() {
            return;
        }
        self.starts.push_back((serial, area));
        self.sum += exact(area) + 1;
        while let Some(&(next, serial)) = self.next.first()
            && next <= self.sum
        {
            self.next.pop_first();
            if let Some(mut job) = self.jobs.remove(&serial) {
                self.look_at(serial, &mut job);
                self.jobs.insert(serial, job);
            }
        }
    }

    /// The first job in order of arrival that is overdue.
    pub(super) fn first_overdue(&self) -> Option<u64> {
        self.overdue.first().copied()
    }

    /// A job is not overdue whatever overtakes it.
    pub(super) fn give_up(&mut self, serial: u64) {
        self.remove(serial);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the starts since a job was last looked at.
    fn look_at(&mut self, serial: u64, job: &mut Overtakable) {
        let from = (job.looked - self.dropped) as usize;
        let starts = self.starts.range(from.min(self.starts.len())..);
        for (_, area) in starts.filter(|(other, _)| *other > serial) {
            job.overtaken += area;
        }
        job.looked = self.dropped + self.starts.len() as u64;
        if job.overtaken > job.limit {
            self.overdue.insert(serial);
        } else {
            self.ask_again(serial, job);
        }
    }

    /// Has a job looked at when the starts come to what it may still be overtaken by.
    fn ask_again(&mut self, serial: u64, job: &mut Overtakable) {
        // Less by more than what rounding can have added to its sum, which is of few bits of the limit.
        let left = job.limit * (1.0 - 1e-6) - job.overtaken;
        job.next = self.sum + exact(left).max(1);
        self.next.insert((job.next, serial));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(mapa_core::testing::cases(300))]

        #[test]
        fn jobs_are_overdue_when_each_start_is_added_to_all_that_arrived_earlier(
            steps in proptest::collection::vec((0u8..4, 0u32..50, 0usize..64), 1..200),
        ) {
            let mut jobs = OvertakenJobs::default();
            // The serial number, the limit and the sum of each job.
            let mut naive: Vec<(u64, f64, f64)> = Vec::new();
            for (serial, (kind, number, which)) in (0u64..).zip(steps) {
                let at = which % naive.len().max(1);
                match kind {
                    0 | 1 => {
                        let limit = if number == 49 { f64::INFINITY } else { f64::from(number) / 3.0 };
                        jobs.insert(serial, limit);
                        naive.push((serial, limit, 0.0));
                    }
                    2 if !naive.is_empty() => {
                        let (started, ..) = naive.remove(at);
                        let area = f64::from(number) / 7.0;
                        jobs.remove(started);
                        jobs.start(started, area);
                        for (_, _, sum) in naive.iter_mut().filter(|job| job.0 < started) {
                            *sum += area;
                        }
                    }
                    3 if !naive.is_empty() => jobs.remove(naive.remove(at).0),
                    _ => {}
                }
                let overdue = naive.iter().filter(|(_, limit, sum)| sum > limit).map(|job| job.0);
                prop_assert_eq!(jobs.first_overdue(), overdue.min());
            }
            // Nothing is kept of jobs that are gone.
            naive.drain(..).for_each(|(serial, ..)| jobs.remove(serial));
            prop_assert!(jobs.starts.is_empty() && jobs.next.is_empty() && jobs.overdue.is_empty());
        }
    }
}
