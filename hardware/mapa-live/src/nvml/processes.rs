//! The processes that use devices, as NVML lists them.

use mapa_topologies::pci_address;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use crate::found::{Silence, Use};

/// The processes that compute or draw on each device.
pub(super) fn uses(nvml: &Nvml) -> Result<Vec<Use>, Silence> {
    let failed = |what: &str, error: NvmlError| Silence::Failed(format!("{what}: {error}"));
    let count = nvml
        .device_count()
        .map_err(|error| failed("no count of devices", error))?;
    let mut found = Vec::new();
    for index in 0..count.min(mapa_core::MAX_DEVICES as u32) {
        // A device that is lost has no processes that could be asked for; its health is another
        // question.
        let Ok(device) = nvml.device_by_index(index) else {
            continue;
        };
        let uuid = device.uuid().ok();
        let pci = device
            .pci_info()
            .ok()
            .and_then(|pci| pci_address(&pci.bus_id));
        let lists = [
            device.running_compute_processes(),
            device.running_graphics_processes(),
        ];
        for list in lists {
            let processes = match list {
                Ok(processes) => processes,
                // Some boards, and devices in MIG mode, have no such list.
                Err(
                    NvmlError::NotSupported
                    | NvmlError::FunctionNotFound
                    | NvmlError::FailedToLoadSymbol(_),
                ) => continue,
                Err(error) => return Err(failed(&format!("processes of GPU{index}"), error)),
            };
            found.extend(processes.into_iter().map(|own| Use {
                pid: own.pid,
                uuid: uuid.clone(),
                pci: pci.clone(),
                index: Some(index),
            }));
        }
    }
    Ok(found)
}
