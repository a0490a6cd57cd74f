//! A folder with the library and its settings, for `LD_LIBRARY_PATH` or for a loader by path.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::Error;

/// The name under which programs ask for NVML.
const NAME: &str = "libnvidia-ml.so.1";

/// The library that cargo built along with the running program: beside it, or in its folder `deps`.
/// Tests, tools and examples of a package that depends on this one find it there.
///
/// # Errors
/// There is none.
pub fn built_library() -> Result<PathBuf, Error> {
    let program = std::env::current_exe()
        .map_err(|error| Error::new(format!("the running program has no path: {error}")))?;
    let folder = program.parent().unwrap_or(Path::new(""));
    let name = format!(
        "{}fake_nvml{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let above = folder.parent().unwrap_or(folder);
    let places = [
        folder.to_owned(),
        folder.join("deps"),
        above.to_owned(),
        above.join("deps"),
    ];
    // `cargo build` and `cargo test` write to different folders: the one that ran last has the library of this program.
    let libraries = places.iter().filter_map(|place| {
        let library = place.join(&name);
        let found = library.metadata().ok().filter(Metadata::is_file)?;
        Some((found.modified().ok()?, library))
    });
    let newest = libraries.max().map(|(_, library)| library);
    newest.ok_or_else(|| {
        Error::new(format!(
            "no {name} near {}: expected `cargo build -p fake-nvml` before",
            program.display()
        ))
    })
}

/// Makes a folder with a copy of the library under NVML's name and a file of settings. With the
/// folder first in `LD_LIBRARY_PATH`, programs find this library as NVIDIA's. The answer is the
/// copy's path. Copies in several folders are several libraries to one process.
///
/// # Errors
/// The folder cannot be written to.
pub fn install(library: &Path, folder: &Path, config: &Config) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
    config.write(folder)?;
    let copy = folder.join(NAME);
    // A process may have the old one open, so it is replaced, not overwritten.
    let draft = folder.join(format!("{NAME}.{}", std::process::id()));
    std::fs::copy(library, &draft).map_err(|error| Error::io(library, &error))?;
    std::fs::rename(&draft, &copy).map_err(|error| Error::io(&copy, &error))?;
    Ok(copy)
}
