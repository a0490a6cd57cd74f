//! A session with the manager: calls that survive its restart.
//!
//! Several threads may call at once, because a task that waits for memory must not keep another
//! thread from giving some back. Each sends its own request; one of them reads replies for all.
//! If the connection breaks, each repeats its request under the same session and number, which
//! changes nothing if the manager has served it already.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::message::{Op, Reply, Request, Status, flags};
use crate::transport::{Socket, Transport};

/// The variable that says for how many seconds a call tries to reach a manager that is gone.
pub const CONNECT_TIMEOUT: &str = "MAPA_CASE_CONNECT_TIMEOUT";

/// For how long a call tries to reach the manager by default.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause between two tries to connect, at first and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(200)];

/// Opens connections.
type Opener = dyn Fn(&Path) -> io::Result<Arc<dyn Transport>> + Send + Sync;

/// The time that the environment names; `None` if it names none.
///
/// # Errors
/// Its text, which is no number of seconds.
pub fn connect_timeout_of_environment() -> Result<Option<Duration>, String> {
    let Some(text) = env::var_os(CONNECT_TIMEOUT).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    let Some(seconds) = seconds else {
        return Err(text.to_string_lossy().into_owned());
    };
    Ok(Some(Duration::from_secs(seconds)))
}

/// How a process finds its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The value of `CUDA_VISIBLE_DEVICES`.
    pub visible: String,
    /// The value of `CUDA_MPS_PIPE_DIRECTORY`; empty if MPS is not used.
    pub pipe: String,
}

/// What a session declares when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The most that the process will hold at once, bytes, as far as it knows.
    pub largest: u64,
    /// Whether it may ask for more while it holds some.
    pub grows: bool,
    /// Whether it must be alone on its instance.
    pub isolated: bool,
}

/// A session with the manager.
pub struct Session {
    path: PathBuf,
    open: Box<Opener>,
    patience: Duration,
    declared: Declared,
    state: Mutex<SessionState>,
    changed: Condvar,
}

#[derive(Default)]
struct SessionState {
    connection: Option<Arc<dyn Transport>>,
    /// Grows with every connection.
    generation: u64,
    /// Whether a thread waits for replies.
    is_read: bool,
    /// Whether a thread makes a connection.
    is_greeted: bool,
    replies: BTreeMap<u64, (Reply, String)>,
    /// Drawn by the process; the manager knows it from the first connection on.
    id: u64,
    is_known: bool,
    seq: u64,
    /// Whether the manager could not be reached when it was tried last.
    is_alone: bool,
    /// What the manager has said of the session as a whole: no further call has success.
    refused: Option<Status>,
    instance: u64,
}

impl Session {
    /// A session over the manager's socket. The first call connects.
    #[must_use]
    pub fn new(path: PathBuf, declared: Declared) -> Self {
        Self::over(path, declared, |path| Ok(Arc::new(Socket::connect(path)?)))
    }

    /// A session over connections that `open` makes.
    #[must_use]
    pub fn over(
        path: PathBuf,
        declared: Declared,
        open: impl Fn(&Path) -> io::Result<Arc<dyn Transport>> + Send + Sync + 'static,
    ) -> Self {
        // What is no number is not told: a library has no word for it. `mapa-case run` does.
        let told = connect_timeout_of_environment().ok().flatten();
        Self {
            path,
            open: Box::new(open),
            patience: told.unwrap_or(DEFAULT_CONNECT_TIMEOUT),
            declared,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The session that tries for another time than [`CONNECT_TIMEOUT`] says.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The number of the session.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.lock().id
    }

    /// The instance to which the process is bound, counted from 1; 0 for none.
    #[must_use]
    pub fn instance(&self) -> u64 {
        self.lock().instance
    }

    /// Begins the session. An isolated one waits for its instance, any other for a worker.
    ///
    /// # Errors
    /// The memory can never be had, the manager cannot be reached for as long as [`CONNECT_TIMEOUT`] says, or
    /// it refuses.
    pub fn init(&self) -> Result<(), Error> {
        self.connected(self.lock(), false).map(drop)
    }

    /// Asks for memory of a task, and waits for it.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn begin(&self, task: u64, bytes: u64, warps: u64, flags: u64) -> Result<Reply, Error> {
        self.request(Op::Begin, task, bytes, warps, flags)
    }

