//! The answers of the drivers at this moment: which devices answer, which of their links are up, and which processes use
//! them.

use std::fs;

use crate::error::Error;
use crate::found::{DeviceProcess, DriverSnapshot, NoAnswer};
use crate::live::Live;

/// The devices that answer now, with their links, by NVML, and the processes that use devices: by NVML, and by the
/// folders that AMD's KFD keeps for each process. Drivers that are not there use nothing.
///
/// # Examples
/// ```no_run
/// use mapa_live::{Live, driver_snapshot};
///
/// for process in driver_snapshot(&Live::default())?.uses {
///     println!("process {} uses {:?}", process.pid, process.uuid);
/// }
/// # Ok::<(), mapa_live::Error>(())
/// ```
///
/// # Errors
/// [Unavailable](Error::is_unavailable): a driver is there and does not answer.
pub fn driver_snapshot(live: &Live) -> Result<DriverSnapshot, Error> {
    let mut found = match by_nvml(live) {
        Ok(found) => found,
        Err(NoAnswer::Absent(_)) => DriverSnapshot::default(),
        Err(NoAnswer::Failed(what)) => return Err(Error::unavailable(format!("nvml: {what}"))),
    };
    found.uses.extend(by_kfd(live));
    found.uses.sort();
    // A process that both computes and draws is in two of NVML's lists.
    found.uses.dedup();
    Ok(found)
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn by_nvml(live: &Live) -> Result<DriverSnapshot, NoAnswer> {
    crate::nvml::driver_snapshot(live)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn by_nvml(_: &Live) -> Result<DriverSnapshot, NoAnswer> {
    Err(NoAnswer::Absent(String::new()))
}

/// KFD has a folder for each process, and in it a file `vram_ID` for each device on which the
/// process has memory. `ID` is the device's `gpu_id` in the tree of nodes.
fn by_kfd(live: &Live) -> Vec<DeviceProcess> {
    let processes = live.roots.sys.join("class/kfd/kfd/proc");
    let Ok(entries) = fs::read_dir(processes) else {
        return Vec::new();
    };
    let devices = kfd_devices(live);
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(files) = fs::read_dir(entry.path()) else {
            continue;
        };
        for file in files.flatten() {
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_prefix("vram_"));
            let bytes = fs::read_to_string(file.path()).unwrap_or_default();
            // Every process that opens KFD gets such a file for every device; those without memory
            // do not use the device.
            let Some(id) = id.filter(|_| bytes.trim() != "0") else {
                continue;
            };
            let device = devices.iter().find(|(candidate, _)| candidate == id);
            found.extend(device.map(|(_, pci)| DeviceProcess {
                pid,
                uuid: None,
                pci: Some(pci.clone()),
                index: None,
                instance: None,
            }));
        }
    }
    found
}

/// The `gpu_id` and the PCI address of each device in KFD's tree of nodes.
fn kfd_devices(live: &Live) -> Vec<(String, String)> {
    let Ok(nodes) = fs::read_dir(live.kfd()) else {
        return Vec::new();
    };
    let mut devices = Vec::new();
    for node in nodes.flatten() {
        let id = fs::read_to_string(node.path().join("gpu_id")).unwrap_or_default();
        let properties = fs::read_to_string(node.path().join("properties")).unwrap_or_default();
        let number = |key: &str| {
            let line = properties.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|value| value.trim().parse::<u32>().ok())
        };
        // Processors are nodes too, of id 0.
        if id.trim() == "0" || id.trim().is_empty() {
            continue;
        }
        if let Some(place) = number("location_id ") {
            let domain = number("domain ").unwrap_or_default();
            // The kernel packs them into `location_id`: the bus in bits 8 to 15, the slot in bits 3
            // to 7, the function below.
            let (bus, slot, function) = (place >> 8 & 0xff, place >> 3 & 0x1f, place & 7);
            let pci = format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}");
            devices.push((id.trim().to_owned(), pci));
        }
    }
    devices
}
