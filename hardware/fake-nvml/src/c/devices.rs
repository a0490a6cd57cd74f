//! Calls about what a device is: its number, name, addresses, memory, CPUs.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_ulonglong};
use std::mem::size_of;

use nvml_wrapper_sys::bindings::{
    NVML_BUS_TYPE_PCIE, nvmlBrandType_t, nvmlBusType_t, nvmlComputeMode_t, nvmlDevice_t,
    nvmlDeviceArchitecture_t, nvmlEnableState_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t,
    nvmlPciInfoExt_t,
};

use super::border::{CallResult, NvmlCall, Out, Text, array};
use super::library;
use super::seat::{CallDevice, mig_handle};
use crate::code::Code;
use crate::hardware::Pci;
use crate::partition::mig_devices;
use crate::state::Process;

/// The identifiers of device and vendor on PCI. NVIDIA's number, and one that no product has.
const PCI_ID: c_uint = 0xfa4e_10de;

/// What PCI calls a controller of three dimensions.
const PCI_CLASS: (c_uint, c_uint) = (0x03, 0x02);

calls! {
    fn nvmlDeviceGetCount(count: out c_uint) |call| devices(call, count);
    fn nvmlDeviceGetCount_v2(count: out c_uint) |call| devices(call, count);
    fn nvmlDeviceGetHandleByIndex(index: by c_uint, device: out nvmlDevice_t) |call| {
        by_index(call, index, device)
    };
    fn nvmlDeviceGetHandleByIndex_v2(index: by c_uint, device: out nvmlDevice_t) |call| {
        by_index(call, index, device)
    };
    fn nvmlDeviceGetHandleByUUID(uuid: text c_char, device: out nvmlDevice_t) |call| {
        by_uuid(call, &uuid.read()?, device)
    };
    fn nvmlDeviceGetHandleByPciBusId(address: text c_char, device: out nvmlDevice_t) |call| {
        by_address(call, address, device)
    };
    fn nvmlDeviceGetHandleByPciBusId_v2(address: text c_char, device: out nvmlDevice_t) |call| {
        by_address(call, address, device)
    };

    fn nvmlDeviceGetName(device: by nvmlDevice_t, name: out c_char, length: by c_uint) |call| {
        let seat = call.device(device)?;
        name.say(length, &name_of(&seat))
    };
    fn nvmlDeviceGetUUID(device: by nvmlDevice_t, uuid: out c_char, length: by c_uint) |call| {
        let seat = call.device(device)?;
        uuid.say(length, &uuid_of(&seat))
    };
    // The number of a MIG device is its place among those of its device.
    fn nvmlDeviceGetIndex(device: by nvmlDevice_t, index: out c_uint) |call| {
        let seat = call.device(device)?;
        index.set(seat.mig().map_or(seat.device as c_uint, |(_, compute)| compute.index))
    };
    fn nvmlDeviceGetMinorNumber(device: by nvmlDevice_t, minor: out c_uint) |call| {
        minor.set(call.whole(device)?.device as c_uint)
    };
    fn nvmlDeviceGetBrand(device: by nvmlDevice_t, brand: out nvmlBrandType_t) |call| {
        brand.set(call.device(device)?.gpu().kind.brand)
    };
    fn nvmlDeviceGetArchitecture(
        device: by nvmlDevice_t, architecture: out nvmlDeviceArchitecture_t,
    ) |call| {
        architecture.set(call.device(device)?.gpu().kind.architecture)
    };
    fn nvmlDeviceGetCudaComputeCapability(
        device: by nvmlDevice_t, major: out c_int, minor: out c_int,
    ) |call| {
        match call.device(device)?.gpu().kind.capability {
            (0, _) => Err(Code::NotSupported),
            (own, its) => major.set(own).and(minor.set(its)),
        }
    };
    fn nvmlDeviceGetBoardId(device: by nvmlDevice_t, board: out c_uint) |call| {
        let seat = call.whole(device)?;
        let Pci { domain, bus, .. } = &seat.gpu().pci;
        board.set(domain << 16 | bus << 8)
    };
    fn nvmlDeviceGetMultiGpuBoard(device: by nvmlDevice_t, multi: out c_uint) |call| {
        call.whole(device)?;
        multi.set(0)
    };
    fn nvmlDeviceGetBusType(device: by nvmlDevice_t, bus: out nvmlBusType_t) |call| {
        call.whole(device)?;
        bus.set(NVML_BUS_TYPE_PCIE)
    };
    fn nvmlDeviceGetPersistenceMode(
        device: by nvmlDevice_t, mode: out nvmlEnableState_t,
    ) |call| {
        call.whole(device)?;
        mode.set(1)
    };
    fn nvmlDeviceGetComputeMode(device: by nvmlDevice_t, mode: out nvmlComputeMode_t) |call| {
        call.whole(device)?;
        mode.set(0)
    };

    fn nvmlDeviceGetPciInfo_v3(device: by nvmlDevice_t, pci: out nvmlPciInfo_t) |call| {
        pci.set(pci_info(&call.whole(device)?.gpu().pci))
    };
    fn nvmlDeviceGetPciInfoExt(device: by nvmlDevice_t, pci: out nvmlPciInfoExt_t) |call| {
        let seat = call.whole(device)?;
        let own = &seat.gpu().pci;
        let info = pci_info(own);
        let version = pci.version()?;
        if version != version_of::<nvmlPciInfoExt_t>(1) {
            return Err(Code::ArgumentVersionMismatch);
        }
        pci.set(nvmlPciInfoExt_t {
            version,
            domain: info.domain,
            bus: info.bus,
            device: info.device,
            pciDeviceId: info.pciDeviceId,
            pciSubSystemId: info.pciSubSystemId,
            baseClass: PCI_CLASS.0,
            subClass: PCI_CLASS.1,
            busId: info.busId,
        })
    };
    fn nvmlDeviceGetMaxPcieLinkGeneration(device: by nvmlDevice_t, to: out c_uint) |call| {
        to.set(slot(&call.whole(device)?)?.0)
    };
    fn nvmlDeviceGetGpuMaxPcieLinkGeneration(device: by nvmlDevice_t, to: out c_uint) |call| {
        to.set(slot(&call.whole(device)?)?.0)
    };
    fn nvmlDeviceGetCurrPcieLinkGeneration(device: by nvmlDevice_t, to: out c_uint) |call| {
        let seat = call.whole(device)?;
        let most = slot(&seat)?.0;
        to.set(reduced(seat.now().counters.pcie_generation, most))
    };
    fn nvmlDeviceGetMaxPcieLinkWidth(device: by nvmlDevice_t, to: out c_uint) |call| {
        to.set(slot(&call.whole(device)?)?.1)
    };
    fn nvmlDeviceGetCurrPcieLinkWidth(device: by nvmlDevice_t, to: out c_uint) |call| {
        let seat = call.whole(device)?;
        let most = slot(&seat)?.1;
        to.set(reduced(seat.now().counters.pcie_lanes, most))
    };

    fn nvmlDeviceGetMemoryInfo(device: by nvmlDevice_t, memory: out nvmlMemory_t) |call| {
        let (total, reserved, used) = memory_of(&call.device(device)?);
        // The first version counts what is reserved as used.
        let used = (used + reserved).min(total);
        memory.set(nvmlMemory_t { total, free: total - used, used })
    };
    fn nvmlDeviceGetMemoryInfo_v2(device: by nvmlDevice_t, memory: out nvmlMemory_v2_t) |call| {
        let seat = call.device(device)?;
        let version = memory.version()?;
        if version != version_of::<nvmlMemory_v2_t>(2) {
            return Err(Code::ArgumentVersionMismatch);
        }
        let (total, reserved, used) = memory_of(&seat);
        let free = total.saturating_sub(used + reserved);
        memory.set(nvmlMemory_v2_t { version, total, reserved, free, used })
    };

    fn nvmlDeviceGetCpuAffinity(
        device: by nvmlDevice_t, size: by c_uint, set: out c_ulong,
    ) |call| {
        cpus(&call.device(device)?, size, set)
    };
    // Node or socket: each node is a socket here.
    fn nvmlDeviceGetCpuAffinityWithinScope(
        device: by nvmlDevice_t, size: by c_uint, set: out c_ulong, scope: by c_uint,
    ) |call| {
        check_scope(scope)?;
        cpus(&call.device(device)?, size, set)
    };
    fn nvmlDeviceGetMemoryAffinity(
        device: by nvmlDevice_t, size: by c_uint, set: out c_ulong, scope: by c_uint,
    ) |call| {
        check_scope(scope)?;
        let seat = call.device(device)?;
        let node = seat.gpu().numa.ok_or(Code::NotSupported)?;
        bits(size, set, std::iter::once(node))
    };
}

