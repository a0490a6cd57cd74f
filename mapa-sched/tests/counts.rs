//! Backfilling as published, on processors that are only counted: a free-count profile, looked up
//! moment by moment. Knows nothing of devices, policies or fleets.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A job, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simple {
    pub(crate) arrives: u64,
    pub(crate) devices: usize,
    pub(crate) length: u64,
    /// What its owner says of it; unknown if nothing.
    pub(crate) estimate: Option<u64>,
    pub(crate) cancelled: Option<u64>,
}

/// Ten years.
const UNKNOWN: u64 = 10 * 365 * 24 * 3600;

/// Jobs that know how long they run.
pub(crate) fn exact(most: usize) -> impl Strategy<Value = Vec<Simple>> {
    simple(most, Just(None))
}

/// Jobs whose estimates are too long, too short, right, or not there; some withdraw.
pub(crate) fn wrong(most: usize) -> impl Strategy<Value = Vec<Simple>> {
    simple(most, option::weighted(0.2, 0u64..12)).prop_flat_map(|jobs| {
        let estimates = vec(
            prop_oneof![4 => (1u64..15).prop_map(Some), 1 => Just(None)],
            jobs.len(),
        );
        (Just(jobs), estimates).prop_map(|(mut jobs, estimates)| {
            jobs.iter_mut()
                .zip(estimates)
                .for_each(|(job, estimate)| job.estimate = estimate);
            jobs
        })
    })
}

fn simple(
    most: usize,
    cancelled: impl Strategy<Value = Option<u64>>,
) -> impl Strategy<Value = Vec<Simple>> {
    let gap = prop_oneof![3 => Just(0u64), 2 => 1u64..6];
    vec((gap, 1usize..=6, 1u64..12, cancelled), 1..most).prop_map(|rows| {
        let mut arrives = 0;
        let job = |(gap, devices, length, cancelled): (u64, usize, u64, Option<u64>)| {
            arrives += gap;
            let cancelled = cancelled.map(|after| arrives + after);
            Simple {
                arrives,
                devices,
                length,
                estimate: Some(length),
                cancelled,
            }
        };
        rows.into_iter().map(job).collect()
    })
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Easy,
    /// With this depth.
    Conservative(usize),
}

struct Naive<'a> {
    jobs: &'a [Simple],
    devices: usize,
    now: u64,
    waiting: Vec<usize>,
    /// Job, start, expected end.
    running: Vec<(usize, u64, u64)>,
    /// Job, start.
    reserved: Vec<(usize, u64)>,
    starts: Vec<Option<u64>>,
    /// The earliest moment that each was ever promised.
    promised: Vec<Option<u64>>,
}

