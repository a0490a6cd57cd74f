//! CUDA's functions for lazy code: those that the compiler pass calls in place of CUDA's, with the
//! same arguments.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::slice;

use super::abi::{CASE_EXIT_ON_REFUSAL, answer, process};
use super::eager::touch;
use super::lazy::{Lazy, in_task_of_its_own, lazy};
use super::runtime::{CaseDim3, INVALID, Stream, TO_DEVICE, call, warps};

pub(crate) type Pointer = *mut c_void;
pub(crate) type CopySource = *const c_void;

/// Asks for all that is pending, and returns the real pointer for one that may be a placeholder. For
/// arguments of functions that are not seen.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_resolve(pointer: *mut c_void) -> *mut c_void {
    let mut own = lazy();
    if let Err(code) = own.ask_pending(None) {
        own.fail(code);
    }
    own.pointer(pointer)
}

/// Binds the process before a call that reaches the driver and is none of those here. If it cannot be
/// bound the process ends, with a line on standard error, as with CASE_EXIT_ON_REFUSAL: the call would reach a
/// device of others.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_touch() {
    answer(process().touch(), CASE_EXIT_ON_REFUSAL, 0);
}

/// cudaMalloc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc(pointer: *mut *mut c_void, bytes: usize) -> c_int {
    lazy().malloc(pointer, bytes)
}

/// Asks for memory now, and allocates it by `allocate`, which writes the pointer.
pub(crate) fn at_once(
    pointer: *mut Pointer,
    bytes: usize,
    allocate: impl FnOnce() -> c_int,
) -> c_int {
    lazy().at_once(bytes, |lazy| {
        // SAFETY: CUDA has written the pointer there.
        lazy.keep(allocate(), || unsafe { pointer.read() }.addr(), bytes)
    })
}

/// cudaMallocManaged. The host uses the memory too, so it is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_managed(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    at_once(
        pointer,
        bytes,
        || call!(c"cudaMallocManaged", (pointer => *mut Pointer, bytes => usize, flags => c_uint)),
    )
}

/// cudaMallocPitch. It tells the pitch, so the memory is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_pitch(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> c_int {
    // Rows are padded by the driver. NVIDIA does not say to what; 512 is assumed.
    let bytes = width.checked_next_multiple_of(512);
    let Some(bytes) = bytes.and_then(|row| row.checked_mul(height)) else {
        return INVALID;
    };
    at_once(pointer, bytes, || {
        call!(c"cudaMallocPitch", (
            pointer => *mut Pointer, pitch => *mut usize, width => usize, height => usize,
        ))
    })
}

/// cudaMallocHost. It is no memory of the device, but reaches the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_host(pointer: *mut *mut c_void, bytes: usize) -> c_int {
    match touch() {
        0 => call!(c"cudaMallocHost", (pointer => *mut Pointer, bytes => usize)),
        error => error,
    }
}

/// cudaHostAlloc. It is no memory of the device, but reaches the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_host_alloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    match touch() {
        0 => call!(c"cudaHostAlloc", (pointer => *mut Pointer, bytes => usize, flags => c_uint)),
        error => error,
    }
}

/// cudaFree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_free(pointer: *mut c_void) -> c_int {
    lazy().free(pointer, |real| call!(c"cudaFree", (real => Pointer)))
}

/// cudaMemcpy2D.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> c_int {
    memcpy_2d(to, from, |to, from| {
        call!(c"cudaMemcpy2D", (
            to => Pointer, to_pitch => usize, from => CopySource, from_pitch => usize, width => usize,
            height => usize, kind => c_int,
        ))
    })
}

pub(crate) fn memcpy_2d(
    to: Pointer,
    from: CopySource,
    copy: impl FnOnce(Pointer, CopySource) -> c_int,
) -> c_int {
    let (to, from) = {
        let mut own = lazy();
        if let Err(code) = own.ask_pending(None) {
            return code;
        }
        (own.pointer(to), own.pointer(from))
    };
    copy(to, from.cast_const())
}

