//! What the functions of the CUDA runtime do, by name.

/// How much an allocation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The argument of this number, in bytes.
    Bytes(u32),
    /// Rows of `width` bytes, each rounded up to a pitch, times `height`.
    Pitched { width: u32, height: u32 },
}

/// What a call does. Numbers are those of arguments; `queued` is that of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Allocates device memory and stores its address through argument 0.
    Allocate { size: Size, queued: Option<u32> },
    /// Frees the device memory of argument 0.
    Free { queued: Option<u32> },
    /// Frees everything.
    Reset,
    /// Copies from `source` to `target`, in the direction given by argument `kind` if there is one.
    Copy {
        target: Option<u32>,
        source: Option<u32>,
        kind: Option<u32>,
        queued: Option<u32>,
    },
    /// Launches a kernel whose parameters are behind an array of pointers.
    LaunchDirect {
        grid: u32,
        block: u32,
        arguments: u32,
        stream: u32,
    },
    /// Sets grid and block of the launch that follows.
    Configure,
    /// Returns when the device has finished, or one stream of it.
    Wait(Option<u32>),
    /// Reaches the driver, without memory of a task.
    Touch,
    /// Allocates host memory: the pointer behind argument 0 is no device memory.
    AllocateHost,
    /// Takes device memory in a way of which the amount is not known.
    Unknown,
    /// Neither reaches the driver nor touches memory of a task.
    Quiet,
}

/// The name without `_ptds`, `_ptsz` and the number of an interface's version.
fn plain(name: &str) -> &str {
    let name = name
        .strip_suffix("_ptds")
        .or_else(|| name.strip_suffix("_ptsz"))
        .unwrap_or(name);
    let version = name
        .rsplit_once("_v")
        .filter(|(_, digits)| digits.bytes().all(|b| b.is_ascii_digit()));
    version.map_or(name, |(stem, _)| stem)
}

/// What the runtime's function of this name does: `None` for any other function.
pub(crate) fn call(name: &str) -> Option<Call> {
    let copy = |target, source, kind, queued| Call::Copy {
        target,
        source,
        kind,
        queued,
    };
    Some(match plain(name) {
        "__cudaPushCallConfiguration" | "cudaConfigureCall" => Call::Configure,
        "cudaMalloc" | "cudaMallocManaged" => Call::Allocate {
            size: Size::Bytes(1),
            queued: None,
        },
        "cudaMallocAsync" => Call::Allocate {
            size: Size::Bytes(1),
            queued: Some(2),
        },
        "cudaMallocFromPoolAsync" => Call::Allocate {
            size: Size::Bytes(1),
            queued: Some(3),
        },
        "cudaMallocPitch" => Call::Allocate {
            size: Size::Pitched {
                width: 2,
                height: 3,
            },
            queued: None,
        },
        "cudaFree" => Call::Free { queued: None },
        "cudaFreeAsync" => Call::Free { queued: Some(1) },
        "cudaDeviceReset" | "cudaThreadExit" => Call::Reset,
        "cudaMemcpy" => copy(Some(0), Some(1), Some(3), None),
        "cudaMemcpyAsync" => copy(Some(0), Some(1), Some(3), Some(4)),
        "cudaMemcpy2D" => copy(Some(0), Some(2), Some(6), None),
        "cudaMemcpy2DAsync" => copy(Some(0), Some(2), Some(6), Some(7)),
        "cudaMemcpyPeer" => copy(Some(0), Some(2), None, None),
        "cudaMemcpyPeerAsync" => copy(Some(0), Some(2), None, Some(5)),
        "cudaMemcpyToSymbol" => copy(None, Some(1), Some(4), None),
        "cudaMemcpyToSymbolAsync" => copy(None, Some(1), Some(4), Some(5)),
        "cudaMemcpyFromSymbol" => copy(Some(0), None, Some(4), None),
        "cudaMemcpyFromSymbolAsync" => copy(Some(0), None, Some(4), Some(5)),
        "cudaMemset" | "cudaMemset2D" => copy(Some(0), None, None, None),
        "cudaMemsetAsync" => copy(Some(0), None, None, Some(3)),
        "cudaMemset2DAsync" => copy(Some(0), None, None, Some(5)),
        "cudaMemPrefetchAsync" => copy(Some(0), None, None, Some(3)),
        "cudaMemAdvise" => copy(Some(0), None, None, None),
        "cudaLaunchKernel" | "cudaLaunchCooperativeKernel" => Call::LaunchDirect {
            grid: 1,
            block: 3,
            arguments: 5,
            stream: 7,
        },
        "cudaDeviceSynchronize" | "cudaThreadSynchronize" => Call::Wait(None),
        "cudaStreamSynchronize" => Call::Wait(Some(0)),
        "cudaMallocHost" | "cudaHostAlloc" => Call::AllocateHost,
        "cudaMalloc3D"
        | "cudaMallocArray"
        | "cudaMalloc3DArray"
        | "cudaMallocMipmappedArray"
        | "cudaIpcOpenMemHandle"
        | "cudaGraphLaunch"
        | "cudaGraphInstantiate"
        | "cudaLaunchKernelExC"
        | "cudaGraphicsMapResources"
        | "cudaImportExternalMemory" => Call::Unknown,
        "cudaGetErrorString"
        | "cudaGetErrorName"
        | "cudaGetLastError"
        | "cudaPeekAtLastError"
        | "cudaRuntimeGetVersion"
        | "__cudaPopCallConfiguration"
        | "cudaCreateChannelDesc" => Call::Quiet,
        name if name.starts_with("cuda")
            && name.as_bytes().get(4).is_some_and(u8::is_ascii_uppercase) =>
        {
            Call::Touch
        }
        _ => return None,
    })
}

