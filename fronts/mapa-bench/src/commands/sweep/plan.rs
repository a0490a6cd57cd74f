//! The cells of a sweep, and what each depends on.
//!
//! Before anything runs, every word is checked, and every machine and workload is read: a sweep
//! that starts can finish. Cells are numbered from 0 as by nested loops, from the outside:
//! machines; workloads (the generators, each with all seeds, then the job files, then the traces);
//! schedulers; executions; policies. Each list is in the order of the sweep file. A scheduler with
//! a placement policy of its own is not combined with other policies.

use mapa_front::{ExecutionSpec, SchedulerSpec};
use std::fmt;

use mapa_front::names::Choice;
use mapa_front::{Error, Loaded, MachineSpec};
use mapa_sched::Fleet;
use mapa_sim::Workload;

use super::file::SweepFile;
use super::hash::Hash;
use super::workload::{SweepJobs, workloads};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::Disk;

/// The version of a cell's file: changes with its contents and with how they are computed.
const VERSION: &str = concat!("cell 3 of mapa-bench ", env!("CARGO_PKG_VERSION"));

pub(super) struct SweepPlan {
    machines: Vec<SweepMachine>,
    workloads: Vec<SweepJobs>,
    ways: Vec<SweepWay>,
}

/// The scheduler, execution model and policy with which a workload runs.
struct SweepWay {
    scheduler: SchedulerSpec,
    execution: ExecutionSpec,
    policy: String,
}

struct SweepMachine {
    word: String,
    idle: Fleet,
    /// A hash of everything that a simulation reads from it.
    key: u64,
}

/// One combination of the sweep's lists.
#[derive(Clone, Copy)]
pub(super) struct SweepPoint<'a> {
    pub(super) index: usize,
    pub(super) machine: &'a str,
    pub(super) jobs: &'a SweepJobs,
    pub(super) scheduler: &'a SchedulerSpec,
    pub(super) execution: &'a ExecutionSpec,
    pub(super) policy: &'a str,
    /// The machine with nothing in use.
    pub(super) idle: &'a Fleet,
    /// A hash of everything that the cell's numbers depend on.
    pub(super) key: u64,
}

impl fmt::Display for SweepPoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            machine,
            jobs,
            scheduler,
            execution,
            policy,
            ..
        } = self;
        write!(f, "{machine}, {jobs}, {scheduler}, {execution}, {policy}")
    }
}

impl SweepPlan {
    /// Checks every word of the file, and reads what it names.
    pub(super) fn new(file: &SweepFile, output: &Output) -> Result<Self, Failure> {
        let policies = NAMES.policy_names(&file.policies.0);
        for word in &policies {
            NAMES
                .policy(word, &Choice::default())
                .map_err(|error| error.within("`policies`"))?;
        }
        for word in &file.executions.0 {
            NAMES
                .execution(word, &Workload::default())
                .map_err(|error| error.within("`executions`"))?;
        }
        let mut ways = Vec::new();
        for word in &file.schedulers.0 {
            let own = NAMES.own_policy(word);
            let by = own.as_ref().map_or(&policies[..], std::slice::from_ref);
            // Without a policy to combine with, an unknown scheduler must still be reported.
            for name in by.iter().chain(by.is_empty().then_some(&"lowest-id")) {
                NAMES
                    .policy(name, &Choice::default())
                    // Any execution model will do here: only the scheduler's words are checked.
                    .and_then(|policy| NAMES.scheduler(word, policy, &"fixed".into()))
                    .map_err(|error| error.within("`schedulers`"))?;
            }
            if by.is_empty() {
                return Err(Failure::at(
                    "`policies`",
                    format_args!("expected at least one word, as {word} has no policy of its own"),
                ));
            }
            for execution in &file.executions.0 {
                for policy in by {
                    ways.push(SweepWay {
                        scheduler: word.clone(),
                        execution: execution.clone(),
                        policy: (*policy).to_owned(),
                    });
                }
            }
        }
        // Words are checked before files are read.
        let mut machines = Vec::new();
        for word in &file.machines.0 {
            machines.push(SweepMachine::read(word, file, output)?);
        }
        Ok(Self {
            machines,
            workloads: workloads(file)?,
            ways,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.machines.len() * self.workloads.len() * self.ways.len()
    }

    /// The cells, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = SweepPoint<'_>> {
        (0..self.len()).map(|index| self.cell(index))
    }

    /// The cell with this number. The number is read as digits of mixed radix: the positions of
    /// machine, workload and [`SweepWay`] in their lists.
    fn cell(&self, index: usize) -> SweepPoint<'_> {
        let (rest, way) = (index / self.ways.len(), index % self.ways.len());
        let (machine, jobs) = (rest / self.workloads.len(), rest % self.workloads.len());
        let SweepWay {
            scheduler,
            execution,
            policy,
        } = &self.ways[way];
        let (machine, jobs) = (&self.machines[machine], &self.workloads[jobs]);
        let mut hash = Hash::new(VERSION);
        hash.number(machine.key);
        hash.number(jobs.key);
        for word in [scheduler.words(), execution.words(), policy] {
            hash.text(word);
        }
        let key = hash.finish();
        SweepPoint {
            index,
            machine: &machine.word,
            jobs,
            scheduler,
            execution,
            policy,
            idle: &machine.idle,
            key,
        }
    }
}

impl SweepMachine {
    /// Reads a machine of the sweep file, with the file's `pcie_gbps`, `p2p` and `mig`.
    fn read(word: &str, file: &SweepFile, output: &Output) -> Result<Self, Failure> {
        // Each setting is added alone, so that an error names the key it is about.
        let mut spec = MachineSpec::named(word);
        let warn = &mut |warning: String| output.warn(warning);
        let mut loaded = spec
            .load(&Disk, warn)
            .map_err(|error| error.within("`machines`"))?;
        if file.pcie_gbps.is_some() {
            spec.pcie_gbps = file.pcie_gbps;
            loaded = spec
                .load(&Disk, warn)
                .map_err(|error| error.within("`pcie_gbps`"))?;
        }
        if file.p2p.is_some() {
            spec.p2p = file.p2p;
            loaded = spec
                .load(&Disk, warn)
                .map_err(|error| error.within("`p2p`"))?;
        }
        if file.mig.is_some() {
            spec.mig.clone_from(&file.mig);
            loaded = spec.load(&Disk, warn).map_err(|error| match error {
                // The sweep is malformed: this is no refusal.
                Error::NoFit(_) => Error::at("`mig`", error),
                other => other.within("`mig`"),
            })?;
        }
        Ok(Self {
            word: word.to_owned(),
            idle: mapa_front::simulation::fleet(&loaded)?,
            key: key(&loaded),
        })
    }
}

/// A hash of a machine's graph, device names and layouts.
fn key(loaded: &Loaded) -> u64 {
    let graph = loaded.graph();
    let mut hash = Hash::new("machine");
    hash.number(graph.fingerprint());
    for device in graph.devices() {
        hash.text(&device.name);
    }
    // The fingerprint covers all instances that could exist, and not which of them do.
    for whole in graph.wholes().iter() {
        let layout = loaded.idle.view().layout_of(whole);
        if !layout.is_whole() {
            hash.text(&format!("{whole} {layout:?}"));
        }
    }
    hash.finish()
}