/// A copy. From the host it may carry placeholders: a table of pointers. Then a translated one is
/// copied, and `wait` waits for it.
pub(crate) fn memcpy(
    to: Pointer,
    from: CopySource,
    bytes: usize,
    kind: c_int,
    wait: impl FnOnce() -> c_int,
    copy: impl FnOnce(Pointer, CopySource) -> c_int,
) -> c_int {
    let mut own = lazy();
    if let Err(code) = own.ask_pending(None) {
        return code;
    }
    let (to, from) = (own.pointer(to), own.pointer(from).cast_const());
    let translated = if kind == TO_DEVICE && own.has_placeholders() && !from.is_null() {
        // SAFETY: the caller has passed memory of the host of this length, to be copied.
        let bytes = unsafe { slice::from_raw_parts(from.cast::<u8>(), bytes) };
        with_real_pointers(&own, bytes)
    } else {
        None
    };
    drop(own);
    match translated {
        Some(bytes) => match copy(to, bytes.as_ptr().cast()) {
            0 => wait(),
            error => error,
        },
        None => copy(to, from),
    }
}

/// The bytes with real pointers for placeholders; `None` if there are none among them.
fn with_real_pointers(own: &Lazy, bytes: &[u8]) -> Option<Vec<u8>> {
    let has_any = bytes.chunks_exact(8).any(|word| {
        let word = <[u8; 8]>::try_from(word).map_or(0, usize::from_ne_bytes);
        own.real(word) != word
    });
    let mut copy = has_any.then(|| bytes.to_vec())?;
    own.translate(&mut copy);
    Some(copy)
}

/// A launch: asks for all that is pending, and translates the parameters.
pub(crate) fn launch(
    grid: CaseDim3,
    block: CaseDim3,
    arguments: *mut *mut c_void,
    count: u32,
    sizes: *const u64,
    launch: impl FnOnce(*mut *mut c_void) -> c_int,
) -> c_int {
    let warps = warps(grid, block);
    let mut own = lazy();
    if let Err(code) = own.ask_pending(Some(warps)) {
        return own.fail(code);
    }
    if !own.has_placeholders() {
        drop(own);
        if process().is_in_task() {
            return launch(arguments);
        }
        return in_task_of_its_own(warps, || launch(arguments));
    }
    let mut values: Vec<Vec<u64>> = Vec::new();
    for rank in 0..count as usize {
        // SAFETY: the stub of the kernel passes as many sizes and pointers to parameters as it says,
        // and each parameter has its size.
        let value = unsafe {
            let size = usize::try_from(sizes.add(rank).read()).unwrap_or(0);
            slice::from_raw_parts(arguments.add(rank).read().cast::<u8>(), size)
        };
        let mut bytes = value.to_vec();
        own.translate(&mut bytes);
        // In words, so that the copy is aligned as any parameter may be, but for vectors.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let words = bytes.chunks_exact(8);
        values.push(
            words
                .map(|word| <[u8; 8]>::try_from(word).map_or(0, u64::from_ne_bytes))
                .collect(),
        );
    }
    drop(own);
    let mut pointers: Vec<*mut c_void> = values
        .iter_mut()
        .map(|values| values.as_mut_ptr().cast())
        .collect();
    if process().is_in_task() {
        launch(pointers.as_mut_ptr())
    } else {
        in_task_of_its_own(warps, || launch(pointers.as_mut_ptr()))
    }
}

/// Frees in the order of a stream. Where the task ends by it, all work must have ended: any stream may
/// use what the task asked for.
pub(crate) fn free_async(pointer: Pointer, free: impl FnOnce(Pointer) -> c_int) -> c_int {
    let mut own = lazy();
    let is_last = own.is_last();
    own.free(pointer, |real| match free(real) {
        0 if is_last => call!(c"cudaDeviceSynchronize", ()),
        code => code,
    })
}

