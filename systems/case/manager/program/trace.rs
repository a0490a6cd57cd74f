//! `mapa-case trace`: runs a program against a CUDA runtime without GPU, and prints its tasks.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use clap::Args;
use fake_cudart::{LIBRARY, REPORT, ReportLine, built_library, read_line};
use mapa_io::{StandardError, StandardOutput, message, printable_json};

/// Status if the program itself ended well, but took memory unasked.
const OBJECTED: u8 = 70;

/// Which program to run.
#[derive(Args)]
pub(crate) struct Trace {
    /// The program and its arguments. What it prints goes to standard error.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

/// The most bytes of a report: some ten million events.
const MOST_BYTES: u64 = 1 << 30;

/// Runs the program, then prints a JSON line an event.
pub(crate) fn trace(args: &Trace) -> Result<ExitCode, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    std::os::unix::fs::symlink(built_library()?.canonicalize()?, work.path().join(LIBRARY))?;
    let report = work.path().join("report");
    fs::write(&report, "")?;
    let (name, rest) = args.command.split_first().ok_or("expected a program")?;
    let mut path = work.path().as_os_str().to_owned();
    if let Some(old) = env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
        path.push(":");
        path.push(old);
    }
    let status = Command::new(name)
        .args(rest)
        .env("LD_LIBRARY_PATH", path)
        .env(REPORT, &report)
        // Everything is granted: there is no manager.
        .env_remove(mapa_case::SOCKET)
        .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?))
        .status()
        .map_err(|e| format!("{}: {e}", name.to_string_lossy()))?;
    let report = String::from_utf8(mapa_io::read(&report, MOST_BYTES)?)?;
    let objections = print(&report)?;
    for objection in &objections {
        StandardError.line(&message(&format!("mapa-case: {objection}")));
    }
    Ok(match code(status) {
        0 if !objections.is_empty() => ExitCode::from(OBJECTED),
        code => ExitCode::from(code),
    })
}

/// Prints the events, and gives the objections. Tasks that a killed process left open end with it.
fn print(report: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut out = StandardOutput::new();
    let mut open = BTreeSet::new();
    let mut objections = Vec::new();
    for line in report.lines() {
        match read_line(line)? {
            ReportLine::Objection { what } => {
                objections.push(what);
                continue;
            }
            ReportLine::Begin { task, .. } => drop(open.insert(task)),
            ReportLine::End { task, .. } => drop(open.remove(&task)),
            ReportLine::Extend { .. } => {}
        }
        writeln!(out, "{}", printable_json(line)).map_err(lost)?;
    }
    for task in open {
        writeln!(
            out,
            "{}",
            serde_json::to_string(&ReportLine::End {
                task,
                bytes: 0,
                warps: 0
            })?
        )
        .map_err(lost)?;
    }
    out.flush().map_err(lost)?;
    Ok(objections)
}

fn lost(error: io::Error) -> String {
    format!("standard output: {error}")
}

/// A program's status; 128 and the signal for one that was killed, as a shell has it.
fn code(status: ExitStatus) -> u8 {
    let killed = status.signal().map_or(1, |s| 128 + s);
    u8::try_from(status.code().unwrap_or(killed)).unwrap_or(1)
}