/// Whether a call returns only after work on the default stream.
pub(crate) fn is_synchronous_copy(name: &str) -> bool {
    matches!(
        plain(name),
        "cudaMemcpy"
            | "cudaMemcpy2D"
            | "cudaMemcpyPeer"
            | "cudaMemcpyToSymbol"
            | "cudaMemcpyFromSymbol"
    )
}

/// The wrapper that does a call lazily.
pub(crate) fn wrapper(name: &str) -> Option<String> {
    let (stem, suffix) = match (name.strip_suffix("_ptds"), name.strip_suffix("_ptsz")) {
        (Some(stem), _) => (stem, "_ptds"),
        (_, Some(stem)) => (stem, "_ptsz"),
        _ => (name, ""),
    };
    let wrapper = match stem {
        "cudaMalloc" => "case_lazy_malloc",
        "cudaMallocManaged" => "case_lazy_malloc_managed",
        "cudaMallocAsync" => "case_lazy_malloc_async",
        "cudaMallocPitch" => "case_lazy_malloc_pitch",
        "cudaMallocHost" => "case_lazy_malloc_host",
        "cudaHostAlloc" => "case_lazy_host_alloc",
        "cudaFree" => "case_lazy_free",
        "cudaFreeAsync" => "case_lazy_free_async",
        "cudaMemcpy" => "case_lazy_memcpy",
        "cudaMemcpyAsync" => "case_lazy_memcpy_async",
        "cudaMemcpy2D" => "case_lazy_memcpy_2d",
        "cudaMemcpyToSymbol" => "case_lazy_memcpy_to_symbol",
        "cudaMemcpyFromSymbol" => "case_lazy_memcpy_from_symbol",
        "cudaMemset" => "case_lazy_memset",
        "cudaMemsetAsync" => "case_lazy_memset_async",
        "cudaLaunchKernel" => "case_lazy_launch",
        "cudaGetLastError" => "case_lazy_get_last_error",
        "cudaPeekAtLastError" => "case_lazy_peek_at_last_error",
        _ => return None,
    };
    Some(format!("{wrapper}{suffix}"))
}

/// The stub of a kernel, by its mangled name, as clang makes it: `_Z..__device_stub__name..`.
pub(crate) fn is_stub(name: &str) -> bool {
    name.contains("__device_stub__")
}

/// Functions that clang adds to register kernels.
pub(crate) fn is_registration(name: &str) -> bool {
    name.starts_with("__cuda_")
}

