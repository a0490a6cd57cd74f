//! What a front lends to a request that names files.

use std::collections::BTreeMap;

use mapa_topologies::Dump;

use crate::error::Error;

/// The files that a request may name. A front reads them: this crate does no I/O.
pub trait Files {
    /// The bytes of a file; of standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be read: the message begins with its name.
    fn bytes(&self, file: &str) -> Result<Vec<u8>, Error>;

    /// Whether a file or folder of this name exists.
    fn exists(&self, name: &str) -> bool;

    /// Whether the name is that of a folder.
    fn is_folder(&self, name: &str) -> bool;

    /// The machine that a folder describes: AMD KFD's tree.
    ///
    /// # Errors
    /// If the folder is no such tree: the message says what is wrong, without the folder's name.
    fn machine(&self, folder: &str) -> Result<Dump, Error>;

    /// The text of a file, which must be UTF-8.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes); or if the file is not UTF-8: the message names the line.
    fn text(&self, file: &str) -> Result<String, Error> {
        String::from_utf8(self.bytes(file)?).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            // Files in another encoding are mostly text, so a line is easier to find than a byte.
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            Error::at(file, format_args!("line {line}: expected text in UTF-8"))
        })
    }

    /// The text of a log. Programs print what they like between the lines that are read, so bytes that are not UTF-8
    /// are replaced.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    fn log(&self, file: &str) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.bytes(file)?).into_owned())
    }
}

/// Files that exist in memory only, by name: what a program without a disk lends to its requests. A machine's description
/// is named in a request as any other file.
///
/// # Examples
/// ```
/// use mapa_front::{InMemory, MachineSpec};
///
/// let files = InMemory::default().with("my-server.toml", mapa_topologies::named("dgx-1v")?.to_toml()?);
/// let loaded = MachineSpec::named("my-server.toml").load(&files, &mut |_| {})?;
/// assert_eq!(loaded.graph().wholes().len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct InMemory(BTreeMap<String, Vec<u8>>);

impl InMemory {
    /// These files, and one of this name with this contents.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.insert(name.into(), bytes.into());
        self
    }
}

impl Files for InMemory {
    fn bytes(&self, file: &str) -> Result<Vec<u8>, Error> {
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
        Err(Error::at(folder, "no such folder"))
    }
}
