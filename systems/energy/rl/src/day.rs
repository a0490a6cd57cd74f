//! A day of jobs, one decision at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use mapa_system_energy::{SliceJob, SlicedGpus, Start, State};
use mapa_system_energy_sim::Totals;

use crate::error::{Error, ErrorKind};

/// Jobs that end within this time of each other end together, minutes.
const TOGETHER: f64 = 1e-9;

/// What an action came to: the start itself, and what ended until the next decision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passed {
    /// The size of the slice on which the head of the queue started.
    pub size: u8,
    /// Whether the job will end by its deadline.
    pub in_time: bool,
    /// The jobs that ended by their deadlines since.
    pub ended_in_time: u32,
    /// By how much jobs that ended since were late, minutes.
    pub tardiness: f64,
    /// Whether the day is over: every job has ended.
    pub is_over: bool,
}

/// A day of jobs on a machine, halted where a decision is due: jobs wait, and a slice is free. An
/// action is the slice on which the head of the queue starts.
///
/// The order of events is that of [`mapa_system_energy_sim::run`], with which it agrees to the bit. That
/// one asks a rule; this one can be halted, which a learner needs.
#[derive(Clone, Debug)]
pub struct Day {
    jobs: Arc<[SliceJob]>,
    arrived: usize,
    state: State,
    /// When slices are free. Times are not negative, so their bits are ordered as they are.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    totals: Totals,
}

impl Day {
    /// The day of these jobs, in order of arrival, at its first decision.
    ///
    /// # Errors
    /// Jobs in another order.
    pub fn new(jobs: impl Into<Arc<[SliceJob]>>, machine: SlicedGpus) -> Result<Self, Error> {
        let jobs = jobs.into();
        let falls = |slice_jobs: &[SliceJob]| slice_jobs[1].arrives() < slice_jobs[0].arrives();
        if let Some(at) = jobs.windows(2).position(falls) {
            let what = format!(
                "job {} arrives before job {at}: expected jobs in order of arrival",
                at + 1
            );
            return Err(ErrorKind::BadDay(what).into());
        }
        let totals = Totals {
            jobs: jobs.len(),
            ..Totals::default()
        };
        let mut own = Self {
            jobs,
            arrived: 0,
            state: State::new(machine),
            ends: BinaryHeap::new(),
            totals,
        };
        own.go_on(&mut Passed::default());
        Ok(own)
    }

    /// What waits, what runs and what is free.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What the day came to so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Whether every job has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state.queue().is_empty()
    }

    /// Starts the head of the queue on a slice, and lets time go on to the next decision.
    ///
    /// # Errors
    /// The day is over, or the slice is busy or does not exist. Nothing changes then.
    pub fn start(&mut self, slice: usize) -> Result<Passed, Error> {
        let own = self.state.start(Start { waiting: 0, slice })?;
        self.totals.decisions += 1;
        self.ends.push(Reverse((own.finish.to_bits(), slice)));
        let mut passed = Passed {
            size: self.state.machine().sizes()[slice],
            in_time: own.finish <= own.deadline,
            ..Passed::default()
        };
        self.totals.creations = self.state.creations();
        self.go_on(&mut passed);
        Ok(passed)
    }

    /// Lets time go on until a decision is due or the day is over.
    fn go_on(&mut self, passed: &mut Passed) {
        while self.state.queue().is_empty() || self.state.free_count() == 0 {
            let end = self.ends.peek().map(|Reverse(pair)| f64::from_bits(pair.0));
            let next = self.jobs.get(self.arrived).copied();
            let (watts, from) = (self.state.watts(), self.state.now());
            // An arrival comes before an end of the same moment.
            match (
                next.filter(|job| end.is_none_or(|end| job.arrives() <= end)),
                end,
            ) {
                (Some(job), _) => {
                    self.state.advance(job.arrives());
                    self.state.arrive(self.arrived as u32, job);
                    self.arrived += 1;
                    self.totals.published_watt_minutes += watts * (self.state.now() - from);
                }
                (None, Some(at)) => {
                    self.end(at, passed);
                    self.totals.published_watt_minutes +=
                        self.state.watts() * (self.state.now() - from);
                }
                (None, None) => {
                    passed.is_over = true;
                    return;
                }
            }
            self.totals.watt_minutes += watts * (self.state.now() - from);
        }
    }

    /// Ends what ends at this moment.
    fn end(&mut self, at: f64, passed: &mut Passed) {
        self.state.advance(at);
        while let Some(&Reverse((bits, slice))) = self.ends.peek() {
            let finish = f64::from_bits(bits);
            if finish > at + TOGETHER {
                return;
            }
            self.ends.pop();
            if let Some(own) = self.state.end(slice) {
                let late = (finish - own.deadline).max(0.0);
                passed.tardiness += late;
                passed.ended_in_time += u32::from(late == 0.0);
                self.totals.late += usize::from(late > 0.0);
                self.totals.tardiness += late;
                self.totals.end = self.totals.end.max(finish);
            }
        }
    }
}
