//! Errors of workloads, of scheduler orders and of tables.

use mapa_sched::Tenant;

/// Why a workload is invalid, or why a simulation stopped. The message names the line of the file
/// or the job, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// An error with this message: what is wrong with a workload, and what was expected. For
    /// generators and readers outside this crate.
    pub fn malformed(what: impl std::fmt::Display) -> Self {
        ErrorKind::BadWorkload(what.to_string()).into()
    }

    /// The line of the file at fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &*self.0 {
            ErrorKind::BadLine { line, .. } => Some(*line),
            _ => None,
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

impl From<mapa_sched::Error> for Error {
    fn from(error: mapa_sched::Error) -> Self {
        ErrorKind::Sched(error).into()
    }
}

impl From<mapa_table::Error> for Error {
    fn from(error: mapa_table::Error) -> Self {
        let what = error.what().to_owned();
        match error.line() {
            Some(line) => ErrorKind::BadLine { line, what }.into(),
            None => ErrorKind::BadWorkload(what).into(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("line {line}: {what}")]
    BadLine { line: usize, what: String },
    #[error("{0}")]
    BadWorkload(String),
    #[error("the scheduler ordered {order} for {tenant}: {what}")]
    BadOrder {
        order: &'static str,
        tenant: Tenant,
        what: &'static str,
    },
    #[error(
        "the scheduler ordered {0}, which the simulator does not carry out: \
         expected launches, places, moves, suspensions, repartitions, guards, rejections and wakes"
    )]
    Unsupported(&'static str),
    #[error("job {job}: {what}")]
    BadJob { job: u64, what: String },
    #[error(
        "after {0} wakes at one moment the scheduler still asks to be woken at that moment: \
         it never lets time go on; expected a later moment"
    )]
    Stuck(u64),
    #[error("table: {0}")]
    BadTable(String),
    #[error("table, as {format}: {what}")]
    Unwritten { format: &'static str, what: String },
    #[error(transparent)]
    Core(mapa_core::Error),
    #[error(transparent)]
    Sched(mapa_sched::Error),
}
