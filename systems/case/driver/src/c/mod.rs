//! The driver's functions that take, free or hand out, in front of NVIDIA's.
//!
//! All others are NVIDIA's own: the loader finds them in the library that this one needs. `cuInit` binds
//! the process, since no other call works before it. Each allocation asks for its bytes, and waits.
#![allow(unsafe_code, reason = "C programs call it in place of the CUDA driver")]
#![allow(
    clippy::missing_safety_doc,
    reason = "C passes what CUDA's function of that name expects"
)]

mod driver;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mapa_case::AllocationKey;
use mapa_case::c::{
    Stream, allocate, end_all, forget, inside, is_inside, release, release_all, touch,
};

use self::driver::{Front, context, in_front, is_active, is_captured, others_ask, real};
use crate::array::Array;
use crate::physical::Physical;

/// An address of a device.
type Address = u64;
/// The same in functions of CUDA before 3.2.
type Short = c_uint;
/// A context, an array or a memory pool.
type Opaque = *mut c_void;

/// CUmemLocation: a device.
const DEVICE: c_int = 1;

/// What is known of a process. Each lock is held for as long as the driver takes, and never while the
/// manager is waited for.
struct ProcessState {
    pid: u32,
    /// Physical memory. The lock is held within the driver's calls, so that no handle is given out again
    /// before it is known to be free.
    physical: Mutex<Physical>,
    /// The primary context of each device.
    primary: Mutex<BTreeMap<c_int, u64>>,
}

/// What is known of this process. A forked child begins anew: another thread of its parent may hold a lock
/// for good.
fn known() -> &'static ProcessState {
    static OWN: AtomicPtr<ProcessState> = AtomicPtr::new(ptr::null_mut());

    let pid = process::id();
    loop {
        let before = OWN.load(Ordering::Acquire);
        // SAFETY: what OWN points to is never freed, and changed under its locks alone.
        if let Some(own) = unsafe { before.as_ref() }.filter(|device| device.pid == pid) {
            return own;
        }
        let new = Box::into_raw(Box::new(ProcessState {
            pid,
            physical: Mutex::new(Physical::new()),
            primary: Mutex::new(BTreeMap::new()),
        }));
        let put = OWN.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire);
        if put.is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What CUDA has written there.
unsafe fn written<T: Copy>(place: *const T) -> Option<T> {
    // SAFETY: the caller has it from the program, and CUDA has had success with it.
    (!place.is_null()).then(|| unsafe { place.read_unaligned() })
}

/// Functions that allocate: what CUDA writes, how that is known, what goes when the context does, the
/// bytes, and whether the call takes memory.
macro_rules! allocations {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*): $to:ident $held:ident of $context:expr,
        $bytes:expr, if $takes:expr;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let call = || real!($c, ($($argument => $type),*));
            if others_ask() || !$takes {
                return call();
            }
            let bytes: Option<u64> = $bytes;
            let Some(bytes) = bytes else { return call() };
            allocate(bytes, || {
                let code = call();
                // SAFETY: CUDA has written it there.
                let made = if code == 0 { unsafe { written($to) } } else { None };
                (code, made.map(|allocation| (AllocationKey::$held(number(allocation)), $context)))
            })
        }
    )*};
}

/// What an allocation is known by, as a number.
trait AllocationNumber {
    fn number(self) -> u64;
}

impl AllocationNumber for u64 {
    fn number(self) -> u64 {
        self
    }
}

impl AllocationNumber for c_uint {
    fn number(self) -> u64 {
        self.into()
    }
}

impl AllocationNumber for Opaque {
    fn number(self) -> u64 {
        self.addr() as u64
    }
}

fn number(own: impl AllocationNumber) -> u64 {
    own.number()
}

/// Rows are padded by the driver. NVIDIA does not say to what; 512 is assumed.
fn pitched(width: u64, height: u64) -> Option<u64> {
    let row = width.div_ceil(512).saturating_mul(512);
    Some(row.saturating_mul(height))
}

