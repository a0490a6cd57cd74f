//! Memory of programs that were never changed: each allocation is a task of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::abi::process;
use crate::error::Error;
use crate::message::flags;

/// The names of tasks by the address that they hold.
static HELD: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// The next name.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Whether this thread is within an allocation of the runtime.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Asks for memory, waits for it, and allocates it. `allocate` returns CUDA's code and the pointer.
/// Returns its code, or one of `errors` if the memory cannot be had: never, or for no manager.
pub fn allocate(
    bytes: u64,
    errors: [c_int; 2],
    allocate: impl FnOnce() -> (c_int, *mut c_void),
) -> c_int {
    // A runtime that allocates by another of these functions asks once.
    if INSIDE.get() {
        return allocate().0;
    }
    let name = NEXT.fetch_add(1, Ordering::Relaxed);
    let grows = flags::GROWS | flags::UNKNOWN_WARPS;
    match process().begin(name, bytes, 0, grows) {
        Ok(()) => {}
        Err(Error::OutOfMemory) => return errors[0],
        Err(_) => return errors[1],
    }
    INSIDE.set(true);
    let (code, pointer) = allocate();
    INSIDE.set(false);
    if code == 0 && !pointer.is_null() {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(pointer.addr(), name);
    } else {
        // That the manager is gone changes nothing for the program: nothing is held.
        drop(process().end(name));
    }
    code
}

/// Releases memory by `release`, and gives it back. Memory of others is released alone.
pub fn release(pointer: *mut c_void, release: impl FnOnce() -> c_int) -> c_int {
    // The name goes first: another thread may get the address as soon as it is free.
    let name = {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&pointer.addr())
    };
    let code = release();
    if let Some(name) = name {
        if code == 0 {
            drop(process().end(name));
        } else {
            let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
            held.insert(pointer.addr(), name);
        }
    }
    code
}

/// Binds the process before a call that reaches the driver.
pub fn touch() {
    // If it fails the next request for memory says why.
    drop(process().touch());
}

/// The function of this name behind the library that has this code; null if there is none.
#[must_use]
pub fn behind(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}
