//! Why a command has no answer.

use std::{fmt, io};

use mapa_core::Refusal;
use serde_json::{Map, Value};

pub(crate) enum Failure {
    /// The request makes no sense, or something in it cannot be read: exit status 2.
    Malformed(String),
    /// The same, but every line of the answer is written already.
    Answered(String),
    /// The machine cannot do it: exit status 3.
    Refused(Refusal),
    /// The wanted instances cannot exist at once, as an object of the same keys as other answers and refusals: exit status
    /// 3 too.
    NoFit(Map<String, Value>),
    /// The reader of our output has gone: nothing is left to say.
    Closed,
}

impl Failure {
    /// An answer that could not be written. Readers such as `head` go when they have seen enough: nobody's fault.
    pub(crate) fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Malformed(format!("standard output: {error}"))
        }
    }

    pub(crate) fn malformed(what: impl fmt::Display) -> Self {
        Self::Malformed(what.to_string())
    }
}

impl From<mapa_core::Error> for Failure {
    fn from(error: mapa_core::Error) -> Self {
        Self::malformed(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
