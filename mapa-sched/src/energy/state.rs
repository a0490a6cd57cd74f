//! What waits, what runs and what is free.

use std::collections::BTreeSet;

use super::free::Free;
use super::job::{SliceJob, class_of};
use super::machine::Machine;
use crate::error::{Error, ErrorKind};

/// A job that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Its number.
    pub id: u32,
    /// The job.
    pub job: SliceJob,
}

/// A job to start: its position in the queue, and its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The position in [`State::queue`].
    pub waiting: usize,
    /// The number of the slice.
    pub slice: usize,
}

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    /// Its number.
    pub id: u32,
    /// The slice on which it runs.
    pub slice: usize,
    /// When it ends, minutes.
    pub finish: f64,
    /// When it should have ended, minutes.
    pub deadline: f64,
}

/// The precision of times. The published code computes with 32 bits. Where jobs pile up, one
/// different bit leads to another day, so numbers are compared only within one arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// 64 bits.
    #[default]
    Double,
    /// Every time is rounded to 32 bits.
    Single,
}

impl Arithmetic {
    /// A time in this precision.
    #[must_use]
    pub fn round(self, minutes: f64) -> f64 {
        match self {
            Self::Double => minutes,
            Self::Single => f64::from(minutes as f32),
        }
    }
}

/// What waits, what runs and what is free at one moment.
#[derive(Clone, Debug)]
pub struct State {
    machine: Machine,
    arithmetic: Arithmetic,
    now: f64,
    queue: Vec<Waiting>,
    running: Vec<Option<Running>>,
    /// Slices on which nothing may start, such as those of a cordoned GPU.
    blocked: Vec<bool>,
    used: Vec<u8>,
    free: Free,
    /// When busy slices are expected to be free, by class of size. Times are not negative, so their
    /// bits are ordered as they are.
    ends: [BTreeSet<(u64, usize)>; 5],
    /// How many GPUs have 0 to 7 busy compute slices.
    by_use: [u32; 8],
}

