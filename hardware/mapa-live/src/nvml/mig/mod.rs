//! NVML's calls for MIG that the wrapper does not have, as safe functions.
//!
//! Handles are NVML's pointers, and valid as long as the library is loaded: they have its lifetime. They are handed
//! back to it and never followed here. All arrays and structures are this module's own, and live until the call returns.

#![allow(
    unsafe_code,
    reason = "C is called with pointers for its answers; see ARCHITECTURE.md"
)]

use std::ffi::{c_char, c_uint};
use std::ptr::null_mut;

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT, NVML_GPU_INSTANCE_PROFILE_COUNT, nvmlComputeInstance_t,
    nvmlComputeInstanceProfileInfo_v2_t, nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_v2_t,
};

/// The most MIG instances of a device that are queried; the largest GPUs have seven.
pub(super) const MOST_INSTANCES: u32 = 64;

/// Whether a device is in MIG mode.
pub(super) fn is_partitioned(device: &Device<'_>) -> bool {
    device.mig_mode().is_ok_and(|mode| mode.current == 1)
}

/// Where a GPU instance lies.
pub(super) struct InstancePlace {
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
pub(super) fn place(device: &Device<'_>, instance: u32) -> Result<InstancePlace, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstanceById.as_ref())?;
    let mut found: nvmlGpuInstance_t = null_mut();
    // SAFETY: the handle is a device's, and the call writes one handle, for which there is room.
    nvml_try(unsafe { call(handle(device), instance, &raw mut found) })?;
    let info = NvmlInstance::of(device, found).info()?;
    let slices = |number: u32| u8::try_from(number).map_err(|_| NvmlError::Unknown);
    Ok(InstancePlace {
        profile: info.profileId,
        slices: (slices(info.placement.start)?, slices(info.placement.size)?),
    })
}

/// The versions that `nvml.h` gives the structures: the size, and the version in the highest byte.
const PROFILE_V2: c_uint = size_of::<nvmlGpuInstanceProfileInfo_v2_t>() as c_uint | (2 << 24);
const COMPUTE_PROFILE_V2: c_uint =
    size_of::<nvmlComputeInstanceProfileInfo_v2_t>() as c_uint | (2 << 24);

/// A profile of GPU instances.
pub(crate) struct NvmlProfile {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) compute_slices: u32,
    /// The most instances of it that a device can have.
    pub(crate) most: u32,
}

/// A profile of compute instances in a GPU instance.
pub(crate) struct ComputeProfile {
    pub(crate) id: u32,
    pub(crate) slices: u32,
    /// The most that the GPU instance can have.
    most: u32,
}

/// A GPU instance.
pub(crate) struct NvmlInstance<'n> {
    handle: nvmlGpuInstance_t,
    nvml: &'n Nvml,
}

/// A compute instance.
pub(crate) struct Compute<'n> {
    handle: nvmlComputeInstance_t,
    nvml: &'n Nvml,
}

