//! Memory of programs that were never changed: each allocation is a task of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::abi::process;
use super::runtime::code;
use crate::message::flags;

/// The names of tasks by the address that they hold.
static HELD: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// The next name.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Whether this thread is within an allocation of the runtime.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn held() -> MutexGuard<'static, BTreeMap<usize, u64>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That the manager is gone changes nothing for the program: nothing is held.
fn end(name: u64) {
    drop(process().end(name));
}

/// Asks for memory, waits for it, and allocates it. `allocate` returns CUDA's code and the pointer.
/// Returns its code, or CUDA's error if the memory cannot be had: never, or for no manager.
pub fn allocate(bytes: u64, allocate: impl FnOnce() -> (c_int, *mut c_void)) -> c_int {
    // A runtime that allocates by another of these functions asks once.
    if INSIDE.get() {
        return allocate().0;
    }
    let name = NEXT.fetch_add(1, Ordering::Relaxed);
    let grows = flags::GROWS | flags::UNKNOWN_WARPS;
    if let Err(error) = process().begin(name, bytes, 0, grows) {
        return code(&error);
    }
    INSIDE.set(true);
    let (code, pointer) = allocate();
    INSIDE.set(false);
    if code == 0 && !pointer.is_null() {
        // Memory that had this address was freed where it was not seen.
        if let Some(before) = held().insert(pointer.addr(), name) {
            end(before);
        }
    } else {
        end(name);
    }
    code
}

/// Releases memory by `release`, and gives it back. Memory of others is released alone.
pub fn release(pointer: *mut c_void, release: impl FnOnce() -> c_int) -> c_int {
    // The name goes first: another thread may get the address as soon as it is free.
    let name = held().remove(&pointer.addr());
    let code = release();
    if let Some(name) = name {
        if code == 0 {
            end(name);
        } else {
            held().insert(pointer.addr(), name);
        }
    }
    code
}

/// Releases all memory by `release`, and gives it back.
pub fn release_all(release: impl FnOnce() -> c_int) -> c_int {
    let names = std::mem::take(&mut *held());
    let code = release();
    if code == 0 {
        names.into_values().for_each(end);
    } else {
        held().extend(names);
    }
    code
}

/// Binds the process before a call that reaches the driver. Returns CUDA's error if it cannot be bound:
/// then the call may not be made, for it would reach a device of others.
#[must_use]
pub fn touch() -> c_int {
    match process().touch() {
        Ok(()) => 0,
        Err(error) => code(&error),
    }
}
