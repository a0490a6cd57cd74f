//! What commands print.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use mapa_front::answer::{Malformed, Refusal, Versioned};
use mapa_io::{StandardError, StandardOutput, message, printable, printable_json};
use serde::Serialize;

use crate::error::Error;

/// Why a part of the answers could not be written. Standard output belongs to the process, and so does this.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Where answers go. What a terminal would obey is escaped: nothing else prints.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether answers are JSON.
    pub json: bool,
}

impl Output {
    /// A line on standard output. What cannot be written shows in [`status`](Self::status): the command may have
    /// changed something by then, and goes on.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        self.written(&printable(text.as_ref()));
    }

    fn written(self, line: &str) {
        let mut output = StandardOutput::new();
        if let Err(error) = writeln!(output, "{line}").and_then(|()| output.flush()) {
            LOST.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
        }
    }

    /// A text that is an answer by itself, such as help.
    pub(crate) fn text(self, text: &str) {
        self.line(text.strip_suffix('\n').unwrap_or(text));
    }

    /// Whether something still takes what is printed.
    pub(crate) fn is_read(self) -> bool {
        LOST.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// The exit status of a command that is done: an answer that was lost is an error. A reader that has closed its end, as `head`
    /// does, has all that it wanted, which is none.
    pub fn status(self, status: u8) -> ExitCode {
        let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take();
        match lost.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            Some(error) if status == 0 => {
                self.aside(format!("standard output: {error}"));
                ExitCode::from(125)
            }
            _ => ExitCode::from(status),
        }
    }

    /// A line on standard error.
    pub fn aside(self, text: impl AsRef<str>) {
        StandardError.line(&format!("mapa: {}", message(text.as_ref())));
    }

    /// A JSON object on standard output.
    pub(crate) fn object(self, answer: &impl Serialize) {
        self.written(&text(answer));
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
        StandardError.line(&text(answer));
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
                error: message(&other.to_string()).into_owned(),
            })),
        };
        if aside {
            StandardError.line(&answer);
        } else {
            self.written(&answer);
        }
    }
}

fn text(answer: &impl Serialize) -> String {
    let json = serde_json::to_string(answer).unwrap_or_default();
    printable_json(&json).into_owned()
}
