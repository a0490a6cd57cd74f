//! Which cells there are, and what each depends on.
//!
//! Every word is looked at, and every machine and workload read, before anything runs: a sweep that begins can be gone
//! through with. Cells are numbered from 0 as nested loops would, from the outside: machines; workloads, which are the
//! generators, each with all seeds, then the job files, then the traces; schedulers; executions; policies. Each list is in
//! the order of the file.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use fnv::FnvHasher;
use mapa_core::HardwareGraph;
use mapa_sched::Fleet;
use mapa_sim::Workload;

use super::file::SweepFile;
use super::workload::{Jobs, workloads};
use crate::cli::{MachineArgs, Preserved};
use crate::failure::Failure;
use crate::machine::load;
use crate::output::Output;
use crate::request::policy;
use crate::simulation::{self, execution, policy_names, scheduler};

/// What a cell's file holds and how it is computed: changes with both.
const VERSION: &str = concat!("cell 2 of mapa-bench ", env!("CARGO_PKG_VERSION"));

pub(super) struct Plan {
    machines: Vec<Machine>,
    workloads: Vec<Jobs>,
    schedulers: Vec<String>,
    executions: Vec<String>,
    policies: Vec<String>,
}

struct Machine {
    word: String,
    idle: Fleet,
    /// A hash of all that a simulation can see of it.
    key: u64,
}

/// One combination.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) index: usize,
    pub(super) machine: &'a str,
    pub(super) jobs: &'a Jobs,
    pub(super) scheduler: &'a str,
    pub(super) execution: &'a str,
    pub(super) policy: &'a str,
    /// The machine, nothing in use.
    pub(super) idle: &'a Fleet,
    /// A hash of all that its numbers depend on.
    pub(super) key: u64,
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, jobs, scheduler, execution, policy, .. } = self;
        write!(f, "{machine}, {jobs}, {scheduler}, {execution}, {policy}")
    }
}

impl Plan {
    /// Looks at every word of the file and reads what it names.
    pub(super) fn new(file: &SweepFile, output: &Output) -> Result<Self, Failure> {
        let known = |key, what: Result<(), Failure>| what.map_err(|failure| under(key, failure));
        let policies = policy_names(&file.policies.0);
        for word in &policies {
            known("policies", policy(word, None, Preserved::All).map(drop))?;
        }
        // Not every scheduler takes every policy.
        for word in &file.schedulers.0 {
            for name in &policies {
                let made = policy(name, None, Preserved::All).and_then(|policy| scheduler(word, policy, "fixed"));
                known("schedulers", made.map(drop))?;
            }
        }
        for word in &file.executions.0 {
            known("executions", execution(word, &Workload::default()).map(drop))?;
        }
        let machine = |word: &String| machine(word, output).map_err(|failure| under("machines", failure));
        Ok(Self {
            machines: file.machines.0.iter().map(machine).collect::<Result<_, _>>()?,
            workloads: workloads(file)?,
            schedulers: file.schedulers.0.clone(),
            executions: file.executions.0.clone(),
            policies: policies.into_iter().map(str::to_owned).collect(),
        })
    }

    pub(super) fn len(&self) -> usize {
        let Self { machines, workloads, schedulers, executions, policies } = self;
        machines.len() * workloads.len() * schedulers.len() * executions.len() * policies.len()
    }

    /// The cells, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.len()).map(|index| self.cell(index))
    }

    fn cell(&self, index: usize) -> Cell<'_> {
        let mut left = index;
        let mut digit = |base: usize| {
            let digit = left % base;
            left /= base;
            digit
        };
        let policy = &self.policies[digit(self.policies.len())];
        let execution = &self.executions[digit(self.executions.len())];
        let scheduler = &self.schedulers[digit(self.schedulers.len())];
        let jobs = &self.workloads[digit(self.workloads.len())];
        let machine = &self.machines[digit(self.machines.len())];
        let mut hash = Hash::new(VERSION);
        hash.number(machine.key);
        hash.number(jobs.key);
        [scheduler, execution, policy].into_iter().for_each(|word| hash.text(word));
        let key = hash.finish();
        Cell { index, machine: &machine.word, jobs, scheduler, execution, policy, idle: &machine.idle, key }
    }
}

/// Says under which key of the sweep file something is wrong.
pub(super) fn under(key: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Malformed(what) => Failure::Malformed(format!("`{key}`: {what}")),
        other => other,
    }
}

fn machine(word: &str, output: &Output) -> Result<Machine, Failure> {
    let loaded = load(&MachineArgs::named(word), output)?;
    let graph: &Arc<HardwareGraph> = loaded.graph();
    let idle = simulation::fleet(&loaded)?;
    let mut hash = Hash::new("machine");
    hash.number(graph.fingerprint());
    graph.devices().iter().for_each(|device| hash.text(&device.name));
    for whole in graph.wholes().iter() {
        let layout = loaded.idle.view().layout_of(whole);
        if !layout.is_whole() {
            hash.text(&format!("{whole} {layout:?}"));
        }
    }
    Ok(Machine { word: word.to_owned(), idle, key: hash.finish() })
}

/// FNV-1a, 64 bits: the same on every machine and release.
pub(super) struct Hash(FnvHasher);

impl Hash {
    pub(super) fn new(of: &str) -> Self {
        let mut hash = Self(FnvHasher::default());
        hash.text(of);
        hash
    }

    fn number(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.write(text.as_bytes());
    }

    /// All that is there of a workload's jobs. Their debug form has every field, those to come too.
    pub(super) fn jobs(&mut self, workload: &Workload) {
        // Hashes take everything.
        let _ = fmt::write(self, format_args!("{:?}", workload.jobs));
    }

    pub(super) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
