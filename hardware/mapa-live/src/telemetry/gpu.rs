//! The use of devices.

use serde::{Deserialize, Serialize};

use super::missing::MissingSignal;
use crate::found::{GpuReading, NoAnswer};
use crate::live::Live;

/// The use of a device since the last sample, or at this moment where the driver says only that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuUse {
    /// The vendor's number of the device.
    pub index: u32,
    /// The vendor's UUID of the device; `None` if the driver did not report it.
    pub uuid: Option<String>,
    /// Whether the device is not lost. If it is, all else is unknown.
    pub healthy: bool,
    /// The share of time in which a kernel ran, percent (NVML), or in which multiprocessors were active
    /// (DCGM, where it is scraped). A driver does not tell it of a device in MIG mode.
    pub sm_percent: Option<f64>,
    /// The share of time in which device memory was read or written, percent.
    pub memory_percent: Option<f64>,
    /// MB/s (10^6 bytes) that the device received over PCIe.
    pub pcie_receive_mb_s: Option<f64>,
    /// MB/s that it sent.
    pub pcie_send_mb_s: Option<f64>,
    /// Retries of PCIe a second.
    pub pcie_retries_per_s: Option<f64>,
    /// What the board draws, W.
    pub power_w: Option<f64>,
    /// Device memory in use, bytes.
    pub memory_used_bytes: Option<u64>,
    /// The processes on the device, by id.
    pub processes: Option<Vec<u32>>,
}

/// The readings of all devices.
pub(crate) fn readings(live: &Live) -> Result<Vec<GpuReading>, MissingSignal> {
    match ask(live) {
        Ok(readings) => Ok(readings),
        Err(NoAnswer::Absent(why) | NoAnswer::Failed(why)) => Err(MissingSignal::new("gpus", why)),
    }
}

#[cfg(feature = "nvml")]
fn ask(live: &Live) -> Result<Vec<GpuReading>, NoAnswer> {
    crate::nvml::readings(live)
}

#[cfg(not(feature = "nvml"))]
fn ask(_: &Live) -> Result<Vec<GpuReading>, NoAnswer> {
    Err(NoAnswer::Absent(
        "not in this build: expected the feature `nvml`".to_owned(),
    ))
}
