//! The largest fractional packing of things that use up capacities.
//!
//! The things (rings, spanning trees, routings of an exchange) are too many to be listed. The only
//! operation needed on them is to find the cheapest thing at given prices of the capacities.
//! Packing and pricing are dual linear programs:
//!
//! - packing: the largest total amount of things such that no capacity is exceeded;
//! - pricing: the least price of all capacities together such that no thing costs less than 1.
//!
//! The pricing program is solved over the things found so far. If the cheapest thing at its prices
//! costs less than 1, it is added as one more row. Seen from pricing these are Kelley's cutting
//! planes; seen from packing, column generation. Prices halfway to the best prices so far are tried
//! first, which keeps the prices from oscillating (in-out separation; Ben-Ameur and Neto, Networks
//! 49, 2007).
//!
//! No answer relies on the solver. Any prices prove that no packing exceeds (price of all
//! capacities) / (price of the cheapest thing). Any amounts, scaled until the fullest capacity is
//! just full, are a packing. Both are computed here. If the solver fails or the rounds run out, a
//! gap between the two is left, and reported.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

/// How far a packing is improved: the more, the smaller the gap to the bound.
#[derive(Clone, Copy)]
pub(super) struct PackingEffort {
    /// How many things are sought greedily before the first linear program.
    first: usize,
    /// The most linear programs solved.
    rounds: usize,
}

impl PackingEffort {
    /// Enough for an exact packing of almost all networks of up to some fifty devices.
    pub(super) const FULL: Self = Self {
        first: 24,
        rounds: 600,
    };

    /// The effort if the cheapest thing takes `steps` to find: a second at most, instead of minutes.
    pub(super) fn for_steps(steps: usize) -> Self {
        const MOST_FIRST: usize = 200_000_000;
        const MOST_ROUNDS: usize = 60_000_000;
        Self {
            first: (MOST_FIRST / steps.max(1)).clamp(1, Self::FULL.first),
            rounds: (MOST_ROUNDS / steps.max(1)).min(Self::FULL.rounds),
        }
    }
}

/// Two bounds count as equal if their relative difference is no more than this.
const SAME: f64 = 1e-9;
/// The significant digits to which an exact result is rounded: numerical noise lies below them.
const DIGITS: i32 = 7;

/// A packing that was found, and a proven bound of all packings.
#[derive(Debug)]
pub(super) struct FractionalPacking<T> {
    /// The things, and the amount of each.
    pub(super) parts: Vec<(T, f64)>,
    /// The sum of the amounts.
    pub(super) amount: f64,
    /// No packing is larger than this, apart from noise.
    pub(super) at_most: f64,
}

/// The largest packing into these capacities, each above 0.
///
/// `cheapest` gets a price for each capacity. It returns a thing of least price, and what one unit
/// of it takes of each capacity; none if there is no such thing at all.
///
/// # Complexity
///
/// At most as many linear programs as the effort has rounds, mostly some tens, each with one variable
/// per capacity and one row per thing found.
pub(super) fn largest<T>(
    capacities: &[f64],
    cheapest: impl Fn(&[f64]) -> Option<(T, Vec<f64>)>,
) -> FractionalPacking<T> {
    largest_by(PackingEffort::FULL, capacities, cheapest)
}

/// [`largest`] with this effort.
pub(super) fn largest_by<T>(
    effort: PackingEffort,
    capacities: &[f64],
    cheapest: impl Fn(&[f64]) -> Option<(T, Vec<f64>)>,
) -> FractionalPacking<T> {
    let (scale, capacities) = scaled(capacities);
    let (found, best) = (Vec::new(), Vec::new());
    let mut search = PackingSearch {
        effort,
        capacities: &capacities,
        cheapest,
        found,
        at_most: f64::INFINITY,
        best,
    };
    if !search.greedily() {
        return FractionalPacking {
            parts: Vec::new(),
            amount: 0.0,
            at_most: 0.0,
        };
    }
    search.by_prices();
    search.packing().times(scale)
}

