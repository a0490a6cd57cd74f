//! The functions of the runtime, as C calls them: the only file that is unsafe.
//!
//! Pointers come from the program that is tested, and are used as CUDA's documentation says: those that
//! it writes through are checked for null, copies are as long as the program says.
#![allow(unsafe_code)]

use crate::device::{FakeDevice, OBJECTED, write_line};
use crate::oracle::OracleEvent;
use crate::report::{REPORT, ReportLine};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, Once};

type Error = c_int;
const SUCCESS: Error = 0;
const INVALID_VALUE: Error = 1;
const OUT_OF_MEMORY: Error = 2;
const INVALID_CONFIGURATION: Error = 9;
const INVALID_DEVICE: Error = 101;
const INVALID_HANDLE: Error = 400;

/// `dim3`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

/// `cudaPointerAttributes`.
#[repr(C)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    of_device: *mut c_void,
    of_host: *mut c_void,
}

static DEVICE: LazyLock<Mutex<FakeDevice>> = LazyLock::new(Mutex::default);
static FILL: LazyLock<u8> = LazyLock::new(|| {
    std::env::var("FAKE_CUDART_FILL")
        .ok()
        .and_then(|f| f.parse().ok())
        .unwrap_or(0)
});

thread_local! {
    static ERROR: RefCell<Error> = const { RefCell::new(SUCCESS) };
    static LAUNCHES: RefCell<Vec<(Dim3, Dim3, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

fn device() -> MutexGuard<'static, FakeDevice> {
    DEVICE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Remembers an error for `cudaGetLastError`.
fn answer(error: Error) -> Error {
    if error != SUCCESS {
        ERROR.with_borrow_mut(|e| *e = error);
    }
    error
}

extern "C" fn on_exit() {
    device().tell(OracleEvent::Exit);
}

/// Runs after all that registered later, so at the very end.
extern "C" fn on_last_exit() {
    let objected = device().objections > 0 && std::env::var_os(REPORT).is_none();
    if objected {
        // SAFETY: ends the process; nothing of this library runs after it.
        unsafe { libc::_exit(OBJECTED) }
    }
}

#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    // SAFETY: the handler lives as long as the library, which is never unloaded before the exit.
    unsafe { libc::atexit(on_last_exit) };
}

/// CASE's client library tells what it was granted.
///
/// # Safety
/// None is asked of the caller.
#[unsafe(no_mangle)]
extern "C" fn mapa_case_observer(event: u32, task: u64, bytes: u64, warps: u64) {
    static FIRST: Once = Once::new();
    // The client ends its tasks at exit. This handler is registered later, so it runs before that.
    FIRST.call_once(|| {
        // SAFETY: as in `register`.
        unsafe { libc::atexit(on_exit) };
    });
    // SAFETY: gettid has no conditions.
    let thread = unsafe { libc::gettid() } as u64;
    let (event, line) = match event {
        1 => (
            OracleEvent::Begin {
                task,
                bytes,
                thread,
            },
            ReportLine::Begin { task, bytes, warps },
        ),
        2 => (
            OracleEvent::Extend { task, bytes },
            ReportLine::Extend { task, bytes, warps },
        ),
        3 => (
            OracleEvent::End { task },
            ReportLine::End {
                task,
                bytes: 0,
                warps: 0,
            },
        ),
        _ => return,
    };
    write_line(&line);
    device().tell(event);
}

/// # Safety
/// `target` is null or may be written.
unsafe fn allocate(target: *mut *mut c_void, size: usize, pinned: bool) -> Error {
    if target.is_null() {
        return answer(INVALID_VALUE);
    }
    let mut device = device();
    if !pinned && device.fails() {
        return answer(OUT_OF_MEMORY);
    }
    if size == 0 {
        // CUDA gives a null pointer for nothing.
        // SAFETY: not null; the caller's promise.
        unsafe { *target = std::ptr::null_mut() };
        return SUCCESS;
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { libc::calloc(1, size) };
    if memory.is_null() {
        return answer(OUT_OF_MEMORY);
    }
    if *FILL != 0 {
        // SAFETY: the memory has that size.
        unsafe { std::ptr::write_bytes(memory.cast::<u8>(), *FILL, size) };
    }
    // SAFETY: not null; the caller's promise.
    unsafe { *target = memory };
    if pinned {
        device.pinned.insert(memory as usize, size);
    } else {
        device.memory.insert(memory as usize, size);
        device.tell(OracleEvent::Allocate { bytes: size as u64 });
    }
    SUCCESS
}

fn free(pointer: *mut c_void, pinned: bool) -> Error {
    if pointer.is_null() {
        return SUCCESS;
    }
    let mut device = device();
    let table = if pinned {
        &mut device.pinned
    } else {
        &mut device.memory
    };
    let Some(bytes) = table.remove(&(pointer as usize)) else {
        return answer(INVALID_VALUE);
    };
    if !pinned {
        device.tell(OracleEvent::Free {
            bytes: bytes as u64,
        });
    }
    // SAFETY: it came from calloc and was taken from the table, so it is freed once.
    unsafe { libc::free(pointer) };
    SUCCESS
}

/// # Safety
/// The two ranges may be read and written.
unsafe fn copy(target: *mut c_void, source: *const c_void, count: usize) -> Error {
    if count == 0 {
        return SUCCESS;
    }
    if target.is_null() || source.is_null() {
        return answer(INVALID_VALUE);
    }
    // SAFETY: the caller's promise; the ranges may overlap.
    unsafe { std::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), count) };
    SUCCESS
}

