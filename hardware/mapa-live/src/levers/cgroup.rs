//! The kernel's control groups, of both versions, by their files.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use super::affinity::alive;
use super::block_io::{BlockDevice, BlockIo, BlockIoLimits};
use super::cpuset::{Cpuset, Cpusets};
use super::error::LeverError;
use super::group::{CgroupOp, CgroupOps, CgroupPath, Controller};
use crate::kernel::cgroup::{PROCESSES, Version, own_members, path_in};
use crate::kernel::{Cpus, ProcessId, files, is_gone};
use crate::roots::Roots;

/// The control groups of this machine, below [`Roots::cgroup`].
#[derive(Clone, Debug)]
pub struct CgroupTree {
    roots: Roots,
}

/// The files of v1 with a limit each, in the order of [`BlockIoLimits::parts`].
const V1_FILES: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

/// The keys of v2's `io.max`, in the same order.
const V2_KEYS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];

impl CgroupTree {
    /// The control groups below these roots.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            roots: roots.clone(),
        }
    }

    /// The version of a controller on this machine, and the root of its hierarchy.
    fn hierarchy(&self, controller: Controller) -> Result<(Version, PathBuf), LeverError> {
        let what = format!("cgroup controller {}", controller.v2());
        let found = controller
            .hierarchy(&self.roots)
            .map_err(|error| LeverError::failed(&what, error.to_string()))?;
        found.ok_or_else(|| {
            let why = format!(
                "expected {} on v1, or `{}` in cgroup.controllers on v2, below {}",
                controller.v1(),
                controller.v2(),
                self.roots.cgroup.display()
            );
            LeverError::missing(what, why)
        })
    }

    fn folder(&self, controller: Controller, group: &CgroupPath) -> Result<PathBuf, LeverError> {
        Ok(self.hierarchy(controller)?.1.join(group.path()))
    }

    /// The files of a group with limits of block I/O, and what is written to each.
    fn limit_writes(
        &self,
        group: &CgroupPath,
        device: BlockDevice,
        limits: BlockIoLimits,
    ) -> Result<Vec<(PathBuf, String)>, LeverError> {
        let (version, root) = self.hierarchy(Controller::BlockIo)?;
        let folder = root.join(group.path());
        Ok(match version {
            Version::V1 => V1_FILES
                .iter()
                .zip(limits.parts())
                // Zero lifts a limit.
                .map(|(file, limit)| {
                    (
                        folder.join(file),
                        format!("{device} {}", limit.unwrap_or(0)),
                    )
                })
                .collect(),
            Version::V2 => {
                // One line sets all four, and `max` lifts a limit.
                let mut line = device.to_string();
                for (key, limit) in V2_KEYS.iter().zip(limits.parts()) {
                    let limit = limit.map_or("max".to_owned(), |limit| limit.to_string());
                    line += &format!(" {key}={limit}");
                }
                vec![(folder.join("io.max"), line)]
            }
        })
    }

    fn cpuset_writes(
        &self,
        group: &CgroupPath,
        set: &Cpuset,
    ) -> Result<[(PathBuf, String); 2], LeverError> {
        let folder = self.folder(Controller::Cpuset, group)?;
        // An empty line empties a set; an empty write does nothing.
        Ok([
            (folder.join("cpuset.cpus"), format!("{}\n", set.cpus)),
            (folder.join("cpuset.mems"), format!("{}\n", set.mems)),
        ])
    }

    fn read_set(&self, path: PathBuf) -> Result<Cpus, LeverError> {
        let text = files::read(&path).map_err(|error| refused("read", &path, &error))?;
        let set = text.parse();
        set.map_err(|why: String| LeverError::failed(path.display().to_string(), why))
    }
}

/// The kernel's answer to an access of a file, as an event.
fn refused(what: &str, path: &std::path::Path, error: &io::Error) -> LeverError {
    let what = format!("{what} {}", path.display());
    match error.kind() {
        ErrorKind::NotFound => LeverError::missing(what, "there is no such file"),
        ErrorKind::ResourceBusy | ErrorKind::DirectoryNotEmpty => {
            LeverError::busy(what, error.to_string())
        }
        _ if is_gone(error) => LeverError::missing(what, "the process has ended"),
        _ => LeverError::failed(what, error.to_string()),
    }
}

/// Writes a text to one of the kernel's files.
fn put(path: &std::path::Path, text: &str) -> Result<(), LeverError> {
    files::write(path, text)
        .map_err(|error| refused(&format!("write `{}` to", text.trim()), path, &error))
}

