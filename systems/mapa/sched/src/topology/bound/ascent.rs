//! The sum of completion times by prices of time.
//!
//! Let a job make `z(t)` seconds of its ideal time p a second at t. Every schedule, whoever made
//! it, with preemption and moves, keeps these rules:
//!
//! - a job makes all of its progress after its arrival r: `integral of z = p`;
//! - it makes at most a second a second: `z(t) <= 1`;
//! - jobs that run at once are disjoint, so their sizes sum up to m devices at most: the sums of z
//!   over jobs of each size lie in the convex hull of such *mixes*.
//!
//! A job ends at `M + p / 2` or later, with M the mean time of its progress. So the least sum of
//! `M + p / 2 - r` under these rules is a lower bound.
//!
//! Any prices `y_k(t) >= 0` of a second of a job of k devices prove one (weak duality):
//!
//! ```text
//! sum_j [least over z of  integral of (t / p_j + y_k(t)) z(t) dt  +  p_j / 2 - r_j]
//!   - integral of the dearest mix at t
//! ```
//!
//! Here prices are linear between the two ends of each slot, and may jump from slot to slot. The
//! last term is then at most the trapezoid of its values at both ends, because the dearest of
//! several linear sums is convex. So slots cost no validity, and little precision.
//!
//! The first term is exact. Without the second rule, a job makes all progress at the cheapest end
//! of a slot. With it, a job takes its cheapest p seconds: those below a threshold. A threshold
//! that is a little off still gives a bound, because it is itself the price of the first rule.
//!
//! Prices climb from those that prove the squashed area. The value is concave in prices, with a
//! kink wherever two mixes, or two slots of a job, are equally good. So the length of each price's
//! step is set by its own past gradients (Adam; Kingma and Ba, ICLR 2015), and shrinks from round
//! to round. On MAPA's 300 jobs, at once, the default of 600 rounds ends within .05 % of what HiGHS
//! finds, without the second rule, with as many slots. For jobs that arrive over time it ends
//! within .3 % of 20,000 rounds with four times the slots.
//!
//! Both rates are judged at the same prices, which climb under the second rule: without it, a job
//! has one end of a slot and none of the next, and prices climb badly.
//!
//! Tried and left:
//!
//! - steps along the gradient, scaled by curvature and with momentum: they stall at kinks;
//! - smooth maxima over mixes: no better;
//! - prices that are constant in a slot: they need slots of less than a second;
//! - `sum floor(k / s) n_k <= floor(m / s)` for each s, which follows from `sum k n_k <= m`, in
//!   place of mixes: most of what mixes add to the squashed area is lost.

use super::super::work::Ideal;
use super::mixes::Mixes;
use super::squashed::Squashed;

/// How prices climb to a bound. More slots and more rounds give a better bound, and take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ascent {
    /// Into how many slots the time is divided in which jobs can compete. Each arrival begins a
    /// further one. Default: 100.
    pub slots: u32,
    /// How many steps prices take. Default: 600.
    pub rounds: u32,
}

impl Default for Ascent {
    fn default() -> Self {
        Self {
            slots: 100,
            rounds: 600,
        }
    }
}

/// How fast a job may make progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgressRate {
    /// At any rate.
    Any,
    /// At most a second of its ideal time a second.
    One,
}

/// The length of the first step, and of the last one, as parts of the highest price.
const STEPS: [f64; 2] = [0.3, 1e-4];
/// How much of the mean gradient, and of its mean square, each round keeps.
const KEEPS: [f64; 2] = [0.95, 0.999];
/// Imbalances below this, jobs of a size, count as small.
const SMALL: f64 = 1e-2;
/// The scale of prices where squashed jobs do not compete. A price of 1 makes up for a wait as long
/// as the job.
const LEAST_SCALE: f64 = 0.3;

/// A job with the place of its size, and its first slot.
struct SlottedJob {
    job: Ideal,
    size: usize,
    slot: usize,
}

/// The relaxation. Times count from the first arrival.
struct RingRelaxation {
    entries: Vec<SlottedJob>,
    /// The ends of the slots. Each arrival is one.
    times: Vec<f64>,
    mixes: Mixes,
    /// Per job: the time at which it would end if its last second were free. It is p times the
    /// price of the first rule.
    thresholds: Vec<f64>,
}