    /// Asks for more memory of a task, and waits for it.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn extend(&self, task: u64, bytes: u64, warps: u64) -> Result<Reply, Error> {
        self.request(Op::Extend, task, bytes, warps, 0)
    }

    /// Gives back all of a task. If the manager could not be reached when it was tried last, it is tried
    /// once: a program that frees much does not wait for each.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn end(&self, task: u64) -> Result<Reply, Error> {
        self.request(Op::End, task, 0, 0, 0)
    }

    /// Ends the session.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn destroy(&self) -> Result<(), Error> {
        if !self.lock().is_known {
            return Ok(());
        }
        self.request(Op::Destroy, 0, 0, 0, 0).map(drop)
    }

    /// How the process finds an instance.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn describe(&self, instance: u64) -> Result<Instance, Error> {
        let (_, text) = self.call(Op::Describe, instance, 0, 0, 0)?;
        let mut lines = text.lines().map(str::to_owned);
        Ok(Instance {
            visible: lines.next().unwrap_or_default(),
            pipe: lines.next().unwrap_or_default(),
        })
    }

    fn request(
        &self,
        op: Op,
        task: u64,
        bytes: u64,
        warps: u64,
        flags: u64,
    ) -> Result<Reply, Error> {
        let (reply, _) = self.call(op, task, bytes, warps, flags)?;
        Ok(reply)
    }

    /// One call: sends the request, and again over a new connection until there is a reply.
    ///
    /// # Errors
    /// The manager cannot be reached for as long as [`CONNECT_TIMEOUT`] says, or refuses.
    fn call(
        &self,
        op: Op,
        task: u64,
        bytes: u64,
        warps: u64,
        flags: u64,
    ) -> Result<(Reply, String), Error> {
        let mut state = self.lock();
        state.seq += 1;
        let seq = state.seq;
        loop {
            let connection;
            (state, connection) = self.connected(state, op == Op::End)?;
            let generation = state.generation;
            let request = Request {
                task,
                bytes,
                warps,
                flags,
                ..Request::new(op, state.id, seq)
            };
            drop(state);
            let sent = connection.send(&request);
            state = self.lock();
            if sent.is_err() {
                self.lost(&mut state, generation);
                continue;
            }
            let found;
            (state, found) = self.wait(state, &connection, generation, seq);
            let Some((reply, text)) = found else { continue };
            if reply.instance != 0 {
                state.instance = reply.instance;
            }
            return match reply.status {
                Status::Done => Ok((reply, text)),
                Status::OutOfMemory => Err(Error::OutOfMemory),
                other => Err(Error::Refused(other)),
            };
        }
    }

    /// Waits for the reply to a request; `None` if the connection breaks before.
    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, SessionState>,
        connection: &Arc<dyn Transport>,
        generation: u64,
        seq: u64,
    ) -> (MutexGuard<'s, SessionState>, Option<(Reply, String)>) {
        loop {
            if let Some(found) = state.replies.remove(&seq) {
                return (state, Some(found));
            }
            if state.generation != generation {
                return (state, None);
            }
            if state.is_read {
                state = wait(&self.changed, state);
                continue;
            }
            state.is_read = true;
            drop(state);
            let received = connection.receive();
            state = self.lock();
            state.is_read = false;
            match received {
                Ok((reply, text)) => {
                    state.replies.insert(reply.seq, (reply, text));
                }
                Err(_) => self.lost(&mut state, generation),
            }
            self.changed.notify_all();
        }
    }

    /// The connection, made anew if it is broken. Whoever else calls meanwhile waits. The patience is
    /// with each failure to connect: a manager that is reached may take its time. Who `is_hasty` has
    /// none after a failure.
    fn connected<'s>(
        &'s self,
        mut state: MutexGuard<'s, SessionState>,
        is_hasty: bool,
    ) -> Result<(MutexGuard<'s, SessionState>, Arc<dyn Transport>), Error> {
        let mut until = None;
        let mut pause = PAUSE[0];
        let failed = |error| Error::NoManager(self.path.display().to_string(), error);
        loop {
            if let Some(status) = state.refused {
                return Err(refusal(status));
            }
            if let Some(connection) = state.connection.clone() {
                return Ok((state, connection));
            }
            let is_hasty = is_hasty && state.is_alone;
            if state.is_greeted && is_hasty {
                return Err(failed(io::ErrorKind::NotConnected.into()));
            }
            if state.is_greeted {
                state = wait(&self.changed, state);
                continue;
            }
            if state.id == 0 {
                state.id = draw().map_err(failed)?;
            }
            let first = self.first(&state);
            state.is_greeted = true;
            drop(state);
            let opened = (self.open)(&self.path);
            if opened.is_ok() {
                until = None;
                pause = PAUSE[0];
            }
            let greeted = opened.and_then(|connection| greet(connection, &first));
            state = self.lock();
            state.is_greeted = false;
            self.changed.notify_all();
            match greeted {
                Ok((connection, reply)) => {
                    state.is_alone = false;
                    if reply.instance != 0 {
                        state.instance = reply.instance;
                    }
                    match reply.status {
                        Status::Done => {
                            state.generation += 1;
                            state.is_known = true;
                            state.connection = Some(connection);
                        }
                        status => state.refused = Some(status),
                    }
                    continue;
                }
                Err(error) => {
                    let now = Instant::now();
                    // One beyond what the clock can tell has no end.
                    if until.is_none() {
                        until = now.checked_add(self.patience);
                    }
                    if is_hasty || until.is_some_and(|instant| now >= instant) {
                        state.is_alone = true;
                        return Err(failed(error));
                    }
                }
            }
            drop(state);
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE[1]);
            state = self.lock();
        }
    }

    /// The first request over a connection: begins the session there, or goes on with it.
    fn first(&self, state: &SessionState) -> Request {
        if state.is_known {
            return Request::new(Op::Reattach, state.id, 0);
        }
        let bit = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        Request {
            bytes: self.declared.largest,
            flags: bit(self.declared.grows, flags::GROWS)
                | bit(self.declared.isolated, flags::ISOLATED),
            ..Request::new(Op::Init, state.id, 0)
        }
    }

    /// Notes that the connection of a generation is broken.
    fn lost(&self, state: &mut SessionState, generation: u64) {
        if state.generation == generation {
            state.connection = None;
            state.generation += 1;
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the first request, and waits for its answer.
fn greet(
    connection: Arc<dyn Transport>,
    first: &Request,
) -> io::Result<(Arc<dyn Transport>, Reply)> {
    let sent = connection.send(first);
    // Whoever refuses a connection may have said so and hung up before it was asked.
    match connection.receive() {
        Ok((reply, _)) => Ok((connection, reply)),
        Err(error) => Err(sent.err().unwrap_or(error)),
    }
}

fn refusal(status: Status) -> Error {
    match status {
        Status::OutOfMemory => Error::OutOfMemory,
        other => Error::Refused(other),
    }
}

fn wait<'s>(
    changed: &Condvar,
    state: MutexGuard<'s, SessionState>,
) -> MutexGuard<'s, SessionState> {
    changed.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// A number that nobody can guess, and that is not 0.
fn draw() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let mut done = 0;
    while done < bytes.len() {
        done += rustix::rand::getrandom(&mut bytes[done..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(u64::from_le_bytes(bytes).max(1))
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("path", &self.path)
            .field("declared", &self.declared)
            .finish_non_exhaustive()
    }
}
