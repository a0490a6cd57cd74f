#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
)]

mod c;
mod device;
mod install;
mod oracle;
mod report;

pub use install::{NotBuilt, built_library};
pub use oracle::{Event, Objection, Oracle};
pub use report::{Line, read_line};

/// The environment variable that names the report.
pub const REPORT: &str = "FAKE_CUDART_REPORT";

/// The environment variable that names allocations which fail.
pub const FAIL: &str = "FAKE_CUDART_FAIL";

/// The name under which programs ask for the CUDA runtime.
pub const LIBRARY: &str = "libcudart.so.12";

/// The header for programs that are compiled without a CUDA toolkit, by file name.
pub const HEADERS: [(&str, &str); 3] = [
    ("cuda_runtime.h", include_str!("../include/cuda_runtime.h")),
    (
        "cuda_runtime_api.h",
        include_str!("../include/cuda_runtime_api.h"),
    ),
    ("cuda.h", include_str!("../include/cuda.h")),
];
