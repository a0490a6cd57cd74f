//! The CUDA runtime's functions, in front of those that the program has loaded.
//!
//! Each allocation asks by itself: nothing is known of the next one. Functions that would
//! reach the driver before any allocation bind the process first.
#![allow(
    unsafe_code,
    reason = "C programs call it in place of the CUDA runtime"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "C passes what CUDA's function of that name expects"
)]

use std::ffi::{c_int, c_uint, c_void};

use mapa_case::c::{CaseDim3, RuntimeFn, Stream, allocate, is_bound, release, release_all, touch};
use mapa_case::{AllocationKey, call_real};

/// How memory at this address is known.
fn at(pointer: *mut c_void) -> AllocationKey {
    AllocationKey::Memory(pointer.addr() as u64)
}

/// Calls the function of this name behind this library.
macro_rules! real {
    ($name:literal, $arguments:tt) => {{
        // SAFETY: CUDA's function of this name has this type, and gets what the program has passed.
        unsafe { call_real!(RuntimeFn::behind($name), $arguments) }
    }};
}

/// Whether calls on a stream go into a graph: then they neither take nor free memory. Before the process is bound
/// nothing may ask that, and no graph is made.
fn is_captured(stream: Stream, is_per_thread: bool) -> bool {
    let mut status: c_int = 0;
    let code = if !is_bound() {
        return false;
    } else if is_per_thread {
        real!(c"cudaStreamIsCapturing_ptsz", (stream => Stream, &raw mut status => *mut c_int))
    } else {
        real!(c"cudaStreamIsCapturing", (stream => Stream, &raw mut status => *mut c_int))
    };
    code == 0 && status != 0
}

/// Functions that allocate: the size, whether memory is taken at once, and the variable that gets the pointer.
macro_rules! allocations {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*) $bytes:expr, if $takes:expr;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(pointer: *mut *mut c_void, $($argument: $type),*) -> c_int {
            let make = || real!($c, (pointer => *mut *mut c_void, $($argument => $type),*));
            if !$takes {
                return make();
            }
            allocate($bytes as u64, || {
                let code = make();
                let is_made = code == 0 && !pointer.is_null();
                // SAFETY: CUDA has written the pointer there.
                (code, is_made.then(|| (at(unsafe { pointer.read() }), 0)))
            })
        }
    )*};
}

allocations! {
    cudaMalloc c"cudaMalloc" (bytes: usize) bytes, if true;
    cudaMallocManaged c"cudaMallocManaged" (bytes: usize, flags: c_uint) bytes, if true;
    cudaMallocAsync c"cudaMallocAsync" (bytes: usize, stream: Stream)
        bytes, if !is_captured(stream, false);
    cudaMallocAsync_ptsz c"cudaMallocAsync_ptsz" (bytes: usize, stream: Stream)
        bytes, if !is_captured(stream, true);
    cudaMallocFromPoolAsync c"cudaMallocFromPoolAsync"
        (bytes: usize, pool: *mut c_void, stream: Stream) bytes, if !is_captured(stream, false);
    cudaMallocFromPoolAsync_ptsz c"cudaMallocFromPoolAsync_ptsz"
        (bytes: usize, pool: *mut c_void, stream: Stream) bytes, if !is_captured(stream, true);
    // Rows are padded by the driver. NVIDIA does not say to what; 512 is assumed.
    cudaMallocPitch c"cudaMallocPitch" (pitch: *mut usize, width: usize, height: usize)
        width.div_ceil(512).saturating_mul(512).saturating_mul(height), if true;
}

/// CUDA's cudaFree. It reaches the driver even for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFree(pointer: *mut c_void) -> c_int {
    if pointer.is_null() {
        match touch() {
            0 => {}
            error => return error,
        }
    }
    release(at(pointer), || real!(c"cudaFree", (pointer => *mut c_void)))
}

