//! CUDA's functions for lazy code: those that the compiler pass calls in place of CUDA's, with the
//! same arguments.
//!
//! Names with `_ptds` and `_ptsz` are those of programs that are compiled for one default stream a
//! thread.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::slice;

use super::abi::process;
use super::lazy::{Lazy, in_task_of_its_own, lazy, touch};
use super::runtime::{CaseDim3, INVALID, Stream, TO_DEVICE, call, warps};

type Pointer = *mut c_void;
type Source = *const c_void;

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

/// Binds the process before a call that reaches the driver and is none of those here.
#[unsafe(no_mangle)]
pub extern "C" fn case_lazy_touch() {
    touch();
}

/// cudaMalloc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc(pointer: *mut *mut c_void, bytes: usize) -> c_int {
    lazy().malloc(pointer, bytes)
}

/// cudaMallocManaged. The host uses the memory too, so it is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_managed(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    lazy().at_once(bytes, |own| {
        let code =
            call!(c"cudaMallocManaged", (pointer => *mut Pointer, bytes => usize, flags => c_uint));
        // SAFETY: CUDA has written the pointer there.
        own.keep(code, || unsafe { pointer.read() }.addr(), bytes)
    })
}

/// cudaMallocPitch. It tells the pitch, so the memory is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_pitch(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> c_int {
    // Rows are padded. 512 is the largest alignment of a row that CUDA's devices have had.
    let bytes = width.checked_next_multiple_of(512);
    let Some(bytes) = bytes.and_then(|row| row.checked_mul(height)) else {
        return INVALID;
    };
    lazy().at_once(bytes, |own| {
        let code = call!(c"cudaMallocPitch", (
            pointer => *mut Pointer, pitch => *mut usize, width => usize, height => usize,
        ));
        // SAFETY: CUDA has written the pointer there.
        own.keep(code, || unsafe { pointer.read() }.addr(), bytes)
    })
}

/// cudaMallocHost. It is no memory of the device, but reaches the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_host(pointer: *mut *mut c_void, bytes: usize) -> c_int {
    touch();
    call!(c"cudaMallocHost", (pointer => *mut Pointer, bytes => usize))
}

/// cudaHostAlloc. It is no memory of the device, but reaches the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_host_alloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    touch();
    call!(c"cudaHostAlloc", (pointer => *mut Pointer, bytes => usize, flags => c_uint))
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
            to => Pointer, to_pitch => usize, from => Source, from_pitch => usize, width => usize,
            height => usize, kind => c_int,
        ))
    })
}

/// cudaMemcpy2D_ptds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_2d_ptds(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> c_int {
    memcpy_2d(to, from, |to, from| {
        call!(c"cudaMemcpy2D_ptds", (
            to => Pointer, to_pitch => usize, from => Source, from_pitch => usize, width => usize,
            height => usize, kind => c_int,
        ))
    })
}

fn memcpy_2d(to: Pointer, from: Source, copy: impl FnOnce(Pointer, Source) -> c_int) -> c_int {
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
/// copied, by `copy_now`, which has ended when it returns.
fn memcpy(
    to: Pointer,
    from: Source,
    bytes: usize,
    kind: c_int,
    copy: impl FnOnce(Pointer, Source) -> c_int,
    copy_now: impl FnOnce(Pointer, Source) -> c_int,
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
        Some(bytes) => copy_now(to, bytes.as_ptr().cast()),
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
fn launch(
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
        .map(|own| own.as_mut_ptr().cast())
        .collect();
    if process().is_in_task() {
        launch(pointers.as_mut_ptr())
    } else {
        in_task_of_its_own(warps, || launch(pointers.as_mut_ptr()))
    }
}

/// Frees in the order of a stream. Where the task ends by it, what uses its memory must have ended.
fn free_async(pointer: Pointer, stream: Stream, free: impl FnOnce(Pointer) -> c_int) -> c_int {
    let mut own = lazy();
    let is_last = own.is_last();
    own.free(pointer, |real| match free(real) {
        0 if is_last => call!(c"cudaStreamSynchronize", (stream => Stream)),
        code => code,
    })
}

fn memset(to: Pointer, set: impl FnOnce(Pointer) -> c_int) -> c_int {
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
    lazy().at_once(bytes, |own| {
        let code = call!(c"cudaMallocAsync", (
            pointer => *mut Pointer, bytes => usize, stream => Stream,
        ));
        // SAFETY: CUDA has written the pointer there.
        own.keep(code, || unsafe { pointer.read() }.addr(), bytes)
    })
}

/// cudaFreeAsync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_free_async(pointer: *mut c_void, stream: Stream) -> c_int {
    free_async(
        pointer,
        stream,
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
            to => Pointer, from => Source, bytes => usize, kind => c_int, stream => Stream,
        ))
    };
    memcpy(to, from, bytes, kind, copy, |to, from| {
        match copy(to, from) {
            0 => call!(c"cudaStreamSynchronize", (stream => Stream)),
            error => error,
        }
    })
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
            kernel => Source, grid => CaseDim3, block => CaseDim3, arguments => *mut Pointer,
            shared => usize, stream => Stream,
        ))
    })
}

