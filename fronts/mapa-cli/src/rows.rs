//! What a system brings to a program of commands: rows that the program lists.

use clap::{ArgMatches, Parser};

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::time_limit::TimeLimit;

/// The arguments of a command that a system brings. Their `after_long_help` is the command's.
pub trait SystemCommand: Parser {
    /// The word that names the command.
    const NAME: &'static str;

    /// The first line of its help, which stands beside its name in lists. These show it without describing the
    /// arguments.
    const ABOUT: &'static str;

    /// Whether lists leave it out.
    const IS_HIDDEN: bool = false;

    /// What it does at its time limit.
    const TIME_LIMIT: TimeLimit = TimeLimit::LONG;

    /// Runs the command.
    ///
    /// # Errors
    /// Why there is no answer.
    fn run(&self, output: &mut Output) -> Result<(), Failure>;
}

/// A command that a system brings: a row of the program's list.
#[derive(Clone, Copy, Debug)]
pub struct CommandRow {
    /// The word that names the command.
    pub name: &'static str,
    /// The first line of its help.
    pub about: &'static str,
    /// Whether lists leave it out.
    pub is_hidden: bool,
    /// What it does at its time limit.
    pub time_limit: TimeLimit,
    /// Its arguments and help texts.
    pub command: fn() -> clap::Command,
    /// Runs the command with what was read of its arguments.
    pub run: fn(&ArgMatches, &mut Output) -> Result<(), Failure>,
}

impl CommandRow {
    /// The row of these arguments.
    pub const fn of<C: SystemCommand>() -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            is_hidden: C::IS_HIDDEN,
            time_limit: C::TIME_LIMIT,
            // A derived parser is named after its crate, and its first line is the comment on the type. Here it is one
            // command of several.
            command: || {
                C::command()
                    .name(C::NAME)
                    .about(C::ABOUT)
                    .long_about(None)
                    .hide(C::IS_HIDDEN)
                    .arg(C::TIME_LIMIT.arg())
            },
            run: |matches, output| {
                let args = C::from_arg_matches(matches).map_err(Failure::malformed)?;
                args.run(output)
            },
        }
    }
}

/// Schedulers to which `simulate` hands over, since what they schedule is no workload of jobs.
#[derive(Clone, Copy, Debug)]
pub struct SimulationRow {
    /// Their names.
    pub schedulers: &'static [&'static str],
    /// Simulates, and prints the answer.
    pub run: fn(&SimulateArgs, &mut Output) -> Result<(), Failure>,
}
