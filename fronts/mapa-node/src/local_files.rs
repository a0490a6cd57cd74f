//! The files that a request names.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use mapa_front::{Error, Files};
use mapa_topologies::Dump;

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
    // As for other programs, `-` is standard input. It can be read once.
    if file != "-" {
        return fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}
