//! What is asked of the levers, and the plan that follows: steps that know what was before, so that each
//! can be reverted, also by a process that has never seen the first one.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::block_io::{BlockDevice, BlockIoLimits};
use super::cpuset::Cpuset;
use super::group::{CgroupPath, Controller};
use super::launch::{ProgramSpec, RouteFile};
use super::mig::{MigLayout, MigPlace};
use super::mps::{MpsScope, MpsServer, PinnedMib};
use crate::kernel::{Cpus, ProcessId};

/// What is asked of a lever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "lever", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "few are made, and each is written as JSON, where a box would be no gain"
)]
pub enum LeverChange {
    /// Limit the block I/O of a group on a device. Limits that are `None` are lifted.
    BlockIo {
        /// The group whose processes are limited. It exists.
        group: CgroupPath,
        /// The whole disk on which the limits hold.
        device: BlockDevice,
        /// All four limits: one that is `None` is lifted.
        limits: BlockIoLimits,
    },
    /// Set the CPUs and memory nodes of a group.
    Cpuset {
        /// The group, which exists.
        group: CgroupPath,
        /// The CPUs.
        cpus: Cpus,
        /// The memory nodes; those that the group has, if `None`.
        #[serde(default)]
        mems: Option<Cpus>,
    },
    /// Let all threads of a process run on these CPUs alone.
    Affinity {
        /// The process, which runs. Threads that it starts later inherit the CPUs.
        process: ProcessId,
        /// The CPUs, such as [`low_interrupt_cpus`](crate::low_interrupt_cpus) of those that are allowed.
        cpus: Cpus,
    },
    /// Put a process into a group, which is made if there is none, with those above it.
    AssignCgroup {
        /// The process; `None` makes the group alone.
        process: Option<ProcessId>,
        /// The group, which need not exist.
        group: CgroupPath,
        /// The controllers for which the process is put there. On v2 they share one group.
        controllers: Vec<Controller>,
    },
    /// Set the share of multiprocessors of MPS clients that start from now on, of the daemon and of each server
    /// that runs.
    MpsPercent {
        /// The control daemon, which runs.
        server: MpsServer,
        /// The share of each client, percent of all multiprocessors.
        percent: u32,
    },
    /// Limit the pinned device memory of MPS clients that start from now on, of the daemon and of each server
    /// that runs.
    MpsPinned {
        /// The control daemon, which runs.
        server: MpsServer,
        /// The daemon's number of the device.
        device: u32,
        /// The limit, MiB; `None` lifts it.
        mib: PinnedMib,
    },
    /// Have an MPS control daemon, or none.
    MpsDaemon {
        /// The control daemon, by its folder of pipes.
        server: MpsServer,
        /// True to start it, false to end it with its servers.
        running: bool,
    },
    /// Partition a device. Instances that the layout has as well stay, with what runs on them. A device on which
    /// MIG is off tells no profiles: turn it on first, by a layout with MIG on and no instances.
    Layout {
        /// The UUID of the whole GPU.
        device: String,
        /// The mode, and all instances that the GPU shall have.
        layout: MigLayout,
    },
    /// Have a program running and ready.
    Run {
        /// The program, which is not started again if one of its id runs.
        program: ProgramSpec,
    },
    /// Have a program stopped.
    Stop {
        /// The program, as it was started: it is started again if this is reverted.
        program: ProgramSpec,
    },
    /// Replace a program by another. Warm: the new one is started, must be ready, gets the requests, and
    /// then the old one ends; for a time both run. Cold: the old one ends first.
    HandOver {
        /// The program to be ended, as it was started. It need not run.
        old: ProgramSpec,
        /// The program to be started, with another id. It may run already.
        new: ProgramSpec,
        /// What sends requests to the new one.
        #[serde(default)]
        route: Option<RouteFile>,
        /// Whether both may run at once.
        warm: bool,
    },
}

