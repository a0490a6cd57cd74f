//! Calls about MIG: the mode, GPU instances, compute instances, MIG devices.

use std::ffi::c_uint;

use mapa_topologies::mig::ProfileFacts;
use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{
    nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlComputeInstancePlacement_t,
    nvmlComputeInstanceProfileInfo_t, nvmlComputeInstanceProfileInfo_v2_t,
    nvmlComputeInstanceProfileInfo_v3_t, nvmlDevice_t, nvmlDeviceAttributes_t, nvmlGpuInstance_t,
    nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_t,
    nvmlGpuInstanceProfileInfo_v2_t, nvmlGpuInstanceProfileInfo_v3_t, nvmlReturn_t,
};

use super::border::{CallResult, NvmlCall, Out, array, fill_or_count};
use super::devices::version_of;
use super::handle::DeviceHandle;
use super::seat::{CallDevice, InstanceSeat, compute_handle, instance_handle, mig_handle, unknown};
use crate::code::Code;
use crate::hardware::MigTable;
use crate::partition::{self, COMPUTE, mig_devices};

calls! {
    fn nvmlDeviceGetMigMode(
        device: by nvmlDevice_t, current: out c_uint, pending: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        seat.table()?;
        let mig = &seat.now().mig;
        current.set(mig.enabled.into()).and(pending.set(mig.pending.into()))
    };
    fn nvmlDeviceSetMigMode(
        device: by nvmlDevice_t, mode: by c_uint, activation: out nvmlReturn_t,
    ) |call| {
        let seat = call.whole(device)?;
        seat.table()?;
        seat.privileged()?;
        if mode > 1 || activation.is_null() {
            return Err(Code::InvalidArgument);
        }
        // The request is kept whether or not it can be carried out now.
        let status = seat.change(|device| Ok(partition::set_mode(device, mode == 1)))?;
        activation.set(status.err().map_or(0, Code::number))
    };

    fn nvmlDeviceGetGpuInstanceProfileInfo(
        device: by nvmlDevice_t, profile: by c_uint, info: out nvmlGpuInstanceProfileInfo_t,
    ) |call| {
        let seat = call.whole(device)?;
        info.set(profile_info(offered(&seat, profile)?))
    };
    fn nvmlDeviceGetGpuInstanceProfileInfoV(
        device: by nvmlDevice_t, profile: by c_uint, info: out nvmlGpuInstanceProfileInfo_v2_t,
    ) |call| {
        let seat = call.whole(device)?;
        tell_profile(offered(&seat, profile)?, info)
    };
    fn nvmlDeviceGetGpuInstanceProfileInfoByIdV(
        device: by nvmlDevice_t, profile: by c_uint, info: out nvmlGpuInstanceProfileInfo_v2_t,
    ) |call| {
        let seat = call.whole(device)?;
        let facts = seat.partitioned()?.profile(profile);
        tell_profile(facts.ok_or(Code::InvalidArgument)?.1, info)
    };
    fn nvmlDeviceGetGpuInstancePossiblePlacements_v2(
        device: by nvmlDevice_t, profile: by c_uint, placements: out nvmlGpuInstancePlacement_t,
        count: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        // These are the same whether or not the device is in MIG mode.
        let facts = seat.table()?.profile(profile);
        let (_, facts) = facts.ok_or(Code::InvalidArgument)?;
        let all: Vec<nvmlGpuInstancePlacement_t> = (facts.starts.iter())
            .map(|&start| nvmlGpuInstancePlacement_t {
                start: start.into(),
                size: facts.memory_slices.into(),
            })
            .collect();
        fill_or_count(count, placements, &all)
    };
    fn nvmlDeviceGetGpuInstanceRemainingCapacity(
        device: by nvmlDevice_t, profile: by c_uint, count: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        let table = seat.partitioned()?;
        let (id, _) = table.profile(profile).ok_or(Code::InvalidArgument)?;
        let room = table.room(&seat.now().mig, id);
        count.set(room.map_err(|error| unknown(error.into()))? as c_uint)
    };
    fn nvmlDeviceCreateGpuInstance(
        device: by nvmlDevice_t, profile: by c_uint, instance: out nvmlGpuInstance_t,
    ) |call| create(call, device, profile, None, instance);
    fn nvmlDeviceCreateGpuInstanceWithPlacement(
        device: by nvmlDevice_t, profile: by c_uint, placement: given nvmlGpuInstancePlacement_t,
        instance: out nvmlGpuInstance_t,
    ) |call| create(call, device, profile, Some(placement.get()?), instance);
    fn nvmlGpuInstanceDestroy(instance: by nvmlGpuInstance_t) |call| {
        let instance_seat = call.instance(instance)?;
        instance_seat.seat.privileged()?;
        instance_seat.change(|device, at| partition::destroy(&mut device.mig, at))
    };
    // The array has room for the most instances of the profile.
    fn nvmlDeviceGetGpuInstances(
        device: by nvmlDevice_t, profile: by c_uint, instances: out nvmlGpuInstance_t,
        count: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        seat.partitioned()?.profile(profile).ok_or(Code::InvalidArgument)?;
        let own: Vec<nvmlGpuInstance_t> = (seat.now().mig.instances.iter())
            .filter(|instance| instance.profile == profile)
            .map(|instance| instance_handle(seat.device, instance))
            .collect();
        instances.fill(&own)?;
        count.set(own.len() as c_uint)
    };
    fn nvmlDeviceGetGpuInstanceById(
        device: by nvmlDevice_t, id: by c_uint, instance: out nvmlGpuInstance_t,
    ) |call| {
        let seat = call.whole(device)?;
        seat.partitioned()?;
        let mut own = seat.now().mig.instances.iter();
        let gpu_instance = own.find(|instance| instance.id == id).ok_or(Code::NotFound)?;
        instance.set(instance_handle(seat.device, gpu_instance))
    };
    fn nvmlGpuInstanceGetInfo(
        instance: by nvmlGpuInstance_t, info: out nvmlGpuInstanceInfo_t,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let facts = instance_seat.facts()?;
        info.set(nvmlGpuInstanceInfo_t {
            device: instance_seat.seat.handle(),
            id: instance_seat.now().id,
            profileId: instance_seat.now().profile,
            placement: nvmlGpuInstancePlacement_t {
                start: instance_seat.now().start.into(),
                size: facts.memory_slices.into(),
            },
        })
    };

    fn nvmlGpuInstanceGetComputeInstanceProfileInfo(
        instance: by nvmlGpuInstance_t, profile: by c_uint, engines: by c_uint,
        info: out nvmlComputeInstanceProfileInfo_t,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        info.set(compute_info(&instance_seat, profile, engines)?.0)
    };
    fn nvmlGpuInstanceGetComputeInstanceProfileInfoV(
        instance: by nvmlGpuInstance_t, profile: by c_uint, engines: by c_uint,
        info: out nvmlComputeInstanceProfileInfo_v2_t,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let (facts, name) = compute_info(&instance_seat, profile, engines)?;
        tell_compute_profile(facts, &name, info)
    };
    fn nvmlGpuInstanceGetComputeInstanceRemainingCapacity(
        instance: by nvmlGpuInstance_t, profile: by c_uint, count: out c_uint,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let (size, slices) = size_of_compute(&instance_seat, profile)?;
        count.set(partition::compute_capacity(instance_seat.now(), size, slices) as c_uint)
    };
    fn nvmlGpuInstanceGetComputeInstancePossiblePlacements(
        instance: by nvmlGpuInstance_t, profile: by c_uint,
        placements: out nvmlComputeInstancePlacement_t, count: out c_uint,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let (size, slices) = size_of_compute(&instance_seat, profile)?;
        let all: Vec<nvmlComputeInstancePlacement_t> = partition::compute_starts(size, slices)
            .map(|start| nvmlComputeInstancePlacement_t {
                start: start.into(),
                size: size.into(),
            })
            .collect();
        fill_or_count(count, placements, &all)
    };
    fn nvmlGpuInstanceCreateComputeInstance(
        instance: by nvmlGpuInstance_t, profile: by c_uint, compute: out nvmlComputeInstance_t,
    ) |call| create_compute(call, instance, profile, None, compute);
    fn nvmlGpuInstanceCreateComputeInstanceWithPlacement(
        instance: by nvmlGpuInstance_t, profile: by c_uint,
        placement: given nvmlComputeInstancePlacement_t, compute: out nvmlComputeInstance_t,
    ) |call| create_compute(call, instance, profile, Some(placement.get()?), compute);
    fn nvmlComputeInstanceDestroy(compute: by nvmlComputeInstance_t) |call| {
        let (instance_seat, at) = call.compute(compute)?;
        instance_seat.seat.privileged()?;
        let serial = instance_seat.now().compute[at].serial;
        instance_seat.change(|device, place| {
            let mut compute = device.mig.instances[place].compute.iter();
            let at = compute.position(|compute_instance| compute_instance.serial == serial).ok_or(Code::NotFound)?;
            partition::destroy_compute(device, place, at)
        })
    };
    // The array has room for the most instances of the profile.
    fn nvmlGpuInstanceGetComputeInstances(
        instance: by nvmlGpuInstance_t, profile: by c_uint, instances: out nvmlComputeInstance_t,
        count: out c_uint,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let compute = instance_seat.now().compute.iter();
        let handles: Vec<nvmlComputeInstance_t> = compute
            .filter(|compute| compute.profile == profile)
            .map(|compute| compute_handle(instance_seat.seat.device, instance_seat.now(), compute))
            .collect();
        instances.fill(&handles)?;
        count.set(handles.len() as c_uint)
    };
    fn nvmlGpuInstanceGetComputeInstanceById(
        instance: by nvmlGpuInstance_t, id: by c_uint, compute: out nvmlComputeInstance_t,
    ) |call| {
        let instance_seat = call.instance(instance)?;
        let its = instance_seat.now().compute.iter().find(|compute| compute.id == id);
        compute.set(compute_handle(instance_seat.seat.device, instance_seat.now(), its.ok_or(Code::NotFound)?))
    };
    fn nvmlComputeInstanceGetInfo_v2(
        compute: by nvmlComputeInstance_t, info: out nvmlComputeInstanceInfo_t,
    ) |call| tell_compute(call, compute, info);

    fn nvmlDeviceIsMigDeviceHandle(device: by nvmlDevice_t, is: out c_uint) |call| {
        is.set(call.device(device)?.mig().is_some().into())
    };
    fn nvmlDeviceGetGpuInstanceId(device: by nvmlDevice_t, id: out c_uint) |call| {
        let seat = call.device(device)?;
        id.set(seat.mig().ok_or(Code::InvalidArgument)?.0.id)
    };
    fn nvmlDeviceGetComputeInstanceId(device: by nvmlDevice_t, id: out c_uint) |call| {
        let seat = call.device(device)?;
        id.set(seat.mig().ok_or(Code::InvalidArgument)?.1.id)
    };
    fn nvmlDeviceGetMaxMigDeviceCount(device: by nvmlDevice_t, count: out c_uint) |call| {
        let seat = call.whole(device)?;
        count.set(seat.partitioned().map_or(0, |table| table.gpu.compute_slices.into()))
    };
    fn nvmlDeviceGetMigDeviceHandleByIndex(
        device: by nvmlDevice_t, index: by c_uint, mig: out nvmlDevice_t,
    ) |call| {
        let seat = call.whole(device)?;
        let table = seat.partitioned()?;
        if index >= table.gpu.compute_slices.into() {
            return Err(Code::InvalidArgument);
        }
        let mut own = mig_devices(&seat.now().mig);
        let own = own.find(|(_, compute)| compute.index == index);
        let (instance, compute) = own.ok_or(Code::NotFound)?;
        mig.set(mig_handle(seat.device, instance, compute))
    };
    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
        mig: by nvmlDevice_t, device: out nvmlDevice_t,
    ) |call| {
        let seat = call.device(mig)?;
        seat.mig().ok_or(Code::InvalidArgument)?;
        device.set(DeviceHandle::Gpu { device: seat.device as u16 }.pointer())
    };
    fn nvmlDeviceGetAttributes_v2(
        device: by nvmlDevice_t, attributes: out nvmlDeviceAttributes_t,
    ) |call| tell_attributes(call, device, attributes);
}

