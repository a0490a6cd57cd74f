//! An answer that could not be written is an error; files are replaced in one step, and devices and links stay.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Output};

use crate::common::Folder;

/// A line of `sh`, where `$MAPA` is the program.
fn sh(folder: &Folder, line: &str) -> Output {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("MAPA", env!("CARGO_BIN_EXE_mapa-bench"))
        .current_dir(folder.root());
    command.output().unwrap()
}

/// The second of two outputs would replace the first, and one over an input would destroy it.
#[test]
fn no_output_replaces_an_input_or_another_output() {
    let folder = Folder::new();
    symlink("a.csv", folder.at("link.csv")).unwrap();
    let jobs = "simulate --machine dgx-1v --generate mapa,jobs=5";
    for line in [
        format!("{jobs} --output a.csv --series a.csv"),
        format!("{jobs} --output a.csv --series ./a.csv"),
        format!("{jobs} --output a.csv --series \"$PWD/a.csv\""),
        format!("{jobs} --output a.csv --series link.csv"),
        format!("{jobs} --save-jobs a.csv --svg a.csv"),
    ] {
        let output = sh(&folder, &format!("$MAPA {line}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("expected another file"), "{line}: {said}");
    }
    assert!(
        sh(&folder, &format!("$MAPA {jobs} --save-jobs j.csv"))
            .status
            .success()
    );
    assert!(
        sh(&folder, "$MAPA topo --machine dgx-1v --write toml >m.toml")
            .status
            .success()
    );
    for (file, line) in [
        (
            "j.csv",
            "simulate --machine dgx-1v --jobs j.csv --output j.csv",
        ),
        ("m.toml", "allocate --machine m.toml --gpus 2 --svg m.toml"),
    ] {
        let before = fs::read(folder.at(file)).unwrap();
        let output = sh(&folder, &format!("$MAPA {line}"));
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(fs::read(folder.at(file)).unwrap(), before, "{line}");
    }
    // A device may be written twice.
    let line = format!("$MAPA {jobs} --output /dev/null --series /dev/null");
    let output = sh(&folder, &line);
    assert!(
        output.status.success() || output.stderr.starts_with(b"error: "),
        "{line}"
    );
}

#[test]
fn an_answer_that_is_lost_is_an_error() {
    let folder = Folder::new();
    for words in [
        "--help",
        "--version",
        "help topo",
        "machines",
        "topo --machine dgx-1v",
        "topo --machine dgx-1v --json",
        "topo --machine dgx-1v --write toml",
        "allocate --machine dgx-1v --gpus 2",
        "match --machine dgx-1v --pattern ring --gpus 4 --list 3 --json",
        "simulate --machine dgx-1v --generate mapa,jobs=5",
        "completions bash",
    ] {
        assert!(
            sh(&folder, &format!("$MAPA {words}")).status.success(),
            "{words}"
        );
        // Full; closed; not open for writing.
        for lost in [">/dev/full", ">&-", "1</dev/null"] {
            let output = sh(&folder, &format!("$MAPA {words} {lost}"));
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{words} {lost}: {said}");
            assert!(
                said.contains("error: standard output: "),
                "{words} {lost}: {said}"
            );
        }
        // Nothing is left to say it on, but for the status.
        for lost in [">/dev/full 2>&1", ">&- 2>&-"] {
            let output = sh(&folder, &format!("$MAPA {words} {lost}"));
            assert_eq!(output.status.code(), Some(2), "{words} {lost}");
        }
        // A reader that has seen enough has lost nothing.
        let output = sh(&folder, &format!("$MAPA {words} | head -c 1 >/dev/null"));
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{words}"
        );
    }
    // Errors and refusals keep their status wherever they cannot be told.
    for (words, status) in [
        ("topo --machine none", 2),
        ("topo --nonsense", 2),
        ("allocate --machine dgx-1v --gpus 99", 3),
    ] {
        for lost in [
            "",
            "--json",
            ">/dev/full 2>&1",
            "--json >/dev/full 2>&1",
            "2>&-",
            ">&- 2>&-",
        ] {
            let output = sh(&folder, &format!("$MAPA {words} {lost}"));
            assert_eq!(output.status.code(), Some(status), "{words} {lost}");
        }
    }
}

#[test]
fn outputs_follow_links_and_leave_devices_as_they_are() {
    let folder = Folder::new();
    folder.write("pattern.toml", "old");
    fs::create_dir(folder.at("links")).unwrap();
    let commands = [
        "allocate --machine dgx-1v --gpus 2 --svg FILE.svg",
        "simulate --machine dgx-1v --generate mapa,jobs=5 --output FILE.csv",
        "simulate --machine dgx-1v --generate mapa,jobs=5 --series FILE.json",
        "simulate --machine dgx-1v --generate mapa,jobs=5 --save-jobs FILE.csv",
        "pattern from-parallelism tp=4 --output FILE.toml",
    ];
    for (at, words) in commands.iter().enumerate() {
        let (_, kind) = words.rsplit_once('.').unwrap();
        // A mistake would replace the link, not the device.
        let null = folder.at(&format!("links/null-{at}.{kind}"));
        symlink("/dev/null", &null).unwrap();
        let output = folder.run(&words.replace(&format!("FILE.{kind}"), null.to_str().unwrap()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}: {said}");
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink(), "{words}");

        let full = folder.at(&format!("links/full-{at}.{kind}"));
        symlink("/dev/full", &full).unwrap();
        let output = folder.run(&words.replace(&format!("FILE.{kind}"), full.to_str().unwrap()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("No space left"), "{words}: {said}");

        let link = folder.at(&format!("links/link-{at}.{kind}"));
        let target = folder.write(&format!("target-{at}.{kind}"), "old");
        symlink(&target, &link).unwrap();
        let output = folder.run(&words.replace(&format!("FILE.{kind}"), link.to_str().unwrap()));
        assert!(output.status.success(), "{words}");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{words}");
        assert_ne!(fs::read_to_string(&target).unwrap(), "old", "{words}");
    }
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
}

#[test]
fn no_command_waits_for_what_is_no_file_or_reads_it_without_end() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.at("fifo")).status();
    assert!(made.unwrap().success());
    symlink("/dev/zero", folder.at("zero")).unwrap();
    fs::create_dir(folder.at("inner")).unwrap();
    let made = Command::new("mkfifo").arg(folder.at("inner/fifo")).status();
    assert!(made.unwrap().success());
    symlink(".", folder.at("inner/round")).unwrap();
    let mut tried = 0;
    for words in [
        "topo --machine FILE",
        "allocate --machine FILE --gpus 2",
        "allocate --machine dgx-1v --batch FILE",
        "allocate --machine dgx-1v --pattern FILE",
        "score --machine dgx-1v --devices 0,1 --model FILE",
        "match --pattern-file FILE --target-file FILE",
        "defrag --machine dgx-1v --state FILE --want 1",
        "mig --parted FILE",
        "pattern from-source FILE",
        "pattern from-nccl FILE",
        "pattern from-nvlink FILE",
        "pattern show FILE",
        "profile FILE",
        "contention --machine dgx-a100 --jobs FILE",
        "contention --machine dgx-a100 --jobs FILE --profiles FILE",
        "measured add FILE --machine dgx-1v",
        "fit --machine dgx-1v FILE",
        "simulate --machine dgx-1v --jobs FILE",
        "simulate --machine dgx-1v --trace FILE",
        "simulate --machine dgx-a100 --scheduler energy-plan,prices=FILE --generate mapa,jobs=2",
        "simulate --machine dgx-a100 --scheduler learned,weights=FILE --generate mapa,jobs=2",
        "slo replay FILE",
        "sweep FILE --into out",
        "tune --from FILE",
        "reproduce measured --rows FILE",
    ] {
        for file in ["fifo", "zero"] {
            let output = folder.run(&words.replace("FILE", file));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{words} {file}: {said}");
            tried += usize::from(said.contains("expected a regular file"));
        }
    }
    // All but those whose options are others on this build.
    assert!(tried >= 44, "{tried}");
    let output = folder.run("read inner zero");
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && listed.contains("is a FIFO") && listed.contains("is a device"),
        "{listed}"
    );
}