impl LeverChange {
    /// The name of the lever, as in JSON.
    #[must_use]
    pub fn lever(&self) -> &'static str {
        match self {
            Self::BlockIo { .. } => "block-io",
            Self::Cpuset { .. } => "cpuset",
            Self::Affinity { .. } => "affinity",
            Self::AssignCgroup { .. } => "assign-cgroup",
            Self::MpsPercent { .. } => "mps-percent",
            Self::MpsPinned { .. } => "mps-pinned",
            Self::MpsDaemon { .. } => "mps-daemon",
            Self::Layout { .. } => "layout",
            Self::Run { .. } => "run",
            Self::Stop { .. } => "stop",
            Self::HandOver { .. } => "hand-over",
        }
    }

    /// What the change has for itself while it is held. Two changes on one target are never held at once:
    /// taking them back in another order would leave a mixture.
    #[must_use]
    pub fn targets(&self) -> Vec<String> {
        match self {
            Self::BlockIo { group, device, .. } => vec![format!("block-io {group} {device}")],
            Self::Cpuset { group, .. } => vec![format!("cpuset {group}")],
            Self::Affinity { process, .. } => vec![format!("affinity {}", process.pid)],
            Self::AssignCgroup {
                process,
                group,
                controllers,
            } => {
                let of = |controller: &Controller| match process {
                    Some(process) => format!("assign-cgroup {} {}", controller.v2(), process.pid),
                    None => format!("group {} {group}", controller.v2()),
                };
                controllers.iter().map(of).collect()
            }
            Self::MpsPercent { server, .. } => {
                vec![format!("mps-percent {}", server.0.display())]
            }
            Self::MpsPinned { server, device, .. } => {
                vec![format!("mps-pinned {} {device}", server.0.display())]
            }
            Self::MpsDaemon { server, .. } => vec![format!("mps-daemon {}", server.0.display())],
            // A UUID in other letters must not look like another device.
            Self::Layout { device, .. } => vec![format!("layout {}", device.to_ascii_lowercase())],
            Self::Run { program } | Self::Stop { program } => {
                vec![format!("program {}", program.id)]
            }
            Self::HandOver {
                old, new, route, ..
            } => {
                let route = route
                    .iter()
                    .map(|route| format!("route {}", route.file.display()));
                let programs = [old, new].map(|launch| format!("program {}", launch.id));
                programs.into_iter().chain(route).collect()
            }
        }
    }
}

/// One step of a plan: what is set, and what was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Step {
    /// Makes a group that was not there. Back: removes it. One with processes or groups of others is busy.
    MakeGroup {
        /// The controller in whose hierarchy the group is made.
        controller: Controller,
        /// The group, whose parent exists by then.
        group: CgroupPath,
    },
    /// Passes a controller on to the groups below. Back: no longer, unless there are groups below by then.
    PassOn {
        /// The controller, which has its hierarchy on v2.
        controller: Controller,
        /// The group whose children get the controller.
        group: CgroupPath,
    },
    /// Puts a process into a group. Back: into the one that it was in, unless it is elsewhere by then. Out of a group
    /// that the same plan has made go all processes, with those that it has started.
    Join {
        /// The controller in whose hierarchy the process moves.
        controller: Controller,
        /// The process, with all its threads.
        process: ProcessId,
        /// The group in which it was when the plan was made.
        from: CgroupPath,
        /// The group into which it is put.
        to: CgroupPath,
    },
    /// Sets limits on block I/O. Back: each limit that is still as it was set.
    Limits {
        /// The group whose processes are limited.
        group: CgroupPath,
        /// The whole disk on which the limits hold.
        device: BlockDevice,
        /// The limits when the plan was made, to which it reverts.
        from: BlockIoLimits,
        /// The limits that are set.
        to: BlockIoLimits,
    },
    /// Sets CPUs and memory nodes of a group. Back: if it is still as it was set.
    Cpuset {
        /// The group.
        group: CgroupPath,
        /// What it was set to.
        from: Cpuset,
        /// What it shall be set to.
        to: Cpuset,
    },
    /// Sets the CPUs of each thread. Back: each thread that still has them. A thread that began meanwhile
    /// gets those that the first thread had.
    Affinity {
        /// The process.
        process: ProcessId,
        /// The CPUs of each thread before.
        from: Vec<(i32, Cpus)>,
        /// The CPUs after.
        to: Cpus,
    },
    /// Sets the share of multiprocessors, in thousandths of a percent. Back: if it is still as it was set. With the
    /// daemon's, those of the servers that it has started since.
    MpsPercent {
        /// The daemon.
        server: MpsServer,
        /// The daemon's own, or that of a server.
        scope: MpsScope,
        /// The share before.
        from: u32,
        /// The share after.
        to: u32,
    },
    /// Sets the limit on pinned memory. Back: if it is still as it was set. With the daemon's, those of the servers
    /// that it has started since.
    MpsPinned {
        /// The daemon.
        server: MpsServer,
        /// The daemon's own, or that of a server.
        scope: MpsScope,
        /// The daemon's number of the device.
        device: u32,
        /// The limit before.
        from: PinnedMib,
        /// The limit after.
        to: PinnedMib,
    },
    /// Starts an MPS control daemon, or ends it. Back: the other.
    MpsDaemon {
        /// The daemon.
        server: MpsServer,
        /// Whether it shall run.
        to: bool,
    },
    /// Turns MIG on or off. Back: the other, if it is still so. A device with instances of somebody else is busy.
    MigMode {
        /// The device's UUID.
        device: String,
        /// Whether it shall be on.
        to: bool,
    },
    /// Creates an instance. Back: destroys it.
    Create {
        /// The device's UUID.
        device: String,
        /// The instance.
        place: MigPlace,
    },
    /// Destroys an instance. Back: creates it at the same place. Its UUID is another then.
    Destroy {
        /// The device's UUID.
        device: String,
        /// The instance.
        place: MigPlace,
    },
    /// Starts a program and waits until it is ready. Back: stops it.
    Start {
        /// The program.
        program: ProgramSpec,
    },
    /// Stops a program. Back: starts it and waits until it is ready.
    Stop {
        /// The program.
        program: ProgramSpec,
    },
    /// Replaces a route's file. Back: the old text, if it is still as it was set.
    Route {
        /// The file.
        file: PathBuf,
        /// The text before; `None` if there was no file.
        from: Option<String>,
        /// The text after.
        to: String,
    },
}

