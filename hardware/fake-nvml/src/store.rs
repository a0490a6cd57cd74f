//! Where the state is kept: in this process, or in a file that all processes share.
//!
//! A writer holds the lock (flock) on a file beside, writes a draft and renames it over the state.
//! So a reader needs no lock and never sees half of a state, and a writer that is killed at any
//! point leaves the old state or the new one; the kernel releases its lock. Nothing is synced to the
//! disk: a state does not survive a loss of power.
//!
//! The first line of the file carries a generation. A reader that has seen it does not read on.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::state::{MAX_STATE_BYTES, State};

/// The first words of a state file.
const MAGIC: &str = "fake-nvml state 1 generation ";

/// The bytes of the first line: the words, twenty digits, a line break.
const HEAD: usize = MAGIC.len() + 20 + 1;

pub(crate) enum Store {
    Memory(Mutex<Arc<State>>),
    Shared(SharedState),
}

/// Says whether a state fits the machine.
type StateCheck = dyn Fn(&State) -> Result<(), Error> + Send + Sync;

/// A state file, and the last state that was read from it.
pub(crate) struct SharedState {
    path: PathBuf,
    fresh: Arc<State>,
    /// Checks a state that was read.
    check: Box<StateCheck>,
    seen: Mutex<Option<(u64, Arc<State>)>>,
}

impl Store {
    pub(crate) fn memory(fresh: State) -> Self {
        Self::Memory(Mutex::new(Arc::new(fresh)))
    }

    /// A store in a file; the state is `fresh` until something is written. `check` says whether a
    /// state fits the machine.
    pub(crate) fn shared(
        path: &Path,
        fresh: State,
        check: impl Fn(&State) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        Self::Shared(SharedState {
            path: path.to_owned(),
            fresh: Arc::new(fresh),
            check: Box::new(check),
            seen: Mutex::new(None),
        })
    }

    /// The state now.
    pub(crate) fn read(&self) -> Result<Arc<State>, Error> {
        match self {
            Self::Memory(state) => Ok(open(state).clone()),
            Self::Shared(shared) => Ok(shared.read()?.1),
        }
    }

    /// Changes the state, alone. If the change fails, the state stays as it was.
    pub(crate) fn change<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Memory(state) => {
                let mut state = open(state);
                let mut next = State::clone(&state);
                let answer = change(&mut next)?;
                *state = Arc::new(next);
                Ok(answer)
            }
            Self::Shared(shared) => shared.change(change),
        }
    }
}

impl SharedState {
    /// The generation and the state; generation 0 is the state before the first write.
    fn read(&self) -> Result<(u64, Arc<State>), Error> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok((0, self.fresh.clone()));
            }
            Err(error) => return Err(Error::io(&self.path, &error)),
        };
        let mut head = [0; HEAD];
        let generation = match file.read_exact(&mut head) {
            Ok(()) => generation_of(&head),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(Error::io(&self.path, &error)),
        };
        let Some(generation) = generation else {
            let path = self.path.display();
            return Err(Error::new(format!(
                "{path}: no state file: expected `{MAGIC}` and twenty digits in its first line"
            )));
        };
        if let Some((seen, state)) = &*open(&self.seen)
            && *seen == generation
        {
            return Ok((generation, state.clone()));
        }
        let mut text = Vec::new();
        let mut rest = file.take(MAX_STATE_BYTES as u64 + 1);
        rest.read_to_end(&mut text)
            .map_err(|error| Error::io(&self.path, &error))?;
        let wrong = |error: Error| Error::new(format!("{}: {error}", self.path.display()));
        let state = State::read(&text).map_err(wrong)?;
        (self.check)(&state).map_err(wrong)?;
        let state = Arc::new(state);
        *open(&self.seen) = Some((generation, state.clone()));
        Ok((generation, state))
    }

    fn change<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.lock()?;
        let (generation, state) = self.read()?;
        let mut next = State::clone(&state);
        let answer = change(&mut next)?;
        if next != *state {
            self.write(generation, next)?;
        }
        Ok(answer)
    }

    /// Holds the lock until the file is closed.
    fn lock(&self) -> Result<File, Error> {
        let path = self.beside("lock");
        let file = (File::options().create(true).truncate(false).write(true)).open(&path);
        let file = file.map_err(|error| Error::io(&path, &error))?;
        file.lock().map_err(|error| Error::io(&path, &error))?;
        Ok(file)
    }

    /// Only the owner of the lock writes, so one name serves all drafts.
    fn write(&self, generation: u64, state: State) -> Result<(), Error> {
        // The time in the generation tells a file that was deleted and made anew from the old one.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos() as u64);
        let generation = now.max(generation + 1);
        let text = format!("{MAGIC}{generation:020}\n{}\n", state.write()?);
        let draft = self.beside("draft");
        fs::write(&draft, text).map_err(|error| Error::io(&draft, &error))?;
        fs::rename(&draft, &self.path).map_err(|error| Error::io(&self.path, &error))?;
        *open(&self.seen) = Some((generation, Arc::new(state)));
        Ok(())
    }

    /// A file beside the state.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }
}

/// The generation in the first line of a file.
fn generation_of(head: &[u8; HEAD]) -> Option<u64> {
    let digits = head.strip_prefix(MAGIC.as_bytes())?.strip_suffix(b"\n")?;
    let plain = digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| plain)?;
    // Far beyond any clock, and the next one is a number too.
    text.parse()
        .ok()
        .filter(|generation| *generation < u64::MAX / 2)
}

/// What a mutex holds, even if somebody panicked with it: states are replaced whole.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
