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
