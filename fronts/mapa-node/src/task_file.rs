//! The manager's entries: who holds what on which instance, in one file on tmpfs.
//!
//! A task begins and ends within milliseconds, and a transaction of the ledger costs as much. So the
//! manager keeps its tasks in a file of its own. What makes the page cache go also kills the
//! processes that the file is about, so nothing is synced: the file names its boot.
//!
//! An entry is written before its flag, and the flag is one word. A manager that is killed between
//! the two leaves an entry that does not count, and the process repeats its request. An entry counts
//! only for as long as the process lives that it names by number *and* start.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use mapa_live::{Identity, Liveness, ProcessId, Processes};

use crate::error::Error;

const MAGIC: u64 = u64::from_le_bytes(*b"MAPACASE");
const VERSION: u64 = 2;

/// Words of an entry; the first is its flag.
const WORDS: usize = 16;
const SIZE: usize = WORDS * 8;
/// The header takes the place of one entry: magic, version, and the boot's id from here on.
const BOOT_AT: usize = 16;
// Holes in a file read as zeros, so 0 is the flag of a free place.
const LIVE: u64 = u64::from_le_bytes(*b"\x01in use\x01");

/// The most entries that a file may have: 8 MiB.
const MOST: usize = 1 << 16;

/// What an entry is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskRecord {
    /// Whether it is of a session; otherwise of memory that a task of the session holds.
    pub is_session: bool,
    /// The session.
    pub session: u64,
    /// The number of the call that asked for it.
    pub seq: u64,
    /// The task, by the process's number.
    pub task: u64,
    /// The bytes of the task; of a session the most that it has declared or asked for at once.
    pub bytes: u64,
    /// The warps of the task.
    pub warps: u64,
    /// The flags of the request.
    pub flags: u64,
    /// The instance, counted from 1; 0 for a session that is bound to none yet.
    pub instance: u64,
    /// The mark of that instance: of its name, which its number is not. The next manager may have
    /// another list.
    pub mark: u64,
    /// The process of the session.
    pub pid: i32,
    /// When the process started.
    pub start: i64,
    /// The user of the process.
    pub uid: u32,
}

impl TaskRecord {
    fn words(&self) -> [u64; WORDS] {
        let kind = if self.is_session { 1 } else { 2 };
        let [pid, start] = [i64::from(self.pid), self.start].map(i64::cast_unsigned);
        let mut words = [0; WORDS];
        words[1..13].copy_from_slice(&[
            kind,
            self.session,
            self.seq,
            self.task,
            self.bytes,
            self.warps,
            self.flags,
            self.instance,
            pid,
            start,
            u64::from(self.uid),
            self.mark,
        ]);
        words
    }

    fn of(words: &[u64; WORDS]) -> Option<Self> {
        let is_session = match words[1] {
            1 => true,
            2 => false,
            _ => return None,
        };
        Some(Self {
            is_session,
            session: words[2],
            seq: words[3],
            task: words[4],
            bytes: words[5],
            warps: words[6],
            flags: words[7],
            instance: words[8],
            mark: words[12],
            pid: i32::try_from(words[9]).ok()?,
            start: words[10].cast_signed(),
            uid: u32::try_from(words[11]).ok()?,
        })
    }

    fn identity(&self, own: &Identity) -> Identity {
        Identity {
            // Boot and PID namespace are those of this process: the file names its boot, and the kernel names
            // a peer by its number in the manager's namespace.
            id: ProcessId {
                pid: self.pid,
                start: self.start,
            },
            ..own.clone()
        }
    }
}

/// The file of entries.
#[derive(Debug)]
pub struct TaskFile {
    file: File,
    path: PathBuf,
    /// What was found when the file was opened, by place.
    found: Vec<(usize, TaskRecord)>,
    free: Vec<usize>,
    places: usize,
}

