//! `sched_setaffinity`, for all threads of a process.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

use super::affinity::{Affinity, alive};
use super::error::LeverError;
use crate::kernel::{Cpus, ProcessId, files, is_gone};
use crate::roots::Roots;

/// The affinity of this machine's processes.
#[derive(Clone, Debug)]
pub struct SystemAffinity {
    proc: PathBuf,
    sys: PathBuf,
}

impl SystemAffinity {
    /// The processes below [`Roots::proc`], which must be the procfs of this process's PID namespace.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            proc: roots.proc.clone(),
            sys: roots.sys.clone(),
        }
    }
}

impl Affinity for SystemAffinity {
    fn threads(&self, process: ProcessId) -> Result<Vec<(i32, Cpus)>, LeverError> {
        alive(&self.proc, process)?;
        let folder = self.proc.join(process.pid.to_string()).join("task");
        // It may end at any time, and is checked once more before an error is returned.
        let failed = |path: &Path, error: std::io::Error| match alive(&self.proc, process) {
            Ok(()) => LeverError::failed(path.display().to_string(), error.to_string()),
            Err(ended) => ended,
        };
        let list = fs::read_dir(&folder).map_err(|error| failed(&folder, error))?;
        let mut threads = Vec::new();
        for entry in list {
            let entry = entry.map_err(|error| failed(&folder, error))?;
            let Some(thread) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let status = match files::read(&entry.path().join("status")) {
                Ok(status) => status,
                // The thread has ended meanwhile.
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(failed(&entry.path(), error)),
            };
            let mut lines = status.lines();
            let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            let cpus = cpus.and_then(|cpus| cpus.parse().ok()).ok_or_else(|| {
                LeverError::failed(
                    format!("{}/{thread}/status", folder.display()),
                    "expected a line `Cpus_allowed_list:`",
                )
            })?;
            threads.push((thread, cpus));
        }
        threads.sort();
        Ok(threads)
    }

    fn set_thread(
        &mut self,
        process: ProcessId,
        thread: i32,
        cpus: &Cpus,
    ) -> Result<(), LeverError> {
        alive(&self.proc, process)?;
        let failed = |why: String| {
            LeverError::failed(format!("taskset --pid --cpu-list {cpus} {thread}"), why)
        };
        let mut set = CpuSet::new();
        for cpu in cpus.iter() {
            if cpu as usize >= CpuSet::MAX_CPU {
                return Err(failed(format!("expected CPUs below {}", CpuSet::MAX_CPU)));
            }
            set.set(cpu as usize);
        }
        let pid = (thread > 0).then(|| Pid::from_raw(thread)).flatten();
        let Some(pid) = pid else {
            return Err(failed("expected the id of a thread".to_owned()));
        };
        match sched_setaffinity(Some(pid), &set) {
            // It has ended meanwhile.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn online(&self) -> Result<Cpus, LeverError> {
        let path = self.sys.join("devices/system/cpu/online");
        let text = files::read(&path)
            .map_err(|error| LeverError::failed(path.display().to_string(), error.to_string()))?;
        text.parse()
            .map_err(|why: String| LeverError::failed(path.display().to_string(), why))
    }
}