impl InstanceSeat {
    /// The profile of the instance.
    fn facts(&self) -> CallResult<&ProfileFacts> {
        let profile = self.seat.table()?.profile(self.now().profile);
        profile.map(|(_, facts)| facts).ok_or(Code::Unknown)
    }
}

/// The profile with NVML's number. One that the device does not have is `NOT_SUPPORTED`; clients
/// ask for all of them.
fn offered(seat: &CallDevice, profile: c_uint) -> CallResult<&ProfileFacts> {
    if profile >= sys::NVML_GPU_INSTANCE_PROFILE_COUNT {
        return Err(Code::InvalidArgument);
    }
    let table: &MigTable = seat.partitioned()?;
    table.profile_of_constant(profile).ok_or(Code::NotSupported)
}

fn profile_info(facts: &ProfileFacts) -> nvmlGpuInstanceProfileInfo_t {
    nvmlGpuInstanceProfileInfo_t {
        id: facts.id.into(),
        isP2pSupported: 0,
        sliceCount: facts.compute_slices.into(),
        instanceCount: facts.max_instances.into(),
        multiprocessorCount: facts.sms.unwrap_or(0).into(),
        copyEngineCount: facts.copy_engines.into(),
        decoderCount: facts.decoders.into(),
        encoderCount: facts.encoders.into(),
        jpegCount: facts.jpeg.into(),
        ofaCount: facts.ofa.into(),
        memorySizeMB: facts.memory_bytes() >> 20,
    }
}