impl TaskFile {
    /// Opens the file, or makes it. Entries of another boot, and of processes that are gone, are
    /// dropped.
    ///
    /// # Errors
    /// The file cannot be made or written, or is no file of entries.
    pub fn open(path: &Path, processes: &Processes) -> Result<Self, Error> {
        let at = |error: io::Error| Error::at(path.display(), error);
        if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(at)?;
        }
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create(true).mode(0o600);
        let file = opened.open(path).map_err(at)?;
        let bytes = read_file(path).map_err(at)?;
        let read = read_task_records(&bytes, processes.boot());
        let all = read.map_err(|what| Error::at(path.display(), what))?;
        let process = processes.own()?;
        let lives =
            |entry: &TaskRecord| processes.life(&entry.identity(&process)) != Liveness::Ended;
        let mut entries = Self {
            file,
            path: path.to_owned(),
            found: Vec::new(),
            free: Vec::new(),
            places: bytes.len() / SIZE,
        };
        match all {
            None => entries.begin(processes.boot()).map_err(at)?,
            Some(all) => {
                // From the last place to the first: `free` then ends with the lowest place, which the next
                // entry takes.
                for place in (1..entries.places).rev() {
                    match all.iter().find(|pair| pair.0 == place) {
                        Some((_, entry)) if lives(entry) => entries.found.push((place, *entry)),
                        Some(_) => entries.remove(place)?,
                        None => entries.free.push(place),
                    }
                }
                entries.found.reverse();
            }
        }
        Ok(entries)
    }

    /// Empties the file, and names the boot.
    fn begin(&mut self, boot: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        let mut header = [0; SIZE];
        header[8..16].copy_from_slice(&VERSION.to_le_bytes());
        for (to, byte) in header[BOOT_AT..].iter_mut().zip(boot.bytes()) {
            *to = byte;
        }
        self.file.write_all_at(&header, 0)?;
        // The magic comes last. Until it is there, a reader takes the file for an empty one.
        self.file.write_all_at(&MAGIC.to_le_bytes(), 0)?;
        self.places = 1;
        Ok(())
    }

    /// The entries that were found when the file was opened. May be taken once.
    pub fn take_found(&mut self) -> Vec<(usize, TaskRecord)> {
        std::mem::take(&mut self.found)
    }

    /// Adds an entry, and returns its place.
    ///
    /// # Errors
    /// The file cannot be written or is full: the entry does not count.
    pub fn add(&mut self, entry: &TaskRecord) -> Result<usize, Error> {
        let place = match self.free.last() {
            Some(&place) => place,
            None if self.places < MOST => self.places,
            None => {
                return Err(Error::at(
                    self.path.display(),
                    format_args!("{MOST} entries: expected fewer tasks at a time"),
                ));
            }
        };
        self.write(place, &entry.words())?;
        // The place leaves the list only after the entry is written, so an error leaves it free.
        if self.free.last() == Some(&place) {
            self.free.pop();
        } else {
            self.places += 1;
        }
        Ok(place)
    }

    /// Writes the entry, and behind it the flag.
    fn write(&self, place: usize, words: &[u64; WORDS]) -> Result<(), Error> {
        let mut bytes = [0; SIZE];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let at = (place * SIZE) as u64;
        // Two writes: only the second, of one word, makes the entry count.
        let written = self.file.write_all_at(&bytes, at);
        let written = written.and_then(|()| self.file.write_all_at(&LIVE.to_le_bytes(), at));
        written.map_err(|error| Error::at(self.path.display(), error))
    }

    /// Notes to which instance the process of a session is bound, by its number and its mark.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn bind(&self, place: usize, instance: u64, mark: u64) -> Result<(), Error> {
        // The number comes last: it says that there is an instance.
        self.change(place, 12, mark)?;
        self.change(place, 8, instance)
    }

    /// Notes the most that a session has asked for at once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn declare(&self, place: usize, bytes: u64) -> Result<(), Error> {
        self.change(place, 5, bytes)
    }

    /// Writes one word of an entry.
    fn change(&self, place: usize, at: usize, word: u64) -> Result<(), Error> {
        let at = (place * SIZE + at * 8) as u64;
        let written = self.file.write_all_at(&word.to_le_bytes(), at);
        written.map_err(|error| Error::at(self.path.display(), error))
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&mut self, place: usize) -> Result<(), Error> {
        // Clearing the flag is enough: a reader skips the words behind it.
        self.change(place, 0, 0)?;
        self.free.push(place);
        Ok(())
    }

    /// Checks that this is a file of tasks, or none yet, without making or changing it.
    ///
    /// # Errors
    /// The file cannot be read, or is another one.
    pub fn check(path: &Path, processes: &Processes) -> Result<(), Error> {
        let bytes = match read_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|error| Error::at(path.display(), error))?,
        };
        let read = read_task_records(&bytes, processes.boot());
        read.map(drop)
            .map_err(|what| Error::at(path.display(), what))
    }

    /// Whether the file names a process that lives: a manager is gone, but not all that it served.
    #[must_use]
    pub fn has_live(path: &Path, processes: &Processes) -> bool {
        let bytes = match read_file(path) {
            Ok(bytes) => bytes,
            // Rather hold devices too long than give them twice: the file may be another user's.
            Err(error) => return error.kind() != ErrorKind::NotFound,
        };
        let Ok(own) = processes.own() else {
            return true;
        };
        match read_task_records(&bytes, processes.boot()) {
            Ok(None) => false,
            Ok(Some(all)) => all
                .iter()
                .any(|(_, entry)| processes.life(&entry.identity(&own)) != Liveness::Ended),
            Err(_) => true,
        }
    }
}

