//! Reading and writing the files that the command line names.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use mapa_front::{Error, Files};
use mapa_topologies::Dump;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::time_limit::{self, Draft};

/// The files of this machine, and standard input.
#[derive(Clone, Copy, Debug)]
pub struct LocalFiles;

impl Files for LocalFiles {
    fn bytes(&self, file: &str) -> Result<Vec<u8>, Error> {
        read(file).map_err(|error| Error::at(file, error))
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

fn read(file: &str) -> io::Result<Vec<u8>> {
    // A file may be a pipe whose other end takes its time.
    time_limit::unlimited(|| {
        if file != "-" {
            return fs::read(file);
        }
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// The bytes of a file, or of standard input for `-`.
pub fn bytes(file: &str) -> Result<Vec<u8>, Failure> {
    Ok(LocalFiles.bytes(file)?)
}

/// The text of a file, or of standard input for `-`. It must be UTF-8.
pub fn text(file: &str) -> Result<String, Failure> {
    Ok(LocalFiles.text(file)?)
}

/// Writes a file that a user named.
pub fn write(file: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    let _held = time_limit::hold();
    fs::write(file, contents).map_err(|error| Failure::at(file.display(), error))
}

/// Makes a folder and its parents, if they do not exist.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::at(folder.display(), error))
}

/// Writes a file atomically, as [`WholeFile`] does.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let mut file = WholeFile::at(path)?;
    file.write_all(contents)
        .map_err(|error| Failure::at(path.display(), error))?;
    file.finish()
}

/// A file that is written atomically: a reader sees the old contents, or all of the new ones. The
/// draft has a random name that ends in `.draft`, and is brought to disk before it is renamed. A
/// killed process leaves its draft behind; one that is dropped unfinished is deleted.
pub struct WholeFile {
    path: PathBuf,
    draft: BufWriter<NamedTempFile>,
    noted: Draft,
}

impl WholeFile {
    /// A draft of the file at this path, which stays as it is for now.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let _held = time_limit::hold();
        let draft =
            draft_in(folder_of(path)).map_err(|error| Failure::at(path.display(), error))?;
        Ok(Self {
            path: path.to_owned(),
            noted: Draft::new(draft.path()),
            draft: BufWriter::new(draft),
        })
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts what was written in the place of the file.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { path, draft, noted } = self;
        let _held = time_limit::hold();
        let draft = draft.into_inner().map_err(io::IntoInnerError::into_error);
        let written = draft.and_then(|draft| {
            // The bytes come first: a rename that reaches the disk before them would name an empty file.
            draft.as_file().sync_all()?;
            draft.persist(&path).map_err(|failed| failed.error)
        });
        drop(noted);
        written.map_err(|error| Failure::at(path.display(), error))?;
        // The new name is on disk once its folder is. Some systems cannot sync a folder.
        let _ = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush()
    }
}

impl fmt::Debug for WholeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WholeFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// An empty file beside the one it will replace, so that renaming it stays on one file system.
fn draft_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut draft = tempfile::Builder::new();
    draft.suffix(".draft");
    // Temporary files are private by default, but results are shared like any other new file.
    #[cfg(unix)]
    draft.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    draft.tempfile_in(folder)
}