/// Tells a profile in the version of the structure that C asks for.
fn tell_profile(facts: &ProfileFacts, info: Out<nvmlGpuInstanceProfileInfo_v2_t>) -> CallResult {
    let version = info.version()?;
    let first = profile_info(facts);
    let name = array(&format!("MIG {}", facts.name));
    if version == version_of::<nvmlGpuInstanceProfileInfo_v2_t>(2) {
        return info.set(nvmlGpuInstanceProfileInfo_v2_t {
            version,
            id: first.id,
            isP2pSupported: first.isP2pSupported,
            sliceCount: first.sliceCount,
            instanceCount: first.instanceCount,
            multiprocessorCount: first.multiprocessorCount,
            copyEngineCount: first.copyEngineCount,
            decoderCount: first.decoderCount,
            encoderCount: first.encoderCount,
            jpegCount: first.jpegCount,
            ofaCount: first.ofaCount,
            memorySizeMB: first.memorySizeMB,
            name,
        });
    }
    if version != version_of::<nvmlGpuInstanceProfileInfo_v3_t>(3) {
        return Err(Code::ArgumentVersionMismatch);
    }
    let graphics = facts.name.ends_with("+gfx");
    // SAFETY: the version says that C allotted the third version of the structure.
    let info = unsafe { info.cast::<nvmlGpuInstanceProfileInfo_v3_t>() };
    info.set(nvmlGpuInstanceProfileInfo_v3_t {
        version,
        id: first.id,
        sliceCount: first.sliceCount,
        instanceCount: first.instanceCount,
        multiprocessorCount: first.multiprocessorCount,
        copyEngineCount: first.copyEngineCount,
        decoderCount: first.decoderCount,
        encoderCount: first.encoderCount,
        jpegCount: first.jpegCount,
        ofaCount: first.ofaCount,
        memorySizeMB: first.memorySizeMB,
        name,
        capabilities: if graphics {
            sys::NVML_GPU_INSTANCE_PROFILE_CAPS_GFX
        } else {
            0
        },
    })
}

