//! A process by its number and the time at which it began.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files;

/// A process. Numbers are reused; a number together with the time of the start is not.
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
        let stat = files::read(&proc.join(pid.to_string()).join("stat")).ok()?;
        let (state, start) = state_and_start(&stat)?;
        (state != 'Z' && state != 'X').then_some(Self { pid, start })
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(self, proc: &Path) -> bool {
        Self::of(proc, self.pid) == Some(self)
    }
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
