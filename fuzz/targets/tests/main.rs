//! Every input that is kept runs through its target: those that reach most of the code (`fuzz/corpus`), and those that a target
//! failed on before (`fuzz/regressions`).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_fuzz_targets::{TARGETS, Target};

/// The workspace of the programs, which has the inputs.
fn fuzz() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().expect("this crate lies in it")
}

/// The files of a folder, by name; none if it is missing.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn inputs((name, _): Target) -> Vec<PathBuf> {
    let kept = ["corpus", "regressions"].map(|of| files(fuzz().join(of).join(name)));
    kept.concat()
}

/// What is wrong with one input, if anything.
fn fault((name, run): Target, path: &Path) -> Option<String> {
    let data = fs::read(path).unwrap();
    let begun = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| run(&data)));
    let taken = begun.elapsed();
    let at = path.display();
    if done.is_err() {
        return Some(format!("{at}: {name} panics"));
    }
    (taken > Duration::from_secs(10)).then(|| format!("{at}: {taken:?}: expected at most 10 s"))
}

#[test]
fn every_input_that_is_kept_passes() {
    let all: Vec<(Target, PathBuf)> = TARGETS
        .iter()
        .flat_map(|target| inputs(*target).into_iter().map(|path| (*target, path)))
        .collect();
    // Two at a time: some targets wait for threads and sockets of their own.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some((target, path)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(fault(*target, path));
        }
        found
    };
    let found = thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(work));
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The names in quotation marks after `key` in the manifest of the programs.
fn programs() -> Vec<String> {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let path = |line: &str| {
        Some(
            line.strip_prefix("path = \"fuzz_targets/")?
                .strip_suffix(".rs\"")?
                .to_owned(),
        )
    };
    let mut names: Vec<_> = manifest.lines().filter_map(path).collect();
    names.sort();
    names
}

#[test]
fn every_target_has_a_program_and_inputs() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        programs(),
        "fuzz/Cargo.toml: expected a [[bin]] for each of TARGETS"
    );
    for target in TARGETS {
        let (name, _) = target;
        let program = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(
            program.contains(&format!("mapa_fuzz_targets::{name}::run(data)")),
            "{name}: {program}"
        );
        let count = inputs(*target).len();
        assert!(
            (1..=100).contains(&count),
            "{name}: {count} inputs: expected 1 to 100"
        );
    }
}

#[test]
fn inputs_are_small() {
    let all = TARGETS.iter().flat_map(|target| inputs(*target));
    let bytes: u64 = all.map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(
        bytes < 3_000_000,
        "{bytes} bytes of inputs: expected less than 3 MB"
    );
}
