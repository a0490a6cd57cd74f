//! Why a call of the runtime has no success.

use std::fmt;
use std::io;

/// Why a call of the runtime has no success.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// So much memory can never be had on the instance of this process, or on any if it has none.
    OutOfMemory,
    /// The manager cannot be reached: its socket, and what the system says.
    NoManager(String, io::Error),
    /// The manager refuses: a quota, or a call that makes no sense.
    Refused(crate::message::Status),
    /// No task of this number is open.
    NoTask(u64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory => f.write_str(
                "out of memory: the instance of this process, or every instance if it has none, holds less",
            ),
            Self::NoManager(socket, error) => write!(
                f,
                "{socket}: {error}: expected the socket of `mapa-case manager`, or no MAPA_CASE_SOCKET"
            ),
            Self::Refused(status) => write!(f, "the manager refuses: {status}"),
            Self::NoTask(task) => write!(f, "task {task} is not open: expected case_task_begin before"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoManager(_, error) => Some(error),
            _ => None,
        }
    }
}
