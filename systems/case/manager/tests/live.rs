//! The instances of the machine itself, as a library says that speaks as NVIDIA's does.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use mapa_case::{Declared, Error, Session};
use mapa_node::{Processes, TaskRecord, read_task_records};
use nvml_wrapper::Nvml;
use rustix::process::{Pid, Signal, kill_process};

use super::crowd::client_of;
use super::world::{UNIT, wait_until};
use crate::common::{Machine, error, text};

/// By default it goes by the largest instance, which has three of seven slices here.
const CONTEXT: u64 = UNIT + 5 * UNIT * 3 / 7;

/// A machine whose devices have these instances, and a manager of all of them.
struct Live {
    machine: Machine,
    /// The driver's number of the last instance of each device.
    made: Vec<u32>,
    /// Further words before those of the manager.
    words: Vec<String>,
    manager: Option<Child>,
}

impl Live {
    fn new(layouts: &[&[&str]]) -> Self {
        let machine = Machine::of("dgx-a100");
        let mut made = Vec::new();
        for (device, profiles) in (0..).zip(layouts) {
            machine.fake.set_mig(device, true).unwrap();
            let numbers = profiles.iter().map(|profile| {
                machine
                    .fake
                    .create_instance(device, profile, None)
                    .unwrap()
                    .0
            });
            made.extend(numbers.last());
        }
        Self {
            machine,
            made,
            words: Vec::new(),
            manager: None,
        }
    }

    fn socket(&self) -> PathBuf {
        self.machine.path().join("case.sock")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
        command
            .arg("manager")
            .arg("--nvml")
            .arg(self.machine.path().join("driver/libnvidia-ml.so.1"))
            .arg("--ledger")
            .arg(self.machine.ledger())
            .args(&self.words)
            .arg("--socket")
            .arg(self.socket())
            .args(words)
            .env("XDG_CACHE_HOME", self.machine.path().join("cache"))
            .env_remove("MAPA_LEDGER")
            .stdin(Stdio::null());
        command
    }

    /// Starts the manager. Returns what it says when it listens.
    fn start(&mut self) -> String {
        let mut command = self.command(&[]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            said = line.unwrap();
            if said.contains("instances on") {
                break;
            }
        }
        assert!(said.contains("instances on"), "{said}");
        self.manager = Some(child);
        said
    }

    /// Ends the manager: as systemd does, or by SIGKILL.
    fn end(&mut self, signal: Signal) {
        let mut child = self.manager.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
    }

    /// The manager does not start. Returns what it says.
    fn refused(&self, words: &[&str]) -> (Option<i32>, String) {
        let output: Output = self.command(words).output().unwrap();
        (output.status.code(), error(&output))
    }

    /// The UUID and the memory of each instance, as the library says.
    fn instances(&self) -> BTreeMap<String, u64> {
        let library = self.machine.path().join("driver/libnvidia-ml.so.1");
        let nvml = Nvml::builder()
            .lib_path(library.as_os_str())
            .init()
            .unwrap();
        let mut all = BTreeMap::new();
        for device in 0..nvml.device_count().unwrap() {
            let device = nvml.device_by_index(device).unwrap();
            for slot in 0..7 {
                if let Ok(own) = device.mig_device_by_index(slot) {
                    all.insert(own.uuid().unwrap(), own.memory_info().unwrap().total);
                }
            }
        }
        all
    }

    fn session(&self) -> Session {
        Session::new(self.socket(), Declared::default())
    }

    /// A session that holds so much, and the UUID of the instance on which it does.
    fn holding(&self, bytes: u64) -> (Session, String) {
        let session = self.session();
        let instance = session.begin(1, bytes, 1, 0).unwrap().instance;
        let visible = session.describe(instance).unwrap().visible;
        (session, visible)
    }