// Memory of a pool stays when a context goes: 0.
allocations! {
    cuMemAlloc_v2 c"cuMemAlloc_v2" (to: *mut Address, bytes: usize):
        to Memory of context(), Some(bytes as u64), if true;
    cuMemAlloc c"cuMemAlloc" (to: *mut Short, bytes: c_uint):
        to Memory of context(), Some(bytes.into()), if true;
    cuMemAllocManaged c"cuMemAllocManaged" (to: *mut Address, bytes: usize, flags: c_uint):
        to Memory of context(), Some(bytes as u64), if true;
    cuMemAllocPitch_v2 c"cuMemAllocPitch_v2"
        (to: *mut Address, pitch: *mut usize, width: usize, height: usize, element: c_uint):
        to Memory of context(), pitched(width as u64, height as u64), if true;
    cuMemAllocPitch c"cuMemAllocPitch"
        (to: *mut Short, pitch: *mut c_uint, width: c_uint, height: c_uint, element: c_uint):
        to Memory of context(), pitched(width.into(), height.into()), if true;
    cuMemAllocAsync c"cuMemAllocAsync" (to: *mut Address, bytes: usize, stream: Stream):
        to Memory of 0, Some(bytes as u64), if !is_captured(stream, false);
    cuMemAllocAsync_ptsz c"cuMemAllocAsync_ptsz" (to: *mut Address, bytes: usize, stream: Stream):
        to Memory of 0, Some(bytes as u64), if !is_captured(stream, true);
    cuMemAllocFromPoolAsync c"cuMemAllocFromPoolAsync"
        (to: *mut Address, bytes: usize, pool: Opaque, stream: Stream):
        to Memory of 0, Some(bytes as u64), if !is_captured(stream, false);
    cuMemAllocFromPoolAsync_ptsz c"cuMemAllocFromPoolAsync_ptsz"
        (to: *mut Address, bytes: usize, pool: Opaque, stream: Stream):
        to Memory of 0, Some(bytes as u64), if !is_captured(stream, true);
    cuArrayCreate_v2 c"cuArrayCreate_v2" (to: *mut Opaque, array: *const Plane<usize>):
        to Array of context(),
        // SAFETY: the program passes a description, or null.
        unsafe { plane(array) }, if true;
    cuArrayCreate c"cuArrayCreate" (to: *mut Opaque, array: *const Plane<c_uint>):
        to Array of context(),
        // SAFETY: the program passes a description, or null.
        unsafe { plane(array) }, if true;
    cuArray3DCreate_v2 c"cuArray3DCreate_v2" (to: *mut Opaque, array: *const Solid<usize>):
        to Array of context(),
        // SAFETY: the program passes a description, or null.
        unsafe { solid(array, 1) }, if true;
    cuArray3DCreate c"cuArray3DCreate" (to: *mut Opaque, array: *const Solid<c_uint>):
        to Array of context(),
        // SAFETY: the program passes a description, or null.
        unsafe { solid(array, 1) }, if true;
    cuMipmappedArrayCreate c"cuMipmappedArrayCreate"
        (to: *mut Opaque, array: *const Solid<usize>, levels: c_uint):
        to Array of context(),
        // SAFETY: the program passes a description, or null.
        unsafe { solid(array, levels) }, if true;
}

/// CUDA_ARRAY_DESCRIPTOR.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plane<T> {
    extents: [T; 2],
    format: c_uint,
    channels: c_uint,
}

/// CUDA_ARRAY3D_DESCRIPTOR.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Solid<T> {
    extents: [T; 3],
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// An extent, of 64 or of 32 bits.
trait Extent: Copy {
    fn extent(self) -> u64;
}

impl Extent for usize {
    fn extent(self) -> u64 {
        self as u64
    }
}

impl Extent for c_uint {
    fn extent(self) -> u64 {
        self.into()
    }
}

/// The bytes of an array of one or two axes.
unsafe fn plane<T: Extent>(array: *const Plane<T>) -> Option<u64> {
    // SAFETY: the caller passes a description, or null.
    let array = unsafe { array.as_ref() }?;
    let [width, height] = array.extents.map(Extent::extent);
    let own = Array {
        extents: [width, height, 0],
        format: array.format,
        channels: array.channels,
        flags: 0,
    };
    own.bytes(1)
}

/// The bytes of so many levels of an array of up to three axes.
unsafe fn solid<T: Extent>(array: *const Solid<T>, levels: c_uint) -> Option<u64> {
    // SAFETY: the caller passes a description, or null.
    let array = unsafe { array.as_ref() }?;
    let own = Array {
        extents: array.extents.map(Extent::extent),
        format: array.format,
        channels: array.channels,
        flags: array.flags,
    };
    own.bytes(levels)
}

