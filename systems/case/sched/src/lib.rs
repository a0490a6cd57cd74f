//! CASE: jobs that need no isolation share MIG instances (Porter, Chen and Pande, 2022; see
//! [`Case`]).
//!
//! The manager is a pure state machine. It reads events and gives orders, so a simulator and a
//! daemon run the same object. A job that must be alone gets an instance
//! ([`Action::Place`](mapa_sched::Action::Place)). Any other job is launched without a device
//! ([`Action::Launch`](mapa_sched::Action::Launch)); its process asks for memory task by task
//! ([`Event::TaskBegin`](mapa_sched::Event::TaskBegin)).
//!
//! # Why nobody waits for ever
//! Who holds nothing can wait. So only what a process *holds while it waits* matters:
//!
//! - Memory of a task. A task asks once for all, and only one process on an instance may ask for
//!   more while it holds some ([`Growers::One`]). That process waits for tasks that wait for nobody.
//! - Memory of contexts. A bound process keeps its context between its tasks. A process is bound to
//!   an instance only if the largest task of each process there still fits beside all contexts.
//! - Isolation. A drained instance takes no new process, but the processes bound to it go on: they
//!   can run nowhere else.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod balance;
mod bindings;
mod bound;
mod instances;
mod manager;
mod policy;
mod printed;
mod provision;
mod rows;
mod settings;
mod slurm;

pub use bound::{CaseBatch, CaseTask};
pub use manager::Case;
pub use policy::{POLICIES, case};
pub use printed::{PrintedAlgorithm, PrintedEnd, PrintedFaults, PrintedJob, PrintedRun};
pub use rows::SCHEDULERS;
pub use settings::{
    CaseOrder, CaseSettings, ClassDivision, ContextMemory, Growers, MemoryFit, ProcessBinding,
};
pub use slurm::SlurmMig;
