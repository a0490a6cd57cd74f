//! The CPUs on which a process may run.

use super::error::LeverError;
use crate::kernel::{Cpus, ProcessId};

/// The CPUs on which threads may run. [`SystemAffinity`](crate::levers::SystemAffinity) is
/// `sched_setaffinity`, [`Twin`](crate::levers::Twin) a simulated one.
///
/// # What it does not do
/// A process may set its own affinity at any time. A `cpuset` it cannot leave.
pub trait Affinity: Send {
    /// The CPUs of each thread of a process, by thread id.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended.
    fn threads(&self, process: ProcessId) -> Result<Vec<(u32, Cpus)>, LeverError>;

    /// Sets the CPUs of one thread of a process. A thread that has ended is no error.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended. The kernel refused: none of the CPUs is
    /// online, or it is another user's process.
    fn set_thread(
        &mut self,
        process: ProcessId,
        thread: u32,
        cpus: &Cpus,
    ) -> Result<(), LeverError>;

    /// The CPUs that are online.
    ///
    /// # Errors
    /// The kernel does not say.
    fn online(&self) -> Result<Cpus, LeverError>;
}
