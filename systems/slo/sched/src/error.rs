//! What can be wrong with settings, models and latencies.

/// Why settings, a model or a latency are invalid.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("{0}")]
    BadSlo(String),
}
