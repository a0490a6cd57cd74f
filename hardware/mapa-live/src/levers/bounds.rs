//! The bounds of every lever. A value beyond them is refused before anything is changed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::LeverError;

/// The least and the most that a lever may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Ends")]
pub struct Bound {
    /// The lowest value that is allowed, in the unit of the lever.
    pub min: u64,
    /// The highest value that is allowed, in the same unit.
    pub max: u64,
}

impl Bound {
    /// A bound from `min` to `max`, both allowed.
    #[must_use]
    pub const fn new(min: u64, max: u64) -> Self {
        Self { min, max }
    }

    /// Refuses a value that is out of bounds, and names the bound.
    pub(crate) fn check(self, name: &str, value: u64, unit: &str) -> Result<(), LeverError> {
        if (self.min..=self.max).contains(&value) {
            return Ok(());
        }
        Err(LeverError::OutOfBounds {
            bound: name.to_owned(),
            value: format!("{value} {unit}"),
            expected: format!("{} to {} {unit}", self.min, self.max),
        })
    }
}

/// A bound as it is written: its ends may be the wrong way round.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    min: u64,
    max: u64,
}

impl TryFrom<Ends> for Bound {
    type Error = String;

    fn try_from(Ends { min, max }: Ends) -> Result<Self, String> {
        if min > max {
            return Err(format!(
                "min = {min}, max = {max}: expected min not to be above max"
            ));
        }
        Ok(Self { min, max })
    }
}

/// A bound whose `max` is at most 100.
fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<Bound, D::Error> {
    let bound = Bound::deserialize(from)?;
    if bound.max > 100 {
        return Err(D::Error::custom(format!(
            "max = {}: expected at most 100 percent",
            bound.max
        )));
    }
    Ok(bound)
}

/// The bounds of all levers. The usual ones of block I/O, MPS and times are those of Darzi, Bharadwaj and Balija,
/// *Predictable LLM Serving on GPU Clusters*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// Bytes of block I/O a second, MB/s (10^6 bytes), each for reads and for writes: 100 to 500.
    pub io_mb_s: Bound,
    /// Operations of block I/O a second, each for reads and for writes: 100 to 10,000,000.
    pub io_ops: Bound,
    /// The share of multiprocessors of an MPS client, percent: 50 to 100, never more.
    #[serde(deserialize_with = "percent")]
    pub mps_percent: Bound,
    /// The pinned device memory of an MPS client, MiB: 256 to 1,048,576.
    pub mps_pinned_mib: Bound,
    /// How long a change with a time may last, seconds: 1 to 495 (99 ticks of 5 s).
    pub max_duration_s: Bound,
    /// How long a program may take to be ready, seconds: 1 to 600.
    pub ready_s: Bound,
    /// How long a program may take to end before it is killed, seconds: 0 to 300.
    pub stop_s: Bound,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            io_mb_s: Bound::new(100, 500),
            io_ops: Bound::new(100, 10_000_000),
            mps_percent: Bound::new(50, 100),
            mps_pinned_mib: Bound::new(256, 1 << 20),
            max_duration_s: Bound::new(1, 495),
            ready_s: Bound::new(1, 600),
            stop_s: Bound::new(0, 300),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_whose_ends_are_the_wrong_way_round_is_refused() {
        let read =
            |text: &str| serde_json::from_str::<Bound>(text).map_err(|error| error.to_string());
        assert_eq!(read(r#"{"min":1,"max":1}"#), Ok(Bound::new(1, 1)));
        let bounds = |text: &str| serde_json::from_str::<Bounds>(text);
        assert!(bounds(r#"{"mps_percent":{"min":1,"max":100}}"#).is_ok());
        let error = bounds(r#"{"mps_percent":{"min":1,"max":101}}"#).unwrap_err();
        assert!(error.to_string().contains("at most 100 percent"), "{error}");
        let error = read(r#"{"min":100,"max":50}"#).unwrap_err();
        assert!(error.contains("min = 100, max = 50"), "{error}");
        assert!(read(r#"{"min":1,"max":2,"mots":3}"#).is_err());
    }
}