fn create(
    call: NvmlCall,
    device: nvmlDevice_t,
    profile: c_uint,
    placement: Option<nvmlGpuInstancePlacement_t>,
    instance: Out<nvmlGpuInstance_t>,
) -> CallResult {
    let seat = call.whole(device)?;
    let table = seat.partitioned()?;
    seat.privileged()?;
    if instance.is_null() {
        return Err(Code::InvalidArgument);
    }
    let (_, facts) = table.profile(profile).ok_or(Code::InvalidArgument)?;
    let start = match placement {
        Some(placement) if placement.size != c_uint::from(facts.memory_slices) => {
            return Err(Code::InvalidArgument);
        }
        Some(placement) => {
            let start = u8::try_from(placement.start);
            Some(start.map_err(|_| Code::InvalidArgument)?)
        }
        None => None,
    };
    let made = seat.change(|device| {
        let id = table.create(&mut device.mig, profile, start)?;
        let mut instances = device.mig.instances.iter();
        Ok(instances
            .find(|instance| instance.id == id)
            .ok_or(Code::Unknown)?
            .clone())
    })?;
    instance.set(instance_handle(seat.device, &made))
}

/// The size of a compute profile, and the compute slices of the GPU instance.
fn size_of_compute(instance_seat: &InstanceSeat, profile: c_uint) -> CallResult<(u8, u8)> {
    let slices = instance_seat.facts()?.compute_slices;
    if profile >= sys::NVML_COMPUTE_INSTANCE_PROFILE_COUNT {
        return Err(Code::InvalidArgument);
    }
    let row = COMPUTE.iter().find(|(_, constant, _)| *constant == profile);
    let size = row.ok_or(Code::NotSupported)?.0;
    if partition::compute_starts(size, slices).next().is_none() {
        return Err(Code::NotSupported);
    }
    Ok((size, slices))
}

