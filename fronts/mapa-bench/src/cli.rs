//! The command line: arguments and help texts. Nothing here reads a file or a machine.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::features;

mod allocate;
mod defrag;
mod find_matches;
mod fit;
mod job;
#[cfg(not(all(feature = "experiments", feature = "source")))]
mod left_out;
mod machine;
mod measured;
mod mig;
mod pattern;
mod pcie;
#[cfg(feature = "experiments")]
mod reproduce;
mod score;
mod simulate;
mod slo;
mod sweep;
mod topo;
#[cfg(feature = "experiments")]
mod train;
mod tune;
#[cfg(feature = "experiments")]
mod workers;
mod workload;

pub(crate) use allocate::{AllocateArgs, CompareArgs};
pub(crate) use defrag::DefragArgs;
pub(crate) use find_matches::MatchArgs;
pub(crate) use fit::{ColumnName, FitArgs, MethodName, RingName, Terms};
pub(crate) use job::{ConstraintArgs, JobArgs, PolicyArgs, UseArgs, job_spec};
pub(crate) use machine::MachineArgs;
pub(crate) use measured::{AddArgs, MeasuredAction, MeasuredArgs};
pub(crate) use mig::MigArgs;
#[cfg(feature = "source")]
pub(crate) use pattern::FromSource;
pub(crate) use pattern::{
    EvidenceArgs, FromNccl, FromNvlink, FromParallelism, PatternArgs, PatternFrom, SensitivityArgs,
    ShowPattern, WriteArgs,
};
pub(crate) use pcie::{ContentionArgs, ProfileArgs};
#[cfg(feature = "experiments")]
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use score::{ScoreArgs, Switched};
pub(crate) use simulate::SimulateArgs;
pub(crate) use slo::{SloArgs, SloDo};
pub(crate) use sweep::{Shard, SweepArgs};
pub(crate) use topo::{Format, ReadArgs, TopoArgs};
#[cfg(feature = "experiments")]
pub(crate) use train::{FormulationName, SettingsName, TrainArgs};
pub(crate) use tune::{DrawName, TuneArgs};
#[cfg(feature = "experiments")]
pub(crate) use workers::{CopyArgs, ReplayArgs, WorkersArgs, WorkersDo};
pub(crate) use workload::WorkloadArgs;

/// Which accelerators should this job get?
#[derive(Parser)]
#[command(version, long_version = features::version(), about, after_help = AFTER_HELP)]
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

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the machines of the catalogue, and the formulas for more.
    Machines(MachinesArgs),
    /// Show a machine: its link matrix, link counts and per-device totals; or write it in another
    /// format.
    #[command(after_help = topo::HELP)]
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
    #[command(after_help = score::HELP)]
    Score(ScoreArgs),
    /// Fit a model of bandwidth to measurements on a machine, and show how far to trust it.
    #[command(after_long_help = fit::HELP)]
    Fit(FitArgs),
    /// Add measured bandwidths of a machine to a table, and fit what its links reach.
    Measured(MeasuredArgs),
    /// Show how a GPU with MIG can be partitioned into instances, and whether given ones fit;
    /// without --gpu, list the GPUs.
    #[command(after_help = mig::HELP)]
    Mig(MigArgs),
    /// Derive an application graph from a program: from link counters, NCCL's logs, source code or
    /// degrees of parallelism.
    #[command(after_help = pattern::HELP)]
    Pattern(PatternArgs),
    /// Decide whether a job's speed depends on its links, from its run times and messages.
    #[command(after_help = pattern::SENSITIVITY_HELP)]
    Sensitivity(SensitivityArgs),
    /// Simulate a workload on a machine under one policy or several.
    #[command(after_long_help = simulate::HELP)]
    Simulate(SimulateArgs),
    /// Logs of the controllers of latencies: make their decisions again.
    #[command(after_help = slo::HELP)]
    Slo(SloArgs),
    /// Simulate every combination of machines, workloads, schedulers and policies. A sweep resumes
    /// where it was interrupted, and can be split over many computers.
    #[command(after_help = sweep::HELP)]
    Sweep(SweepArgs),
    /// Search prices for the plan by prices (scheduler energy-plan), and layouts, that suit your jobs.
    #[command(after_help = tune::HELP)]
    Tune(TuneArgs),
    /// Show what a running machine or fleet has lost to fragmentation, and the fewest jobs to move
    /// for a wanted placement.
    #[command(after_long_help = defrag::HELP)]
    Defrag(DefragArgs),
    /// Fit PCIe profiles of jobs to measured runs: how much other jobs on the same PCIe link slow
    /// them down.
    #[command(after_help = pcie::PROFILE_HELP)]
    Profile(ProfileArgs),
    /// Show which jobs share which PCIe path to the host, and how much each is slowed down, by two
    /// models.
    #[command(after_help = pcie::CONTENTION_HELP)]
    Contention(ContentionArgs),
    /// Repeat a published evaluation, and compare the results with the published ones.
    #[cfg(feature = "experiments")]
    #[command(after_help = reproduce::HELP)]
    Reproduce(ReproduceArgs),
    /// Not in this build: needs the feature `experiments`.
    #[cfg(not(feature = "experiments"))]
    Reproduce(left_out::LeftOut),
    /// Train a net that picks MIG slices for jobs with deadlines, and compare it with rules.
    #[cfg(feature = "experiments")]
    #[command(after_help = train::HELP)]
    Train(TrainArgs),
    /// Not in this build: needs the feature `experiments`.
    #[cfg(not(feature = "experiments"))]
    Train(left_out::LeftOut),
    /// Show what kind of machine description each file is, and what it contains: outputs of
    /// vendors' tools, XML, machine files.
    Read(ReadArgs),
    /// Write completions of the command line for a shell: bash, zsh, fish, elvish or powershell.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command.
    Man {
        /// The folder of the pages; it is made if it does not exist.
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
    },
    /// Run real processes in place of GPUs, as a check on simulations.
    #[cfg(feature = "experiments")]
    #[command(hide = true)]
    Workers(WorkersArgs),
}

impl fmt::Debug for Cli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cli")
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}
