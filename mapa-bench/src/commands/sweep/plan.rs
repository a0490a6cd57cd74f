//! Which cells there are, and what each depends on.
//!
//! Every word is looked at, and every machine and workload read, before anything runs: a sweep that begins can be gone
//! through with. Cells are numbered from 0 as nested loops would, from the outside: machines; workloads, which are the
//! generators, each with all seeds, then the job files, then the traces; schedulers; executions; policies. Each list is in
//! the order of the file. Schedulers that place by a policy of their own are not combined with others.

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
use crate::simulation::{self, execution, own_policy, policy_names, scheduler};

/// What a cell's file holds and how it is computed: changes with both.
const VERSION: &str = concat!("cell 3 of mapa-bench ", env!("CARGO_PKG_VERSION"));

pub(super) struct Plan {
    machines: Vec<Machine>,
    workloads: Vec<Jobs>,
    ways: Vec<Way>,
}

/// How a workload is run on a machine.
struct Way {
    scheduler: String,
    execution: String,
    policy: String,
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
        for word in &file.executions.0 {
            known("executions", execution(word, &Workload::default()).map(drop))?;
        }
        let mut ways = Vec::new();
        for word in &file.schedulers.0 {
            let own = own_policy(word);
            let any = policy(own.unwrap_or("lowest-id"), None, Preserved::All);
            known("schedulers", any.and_then(|any| scheduler(word, any, "fixed")).map(drop))?;
            let by = own.as_ref().map_or(&policies[..], std::slice::from_ref);
            if by.is_empty() {
                let none = format_args!("expected at least one word, as {word} has no policy of its own");
                return Err(under("policies", Failure::malformed(none)));
            }
            for name in by {
                let made = policy(name, None, Preserved::All).and_then(|policy| scheduler(word, policy, "fixed"));
                known("schedulers", made.map(drop))?;
            }
            for execution in &file.executions.0 {
                let way = |policy: &&str| {
                    let [scheduler, execution, policy] = [word.as_str(), execution, policy].map(str::to_owned);
                    Way { scheduler, execution, policy }
                };
                ways.extend(by.iter().map(way));
            }
        }
        let machine = |word: &String| machine(word, file, output);
        Ok(Self {
            machines: file.machines.0.iter().map(machine).collect::<Result<_, _>>()?,
            workloads: workloads(file)?,
            ways,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.machines.len() * self.workloads.len() * self.ways.len()
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
        let Way { scheduler, execution, policy } = &self.ways[digit(self.ways.len())];
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

fn machine(word: &str, file: &SweepFile, output: &Output) -> Result<Machine, Failure> {
    // Alone first, so that what is wrong is named by its own key.
    let named = MachineArgs::named(word);
    load(&named, output).map_err(|failure| under("machines", failure))?;
    let with_ports = MachineArgs { pcie_gbps: file.pcie_gbps, ..named };
    let ports = load(&with_ports, output).map_err(|failure| under("pcie_gbps", failure))?;
    let loaded = match &file.mig {
        None => ports,
        Some(_) => {
            load(&MachineArgs { mig: file.mig.clone(), ..with_ports }, output).map_err(|failure| match failure {
                Failure::NoFit(answer) => {
                    let why = answer.get("reason").and_then(serde_json::Value::as_str).unwrap_or("they do not fit");
                    under("mig", Failure::malformed(why))
                }
                other => under("mig", other),
            })?
        }
    };
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