/// Functions that free.
macro_rules! frees {
    ($($name:ident $c:literal ($what:ident: $type:ty) $held:ident;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($what: $type) -> c_int {
            release(AllocationKey::$held(number($what)), || real!($c, ($what => $type)))
        }
    )*};
}

frees! {
    cuMemFree_v2 c"cuMemFree_v2" (address: Address) Memory;
    cuMemFree c"cuMemFree" (address: Short) Memory;
    cuArrayDestroy c"cuArrayDestroy" (array: Opaque) Array;
    cuMipmappedArrayDestroy c"cuMipmappedArrayDestroy" (array: Opaque) Array;
}

/// Functions that free when a stream has come there. It is waited for: only then is the memory free.
macro_rules! late_frees {
    ($($name:ident $c:literal then $wait:literal if $per_thread:literal;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(address: Address, stream: Stream) -> c_int {
            let free = || real!($c, (address => Address, stream => Stream));
            // Within a graph nothing is freed before the graph runs, and nothing may wait.
            if others_ask() || is_inside() || is_captured(stream, $per_thread) {
                return free();
            }
            release(AllocationKey::Memory(address), || match free() {
                0 => real!($wait, (stream => Stream)),
                error => error,
            })
        }
    )*};
}

late_frees! {
    cuMemFreeAsync c"cuMemFreeAsync" then c"cuStreamSynchronize" if false;
    cuMemFreeAsync_ptsz c"cuMemFreeAsync_ptsz" then c"cuStreamSynchronize_ptsz" if true;
}

/// The start of CUmemAllocationProp: its type, types of handles, and the type of its location.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AllocationProperties {
    _before: [c_int; 2],
    location: c_int,
}

/// CUDA's cuMemCreate. Memory of the host is not asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemCreate(
    to: *mut u64,
    bytes: usize,
    properties: *const AllocationProperties,
    flags: u64,
) -> c_int {
    let call = || {
        real!(c"cuMemCreate",
            (to => *mut u64, bytes => usize, properties => *const AllocationProperties, flags => u64))
    };
    // SAFETY: the program passes properties, or null.
    let location = unsafe { properties.as_ref() }.map(|properties| properties.location);
    if others_ask() || is_inside() || location != Some(DEVICE) {
        return call();
    }
    allocate(bytes as u64, || {
        let mut physical = lock(&known().physical);
        let code = call();
        let made = match code {
            // SAFETY: CUDA has written the handle there.
            0 => unsafe { written(to) },
            _ => None,
        };
        if let Some(handle) = made {
            physical.created(handle);
        }
        (
            code,
            made.map(|handle| (AllocationKey::Physical(handle), 0)),
        )
    })
}

/// Makes a call that concerns physical memory, and notes its success by `note`, which returns the handles
/// whose memory is free.
fn physical(call: impl FnOnce() -> c_int, note: impl FnOnce(&mut Physical) -> Vec<u64>) -> c_int {
    if others_ask() || is_inside() {
        return call();
    }
    let mut physical = lock(&known().physical);
    let code = inside(call);
    let free = if code == 0 {
        note(&mut physical)
    } else {
        Vec::new()
    };
    let free = free.into_iter().map(AllocationKey::Physical);
    let over = free.filter_map(forget).collect();
    drop(physical);
    end_all(over);
    code
}

/// CUDA's cuMemRelease.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemRelease(handle: u64) -> c_int {
    let call = || real!(c"cuMemRelease", (handle => u64));
    physical(call, |physical| {
        let is_free = physical.released(handle);
        is_free.then_some(handle).into_iter().collect()
    })
}

/// CUDA's cuMemRetainAllocationHandle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemRetainAllocationHandle(to: *mut u64, address: *mut c_void) -> c_int {
    let call = || real!(c"cuMemRetainAllocationHandle", (to => *mut u64, address => *mut c_void));
    physical(call, |physical| {
        // SAFETY: CUDA has written the handle there.
        if let Some(handle) = unsafe { written(to) } {
            physical.retained(handle);
        }
        Vec::new()
    })
}

