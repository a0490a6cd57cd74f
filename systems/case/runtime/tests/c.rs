//! The library as C programs use it: compiled by `cc`, linked both ways.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mapa_case::message::Op;

use crate::manager::{Fault, Manager};

/// The folder of the built libraries: that of this test.
fn libraries() -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

fn cc(folder: &Path, words: &[&str]) {
    let output = Command::new("cc")
        .current_dir(sources())
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-std=gnu11",
            "-I../../include",
            "-L",
        ])
        .arg(folder)
        .arg("-L")
        .arg(libraries())
        .args(words)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles a program, with the library as `linked` says, and runs it.
fn run(name: &str, linked: &[&str], folder: &Path, socket: Option<&Path>) -> Output {
    let runtime = folder.join("libcudart.so");
    cc(
        folder,
        &[
            "-shared",
            "-fPIC",
            "-o",
            runtime.to_str().unwrap(),
            "fake_cudart.c",
        ],
    );
    let program = folder.join(name);
    let source = format!("{name}.c");
    // The runtime is needed though nothing of it is named: the wrappers find it by name.
    let mut words = vec![
        "-o",
        program.to_str().unwrap(),
        &source,
        "-Wl,--no-as-needed",
        "-lcudart",
    ];
    words.extend(linked);
    cc(folder, &words);
    let mut command = Command::new(program);
    command
        .env(
            "LD_LIBRARY_PATH",
            format!("{}:{}", folder.display(), libraries().display()),
        )
        .env("MAPA_CASE_CONNECT_TIMEOUT", "1")
        .env_remove("MAPA_CASE_SOCKET")
        .env_remove("CUDA_MPS_PIPE_DIRECTORY")
        .env_remove("CUDA_VISIBLE_DEVICES");
    if let Some(socket) = socket {
        command.env("MAPA_CASE_SOCKET", socket);
    }
    command.output().unwrap()
}

const SHARED: &[&str] = &["-lmapa_case"];
const STATIC: &[&str] = &["-l:libmapa_case.a", "-lpthread", "-ldl", "-lm", "-lgcc_s"];

fn said(output: &Output, status: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn tasks_of_a_c_program_are_asked_for_and_ended() {
    for linked in [SHARED, STATIC] {
        let manager = Manager::new(usize::MAX);
        let output = run("tasks", linked, manager.path(), Some(&manager.socket()));
        let expected = "begin 1 1000 32\nvisible MIG-7 pipe /run/mps\nend 1 0 0\nbegin 2 2000 0\nextend 2 500 0\n";
        // The child counts its own.
        let child = "begin 1 10 1\nend 1 0 0\n";
        // A task inside another of its thread is growth, and what both had ends with the last.
        let rest = "extend 2 3000 1\nend 2 0 0\n";
        assert_eq!(said(&output, 7), format!("{expected}{child}{rest}"));
        let [begins, ends] = [Op::Begin, Op::End].map(|op| manager.requests(op).len());
        // At its exit the program holds two, and says nothing of them: it holds them until its death.
        assert_eq!((begins, ends), (4, 2));
        let declared: Vec<u64> = manager
            .requests(Op::Init)
            .iter()
            .map(|request| request.bytes)
            .collect();
        assert_eq!(declared, [5000, 5000]);
        assert_eq!(manager.requests(Op::Destroy).len(), 0);
    }
}

#[test]
fn a_program_that_opens_the_library_again_has_the_session_that_it_had() {
    let manager = Manager::new(usize::MAX);
    let output = run("reopen", &["-ldl"], manager.path(), Some(&manager.socket()));
    // Its tasks are counted on.
    let said = said(&output, 0);
    assert!(said.ends_with("begin 10 10 1\nend 10 0 0\n"), "{said}");
    let [sessions, begins] = [Op::Init, Op::Begin].map(|op| manager.requests(op).len());
    assert_eq!((sessions, begins), (1, 10));
}

#[test]
fn without_a_manager_every_call_has_success_and_binds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = run("tasks", SHARED, folder.path(), None);
    let said = said(&output, 7);
    assert!(
        said.starts_with("begin 1 1000 32\nvisible - pipe -\n"),
        "{said}"
    );
}

#[test]
fn placeholders_become_memory_at_the_first_launch_wherever_they_are() {
    let manager = Manager::new(usize::MAX);
    let output = run("lazy", SHARED, manager.path(), Some(&manager.socket()));
    // Three of 64 bytes are asked for at once, with the warps of the launch; then each that comes.
    assert_eq!(
        said(&output, 0),
        "begin 1 192 4\nextend 1 24 0\nextend 1 4 0\nend 1 0 0\n"
    );
}

#[test]
fn what_cuda_refuses_is_asked_for_again_and_no_end_is_lost() {
    let manager = Manager::new(usize::MAX);
    let output = run("refused", SHARED, manager.path(), Some(&manager.socket()));
    assert_eq!(
        said(&output, 0),
        "begin 1 96 1\nend 1 0 0\nbegin 2 16 1\nend 2 0 0\nbegin 3 112 1\nextend 3 8 0\nend 3 0 0\n"
    );
}

#[test]
fn no_call_reaches_the_driver_before_the_process_is_bound() {
    let manager = Manager::new(usize::MAX);
    said(
        &run("first", SHARED, manager.path(), Some(&manager.socket())),
        0,
    );
    let nowhere = manager.path().join("nowhere");
    said(&run("first", SHARED, manager.path(), Some(&nowhere)), 100);
}

#[test]
fn an_end_that_no_manager_heard_is_sent_before_the_next_task() {
    let manager = Manager::with(Fault::Leaves);
    said(
        &run("lost", SHARED, manager.path(), Some(&manager.socket())),
        0,
    );
    let heard = manager.heard.lock().unwrap();
    let tasks = heard
        .iter()
        .filter(|request| matches!(request.op, Op::Begin | Op::End));
    let tasks: Vec<(Op, u64)> = tasks.map(|task| (task.op, task.task)).collect();
    // It heard the first end, and never answered.
    assert_eq!(tasks[..3], [(Op::Begin, 1), (Op::End, 1), (Op::End, 1)]);
    assert!(
        matches!(tasks[3..], [(Op::Begin, n), (Op::End, m)] if n == m),
        "{tasks:?}"
    );
}

#[test]
fn a_task_whose_instance_is_unknown_is_released() {
    let manager = Manager::with(Fault::Silent);
    said(
        &run("silent", SHARED, manager.path(), Some(&manager.socket())),
        0,
    );
    assert_eq!(manager.requests(Op::End).len(), 1);
}

#[test]
fn a_program_that_cannot_handle_a_refusal_ends_and_says_why() {
    let manager = Manager::new(usize::MAX);
    let output = run("must", SHARED, manager.path(), Some(&manager.socket()));
    said(&output, 69);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains("1099511627776 bytes: out of memory"),
        "{errors}"
    );
    // Nobody listens, and it does not try for long.
    let nowhere = manager.path().join("nowhere");
    let output = run("must", SHARED, manager.path(), Some(&nowhere));
    said(&output, 69);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("nowhere: No such file"), "{errors}");
}
