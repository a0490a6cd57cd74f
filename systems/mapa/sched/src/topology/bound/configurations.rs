//! The makespan by a linear program over all packings of disjoint sets.
//!
//! At each moment of a schedule the running jobs hold disjoint sets: a packing. Let `x_c` be the
//! time that packing c is there, `n_cl` its number of sets of level l (a size, and a slowdown g),
//! and `z_ql` the time that jobs of kind q (a size, and a ratio) run on sets of level l. With `W_q`
//! the ideal time of all jobs of a kind, and `s_ql` how much longer than that they take on a set of
//! level l:
//!
//! ```text
//! least  sum_c x_c     such that
//! sum_l z_ql / s_ql  >=  W_q                  all work is done
//! sum_q z_ql         <=  sum_c n_cl x_c       on sets that are there
//! ```
//!
//! There are far too many packings to list. The dual program has a price `u_q` for a second of
//! ideal time, and a price `y_l` for a second of a set:
//!
//! ```text
//! most  sum_q W_q u_q     such that
//! u_q  <=  s_ql y_l       for every kind and level of its size
//! sum_l n_cl y_l  <=  1   for every packing
//! ```
//!
//! Given `u`, the least `y` is known, and the packing that breaks its row most is found by dynamic
//! programming over sets of devices. So the dual is solved by cutting planes: solve it with the
//! packings found so far, find the next, and go on. That is column generation seen from the other
//! side, and it has the prices as values of columns, which every solver gives.
//!
//! Any `u` proves a bound, whatever a solver says: divided by the largest `sum_l n_cl y_l`, it
//! keeps all rows.

use super::super::levels::Levels;
use super::super::work::Ideal;
use super::packing::SetPackings;
use mapa_sched::Error;
use mapa_sched::bound::{Program, Proof, Sense, Solver};

/// The most rounds of cutting planes. Seldom are more than twenty needed.
const ROUNDS: usize = 100;

/// Below this gap, as a part of the bound, prices count as the best.
const GAP: f64 = 1e-6;

/// The most kinds of one size. More are joined.
const KINDS: usize = 8;

/// Jobs of one size and ratio.
#[derive(Clone, Debug, PartialEq)]
struct JobKind {
    size: usize,
    ratio: f64,
    /// The ideal time of all of them, seconds.
    work: f64,
}

/// The kinds of jobs. Of a size with too many, neighbours are joined, each group with the least of
/// their ratios: at the same ideal time, nobody of the group is slower on any set than in truth.
fn kinds(jobs: &[Ideal]) -> Vec<JobKind> {
    let mut all: Vec<JobKind> = jobs
        .iter()
        .map(|job| JobKind {
            size: job.devices,
            ratio: job.ratio,
            work: job.seconds,
        })
        .collect();
    all.sort_by(|a, b| a.size.cmp(&b.size).then(a.ratio.total_cmp(&b.ratio)));
    all.dedup_by(|next, kept| {
        let is_same = (next.size, next.ratio) == (kept.size, kept.ratio);
        if is_same {
            kept.work += next.work;
        }
        is_same
    });
    let mut joined = Vec::new();
    for kinds in all.chunk_by(|a, b| a.size == b.size) {
        for group in kinds.chunks(kinds.len().div_ceil(KINDS)) {
            joined.push(JobKind {
                work: group.iter().map(|kind| kind.work).sum(),
                ..group[0]
            });
        }
    }
    joined
}

/// The dual program.
struct Dual<'a> {
    levels: &'a Levels,
    kinds: Vec<JobKind>,
    packing: SetPackings,
    /// By size: the number of its first level among all levels.
    first: Vec<usize>,
    /// How many levels there are in all.
    count: usize,
}

/// The best bound found, seconds, and whether it is the optimum.
///
/// # Complexity
/// For each round, O(sum over sets S of 2^(m - |S|)) for m devices, at most O(3ᵐ), and a linear
/// program of some dozens of columns.
pub(super) fn configurations(
    jobs: &[Ideal],
    levels: &Levels,
    solver: &Solver,
) -> Result<(f64, Proof), Error> {
    let mut dual = Dual::new(jobs, levels);
    let mut program = dual.program();
    // These prices are those of the area: a device-second costs the same everywhere.
    let each = 1.0 / levels.devices as f64;
    let mut prices: Vec<f64> = dual
        .kinds
        .iter()
        .map(|kind| kind.size as f64 * each)
        .collect();
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let (worth, cut) = dual.judge(&prices);
        best = best.max(worth);
        program.row(cut, Sense::AtMost, 1.0);
        let Some(values) = solver.solve(&program)?.values else {
            break;
        };
        prices.clear();
        prices.extend(
            values[..dual.kinds.len()]
                .iter()
                .map(|value| value.max(0.0)),
        );
        // No prices are worth more than those of a program with fewer packings.
        if dual.sum(&prices) <= best * (1.0 + GAP) {
            return Ok((best, Proof::Optimum));
        }
    }
    Ok((best, Proof::Prices))
}

