//! The tasks of this process, and the instance to which its first task binds it.

use std::collections::BTreeSet;
use std::env;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crate::client::{Declared, Instance, Session};
use crate::error::Error;
use crate::holdings::Holdings;
use crate::message::{MOST, Reply, flags};
use crate::transport::{Socket, Transport, socket_of_environment};

/// The variable that says the most bytes that the process will hold at once. `mapa-case run --bytes` sets
/// it.
pub const BYTES: &str = "MAPA_CASE_BYTES";

/// What has become of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TaskEvent {
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
    fn observe(&self, what: TaskEvent, task: u64, bytes: u64, warps: u64);
}

/// A task that is open.
#[derive(Clone, Copy, Debug)]
struct OpenTask {
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
    open: Vec<OpenTask>,
    /// The numbers of tasks whose end the manager has not heard of: sent before anything else is asked.
    unsent: Vec<u64>,
    is_bound: bool,
}

/// The tasks of this process.
pub struct ProcessTasks {
    pid: u32,
    hooks: Arc<dyn Hooks>,
    largest: AtomicU64,
    grows: AtomicU64,
    /// None without a manager.
    session: OnceLock<Option<Session>>,
    tasks: Mutex<Tasks>,
    /// Of a program whose tasks nobody has marked.
    holdings: Mutex<Holdings>,
    /// Held by the thread that binds the process. The others wait, but not those that only observe.
    binding: Mutex<()>,
}

