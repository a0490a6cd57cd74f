//! The largest fractional packing of things that use up capacities.
//!
//! The things (spanning trees; ways to route an exchange) are too many to be listed. All that is asked of them is a way to
//! find the cheapest at given prices. Packing and pricing are a pair of linear programs:
//!
//! - packing: the most things in sum, such that no capacity is exceeded;
//! - pricing: the least price of all capacities together, such that no thing costs less than 1.
//!
//! The second is solved over the things found so far; the cheapest thing at its prices, if it costs less than 1, is one more
//! of them (Kelley's cutting planes; for the packing, column generation). Prices halfway to the best so far are tried first,
//! which keeps them from jumping about (Ben-Ameur and Neto, Networks 49 (2007): in-out separation).
//!
//! No answer rests on the solver. Any prices prove that no packing exceeds (price of all capacities) / (price of the
//! cheapest thing); any amounts, scaled to the fullest capacity, are a packing. Both are worked out here, and where the solver
//! fails or the rounds run out, a gap between them is left and told.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::Bandwidth;

/// Things found by turns before the first linear program.
const FIRST: usize = 24;
/// Linear programs at most.
const ROUNDS: usize = 600;
/// The two bounds are one where they differ by no more than this part.
const SAME: f64 = 1e-9;
/// The digits to which such a number is told: that far, no noise shows.
const DIGITS: i32 = 7;

/// A packing, and what is proven of all others.
#[derive(Debug)]
pub(super) struct Packing<T> {
    /// Things and how much of each.
    pub(super) parts: Vec<(T, f64)>,
    /// The amounts added up.
    pub(super) amount: f64,
    /// No packing is larger, but for noise.
    pub(super) at_most: f64,
}

/// The largest packing into these capacities, each above 0. `cheapest` finds a thing of least price at the prices of the
/// capacities, and what one of it takes of each; none if there is no such thing at all.
///
/// At most [`ROUNDS`] linear programs with one variable a capacity and one row a thing found; mostly some tens.
pub(super) fn largest<T>(capacities: &[f64], cheapest: impl Fn(&[f64]) -> Option<(T, Vec<f64>)>) -> Packing<T> {
    let (scale, capacities) = scaled(capacities);
    let (found, best) = (Vec::new(), Vec::new());
    let mut search = Search { capacities: &capacities, cheapest, found, at_most: f64::INFINITY, best };
    if !search.in_turns() {
        return Packing { parts: Vec::new(), amount: 0.0, at_most: 0.0 };
    }
    search.by_prices();
    search.packing().times(scale)
}

/// The largest packing of these things alone; what is proven is of these alone, too.
pub(super) fn of<T>(capacities: &[f64], found: Vec<(T, Vec<f64>)>) -> Packing<T> {
    let (scale, capacities) = scaled(capacities);
    let cheapest = |_: &[f64]| None;
    let search = Search { capacities: &capacities, cheapest, found, at_most: f64::INFINITY, best: Vec::new() };
    search.packing().times(scale)
}

/// The capacities in units of the largest, which is what the solver's tolerances are made for.
fn scaled(capacities: &[f64]) -> (f64, Vec<f64>) {
    let largest = capacities.iter().copied().fold(0.0, f64::max);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    (scale, capacities.iter().map(|capacity| capacity / scale).collect())
}

impl<T> Packing<T> {
    fn times(self, scale: f64) -> Self {
        let parts = self.parts.into_iter().map(|(thing, amount)| (thing, amount * scale)).collect();
        Self { parts, amount: self.amount * scale, at_most: self.at_most * scale }
    }
}

/// The packing of one thing after the other.
struct Search<'a, T, F> {
    capacities: &'a [f64],
    cheapest: F,
    found: Vec<(T, Vec<f64>)>,
    at_most: f64,
    /// The prices that prove it, the cheapest thing at 1.
    best: Vec<f64>,
}