/// A write as a shell does it.
fn echo((path, text): &(PathBuf, String)) -> String {
    format!("echo '{}' > {}", text.trim_end(), path.display())
}

/// The message for what cannot be read, because the machine lacks it.
fn or_why(words: Result<String, LeverError>) -> String {
    words.unwrap_or_else(|error| format!("# {error}"))
}

impl CgroupOps for CgroupTree {
    fn exists(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        let folder = self.folder(controller, group)?;
        match fs::metadata(&folder) {
            Ok(found) => Ok(found.is_dir()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(refused("find", &folder, &error)),
        }
    }

    fn make(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError> {
        let (version, root) = self.hierarchy(controller)?;
        let folder = root.join(group.path());
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused("mkdir", &folder, &error)),
        }
        if version == Version::V1 && controller == Controller::Cpuset {
            // A group of v1 without CPUs and nodes takes no process.
            let cpuset = self.cpuset(group)?;
            let above = self.allowed(group)?;
            if cpuset.cpus.is_empty() || cpuset.mems.is_empty() {
                self.set_cpuset(group, &above)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError> {
        let folder = self.folder(controller, group)?;
        match fs::remove_dir(&folder) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(refused("rmdir", &folder, &error)),
        }
    }

    fn is_passed_on(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        let (version, root) = self.hierarchy(controller)?;
        if version == Version::V1 {
            return Ok(true);
        }
        let path = root.join(group.path()).join("cgroup.subtree_control");
        match files::read(&path) {
            Ok(list) => Ok(list
                .split_whitespace()
                .any(|candidate| candidate == controller.v2())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(refused("read", &path, &error)),
        }
    }

    fn pass_on(
        &mut self,
        controller: Controller,
        group: &CgroupPath,
        on: bool,
    ) -> Result<(), LeverError> {
        let (version, root) = self.hierarchy(controller)?;
        if version == Version::V1 {
            return Ok(());
        }
        let sign = if on { '+' } else { '-' };
        put(
            &root.join(group.path()).join("cgroup.subtree_control"),
            &format!("{sign}{}", controller.v2()),
        )
    }

    fn group_of(
        &self,
        controller: Controller,
        process: ProcessId,
    ) -> Result<CgroupPath, LeverError> {
        let (version, _) = self.hierarchy(controller)?;
        let path = self.roots.proc.join(process.pid.to_string()).join("cgroup");
        let text = files::read(&path).map_err(|error| refused("read", &path, &error))?;
        // After the file was read: by then the number might have been another process's.
        alive(&self.roots.proc, process)?;
        let name = match version {
            Version::V1 => controller.v1(),
            Version::V2 => "",
        };
        CgroupPath::new(path_in(&text, name).ok_or_else(|| {
            LeverError::failed(
                path.display().to_string(),
                "expected a line of the controller",
            )
        })?)
    }

    fn members(
        &self,
        controller: Controller,
        group: &CgroupPath,
    ) -> Result<Vec<ProcessId>, LeverError> {
        let folder = self.folder(controller, group)?;
        let listed = own_members(&folder)
            .map_err(|error| refused("read", &folder.join(PROCESSES), &error))?;
        let mut members = Vec::new();
        for pid in listed {
            let found = ProcessId::of(&self.roots.proc, pid);
            members.extend(found.map_err(|error| {
                LeverError::failed(format!("process {pid}"), error.to_string())
            })?);
        }
        Ok(members)
    }

    fn has_below(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        let folder = self.folder(controller, group)?;
        let failed = |error| refused("list", &folder, &error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            if entry
                .and_then(|dir_entry| dir_entry.file_type())
                .map_err(failed)?
                .is_dir()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn join(
        &mut self,
        controller: Controller,
        process: ProcessId,
        group: &CgroupPath,
    ) -> Result<(), LeverError> {
        alive(&self.roots.proc, process)?;
        // The number may pass to another process between the check and the write. The kernel takes
        // a number there and nothing that would rule this out.
        let procs = self.folder(controller, group)?.join(PROCESSES);
        put(&procs, &process.pid.to_string())
    }

    fn commands(&self, act: CgroupOp<'_>) -> String {
        or_why(match act {
            CgroupOp::Make(controller, group) => self
                .folder(controller, group)
                .map(|folder| format!("mkdir {}", folder.display())),
            CgroupOp::PassOn(controller, group) => self.folder(controller, group).map(|folder| {
                let file = folder.join("cgroup.subtree_control");
                echo(&(file, format!("+{}", controller.v2())))
            }),
            CgroupOp::Join(controller, process, group) => self
                .folder(controller, group)
                .map(|folder| echo(&(folder.join(PROCESSES), process.pid.to_string()))),
        })
    }
}

impl BlockIo for CgroupTree {
    fn limits(&self, group: &CgroupPath, device: BlockDevice) -> Result<BlockIoLimits, LeverError> {
        let (version, root) = self.hierarchy(Controller::BlockIo)?;
        let folder = root.join(group.path());
        // The line of the device, without its numbers.
        let of = |path: PathBuf| -> Result<Option<String>, LeverError> {
            let text = files::read(&path).map_err(|error| refused("read", &path, &error))?;
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let numbers = device.to_string();
            // The kernel has one line for each device; of a file that is only like it the last one holds.
            let device = lines.rfind(|(device, _)| *device == numbers);
            Ok(device.map(|(_, rest)| rest.trim().to_owned()))
        };
        let mut parts = [None; 4];
        match version {
            Version::V1 => {
                for (part, file) in parts.iter_mut().zip(V1_FILES) {
                    let limit = of(folder.join(file))?.and_then(|text| text.parse().ok());
                    *part = limit.filter(|&limit: &u64| limit > 0);
                }
            }
            Version::V2 => {
                let line = of(folder.join("io.max"))?.unwrap_or_default();
                for (part, key) in parts.iter_mut().zip(V2_KEYS) {
                    let mut words = line.split_whitespace();
                    let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
                    // `max` is no number, and so no limit.
                    *part = value.and_then(|value| value.parse().ok());
                }
            }
        }
        Ok(BlockIoLimits::of_parts(parts))
    }

    // On v1 the topmost group has the files that others have; on v2 it has none.
    fn check_new_group(&self) -> Result<(), LeverError> {
        let (version, root) = self.hierarchy(Controller::BlockIo)?;
        let files = V1_FILES.iter().filter(|_| version == Version::V1);
        for path in files.map(|file| root.join(file)) {
            fs::metadata(&path).map_err(|error| refused("find", &path, &error))?;
        }
        Ok(())
    }

    fn set_limits(
        &mut self,
        group: &CgroupPath,
        device: BlockDevice,
        limits: BlockIoLimits,
    ) -> Result<(), LeverError> {
        for (path, text) in self.limit_writes(group, device, limits)? {
            put(&path, &text)?;
        }
        Ok(())
    }

    fn commands(&self, group: &CgroupPath, device: BlockDevice, limits: BlockIoLimits) -> String {
        or_why(self.limit_writes(group, device, limits).map(|writes| {
            let lines: Vec<String> = writes.iter().map(echo).collect();
            lines.join("\n")
        }))
    }
}

impl Cpusets for CgroupTree {
    fn cpuset(&self, group: &CgroupPath) -> Result<Cpuset, LeverError> {
        let folder = self.folder(Controller::Cpuset, group)?;
        Ok(Cpuset {
            cpus: self.read_set(folder.join("cpuset.cpus"))?,
            mems: self.read_set(folder.join("cpuset.mems"))?,
        })
    }

    fn allowed(&self, group: &CgroupPath) -> Result<Cpuset, LeverError> {
        let (version, root) = self.hierarchy(Controller::Cpuset)?;
        let above = group.above().last().cloned().unwrap_or_default();
        let folder = root.join(above.path());
        let (cpus, mems) = match version {
            Version::V1 => ("cpuset.cpus", "cpuset.mems"),
            Version::V2 => ("cpuset.cpus.effective", "cpuset.mems.effective"),
        };
        Ok(Cpuset {
            cpus: self.read_set(folder.join(cpus))?,
            mems: self.read_set(folder.join(mems))?,
        })
    }

    fn set_cpuset(&mut self, group: &CgroupPath, set: &Cpuset) -> Result<(), LeverError> {
        let above = self.allowed(group)?;
        let writes = self.cpuset_writes(group, set)?;
        for ((path, text), all) in writes.iter().zip([above.cpus, above.mems]) {
            match files::write(path, text) {
                Ok(()) => {}
                // A group of v2 with processes cannot be emptied again (ENOSPC), though it began empty. What it had
                // then is the set of the group above.
                Err(error) if error.raw_os_error() == Some(28) && text.trim().is_empty() => {
                    put(path, &format!("{all}\n"))?;
                }
                Err(error) => {
                    let what = format!("write `{}` to", text.trim());
                    return Err(refused(&what, path, &error));
                }
            }
        }
        Ok(())
    }

    fn commands(&self, group: &CgroupPath, set: &Cpuset) -> String {
        or_why(
            self.cpuset_writes(group, set)
                .map(|writes| writes.iter().map(echo).collect::<Vec<_>>().join("\n")),
        )
    }
}