/// A compute profile of a GPU instance, and its name.
fn compute_info(
    instance_seat: &InstanceSeat,
    profile: c_uint,
    engines: c_uint,
) -> CallResult<(nvmlComputeInstanceProfileInfo_t, String)> {
    // There is one kind of engine profile: shared.
    if engines != 0 {
        return Err(Code::InvalidArgument);
    }
    let (size, slices) = size_of_compute(instance_seat, profile)?;
    let facts = instance_seat.facts()?;
    let info = nvmlComputeInstanceProfileInfo_t {
        id: profile,
        sliceCount: size.into(),
        instanceCount: partition::compute_starts(size, slices).count() as c_uint,
        multiprocessorCount: sms(facts, size),
        sharedCopyEngineCount: facts.copy_engines.into(),
        sharedDecoderCount: facts.decoders.into(),
        sharedEncoderCount: facts.encoders.into(),
        sharedJpegCount: facts.jpeg.into(),
        sharedOfaCount: facts.ofa.into(),
    };
    let name = if size < slices {
        format!("MIG {size}c.{}", facts.name)
    } else {
        format!("MIG {}", facts.name)
    };
    Ok((info, name))
}

/// The multiprocessors of so many compute slices of an instance.
fn sms(facts: &ProfileFacts, size: u8) -> c_uint {
    let all: c_uint = facts.sms.unwrap_or(0).into();
    all * c_uint::from(size) / c_uint::from(facts.compute_slices.max(1))
}

