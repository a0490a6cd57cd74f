//! Finished cells on disk.
//!
//! A cell is one file, FOLDER/cells/INDEX-KEY.cell: a line with a checksum, then JSON. It is
//! written atomically (see [`WholeFile`](mapa_cli::files::WholeFile)), so a file of that name is complete. A killed process
//! leaves `.draft` files, which are never read. Processes on several computers may share the
//! folder: two processes that run the same cell write the same file.

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fnv::FnvHasher;
use mapa_front::commands::{FinishedCell, SweepPoint};

use mapa_cli::Failure;
use mapa_cli::files::{make_folder, rewrite};

/// The start of every cell's file.
const HEAD: &str = "mapa-bench sweep cell, fnv1a ";

/// The most bytes of a cell. The rows of a million jobs have 200 MB.
const MOST_BYTES: u64 = 1 << 30;

/// The state of a cell in a folder.
pub(super) enum CellState {
    Whole(Box<FinishedCell>),
    /// No file, or one without the rows of jobs that `--rows` needs.
    Nothing,
    /// A file that was changed or truncated, and what is wrong with it.
    Damaged(String),
}

/// A folder of cells.
pub(super) struct CellStore {
    cells: PathBuf,
}

impl CellStore {
    /// The store of this folder, which need not exist yet.
    pub(super) fn at(folder: &Path) -> Self {
        Self {
            cells: folder.join("cells"),
        }
    }

    /// Makes the folder, if it does not exist.
    pub(super) fn make(&self) -> Result<(), Failure> {
        make_folder(&self.cells)
    }

    fn path(&self, cell: &SweepPoint<'_>) -> PathBuf {
        self.cells.join(name(cell))
    }

    /// Looks up a cell in the folder. With `rows`, a cell without the rows of its jobs counts as
    /// missing.
    pub(super) fn find(&self, cell: &SweepPoint<'_>, rows: bool) -> Result<CellState, Failure> {
        let path = self.path(cell);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(CellState::Nothing),
            Err(error) => return Err(Failure::at(path.display(), error)),
        };
        Ok(match parse(&bytes) {
            Err(what) => CellState::Damaged(format!("{}: {what}", path.display())),
            Ok(kept) if kept.key() != cell.key() => CellState::Damaged(format!(
                "{}: contains another cell than its name says",
                path.display()
            )),
            // It was run without `--rows`, so it is run again.
            Ok(kept) if rows && !kept.has_jobs() => CellState::Nothing,
            Ok(kept) => CellState::Whole(Box::new(kept)),
        })
    }

    /// Writes the outcome of a cell, and replaces an existing one.
    pub(super) fn keep(&self, cell: &SweepPoint<'_>, kept: &FinishedCell) -> Result<(), Failure> {
        let json = serde_json::to_string(kept).map_err(Failure::malformed)? + "\n";
        let text = format!("{HEAD}{:016x}\n{json}", checksum(json.as_bytes()));
        rewrite(&self.path(cell), text)
    }

    /// Renames files of this sweep's cells that have an old number, as after seeds were added to
    /// the sweep file; returns how many. A cell is recognised by its key.
    pub(super) fn renumber(&self, cells: &[SweepPoint<'_>]) -> Result<usize, Failure> {
        let strangers = self.strangers(cells)?;
        let mut by_key: BTreeMap<String, Vec<&SweepPoint<'_>>> = BTreeMap::new();
        // Without foreign files nothing can be renamed.
        for cell in cells.iter().filter(|_| !strangers.is_empty()) {
            by_key.entry(cell.key()).or_default().push(cell);
        }
        let mut moved = 0;
        for path in strangers {
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            let same = stem
                .split_once('-')
                .and_then(|(_, key)| by_key.get(key))
                .into_iter()
                .flatten();
            // Equal cells have equal keys: the file goes to the first whose place is free.
            let Some(target) = same
                .map(|cell| self.path(cell))
                .find(|target| !target.exists())
            else {
                continue;
            };
            match fs::rename(&path, &target) {
                Ok(()) => moved += 1,
                // Another process has renamed it already.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::at(path.display(), error)),
            }
        }
        Ok(moved)
    }

    /// Files of cells that are not in this sweep: of another sweep, other machines or jobs, or
    /// another version.
    pub(super) fn strangers(&self, cells: &[SweepPoint<'_>]) -> Result<Vec<PathBuf>, Failure> {
        let listed = fs::read_dir(&self.cells).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let listed = match listed {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(|error| Failure::at(self.cells.display(), error))?,
        };
        let mut strangers = Vec::new();
        for entry in listed {
            let file = entry.file_name().to_string_lossy().into_owned();
            let own = number(&file).and_then(|index| cells.get(index));
            if file.ends_with(".cell") && own.is_none_or(|cell| name(cell) != file) {
                strangers.push(self.cells.join(file));
            }
        }
        strangers.sort();
        Ok(strangers)
    }
}

/// The number of a cell in the name of its file.
pub(super) fn number(file: &str) -> Option<usize> {
    file.split('-').next()?.parse().ok()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    mapa_io::read(path, MOST_BYTES)
}

/// The words of the cell in a file, if the file can be read.
pub(super) fn what_is(path: &Path) -> Option<String> {
    parse(&read(path).ok()?)
        .ok()
        .map(|kept| kept.words().to_owned())
}

fn name(cell: &SweepPoint<'_>) -> String {
    // Six digits put the cells in order of numbers, since a sweep has a million at most.
    format!("{:06}-{}.cell", cell.index, cell.key())
}

/// Parses a cell's file, and checks its checksum.
fn parse(bytes: &[u8]) -> Result<FinishedCell, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let (head, json) = text.split_once('\n').unwrap_or((text, ""));
    let sum = head.strip_prefix(HEAD).ok_or("not a cell's file")?;
    if *sum != format!("{:016x}", checksum(json.as_bytes())) {
        return Err("its checksum does not match: truncated or changed".to_owned());
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn checksum(bytes: &[u8]) -> u64 {
    // It finds files that were cut off or damaged. Nobody forges them, so a fast hash is enough.
    let mut hash = FnvHasher::default();
    hash.write(bytes);
    hash.finish()
}
