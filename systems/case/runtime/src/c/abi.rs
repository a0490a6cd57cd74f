//! Tasks, for C.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::memory::SharedTransport;
use crate::client::Instance;
use crate::error::Error;
use crate::message::Status;
use crate::process::{Hooks, ProcessTasks, TaskEvent};
use crate::transport::{Socket, TRANSPORT, Transport};

/// The call has done what it should.
pub const CASE_OK: c_int = 0;
/// So much memory can never be had.
pub const CASE_OUT_OF_MEMORY: c_int = 1;
/// The manager cannot be reached.
pub const CASE_NO_MANAGER: c_int = 2;
/// The manager refuses: a quota, or a call that makes no sense.
pub const CASE_REFUSED: c_int = 3;
/// No such task is open.
pub const CASE_NO_TASK: c_int = 4;

/// The process may ask for more while it holds this.
pub const CASE_MAY_EXTEND: u32 = 1;
/// The number of warps is not known.
pub const CASE_UNKNOWN_WARPS: u32 = 2;
/// The caller cannot handle a refusal: it ends the process, with a line on standard error.
pub const CASE_EXIT_ON_REFUSAL: u32 = 4;

/// The exit status of a process that a refusal ends: EX_UNAVAILABLE, as `mapa run` has it.
pub const CASE_EXIT: c_int = 69;

/// Notes what a module knows before the first task: the bytes of its largest task, 0 if not known,
/// and CASE_MAY_EXTEND if it has lazy tasks or nested ones. To be called from a constructor of each
/// module; the largest number counts. Neither connects nor fails.
#[unsafe(no_mangle)]
pub extern "C" fn case_init(largest: u64, flags: u32) -> c_int {
    process().declare(largest, flags & CASE_MAY_EXTEND != 0);
    CASE_OK
}

/// Asks for the memory of a task, and waits for it. `task` is any number by which the program knows
/// it. The first task binds the process to an instance: it sets CUDA_VISIBLE_DEVICES and
/// CUDA_MPS_PIPE_DIRECTORY, so no call may have reached CUDA before, and no other thread may read or
/// write the environment meanwhile (getenv, setenv, and what calls them).
#[unsafe(no_mangle)]
pub extern "C" fn case_task_begin(task: u64, bytes: u64, warps: u64, flags: u32) -> c_int {
    let begun = process().begin(task, bytes, warps, wire(flags));
    answer(begun, flags, bytes)
}

/// Asks for more memory of an open task, and waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn case_task_extend(task: u64, bytes: u64, warps: u64) -> c_int {
    status(&process().extend(task, bytes, warps))
}

/// Gives back all of an open task: of several with this number the latest that this thread has
/// begun, else the oldest.
#[unsafe(no_mangle)]
pub extern "C" fn case_task_end(task: u64) -> c_int {
    status(&process().end(task))
}

/// Ends every open task, and the session: for a process that goes on and has freed its memory. At its
/// exit nothing is to be called. The manager sees its death, and what it held is free then.
#[unsafe(no_mangle)]
pub extern "C" fn case_destroy() {
    process().destroy();
}

/// The flags that the manager knows.
fn wire(flags: u32) -> u64 {
    u64::from(flags & (CASE_MAY_EXTEND | CASE_UNKNOWN_WARPS))
}

fn status(done: &Result<(), Error>) -> c_int {
    match done {
        Ok(()) => CASE_OK,
        Err(Error::OutOfMemory) => CASE_OUT_OF_MEMORY,
        Err(Error::NoManager(..)) | Err(Error::Refused(Status::Failed)) => CASE_NO_MANAGER,
        Err(Error::Refused(_)) => CASE_REFUSED,
        Err(Error::NoTask(_)) => CASE_NO_TASK,
    }
}

pub(crate) fn answer(done: Result<(), Error>, flags: u32, bytes: u64) -> c_int {
    if flags & CASE_EXIT_ON_REFUSAL != 0
        && let Err(error) = &done
    {
        let line = format!("mapa-case: a task of {bytes} bytes: {error}\n");
        // SAFETY: the bytes are those of `line`. The process ends without destructors, because those
        // of the program may call CUDA.
        unsafe {
            libc::write(2, line.as_ptr().cast(), line.len());
            libc::_exit(CASE_EXIT);
        }
    }
    status(&done)
}

/// The tasks of this process. A forked child has none of its parent's, and begins anew.
pub(crate) fn process() -> &'static ProcessTasks {
    static OWN: AtomicPtr<ProcessTasks> = AtomicPtr::new(ptr::null_mut());

    loop {
        let before = OWN.load(Ordering::Acquire);
        // SAFETY: what OWN points to is never freed or changed.
        let found = unsafe { before.as_ref() };
        if let Some(own) = found.filter(|process| process.is_of_this_process()) {
            return own;
        }
        let new = ProcessTasks::new(Arc::new(Environment));
        match found {
            // Only atomic numbers are read: another thread of the parent may hold a lock for good.
            Some(parent) => {
                let (largest, grows) = parent.declared();
                new.declare(largest, grows);
            }
            // SAFETY: the function has the type that atexit expects, and stays for as long as the
            // process. A child inherits the registration.
            None => drop(unsafe { libc::atexit(at_exit) }),
        }
        let new = Box::into_raw(Box::new(new));
        if OWN
            .compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            // SAFETY: nobody else has seen it. At exit `exits` is called twice, which does nothing.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

extern "C" fn at_exit() {
    process().exits();
}

/// Binds by the environment, and tells whoever observes.
struct Environment;

impl Hooks for Environment {
    fn connect(&self, path: &Path) -> io::Result<Arc<dyn Transport>> {
        if std::env::var_os(TRANSPORT).is_some_and(|text| text == "memory") {
            return Ok(Arc::new(SharedTransport::connect(path)?));
        }
        Ok(Arc::new(Socket::connect(path)?))
    }

    fn bind(&self, instance: &Instance) {
        // SAFETY: that no other thread uses the environment is the caller's duty, as the header and
        // systems/case/docs/c-api.md say. C has no lock for it that this could take.
        unsafe {
            std::env::set_var("CUDA_VISIBLE_DEVICES", &instance.visible);
            if !instance.pipe.is_empty() {
                std::env::set_var("CUDA_MPS_PIPE_DIRECTORY", &instance.pipe);
            }
        }
    }

    fn observe(&self, what: TaskEvent, task: u64, bytes: u64, warps: u64) {
        type Observer = unsafe extern "C" fn(u32, u64, u64, u64);
        static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        static CHECKED: AtomicUsize = AtomicUsize::new(0);
        if CHECKED.load(Ordering::Acquire) == 0 {
            FOUND.store(named(c"mapa_case_observer"), Ordering::Release);
            CHECKED.store(1, Ordering::Release);
        }
        let found = FOUND.load(Ordering::Acquire);
        if !found.is_null() {
            // SAFETY: whoever exports this name gives it this type, as the header says.
            unsafe {
                std::mem::transmute::<*mut c_void, Observer>(found)(what as u32, task, bytes, warps)
            };
        }
    }
}

/// The symbol of this name in what is loaded.
fn named(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}
