//! Where the real data is. Tests of other crates have this file too, by its path.

use std::io::Write;
use std::path::PathBuf;

/// The folder of real data that the environment variable `MAPA_DATA` names; `None`, and a word on
/// standard error that names the test, if it is unset.
///
/// A test runs in its package's folder, and people name the folder from the workspace's: a relative
/// path is sought from the current folder upwards.
///
/// # Panics
/// If no folder of that name is found.
pub(crate) fn real_data() -> Option<PathBuf> {
    let Some(name) = std::env::var_os("MAPA_DATA") else {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test");
        // Not `eprintln`, which the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "{test}: skipped, MAPA_DATA is not set");
        return None;
    };
    let here = std::env::current_dir().expect("a test runs in a folder");
    let folder = (here.ancestors().map(|above| above.join(&name))).find(|folder| folder.is_dir());
    assert!(
        folder.is_some(),
        "MAPA_DATA is {}: expected a folder, found none from {} upwards",
        name.display(),
        here.display()
    );
    folder
}
