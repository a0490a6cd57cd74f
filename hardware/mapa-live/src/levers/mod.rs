//! Levers: what schedulers order, done to this machine within bounds, and reverted.
//!
//! Each lever is a trait with an implementation that does it and a simulated one, [`SimulatedMachine`]:
//!
//! | lever | trait | real |
//! |---|---|---|
//! | MIG modes and instances | [`MigControl`] | `MigNvml` (feature `nvml`), [`MigCommand`]; `MigSystem` is the one of the two that this machine has |
//! | MPS shares and pinned memory | [`Mps`] | [`MpsCommand`] |
//! | control groups | [`CgroupOps`] | [`CgroupTree`], v1 and v2 |
//! | block I/O | [`BlockIo`] | [`CgroupTree`] |
//! | CPUs of a group | [`Cpusets`] | [`CgroupTree`] |
//! | CPUs of a process | [`Affinity`] | [`SystemAffinity`] |
//! | programs | [`Programs`] | [`SystemPrograms`] |
//!
//! The traits do single things. What makes them safe is written once, over all of them:
//!
//! 1. [`LeverSet::plan`] compares what is asked ([`LeverChange`]) with what is, checks the [`Bounds`], and gives a
//!    [`Plan`]: steps, each with what was before. A plan prints as the exact commands and writes: the dry run.
//!    If all is so already, it is empty.
//! 2. A [`LeverManager`] writes the plan into its [`Journal`] (intent), carries it out (apply), and notes that it is
//!    done (confirm).
//! 3. If a step fails, the steps before it are reverted at once. [`ApplyFailure::left`] names what could not be.
//! 4. A plan is reverted ([`LeverSet::revert`]) when its time has come, at the exit, or by the next manager after a
//!    crash, whether all of it was done or a part. Limits, CPUs, shares, modes and routes are put back only if they are
//!    still as they were set. Instances, daemons and programs have no value to compare: they are there or not. Undoing
//!    twice is reverting once.

mod affinity;
mod apply;
mod block_io;
mod bounds;
mod cgroup;
mod cpuset;
mod error;
mod execute;
mod group;
mod journal;
mod launch;
mod lever_set;
mod manager;
mod mig;
mod mps;
mod mps_command;
mod planning;
mod revert;
mod simulated;
mod step;
mod system;
mod system_affinity;
mod system_programs;

pub use crate::kernel::cgroup::Version;
pub use affinity::Affinity;
pub use block_io::{BlockDevice, BlockIo, BlockIoLimits};
pub use bounds::{Bound, Bounds};
pub use cgroup::CgroupTree;
pub use cpuset::{Cpuset, Cpusets};
pub use error::LeverError;
pub use execute::ApplyFailure;
pub use group::{CgroupOp, CgroupOps, CgroupPath, Controller};
pub use journal::{FolderJournal, Journal, JournalEntry, Lifetime, MemoryJournal};
pub use launch::{ProgramSpec, Programs, ReadinessProbe, RouteFile};
pub use lever_set::LeverSet;
pub use manager::{Holder, LeverEvent, LeverManager};
pub use mig::{
    MigCommand, MigControl, MigDevice, MigInstanceSpec, MigLayout, MigOffer, MigOp, MigPlace,
    MigState, reconcilers,
};
#[cfg(feature = "nvml")]
pub use mig::{MigNvml, MigSystem};
pub use mps::{Mps, MpsControlCommand, MpsScope, MpsServer, PinnedMib};
pub use mps_command::MpsCommand;
pub use simulated::{InjectedFault, SimulatedMachine, SimulatedMps, SimulatedState};
pub use step::{LeverChange, Plan, Step};
pub use system_affinity::SystemAffinity;
pub use system_programs::SystemPrograms;
