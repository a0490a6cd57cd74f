//! `mapa` on a machine that it discovers, through a library that speaks as NVIDIA's does.

use std::process::{Command, Output, Stdio};

use fake_nvml::{Config, Fake, Process, built_library, install};
use mapa_node::MARK;
use tempfile::TempDir;

use super::common::{error, text};

/// A machine of eight GPUs with drivers, and a ledger.
struct Machine {
    folder: TempDir,
    fake: Fake,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new("dgx-a100").with_state(folder.path().join("state"));
        let driver = folder.path().join("driver");
        install(&built_library().unwrap(), &driver, &config).unwrap();
        let fake = Fake::open(&config).unwrap();
        Self { folder, fake }
    }

    fn mapa(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_mapa"))
            .args(["--refresh", "--nvml"])
            .arg(self.folder.path().join("driver/libnvidia-ml.so.1"))
            .arg("--ledger")
            .arg(self.folder.path().join("ledger.db"))
            .args(words)
            // Discovery keeps its answers in the user's cache.
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env_remove(MARK)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

#[test]
fn a_command_is_told_uuids_and_devices_of_strangers_are_left_alone() {
    let machine = Machine::new();
    let script = "echo $CUDA_VISIBLE_DEVICES $MAPA_DEVICES";
    let output = machine.mapa(&["run", "-n", "2", "--", "sh", "-c", script]);
    let uuids = [0, 1].map(|index| machine.fake.uuid(index).unwrap());
    assert_eq!(
        text(&output),
        format!("{},{} GPU0,GPU1", uuids[0], uuids[1]),
        "{}",
        error(&output)
    );

    // This test is a stranger on GPU1: mapa did not start it.
    let own = std::process::id();
    machine
        .fake
        .start_process(1, Process::running(own).unwrap())
        .unwrap();
    let output = machine.mapa(&["run", "-n", "2", "--", "sh", "-c", script]);
    assert!(!text(&output).contains("GPU1"), "{}", text(&output));
    let all = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_eq!(all.status.code(), Some(75));
    let said = error(&all);
    assert!(
        said.contains(&format!("process {own}")) && said.contains("mapa did not start it"),
        "{said}"
    );
    assert_eq!(
        machine
            .mapa(&["run", "-n", "8", "--no-look", "--", "true"])
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn a_device_that_is_lost_is_not_given_and_the_ledger_stays_that_of_the_machine() {
    let machine = Machine::new();
    assert!(machine.mapa(&["cordon", "GPU2"]).status.success());
    machine.fake.lose(5).unwrap();
    let output = machine.mapa(&["run", "-n", "6", "--", "sh", "-c", "echo $MAPA_DEVICES"]);
    assert_eq!(
        text(&output),
        "GPU0,GPU1,GPU3,GPU4,GPU6,GPU7",
        "{}",
        error(&output)
    );
}
