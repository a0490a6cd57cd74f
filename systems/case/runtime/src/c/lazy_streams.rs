//! The functions of `lazy_abi` for programs that are compiled for one default stream a thread: CUDA's
//! names with `_ptds` and `_ptsz`. The header leaves them out; the compiler pass calls them.

use std::ffi::c_int;

use super::lazy_abi::{
    CopySource, Pointer, at_once, free_async, launch, memcpy, memcpy_2d, memset,
};
use super::runtime::{CaseDim3, Stream, call};

/// A function each: CUDA's name, its arguments, those that the compiler adds, and by what it is done,
/// with the arguments that are translated.
macro_rules! twins {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*) $(+ ($($more:ident: $more_type:ty),*))?
        = $by:ident($($extra:expr),*) $(, $real:ident)*;)*) => {$(
        #[doc = concat!("As `", stringify!($name), "` without the suffix, for CUDA's function with it.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* $($($more: $more_type,)*)?) -> c_int {
            $by($($extra,)* |$($real),*| call!($c, ($($argument => $type),*)))
        }
    )*};
}

twins! {
    case_lazy_memcpy_2d_ptds c"cudaMemcpy2D_ptds" (
        to: Pointer, to_pitch: usize, from: CopySource, from_pitch: usize, width: usize, height: usize,
        kind: c_int
    ) = memcpy_2d(to, from), to, from;
    case_lazy_malloc_async_ptsz c"cudaMallocAsync_ptsz" (
        pointer: *mut Pointer, bytes: usize, stream: Stream
    ) = at_once(pointer, bytes);
    case_lazy_free_async_ptsz c"cudaFreeAsync_ptsz" (pointer: Pointer, stream: Stream)
        = free_async(pointer), pointer;
    case_lazy_memcpy_async_ptsz c"cudaMemcpyAsync_ptsz" (
        to: Pointer, from: CopySource, bytes: usize, kind: c_int, stream: Stream
    ) = memcpy(
        to, from, bytes, kind, || call!(c"cudaStreamSynchronize_ptsz", (stream => Stream))
    ), to, from;
    case_lazy_memset_async_ptsz c"cudaMemsetAsync_ptsz" (
        to: Pointer, value: c_int, bytes: usize, stream: Stream
    ) = memset(to), to;
    case_lazy_launch_ptsz c"cudaLaunchKernel_ptsz" (
        kernel: CopySource, grid: CaseDim3, block: CaseDim3, arguments: *mut Pointer, shared: usize,
        stream: Stream
    ) + (count: u32, sizes: *const u64) = launch(grid, block, arguments, count, sizes), arguments;
    case_lazy_memcpy_ptds c"cudaMemcpy_ptds" (
        to: Pointer, from: CopySource, bytes: usize, kind: c_int
    ) = memcpy(to, from, bytes, kind, || 0), to, from;
    case_lazy_memset_ptds c"cudaMemset_ptds" (to: Pointer, value: c_int, bytes: usize)
        = memset(to), to;
    case_lazy_memcpy_to_symbol_ptds c"cudaMemcpyToSymbol_ptds" (
        symbol: CopySource, from: CopySource, bytes: usize, offset: usize, kind: c_int
    ) = memcpy(symbol.cast_mut(), from, bytes, kind, || 0), _to, from;
    case_lazy_memcpy_from_symbol_ptds c"cudaMemcpyFromSymbol_ptds" (
        to: Pointer, symbol: CopySource, bytes: usize, offset: usize, kind: c_int
    ) = memcpy(to, symbol, bytes, kind, || 0), to, _from;
}