/// Functions of the C and C++ libraries that keep no pointer, write only through pointers they are
/// given, and call nothing back.
// Long, since it is two lists of names.
pub(crate) fn is_plain_library(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "abort",
        "abs",
        "atexit",
        "atof",
        "atoi",
        "atol",
        "atoll",
        "calloc",
        "clock",
        "clock_gettime",
        "drand48",
        "exit",
        "_exit",
        "fclose",
        "feof",
        "ferror",
        "fflush",
        "fgetc",
        "fgets",
        "fopen",
        "fopen64",
        "fprintf",
        "fputc",
        "fputs",
        "fread",
        "free",
        "fscanf",
        "__isoc99_fscanf",
        "fseek",
        "ftell",
        "fwrite",
        "getc",
        "getenv",
        "getchar",
        "gettimeofday",
        "isatty",
        "labs",
        "isalpha",
        "isdigit",
        "isspace",
        "malloc",
        "getpid",
        "memchr",
        "memcmp",
        "memcpy",
        "memmove",
        "memset",
        "perror",
        "posix_memalign",
        "aligned_alloc",
        "printf",
        "putc",
        "putchar",
        "puts",
        "rand",
        "rand_r",
        "random",
        "realloc",
        "rewind",
        "scanf",
        "__isoc99_scanf",
        "sleep",
        "snprintf",
        "sprintf",
        "srand",
        "srand48",
        "srandom",
        "sscanf",
        "__isoc99_sscanf",
        "strcasecmp",
        "strcat",
        "strchr",
        "strcmp",
        "strcpy",
        "strdup",
        "strlen",
        "strncmp",
        "strncpy",
        "strrchr",
        "strstr",
        "strtod",
        "strtof",
        "strtol",
        "strtoll",
        "strtoul",
        "strtoull",
        "time",
        "tolower",
        "toupper",
        "usleep",
        "vfprintf",
        "vprintf",
        "__assert_fail",
        "__cxa_allocate_exception",
        "__cxa_free_exception",
        "__cxa_throw",
        "__cxa_rethrow",
        "__cxa_begin_catch",
        "__cxa_end_catch",
        "__cxa_guard_acquire",
        "__cxa_guard_release",
        "__cxa_guard_abort",
        "__clang_call_terminate",
        "_ZSt9terminatev",
        "_Znwm",
        "_Znam",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZnwmSt11align_val_t",
        "_ZdlPvSt11align_val_t",
        "_ZdlPvmSt11align_val_t",
    ];
    // Members of std::string, of streams and of exceptions run code of the library alone.
    const PREFIXES: &[&str] = &[
        "_ZNSt7__cxx1112basic_string",
        "_ZNKSt7__cxx1112basic_string",
        "_ZNSo",
        "_ZNSi",
        "_ZStls",
        "_ZStrs",
        "_ZSt4endl",
        "_ZSt16__ostream_insert",
        "_ZSt20__throw_",
        "_ZSt17__throw_",
        "_ZSt19__throw_",
        "_ZSt24__throw_",
        "_ZNSt6chrono",
        "_ZNSt11logic_error",
        "_ZNSt13runtime_error",
        "_ZNSt9exception",
        "_ZNSt12out_of_range",
        "_ZNSt16invalid_argument",
        "_ZNSt8ios_base",
        "_ZNSt13basic_filebuf",
        "_ZNSt14basic_ifstream",
        "_ZNSt14basic_ofstream",
        "_ZNSt9basic_ios",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|p| name.starts_with(p)) || is_arithmetic(name)
}

/// Functions of the C and C++ libraries and of the compiler that begin no task: all that is plain, and the
/// rest of the C++ library but what starts threads, which is asked for by its own name.
pub(crate) fn is_runtime(name: &str) -> bool {
    const PREFIXES: &[&str] = &["llvm.", "_ZSt", "_ZNSt", "_ZNKSt", "__cxa_", "omp_get_"];
    is_plain_library(name) || is_mark(name) || PREFIXES.iter().any(|p| name.starts_with(p))
}

/// Functions of which the result depends on the arguments alone and nothing else happens.
pub(crate) fn is_arithmetic(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "ceil", "ceilf", "floor", "floorf", "round", "roundf", "trunc", "truncf", "sqrt", "sqrtf",
        "cbrt", "fmax", "fmaxf", "fmin", "fminf", "fabs", "fabsf", "pow", "powf", "exp", "exp2",
        "log", "log2", "log10", "abs", "labs", "logf", "log2f", "expf", "exp2f", "sin", "sinf",
        "cos", "cosf", "tan", "tanf", "asin", "acos", "atan", "atan2", "fmod", "fmodf", "hypot",
    ];
    const INTRINSICS: &[&str] = &[
        "llvm.ceil.",
        "llvm.floor.",
        "llvm.round.",
        "llvm.trunc.",
        "llvm.sqrt.",
        "llvm.maxnum.",
        "llvm.minnum.",
        "llvm.fabs.",
        "llvm.pow.",
        "llvm.exp.",
        "llvm.exp2.",
        "llvm.log.",
        "llvm.log2.",
        "llvm.log10.",
        "llvm.umax.",
        "llvm.umin.",
        "llvm.smax.",
        "llvm.smin.",
        "llvm.ctpop.",
        "llvm.fmuladd.",
    ];
    NAMES.contains(&name) || INTRINSICS.iter().any(|p| name.starts_with(p))
}

/// Intrinsics without effect on memory that the program reads, and marks of lifetimes.
pub(crate) fn is_mark(name: &str) -> bool {
    [
        "llvm.lifetime.",
        "llvm.dbg.",
        "llvm.assume",
        "llvm.experimental.noalias",
        "llvm.invariant.",
        "llvm.stack",
    ]
    .iter()
    .any(|p| name.starts_with(p))
        || is_arithmetic(name)
}
