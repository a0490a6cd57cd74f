//! NVML's calls for MIG, which `nvml-wrapper` lacks, as safe functions.
//!
//! Handles are NVML's pointers. They are handed back to the library and never followed here. All arrays
//! and structures are this module's own, and live until the call returns. A symbol that the library lacks
//! is an answer, [`FUNCTION_NOT_FOUND`].

#![allow(unsafe_code, reason = "NVML is a C library: its calls take pointers")]

use std::ffi::{CString, c_char, c_uint};
use std::path::Path;
use std::ptr::null_mut;

use nvml_wrapper_sys::bindings::{
    self as sys, NvmlLib, nvmlComputeInstance_t, nvmlComputeInstanceProfileInfo_v2_t, nvmlDevice_t,
    nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t, nvmlPciInfo_t,
};

/// NVML's number for a symbol that the library lacks.
pub(crate) const FUNCTION_NOT_FOUND: u32 = 13;
pub(crate) const NOT_SUPPORTED: u32 = 3;
pub(crate) const NOT_FOUND: u32 = 6;
pub(crate) const IN_USE: u32 = 19;
pub(crate) const INSUFFICIENT_RESOURCES: u32 = 23;

/// The versions that `nvml.h` gives the structures: the size, and the version in the highest byte.
const PROFILE_V2: c_uint = size_of::<nvmlGpuInstanceProfileInfo_v2_t>() as c_uint | (2 << 24);
const COMPUTE_PROFILE_V2: c_uint =
    size_of::<nvmlComputeInstanceProfileInfo_v2_t>() as c_uint | (2 << 24);

/// More instances of one profile than any device has; NVML fills as many as there are.
const ROOM: usize = 64;

/// NVML said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The call.
    pub(crate) call: &'static str,
    /// NVML's number of the answer.
    pub(crate) code: u32,
}

/// The library, initialised. Its handles are valid as long as it lives.
pub(crate) struct MigLibrary {
    lib: NvmlLib,
}

#[derive(Clone, Copy)]
pub(crate) struct Device(nvmlDevice_t);

#[derive(Clone, Copy)]
pub(crate) struct Instance(nvmlGpuInstance_t);

#[derive(Clone, Copy)]
pub(crate) struct Compute(nvmlComputeInstance_t);

/// A profile of GPU instances.
pub(crate) struct Profile {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) compute_slices: u32,
    pub(crate) most: u32,
}

/// Calls a function of the library by its name.
macro_rules! call {
    ($own:expr, $name:ident($($argument:expr),*)) => {
        match &$own.lib.$name {
            Ok(function) => {
                // SAFETY: the symbol has the type of `nvml.h`; every pointer is to a place of that type
                // that outlives the call, or to an array whose length is told or is NVML's own most.
                let code = unsafe { function($($argument),*) };
                answer(stringify!($name), code)
            }
            Err(_) => answer(stringify!($name), FUNCTION_NOT_FOUND),
        }
    };
}

fn answer(call: &'static str, code: u32) -> Result<(), Refused> {
    if code == 0 {
        Ok(())
    } else {
        Err(Refused { call, code })
    }
}

