//! The published heuristics, and simple rules of ours. Each starts the head of the queue, the job
//! with the earliest deadline, as soon as a slice is free. Where GPUs are repartitioned, they take a
//! slice that exists before one of its size that does not.

use super::rule::Rule;
use super::state::{Start, State};
use mapa_sched::slices::{SIZES, SliceJob};

/// The head of the queue with the slice that `of` gives it.
fn head(state: &State, of: impl FnOnce(&SliceJob) -> Option<usize>) -> Option<Start> {
    let slice = of(&state.queue().first()?.job)?;
    Some(Start { waiting: 0, slice })
}

fn largest(state: &State) -> Option<usize> {
    let class = state.free().classes().next()?;
    state.free().first(class)
}

/// The largest free slice. O(slices / 64), as the other rules here but for [`LeastCost`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LargestFirst;

impl Rule for LargestFirst {
    fn name(&self) -> &str {
        "largest-first"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        head(state, |_| largest(state))
    }
}

/// The smallest free slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmallestFirst;

impl Rule for SmallestFirst {
    fn name(&self) -> &str {
        "smallest-first"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        let class = state.free().classes().next_back();
        head(state, |_| state.free().first(class?))
    }
}

/// The free slice on which the job ends first. As no job runs longer on a larger slice, this is
/// [`LargestFirst`], but for jobs that gain nothing from size.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarliestFinish;

impl Rule for EarliestFinish {
    fn name(&self) -> &str {
        "eft"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        head(state, |job| {
            let minutes = job.minutes();
            let classes = state.free().classes();
            let best = classes.min_by(|&a, &b| minutes[a].total_cmp(&minutes[b]))?;
            state.free().first(best)
        })
    }
}

/// "Earliest finish time" as the published code has it: the least of the *mean* run times on slices
/// of 1 and 2, on slices of 3 and 4, and on 7; of that group the lowest slice by number.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeanFinish;

impl Rule for MeanFinish {
    fn name(&self) -> &str {
        "eft-published"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        head(state, |job| {
            let [p1, p2, p3, p4, p7] = job.minutes();
            let free = |classes: [usize; 2]| {
                let each = classes
                    .iter()
                    .filter_map(|&class| state.free().first(class));
                each.min()
            };
            let groups = [
                ((p1 + p2) / 2.0, free([0, 1])),
                ((p3 + p4) / 2.0, free([2, 3])),
                (p7, free([4, 4])),
            ];
            let had = groups
                .into_iter()
                .filter_map(|(mean, slice)| Some((mean, slice?)));
            let best = had.min_by(|a, b| a.0.total_cmp(&b.0));
            best.map(|(_, slice)| slice)
        })
    }
}

/// Any free slice, with equal probability.
#[derive(Clone, Debug)]
pub struct RandomSlice<D> {
    draw: D,
}

impl<D: FnMut(usize) -> usize> RandomSlice<D> {
    /// The rule with this source of random numbers: `draw(n)` is a number below `n`.
    pub fn new(draw: D) -> Self {
        Self { draw }
    }
}

impl<D: FnMut(usize) -> usize> Rule for RandomSlice<D> {
    fn name(&self) -> &str {
        "random"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        let free = state.free_count();
        if free == 0 {
            return None;
        }
        head(state, |_| state.free().nth((self.draw)(free)))
    }
}

/// The smallest free slice on which the job is in time; if there is none, the largest. A rule of
/// MAPA's: it beats every published heuristic, and the published net, for next to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    fullest: bool,
}

impl Fit {
    /// Of equal slices, the one on the GPU with the most busy compute slices, which draws the least
    /// more for it. Without, the lowest by number.
    #[must_use]
    pub fn fullest() -> Self {
        Self { fullest: true }
    }
}

impl Rule for Fit {
    fn name(&self) -> &str {
        if self.fullest { "fit-fullest" } else { "fit" }
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        head(state, |job| {
            let free = state.free();
            let of_class = |class: usize| match free.groups(class).next() {
                Some(group) if self.fullest => free.first_of(class, group),
                _ => free.first(class),
            };
            let mut smallest_first = free.classes().rev().filter_map(of_class);
            let in_time = |slice: &usize| state.finish_on(job, *slice) <= job.deadline();
            let fits = smallest_first.find(in_time);
            fits.or_else(|| of_class(free.classes().next()?))
        })
    }
}

/// The slice of the least energy plus tardiness: what the GPU draws more while the job runs, priced
/// in minutes, and by how much the job is late. O(sizes x degrees of use).
#[derive(Clone, Copy, Debug)]
pub struct LeastCost {
    minutes_per_watt_minute: f64,
}

impl LeastCost {
    /// The rule with this price of energy, minutes of tardiness for a watt-minute.
    #[must_use]
    pub fn new(minutes_per_watt_minute: f64) -> Self {
        Self {
            minutes_per_watt_minute,
        }
    }
}

/// With the weight of the published code, 2.25e-5.
impl Default for LeastCost {
    fn default() -> Self {
        Self::new(2.25e-5)
    }
}

impl Rule for LeastCost {
    fn name(&self) -> &str {
        "least-cost"
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        head(state, |job| {
            let mut best: Option<(f64, usize)> = None;
            for class in state.free().classes() {
                for group in state.free().groups(class) {
                    let Some(slice) = state.free().first_of(class, group) else {
                        continue;
                    };
                    let minutes = job.minutes()[class] + state.delay(slice);
                    let late = (state.finish_on(job, slice) - job.deadline()).max(0.0);
                    let added = state.machine().power().added(group.used, SIZES[class]);
                    let cost = self.minutes_per_watt_minute * added * minutes + late;
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, slice));
                    }
                }
            }
            best.map(|(_, slice)| slice)
        })
    }
}
