//! The programs of this folder do at every level what their comments say.

use crate::program::{LEVELS, compile, decisions, folder, runs};
use std::fs;
use std::path::{Path, PathBuf};

/// Compiles at every level; all levels must decide the same, and every run must go as told.
fn check(sources: &[PathBuf], told_in: &Path, options: &[&str]) {
    let text = fs::read_to_string(told_in).unwrap();
    let runs = runs(&text);
    assert!(
        !runs.is_empty(),
        "{}: expected comments `// trace ... -> ...`",
        told_in.display()
    );
    let mut first: Option<Vec<String>> = None;
    for level in LEVELS {
        let program = compile(sources, &[&[level][..], options].concat());
        let decided = decisions(&program);
        assert_eq!(
            first.get_or_insert_with(|| decided.clone()),
            &decided,
            "{} at {level}",
            told_in.display()
        );
        for run in &runs {
            let arguments: Vec<&str> = run.arguments.iter().map(String::as_str).collect();
            let got = program.trace(&arguments, &run.failing);
            assert_eq!(
                got,
                run.expected,
                "{} {level} {arguments:?} fail={}",
                told_in.display(),
                run.failing
            );
        }
    }
}

#[test]
fn small_programs_are_placed_as_they_say() {
    let mut programs: Vec<PathBuf> = fs::read_dir(folder().join("programs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    programs.sort();
    assert!(programs.len() >= 25, "{programs:?}");
    for program in programs {
        check(std::slice::from_ref(&program), &program, &[]);
    }
}

#[test]
fn programs_of_several_files_are_placed_as_they_say() {
    for (name, lto) in [
        ("backprop", false),
        ("bfs", false),
        ("dwt2d", false),
        ("dwt2d", true),
        ("lavamd", false),
        ("needle", false),
        ("srad_v1", false),
        ("srad_v2", false),
    ] {
        let (sources, told_in) = project(name);
        if lto {
            // One file sees the whole: the task is static, and known from the start.
            for level in LEVELS {
                let program = compile(&sources, &["--lto", level]);
                assert!(
                    program.remarks[0].contains("main: static: 5 allocations"),
                    "{:?}",
                    program.remarks
                );
                assert_eq!(
                    program.trace(&[], ""),
                    "begin 38912 64, end",
                    "{name} {level}"
                );
            }
        } else {
            check(&sources, &told_in, &[]);
        }
    }
}

/// The files of a program, as the comment `// files` in one of them lists them.
fn project(name: &str) -> (Vec<PathBuf>, PathBuf) {
    let folder = folder().join("programs/rodinia").join(name);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        if let Some(files) = text.lines().find_map(|l| l.strip_prefix("// files ")) {
            return (
                files.split_whitespace().map(|f| folder.join(f)).collect(),
                path,
            );
        }
    }
    panic!("{}: expected a comment `// files`", folder.display());
}
