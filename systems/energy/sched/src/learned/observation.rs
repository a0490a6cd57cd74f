//! What a learned rule sees.

use super::super::histogram::{BINS, EDGES, lengths};
use super::super::machine::SlicedGpus;
use super::super::state::{State, Waiting};
use mapa_sched::slices::SIZES;

/// Which of the two observations of Hisaria et al. a net sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formulation {
    /// The first: the head of the queue, histograms of the queue, which slices are busy.
    Original,
    /// The second: also how urgent the head is, and how large the slices are.
    Enhanced,
}

impl Formulation {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Original, Self::Enhanced];

    /// Its name: `original` or `enhanced`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Enhanced => "enhanced",
        }
    }

    /// The formulation of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|formulation| formulation.name() == name)
    }
}

/// How a state is written as numbers, for one machine. In this order, with those in brackets only
/// for [`Formulation::Enhanced`]:
///
/// | numbers | meaning |
/// |---|---|
/// | 4 \[5\] | the head of the queue: minutes to its deadline / 100; run time on slices of 1 and 2 in sum / 200; of 3 and 4 in sum / 200; of 7 / 100; \[urgency: run time on 7 / minutes to the deadline, from 0 to 1\] |
/// | 4 x 10 | shares of the queue by minutes to the deadline, mean run time on 1 and 2, mean on 3 and 4, run time on 7 |
/// | slices | 0 for a slice that is free, else 1 |
/// | \[slices\] | \[size of the slice / 7\] |
/// | slices | only where GPUs are repartitioned: 1 for a slice that exists, else 0 |
/// | 2 \[3\] | jobs that wait / 100, at most 1; share of free slices; \[largest free size / 7\] |
///
/// The lower edges of the ten bins are -100, 0, 0.05, 0.2, 0.5, 1, 5, 10, 20 and 30 minutes. The
/// published eight GPUs with 20 slices give 66 and 88 numbers. Without a queue its numbers are 0.
///
/// An action is the number of a slice: the head of the queue starts there. Only free slices are
/// allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    formulation: Formulation,
    /// The size of each slice / 7.
    sizes: Vec<f32>,
    /// Whether GPUs are repartitioned.
    is_flexible: bool,
}

impl Observation {
    /// For the states of this machine.
    #[must_use]
    pub fn new(formulation: Formulation, machine: &SlicedGpus) -> Self {
        let sizes = machine.sizes().iter();
        Self {
            formulation,
            sizes: sizes.map(|&size| f32::from(size) / 7.0).collect(),
            is_flexible: machine.creation_minutes().is_some(),
        }
    }

    /// Which of the two it is.
    #[must_use]
    pub fn formulation(&self) -> Formulation {
        self.formulation
    }

    /// How many slices there are, and so how many actions.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.sizes.len()
    }

    /// How many numbers it has.
    #[must_use]
    pub fn numbers(&self) -> usize {
        let slices = self.sizes.len();
        let exist = if self.is_flexible { slices } else { 0 };
        match self.formulation {
            Formulation::Original => 4 + 4 * BINS + slices + exist + 2,
            Formulation::Enhanced => 5 + 4 * BINS + 2 * slices + exist + 3,
        }
    }

    /// Where the numbers of [`Formulation::Original`] lie among these, in order.
    #[must_use]
    pub fn original(&self) -> Vec<usize> {
        if self.formulation == Formulation::Original {
            return (0..self.numbers()).collect();
        }
        let slices = self.sizes.len();
        let busy = 5 + 4 * BINS;
        let exist = busy + 2 * slices;
        let last = self.numbers() - 3;
        let kept = [0..4, 5..busy + slices, exist..last + 2];
        kept.into_iter().flatten().collect()
    }

    /// Appends the [numbers](Self::numbers) of a state of the machine.
    ///
    /// # Panics
    /// A state of a machine with fewer slices.
    ///
    /// # Complexity
    /// O(slices + bins x log queue).
    pub fn append(&self, state: &State, to: &mut Vec<f32>) {
        let from = to.len();
        to.resize(from + self.numbers(), 0.0);
        let is_enhanced = self.formulation == Formulation::Enhanced;
        let (head, rest) = to[from..].split_at_mut(if is_enhanced { 5 } else { 4 });
        let (queue, rest) = rest.split_at_mut(4 * BINS);
        let (busy, rest) = rest.split_at_mut(self.sizes.len());
        self.head(state, head);
        histograms(state, queue);
        for (slice, to) in busy.iter_mut().enumerate() {
            *to = f32::from(u8::from(!state.is_free(slice)));
        }
        let (slices, last) = rest.split_at_mut(rest.len() - if is_enhanced { 3 } else { 2 });
        let (sizes, exist) = slices.split_at_mut(if is_enhanced { self.sizes.len() } else { 0 });
        for (slice, to) in exist.iter_mut().enumerate() {
            *to = f32::from(u8::from(state.exists(slice)));
        }
        if is_enhanced {
            sizes.copy_from_slice(&self.sizes);
            let largest = state.free().classes().next();
            last[2] = largest.map_or(0.0, |class| f32::from(SIZES[class]) / 7.0);
        }
        last[0] = (state.queue().len() as f32 / 100.0).min(1.0);
        last[1] = state.free_count() as f32 / self.sizes.len() as f32;
    }

    fn head(&self, state: &State, to: &mut [f32]) {
        let Some(own) = state.queue().first() else {
            return;
        };
        let left = own.job.deadline() - state.now();
        let [small, medium, fastest] = lengths(&own.job);
        let numbers = [
            left / 100.0,
            small / 100.0,
            medium / 100.0,
            fastest / 100.0,
            (fastest / left.max(0.01)).min(1.0),
        ];
        for (to, number) in to.iter_mut().zip(numbers) {
            *to = number as f32;
        }
    }
}

/// The four histograms of the queue, in shares of it.
fn histograms(state: &State, to: &mut [f32]) {
    let queue = state.queue();
    if queue.is_empty() {
        return;
    }
    let part = 1.0 / queue.len() as f32;
    let (left, lengths) = to.split_at_mut(BINS);
    // The queue is in the order of deadlines, so each bin is a part of it.
    let is_below = |waiting: &Waiting, edge: f64| waiting.job.deadline() - state.now() < edge;
    let below = |edge: f64, from: usize| {
        let later = &queue[from..];
        // Most bins have none of the rest of the queue, or all of it.
        match later {
            [first, ..] if !is_below(first, edge) => from,
            [.., last] if is_below(last, edge) => queue.len(),
            _ => from + later.partition_point(|waiting| is_below(waiting, edge)),
        }
    };
    let mut from = below(EDGES[0], 0);
    for (bin, to) in left.iter_mut().enumerate() {
        let end = EDGES
            .get(bin + 1)
            .map_or(queue.len(), |&edge| below(edge, from));
        *to = (end - from) as f32 * part;
        from = end;
    }
    let counts = state.histograms().counts().iter().flatten();
    for (to, &count) in lengths.iter_mut().zip(counts) {
        *to = count as f32 * part;
    }
}