impl<T, F: Fn(&[f64]) -> Option<(T, Vec<f64>)>> Search<'_, T, F> {
    /// The cheapest thing at these prices and its cost; the bound that they prove is kept.
    fn ask(&mut self, prices: &[f64]) -> Option<(T, Vec<f64>, f64)> {
        let (thing, load) = (self.cheapest)(prices)?;
        let cost = dot(prices, &load);
        let bound = dot(prices, self.capacities) / cost;
        if bound < self.at_most {
            self.at_most = bound;
            self.best = prices.iter().map(|price| price / cost).collect();
        }
        Some((thing, load, cost))
    }

    /// First things: each the cheapest where what the earlier ones filled is dear. Whether there are any.
    fn in_turns(&mut self) -> bool {
        let mut used = vec![0.0; self.capacities.len()];
        for _ in 0..FIRST {
            let fullest = used.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let price = |(used, capacity): (&f64, &f64)| (0.1 + used / fullest).powi(4) / capacity;
            let prices: Vec<f64> = used.iter().zip(self.capacities).map(price).collect();
            let Some((thing, load, _)) = self.ask(&prices) else { return false };
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

    /// Cutting planes, until no thing costs less than 1 at the prices found.
    fn by_prices(&mut self) {
        let Some((mut pricing, variables)) = self.pricing() else { return };
        for _ in 0..ROUNDS {
            let prices: Vec<f64> = variables.iter().map(|&v| pricing.var_value(v).max(0.0)).collect();
            if self.at_most <= dot(&prices, self.capacities) * (1.0 + SAME / 10.0) {
                return;
            }
            let halfway: Vec<f64> = prices.iter().zip(&self.best).map(|(a, b)| 0.5 * (a + b)).collect();
            // Nothing is proven yet where capacities are too far apart for prices.
            let halfway = if self.best.is_empty() { None } else { self.cut(&halfway, &prices) };
            let Some(row) = halfway.or_else(|| self.cut(&prices, &prices)) else { return };
            let row = variables.iter().copied().zip(row).filter(|(_, load)| *load > 0.0).collect::<Vec<_>>();
            let next = pricing.add_constraint(&row[..], ComparisonOp::Ge, 1.0).ok();
            let Some(next) = next.and_then(|outcome| outcome.into_solution().ok()) else { return };
            pricing = next;
        }
    }

    /// The cheapest thing at some prices, if it costs less than 1 at `wanted`: its row.
    fn cut(&mut self, prices: &[f64], wanted: &[f64]) -> Option<Vec<f64>> {
        let (thing, load, _) = self.ask(prices)?;
        (dot(wanted, &load) < 1.0 - SAME / 10.0).then(|| {
            self.found.push((thing, load.clone()));
            load
        })
    }

    /// The prices at which nothing found so far costs less than 1.
    fn pricing(&self) -> Option<(Solution, Vec<Variable>)> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let variables: Vec<_> = self.capacities.iter().map(|c| problem.add_var(*c, (0.0, f64::INFINITY))).collect();
        for (_, load) in &self.found {
            let row: Vec<_> = variables.iter().copied().zip(load.iter().copied()).filter(|(_, x)| *x > 0.0).collect();
            problem.add_constraint(&row[..], ComparisonOp::Ge, 1.0);
        }
        Some((problem.solve().ok()?.into_solution().ok()?, variables))
    }

    /// The largest packing of what was found; of one thing alone where the solver fails.
    fn packing(self) -> Packing<T> {
        let amounts = self.amounts().map(|amounts| self.fitted(amounts));
        let alone = || {
            let rooms: Vec<f64> = self.found.iter().map(|(_, load)| room(self.capacities, load)).collect();
            let best = (0..rooms.len()).max_by(|&a, &b| rooms[a].total_cmp(&rooms[b]));
            (0..rooms.len()).map(|i| if Some(i) == best { rooms[i] } else { 0.0 }).collect()
        };
        let amounts: Vec<f64> = amounts.unwrap_or_else(alone);
        let amount: f64 = amounts.iter().sum();
        let parts = self.found.into_iter().zip(amounts).filter(|(_, amount)| *amount > 0.0);
        let parts = parts.map(|((thing, _), amount)| (thing, amount)).collect();
        Packing { parts, amount, at_most: self.at_most.max(amount) }
    }

    /// How much of each thing found, as the solver says.
    fn amounts(&self) -> Option<Vec<f64>> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let variables: Vec<_> = self.found.iter().map(|_| problem.add_var(1.0, (0.0, f64::INFINITY))).collect();
        for (i, capacity) in self.capacities.iter().enumerate() {
            let row = variables.iter().zip(&self.found).map(|(&v, (_, load))| (v, load[i]));
            let row: Vec<_> = row.filter(|(_, load)| *load > 0.0).collect();
            if !row.is_empty() {
                problem.add_constraint(&row[..], ComparisonOp::Le, *capacity);
            }
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(variables.iter().map(|&v| solution.var_value(v).max(0.0)).collect())
    }

    /// These amounts, scaled until the fullest capacity is just full.
    fn fitted(&self, amounts: Vec<f64>) -> Vec<f64> {
        let mut load = vec![0.0; self.capacities.len()];
        for (amount, (_, each)) in amounts.iter().zip(&self.found) {
            load.iter_mut().zip(each).for_each(|(load, each)| *load += amount * each);
        }
        let scale = room(self.capacities, &load);
        amounts.into_iter().map(|amount| if scale.is_finite() { amount * scale } else { 0.0 }).collect()
    }
}

