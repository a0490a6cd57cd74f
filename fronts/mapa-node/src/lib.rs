#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `output` prints"
)]

mod acquire;
mod append_file;
mod cli;
mod client;
mod command;
mod daemon;
mod daemon_cli;
mod degraded;
mod desk;
mod doctor;
mod error;
mod failed_reverts;
mod foreign;
mod health;
mod job_environment;
mod job_process;
mod keeper;
mod leader;
mod lease_processes;
mod leases;
mod ledger;
mod local_files;
mod mailbox;
mod mark;
mod memory;
mod node;
mod open_metrics;
mod operator;
mod output;
mod path_visibility;
mod plan;
mod recover;
mod release;
mod run;
mod run_daemon;
mod service;
mod shell_files;
mod status;
mod task_file;
mod timed;
mod wakeup;

pub use acquire::wake_head;
pub use cli::MachineArgs;
pub use command::{ledger_file, main};
pub use daemon::check_node_config;
pub use daemon_cli::daemon;
pub use error::Error;
pub use leases::{Leases, OutsideLease};
pub use ledger::{
    AuditEntry, AuditKind, AuditRow, Cordon, DeviceFault, DeviceKey, Durability, FaultKind, Lease,
    Ledger, LedgerTx, OutsideOwner, QueueLeader, Requester, Tenant, Ticket, UnixNanos, now,
};
pub use local_files::LocalFiles;
pub use mapa_live::{Identity, Liveness, Processes};
pub use mark::MARK;
pub use memory::{peer_of, user};
pub use node::{Cause, Node, NodeState, Withheld};
pub use output::Output;
pub use recover::{CASE, Recovered, recover, tasks_of};
pub use service::gid;
pub use task_file::{TaskFile, TaskRecord, read_task_records};

pub use job_environment::{EnvironmentParts, JobEnvironment, surroundings};
