//! What can be wrong with jobs, machines, prices and weights.

/// Why a job, a machine, a start, prices or weights are invalid, or a bound cannot be computed.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// Whether the error is that a linear program is too large for its solver.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(&*self.0, ErrorKind::Scheduling(error) if error.is_too_large())
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

impl From<mapa_sched::Error> for Error {
    fn from(error: mapa_sched::Error) -> Self {
        ErrorKind::Scheduling(error).into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("{0}")]
    BadSliceMachine(String),
    #[error("start: {0}")]
    BadStart(String),
    #[error("{0}")]
    BadPrices(String),
    #[error("{0}")]
    BadSlots(String),
    #[error("{0}")]
    BadSchedule(String),
    #[error("weights: {0}")]
    BadWeights(String),
    #[error(transparent)]
    Core(mapa_core::Error),
    #[error(transparent)]
    Scheduling(mapa_sched::Error),
}
