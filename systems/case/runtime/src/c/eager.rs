//! Memory of programs that were never changed: each allocation asks before it takes.

use std::cell::Cell;
use std::ffi::c_int;

use super::abi::process;
use super::runtime::code;
use crate::error::Error;
use crate::holdings::{self, AllocationKey, LeaseRange};
use crate::message::flags;

thread_local! {
    /// Whether this thread is within a call of CUDA that one of these functions has made.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is within a call of CUDA that has been seen already: what CUDA itself calls
/// then is part of it.
#[must_use]
pub fn is_inside() -> bool {
    INSIDE.get()
}

/// Makes a call of CUDA, within which all others are part of it.
pub fn inside<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let answer = call();
    INSIDE.set(before);
    answer
}

/// That the manager is gone changes nothing for the program: nothing is held.
fn end(lease: Option<u64>) {
    if let Some(name) = lease {
        drop(process().end(name));
    }
}

/// Room for an allocation. Waits for it.
fn room(bytes: u64) -> Result<LeaseRange, Error> {
    let own = process();
    holdings::room(
        || own.holdings(),
        bytes,
        |name, bytes, at_once| {
            let only = if at_once { flags::AT_ONCE } else { 0 };
            own.begin(name, bytes, 0, flags::GROWS | flags::UNKNOWN_WARPS | only)
        },
    )
}

/// Asks for memory, waits for it, and allocates it. `allocate` returns CUDA's code, how the memory is
/// known, and the context that takes it along when it goes, 0 for none. Returns CUDA's code, or its
/// error if the memory cannot be had: never, or for no manager.
pub fn allocate(
    bytes: u64,
    allocate: impl FnOnce() -> (c_int, Option<(AllocationKey, u64)>),
) -> c_int {
    // A runtime that allocates by another of these functions asks once.
    if is_inside() {
        return allocate().0;
    }
    let room = match room(bytes) {
        Ok(room) => room,
        Err(error) => return code(&error),
    };
    let (code, made) = inside(allocate);
    let mut holdings = process().holdings();
    let over = match made.filter(|_| code == 0) {
        // Memory that was known as this was freed where it was not seen.
        Some((held, context)) => holdings.allocated(held, room, context),
        None => holdings.give_back(room),
    };
    drop(holdings);
    end(over);
    code
}

/// Releases memory by `release`, and gives it back. Memory of others is released alone.
pub fn release(held: AllocationKey, release: impl FnOnce() -> c_int) -> c_int {
    let number = process().holdings().number(held);
    let code = inside(release);
    if let Some(number) = number.filter(|_| code == 0) {
        let over = process().holdings().freed(held, number);
        end(over);
    }
    code
}

/// A lease that nothing uses any more, until [`end_all`] gives it back.
#[derive(Debug)]
#[must_use]
pub struct UnusedLease(u64);

/// Notes that memory was released: for whoever holds a lock, within which nothing may wait for the
/// manager. Memory of others is none.
pub fn forget(held: AllocationKey) -> Option<UnusedLease> {
    let mut holdings = process().holdings();
    let number = holdings.number(held)?;
    holdings.freed(held, number).map(UnusedLease)
}

/// Gives leases back.
pub fn end_all(all: Vec<UnusedLease>) {
    for UnusedLease(name) in all {
        end(Some(name));
    }
}

/// Releases all memory of a context by `release`, of all for none, and gives it back. `release`
/// returns CUDA's code, and whether the memory is gone.
pub fn release_all(context: Option<u64>, release: impl FnOnce() -> (c_int, bool)) -> c_int {
    let all = process().holdings().of(context);
    let (code, is_gone) = inside(release);
    if is_gone {
        for (held, number) in all {
            let over = process().holdings().freed(held, number);
            end(over);
        }
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

/// Whether calls may reach the driver already: the process is bound, or no manager is asked.
#[must_use]
pub fn is_bound() -> bool {
    process().is_bound()
}
