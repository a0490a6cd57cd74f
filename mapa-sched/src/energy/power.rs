//! What a GPU draws.

use crate::error::{Error, ErrorKind};

/// The power of one GPU by how many of its seven compute slices are busy, watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power([f64; 8]);

impl Power {
    /// An A100 by the published code of Hisaria et al. Where the numbers were measured is not said.
    pub const A100: Self = Self([40.0, 120.0, 160.0, 200.0, 240.0, 250.0, 250.0, 250.0]);

    /// An A100 by the manuscript beside that code.
    pub const A100_MANUSCRIPT: Self = Self([40.0, 119.0, 160.0, 205.3, 243.9, 247.7, 248.5, 248.5]);

    /// The power with 0 to 7 busy slices, watts.
    ///
    /// # Errors
    /// A number that is not finite or below 0, or one below that of fewer busy slices.
    pub fn new(watts: [f64; 8]) -> Result<Self, Error> {
        let good = watts.iter().all(|own| own.is_finite() && *own >= 0.0);
        if !good || watts.windows(2).any(|own| own[1] < own[0]) {
            let what =
                format!("power {watts:?}: expected watts that do not fall from 0 to 7 busy slices");
            return Err(ErrorKind::BadSliceMachine(what).into());
        }
        Ok(Self(watts))
    }

    /// The power with this many busy slices, watts; of 7 for more.
    #[must_use]
    pub fn watts(&self, busy: u8) -> f64 {
        self.0[usize::from(busy.min(7))]
    }

    /// How much more is drawn if `size` slices become busy beside `busy`, watts.
    #[must_use]
    pub fn added(&self, busy: u8, size: u8) -> f64 {
        self.watts(busy.saturating_add(size)) - self.watts(busy)
    }

    /// Whether no power lies below the straight line from none to seven busy slices: the condition
    /// of the bound on energy. The power need not be concave.
    #[must_use]
    pub fn is_above_chord(&self) -> bool {
        let step = (self.0[7] - self.0[0]) / 7.0;
        (0..8u8).all(|busy| self.watts(busy) >= self.0[0] + step * f64::from(busy))
    }
}
