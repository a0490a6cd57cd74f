//! What waits, what runs and what is free.

use std::collections::BTreeSet;

use super::free::{FreeGroup, FreeSlices};
use super::histogram::Histograms;
use super::machine::SlicedGpus;
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::NO_DEADLINE;
use mapa_sched::slices::SliceJob;

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
    /// When it begins to run, minutes: its start, or when its instance has been created.
    pub begins: f64,
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

/// What has arrived so far, in sums over all jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrived {
    /// The run times of all jobs on a whole GPU, minutes.
    pub work: f64,
    /// The jobs that have a deadline.
    pub jobs: f64,
    /// Their times from arrival to deadline, each by its run time on a whole GPU.
    pub slack: f64,
}

/// The slices of one GPU: bits by position on it.
#[derive(Clone, Copy, Debug, Default)]
struct GpuSlices {
    busy: u16,
    exist: u16,
}

/// What waits, what runs and what is free at one moment.
#[derive(Clone, Debug)]
pub struct State {
    machine: SlicedGpus,
    arithmetic: Arithmetic,
    now: f64,
    queue: Vec<Waiting>,
    histograms: Histograms,
    running: Vec<Option<Running>>,
    /// Slices on which nothing may start, such as those of a cordoned GPU.
    blocked: Vec<bool>,
    used: Vec<u8>,
    slices: Vec<GpuSlices>,
    creations: u64,
    arrived: Arrived,
    free: FreeSlices,
    /// When slices that are not free are expected to be, by slice; -1 for those that are.
    free_at: Vec<f64>,
    /// The same by class of size. Times are not negative, so their bits are ordered as they are.
    ends: [BTreeSet<(u64, usize)>; 5],
    /// How many GPUs have 0 to 7 busy compute slices.
    by_use: [u32; 8],
}

impl State {
    /// A machine on which nothing runs, at minute 0.
    #[must_use]
    pub fn new(machine: SlicedGpus) -> Self {
        let exist = match machine.creation_minutes() {
            Some(_) => 0,
            None => u16::MAX,
        };
        let slices = machine.sizes().len();
        let gpus = machine.gpu_count();
        let mut state = Self {
            arithmetic: Arithmetic::Double,
            now: 0.0,
            queue: Vec::new(),
            histograms: Histograms::default(),
            running: vec![None; slices],
            blocked: vec![false; slices],
            used: vec![0; gpus],
            slices: vec![GpuSlices { busy: 0, exist }; gpus],
            creations: 0,
            arrived: Arrived::default(),
            free: FreeSlices::none(&machine),
            free_at: vec![-1.0; slices],
            ends: Default::default(),
            by_use: [gpus as u32, 0, 0, 0, 0, 0, 0, 0],
            machine,
        };
        for gpu in 0..gpus {
            state.refresh(gpu);
        }
        state
    }

