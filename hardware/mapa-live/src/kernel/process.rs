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
    #[must_use]
    pub fn of(proc: &Path, pid: u32) -> Option<Self> {
        Self::find(proc, pid).ok().flatten()
    }

    /// As [`of`](Self::of), where a process that cannot be seen is not taken for one that has ended.
    pub(crate) fn find(proc: &Path, pid: u32) -> io::Result<Option<Self>> {
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
    #[must_use]
    pub fn is_alive(self, proc: &Path) -> bool {
        Self::of(proc, self.pid) == Some(self)
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
