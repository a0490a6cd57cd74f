//! Plan by prices: a scheduler of our own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::job::{SIZES, SliceJob};
use super::rule::{Rule, Start};
use super::state::State;
use crate::error::{Error, ErrorKind};

/// The jobs that wait for each GPU at which the load has grown by [`Prices::queue`]: ten on eight.
const JOBS_A_GPU: f64 = 1.25;

/// What [`EnergyPlan`] weighs. The numbers are found by search on a workload, and are good for that
/// workload: tuned for relaxed deadlines, the plan loses to largest-first where deadlines are tight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// The price of a minute on a slice of each of [`SIZES`].
    pub slice: [f64; 5],
    /// The price of a minute of tardiness. Being late at all costs 1.
    pub late: f64,
    /// By how much the price of slices grows with each 1.25 jobs that wait for a GPU: ten on eight.
    pub queue: f64,
    /// Within how many minutes of its latest start a job becomes urgent.
    pub urgency: f64,
    /// How much the priority of a job falls with its run time: the power of it.
    pub length: f64,
    /// The weight of a job that cannot be in time any more.
    pub lost: f64,
    /// By how much waiting must be cheaper for a job to wait.
    pub margin: f64,
    /// The price of a watt-minute.
    pub energy: f64,
    /// The weight of a job that is not urgent.
    pub floor: f64,
}

impl Prices {
    /// For the [published layouts](super::Machine::PUBLISHED), relaxed deadlines, 20 jobs a minute
    /// at the published rates.
    pub const PUBLISHED_LAYOUTS: Self = Self {
        slice: [0.000_633, 0.021_50, 0.010_39, 0.022_56, 0.017_71],
        late: 0.2804,
        queue: 2.377,
        urgency: 2.427,
        length: 0.8664,
        lost: 0.7084,
        margin: 0.0332,
        energy: 0.000_671,
        floor: 0.005_99,
    };

    /// For the [searched layouts](super::Machine::SEARCHED), at several loads: the default.
    pub const SEARCHED_LAYOUTS: Self = Self {
        slice: [0.000_361, 0.016_17, 0.007_69, 0.013_34, 0.073_51],
        late: 0.2174,
        queue: 2.375,
        urgency: 1.749,
        length: 0.9755,
        lost: 0.3077,
        margin: 0.0462,
        energy: 0.000_554,
        floor: 0.006_03,
    };

    /// For the searched layouts at one load, where run times are known exactly. It loses more where
    /// they are not.
    pub const EXACT_RUN_TIMES: Self = Self {
        slice: [0.000_403, 0.008_93, 0.011_85, 0.020_05, 0.079_9],
        late: 0.1152,
        queue: 2.328,
        urgency: 2.459,
        length: 0.3714,
        lost: 0.4178,
        margin: -0.0226,
        energy: 0.000_483,
        floor: 0.007_23,
    };

    /// The prices that have names.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("published-layouts", Self::PUBLISHED_LAYOUTS),
        ("searched-layouts", Self::SEARCHED_LAYOUTS),
        ("exact-run-times", Self::EXACT_RUN_TIMES),
    ];

    /// The prices of this name, if there are any.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.into_iter().find(|(own, _)| *own == name);
        found.map(|(_, prices)| prices)
    }

    /// The prices, if a plan can be made with them.
    ///
    /// # Errors
    /// A number that is not finite, a price below 0 (but for the margin), or an urgency of 0.
    pub fn checked(self) -> Result<Self, Error> {
        let named = [
            ("late", self.late),
            ("queue", self.queue),
            ("urgency", self.urgency),
            ("length", self.length),
            ("lost", self.lost),
            ("energy", self.energy),
            ("floor", self.floor),
        ];
        let slices = self.slice.into_iter().map(|own| ("slice", own));
        for (name, own) in named.into_iter().chain(slices) {
            if !(own.is_finite() && own >= 0.0) {
                let what = format!("price `{name}` is {own}: expected a number of 0 or more");
                return Err(ErrorKind::BadPrices(what).into());
            }
        }
        if !self.margin.is_finite() || self.urgency == 0.0 {
            let what = format!(
                "prices `margin` {} and `urgency` {}: expected a finite margin and an urgency above 0",
                self.margin, self.urgency
            );
            return Err(ErrorKind::BadPrices(what).into());
        }
        Ok(self)
    }
}

