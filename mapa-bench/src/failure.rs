//! Why a command has no answer.

use std::fmt;

use mapa_core::Refusal;

pub(crate) enum Failure {
    /// The request makes no sense, or something in it cannot be read: exit status 2.
    Malformed(String),
    /// The machine cannot do it: exit status 3.
    Refused(Refusal),
    /// The reader of our output has gone: nothing is left to say.
    Closed,
}

impl Failure {
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
