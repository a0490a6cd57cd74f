//! `mapa-bench`: explore machines and allocations from the command line.
//!
//! Every command prints text, or with `--json` one JSON object. Exit status: 0 an answer, 2 a
//! malformed request (the error goes to standard error, and with `--json` to standard output too),
//! 3 a refusal.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `output` prints"
)]

mod cli;
mod commands;
mod defaults;
mod discovery;
mod failure;
mod features;
mod files;
mod machine;
mod names;
mod output;
#[cfg(feature = "plots")]
mod plots;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use output::Output;

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    let words = match defaults::with_machine(words) {
        Ok(words) => words,
        Err(failure) => return Output::new(false).fail(&failure),
    };
    let cli = Cli::parse_from(words);
    let mut output = Output::new(cli.json);
    let done = match &cli.command {
        Command::Machines(args) => commands::machines(args, &mut output),
        Command::Topo(args) => commands::topo(args, &mut output),
        Command::Match(args) => commands::find_matches(args, &mut output),
        Command::Allocate(args) => commands::allocate(args, &mut output),
        Command::Compare(args) => commands::compare(args, &mut output),
        Command::Score(args) => commands::score(args, &mut output),
        Command::Fit(args) => commands::fit(args, &mut output),
        Command::Mig(args) => commands::mig(args, &mut output),
        Command::Pattern(args) => commands::pattern(args, &mut output),
        Command::Sensitivity(args) => commands::sensitivity(args, &mut output),
        Command::Simulate(args) => commands::simulate(args, &mut output),
        Command::Slo(args) => commands::slo(args, &mut output),
        Command::Sweep(args) => commands::sweep(args, &mut output),
        Command::Tune(args) => commands::tune(args, &mut output),
        Command::Defrag(args) => commands::defrag(args, &mut output),
        Command::Measured(args) => commands::measured(args, &mut output),
        Command::Profile(args) => commands::profile(args, &mut output),
        Command::Contention(args) => commands::contention(args, &mut output),
        #[cfg(feature = "experiments")]
        Command::Reproduce(args) => commands::reproduce(args, &mut output),
        #[cfg(not(feature = "experiments"))]
        Command::Reproduce(_) => features::require("experiments", "reproduce"),
        #[cfg(feature = "experiments")]
        Command::Train(args) => commands::train(args, &mut output),
        #[cfg(not(feature = "experiments"))]
        Command::Train(_) => features::require("experiments", "train"),
        Command::Read(args) => commands::read_files(args, &mut output),
        Command::Completions { shell } => commands::completions(*shell, &mut output),
        Command::Man { into } => commands::man(into, &mut output),
        #[cfg(feature = "experiments")]
        Command::Workers(args) => commands::workers(args, &mut output),
    };
    match done.and_then(|()| output.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.fail(&failure),
    }
}
