//! Plan by prices: a scheduler of our own.

use super::booking::Bookings;
use super::guard::{PlanNote, TunedFor, TuningGuard};
use super::heuristics::Fit;
use super::prices::Prices;
use super::rule::Rule;
use super::state::{Start, State};
use crate::error::Error;
use mapa_sched::slices::{SIZES, SliceJob};

/// The jobs that wait for each GPU at which the load has grown by [`Prices::queue`]: ten on eight.
const JOBS_A_GPU: f64 = 1.25;

/// What jobs wait for, and whether they book it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Booking {
    /// Jobs wait for slices on which others run, and book nothing: where many arrive, too many wait
    /// for one slice.
    None,
    /// Jobs wait for slices on which others run, and book them. Such a slice is booked as it is:
    /// its slots may not be repartitioned before.
    Busy,
    /// Jobs wait for any slice of which a memory slot is busy, and book its slots: to wait for a
    /// whole GPU drains it. Slots that are free before may be used until then. Where GPUs keep
    /// their layouts, this is the same as `Busy`.
    #[default]
    Slots,
}

/// A plan by prices. Minutes on slices, lateness and energy have prices. Jobs are taken by urgency,
/// not only by deadline. A job whose cost is less on a slice that is still busy waits for it: the
/// slice is booked, and later jobs see it as busy for longer. Without bookings several jobs would
/// wait for one slice, and the queue would grow without end.
///
/// The costs of job j on size i, started at s: `slice[i] x load x p + [x > 0] (1 + late x x)`, where
/// p is its run time there, x by how much it is late, and load = 1 + queue x (jobs
/// that wait) / (1.25 x GPUs).
/// On a free slice, what the GPU draws more is added; on a busy one, 25 W for each compute slice.
/// With [`Prices::doubt`], being late and x are means over a distribution of run times around p.
/// Where GPUs are repartitioned, p includes the creation of the instance, and of the free slices of
/// a size that one is taken with the least added power plus [`Prices::placement`] for each free
/// slice that it takes away.
///
/// # Complexity
/// O(q log q) for q jobs that wait, each time it is asked; O(slices / 64) for each of them, and
/// O(slices of a GPU) for each that is put off.
#[derive(Clone, Debug)]
pub struct EnergyPlan {
    prices: Prices,
    /// Positions of the queue by priority, kept to save allocations.
    order: Vec<(f64, usize)>,
    bookings: Bookings,
    booking: Booking,
    guard: Option<TuningGuard>,
}

impl EnergyPlan {
    /// A plan by these prices.
    ///
    /// # Errors
    /// As [`Prices::checked`].
    pub fn new(prices: Prices) -> Result<Self, Error> {
        Ok(Self {
            prices: prices.checked()?,
            order: Vec::new(),
            bookings: Bookings::default(),
            booking: Booking::default(),
            guard: None,
        })
    }

    /// The plan that watches whether what arrives is what its prices were tuned for. Where jobs have
    /// less time, or where its queue runs away although no more work arrives, [`Fit::fullest`]
    /// decides. [`notes`](Self::notes) says what it saw.
    ///
    /// # Errors
    /// As [`TunedFor::checked`].
    pub fn tuned_for(self, tuned: TunedFor) -> Result<Self, Error> {
        let guard = Some(TuningGuard::new(tuned.checked()?));
        Ok(Self { guard, ..self })
    }

    /// What is not as the prices were tuned for, each when it was seen first. Empty without
    /// [`tuned_for`](Self::tuned_for).
    #[must_use]
    pub fn notes(&self) -> &[PlanNote] {
        self.guard.as_ref().map_or(&[], TuningGuard::notes)
    }

    /// The plan with another kind of booking.
    #[must_use]
    pub fn booking(self, booking: Booking) -> Self {
        Self { booking, ..self }
    }

    fn priority(&self, state: &State, job: &SliceJob) -> f64 {
        let shortest = state
            .free()
            .classes()
            .map(|class| job.minutes()[class])
            .next()
            .unwrap_or(f64::INFINITY);
        let slack = job.deadline() - state.now() - shortest;
        let weight = if slack < 0.0 {
            self.prices.lost
        } else {
            self.prices.floor + (-slack / self.prices.urgency).exp()
        };
        weight / job.fastest().powf(self.prices.length)
    }

