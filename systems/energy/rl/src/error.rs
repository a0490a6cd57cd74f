//! What can be wrong with a training.

/// Why a training cannot be started, go on or be resumed. The message says what was expected.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<mapa_system_energy::Error> for Error {
    fn from(error: mapa_system_energy::Error) -> Self {
        ErrorKind::Sched(error).into()
    }
}

impl From<mapa_system_energy_sim::Error> for Error {
    fn from(error: mapa_system_energy_sim::Error) -> Self {
        ErrorKind::Sim(error).into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("day of jobs: {0}")]
    BadDay(String),
    #[error("actions: {0}")]
    BadActions(String),
    #[error("training: `{key}` is {value}: expected {expected}")]
    BadConfig {
        key: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error("checkpoint: {0}")]
    BadCheckpoint(String),
    #[error("threads: {0}")]
    Threads(rayon::ThreadPoolBuildError),
    #[error(transparent)]
    Sched(mapa_system_energy::Error),
    #[error(transparent)]
    Sim(mapa_system_energy_sim::Error),
}