fn queue(stream: *mut c_void) {
    device().tell(OracleEvent::Queue {
        stream: stream as u64,
    });
}

/// The same function where each thread has a default stream of its own.
macro_rules! twin {
    (; $name:ident; $arguments:tt -> $result:ty) => {};
    ($twin:ident; $name:ident; ($($arg:ident : $ty:ty),*) -> $result:ty) => {
        /// The same, where the default stream is one a thread.
        ///
        /// # Safety
        /// As CUDA's documentation says of the function of this name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $twin($($arg: $ty),*) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $name($($arg),*) }
        }
    };
}

macro_rules! runtime {
    ($( $(#[$doc:meta])* fn $name:ident $(as $twin:ident)? ( $($arg:ident : $ty:ty),* $(,)? ) -> $result:ty $body:block )*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As CUDA's documentation says of the function of this name.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $result $body
            twin!($($twin)?; $name; ($($arg: $ty),*) -> $result);
        )*
    };
}

runtime! {
    /// Allocates device memory.
    fn cudaMalloc(target: *mut *mut c_void, size: usize) -> Error {
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, false) }
    }

    /// Allocates memory that host and device use.
    fn cudaMallocManaged(target: *mut *mut c_void, size: usize, _flags: c_uint) -> Error {
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, false) }
    }

    /// Allocates device memory in the order of a stream.
    fn cudaMallocAsync as cudaMallocAsync_ptsz(target: *mut *mut c_void, size: usize, stream: *mut c_void) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, false) }
    }

    /// Allocates rows, each a multiple of 512 bytes long.
    fn cudaMallocPitch(target: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> Error {
        if pitch.is_null() {
            return answer(INVALID_VALUE);
        }
        let row = width.div_ceil(512) * 512;
        // SAFETY: not null; the caller's promise.
        unsafe { *pitch = row };
        // SAFETY: the caller's promise.
        unsafe { allocate(target, row * height, false) }
    }

    /// Allocates device memory of a pool, in the order of a stream.
    fn cudaMallocFromPoolAsync as cudaMallocFromPoolAsync_ptsz(
        target: *mut *mut c_void,
        size: usize,
        _pool: *mut c_void,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, false) }
    }

    /// Allocates pinned host memory.
    fn cudaMallocHost(target: *mut *mut c_void, size: usize) -> Error {
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, true) }
    }

    /// Allocates pinned host memory.
    fn cudaHostAlloc(target: *mut *mut c_void, size: usize, _flags: c_uint) -> Error {
        // SAFETY: the caller's promise.
        unsafe { allocate(target, size, true) }
    }

    /// Frees device memory, when the device has finished.
    fn cudaFree(pointer: *mut c_void) -> Error {
        if !pointer.is_null() {
            device().tell(OracleEvent::Wait { stream: None });
        }
        free(pointer, false)
    }

    /// Frees device memory in the order of a stream.
    fn cudaFreeAsync as cudaFreeAsync_ptsz(pointer: *mut c_void, stream: *mut c_void) -> Error {
        queue(stream);
        free(pointer, false)
    }

    /// Frees pinned host memory.
    fn cudaFreeHost(pointer: *mut c_void) -> Error {
        free(pointer, true)
    }

    /// Copies, and returns after the work of the default stream.
    fn cudaMemcpy as cudaMemcpy_ptds(target: *mut c_void, source: *const c_void, count: usize, _kind: c_int) -> Error {
        device().wait_default();
        // SAFETY: the caller's promise.
        unsafe { copy(target, source, count) }
    }

    /// Queues a copy.
    fn cudaMemcpyAsync as cudaMemcpyAsync_ptsz(
        target: *mut c_void,
        source: *const c_void,
        count: usize,
        _kind: c_int,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { copy(target, source, count) }
    }

    /// Copies rows.
    fn cudaMemcpy2D as cudaMemcpy2D_ptds(
        target: *mut c_void,
        target_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        _kind: c_int,
    ) -> Error {
        device().wait_default();
        for row in 0..height {
            let to = target.wrapping_byte_add(row * target_pitch);
            let from = source.wrapping_byte_add(row * source_pitch);
            // SAFETY: the caller's promise, row by row.
            let done = unsafe { copy(to, from, width) };
            if done != SUCCESS {
                return done;
            }
        }
        SUCCESS
    }

    /// Queues a copy of rows.
    fn cudaMemcpy2DAsync as cudaMemcpy2DAsync_ptsz(
        target: *mut c_void,
        target_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind) }
    }

    /// Copies between devices, of which there is one.
    fn cudaMemcpyPeer(
        target: *mut c_void,
        to: c_int,
        source: *const c_void,
        from: c_int,
        count: usize,
    ) -> Error {
        if (to, from) != (0, 0) {
            return answer(INVALID_DEVICE);
        }
        // SAFETY: the caller's promise.
        unsafe { cudaMemcpy(target, source, count, 3) }
    }

    /// Copies to a variable of the device.
    fn cudaMemcpyToSymbol as cudaMemcpyToSymbol_ptds(
        symbol: *const c_void,
        source: *const c_void,
        count: usize,
        offset: usize,
        _kind: c_int,
    ) -> Error {
        let mut device = device();
        device.wait_default();
        let bytes = device.symbols.entry(symbol as usize).or_default();
        bytes.resize(bytes.len().max(offset + count), 0);
        // SAFETY: the caller's promise for the source; the vector was made that long.
        unsafe { copy(bytes[offset..].as_mut_ptr().cast(), source, count) }
    }

    /// Copies from a variable of the device.
    fn cudaMemcpyFromSymbol as cudaMemcpyFromSymbol_ptds(
        target: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        _kind: c_int,
    ) -> Error {
        let mut device = device();
        device.wait_default();
        let bytes = device.symbols.entry(symbol as usize).or_default();
        bytes.resize(bytes.len().max(offset + count), 0);
        // SAFETY: the caller's promise for the target; the vector was made that long.
        unsafe { copy(target, bytes[offset..].as_ptr().cast(), count) }
    }

    /// Queues a copy to a variable of the device.
    fn cudaMemcpyToSymbolAsync as cudaMemcpyToSymbolAsync_ptsz(
        symbol: *const c_void,
        source: *const c_void,
        count: usize,
        offset: usize,
        kind: c_int,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { cudaMemcpyToSymbol(symbol, source, count, offset, kind) }
    }

    /// Queues a copy from a variable of the device.
    fn cudaMemcpyFromSymbolAsync as cudaMemcpyFromSymbolAsync_ptsz(
        target: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: c_int,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { cudaMemcpyFromSymbol(target, symbol, count, offset, kind) }
    }

    /// Fills device memory.
    fn cudaMemset as cudaMemset_ptds(pointer: *mut c_void, value: c_int, count: usize) -> Error {
        if pointer.is_null() && count > 0 {
            return answer(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), value as u8, count) };
        SUCCESS
    }

    /// Queues a fill.
    fn cudaMemsetAsync as cudaMemsetAsync_ptsz(
        pointer: *mut c_void,
        value: c_int,
        count: usize,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        // SAFETY: the caller's promise.
        unsafe { cudaMemset(pointer, value, count) }
    }

    /// Fills rows.
    fn cudaMemset2D as cudaMemset2D_ptds(
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
    ) -> Error {
        for row in 0..height {
            // SAFETY: the caller's promise, row by row.
            let done = unsafe { cudaMemset(pointer.wrapping_byte_add(row * pitch), value, width) };
            if done != SUCCESS {
                return done;
            }
        }
        SUCCESS
    }

    /// Moves managed memory, which is where it is.
    fn cudaMemPrefetchAsync as cudaMemPrefetchAsync_ptsz(
        pointer: *const c_void,
        _count: usize,
        _device: c_int,
        stream: *mut c_void,
    ) -> Error {
        queue(stream);
        answer(if device().holds(pointer as usize) { SUCCESS } else { INVALID_VALUE })
    }

    /// Takes advice on managed memory.
    fn cudaMemAdvise(pointer: *const c_void, _count: usize, _advice: c_int, _device: c_int) -> Error {
        answer(if device().holds(pointer as usize) { SUCCESS } else { INVALID_VALUE })
    }

    /// Tells whether memory is the device's.
    fn cudaPointerGetAttributes(attributes: *mut PointerAttributes, pointer: *mut c_void) -> Error {
        if attributes.is_null() {
            return answer(INVALID_VALUE);
        }
        // cudaMemoryTypeUnregistered is 0, cudaMemoryTypeDevice 2.
        let own = device().holds(pointer as usize);
        let of_device = if own { pointer } else { std::ptr::null_mut() };
        let found = PointerAttributes {
            kind: if own { 2 } else { 0 },
            device: 0,
            of_device,
            of_host: if own { std::ptr::null_mut() } else { pointer },
        };
        // SAFETY: not null; the caller's promise.
        unsafe { *attributes = found };
        SUCCESS
    }

    /// Memory of the device: as much as an A30's.
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> Error {
        const TOTAL: usize = 24 << 30;
        if free.is_null() || total.is_null() {
            return answer(INVALID_VALUE);
        }
        let held: usize = device().memory.values().sum();
        // SAFETY: not null; the caller's promise.
        unsafe {
            *free = TOTAL.saturating_sub(held);
            *total = TOTAL;
        }
        SUCCESS
    }

    /// Returns when the device has finished.
    fn cudaDeviceSynchronize() -> Error {
        device().tell(OracleEvent::Wait { stream: None });
        SUCCESS
    }

    /// The old name of `cudaDeviceSynchronize`.
    fn cudaThreadSynchronize() -> Error {
        device().tell(OracleEvent::Wait { stream: None });
        SUCCESS
    }

    /// Frees everything.
    fn cudaDeviceReset() -> Error {
        device().tell(OracleEvent::Wait { stream: None });
        let all: Vec<usize> = device().memory.keys().copied().collect();
        for pointer in all {
            free(pointer as *mut c_void, false);
        }
        SUCCESS
    }

    /// Makes a stream for which the default stream waits.
    fn cudaStreamCreate(stream: *mut u64) -> Error {
        // SAFETY: the caller's promise.
        unsafe { cudaStreamCreateWithFlags(stream, 0) }
    }

    /// Makes a stream; with flag 1 the default stream does not wait for it.
    fn cudaStreamCreateWithFlags(stream: *mut u64, flags: c_uint) -> Error {
        if stream.is_null() {
            return answer(INVALID_VALUE);
        }
        let mut device = device();
        let handle = device.handle();
        device.streams.insert(handle, flags & 1 == 0);
        // SAFETY: not null; the caller's promise.
        unsafe { *stream = handle };
        SUCCESS
    }

    /// Destroys a stream; its work goes on.
    fn cudaStreamDestroy(stream: u64) -> Error {
        answer(if device().streams.remove(&stream).is_some() { SUCCESS } else { INVALID_HANDLE })
    }

    /// Returns when a stream has finished.
    fn cudaStreamSynchronize as cudaStreamSynchronize_ptsz(stream: u64) -> Error {
        device().tell(OracleEvent::Wait { stream: Some(stream) });
        SUCCESS
    }

    /// Makes a stream wait for an event.
    fn cudaStreamWaitEvent as cudaStreamWaitEvent_ptsz(_stream: u64, event: u64, _flags: c_uint) -> Error {
        answer(if device().events.contains_key(&event) { SUCCESS } else { INVALID_HANDLE })
    }

    /// Makes an event.
    fn cudaEventCreate(event: *mut u64) -> Error {
        // SAFETY: the caller's promise.
        unsafe { cudaEventCreateWithFlags(event, 0) }
    }

    /// Makes an event.
    fn cudaEventCreateWithFlags(event: *mut u64, _flags: c_uint) -> Error {
        if event.is_null() {
            return answer(INVALID_VALUE);
        }
        let mut device = device();
        let handle = device.handle();
        device.events.insert(handle, None);
        // SAFETY: not null; the caller's promise.
        unsafe { *event = handle };
        SUCCESS
    }

    /// Records an event on a stream.
    fn cudaEventRecord as cudaEventRecord_ptsz(event: u64, stream: u64) -> Error {
        let mut device = device();
        if !device.events.contains_key(&event) {
            return answer(INVALID_HANDLE);
        }
        device.record(event, stream);
        SUCCESS
    }

    /// Returns when what was queued before an event has finished.
    fn cudaEventSynchronize(event: u64) -> Error {
        let mut device = device();
        if !device.events.contains_key(&event) {
            return answer(INVALID_HANDLE);
        }
        device.wait_event(event);
        SUCCESS
    }

    /// Time between two events: none, here.
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: u64, end: u64) -> Error {
        let device = device();
        if milliseconds.is_null() || !device.events.contains_key(&start) || !device.events.contains_key(&end) {
            return answer(INVALID_HANDLE);
        }
        // SAFETY: not null; the caller's promise.
        unsafe { *milliseconds = 0.0 };
        SUCCESS
    }

    /// Destroys an event.
    fn cudaEventDestroy(event: u64) -> Error {
        answer(if device().events.remove(&event).is_some() { SUCCESS } else { INVALID_HANDLE })
    }

    /// There is one device.
    fn cudaGetDeviceCount(count: *mut c_int) -> Error {
        if count.is_null() {
            return answer(INVALID_VALUE);
        }
        // SAFETY: not null; the caller's promise.
        unsafe { *count = 1 };
        SUCCESS
    }

    /// The device is number 0.
    fn cudaGetDevice(number: *mut c_int) -> Error {
        if number.is_null() {
            return answer(INVALID_VALUE);
        }
        // SAFETY: not null; the caller's promise.
        unsafe { *number = 0 };
        SUCCESS
    }

    /// Chooses the device, of which there is one.
    fn cudaSetDevice(number: c_int) -> Error {
        answer(if number == 0 { SUCCESS } else { INVALID_DEVICE })
    }

    /// Describes the device, an A30 in what most programs read.
    fn cudaGetDeviceProperties_v2(properties: *mut c_void, number: c_int) -> Error {
        // SAFETY: the caller's promise.
        unsafe { describe(properties, number) }
    }

    /// The same, of CUDA 11.
    fn cudaGetDeviceProperties(properties: *mut c_void, number: c_int) -> Error {
        // SAFETY: the caller's promise.
        unsafe { describe(properties, number) }
    }

    /// The thread's last error, once.
    fn cudaGetLastError() -> Error {
        ERROR.take()
    }

    /// The thread's last error.
    fn cudaPeekAtLastError() -> Error {
        ERROR.with_borrow(|e| *e)
    }

    /// An error in words.
    fn cudaGetErrorString(error: Error) -> *const c_char {
        words(error).as_ptr()
    }

    /// An error's name.
    fn cudaGetErrorName(error: Error) -> *const c_char {
        words(error).as_ptr()
    }

    /// Launches a kernel, which does not run.
    fn cudaLaunchKernel as cudaLaunchKernel_ptsz(
        _function: *const c_void,
        grid: Dim3,
        block: Dim3,
        _arguments: *mut *mut c_void,
        _shared: usize,
        stream: *mut c_void,
    ) -> Error {
        device().tell(OracleEvent::Launch { stream: stream as u64 });
        let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
        let blocks = u128::from(grid.x) * u128::from(grid.y) * u128::from(grid.z);
        answer(if threads == 0 || threads > 1024 || blocks == 0 { INVALID_CONFIGURATION } else { SUCCESS })
    }

    /// Launches a kernel of which all blocks run at once.
    fn cudaLaunchCooperativeKernel as cudaLaunchCooperativeKernel_ptsz(
        function: *const c_void,
        grid: Dim3,
        block: Dim3,
        arguments: *mut *mut c_void,
        shared: usize,
        stream: *mut c_void,
    ) -> Error {
        // SAFETY: the caller's promise.
        unsafe { cudaLaunchKernel(function, grid, block, arguments, shared, stream) }
    }

    /// Keeps grid and block for the kernel's stub.
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: *mut c_void) -> c_uint {
        LAUNCHES.with_borrow_mut(|l| l.push((grid, block, shared, stream as usize)));
        0
    }

    /// Gives the kernel's stub grid and block.
    fn __cudaPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        shared: *mut usize,
        stream: *mut usize,
    ) -> Error {
        let Some(kept) = LAUNCHES.with_borrow_mut(Vec::pop) else { return answer(INVALID_CONFIGURATION) };
        // SAFETY: the stub gives four variables of its own.
        unsafe { (*grid, *block, *shared, *stream) = kept };
        SUCCESS
    }

    /// Takes note of a program's device code, which is not read.
    fn __cudaRegisterFatBinary(_binary: *const c_void) -> *mut *mut c_void {
        static mut HANDLE: *mut c_void = std::ptr::null_mut();
        &raw mut HANDLE
    }

    /// Nothing more to register.
    fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) -> () {}

    /// Takes note of a kernel.
    fn __cudaRegisterFunction(
        _handle: *mut *mut c_void,
        _host: *const c_char,
        _device: *mut c_char,
        _name: *const c_char,
        _limit: c_int,
        _tid: *mut c_void,
        _bid: *mut c_void,
        _block: *mut c_void,
        _grid: *mut c_void,
        _size: *mut c_int,
    ) -> () {}

    /// Takes note of a variable of the device.
    fn __cudaRegisterVar(
        _handle: *mut *mut c_void,
        _host: *mut c_char,
        _device: *mut c_char,
        _name: *const c_char,
        _external: c_int,
        _size: usize,
        _constant: c_int,
        _global: c_int,
    ) -> () {}

    /// The program unloads its device code.
    fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) -> () {}
}

