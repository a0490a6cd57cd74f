#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `output` prints"
)]

mod begin;
mod bell;
mod child;
mod cli;
mod command;
mod daemon;
mod disk;
mod doctor;
mod drive;
mod end;
mod entries;
mod error;
mod health;
mod ledger;
mod lines;
mod mark;
mod memory;
mod node;
mod open_metrics;
mod others;
mod output;
mod plan;
mod queue;
mod recover;
mod run;
mod service;
mod show;
mod status;
mod steward;
mod surroundings;
mod topology;
mod undone;

pub use cli::MachineArgs;
pub use command::{ledger_file, main};
pub use daemon::daemon;
pub use disk::Disk;
pub use drive::check_node_config;
pub use entries::{Entries, Entry, read_entries};
pub use error::Error;
pub use ledger::{
    Asker, Books, Cordon, Decision, Fault, Key, Kind, Lease, Ledger, Moment, Note, Steward, Sync,
    Tenant, Ticket, Trouble, now,
};
pub use mapa_live::{Identity, Life, Processes};
pub use mark::MARK;
pub use memory::peer_of;
pub use node::{Cause, Node, State, Withheld};
pub use output::Output;
pub use queue::ring_first;
pub use recover::{CASE, Recovered, recover, tasks_of};
pub use run::user;
pub use service::gid;

pub use surroundings::{Parts, Surroundings, surroundings};