pub(crate) fn memset(to: Pointer, set: impl FnOnce(Pointer) -> c_int) -> c_int {
    let to = {
        let mut own = lazy();
        if let Err(code) = own.ask_pending(None) {
            return code;
        }
        own.pointer(to)
    };
    set(to)
}

/// cudaMallocAsync. The memory is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_async(
    pointer: *mut *mut c_void,
    bytes: usize,
    stream: Stream,
) -> c_int {
    at_once(pointer, bytes, || {
        call!(c"cudaMallocAsync", (
            pointer => *mut Pointer, bytes => usize, stream => Stream,
        ))
    })
}

/// cudaFreeAsync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_free_async(pointer: *mut c_void, stream: Stream) -> c_int {
    free_async(
        pointer,
        |real| call!(c"cudaFreeAsync", (real => Pointer, stream => Stream)),
    )
}

/// cudaMemcpyAsync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: Stream,
) -> c_int {
    let copy = |to, from| {
        call!(c"cudaMemcpyAsync", (
            to => Pointer, from => CopySource, bytes => usize, kind => c_int, stream => Stream,
        ))
    };
    let wait = || call!(c"cudaStreamSynchronize", (stream => Stream));
    memcpy(to, from, bytes, kind, wait, copy)
}

/// cudaMemsetAsync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memset_async(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: Stream,
) -> c_int {
    memset(to, |to| {
        call!(c"cudaMemsetAsync", (
            to => Pointer, value => c_int, bytes => usize, stream => Stream,
        ))
    })
}

/// cudaLaunchKernel, with the number of the kernel's parameters, and the size of each in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_launch(
    kernel: *const c_void,
    grid: CaseDim3,
    block: CaseDim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: Stream,
    count: u32,
    sizes: *const u64,
) -> c_int {
    launch(grid, block, arguments, count, sizes, |arguments| {
        call!(c"cudaLaunchKernel", (
            kernel => CopySource, grid => CaseDim3, block => CaseDim3, arguments => *mut Pointer,
            shared => usize, stream => Stream,
        ))
    })
}

/// cudaMemcpy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> c_int {
    let copy = |to, from| call!(c"cudaMemcpy", (to => Pointer, from => CopySource, bytes => usize, kind => c_int));
    memcpy(to, from, bytes, kind, || 0, copy)
}

/// cudaMemset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memset(to: *mut c_void, value: c_int, bytes: usize) -> c_int {
    memset(
        to,
        |to| call!(c"cudaMemset", (to => Pointer, value => c_int, bytes => usize)),
    )
}

/// cudaMemcpyToSymbol.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_to_symbol(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    let copy = |_, from| {
        call!(c"cudaMemcpyToSymbol", (
            symbol => CopySource, from => CopySource, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(symbol.cast_mut(), from, bytes, kind, || 0, copy)
}

/// cudaMemcpyFromSymbol.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_from_symbol(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    let copy = |to, _| {
        call!(c"cudaMemcpyFromSymbol", (
            to => Pointer, symbol => CopySource, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(to, symbol, bytes, kind, || 0, copy)
}

/// cudaGetLastError. That of a launch which never reached CUDA comes first.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_get_last_error() -> c_int {
    match lazy().last_error(true) {
        0 => call!(c"cudaGetLastError", ()),
        error => error,
    }
}

/// cudaPeekAtLastError. That of a launch which never reached CUDA comes first.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_peek_at_last_error() -> c_int {
    match lazy().last_error(false) {
        0 => call!(c"cudaPeekAtLastError", ()),
        error => error,
    }
}

/// cudaGetErrorString. Without a runtime there is no text.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_get_error_string(error: c_int) -> *const c_char {
    static REAL: super::runtime::RuntimeFn = super::runtime::RuntimeFn::new(c"cudaGetErrorString");
    type Function = unsafe extern "C" fn(c_int) -> *const c_char;
    let found = REAL.get();
    if found.is_null() {
        return c"no CUDA runtime is loaded".as_ptr();
    }
    // SAFETY: CUDA's function of this name has this type.
    unsafe { std::mem::transmute::<Pointer, Function>(found)(error) }
}