/// Numbers by size, and by end of slot: two for each slot.
type SizeTable = Vec<Vec<f64>>;

/// What the prices at the end of an ascent prove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Climbed {
    /// With jobs at any rate.
    pub(super) any: f64,
    /// With jobs that make at most a second of progress a second; not below the other.
    pub(super) one: f64,
}

/// Prices of these jobs, at least one, climb for the second of the two bounds.
pub(super) fn climb(jobs: &[Ideal], devices: usize, ascent: Ascent) -> Climbed {
    let first = jobs.iter().map(|job| job.arrives);
    let first = first.fold(f64::INFINITY, f64::min);
    let jobs: Vec<Ideal> = jobs
        .iter()
        .map(|job| Ideal {
            arrives: job.arrives - first,
            ..*job
        })
        .collect();
    let times = grid(&jobs, devices, ascent.slots);
    let start = Squashed::new(&jobs, devices).prices(&times);
    RingRelaxation::new(&jobs, devices, times).climb(&start, ascent.rounds)
}

/// The ends of slots: arrivals, and as many more as divide the time evenly up to when all jobs have
/// ended if those of each size ran alone.
fn grid(jobs: &[Ideal], devices: usize, slots: u32) -> Vec<f64> {
    let mut late_first: Vec<&Ideal> = jobs.iter().collect();
    late_first.sort_by(|a, b| b.arrives.total_cmp(&a.arrives));
    let (mut end, mut time, mut longest) = (0.0_f64, 0.0, 0.0_f64);
    for job in &late_first {
        time += job.seconds / (devices / job.devices) as f64;
        longest = longest.max(job.seconds);
        end = end.max(job.arrives + time);
    }
    end += longest;
    let step = end / f64::from(slots);
    let mut times = vec![0.0];
    let marks = late_first.iter().rev().map(|job| job.arrives).chain([end]);
    let mut last = 0.0;
    for mark in marks {
        if mark <= last {
            continue;
        }
        let parts = ((mark - last) / step).ceil().max(1.0);
        let inner = (1..parts as u32).map(|at| last + (mark - last) * f64::from(at) / parts);
        times.extend(inner);
        times.push(mark);
        last = mark;
    }
    times.dedup();
    times
}

impl RingRelaxation {
    fn new(jobs: &[Ideal], devices: usize, times: Vec<f64>) -> Self {
        let mut sizes: Vec<usize> = jobs.iter().map(|job| job.devices).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let entry = |job: &Ideal| SlottedJob {
            job: *job,
            size: sizes.partition_point(|&size| size < job.devices),
            slot: times.partition_point(|&time| time < job.arrives),
        };
        Self {
            entries: jobs.iter().map(entry).collect(),
            thresholds: jobs.iter().map(|job| job.arrives + job.seconds).collect(),
            times,
            mixes: Mixes::new(devices, sizes),
        }
    }

    fn slots(&self) -> usize {
        self.times.len() - 1
    }

    /// The best values of an ascent from such prices of a device-second at the ends of slots.
    fn climb(&mut self, start: &[f64], rounds: u32) -> Climbed {
        let sizes = self.mixes.sizes();
        let mut prices: SizeTable = sizes
            .iter()
            .map(|&size| start.iter().map(|price| price * size as f64).collect())
            .collect();
        let zero = || vec![vec![0.0; start.len()]; prices.len()];
        let (mut excess, mut mean, mut square) = (zero(), zero(), zero());
        let highest = prices.iter().flatten().copied().fold(LEAST_SCALE, f64::max);
        let (mut best, mut best_prices) = (
            self.value(&prices, ProgressRate::One, &mut excess),
            prices.clone(),
        );
        // Means of few gradients, which begin at 0, are too small by these.
        let (mut mean_lacks, mut square_lacks) = (1.0, 1.0);
        for round in 0..rounds {
            let part = f64::from(round) / f64::from(rounds);
            let step = highest * STEPS[0] * (STEPS[1] / STEPS[0]).powf(part);
            mean_lacks *= KEEPS[0];
            square_lacks *= KEEPS[1];
            for size in 0..prices.len() {
                let rows = prices[size].iter_mut().zip(&excess[size]);
                let means = mean[size].iter_mut().zip(&mut square[size]);
                for (at, ((price, &excess), (mean, square))) in rows.zip(means).enumerate() {
                    let half = (self.times[at / 2 + 1] - self.times[at / 2]) / 2.0;
                    let gradient = excess / half;
                    *mean += (1.0 - KEEPS[0]) * (gradient - *mean);
                    *square += (1.0 - KEEPS[1]) * (gradient * gradient - *square);
                    let length = (*square / (1.0 - square_lacks)).sqrt() + SMALL;
                    let moved = *price + step * (*mean / (1.0 - mean_lacks)) / length;
                    *price = moved.max(0.0);
                }
            }
            let value = self.value(&prices, ProgressRate::One, &mut excess);
            if value > best {
                best = value;
                best_prices.clone_from(&prices);
            }
        }
        Climbed {
            any: self.value(&best_prices, ProgressRate::Any, &mut excess),
            one: best,
        }
    }

