//! The table of experiments.

use mapa_front::Error;

use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Report;
use crate::{auto, case, energy, foresight, mapa, measured, pcie, slo, topology_plan};

/// An evaluation that can be repeated: a folder of this crate, and a row of [`EXPERIMENTS`].
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name.
    pub name: &'static str,
    /// The paper it repeats.
    pub paper: &'static str,
    /// Which parts of the paper.
    pub covers: &'static str,
    /// The default number of job files; 0 for an experiment that draws none.
    pub files: usize,
    /// The default seed of the first job file.
    pub seed: u64,
    run: fn(&Plan, &dyn Progress) -> Result<Report, Error>,
}

/// Every experiment.
pub const EXPERIMENTS: [Experiment; 9] = [
    Experiment {
        name: mapa::NAME,
        paper: mapa::PAPER,
        covers: "Fig. 2b, 4, 5, 6, 11, 13, 15, 16, 18, 19 and Table 3, and where the paper contradicts itself; Fig. 2a, 3 and 12 cannot be had",
        files: 60,
        seed: 1,
        run: mapa::run,
    },
    Experiment {
        name: foresight::NAME,
        paper: foresight::PAPER,
        covers: "foresight beside preserve on three machines, by two models of bandwidth, and what patience costs",
        files: 200,
        seed: 20_001,
        run: foresight::run,
    },
    Experiment {
        name: auto::NAME,
        paper: auto::PAPER,
        covers: "what a job gets that names no policy, on every free set of five machines, and what that costs a stream of jobs",
        files: 200,
        seed: 40_001,
        run: auto::run,
    },
    Experiment {
        name: pcie::NAME,
        paper: pcie::PAPER,
        covers: "Fig. 1, 2 and 4 to 9, what the gain depends on, and where the paper contradicts itself",
        files: 50,
        seed: 30_001,
        run: pcie::run,
    },
    Experiment {
        name: case::NAME,
        paper: case::PAPER,
        covers: "throughput, turnaround, memory and kernels on four systems and seven mixes, our managers beside them, what is printed and what contradicts itself",
        files: 50,
        seed: 91_001,
        run: case::run,
    },
    Experiment {
        name: energy::NAME,
        paper: energy::PAPER,
        covers: "the table of heuristics to every digit, fresh days with rules of our own, tight deadlines, loads, wrong run times, the bound on energy",
        files: 50,
        seed: 61_001,
        run: energy::run,
    },
    Experiment {
        name: topology_plan::NAME,
        paper: topology_plan::PAPER,
        covers: "order and placement together: a plan beside backfilling, lists with and without a threshold on slowdown, the strongest of 56 baselines, and bounds",
        files: 50,
        seed: 82_001,
        run: topology_plan::run,
    },
    Experiment {
        name: slo::NAME,
        paper: slo::PAPER,
        covers: "Tables 2 to 4, Fig. 3 and 4, E1 to E3 and Claim 1 of a controller of tail latency; what it depends on; MAPA's own by replay, with bounds",
        files: 50,
        seed: 95_001,
        run: slo::run,
    },
    Experiment {
        name: measured::NAME,
        paper: measured::PAPER,
        covers: "what is expected beside what others measured: every row, the order of sets, errors on machines left out, choices without P2P",
        files: 0,
        seed: 0,
        run: measured::run,
    },
];

/// The fewest job files for intervals to rely on.
pub const ENOUGH: usize = 50;

impl Experiment {
    /// The experiment of this name.
    ///
    /// # Errors
    /// If there is none. The message lists all.
    pub fn named(name: &str) -> Result<Self, Error> {
        EXPERIMENTS
            .into_iter()
            .find(|own| own.name == name)
            .ok_or_else(|| {
                Error::malformed(format_args!(
                    "no experiment is called `{name}`: expected one of: {}",
                    EXPERIMENTS.map(|own| own.name).join(", ")
                ))
            })
    }

    /// Runs the experiment.
    ///
    /// # Errors
    /// If the plan has fewer than two job files, which an interval needs; or what goes wrong on the
    /// way: threads or processes that cannot be started.
    pub fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Report, Error> {
        if plan.rows.is_some() && self.name != measured::NAME {
            return Err(Error::malformed(format_args!(
                "--rows is for the experiment {}: expected that, or no --rows",
                measured::NAME
            )));
        }
        if self.files == 0 && plan.files > 0 {
            return Err(Error::malformed(format_args!(
                "{} draws no job files: expected no --files",
                self.name
            )));
        }
        if self.files > 0 && plan.files < 2 {
            return Err(Error::malformed(
                "--files: expected at least 2, as an interval needs them, and 50 to be believed",
            ));
        }
        (self.run)(plan, progress)
    }
}