/// How much of something fits that takes `load`.
fn room(capacities: &[f64], load: &[f64]) -> f64 {
    let rooms = capacities.iter().zip(load).filter(|(_, load)| **load > 0.0).map(|(capacity, load)| capacity / load);
    rooms.fold(f64::INFINITY, f64::min)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether a packing is known to be the largest: the bounds differ by noise.
pub(super) fn agree(at_least: f64, at_most: f64) -> bool {
    at_most.is_finite() && at_most - at_least <= SAME * at_most
}

/// Two bounds as they are told: one number where they agree.
pub(super) fn settled(at_least: f64, at_most: f64) -> (f64, f64) {
    if agree(at_least, at_most) { (rounded(at_least), rounded(at_least)) } else { (at_least, at_most) }
}

/// To seven digits, so that the way in which a packing was found does not show.
pub(super) fn rounded(gbps: f64) -> f64 {
    let digits = DIGITS - 1 - gbps.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let unit = 10f64.powi(digits.clamp(-300, 300));
    let rounded = (gbps * unit).round() / unit;
    if rounded.is_finite() { rounded } else { gbps }
}

impl Bandwidth {
    /// A packing on direct links that lies within these bounds, or what the host carries, if that is more.
    pub(super) fn or_host(gbps: f64, at_most_gbps: f64, host: f64) -> Self {
        let (gbps, at_most_gbps) = settled(gbps, at_most_gbps);
        let over_host = host > gbps * (1.0 + 1e-9);
        let (gbps, at_most_gbps) = settled(gbps.max(host), at_most_gbps.max(host));
        Self { gbps, at_most_gbps, over_host, rings: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any one of some listed things.
    fn listed(things: &[Vec<f64>]) -> impl Fn(&[f64]) -> Option<(usize, Vec<f64>)> {
        |prices| {
            let cost = |i: &usize| dot(prices, &things[*i]);
            let best = (0..things.len()).min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
            Some((best, things[best].clone()))
        }
    }

    #[test]
    fn pairs_of_three_capacities_pack_by_halves() {
        let pairs = [vec![1.0, 1.0, 0.0], vec![0.0, 1.0, 1.0], vec![1.0, 0.0, 1.0]];
        let packing = largest(&[2.0, 2.0, 2.0], listed(&pairs));
        assert_eq!(settled(packing.amount, packing.at_most), (3.0, 3.0));
        assert_eq!(packing.parts.len(), 3);
        let packing = largest(&[2.0, 2.0, 10.0], listed(&pairs));
        assert_eq!(settled(packing.amount, packing.at_most), (4.0, 4.0));
    }

    #[test]
    fn where_there_is_nothing_nothing_is_packed() {
        let packing = largest(&[1.0], listed(&[]));
        assert_eq!((packing.amount, packing.at_most, packing.parts.len()), (0.0, 0.0, 0));
    }

    #[test]
    fn bounds_that_differ_by_noise_are_one_number_and_others_are_left() {
        assert_eq!(settled(51.999_999_999_9, 52.000_000_000_1), (52.0, 52.0));
        assert_eq!(settled(51.0, 52.0), (51.0, 52.0));
        assert_eq!(settled(0.0, 0.0), (0.0, 0.0));
    }
}