    /// The bound that prices prove. `excess` is how many seconds of each size, near each end of a
    /// slot, jobs take more than the dearest mixes have: the gradient.
    fn value(&mut self, prices: &SizeTable, rate: ProgressRate, excess: &mut SizeTable) -> f64 {
        for row in excess.iter_mut() {
            row.fill(0.0);
        }
        let mut value = 0.0;
        for at in 0..self.entries.len() {
            let size = self.entries[at].size;
            let (prices, excess) = (&prices[size], &mut excess[size]);
            value += match rate {
                ProgressRate::Any => self.cheapest_end(at, prices, excess),
                ProgressRate::One => self.cheapest_seconds(at, prices, excess),
            };
            let job = &self.entries[at].job;
            value += job.seconds / 2.0 - job.arrives;
        }
        for end in 0..2 * self.slots() {
            let half = (self.times[end / 2 + 1] - self.times[end / 2]) / 2.0;
            let price = |size: usize| prices[size][end];
            let dearest = self.mixes.dearest(price, |size| excess[size][end] -= half);
            value -= half * dearest;
        }
        value
    }

    /// The least cost of a job that may run at any rate, seconds.
    fn cheapest_end(&self, at: usize, prices: &[f64], excess: &mut [f64]) -> f64 {
        let SlottedJob { job, slot, .. } = &self.entries[at];
        // After the last slot all is free.
        let (mut best, mut place) = (self.times[self.slots()].max(job.arrives), None);
        for slot in *slot..self.slots() {
            if self.times[slot] >= best {
                break;
            }
            for end in [0, 1] {
                let cost = self.times[slot + end] + job.seconds * prices[2 * slot + end];
                if cost < best {
                    (best, place) = (cost, Some(2 * slot + end));
                }
            }
        }
        if let Some(place) = place {
            excess[place] += job.seconds;
        }
        best
    }

    /// The least cost of a job that makes at most a second of progress a second.
    fn cheapest_seconds(&mut self, at: usize, prices: &[f64], excess: &mut [f64]) -> f64 {
        let threshold = self.threshold(at, prices);
        self.thresholds[at] = threshold;
        let SlottedJob { job, slot, .. } = &self.entries[at];
        let mut saved = 0.0;
        for slot in *slot..self.slots() {
            let Some(below) = self.below(job, slot, prices, threshold) else {
                break;
            };
            saved += below.saved;
            excess[2 * slot] += below.by_end[0];
            excess[2 * slot + 1] += below.by_end[1];
        }
        let free = (threshold - self.times[self.slots()]).max(0.0);
        threshold - (saved + free * free / 2.0) / job.seconds
    }

    /// A threshold below which a job finds its seconds, by Newton's method within a bracket that
    /// shrinks, from the threshold of the last round.
    fn threshold(&self, at: usize, prices: &[f64]) -> f64 {
        let SlottedJob { job, slot, .. } = &self.entries[at];
        let end = self.times[self.slots()];
        // Nothing is below its arrival. After the last slot it finds all of its seconds.
        let (mut low, mut high) = (job.arrives, end + job.seconds);
        let mut threshold = self.thresholds[at];
        for _ in 0..MOST_STEPS {
            let free = threshold - end;
            let (mut found, mut slope) = if free > 0.0 { (free, 1.0) } else { (0.0, 0.0) };
            for slot in *slot..self.slots() {
                let Some(below) = self.below(job, slot, prices, threshold) else {
                    break;
                };
                found += below.seconds;
                slope += below.slope;
            }
            let lacks = job.seconds - found;
            if lacks.abs() <= CLOSE * job.seconds {
                break;
            }
            if lacks < 0.0 {
                high = threshold;
            } else {
                low = threshold;
            }
            let next = threshold + lacks / slope;
            threshold = if next > low && next < high {
                next
            } else {
                f64::midpoint(low, high)
            };
        }
        threshold
    }

