//! The list of a batch: the best of some hundred orders by simple prices, each tried by simulation.

use std::cmp::Ordering;

use super::machines::{ANY, FAIR, GOOD, SetJob};
use mapa_sched::plan::PlanEntry;

/// How much a set of devices counts, by its number k of them: the orders to begin with. The last one
/// is for makespan alone.
const SEEDS: [fn(f64) -> f64; 5] = [
    |k| k,
    |_| 1.0,
    f64::sqrt,
    |k| (k - 1.0).exp2(),
    |k| 10_f64.powf(k - 1.0),
];
/// Factors on the price of each size, and on the power of the run time.
const SIZE_STEPS: [f64; 4] = [0.6, 0.8, 1.25, 1.6];
const POWER_STEPS: [f64; 3] = [0.5, 0.75, 1.33];
/// The same, once modes are chosen.
const SIZE_AGAIN: [f64; 2] = [0.7, 1.4];
const KIND_STEPS: [f64; 4] = [0.75, 0.9, 1.1, 1.33];
const POWER_AGAIN: [f64; 2] = [0.85, 1.15];
/// A ratio from which jobs wait for good sets, in one of the starts.
const FAST: f64 = 2.0;
/// The most kinds of jobs with prices of their own.
const KINDS: usize = 64;

/// Jobs of one size whose run times depend on links alike.
#[derive(Clone, Copy, Debug)]
struct JobClass {
    size: usize,
    gain: f64,
    chooses: bool,
}

/// An order and the modes: jobs come by price times a power of their ideal time.
#[derive(Clone, Debug)]
struct Recipe {
    /// The logarithm of the price of each kind.
    prices: Vec<f64>,
    modes: Vec<u8>,
    power: f64,
}

/// The jobs of a batch, and the best recipe so far.
struct RecipeSearch<'a, F> {
    jobs: &'a [PlanEntry<SetJob>],
    /// The logarithm of each job's ideal time, and its kind.
    events: Vec<(f64, usize)>,
    kinds: Vec<JobClass>,
    descending: bool,
    /// Whether jobs may wait for good sets.
    waits: bool,
    /// What a list costs, if it is no more than a limit.
    price: F,
    best: Recipe,
    cost: f64,
    list: Vec<PlanEntry<SetJob>>,
}

/// Arranges a batch whose run times are rough, in order of arrival: an order that was fitted to them
/// would be fitted to their errors. The shortest come first, or for the least makespan the largest,
/// then the longest (`descending`), and sensitive jobs wait for good sets: the list of
/// [`FirstFit`](crate::FirstFit).
pub(super) fn plain(
    jobs: &[PlanEntry<SetJob>],
    (descending, waits): (bool, bool),
) -> Vec<PlanEntry<SetJob>> {
    let gene = |entry: &PlanEntry<SetJob>| match entry.job.chooses && waits {
        true if entry.job.gain >= FAST - 1.0 => GOOD,
        true => FAIR,
        false => entry.gene,
    };
    let with = |entry: &PlanEntry<SetJob>| PlanEntry {
        gene: gene(entry),
        ..entry.clone()
    };
    let mut all: Vec<PlanEntry<SetJob>> = jobs.iter().map(with).collect();
    // Stable: ties stay in order of arrival.
    all.sort_by(|a, b| {
        let (a, b) = (&a.job, &b.job);
        if descending {
            let size = b.devices.cmp(&a.devices);
            size.then(b.ideal.total_cmp(&a.ideal))
        } else {
            a.ideal.total_cmp(&b.ideal)
        }
    });
    all
}

/// Arranges the jobs of a batch, which come in order of arrival: `price` simulates a list. For the
/// least makespan the longest come first (`descending`), else the shortest. Sensitive jobs wait for
/// good sets only if they may (`waits`).
///
/// # Complexity
/// Some 100 simulations, and 14 more for each kind of job, of at most 64.
pub(super) fn arrange(
    jobs: &[PlanEntry<SetJob>],
    (descending, waits): (bool, bool),
    price: impl FnMut(&[PlanEntry<SetJob>], f64) -> Option<f64>,
) -> Vec<PlanEntry<SetJob>> {
    let mut kinds: Vec<JobClass> = Vec::new();
    let events = jobs.iter().map(|entry| {
        let job = &entry.job;
        let own = JobClass {
            size: usize::from(job.devices),
            gain: job.gain,
            chooses: job.chooses,
        };
        let alike = |other: &JobClass| {
            other.size == own.size
                && other.chooses == own.chooses
                && (other.gain - own.gain).abs() < 0.1
        };
        let kind = kinds.iter().position(alike).unwrap_or_else(|| {
            if kinds.len() < KINDS {
                kinds.push(own);
            }
            kinds.len() - 1
        });
        (job.ideal.max(1e-9).ln(), kind)
    });
    let events: Vec<(f64, usize)> = events.collect();
    let best = Recipe {
        prices: vec![0.0; kinds.len()],
        modes: vec![ANY; kinds.len()],
        power: 1.0,
    };
    let mut search = RecipeSearch {
        jobs,
        events,
        kinds,
        descending,
        waits,
        price,
        best,
        cost: f64::INFINITY,
        list: jobs.to_vec(),
    };
    search.run();
    search.list
}

