//! What published systems bring: the one file that knows them. Each row is behind the feature of its
//! system; what a build leaves out is answered with the feature that is missing.

use clap::{ArgMatches, Args};
use mapa_cli::args::SimulateArgs;
use mapa_cli::{CommandRow, Failure, Output, SimulationRow, TimeLimit};
use mapa_front::names::Names;
#[cfg(feature = "energy")]
use mapa_system_energy_commands as energy;
#[cfg(feature = "pcie")]
use mapa_system_pcie_commands as pcie;
#[cfg(feature = "slo")]
use mapa_system_slo_commands as slo;

use crate::features;
use crate::left_out::LeftOut;

/// A command that a system brings.
pub(crate) struct BroughtCommand {
    name: &'static str,
    /// The command of this program behind which it stands in lists.
    pub(crate) after: &'static str,
    feature: &'static str,
    /// None if this build leaves it out.
    row: Option<CommandRow>,
}

/// Schedulers that a system simulates.
pub(crate) struct BroughtSimulation {
    /// Their names.
    pub(crate) schedulers: &'static [&'static str],
    /// The things that they schedule in place of jobs, for the help of `--scheduler`.
    about: &'static str,
    /// The command that reads the file of `--log`, for its help.
    log: &'static str,
    feature: &'static str,
    /// None if this build leaves it out.
    row: Option<SimulationRow>,
}

/// A row, if this build has the feature that it needs.
macro_rules! with {
    ($feature:literal, $row:expr) => {{
        // `cfg!` would compile the row in every build, and the crate of the row is not in every build.
        #[cfg(feature = $feature)]
        {
            Some($row)
        }
        #[cfg(not(feature = $feature))]
        {
            None
        }
    }};
}

/// The commands that systems bring. Those behind the same command stand in this order.
pub(crate) static COMMANDS: &[BroughtCommand] = &[
    BroughtCommand {
        name: "tune",
        after: "sweep",
        feature: "energy",
        row: with!("energy", energy::TUNE),
    },
    BroughtCommand {
        name: "train",
        after: "reproduce",
        feature: "energy",
        row: with!("energy", energy::TRAIN),
    },
    BroughtCommand {
        name: "profile",
        after: "sensitivity",
        feature: "pcie",
        row: with!("pcie", pcie::PROFILE),
    },
    BroughtCommand {
        name: "contention",
        after: "sensitivity",
        feature: "pcie",
        row: with!("pcie", pcie::CONTENTION),
    },
    // For tests of the simulator alone, and hidden: a build without it does not list it either.
    #[cfg(feature = "pcie")]
    BroughtCommand {
        name: "workers",
        after: "man",
        feature: "pcie",
        row: Some(pcie::WORKERS),
    },
    BroughtCommand {
        name: "slo",
        after: "simulate",
        feature: "slo",
        row: with!("slo", slo::SLO),
    },
];

/// The schedulers to which `simulate` hands over.
pub(crate) static SIMULATIONS: &[BroughtSimulation] = &[BroughtSimulation {
    schedulers: &["slo", "slo-replay"],
    about: "tenants that serve requests (systems/slo/docs/controllers.md)",
    log: "`mapa-bench slo replay` makes the decisions of slo and slo-replay again",
    feature: "slo",
    row: with!("slo", slo::TENANTS),
}];

/// Examples of `simulate`, which stand below the general ones.
pub(crate) const SIMULATE_EXAMPLES: &[&str] = &[
    #[cfg(feature = "pcie")]
    "mapa-bench simulate --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs jobs.csv \\
      --scheduler pcie-aware --execution pcie-equal-share",
    #[cfg(feature = "energy")]
    "mapa-bench simulate --machine dgx-a100 --mig a100-40gb=4g,2g,1g --generate energy-day,jobs=300 --scheduler energy,rule=fit \\
      --execution by-size",
    #[cfg(feature = "case")]
    "mapa-bench simulate --machine a100-pcie-4-bridged --mig a100-40gb=2g,2g,1g,1g,1g --jobs jobs.csv --scheduler case-balanced \\
      --svg instances.svg",
];