fn text(chars: &[c_char]) -> String {
    let bytes = chars.iter().map(|&char| char as u8);
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Leaves out a profile that the device does not have. INVALID_ARGUMENT is the answer of a library that has fewer
/// profiles than this program knows.
fn if_there_is_one(answer: Result<(), NvmlError>) -> Result<bool, NvmlError> {
    match answer {
        Ok(()) => Ok(true),
        Err(NvmlError::NotSupported | NvmlError::InvalidArg) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The profiles that a device has.
pub(crate) fn profiles(device: &Device<'_>) -> Result<Vec<NvmlProfile>, NvmlError> {
    let lib = device.nvml().lib();
    let call = nvml_sym(lib.nvmlDeviceGetGpuInstanceProfileInfoV.as_ref())?;
    let mut profiles = Vec::new();
    // This call numbers profiles by the constants of `nvml.h`. All others take the id that it
    // answers.
    for constant in 0..NVML_GPU_INSTANCE_PROFILE_COUNT {
        let mut info = nvmlGpuInstanceProfileInfo_v2_t {
            version: PROFILE_V2,
            id: 0,
            isP2pSupported: 0,
            sliceCount: 0,
            instanceCount: 0,
            multiprocessorCount: 0,
            copyEngineCount: 0,
            decoderCount: 0,
            encoderCount: 0,
            jpegCount: 0,
            ofaCount: 0,
            memorySizeMB: 0,
            name: [0; 96],
        };
        // SAFETY: the handle is a device's, and the call fills one structure, of the version that it names.
        let answer = nvml_try(unsafe { call(handle(device), constant, &raw mut info) });
        if if_there_is_one(answer)? {
            let name = text(&info.name);
            profiles.push(NvmlProfile {
                id: info.id,
                // The library says `MIG 3g.20gb`. The command and the tables say `3g.20gb`.
                name: name.strip_prefix("MIG ").unwrap_or(&name).to_owned(),
                compute_slices: info.sliceCount,
                most: info.instanceCount,
            });
        }
    }
    Ok(profiles)
}

/// The starts and sizes that a profile may have.
pub(crate) fn placements(
    device: &Device<'_>,
    profile: &NvmlProfile,
) -> Result<Vec<(u32, u32)>, NvmlError> {
    let lib = device.nvml().lib();
    let call = nvml_sym(lib.nvmlDeviceGetGpuInstancePossiblePlacements_v2.as_ref())?;
    let mut count: c_uint = 0;
    // SAFETY: the handle is a device's. Without an array the call writes one number, for which there is room.
    nvml_try(unsafe { call(handle(device), profile.id, null_mut(), &raw mut count) })?;
    let empty = nvmlGpuInstancePlacement_t { start: 0, size: 0 };
    let mut places = vec![empty; count as usize];
    // SAFETY: the array has as many places as `count` says, which is told to the call.
    nvml_try(unsafe {
        call(
            handle(device),
            profile.id,
            places.as_mut_ptr(),
            &raw mut count,
        )
    })?;
    let places = places.iter().take(count as usize);
    Ok(places.map(|place| (place.start, place.size)).collect())
}

/// The instances of a profile.
pub(crate) fn instances<'n>(
    device: &Device<'n>,
    profile: &NvmlProfile,
) -> Result<Vec<NvmlInstance<'n>>, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstances.as_ref())?;
    let mut found: Vec<nvmlGpuInstance_t> = vec![null_mut(); profile.most as usize];
    let mut count: c_uint = 0;
    // SAFETY: the handle is a device's. `nvml.h` asks for an array of the profile's `instanceCount`, which this one has.
    nvml_try(unsafe {
        call(
            handle(device),
            profile.id,
            found.as_mut_ptr(),
            &raw mut count,
        )
    })?;
    let found = found.into_iter().take(count as usize);
    Ok(found
        .map(|handle| NvmlInstance::of(device, handle))
        .collect())
}

/// Creates an instance without compute instances.
pub(crate) fn create<'n>(
    device: &Device<'n>,
    profile: &NvmlProfile,
    start: u32,
    size: u32,
) -> Result<NvmlInstance<'n>, NvmlError> {
    let lib = device.nvml().lib();
    let call = nvml_sym(lib.nvmlDeviceCreateGpuInstanceWithPlacement.as_ref())?;
    let place = nvmlGpuInstancePlacement_t { start, size };
    let mut made: nvmlGpuInstance_t = null_mut();
    // SAFETY: the handle is a device's; the call reads one placement and writes one handle.
    nvml_try(unsafe { call(handle(device), profile.id, &raw const place, &raw mut made) })?;
    Ok(NvmlInstance::of(device, made))
}

impl<'n> NvmlInstance<'n> {
    fn of(device: &Device<'n>, handle: nvmlGpuInstance_t) -> Self {
        Self {
            handle,
            nvml: device.nvml(),
        }
    }