    /// The positions of the queue by priority, the most urgent first; of equal ones the first.
    fn in_order(&mut self, state: &State) -> Vec<(f64, usize)> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let jobs = state.queue().iter().enumerate();
        order.extend(jobs.map(|(at, waiting)| (self.priority(state, &waiting.job), at)));
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order
    }

    /// Books slices whose jobs should have ended for a while longer. They would otherwise seem to be
    /// free at once, and jobs would wait for one after the other.
    fn book_overdue(&mut self, state: &State) {
        let all = self.booking == Booking::Slots;
        for class in 0..SIZES.len() {
            let due = |pair: &(f64, usize)| pair.0 <= state.now();
            for (_, slice) in state.ends(class).take_while(due) {
                let own = state.running()[slice];
                if let Some(own) = own.filter(|running| running.finish < state.now()) {
                    let more = (own.finish - own.begins) * self.prices.overdue;
                    self.bookings
                        .book(state, slice, state.now(), state.now() + more, all);
                }
            }
        }
    }

    /// What a job costs on a slice of a class that is free from a moment on, and on which it first
    /// waits for `delay` minutes.
    fn cost(&self, job: &SliceJob, class: usize, from: f64, delay: f64, load: f64) -> f64 {
        let minutes = job.minutes()[class] + delay;
        let late = from + minutes - job.deadline();
        let tardy = if self.prices.doubt > 0.0 {
            let (chance, late) = in_doubt(late, self.prices.doubt * minutes);
            chance + self.prices.late * late
        } else if late > 0.0 {
            1.0 + self.prices.late * late
        } else {
            0.0
        };
        self.prices.slice[class] * load * minutes + tardy
    }

    /// The cheapest free slice, and its cost.
    fn at_once(&self, state: &State, job: &SliceJob, load: f64) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for class in state.free().classes().rev() {
            let Some((added, slice)) = self.cheapest(state, job, class) else {
                continue;
            };
            let delay = state.delay(slice);
            let cost = self.cost(job, class, state.now(), delay, load)
                + self.prices.energy * added * (job.minutes()[class] + delay);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, slice));
            }
        }
        best
    }

    /// The free slice of a class for which the least more is drawn, and how much; of equal ones
    /// that on the fullest GPU.
    fn cheapest(&self, state: &State, job: &SliceJob, class: usize) -> Option<(f64, usize)> {
        let in_time = |slice: &usize| state.finish_on(job, *slice) <= self.bookings.by(*slice);
        let mut best: Option<(f64, f64, usize)> = None;
        for group in state.free().groups(class) {
            let added = state.machine().power().added(group.used, SIZES[class]);
            let key = added + self.prices.placement * f64::from(group.lost);
            if best.is_some_and(|(least, ..)| key >= least) {
                continue;
            }
            let slice = if self.bookings.has_reserved() {
                state.free().all_of(class, group).find(in_time)
            } else {
                state.free().first_of(class, group)
            };
            if let Some(slice) = slice {
                best = Some((key, added, slice));
            }
        }
        best.map(|(_, added, slice)| (added, slice))
    }

    /// The cheapest slice that is not free, by when one of each size is free first: its cost, when
    /// it is free, and its number. Of one size, the slice that is free first is the cheapest.
    fn later(
        &self,
        state: &State,
        job: &SliceJob,
        load: f64,
        first: [Option<(f64, usize)>; 5],
    ) -> Option<(f64, f64, usize)> {
        let mut best: Option<(f64, f64, usize)> = None;
        for (class, first) in first.into_iter().enumerate() {
            let Some((end, slice)) = first else {
                continue;
            };
            let watts = 25.0 * f64::from(SIZES[class]);
            let delay = state.delay(slice);
            let cost = self.cost(job, class, end, delay, load)
                + self.prices.energy * watts * (job.minutes()[class] + delay);
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, end, slice));
            }
        }
        best
    }
}

/// The probability that a job is late, and by how much it is late on average, if it is expected to
/// be late by some minutes, and this is the standard deviation. The normal distribution is taken as
/// a logistic one of 1.702 times the scale, from which it differs by less than 0.01.
fn in_doubt(late: f64, deviation: f64) -> (f64, f64) {
    /// Beyond this many scales there is no doubt.
    const CERTAIN: f64 = 30.0;
    let scale = deviation / 1.702;
    let by = late / scale;
    if by > CERTAIN {
        return (1.0, late);
    }
    if by < -CERTAIN {
        return (0.0, 0.0);
    }
    let odds = by.exp();
    (odds / (1.0 + odds), scale * odds.ln_1p())
}

/// By the default prices, on guard for what they were tuned for.
impl Default for EnergyPlan {
    fn default() -> Self {
        Self {
            prices: Prices::default(),
            order: Vec::new(),
            bookings: Bookings::default(),
            booking: Booking::default(),
            guard: Some(TuningGuard::new(TunedFor::default())),
        }
    }
}

impl Rule for EnergyPlan {
    fn name(&self) -> &str {
        "energy-plan"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        if state.queue().is_empty() || state.free_count() == 0 {
            return None;
        }
        if self.guard.as_mut().is_some_and(|guard| !guard.suits(state)) {
            return Fit::fullest().choose(state);
        }
        let waiting =
            state.queue().len() as f64 / (JOBS_A_GPU * state.machine().gpu_count() as f64);
        let load = (1.0 + self.prices.queue * waiting).max(0.05);
        self.bookings.clear(state);
        let all = self.booking == Booking::Slots;
        let waits_for = |pair: &(f64, usize)| all || state.running()[pair.1].is_some();
        let mut ends: [_; 5] =
            std::array::from_fn(|class| state.ends(class).filter(waits_for).peekable());
        if self.prices.overdue > 0.0 && self.booking != Booking::None {
            self.book_overdue(state);
        }
        let order = self.in_order(state);
        let mut chosen = None;
        for &(_, waiting) in &order {
            let job = &state.queue()[waiting].job;
            let now = self.at_once(state, job, load);
            let first: [Option<(f64, usize)>; 5] =
                std::array::from_fn(|class| self.bookings.first(class, &mut ends[class]));
            let later = self.later(state, job, load, first);
            let waits = |cost: f64| now.is_none_or(|(now, _)| cost + self.prices.margin < now);
            match (now, later) {
                (_, Some((cost, from, slice))) if waits(cost) => {
                    let minutes = job.minutes()[state.machine().class(slice)] + state.delay(slice);
                    if self.booking != Booking::None {
                        self.bookings.book(state, slice, from, from + minutes, all);
                    }
                }
                (Some((_, slice)), _) => {
                    chosen = Some(Start { waiting, slice });
                    break;
                }
                (None, _) => break,
            }
        }
        self.order = order;
        chosen
    }
}
