//! The command line: arguments and help texts. Nothing here reads a file or a machine.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use mapa_cli::TimeLimit;
use mapa_front::shell::CommandGroup;

use crate::features;
use crate::systems::{self, BroughtCommand};

mod allocate;
mod defrag;
mod find_matches;
#[cfg(feature = "fit")]
mod fit;
mod general;
mod job;
#[cfg(feature = "fit")]
mod measured;
mod mig;
mod pattern;
#[cfg(feature = "experiments")]
mod reproduce;
mod score;
mod simulate_help;
mod sweep;
mod topo;

pub(crate) use allocate::{AllocateArgs, CompareArgs};
pub(crate) use defrag::DefragArgs;
pub(crate) use find_matches::MatchArgs;
#[cfg(feature = "fit")]
pub(crate) use fit::FitArgs;
use general::{GENERAL, GeneralCommand};
pub(crate) use general::{General, MachinesArgs};
pub(crate) use job::{ConstraintArgs, JobArgs, PolicyArgs, UseArgs, job_spec};
#[cfg(feature = "fit")]
pub(crate) use measured::{AddArgs, MeasuredAction, MeasuredArgs};
pub(crate) use mig::MigArgs;
#[cfg(feature = "source")]
pub(crate) use pattern::FromSource;
pub(crate) use pattern::{
    EvidenceArgs, FromNccl, FromNvlink, FromParallelism, PatternArgs, PatternFrom, SensitivityArgs,
    ShowPattern, WriteArgs,
};
#[cfg(feature = "experiments")]
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use score::{FlagState, ScoreArgs};
pub(crate) use sweep::{Shard, SweepArgs};
pub(crate) use topo::{ReadArgs, TopoArgs, TopoFormat};