/// CUDA's cuMemMap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemMap(
    address: Address,
    bytes: usize,
    offset: usize,
    handle: u64,
    flags: u64,
) -> c_int {
    let call = || {
        real!(c"cuMemMap", (
            address => Address, bytes => usize, offset => usize, handle => u64, flags => u64
        ))
    };
    physical(call, |physical| {
        physical.mapped(address, handle);
        Vec::new()
    })
}

/// CUDA's cuMemUnmap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemUnmap(address: Address, bytes: usize) -> c_int {
    let call = || real!(c"cuMemUnmap", (address => Address, bytes => usize));
    physical(call, |physical| physical.unmapped(address, bytes as u64))
}

/// Functions that destroy a context, with all its memory.
macro_rules! destroys {
    ($($name:ident $c:literal;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(context: Opaque) -> c_int {
            release_all(Some(number(context)), || {
                let code = real!($c, (context => Opaque));
                // What is of no context stays.
                (code, code == 0 && !context.is_null())
            })
        }
    )*};
}

destroys! {
    cuCtxDestroy_v2 c"cuCtxDestroy_v2";
    cuCtxDestroy c"cuCtxDestroy";
}

/// CUDA's cuDevicePrimaryCtxRetain. Which context is the primary one is known from here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(to: *mut Opaque, device: c_int) -> c_int {
    let code = real!(c"cuDevicePrimaryCtxRetain", (to => *mut Opaque, device => c_int));
    if code == 0 {
        // SAFETY: CUDA has written the context there.
        if let Some(context) = unsafe { written(to) } {
            lock(&known().primary).insert(device, number(context));
        }
    }
    code
}

/// Functions after which the primary context of a device may be gone, with all its memory.
macro_rules! primaries {
    ($($name:ident $c:literal if $gone:expr;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: c_int) -> c_int {
            let call = || real!($c, (device => c_int));
            let known = lock(&known().primary).get(&device).copied();
            let Some(context) = known else { return call() };
            release_all(Some(context), || {
                let code = call();
                let is_gone: fn(c_int) -> bool = $gone;
                (code, code == 0 && is_gone(device))
            })
        }
    )*};
}

primaries! {
    cuDevicePrimaryCtxReset_v2 c"cuDevicePrimaryCtxReset_v2" if |_| true;
    cuDevicePrimaryCtxReset c"cuDevicePrimaryCtxReset" if |_| true;
    // With its last user.
    cuDevicePrimaryCtxRelease_v2 c"cuDevicePrimaryCtxRelease_v2" if |device| !is_active(device);
    cuDevicePrimaryCtxRelease c"cuDevicePrimaryCtxRelease" if |device| !is_active(device);
}

/// CUDA's cuInit. It binds the process: CUDA looks at CUDA_VISIBLE_DEVICES then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(flags: c_uint) -> c_int {
    if !others_ask() {
        match touch() {
            0 => {}
            error => return error,
        }
    }
    real!(c"cuInit", (flags => c_uint))
}

/// CUDA's cuGetProcAddress, before CUDA 12.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> c_int {
    let code = real!(c"cuGetProcAddress", (
        name => *const c_char, to => *mut *mut c_void, version => c_int, flags => u64
    ));
    // SAFETY: CUDA has had success with the name and the place.
    unsafe { replace(code, name, to, version, flags) }
}

/// CUDA's cuGetProcAddress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> c_int {
    let code = real!(c"cuGetProcAddress_v2", (
        name => *const c_char, to => *mut *mut c_void, version => c_int, flags => u64,
        status => *mut c_int
    ));
    // SAFETY: CUDA has had success with the name and the place.
    unsafe { replace(code, name, to, version, flags) }
}