impl Default for Prices {
    fn default() -> Self {
        Self::SEARCHED_LAYOUTS
    }
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
///
/// # Complexity
/// O(q log q) for q jobs that wait, each time it is asked; O(slices / 64) for each of them.
#[derive(Clone, Debug)]
pub struct EnergyPlan {
    prices: Prices,
    /// Positions of the queue by priority, kept to save allocations.
    order: Vec<(f64, usize)>,
    /// When booked slices of each size are expected to be free, as bits of minutes.
    booked: [BinaryHeap<Reverse<u64>>; 5],
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
            booked: Default::default(),
        })
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

    fn cost(&self, job: &SliceJob, class: usize, from: f64, load: f64) -> f64 {
        let minutes = job.minutes()[class];
        let late = from + minutes - job.deadline();
        let tardy = if late > 0.0 {
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
            let base = self.cost(job, class, state.now(), load);
            let (added, slice) = cheapest(state, class)?;
            let cost = base + self.prices.energy * added * job.minutes()[class];
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, slice));
            }
        }
        best
    }

    /// The cheapest busy slice, by when one of each size is free first: its cost, and the class of
    /// its size. Of one size, the slice that is free first is the cheapest.
    fn later(&self, job: &SliceJob, load: f64, ends: [Option<f64>; 5]) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for (class, end) in ends.into_iter().enumerate() {
            let Some(end) = end else {
                continue;
            };
            let watts = 25.0 * f64::from(SIZES[class]);
            let cost = self.cost(job, class, end, load)
                + self.prices.energy * watts * job.minutes()[class];
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, class));
            }
        }
        best
    }
}

/// By the default prices.
impl Default for EnergyPlan {
    fn default() -> Self {
        Self {
            prices: Prices::default(),
            order: Vec::new(),
            booked: Default::default(),
        }
    }
}

/// The free slice of a class for which the least more is drawn, and how much; of equal ones that on
/// the fullest GPU.
fn cheapest(state: &State, class: usize) -> Option<(f64, usize)> {
    let mut best: Option<(f64, usize)> = None;
    for used in (0..8).rev() {
        if let Some(slice) = state.free().first_with(class, used) {
            let added = state.machine().power().added(used, SIZES[class]);
            if best.is_none_or(|(least, _)| added < least) {
                best = Some((added, slice));
            }
        }
    }
    best
}

impl Rule for EnergyPlan {
    fn name(&self) -> &str {
        "energy-plan"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        if state.queue().is_empty() || state.free_count() == 0 {
            return None;
        }
        let waiting =
            state.queue().len() as f64 / (JOBS_A_GPU * state.machine().gpu_count() as f64);
        let load = (1.0 + self.prices.queue * waiting).max(0.05);
        self.booked.iter_mut().for_each(BinaryHeap::clear);
        // Slices that are not booked yet, by class; what is taken from here is booked.
        let mut ends: [_; 5] = std::array::from_fn(|class| state.ends(class).peekable());
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let jobs = state.queue().iter().enumerate();
        order.extend(jobs.map(|(at, own)| (self.priority(state, &own.job), at)));
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen = None;
        for &(_, waiting) in &order {
            let job = &state.queue()[waiting].job;
            let Some((cost, slice)) = self.at_once(state, job, load) else {
                break;
            };
            let first: [Option<f64>; 5] = std::array::from_fn(|class| {
                let booked = self.booked[class].peek();
                let booked = booked.map(|&Reverse(bits)| f64::from_bits(bits));
                let plain = ends[class].peek().copied();
                booked.map_or(plain, |own| Some(plain.map_or(own, |plain| plain.min(own))))
            });
            match self.later(job, load, first) {
                Some((wait, class)) if wait + self.prices.margin < cost => {
                    let end = first[class].unwrap_or_default();
                    if ends[class].next_if(|&plain| plain <= end).is_none() {
                        self.booked[class].pop();
                    }
                    let next = end + job.minutes()[class];
                    self.booked[class].push(Reverse(next.to_bits()));
                }
                _ => {
                    chosen = Some(Start { waiting, slice });
                    break;
                }
            }
        }
        self.order = order;
        chosen
    }
}
