//! The journal of active changes. Each plan is written before it is applied, so that after a crash another process can
//! revert it.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::error::LeverError;
use super::step::{LeverChange, Plan};

/// How long a change holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "holds", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lifetime {
    /// Until this time of the boot in which it was planned. The process that has the journal open reverts it then,
    /// or when it exits.
    Until {
        /// Milliseconds since the boot, by the clock of the manager's caller: one that no program can set.
        ms: u64,
    },
    /// As long as the program runs: it is reverted at its exit, and at the next start.
    Session,
    /// For good. It is reverted only if it was not finished: after a crash in its midst.
    Kept,
}

impl Lifetime {
    /// The one that holds longer in a program that runs on.
    pub(super) fn longer(self, other: Self) -> Self {
        let rank = |lifetime: Self| match lifetime {
            Self::Until { ms } => (0, ms),
            Self::Session => (1, 0),
            Self::Kept => (2, 0),
        };
        if rank(self) > rank(other) {
            self
        } else {
            other
        }
    }
}

/// One change in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// Its number. A later change has a higher one.
    pub id: u64,
    /// The request, by which a repeated one is recognised.
    pub change: LeverChange,
    /// The change, and all that reverts it.
    pub plan: Plan,
    /// When it ends, if no holder lets go of it before.
    pub lifetime: Lifetime,
    /// Whether all of it was done. If not, it was begun at most.
    pub confirmed: bool,
    /// The kernel's id of the boot in which it was planned, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// Where changes are written down. [`FolderJournal`] keeps a file for each; a program with a ledger of its own
/// implements this over it.
pub trait Journal: Send {
    /// Writes an entry down, or replaces the one with its number. It must be durable when this returns: the
    /// change begins then.
    ///
    /// # Errors
    /// It could not be written. Then nothing is applied.
    fn put(&mut self, entry: &JournalEntry) -> Result<(), LeverError>;

    /// Removes an entry. Succeeds if there is no such entry.
    ///
    /// # Errors
    /// It could not be written.
    fn remove(&mut self, id: u64) -> Result<(), LeverError>;

    /// All entries, in the order of their numbers.
    ///
    /// # Errors
    /// They cannot be read.
    fn entries(&self) -> Result<Vec<JournalEntry>, LeverError>;
}

/// A journal in memory: for simulations and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryJournal(BTreeMap<u64, JournalEntry>);

impl Journal for MemoryJournal {
    fn put(&mut self, entry: &JournalEntry) -> Result<(), LeverError> {
        self.0.insert(entry.id, entry.clone());
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        self.0.remove(&id);
        Ok(())
    }

    fn entries(&self) -> Result<Vec<JournalEntry>, LeverError> {
        Ok(self.0.values().cloned().collect())
    }
}

/// How often, and after which pauses, a lock is tried that another program holds.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// The most bytes of an entry: far more than the longest plan has. A larger file is none of a journal's.
const MOST_BYTES: usize = 16 << 20;

/// A journal in a folder: a JSON file for each change, replaced in one step and synced. One program at a time
/// uses a folder.
///
/// A user who can write there can make the next manager revert anything that a plan may name, with the rights of its user. So
/// the folder belongs to the user of the program, and no other user may write it.
#[derive(Debug)]
pub struct FolderJournal {
    /// The folder as it is named.
    folder: PathBuf,
    /// The folder that was checked, whatever its name leads to by now.
    opened: PathBuf,
    handle: File,
    /// Held as long as the journal is open; the kernel releases it however the program ends.
    _lock: File,
}

impl FolderJournal {
    /// Opens the journal in a folder, which is made for its owner alone if there is none.
    ///
    /// # Errors
    /// [Busy](LeverError::Busy): another program has it open. The folder cannot be written; others own it or can
    /// write it.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, LeverError> {
        let folder = folder.into();
        let failed = |error: std::io::Error| {
            LeverError::failed(format!("journal {}", folder.display()), error.to_string())
        };
        // The mode is that of a new folder. One that exists keeps its own, which is checked below.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let handle = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&folder)
            .map_err(failed)?;
        let found = handle.metadata().map_err(failed)?;
        if let Some(why) = of_others(&found, "a folder") {
            let what = format!("journal {}", folder.display());
            return Err(LeverError::infeasible(what, why));
        }
        let opened = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        // Whatever somebody has put here while the folder was open to others is neither followed nor waited for.
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(planted())
            .open(opened.join("lock"))
            .map_err(failed)?;
        let found = lock.metadata().map_err(failed)?;
        let own_uid = geteuid().as_raw();
        if !found.is_file() || found.uid() != own_uid {
            return Err(LeverError::infeasible(
                format!("journal {}", folder.display()),
                format!(
                    "its lock is another user's, or no file: expected a file of user {own_uid}"
                ),
            ));
        }
        // A program that was killed while it started another is survived for a moment by the copy of its lock, which
        // the new process closes when it becomes another program.
        for _ in 0..LOCK_ATTEMPTS {
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        folder,
                        opened,
                        handle,
                        _lock: lock,
                    });
                }
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(LeverError::busy(
            format!("journal {}", folder.display()),
            "another program has it open",
        ))
    }

    fn file(&self, id: u64) -> PathBuf {
        self.opened.join(format!("{id:020}.json"))
    }

    fn failed(&self, path: &Path, error: impl ToString) -> LeverError {
        let named = self.folder.join(path.file_name().unwrap_or_default());
        LeverError::failed(format!("journal {}", named.display()), error.to_string())
    }

    /// A file is in a folder for good once the folder is synced too.
    fn sync(&self) -> std::io::Result<()> {
        self.handle.sync_all()
    }
}

