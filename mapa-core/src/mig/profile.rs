//! Rows of a device's table: sizes, profiles, instances.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// The size of a part of a device: what a job requests, and what a profile provides.
///
/// Printed as `1g.2m`: one compute slice, two memory slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// Compute slices.
    pub compute: u8,
    /// Memory slices: units of the device's grid, on which starts are counted too.
    pub memory: u8,
}

impl Size {
    /// A size of so many compute slices and memory slices.
    #[must_use]
    pub fn new(compute: u8, memory: u8) -> Self {
        Self { compute, memory }
    }

    /// Whether this size is at least `other` in compute and in memory.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.compute >= other.compute && self.memory >= other.memory
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}g.{}m", self.compute, self.memory)
    }
}

/// Reads a size as it is printed.
impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let slices = |part: &str, unit: char| {
            part.strip_suffix(unit)?
                .parse()
                .ok()
                .filter(|slices| *slices > 0)
        };
        let size = text.split_once('.').and_then(|(compute, memory)| {
            let size = Self::new(slices(compute, 'g')?, slices(memory, 'm')?);
            Some(size).filter(|size| size.to_string() == text)
        });
        size.ok_or_else(|| ErrorKind::BadSize(text.to_owned()).into())
    }
}

/// A kind of instance that a device offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The vendor's name: `3g.20gb`.
    pub name: String,
    /// The slices that an instance takes and provides.
    pub size: Size,
    /// The memory that a job on an instance may use, bytes.
    pub memory_bytes: u64,
    /// The memory slices at which an instance may start, ascending.
    pub starts: Vec<u8>,
    /// The most instances that may exist at once on a device.
    pub max_instances: u8,
}

/// A profile of one [`Model`](super::Model): its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileId(pub u8);

/// A profile at a start: NVIDIA's GPU instance. Ordered by start, then profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instance {
    /// The first memory slice that the instance takes.
    pub start: u8,
    /// Its profile.
    pub profile: ProfileId,
}
