//! Libraries of MAPA that are put before those of CUDA.

use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names the CUDA driver's library, where the loader would not find it.
const DRIVER: &str = "MAPA_CASE_DRIVER";

/// The name under which programs ask for the CUDA driver.
const LIBRARY: &str = "libcuda.so.1";

/// In a folder that stands in front: NVIDIA's library, as the one of MAPA needs it.
const BEHIND: &str = "driver/libcuda.so.1";

/// A library of MAPA, which is installed or was built beside this program.
fn library(name: &str, package: &str) -> Result<PathBuf, Box<dyn Error>> {
    let own = env::current_exe()?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = [
        folder.to_owned(),
        folder.join("deps"),
        folder.join("../lib/mapa-case"),
    ];
    let mut libraries = places.iter().map(|place| place.join(name));
    let library = libraries.find(|file| file.exists()).ok_or_else(|| {
        format!(
            "no {name} beside {}: expected `cargo build -p {package}`, or --interpose none",
            own.display()
        )
    })?;
    Ok(library.canonicalize()?)
}

/// Puts a library before the CUDA runtime.
pub(crate) fn before_runtime(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let mut all = library("libcase_preload.so", "mapa-system-case-preload")?.into_os_string();
    if let Some(before) = env::var_os("LD_PRELOAD").filter(|text| !text.is_empty()) {
        all.push(":");
        all.push(before);
    }
    command.env("LD_PRELOAD", all);
    Ok(())
}

/// Puts a library before the CUDA driver.
pub(crate) fn before_driver(command: &mut Command, driver: &Path) -> Result<(), Box<dyn Error>> {
    let front = front(
        &library("libcase_driver.so", "mapa-system-case-driver")?,
        driver,
    )?;
    let all = env::join_paths([front].into_iter().chain(library_path()))?;
    command.env("LD_LIBRARY_PATH", all);
    Ok(())
}

/// The CUDA driver's library: the one that is named, else what the loader finds. `None` if it finds
/// none.
pub(crate) fn driver() -> Result<Option<PathBuf>, Box<dyn Error>> {
    if let Some(named) = env::var_os(DRIVER).filter(|text| !text.is_empty()) {
        let path = Path::new(&named).canonicalize();
        let path = path.map_err(|error| format!("{DRIVER}: {}: {error}", named.display()))?;
        return Ok(Some(path));
    }
    // The loader says where it finds what a program needs, and starts neither.
    let output = Command::new(env::current_exe()?)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .env("LD_PRELOAD", LIBRARY)
        .env("LD_LIBRARY_PATH", env::join_paths(library_path())?)
        .stdin(Stdio::null())
        .output()?;
    let found = output.stdout.split(|byte| *byte == b'\n').find_map(place);
    Ok(found.map(std::path::absolute).transpose()?)
}

/// The path in a line of the loader's: `libcuda.so.1 => /lib/libcuda.so.1 (0x00007f0000000000)`.
fn place(line: &[u8]) -> Option<PathBuf> {
    let rest = line.trim_ascii_start().strip_prefix(LIBRARY.as_bytes())?;
    let rest = rest.strip_prefix(b" => ")?;
    let end = rest.windows(4).rposition(|bytes| bytes == b" (0x")?;
    Some(PathBuf::from(OsStr::from_bytes(&rest[..end])))
}

/// Where the loader looks first, without what an outer `mapa-case run` has put there.
fn library_path() -> Vec<PathBuf> {
    let all: OsString = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    if all.is_empty() {
        return Vec::new();
    }
    env::split_paths(&all)
        .filter(|folder| !folder.join(BEHIND).exists())
        .collect()
}

/// A folder in which the loader finds our library, and that finds the driver. It stays: what the program
/// starts later looks there too.
fn front(own: &Path, driver: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache
        .filter(|path| path.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".cache")))
        .ok_or("no home directory: expected XDG_CACHE_HOME")?
        .join("mapa-case");
    let links = [
        (LIBRARY, own),
        // Development packages have this name, and some programs ask for it.
        ("libcuda.so", Path::new(LIBRARY)),
        (BEHIND, driver),
    ];
    let mut hasher = DefaultHasher::new();
    links.hash(&mut hasher);
    let folder = cache.join(format!("front-{:016x}", hasher.finish()));
    if !folder.exists() {
        let failed = |error: std::io::Error| format!("{}: {error}", cache.display());
        fs::create_dir_all(&cache).map_err(failed)?;
        let new = tempfile::tempdir_in(&cache).map_err(failed)?;
        fs::create_dir(new.path().join("driver")).map_err(failed)?;
        for (name, to) in links {
            symlink(to, new.path().join(name)).map_err(failed)?;
        }
        // Another may have made the same meanwhile: then this one goes.
        if fs::rename(new.path(), &folder).is_ok() {
            drop(new.keep());
        }
    }
    for (name, to) in links {
        let path = folder.join(name);
        if fs::read_link(&path).ok().as_deref() != Some(to) {
            let (path, to) = (path.display(), to.display());
            return Err(format!("{path}: expected a link to {to}; remove the folder").into());
        }
    }
    Ok(folder)
}
