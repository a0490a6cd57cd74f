//! Calls about what joins devices: ancestors in the host, peer access, NVLinks.

use std::ffi::{c_uint, c_ulonglong};

use mapa_core::LinkClass;
use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEnableState_t, nvmlGpuP2PStatus_t, nvmlGpuTopologyLevel_t,
    nvmlIntNvLinkDeviceType_t, nvmlPciInfo_t,
};

use super::border::{CallResult, NvmlCall, Out, fill};
use super::devices::pci_info;
use super::handle::DeviceHandle;
use super::seat::CallDevice;
use crate::code::Code;
use crate::hardware::{FakeNvLink, NvLinkEnd, PeerReach};

calls! {
    fn nvmlDeviceGetTopologyCommonAncestor(
        a: by nvmlDevice_t, b: by nvmlDevice_t, level: out nvmlGpuTopologyLevel_t,
    ) |call| {
        let (seat, b) = pair(call, a, b)?;
        let class = seat.fake.hardware().ancestor(seat.device, b);
        level.set(level_of(class).ok_or(Code::NotSupported)?)
    };
    fn nvmlDeviceGetTopologyNearestGpus(
        device: by nvmlDevice_t, level: by nvmlGpuTopologyLevel_t, count: out c_uint,
        devices: out nvmlDevice_t,
    ) |call| {
        let seat = call.whole(device)?;
        let hardware = seat.fake.hardware();
        let near: Vec<nvmlDevice_t> = (0..hardware.gpus.len())
            .filter(|&other| other != seat.device)
            .filter(|&other| level_of(hardware.ancestor(seat.device, other)) == Some(level))
            .map(|device| DeviceHandle::Gpu { device: device as u16 }.pointer())
            .collect();
        if devices.is_null() {
            return count.set(near.len() as c_uint);
        }
        fill(count, devices, &near)
    };
    fn nvmlDeviceOnSameBoard(
        a: by nvmlDevice_t, b: by nvmlDevice_t, same: out std::ffi::c_int,
    ) |call| {
        let (seat, b) = pair(call, a, b)?;
        let class = seat.fake.hardware().ancestor(seat.device, b);
        same.set(matches!(class, LinkClass::Board | LinkClass::SameDevice).into())
    };
    fn nvmlDeviceGetP2PStatus(
        a: by nvmlDevice_t, b: by nvmlDevice_t, index: by c_uint, status: out nvmlGpuP2PStatus_t,
    ) |call| {
        let (seat, b) = pair(call, a, b)?;
        status.set(peer_status(&seat, b, index)?)
    };

    fn nvmlDeviceGetNvLinkState(
        device: by nvmlDevice_t, link: by c_uint, active: out nvmlEnableState_t,
    ) |call| {
        let seat = call.whole(device)?;
        match link_of(&seat, link) {
            Ok(_) => active.set(is_up(&seat, link as usize).into()),
            // Clients count links up to the most that a device may have.
            Err(_) if link < sys::NVML_NVLINK_MAX_LINKS => Err(Code::NotSupported),
            Err(_) => Err(Code::InvalidArgument),
        }
    };
    fn nvmlDeviceGetNvLinkVersion(
        device: by nvmlDevice_t, link: by c_uint, version: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        link_of(&seat, link)?;
        version.set(seat.gpu().link_version.ok_or(Code::NotSupported)?)
    };
    fn nvmlDeviceGetNvLinkCapability(
        device: by nvmlDevice_t, link: by c_uint, capability: by c_uint, has: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        link_of(&seat, link)?;
        has.set(match capability {
            sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_P2P_SUPPORTED
            | sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_P2P_ATOMICS
            | sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_VALID => 1,
            0..sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_COUNT => 0,
            _ => return Err(Code::InvalidArgument),
        })
    };
    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
        device: by nvmlDevice_t, link: by c_uint, pci: out nvmlPciInfo_t,
    ) |call| remote(call, device, link, pci);
    fn nvmlDeviceGetNvLinkRemoteDeviceType(
        device: by nvmlDevice_t, link: by c_uint, kind: out nvmlIntNvLinkDeviceType_t,
    ) |call| {
        let seat = call.whole(device)?;
        kind.set(match link_of(&seat, link)?.end {
            NvLinkEnd::Gpu(_) => sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU,
            NvLinkEnd::Switch(_) => sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
        })
    };
    fn nvmlDeviceGetNvLinkErrorCounter(
        device: by nvmlDevice_t, link: by c_uint, counter: by c_uint, value: out c_ulonglong,
    ) |call| {
        let seat = call.whole(device)?;
        link_of(&seat, link)?;
        if counter >= sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_COUNT {
            return Err(Code::InvalidArgument);
        }
        value.set(0)
    };
}

