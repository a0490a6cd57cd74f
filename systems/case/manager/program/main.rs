//! Runs programs under the manager of shared instances.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mapa_case::Error;
use mapa_io::{StandardError, StandardOutput, coloured, message, shows_colours};
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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => return show(&told),
    };
    let done = match cli.command {
        Command::Cc(args) => cc::cc(&args),
        Command::Manager(args) => Ok(manage(&args)),
        Command::Trace(args) => trace::trace(&args),
        Command::Run(args) => run::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            StandardError.line(&message(&format!("mapa-case: {error}")));
            // As `mapa run` has it: what can never be had, or what failed.
            let never = error
                .downcast_ref()
                .is_some_and(|error| matches!(error, Error::OutOfMemory));
            ExitCode::from(if never { 69 } else { 125 })
        }
    }
}

/// Shows what clap says of the words: help, which is an answer, or what is wrong with them.
fn show(told: &clap::Error) -> ExitCode {
    let text = told.render();
    let (plain, ansi) = (text.to_string(), text.ansi().to_string());
    let status = u8::try_from(told.exit_code()).unwrap_or(2);
    if status != 0 {
        let _ = StandardError
            .write_all(coloured(&plain, &ansi, shows_colours(&io::stderr())).as_bytes());
        return ExitCode::from(status);
    }
    let mut output = StandardOutput::new();
    let shown = coloured(&plain, &ansi, shows_colours(&io::stdout()));
    match output
        .write_all(shown.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            StandardError.line(&format!("mapa-case: standard output: {error}"));
            ExitCode::from(125)
        }
        _ => ExitCode::SUCCESS,
    }
}