impl Step {
    /// Whose value of MPS it sets.
    pub(crate) fn mps_scope(&self) -> Option<MpsScope> {
        match self {
            Self::MpsPercent { scope, .. } | Self::MpsPinned { scope, .. } => Some(*scope),
            _ => None,
        }
    }

    /// Whether what was set is there after the machine was booted again. Groups, processes and daemons are not, and
    /// others may have their names and numbers.
    fn outlives_a_boot(&self) -> bool {
        match self {
            Self::MakeGroup { .. }
            | Self::PassOn { .. }
            | Self::Join { .. }
            | Self::Limits { .. }
            | Self::Cpuset { .. }
            | Self::Affinity { .. }
            | Self::MpsPercent { .. }
            | Self::MpsPinned { .. }
            | Self::MpsDaemon { .. } => false,
            // Each of these is looked up before it is reverted, so one that the boot has ended does
            // no harm.
            Self::MigMode { .. }
            | Self::Create { .. }
            | Self::Destroy { .. }
            | Self::Start { .. }
            | Self::Stop { .. }
            | Self::Route { .. } => true,
        }
    }
}

/// What a change does, step by step. It is made before anything is changed, prints as the exact commands and
/// writes, and is all that is needed to revert the change: store it before the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The name of the lever, as [`LeverChange::lever`].
    pub lever: String,
    /// The steps. None: everything is as asked already.
    pub steps: Vec<Step>,
    /// What each step does, one or more lines each: exact commands and writes.
    pub words: Vec<String>,
    /// What may go wrong although the plan is sound, such as another program that sets the layout.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Leaves what an earlier boot has left.
    pub(crate) fn keep_what_outlives_a_boot(&mut self) {
        let stays: Vec<bool> = self.steps.iter().map(Step::outlives_a_boot).collect();
        let mut stay = stays.iter();
        self.words.retain(|_| stay.next() == Some(&true));
        let mut stay = stays.iter();
        self.steps.retain(|_| stay.next() == Some(&true));
    }
}

/// The dry run: warnings as comments, then commands and writes.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "# warning: {warning}")?;
        }
        if self.is_empty() {
            writeln!(f, "# nothing to do: it is so already")?;
        }
        for words in &self.words {
            writeln!(f, "{words}")?;
        }
        Ok(())
    }
}
