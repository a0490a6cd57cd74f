//! The library in this process: the machine while it is initialised, and its event sets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::border::CallResult;
use crate::code::Code;
use crate::config::Config;
use crate::error::Error;
use crate::fake::Fake;

static LIBRARY: Mutex<LibraryState> = Mutex::new(LibraryState {
    users: 0,
    fake: None,
    log: None,
    said: None,
    sets: BTreeMap::new(),
    last_set: 0,
});

struct LibraryState {
    /// How often it was initialised and not shut down.
    users: u32,
    fake: Option<Arc<Fake>>,
    log: Option<PathBuf>,
    /// The last reason for a failure that was told.
    said: Option<String>,
    sets: BTreeMap<u32, EventSet>,
    last_set: u32,
}

/// What a client waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct EventSet {
    /// The devices with the types of events, and the number of the first event that counts.
    pub(super) watched: Vec<(usize, u64, u64)>,
    /// The number of the first event that was not told yet.
    pub(super) next: u64,
}

fn library() -> MutexGuard<'static, LibraryState> {
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Initialises the library for one more user.
pub(super) fn start() -> CallResult {
    let mut library = library();
    if library.fake.is_none() {
        match library.open() {
            Ok(fake) => library.fake = Some(Arc::new(fake)),
            Err(error) => {
                library.complain(&error);
                // Without a machine there is nothing to drive.
                return Err(Code::DriverNotLoaded);
            }
        }
    }
    library.users += 1;
    Ok(())
}

/// The file from which this library was loaded: the mapping that has its code.
fn own_path() -> Option<PathBuf> {
    let here = own_path as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        // `start-end permissions offset device inode path`
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let path = &rest[rest.find('/')?..];
        ((address(start)?..address(end)?).contains(&here)).then(|| PathBuf::from(path))
    })
}

/// Lets one user go; the last one ends the library.
pub(super) fn stop() -> CallResult {
    let mut library = library();
    library.users = library.users.checked_sub(1).ok_or(Code::Uninitialized)?;
    if library.users == 0 {
        library.fake = None;
        library.sets.clear();
    }
    Ok(())
}

/// The machine.
pub(super) fn fake() -> CallResult<Arc<Fake>> {
    library().fake.clone().ok_or(Code::Uninitialized)
}

/// Tells why something failed, in the log or on standard error, once for each reason.
pub(super) fn complain(error: &Error) {
    library().complain(error);
}

impl LibraryState {
    /// Opens the machine of the settings, and the log that they name.
    fn open(&mut self) -> Result<Fake, Error> {
        // Settings that cannot be read name no log, but the environment may.
        self.log = std::env::var_os("FAKE_NVML_LOG").map(PathBuf::from);
        let path = own_path();
        let folder = path.as_deref().and_then(Path::parent);
        let config = Config::find(folder, |name| std::env::var(name).ok())?;
        self.log.clone_from(&config.log);
        Fake::open(&config)
    }

    fn complain(&mut self, error: &Error) {
        let what = format!("fake-nvml: {error}");
        if self.said.as_deref() == Some(what.as_str()) {
            return;
        }
        // A log that cannot be written is no reason to fail in another way.
        let _ = match &self.log {
            Some(log) => (File::options().create(true).append(true).open(log))
                .and_then(|mut file| writeln!(file, "{what}")),
            None => writeln!(std::io::stderr(), "{what}"),
        };
        self.said = Some(what);
    }
}

/// A new event set; its number is the answer.
pub(super) fn create_set(set: EventSet) -> u32 {
    let mut library = library();
    library.last_set += 1;
    let number = library.last_set;
    library.sets.insert(number, set);
    number
}

/// Reads or changes an event set.
pub(super) fn with_set<T>(number: u32, change: impl FnOnce(&mut EventSet) -> T) -> CallResult<T> {
    let mut library = library();
    let set = library.sets.get_mut(&number).ok_or(Code::InvalidArgument)?;
    Ok(change(set))
}

/// Removes an event set.
pub(super) fn free_set(number: u32) -> CallResult {
    let removed = library().sets.remove(&number);
    removed.map(|_| ()).ok_or(Code::InvalidArgument)
}
