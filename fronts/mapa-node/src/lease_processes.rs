//! The processes of a lease: whether they run, and which of them get its signals.

use std::cell::OnceCell;

use mapa_live::cgroup;
use mapa_live::{Identity, Liveness, Namespaces, Processes};
use rustix::process::Signal;

use crate::ledger::{Lease, LedgerFile};
use crate::mark::{self, MARK};

/// Whether processes run, those of other PID namespaces too.
pub(crate) struct Lives<'a> {
    processes: &'a Processes,
    /// Read when the first process of another namespace asks for it.
    namespaces: OnceCell<Namespaces>,
}

impl<'a> Lives<'a> {
    pub(crate) fn new(processes: &'a Processes) -> Self {
        Self {
            processes,
            namespaces: OnceCell::new(),
        }
    }

    /// Whether a process runs.
    pub(crate) fn of(&self, process: &Identity) -> Liveness {
        match self.processes.life(process) {
            Liveness::Elsewhere => self.namespaces().life(process),
            known => known,
        }
    }

    /// The process as this namespace names it, if it runs and can be seen from here.
    pub(crate) fn here(&self, process: &Identity) -> Option<Identity> {
        match self.processes.life(process) {
            Liveness::Runs => Some(process.clone()),
            Liveness::Ended => None,
            Liveness::Elsewhere => self.namespaces().here(process).cloned(),
        }
    }

    fn namespaces(&self) -> &Namespaces {
        (self.namespaces).get_or_init(|| self.processes.namespaces())
    }
}

/// The processes that get a signal. The program that holds the lease passes it on, and frees the devices itself.
/// Only if it is gone, or does not, the processes of its command get the signal directly.
///
/// Others may have written the ledger. So the holder counts if it is a process of the lease's user that has the ledger
/// open, or, where the ledger is the daemon's alone, one of their `mapa`; any other process if it bears the lease's mark or is in the lease's group.
pub(crate) fn to_signal(
    processes: &Processes,
    (ledger, lease): (Option<LedgerFile>, &Lease),
    mark: &str,
    signal: Signal,
) -> Vec<Identity> {
    // The processes of an owner outside are not ours to signal.
    let Some(process) = lease.process() else {
        return Vec::new();
    };
    let lives = Lives::new(processes);
    let is_marked = |process: &Identity| {
        let pid = process.id.pid;
        processes.mark_of(pid, MARK).as_deref() == Some(mark)
            || processes.groups_of(pid).contains(&mark::name_of(mark))
    };
    let is_holder = |process: &Identity| {
        let pid = process.id.pid;
        // A daemon has the ledger open too, and holds no lease.
        pid != std::process::id() as i32
            && processes.program_of(pid).as_deref() != Some("mapa-node")
            && processes.uid_of(pid) == Some(lease.asker.uid)
            && ledger.is_some_and(|ledger| {
                let is_mapa = || processes.program_of(pid).as_deref() == Some("mapa");
                // A `mapa` that asks a daemon does not have the ledger open. What it started bears the mark.
                processes.has_open(pid, ledger.place)
                    || is_mapa()
                        && (ledger.is_private || processes.below(pid).iter().any(is_marked))
            })
    };
    let holder = lives.here(process).into_iter();
    let mut told: Vec<Identity> = holder
        .filter(|process| is_holder(process) || is_marked(process))
        .collect();
    // An adopted lease has no program of ours left that could pass the signal on.
    if lease.adopted || signal == Signal::KILL {
        told.extend(
            processes
                .marked(MARK)
                .found
                .remove(mark)
                .unwrap_or_default(),
        );
        let groups = lease.cgroup.iter().chain(&lease.limited);
        let groups = groups.filter_map(|group| mark::of_lease(group, mark));
        told.extend(
            groups
                .flat_map(|group| processes.listed(|| cgroup::members(group).unwrap_or_default())),
        );
        let child = lease.child.iter().filter_map(|child| lives.here(child));
        told.extend(child.filter(is_marked));
    }
    told.sort_by_key(|process| process.id);
    told.dedup();
    told
}
