//! Calls about the library and the machine as a whole.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use super::border::fill_or_count;
use super::handle::DeviceHandle;
use super::library;
use super::seat::state;
use crate::code::Code;

/// CUDA's version, as NVML writes it: 13.0.
const CUDA: c_int = 13_000;

calls! {
    fn nvmlInit() start;
    fn nvmlInit_v2() start;
    // The flags say what may be missing; nothing is.
    fn nvmlInitWithFlags(flags: by c_uint) |call| {
        let _ = flags;
        start(call)
    };
    fn nvmlShutdown() |call| {
        let fake = library::fake()?;
        // A fault may keep a client from leaving; a state that cannot be read does not.
        if fake.state().is_ok() {
            state(call, &fake, None)?;
        }
        library::stop()
    };

    fn nvmlSystemGetDriverVersion(version: out c_char, length: by c_uint) |call| {
        let (fake, _) = call.machine()?;
        version.say(length, &fake.hardware().driver)
    };
    fn nvmlSystemGetNVMLVersion(version: out c_char, length: by c_uint) |call| {
        let (fake, _) = call.machine()?;
        version.say(length, &format!("13.{}", fake.hardware().driver))
    };
    fn nvmlSystemGetCudaDriverVersion(version: out c_int) |call| {
        call.machine()?;
        version.set(CUDA)
    };
    fn nvmlSystemGetCudaDriverVersion_v2(version: out c_int) |call| {
        call.machine()?;
        version.set(CUDA)
    };
    fn nvmlSystemGetProcessName(pid: by c_uint, name: out c_char, length: by c_uint) |call| {
        call.machine()?;
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Code::NotFound)?;
        let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
        name.say(length, &String::from_utf8_lossy(first))
    };
    // GPUs whose CPUs include this one.
    fn nvmlSystemGetTopologyGpuSet(
        cpu: by c_uint, count: out c_uint, devices: out nvmlDevice_t,
    ) |call| {
        let (fake, _) = call.machine()?;
        let gpus = fake.hardware().gpus.iter().enumerate();
        let near: Vec<nvmlDevice_t> = gpus
            .filter(|(_, gpu)| gpu.cpus.contains(&cpu))
            .map(|(device, _)| DeviceHandle::Gpu { device: device as u16 }.pointer())
            .collect();
        fill_or_count(count, devices, &near)
    };
    // S-class systems of another age.
    fn nvmlUnitGetCount(count: out c_uint) |call| {
        call.machine()?;
        count.set(0)
    };
}

/// Initialises the library. A fault may have that fail too.
fn start(call: super::border::NvmlCall) -> super::border::CallResult {
    library::start()?;
    let faulty = library::fake().and_then(|fake| state(call, &fake, None));
    match faulty {
        Ok(_) => Ok(()),
        Err(code) => {
            library::stop()?;
            Err(code)
        }
    }
}

/// What a number means, in words. The words are this library's own.
#[allow(non_snake_case, reason = "the name is NVML's")]
#[unsafe(no_mangle)]
pub(super) extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let text = match result {
        0 => c"success",
        1 => c"not initialised",
        2 => c"invalid argument",
        3 => c"not supported",
        4 => c"no permission",
        6 => c"not found",
        7 => c"buffer too small",
        9 => c"no driver: the machine of this fake cannot be opened",
        10 => c"timeout",
        15 => c"the GPU is lost",
        16 => c"reset required",
        19 => c"in use",
        21 => c"no data",
        23 => c"insufficient resources",
        25 => c"unknown version of a structure",
        29 => c"invalid state",
        _ => c"unknown error",
    };
    text.as_ptr()
}
