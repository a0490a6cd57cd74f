//! Why a request has no answer.

use std::fmt;

use mapa_core::{Refusal, shortened};

use crate::answer::mig::Fit;
use crate::answer::{self, Malformed, NoAnswer};

/// Why a request has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The request makes no sense, or something in it cannot be read. The message names the file,
    /// line, option or id, and what was expected there.
    Malformed(String),
    /// Busy, infeasible, or a limit was reached.
    Refused(Refusal),
    /// The wanted instances cannot exist at once: the answer that says why.
    NoFit(Box<Fit>),
}

impl Error {
    /// A malformed request. What the message quotes is [`shortened`].
    pub fn malformed(what: impl fmt::Display) -> Self {
        Self::Malformed(shortened(&what.to_string()).into_owned())
    }

    /// An error in a file or an option: the name of the file or option, then what is wrong.
    pub fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::malformed(format_args!("{place}: {what}"))
    }

    /// The error as an answer: the object that a front prints in place of the one that was asked for.
    #[must_use]
    pub fn answer(&self) -> NoAnswer {
        match self {
            Self::Malformed(what) => NoAnswer::Malformed(Malformed {
                error: what.clone(),
            }),
            Self::Refused(why) => NoAnswer::Refused(answer::Refusal::from(why)),
            Self::NoFit(fit) => NoAnswer::NoFit(fit.clone()),
        }
    }

    /// A malformed request with `place` before its message. Other errors stay as they are.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        match self {
            // A refusal is about the machine, so no place in a file explains it.
            Self::Malformed(what) => Self::at(place, what),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => f.write_str(what),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NoFit(fit) => f.write_str(fit.reason.as_deref().unwrap_or("they do not fit")),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<mapa_core::Error> for Error {
    fn from(error: mapa_core::Error) -> Self {
        Self::malformed(error)
    }
}

impl From<mapa_sched::Error> for Error {
    fn from(error: mapa_sched::Error) -> Self {
        Self::malformed(error)
    }
}
