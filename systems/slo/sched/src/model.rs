//! What a controller believes of the machine: how much neighbours slow down a transfer and a
//! computation, on each profile.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// The numbers behind a [`SlowdownModel`], as one states them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelParameters {
    /// The weight of a neighbour's transfers relative to the tenant's on the first profile.
    pub heavy_weight: f64,
    /// How that weight falls as the tenant's slice grows: it is times (first / slices) to this
    /// power. 1: a larger slice gets a larger share of PCIe; 0: all shares are equal, as measured.
    pub weight_power: f64,
    /// By how much training on the same switch slows down computation on the first profile, as a
    /// share: 0.39 for 39 %.
    pub training: f64,
    /// How that falls as the tenant's slice grows, as a power of (first / slices).
    pub training_power: f64,
    /// How computation gets faster on a larger slice, as a power of (first / slices).
    pub compute_power: f64,
    /// The share of a link that a throttled neighbour may use.
    pub throttled_share: f64,
    /// The share of the multiprocessors that throttled training may use.
    pub throttled_mps: f64,
}

/// Slowdowns by profile, as tables: no power is computed when a decision is made, so a decision is
/// the same on every machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlowdownModel {
    /// The compute slices of each profile, from the smallest.
    pub slices: Vec<u32>,
    /// The weight of a neighbour's transfers relative to the tenant's, by profile.
    pub heavy_weight: Vec<f64>,
    /// The factor on compute time without training beside, by profile.
    pub compute: Vec<f64>,
    /// The share that training beside adds to compute time, by profile.
    pub training: Vec<f64>,
    /// The share of a link that a throttled neighbour may use.
    pub throttled_share: f64,
    /// The share of the multiprocessors that throttled training may use.
    pub throttled_mps: f64,
}

/// The factors on the two parts of a request: its transfer and its computation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slowdown {
    /// The factor on the time of a transfer.
    pub transfer: f64,
    /// The factor on the time of a computation.
    pub compute: f64,
}

impl SlowdownModel {
    /// The tables of these parameters for profiles of so many slices.
    ///
    /// # Errors
    /// No profile, slices that do not rise, or a number that is negative or not finite; shares
    /// above 1.
    pub fn new(slices: &[u32], own: &ModelParameters) -> Result<Self, Error> {
        let first = f64::from(slices.first().copied().unwrap_or(1).max(1));
        let by = |power: f64| {
            slices
                .iter()
                .map(move |&slice| libm::pow(first / f64::from(slice.max(1)), power))
        };
        let made = Self {
            slices: slices.to_vec(),
            heavy_weight: by(own.weight_power)
                .map(|share| own.heavy_weight * share)
                .collect(),
            compute: by(own.compute_power).collect(),
            training: by(own.training_power)
                .map(|share| own.training * share)
                .collect(),
            throttled_share: own.throttled_share,
            throttled_mps: own.throttled_mps,
        };
        made.checked()
    }

    /// The tables of these parameters for one profile: it is its own first.
    pub(super) fn of_one_profile(own: &ModelParameters) -> Self {
        Self {
            slices: vec![1],
            heavy_weight: vec![own.heavy_weight],
            compute: vec![1.0],
            training: vec![own.training],
            throttled_share: own.throttled_share,
            throttled_mps: own.throttled_mps,
        }
    }

    /// The model, if its tables can be used.
    ///
    /// # Errors
    /// As [`SlowdownModel::new`].
    pub fn checked(self) -> Result<Self, Error> {
        let bad = |what: String| Err(ErrorKind::BadSlo(format!("model: {what}")).into());
        if self.slices.is_empty() || !self.slices.is_sorted_by(|a, b| a < b) || self.slices[0] == 0
        {
            return bad(format!(
                "profiles of {:?} slices: expected one or more, each larger than the one before",
                self.slices
            ));
        }
        if self.slices.len() > usize::from(u8::MAX) {
            return bad(format!(
                "{} profiles: expected at most 255",
                self.slices.len()
            ));
        }
        let tables = [&self.heavy_weight, &self.compute, &self.training];
        for table in tables {
            let is_well = table.iter().all(|value| value.is_finite() && *value >= 0.0);
            if table.len() != self.slices.len() || !is_well {
                return bad(format!(
                    "{table:?}: expected a number of 0 or more for each of {} profiles",
                    self.slices.len()
                ));
            }
        }
        if self.compute.contains(&0.0) {
            return bad("a factor of 0 on compute time: expected more than 0".to_owned());
        }
        for share in [self.throttled_share, self.throttled_mps] {
            if !(0.0..=1.0).contains(&share) {
                return bad(format!("a share of {share}: expected 0 to 1"));
            }
        }
        Ok(self)
    }

    /// The number of profiles.
    #[must_use]
    pub fn profiles(&self) -> usize {
        self.slices.len()
    }

    /// The slices of a profile; those of the largest for one that does not exist, and 0 for a model
    /// without profiles.
    #[must_use]
    pub fn slices_of(&self, profile: u8) -> u32 {
        self.slices.get(self.at(profile)).copied().unwrap_or(0)
    }

    fn at(&self, profile: u8) -> usize {
        usize::from(profile).min(self.slices.len().saturating_sub(1))
    }

    /// The slowdown beside `heavy` neighbours that copy and training or none, on a profile.
    ///
    /// The tenant gets the larger of its fair share, 1 / (1 + n w), and of what n neighbours leave
    /// that use a share `u` each, 1 - n u. This is weighted max-min fairness on one link; a test
    /// compares it with [`mapa_core::sharing::max_min`]. NaN for what a table lacks, in a model that is
    /// not [`checked`](Self::checked).
    #[must_use]
    pub fn slowdown(
        &self,
        profile: u8,
        heavy: u32,
        is_training: bool,
        is_throttled: bool,
    ) -> Slowdown {
        let at = self.at(profile);
        let (n, w) = (f64::from(heavy), number(&self.heavy_weight, at));
        let [wants, quota] = if is_throttled {
            [self.throttled_share, self.throttled_mps]
        } else {
            [1.0, 1.0]
        };
        let share = (1.0 / (1.0 + n * w)).max(1.0 - n * wants);
        let more = if is_training {
            number(&self.training, at) * quota
        } else {
            0.0
        };
        Slowdown {
            transfer: 1.0 / share,
            compute: number(&self.compute, at) * (1.0 + more),
        }
    }

    /// The slowdown of a transfer by the formula that the paper prints,
    /// `min(B w / sum of w, g)`: a neighbour takes its whole share even if a throttle keeps it from
    /// using it. So a throttle changes nothing for the tenant.
    #[must_use]
    pub fn printed_transfer(&self, profile: u8, heavy: u32) -> f64 {
        1.0 + f64::from(heavy) * number(&self.heavy_weight, self.at(profile))
    }
}

/// A number of a table; NaN if the table is too short, which an unchecked model may have.
fn number(table: &[f64], at: usize) -> f64 {
    table.get(at).copied().unwrap_or(f64::NAN)
}
