//! Any device, as a baseline.

use std::hash::Hasher;

use super::rules::Rules;
use crate::optimum::most;

/// Free devices at random. Each device gets a random number, and the highest ones win. The number
/// is a hash of the stream's name, the seed, the job and the device, so the policy has no state. It
/// draws the same on any thread, in any order of calls, and on any platform and release. The
/// policy's name contains the stream and the seed.
///
/// # Examples
/// ```
/// use mapa_core::{Policy, random};
///
/// assert_eq!(random("placement", 7, 0).name(), "random (stream placement, seed 7)");
/// ```
#[must_use]
pub fn random(stream: &str, seed: u64, job: u64) -> Rules<'static> {
    let name = format!("random (stream {stream}, seed {seed})");
    let drawn = self::stream(stream, [seed, job]);
    Rules::new(name).prefer(most("lot", move |seat| lot(drawn, seat.id.0)))
}

/// Random numbers without a state: a hash of a stream's name, a seed, and a position. The same on
/// any thread, in any order of calls, and on any platform and release.
///
/// # Examples
/// ```
/// use mapa_core::Lots;
///
/// let dice = Lots::new("dice", 7);
/// assert_eq!(dice.below(3, 6), Lots::new("dice", 7).below(3, 6));
/// assert!(dice.below(3, 6) < 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lots(u64);

impl Lots {
    /// The stream of this name and seed.
    #[must_use]
    pub fn new(name: &str, seed: u64) -> Self {
        Self(stream(name, [seed]))
    }

    /// The number at a position, from 0 to below 1.
    #[must_use]
    pub fn at(self, position: u64) -> f64 {
        drawn_at(self.0, position)
    }

    /// The whole number below `n` at a position; 0 if `n` is 0.
    #[must_use]
    pub fn below(self, position: u64, n: usize) -> usize {
        // Of 53 random bits: the product is below `n` for every `n` that counts things in memory.
        (self.at(position) * n as f64) as usize
    }
}

/// The start of a stream of random numbers: a hash of its name and of what the numbers are for.
pub(super) fn stream(name: &str, of: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    hash.write(name.as_bytes());
    hash.write(&[0]);
    of.into_iter()
        .for_each(|number| hash.write(&number.to_le_bytes()));
    hash.finish()
}

/// The random number at position `number` of a stream, in [0, 1).
pub(super) fn lot(drawn: u64, number: u32) -> f64 {
    drawn_at(drawn, u64::from(number))
}

fn drawn_at(drawn: u64, number: u64) -> f64 {
    // FNV mixes its last bytes poorly; the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
    // mixes all bits.
    let mut z = drawn.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
