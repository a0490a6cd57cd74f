//! A library that answers as NVML does, for machines that are not there. The tests compile it with
//! `rustc` for each machine: `--cfg machine="..."` chooses one, `--cfg lacks="..."` leaves symbols
//! out, `--cfg hangs` never answers, `--cfg counts` appends a line to the file `FAKE_NVML_LOG` of
//! the compiler's environment each time the library is initialised or shut down.
//!
//! A device's handle is its number plus one; an instance's is a thousand times its device's handle
//! plus its number.

#![allow(non_snake_case, unexpected_cfgs, clippy::missing_safety_doc, missing_docs, unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_ulonglong};

const OK: c_int = 0;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
#[cfg(machine = "broken")]
const GPU_IS_LOST: c_int = 15;

type Handle = usize;

#[repr(C)]
pub struct Pci {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
    subsystem: c_uint,
    address: [c_char; 32],
}

#[repr(C)]
pub struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[repr(C)]
pub struct Field {
    id: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    status: c_int,
    value: u64,
}

#[repr(C)]
pub struct Attributes {
    units: [c_uint; 6],
    slices: c_uint,
    compute_slices: c_uint,
    memory_mb: c_ulonglong,
}

/// What is at the other end of a link.
enum End {
    Device(usize),
    Address(&'static str),
}

struct Link {
    active: bool,
    end: End,
}

/// Pairs of a DGX-1V with their numbers of links.
const CUBE: [(usize, usize, usize); 16] = [
    (0, 1, 1),
    (0, 2, 1),
    (0, 3, 2),
    (0, 4, 2),
    (1, 2, 2),
    (1, 3, 1),
    (1, 5, 2),
    (2, 3, 2),
    (2, 6, 1),
    (3, 7, 1),
    (4, 5, 1),
    (4, 6, 1),
    (4, 7, 2),
    (5, 6, 2),
    (5, 7, 1),
    (6, 7, 2),
];

fn cube() -> bool {
    cfg!(any(machine = "dgx-1v", machine = "two-of-dgx-1v", machine = "one-sided", machine = "broken"))
}

fn hopper() -> bool {
    cfg!(machine = "hgx-h100")
}

fn count() -> usize {
    if cfg!(any(machine = "two-of-dgx-1v", machine = "mig")) { 2 } else { 8 }
}

fn links(device: usize) -> Vec<Link> {
    if cube() {
        let other = |&(a, b, n): &(usize, usize, usize)| match device {
            _ if a == device => Some((b, n)),
            _ if b == device => Some((a, n)),
            _ => None,
        };
        let ends = CUBE.iter().filter_map(other).flat_map(|(other, n)| (0..n).map(move |_| End::Device(other)));
        let lost = cfg!(machine = "one-sided") && device == 0;
        // Of the two links from 0 to 3, which come third and fourth, device 0 has lost one.
        return ends.enumerate().map(|(i, end)| Link { active: !(lost && i == 2), end }).collect();
    }
    if hopper() {
        let switches = ["00000000:05:00.0", "00000000:06:00.0", "00000000:07:00.0", "00000000:08:00.0"];
        // One link of the last device is down.
        let link = |i: usize| Link { active: !(device == 7 && i == 5), end: End::Address(switches[i % 4]) };
        return (0..18).map(link).collect();
    }
    Vec::new()
}

fn address(device: usize) -> String {
    format!("00000000:{:02X}:00.0", 0x10 + device)
}

fn level(a: usize, b: usize) -> c_uint {
    match (a / 2 == b / 2, a / 4 == b / 4) {
        (true, _) if cube() => 10,
        (_, true) if cube() => 30,
        (_, true) => 40,
        _ => 50,
    }
}

fn device(handle: Handle) -> usize {
    handle - 1
}

unsafe fn give<T>(to: *mut T, value: T) -> c_int {
    unsafe { to.write(value) };
    OK
}

unsafe fn say(to: *mut c_char, text: &str, room: usize) -> c_int {
    let text = &text.as_bytes()[..text.len().min(room - 1)];
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), text.len());
        to.add(text.len()).write(0);
    }
    OK
}

