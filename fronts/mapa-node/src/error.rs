//! Why a command of the node has no answer.

use std::fmt;

use mapa_core::Refusal;

/// Why a command has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The request makes no sense, or something in it cannot be read. The message names the file,
    /// option or id, and what was expected there.
    Malformed(String),
    /// Busy, infeasible, or a limit was reached.
    Refused(Refusal),
    /// The ledger, a process or a file of the system could not be used. The message names it.
    Failed(String),
    /// The ledger's disk is full, or fails for now. The change was not made, and may succeed later.
    Storage(String),
}

impl Error {
    /// A malformed request.
    pub fn malformed(what: impl fmt::Display) -> Self {
        Self::Malformed(mapa_core::shortened(&what.to_string()).into_owned())
    }

    /// Something of the system that could not be used: its name, then what is wrong.
    pub fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Failed(format!("{place}: {what}"))
    }

    /// The exit status of a command that ends with this error. Below 64 and from 125 on it is what
    /// shells and `env` use; the three refusals have numbers of their own among those of sysexits.h.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Malformed(_) => 2,
            // EX_UNAVAILABLE, EX_SOFTWARE, EX_TEMPFAIL: only the last is worth another try.
            Self::Refused(Refusal::Infeasible(_)) => 69,
            Self::Refused(Refusal::LimitReached(_)) => 70,
            Self::Refused(Refusal::Busy(_)) => 75,
            Self::Failed(_) | Self::Storage(_) => 125,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) | Self::Failed(what) | Self::Storage(what) => f.write_str(what),
            Self::Refused(refusal) => {
                let kind = refusal.kind().replace('_', " ");
                write!(f, "{kind}: {refusal}")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<mapa_front::Error> for Error {
    fn from(error: mapa_front::Error) -> Self {
        match error {
            mapa_front::Error::Refused(refusal) => Self::Refused(refusal),
            other => Self::malformed(other),
        }
    }
}

impl From<mapa_core::Error> for Error {
    fn from(error: mapa_core::Error) -> Self {
        Self::malformed(error)
    }
}

impl From<mapa_live::Error> for Error {
    fn from(error: mapa_live::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};

        let what = format!("the ledger: {error}");
        match error.sqlite_error_code() {
            Some(DiskFull | SystemIoFailure) => Self::Storage(what),
            _ => Self::Failed(what),
        }
    }
}
