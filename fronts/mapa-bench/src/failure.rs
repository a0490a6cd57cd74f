//! Why a command has no answer.

use std::{fmt, io};

use mapa_core::Refusal;
use mapa_front::answer;
use serde_json::{Map, Value, json};

pub(crate) enum Failure {
    /// The request makes no sense, or something in it cannot be read: exit status 2.
    Malformed(String),
    /// A malformed request whose answer is already complete on standard output: exit status 2, and
    /// no further JSON object.
    Answered(String),
    /// A refusal (busy, infeasible or limit reached): exit status 3.
    Refused(Refusal),
    /// The wanted instances cannot exist at once: exit status 3. The object has the keys of the
    /// command's other answers and those of a refusal.
    NoFit(Map<String, Value>),
    /// No moves of jobs make room for what was wanted: exit status 3.
    NoPlan(Box<answer::defrag::Defrag>),
    /// The reader of the output has closed its end, so there is nothing left to print.
    Closed,
}

impl Failure {
    /// An answer that could not be written. Readers such as `head` close the pipe once they have
    /// seen enough, which is no error.
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

    /// An error in a file or an option: the name of the file or option, then what is wrong.
    pub(crate) fn at(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Malformed(format!("{place}: {what}"))
    }

    /// A malformed request with `place` before its message. Refusals stay as they are.
    pub(crate) fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Malformed(what) => Self::at(place, what),
            other => other,
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

/// The JSON object of a refusal, the same in every command and output form.
pub(crate) fn refusal(refusal: &Refusal) -> Value {
    json!({ "refusal": refusal.kind(), "reason": refusal.to_string() })
}
