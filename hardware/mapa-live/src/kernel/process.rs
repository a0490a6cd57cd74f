//! Which process is meant, and the one reader of `/proc/PID/stat`.
//!
//! Five fields of one line are needed, of thousands of processes a poll. The crate `procfs` reads them too, but with 47
//! others, each line into memory of its own, and brings three crates into a daemon that runs as root.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A process. Numbers are reused; a number together with the time of the start is not, as long as the machine runs.
/// Another boot may have both once more, and another PID namespace the number: see [`Identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessId {
    /// The process id, in the PID namespace of this process.
    pub pid: i32,
    /// When it began, in ticks of the kernel's clock since the boot (field 22 of `/proc/PID/stat`).
    pub start: i64,
}

/// A process that cannot be confused with another, as it is written down: the next reader may be of another boot, or in
/// another PID namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The kernel's id of the boot.
    pub boot: String,
    /// The PID namespace in which the number is meant.
    pub namespace: i64,
    /// The number in that namespace, and the start.
    pub id: ProcessId,
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Runs,
    /// It has ended, or is a zombie that holds nothing any more.
    Ended,
    /// It was told of by another PID namespace, or is hidden, so it cannot be judged from here.
    Elsewhere,
}

impl ProcessId {
    /// The process that has this number now; `None` if there is none, or it has ended and is not
    /// waited for.
    ///
    /// # Errors
    /// The kernel does not say: a process that cannot be seen is not taken for one that has ended.
    pub fn of(proc: &Path, pid: i32) -> io::Result<Option<Self>> {
        let stat = Stat::of(proc, pid)?.filter(|stat| !stat.is_dead);
        Ok(stat.map(|stat| Self {
            pid,
            start: stat.start,
        }))
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn is_alive(self, proc: &Path) -> io::Result<bool> {
        Ok(Self::of(proc, self.pid)? == Some(self))
    }
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The process that started it, or that has taken it over.
    pub(crate) parent: i32,
    /// When it began, ticks since the boot.
    pub(crate) start: i64,
    /// Whether it has ended, and is not waited for.
    pub(crate) is_dead: bool,
    /// The ticks of CPU that it took so far.
    pub(crate) ticks: Option<u64>,
    /// Its resident memory, pages.
    pub(crate) resident_pages: Option<u64>,
}

impl Stat {
    /// What is said of the process of this number; `None` if there is none.
    ///
    /// # Errors
    /// The kernel does not say, or not as expected.
    pub(crate) fn of(proc: &Path, pid: i32) -> io::Result<Option<Self>> {
        // The kernel gives the whole line at once, and this is read for each lease at each poll.
        let mut line = [0; 4096];
        let read = File::open(proc.join(pid.to_string()).join("stat"))
            .and_then(|mut file| file.read(&mut line));
        let length = match read {
            Ok(length) => length,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        // The kernel cuts names at 15 bytes, in the middle of a character too.
        let text = String::from_utf8_lossy(line.get(..length).unwrap_or_default());
        let stat = Self::in_line(&text);
        let stat = stat.ok_or_else(|| io::Error::other("expected a state and a time of the start"));
        stat.map(Some)
    }

    /// The fields of a line. The second is a name in parentheses that may itself contain spaces and parentheses, so
    /// what follows is counted from the last `)`.
    fn in_line(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        // proc(5) counts fields from 1; the state, which comes first here, is the third.
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // Fields 14 and 15 are the ticks in user and in system mode, 22 is the start, and 24 the
        // resident pages.
        let mut more = fields.skip(9);
        let mut number = || more.next()?.parse::<u64>().ok();
        let (user, system) = (number(), number());
        let start = more.nth(6)?.parse().ok()?;
        let resident_pages = more.nth(1).and_then(|word| word.parse().ok());
        Some(Self {
            parent,
            start,
            // A zombie, or a process that is being removed: its number is still taken, but it holds
            // nothing.
            is_dead: matches!(state, "Z" | "X" | "x"),
            ticks: user
                .zip(system)
                .map(|(system, other)| system.saturating_add(other)),
            resident_pages,
        })
    }
}

/// Whether an error says that a file, or the process that it is of, is not there.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_move_the_fields() {
        let line = "17 (a) b (c) S 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        let stat = Stat::in_line(line).unwrap();
        assert_eq!((stat.parent, stat.start, stat.is_dead), (4, 98_765, false));
        assert_eq!((stat.ticks, stat.resident_pages), (Some(5 + 6), Some(2)));
        assert!(
            Stat::in_line("17 (a) Z 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 1")
                .unwrap()
                .is_dead
        );
        assert_eq!(Stat::in_line("17 (a"), None);
        let cut = [
            b"17 (caf\xc3) S 4 ".as_slice(),
            &line.as_bytes()[line.find("17 17").unwrap()..],
        ];
        let stat = Stat::in_line(&String::from_utf8_lossy(&cut.concat())).unwrap();
        assert_eq!((stat.parent, stat.start), (4, 98_765));
    }

    #[test]
    fn a_process_that_cannot_be_seen_has_not_ended() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        let of = |pid| ProcessId::of(proc, pid).map_err(drop);
        assert_eq!(of(17), Ok(None), "nobody has this number");
        fs::create_dir(proc.join("17")).unwrap();
        let line = "17 (a) b (c) S 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        fs::write(proc.join("17/stat"), line).unwrap();
        let process = ProcessId {
            pid: 17,
            start: 98765,
        };
        assert_eq!(of(17), Ok(Some(process)));
        assert!(process.is_alive(proc).unwrap());
        let earlier = ProcessId {
            start: 5,
            ..process
        };
        assert!(!earlier.is_alive(proc).unwrap(), "a reused number");
        fs::write(proc.join("17/stat"), line.replace(") S", ") Z")).unwrap();
        assert_eq!(of(17), Ok(None), "a zombie");
        // A folder in place of the file is an error of the system that is not "there is none".
        fs::remove_file(proc.join("17/stat")).unwrap();
        fs::create_dir(proc.join("17/stat")).unwrap();
        assert_eq!(of(17), Err(()));
        assert!(process.is_alive(proc).is_err());
        fs::remove_dir(proc.join("17/stat")).unwrap();
        fs::write(proc.join("17/stat"), "17 (a").unwrap();
        assert_eq!(of(17), Err(()));
    }
}
