//! Printing answers. No other file prints.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mapa_front::answer::{Malformed, Refusal, Streamed, Versioned};
use mapa_front::shell;
use mapa_io::{
    StandardError, StandardOutput, coloured, message, printable, printable_json, shows_colours,
    word,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::time_limit::{self, TimeLimit};

/// Where a command prints its answer: lines of text, or one JSON object.
#[derive(Debug)]
pub struct Output {
    /// Whether the answer is one JSON object.
    pub json: bool,
    out: StandardOutput,
    /// Whether standard output is a terminal that shows colours. `NO_COLOR` and `CLICOLOR_FORCE`
    /// are respected.
    colours: bool,
    /// What a pager is to show.
    paged: Option<String>,
}

const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const BOLD: Style = Style::new().bold();

/// The lines of text answers that stand out, by their first word.
const STYLES: [(&str, Style); 7] = [
    ("devices", BOLD),
    ("bandwidth", BOLD),
    ("note", YELLOW),
    ("warning", YELLOW),
    ("waiting", YELLOW),
    ("rejected", YELLOW),
    ("refused", RED),
];

impl Output {
    /// Standard output; with `json`, for one JSON object.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            colours: shows_colours(&io::stdout()),
            out: StandardOutput::new(),
            paged: None,
        }
    }

    /// Collects what follows for a pager, where standard output is a terminal: for long lists.
    pub fn page(&mut self) {
        self.paged = (!self.json && io::stdout().is_terminal()).then(String::new);
    }

    /// A line of text. What a terminal would obey is escaped: nothing else prints.
    pub fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        time_limit::begin_answer();
        let line = line.to_string();
        let line = printable(&line);
        if let Some(paged) = &mut self.paged {
            paged.push_str(&line);
            paged.push('\n');
            return Ok(());
        }
        if !self.colours || self.json {
            return self.written(&line);
        }
        let first = line.split(' ').next().unwrap_or_default();
        let style = STYLES.iter().find(|(word, _)| *word == first);
        let style = style.map_or_else(Style::new, |(_, style)| *style);
        self.written(&format!("{style}{line}{style:#}"))
    }

    /// A text in a format of its own, for a file or another program: only a terminal is spared what it would obey.
    pub fn document(&mut self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.line(text);
        }
        self.written(text)
    }

    fn written(&mut self, line: &str) -> Result<(), Failure> {
        time_limit::begin_answer();
        writeln!(self.out, "{line}").map_err(|error| Failure::writing(&error))
    }

    /// A JSON object on a line of its own, with the version of its form. Keys are in the order of
    /// the alphabet.
    pub fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        let json = in_order(object)?.to_string();
        self.written(&printable_json(&json))
    }

    /// A JSON object on a line of its own, written while it is made. It has the version of its form.
    pub fn streamed(&mut self, object: &Streamed<'_>) -> Result<(), Failure> {
        time_limit::begin_answer();
        serde_json::to_writer(Escaped(&mut self.out), object)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(|error| Failure::writing(&error))
    }

    /// Shows what was collected for a pager, and flushes standard output, so that a program at the
    /// other end can reply.
    pub fn finish(&mut self) -> Result<(), Failure> {
        time_limit::begin_answer();
        // The text is taken first, so that `line` prints it where there is no pager, and does not collect it
        // again.
        if let Some(text) = self.paged.take().filter(|text| !in_pager(text)) {
            self.line(text.trim_end())?;
        }
        self.out.flush().map_err(|error| Failure::writing(&error))
    }

    /// Prints a warning to standard error: something is odd, and the command goes on.
    pub fn warn(&self, warning: impl Display) {
        aside(YELLOW, "warning", &warning.to_string());
    }

    /// Prints what clap says of a command line: help, or what is wrong with it; returns the exit status.
    /// `takes` is whether the command takes an option; it is asked only where the answer depends on it.
    pub fn arguments(&mut self, mut told: clap::Error, takes: impl Fn(&str) -> bool) -> ExitCode {
        if let Some(tip) = machine_tip(&told, takes) {
            let tips = ContextValue::StyledStrs(vec![tip.into()]);
            told.insert(ContextKind::Suggested, tips);
        }
        let status = told.exit_code();
        if status == 0 {
            // Help and versions are answers.
            let text = shown(&told, self.colours);
            let written = write!(self.out, "{text}").map_err(|error| Failure::writing(&error));
            return match written.and_then(|()| self.finish()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => self.fail(&failure),
            };
        }
        let _ = write!(
            StandardError,
            "{}",
            shown(&told, shows_colours(&io::stderr()))
        );
        if self.json {
            let error = shell::fault(&told);
            let _ = self.object(&Malformed { error });
        }
        let _ = self.finish();
        ExitCode::from(u8::try_from(status).unwrap_or(2))
    }

    /// Prints why there is no answer; returns the exit status.
    pub fn fail(&mut self, failure: &Failure) -> ExitCode {
        let code = match failure {
            // The reader has all that it wanted, so this is a success.
            Failure::Closed => return ExitCode::SUCCESS,
            Failure::Refused(why) => {
                // If this cannot be printed either, there is nowhere left to report it.
                let _ = if self.json {
                    self.object(&Refusal::from(why))
                } else {
                    self.line(format_args!("refused   {}: {why}", why.kind()))
                };
                ExitCode::from(3)
            }
            Failure::Late(why) => {
                let _ = if self.json {
                    self.object(&Refusal::new("limit_reached", why))
                } else {
                    self.line(format_args!("refused   limit_reached: {why}"))
                };
                ExitCode::from(3)
            }
            Failure::NoFit(answer) => {
                let _ = if self.json {
                    self.object(answer)
                } else {
                    let reason = answer.get("reason").and_then(serde_json::Value::as_str);
                    self.line(format_args!(
                        "refused   infeasible: {}",
                        reason.unwrap_or_default()
                    ))
                };
                ExitCode::from(3)
            }
            Failure::Answered(what) => {
                error(what);
                ExitCode::from(2)
            }
            Failure::Malformed(what) => {
                error(what);
                if self.json {
                    let _ = self.object(&Malformed {
                        error: message(what).into_owned(),
                    });
                }
                ExitCode::from(2)
            }
        };
        let _ = self.finish();
        code
    }
}

