//! The error of this crate: why no machine was discovered.

use mapa_topologies::ErrorKind;

/// Why a source gave no machine, or no source did. The message of [`discover`](crate::discover)
/// names every source, where it was looked for, and what it lacked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(SourceErrorKind);

#[derive(Debug, thiserror::Error)]
enum SourceErrorKind {
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    TooLarge(String),
    #[error(transparent)]
    Rejected(mapa_topologies::Error),
}

impl Error {
    pub(crate) fn unavailable(what: impl Into<String>) -> Self {
        Self(SourceErrorKind::Unavailable(what.into()))
    }

    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self(SourceErrorKind::Failed(what.into()))
    }

    pub(crate) fn too_large(what: impl Into<String>) -> Self {
        Self(SourceErrorKind::TooLarge(what.into()))
    }

    /// Whether a file, library or command could not be read, loaded or run.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self.0,
            SourceErrorKind::Unavailable(_) | SourceErrorKind::Failed(_)
        )
    }

    /// Whether a driver is there and did not answer: it may do so later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self.0, SourceErrorKind::Failed(_))
    }

    /// Whether there were more files or folders than any machine needs.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        match &self.0 {
            SourceErrorKind::TooLarge(_) => true,
            SourceErrorKind::Rejected(error) => error.kind() == ErrorKind::TooLarge,
            SourceErrorKind::Unavailable(_) | SourceErrorKind::Failed(_) => false,
        }
    }

    /// The error of a reader, if a source answered and a reader rejected the answer.
    #[must_use]
    pub fn rejected(&self) -> Option<&mapa_topologies::Error> {
        match &self.0 {
            SourceErrorKind::Rejected(error) => Some(error),
            _ => None,
        }
    }
}

impl From<mapa_topologies::Error> for Error {
    fn from(error: mapa_topologies::Error) -> Self {
        Self(SourceErrorKind::Rejected(error))
    }
}