impl ProcessTasks {
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
            holdings: Mutex::default(),
            binding: Mutex::default(),
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
            // What is spared if it is not there now says nothing of what is needed.
            let needed = if flags & flags::AT_ONCE == 0 {
                bytes
            } else {
                0
            };
            self.declare(needed, true);
        }
        if let Some(session) = self.session() {
            self.ask(session, bytes)?;
            let reply = self.ask_begin(session, number, bytes, warps, flags & flags::ALL)?;
            if let Err(error) = self.bind(session, reply.instance) {
                // It was granted, and nobody will end it.
                drop(self.give_back(session, number));
                return Err(error);
            }
        }
        let mut tasks = self.tasks();
        let thread = thread::current().id();
        let around = tasks.open.iter().find(|open| open.thread == thread);
        let outermost = around.map_or(number, |open| open.outermost);
        tasks.open.push(OpenTask {
            name,
            number,
            outermost,
            thread,
        });
        let what = if outermost == number {
            TaskEvent::Begin
        } else {
            TaskEvent::Extend
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
            self.ask(session, bytes)?;
            session.extend(own.number, bytes, warps)?;
        }
        let _tasks = self.tasks();
        self.hooks
            .observe(TaskEvent::Extend, own.outermost, bytes, warps);
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
                self.hooks.observe(TaskEvent::End, own.outermost, 0, 0);
            }
            own
        };
        match self.session() {
            Some(session) => self.give_back(session, own.number),
            None => Ok(()),
        }
    }

    /// Gives back a task. If the manager does not hear of it now, it will before the next request.
    fn give_back(&self, session: &Session, number: u64) -> Result<(), Error> {
        self.tasks().unsent.push(number);
        self.settle(session)
    }

    /// Begins a task. A manager that is gone before it was heard may have granted it: it is told of an
    /// end before the next request.
    fn ask_begin(
        &self,
        session: &Session,
        number: u64,
        bytes: u64,
        warps: u64,
        flags: u64,
    ) -> Result<Reply, Error> {
        let reply = session.begin(number, bytes, warps, flags);
        if let Err(Error::NoManager(..)) = reply {
            self.tasks().unsent.push(number);
        }
        reply
    }

    /// Sends the ends that the manager has not heard of.
    fn settle(&self, session: &Session) -> Result<(), Error> {
        loop {
            let Some(number) = self.tasks().unsent.pop() else {
                return Ok(());
            };
            if let Err(error) = session.end(number) {
                self.tasks().unsent.push(number);
                return Err(error);
            }
        }
    }

    /// What comes before each request for so many bytes.
    fn ask(&self, session: &Session, bytes: u64) -> Result<(), Error> {
        if bytes > MOST {
            return Err(Error::OutOfMemory);
        }
        if self.tasks().unsent.is_empty() {
            return Ok(());
        }
        // An end alone may have no patience.
        session.init()?;
        self.settle(session)
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
        self.ask(session, 0)?;
        let reply = self.ask_begin(session, number, 0, 0, flags::UNKNOWN_WARPS)?;
        let bound = self.bind(session, reply.instance);
        let given_back = self.give_back(session, number);
        bound.and(given_back)
    }

    /// Whether the process is bound, or asks no manager.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.session().is_none() || self.tasks().is_bound
    }

    /// Tells those who observe that every open task ends, for the process does. To the manager nothing
    /// is said: the process holds its memory until it is dead, which the manager sees for itself.
    pub fn exits(&self) {
        self.close();
    }

    /// Ends every open task, and the session.
    pub fn destroy(&self) {
        let open = self.close();
        if let Some(Some(session)) = self.session.get() {
            self.tasks().unsent.extend(open);
            // A manager that cannot be reached sees the death of the process.
            if self.settle(session).is_ok() {
                drop(session.destroy());
            }
        }
    }

    /// Closes all tasks. Returns their numbers.
    fn close(&self) -> Vec<u64> {
        let mut tasks = self.tasks();
        let open = std::mem::take(&mut tasks.open);
        let ended: BTreeSet<u64> = open.iter().map(|open| open.outermost).collect();
        for number in ended {
            self.hooks.observe(TaskEvent::End, number, 0, 0);
        }
        open.iter().map(|open| open.number).collect()
    }

    fn bind(&self, session: &Session, number: u64) -> Result<(), Error> {
        let _binding = self.binding.lock().unwrap_or_else(PoisonError::into_inner);
        if number == 0 || self.tasks().is_bound {
            return Ok(());
        }
        let instance = session.describe(number)?;
        self.hooks.bind(&instance);
        self.tasks().is_bound = true;
        Ok(())
    }

    fn session(&self) -> Option<&Session> {
        let made = self.session.get_or_init(|| {
            let path = socket_of_environment()?;
            let told = env::var(BYTES).ok().and_then(|text| text.parse().ok());
            self.declare(told.unwrap_or(0), false);
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

    pub(crate) fn holdings(&self) -> MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    fn find(&self, name: u64) -> Option<OpenTask> {
        let thread = thread::current().id();
        let named = || self.open.iter().filter(|open| open.name == name);
        let own = named().rev().find(|open| open.thread == thread);
        own.or_else(|| named().next()).copied()
    }
}

impl std::fmt::Debug for ProcessTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("session", &self.session)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::message::{Op, Request, Status};

    struct Nothing;

    impl Hooks for Nothing {
        fn bind(&self, _: &Instance) {}

        fn observe(&self, _: TaskEvent, _: u64, _: u64, _: u64) {}
    }

    /// A manager that hears a begin and is gone before it answers, as one that was killed after it had
    /// granted it.
    #[derive(Clone, Default)]
    struct Gone {
        heard: Arc<Mutex<Vec<Request>>>,
        is_gone: Arc<AtomicBool>,
    }

    impl Transport for Gone {
        fn send(&self, request: &Request) -> io::Result<()> {
            let mut heard = self.heard.lock().unwrap();
            heard.push(*request);
            let begun = heard
                .iter()
                .filter(|request| request.op == Op::Begin)
                .count();
            self.is_gone
                .store(begun == 1 && request.op == Op::Begin, Relaxed);
            Ok(())
        }

        fn receive(&self) -> io::Result<(Reply, String)> {
            if self.is_gone.load(Relaxed) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            let heard = self.heard.lock().unwrap();
            let last = heard.last().unwrap();
            Ok((Reply::to(last, Status::Done), String::new()))
        }
    }

    #[test]
    fn a_begin_whose_answer_is_lost_is_ended_before_the_next() {
        let process = ProcessTasks::new(Arc::new(Nothing));
        let manager = Gone::default();
        let opened = manager.clone();
        let open = move |_: &Path| -> io::Result<Arc<dyn Transport>> {
            if opened.is_gone.load(Relaxed) {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(Arc::new(opened.clone()))
        };
        let session = Session::over("nowhere".into(), Declared::default(), open);
        let set = process.session.set(Some(session.patient(Duration::ZERO)));
        assert!(set.is_ok());
        let lost = process.begin(1, 10, 0, 0);
        assert!(matches!(lost, Err(Error::NoManager(..))), "{lost:?}");
        manager.is_gone.store(false, Relaxed);
        process.begin(2, 20, 0, 0).unwrap();
        let heard = manager.heard.lock().unwrap();
        let told: Vec<(Op, u64)> = heard
            .iter()
            .map(|request| (request.op, request.task))
            .collect();
        let expected = [
            (Op::Init, 0),
            (Op::Begin, 1),
            (Op::Reattach, 0),
            (Op::End, 1),
            (Op::Begin, 2),
        ];
        assert_eq!(told, expected);
    }
}