    /// The state with times of this precision.
    #[must_use]
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &SlicedGpus {
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

    /// How many of the jobs that wait are how long.
    pub(super) fn histograms(&self) -> &Histograms {
        &self.histograms
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

    /// Whether a job may start on a slice: nothing runs on it, nor on a slice that it overlaps, and it
    /// is not [blocked](Self::block).
    #[must_use]
    pub fn is_free(&self, slice: usize) -> bool {
        self.free.has(slice)
    }

    /// Whether a slice exists. Where GPUs keep their layouts, all do.
    ///
    /// # Panics
    /// A slice that the machine does not have.
    #[must_use]
    pub fn exists(&self, slice: usize) -> bool {
        let gpu = self.machine.gpus()[slice];
        let at = slice - self.machine.slices_of(gpu).start;
        self.slices[gpu as usize].exist >> at & 1 == 1
    }

    /// How many instances have been created.
    #[must_use]
    pub fn creations(&self) -> u64 {
        self.creations
    }

    /// How long a job that starts now on a slice waits for its creation, minutes.
    pub(super) fn delay(&self, slice: usize) -> f64 {
        match self.machine.creation_minutes() {
            Some(minutes) if !self.exists(slice) => minutes,
            _ => 0.0,
        }
    }

    /// The free slices.
    pub(super) fn free(&self) -> &FreeSlices {
        &self.free
    }

    /// When the slices of a class that are not free are expected to be, minutes, ascending; not
    /// before now. A slice that overlaps several that are busy is free with the last of them.
    pub(super) fn ends(&self, class: usize) -> impl Iterator<Item = (f64, usize)> + '_ {
        let ends = self.ends[class].iter();
        ends.map(|&(bits, slice)| (f64::from_bits(bits).max(self.now), slice))
    }

    /// When a slice is expected to be free, minutes; now if it is.
    pub(super) fn free_at(&self, slice: usize) -> f64 {
        self.free_at[slice].max(self.now)
    }

    /// Lets time go on to this moment, minutes. An earlier moment changes nothing.
    pub fn advance(&mut self, to: f64) {
        self.now = self.now.max(to);
    }

    /// What has arrived so far.
    #[must_use]
    pub fn arrived(&self) -> Arrived {
        self.arrived
    }

    /// A job arrives. O(queue), by moving what has a later deadline.
    pub fn arrive(&mut self, id: u32, job: SliceJob) {
        self.arrived.work += job.fastest();
        if job.deadline() < NO_DEADLINE {
            self.arrived.jobs += 1.0;
            self.arrived.slack += (job.deadline() - job.arrives()) / job.fastest();
        }
        self.wait(id, job);
    }

    /// A job waits that has arrived before, such as one that was interrupted. O(queue).
    pub fn wait(&mut self, id: u32, job: SliceJob) {
        let at = self
            .queue
            .partition_point(|waiting| waiting.job.deadline() <= job.deadline());
        self.queue.insert(at, Waiting { id, job });
        self.histograms.add(&job);
    }

    /// The state of this moment with the queue of another, as when the machine has changed.
    pub(super) fn with_queue_of(mut self, other: &Self) -> Self {
        self.now = other.now;
        self.arrived = other.arrived;
        self.queue.clone_from(&other.queue);
        self.histograms.clone_from(&other.histograms);
        self
    }

    /// A job that waits leaves. Returns it; `None` if none of this number waits. O(queue).
    pub fn leave(&mut self, id: u32) -> Option<SliceJob> {
        let at = self.queue.iter().position(|waiting| waiting.id == id)?;
        let job = self.queue.remove(at).job;
        self.histograms.remove(&job);
        Some(job)
    }

    /// Lets nothing start on a slice any more, or lifts that. What runs there goes on. A slice that
    /// the machine does not have is passed over. O(slices of the GPU).
    pub fn block(&mut self, slice: usize, blocked: bool) {
        if let Some(own) = self.blocked.get_mut(slice) {
            *own = blocked;
            self.refresh(self.machine.gpus()[slice] as usize);
        }
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
    /// A slice that the machine does not have or that is busy, or one that overlaps a busy one.
    /// Nothing changes then.
    pub fn hold(&mut self, running: Running) -> Result<(), Error> {
        self.check_idle(running.slice)?;
        self.create(running.slice);
        self.occupy(running.slice, Some(running));
        Ok(())
    }

    /// That nothing runs on a slice, nor on one that it overlaps.
    fn check_idle(&self, slice: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::from(ErrorKind::BadStart(what)));
        let Some(place) = self.running.get(slice) else {
            let slices = self.running.len();
            return wrong(format!("slice {slice}: expected one below {slices}"));
        };
        if let Some(own) = place {
            let id = own.id;
            return wrong(format!(
                "slice {slice}: job {id} runs there: expected a free slice"
            ));
        }
        let gpu = self.machine.gpus()[slice];
        if self.machine.conflicts(slice) & self.slices[gpu as usize].busy != 0 {
            return wrong(format!(
                "slice {slice}: a job runs on a slice that it overlaps: expected a free slice"
            ));
        }
        Ok(())
    }

    /// When a job would end that starts now on a slice of this position in [`SIZES`](super::SIZES)
    /// that exists, minutes.
    ///
    /// # Panics
    /// A position that is not there.
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
        self.end_from(job, slice, self.begin_on(slice))
    }

