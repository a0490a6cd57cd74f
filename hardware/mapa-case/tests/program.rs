//! The program `mapa-case`: what needs no compiler pass.

use std::os::unix::fs::PermissionsExt as _;
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

/// The lines of clang, llvm-link-16 and opt-16 that `mapa-case cc` runs, each with its name first.
fn runs_of_cc(arguments: &[&str]) -> Vec<Vec<String>> {
    let work = tempfile::tempdir().unwrap();
    let log = work.path().join("log");
    let tool = format!(
        "#!/bin/sh\nfor word in \"${{0##*/}}\" \"$@\"; do printf '%s\\t' \"$word\"; done >>{0}\n\
         echo >>{0}\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && : >\"$2\"; shift; done\n",
        log.display()
    );
    for name in ["clang", "llvm-link-16", "opt-16"] {
        let path = work.path().join(name);
        std::fs::write(&path, &tool).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!(
        "{}:{}",
        work.path().display(),
        std::env::var("PATH").unwrap()
    );
    std::fs::write(&log, "").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mapa-case"))
        .arg("cc")
        .args(arguments)
        .current_dir(work.path())
        .env("PATH", path)
        .env("MAPA_CASE_CLANG", work.path().join("clang"))
        .env("MAPA_CASE_PASS", &log)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    let words = |line: &str| line.trim_end().split('\t').map(str::to_owned).collect();
    std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(words)
        .collect()
}

fn has(line: &[String], words: &[&str]) -> bool {
    line.windows(words.len()).any(|w| w == words)
}

#[test]
fn options_with_a_value_go_with_it_to_the_runs_that_they_are_for() {
    // For reading a source, for compiling, for linking: in this order.
    let options: [(&[&str], [bool; 3]); 19] = [
        (&["-I", "folder"], [true, false, false]),
        (&["-include-pch", "x.pch"], [true, false, false]),
        (&["-Xpreprocessor", "-DX"], [true, false, false]),
        (&["-MF", "x.d"], [true, false, false]),
        (&["-Xclang", "-fno-validate-pch"], [true, true, false]),
        (&["-mllvm", "-stats"], [true, true, false]),
        (&["-Xassembler", "-L"], [true, true, false]),
        (&["-Xcuda-ptxas", "-v"], [true, true, false]),
        (&["-Xarch_device", "-O1"], [true, true, false]),
        (&["-Xarch_sm_80", "-O1"], [true, true, false]),
        (&["--param", "x=1"], [true, true, false]),
        (&["-target", "x86_64-linux-gnu"], [true, true, true]),
        (&["-isysroot", "root"], [true, true, true]),
        (&["-march=native"], [true, true, true]),
        (&["-z", "now"], [false, false, true]),
        (&["-u", "symbol"], [false, false, true]),
        (&["-e", "start"], [false, false, true]),
        (&["-Xlinker", "--as-needed"], [false, false, true]),
        (&["-l", "m"], [false, false, true]),
    ];
    let mut arguments = vec!["--lto", "a.cu"];
    arguments.extend(options.iter().flat_map(|(words, _)| *words));
    let runs = runs_of_cc(&arguments);
    let names: Vec<&str> = runs.iter().map(|r| r[0].as_str()).collect();
    assert_eq!(names, ["clang", "llvm-link-16", "opt-16", "clang", "clang"]);
    for (words, expected) in options {
        let got = [&runs[0], &runs[3], &runs[4]].map(|run| has(run, words));
        assert_eq!(got, expected, "{words:?}: {runs:?}");
    }
    assert!(has(&runs[3], &["-x", "ir"]), "{runs:?}");
}

#[test]
fn a_language_is_that_of_the_files_after_it() {
    let arguments = [
        "-c", "a.cu", "-x", "c++", "b.cu", "-xcuda", "c.h", "-x", "none", "d.c",
    ];
    let languages: Vec<String> = runs_of_cc(&arguments)
        .iter()
        .map(|run| {
            let at = run.iter().position(|w| w == "-x").unwrap();
            format!("{} {}", run.last().unwrap(), run[at + 1])
        })
        .collect();
    assert_eq!(languages, ["a.cu cuda", "b.cu c++", "c.h cuda", "d.c c"]);
}

#[test]
fn the_runtime_is_linked_once_however_it_is_named() {
    for words in [&["-lcudart"][..], &["-l", "cudart"]] {
        let runs = runs_of_cc(&[&["a.o"][..], words].concat());
        let link = &runs[0];
        assert!(has(link, &["a.o"]), "{link:?}");
        assert!(!link.iter().any(|w| w.ends_with("cudart")), "{link:?}");
        assert!(has(link, &["-l:libcudart.so.12"]), "{link:?}");
    }
}
