//! What can be wrong with what a driver or a scheduler says.

use mapa_core::{MachineId, Reason, Refusal};

use crate::job::{JobId, Tenant};

/// Why an event or an order is invalid. A valid request that cannot be met gets a
/// [`Refusal`](mapa_core::Refusal) instead.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// An error of a lower bound: what is wrong with its input, and what was expected.
    pub fn bound(what: impl std::fmt::Display) -> Self {
        ErrorKind::BadBound(what.to_string()).into()
    }

    /// Whether the error is that the fleet has no machine of this id.
    #[must_use]
    pub fn is_unknown_machine(&self) -> bool {
        matches!(*self.0, ErrorKind::UnknownMachine { .. })
    }

    /// Whether the error is that a linear program is too large for its solver.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(*self.0, ErrorKind::ProgramTooLarge { .. })
    }

    /// Whether the error is that a tenant holds no lease.
    #[must_use]
    pub fn is_unknown_tenant(&self) -> bool {
        matches!(*self.0, ErrorKind::HoldsNothing(_))
    }
}

impl Error {
    /// The refusal of a decision that could not be booked.
    pub(crate) fn into_refusal(self) -> Refusal {
        match *self.0 {
            ErrorKind::Core(error) => Refusal::from_commit(error),
            other => Refusal::Busy(Reason::Rule(other.to_string().into())),
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<mapa_core::Error> for Error {
    fn from(error: mapa_core::Error) -> Self {
        ErrorKind::Core(error).into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("no machine {id}: expected an id below {machines}")]
    UnknownMachine { id: MachineId, machines: usize },
    #[error("snapshot of a fleet: {0}")]
    BadSnapshot(String),
    #[error("{0} holds no lease")]
    HoldsNothing(Tenant),
    #[error("job {job} cannot be adopted: {why}")]
    NotAdopted { job: JobId, why: String },
    #[error("no scheduler is called `{name}`: expected {known}")]
    UnknownScheduler { name: String, known: String },
    #[error("scheduler `{scheduler}`: {error}")]
    BadSetting {
        scheduler: String,
        error: mapa_core::Error,
    },
    #[error("{0}")]
    BadSliceJob(String),
    #[error("{0}")]
    BadPower(String),
    #[error("bound: {0}")]
    BadBound(String),
    #[error(
        "linear program of {columns} columns is too large for microlp: expected at most {most}; use fewer slots"
    )]
    ProgramTooLarge { columns: usize, most: usize },
    #[error("linear program: {0}")]
    Solver(String),
    #[error(transparent)]
    Core(mapa_core::Error),
}
