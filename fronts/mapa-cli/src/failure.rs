//! Why a command has no answer.

use std::{fmt, io};

use mapa_core::Refusal;
use serde::Serialize;
use serde_json::Value;

/// Why a command has no answer.
#[derive(Debug)]
pub enum Failure {
    /// The request makes no sense, or something in it cannot be read: exit status 2.
    Malformed(String),
    /// A malformed request whose answer is already complete on standard output: exit status 2, and
    /// no further JSON object.
    Answered(String),
    /// A refusal (busy, infeasible or limit reached): exit status 3.
    Refused(Refusal),
    /// What is wanted cannot be had: exit status 3. The answer has the keys of the command's other
    /// answers and those of a refusal.
    NoFit(Value),
    /// The time limit ended the command, and how far it came: exit status 3.
    Late(String),
    /// The reader of the output has closed its end, so there is nothing left to print.
    Closed,
}

impl Failure {
    /// An answer that could not be written. Readers such as `head` close the pipe once they have
    /// seen enough, which is no error.
    pub fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Malformed(format!("standard output: {error}"))
        }
    }

    /// A malformed request, in words.
    pub fn malformed(what: impl fmt::Display) -> Self {
        Self::Malformed(what.to_string())
    }

    /// An error in a file or an option: the name of the file or option, then what is wrong.
    pub fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Malformed(format!("{place}: {what}"))
    }

    /// An answer that says that what is wanted cannot be had, and why.
    pub fn no_fit(answer: &impl Serialize) -> Self {
        serde_json::to_value(answer).map_or_else(Self::malformed, Self::NoFit)
    }

    /// A malformed request with `place` before its message. Refusals stay as they are.
    pub fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Malformed(what) => Self::at(place, what),
            other => other,
        }
    }
}

impl From<mapa_front::Error> for Failure {
    fn from(error: mapa_front::Error) -> Self {
        match error {
            mapa_front::Error::Refused(refusal) => Self::Refused(refusal),
            mapa_front::Error::NoFit(fit) => Self::no_fit(&fit),
            other => Self::malformed(other),
        }
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