fn words(error: Error) -> &'static CStr {
    match error {
        SUCCESS => c"no error",
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        INVALID_CONFIGURATION => c"invalid configuration argument",
        INVALID_DEVICE => c"invalid device ordinal",
        INVALID_HANDLE => c"invalid resource handle",
        _ => c"unrecognized error code",
    }
}

/// # Safety
/// `properties` is null or points to a `cudaDeviceProp`, of CUDA 11 at least.
unsafe fn describe(properties: *mut c_void, number: c_int) -> Error {
    if properties.is_null() {
        return answer(INVALID_VALUE);
    }
    if number != 0 {
        return answer(INVALID_DEVICE);
    }
    /// The first fields of `cudaDeviceProp`, which have not moved since CUDA 10.
    #[repr(C)]
    struct DeviceProperties {
        name: [u8; 256],
        uuid: [u8; 16],
        luid: [u8; 8],
        mask: c_uint,
        memory: usize,
        shared: usize,
        registers: c_int,
        warp: c_int,
        pitch: usize,
        threads: c_int,
        block: [c_int; 3],
        grid: [c_int; 3],
        clock: c_int,
        constant: usize,
        major: c_int,
        minor: c_int,
        alignment: usize,
        pitch_alignment: usize,
        overlap: c_int,
        processors: c_int,
    }
    let mut name = [0; 256];
    name[..11].copy_from_slice(b"fake-cudart");
    let description = DeviceProperties {
        name,
        uuid: [0; 16],
        luid: [0; 8],
        mask: 0,
        memory: 24 << 30,
        shared: 49152,
        registers: 65536,
        warp: 32,
        pitch: 2_147_483_647,
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [2_147_483_647, 65535, 65535],
        clock: 1_440_000,
        constant: 65536,
        major: 8,
        minor: 0,
        alignment: 512,
        pitch_alignment: 32,
        overlap: 1,
        processors: 56,
    };
    // SAFETY: not null; the structure begins with these fields.
    unsafe {
        properties
            .cast::<DeviceProperties>()
            .write_unaligned(description)
    };
    SUCCESS
}
