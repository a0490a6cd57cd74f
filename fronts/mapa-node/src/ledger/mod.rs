//! The ledger: who holds what, who waits, what is withheld, and why, in one SQLite file.
//!
//! Several programs open it at once. Each change is one transaction that begins with the lock of
//! writers (`BEGIN IMMEDIATE`), so what it reads is what it changes. The log is written ahead (WAL):
//! kill -9 loses nothing that was committed, because the kernel has it. A power cut may lose the
//! last changes that were committed with [`Durability::Boot`]; those with [`Durability::Disk`] are on the disk
//! before the call returns.

mod chain;
mod leader;
mod outside;
mod owner;
mod rows;
mod schema;
mod transaction;
mod withheld;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mapa_live::Processes;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::Error;
use crate::mark::{MARK, VARIABLE};

pub use mapa_front::answer::mapa::{AuditRow, Cordon, DeviceFault, Tenant};
pub(crate) use owner::ENDED_BY_OWNER;
pub use owner::OutsideOwner;
pub use rows::{
    AuditEntry, AuditKind, DeviceKey, FaultKind, Lease, QueueLeader, Requester, Ticket, UnixNanos,
    now,
};
pub(crate) use rows::{LedgerFile, since_boot};
pub use transaction::LedgerTx;
pub(crate) use transaction::escaped;

/// The folder of the ledger that all users of a machine share, if an operator has made it.
pub(crate) const SHARED: &str = "/var/lib/mapa";

/// How long a program waits for another's transaction. Transactions take milliseconds, longer where
/// a recovery reads all processes; many of them, or a stopped program, make a writer wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pages of the log after which it is copied into the file. Small, because the first program
/// after all others have ended reads the log once.
const LOG_PAGES: i64 = 256;

/// What a change must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Kill -9 of every program. The lease of a process needs no more: the process does not survive a power cut.
    Boot,
    /// A power cut: cordons, layouts, leases that no process holds, and what else outlives a boot.
    Disk,
}

/// The ledger, opened by this program.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    id: String,
    /// None of one in memory.
    file: Option<LedgerFile>,
    /// The user who is noted as the one that writes.
    writer: u32,
    /// Held while this program writes: its own threads wait here, in place of SQLite's sleep of up to 0.1 s.
    turn: Arc<Mutex<()>>,
}

