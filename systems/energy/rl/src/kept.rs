//! Trained nets that ship.

use mapa_system_energy::learned::Weights;

use crate::config::Config;
use crate::error::Error;

/// A net that ships: how it was trained, and its file. `mapa-bench train` with the same words writes
/// the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// `ours`, `published` or `original`: the name of its [`Config`].
    pub settings: &'static str,
    /// The seed of its training.
    pub seed: u64,
    file: &'static [u8],
}

macro_rules! kept {
    ($($settings:literal $seed:literal),* $(,)?) => {
        [$(Kept {
            settings: $settings,
            seed: $seed,
            file: include_bytes!(concat!("../data/", $settings, "-", $seed, ".weights")),
        }),*]
    };
}

/// The nets that ship, by settings and seed.
pub const KEPT: [Kept; 10] = kept![
    "ours" 1, "ours" 2, "ours" 3, "ours" 4, "ours" 5,
    "original" 1, "original" 2, "original" 3, "original" 4, "original" 5,
];

impl Kept {
    /// The net.
    ///
    /// # Errors
    /// None for the files that ship.
    pub fn weights(&self) -> Result<Weights, Error> {
        Ok(Weights::from_bytes(self.file)?)
    }

    /// How it was trained.
    #[must_use]
    pub fn config(&self) -> Config {
        match self.settings {
            "ours" => Config::ours(),
            "published" => Config::published(),
            _ => Config::original(),
        }
    }
}
