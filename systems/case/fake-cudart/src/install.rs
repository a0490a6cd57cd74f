//! Finds the shared library that cargo built.

use std::fmt;
use std::path::{Path, PathBuf};

/// The name under which programs ask for the CUDA runtime.
pub const LIBRARY: &str = "libcudart.so.12";

/// The headers for programs that are compiled without a CUDA toolkit, by file name.
pub const HEADERS: [(&str, &str); 3] = [
    ("cuda_runtime.h", include_str!("../include/cuda_runtime.h")),
    (
        "cuda_runtime_api.h",
        include_str!("../include/cuda_runtime_api.h"),
    ),
    ("cuda.h", include_str!("../include/cuda.h")),
];

/// The library is not where cargo puts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBuilt {
    near: PathBuf,
}

impl fmt::Display for NotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = self.near.display();
        write!(
            f,
            "no libfake_cudart.so near {near}: expected `cargo build -p mapa-system-case-fake-cudart` before"
        )
    }
}

impl std::error::Error for NotBuilt {}

/// The library that cargo built along with the running program: beside it, or in its folder `deps`.
///
/// # Errors
/// [`NotBuilt`] if it is in neither place.
pub fn built_library() -> Result<PathBuf, NotBuilt> {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(Path::new(""));
    let above = folder.parent().unwrap_or(folder);
    [folder, &folder.join("deps"), above, &above.join("deps")]
        .iter()
        .map(|place| place.join("libfake_cudart.so"))
        .find(|library| library.is_file())
        .ok_or(NotBuilt { near: program })
}
