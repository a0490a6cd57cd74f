//! Control groups: where a lever finds the processes that it limits.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::LeverError;
use crate::kernel::ProcessId;
use crate::kernel::cgroup::{Version, hierarchy};
use crate::roots::Roots;

/// A control group by its path below the root of its hierarchy: `mapa/etl`, `system.slice/etl.service`.
/// The empty path is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CgroupPath(String);

impl CgroupPath {
    /// A group by its path. Slashes at its ends are dropped.
    ///
    /// # Errors
    /// A path with `..`, an empty part, a NUL or a line break, or with more than 4,000 bytes.
    pub fn new(path: impl AsRef<str>) -> Result<Self, LeverError> {
        let path = path.as_ref().trim_matches('/');
        // The path becomes part of one that root writes to, so it must not lead out of the
        // hierarchy.
        let good = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && !part.contains(['\0', '\n'])
        };
        if path.len() > 4000 || !(path.is_empty() || path.split('/').all(good)) {
            let start: String = path.chars().take(80).collect();
            return Err(LeverError::infeasible(
                format!("group `{start}`"),
                "expected a path below the root of the hierarchy, such as mapa/etl, without `..`",
            ));
        }
        Ok(Self(path.to_owned()))
    }

    /// The path, without a slash at its ends.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0
    }

    /// Whether this is the root of the hierarchy, which cannot be limited.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The groups above this one, the root first.
    pub(crate) fn above(&self) -> Vec<Self> {
        let ends = self.0.match_indices('/').map(|(at, _)| at);
        let mut above: Vec<Self> = ends.map(|at| Self(self.0[..at].to_owned())).collect();
        if !self.is_root() {
            above.insert(0, Self::default());
        }
        above
    }
}

impl fmt::Display for CgroupPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0)
    }
}

impl TryFrom<String> for CgroupPath {
    type Error = LeverError;

    fn try_from(path: String) -> Result<Self, LeverError> {
        Self::new(path)
    }
}

impl From<CgroupPath> for String {
    fn from(group: CgroupPath) -> Self {
        group.0
    }
}

/// What a group controls. On cgroup v1 each has a hierarchy of its own; on v2 all share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// Block I/O: `blkio` on v1, `io` on v2.
    BlockIo,
    /// CPUs and memory nodes: `cpuset`.
    Cpuset,
}

impl Controller {
    /// The name on cgroup v1.
    #[must_use]
    pub fn v1(self) -> &'static str {
        match self {
            Self::BlockIo => "blkio",
            Self::Cpuset => "cpuset",
        }
    }

    /// The name on cgroup v2.
    #[must_use]
    pub fn v2(self) -> &'static str {
        match self {
            Self::BlockIo => "io",
            Self::Cpuset => "cpuset",
        }
    }

    /// The version that this controller has on a machine, and the folder of its topmost group below
    /// [`Roots::cgroup`]; `None` if the machine does not have it. A machine may have one on v1 and
    /// another on v2.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn hierarchy(self, roots: &Roots) -> io::Result<Option<(Version, PathBuf)>> {
        hierarchy(&roots.cgroup, self.v1(), self.v2())
    }
}

/// Control groups and who is in them. [`CgroupTree`](crate::levers::CgroupTree) is the kernel's,
/// [`SimulatedMachine`](crate::levers::SimulatedMachine) a simulated one.
///
/// Every method that changes something does nothing where it holds already.
pub trait CgroupOps: Send {
    /// Whether a group exists.
    ///
    /// # Errors
    /// The machine has no such controller.
    fn exists(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError>;

    /// Makes a group; the one above it exists. On v1, a new group of `cpuset` has the CPUs and nodes of
    /// the one above.
    ///
    /// # Errors
    /// The kernel refused.
    fn make(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError>;

    /// Removes a group that has no processes.
    ///
    /// # Errors
    /// [Busy](LeverError::Busy): it has processes.
    fn remove(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError>;

    /// Whether groups below this one have the controller: always on v1, and never on v2 while there is no such group.
    ///
    /// # Errors
    /// The kernel refused.
    fn is_passed_on(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError>;

    /// Passes a controller on to the groups below this one, or no longer (`cgroup.subtree_control` of v2). Groups
    /// below it lose what they were set to, if it is no longer passed on.
    ///
    /// # Errors
    /// [Busy](LeverError::Busy): a group below passes it on. The kernel refused.
    fn pass_on(
        &mut self,
        controller: Controller,
        group: &CgroupPath,
        on: bool,
    ) -> Result<(), LeverError>;

    /// The group of a process.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended.
    fn group_of(
        &self,
        controller: Controller,
        process: ProcessId,
    ) -> Result<CgroupPath, LeverError>;

    /// The processes of a group, without those of groups below it.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no such group.
    fn members(
        &self,
        controller: Controller,
        group: &CgroupPath,
    ) -> Result<Vec<ProcessId>, LeverError>;

    /// Whether a group has groups below it.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no such group.
    fn has_below(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError>;

    /// Puts a process, with all its threads, into a group.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): the process has ended.
    fn join(
        &mut self,
        controller: Controller,
        process: ProcessId,
        group: &CgroupPath,
    ) -> Result<(), LeverError>;

    /// The exact writes of [`make`](Self::make), [`pass_on`](Self::pass_on) or [`join`](Self::join).
    fn commands(&self, act: CgroupOp<'_>) -> String;
}

/// A change of groups, to be put into words.
#[derive(Clone, Copy, Debug)]
pub enum CgroupOp<'a> {
    /// [`CgroupOps::make`].
    Make(Controller, &'a CgroupPath),
    /// [`CgroupOps::pass_on`].
    PassOn(Controller, &'a CgroupPath),
    /// [`CgroupOps::join`].
    Join(Controller, ProcessId, &'a CgroupPath),
}