/// How a file is opened that somebody else may have put there: no symbolic link is followed, and no pipe is waited
/// for.
fn planted() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Why a file or folder may say what another user wants; `None` if this program's user alone can write it.
fn of_others(found: &fs::Metadata, what: &str) -> Option<String> {
    let own_uid = geteuid().as_raw();
    (found.uid() != own_uid || found.mode() & 0o022 != 0).then(|| {
        format!(
            "it belongs to user {} and has mode {:o}: expected {what} of user {own_uid} that nobody else can write",
            found.uid(),
            found.mode() & 0o7777
        )
    })
}

/// How the file of an entry ends that could not be read.
const UNREADABLE: &str = "json.unreadable";

impl FolderJournal {
    /// Sets the files of entries aside that cannot be read, as after a damage of the disk: each gets another name, and
    /// counts no more. Returns these names. The change of such an entry is not reverted.
    ///
    /// # Errors
    /// The folder cannot be read, or a file of it cannot be renamed.
    pub fn set_unreadable_aside(&self) -> Result<Vec<PathBuf>, LeverError> {
        let list = fs::read_dir(&self.opened).map_err(|error| self.failed(Path::new(""), error))?;
        let mut aside = Vec::new();
        for file in list.flatten() {
            let path = file.path();
            // `entries` refuses a file of another user, and anything that is not a plain file.
            let is_plain = file
                .metadata()
                .is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES as u64);
            if path.extension().is_none_or(|extension| extension != "json") || !is_plain {
                continue;
            }
            let bytes = fs::read(&path).map_err(|error| self.failed(&path, error))?;
            if serde_json::from_slice::<JournalEntry>(&bytes).is_err() {
                let to = path.with_extension(UNREADABLE);
                fs::rename(&path, &to).map_err(|error| self.failed(&path, error))?;
                aside.push(to);
            }
        }
        aside.sort();
        Ok(aside)
    }
}

impl Journal for FolderJournal {
    fn put(&mut self, entry: &JournalEntry) -> Result<(), LeverError> {
        let path = self.file(entry.id);
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.opened)?;
            let bytes = serde_json::to_vec(entry)?;
            if bytes.len() > MOST_BYTES {
                let (has, most) = (bytes.len(), MOST_BYTES);
                let why = format!("an entry of {has} bytes: expected at most {most}");
                return Err(std::io::Error::other(why));
            }
            file.write_all(&bytes)?;
            // The text before the name: a crash must not leave an entry whose file is empty.
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            self.sync()
        };
        write().map_err(|error| self.failed(&path, error))
    }

    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        let path = self.file(id);
        match fs::remove_file(&path) {
            Ok(()) => self.sync().map_err(|error| self.failed(&path, error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failed(&path, error)),
        }
    }

    fn entries(&self) -> Result<Vec<JournalEntry>, LeverError> {
        let list = fs::read_dir(&self.opened).map_err(|error| self.failed(Path::new(""), error))?;
        let mut entries = Vec::new();
        for file in list {
            let path = file
                .map_err(|error| self.failed(Path::new(""), error))?
                .path();
            // Others are the lock, and files that a killed program had not finished.
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let file = File::options()
                .read(true)
                .custom_flags(planted())
                .open(&path)
                .map_err(|error| self.failed(&path, error))?;
            // Somebody may have put it here while the folder was open to others.
            let found = file.metadata().map_err(|error| self.failed(&path, error))?;
            if let Some(why) = of_others(&found, "a file") {
                return Err(self.failed(&path, why));
            }
            if !found.is_file() || found.len() > MOST_BYTES as u64 {
                let why = format!("expected a file of at most {MOST_BYTES} bytes");
                return Err(self.failed(&path, why));
            }
            let mut bytes = Vec::new();
            file.take(MOST_BYTES as u64)
                .read_to_end(&mut bytes)
                .map_err(|error| self.failed(&path, error))?;
            let entry: JournalEntry =
                serde_json::from_slice(&bytes).map_err(|error| self.failed(&path, error))?;
            entries.push(entry);
        }
        entries.sort_by_key(|entry| entry.id);
        Ok(entries)
    }
}