    /// The part of a slot whose cost is below the threshold of a job. `None` for slots that begin
    /// after the threshold.
    fn below(&self, job: &Ideal, slot: usize, prices: &[f64], threshold: f64) -> Option<Below> {
        let (from, until) = (self.times[slot], self.times[slot + 1]);
        if from >= threshold {
            return None;
        }
        let length = until - from;
        // How far both ends are below. Between them it is linear.
        let first = threshold - from - job.seconds * prices[2 * slot];
        let second = threshold - until - job.seconds * prices[2 * slot + 1];
        if first >= 0.0 && second >= 0.0 {
            return Some(Below {
                seconds: length,
                slope: 0.0,
                saved: length * f64::midpoint(first, second),
                by_end: [length / 2.0; 2],
            });
        }
        let (most, least) = (first.max(second), first.min(second));
        if most <= 0.0 {
            return Some(Below::default());
        }
        // A triangle at the lower end.
        let part = most / (most - least);
        let seconds = length * part;
        let far = seconds * part / 2.0;
        let by_end = if first > second {
            [seconds - far, far]
        } else {
            [far, seconds - far]
        };
        Some(Below {
            seconds,
            slope: length / (most - least),
            saved: seconds * most / 2.0,
            by_end,
        })
    }
}

/// The most steps to a threshold in one round. The next round goes on from there.
const MOST_STEPS: usize = 12;
/// How close to its seconds a job comes, as a part of them.
const CLOSE: f64 = 1e-4;

/// The part of a slot that is below a threshold.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    seconds: f64,
    /// By how much they grow with the threshold.
    slope: f64,
    /// The area between the threshold and the costs.
    saved: f64,
    /// The seconds, shared out to both ends by how near they are.
    by_end: [f64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs on eight devices, and the sum of completion times of a schedule that runs each one
    /// alone.
    fn one_by_one(draw: &mut impl FnMut(u32) -> u32) -> (Vec<Ideal>, f64) {
        let (mut jobs, mut end, mut sum) = (Vec::new(), 0.0_f64, 0.0);
        for _ in 0..=draw(6) {
            let job = Ideal {
                arrives: f64::from(draw(2) * draw(40)),
                devices: draw(8) as usize + 1,
                ratio: 1.0,
                seconds: f64::from(draw(20) + 1),
            };
            end = end.max(job.arrives) + job.seconds;
            sum += end - job.arrives;
            jobs.push(job);
        }
        (jobs, sum)
    }

    #[test]
    fn any_prices_and_any_thresholds_prove_a_bound() {
        let mut at = 7_u64;
        let mut draw = |n: u32| {
            at = at
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((at >> 33) % u64::from(n)) as u32
        };
        for _ in 0..2000 {
            let (jobs, sum) = one_by_one(&mut draw);
            let times = grid(&jobs, 8, 1 + draw(30));
            let mut own = RingRelaxation::new(&jobs, 8, times);
            let ends = 2 * own.slots();
            let sizes = own.mixes.sizes().len();
            let mut row = || {
                let scale = [0.0, 0.1, 1.0, 10.0][draw(4) as usize];
                let price = |_| scale * f64::from(draw(100)) / 100.0;
                (0..ends).map(price).collect::<Vec<f64>>()
            };
            let prices: SizeTable = (0..sizes).map(|_| row()).collect();
            let mut excess = vec![vec![0.0; ends]; sizes];
            for job in 0..jobs.len() {
                own.thresholds[job] = f64::from(draw(200));
            }
            let values = [ProgressRate::Any, ProgressRate::One]
                .map(|rate| own.value(&prices, rate, &mut excess));
            assert!(
                values[0] <= values[1] * (1.0 + 1e-9) + 1e-9,
                "{values:?}: {jobs:?}"
            );
            assert!(
                values[1] <= sum * (1.0 + 1e-9),
                "{values:?} {sum}: {jobs:?}"
            );
        }
    }
}