/// The bytes of a file of entries. Others may have named it: no pipe is waited for, and no more is read
/// than such a file may have.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    let file = { options.read(true).custom_flags(libc::O_NONBLOCK) }.open(path)?;
    let most = (MOST * SIZE) as u64;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > most {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("expected a file of at most {most} bytes"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The entries of a file, by place; `None` for an empty file and for one of another boot.
///
/// # Errors
/// What is wrong with the file, and what is expected.
pub fn read_task_records(
    bytes: &[u8],
    boot: &str,
) -> Result<Option<Vec<(usize, TaskRecord)>>, String> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 8)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0u64, |word, byte| word << 8 | u64::from(*byte)),
        )
    };
    // A manager that was killed while it made the file has written no magic.
    if bytes.is_empty() || word(0) == Some(0) {
        return Ok(None);
    }
    if word(0) != Some(MAGIC) || word(8) != Some(VERSION) || bytes.len() < SIZE {
        return Err(format!(
            "no entries of `mapa-case manager`, version {VERSION}: expected another --task-file FILE, or this one removed"
        ));
    }
    let named = &bytes[BOOT_AT..SIZE];
    let end = named
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(named.len());
    if &named[..end] != boot.as_bytes() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for place in 1..bytes.len() / SIZE {
        let mut words = [0; WORDS];
        for (at, number) in words.iter_mut().enumerate() {
            *number = word(place * SIZE + at * 8).unwrap_or(0);
        }
        if words[0] != LIVE {
            continue;
        }
        let entry = TaskRecord::of(&words);
        let entry = entry.ok_or_else(|| format!("entry {place}: expected a session or a task"))?;
        all.push((place, entry));
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_and_a_file_without_end_hold_up_nobody_who_looks() {
        let folder = tempfile::tempdir().unwrap();
        let processes = Processes::new().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let long = folder.path().join("long");
        File::create(&long).unwrap().set_len(1 << 40).unwrap();
        // What is no file of entries may be another's, whose devices stay held.
        assert!(TaskFile::has_live(&pipe, &processes));
        assert!(TaskFile::has_live(&long, &processes));
        assert!(!TaskFile::has_live(&folder.path().join("none"), &processes));
    }
}
