//! The cells of a sweep, and what each depends on.
//!
//! Before anything runs, every word is checked, and every machine and workload is read: a sweep
//! that starts can finish. Cells are numbered from 0 as by nested loops, from the outside:
//! machines; workloads (the generators, each with all seeds, then the job files, then the traces);
//! schedulers; executions; policies. Each list is in the order of the request. A scheduler with
//! a placement policy of its own is not combined with other policies.

use std::fmt;

use mapa_sched::Fleet;
use mapa_sim::Workload;

use super::hash::Hash;
use super::request::SweepRequest;
use super::workload::{SweepJobs, workloads};
use crate::answer::sweep::SweepCell;
use crate::error::Error;
use crate::files::Files;
use crate::machine::{Loaded, MachineSpec};
use crate::names::{Choice, ExecutionSpec, Names, SchedulerSpec};
use crate::simulation::fleet;

/// The version of a finished cell: changes with its contents and with how they are computed.
const VERSION: &str = concat!("cell 3 of mapa-bench ", env!("CARGO_PKG_VERSION"));

/// The cells of a sweep, with all that they need read.
pub struct SweepPlan {
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
pub struct SweepPoint<'a> {
    /// Its number, counted from 0.
    pub index: usize,
    /// The machine, in the word of the request.
    pub machine: &'a str,
    /// The workload.
    pub jobs: &'a SweepJobs,
    /// The scheduler.
    pub scheduler: &'a SchedulerSpec,
    /// The model of run times.
    pub execution: &'a ExecutionSpec,
    /// The placement policy.
    pub policy: &'a str,
    /// The machine with nothing in use.
    pub(super) idle: &'a Fleet,
    /// A hash of everything that the cell's numbers depend on.
    key: u64,
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

impl SweepPoint<'_> {
    /// A hash of everything that the cell's numbers depend on, hexadecimal: 16 digits. Cells of equal keys have equal
    /// numbers, in other sweeps too.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{:016x}", self.key)
    }

    /// The cell as an answer lists it. `finished`: whether its numbers are known.
    #[must_use]
    pub fn answer(&self, finished: Option<bool>) -> SweepCell {
        SweepCell {
            cell: self.index,
            machine: self.machine.to_owned(),
            workload: self.jobs.word.clone(),
            seed: self.jobs.seed,
            scheduler: self.scheduler.to_string(),
            execution: self.execution.to_string(),
            policy: self.policy.to_owned(),
            finished,
        }
    }
}

impl SweepPlan {
    /// Checks every word of a request, and reads what it names. `warn` gets what is odd about the descriptions of
    /// machines.
    ///
    /// # Errors
    /// If lists are missing, contradict each other or make more than a million cells, a word is unknown, or a file
    /// cannot be read: the message names the key.
    pub fn new(
        names: &Names,
        files: &dyn Files,
        request: &SweepRequest,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, Error> {
        request.check(names)?;
        let ways = ways(names, request)?;
        // Words are checked before files are read.
        let mut machines = Vec::new();
        for word in &request.machines {
            machines.push(SweepMachine::read(word, request, files, warn)?);
        }
        Ok(Self {
            machines,
            workloads: workloads(request, files)?,
            ways,
        })
    }

    fn len(&self) -> usize {
        self.machines.len() * self.workloads.len() * self.ways.len()
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl Iterator<Item = SweepPoint<'_>> {
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

/// What runs on each machine with each workload, in order. Every word is checked.
fn ways(names: &Names, request: &SweepRequest) -> Result<Vec<SweepWay>, Error> {
    let policies = names.policy_names(&request.policies);
    for word in &policies {
        names
            .policy(word, &Choice::default())
            .map_err(|error| error.within("`policies`"))?;
    }
    for word in &request.executions {
        names
            .execution(word, &Workload::default())
            .map_err(|error| error.within("`executions`"))?;
    }
    let mut ways = Vec::new();
    for word in &request.schedulers {
        let own_policy = names.own_policy(word);
        let by = own_policy
            .as_ref()
            .map_or(&policies[..], std::slice::from_ref);
        // Without a policy to combine with, an unknown scheduler must still be reported.
        for name in by.iter().chain(by.is_empty().then_some(&"lowest-id")) {
            names
                .policy(name, &Choice::default())
                // Any execution model will do here: only the scheduler's words are checked.
                .and_then(|policy| names.scheduler(word, policy, &"fixed".into()))
                .map_err(|error| error.within("`schedulers`"))?;
        }
        if by.is_empty() {
            return Err(Error::at(
                "`policies`",
                format_args!("expected at least one word, as {word} has no policy of its own"),
            ));
        }
        for execution in &request.executions {
            for policy in by {
                ways.push(SweepWay {
                    scheduler: word.clone(),
                    execution: execution.clone(),
                    policy: (*policy).to_owned(),
                });
            }
        }
    }
    Ok(ways)
}

impl SweepMachine {
    /// Reads a machine of the request, with the request's `pcie_gbps`, `p2p` and `mig`.
    fn read(
        word: &str,
        request: &SweepRequest,
        files: &dyn Files,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, Error> {
        // Each setting is added alone, so that an error names the key it is about.
        let mut spec = MachineSpec::named(word);
        let mut loaded = spec
            .load(files, warn)
            .map_err(|error| error.within("`machines`"))?;
        if request.pcie_gbps.is_some() {
            spec.pcie_gbps = request.pcie_gbps;
            loaded = spec
                .load(files, warn)
                .map_err(|error| error.within("`pcie_gbps`"))?;
        }
        if request.p2p.is_some() {
            spec.p2p = request.p2p;
            loaded = spec
                .load(files, warn)
                .map_err(|error| error.within("`p2p`"))?;
        }
        if request.mig.is_some() {
            spec.mig.clone_from(&request.mig);
            loaded = spec.load(files, warn).map_err(|error| match error {
                // The sweep is malformed: this is no refusal.
                Error::NoFit(_) => Error::at("`mig`", error),
                other => other.within("`mig`"),
            })?;
        }
        Ok(Self {
            word: word.to_owned(),
            idle: fleet(&loaded)?,
            key: key(&loaded),
        })
    }
}

/// A hash of a machine's graph, which has the names of devices, and of their layouts.
fn key(loaded: &Loaded) -> u64 {
    let graph = loaded.graph();
    let mut hash = Hash::new("machine");
    hash.number(graph.fingerprint());
    // The fingerprint covers all instances that could exist, and not which of them do.
    for whole in graph.wholes().iter() {
        let layout = loaded.idle.view().layout_of(whole);
        if !layout.is_whole() {
            hash.text(&format!("{whole} {layout:?}"));
        }
    }
    hash.finish()
}
