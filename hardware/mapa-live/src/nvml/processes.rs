//! The answers of NVML at this moment: which devices answer, which of their links are up, and which processes use them.

use mapa_topologies::pci_address;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
use nvml_wrapper::{Device, Nvml};

use super::answer::field;
use super::links;
use super::mig::{self, MOST_INSTANCES, is_partitioned};
use crate::found::{DeviceProcess, DeviceStatus, DriverSnapshot, NoAnswer};

/// The devices and their processes.
pub(super) fn driver_snapshot(nvml: &Nvml) -> Result<DriverSnapshot, NoAnswer> {
    let count = nvml
        .device_count()
        .map_err(|error| NoAnswer::Failed(format!("no count of devices: {error}")))?;
    let mut snapshot = DriverSnapshot {
        uses: Vec::new(),
        devices: Some(Vec::new()),
    };
    for index in 0..count.min(mapa_core::MAX_DEVICES as u32) {
        let (seen, uses) = look_at(nvml, index)?;
        snapshot.devices.get_or_insert_default().push(seen);
        snapshot.uses.extend(uses);
    }
    Ok(snapshot)
}

/// One device, and its processes.
fn look_at(nvml: &Nvml, index: u32) -> Result<(DeviceStatus, Vec<DeviceProcess>), NoAnswer> {
    let mut seen = DeviceStatus {
        index,
        uuid: None,
        pci: None,
        partitioned: false,
        lost: false,
        trouble: None,
        links: None,
    };
    let asked = nvml
        .device_by_index(index)
        .and_then(|device| Ok((device.uuid()?, device)));
    let (uuid, device) = match asked {
        Ok(found) => found,
        Err(error) if is_loss(&error) => {
            seen.lost = true;
            seen.trouble = Some(format!("NVML says: {error}"));
            return Ok((seen, Vec::new()));
        }
        // This user may not ask, so nothing is known of the device.
        Err(NvmlError::NoPermission) => return Ok((seen, Vec::new())),
        Err(error) => return Err(NoAnswer::Failed(format!("GPU{index}: {error}"))),
    };
    let pci = device.pci_info().ok();
    seen.partitioned = is_partitioned(&device);
    seen.uuid = Some(uuid);
    seen.pci = pci.and_then(|pci| pci_address(&pci.bus_id));
    seen.trouble = recovery(&device).map(str::to_owned);
    let lists = match processes(&device) {
        Ok(lists) => lists,
        // It was lost between two questions.
        Err(error) if is_loss(&error) => {
            seen.lost = true;
            seen.trouble = Some(format!("NVML says: {error}"));
            return Ok((seen, Vec::new()));
        }
        Err(error) => {
            return Err(NoAnswer::Failed(format!(
                "processes of GPU{index}: {error}"
            )));
        }
    };
    let uses = lists.into_iter().map(|(instance, process)| DeviceProcess {
        pid: process.pid,
        uuid: seen.uuid.clone(),
        pci: seen.pci.clone(),
        index: Some(index),
        instance,
    });
    let uses = uses.collect();
    seen.links = links::status(&device, seen.partitioned);
    Ok((seen, uses))
}

/// Whether an answer says that a device is gone. Any other failure says nothing of the device.
pub(super) fn is_loss(error: &NvmlError) -> bool {
    matches!(error, NvmlError::GpuLost | NvmlError::ResetRequired)
}

/// What the driver asks for, if the device cannot go on as it is. Drivers before R570 do not say.
fn recovery(device: &Device<'_>) -> Option<&'static str> {
    // The numbers of `nvmlDeviceGpuRecoveryAction_t` in `nvml.h`; 0 asks for no action.
    match field(device, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, &mut None)? {
        1 => Some("its driver asks for a reset of the GPU"),
        2 => Some("its driver asks for a reboot of the machine"),
        3 => Some("its driver asks that peer-to-peer traffic ends"),
        4 => Some("its driver asks for a reset of the GPU once it is idle"),
        _ => None,
    }
}

/// The processes of a device, with the GPU instance that each uses. In MIG mode a device tells its own
/// list to privileged users alone, so its instances are asked.
fn processes(device: &Device<'_>) -> Result<Vec<(Option<u32>, ProcessInfo)>, NvmlError> {
    let mut found = Vec::new();
    if !is_partitioned(device) {
        let processes = listed(device)?;
        found.extend(
            processes
                .into_iter()
                .map(|process| (process.gpu_instance_id, process)),
        );
        return Ok(found);
    }
    for slot in 0..device.mig_device_count()?.min(MOST_INSTANCES) {
        // Numbers have gaps, and an instance may be destroyed meanwhile: then nobody uses it.
        let Ok(instance) = device.mig_device_by_index(slot) else {
            continue;
        };
        let number = mig::instance_of(&instance).ok();
        match listed(&instance) {
            Ok(processes) => {
                found.extend(
                    processes
                        .into_iter()
                        .map(|process| (process.gpu_instance_id.or(number), process)),
                );
            }
            Err(NvmlError::InvalidArg | NvmlError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The processes that compute or draw on a device. Some boards and old drivers have no such list.
fn listed(device: &Device<'_>) -> Result<Vec<ProcessInfo>, NvmlError> {
    use NvmlError::{FailedToLoadSymbol, FunctionNotFound, NotSupported};
    let mut all = Vec::new();
    for list in [
        device.running_compute_processes(),
        device.running_graphics_processes(),
    ] {
        match list {
            Ok(processes) => all.extend(processes),
            Err(NotSupported | FunctionNotFound | FailedToLoadSymbol(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}
