//! NVML's MIG calls as safe functions: `nvml-wrapper` has none of them.

use std::ffi::{c_char, c_uint};
use std::mem::zeroed;
use std::path::Path;

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlComputeInstancePlacement_t,
    nvmlComputeInstanceProfileInfo_v2_t, nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_v2_t,
};

/// NVML's numbers of answers.
pub(crate) const INVALID_ARGUMENT: u32 = 2;
pub(crate) const NOT_SUPPORTED: u32 = 3;
pub(crate) const NOT_FOUND: u32 = 6;
pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
pub(crate) const IN_USE: u32 = 19;
pub(crate) const INSUFFICIENT_RESOURCES: u32 = 23;
pub(crate) const VERSION_MISMATCH: u32 = 25;

/// The versions that `nvml.h` gives the structures.
pub(crate) const PROFILE_V2: u32 = 0x0200_0098;
pub(crate) const COMPUTE_PROFILE_V2: u32 = 0x0200_0088;

pub(crate) struct Raw {
    lib: NvmlLib,
    /// The same library, for calls by name.
    library: libloading::Library,
}

fn answer<T>(code: u32, value: T) -> Result<T, u32> {
    if code == 0 { Ok(value) } else { Err(code) }
}

pub(crate) fn text(chars: &[c_char]) -> String {
    let bytes = chars.iter().map(|&c| c as u8);
    String::from_utf8(bytes.take_while(|&byte| byte != 0).collect()).unwrap()
}

// Each block below calls the library with pointers to values that live on the stack of the function,
// of the types that nvml.h demands.
impl Raw {
    pub(crate) fn new(library: &Path) -> Self {
        // SAFETY: it is the library under test, which does nothing when it is loaded.
        let lib = unsafe { NvmlLib::new(library) }.unwrap();
        // SAFETY: no arguments.
        assert_eq!(unsafe { lib.nvmlInit_v2() }, 0);
        // SAFETY: as above.
        let library = unsafe { libloading::Library::new(library) }.unwrap();
        Self { lib, library }
    }

    pub(crate) fn device(&self, index: u32) -> nvmlDevice_t {
        let mut device = std::ptr::null_mut();
        // SAFETY: a place for one handle.
        let code = unsafe { self.lib.nvmlDeviceGetHandleByIndex_v2(index, &mut device) };
        answer(code, device).unwrap()
    }

    /// The status of the activation.
    pub(crate) fn set_mig_mode(&self, device: nvmlDevice_t, on: bool) -> Result<u32, u32> {
        let mut status = 0;
        // SAFETY: a place for one number.
        let code = unsafe {
            self.lib
                .nvmlDeviceSetMigMode(device, on.into(), &mut status)
        };
        answer(code, status)
    }

    /// Current and pending.
    pub(crate) fn mig_mode(&self, device: nvmlDevice_t) -> Result<(u32, u32), u32> {
        let mut modes = (9, 9);
        // SAFETY: places for two numbers.
        let code = unsafe {
            self.lib
                .nvmlDeviceGetMigMode(device, &mut modes.0, &mut modes.1)
        };
        answer(code, modes)
    }

    pub(crate) fn profile(
        &self,
        device: nvmlDevice_t,
        constant: u32,
        version: u32,
    ) -> Result<nvmlGpuInstanceProfileInfo_v2_t, u32> {
        // SAFETY: a structure of numbers.
        let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { zeroed() };
        info.version = version;
        // SAFETY: a place for one structure of this version; of another the library writes nothing.
        let code = unsafe {
            self.lib
                .nvmlDeviceGetGpuInstanceProfileInfoV(device, constant, &mut info)
        };
        answer(code, info)
    }

