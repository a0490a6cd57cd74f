//! What the manager waits for: descriptors, each under a number of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

/// For how long the manager polls for the next request after one, before it sleeps. To wake it takes as long, and programs
/// often ask several times in a row.
const SPIN: Duration = Duration::from_micros(20);

/// Descriptors that are waited for.
pub(crate) struct Poll {
    epoll: OwnedFd,
    next: u64,
    has_one_cpu: bool,
    /// Whether something was ready last.
    was_ready: bool,
}

impl Poll {
    /// One that waits for nothing. It gives numbers above `last`.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(last: u64) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            epoll,
            next: last,
            has_one_cpu: thread::available_parallelism().is_ok_and(|non_zero| non_zero.get() == 1),
            was_ready: false,
        })
    }

    /// A number that nothing has had. Later ones are higher.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Waits for a descriptor, under this number, for as long as it can be read.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn listen_to(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        let event = epoll::EventData::new_u64(number);
        Ok(epoll::add(&self.epoll, fd, event, epoll::EventFlags::IN)?)
    }

    /// Waits for each write to a descriptor, under this number, whether or not it is read.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn listen_to_edges(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        let event = epoll::EventData::new_u64(number);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, fd, event, flags)?)
    }

    /// Waits for a descriptor no more. A copy of it in another process would go on ringing.
    pub(crate) fn forget(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until something can be read, so long at most, and puts the numbers into `ready`.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn wait(
        &mut self,
        limit: Option<Duration>,
        events: &mut Vec<epoll::Event>,
    ) -> io::Result<()> {
        events.clear();
        if self.was_ready && !self.has_one_cpu {
            let begun = Instant::now();
            while events.is_empty() && begun.elapsed() < SPIN {
                self.take(Some(Duration::ZERO), events)?;
                std::hint::spin_loop();
            }
        }
        if events.is_empty() {
            self.take(limit, events)?;
        }
        self.was_ready = !events.is_empty();
        Ok(())
    }

    fn take(&self, limit: Option<Duration>, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match epoll::wait(&self.epoll, spare_capacity(events), limit.as_ref()) {
            // Who waits again loses nothing.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
