//! Runs programs under the manager of shared instances.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mapa_case::Error;

mod run;

/// Runs programs that share an instance of a GPU with others.
#[derive(Parser)]
#[command(name = "mapa-case", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program under the manager.
    Run(run::Run),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mapa-case: {error}");
            // As `mapa run` has it: what can never be had, or what failed.
            let never = error
                .downcast_ref()
                .is_some_and(|own| matches!(own, Error::OutOfMemory));
            ExitCode::from(if never { 69 } else { 125 })
        }
    }
}
