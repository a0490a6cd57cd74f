//! What a front lends to a request that names files.

use std::collections::BTreeMap;

use mapa_topologies::Dump;

use crate::error::Error;

/// What a file holds. Each kind has a size that no honest file of it comes near, so that no file can fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The description of a machine, in any form that is read.
    Machine,
    /// A pattern, or a graph.
    Pattern,
    /// Jobs, or a trace.
    Jobs,
    /// A table: measurements, run times, coefficients, prices.
    Table,
    /// What programs print: logs and counters.
    Log,
    /// The source of a program.
    Source,
    /// What a command is told: a request, a configuration, a state.
    Settings,
}

impl FileKind {
    /// The most bytes of such a file.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(mapa_front::FileKind::Machine.most_bytes(), 16 << 20);
    /// ```
    #[must_use]
    pub const fn most_bytes(self) -> u64 {
        match self {
            Self::Machine => mapa_topologies::MAX_BYTES as u64,
            Self::Pattern | Self::Source | Self::Settings => 16 << 20,
            Self::Table => 64 << 20,
            Self::Jobs | Self::Log => 256 << 20,
        }
    }
}

/// The files that a request may name. A front reads them: this crate does no I/O.
pub trait Files {
    /// The bytes of a file; of standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be read, or has more bytes than its kind may have: the message begins with its name.
    fn bytes(&self, file: &str, kind: FileKind) -> Result<Vec<u8>, Error>;

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
    fn text(&self, file: &str, kind: FileKind) -> Result<String, Error> {
        String::from_utf8(self.bytes(file, kind)?).map_err(|error| {
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
    fn log(&self, file: &str, kind: FileKind) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.bytes(file, kind)?).into_owned())
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
    fn bytes(&self, file: &str, kind: FileKind) -> Result<Vec<u8>, Error> {
        let bytes = self.0.get(file);
        let bytes = bytes.ok_or_else(|| Error::at(file, "no such file"))?;
        if bytes.len() as u64 > kind.most_bytes() {
            return Err(Error::at(
                file,
                format_args!("has more than {} bytes", kind.most_bytes()),
            ));
        }
        Ok(bytes.clone())
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