impl Ledger {
    /// Opens the ledger in this file. Makes it, and its folder, if there is none.
    ///
    /// # Errors
    /// The file cannot be made or read, is no ledger, or is of a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let place = || path.display();
        if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Error::at(folder.display(), error))?;
        }
        // Others may write the folder of a ledger that users share. The folder itself may be a link; the file may not.
        let plain = plain_path(path)?;
        let path = plain.as_path();
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                return Err(Error::at(place(), "is a link: expected a ledger of mapa"));
            }
            // A FIFO or a device is no file that is a ledger.
            Ok(found) if !found.is_file() => {
                return Err(Error::at(
                    place(),
                    "is no plain file: expected a ledger of mapa",
                ));
            }
            // It is not opened here: when a process closes any descriptor of a file, it loses the locks that SQLite has on
            // it in other threads.
            Ok(_) => {}
            Err(_) => {
                // SQLite makes files that a group cannot write, whatever the umask allows, and gives its log the mode of
                // the file. No link is followed by `create_new`.
                let made = fs::OpenOptions::new()
                    .append(true)
                    .create_new(true)
                    .open(path);
                match made {
                    Ok(file) => {
                        // A folder that an operator has made for a group says who may write, whatever the umask of the user
                        // who comes first.
                        let folder = path.parent().map(fs::metadata).and_then(Result::ok);
                        let is_shared = folder.is_some_and(|found| found.mode() & 0o2020 == 0o2020);
                        if is_shared {
                            let shared = fs::Permissions::from_mode(0o660);
                            let done = file.set_permissions(shared);
                            done.map_err(|error| Error::at(place(), error))?;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(Error::at(place(), error)),
                }
            }
        }
        // SQLite opens these by itself, and would wait for ever at a FIFO.
        for end in ["-journal", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            let found = Path::new(&name).symlink_metadata();
            if found.is_ok_and(|found| !found.is_file()) {
                let name = Path::new(&name).display();
                return Err(Error::at(
                    name,
                    "is no plain file: expected one of a ledger of mapa",
                ));
            }
        }
        if !is_empty(path, "") && is_empty(path, "-wal") {
            refuse_without_log(path)?;
        }
        let opened = (|| {
            let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
            let mut connection = Connection::open_with_flags(path, flags)?;
            // The last of many short programs would copy the log into the file each time it ends, and remove it.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.busy_timeout(PATIENCE)?;
            // A program that is just turning the log on locks the file, and SQLite does not wait for that.
            if !patiently(|| schema::is_ours(&connection))? {
                return Err(Error::Failed("a database of another program".to_owned()));
            }
            // The mode is a property of the file, and to ask costs no lock. So only the first program sets it.
            let mode: String =
                connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            if mode != "wal" {
                write_ahead(&connection)?;
            }
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
            // SQLite checks foreign keys only on connections that ask for it.
            connection.pragma_update(None, "foreign_keys", true)?;
            // With a write-ahead log, NORMAL syncs at checkpoints and not at each commit.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            schema::migrate(&mut connection)?;
            Ok::<_, Error>(connection)
        })();
        let with_place = |error| match error {
            Error::Failed(what) => Error::at(
                place(),
                format_args!(
                    "{what}: expected a ledger of mapa, or a folder where one can be made"
                ),
            ),
            Error::Storage(what) => Error::Storage(format!("{}: {what}", place())),
            Error::Malformed(what) => Error::malformed(format_args!("{}: {what}", place())),
            other => other,
        };
        let mut connection = opened.map_err(with_place)?;
        let id = identify(&mut connection).map_err(with_place)?;
        let file = path.symlink_metadata().ok().filter(|found| found.is_file());
        Ok(Self {
            connection,
            path: path.to_owned(),
            id,
            file: file.map(|found| LedgerFile {
                place: (found.dev(), found.ino()),
                is_private: found.mode() & 0o077 == 0,
            }),
            writer: rustix::process::geteuid().as_raw(),
            turn: turn_of(path),
        })
    }

    /// The ledger that a file which is not there would be: empty, and gone with this value. No file is made.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn empty(path: impl AsRef<Path>) -> Result<Self, Error> {
        let mut connection = Connection::open_in_memory()?;
        schema::migrate(&mut connection)?;
        let id = identify(&mut connection)?;
        Ok(Self {
            connection,
            path: path.as_ref().to_owned(),
            id,
            file: None,
            writer: rustix::process::geteuid().as_raw(),
            turn: Arc::default(),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file; none of a ledger in memory.
    #[must_use]
    pub(crate) fn file(&self) -> Option<LedgerFile> {
        self.file
    }

    /// Writes for this user from now on, whom the audit names.
    pub(crate) fn write_for(&mut self, uid: u32) {
        self.writer = uid;
    }

    /// The name of this ledger, which no other has.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The mark of the processes of a lease: see [`MARK`](crate::MARK).
    #[must_use]
    pub fn mark(&self, lease: i64) -> String {
        transaction::mark(&self.id, lease)
    }

    /// Makes one change: all of it, or on an error nothing.
    ///
    /// # Errors
    /// What `change` says; the ledger cannot be written.
    pub fn change<T>(
        &mut self,
        sync: Durability,
        change: impl FnOnce(&LedgerTx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let turn = self.turn.clone();
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        // The setting cannot be changed within a transaction.
        if sync == Durability::Disk {
            self.connection.pragma_update(None, "synchronous", "FULL")?;
        }
        let changed = self.transact(TransactionBehavior::Immediate, change);
        if sync == Durability::Disk {
            self.connection
                .pragma_update(None, "synchronous", "NORMAL")?;
        }
        changed
    }

    /// Reads: everything that `read` sees is of one moment.
    ///
    /// # Errors
    /// What `read` says; the ledger cannot be read.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&LedgerTx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.transact(TransactionBehavior::Deferred, read)
    }

    fn transact<T>(
        &mut self,
        behaviour: TransactionBehavior,
        body: impl FnOnce(&LedgerTx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let transaction = self.connection.transaction_with_behavior(behaviour)?;
        // A body that fails drops the transaction, which rolls it back.
        let done = body(&LedgerTx::new(
            &transaction,
            &self.id,
            self.file,
            self.writer,
        ))?;
        transaction.commit()?;
        Ok(done)
    }

    /// Checks the whole file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn verify(&self) -> Result<(), Error> {
        let said: String = self
            .connection
            .pragma_query_value(None, "integrity_check", |row| row.get(0))?;
        if said == "ok" {
            return Ok(());
        }
        Err(Error::at(self.path.display(), said))
    }

    /// Checks that no row of the audit was changed, or removed from among the others, since it was written. Returns how
    /// many rows are covered, and the hash of the last: kept elsewhere, it tells later whether rows were removed at
    /// the end, or all were written anew.
    ///
    /// # Errors
    /// The number of the first row that does not follow from those before; the ledger cannot be read.
    pub fn verify_audit(&self) -> Result<(u64, String), Error> {
        chain::verify(&self.connection)
    }
}

/// Whose turn it is to write a ledger, among the threads of this program.
fn turn_of(path: &Path) -> Arc<Mutex<()>> {
    static TURNS: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    // What nobody has open any more is forgotten.
    turns.retain(|_, turn| Arc::strong_count(turn) > 1);
    turns.entry(path.to_owned()).or_default().clone()
}

/// The path of a file in the folder that its own path leads to, whatever links lie on the way.
fn plain_path(path: &Path) -> Result<PathBuf, Error> {
    let Some(name) = path.file_name() else {
        return Err(Error::malformed(format_args!(
            "{}: expected the name of a file",
            path.display()
        )));
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| Error::at(folder.display(), error))?;
    Ok(folder.join(name))
}

/// Turns the log of a new ledger on. Two programs that do so at once find the file locked, and SQLite
/// does not wait here, as it does everywhere else.
fn write_ahead(connection: &Connection) -> Result<(), Error> {
    let begun = Instant::now();
    connection.busy_timeout(LOCKED)?;
    let turned_on = patiently(|| {
        let done = connection.pragma_update(None, "journal_mode", "wal");
        // A program that still has an emptied ledger open keeps it locked; one that makes the ledger does not take long.
        match done {
            Err(_) if begun.elapsed() > LOCKED => Ok(false),
            done => done.map(|()| true),
        }
    })?;
    connection.busy_timeout(PATIENCE)?;
    if turned_on {
        return Ok(());
    }
    refuse_replaced(connection)?;
    Ok(patiently(|| {
        connection.pragma_update(None, "journal_mode", "wal")
    })?)
}

/// How long programs that make a ledger at once hold it locked at most.
const LOCKED: Duration = Duration::from_secs(2);

/// Does something again as long as the file is locked.
fn patiently<T>(attempt: impl Fn() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.code == ErrorCode::DatabaseBusy && begun.elapsed() < PATIENCE =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Refuses to begin a ledger anew while processes run that hold devices by an earlier one in its place: that one was
/// removed, or emptied.
///
/// # Errors
/// Which processes run.
fn refuse_replaced(connection: &Connection) -> Result<(), Error> {
    let Some(path) = connection.path().filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let processes = Processes::new()?;
    let found = processes.marked(MARK).found;
    let mut holders: Vec<i32> = found
        .values()
        .flatten()
        .map(|process| process.id.pid)
        .filter(|&pid| processes.mark_of(pid, VARIABLE).as_deref() == Some(path))
        .collect();
    if holders.is_empty() {
        return Ok(());
    }
    holders.sort_unstable();
    let numbers: Vec<String> = holders.iter().map(i32::to_string).collect();
    Err(Error::malformed(format_args!(
        "the ledger is new, and processes run on devices that an earlier one in its place gave them: {}. Expected that ledger, or these processes to end first",
        numbers.join(", ")
    )))
}

/// Whether one of the files of a ledger is not there, or has no bytes.
fn is_empty(path: &Path, end: &str) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    fs::metadata(name).map_or(true, |found| found.len() == 0)
}

/// Refuses a ledger whose log was removed, or emptied, while processes run whose leases were in that log alone: SQLite would
/// go on without these leases, and their devices would be given twice. The audit has a row of each lease that a ledger
/// knows, held or ended.
///
/// No program of mapa removes the log or empties it, so only a ledger that lacks it is checked. It is read without a log, as none must be
/// made: the next program must find the same.
///
/// # Errors
/// Which leases are lost, and which processes run.
fn refuse_without_log(path: &Path) -> Result<(), Error> {
    // Whatever cannot be read here, SQLite says at the opening that follows.
    let Some((id, known)) = leases_without_log(path).unwrap_or_default() else {
        return Ok(());
    };
    let found = Processes::new()?.marked(MARK).found;
    let lost: Vec<String> = found
        .iter()
        .filter_map(|(mark, processes)| {
            let lease = mark.strip_prefix(&id)?.strip_prefix(':')?;
            let lease: i64 = lease.parse().ok()?;
            let pids: Vec<String> = processes
                .iter()
                .map(|process| process.id.pid.to_string())
                .collect();
            let is_lost = !known.contains(&lease);
            is_lost.then(|| format!("lease {lease} (process {})", pids.join(", ")))
        })
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Error::malformed(format_args!(
        "{}-wal: the log of the ledger is gone, and with it leases by which processes hold devices: {}. Expected that file, or these processes to end first",
        path.display(),
        lost.join(", ")
    )))
}