impl<'a> Dual<'a> {
    fn new(jobs: &[Ideal], levels: &'a Levels) -> Self {
        let mut first = Vec::with_capacity(levels.of_size.len());
        let mut count = 0;
        for values in &levels.of_size {
            first.push(count);
            count += values.len();
        }
        Self {
            levels,
            kinds: kinds(jobs),
            packing: SetPackings::new(levels),
            first,
            count,
        }
    }

    /// By how much a kind runs longer than its ideal time on each level of its size.
    fn longer<'k>(&'k self, kind: &'k JobKind) -> impl Iterator<Item = f64> + 'k {
        let levels = &self.levels.of_size[kind.size];
        let at = |level: f64| 1.0 + (kind.ratio - 1.0) * level;
        let least = at(levels.first().copied().unwrap_or_default());
        levels.iter().map(move |&level| at(level) / least)
    }

    /// The program of all rows but those of packings that are not found yet. One packing for each
    /// level is there from the start, so that it has an optimum.
    fn program(&self) -> Program {
        let mut program = Program::default();
        for kind in &self.kinds {
            program.column(-kind.work);
        }
        let sets: Vec<usize> = (0..self.count).map(|_| program.column(0.0)).collect();
        for &set in &sets {
            program.row(vec![(set, 1.0)], Sense::AtMost, 1.0);
        }
        for (column, kind) in self.kinds.iter().enumerate() {
            for (level, longer) in self.longer(kind).enumerate() {
                let set = sets[self.first[kind.size] + level];
                program.row(vec![(column, 1.0), (set, -longer)], Sense::AtMost, 0.0);
            }
        }
        program
    }

    /// What the work costs at such prices.
    fn sum(&self, prices: &[f64]) -> f64 {
        let costs = self.kinds.iter().zip(prices);
        costs.map(|(kind, price)| kind.work * price).sum()
    }

    /// The bound that prices of kinds prove, and the packing that is dearest at them, as a row.
    fn judge(&mut self, prices: &[f64]) -> (f64, Vec<(usize, f64)>) {
        let mut of_level = vec![0.0_f64; self.count];
        for (kind, price) in self.kinds.iter().zip(prices) {
            for (level, longer) in self.longer(kind).enumerate() {
                let own = &mut of_level[self.first[kind.size] + level];
                *own = own.max(price / longer);
            }
        }
        let price = |set: u32| {
            let level = self.levels.of_set[set as usize]?;
            let size = set.count_ones() as usize;
            Some((
                self.first[size] + usize::from(level),
                of_level[self.first[size] + usize::from(level)],
            ))
        };
        let dearest = self
            .packing
            .dearest(|set| price(set).map_or(0.0, |(_, value)| value));
        let worth = if dearest > 0.0 {
            self.sum(prices) / dearest
        } else {
            0.0
        };
        let mut counts = vec![0.0; self.count];
        for &set in self.packing.sets() {
            if let Some((level, _)) = price(set) {
                counts[level] += 1.0;
            }
        }
        let columns = counts.into_iter().enumerate();
        let cut = columns
            .filter(|&(_, count)| count > 0.0)
            .map(|(level, count)| (self.kinds.len() + level, count));
        (worth, cut.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_kinds_keep_the_work_and_take_the_least_ratio() {
        let jobs: Vec<Ideal> = (0..20)
            .map(|at| Ideal {
                arrives: 0.0,
                devices: 2,
                ratio: 1.0 + f64::from(at / 2),
                seconds: 1.0,
            })
            .collect();
        let kinds = kinds(&jobs);
        let ratios: Vec<f64> = kinds.iter().map(|kind| kind.ratio).collect();
        assert_eq!(ratios, [1.0, 3.0, 5.0, 7.0, 9.0]);
        assert!(kinds.iter().all(|kind| kind.work == 4.0));
    }

    /// Four devices, of which the first two are a fast pair.
    fn levels() -> Levels {
        let level = |set: u16| match set.count_ones() {
            1 => Some(0),
            2 => Some(u16::from(set != 0b0011)),
            _ => None,
        };
        Levels {
            devices: 4,
            of_size: vec![vec![], vec![0.0], vec![0.0, 1.0], vec![], vec![]],
            of_set: (0..16).map(level).collect(),
        }
    }

    #[test]
    fn any_prices_prove_a_bound() {
        let job = |devices, ratio, seconds| Ideal {
            arrives: 0.0,
            devices,
            ratio,
            seconds,
        };
        let jobs = [job(1, 1.0, 10.0), job(2, 3.0, 40.0), job(2, 1.5, 6.0)];
        let levels = levels();
        let (optimum, proof) = configurations(&jobs, &levels, &Solver::default()).unwrap();
        assert_eq!(proof, Proof::Optimum);
        let mut dual = Dual::new(&jobs, &levels);
        for at in 0..1000_u32 {
            let prices = [at % 10, at / 10 % 10, at / 100].map(|number| f64::from(number) / 7.0);
            let (worth, _) = dual.judge(&prices);
            assert!(
                worth <= optimum * (1.0 + 1e-6),
                "{prices:?}: {worth} {optimum}"
            );
        }
    }
}
