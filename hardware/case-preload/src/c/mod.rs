//! The CUDA runtime's functions, in front of those that the program has loaded.
//!
//! Each allocation is a task of its own: nothing is known of the next one. Functions that would
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
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use mapa_case::c::{CaseDim3, Stream, allocate, behind, release, touch};

/// CUDA's errors: no memory, no runtime behind this library, no device.
const ERRORS: [c_int; 3] = [2, 3, 100];

/// Calls the function of this name behind this library.
macro_rules! real {
    ($name:literal, ($($argument:expr => $type:ty),*)) => {{
        static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        let mut found = FOUND.load(Ordering::Acquire);
        if found.is_null() {
            found = behind($name);
            FOUND.store(found, Ordering::Release);
        }
        if found.is_null() {
            ERRORS[1]
        } else {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: CUDA's function of this name has this type, and gets what the program has passed.
            unsafe { std::mem::transmute::<*mut c_void, Function>(found)($($argument),*) }
        }
    }};
}

/// Functions that allocate: the size, and the variable that gets the pointer.
macro_rules! allocations {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*) $bytes:expr;)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(pointer: *mut *mut c_void, $($argument: $type),*) -> c_int {
            allocate($bytes as u64, [ERRORS[0], ERRORS[2]], || {
                let code = real!($c, (pointer => *mut *mut c_void, $($argument => $type),*));
                let is_made = code == 0 && !pointer.is_null();
                // SAFETY: CUDA has written the pointer there.
                (code, if is_made { unsafe { pointer.read() } } else { ptr::null_mut() })
            })
        }
    )*};
}

allocations! {
    cudaMalloc c"cudaMalloc" (bytes: usize) bytes;
    cudaMallocManaged c"cudaMallocManaged" (bytes: usize, flags: c_uint) bytes;
    cudaMallocAsync c"cudaMallocAsync" (bytes: usize, stream: Stream) bytes;
    cudaMallocAsync_ptsz c"cudaMallocAsync_ptsz" (bytes: usize, stream: Stream) bytes;
    // Rows are padded; 512 is the largest alignment of a row that CUDA's devices have had.
    cudaMallocPitch c"cudaMallocPitch" (pitch: *mut usize, width: usize, height: usize)
        width.saturating_add(511) / 512 * 512 * height;
}

/// CUDA's cudaFree. It reaches the driver even for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFree(pointer: *mut c_void) -> c_int {
    if pointer.is_null() {
        touch();
    }
    release(pointer, || real!(c"cudaFree", (pointer => *mut c_void)))
}

/// CUDA's cudaFreeAsync. The memory is free when the stream has come there, so it is waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFreeAsync(pointer: *mut c_void, stream: Stream) -> c_int {
    release(pointer, || {
        match real!(c"cudaFreeAsync", (pointer => *mut c_void, stream => Stream)) {
            0 => real!(c"cudaStreamSynchronize", (stream => Stream)),
            error => error,
        }
    })
}

/// CUDA's cudaFreeAsync, where each thread has a default stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFreeAsync_ptsz(pointer: *mut c_void, stream: Stream) -> c_int {
    release(pointer, || {
        match real!(c"cudaFreeAsync_ptsz", (pointer => *mut c_void, stream => Stream)) {
            0 => real!(c"cudaStreamSynchronize_ptsz", (stream => Stream)),
            error => error,
        }
    })
}

/// Functions that may be the first to reach the driver.
macro_rules! touches {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("CUDA's ", stringify!($name), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            touch();
            real!($c, ($($argument => $type),*))
        }
    )*};
}

touches! {
    cudaGetDeviceCount c"cudaGetDeviceCount" (count: *mut c_int);
    cudaGetDevice c"cudaGetDevice" (device: *mut c_int);
    cudaSetDevice c"cudaSetDevice" (device: c_int);
    cudaSetDeviceFlags c"cudaSetDeviceFlags" (flags: c_uint);
    cudaInitDevice c"cudaInitDevice" (device: c_int, of_device: c_uint, flags: c_uint);
    cudaDeviceReset c"cudaDeviceReset" ();
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
    cudaLaunchKernel c"cudaLaunchKernel" (
        kernel: *const c_void, grid: CaseDim3, block: CaseDim3, arguments: *mut *mut c_void,
        shared: usize, stream: Stream
    );
}
