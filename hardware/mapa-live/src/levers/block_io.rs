//! Limits on block I/O.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::error::LeverError;
use super::group::CgroupPath;

/// A block device by its numbers: `254:0`. A limit is on a whole disk, not on a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlockDevice {
    /// The major number: the kernel's driver.
    pub major: u32,
    /// The minor number: the disk among those of the driver.
    pub minor: u32,
}

impl fmt::Display for BlockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for BlockDevice {
    type Err = LeverError;

    fn from_str(text: &str) -> Result<Self, LeverError> {
        let numbers = text.split_once(':').and_then(|(major, minor)| {
            Some(Self {
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            })
        });
        numbers.ok_or_else(|| {
            // The text may be anything, so the message quotes only its beginning.
            let start: String = text.chars().take(80).collect();
            LeverError::infeasible(
                format!("block device `{start}`"),
                "expected its numbers, such as 254:0",
            )
        })
    }
}

impl TryFrom<String> for BlockDevice {
    type Error = LeverError;

    fn try_from(text: String) -> Result<Self, LeverError> {
        text.parse()
    }
}

impl From<BlockDevice> for String {
    fn from(device: BlockDevice) -> Self {
        device.to_string()
    }
}

/// Limits on the block I/O of a group on one device. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockIoLimits {
    /// Bytes that may be read a second.
    pub read_bps: Option<u64>,
    /// Bytes that may be written a second.
    pub write_bps: Option<u64>,
    /// Read operations that are allowed a second.
    pub read_iops: Option<u64>,
    /// Write operations that are allowed a second.
    pub write_iops: Option<u64>,
}

impl BlockIoLimits {
    /// No limit.
    pub const NONE: Self = Self {
        read_bps: None,
        write_bps: None,
        read_iops: None,
        write_iops: None,
    };

    /// So many MB/s (10^6 bytes a second) of reads, and as many of writes.
    #[must_use]
    pub fn mb_s(mb_s: u32) -> Self {
        // Decimal, as disks are sold and as `bounds.io_mb_s` counts; the kernel takes bytes.
        let bytes = Some(u64::from(mb_s) * 1_000_000);
        Self {
            read_bps: bytes,
            write_bps: bytes,
            ..Self::NONE
        }
    }

    /// The limits in a fixed order: bytes read, bytes written, reads, writes.
    #[must_use]
    pub fn parts(self) -> [Option<u64>; 4] {
        [
            self.read_bps,
            self.write_bps,
            self.read_iops,
            self.write_iops,
        ]
    }

    pub(crate) fn of_parts([read_bps, write_bps, read_iops, write_iops]: [Option<u64>; 4]) -> Self {
        Self {
            read_bps,
            write_bps,
            read_iops,
            write_iops,
        }
    }

    /// Refuses limits that are out of bounds. A limit in bytes is rounded up to whole MB/s before it is
    /// compared with the most, and down before it is compared with the least.
    pub(crate) fn check(self, bounds: &Bounds) -> Result<(), LeverError> {
        for bytes in [self.read_bps, self.write_bps].into_iter().flatten() {
            // Rounding always goes away from the bounds, so that no limit outside them passes by rounding.
            let mb_s = if bytes / 1_000_000 < bounds.io_mb_s.min {
                bytes / 1_000_000
            } else {
                bytes.div_ceil(1_000_000)
            };
            bounds.io_mb_s.check("io_mb_s", mb_s, "MB/s")?;
        }
        for ops in [self.read_iops, self.write_iops].into_iter().flatten() {
            bounds.io_ops.check("io_ops", ops, "operations a second")?;
        }
        Ok(())
    }
}

/// Limits on block I/O. [`CgroupTree`](crate::levers::CgroupTree) writes the kernel's files,
/// [`SimulatedMachine`](crate::levers::SimulatedMachine) simulates them.
///
/// # What it does not limit
/// Reads that the page cache answers, and so copies from it to a GPU. On v1, writes that go through the
/// page cache: the kernel writes them back later, in the root group. Network file systems.
pub trait BlockIo: Send {
    /// The limits of a group on a device.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no such group, or its files cannot be read.
    fn limits(&self, group: &CgroupPath, device: BlockDevice) -> Result<BlockIoLimits, LeverError>;

    /// Whether a group that is yet to be made will have limits, as far as that is known before.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the kernel has the controller without its limits.
    fn check_new_group(&self) -> Result<(), LeverError> {
        Ok(())
    }

    /// Sets the limits of a group on a device, those of other devices stay. It may fail after some were
    /// set: whoever calls it puts the old ones back.
    ///
    /// # Errors
    /// The kernel refused.
    fn set_limits(
        &mut self,
        group: &CgroupPath,
        device: BlockDevice,
        limits: BlockIoLimits,
    ) -> Result<(), LeverError>;

    /// The exact writes of [`set_limits`](Self::set_limits), one a line.
    fn commands(&self, group: &CgroupPath, device: BlockDevice, limits: BlockIoLimits) -> String;
}