/// Functions that free when a stream has come there. It is waited for: only then is the memory free.
macro_rules! late_frees {
    ($($name:ident $c:literal then $wait:literal if $per_thread:literal;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(pointer: *mut c_void, stream: Stream) -> c_int {
            let free = || real!($c, (pointer => *mut c_void, stream => Stream));
            // Within a graph nothing is freed before the graph runs, and nothing may wait.
            if is_captured(stream, $per_thread) {
                return free();
            }
            release(at(pointer), || match free() {
                0 => real!($wait, (stream => Stream)),
                error => error,
            })
        }
    )*};
}

late_frees! {
    cudaFreeAsync c"cudaFreeAsync" then c"cudaStreamSynchronize" if false;
    cudaFreeAsync_ptsz c"cudaFreeAsync_ptsz" then c"cudaStreamSynchronize_ptsz" if true;
}

/// CUDA's cudaDeviceReset. It frees all memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceReset() -> c_int {
    match touch() {
        0 => release_all(None, || {
            let code = real!(c"cudaDeviceReset", ());
            (code, code == 0)
        }),
        error => error,
    }
}

/// Functions that may be the first to reach the driver.
macro_rules! touches {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            match touch() {
                0 => real!($c, ($($argument => $type),*)),
                error => error,
            }
        }
    )*};
}

