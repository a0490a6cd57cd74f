//! Printing answers. No other file prints.

use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};
use std::process::ExitCode;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::failure::{Failure, refusal};

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

    /// A JSON object on a line of its own.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(object).map_err(Failure::malformed)?;
        self.line(text)
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
        let (object, code) = match failure {
            Failure::Closed => return ExitCode::SUCCESS,
            // A refusal is a JSON object even without --json, so scripts need not parse sentences.
            Failure::Refused(why) => (Some(refusal(why)), ExitCode::from(3)),
            Failure::NoFit(answer) => (Some(json!(answer)), ExitCode::from(3)),
            Failure::Answered(what) => {
                eprintln!("error: {what}");
                (None, ExitCode::from(2))
            }
            Failure::Malformed(what) => {
                eprintln!("error: {what}");
                (
                    self.json.then(|| json!({ "error": what })),
                    ExitCode::from(2),
                )
            }
        };
        if let Some(object) = object {
            let _ = self.object(&object);
        }
        let _ = self.finish();
        code
    }
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

/// A Markdown table whose columns of `numbers` are right-aligned.
pub(crate) fn table<'h>(
    header: impl IntoIterator<Item = &'h str>,
    numbers: impl IntoIterator<Item = usize>,
) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// GB/s with two decimals, or none where both are zero.
pub(crate) fn gbps(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

/// Seconds, to four significant digits.
pub(crate) fn seconds(value: f64) -> String {
    let decimals = if value > 0.0 {
        (3.0 - value.log10().floor()).clamp(0.0, 15.0) as usize
    } else {
        0
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The value of a score, in the unit that its name ends in.
pub(crate) fn score(name: &str, value: f64) -> String {
    if name.ends_with("_seconds") {
        seconds(value)
    } else {
        gbps(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_need_be() {
        let read = [0.0775, 12.0, 0.000_123_456, 98_765.4, 0.0, f64::INFINITY].map(seconds);
        assert_eq!(read, ["0.0775", "12", "0.0001235", "98765", "0", "inf"]);
        assert_eq!(
            [
                score("step_seconds", 0.0775),
                score("aggregate_gbps", 0.0775)
            ],
            ["0.0775", "0.08"]
        );
    }
}
