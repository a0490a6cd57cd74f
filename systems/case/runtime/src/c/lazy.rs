//! Memory that is asked for when it is first used.
//!
//! Where the compiler cannot tell what a task will hold, allocations get *placeholders*: addresses of
//! a region without memory. The first launch or copy asks once for all of them, makes the real
//! allocations, and from then on whatever passes through here is translated. Variables to which
//! `cudaMalloc` has written a placeholder get the real pointer, so that code which is not seen here
//! finds it too.
//!
//! All threads share one lazy task. It ends when nothing of it is left.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getpid;

use super::abi::process;
use super::eager::touch;
use super::region::ReservedRegion;
use super::runtime::{call, code};
use crate::message::flags;

/// The name of the lazy task.
const LAZY: u64 = u64::MAX;

/// An allocation that got a placeholder.
#[derive(Clone, Copy, Debug)]
struct Placeholder {
    bytes: usize,
    /// The variable to which the placeholder was written.
    variable: usize,
    /// The memory, once it is asked for.
    real: Option<usize>,
}

/// The allocations of lazy code.
#[derive(Debug)]
pub(crate) struct Lazy {
    region: Option<ReservedRegion>,
    /// By placeholder.
    spans: BTreeMap<usize, Placeholder>,
    /// The memory that is held, by real address.
    held: BTreeMap<usize, usize>,
    is_open: bool,
    /// Bytes of the task that no allocation uses yet, or that CUDA has refused.
    spare: u64,
    /// The error of a launch that never reached CUDA.
    error: c_int,
}

static LAZY_STATE: Mutex<Lazy> = Mutex::new(Lazy {
    region: None,
    spans: BTreeMap::new(),
    held: BTreeMap::new(),
    is_open: false,
    spare: 0,
    error: 0,
});

/// The allocations of this process.
pub(crate) fn lazy() -> MutexGuard<'static, Lazy> {
    LAZY_STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lazy {
    /// Makes a placeholder, and writes it to a variable. None if there are no addresses left.
    fn promise(&mut self, variable: *mut *mut c_void, bytes: usize) -> Option<()> {
        if self.region.is_none() {
            self.region = ReservedRegion::reserve().ok();
        }
        let start = self.region.as_mut()?.take(bytes)?;
        // SAFETY: the caller has passed a variable for a pointer, as to cudaMalloc.
        unsafe { variable.write(ptr::without_provenance_mut(start)) };
        let span = Placeholder {
            bytes,
            variable: variable.addr(),
            real: None,
        };
        self.spans.insert(start, span);
        Some(())
    }

    /// Allocates, or promises to, what `cudaMalloc` was asked for.
    pub(crate) fn malloc(&mut self, variable: *mut *mut c_void, bytes: usize) -> c_int {
        if variable.is_null() || bytes == 0 {
            return match touch() {
                0 => malloc(variable, bytes),
                error => error,
            };
        }
        if !self.is_open && self.promise(variable, bytes).is_some() {
            return 0;
        }
        self.at_once(bytes, |lazy| {
            let code = malloc(variable, bytes);
            // SAFETY: CUDA has written the pointer there.
            lazy.keep(code, || unsafe { variable.read() }.addr(), bytes)
        })
    }

    /// Asks for memory now, and allocates it by `allocate`. What is pending is asked for with it.
    pub(crate) fn at_once(
        &mut self,
        bytes: usize,
        allocate: impl FnOnce(&mut Self) -> c_int,
    ) -> c_int {
        let wanted = bytes as u64;
        if let Err(code) = self.ask(None, wanted) {
            return code;
        }
        let code = allocate(self);
        if code == 0 {
            self.spare = self.spare.saturating_sub(wanted);
        } else {
            self.end_if_empty();
        }
        code
    }

    /// Notes an allocation that CUDA has made.
    pub(crate) fn keep(&mut self, code: c_int, real: impl Fn() -> usize, bytes: usize) -> c_int {
        if code == 0 {
            self.held.insert(real(), bytes);
        }
        code
    }

    /// Asks once for all that is pending, before a launch of so many warps or a copy. A copy without
    /// anything pending binds the process; a launch does so by its task.
    ///
    /// # Errors
    /// CUDA's number of the error.
    pub(crate) fn ask_pending(&mut self, warps: Option<u64>) -> Result<(), c_int> {
        if self.spans.values().any(|span| span.real.is_none()) {
            return self.ask(warps, 0);
        }
        match warps.map_or_else(touch, |_| 0) {
            0 => Ok(()),
            code => Err(code),
        }
    }

    /// Asks for all that is pending and so many bytes more, but for what the task has to spare, and
    /// makes the allocations that are pending.
    fn ask(&mut self, warps: Option<u64>, more: u64) -> Result<(), c_int> {
        let pending = self.spans.values().filter(|span| span.real.is_none());
        let bytes = pending.fold(more, |sum, span| sum.saturating_add(span.bytes as u64));
        let asked = if self.is_open {
            match bytes.saturating_sub(self.spare) {
                0 => Ok(()),
                lacking => process().extend(LAZY, lacking, 0),
            }
        } else {
            let unknown = if warps.is_none() {
                flags::UNKNOWN_WARPS
            } else {
                0
            };
            process().begin(LAZY, bytes, warps.unwrap_or(0), flags::GROWS | unknown)
        };
        asked.map_err(|error| code(&error))?;
        self.is_open = true;
        self.spare = self.spare.max(bytes);
        for (start, span) in &mut self.spans {
            if span.real.is_some() {
                continue;
            }
            let mut real: *mut c_void = ptr::null_mut();
            let code = malloc(&raw mut real, span.bytes);
            if code != 0 {
                // What is left is pending still.
                self.end_if_empty();
                return Err(code);
            }
            span.real = Some(real.addr());
            self.spare = self.spare.saturating_sub(span.bytes as u64);
            self.held.insert(real.addr(), span.bytes);
            replace(span.variable, *start, real.addr());
        }
        Ok(())
    }

    /// The real address for one that may be a placeholder. Addresses of nobody stay as they are.
    pub(crate) fn real(&self, address: usize) -> usize {
        let is_ours = self
            .region
            .as_ref()
            .is_some_and(|region| region.contains(address));
        if !is_ours {
            return address;
        }
        let before = self.spans.range(..=address).next_back();
        match before {
            // The end of an allocation belongs to it, as in C.
            Some((
                start,
                Placeholder {
                    bytes,
                    real: Some(real),
                    ..
                },
            )) if address - start <= *bytes => real + (address - start),
            _ => address,
        }
    }

    /// The real pointer for one that may be a placeholder.
    pub(crate) fn pointer(&self, pointer: *const c_void) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.real(pointer.expose_provenance()))
    }

    /// Whether there may be placeholders in the program.
    pub(crate) fn has_placeholders(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Translates the words of a value that are placeholders. Returns whether there was any.
    pub(crate) fn translate(&self, value: &mut [u8]) -> bool {
        let mut found = false;
        for word in value.chunks_exact_mut(8) {
            let Ok(bytes) = <[u8; 8]>::try_from(&*word) else {
                continue;
            };
            let address = usize::from_ne_bytes(bytes);
            let real = self.real(address);
            if real != address {
                word.copy_from_slice(&real.to_ne_bytes());
                found = true;
            }
        }
        found
    }

    /// Frees what `cudaFree` was given, by `free`. The task ends when nothing is left.
    pub(crate) fn free(
        &mut self,
        pointer: *mut c_void,
        free: impl FnOnce(*mut c_void) -> c_int,
    ) -> c_int {
        let address = pointer.addr();
        let mut start = None;
        if let Some(span) = self.spans.get(&address) {
            start = Some(address);
            if span.real.is_none() {
                // There is no memory of it.
                self.spans.remove(&address);
                self.end_if_empty();
                return 0;
            }
        }
        let real = self.pointer(pointer);
        // Memory that is held has bound the process. Any other call may be its first of the driver.
        let touched = if self.is_open { 0 } else { touch() };
        if touched != 0 {
            return touched;
        }
        let code = free(real);
        if code != 0 {
            return code;
        }
        if self.held.remove(&real.addr()).is_some() {
            let start = start.or_else(|| {
                let mut spans = self.spans.iter();
                let own = spans.find(|(_, span)| span.real == Some(real.addr()));
                own.map(|(start, _)| *start)
            });
            if let Some(start) = start {
                self.spans.remove(&start);
            }
        }
        self.end_if_empty();
        code
    }

    fn end_if_empty(&mut self) {
        if self.is_open && self.held.is_empty() {
            self.is_open = false;
            self.spare = 0;
            // That the manager is gone changes nothing for the program: its memory is free.
            drop(process().end(LAZY));
        }
    }

    /// Whether the lazy task would end by the next release: then nothing may still run.
    pub(crate) fn is_last(&self) -> bool {
        self.is_open && self.held.len() == 1
    }

    /// Remembers the error of a launch that never reached CUDA.
    pub(crate) fn fail(&mut self, code: c_int) -> c_int {
        self.error = code;
        code
    }

    /// The error that was remembered, and whether to forget it.
    pub(crate) fn last_error(&mut self, forget: bool) -> c_int {
        let error = self.error;
        if forget {
            self.error = 0;
        }
        error
    }
}

