//! Finished cells on disk.
//!
//! A cell is one file, FOLDER/cells/INDEX-KEY.cell: a line with a checksum, then JSON. It is written under a name of its own,
//! brought to disk, and only then given its name, so a file of that name is whole: a killed process leaves drafts, which
//! nobody reads. Processes on several computers may share the folder. What two of them write for one cell is the same.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

use super::plan::Cell;
use super::values::Columns;
use crate::failure::Failure;

/// Begins every cell's file.
const HEAD: &str = "mapa-bench sweep cell, fnv1a ";

/// What came of a cell.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    /// The cell's key, hexadecimal.
    key: String,
    /// The cell in words, for people.
    what: String,
    /// Why it has no numbers.
    pub(super) error: Option<String>,
    /// Its row.
    pub(super) summary: Columns,
    /// The rows of its jobs, if they were asked for.
    pub(super) rows: Option<Columns>,
}

impl Kept {
    pub(super) fn new(cell: &Cell<'_>, outcome: Result<(Columns, Option<Columns>), String>) -> Self {
        let (error, (summary, rows)) = match outcome {
            Ok(tables) => (None, tables),
            Err(error) => (Some(error), (Columns::new(), Some(Columns::new()))),
        };
        Self { key: format!("{:016x}", cell.key), what: cell.to_string(), error, summary, rows }
    }
}

/// What there is of a cell.
pub(super) enum Found {
    Whole(Box<Kept>),
    /// Nothing, or no rows although they are wanted.
    Nothing,
    /// A file that is not what was written: why.
    Damaged(String),
}

/// A folder of cells.
pub(super) struct Store {
    cells: PathBuf,
}

impl Store {
    /// The cells in this folder.
    pub(super) fn at(folder: &Path) -> Self {
        Self { cells: folder.join("cells") }
    }

    /// Makes the folder, if it is not there.
    pub(super) fn make(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.cells).map_err(|error| wrong(&self.cells, &error))
    }

    fn path(&self, cell: &Cell<'_>) -> PathBuf {
        self.cells.join(name(cell))
    }

    /// What there is of a cell.
    pub(super) fn find(&self, cell: &Cell<'_>, rows: bool) -> Result<Found, Failure> {
        let path = self.path(cell);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(wrong(&path, &error)),
        };
        Ok(match parse(&bytes) {
            Err(what) => Found::Damaged(format!("{}: {what}", path.display())),
            Ok(kept) if kept.key != format!("{:016x}", cell.key) => {
                Found::Damaged(format!("{}: the cell in it is not that of its name", path.display()))
            }
            Ok(kept) if rows && kept.rows.is_none() => Found::Nothing,
            Ok(kept) => Found::Whole(Box::new(kept)),
        })
    }

    /// Keeps what came of a cell, in place of what is there.
    pub(super) fn keep(&self, cell: &Cell<'_>, kept: &Kept) -> Result<(), Failure> {
        let json = serde_json::to_string(kept).map_err(Failure::malformed)? + "\n";
        let text = format!("{HEAD}{:016x}\n{json}", checksum(json.as_bytes()));
        write_whole(&self.path(cell), text.as_bytes())
    }

    /// Gives files of this sweep's cells that have another number, as in a sweep with fewer seeds, the number that they have
    /// now; how many. A cell's key says whether it is the same.
    pub(super) fn renumber(&self, cells: &[Cell<'_>]) -> Result<usize, Failure> {
        let strangers = self.strangers(cells)?;
        let mut by_key: BTreeMap<String, Vec<&Cell<'_>>> = BTreeMap::new();
        for cell in cells.iter().filter(|_| !strangers.is_empty()) {
            by_key.entry(format!("{:016x}", cell.key)).or_default().push(cell);
        }
        let mut moved = 0;
        for path in strangers {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let same = stem.split_once('-').and_then(|(_, key)| by_key.get(key)).into_iter().flatten();
            let Some(target) = same.map(|cell| self.path(cell)).find(|target| !target.exists()) else { continue };
            match fs::rename(&path, &target) {
                Ok(()) => moved += 1,
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(wrong(&path, &error)),
            }
        }
        Ok(moved)
    }

    /// Files of cells that the sweep does not have: of another sweep, of other machines or jobs, of another version.
    pub(super) fn strangers(&self, cells: &[Cell<'_>]) -> Result<Vec<PathBuf>, Failure> {
        let listed = fs::read_dir(&self.cells).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let listed = match listed {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(|error| wrong(&self.cells, &error))?,
        };
        let is_own = |file: &str| {
            let index = file.split('-').next().and_then(|index| index.parse::<usize>().ok());
            index.and_then(|index| cells.get(index)).is_some_and(|cell| name(cell) == file)
        };
        let names = listed.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut strangers: Vec<String> = names.filter(|file| file.ends_with(".cell") && !is_own(file)).collect();
        strangers.sort();
        Ok(strangers.into_iter().map(|file| self.cells.join(file)).collect())
    }
}

/// What a stranger says that it is.
pub(super) fn what_is(path: &Path) -> Option<String> {
    parse(&fs::read(path).ok()?).ok().map(|kept| kept.what)
}

fn name(cell: &Cell<'_>) -> String {
    format!("{:06}-{:016x}.cell", cell.index, cell.key)
}

fn parse(bytes: &[u8]) -> Result<Kept, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let (head, json) = text.split_once('\n').unwrap_or((text, ""));
    let sum = head.strip_prefix(HEAD).ok_or("not a cell's file")?;
    if *sum != format!("{:016x}", checksum(json.as_bytes())) {
        return Err("its checksum does not fit: cut off or changed".to_owned());
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(bytes);
    hash.finish()
}

/// Writes a file that is there whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let (draft, mut file) = draft(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&draft, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&draft);
        return Err(wrong(path, &error));
    }
    // The name is on disk once its folder is. Not every system can do that with a folder.
    let _ = path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

/// A new file that no other writer has: if another computer has a process of this number, the next name is tried.
fn draft(path: &Path) -> Result<(PathBuf, File), Failure> {
    static WRITINGS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = WRITINGS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}.draft", process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Ok(file) => return Ok((draft, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(&draft, &error)),
        }
    }
}

fn wrong(path: &Path, error: &io::Error) -> Failure {
    Failure::malformed(format_args!("{}: {error}", path.display()))
}
