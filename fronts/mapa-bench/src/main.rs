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
mod features;
mod left_out;
mod names;
#[cfg(feature = "plots")]
mod plots;
mod systems;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use cli::{Cli, Command, General};
use mapa_cli::{Failure, Output, within};
use mapa_front::shell;

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    // An error of the words themselves is an object too.
    let json = words.iter().any(|word| word == "--json");
    // clap demands a machine, so the default one has to be there before it reads the words.
    let words = match defaults::with_machine(words) {
        Ok(words) => words,
        Err(failure) => return Output::new(json).fail(&failure),
    };
    let cli = match Cli::read(&words) {
        Ok(cli) => cli,
        Err(told) => {
            let told = shell::with_help(told, &words, || Cli::for_words(&words), cli::groups);
            return Output::new(json).arguments(told, |option| defaults::takes(&words, option));
        }
    };
    match cli.limit {
        Some((limit, time)) => within(limit, time, cli.json, || answer(&cli)),
        None => answer(&cli),
    }
}

/// Runs the command, and prints why if there is no answer.
fn answer(cli: &Cli) -> ExitCode {
    let mut output = Output::new(cli.json);
    let done = match &cli.command {
        Command::General(own) => run(own, &mut output),
        Command::Brought(row, matches) => row.run(matches, &mut output),
    };
    // Output is buffered, so an error of writing may show only here.
    match done.and_then(|()| output.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.fail(&failure),
    }
}

/// Runs a command of this program itself.
fn run(command: &General, output: &mut Output) -> Result<(), Failure> {
    match command {
        General::Machines(args) => commands::machines(args, output),
        General::Topo(args) => commands::topo(args, output),
        General::Match(args) => commands::find_matches(args, output),
        General::Allocate(args) => commands::allocate(args, output),
        General::Compare(args) => commands::compare(args, output),
        General::Score(args) => commands::score(args, output),
        #[cfg(feature = "fit")]
        General::Fit(args) => commands::fit(args, output),
        #[cfg(not(feature = "fit"))]
        General::Fit => features::require("fit", "fit"),
        General::Mig(args) => commands::mig(args, output),
        General::Pattern(args) => commands::pattern(args, output),
        General::Sensitivity(args) => commands::sensitivity(args, output),
        General::Simulate(args) => commands::simulate(args, output),
        General::Sweep(args) => commands::sweep(args, output),
        General::Defrag(args) => commands::defrag(args, output),
        #[cfg(feature = "fit")]
        General::Measured(args) => commands::measured(args, output),
        #[cfg(not(feature = "fit"))]
        General::Measured => features::require("fit", "measured"),
        #[cfg(feature = "experiments")]
        General::Reproduce(args) => commands::reproduce(args, output),
        #[cfg(not(feature = "experiments"))]
        General::Reproduce => features::require("experiments", "reproduce"),
        General::Read(args) => commands::read_files(args, output),
        General::Completions(args) => commands::completions(args.shell, output),
        General::Man(args) => commands::man(&args.into, output),
    }
}