impl<F: FnMut(&[PlanEntry<SetJob>], f64) -> Option<f64>> RecipeSearch<'_, F> {
    fn run(&mut self) {
        let seeds = SEEDS.len() - usize::from(!self.descending);
        for seed in &SEEDS[..seeds] {
            self.attempt(self.priced(&self.best, seed));
        }
        let mut sizes: Vec<usize> = self.kinds.iter().map(|kind| kind.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // The price of the smallest size is the unit of the others.
        let others = sizes.get(1..).unwrap_or(&[]).to_vec();
        for _ in 0..2 {
            self.sizes(&others, &SIZE_STEPS);
        }
        self.powers(&POWER_STEPS);
        let plain = self.best.clone();
        for start in 0..3 {
            let mode = |kind: &JobClass| match start {
                _ if !self.waits => ANY,
                0 => ANY,
                1 => GOOD,
                _ if kind.gain >= FAST - 1.0 => GOOD,
                _ => FAIR,
            };
            let modes: Vec<u8> = self.kinds.iter().map(mode).collect();
            let recipe = Recipe {
                modes,
                ..plain.clone()
            };
            self.attempt(recipe.clone());
            for seed in &SEEDS[..2] {
                self.attempt(self.priced(&recipe, seed));
            }
            self.sizes(&others, &SIZE_AGAIN);
        }
        for _ in 0..2 {
            for kind in 0..self.kinds.len() {
                for mode in [ANY, GOOD, FAIR] {
                    let may = self.waits || mode == ANY;
                    if may && self.kinds[kind].chooses && self.best.modes[kind] != mode {
                        let mut own = self.best.clone();
                        own.modes[kind] = mode;
                        self.attempt(own);
                    }
                }
                for step in KIND_STEPS {
                    let mut own = self.best.clone();
                    own.prices[kind] += step.ln();
                    self.attempt(own);
                }
            }
            self.powers(&POWER_AGAIN);
        }
    }

    /// A recipe with these prices by size instead.
    fn priced(&self, recipe: &Recipe, price: &fn(f64) -> f64) -> Recipe {
        let prices = self.kinds.iter().map(|kind| price(kind.size as f64).ln());
        Recipe {
            prices: prices.collect(),
            ..recipe.clone()
        }
    }

    fn sizes(&mut self, sizes: &[usize], steps: &[f64]) {
        for &size in sizes {
            for step in steps {
                let mut recipe = self.best.clone();
                for (price, kind) in recipe.prices.iter_mut().zip(&self.kinds) {
                    *price += if kind.size == size { step.ln() } else { 0.0 };
                }
                self.attempt(recipe);
            }
        }
    }

    fn powers(&mut self, steps: &[f64]) {
        for step in steps {
            let mut own = self.best.clone();
            own.power *= step;
            self.attempt(own);
        }
    }

    /// Tries a recipe, and keeps it if it costs less than the best.
    fn attempt(&mut self, recipe: Recipe) {
        let mut order: Vec<(f64, usize)> = self
            .events
            .iter()
            .enumerate()
            .map(|(at, &(time, kind))| (recipe.prices[kind] + recipe.power * time, at))
            .collect();
        let descending = self.descending;
        order.sort_unstable_by(|a, b| {
            let by = a.0.total_cmp(&b.0);
            let by: Ordering = if descending { by.reverse() } else { by };
            by.then(a.1.cmp(&b.1))
        });
        let list: Vec<PlanEntry<SetJob>> = order
            .iter()
            .map(|&(_, at)| PlanEntry {
                gene: recipe.modes[self.events[at].1],
                ..self.jobs[at].clone()
            })
            .collect();
        let cost = (self.price)(&list, self.cost);
        if let Some(cost) = cost.filter(|cost| *cost < self.cost) {
            (self.cost, self.best, self.list) = (cost, recipe, list);
        }
    }
}