fn text(chars: &[c_char]) -> String {
    let bytes = chars.iter().map(|&char| char as u8);
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl MigLibrary {
    /// Loads the library and initialises it.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: it is NVIDIA's library, or one that stands in for it, which the operator named. Its
        // constructors run, as they do for every program that links it.
        let lib =
            unsafe { NvmlLib::new(path) }.map_err(|error| format!("cannot be loaded: {error}"))?;
        let own = Self { lib };
        match call!(own, nvmlInit_v2()) {
            Ok(()) => Ok(own),
            Err(refused) => Err(format!("{} answered {}", refused.call, refused.code)),
        }
    }

    pub(crate) fn count(&self) -> Result<u32, Refused> {
        let mut count = 0;
        call!(self, nvmlDeviceGetCount_v2(&mut count))?;
        Ok(count)
    }

    pub(crate) fn by_index(&self, index: u32) -> Result<Device, Refused> {
        let mut device: nvmlDevice_t = null_mut();
        call!(self, nvmlDeviceGetHandleByIndex_v2(index, &mut device))?;
        Ok(Device(device))
    }

    pub(crate) fn by_uuid(&self, uuid: &str) -> Result<Device, Refused> {
        let Ok(uuid) = CString::new(uuid) else {
            return answer("nvmlDeviceGetHandleByUUID", NOT_FOUND).map(|()| Device(null_mut()));
        };
        let mut device: nvmlDevice_t = null_mut();
        call!(self, nvmlDeviceGetHandleByUUID(uuid.as_ptr(), &mut device))?;
        Ok(Device(device))
    }

    pub(crate) fn uuid(&self, device: Device) -> Result<String, Refused> {
        let mut room: [c_char; 96] = [0; 96];
        call!(
            self,
            nvmlDeviceGetUUID(device.0, room.as_mut_ptr(), room.len() as c_uint)
        )?;
        Ok(text(&room))
    }

    /// The PCI device and vendor, as in `0x20B010DE`.
    pub(crate) fn pci_id(&self, device: Device) -> Result<u32, Refused> {
        // A structure of numbers and arrays of them.
        let mut pci = nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        call!(self, nvmlDeviceGetPciInfo_v3(device.0, &mut pci))?;
        Ok(pci.pciDeviceId)
    }

    /// Whether MIG is on, and whether it will be after a reset.
    pub(crate) fn mode(&self, device: Device) -> Result<(bool, bool), Refused> {
        let (mut now, mut pending) = (0, 0);
        call!(self, nvmlDeviceGetMigMode(device.0, &mut now, &mut pending))?;
        Ok((now == 1, pending == 1))
    }

    /// Sets the mode; the answer is NVML's number for how its activation went.
    pub(crate) fn set_mode(&self, device: Device, on: bool) -> Result<u32, Refused> {
        let mut status = 0;
        call!(
            self,
            nvmlDeviceSetMigMode(device.0, c_uint::from(on), &mut status)
        )?;
        Ok(status)
    }

    /// The profiles that the device has.
    pub(crate) fn profiles(&self, device: Device) -> Result<Vec<Profile>, Refused> {
        let mut profiles = Vec::new();
        for constant in 0..sys::NVML_GPU_INSTANCE_PROFILE_COUNT {
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
            match call!(
                self,
                nvmlDeviceGetGpuInstanceProfileInfoV(device.0, constant, &mut info)
            ) {
                Ok(()) => {}
                // The device, or an older library, does not have this one. INVALID_ARGUMENT is the answer of
                // a library that has fewer profiles than this program knows.
                Err(refused) if matches!(refused.code, NOT_SUPPORTED | 2) => continue,
                Err(refused) => return Err(refused),
            }
            let name = text(&info.name);
            profiles.push(Profile {
                id: info.id,
                name: name.strip_prefix("MIG ").unwrap_or(&name).to_owned(),
                compute_slices: info.sliceCount,
                most: info.instanceCount,
            });
        }
        Ok(profiles)
    }

    /// The starts and sizes that a profile may have.
    pub(crate) fn placements(
        &self,
        device: Device,
        profile: u32,
    ) -> Result<Vec<(u32, u32)>, Refused> {
        let mut count: c_uint = 0;
        call!(
            self,
            nvmlDeviceGetGpuInstancePossiblePlacements_v2(
                device.0,
                profile,
                null_mut(),
                &mut count
            )
        )?;
        let empty = nvmlGpuInstancePlacement_t { start: 0, size: 0 };
        let mut places = vec![empty; count as usize];
        call!(
            self,
            nvmlDeviceGetGpuInstancePossiblePlacements_v2(
                device.0,
                profile,
                places.as_mut_ptr(),
                &mut count
            )
        )?;
        let places = places.iter().take(count as usize);
        Ok(places.map(|own| (own.start, own.size)).collect())
    }

    /// The instances of a profile.
    pub(crate) fn instances(&self, device: Device, profile: u32) -> Result<Vec<Instance>, Refused> {
        let mut room: [nvmlGpuInstance_t; ROOM] = [null_mut(); ROOM];
        let mut count: c_uint = 0;
        call!(
            self,
            nvmlDeviceGetGpuInstances(device.0, profile, room.as_mut_ptr(), &mut count)
        )?;
        Ok(room
            .into_iter()
            .take(count as usize)
            .map(Instance)
            .collect())
    }

    /// The start and size of an instance.
    pub(crate) fn place(&self, instance: Instance) -> Result<(u32, u32), Refused> {
        let mut info = nvmlGpuInstanceInfo_t {
            device: null_mut(),
            id: 0,
            profileId: 0,
            placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
        };
        call!(self, nvmlGpuInstanceGetInfo(instance.0, &mut info))?;
        Ok((info.placement.start, info.placement.size))
    }

    pub(crate) fn create(
        &self,
        device: Device,
        profile: u32,
        start: u32,
        size: u32,
    ) -> Result<Instance, Refused> {
        let place = nvmlGpuInstancePlacement_t { start, size };
        let mut instance: nvmlGpuInstance_t = null_mut();
        call!(
            self,
            nvmlDeviceCreateGpuInstanceWithPlacement(device.0, profile, &place, &mut instance)
        )?;
        Ok(Instance(instance))
    }

    pub(crate) fn destroy(&self, instance: Instance) -> Result<(), Refused> {
        call!(self, nvmlGpuInstanceDestroy(instance.0))
    }

    /// The profiles of compute instances of an instance: their numbers and slices.
    pub(crate) fn compute_profiles(&self, instance: Instance) -> Result<Vec<(u32, u32)>, Refused> {
        let mut profiles = Vec::new();
        for constant in 0..sys::NVML_COMPUTE_INSTANCE_PROFILE_COUNT {
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
            match call!(
                self,
                nvmlGpuInstanceGetComputeInstanceProfileInfoV(instance.0, constant, 0, &mut info)
            ) {
                Ok(()) => profiles.push((info.id, info.sliceCount)),
                Err(refused) if matches!(refused.code, NOT_SUPPORTED | 2) => {}
                Err(refused) => return Err(refused),
            }
        }
        Ok(profiles)
    }

    pub(crate) fn computes(
        &self,
        instance: Instance,
        profile: u32,
    ) -> Result<Vec<Compute>, Refused> {
        let mut room: [nvmlComputeInstance_t; ROOM] = [null_mut(); ROOM];
        let mut count: c_uint = 0;
        call!(
            self,
            nvmlGpuInstanceGetComputeInstances(instance.0, profile, room.as_mut_ptr(), &mut count)
        )?;
        Ok(room.into_iter().take(count as usize).map(Compute).collect())
    }

    pub(crate) fn create_compute(&self, instance: Instance, profile: u32) -> Result<(), Refused> {
        let mut compute: nvmlComputeInstance_t = null_mut();
        call!(
            self,
            nvmlGpuInstanceCreateComputeInstance(instance.0, profile, &mut compute)
        )
    }

    pub(crate) fn destroy_compute(&self, compute: Compute) -> Result<(), Refused> {
        call!(self, nvmlComputeInstanceDestroy(compute.0))
    }
}

impl Drop for MigLibrary {
    fn drop(&mut self) {
        let _ = call!(self, nvmlShutdown());
    }
}
