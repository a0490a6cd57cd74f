//! What devices measure, as NVML tells it at one moment.

use mapa_topologies::pci_address;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::PcieUtilCounter;

use super::processes::is_loss;
use crate::found::{GpuReading, NoAnswer};

/// The readings of all devices. A value that a device does not tell is left out.
pub(super) fn readings(nvml: &Nvml) -> Result<Vec<GpuReading>, NoAnswer> {
    let count = nvml
        .device_count()
        .map_err(|error| NoAnswer::Failed(format!("no count of devices: {error}")))?;
    let mut all = Vec::new();
    for index in 0..count.min(mapa_core::MAX_DEVICES as u32) {
        let mut reading = GpuReading {
            index,
            ..GpuReading::default()
        };
        let device = match nvml.device_by_index(index) {
            Ok(device) => device,
            Err(error) => {
                // Another failure says nothing of the device, and no value is known.
                reading.lost = is_loss(&error).then(|| error.to_string());
                all.push(reading);
                continue;
            }
        };
        reading.uuid = device.uuid().ok();
        reading.pci = device
            .pci_info()
            .ok()
            .and_then(|pci| pci_address(&pci.bus_id));
        // The library may have a handle of a device that is lost, so this answer is checked as
        // well.
        let utilisation = device.utilization_rates();
        if let Err(error) = &utilisation
            && is_loss(error)
        {
            reading.lost = Some(error.to_string());
            all.push(reading);
            continue;
        }
        if let Ok(utilisation) = utilisation {
            reading.sm_percent = Some(utilisation.gpu);
            reading.memory_percent = Some(utilisation.memory);
        }
        reading.pcie_receive_kb_s = device.pcie_throughput(PcieUtilCounter::Receive).ok();
        reading.pcie_send_kb_s = device.pcie_throughput(PcieUtilCounter::Send).ok();
        reading.pcie_replays = device.pcie_replay_counter().ok();
        reading.power_mw = device.power_usage().ok();
        reading.memory_used_bytes = device.memory_info().ok().map(|memory| memory.used);
        let lists = [
            device.running_compute_processes(),
            device.running_graphics_processes(),
        ];
        // One list is enough: some boards and drivers have only one of the two.
        if lists.iter().any(Result::is_ok) {
            let list = lists.into_iter().flatten().flatten();
            let mut pids: Vec<u32> = list.map(|process| process.pid).collect();
            pids.sort_unstable();
            pids.dedup();
            reading.processes = Some(pids);
        }
        all.push(reading);
    }
    Ok(all)
}
