//! The files that a request names.

use std::path::Path;

use mapa_front::{Error, FileKind, Files};
use mapa_topologies::Dump;

/// The files of this machine, and standard input.
#[derive(Clone, Copy, Debug)]
pub struct LocalFiles;

impl Files for LocalFiles {
    fn bytes(&self, file: &str, kind: FileKind) -> Result<Vec<u8>, Error> {
        mapa_io::read(file, kind.most_bytes()).map_err(|error| Error::at(file, error))
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

/// No files: what others have written into the ledger names none that this program opens. A file that is a device or a
/// FIFO could hold it up for ever, or fill its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn bytes(&self, file: &str, _: FileKind) -> Result<Vec<u8>, Error> {
        Err(Error::at(
            file,
            "the ledger names a file, which is not opened for others: expected a pattern in words or edges",
        ))
    }

    fn exists(&self, _: &str) -> bool {
        false
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn machine(&self, folder: &str) -> Result<Dump, Error> {
        Err(Error::at(folder, "is not opened for others"))
    }
}