/// Tells a compute profile in the version of the structure that C asks for.
fn tell_compute_profile(
    first: nvmlComputeInstanceProfileInfo_t,
    name: &str,
    info: Out<nvmlComputeInstanceProfileInfo_v2_t>,
) -> CallResult {
    let version = info.version()?;
    let name = array(name);
    if version == version_of::<nvmlComputeInstanceProfileInfo_v2_t>(2) {
        return info.set(nvmlComputeInstanceProfileInfo_v2_t {
            version,
            id: first.id,
            sliceCount: first.sliceCount,
            instanceCount: first.instanceCount,
            multiprocessorCount: first.multiprocessorCount,
            sharedCopyEngineCount: first.sharedCopyEngineCount,
            sharedDecoderCount: first.sharedDecoderCount,
            sharedEncoderCount: first.sharedEncoderCount,
            sharedJpegCount: first.sharedJpegCount,
            sharedOfaCount: first.sharedOfaCount,
            name,
        });
    }
    if version != version_of::<nvmlComputeInstanceProfileInfo_v3_t>(3) {
        return Err(Code::ArgumentVersionMismatch);
    }
    // SAFETY: the version says that C allotted the third version of the structure.
    let info = unsafe { info.cast::<nvmlComputeInstanceProfileInfo_v3_t>() };
    info.set(nvmlComputeInstanceProfileInfo_v3_t {
        version,
        id: first.id,
        sliceCount: first.sliceCount,
        instanceCount: first.instanceCount,
        multiprocessorCount: first.multiprocessorCount,
        sharedCopyEngineCount: first.sharedCopyEngineCount,
        sharedDecoderCount: first.sharedDecoderCount,
        sharedEncoderCount: first.sharedEncoderCount,
        sharedJpegCount: first.sharedJpegCount,
        sharedOfaCount: first.sharedOfaCount,
        name,
        capabilities: 0,
    })
}

fn create_compute(
    call: NvmlCall,
    instance: nvmlGpuInstance_t,
    profile: c_uint,
    placement: Option<nvmlComputeInstancePlacement_t>,
    compute: Out<nvmlComputeInstance_t>,
) -> CallResult {
    let instance_seat = call.instance(instance)?;
    instance_seat.seat.privileged()?;
    if compute.is_null() {
        return Err(Code::InvalidArgument);
    }
    let (size, slices) = size_of_compute(&instance_seat, profile)?;
    let start = match placement {
        Some(placement) if placement.size != c_uint::from(size) => {
            return Err(Code::InvalidArgument);
        }
        Some(placement) => {
            let start = u8::try_from(placement.start);
            Some(start.map_err(|_| Code::InvalidArgument)?)
        }
        None => None,
    };
    let (made, its) = instance_seat.change(|device, at| {
        let id = partition::create_compute(&mut device.mig, at, slices, profile, start)?;
        let made = device.mig.instances[at].clone();
        let its = made
            .compute
            .iter()
            .find(|compute_instance| compute_instance.id == id)
            .cloned();
        let its = its.ok_or(Code::Unknown)?;
        Ok((made, its))
    })?;
    compute.set(compute_handle(instance_seat.seat.device, &made, &its))
}

fn tell_compute(
    call: NvmlCall,
    compute: nvmlComputeInstance_t,
    info: Out<nvmlComputeInstanceInfo_t>,
) -> CallResult {
    let (instance_seat, at) = call.compute(compute)?;
    let its = &instance_seat.now().compute[at];
    info.set(nvmlComputeInstanceInfo_t {
        device: instance_seat.seat.handle(),
        gpuInstance: instance_handle(instance_seat.seat.device, instance_seat.now()),
        id: its.id,
        profileId: its.profile,
        placement: nvmlComputeInstancePlacement_t {
            start: its.start.into(),
            size: its.size.into(),
        },
    })
}

/// What a MIG device has.
fn tell_attributes(
    call: NvmlCall,
    device: nvmlDevice_t,
    attributes: Out<nvmlDeviceAttributes_t>,
) -> CallResult {
    let seat = call.device(device)?;
    let (instance, compute) = seat.mig().ok_or(Code::NotSupported)?;
    let (_, facts) = (seat.table()?.profile(instance.profile)).ok_or(Code::Unknown)?;
    attributes.set(nvmlDeviceAttributes_t {
        multiprocessorCount: sms(facts, compute.size),
        sharedCopyEngineCount: facts.copy_engines.into(),
        sharedDecoderCount: facts.decoders.into(),
        sharedEncoderCount: facts.encoders.into(),
        sharedJpegCount: facts.jpeg.into(),
        sharedOfaCount: facts.ofa.into(),
        gpuInstanceSliceCount: facts.compute_slices.into(),
        computeInstanceSliceCount: compute.size.into(),
        memorySizeMB: facts.memory_bytes() >> 20,
    })
}
