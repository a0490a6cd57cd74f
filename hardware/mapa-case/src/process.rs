//! The tasks of this process, and the instance to which its first task binds it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crate::client::{Declared, Instance, Session};
use crate::error::Error;
use crate::message::flags;
use crate::transport::{Socket, Transport, socket_of_environment};

/// What has become of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// It holds memory now.
    Begin = 1,
    /// It holds more.
    Extend = 2,
    /// It is about to give all of it back.
    End = 3,
}

/// What a process does when something becomes of its tasks. Calls come one at a time.
pub trait Hooks: Send + Sync {
    /// The process is bound to an instance: before its first call of CUDA.
    fn bind(&self, instance: &Instance);

    /// Opens a connection to the manager. Default: the socket.
    ///
    /// # Errors
    /// What the system says.
    fn connect(&self, path: &Path) -> io::Result<Arc<dyn Transport>> {
        Ok(Arc::new(Socket::connect(path)?))
    }

    /// Something has become of a task: its number, and the bytes and warps that it got.
    fn observe(&self, what: What, task: u64, bytes: u64, warps: u64);
}

/// A task that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// What the program calls it.
    name: u64,
    /// The number of its begin.
    number: u64,
    /// The task of this thread inside which it begins, or itself. To those who observe, a task inside
    /// another is growth of that one, which ends with the last of them.
    outermost: u64,
    thread: ThreadId,
}

#[derive(Debug, Default)]
struct Tasks {
    begun: u64,
    open: Vec<Open>,
    is_bound: bool,
}

/// The tasks of this process.
pub struct Process {
    pid: u32,
    hooks: Arc<dyn Hooks>,
    largest: AtomicU64,
    grows: AtomicU64,
    /// None without a manager.
    session: OnceLock<Option<Session>>,
    tasks: Mutex<Tasks>,
}

impl Process {
    /// A process without tasks.
    #[must_use]
    pub fn new(hooks: Arc<dyn Hooks>) -> Self {
        Self {
            pid: std::process::id(),
            hooks,
            largest: AtomicU64::new(0),
            grows: AtomicU64::new(0),
            session: OnceLock::new(),
            tasks: Mutex::default(),
        }
    }

    /// Whether this is not the copy that a forked child has of its parent's.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Whether a task is open.
    #[must_use]
    pub fn is_in_task(&self) -> bool {
        !self.tasks().open.is_empty()
    }

    /// Notes what is known beforehand. Only what is told before the first task reaches the manager.
    pub fn declare(&self, largest: u64, grows: bool) {
        self.largest.fetch_max(largest, Relaxed);
        self.grows.fetch_or(u64::from(grows), Relaxed);
    }

    /// What was told beforehand, for a child that begins anew.
    #[must_use]
    pub fn declared(&self) -> (u64, bool) {
        (self.largest.load(Relaxed), self.grows.load(Relaxed) != 0)
    }

    /// Asks for memory of a task, and waits for it. The first task binds the process.
    ///
    /// # Errors
    /// The memory can never be had, or the manager cannot be reached or refuses.
    pub fn begin(&self, name: u64, bytes: u64, warps: u64, flags: u64) -> Result<(), Error> {
        let number = {
            let mut tasks = self.tasks();
            tasks.begun += 1;
            tasks.begun
        };
        if flags & flags::GROWS != 0 {
            self.declare(bytes, true);
        }
        if let Some(session) = self.session() {
            let reply = session.begin(number, bytes, warps, flags & flags::ALL)?;
            self.bind(session, reply.instance)?;
        }
        let mut tasks = self.tasks();
        let thread = thread::current().id();
        let around = tasks.open.iter().find(|own| own.thread == thread);
        let outermost = around.map_or(number, |own| own.outermost);
        tasks.open.push(Open {
            name,
            number,
            outermost,
            thread,
        });
        let what = if outermost == number {
            What::Begin
        } else {
            What::Extend
        };
        self.hooks.observe(what, outermost, bytes, warps);
        Ok(())
    }

    /// Asks for more memory of an open task, and waits for it.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); no such task is open.
    pub fn extend(&self, name: u64, bytes: u64, warps: u64) -> Result<(), Error> {
        let own = self.tasks().find(name).ok_or(Error::NoTask(name))?;
        if let Some(session) = self.session() {
            session.extend(own.number, bytes, warps)?;
        }
        let _tasks = self.tasks();
        self.hooks
            .observe(What::Extend, own.outermost, bytes, warps);
        Ok(())
    }

    /// Gives back all of an open task: the latest of this name that this thread has begun, else the
    /// oldest of any.
    ///
    /// # Errors
    /// The manager cannot be reached; no such task is open.
    pub fn end(&self, name: u64) -> Result<(), Error> {
        let own = {
            let mut tasks = self.tasks();
            let own = tasks.find(name).ok_or(Error::NoTask(name))?;
            tasks.open.retain(|other| other.number != own.number);
            if tasks
                .open
                .iter()
                .all(|other| other.outermost != own.outermost)
            {
                self.hooks.observe(What::End, own.outermost, 0, 0);
            }
            own
        };
        if let Some(session) = self.session() {
            session.end(own.number)?;
        }
        Ok(())
    }

    /// Binds the process without a task: it is about to reach the driver.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn touch(&self) -> Result<(), Error> {
        let Some(session) = self.session() else {
            return Ok(());
        };
        if self.tasks().is_bound {
            return Ok(());
        }
        let number = {
            let mut tasks = self.tasks();
            tasks.begun += 1;
            tasks.begun
        };
        let reply = session.begin(number, 0, 0, flags::UNKNOWN_WARPS)?;
        let bound = self.bind(session, reply.instance);
        session.end(number)?;
        bound
    }

    /// Ends every open task, and the session.
    pub fn destroy(&self) {
        let open: Vec<Open> = {
            let mut tasks = self.tasks();
            let open = std::mem::take(&mut tasks.open);
            let ended: BTreeSet<u64> = open.iter().map(|own| own.outermost).collect();
            for number in ended {
                self.hooks.observe(What::End, number, 0, 0);
            }
            open
        };
        // The process is ending; that it cannot say so is what the manager sees for itself.
        if let Some(Some(session)) = self.session.get() {
            for own in open {
                drop(session.end(own.number));
            }
            drop(session.destroy());
        }
    }

    fn bind(&self, session: &Session, number: u64) -> Result<(), Error> {
        let mut tasks = self.tasks();
        if tasks.is_bound || number == 0 {
            return Ok(());
        }
        let instance = session.describe(number)?;
        self.hooks.bind(&instance);
        tasks.is_bound = true;
        Ok(())
    }

    fn session(&self) -> Option<&Session> {
        let made = self.session.get_or_init(|| {
            let path = socket_of_environment()?;
            let (largest, grows) = self.declared();
            let declared = Declared {
                largest,
                grows,
                isolated: false,
            };
            let hooks = self.hooks.clone();
            Some(Session::over(path, declared, move |path| {
                hooks.connect(path)
            }))
        });
        made.as_ref()
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    fn find(&self, name: u64) -> Option<Open> {
        let thread = thread::current().id();
        let named = || self.open.iter().filter(|own| own.name == name);
        let own = named().rev().find(|own| own.thread == thread);
        own.or_else(|| named().next()).copied()
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("session", &self.session)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}
