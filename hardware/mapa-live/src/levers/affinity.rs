//! The CPUs on which a process may run.

use std::path::Path;

use super::error::LeverError;
use crate::kernel::{Cpus, ProcessId};

/// [Missing](LeverError::Missing) if a process has ended, and only then.
pub(super) fn alive(proc: &Path, process: ProcessId) -> Result<(), LeverError> {
    let what = format!("process {}", process.pid);
    match ProcessId::of(proc, process.pid) {
        Ok(Some(own)) if own == process => Ok(()),
        Ok(_) => Err(LeverError::missing(what, "it has ended")),
        Err(error) => Err(LeverError::failed(what, error.to_string())),
    }
}

/// The CPUs on which threads may run. [`SystemAffinity`](crate::levers::SystemAffinity) is
/// `sched_setaffinity`, [`SimulatedMachine`](crate::levers::SimulatedMachine) a simulated one.
///
/// # What it does not do
/// A process may set its own affinity at any time. A `cpuset` it cannot leave.
pub trait Affinity: Send {
    /// The CPUs of each thread of a process, by thread id.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended.
    fn threads(&self, process: ProcessId) -> Result<Vec<(i32, Cpus)>, LeverError>;

    /// Sets the CPUs of one thread of a process. A thread that has ended is no error.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended. The kernel refused: none of the CPUs is
    /// online, or it is another user's process.
    fn set_thread(
        &mut self,
        process: ProcessId,
        thread: i32,
        cpus: &Cpus,
    ) -> Result<(), LeverError>;

    /// The CPUs that are online.
    ///
    /// # Errors
    /// The kernel does not say.
    fn online(&self) -> Result<Cpus, LeverError>;
}