/// A launch outside of any task: one without memory of its own, for as long as it runs.
pub(crate) fn in_task_of_its_own(warps: u64, launch: impl FnOnce() -> c_int) -> c_int {
    let name = LAZY - 1;
    if let Err(error) = process().begin(name, 0, warps, 0) {
        return code(&error);
    }
    let launched = launch();
    let waited = call!(c"cudaDeviceSynchronize", ());
    drop(process().end(name));
    if launched != 0 { launched } else { waited }
}

fn malloc(variable: *mut *mut c_void, bytes: usize) -> c_int {
    call!(c"cudaMalloc", (variable => *mut *mut c_void, bytes => usize))
}

/// Writes the real pointer to a variable that still has the placeholder. The variable may be gone,
/// so the kernel reads and writes it: it says so where there is no memory.
fn replace(variable: usize, placeholder: usize, real: usize) {
    let mut now = 0usize;
    if copy(true, &raw mut now, variable) && now == placeholder {
        let mut real = real;
        copy(false, &raw mut real, variable);
    }
}

/// Copies a word from or to an address of this process, if there is memory. Returns whether.
fn copy(reads: bool, own: *mut usize, address: usize) -> bool {
    let size = size_of::<usize>();
    let local = libc::iovec {
        iov_base: own.cast(),
        iov_len: size,
    };
    let remote = libc::iovec {
        iov_base: ptr::with_exposed_provenance_mut(address),
        iov_len: size,
    };
    let pid = getpid().as_raw_nonzero().get();
    // SAFETY: `own` is a word of the caller's. The kernel checks the other address. Only a word that
    // has a placeholder is written, and placeholders are in no memory that others manage.
    let done = unsafe {
        if reads {
            libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0)
        } else {
            libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0)
        }
    };
    usize::try_from(done) == Ok(size)
}