touches! {
    cudaGetDeviceCount c"cudaGetDeviceCount" (count: *mut c_int);
    cudaGetDevice c"cudaGetDevice" (device: *mut c_int);
    cudaSetDevice c"cudaSetDevice" (device: c_int);
    cudaSetDeviceFlags c"cudaSetDeviceFlags" (flags: c_uint);
    cudaInitDevice c"cudaInitDevice" (device: c_int, of_device: c_uint, flags: c_uint);
    cudaDeviceSynchronize c"cudaDeviceSynchronize" ();
    cudaDeviceGetAttribute c"cudaDeviceGetAttribute" (value: *mut c_int, attribute: c_int, device: c_int);
    cudaGetDeviceProperties c"cudaGetDeviceProperties" (properties: *mut c_void, device: c_int);
    cudaGetDeviceProperties_v2 c"cudaGetDeviceProperties_v2" (properties: *mut c_void, device: c_int);
    cudaMemGetInfo c"cudaMemGetInfo" (free: *mut usize, total: *mut usize);
    cudaStreamCreate c"cudaStreamCreate" (stream: *mut Stream);
    cudaStreamCreateWithFlags c"cudaStreamCreateWithFlags" (stream: *mut Stream, flags: c_uint);
    cudaStreamCreateWithPriority c"cudaStreamCreateWithPriority"
        (stream: *mut Stream, flags: c_uint, priority: c_int);
    cudaEventCreate c"cudaEventCreate" (event: *mut *mut c_void);
    cudaEventCreateWithFlags c"cudaEventCreateWithFlags" (event: *mut *mut c_void, flags: c_uint);
    cudaMallocHost c"cudaMallocHost" (pointer: *mut *mut c_void, bytes: usize);
    cudaHostAlloc c"cudaHostAlloc" (pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    cudaHostRegister c"cudaHostRegister" (pointer: *mut c_void, bytes: usize, flags: c_uint);
    cudaDeviceGetLimit c"cudaDeviceGetLimit" (value: *mut usize, limit: c_int);
    cudaDeviceSetLimit c"cudaDeviceSetLimit" (limit: c_int, value: usize);
    cudaDeviceGetStreamPriorityRange c"cudaDeviceGetStreamPriorityRange"
        (least: *mut c_int, greatest: *mut c_int);
    cudaMemcpy c"cudaMemcpy" (to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int);
    cudaMemcpy_ptds c"cudaMemcpy_ptds"
        (to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int);
    cudaMemcpyToSymbol c"cudaMemcpyToSymbol"
        (symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int);
    cudaMemcpyToSymbol_ptds c"cudaMemcpyToSymbol_ptds"
        (symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int);
    cudaMemcpyToSymbolAsync c"cudaMemcpyToSymbolAsync" (
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
        stream: Stream
    );
    cudaMemcpyToSymbolAsync_ptsz c"cudaMemcpyToSymbolAsync_ptsz" (
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
        stream: Stream
    );
    cudaMemcpyFromSymbol c"cudaMemcpyFromSymbol"
        (to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int);
    cudaMemcpyFromSymbol_ptds c"cudaMemcpyFromSymbol_ptds"
        (to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int);
    cudaMemcpyFromSymbolAsync c"cudaMemcpyFromSymbolAsync" (
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int,
        stream: Stream
    );
    cudaMemcpyFromSymbolAsync_ptsz c"cudaMemcpyFromSymbolAsync_ptsz" (
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int,
        stream: Stream
    );
    cudaMemset c"cudaMemset" (to: *mut c_void, value: c_int, bytes: usize);
    cudaMemset_ptds c"cudaMemset_ptds" (to: *mut c_void, value: c_int, bytes: usize);
    cudaGetSymbolAddress c"cudaGetSymbolAddress" (pointer: *mut *mut c_void, symbol: *const c_void);
    cudaGetSymbolSize c"cudaGetSymbolSize" (bytes: *mut usize, symbol: *const c_void);
    cudaFuncGetAttributes c"cudaFuncGetAttributes"
        (attributes: *mut c_void, kernel: *const c_void);
    cudaFuncSetAttribute c"cudaFuncSetAttribute"
        (kernel: *const c_void, attribute: c_int, value: c_int);
    cudaFuncSetCacheConfig c"cudaFuncSetCacheConfig" (kernel: *const c_void, config: c_int);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor
        c"cudaOccupancyMaxActiveBlocksPerMultiprocessor"
        (blocks: *mut c_int, kernel: *const c_void, threads: c_int, shared: usize);
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        c"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" (
        blocks: *mut c_int, kernel: *const c_void, threads: c_int, shared: usize, flags: c_uint
    );
    cudaOccupancyAvailableDynamicSMemPerBlock c"cudaOccupancyAvailableDynamicSMemPerBlock"
        (bytes: *mut usize, kernel: *const c_void, blocks: c_int, threads: c_int);
    cudaOccupancyMaxPotentialClusterSize c"cudaOccupancyMaxPotentialClusterSize"
        (size: *mut c_int, kernel: *const c_void, config: *const c_void);
    cudaOccupancyMaxActiveClusters c"cudaOccupancyMaxActiveClusters"
        (clusters: *mut c_int, kernel: *const c_void, config: *const c_void);
    cudaLaunchKernel c"cudaLaunchKernel" (
        kernel: *const c_void, grid: CaseDim3, block: CaseDim3, arguments: *mut *mut c_void,
        shared: usize, stream: Stream
    );
    cudaLaunchKernel_ptsz c"cudaLaunchKernel_ptsz" (
        kernel: *const c_void, grid: CaseDim3, block: CaseDim3, arguments: *mut *mut c_void,
        shared: usize, stream: Stream
    );
    cudaLaunchCooperativeKernel c"cudaLaunchCooperativeKernel" (
        kernel: *const c_void, grid: CaseDim3, block: CaseDim3, arguments: *mut *mut c_void,
        shared: usize, stream: Stream
    );
    cudaLaunchCooperativeKernel_ptsz c"cudaLaunchCooperativeKernel_ptsz" (
        kernel: *const c_void, grid: CaseDim3, block: CaseDim3, arguments: *mut *mut c_void,
        shared: usize, stream: Stream
    );
    cudaLaunchKernelExC c"cudaLaunchKernelExC"
        (config: *const c_void, kernel: *const c_void, arguments: *mut *mut c_void);
    cudaLaunchKernelExC_ptsz c"cudaLaunchKernelExC_ptsz"
        (config: *const c_void, kernel: *const c_void, arguments: *mut *mut c_void);
}