unsafe fn say_address(to: *mut Pci, text: &str) -> c_int {
    unsafe { say((&raw mut (*to).address).cast::<c_char>(), text, 32) }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    if cfg!(hangs) {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    log("init");
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    log("shutdown");
    OK
}

#[cfg(counts)]
fn log(line: &str) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.append(true).create(true).open(env!("FAKE_NVML_LOG")).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[cfg(not(counts))]
fn log(_: &str) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(to: *mut c_uint) -> c_int {
    unsafe { give(to, count() as c_uint) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut Handle) -> c_int {
    #[cfg(machine = "broken")]
    if index == 2 {
        return GPU_IS_LOST;
    }
    unsafe { give(to, index as usize + 1) }
}

#[cfg(not(lacks = "facts"))]
mod facts {
    use super::*;

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlSystemGetDriverVersion(to: *mut c_char, room: c_uint) -> c_int {
        unsafe { say(to, "550.54.15", room as usize) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetName(handle: Handle, to: *mut c_char, room: c_uint) -> c_int {
        let name = match handle {
            1000.. if handle % 1000 == 0 => "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
            // An instance whose name does not say its profile.
            1000.. => "NVIDIA A100-SXM4-40GB",
            _ if hopper() => "NVIDIA H100 80GB HBM3",
            _ if cube() => "Tesla V100-SXM2-16GB",
            _ => "NVIDIA A100-SXM4-40GB",
        };
        unsafe { say(to, name, room as usize) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetUUID(handle: Handle, to: *mut c_char, room: c_uint) -> c_int {
        let kind = if handle >= 1000 { "MIG" } else { "GPU" };
        unsafe { say(to, &format!("{kind}-00000000-0000-0000-0000-{handle:012}"), room as usize) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(_: Handle, to: *mut Memory) -> c_int {
        unsafe { (*to).total = 16 << 30 };
        OK
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMemoryAffinity(
        handle: Handle,
        words: c_uint,
        to: *mut c_ulong,
        _: c_uint,
    ) -> c_int {
        let nodes = std::iter::once(1 << (device(handle) / 4)).chain(std::iter::repeat(0));
        (0..words as usize).zip(nodes).for_each(|(i, word)| unsafe { to.add(i).write(word) });
        OK
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(_: Handle, to: *mut c_uint) -> c_int {
        unsafe { give(to, if hopper() { 5 } else { 3 }) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(_: Handle, to: *mut c_uint) -> c_int {
        unsafe { give(to, 16) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetP2PStatus(a: Handle, b: Handle, index: c_uint, to: *mut c_uint) -> c_int {
        let joined = || links(device(a)).iter().any(|link| matches!(link.end, End::Device(end) if end == device(b)));
        let status = match index {
            // Read.
            0 => {
                if cube() && !joined() {
                    3
                } else {
                    0
                }
            }
            // NVLink.
            2 => {
                if hopper() || joined() {
                    0
                } else {
                    5
                }
            }
            _ => return INVALID_ARGUMENT,
        };
        unsafe { give(to, status) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMigMode(handle: Handle, current: *mut c_uint, pending: *mut c_uint) -> c_int {
        if !cfg!(machine = "mig") {
            return NOT_SUPPORTED;
        }
        let on = c_uint::from(device(handle) == 0);
        unsafe { give(current, on) + give(pending, on) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(_: Handle, to: *mut c_uint) -> c_int {
        unsafe { give(to, 7) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
        handle: Handle,
        index: c_uint,
        to: *mut Handle,
    ) -> c_int {
        // There are two, with a gap between.
        if index != 0 && index != 2 {
            return NOT_FOUND;
        }
        unsafe { give(to, handle * 1000 + index as usize) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetAttributes_v2(_: Handle, to: *mut Attributes) -> c_int {
        unsafe { (*to).slices = 1 };
        unsafe { (*to).memory_mb = 4864 };
        OK
    }

    #[cfg(not(lacks = "fields"))]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetFieldValues(_: Handle, n: c_int, to: *mut Field) -> c_int {
        for i in 0..n as usize {
            let field = unsafe { &mut *to.add(i) };
            let value = match field.id {
                90 if hopper() => Some(26562),
                90 if cube() => Some(25781),
                147 if hopper() => Some(18),
                147 => Some(0),
                _ => None,
            };
            (field.kind, field.status, field.value) =
                (1, if value.is_some() { OK } else { NOT_SUPPORTED }, value.unwrap_or(0));
        }
        OK
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetNvLinkVersion(_: Handle, _: c_uint, to: *mut c_uint) -> c_int {
        // What drivers were seen to say of Hopper: the number of NVLink 5.
        unsafe { give(to, if hopper() { 7 } else { 2 }) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
        _: Handle,
        major: *mut c_int,
        minor: *mut c_int,
    ) -> c_int {
        unsafe { give(major, if hopper() { 9 } else { 7 }) + give(minor, 0) }
    }
}

/// What joins devices, and which they are.
#[cfg(not(lacks = "links"))]
mod joins {
    use super::*;

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(handle: Handle, to: *mut Pci) -> c_int {
        unsafe { say_address(to, &address(device(handle))) }
    }

    #[cfg(not(lacks = "ancestors"))]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(a: Handle, b: Handle, to: *mut c_uint) -> c_int {
        unsafe { give(to, level(device(a), device(b))) }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(handle: Handle, link: c_uint, to: *mut c_uint) -> c_int {
        match links(device(handle)).get(link as usize) {
            Some(link) => unsafe { give(to, c_uint::from(link.active)) },
            None if link < 18 => NOT_SUPPORTED,
            None => INVALID_ARGUMENT,
        }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(handle: Handle, link: c_uint, to: *mut Pci) -> c_int {
        match links(device(handle)).get(link as usize).map(|link| &link.end) {
            Some(End::Device(other)) => unsafe { say_address(to, &address(*other)) },
            Some(End::Address(text)) => unsafe { say_address(to, text) },
            None => INVALID_ARGUMENT,
        }
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
        handle: Handle,
        link: c_uint,
        to: *mut c_uint,
    ) -> c_int {
        match links(device(handle)).get(link as usize).map(|link| &link.end) {
            Some(End::Device(_)) => unsafe { give(to, 0) },
            Some(End::Address(_)) => unsafe { give(to, 2) },
            None => INVALID_ARGUMENT,
        }
    }
}
