//! `mapa-node`: what runs on a machine for as long as it is up. Each service is a subcommand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use mapa_front::shell::CommandGroup;

use crate::cli::{CompletionsArgs, MachineArgs, ManArgs};
use crate::command::ledger_file;
use crate::daemon::{ReplayArgs, replay};
use crate::doctor::{DoctorArgs, doctor};
use crate::error::Error;
use crate::ledger::SHARED;
use crate::output::Output;
use crate::run_daemon::{DaemonArgs, drive};
use crate::shell_files;

use crate::status::status;

/// Services of one machine.
#[derive(Debug, Parser)]
#[command(name = "mapa-node", version)]
pub(crate) struct Daemon {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The ledger [default: as `mapa`].
    #[arg(long, global = true, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Answer in JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What the scheduler of the queue is given.
    #[command(flatten)]
    pub drive: DaemonArgs,
    /// The service.
    #[command(subcommand)]
    pub service: Option<Service>,
}

/// The services.
#[derive(Debug, Subcommand)]
pub(crate) enum Service {
    /// Check this machine's prerequisites, and say how to meet those that are missing.
    Doctor(DoctorArgs),
    /// Replay recorded events to a fresh scheduler, and compare its actions with the recorded ones.
    Replay(ReplayArgs),
    /// Report the state of the daemon.
    Status,
    /// Write completions of the command line for a shell: bash, zsh, fish, elvish or powershell.
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages, one for each command.
    Man(ManArgs),
}

const COMPLETIONS: &str = "\
Examples:
  mapa-node completions bash > ~/.local/share/bash-completion/completions/mapa-node
  mapa-node completions zsh > ~/.zfunc/_mapa-node
  mapa-node completions fish > ~/.config/fish/completions/mapa-node.fish";

/// The services by task.
fn groups() -> Vec<CommandGroup> {
    let group = |heading, commands| CommandGroup { heading, commands };
    vec![
        group("Machine", vec!["doctor"]),
        group("Daemon", vec!["status", "replay"]),
        group("Shell", vec!["completions", "man"]),
    ]
}

/// Runs the program `mapa-node` with these words, the first of which is its own name.
#[must_use]
pub fn daemon(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let cli = match Daemon::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(told) => return shell_files::told(told, &words, Daemon::command, groups),
    };
    let output = Output { json: cli.json };
    match serve(&cli, output) {
        Ok(status) => output.status(status),
        Err(error) => {
            output.fail(&error, false);
            ExitCode::from(error.exit_status())
        }
    }
}

fn serve(cli: &Daemon, output: Output) -> Result<u8, Error> {
    // `replay` uses no ledger, so its path is found only for those that do.
    let is_described = !cli.machine.spec().machine.is_empty();
    let ledger = || ledger_file(cli.ledger.as_deref(), is_described);
    match &cli.service {
        // Status 1 says that the command worked and that its answer is no; errors have other numbers.
        Some(Service::Replay(args)) => return Ok(u8::from(!replay(args, output)?)),
        Some(Service::Doctor(args)) => {
            // Where users share none yet, that is what it says.
            let ledger = ledger().unwrap_or_else(|_| Path::new(SHARED).join("ledger.db"));
            return Ok(u8::from(!doctor(args, &cli.machine, &ledger, output)?));
        }
        Some(Service::Status) => status(&ledger()?, output)?,
        Some(Service::Completions(args)) => {
            shell_files::completions(&Daemon::command(), args, output);
        }
        Some(Service::Man(args)) => {
            shell_files::man(Daemon::command(), &groups(), args, output)?;
        }
        None if cli.drive.scheduler.is_none() && cli.drive.config.is_none() => {
            return Err(Error::malformed(
                "nothing to do: expected --scheduler NAME, --config FILE, or a subcommand (--help)",
            ));
        }
        None => drive(&cli.drive, &cli.machine, &ledger()?, output)?,
    }
    Ok(0)
}
