//! A process by its number and the time at which it began.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::files;

/// A process. Numbers are reused; a number together with the time of the start is not, as long as the machine runs.
/// Another boot may have both once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessId {
    /// The process id.
    pub pid: u32,
    /// When it began, in ticks of the kernel's clock since the boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

impl ProcessId {
    /// The process that has this number now; `None` if there is none, or it has ended and is not
    /// waited for.
    ///
    /// # Errors
    /// The kernel does not say: a process that cannot be seen is not taken for one that has ended.
    pub fn of(proc: &Path, pid: u32) -> io::Result<Option<Self>> {
        let stat = match files::read(&proc.join(pid.to_string()).join("stat")) {
            Ok(stat) => stat,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (state, start) = state_and_start(&stat)
            .ok_or_else(|| io::Error::other("expected a state and a time of the start"))?;
        Ok((state != 'Z' && state != 'X').then_some(Self { pid, start }))
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn is_alive(self, proc: &Path) -> io::Result<bool> {
        Ok(Self::of(proc, self.pid)? == Some(self))
    }
}

/// Whether an error says that a file, or the process that it is of, is not there.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The state and the start in `/proc/PID/stat`. The name of the command, in parentheses, may hold
/// anything, parentheses too, so fields are counted from the last one.
pub(crate) fn state_and_start(stat: &str) -> Option<(char, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3, the start field 22.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_process_that_cannot_be_seen_has_not_ended() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        let of = |pid| ProcessId::of(proc, pid).map_err(drop);
        assert_eq!(of(17), Ok(None), "nobody has this number");
        fs::create_dir(proc.join("17")).unwrap();
        let line = "17 (a) b (c) S 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        fs::write(proc.join("17/stat"), line).unwrap();
        let own = ProcessId {
            pid: 17,
            start: 98765,
        };
        assert_eq!(of(17), Ok(Some(own)));
        assert!(own.is_alive(proc).unwrap());
        let earlier = ProcessId { start: 5, ..own };
        assert!(!earlier.is_alive(proc).unwrap(), "a reused number");
        fs::write(proc.join("17/stat"), line.replace(") S", ") Z")).unwrap();
        assert_eq!(of(17), Ok(None), "a zombie");
        // A folder in place of the file is an error of the system that is not "there is none".
        fs::remove_file(proc.join("17/stat")).unwrap();
        fs::create_dir(proc.join("17/stat")).unwrap();
        assert_eq!(of(17), Err(()));
        assert!(own.is_alive(proc).is_err());
        fs::remove_dir(proc.join("17/stat")).unwrap();
        fs::write(proc.join("17/stat"), "17 (a").unwrap();
        assert_eq!(of(17), Err(()));
    }
}
