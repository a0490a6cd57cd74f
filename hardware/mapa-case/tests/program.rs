//! The program `mapa-case`: what needs no compiler pass.

use std::path::Path;
use std::process::{Command, Output};

fn mapa_case(words: &[&str], pass: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
    command.args(words);
    if let Some(pass) = pass {
        command.env("MAPA_CASE_PASS", pass);
    }
    command.output().unwrap()
}

#[test]
fn cc_names_the_command_that_builds_the_pass() {
    let output = mapa_case(
        &["cc", "program.cu", "-O2", "-o", "program"],
        Some("/nowhere.so"),
    );
    let errors = String::from_utf8(output.stderr).unwrap();
    let command = "cargo build --release --manifest-path hardware/case-pass/Cargo.toml";
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains(command), "{errors}");
}

/// Compiles tests/c/traced.c against the two libraries, and traces it.
fn trace(arguments: &[&str]) -> (Option<i32>, String, String) {
    let work = tempfile::tempdir().unwrap();
    let runtime = work.path().join(fake_cudart::LIBRARY);
    std::os::unix::fs::symlink(fake_cudart::built_library().unwrap(), &runtime).unwrap();
    let client = std::env::current_exe().unwrap();
    let client = client.parent().unwrap().join("libmapa_case.a");
    let program = work.path().join("traced");
    let built = Command::new("cc")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c"))
        .args(["-Wall", "-Werror", "-I../../include", "traced.c", "-o"])
        .args([&program, &client])
        .arg("-L")
        .arg(work.path())
        .arg(format!("-l:{}", fake_cudart::LIBRARY))
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s"])
        .status()
        .unwrap();
    assert!(built.success());
    let words = [&["trace", program.to_str().unwrap()], arguments].concat();
    let output = mapa_case(&words, None);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

const BEGIN: &str = "{\"event\":\"begin\",\"task\":1,\"bytes\":1000,\"warps\":2}\n";
const EXTEND: &str = "{\"event\":\"extend\",\"task\":1,\"bytes\":24,\"warps\":0}\n";
const END: &str = "{\"event\":\"end\",\"task\":1,\"bytes\":0,\"warps\":0}\n";

#[test]
fn trace_prints_a_line_an_event_and_takes_over_the_status() {
    let (status, events, errors) = trace(&["right"]);
    assert_eq!(
        (status, events),
        (Some(0), format!("{BEGIN}{EXTEND}{END}")),
        "{errors}"
    );
    // What the program prints is not among the events.
    assert!(errors.contains("held 1024"), "{errors}");
    let (status, events, _) = trace(&["status"]);
    assert_eq!((status, events), (Some(5), format!("{BEGIN}{END}")));
}

#[test]
fn trace_fails_where_the_oracle_objects() {
    let (status, events, errors) = trace(&["above"]);
    assert_eq!(
        (status, events),
        (Some(70), format!("{BEGIN}{END}")),
        "{errors}"
    );
    assert!(
        errors.contains("1001 bytes are held, expected at most the 1000 granted"),
        "{errors}"
    );
    let (status, events, errors) = trace(&["outside"]);
    assert_eq!((status, events), (Some(70), String::new()), "{errors}");
}

#[test]
fn a_task_of_a_killed_program_ends_with_it() {
    let (status, events, _) = trace(&["killed"]);
    assert_eq!((status, events), (Some(128 + 9), format!("{BEGIN}{END}")));
}