/// cudaMallocAsync_ptsz. The memory is asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_malloc_async_ptsz(
    pointer: *mut *mut c_void,
    bytes: usize,
    stream: Stream,
) -> c_int {
    lazy().at_once(bytes, |own| {
        let code = call!(c"cudaMallocAsync_ptsz", (
            pointer => *mut Pointer, bytes => usize, stream => Stream,
        ));
        // SAFETY: CUDA has written the pointer there.
        own.keep(code, || unsafe { pointer.read() }.addr(), bytes)
    })
}

/// cudaFreeAsync_ptsz.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_free_async_ptsz(pointer: *mut c_void, stream: Stream) -> c_int {
    free_async(
        pointer,
        stream,
        |real| call!(c"cudaFreeAsync_ptsz", (real => Pointer, stream => Stream)),
    )
}

/// cudaMemcpyAsync_ptsz.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_async_ptsz(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: Stream,
) -> c_int {
    let copy = |to, from| {
        call!(c"cudaMemcpyAsync_ptsz", (
            to => Pointer, from => Source, bytes => usize, kind => c_int, stream => Stream,
        ))
    };
    memcpy(to, from, bytes, kind, copy, |to, from| {
        match copy(to, from) {
            0 => call!(c"cudaStreamSynchronize_ptsz", (stream => Stream)),
            error => error,
        }
    })
}

/// cudaMemsetAsync_ptsz.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memset_async_ptsz(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: Stream,
) -> c_int {
    memset(to, |to| {
        call!(c"cudaMemsetAsync_ptsz", (
            to => Pointer, value => c_int, bytes => usize, stream => Stream,
        ))
    })
}

/// cudaLaunchKernel_ptsz, with the number of the kernel's parameters, and the size of each in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_launch_ptsz(
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
        call!(c"cudaLaunchKernel_ptsz", (
            kernel => Source, grid => CaseDim3, block => CaseDim3, arguments => *mut Pointer,
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
    let copy = |to, from| call!(c"cudaMemcpy", (to => Pointer, from => Source, bytes => usize, kind => c_int));
    memcpy(to, from, bytes, kind, copy, copy)
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
            symbol => Source, from => Source, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(symbol.cast_mut(), from, bytes, kind, copy, copy)
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
            to => Pointer, symbol => Source, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(to, symbol, bytes, kind, copy, copy)
}

/// cudaMemcpy_ptds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_ptds(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> c_int {
    let copy = |to, from| call!(c"cudaMemcpy_ptds", (to => Pointer, from => Source, bytes => usize, kind => c_int));
    memcpy(to, from, bytes, kind, copy, copy)
}

/// cudaMemset_ptds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memset_ptds(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
) -> c_int {
    memset(
        to,
        |to| call!(c"cudaMemset_ptds", (to => Pointer, value => c_int, bytes => usize)),
    )
}

/// cudaMemcpyToSymbol_ptds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_to_symbol_ptds(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    let copy = |_, from| {
        call!(c"cudaMemcpyToSymbol_ptds", (
            symbol => Source, from => Source, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(symbol.cast_mut(), from, bytes, kind, copy, copy)
}

/// cudaMemcpyFromSymbol_ptds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn case_lazy_memcpy_from_symbol_ptds(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    let copy = |to, _| {
        call!(c"cudaMemcpyFromSymbol_ptds", (
            to => Pointer, symbol => Source, bytes => usize, offset => usize, kind => c_int,
        ))
    };
    memcpy(to, symbol, bytes, kind, copy, copy)
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
    static REAL: super::runtime::Real = super::runtime::Real::new(c"cudaGetErrorString");
    type Function = unsafe extern "C" fn(c_int) -> *const c_char;
    let found = REAL.get();
    if found.is_null() {
        return c"no CUDA runtime is loaded".as_ptr();
    }
    // SAFETY: CUDA's function of this name has this type.
    unsafe { std::mem::transmute::<Pointer, Function>(found)(error) }
}