impl State {
    /// A machine on which nothing runs, at minute 0.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self {
            arithmetic: Arithmetic::Double,
            now: 0.0,
            queue: Vec::new(),
            running: vec![None; machine.sizes().len()],
            blocked: vec![false; machine.sizes().len()],
            used: vec![0; machine.gpu_count()],
            free: Free::new(&machine),
            ends: Default::default(),
            by_use: [machine.gpu_count() as u32, 0, 0, 0, 0, 0, 0, 0],
            machine,
        }
    }

    /// The state with times of this precision.
    #[must_use]
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The present moment, minutes.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// The jobs that wait, by deadline; of one deadline in the order of their arrivals.
    #[must_use]
    pub fn queue(&self) -> &[Waiting] {
        &self.queue
    }

    /// What runs on each slice.
    #[must_use]
    pub fn running(&self) -> &[Option<Running>] {
        &self.running
    }

    /// The busy compute slices of each GPU.
    #[must_use]
    pub fn used(&self) -> &[u8] {
        &self.used
    }

    /// What the GPUs draw together, watts.
    #[must_use]
    pub fn watts(&self) -> f64 {
        let counts = (0..).zip(self.by_use);
        counts
            .map(|(busy, gpus)| f64::from(gpus) * self.machine.power().watts(busy))
            .sum()
    }

    /// How many slices are free.
    #[must_use]
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Whether a job could start on a slice: nothing runs there, and it is not
    /// [blocked](Self::block).
    #[must_use]
    pub fn is_free(&self, slice: usize) -> bool {
        let idle = self.running.get(slice).is_some_and(Option::is_none);
        idle && !self.blocked[slice]
    }

    /// The free slices.
    pub(super) fn free(&self) -> &Free {
        &self.free
    }

    /// When the busy slices of a class are expected to be free, minutes, ascending; not before now.
    pub(super) fn ends(&self, class: usize) -> impl Iterator<Item = f64> + '_ {
        let ends = self.ends[class].iter();
        ends.map(|&(bits, _)| f64::from_bits(bits).max(self.now))
    }

    /// Lets time go on to this moment, minutes. An earlier moment changes nothing.
    pub fn advance(&mut self, to: f64) {
        self.now = self.now.max(to);
    }

    /// A job arrives. O(queue), by moving what has a later deadline.
    pub fn arrive(&mut self, id: u32, job: SliceJob) {
        let at = self
            .queue
            .partition_point(|own| own.job.deadline() <= job.deadline());
        self.queue.insert(at, Waiting { id, job });
    }

    /// A job that waits leaves. Returns it; `None` if none of this number waits. O(queue).
    pub fn leave(&mut self, id: u32) -> Option<SliceJob> {
        let at = self.queue.iter().position(|own| own.id == id)?;
        Some(self.queue.remove(at).job)
    }

    /// Lets nothing start on a slice any more, or lifts that. What runs there goes on. A slice that
    /// the machine does not have is passed over. O(slices of the GPU).
    pub fn block(&mut self, slice: usize, blocked: bool) {
        let Some(own) = self.blocked.get_mut(slice) else {
            return;
        };
        *own = blocked;
        let (size, gpu) = (self.machine.sizes()[slice], self.machine.gpus()[slice]);
        let used = self.used[gpu as usize];
        self.free.set(slice, size, used, self.is_free(slice));
    }

    /// Whether a slice is [blocked](Self::block).
    #[must_use]
    pub fn is_blocked(&self, slice: usize) -> bool {
        self.blocked.get(slice).copied().unwrap_or(false)
    }

    /// Something runs on a slice that did not wait here, until [`end`](Self::end). An infinite
    /// finish means that its end is unknown: no rule expects the slice to be free then.
    ///
    /// # Errors
    /// A slice that the machine does not have or that is busy. Nothing changes then.
    pub fn hold(&mut self, running: Running) -> Result<(), Error> {
        self.check_idle(running.slice)?;
        self.occupy(running.slice, Some(running));
        Ok(())
    }

    /// That nothing runs on a slice.
    fn check_idle(&self, slice: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::from(ErrorKind::BadStart(what)));
        match self.running.get(slice) {
            None => {
                let slices = self.running.len();
                wrong(format!("slice {slice}: expected one below {slices}"))
            }
            Some(Some(own)) => {
                let id = own.id;
                wrong(format!(
                    "slice {slice}: job {id} runs there: expected a free slice"
                ))
            }
            Some(None) => Ok(()),
        }
    }

    /// When a job would end that starts now on a slice of this position in [`SIZES`](super::SIZES),
    /// minutes.
    #[must_use]
    pub fn finish_of(&self, job: &SliceJob, class: usize) -> f64 {
        self.arithmetic.round(self.now + job.minutes()[class])
    }

    /// When a job would end that starts now on this slice, minutes.
    ///
    /// # Panics
    /// A slice that the machine does not have.
    #[must_use]
    pub fn finish_on(&self, job: &SliceJob, slice: usize) -> f64 {
        let class = class_of(self.machine.sizes()[slice]).unwrap_or_default();
        self.finish_of(job, class)
    }

    /// Starts a job that waits.
    ///
    /// # Errors
    /// A position that the queue does not have, or a slice that the machine does not have or that is
    /// busy. Nothing changes then.
    pub fn start(&mut self, start: Start) -> Result<Running, Error> {
        let Start { waiting, slice } = start;
        let wrong = |what: String| Error::from(ErrorKind::BadStart(what));
        let Some(&Waiting { id, job }) = self.queue.get(waiting) else {
            let jobs = self.queue.len();
            return Err(wrong(format!(
                "position {waiting} of the queue: expected one below {jobs}"
            )));
        };
        self.check_idle(slice)?;
        if self.is_blocked(slice) {
            return Err(wrong(format!(
                "slice {slice}: nothing may start there: expected a free slice"
            )));
        }
        self.queue.remove(waiting);
        let finish = self.finish_on(&job, slice);
        let running = Running {
            id,
            slice,
            finish,
            deadline: job.deadline(),
        };
        self.occupy(slice, Some(running));
        Ok(running)
    }

    /// The job on a slice ends, if one runs there.
    pub fn end(&mut self, slice: usize) -> Option<Running> {
        let running = (*self.running.get(slice)?)?;
        self.occupy(slice, None);
        Some(running)
    }

    /// Books who has a slice, and with it what its GPU uses and draws.
    fn occupy(&mut self, slice: usize, by: Option<Running>) {
        let (size, gpu) = (self.machine.sizes()[slice], self.machine.gpus()[slice]);
        let before = self.used[gpu as usize];
        let after = if by.is_some() {
            before + size
        } else {
            before - size
        };
        if let Some(class) = class_of(size) {
            if let Some(own) = &self.running[slice] {
                self.ends[class].remove(&(own.finish.to_bits(), slice));
            }
            if let Some(own) = by.as_ref().filter(|own| own.finish.is_finite()) {
                self.ends[class].insert((own.finish.to_bits(), slice));
            }
        }
        self.running[slice] = by;
        self.used[gpu as usize] = after;
        self.by_use[usize::from(before)] -= 1;
        self.by_use[usize::from(after)] += 1;
        for own in self.machine.slices_of(gpu) {
            let size = self.machine.sizes()[own];
            self.free.set(own, size, before, false);
            self.free.set(own, size, after, self.is_free(own));
        }
    }
}
