//! A folder of this process, in memory where the machine has such a place: ledgers and sockets need one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// Makes the folder of this name, empty. A process that fuzzes is killed, and removes nothing: what others have left whose process
/// is gone is removed here.
pub(crate) fn folder(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() {
        shared.to_owned()
    } else {
        std::env::temp_dir()
    };
    let prefix = format!("mapa-fuzz-{name}-");
    for entry in fs::read_dir(&root).expect("a folder").flatten() {
        let file = entry.file_name();
        let pid = file.to_str().and_then(|file| file.strip_prefix(&prefix));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another process may do the same.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    let own = root.join(format!("{prefix}{}", process::id()));
    drop(fs::remove_dir_all(&own));
    fs::create_dir_all(&own).expect("a folder");
    own
}
