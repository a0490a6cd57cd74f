//! Where a MIG instance lies on its GPU: three calls of NVML that the wrapper does not have.

#![allow(
    unsafe_code,
    reason = "C is called with pointers for its answers; see ARCHITECTURE.md"
)]

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
};

/// The most MIG instances of a device that are queried; the largest GPUs have seven.
pub(super) const MOST_INSTANCES: u32 = 64;

/// Whether a device is in MIG mode.
pub(super) fn is_partitioned(device: &Device<'_>) -> bool {
    device.mig_mode().is_ok_and(|mode| mode.current == 1)
}

/// Where a GPU instance lies.
pub(super) struct Place {
    /// The vendor's number of the profile.
    pub(super) profile: u32,
    /// The first memory slice, and how many there are.
    pub(super) slices: (u8, u8),
}

/// The library's handle of a device.
fn handle(device: &Device<'_>) -> nvmlDevice_t {
    // SAFETY: the handle is used only while `device` is borrowed, and so while the library is loaded.
    unsafe { device.handle() }
}

/// The number of the GPU instance that a MIG device is on.
///
/// # Errors
/// What the library says; it has no such call.
pub(super) fn instance_of(mig: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(mig.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut number = 0;
    // SAFETY: the handle is a device's, and the call writes one number, for which there is room.
    nvml_try(unsafe { call(handle(mig), &raw mut number) })?;
    Ok(number)
}

/// Where the GPU instance of this number lies. Drivers tell it to privileged users alone.
///
/// # Errors
/// What the library says; it has no such call.
pub(super) fn place(device: &Device<'_>, instance: u32) -> Result<Place, NvmlError> {
    let lib = device.nvml().lib();
    let find = nvml_sym(lib.nvmlDeviceGetGpuInstanceById.as_ref())?;
    let tell = nvml_sym(lib.nvmlGpuInstanceGetInfo.as_ref())?;
    let mut found: nvmlGpuInstance_t = std::ptr::null_mut();
    // SAFETY: the handle is a device's, and the call writes one handle, for which there is room.
    nvml_try(unsafe { find(handle(device), instance, &raw mut found) })?;
    let mut info = nvmlGpuInstanceInfo_t {
        device: std::ptr::null_mut(),
        id: 0,
        profileId: 0,
        placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
    };
    // SAFETY: the library has just given this handle, and the call fills one structure.
    nvml_try(unsafe { tell(found, &raw mut info) })?;
    let slices = |own: u32| u8::try_from(own).map_err(|_| NvmlError::Unknown);
    Ok(Place {
        profile: info.profileId,
        slices: (slices(info.placement.start)?, slices(info.placement.size)?),
    })
}