/// Puts our function in place of the one found, if there is one. Returns the code.
unsafe fn replace(
    code: c_int,
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> c_int {
    if code != 0 || name.is_null() || to.is_null() {
        return code;
    }
    // SAFETY: CUDA has read the name, which ends in a zero, and written to the place.
    unsafe {
        let found = to.read();
        if !found.is_null() {
            to.write(in_front(
                FRONTS,
                found,
                CStr::from_ptr(name),
                version,
                flags,
            ));
        }
    }
    code
}

/// The table of what stands in front: the name and version of cuGetProcAddress, and the function.
macro_rules! fronts {
    ($($name:literal $since:literal $own:ident $symbol:literal $(per $thread:ident)?;)*) => {
        [$(Front {
            name: $name,
            since: $since,
            is_per_thread: [$(stringify!($thread),)? ""].len() > 1,
            symbol: $symbol,
            own: || $own as *mut c_void,
        }),*]
    };
}

/// Versions are those of cudaTypedefs.h.
static FRONTS: &[Front] = &fronts! {
    c"cuInit" 2000 cuInit c"cuInit";
    c"cuGetProcAddress" 11030 cuGetProcAddress c"cuGetProcAddress";
    c"cuGetProcAddress" 12000 cuGetProcAddress_v2 c"cuGetProcAddress_v2";
    c"cuMemAlloc" 2000 cuMemAlloc c"cuMemAlloc";
    c"cuMemAlloc" 3020 cuMemAlloc_v2 c"cuMemAlloc_v2";
    c"cuMemAllocPitch" 2000 cuMemAllocPitch c"cuMemAllocPitch";
    c"cuMemAllocPitch" 3020 cuMemAllocPitch_v2 c"cuMemAllocPitch_v2";
    c"cuMemAllocManaged" 6000 cuMemAllocManaged c"cuMemAllocManaged";
    c"cuMemAllocAsync" 11020 cuMemAllocAsync c"cuMemAllocAsync";
    c"cuMemAllocAsync" 11020 cuMemAllocAsync_ptsz c"cuMemAllocAsync_ptsz" per thread;
    c"cuMemAllocFromPoolAsync" 11020 cuMemAllocFromPoolAsync c"cuMemAllocFromPoolAsync";
    c"cuMemAllocFromPoolAsync" 11020 cuMemAllocFromPoolAsync_ptsz
        c"cuMemAllocFromPoolAsync_ptsz" per thread;
    c"cuMemFree" 2000 cuMemFree c"cuMemFree";
    c"cuMemFree" 3020 cuMemFree_v2 c"cuMemFree_v2";
    c"cuMemFreeAsync" 11020 cuMemFreeAsync c"cuMemFreeAsync";
    c"cuMemFreeAsync" 11020 cuMemFreeAsync_ptsz c"cuMemFreeAsync_ptsz" per thread;
    c"cuArrayCreate" 2000 cuArrayCreate c"cuArrayCreate";
    c"cuArrayCreate" 3020 cuArrayCreate_v2 c"cuArrayCreate_v2";
    c"cuArray3DCreate" 2000 cuArray3DCreate c"cuArray3DCreate";
    c"cuArray3DCreate" 3020 cuArray3DCreate_v2 c"cuArray3DCreate_v2";
    c"cuMipmappedArrayCreate" 5000 cuMipmappedArrayCreate c"cuMipmappedArrayCreate";
    c"cuArrayDestroy" 2000 cuArrayDestroy c"cuArrayDestroy";
    c"cuMipmappedArrayDestroy" 5000 cuMipmappedArrayDestroy c"cuMipmappedArrayDestroy";
    c"cuMemCreate" 10020 cuMemCreate c"cuMemCreate";
    c"cuMemRelease" 10020 cuMemRelease c"cuMemRelease";
    c"cuMemRetainAllocationHandle" 11000 cuMemRetainAllocationHandle c"cuMemRetainAllocationHandle";
    c"cuMemMap" 10020 cuMemMap c"cuMemMap";
    c"cuMemUnmap" 10020 cuMemUnmap c"cuMemUnmap";
    c"cuCtxDestroy" 2000 cuCtxDestroy c"cuCtxDestroy";
    c"cuCtxDestroy" 4000 cuCtxDestroy_v2 c"cuCtxDestroy_v2";
    c"cuDevicePrimaryCtxRetain" 7000 cuDevicePrimaryCtxRetain c"cuDevicePrimaryCtxRetain";
    c"cuDevicePrimaryCtxReset" 7000 cuDevicePrimaryCtxReset c"cuDevicePrimaryCtxReset";
    c"cuDevicePrimaryCtxReset" 11000 cuDevicePrimaryCtxReset_v2 c"cuDevicePrimaryCtxReset_v2";
    c"cuDevicePrimaryCtxRelease" 7000 cuDevicePrimaryCtxRelease c"cuDevicePrimaryCtxRelease";
    c"cuDevicePrimaryCtxRelease" 11000 cuDevicePrimaryCtxRelease_v2
        c"cuDevicePrimaryCtxRelease_v2";
};
