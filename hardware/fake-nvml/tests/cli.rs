//! The program, and the commands of the README.

use std::path::Path;
use std::process::{Command, Output};

use nvml_wrapper::Nvml;

fn fake_nvml(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-nvml"));
    command.args(words).current_dir(folder).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// The commands in blocks of `sh` of a page, without what cargo does.
fn commands(page: &str) -> Vec<Vec<String>> {
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    blocks
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("fake-nvml "))
        .map(|line| {
            let line = line.split(" #").next().unwrap();
            line.split_whitespace()
                .map(|word| word.trim_matches('\'').to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn the_commands_of_the_readme_work() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands(include_str!("../README.md"));
    assert!(commands.len() > 10, "{commands:?}");
    for words in commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = fake_nvml(folder.path(), &words);
        assert!(output.status.success(), "{words:?}: {}", told(&output));
    }
    let nvml = Nvml::builder()
        .lib_path(folder.path().join("node7/libnvidia-ml.so.1").as_os_str())
        .init()
        .unwrap();
    assert_eq!(nvml.device_count().unwrap(), 8);
}

#[test]
fn a_program_finds_the_library_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let made = fake_nvml(folder.path(), &["install", "here", "--machine", "dgx-1v"]);
    assert!(made.status.success(), "{}", told(&made));
    // This test program is the client, by the loader's own search.
    let mut client = Command::new(std::env::current_exe().unwrap());
    client.args(["--exact", "cli::a_client", "--nocapture"]);
    client
        .env("LD_LIBRARY_PATH", folder.path().join("here"))
        .env("FAKE_NVML_TEST_CLIENT", "1");
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    // The environment counts over the folder's settings.
    client
        .env("FAKE_NVML_MACHINE", "l40s-x4")
        .env("FAKE_NVML_STATE", folder.path().join("other"));
    assert!(!client.output().unwrap().status.success());
}

#[test]
fn a_client() {
    if std::env::var_os("FAKE_NVML_TEST_CLIENT").is_some() {
        let nvml = Nvml::init().unwrap();
        assert_eq!(nvml.device_count().unwrap(), 8);
    }
}

#[test]
fn what_cannot_be_done_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |words: &[&str]| {
        let output = fake_nvml(folder.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        told(&output)
    };
    let text = told(&["install", "here", "--machine", "dgx-7"]);
    assert!(text.contains("no machine is called `dgx-7`"), "{text}");
    assert!(!folder.path().join("here").exists());
    assert!(
        fake_nvml(folder.path(), &["install", "here", "--machine", "dgx-1v"])
            .status
            .success()
    );
    let said = [
        &["--dir", "here", "lose", "8"][..],
        &["--dir", "here", "mig", "0", "on"],
        &["--dir", "here", "stop", "0", "1"],
        &["--dir", "here", "set", "0", "power=1"],
        &["--dir", "here", "set", "0", "power_mw"],
        &["--dir", "here", "set", "9", "power_mw=1"],
        &["--dir", "here", "inject", "nvmlInit", "BAD"],
        &["lose", "0"],
    ]
    .map(|words| {
        let text = told(words);
        format!("{words:?} -> {text}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    ["--dir", "here", "lose", "8"] -> error: device 8: expected 0 to 7

    ["--dir", "here", "mig", "0", "on"] -> error: NVML answers NOT_SUPPORTED

    ["--dir", "here", "stop", "0", "1"] -> error: device 0 has no process 1

    ["--dir", "here", "set", "0", "power=1"] -> error: unknown field `power`, expected one of `gpu_utilization`, `memory_utilization`, `pcie_tx_kbps`, `pcie_rx_kbps`, `pcie_replays`, `pcie_lanes`, `pcie_generation`, `power_mw`, `power_limit_mw`, `energy_mj`, `temperature_c`, `ecc_corrected`, `ecc_uncorrected`, `recovery_action`, `reserved_bytes`

    ["--dir", "here", "set", "0", "power_mw"] -> error: `power_mw`: expected COUNTER=NUMBER

    ["--dir", "here", "set", "9", "power_mw=1"] -> error: device 9: expected 0 to 7

    ["--dir", "here", "inject", "nvmlInit", "BAD"] -> error: no error of NVML is called `BAD`: expected UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, INSUFFICIENT_SIZE, INSUFFICIENT_POWER, DRIVER_NOT_LOADED, TIMEOUT, IRQ_ISSUE, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, CORRUPTED_INFOROM, GPU_IS_LOST, RESET_REQUIRED, OPERATING_SYSTEM, LIB_RM_VERSION_MISMATCH, IN_USE, MEMORY, NO_DATA, INSUFFICIENT_RESOURCES, ARGUMENT_VERSION_MISMATCH, DEPRECATED, NOT_READY, GPU_NOT_FOUND, INVALID_STATE, UNKNOWN

    ["lose", "0"] -> error: no state file: expected --dir, or FAKE_NVML_STATE
    "#);
}

/// With a full standard output and a full standard error, too, it ends with its own status.
#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let status = |error: std::process::Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-nvml"));
        let words = ["install", "here", "--machine", "dgx-1v"];
        command.args(words).current_dir(folder.path());
        command.stdout(full()).stderr(error).output().unwrap()
    };
    let output = status(std::process::Stdio::piped());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains("standard output"),
        "{}",
        told(&output)
    );
    assert_eq!(status(full().into()).status.code(), Some(1));
}

#[test]
fn a_description_is_named_relative_to_where_the_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\tGPU0\tGPU1\nGPU0\t X \tNV2\nGPU1\tNV2\t X \n";
    std::fs::write(folder.path().join("topo.txt"), text).unwrap();
    let made = fake_nvml(folder.path(), &["install", "two", "--machine", "topo.txt"]);
    assert!(made.status.success(), "{}", told(&made));
    let nvml = Nvml::builder()
        .lib_path(folder.path().join("two/libnvidia-ml.so.1").as_os_str())
        .init()
        .unwrap();
    assert_eq!(nvml.device_count().unwrap(), 2);
}
