//! Random numbers of a search.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one state, the same numbers everywhere. Its
/// quality is more than moves of a search need, and no library is drawn in for six lines.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0. Its bias is below n / 2^32.
    pub fn below(&mut self, n: usize) -> usize {
        // 128 bits, as `n` may be any number.
        ((u128::from(self.next() >> 32) * n as u128) >> 32) as usize
    }

    /// Whether one of `n` equally likely cases has come.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Draws;

    #[test]
    fn numbers_are_below_their_bound_and_reach_all_of_it() {
        let mut draws = Draws::new(3);
        for n in [1, 2, 3, 7, 100] {
            let mut seen = vec![0_u32; n];
            (0..n * 200).for_each(|_| seen[draws.below(n)] += 1);
            assert!(seen.iter().all(|&count| count > 100), "{n}: {seen:?}");
        }
        assert_eq!(draws.below(0), 0);
        assert!(draws.below(usize::MAX) < usize::MAX);
    }

    #[test]
    fn a_seed_has_one_stream() {
        let of = |seed| {
            let mut draws = Draws::new(seed);
            (0..20).map(|_| draws.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