/// The largest packing of these things alone. The bound, too, holds for packings of these things
/// only.
pub(super) fn of<T>(capacities: &[f64], found: Vec<(T, Vec<f64>)>) -> FractionalPacking<T> {
    let (scale, capacities) = scaled(capacities);
    let search = PackingSearch {
        effort: PackingEffort::FULL,
        capacities: &capacities,
        cheapest: |_: &[f64]| None,
        found,
        at_most: f64::INFINITY,
        best: Vec::new(),
    };
    search.packing().times(scale)
}

/// The largest capacity, and the capacities in units of it. The solver's tolerances are made for
/// numbers around 1.
fn scaled(capacities: &[f64]) -> (f64, Vec<f64>) {
    let largest = capacities.iter().copied().fold(0.0, f64::max);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    (
        scale,
        capacities.iter().map(|capacity| capacity / scale).collect(),
    )
}

impl<T> FractionalPacking<T> {
    /// The packing with all amounts multiplied.
    fn times(self, scale: f64) -> Self {
        let parts = self
            .parts
            .into_iter()
            .map(|(thing, amount)| (thing, amount * scale))
            .collect();
        Self {
            parts,
            amount: self.amount * scale,
            at_most: self.at_most * scale,
        }
    }
}

/// The state of a search: the things found so far, and the best bound.
struct PackingSearch<'a, T, F> {
    effort: PackingEffort,
    capacities: &'a [f64],
    cheapest: F,
    /// Each thing, and what a unit of it takes of each capacity.
    found: Vec<(T, Vec<f64>)>,
    at_most: f64,
    /// The prices that prove the bound, scaled so that the cheapest thing costs 1.
    best: Vec<f64>,
}

