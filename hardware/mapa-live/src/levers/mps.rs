//! MPS, NVIDIA's service that lets processes share a GPU: shares of multiprocessors, limits of pinned
//! memory.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::LeverError;

/// One MPS control daemon, by the folder of its pipes (`CUDA_MPS_PIPE_DIRECTORY`). There is one for each
/// MIG instance, or for all GPUs of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MpsServer(pub PathBuf);

/// A limit on pinned device memory, MiB, as MPS has it; `None` is no limit. From 1 GiB on the daemon tells whole GiB
/// alone, rounded down, so MAPA sets no others.
pub type PinnedMib = Option<u64>;

/// Whether the daemon tells this limit as it was set: whole GiB, or less than one.
pub(crate) fn is_told_exactly(mib: u64) -> bool {
    mib < 1024 || mib.is_multiple_of(1024)
}

/// The daemon or one of its servers: each has values of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MpsScope {
    /// The daemon's: servers that it starts from now on have it.
    Daemon,
    /// That of a server which runs: clients that it gets from now on have it.
    Server {
        /// The server's process id, as the daemon lists it.
        pid: u32,
    },
}

/// MPS control daemons. [`MpsCommand`](crate::levers::MpsCommand) speaks to NVIDIA's through its command,
/// [`SimulatedMachine`](crate::levers::SimulatedMachine) simulates one.
///
/// NVIDIA's daemon keeps the old value if one is out of range, and ends with success also if it does not know a
/// command. So every implementation reads back what it has set.
///
/// # What it does not do
/// The share holds for clients that start later; those that run keep theirs. It limits threads, not
/// memory bandwidth and not PCIe. A client may ask for less by its environment.
pub trait Mps: Send {
    /// Whether the daemon answers.
    ///
    /// # Errors
    /// Unknown: there is no command that reads it, or its answer is malformed.
    fn is_running(&self, server: &MpsServer) -> Result<bool, LeverError>;

    /// The daemon and its servers, whose values may differ.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no daemon.
    fn scopes(&self, server: &MpsServer) -> Result<Vec<MpsScope>, LeverError>;

    /// The share of multiprocessors, in thousandths of a percent (100,000 is all).
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no daemon, or no such server. Its answer is no number.
    fn percent(&self, server: &MpsServer, scope: MpsScope) -> Result<u32, LeverError>;

    /// Sets the share of multiprocessors, in thousandths of a percent.
    ///
    /// # Errors
    /// [Not applied](LeverError::NotApplied): the daemon kept another value.
    fn set_percent(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        thousandths: u32,
    ) -> Result<(), LeverError>;

    /// The limit on pinned memory on a device, by the daemon's number of it. The context of a client counts.
    ///
    /// # Errors
    /// As for [`percent`](Self::percent).
    fn pinned(
        &self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
    ) -> Result<PinnedMib, LeverError>;

    /// Sets the limit on pinned memory on a device.
    ///
    /// # Errors
    /// As for [`set_percent`](Self::set_percent).
    fn set_pinned(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
        limit: PinnedMib,
    ) -> Result<(), LeverError>;

    /// Starts a daemon.
    ///
    /// # Errors
    /// It does not start.
    fn start(&mut self, server: &MpsServer) -> Result<(), LeverError>;

    /// Ends a daemon and its servers.
    ///
    /// # Errors
    /// It does not end.
    fn quit(&mut self, server: &MpsServer) -> Result<(), LeverError>;

    /// The exact command of a line to the daemon.
    fn commands(&self, server: &MpsServer, line: &MpsControlCommand) -> String;
}

/// A command to a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpsControlCommand {
    /// [`Mps::set_percent`].
    Percent(MpsScope, u32),
    /// [`Mps::set_pinned`].
    Pinned(MpsScope, u32, PinnedMib),
    /// [`Mps::start`].
    Start,
    /// [`Mps::quit`].
    Quit,
}