/// The name of a ledger and the numbers of all leases of its audit, by its file alone; none if it is not a ledger with a name.
fn leases_without_log(path: &Path) -> rusqlite::Result<Option<(String, BTreeSet<i64>)>> {
    // In a URI other bytes than these have a meaning.
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./".contains(byte);
    let name: String = (path.as_os_str().as_bytes().iter())
        .map(|byte| match is_plain(byte) {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02x}"),
        })
        .collect();
    // SQLite takes an immutable file as it is: it looks for no log, makes none, and locks nothing.
    let uri = format!("file:{name}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    if !schema::is_ours(&connection)? {
        return Ok(None);
    }
    let id = connection.query_row("SELECT id FROM ledger", [], |row| row.get(0))?;
    let mut leases =
        connection.prepare("SELECT DISTINCT lease FROM decisions WHERE lease IS NOT NULL")?;
    let leases = leases.query_map([], |row| row.get(0))?;
    Ok(Some((id, leases.collect::<rusqlite::Result<_>>()?)))
}

/// The name of the ledger. The first program that opens it draws one from the kernel.
fn identify(connection: &mut Connection) -> Result<String, Error> {
    let find = |connection: &Connection| {
        let found = connection.query_row("SELECT id FROM ledger", [], |row| row.get(0));
        match found {
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            found => found.map(Some),
        }
    };
    if let Some(id) = find(connection)? {
        return checked(id);
    }
    let file = "/proc/sys/kernel/random/uuid";
    let drawn = fs::read_to_string(file).map_err(|error| Error::at(file, error))?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another program may have drawn a name meanwhile.
    let id = match find(&transaction)? {
        Some(id) => id,
        None => {
            refuse_replaced(&transaction)?;
            transaction.execute(
                "INSERT INTO ledger (one, id) VALUES (1, ?1)",
                [drawn.trim()],
            )?;
            drawn.trim().to_owned()
        }
    };
    transaction.commit()?;
    checked(id)
}

/// The name of a ledger, if it is one that the kernel has drawn: names of control groups are made of it.
fn checked(id: String) -> Result<String, Error> {
    let is_drawn = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if id.len() == 36 && id.chars().all(is_drawn) {
        return Ok(id);
    }
    Err(Error::Failed(
        "its id is not a UUID of the kernel".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a change is synced with, as SQLite numbers it: 1 is NORMAL, 2 is FULL.
    #[test]
    fn what_must_survive_a_power_cut_is_synced_in_full() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path().join("ledger.db")).unwrap();
        for (sync, expected) in [
            (Durability::Boot, 1),
            (Durability::Disk, 2),
            (Durability::Boot, 1),
        ] {
            let found = ledger.change(sync, |books| books.synchronous()).unwrap();
            assert_eq!(found, expected, "{sync:?}");
        }
    }

    #[test]
    fn programs_that_open_a_new_ledger_at_once_wait_for_each_other() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ledger.db");
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| Ledger::open(&path).unwrap());
                }
            });
        }
    }
}