fn devices(call: NvmlCall, count: Out<c_uint>) -> CallResult {
    let (fake, _) = call.machine()?;
    count.set(fake.device_count() as c_uint)
}

fn by_index(call: NvmlCall, index: c_uint, device: Out<nvmlDevice_t>) -> CallResult {
    let fake = library::fake()?;
    device.set(call.seat(fake, index as usize)?.handle())
}

fn by_address(call: NvmlCall, address: Text, device: Out<nvmlDevice_t>) -> CallResult {
    let address = Pci::parse(&address.read()?).ok_or(Code::InvalidArgument)?;
    let fake = library::fake()?;
    let gpus = &fake.hardware().gpus;
    let at = gpus.iter().position(|gpu| gpu.pci == address);
    let at = at.ok_or(Code::NotFound)?;
    device.set(call.seat(fake, at)?.handle())
}

/// A device or a MIG device.
fn by_uuid(call: NvmlCall, uuid: &str, device: Out<nvmlDevice_t>) -> CallResult {
    let fake = library::fake()?;
    let gpus = &fake.hardware().gpus;
    if let Some(at) = gpus
        .iter()
        .position(|gpu| gpu.uuid.eq_ignore_ascii_case(uuid))
    {
        return device.set(call.seat(fake, at)?.handle());
    }
    let (fake, state) = call.machine()?;
    for (at, device_state) in state.devices.iter().enumerate() {
        for (instance, compute) in mig_devices(&device_state.mig) {
            let its = fake.hardware().instance_uuid(at, compute.serial);
            if its.eq_ignore_ascii_case(uuid) {
                let handle = mig_handle(at, instance, compute);
                call.seat(fake, at)?;
                return device.set(handle);
            }
        }
    }
    Err(Code::NotFound)
}

