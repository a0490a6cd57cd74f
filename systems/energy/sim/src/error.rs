//! What can be wrong with days of jobs, and why a run stopped.

/// Why a day of jobs is invalid, or why a run of it stopped.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<mapa_sched::Error> for Error {
    fn from(error: mapa_sched::Error) -> Self {
        ErrorKind::Scheduling(error).into()
    }
}

impl From<mapa_sim::Error> for Error {
    fn from(error: mapa_sim::Error) -> Self {
        ErrorKind::Simulation(error).into()
    }
}

impl From<mapa_system_energy::Error> for Error {
    fn from(error: mapa_system_energy::Error) -> Self {
        ErrorKind::Rules(error).into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("{0}")]
    BadDay(String),
    #[error(transparent)]
    Scheduling(mapa_sched::Error),
    #[error(transparent)]
    Simulation(mapa_sim::Error),
    #[error(transparent)]
    Rules(mapa_system_energy::Error),
}
