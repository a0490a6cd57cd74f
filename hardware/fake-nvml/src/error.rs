//! The error of this crate: why a machine, a setting or a state file cannot be used.

/// Why a fake cannot be made, or its state cannot be read or changed. The message names the file or
/// setting and ends in what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(.0))]
pub struct Error(String);

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// An error of the file system.
    pub(crate) fn io(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self(format!("{}: {error}", path.display()))
    }
}
