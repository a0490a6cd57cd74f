//! A manager in a folder, as a process that can be killed and started again.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mapa_case::{Declared, Session};
use mapa_node::{Processes, TaskRecord, read_task_records};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Bytes of the instances, contexts and tasks of the tests are multiples of this.
pub(crate) const UNIT: u64 = 100_000_000;

pub(crate) struct Node {
    folder: TempDir,
    words: Vec<String>,
    manager: Option<Child>,
}

impl Node {
    /// A manager of instances of so many units each, started with these further words.
    pub(crate) fn new(memory: &[u64], words: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let list = memory.iter().enumerate().map(|(at, units)| {
            format!(
                "[[instance]]\ncuda_visible_devices = \"MIG-{at}\"\nmemory = {}\ngpu_slices = 1\nmps = \"/run/mps-{at}\"\n",
                units * UNIT
            )
        });
        std::fs::write(
            folder.path().join("instances.toml"),
            list.collect::<String>(),
        )
        .unwrap();
        let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        if !words.iter().any(|word| word == "--context-bytes") {
            // Three units, so that sizes are round.
            words.extend(["--context-bytes".to_owned(), (3 * UNIT).to_string()]);
        }
        let mut node = Self {
            folder,
            words,
            manager: None,
        };
        node.start();
        node
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("case.sock")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
        command
            .arg("manager")
            .arg("--ledger")
            .arg(self.path().join("ledger.db"))
            .arg("--instances")
            .arg(self.path().join("instances.toml"))
            .arg("--socket")
            .arg(self.socket())
            .args(&self.words)
            .stdin(Stdio::null())
            .env_remove("MAPA_LEDGER");
        command
    }

    /// Starts the manager, and waits until it says that it listens.
    pub(crate) fn start(&mut self) {
        let mut child = self.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("instances on"), "{line}");
        // Nobody reads further: what it says then goes nowhere, and it does not stop for that.
        self.manager = Some(child);
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(self.manager.as_ref().unwrap())
    }

    /// The number above all its descriptors.
    pub(crate) fn descriptors(&self) -> u64 {
        let all = std::fs::read_dir(format!("/proc/{}/fd", self.pid().as_raw_nonzero())).unwrap();
        let all = all.map(|result| {
            result
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        });
        all.max().map_or(0, |last: u64| last + 1)
    }

    /// The hundredths of a second for which it has run.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero()));
        let stat = stat.unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().unwrap())
            .sum()
    }

    pub(crate) fn kill(&mut self) {
        let mut child = self.manager.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Ends the manager as systemd does, and checks that it ends well.
    pub(crate) fn stop(&mut self) {
        let mut child = self.manager.take().unwrap();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert!(child.wait().unwrap().success());
    }

    pub(crate) fn session(&self, declared: Declared) -> Session {
        Session::new(self.socket(), declared)
    }

    /// The entries at one moment: the manager is stopped while they are read.
    pub(crate) fn entries(&self) -> Vec<TaskRecord> {
        let pid = self.manager.as_ref().map(Pid::from_child);
        if let Some(pid) = pid {
            kill_process(pid, Signal::STOP).unwrap();
            wait_until("the manager has stopped", || {
                let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
                stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap().starts_with(" T"))
            });
        }
        let bytes = std::fs::read(self.path().join("case.sock.tasks")).unwrap();
        if let Some(pid) = pid {
            kill_process(pid, Signal::CONT).unwrap();
        }
        let boot = Processes::new().unwrap();
        let all = read_task_records(&bytes, boot.boot())
            .unwrap()
            .unwrap_or_default();
        all.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.manager.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "expected: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}