/// What systems add to the names that a request can use.
pub(crate) const NAMES: &[fn(&mut Names)] = &[
    #[cfg(feature = "energy")]
    energy::add_names,
];

/// The experiments, in the order of the list.
#[cfg(feature = "experiments")]
pub(crate) const EXPERIMENTS: &[mapa_lab::Experiment] = &[
    #[cfg(feature = "mapa")]
    mapa_system_mapa_lab::evaluation::EXPERIMENT,
    #[cfg(feature = "mapa")]
    mapa_system_mapa_lab::foresight::EXPERIMENT,
    #[cfg(feature = "mapa")]
    mapa_system_mapa_lab::auto::EXPERIMENT,
    #[cfg(feature = "pcie")]
    mapa_system_pcie_lab::evaluation::EXPERIMENT,
    #[cfg(feature = "case")]
    mapa_system_case_lab::EXPERIMENT,
    #[cfg(feature = "energy")]
    mapa_system_energy_lab::EXPERIMENT,
    #[cfg(feature = "mapa")]
    mapa_system_mapa_lab::topology_plan::EXPERIMENT,
    #[cfg(feature = "slo")]
    mapa_system_slo_lab::EXPERIMENT,
    mapa_lab::measured::EXPERIMENT,
];

/// Who simulates under the scheduler of this name, if a system does.
pub(crate) fn simulation(scheduler: &str) -> Option<&'static BroughtSimulation> {
    let mut rows = SIMULATIONS.iter();
    rows.find(|row| row.schedulers.contains(&scheduler))
}

impl BroughtCommand {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Its line in lists of commands.
    pub(crate) fn listed(&self) -> clap::Command {
        let command = clap::Command::new(self.name);
        match &self.row {
            Some(row) => command.about(row.about).hide(row.is_hidden),
            None => command.about(format!("Not in this build: needs `{}`", self.feature)),
        }
    }

    /// Its arguments and help texts.
    pub(crate) fn clap(&self) -> clap::Command {
        match &self.row {
            Some(row) => (row.command)(),
            None => LeftOut::augment_args(self.listed()),
        }
    }

    /// What it does at its time limit; `None` if this build leaves it out.
    pub(crate) fn time_limit(&self) -> Option<TimeLimit> {
        self.row.map(|row| row.time_limit)
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Why there is no answer; a feature that this build leaves out.
    pub(crate) fn run(&self, matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
        // The message names the first feature that is missing. If none is, there is a row.
        features::require(self.feature, self.name)?;
        self.row.map_or(Ok(()), |row| (row.run)(matches, output))
    }
}

impl BroughtSimulation {
    /// Whose help this build shows: those that it has.
    pub(crate) fn present() -> impl Iterator<Item = &'static Self> {
        SIMULATIONS
            .iter()
            .filter(|simulation| simulation.row.is_some())
    }

    /// A line of the help of `--scheduler`.
    pub(crate) fn scheduler_help(&self) -> String {
        format!("For {}: {}", self.about, self.schedulers.join(", "))
    }

    /// A line of the help of `--log`.
    pub(crate) fn log_help(&self) -> String {
        self.log.to_owned()
    }

    /// Simulates, and prints the answer.
    ///
    /// # Errors
    /// Why there is no answer; the feature, if this build leaves it out.
    pub(crate) fn run(&self, args: &SimulateArgs, output: &mut Output) -> Result<(), Failure> {
        features::require(self.feature, args.scheduler.name())?;
        self.row.map_or(Ok(()), |row| (row.run)(args, output))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_say_what_they_bring_and_each_name_is_brought_once() {
        let names: BTreeSet<&str> = COMMANDS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
        for command in COMMANDS {
            assert!(command.row.is_none_or(|row| row.name == command.name));
        }
        for brought_simulation in SIMULATIONS {
            assert!(
                brought_simulation
                    .row
                    .is_none_or(|row| row.schedulers == brought_simulation.schedulers)
            );
        }
    }
}