impl<T, F: Fn(&[f64]) -> Option<(T, Vec<f64>)>> PackingSearch<'_, T, F> {
    /// The cheapest thing at these prices, its load and its cost. The bound that the prices prove
    /// is kept if it is better.
    fn ask(&mut self, prices: &[f64]) -> Option<(T, Vec<f64>, f64)> {
        let (thing, load) = (self.cheapest)(prices)?;
        // Weak duality: divided by `cost`, no thing costs less than 1 at these prices, so a packing
        // of amount A costs at least A, and it cannot cost more than all capacities together.
        let cost = dot(prices, &load);
        let bound = dot(prices, self.capacities) / cost;
        if bound < self.at_most {
            self.at_most = bound;
            self.best = prices.iter().map(|price| price / cost).collect();
        }
        Some((thing, load, cost))
    }

    /// Finds first things greedily: each is the cheapest at prices that are high where the earlier
    /// ones filled capacities. False if there is no thing at all.
    fn greedily(&mut self) -> bool {
        let mut used = vec![0.0; self.capacities.len()];
        for _ in 0..self.effort.first {
            let fullest = used.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            // The power makes a capacity that is nearly full far dearer than one that is half full;
            // the constant keeps unused ones from being free, so that short things are preferred.
            let prices: Vec<f64> = used
                .iter()
                .zip(self.capacities)
                .map(|(used, capacity)| (0.1 + used / fullest).powi(4) / capacity)
                .collect();
            let Some((thing, load, _)) = self.ask(&prices) else {
                return false;
            };
            let room = room(self.capacities, &load);
            for ((used, load), capacity) in used.iter_mut().zip(&load).zip(self.capacities) {
                *used += room * load / capacity;
            }
            if self.found.iter().all(|(_, known)| *known != load) {
                self.found.push((thing, load));
            }
        }
        true
    }

    /// Adds cutting planes until no thing costs less than 1 at the prices found.
    fn by_prices(&mut self) {
        let Some((mut pricing, variables)) = self.pricing() else {
            return;
        };
        for _ in 0..self.effort.rounds {
            let prices: Vec<f64> = variables
                .iter()
                .map(|&v| pricing.var_value(v).max(0.0))
                .collect();
            // The program over some of the things gives a lower bound of the least price, and
            // `at_most` is an upper bound: where they meet, no further thing is needed.
            if self.at_most <= dot(&prices, self.capacities) * (1.0 + SAME / 10.0) {
                return;
            }
            let halfway: Vec<f64> = prices
                .iter()
                .zip(&self.best)
                .map(|(a, b)| 0.5 * (a + b))
                .collect();
            // There are no best prices yet if capacities differ too much for any bound to be
            // proven.
            let halfway = if self.best.is_empty() {
                None
            } else {
                self.cut(&halfway, &prices)
            };
            let Some(row) = halfway.or_else(|| self.cut(&prices, &prices)) else {
                return;
            };
            let row = variables
                .iter()
                .copied()
                .zip(row)
                .filter(|(_, load)| *load > 0.0)
                .collect::<Vec<_>>();
            let next = pricing.add_constraint(&row[..], ComparisonOp::Ge, 1.0).ok();
            let Some(next) = next.and_then(|outcome| outcome.into_solution().ok()) else {
                return;
            };
            pricing = next;
        }
    }

    /// The row of the cheapest thing at `prices`, if it costs less than 1 at `wanted`: then it cuts
    /// these prices off.
    fn cut(&mut self, prices: &[f64], wanted: &[f64]) -> Option<Vec<f64>> {
        let (thing, load, _) = self.ask(prices)?;
        (dot(wanted, &load) < 1.0 - SAME / 10.0).then(|| {
            self.found.push((thing, load.clone()));
            load
        })
    }

    /// The pricing program over the things found so far, solved, and its variables.
    fn pricing(&self) -> Option<(Solution, Vec<Variable>)> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let variables: Vec<_> = self
            .capacities
            .iter()
            .map(|c| problem.add_var(*c, (0.0, f64::INFINITY)))
            .collect();
        for (_, load) in &self.found {
            let row: Vec<_> = variables
                .iter()
                .copied()
                .zip(load.iter().copied())
                .filter(|(_, x)| *x > 0.0)
                .collect();
            problem.add_constraint(&row[..], ComparisonOp::Ge, 1.0);
        }
        Some((problem.solve().ok()?.into_solution().ok()?, variables))
    }

    /// The largest packing of the things found; of a single thing if the solver fails.
    fn packing(self) -> FractionalPacking<T> {
        let amounts = self.amounts().map(|amounts| self.fitted(amounts));
        let amounts: Vec<f64> = amounts.unwrap_or_else(|| self.alone());
        let amount: f64 = amounts.iter().sum();
        let parts = self
            .found
            .into_iter()
            .zip(amounts)
            .filter(|(_, amount)| *amount > 0.0);
        let parts = parts.map(|((thing, _), amount)| (thing, amount)).collect();
        FractionalPacking {
            parts,
            amount,
            at_most: self.at_most.max(amount),
        }
    }

    /// The amounts of a packing of one thing: the one of which most fits.
    fn alone(&self) -> Vec<f64> {
        let rooms: Vec<f64> = self
            .found
            .iter()
            .map(|(_, load)| room(self.capacities, load))
            .collect();
        let best = (0..rooms.len()).max_by(|&a, &b| rooms[a].total_cmp(&rooms[b]));
        (0..rooms.len())
            .map(|i| if Some(i) == best { rooms[i] } else { 0.0 })
            .collect()
    }

    /// The amount of each thing found, as the solver gives it.
    fn amounts(&self) -> Option<Vec<f64>> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let variables: Vec<_> = self
            .found
            .iter()
            .map(|_| problem.add_var(1.0, (0.0, f64::INFINITY)))
            .collect();
        for (i, capacity) in self.capacities.iter().enumerate() {
            let row = variables
                .iter()
                .zip(&self.found)
                .map(|(&v, (_, load))| (v, load[i]));
            let row: Vec<_> = row.filter(|(_, load)| *load > 0.0).collect();
            if !row.is_empty() {
                problem.add_constraint(&row[..], ComparisonOp::Le, *capacity);
            }
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(
            variables
                .iter()
                .map(|&v| solution.var_value(v).max(0.0))
                .collect(),
        )
    }

    /// These amounts, scaled until the fullest capacity is just full. Whatever the solver's error,
    /// the result is a packing.
    fn fitted(&self, amounts: Vec<f64>) -> Vec<f64> {
        let mut load = vec![0.0; self.capacities.len()];
        for (amount, (_, each)) in amounts.iter().zip(&self.found) {
            load.iter_mut()
                .zip(each)
                .for_each(|(load, each)| *load += amount * each);
        }
        let scale = room(self.capacities, &load);
        amounts
            .into_iter()
            .map(|amount| {
                if scale.is_finite() {
                    amount * scale
                } else {
                    0.0
                }
            })
            .collect()
    }
}

