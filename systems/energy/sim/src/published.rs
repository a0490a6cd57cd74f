//! The ten days on which Hisaria et al. evaluated, drawn again to the last bit.
//!
//! Their code draws from NumPy's legacy generator: a Mersenne Twister, seeded anew for each day. The
//! numbers are computed with 64 bits and kept with 32.

use mapa_system_energy::SliceJob;
use rand_mt::Mt;

use super::draw::{DAY, INFERENCE, INFERENCE_MEAN, load_at, run_times, training};
use crate::error::Error;

/// The seeds of the ten days, in order: ten whole numbers below 100,000 that NumPy draws with seed
/// 42.
pub const PUBLISHED_SEEDS: [u32; 10] = [
    15795, 860, 76820, 54886, 6265, 82386, 37194, 87498, 44131, 60263,
];

/// NumPy's `RandomState`, as far as days need it.
struct Legacy {
    words: Mt,
    /// The second number of the last pair of normal ones.
    normal: Option<f64>,
}

impl Legacy {
    fn new(seed: u32) -> Self {
        Self {
            words: Mt::new(seed),
            normal: None,
        }
    }

    /// A number of 53 bits, from 0 to 1.
    fn uniform(&mut self) -> f64 {
        let (high, low) = (self.words.next_u32() >> 5, self.words.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// An exponential number of mean 1.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// A standard normal number, by Marsaglia's polar method.
    fn normal(&mut self) -> f64 {
        if let Some(own) = self.normal.take() {
            return own;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.normal = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// A whole number below `n`: bits under a mask, drawn again if they are too large. Nothing is
    /// drawn where there is no choice.
    fn below(&mut self, n: u32) -> u32 {
        let most = n.saturating_sub(1);
        if most == 0 {
            return 0;
        }
        let mask = u32::MAX >> most.leading_zeros();
        loop {
            let own = self.words.next_u32() & mask;
            if own <= most {
                return own;
            }
        }
    }
}

/// The jobs of the published day of a seed, in order of arrival: relaxed deadlines, times of 32
/// bits. For other seeds, days as the authors' code would draw them.
///
/// # Errors
/// None for the [published seeds](PUBLISHED_SEEDS); for others, numbers that rounding makes
/// impossible.
pub fn published_day(seed: u32) -> Result<Vec<SliceJob>, Error> {
    drawn(&mut Legacy::new(seed))
}

/// The numbers that the authors' random policy draws on the published day of a seed: `draw(n)` is
/// one below `n`. They follow those of the day in the same stream.
///
/// # Errors
/// As [`published_day`].
pub fn published_draws(seed: u32) -> Result<impl FnMut(usize) -> usize, Error> {
    let mut random = Legacy::new(seed);
    drawn(&mut random)?;
    Ok(move |n| random.below(n as u32) as usize)
}

fn drawn(random: &mut Legacy) -> Result<Vec<SliceJob>, Error> {
    let mut at = 0.0;
    let mut jobs = Vec::new();
    loop {
        // The mean gap is computed with 32 bits.
        let gap = 1.0_f32 / (20.0_f32 * load_at(at) as f32);
        at += random.exponential() * f64::from(gap);
        if at > DAY {
            return Ok(jobs);
        }
        let is_inference = random.uniform() < INFERENCE;
        let p1 = if is_inference {
            random.exponential() * INFERENCE_MEAN
        } else {
            training(random.normal())
        };
        let minutes = run_times(p1, is_inference, random.below(3) == 2);
        let slack = 2.0 + 2.0 * random.uniform();
        let kept = |value: f64| f64::from(value as f32);
        let deadline = kept(at + slack * minutes[4]);
        jobs.push(SliceJob::new(kept(at), deadline, minutes.map(kept))?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_those_that_numpy_draws_with_seed_42() {
        let mut random = Legacy::new(42);
        assert_eq!(
            PUBLISHED_SEEDS.map(|_| random.below(100_000)),
            PUBLISHED_SEEDS
        );
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_them() {
        for n in [1, 2, 3, 4, 5, 8, 9] {
            let mut random = Legacy::new(n);
            let mut seen = vec![false; n as usize];
            for _ in 0..200 {
                seen[random.below(n) as usize] = true;
            }
            assert!(seen.iter().all(|&flag| flag), "{n}");
        }
    }
}
