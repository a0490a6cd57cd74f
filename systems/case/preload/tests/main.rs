//! A program that was never changed, with a fake runtime behind the library.

// The manager that the tests of the runtime play.
#[allow(dead_code, reason = "they play it in more ways")]
#[path = "../../runtime/tests/manager.rs"]
mod manager;

use std::path::Path;
use std::process::Command;

use manager::{LIMIT, Manager};
use mapa_case::message::Op;

fn cc(folder: &Path, words: &[&str]) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let status = Command::new("cc")
        .current_dir(sources)
        .arg("-L")
        .arg(folder)
        .args(words)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_program_that_was_never_changed_asks_for_each_allocation() {
    let manager = Manager::new(usize::MAX);
    let folder = manager.path();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    cc(
        folder,
        &[
            "-shared",
            "-fPIC",
            "-o",
            &at("libcudart.so"),
            "fake_cudart.c",
        ],
    );
    cc(folder, &["-o", &at("program"), "program.c", "-lcudart"]);
    let library = std::env::current_exe()
        .unwrap()
        .with_file_name("libcase_preload.so");
    let run = |socket: &Path, nobody: bool| {
        let mut command = Command::new(folder.join("program"));
        command
            .env("LD_LIBRARY_PATH", folder)
            .env("LD_PRELOAD", &library)
            .env("MAPA_CASE_SOCKET", socket)
            .env("MAPA_CASE_CONNECT_TIMEOUT", "0")
            .env_remove("CUDA_VISIBLE_DEVICES");
        if nobody {
            command.env("NOBODY", "1");
        }
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    };
    run(&folder.join("nowhere"), true);
    let output = run(&manager.socket(), false);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "MIG-7\n");
    // The first binds the process, and holds nothing.
    let bytes: Vec<u64> = manager
        .requests(Op::Begin)
        .iter()
        .map(|request| request.bytes)
        .collect();
    assert_eq!(
        bytes,
        [0, 1000, 1536, 1 << 40, 2000, 3000, 3100, 3200, 4000]
    );
    assert!(bytes[3] > LIMIT);
    let begun: Vec<u64> = manager
        .requests(Op::Begin)
        .iter()
        .map(|request| request.task)
        .collect();
    let ended: Vec<u64> = manager
        .requests(Op::End)
        .iter()
        .map(|request| request.task)
        .collect();
    // All that were granted.
    assert_eq!(ended, [&begun[..3], &begun[4..]].concat());
}
