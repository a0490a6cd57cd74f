//! Runs programs under the manager of shared instances.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mapa_case::Error;
use mapa_system_case_manager::{ManagerArgs, manage};

mod cc;
mod front;
mod run;
mod trace;

/// Lets programs share instances of GPUs.
#[derive(Parser)]
#[command(name = "mapa-case", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a CUDA program with CASE's pass.
    Cc(cc::Cc),
    /// Let processes share instances of GPUs: each task asks for its memory first.
    Manager(Box<ManagerArgs>),
    /// Run a program against a CUDA runtime without GPU and print its tasks, a JSON line an event.
    Trace(trace::Trace),
    /// Run a program under the manager.
    Run(run::Run),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Cc(args) => cc::cc(&args),
        Command::Manager(args) => Ok(manage(&args)),
        Command::Trace(args) => trace::trace(&args),
        Command::Run(args) => run::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mapa-case: {error}");
            // As `mapa run` has it: what can never be had, or what failed.
            let never = error
                .downcast_ref()
                .is_some_and(|error| matches!(error, Error::OutOfMemory));
            ExitCode::from(if never { 69 } else { 125 })
        }
    }
}
