//! Reading and writing the files that the command line names.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use mapa_front::{Error, Files};
use mapa_topologies::Dump;
use tempfile::NamedTempFile;

use crate::failure::Failure;

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
    if file != "-" {
        return fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
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
    fs::write(file, contents).map_err(|error| Failure::at(file.display(), error))
}

/// Makes a folder and its parents, if they do not exist.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::at(folder.display(), error))
}

/// Writes a file atomically: a reader sees the old contents, or all of the new ones. The draft has
/// a random name that ends in `.draft`, and is brought to disk before it is renamed. A killed
/// process leaves its draft behind.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let written = draft_in(folder).and_then(|mut draft| {
        draft.write_all(contents)?;
        // The bytes come first: a rename that reaches the disk before them would name an empty file.
        draft.as_file().sync_all()?;
        draft.persist(path).map_err(|failed| failed.error)
    });
    written.map_err(|error| Failure::at(path.display(), error))?;
    // The new name is on disk once its folder is. Some systems cannot sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
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
