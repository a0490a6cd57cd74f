//! The log: on standard error, as text or as JSON, one event a line.

use clap::ValueEnum;
use tracing::Level;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Begins to write. A second call changes nothing.
pub(crate) fn log(form: LogFormat, is_verbose: bool) {
    let level = if is_verbose {
        Level::DEBUG
    } else {
        Level::INFO
    };
    let base = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        // It would be told with `eprintln!`, which panics where standard error is full.
        .log_internal_errors(false)
        .with_target(false);
    // Somebody who has set a log already keeps it.
    let _ = match form {
        LogFormat::Text => base.with_ansi(false).try_init(),
        LogFormat::Json => base.json().flatten_event(true).try_init(),
    };
}
