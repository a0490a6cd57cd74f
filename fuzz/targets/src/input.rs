//! How bytes become what a target works on. Where a byte more or less in the input changes one thing only, mutations of the
//! input are mutations of that thing.

use mapa_core::{DeviceId, DeviceSet};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};

/// The text that the bytes begin with.
pub(crate) fn text(data: &[u8]) -> &str {
    match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&data[..error.valid_up_to()]).expect("it was read"),
    }
}

/// The parts between bytes that are zero, of which the last has all that is left. Parts that are missing are empty.
pub(crate) fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = data.splitn(N, |byte| *byte == 0);
    [(); N].map(|()| parts.next().unwrap_or_default())
}

/// Choices, one byte each; zeros where they end.
pub(crate) struct Choices<'b>(pub(crate) &'b [u8]);

impl Choices<'_> {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// Whether bytes are left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Some of `n` devices, of which the first eight can be chosen.
    pub(crate) fn set(&mut self, n: usize) -> DeviceSet {
        let bits = self.below(256);
        (0..n.min(8) as u32)
            .filter(|i| bits >> i & 1 == 1)
            .map(DeviceId)
            .collect()
    }

    /// What a strategy draws by two bytes: 65,536 different things. Of what is drawn step by step, a mutation changes one.
    ///
    /// Proptest can also take the bytes themselves for random numbers, but halves them at each choice between strategies, so
    /// that histories would end after a few steps.
    pub(crate) fn drawn<T>(&mut self, strategy: &impl Strategy<Value = T>) -> T {
        let seed = u64::from(self.byte()) << 8 | u64::from(self.byte());
        let mut runner = TestRunner::new(Config {
            rng_algorithm: RngAlgorithm::XorShift,
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            ..Config::default()
        });
        let drawn = strategy.new_tree(&mut runner);
        drawn.expect("strategies that reject little").current()
    }
}
