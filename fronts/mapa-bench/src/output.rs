//! Printing answers. No other file prints.

use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mapa_front::answer::{Malformed, Refusal, Versioned};
use serde::Serialize;

use crate::failure::Failure;

pub(crate) struct Output {
    pub(crate) json: bool,
    out: BufWriter<Stdout>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            out: BufWriter::new(io::stdout()),
        }
    }

    /// A line of text.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(|error| Failure::writing(&error))
    }

    /// A JSON object on a line of its own, with the version of its form. Keys are in the order of
    /// the alphabet.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        self.line(in_order(object)?)
    }

    /// Flushes standard output, so that a program at the other end can reply.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| Failure::writing(&error))
    }

    /// Prints a warning to standard error: something is odd, and the command goes on.
    #[expect(clippy::print_stderr, reason = "warnings belong on standard error")]
    pub(crate) fn warn(&self, warning: impl Display) {
        eprintln!("warning: {warning}");
    }

    /// Prints why there is no answer; returns the exit status.
    #[expect(clippy::print_stderr, reason = "errors belong on standard error")]
    pub(crate) fn fail(&mut self, failure: &Failure) -> ExitCode {
        let code = match failure {
            Failure::Closed => return ExitCode::SUCCESS,
            // A refusal is a JSON object even without --json, so scripts need not parse sentences.
            Failure::Refused(why) => {
                let _ = self.object(&Refusal::from(why));
                ExitCode::from(3)
            }
            Failure::NoFit(answer) => {
                let _ = self.object(answer);
                ExitCode::from(3)
            }
            Failure::Answered(what) => {
                eprintln!("error: {what}");
                ExitCode::from(2)
            }
            Failure::Malformed(what) => {
                eprintln!("error: {what}");
                if self.json {
                    let _ = self.object(&Malformed {
                        error: what.clone(),
                    });
                }
                ExitCode::from(2)
            }
        };
        let _ = self.finish();
        code
    }
}

/// An answer as JSON, with the version of its form. Keys are in the order of the alphabet.
pub(crate) fn in_order(answer: &impl Serialize) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(Versioned::new(answer)).map_err(Failure::malformed)
}

/// A progress bar on standard error; hidden with `--json`, or where standard error is no terminal.
pub(crate) fn progress(
    steps: usize,
    template: &str,
    output: &Output,
) -> Result<ProgressBar, Failure> {
    let target = if output.json {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
    bar.set_style(ProgressStyle::with_template(template).map_err(Failure::malformed)?);
    Ok(bar)
}
