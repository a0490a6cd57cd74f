//! Processes of other PID namespaces, judged by a process that sees all processes of the machine.
//!
//! A process in a container knows its number there, and writes that down. From outside it has another number. The
//! kernel tells both: the namespace by the inode of `/proc/PID/ns/pid`, the number within by the last of the line
//! `NSpid` in `/proc/PID/status`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::process::{Identity, Liveness};

/// The processes of other PID namespaces that can be seen from this one.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    /// By namespace and number within.
    found: BTreeMap<(i64, i32), Identity>,
    /// The starts of processes whose namespace this one may not read.
    unread: BTreeSet<i64>,
    /// Whether every process of the machine is listed, with its start.
    sees_all: bool,
}

impl Namespaces {
    /// Reads them: O(processes of the machine).
    pub(super) fn read(
        proc: &Path,
        pids: &[i32],
        own: i64,
        sees_all: bool,
        identity: impl Fn(i32) -> Option<Identity>,
    ) -> Self {
        let mut namespaces = Self {
            sees_all,
            ..Self::default()
        };
        for &pid in pids {
            let folder = proc.join(pid.to_string());
            let namespace = match fs::metadata(folder.join("ns/pid")) {
                Ok(link) => link.ino() as i64,
                // It has ended since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(_) => {
                    namespaces
                        .unread
                        .extend(identity(pid).map(|one| one.id.start));
                    continue;
                }
            };
            if namespace == own {
                continue;
            }
            let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            let inner = numbers.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok());
            if let (Some(inner), Some(identity)) = (inner, identity(pid)) {
                namespaces.found.insert((namespace, inner), identity);
            }
        }
        namespaces
    }

    /// Whether a process that another namespace has written down runs. [`Liveness::Elsewhere`] if that cannot be
    /// judged from here.
    #[must_use]
    pub fn life(&self, of: &Identity) -> Liveness {
        // The inode of a namespace that has ended may be given to a new one, in which low numbers soon run again. A
        // namespace begins with its number 1, and ends with it. So it suffices to look at number 1: what started before
        // it is not of this namespace, and has ended with its own.
        let first = self.found.get(&(of.namespace, 1));
        if first.is_some_and(|first| first.id.start > of.id.start) {
            return Liveness::Ended;
        }
        match self.found.get(&(of.namespace, of.id.pid)) {
            Some(here) if here.id.start == of.id.start => Liveness::Runs,
            // Another start may be another process, or the same by the clock of its time namespace.
            Some(_) => Liveness::Elsewhere,
            // Only one that started when it did may be it.
            None if self.sees_all && !self.unread.contains(&of.id.start) => Liveness::Ended,
            None => Liveness::Elsewhere,
        }
    }

    /// That process as this namespace names it.
    #[must_use]
    pub fn here(&self, of: &Identity) -> Option<&Identity> {
        let here = self.found.get(&(of.namespace, of.id.pid))?;
        (here.id.start == of.id.start).then_some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::super::process::ProcessId;
    use super::*;

    fn of(namespace: i64, pid: i32, start: i64) -> Identity {
        Identity {
            boot: "a".to_owned(),
            namespace,
            id: ProcessId { pid, start },
        }
    }

    /// Processes of one namespace, by their numbers here, their numbers there and their starts.
    fn namespaces(processes: &[(i32, i32, i64)]) -> Namespaces {
        let found = processes
            .iter()
            .map(|&(here, there, start)| ((7, there), of(1, here, start)));
        Namespaces {
            found: found.collect(),
            unread: BTreeSet::new(),
            sees_all: true,
        }
    }

    #[test]
    fn a_process_of_a_namespace_whose_inode_was_given_to_another_has_ended() {
        // The container of process 5 has ended. That of now began later, and its process 5 runs.
        let now = namespaces(&[(300, 1, 2000), (305, 5, 2001)]);
        assert_eq!(now.life(&of(7, 5, 1000)), Liveness::Ended);
        assert_eq!(now.life(&of(7, 1, 1000)), Liveness::Ended);
        assert_eq!(now.life(&of(7, 5, 2001)), Liveness::Runs);
        // In the tick of the first process it cannot be told.
        assert_eq!(now.life(&of(7, 5, 2000)), Liveness::Elsewhere);
        // Nor if the first process cannot be seen.
        let hidden = namespaces(&[(305, 5, 2001)]);
        assert_eq!(hidden.life(&of(7, 5, 1000)), Liveness::Elsewhere);
    }
}
