//! The CPUs and memory nodes of a group.

use serde::{Deserialize, Serialize};

use super::error::LeverError;
use super::group::CgroupPath;
use crate::kernel::Cpus;

/// The CPUs and the memory nodes of a group. Empty means those of the group above, on v2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpuset {
    /// The CPUs on which its processes may run.
    pub cpus: Cpus,
    /// The NUMA nodes of memory.
    pub mems: Cpus,
}

/// The CPUs and memory nodes of groups. [`CgroupTree`](crate::levers::CgroupTree) writes the kernel's
/// files, [`SimulatedMachine`](crate::levers::SimulatedMachine) simulates them.
///
/// # What it does not do
/// Threads of the kernel and interrupts are not moved. Memory that is allotted stays where it is, unless
/// `cpuset.memory_migrate` is set (v1; v2 migrates).
pub trait Cpusets: Send {
    /// What a group was set to.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no such group, or no such controller.
    fn cpuset(&self, group: &CgroupPath) -> Result<Cpuset, LeverError>;

    /// What a group may be set to: the set in force of the group above it.
    ///
    /// # Errors
    /// As for [`cpuset`](Self::cpuset).
    fn allowed(&self, group: &CgroupPath) -> Result<Cpuset, LeverError>;

    /// Sets the CPUs and nodes of a group.
    ///
    /// # Errors
    /// The kernel refused.
    fn set_cpuset(&mut self, group: &CgroupPath, set: &Cpuset) -> Result<(), LeverError>;

    /// The exact writes of [`set_cpuset`](Self::set_cpuset), one a line.
    fn commands(&self, group: &CgroupPath, set: &Cpuset) -> String;
}
