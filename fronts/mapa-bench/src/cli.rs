//! The command line: arguments and help texts. Nothing here reads a file or a machine.

use std::fmt;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use mapa_cli::args::{SimulateArgs, simulate};
use mapa_front::shell::{CommandGroup, Shell};

use crate::features;
use crate::systems::{self, BroughtCommand};

mod allocate;
mod defrag;
mod find_matches;
#[cfg(feature = "fit")]
mod fit;
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
pub(crate) struct Cli {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Exit status: 0 an answer, 2 a malformed request, 3 a refusal (busy, infeasible or limit_reached).

Your own machine: mapa-bench topo --live, or
  nvidia-smi topo -m > my-server.txt
  mapa-bench allocate --machine my-server.txt --gpus 4 --sensitive --explain";

const COMPLETIONS: &str = "\
Examples:
  mapa-bench completions bash > ~/.local/share/bash-completion/completions/mapa-bench
  mapa-bench completions zsh > ~/.zfunc/_mapa-bench
  mapa-bench completions fish > ~/.config/fish/completions/mapa-bench.fish";

/// Which machines are listed.
#[derive(Args)]
pub(crate) struct MachinesArgs {
    /// Words that the name, the family or the title of a machine must have, in any case [default:
    /// all machines].
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
}

/// A command of this program, or one that a system brings, with what was read of its arguments.
pub(crate) enum Command {
    General(Box<General>),
    Brought(&'static BroughtCommand, ArgMatches),
}

impl FromArgMatches for Command {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // The commands of systems come first: their arguments are known to their rows alone.
        let named = matches.subcommand();
        let brought =
            named.and_then(|(name, arg_matches)| Some((systems::command(name)?, arg_matches)));
        match brought {
            Some((command, own)) => Ok(Self::Brought(command, own.clone())),
            None => {
                General::from_arg_matches(matches).map(|general| Self::General(Box::new(general)))
            }
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Command {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        // This command is never run: it is how clap lists the general commands one by one.
        let general = General::augment_subcommands(clap::Command::new("general"));
        let mut all = Vec::new();
        for subcommand in general.get_subcommands() {
            all.push(match subcommand.get_name() {
                "simulate" => simulate_help::complete(subcommand.clone()),
                "pattern" => subcommand.clone().mut_subcommands(pattern::brief),
                _ => subcommand.clone(),
            });
            let behind = systems::COMMANDS.iter();
            let behind = behind.filter(|row| row.after == subcommand.get_name());
            all.extend(behind.map(BroughtCommand::clap));
        }
        // Numbered anew: a command has the number of the list that it was in first.
        let numbered = all.into_iter().enumerate();
        command.subcommands(numbered.map(|(at, command)| command.display_order(at)))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        systems::command(name).is_some() || General::has_subcommand(name)
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

// The commands of this program itself.
#[derive(Subcommand)]
pub(crate) enum General {
    /// List the machines of the catalogue, and the formulas for more.
    Machines(MachinesArgs),
    /// Show a machine: its link matrix, link counts and per-device totals; or write it in another
    /// format.
    #[command(after_long_help = topo::HELP)]
    Topo(TopoArgs),
    /// Count or list the matches of a job's pattern on a machine, or of one graph in another.
    #[command(after_long_help = find_matches::HELP, override_usage = find_matches::USAGE)]
    Match(MatchArgs),
    /// Choose devices for a job, or for a stream of jobs.
    #[command(after_long_help = allocate::HELP)]
    Allocate(AllocateArgs),
    /// Compare the choices of all policies for one job.
    Compare(CompareArgs),
    /// Predict the bandwidth of given devices by a model, term by term or ring by ring.
    #[command(after_long_help = score::HELP)]
    Score(ScoreArgs),
    /// Fit a model of bandwidth to measurements on a machine, and show how far to trust it.
    #[cfg(feature = "fit")]
    #[command(after_long_help = fit::HELP)]
    Fit(FitArgs),
    /// Not in this build: needs the feature `fit`.
    #[cfg(not(feature = "fit"))]
    Fit(crate::left_out::LeftOut),
    /// Add measured bandwidths of a machine to a table, and fit what its links reach.
    #[cfg(feature = "fit")]
    Measured(MeasuredArgs),
    /// Not in this build: needs the feature `fit`.
    #[cfg(not(feature = "fit"))]
    Measured(crate::left_out::LeftOut),
    /// Show how a GPU with MIG can be partitioned into instances, and whether given ones fit;
    /// without --gpu, list the GPUs.
    #[command(after_long_help = mig::HELP)]
    Mig(MigArgs),
    /// Derive an application graph from a program: from link counters, NCCL's logs, source code or
    /// degrees of parallelism.
    #[command(after_long_help = pattern::HELP)]
    Pattern(PatternArgs),
    /// Decide whether a job's speed depends on its links, from its run times and messages.
    #[command(after_long_help = pattern::SENSITIVITY_HELP)]
    Sensitivity(SensitivityArgs),
    /// Simulate a workload on a machine under one policy or several.
    #[command(after_long_help = simulate::HELP)]
    Simulate(SimulateArgs),
    /// Simulate many cases: every combination of machines, workloads, schedulers and policies. A sweep resumes
    /// where it was interrupted, and can be split over many computers.
    #[command(after_long_help = sweep::HELP)]
    Sweep(SweepArgs),
    /// Show what a running machine or fleet has lost to fragmentation, and the fewest jobs to move
    /// for a wanted placement.
    #[command(after_long_help = defrag::HELP)]
    Defrag(DefragArgs),
    /// Repeat a published evaluation, and compare the results with the published ones.
    #[cfg(feature = "experiments")]
    #[command(after_long_help = reproduce::HELP)]
    Reproduce(ReproduceArgs),
    /// Not in this build: needs the feature `experiments`.
    #[cfg(not(feature = "experiments"))]
    Reproduce(crate::left_out::LeftOut),
    /// Show what kind of machine description each file is, and what it contains: outputs of
    /// vendors' tools, XML, machine files.
    Read(ReadArgs),
    /// Write completions of the command line for a shell: bash, zsh, fish, elvish or powershell.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages, one for each command.
    Man {
        /// The folder of the pages; it is made if it does not exist.
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
    },
}

impl fmt::Debug for Cli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cli")
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;

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
