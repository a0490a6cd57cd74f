//! Calls about the processes on a device.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_t};

use super::border::{CallResult, NvmlCall, Out, fill};
use crate::state::ProcessKind;

/// NVML's word for no instance.
const NONE: c_uint = c_uint::MAX;

calls! {
    fn nvmlDeviceGetComputeRunningProcesses_v2(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Compute, count, infos);
    fn nvmlDeviceGetComputeRunningProcesses_v3(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Compute, count, infos);
    fn nvmlDeviceGetGraphicsRunningProcesses_v2(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Graphics, count, infos);
    fn nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Graphics, count, infos);
    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Mps, count, infos);
    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
        device: by nvmlDevice_t, count: out c_uint, infos: out nvmlProcessInfo_t,
    ) |call| list(call, device, ProcessKind::Mps, count, infos);
}

/// The processes of one kind: of a device, or of a MIG device those on it.
fn list(
    call: NvmlCall,
    device: nvmlDevice_t,
    kind: ProcessKind,
    count: Out<c_uint>,
    infos: Out<nvmlProcessInfo_t>,
) -> CallResult {
    let seat = call.device(device)?;
    let place = seat
        .mig()
        .map(|(instance, compute)| (instance.id, compute.id));
    let processes = seat.now().processes.iter();
    let own: Vec<nvmlProcessInfo_t> = processes
        .filter(|process| process.kind == kind && process.is_there())
        .filter(|process| place.is_none() || process.instance == place)
        .map(|process| nvmlProcessInfo_t {
            pid: process.pid,
            usedGpuMemory: process.memory_bytes,
            gpuInstanceId: process.instance.map_or(NONE, |(instance, _)| instance),
            computeInstanceId: process.instance.map_or(NONE, |(_, compute)| compute),
        })
        .collect();
    fill(count, infos, &own)
}
