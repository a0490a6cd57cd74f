//! Programs as processes of this machine.
//!
//! A program is found by its mark, `MAPA_LAUNCH` in its environment, which its children inherit. So it is
//! found after a crash of whoever started it, and ended with all that it started. A process that clears its
//! environment is not found, and neither is one of a user who is neither this one nor root: anybody may take a mark.
//!
//! It begins behind a gate: a shell that waits for a line before it becomes the program. Meanwhile it is put
//! into its groups and on its CPUs. If whoever starts it dies before that line, the gate ends too, so there
//! is no program that escaped its limits.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getuid, pidfd_open, pidfd_send_signal};

use super::affinity::Affinity;
use super::cgroup::CgroupTree;
use super::error::LeverError;
use super::group::CgroupOps;
use super::launch::{ProgramSpec, Programs, ReadinessProbe};
use super::system_affinity::SystemAffinity;
use crate::http;
use crate::kernel::{ProcessId, files};
use crate::roots::Roots;

/// The environment variable with a program's id.
const MARK: &str = "MAPA_LAUNCH";
/// What runs the gate.
const SHELL: &str = "/bin/sh";
/// The gate. The program's standard input is empty.
const GATE: &str = "read -r go && exec \"$@\" < /dev/null";
/// The name of the gate in its arguments, by which it is told from a program.
const GATE_NAME: &str = "mapa-gate";
/// How often processes are listed while some cannot be judged.
const ATTEMPTS: u32 = 10;
/// How long the gate may take to become the program.
const GATE_LIMIT: Duration = Duration::from_secs(10);
/// How long a killed process may take to end. One that is stuck in the kernel does not.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// What a process with a mark is at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessStage {
    /// It waits for its line.
    Gate,
    /// It is the program, or what that has started.
    Program,
    /// It shows no arguments: it is becoming the program, or has just ended.
    Unclear,
}

/// What a process with a mark is at, by its arguments.
fn stage_of(line: &[u8]) -> ProcessStage {
    let gate = [SHELL, "-c", GATE, GATE_NAME, ""].join("\0");
    if line.starts_with(gate.as_bytes()) {
        ProcessStage::Gate
    } else if gate.as_bytes().starts_with(line) {
        // None, or a part: a process that ends while its arguments are read has no more of them.
        ProcessStage::Unclear
    } else {
        ProcessStage::Program
    }
}

/// Programs as processes of this machine.
#[derive(Debug)]
pub struct SystemPrograms {
    roots: Roots,
    /// Those that this process started, to be waited for.
    children: BTreeMap<String, Child>,
}

