//! Messages to a thread that waits for sockets too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// Where messages wait. Its descriptor can be read as soon as one does.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    waiting: Mutex<Vec<T>>,
    bell: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty one.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            waiting: Mutex::new(Vec::new()),
            bell,
        })
    }

    /// Leaves a message.
    pub(crate) fn post(&self, message: T) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(message);
        // A bell that was rung too often to count is rung all the same.
        let _ = write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// All messages, in their order.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was not rung has nothing to read.
        let _ = read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *waiting)
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