    /// When a job with these run times ends on a slice where it begins to run at a moment, minutes.
    ///
    /// # Panics
    /// A slice that the machine does not have.
    #[must_use]
    pub fn end_from(&self, job: &SliceJob, slice: usize, begins: f64) -> f64 {
        let minutes = job.minutes()[self.machine.class(slice)];
        self.arithmetic.round(begins + minutes)
    }

    /// When a job would begin to run that starts now on this slice, minutes.
    fn begin_on(&self, slice: usize) -> f64 {
        let delay = self.delay(slice);
        if delay > 0.0 {
            self.arithmetic.round(self.now + delay)
        } else {
            self.now
        }
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
        self.histograms.remove(&job);
        let begins = self.begin_on(slice);
        let running = Running {
            id,
            slice,
            begins,
            finish: self.end_from(&job, slice, begins),
            deadline: job.deadline(),
        };
        self.create(slice);
        self.occupy(slice, Some(running));
        Ok(running)
    }

    /// The job on a slice ends, if one runs there.
    pub fn end(&mut self, slice: usize) -> Option<Running> {
        let running = (*self.running.get(slice)?)?;
        self.occupy(slice, None);
        Some(running)
    }

    /// Creates a slice if it does not exist, in place of those that it overlaps.
    fn create(&mut self, slice: usize) {
        if self.exists(slice) {
            return;
        }
        let gpu = self.machine.gpus()[slice];
        let at = slice - self.machine.slices_of(gpu).start;
        let exist = &mut self.slices[gpu as usize].exist;
        *exist = *exist & !self.machine.conflicts(slice) | 1 << at;
        self.creations += 1;
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
        self.running[slice] = by;
        self.used[gpu as usize] = after;
        self.by_use[usize::from(before)] -= 1;
        self.by_use[usize::from(after)] += 1;
        let on_gpu = self.machine.slices_of(gpu);
        let bit = 1 << (slice - on_gpu.start);
        self.slices[gpu as usize].busy ^= bit;
        for number in on_gpu {
            if self.machine.conflicts(number) & bit != 0 {
                self.expect(number);
            }
        }
        self.refresh(gpu as usize);
    }

    /// Books when a slice is expected to be free, after a change on its GPU.
    fn expect(&mut self, slice: usize) {
        let gpu = self.machine.gpus()[slice];
        let first = self.machine.slices_of(gpu).start;
        let mut in_the_way = self.machine.conflicts(slice) & self.slices[gpu as usize].busy;
        let mut free_at = -1.0_f64;
        while in_the_way != 0 {
            let other = first + in_the_way.trailing_zeros() as usize;
            let finish = self.running[other]
                .as_ref()
                .map_or(-1.0, |running| running.finish);
            free_at = free_at.max(finish);
            in_the_way &= in_the_way - 1;
        }
        let before = std::mem::replace(&mut self.free_at[slice], free_at);
        let ends = &mut self.ends[self.machine.class(slice)];
        if before >= 0.0 && before.is_finite() {
            ends.remove(&(before.to_bits(), slice));
        }
        // A slice whose end is unknown is not expected to be free.
        if free_at >= 0.0 && free_at.is_finite() {
            ends.insert((free_at.to_bits(), slice));
        }
    }

    /// Books which slices of a GPU are free, after a change on it.
    fn refresh(&mut self, gpu: usize) {
        let GpuSlices { busy, exist } = self.slices[gpu];
        let on_gpu = self.machine.slices_of(gpu as u32);
        let first = on_gpu.start;
        let mut free = 0_u16;
        for slice in on_gpu.clone() {
            if self.machine.conflicts(slice) & busy == 0 && !self.blocked[slice] {
                free |= 1 << (slice - first);
            }
        }
        for slice in on_gpu {
            let bit = 1 << (slice - first);
            let lost = (self.machine.conflicts(slice) & free & !bit).count_ones();
            let group = FreeGroup {
                used: self.used[gpu],
                exists: exist & bit != 0,
                lost: lost.min(u32::from(FreeGroup::MOST)) as u8,
            };
            let group = (free & bit != 0).then_some(group);
            self.free.set(slice, self.machine.class(slice), group);
        }
    }
}