/// Two devices: the first with its state, the number of the second.
fn pair(call: NvmlCall, a: nvmlDevice_t, b: nvmlDevice_t) -> CallResult<(CallDevice, usize)> {
    let seat = call.whole(a)?;
    let Some(DeviceHandle::Gpu { device }) = DeviceHandle::of(b) else {
        return Err(Code::InvalidArgument);
    };
    // The second one's faults are its own, but it must be on the bus.
    let other = usize::from(device);
    match seat.state().devices.get(other) {
        None => Err(Code::InvalidArgument),
        Some(device) if device.lost => Err(Code::GpuIsLost),
        Some(_) => Ok((seat, other)),
    }
}

/// NVML's number of a host path; none where no host joins two devices.
fn level_of(class: LinkClass) -> Option<nvmlGpuTopologyLevel_t> {
    Some(match class {
        LinkClass::SameDevice | LinkClass::Board => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_INTERNAL,
        LinkClass::Pix => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_SINGLE,
        LinkClass::Pxb => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_MULTIPLE,
        LinkClass::Phb => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_HOSTBRIDGE,
        LinkClass::Node => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_NODE,
        LinkClass::Sys => sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_SYSTEM,
        LinkClass::None | LinkClass::Network | LinkClass::Direct(_) => return None,
    })
}

fn peer_status(seat: &CallDevice, b: usize, index: c_uint) -> CallResult<nvmlGpuP2PStatus_t> {
    let reached = match seat.fake.hardware().peer(seat.device, b) {
        PeerReach::Reached => sys::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_OK,
        PeerReach::NotByProduct => sys::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_GPU_NOT_SUPPORTED,
        PeerReach::Off => sys::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_NOT_SUPPORTED,
    };
    Ok(match index {
        sys::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_READ
        | sys::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_WRITE
        | sys::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_PCI => reached,
        sys::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_NVLINK
        | sys::nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_ATOMICS => {
            if is_joined(seat, b) {
                sys::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_OK
            } else {
                sys::nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_NOT_SUPPORTED
            }
        }
        _ => return Err(Code::InvalidArgument),
    })
}

/// Whether two devices reach each other by links that are up, directly or through a switch.
fn is_joined(seat: &CallDevice, b: usize) -> bool {
    let gpus = &seat.fake.hardware().gpus;
    let up = |device: usize| {
        let down = &seat.state().devices[device].links_down;
        let links = (0..).zip(&gpus[device].links);
        links
            .filter(|(number, _)| !down.contains(number))
            .map(|(_, link)| &link.end)
    };
    up(seat.device).any(|end| match end {
        NvLinkEnd::Gpu(other) => *other == b,
        NvLinkEnd::Switch(_) => b != seat.device && up(b).any(|other| other == end),
    })
}

fn remote(
    call: NvmlCall,
    device: nvmlDevice_t,
    link: c_uint,
    pci: Out<nvmlPciInfo_t>,
) -> CallResult {
    let seat = call.whole(device)?;
    pci.set(pci_info(match &link_of(&seat, link)?.end {
        NvLinkEnd::Gpu(other) => &seat.fake.hardware().gpus[*other].pci,
        NvLinkEnd::Switch(address) => address,
    }))
}

/// A link of a device. Past the last one the answer is `NOT_SUPPORTED`, which clients expect.
pub(super) fn link_of(seat: &CallDevice, link: c_uint) -> CallResult<&FakeNvLink> {
    let links = &seat.gpu().links;
    links.get(link as usize).ok_or(Code::NotSupported)
}

pub(super) fn is_up(seat: &CallDevice, link: usize) -> bool {
    !seat.now().links_down.contains(&(link as u32))
}
