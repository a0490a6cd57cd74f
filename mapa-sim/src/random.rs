//! Named random streams.
//!
//! Each purpose has a stream of its own, selected by its name and the seed. So draws for one
//! purpose do not change those for another: a workload with other run times has the same arrivals.

use std::hash::Hasher;

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// The name of the random number generator, as outputs print it.
pub const GENERATOR: &str =
    "PCG-XSL-RR 128/64 (rand_pcg 0.10), seeded by FNV-1a of stream and seed";

/// The random stream of this name and seed.
///
/// # Examples
///
/// ```
/// use rand::Rng;
///
/// assert_eq!(mapa_sim::stream(7, "sizes").next_u64(), mapa_sim::stream(7, "sizes").next_u64());
/// assert_ne!(mapa_sim::stream(7, "sizes").next_u64(), mapa_sim::stream(7, "tasks").next_u64());
/// ```
#[must_use]
pub fn stream(seed: u64, name: &str) -> Pcg64 {
    let mut hash = fnv::FnvHasher::default();
    hash.write(name.as_bytes());
    hash.write(&seed.to_le_bytes());
    Pcg64::seed_from_u64(hash.finish())
}
