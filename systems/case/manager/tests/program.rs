//! The program `mapa-case`: what needs no compiler pass.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use mapa_case::message::Op;

use crate::grants::Manager;

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
    let command = "cargo build --release --manifest-path systems/case/pass/Cargo.toml";
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains(command), "{errors}");
}

/// Compiles tests/traced.c against the two libraries, and traces it.
fn trace(arguments: &[&str]) -> (Option<i32>, String, String) {
    let work = tempfile::tempdir().unwrap();
    let runtime = work.path().join(fake_cudart::LIBRARY);
    std::os::unix::fs::symlink(fake_cudart::built_library().unwrap(), &runtime).unwrap();
    let client = std::env::current_exe().unwrap();
    let client = client.parent().unwrap().join("libmapa_case.a");
    let program = work.path().join("traced");
    let built = Command::new("cc")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"))
        .args([
            "-Wall",
            "-Werror",
            "-I../../runtime/include",
            "traced.c",
            "-o",
        ])
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

/// A driver and a program that finds its functions as a statically linked runtime does, in this folder.
fn driver_and_program(work: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driver/tests");
    let cc = |words: &[&str], to: &str| {
        let built = Command::new("cc")
            .current_dir(&sources)
            .args(words)
            .arg("-o")
            .arg(work.join(to))
            .args(["-pthread", "-ldl"])
            .status();
        assert!(built.unwrap().success(), "{words:?}");
    };
    std::fs::create_dir(work.join("real")).unwrap();
    let soname = "-Wl,-soname,libcuda.so.1";
    let driver = ["-shared", "-fPIC", soname, "fake_driver.c"];
    cc(&driver, "real/libcuda.so.1");
    cc(&["-DPROC", "program.c"], "program");
    std::fs::write(work.join("held"), [0; 8]).unwrap();
}

/// `mapa-case run` with these words before `-- ./program many`.
fn runs(manager: &Manager, words: &[&str]) -> Command {
    let work = manager.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
    command
        .args(["run", "--socket"])
        .arg(manager.socket())
        .args(words)
        .arg("--")
        .arg(work.join("program"))
        .arg("many")
        .env("XDG_CACHE_HOME", work.join("cache"))
        .env("FAKE_DRIVER_HELD", work.join("held"))
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("LD_PRELOAD")
        .env_remove("MAPA_CASE_DRIVER")
        .env_remove("CUDA_VISIBLE_DEVICES");
    command
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn run_puts_a_library_before_the_driver_that_is_named_or_that_the_loader_finds() {
    let manager = Manager::new(usize::MAX);
    let real = manager.path().join("real");
    driver_and_program(manager.path());
    let named = |command: &mut Command| {
        command.env("MAPA_CASE_DRIVER", real.join("libcuda.so.1"));
        // The loader would find one that the program cannot use.
        command.env("LD_LIBRARY_PATH", manager.path());
    };
    let found = |command: &mut Command| {
        command.env("LD_LIBRARY_PATH", &real);
    };
    let places: [&dyn Fn(&mut Command); 2] = [&named, &found];
    for place in places {
        for words in [&[][..], &["--interpose", "driver"]] {
            let mut command = runs(&manager, words);
            place(&mut command);
            assert_eq!(succeeds(&mut command), "MIG-7\n", "{words:?}");
            // Once for each allocation: leases of 32 and larger ones for the rest.
            let begun = manager.requests(Op::Begin);
            assert!(begun.len() > 32 && begun.len() <= 64, "{}", begun.len());
            manager.heard.lock().unwrap().clear();
        }
    }
    // It was made once for all.
    let cache = std::fs::read_dir(manager.path().join("cache/mapa-case"));
    assert_eq!(cache.unwrap().count(), 1);
}

#[test]
fn run_within_run_puts_one_library_there() {
    let manager = Manager::new(usize::MAX);
    driver_and_program(manager.path());
    let mut command = runs(&manager, &[]);
    let inner: Vec<std::ffi::OsString> = command.get_args().map(Into::into).collect();
    let mut outer = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
    outer
        .args(["run", "--interpose", "driver", "--socket"])
        .arg(manager.socket());
    outer.arg("--").arg(command.get_program()).args(inner);
    command.env("LD_LIBRARY_PATH", manager.path().join("real"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    assert_eq!(succeeds(&mut outer), "MIG-7\n");
    assert!(manager.requests(Op::Begin).len() <= 64);
}

#[test]
fn run_says_what_it_expects_where_there_is_no_driver() {
    let manager = Manager::new(usize::MAX);
    driver_and_program(manager.path());
    let mut command = runs(&manager, &["--interpose", "driver"]);
    let nowhere = manager.path().join("nowhere.so");
    let output = command.env("MAPA_CASE_DRIVER", &nowhere).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("MAPA_CASE_DRIVER"), "{errors}");
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