impl SystemPrograms {
    /// Programs among the processes of [`Roots::proc`], which must be the procfs of this process's PID
    /// namespace.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            roots: roots.clone(),
            children: BTreeMap::new(),
        }
    }

    /// The processes with a mark, the oldest first. A process that is just becoming another program has no
    /// environment for a moment, and so does one that has just ended: if there are any, they are read again, and
    /// so is what is new by then.
    fn marked(&self, id: &str) -> Result<Vec<ProcessId>, LeverError> {
        let mut judged = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            if !self.judge_processes(id, &mut judged)? {
                break;
            }
            // One that hides its environment for good was not started here.
            thread::sleep(Duration::from_millis(1));
        }
        let mut found = Vec::new();
        for (process, has_mark) in judged {
            if has_mark
                && process
                    .is_alive(&self.roots.proc)
                    .map_err(unseen(process.pid))?
            {
                found.push(process);
            }
        }
        found.sort_by_key(|process| (process.start, process.pid));
        Ok(found)
    }

    /// Judges the processes that are not judged yet by whether they have the mark, and says whether some could not be.
    fn judge_processes(
        &self,
        id: &str,
        judged: &mut BTreeMap<ProcessId, bool>,
    ) -> Result<bool, LeverError> {
        let mark = format!("{MARK}={id}");
        let proc = &self.roots.proc;
        let list = fs::read_dir(proc).map_err(|error| {
            LeverError::failed(format!("list {}", proc.display()), error.to_string())
        })?;
        let mut unclear = false;
        for entry in list.flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let process = match ProcessId::of(proc, pid) {
                Ok(Some(process)) => process,
                Ok(None) => continue,
                // `hidepid` hides the processes of others, and nobody trusts their marks.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(unseen(pid)(error)),
            };
            if judged.contains_key(&process) || !is_trusted(&entry.path()) {
                continue;
            }
            let Ok(environment) = fs::read(entry.path().join("environ")) else {
                continue;
            };
            if environment.is_empty() {
                // Threads of the kernel have none, and no program either.
                unclear |= fs::read_link(entry.path().join("exe")).is_ok();
                continue;
            }
            let mut words = environment.split(|&byte| byte == 0);
            judged.insert(process, words.any(|word| word == mark.as_bytes()));
        }
        Ok(unclear)
    }

    /// What a process with a mark is at.
    fn stage(&self, process: ProcessId) -> ProcessStage {
        let path = self
            .roots
            .proc
            .join(process.pid.to_string())
            .join("cmdline");
        let line = fs::read(path).unwrap_or_default();
        stage_of(&line)
    }

    /// Starts the gate, and puts it where the program shall be.
    fn gate(&self, launch: &ProgramSpec) -> Result<(Child, ProcessId), LeverError> {
        let failed = |why: String| LeverError::failed(format!("start {}", launch.id), why);
        let mut command = Command::new(SHELL);
        command
            .args(["-c", GATE, GATE_NAME])
            .args(&launch.command)
            .envs(&launch.env)
            .env(MARK, &launch.id)
            .stdin(Stdio::piped())
            .process_group(0);
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let placed = self.place(launch, child.id().cast_signed());
        match placed {
            Ok(process) => Ok((child, process)),
            Err(error) => {
                // Without its line the gate ends.
                drop(child.stdin.take());
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn place(&self, launch: &ProgramSpec, pid: i32) -> Result<ProcessId, LeverError> {
        let found = ProcessId::of(&self.roots.proc, pid).map_err(unseen(pid))?;
        let process = found.ok_or_else(|| {
            LeverError::failed(format!("start {}", launch.id), "it ended at once")
        })?;
        let mut groups = CgroupTree::new(&self.roots);
        for (controller, group) in &launch.groups {
            groups.join(*controller, process, group)?;
        }
        // After the groups: a process that joins a cpuset gets the CPUs of that set.
        if let Some(cpus) = &launch.cpus {
            SystemAffinity::new(&self.roots).set_thread(process, pid, cpus)?;
        }
        Ok(process)
    }

    /// Waits for children that have ended, so that they leave the list of processes.
    fn reap(&mut self) {
        self.children
            .retain(|_, child| matches!(child.try_wait(), Ok(None)));
    }

    /// Sends a signal to all processes with a mark.
    fn signal(&self, id: &str, signal: Signal) -> Result<(), LeverError> {
        for process in self.marked(id)? {
            let pid = Pid::from_raw(process.pid);
            let Some(pid) = pid else { continue };
            let handle = match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(handle) => handle,
                Err(Errno::SRCH) => continue,
                Err(error) => return Err(unseen(process.pid)(error.into())),
            };
            // The handle is of whoever has the number now; a later owner of it is not meant.
            let proc = &self.roots.proc;
            if !process.is_alive(proc).map_err(unseen(process.pid))? {
                continue;
            }
            match pidfd_send_signal(&handle, signal) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => {
                    let what = format!("kill process {} of {id}", process.pid);
                    return Err(LeverError::failed(what, error.to_string()));
                }
            }
        }
        Ok(())
    }

    /// Waits until no process has the mark.
    fn gone(&mut self, id: &str, limit: Duration) -> Result<bool, LeverError> {
        let begin = Instant::now();
        loop {
            self.reap();
            if self.marked(id)?.is_empty() {
                return Ok(true);
            }
            if begin.elapsed() >= limit {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Says of which process the kernel does not tell whether it runs.
fn unseen(pid: i32) -> impl Fn(io::Error) -> LeverError {
    move |error| LeverError::failed(format!("process {pid}"), error.to_string())
}

/// Whether a process is of this user or of root. The owner of its folder does not say: it is root where a process is not to
/// be dumped, which anybody may ask for.
fn is_trusted(folder: &Path) -> bool {
    let status = files::read(&folder.join("status")).unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("Uid:"));
    // The real one, then the effective one.
    let uid = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    uid.is_some_and(|uid: u32| uid == 0 || uid == getuid().as_raw())
}

impl Programs for SystemPrograms {
    fn running(&self, id: &str) -> Result<Option<ProcessId>, LeverError> {
        let marked = self.marked(id)?;
        Ok(marked
            .into_iter()
            .find(|process| self.stage(*process) != ProcessStage::Gate))
    }

    fn start(&mut self, launch: &ProgramSpec) -> Result<ProcessId, LeverError> {
        self.reap();
        if let Some(process) = self.running(&launch.id)? {
            return Ok(process);
        }
        let (mut child, process) = self.gate(launch)?;
        let failed = |why: String| LeverError::failed(format!("start {}", launch.id), why);
        // The gate closes the pipe when it becomes the program, or when it ends.
        let opened = match child.stdin.take() {
            Some(mut gate) => gate.write_all(b"go\n"),
            None => Ok(()),
        };
        if let Err(error) = opened {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(error.to_string()));
        }
        let begin = Instant::now();
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                // A short program may have done its work; a shell says by 126 and 127 that it had none.
                return match status.code() {
                    Some(126 | 127) => Err(failed(format!(
                        "`{}` is no program that can be run",
                        launch.command[0]
                    ))),
                    _ => Err(failed(format!("it ended at once: {status}"))),
                };
            }
            if self.stage(process) == ProcessStage::Program {
                break;
            }
            if begin.elapsed() >= GATE_LIMIT {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("it did not begin within {GATE_LIMIT:?}")));
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.children.insert(launch.id.clone(), child);
        Ok(process)
    }

    fn is_ready(&self, launch: &ProgramSpec) -> Result<bool, LeverError> {
        // Asked first: a program that has ended is never ready, and its port may be another
        // program's.
        if self.running(&launch.id)?.is_none() {
            let what = format!("program {}", launch.id);
            return Err(LeverError::failed(what, "it has ended"));
        }
        Ok(match &launch.ready {
            ReadinessProbe::Runs => true,
            ReadinessProbe::Tcp { address } => {
                TcpStream::connect_timeout(address, Duration::from_millis(500)).is_ok()
            }
            ReadinessProbe::Http { url } => http::get(url, Duration::from_secs(2), 1 << 20)
                .is_ok_and(|(status, _)| (200..300).contains(&status)),
            ReadinessProbe::File { path } => path.exists(),
        })
    }

    fn pause(&mut self) {
        self.reap();
        thread::sleep(PAUSE);
    }

    fn stop(&mut self, launch: &ProgramSpec) -> Result<(), LeverError> {
        self.reap();
        self.signal(&launch.id, Signal::TERM)?;
        if self.gone(&launch.id, Duration::from_secs(launch.stop_s))? {
            return Ok(());
        }
        // What was started meanwhile has the mark too, so the list is made anew each time.
        let begin = Instant::now();
        while begin.elapsed() < KILL_LIMIT {
            self.signal(&launch.id, Signal::KILL)?;
            if self.gone(&launch.id, PAUSE)? {
                return Ok(());
            }
        }
        Err(LeverError::failed(
            format!("stop {}", launch.id),
            format!("a process is still there {KILL_LIMIT:?} after it was killed"),
        ))
    }

    fn route(&self, file: &Path) -> Result<Option<String>, LeverError> {
        match fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LeverError::failed(
                format!("read {}", file.display()),
                error.to_string(),
            )),
        }
    }

    fn set_route(&mut self, file: &Path, text: Option<&str>) -> Result<(), LeverError> {
        let outcome = match text {
            Some(text) => replace(file, text),
            None => match fs::remove_file(file) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
        };
        outcome.map_err(|error| {
            LeverError::failed(format!("replace {}", file.display()), error.to_string())
        })
    }
}

/// Replaces a file in one step. Others may read it, as they could the old one.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = file.parent().map(PathBuf::from).unwrap_or_default();
    let folder = if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder
    };
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary
        .as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_were_read_in_part_are_no_program() {
        let gate = format!("/bin/sh\0-c\0{GATE}\0{GATE_NAME}\0sleep\0");
        for length in 0..=gate.len() {
            let is_whole = length >= gate.len() - "sleep\0".len();
            let expected = if is_whole { "gate" } else { "unclear" };
            let found = match stage_of(&gate.as_bytes()[..length]) {
                ProcessStage::Gate => "gate",
                ProcessStage::Program => "program",
                ProcessStage::Unclear => "unclear",
            };
            assert_eq!(found, expected, "{length} bytes");
        }
        assert!(stage_of(b"sleep\0ten\0") == ProcessStage::Program);
        assert!(stage_of(b"/bin/sh\0-c\0read -r line\0") == ProcessStage::Program);
    }
}
