//! Which links of devices are up now, and how much of its PCIe link each has: a few calls for each device, so that
//! every decision can ask.

use std::collections::BTreeMap;

use mapa_core::DeviceInfo;
use nvml_wrapper::enum_wrappers::device::PerformanceState;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_NVLINK_LINK_COUNT;
use nvml_wrapper::{Device, Nvml};

use super::answer::field;
use super::mig::is_partitioned;
use crate::found::{LinkStatus, NoAnswer, PcieLevel};

/// The most links of a device that are queried. The library currently has at most 18 per device.
const MOST_LINKS: u32 = 36;

/// The links of a device, by a name that it keeps.
pub(super) struct DeviceLinks {
    uuid: String,
    pub(super) is_partitioned: bool,
    pub(super) status: LinkStatus,
}

impl DeviceLinks {
    /// Whether these are the links of this device.
    pub(super) fn is_of(&self, info: &DeviceInfo) -> bool {
        info.uuid.as_ref() == Some(&self.uuid)
    }
}

/// The links of all devices that answer.
pub(super) fn links(nvml: &Nvml) -> Result<Vec<DeviceLinks>, NoAnswer> {
    let count = nvml
        .device_count()
        .map_err(|error| NoAnswer::Failed(format!("no count of devices: {error}")))?;
    let all = (0..count.min(mapa_core::MAX_DEVICES as u32)).filter_map(|index| {
        let device = nvml.device_by_index(index).ok()?;
        let uuid = device.uuid().ok()?;
        let is_partitioned = is_partitioned(&device);
        Some(DeviceLinks {
            uuid,
            is_partitioned,
            status: status(&device, is_partitioned)?,
        })
    });
    Ok(all.collect())
}

/// The links of a device; `None` if it does not answer.
pub(super) fn status(device: &Device<'_>, is_partitioned: bool) -> Option<LinkStatus> {
    let mut status = LinkStatus {
        pcie_lanes: lanes(device),
        pcie_generation: generation(device),
        ..LinkStatus::default()
    };
    if is_partitioned {
        return Some(status);
    }
    match direct(device) {
        Ok(direct) => status.direct = direct,
        // A library without this query.
        Err(NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_)) => {}
        Err(_) => return None,
    }
    Some(status)
}

/// Whether each direct link of a device is up, by its number. A number that the device does not support is skipped; a
/// device without NVLink supports none.
pub(super) fn direct(device: &Device<'_>) -> Result<BTreeMap<u32, bool>, NvmlError> {
    let mut links = BTreeMap::new();
    // With the number of its links, a device need not be asked for all those that it does not have.
    let count = field(device, NVML_FI_DEV_NVLINK_LINK_COUNT, &mut None).unwrap_or(MOST_LINKS);
    for number in 0..MOST_LINKS {
        if links.len() >= count as usize {
            break;
        }
        match device.link_wrapper_for(number).is_active() {
            Ok(active) => drop(links.insert(number, active)),
            Err(NvmlError::NotSupported) => {}
            // Past the last link that the library can name.
            Err(NvmlError::InvalidArg) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(links)
}

/// The lanes of a device's PCIe link. A link that has trained with fewer lanes than device and slot have stays so,
/// idle or not: a card that does not sit well in its slot, mostly.
pub(super) fn lanes(device: &Device<'_>) -> Option<PcieLevel> {
    let now = device.current_pcie_link_width().ok()?;
    let most = device.max_pcie_link_width().ok()?;
    (now > 0 && most > 0).then_some(PcieLevel { now, most })
}

/// The generation of a device's PCIe link, while it computes. An idle device lowers it to save power and raises it
/// with its clocks, which takes some milliseconds. So it counts only of a device that was busy lately and whose
/// clocks are high both before and after the question.
pub(super) fn generation(device: &Device<'_>) -> Option<PcieLevel> {
    let busy = device.utilization_rates().ok()?.gpu > 0;
    if !busy || !has_high_clocks(device) {
        return None;
    }
    let now = device.current_pcie_link_gen().ok()?;
    let most = device.max_pcie_link_gen().ok()?;
    (now > 0 && has_high_clocks(device)).then_some(PcieLevel { now, most })
}

/// Whether a device is in a state in which programs compute. Libraries that do not tell its state are believed.
fn has_high_clocks(device: &Device<'_>) -> bool {
    use PerformanceState::{One, Two, Zero};
    // GeForce cards compute in the state 2, others in 0.
    device
        .performance_state()
        .map_or(true, |state| matches!(state, Zero | One | Two))
}
