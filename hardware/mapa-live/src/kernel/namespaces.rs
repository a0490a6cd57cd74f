//! Processes of other PID namespaces, as whoever sees all processes of the machine can tell of them.
//!
//! A process in a container knows its number there, and writes that down. From outside it has another number. The
//! kernel tells both: the namespace by the inode of `/proc/PID/ns/pid`, the number within by the last of the line
//! `NSpid` in `/proc/PID/status`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::process::Identity;
use super::processes::Liveness;

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
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::processes::Processes;
    use super::*;

    #[test]
    fn a_process_of_a_namespace_that_has_ended_has_ended() {
        let processes = Processes::new().unwrap();
        let inner = "--pid --fork --mount-proc --kill-child sleep 600";
        let child = Command::new("unshare")
            .args(inner.split(' '))
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("skipped: no program unshare");
            return;
        };
        let begun = Instant::now();
        let found = loop {
            let namespaces = processes.namespaces();
            let mut all = namespaces.found.iter();
            // The first process of a namespace has number 1 there.
            let own = all.find(|((_, pid), here)| {
                let parents = processes.below(child.id() as i32);
                *pid == 1 && parents.contains(here)
            });
            if let Some((&(namespace, pid), here)) = own {
                break Some((namespace, pid, here.clone()));
            }
            if child.try_wait().unwrap().is_some() || begun.elapsed() > Duration::from_secs(30) {
                break None;
            }
        };
        let Some((namespace, pid, here)) = found else {
            drop(child.kill());
            child.wait().unwrap();
            eprintln!("skipped: no PID namespace can be made here");
            return;
        };
        let mut inside = Identity {
            namespace,
            ..here.clone()
        };
        inside.id.pid = pid;
        let namespaces = processes.namespaces();
        assert_eq!(namespaces.life(&inside), Liveness::Runs);
        assert_eq!(namespaces.here(&inside), Some(&here));
        assert_eq!(processes.life(&inside), Liveness::Elsewhere);
        processes
            .signal(&here, rustix::process::Signal::KILL)
            .unwrap();
        child.wait().unwrap();
        let namespaces = processes.namespaces();
        // Only who sees all processes of the machine can say that one has ended.
        let expected = if namespaces.sees_all {
            Liveness::Ended
        } else {
            Liveness::Elsewhere
        };
        assert_eq!(namespaces.life(&inside), expected);
        assert_eq!(namespaces.here(&inside), None);
    }
}
