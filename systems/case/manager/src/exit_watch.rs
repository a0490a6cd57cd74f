//! Reports exits of processes to the manager: a pidfd for each process.
//!
//! That a connection ends means nothing: a child may have inherited it, or it was lost.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use mapa_live::Processes;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::poll::Poll;
use crate::session::ClientProcess;

/// The processes that are watched.
#[derive(Default)]
pub(crate) struct ExitWatch {
    /// By the number of its pidfd.
    watched: BTreeMap<u64, (ClientProcess, OwnedFd)>,
    by_peer: BTreeMap<ClientProcess, u64>,
}

impl ExitWatch {
    /// The process that is dead if this number is ready.
    pub(crate) fn of(&self, number: u64) -> Option<ClientProcess> {
        self.watched.get(&number).map(|(peer, _)| *peer)
    }

    /// Whether the exit of a process will be reported.
    pub(crate) fn watches(&self, peer: ClientProcess) -> bool {
        self.by_peer.contains_key(&peer)
    }

    /// Watches a process until its death. Returns whether it lives.
    ///
    /// # Errors
    /// It cannot be watched, which says nothing of its life.
    pub(crate) fn watch(
        &mut self,
        peer: ClientProcess,
        poll: &mut Poll,
        processes: &Processes,
    ) -> io::Result<bool> {
        if self.watches(peer) {
            return Ok(true);
        }
        let Some(pid) = Pid::from_raw(peer.pid) else {
            return Ok(false);
        };
        let fd = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(false),
            opened => opened?,
        };
        // The number may have been given to another between what the kernel said and now. Of one that
        // has died meanwhile the descriptor tells.
        let now = processes.identity(peer.pid);
        if now.is_some_and(|identity| identity.id.start != peer.start) {
            return Ok(false);
        }
        let number = poll.number();
        poll.listen_to(&fd, number)?;
        self.watched.insert(number, (peer, fd));
        self.by_peer.insert(peer, number);
        Ok(true)
    }

    /// Watches a process no more.
    pub(crate) fn forget(&mut self, peer: ClientProcess, poll: &Poll) {
        let number = self.by_peer.remove(&peer);
        if let Some((_, fd)) = number.and_then(|number| self.watched.remove(&number)) {
            poll.forget(&fd);
        }
    }
}
