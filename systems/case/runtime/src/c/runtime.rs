//! The functions of the CUDA runtime that the program has loaded.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::message::Status;

/// CUDA's error for memory that is not to be had.
pub const MEMORY: c_int = 2;
/// CUDA's error for a runtime that cannot be used.
pub const NO_RUNTIME: c_int = 3;
/// CUDA's error where there is no device.
pub const NO_DEVICE: c_int = 100;
/// CUDA's error for a kernel that cannot be launched as it was called.
pub(crate) const INVALID: c_int = 1;
/// A copy from the host to a device.
pub(crate) const TO_DEVICE: c_int = 1;

/// A stream.
pub type Stream = *mut c_void;

/// The number of blocks, or of threads of a block: CUDA's dim3.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CaseDim3 {
    /// Along the first axis.
    pub x: c_uint,
    /// Along the second axis.
    pub y: c_uint,
    /// Along the third axis.
    pub z: c_uint,
}

impl CaseDim3 {
    fn count(self) -> u64 {
        let [x, y, z] = [self.x, self.y, self.z].map(u64::from);
        x.saturating_mul(y).saturating_mul(z)
    }
}

/// The warps of a launch.
pub(crate) fn warps(grid: CaseDim3, block: CaseDim3) -> u64 {
    grid.count().saturating_mul(block.count().div_ceil(32))
}

/// What CUDA would say.
pub(crate) fn code(error: &Error) -> c_int {
    match error {
        // Too many leases or waiting calls: the program knows how to do with less memory.
        Error::OutOfMemory | Error::Refused(Status::Quota) => MEMORY,
        _ => NO_DEVICE,
    }
}

/// A function of the runtime, found once.
#[derive(Debug)]
pub struct RuntimeFn {
    name: &'static CStr,
    is_behind: bool,
    found: AtomicPtr<c_void>,
}

impl RuntimeFn {
    /// The function of this name in what the program has loaded.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            is_behind: false,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The function of this name behind the library that has this code.
    #[must_use]
    pub const fn behind(name: &'static CStr) -> Self {
        Self {
            is_behind: true,
            ..Self::new(name)
        }
    }

    /// The function; null if no runtime is loaded that has it.
    #[must_use]
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Acquire);
        if !found.is_null() {
            return found;
        }
        let place = if self.is_behind {
            libc::RTLD_NEXT
        } else {
            libc::RTLD_DEFAULT
        };
        // SAFETY: the name ends in a zero.
        let found = unsafe { libc::dlsym(place, self.name.as_ptr()) };
        self.found.store(found, Ordering::Release);
        found
    }
}

/// Calls a function of the runtime, a [`RuntimeFn`](crate::c::RuntimeFn), by its types;
/// [`NO_RUNTIME`](crate::c::NO_RUNTIME) if there is none. Unsafe: the types must be those of CUDA's
/// function, and the arguments what it expects.
#[macro_export]
macro_rules! call_real {
    ($real:expr, ($($argument:expr => $type:ty),* $(,)?)) => {{
        static REAL: $crate::c::RuntimeFn = $real;
        let found = REAL.get();
        if found.is_null() {
            $crate::c::NO_RUNTIME
        } else {
            type Function = unsafe extern "C" fn($($type),*) -> std::ffi::c_int;
            std::mem::transmute::<*mut std::ffi::c_void, Function>(found)($($argument),*)
        }
    }};
}

/// The same by its name, in what the program has loaded.
macro_rules! call {
    ($name:expr, $arguments:tt) => {{
        // SAFETY: CUDA's function of this name has this type, and gets what the program has passed.
        unsafe { $crate::call_real!($crate::c::RuntimeFn::new($name), $arguments) }
    }};
}

pub(crate) use call;