/// What clap says of a command line.
fn shown(told: &clap::Error, colours: bool) -> String {
    let text = told.render();
    coloured(&text.to_string(), &text.ansi().to_string(), colours)
}

/// Runs a command within its time limit. If it has no answer then, the refusal is printed, and the process ends with 3.
pub fn within<T>(
    limit: TimeLimit,
    time: Option<Duration>,
    json: bool,
    work: impl FnOnce() -> T,
) -> T {
    let refuse = move |why| {
        Output::new(json).fail(&Failure::Late(why));
    };
    limit.run(time, refuse, work)
}

/// How the machine is named that a command line lacks, or that stands in it without an option.
fn machine_tip(told: &clap::Error, takes: impl Fn(&str) -> bool) -> Option<String> {
    if lacks_machine(told) {
        let live = if takes("live") {
            "; or --live for this machine"
        } else {
            ""
        };
        return Some(format!(
            "name a machine (`mapa-bench machines` lists them), a file or - for standard input{live}; or set MAPA_MACHINE"
        ));
    }
    let word = word_without_option(told)?;
    takes("machine").then(|| format!("name a machine by its option: --machine {word}"))
}

/// The word that a command does not expect, if it may be the name of a machine.
fn word_without_option(told: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(word)) = told.get(ContextKind::InvalidArg) else {
        return None;
    };
    // clap itself suggests an option that is like a wrong one. A number is more likely that of the GPUs.
    let is_name = !word.starts_with('-') && word != "help" && word.parse::<f64>().is_err();
    let is_unexpected = told.kind() == clap::error::ErrorKind::UnknownArgument;
    (is_unexpected && is_name).then_some(word)
}

/// Whether a command line lacks the machine that its command needs.
fn lacks_machine(told: &clap::Error) -> bool {
    let Some(ContextValue::Strings(missing)) = told.get(ContextKind::InvalidArg) else {
        return false;
    };
    told.kind() == clap::error::ErrorKind::MissingRequiredArgument
        && missing.iter().any(|option| option.starts_with("--machine"))
}

/// The style, where standard error shows colours.
fn on_errors(style: Style) -> Style {
    if shows_colours(&io::stderr()) {
        style
    } else {
        Style::new()
    }
}

fn error(what: &str) {
    aside(RED, "error", what);
}

/// A line on standard error.
fn aside(colour: Style, kind: &str, what: &str) {
    let style = on_errors(colour);
    StandardError.line(&format!("{style}{kind}:{style:#} {}", message(what)));
}

/// JSON on its way to standard output, which `serde_json` writes in pieces: a string is one, but for its escapes.
struct Escaped<'o>(&'o mut StandardOutput);

impl Write for Escaped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A piece ends where a character does.
        match str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(printable_json(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Shows a text in the program that `PAGER` names, by default `less`, which ends at once if the text
/// fits the screen. False if there is none, or it failed and may have shown nothing: `PAGER` is empty, cannot be started,
/// or ends with an error.
fn in_pager(text: &str) -> bool {
    // F ends at once if the text fits the screen, R shows colours, S cuts long lines, X leaves the text on the
    // screen.
    let pager = env::var("PAGER").unwrap_or_else(|_| "less -FRSX".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else {
        return false;
    };
    let started = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    // The pipe is dropped at the end of this block, which is the end of the text for the pager.
    if let Some(mut pipe) = child.stdin.take() {
        // A pager that is left before its end is no error.
        let _ = pipe.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

/// An answer as JSON, with the version of its form. Keys are in the order of the alphabet.
pub fn in_order(answer: &impl Serialize) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(Versioned::new(answer)).map_err(Failure::malformed)
}

/// A progress bar on standard error; hidden with `--json`, or where standard error is no terminal. It counts `unit`, which
/// a time limit tells too.
pub fn progress(
    steps: usize,
    unit: &'static str,
    template: &str,
    output: &Output,
) -> Result<Bar, Failure> {
    let target = if output.json {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
    bar.set_style(ProgressStyle::with_template(template).map_err(Failure::malformed)?);
    time_limit::shows(&bar, unit);
    Ok(Bar(bar))
}

/// A progress bar. What it says may come from outside, and is escaped.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// Says what is being done.
    pub fn say(&self, what: &str) {
        self.0.set_message(word(what).into_owned());
    }

    /// Sets how many steps there are.
    pub fn set_length(&self, steps: u64) {
        self.0.set_length(steps);
    }

    /// Adds so many steps that are to be done.
    pub fn add_length(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    /// Sets how many steps are done.
    pub fn set_done(&self, steps: u64) {
        self.0.set_position(steps);
    }

    /// One step more is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