    fn info(&self) -> Result<nvmlGpuInstanceInfo_t, NvmlError> {
        let call = nvml_sym(self.nvml.lib().nvmlGpuInstanceGetInfo.as_ref())?;
        let mut info = nvmlGpuInstanceInfo_t {
            device: null_mut(),
            id: 0,
            profileId: 0,
            placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
        };
        // SAFETY: the library has given this handle, and the call fills one structure.
        nvml_try(unsafe { call(self.handle, &raw mut info) })?;
        Ok(info)
    }

    /// Where it starts, and its size.
    pub(crate) fn place(&self) -> Result<(u32, u32), NvmlError> {
        let info = self.info()?;
        Ok((info.placement.start, info.placement.size))
    }

    /// Destroys it; it has no compute instances.
    pub(crate) fn destroy(self) -> Result<(), NvmlError> {
        let call = nvml_sym(self.nvml.lib().nvmlGpuInstanceDestroy.as_ref())?;
        // SAFETY: the library has given this handle, which nobody uses after this.
        nvml_try(unsafe { call(self.handle) })
    }

    /// The profiles of its compute instances.
    pub(crate) fn compute_profiles(&self) -> Result<Vec<ComputeProfile>, NvmlError> {
        let lib = self.nvml.lib();
        let call = nvml_sym(lib.nvmlGpuInstanceGetComputeInstanceProfileInfoV.as_ref())?;
        let mut profiles = Vec::new();
        for constant in 0..NVML_COMPUTE_INSTANCE_PROFILE_COUNT {
            let mut info = nvmlComputeInstanceProfileInfo_v2_t {
                version: COMPUTE_PROFILE_V2,
                id: 0,
                sliceCount: 0,
                instanceCount: 0,
                multiprocessorCount: 0,
                sharedCopyEngineCount: 0,
                sharedDecoderCount: 0,
                sharedEncoderCount: 0,
                sharedJpegCount: 0,
                sharedOfaCount: 0,
                name: [0; 96],
            };
            // SAFETY: the library has given this handle, and the call fills one structure, of the version that it names.
            let answer = nvml_try(unsafe { call(self.handle, constant, 0, &raw mut info) });
            if if_there_is_one(answer)? {
                profiles.push(ComputeProfile {
                    id: info.id,
                    slices: info.sliceCount,
                    most: info.instanceCount,
                });
            }
        }
        Ok(profiles)
    }

    /// Its compute instances of a profile.
    pub(crate) fn computes(&self, profile: &ComputeProfile) -> Result<Vec<Compute<'n>>, NvmlError> {
        let call = nvml_sym(self.nvml.lib().nvmlGpuInstanceGetComputeInstances.as_ref())?;
        let mut found: Vec<nvmlComputeInstance_t> = vec![null_mut(); profile.most as usize];
        let mut count: c_uint = 0;
        // SAFETY: the library has given this handle. `nvml.h` asks for an array of the profile's `instanceCount`, which
        // this one has.
        nvml_try(unsafe { call(self.handle, profile.id, found.as_mut_ptr(), &raw mut count) })?;
        let nvml = self.nvml;
        let found = found.into_iter().take(count as usize);
        Ok(found.map(|handle| Compute { handle, nvml }).collect())
    }

    /// Creates a compute instance.
    pub(crate) fn create_compute(&self, profile: &ComputeProfile) -> Result<(), NvmlError> {
        let lib = self.nvml.lib();
        let call = nvml_sym(lib.nvmlGpuInstanceCreateComputeInstance.as_ref())?;
        let mut made: nvmlComputeInstance_t = null_mut();
        // SAFETY: the library has given this handle, and the call writes one handle, for which there is room.
        nvml_try(unsafe { call(self.handle, profile.id, &raw mut made) })
    }
}

impl Compute<'_> {
    /// Destroys it.
    pub(crate) fn destroy(self) -> Result<(), NvmlError> {
        let call = nvml_sym(self.nvml.lib().nvmlComputeInstanceDestroy.as_ref())?;
        // SAFETY: the library has given this handle, which nobody uses after this.
        nvml_try(unsafe { call(self.handle) })
    }
}
