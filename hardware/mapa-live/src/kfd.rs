//! AMD's kernel driver KFD: reads the files of its tree in sysfs. `mapa-topologies` interprets
//! their text.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mapa_topologies::{Dump, KfdTree};

use crate::error::Error;
use crate::found::{NoAnswer, SourceResult};
use crate::host::HostFiles;

/// The most bytes that are read of a file: sysfs gives no more than a page.
const PAGE: u64 = 4096;

/// The most folders that are visited in a folder: a device has a link to each other device, and
/// links to processors.
const MOST_FOLDERS: usize = 2 * mapa_core::MAX_DEVICES;

/// The folders of a node whose files are read. Older drivers have no `p2p_links`.
const PARTS: [&str; 3] = ["mem_banks", "io_links", "p2p_links"];

pub(crate) fn ask(nodes: &Path, host: &HostFiles<'_>) -> Result<SourceResult, NoAnswer> {
    if !nodes.is_dir() {
        return Err(NoAnswer::Absent("no such folder".to_owned()));
    }
    let found = SourceResult::from_dump(read_kfd(nodes)?)?;
    Ok(SourceResult {
        driver: host.amd_driver(),
        ..found
    })
}

/// Reads the tree of AMD's kernel driver KFD: `/sys/class/kfd/kfd/topology/nodes`, a copy of it, or
/// a folder above that contains `topology/nodes` or `nodes`.
///
/// At most 4 KiB of each file are read, and at most some 200,000 files. A file that the kernel
/// hides from a container is left out, with a warning.
///
/// # Examples
/// ```no_run
/// let dump = mapa_live::read_kfd("/sys/class/kfd/kfd/topology/nodes".as_ref())?;
/// println!("{}", dump.machine.title);
/// # Ok::<(), mapa_live::Error>(())
/// ```
///
/// # Errors
/// [Unavailable](Error::is_unavailable): no such folder, or a file in it that cannot be read.
/// [Rejected](Error::rejected): as for the text that `grep -r ""` prints of the tree; the message
/// names the file.
pub fn read_kfd(folder: &Path) -> Result<Dump, Error> {
    let nodes = ["topology/nodes", "nodes"]
        .map(|below| folder.join(below))
        .into_iter()
        .find(|below| below.is_dir())
        .unwrap_or_else(|| folder.to_owned());
    let mut tree = KfdTree::new(&nodes);
    for node in numbered(&nodes)? {
        add_file(&mut tree, &nodes, &format!("{node}/properties"))?;
        for part in PARTS {
            let below = nodes.join(format!("{node}/{part}"));
            if !below.is_dir() {
                continue;
            }
            for number in numbered(&below)? {
                let path = format!("{node}/{part}/{number}/properties");
                add_file(&mut tree, &nodes, &path)?;
            }
        }
    }
    if tree.is_empty() {
        return Err(Error::unavailable(format!(
            "{}: expected folders 0, 1, ... with properties in them",
            nodes.display()
        )));
    }
    Ok(tree.read()?)
}

/// Adds one file to the tree. A missing file is skipped. A file that this process may not read
/// counts as hidden.
fn add_file(tree: &mut KfdTree, nodes: &Path, path: &str) -> Result<(), Error> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    let file: PathBuf = nodes.join(path);
    match read_start(&file) {
        Ok(text) => Ok(tree.add_file(path, &text)?),
        Err(error) => match error.kind() {
            NotFound | NotADirectory => Ok(()),
            PermissionDenied => {
                tree.add_hidden(path);
                Ok(())
            }
            _ => Err(unreadable(&file, &error)),
        },
    }
}

fn read_start(path: &Path) -> io::Result<String> {
    // Anything but a plain file, such as a pipe, could keep the reader waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(PAGE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folders in a folder whose names are numbers of at most nine digits, in order.
fn numbered(folder: &Path) -> Result<Vec<u32>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut numbers = Vec::new();
    // One more than is allowed, so that too many are noticed without a visit to all of them.
    for entry in entries.take(MOST_FOLDERS + 1) {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        numbers.extend(entry.file_name().to_str().and_then(number));
    }
    if numbers.len() > MOST_FOLDERS {
        let what = format!("{}: more than {MOST_FOLDERS} folders", folder.display());
        return Err(Error::too_large(what));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// A number as `KfdTree::add_file` accepts it in a path.
fn number(name: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_digit());
    if is_number { name.parse().ok() } else { None }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::unavailable(format!("{}: {error}", path.display()))
}