    pub(crate) fn placements(
        &self,
        device: nvmlDevice_t,
        profile: u32,
    ) -> Result<Vec<(u32, u32)>, u32> {
        let mut count = 0;
        let ask = |array: *mut nvmlGpuInstancePlacement_t, count: &mut c_uint| {
            // SAFETY: null, or an array of `count` structures.
            unsafe {
                self.lib
                    .nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile, array, count)
            }
        };
        answer(ask(std::ptr::null_mut(), &mut count), ())?;
        let mut array = vec![nvmlGpuInstancePlacement_t { start: 0, size: 0 }; count as usize];
        if count > 0 {
            let mut less = count - 1;
            assert_eq!(ask(array.as_mut_ptr(), &mut less), INSUFFICIENT_SIZE);
        }
        answer(ask(array.as_mut_ptr(), &mut count), ())?;
        Ok(array
            .iter()
            .map(|placement| (placement.start, placement.size))
            .collect())
    }

    pub(crate) fn capacity(&self, device: nvmlDevice_t, profile: u32) -> Result<u32, u32> {
        let mut count = 0;
        // SAFETY: a place for one number.
        let code = unsafe {
            self.lib
                .nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile, &mut count)
        };
        answer(code, count)
    }

    pub(crate) fn create(
        &self,
        device: nvmlDevice_t,
        profile: u32,
        placement: Option<(u32, u32)>,
    ) -> Result<nvmlGpuInstance_t, u32> {
        let mut instance = std::ptr::null_mut();
        let code = match placement {
            None => {
                // SAFETY: a place for one handle.
                unsafe {
                    self.lib
                        .nvmlDeviceCreateGpuInstance(device, profile, &mut instance)
                }
            }
            Some((start, size)) => {
                let placement = nvmlGpuInstancePlacement_t { start, size };
                // SAFETY: one structure to read, and a place for one handle.
                unsafe {
                    self.lib.nvmlDeviceCreateGpuInstanceWithPlacement(
                        device,
                        profile,
                        &placement,
                        &mut instance,
                    )
                }
            }
        };
        answer(code, instance)
    }

    pub(crate) fn destroy(&self, instance: nvmlGpuInstance_t) -> Result<(), u32> {
        // SAFETY: any handle.
        answer(unsafe { self.lib.nvmlGpuInstanceDestroy(instance) }, ())
    }

    pub(crate) fn info(&self, instance: nvmlGpuInstance_t) -> Result<nvmlGpuInstanceInfo_t, u32> {
        // SAFETY: a structure of numbers and a handle.
        let mut info: nvmlGpuInstanceInfo_t = unsafe { zeroed() };
        // SAFETY: a place for one structure.
        let code = unsafe { self.lib.nvmlGpuInstanceGetInfo(instance, &mut info) };
        answer(code, info)
    }

    pub(crate) fn instances(&self, device: nvmlDevice_t, profile: u32) -> Vec<nvmlGpuInstance_t> {
        let mut instances = [std::ptr::null_mut(); 16];
        let mut count = 0;
        // SAFETY: more places than a device has instances.
        let code = unsafe {
            self.lib
                .nvmlDeviceGetGpuInstances(device, profile, instances.as_mut_ptr(), &mut count)
        };
        answer(code, instances[..count as usize].to_vec()).unwrap()
    }

    pub(crate) fn compute_profile(
        &self,
        instance: nvmlGpuInstance_t,
        constant: u32,
    ) -> Result<nvmlComputeInstanceProfileInfo_v2_t, u32> {
        // SAFETY: a structure of numbers.
        let mut info: nvmlComputeInstanceProfileInfo_v2_t = unsafe { zeroed() };
        info.version = COMPUTE_PROFILE_V2;
        // SAFETY: a place for one structure of this version.
        let code = unsafe {
            self.lib
                .nvmlGpuInstanceGetComputeInstanceProfileInfoV(instance, constant, 0, &mut info)
        };
        answer(code, info)
    }

    pub(crate) fn compute_capacity(
        &self,
        instance: nvmlGpuInstance_t,
        profile: u32,
    ) -> Result<u32, u32> {
        let mut count = 0;
        // SAFETY: a place for one number.
        let code = unsafe {
            self.lib
                .nvmlGpuInstanceGetComputeInstanceRemainingCapacity(instance, profile, &mut count)
        };
        answer(code, count)
    }

    pub(crate) fn create_compute(
        &self,
        instance: nvmlGpuInstance_t,
        profile: u32,
        placement: Option<(u32, u32)>,
    ) -> Result<nvmlComputeInstance_t, u32> {
        let mut compute = std::ptr::null_mut();
        let code = match placement {
            None => {
                // SAFETY: a place for one handle.
                unsafe {
                    self.lib
                        .nvmlGpuInstanceCreateComputeInstance(instance, profile, &mut compute)
                }
            }
            Some((start, size)) => {
                let placement = nvmlComputeInstancePlacement_t { start, size };
                // SAFETY: one structure to read, and a place for one handle.
                unsafe {
                    self.lib.nvmlGpuInstanceCreateComputeInstanceWithPlacement(
                        instance,
                        profile,
                        &placement,
                        &mut compute,
                    )
                }
            }
        };
        answer(code, compute)
    }

    pub(crate) fn destroy_compute(&self, compute: nvmlComputeInstance_t) -> Result<(), u32> {
        // SAFETY: any handle.
        answer(unsafe { self.lib.nvmlComputeInstanceDestroy(compute) }, ())
    }

    pub(crate) fn compute_info(
        &self,
        compute: nvmlComputeInstance_t,
    ) -> Result<nvmlComputeInstanceInfo_t, u32> {
        // SAFETY: a structure of numbers and handles.
        let mut info: nvmlComputeInstanceInfo_t = unsafe { zeroed() };
        // SAFETY: a place for one structure.
        let code = unsafe { self.lib.nvmlComputeInstanceGetInfo_v2(compute, &mut info) };
        answer(code, info)
    }

    /// What a call answers to this first argument and zero for all others, whatever they are.
    pub(crate) fn with_nulls(&self, call: &str, first: nvmlDevice_t) -> u32 {
        type Any = unsafe extern "C" fn(nvmlDevice_t, usize, usize, usize, usize) -> u32;
        // SAFETY: all arguments of NVML's calls are integers or pointers, which C passes alike where
        // this test runs, and a call leaves arguments alone that it does not have. The library must
        // refuse null.
        unsafe {
            let symbol = self.library.get::<Any>(call.as_bytes()).unwrap();
            symbol(first, 0, 0, 0, 0)
        }
    }

    pub(crate) fn name_of(&self, device: nvmlDevice_t, length: u32) -> Result<String, u32> {
        let mut room = [1; 96];
        // SAFETY: at most 96 characters are told to have room.
        let code = unsafe {
            self.lib
                .nvmlDeviceGetName(device, room.as_mut_ptr(), length.min(96))
        };
        answer(code, ()).map(|()| text(&room))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: no arguments.
        let _ = unsafe { self.lib.nvmlShutdown() };
    }
}
