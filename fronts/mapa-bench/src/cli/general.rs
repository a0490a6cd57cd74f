//! The commands of this program itself, a row each.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use mapa_cli::TimeLimit;
use mapa_cli::args::{SimulateArgs, simulate};
use mapa_front::shell::Shell;

use super::{
    AllocateArgs, CompareArgs, DefragArgs, MatchArgs, MigArgs, PatternArgs, ReadArgs, ScoreArgs,
    SensitivityArgs, SweepArgs, TopoArgs,
};
#[cfg(feature = "fit")]
use super::{FitArgs, MeasuredArgs};
#[cfg(feature = "experiments")]
use super::{ReproduceArgs, reproduce};
use super::{allocate, defrag, find_matches, mig, pattern, score, simulate_help, sweep, topo};
#[cfg(not(all(feature = "fit", feature = "experiments")))]
use crate::left_out::LeftOut;

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

/// For which shell completions are written.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

/// Where manual pages are written.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The folder of the pages; it is made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) into: PathBuf,
}

/// A command of this program itself, with its arguments.
pub(crate) enum General {
    Machines(MachinesArgs),
    Topo(TopoArgs),
    Match(MatchArgs),
    Allocate(AllocateArgs),
    Compare(CompareArgs),
    Score(ScoreArgs),
    #[cfg(feature = "fit")]
    Fit(FitArgs),
    #[cfg(not(feature = "fit"))]
    Fit,
    #[cfg(feature = "fit")]
    Measured(MeasuredArgs),
    #[cfg(not(feature = "fit"))]
    Measured,
    Mig(MigArgs),
    Pattern(PatternArgs),
    Sensitivity(SensitivityArgs),
    Simulate(SimulateArgs),
    Sweep(SweepArgs),
    Defrag(DefragArgs),
    #[cfg(feature = "experiments")]
    Reproduce(ReproduceArgs),
    #[cfg(not(feature = "experiments"))]
    Reproduce,
    Read(ReadArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// A command in lists, and how its arguments are described and read. A derived enum would describe the
/// arguments of all commands each time that the program starts, which takes longer than a decision.
pub(super) struct GeneralCommand {
    pub(super) name: &'static str,
    /// The first line of its help.
    about: &'static str,
    /// What it does at its time limit; `None` if it has none.
    pub(super) time_limit: Option<TimeLimit>,
    /// Adds the arguments, and the texts below them.
    describe: fn(Command) -> Command,
    /// Reads the arguments.
    pub(super) read: fn(&ArgMatches) -> Result<General, clap::Error>,
}

/// The row of a command: the word that names it, the variant with its arguments, what it does at its time limit (`None` if
/// it neither searches nor simulates), the first line of its help, and what its help has besides.
macro_rules! row {
    ($name:literal, $variant:ident($args:ty), $limit:expr, $about:literal) => {
        row!($name, $variant($args), $limit, $about, |command| command)
    };
    ($name:literal, $variant:ident($args:ty), $limit:expr, $about:literal, $texts:expr) => {
        GeneralCommand {
            name: $name,
            about: $about,
            time_limit: $limit,
            describe: |command| {
                let texts: fn(Command) -> Command = $texts;
                texts(<$args>::augment_args(command))
            },
            read: |matches| <$args>::from_arg_matches(matches).map(General::$variant),
        }
    };
}

/// The row of a command that this build leaves out, with the feature that it needs.
#[cfg(not(all(feature = "fit", feature = "experiments")))]
macro_rules! left_out {
    ($name:literal, $variant:ident, $feature:literal) => {
        GeneralCommand {
            name: $name,
            time_limit: None,
            about: concat!("Not in this build: needs the feature `", $feature, "`"),
            describe: LeftOut::augment_args,
            // Whatever the arguments are, the answer is which feature is missing.
            read: |_| Ok(General::$variant),
        }
    };
}

/// The commands, in the order of lists that know no tasks.
pub(super) static GENERAL: &[GeneralCommand] = &[
    row!(
        "machines",
        Machines(MachinesArgs),
        None,
        "List the machines of the catalogue, and the formulas for more"
    ),
    row!(
        "topo",
        Topo(TopoArgs),
        None,
        "Show a machine: its link matrix, link counts and per-device totals; or write it in another format",
        |command| command.after_long_help(topo::HELP)
    ),
    row!(
        "match",
        Match(MatchArgs),
        Some(TimeLimit::BEST),
        "Count or list the matches of a job's pattern on a machine, or of one graph in another",
        |command| command
            .after_long_help(find_matches::HELP)
            .override_usage(find_matches::USAGE)
    ),
    row!(
        "allocate",
        Allocate(AllocateArgs),
        Some(TimeLimit::BEST),
        "Choose devices for a job, or for a stream of jobs",
        |command| command.after_long_help(allocate::HELP)
    ),
    row!(
        "compare",
        Compare(CompareArgs),
        Some(TimeLimit::BEST),
        "Compare the choices of all policies for one job"
    ),
    row!(
        "score",
        Score(ScoreArgs),
        Some(TimeLimit::WHOLE),
        "Predict the bandwidth of given devices by a model, term by term or ring by ring",
        |command| command.after_long_help(score::HELP)
    ),
    #[cfg(feature = "fit")]
    row!(
        "fit",
        Fit(FitArgs),
        Some(TimeLimit::LONG),
        "Fit a model of bandwidth to measurements on a machine, and show how far to trust it",
        |command| command.after_long_help(super::fit::HELP)
    ),
    #[cfg(not(feature = "fit"))]
    left_out!("fit", Fit, "fit"),
    #[cfg(feature = "fit")]
    row!(
        "measured",
        Measured(MeasuredArgs),
        Some(TimeLimit::LONG),
        "Add measured bandwidths of a machine to a table, and fit what its links reach"
    ),
    #[cfg(not(feature = "fit"))]
    left_out!("measured", Measured, "fit"),
    row!(
        "mig",
        Mig(MigArgs),
        Some(TimeLimit::WHOLE),
        "Show how a GPU with MIG can be partitioned into instances, and whether given ones fit; without --gpu, list the GPUs",
        |command| command.after_long_help(mig::HELP)
    ),
    row!(
        "pattern",
        Pattern(PatternArgs),
        Some(TimeLimit::WHOLE),
        "Derive an application graph from a program: from link counters, NCCL's logs, source code or degrees of parallelism",
        |command| command
            .after_long_help(pattern::HELP)
            .mut_subcommands(pattern::brief)
    ),
    row!(
        "sensitivity",
        Sensitivity(SensitivityArgs),
        Some(TimeLimit::WHOLE),
        "Decide whether a job's speed depends on its links, from its run times and messages",
        |command| command.after_long_help(pattern::SENSITIVITY_HELP)
    ),
    row!(
        "simulate",
        Simulate(SimulateArgs),
        Some(TimeLimit::LONG),
        "Simulate a workload on a machine under one policy or several",
        |command| simulate_help::complete(command.after_long_help(simulate::HELP))
    ),
    row!(
        "sweep",
        Sweep(SweepArgs),
        Some(TimeLimit::LONG),
        "Simulate many cases: every combination of machines, workloads, schedulers and policies. A sweep resumes where it was interrupted, and can be split over many computers",
        |command| command.after_long_help(sweep::HELP)
    ),
    row!(
        "defrag",
        Defrag(DefragArgs),
        Some(TimeLimit::WHOLE),
        "Show what a running machine or fleet has lost to fragmentation, and the fewest jobs to move for a wanted placement",
        |command| command.after_long_help(defrag::HELP)
    ),
    #[cfg(feature = "experiments")]
    row!(
        "reproduce",
        Reproduce(ReproduceArgs),
        Some(TimeLimit::LONG),
        "Repeat a published evaluation, and compare the results with the published ones",
        |command| command.after_long_help(reproduce::HELP)
    ),
    #[cfg(not(feature = "experiments"))]
    left_out!("reproduce", Reproduce, "experiments"),
    row!(
        "read",
        Read(ReadArgs),
        None,
        "Show what kind of machine description each file is, and what it contains: outputs of vendors' tools, XML, machine files"
    ),
    row!(
        "completions",
        Completions(CompletionsArgs),
        None,
        "Write completions of the command line for a shell: bash, zsh, fish, elvish or powershell",
        |command| command.after_help(COMPLETIONS)
    ),
    row!(
        "man",
        Man(ManArgs),
        None,
        "Write the manual pages, one for each command"
    ),
];

impl GeneralCommand {
    /// Its name and the first line of its help: all that lists need.
    pub(super) fn listed(&self) -> Command {
        Command::new(self.name).about(self.about)
    }

    /// Describes it with its arguments and all of its help.
    pub(super) fn whole(&self) -> Command {
        // clap takes the comment on the type of the arguments for the first line of the help, which it is not.
        (self.describe)(Command::new(self.name))
            .about(self.about)
            .long_about(None)
            .args(self.time_limit.map(TimeLimit::arg))
    }
}
