//! Reading and writing the files that the command line names, with errors that name them.
//!
//! A command that is told to write one file twice, or to write a file that it has read, would lose an answer or its input. So
//! [`write()`] refuses that; [`rewrite`] is for files that a command keeps up to date.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mapa_front::{Error, FileKind, Files};
use mapa_topologies::Dump;

use crate::failure::Failure;
use crate::time_limit::{self, Draft};

/// The files of this machine, and standard input.
#[derive(Clone, Copy, Debug)]
pub struct LocalFiles;

impl Files for LocalFiles {
    fn bytes(&self, file: &str, kind: FileKind) -> Result<Vec<u8>, Error> {
        // A stream may have another end that takes its time.
        let read = time_limit::unlimited(|| mapa_io::read(file, kind.most_bytes()));
        let bytes = read.map_err(|error| Error::at(file, error))?;
        if let Some(id) = id(Path::new(file)) {
            with_used(|used| used.read.insert(id));
        }
        Ok(bytes)
    }

    fn exists(&self, name: &str) -> bool {
        Path::new(name).exists()
    }

    fn is_folder(&self, name: &str) -> bool {
        Path::new(name).is_dir()
    }

    fn machine(&self, folder: &str) -> Result<Dump, Error> {
        mapa_live::read_kfd(Path::new(folder)).map_err(Error::malformed)
    }
}

/// The bytes of a file, or of standard input for `-`.
pub fn bytes(file: &str, kind: FileKind) -> Result<Vec<u8>, Failure> {
    Ok(LocalFiles.bytes(file, kind)?)
}

/// The text of a file, or of standard input for `-`. It must be UTF-8.
pub fn text(file: &str, kind: FileKind) -> Result<String, Failure> {
    Ok(LocalFiles.text(file, kind)?)
}

/// A name as a part of a file's name: what could lead out of the folder, or is no plain text, becomes `_`.
///
/// # Examples
/// ```
/// assert_eq!(mapa_cli::files::part("within,model=../m.json"), "within,model=.._m.json");
/// ```
#[must_use]
pub fn part(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.,=+ @".contains(c);
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    // Systems have names of up to 255 bytes.
    plain.take(60).collect()
}

/// Makes a folder and its parents, if they do not exist.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::at(folder.display(), error))
}

/// The files that this process has read and written, by device and inode.
#[derive(Default)]
struct Used {
    read: BTreeSet<(u64, u64)>,
    written: BTreeSet<(u64, u64)>,
}

static USED: Mutex<Option<Used>> = Mutex::new(None);

fn with_used<T>(f: impl FnOnce(&mut Used) -> T) -> T {
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    f(used.get_or_insert_default())
}

/// A regular file by device and inode, whatever name leads to it. Streams and devices may be read and written again.
fn id(path: &Path) -> Option<(u64, u64)> {
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return None;
    }
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((found.dev(), found.ino()))
}

/// Checks that this command has neither read nor written the file.
fn check_unused(path: &Path) -> Result<(), Failure> {
    let Some(id) = id(path) else {
        return Ok(());
    };
    let what = with_used(|used| {
        let was_read = used.read.contains(&id).then_some("read");
        was_read.or_else(|| used.written.contains(&id).then_some("written"))
    });
    what.map_or(Ok(()), |what| {
        let said = format!("this command has {what} it: expected another file");
        Err(Failure::at(path.display(), said))
    })
}

/// Writes a file in one step, as [`mapa_io::WholeFile`] does.
///
/// # Errors
/// It cannot be written; this command has read or written it.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    check_unused(path)?;
    rewrite(path, contents)
}

/// As [`write()`], but also a file that this command has read or written before: one that it adds to or keeps up to date.
///
/// # Errors
/// It cannot be written.
pub fn rewrite(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut file = WholeFile::at(path)?;
    file.write_all(contents.as_ref())
        .map_err(|error| Failure::at(path.display(), error))?;
    file.finish()
}

/// A [`mapa_io::WholeFile`] whose errors name the file.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    file: mapa_io::WholeFile,
    noted: Option<Draft>,
}

impl WholeFile {
    /// A draft of the file at this path, which stays as it is for now.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let _held = time_limit::hold();
        let file =
            mapa_io::WholeFile::at(path).map_err(|error| Failure::at(path.display(), error))?;
        Ok(Self {
            path: path.to_owned(),
            noted: file.draft().map(Draft::new),
            file,
        })
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts what was written in the place of the file.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { path, file, noted } = self;
        let _held = time_limit::hold();
        let finished = file.finish();
        drop(noted);
        finished.map_err(|error| Failure::at(path.display(), error))?;
        // The draft has taken the name, so the file has another inode than before.
        if let Some(id) = id(&path) {
            with_used(|used| used.written.insert(id));
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