impl Naive<'_> {
    fn estimate(&self, job: usize) -> u64 {
        self.jobs[job].estimate.unwrap_or(UNKNOWN)
    }

    /// Who holds devices from when until when.
    fn held(&self) -> Vec<(u64, u64, usize)> {
        let running = self
            .running
            .iter()
            .map(|&(job, from, until)| (from, until, self.jobs[job].devices));
        let reserved = self.reserved.iter();
        running
            .chain(reserved.map(|&(job, at)| (at, at + self.estimate(job), self.jobs[job].devices)))
            .collect()
    }

    fn free_at(&self, time: u64) -> usize {
        let held = self
            .held()
            .into_iter()
            .filter(|(from, until, _)| (*from..*until).contains(&time));
        self.devices - held.map(|(.., devices)| devices).sum::<usize>()
    }

    fn fits(&self, job: usize, from: u64) -> bool {
        let until = from + self.estimate(job);
        let moments = self
            .held()
            .into_iter()
            .map(|(start, ..)| start)
            .filter(|start| (from..until).contains(start));
        std::iter::once(from)
            .chain(moments)
            .all(|time| self.free_at(time) >= self.jobs[job].devices)
    }

    fn earliest(&self, job: usize) -> u64 {
        let ends = self
            .held()
            .into_iter()
            .map(|(_, until, _)| until)
            .filter(|&until| until > self.now);
        let moments: BTreeSet<u64> = std::iter::once(self.now).chain(ends).collect();
        moments
            .into_iter()
            .find(|&moment| self.fits(job, moment))
            .unwrap()
    }

    fn promise(&mut self, job: usize, moment: u64) -> u64 {
        let earliest = self.promised[job].map_or(moment, |before| before.min(moment));
        self.promised[job] = Some(earliest);
        earliest
    }

    fn start(&mut self, job: usize) {
        self.running
            .push((job, self.now, self.now + self.estimate(job)));
        self.starts[job] = Some(self.now);
        self.waiting.retain(|&other| other != job);
    }

    fn easy(&mut self) {
        let mut shadow: Option<(u64, usize)> = None;
        let mut overdue = false;
        for job in self.waiting.clone() {
            let devices = self.jobs[job].devices;
            if devices > self.free_at(self.now) {
                if shadow.is_none() {
                    let moment = self.earliest(job);
                    let extra = self.free_at(moment) - devices;
                    shadow = Some((moment, extra));
                    overdue = self.promise(job, moment) <= self.now;
                }
                continue;
            }
            // The head was promised to have started by now.
            if overdue {
                continue;
            }
            match &mut shadow {
                Some((moment, extra))
                    if self.now + self.jobs[job].estimate.unwrap_or(UNKNOWN) > *moment =>
                {
                    if devices > *extra {
                        continue;
                    }
                    *extra -= devices;
                }
                _ => {}
            }
            self.start(job);
        }
    }

    fn conservative(&mut self, depth: usize, anew: bool, compress: bool) {
        if anew {
            self.reserved.clear();
        }
        loop {
            let before: BTreeSet<_> = self.reserved.iter().copied().collect();
            self.pass(depth, compress);
            let after: BTreeSet<_> = self.reserved.iter().copied().collect();
            // Some reservation was given up for an earlier moment.
            if !compress || before.is_subset(&after) {
                break;
            }
        }
    }

    fn pass(&mut self, depth: usize, compress: bool) {
        let mut have = 0;
        for job in self.waiting.clone() {
            if have == depth {
                break;
            }
            let old = self
                .reserved
                .iter()
                .find(|(other, _)| *other == job)
                .map(|(_, at)| *at);
            if compress || old.is_none_or(|at| at <= self.now) {
                self.reserved.retain(|(other, _)| *other != job);
                match self.earliest(job) {
                    moment if moment == self.now => {
                        self.start(job);
                        continue;
                    }
                    moment => self
                        .reserved
                        .push((job, old.map_or(moment, |old| old.max(self.now).min(moment)))),
                }
            }
            have += 1;
        }
    }

    /// Takes out who has ended or withdrawn; whether that was a surprise.
    fn leave(&mut self) -> bool {
        let (jobs, now, starts) = (self.jobs, self.now, &self.starts);
        let over = |job: usize| {
            let ended = starts[job].is_some_and(|start| start + jobs[job].length <= now);
            ended
                || jobs[job]
                    .cancelled
                    .is_some_and(|cancelled| cancelled <= now)
        };
        let early = self
            .running
            .iter()
            .any(|&(job, _, until)| over(job) && until > now);
        let withdrawn = self.reserved.iter().any(|&(job, _)| over(job));
        self.running.retain(|&(job, ..)| !over(job));
        self.waiting.retain(|&job| !over(job));
        self.reserved.retain(|&(job, _)| !over(job));
        early || withdrawn
    }

    fn next(&self) -> Option<u64> {
        let ends = self
            .running
            .iter()
            .flat_map(|&(job, start, until)| [start + self.jobs[job].length, until]);
        let told = self
            .jobs
            .iter()
            .flat_map(|job| [Some(job.arrives), job.cancelled])
            .flatten();
        ends.chain(told).filter(|&time| time > self.now).min()
    }
}

/// When each job starts on so many devices; none, if it withdraws before.
pub(crate) fn starts(devices: usize, jobs: &[Simple], kind: Kind) -> Vec<Option<u64>> {
    let starts = vec![None; jobs.len()];
    let promised = vec![None; jobs.len()];
    let mut naive = Naive {
        jobs,
        devices,
        now: 0,
        waiting: Vec::new(),
        running: Vec::new(),
        reserved: Vec::new(),
        starts,
        promised,
    };
    let mut told = 0;
    let mut first = true;
    while let Some(now) = if first { Some(0) } else { naive.next() } {
        first = false;
        naive.now = now;
        while told < jobs.len() && jobs[told].arrives <= now {
            naive.waiting.push(told);
            told += 1;
        }
        let compress = naive.leave();
        let mut late = false;
        for (_, from, until) in &mut naive.running {
            while *until <= now {
                (*until, late) = (*from + 2 * (*until - *from), true);
            }
        }
        match kind {
            Kind::Easy => naive.easy(),
            Kind::Conservative(depth) => naive.conservative(depth, late, compress),
        }
    }
    naive.starts
}