/// How many units fit of a thing that takes `load`.
fn room(capacities: &[f64], load: &[f64]) -> f64 {
    let rooms = capacities
        .iter()
        .zip(load)
        .filter(|(_, load)| **load > 0.0)
        .map(|(capacity, load)| capacity / load);
    rooms.fold(f64::INFINITY, f64::min)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether a packing is known to be the largest: the two bounds differ by noise only.
pub(super) fn agree(at_least: f64, at_most: f64) -> bool {
    at_most.is_finite() && at_most - at_least <= SAME * at_most
}

/// Two bounds as they are reported: rounded to one number where they agree, else as they are.
pub(super) fn settled(at_least: f64, at_most: f64) -> (f64, f64) {
    if agree(at_least, at_most) {
        (rounded(at_least), rounded(at_least))
    } else {
        (at_least, at_most)
    }
}

/// A number rounded to seven significant digits, so that results do not depend on the way in which
/// a packing was found.
pub(crate) fn rounded(gbps: f64) -> f64 {
    let digits = DIGITS - 1 - gbps.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let unit = 10f64.powi(digits.clamp(-300, 300));
    let rounded = (gbps * unit).round() / unit;
    if rounded.is_finite() { rounded } else { gbps }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that finds the cheapest of some listed things.
    fn listed(things: &[Vec<f64>]) -> impl Fn(&[f64]) -> Option<(usize, Vec<f64>)> {
        |prices| {
            let costs: Vec<f64> = things.iter().map(|thing| dot(prices, thing)).collect();
            let best = (0..things.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]))?;
            Some((best, things[best].clone()))
        }
    }

    #[test]
    fn pairs_of_three_capacities_pack_by_halves() {
        let pairs = [
            vec![1.0, 1.0, 0.0],
            vec![0.0, 1.0, 1.0],
            vec![1.0, 0.0, 1.0],
        ];
        let packing = largest(&[2.0, 2.0, 2.0], listed(&pairs));
        assert_eq!(settled(packing.amount, packing.at_most), (3.0, 3.0));
        assert_eq!(packing.parts.len(), 3);
        let packing = largest(&[2.0, 2.0, 10.0], listed(&pairs));
        assert_eq!(settled(packing.amount, packing.at_most), (4.0, 4.0));
    }

    #[test]
    fn where_there_is_nothing_nothing_is_packed() {
        let packing = largest(&[1.0], listed(&[]));
        assert_eq!(
            (packing.amount, packing.at_most, packing.parts.len()),
            (0.0, 0.0, 0)
        );
    }

    #[test]
    fn bounds_that_differ_by_noise_are_one_number_and_others_are_left() {
        assert_eq!(settled(51.999_999_999_9, 52.000_000_000_1), (52.0, 52.0));
        assert_eq!(settled(51.0, 52.0), (51.0, 52.0));
        assert_eq!(settled(0.0, 0.0), (0.0, 0.0));
    }
}