    fn entries(&self) -> Vec<TaskRecord> {
        let bytes = std::fs::read(self.machine.path().join("case.sock.tasks")).unwrap();
        let processes = Processes::new().unwrap();
        let all = read_task_records(&bytes, processes.boot()).unwrap();
        let all = all.unwrap_or_default().into_iter();
        all.map(|(_, entry)| entry).collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(mut child) = self.manager.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[test]
fn the_instances_are_those_of_the_machine_with_their_names_and_memory() {
    let mut live = Live::new(&[&["3g.20gb", "1g.5gb"], &["2g.10gb"]]);
    let said = live.start();
    assert!(said.contains("3 instances on"), "{said}");
    let mut left = live.instances();
    assert_eq!(left.len(), 3);
    let mut sizes: Vec<u64> = left.values().copied().collect();
    sizes.sort_unstable();
    // The largest that fits nowhere, and then each that fits on one instance alone.
    let most = sizes[2] - CONTEXT;
    let refused = live.session().begin(1, most, 1, 0);
    assert!(matches!(refused, Err(Error::OutOfMemory)), "{refused:?}");
    let mut sessions = Vec::new();
    for memory in sizes.into_iter().rev() {
        let (session, visible) = live.holding(memory - CONTEXT - 1);
        assert_eq!(left.remove(&visible), Some(memory), "{visible}");
        sessions.push(session);
    }
    assert!(left.is_empty());
}

#[test]
fn a_program_sees_the_instance_by_its_uuid_and_a_job_of_mapa_run_gets_none() {
    let mut live = Live::new(&[&["3g.20gb", "3g.20gb"]]);
    live.start();
    let output = Command::new(env!("CARGO_BIN_EXE_mapa-case"))
        .args(["run", "--socket"])
        .arg(live.socket())
        .args(["--isolated", "--bytes", "5000000000", "--", "sh", "-c"])
        .arg("echo $CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap();
    let all = live.instances();
    assert!(all.contains_key(&text(&output)), "{output:?} of {all:?}");
    // The ledger has one lease of both.
    let ps = live.machine.json(&["ps"]);
    assert_eq!(ps["leases"].as_array().unwrap().len(), 1, "{ps}");
    let held = ["GPU0/3g.20gb@0", "GPU0/3g.20gb@4"];
    assert_eq!(ps["leases"][0]["devices"], serde_json::json!(held), "{ps}");
    let job = ["run", "-n", "1", "--slice", "3g.20gb", "--", "true"];
    let busy = live.machine.mapa(&job);
    assert_eq!(busy.status.code(), Some(75), "{}", error(&busy));
    live.end(Signal::TERM);
    assert_eq!(live.machine.mapa(&job).status.code(), Some(0));
}

#[test]
fn an_instance_that_somebody_holds_is_not_shared_until_it_is_free() {
    let mut live = Live::new(&[&["3g.20gb", "1g.5gb"]]);
    let mut holder = live.machine.hold(&["-n", "1", "--slice", "1g.5gb"]);
    let (status, said) = live.refused(&[]);
    assert_eq!(status, Some(125), "{said}");
    assert!(said.contains("lease 1 of"), "{said}");
    // Nor by a file that names it by its UUID alone.
    let held = std::fs::read_to_string(live.machine.path().join("held")).unwrap();
    let file = live.machine.path().join("instances.toml");
    let by_file = ["--instances", file.to_str().unwrap()];
    let list = |uuid: &str| {
        format!("[[instance]]\ncuda_visible_devices = \"{uuid}\"\nmemory = 4000000000\n")
    };
    std::fs::write(&file, list(held.trim())).unwrap();
    let (status, said) = live.refused(&by_file);
    assert_eq!(status, Some(125), "{said}");
    assert!(said.contains("lease 1 of"), "{said}");
    live.machine.end(&mut holder);
    assert!(live.start().contains("2 instances on"));
}

#[test]
fn an_instance_that_a_file_names_by_its_uuid_is_given_to_nobody_else() {
    let live = Live::new(&[&["3g.20gb", "3g.20gb"]]);
    let all: Vec<String> = live.instances().into_keys().collect();
    let gpu = live.machine.fake.uuid(0).unwrap().to_owned();
    let file = live.machine.path().join("instances.toml");
    // By its UUID alone, and with that of its device.
    for device in ["", &gpu] {
        let list = format!(
            "[[instance]]\ncuda_visible_devices = \"{}\"\nmemory = 20000000000\ndevice = \"{device}\"\n",
            all[0]
        );
        std::fs::write(&file, list).unwrap();
        let mut command = live.command(&["--instances", file.to_str().unwrap()]);
        let mut manager = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut errors = BufReader::new(manager.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        assert!(said.contains("1 instances on"), "{said}");
        let show = [
            "--slice",
            "3g.20gb",
            "--",
            "sh",
            "-c",
            "echo $CUDA_VISIBLE_DEVICES",
        ];
        let one = live
            .machine
            .mapa(&[&["run", "-n", "1"], &show[..]].concat());
        assert_eq!(text(&one), all[1], "{}", error(&one));
        let two = live
            .machine
            .mapa(&[&["run", "-n", "2"], &show[..]].concat());
        assert_eq!(two.status.code(), Some(75), "{}", error(&two));
        kill_process(Pid::from_child(&manager), Signal::TERM).unwrap();
        manager.wait().unwrap();
    }
}

#[test]
fn of_instances_that_are_destroyed_the_next_manager_shares_none_and_the_others_keep_their_names() {
    let mut live = Live::new(&[&["3g.20gb"], &["3g.20gb"]]);
    live.start();
    // Another process is bound to the first, and this one to the second.
    let mut other = client_of(&live.socket(), "keep", 150, 0);
    let kept = live.machine.path().join("kept");
    wait_until("it holds", || kept.exists());
    let (session, visible) = live.holding(150 * UNIT);
    assert_eq!(session.instance(), 2);
    assert_ne!(std::fs::read_to_string(&kept).unwrap(), visible);
    live.machine.fake.destroy_instance(0, live.made[0]).unwrap();
    let left = live.instances();
    assert!(left.len() == 1 && left.contains_key(&visible), "{left:?}");
    let ps = live.machine.json(&["ps"]);
    let trouble = ps["leases"][0]["fault"].to_string();
    assert!(trouble.contains("is gone"), "{ps}");
    live.end(Signal::KILL);
    // What the other process holds is nowhere, so nobody can say that it is safe to go on.
    let (status, said) = live.refused(&[]);
    assert_eq!(status, Some(2), "{said}");
    let expected = format!("process {} uses an instance", other.id());
    assert!(said.contains(&expected), "{said}");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(live.start().contains("1 instances on"));
    // The one that is left is the first now, and this process goes on there.
    session.extend(1, 20 * UNIT, 1).unwrap();
    assert_eq!(session.instance(), 1);
    assert_eq!(session.describe(1).unwrap().visible, visible);
    let entries = live.entries();
    let held = entries.iter().filter(|entry| !entry.is_session);
    assert_eq!(held.map(|entry| entry.bytes).sum::<u64>(), 170 * UNIT);
    assert!(
        entries.iter().all(|entry| entry.instance == 1),
        "{entries:?}"
    );
    session.end(1).unwrap();
}

#[test]
fn the_layouts_of_a_described_machine_are_shared_by_their_names() {
    let mut live = Live::new(&[]);
    live.words = ["--machine", "dgx-a100", "--mig", "a100-40gb=3g,2g,1g,1g"]
        .map(str::to_owned)
        .into();
    // Four on each of eight devices.
    assert!(live.start().contains("32 instances on"));
    let (_session, visible) = live.holding(19_000_000_000);
    assert!(visible.starts_with("GPU0/3g.20gb@"), "{visible}");
    let mut command = Command::new(crate::mapa());
    let command = command
        .args(&live.words)
        .arg("--ledger")
        .arg(live.machine.ledger());
    let busy = command.args(["run", "-n", "1", "--slice", "2g.10gb", "--", "true"]);
    let busy = busy.output().unwrap();
    assert_eq!(busy.status.code(), Some(75), "{}", error(&busy));
}

#[test]
fn a_machine_without_instances_has_none_to_share() {
    let live = Live::new(&[]);
    let (status, said) = live.refused(&[]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("0 instances: expected"), "{said}");
}
