//! NVIDIA's library behind this one, and what it hands out.

use std::ffi::{CStr, CString, OsStr, c_int, c_uint, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Where NVIDIA's library is, from the folder of this one: as build.rs has it.
const BESIDE: &str = "driver/libcuda.so.1";

/// Of cuGetProcAddress: functions whose default stream is one a thread.
const PER_THREAD: u64 = 2;

/// CUDA_ERROR_NOT_FOUND.
const NOT_FOUND: c_int = 500;

/// A function of NVIDIA's library, found once.
#[derive(Debug)]
pub(super) struct DriverFn {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl DriverFn {
    /// The function of this name.
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function; null if this driver does not have it.
    pub(super) fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Acquire);
        if !found.is_null() {
            return found;
        }
        let found = symbol(self.name);
        self.found.store(found, Ordering::Release);
        found
    }
}

/// Calls a function of NVIDIA's library by its types; CUDA_ERROR_NOT_FOUND if this driver does not have
/// it.
macro_rules! real {
    ($name:literal, ($($argument:expr => $type:ty),* $(,)?)) => {{
        static REAL: $crate::c::driver::DriverFn = $crate::c::driver::DriverFn::new($name);
        let found = REAL.get();
        if found.is_null() {
            $crate::c::driver::not_found()
        } else {
            type Function = unsafe extern "C" fn($($type),*) -> std::ffi::c_int;
            // SAFETY: CUDA's function of this name has this type, and gets what the program has passed.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(found)($($argument),*) }
        }
    }};
}

pub(super) use real;

/// The answer of a function that this driver does not have.
pub(super) const fn not_found() -> c_int {
    NOT_FOUND
}

/// What the loader knows of an address.
fn known(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: all zeros are a Dl_info: pointers that are null.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the loader follows no address, and `info` is where it may write.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then_some(info)
}

/// The path of NVIDIA's library, as the loader knows it.
fn path() -> Option<CString> {
    let own = known(path as *const c_void)?;
    // SAFETY: the loader's name of a library ends in a zero, and lives as long as the library.
    let own = unsafe { CStr::from_ptr(own.dli_fname) };
    let folder = Path::new(OsStr::from_bytes(own.to_bytes())).parent()?;
    CString::new(folder.join(BESIDE).into_os_string().into_vec()).ok()
}

/// The symbol of this name in NVIDIA's library; null if it has none.
fn symbol(name: &CStr) -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        let Some(path) = path() else { return 0 };
        // SAFETY: the path ends in a zero. The library is loaded already, since this one needs it: none of
        // its code runs.
        let found = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        found.expose_provenance()
    });
    if library == 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: the handle is the loader's and is never closed; the name ends in a zero. On this handle only
    // NVIDIA's library and what it needs are searched, not this one.
    unsafe {
        libc::dlsym(
            std::ptr::with_exposed_provenance_mut(library),
            name.as_ptr(),
        )
    }
}

/// Whether another library of this process asks for its memory: `libcase_preload.so`, or a
/// `libmapa_case.so` that the program links.
pub(super) fn others_ask() -> bool {
    static ASK: OnceLock<bool> = OnceLock::new();
    *ASK.get_or_init(|| {
        // SAFETY: the name ends in a zero. This library does not export it.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"case_task_begin".as_ptr()) }.is_null()
    })
}

/// A function that stands before one of NVIDIA's.
#[derive(Debug)]
pub(super) struct Front {
    /// What cuGetProcAddress calls it.
    pub(super) name: &'static CStr,
    /// The version of CUDA that brought it, 1000 for each major and 10 for each minor one.
    pub(super) since: c_int,
    /// Whether its default stream is one a thread.
    pub(super) is_per_thread: bool,
    /// The name of the symbol.
    pub(super) symbol: &'static CStr,
    /// Its address here.
    pub(super) own: fn() -> *mut c_void,
}

/// The function to hand out in place of one that cuGetProcAddress has found.
///
/// The driver says which version of a function it is by its address: that of a symbol. Only if it
/// hands out addresses without a symbol, the version is worked out from what was asked for.
pub(super) fn in_front(
    fronts: &[Front],
    found: *mut c_void,
    name: &CStr,
    version: c_int,
    flags: u64,
) -> *mut c_void {
    static BEHIND: OnceLock<Vec<usize>> = OnceLock::new();
    let behind = BEHIND.get_or_init(|| {
        fronts
            .iter()
            .map(|front| symbol(front.symbol).addr())
            .collect()
    });
    if let Some(at) = behind
        .iter()
        .position(|candidate| *candidate == found.addr())
    {
        return (fronts[at].own)();
    }
    let has_symbol = known(found).is_some_and(|dl_info| dl_info.dli_saddr == found);
    if has_symbol {
        return found;
    }
    let of_this_name = fronts
        .iter()
        .filter(|front| front.name == name && front.since <= version);
    let is_per_thread = flags & PER_THREAD != 0;
    let best = of_this_name.max_by_key(|front| (front.is_per_thread == is_per_thread, front.since));
    best.map_or(found, |front| (front.own)())
}

/// Whether calls on a stream go into a graph: then they neither take nor free memory.
pub(super) fn is_captured(stream: *mut c_void, is_per_thread: bool) -> bool {
    let mut status: c_uint = 0;
    let code = if is_per_thread {
        real!(c"cuStreamIsCapturing_ptsz", (stream => *mut c_void, &raw mut status => *mut c_uint))
    } else {
        real!(c"cuStreamIsCapturing", (stream => *mut c_void, &raw mut status => *mut c_uint))
    };
    code == 0 && status != 0
}

/// The context of this thread, 0 for none.
pub(super) fn context() -> u64 {
    let mut context: *mut c_void = std::ptr::null_mut();
    match real!(c"cuCtxGetCurrent", (&raw mut context => *mut *mut c_void)) {
        0 => context.addr() as u64,
        _ => 0,
    }
}

/// Whether the primary context of a device exists. If the driver does not say: yes.
pub(super) fn is_active(device: c_int) -> bool {
    let (mut flags, mut active): (c_uint, c_int) = (0, 0);
    let code = real!(c"cuDevicePrimaryCtxGetState",
        (device => c_int, &raw mut flags => *mut c_uint, &raw mut active => *mut c_int));
    code != 0 || active != 0
}
