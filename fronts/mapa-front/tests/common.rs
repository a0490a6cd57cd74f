//! Files that exist only in a test.

use std::collections::BTreeMap;

use mapa_front::{Error, Files};
use mapa_topologies::Dump;

/// Files by name.
#[derive(Default)]
pub(crate) struct InMemory(pub(crate) BTreeMap<String, Vec<u8>>);

impl InMemory {
    pub(crate) fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        self.0.insert(name.to_owned(), bytes.to_owned());
        self
    }
}

impl Files for InMemory {
    fn bytes(&self, file: &str, _: mapa_front::FileKind) -> Result<Vec<u8>, Error> {
        let bytes = self.0.get(file).cloned();
        bytes.ok_or_else(|| Error::at(file, "no such file"))
    }

    fn exists(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn machine(&self, folder: &str) -> Result<Dump, Error> {
        Err(Error::at(folder, "no folder"))
    }
}
