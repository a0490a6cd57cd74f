//! What commands print.

use std::io::{self, Write};

use mapa_front::answer::{Malformed, Refusal, Versioned};
use serde::Serialize;

use crate::error::Error;

/// Where answers go. A reader that has closed its end, as `head` does, is no error.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether answers are JSON.
    pub json: bool,
}

impl Output {
    /// A line on standard output.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        // A write fails where the reader has gone. The command has done its work by then, so this is no error.
        drop(writeln!(io::stdout().lock(), "{}", text.as_ref()));
    }

    /// A line on standard error.
    pub fn aside(self, text: impl AsRef<str>) {
        drop(writeln!(io::stderr().lock(), "mapa: {}", text.as_ref()));
    }

    /// A JSON object on standard output.
    pub(crate) fn object(self, answer: &impl Serialize) {
        self.line(text(answer));
    }

    /// An answer of `mapa`: as JSON, or shown by this.
    pub(crate) fn answer<A: Serialize>(self, answer: A, show: impl FnOnce(&A)) {
        if self.json {
            self.object(&Versioned::of_node(answer));
        } else {
            show(&answer);
        }
    }

    /// A JSON object on standard error: standard output is the job's.
    pub(crate) fn object_aside(self, answer: &impl Serialize) {
        drop(writeln!(io::stderr().lock(), "{}", text(answer)));
    }

    /// An error: on standard error for people; as JSON on standard output, but for `run`.
    // `run` leaves standard output to its command.
    pub fn fail(self, error: &Error, aside: bool) {
        if !self.json {
            self.aside(error.to_string());
            return;
        }
        let answer = match error {
            Error::Refused(refusal) => text(&Versioned::new(Refusal::from(refusal))),
            other => text(&Versioned::new(Malformed {
                error: other.to_string(),
            })),
        };
        if aside {
            drop(writeln!(io::stderr().lock(), "{answer}"));
        } else {
            self.line(answer);
        }
    }
}

fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}
