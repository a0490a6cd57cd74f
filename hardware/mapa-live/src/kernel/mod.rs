//! What the kernel shows in its files, and how it writes them: lists of CPUs, processes that are named so
//! that a reused id is never mistaken, counts of interrupts, versions of control groups.
//!
//! Telemetry and levers read the same files, so what reads them lies below both.

pub mod cgroup;
mod cpus;
pub(crate) mod files;
mod interrupts;
mod namespaces;
mod process;
mod processes;

pub use cpus::Cpus;
pub use interrupts::{Interrupts, low_interrupt_cpus};
pub use namespaces::Namespaces;
pub use process::{Identity, Liveness, ProcessId};
pub(crate) use process::{Stat, is_gone};
pub use processes::{Marked, ProcessTree, Processes};