fn name_of(seat: &CallDevice) -> String {
    let product = seat.gpu().product.clone();
    let Some((instance, compute)) = seat.mig() else {
        return product;
    };
    let facts = seat
        .table()
        .ok()
        .and_then(|table| table.profile(instance.profile));
    let Some((_, facts)) = facts else {
        return product;
    };
    // A compute instance of fewer slices says so: `1c.3g.20gb`.
    let part = if compute.size < facts.compute_slices {
        format!("{}c.", compute.size)
    } else {
        String::new()
    };
    format!("{product} MIG {part}{}", facts.name)
}

fn uuid_of(seat: &CallDevice) -> String {
    match seat.mig() {
        None => seat.gpu().uuid.clone(),
        Some((_, compute)) => seat
            .fake
            .hardware()
            .instance_uuid(seat.device, compute.serial),
    }
}

/// NVML's version of a structure: its size and a number.
pub(super) const fn version_of<T>(number: c_uint) -> c_uint {
    size_of::<T>() as c_uint | number << 24
}

pub(super) fn pci_info(pci: &Pci) -> nvmlPciInfo_t {
    nvmlPciInfo_t {
        busIdLegacy: array(&pci.legacy()),
        domain: pci.domain,
        bus: pci.bus,
        device: pci.device,
        pciDeviceId: PCI_ID,
        pciSubSystemId: 0,
        busId: array(&pci.text()),
    }
}

fn slot(seat: &CallDevice) -> CallResult<(c_uint, c_uint)> {
    seat.gpu().pcie.ok_or(Code::NotSupported)
}

/// A figure that a state sets, or the most if it sets none.
fn reduced(set: u32, most: u32) -> u32 {
    match set {
        0 => most,
        _ => set.min(most),
    }
}

/// Total, reserved and used memory of a device or a MIG device, bytes.
fn memory_of(seat: &CallDevice) -> (c_ulonglong, c_ulonglong, c_ulonglong) {
    let now = seat.now();
    let there = || now.processes.iter().filter(|process| process.is_there());
    let sum = |bytes: u64, process: &Process| bytes.saturating_add(process.memory_bytes);
    if let Some((instance, compute)) = seat.mig() {
        let facts = seat
            .table()
            .ok()
            .and_then(|table| table.profile(instance.profile));
        let total = facts.map_or(0, |(_, facts)| facts.memory_bytes());
        let place = Some((instance.id, compute.id));
        let own = there().filter(|process| process.instance == place);
        return (total, 0, own.fold(0, sum).min(total));
    }
    let total = seat.gpu().memory_bytes;
    let reserved = now.counters.reserved_bytes.min(total);
    (total, reserved, there().fold(0, sum).min(total - reserved))
}

fn cpus(seat: &CallDevice, size: c_uint, set: Out<c_ulong>) -> CallResult {
    bits(size, set, seat.gpu().cpus.iter().copied())
}

fn check_scope(scope: c_uint) -> CallResult {
    if scope <= 1 {
        Ok(())
    } else {
        Err(Code::InvalidArgument)
    }
}

/// Gives C a set as words of bits. What the set has no room for is left out.
fn bits(size: c_uint, set: Out<c_ulong>, members: impl Iterator<Item = u32>) -> CallResult {
    if size == 0 {
        return Err(Code::InvalidArgument);
    }
    // More words than this hold nothing but zeros.
    const MOST: usize = 1 << 11;
    let mut words = vec![0 as c_ulong; (size as usize).min(MOST)];
    for member in members {
        let (word, bit) = (member / c_ulong::BITS, member % c_ulong::BITS);
        if let Some(word) = words.get_mut(word as usize) {
            *word |= 1 << bit;
        }
    }
    set.fill(&words)?;
    (MOST..size as usize).try_for_each(|at| set.set_at(at, 0))
}