/// Which accelerators should this job get?
#[derive(Parser)]
#[command(version, long_version = features::version(), about, after_long_help = AFTER_HELP)]
struct Options {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit status: 0 an answer, 2 a malformed request, 3 a refusal (busy, infeasible or limit_reached).

Your own machine: mapa-bench topo --live, or
  nvidia-smi topo -m > my-server.txt
  mapa-bench allocate --machine my-server.txt --gpus 4 --sensitive --explain";

/// The command that a command line names, with its arguments.
pub(crate) struct Cli {
    pub(crate) json: bool,
    /// What the command does at its time limit, and the limit; `None` for a command without one.
    pub(crate) limit: Option<(TimeLimit, Option<Duration>)>,
    pub(crate) command: Command,
}

/// A command of this program, or one that a system brings, with what was read of its arguments.
pub(crate) enum Command {
    General(Box<General>),
    Brought(&'static BroughtCommand, ArgMatches),
}

/// A row of the list of commands.
#[derive(Clone, Copy)]
enum Row {
    General(&'static GeneralCommand),
    Brought(&'static BroughtCommand),
}

impl Row {
    /// All commands: the general ones, and behind each those of systems.
    fn all() -> impl Iterator<Item = Self> {
        GENERAL.iter().flat_map(|row| {
            let behind = systems::COMMANDS.iter();
            let behind = behind.filter(|brought| brought.after == row.name);
            [Self::General(row)]
                .into_iter()
                .chain(behind.map(Self::Brought))
        })
    }

    fn named(name: &str) -> Option<Self> {
        Self::all().find(|row| row.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::General(row) => row.name,
            Self::Brought(row) => row.name(),
        }
    }

    /// Its line in lists of commands.
    fn listed(self) -> clap::Command {
        match self {
            Self::General(row) => row.listed(),
            Self::Brought(row) => row.listed(),
        }
    }

    /// Describes it with its arguments and help texts.
    fn whole(self) -> clap::Command {
        match self {
            Self::General(row) => row.whole(),
            Self::Brought(row) => row.clap(),
        }
    }

    /// What it does at its time limit; `None` if it has none.
    fn time_limit(self) -> Option<TimeLimit> {
        match self {
            Self::General(row) => row.time_limit,
            Self::Brought(row) => row.time_limit(),
        }
    }

    /// Reads the arguments.
    fn read(self, matches: &ArgMatches) -> Result<Command, clap::Error> {
        Ok(match self {
            Self::General(row) => Command::General(Box::new((row.read)(matches)?)),
            Self::Brought(row) => Command::Brought(row, matches.clone()),
        })
    }
}

impl Cli {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// The report of clap: the wrong word, or the help that the words ask for.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = Self::for_words(words);
        let matches = command.try_get_matches_from_mut(words)?;
        let parts = || {
            let Options { json } = Options::from_arg_matches(&matches)?;
            let named = matches.subcommand();
            let named = named.and_then(|(name, own)| Some((Row::named(name)?, own)));
            // clap demands a command, and has let through none that is not in the list.
            let (row, own) =
                named.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
            let command = row.read(own)?;
            let limit = row.time_limit().map(|limit| (limit, limit.of(own)));
            Ok(Self {
                json,
                limit,
                command,
            })
        };
        parts().map_err(|error: clap::Error| error.format(&mut command))
    }

    /// The whole command line, with the arguments of every command.
    pub(crate) fn command() -> clap::Command {
        Self::with(Row::whole)
    }

    /// As much of the command line as these words need: the arguments of the command that they name, and of the others
    /// the line that lists show. To describe the arguments of all takes longer than to answer.
    pub(crate) fn for_words(words: &[OsString]) -> clap::Command {
        match to_describe(words) {
            DescribedCommands::All => Self::command(),
            DescribedCommands::List => Self::with(Row::listed),
            DescribedCommands::One(name) => Self::with(|row| {
                if row.name() == name {
                    row.whole()
                } else {
                    row.listed()
                }
            }),
        }
    }

    fn with(described: impl Fn(Row) -> clap::Command) -> clap::Command {
        let numbered = Row::all()
            .enumerate()
            .map(|(at, row)| described(row).display_order(at));
        Options::command()
            .subcommands(numbered)
            .subcommand_required(true)
            .arg_required_else_help(true)
    }
}

/// The part of the command line that has to be described.
enum DescribedCommands {
    /// The list of commands.
    List,
    /// The list, and the arguments of this command.
    One(&'static str),
    /// The arguments of every command: clap looks for a word that it does not know among all of them, to say where it
    /// belongs.
    All,
}

fn to_describe(words: &[OsString]) -> DescribedCommands {
    for word in words.iter().skip(1) {
        match word.to_str() {
            Some("--json" | "--help" | "-h" | "--version" | "-V" | "help") => {}
            Some(name) if !name.starts_with('-') => {
                return Row::named(name).map_or(DescribedCommands::All, |row| {
                    DescribedCommands::One(row.name())
                });
            }
            _ => return DescribedCommands::All,
        }
    }
    DescribedCommands::List
}

/// The command that the words of a command line name, with its arguments.
pub(crate) fn named(words: &[OsString]) -> Option<clap::Command> {
    match to_describe(words) {
        DescribedCommands::One(name) => Row::named(name).map(Row::whole),
        DescribedCommands::List | DescribedCommands::All => None,
    }
}

/// The general commands by task. What a system brings stands behind the command that its row names.
const TASKS: &[(&str, &[&str])] = &[
    (
        "Devices for a job",
        &["allocate", "compare", "score", "match", "defrag"],
    ),
    ("Machines", &["machines", "topo", "read", "mig"]),
    ("Jobs", &["pattern", "sensitivity"]),
    ("Measurements", &["measured", "fit"]),
    ("Simulations", &["simulate", "sweep", "reproduce"]),
    ("Shell", &["completions", "man"]),
];

/// The commands by task, those of systems among them.
pub(crate) fn groups() -> Vec<CommandGroup> {
    let task = |(heading, names): &(&'static str, &'static [&'static str])| CommandGroup {
        heading,
        commands: names.iter().flat_map(|name| with_brought(name)).collect(),
    };
    TASKS.iter().map(task).collect()
}

/// A general command, and those of systems behind it.
fn with_brought(name: &'static str) -> impl Iterator<Item = &'static str> {
    let behind = systems::COMMANDS
        .iter()
        .filter(move |row| row.after == name);
    [name].into_iter().chain(behind.map(BroughtCommand::name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_list_says_of_each_command_what_its_help_says() {
        for row in Row::all() {
            let (listed, whole) = (row.listed(), row.whole());
            let shown = |command: &clap::Command| {
                let about = command.get_about().map(ToString::to_string);
                (
                    command.get_name().to_owned(),
                    about,
                    command.is_hide_set(),
                    command.get_all_aliases().count(),
                )
            };
            assert_eq!(shown(&listed), shown(&whole));
            assert!(whole.get_long_about().is_none(), "{}", row.name());
        }
    }

    #[test]
    fn only_the_arguments_of_the_command_that_is_named_are_described() {
        let described = |text: &str| {
            let command = Cli::for_words(&words(text));
            let parts = command.get_subcommands();
            let parts = parts.filter(|part| {
                part.get_arguments().next().is_some() || part.get_subcommands().next().is_some()
            });
            let names = parts.map(|part| part.get_name().to_owned());
            names.collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        for text in ["mapa-bench", "mapa-bench --help", "mapa-bench --json help"] {
            assert_eq!(described(text), none, "{text}");
        }
        for text in [
            "mapa-bench allocate --gpus 4",
            "mapa-bench --json allocate topo",
            "mapa-bench help allocate",
        ] {
            assert_eq!(described(text), ["allocate"], "{text}");
        }
        // clap looks among all for where these belong.
        for text in ["mapa-bench --gpus 4", "mapa-bench alocate"] {
            assert_eq!(described(text).len(), Row::all().count(), "{text}");
        }
    }

    #[test]
    fn each_command_that_is_not_hidden_belongs_to_one_task() {
        let command = Cli::command();
        command.clone().debug_assert();
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
            times.insert(part.get_name(), 0);
        }
        for name in groups().iter().flat_map(|group| &group.commands) {
            // Hidden commands stand behind general ones too.
            if let Some(times) = times.get_mut(name) {
                *times += 1;
            }
        }
        assert!(times.values().all(|times| *times == 1), "{times:?}");
    }
}
