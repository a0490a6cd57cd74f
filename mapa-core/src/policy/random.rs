//! Any device, as a baseline.

use std::hash::Hasher;

use super::criterion::most;
use super::rules::Rules;

/// A free device drawn at random: each has a lot, the highest wins. A lot is a hash of the stream's name, the seed, the job and
/// the device, so the policy has no state: the same draw on any thread, in any order of asking, on any platform and
/// release. The policy's name carries stream and seed.
///
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

/// Where the lots of a stream are, by its name and by what it is drawn for.
pub(super) fn stream(name: &str, of: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    hash.write(name.as_bytes());
    hash.write(&[0]);
    of.into_iter().for_each(|number| hash.write(&number.to_le_bytes()));
    hash.finish()
}

/// A number in [0, 1): of a stream, the lot with this number.
pub(super) fn lot(drawn: u64, number: u32) -> f64 {
    // FNV mixes its last bytes poorly; the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) mixes all bits.
    let mut z = drawn.wrapping_add(u64::from(number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
