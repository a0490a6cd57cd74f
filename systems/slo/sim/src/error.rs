//! What can be wrong with scenarios and tenants.

/// Why a scenario or a file of tenants is invalid, or why a run stopped.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<mapa_system_slo::Error> for Error {
    fn from(error: mapa_system_slo::Error) -> Self {
        ErrorKind::Controller(error).into()
    }
}

impl From<mapa_sim::Error> for Error {
    fn from(error: mapa_sim::Error) -> Self {
        ErrorKind::Simulation(error).into()
    }
}

impl From<mapa_table::Error> for Error {
    fn from(error: mapa_table::Error) -> Self {
        // As every reader of tables says it: the line, and what was expected there.
        mapa_sim::Error::from(error).into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("{0}")]
    BadSlo(String),
    #[error(transparent)]
    Controller(mapa_system_slo::Error),
    #[error(transparent)]
    Simulation(mapa_sim::Error),
}
