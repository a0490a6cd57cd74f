//! Compiles and runs programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Levels of optimisation at which placements are the same.
pub(crate) const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

/// The folder of this workspace.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `mapa-case`, built once.
pub(crate) fn mapa_case() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = folder().join("../../..");
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "-p",
                "mapa-system-case-manager",
                "-p",
                "mapa-system-case-fake-cudart",
            ])
            .current_dir(&root)
            .status()
            .unwrap();
        assert!(built.success(), "cargo build -p mapa-system-case-manager");
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        target.join("debug/mapa-case").canonicalize().unwrap()
    })
}

/// A program that was compiled.
pub(crate) struct Program {
    path: PathBuf,
    /// What the pass decided.
    pub(crate) remarks: Vec<String>,
    _folder: tempfile::TempDir,
}

/// `mapa-case cc` with these arguments.
pub(crate) fn cc(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(mapa_case())
        .arg("cc")
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Compiles sources.
pub(crate) fn compile(sources: &[PathBuf], options: &[&str]) -> Program {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let mut arguments = vec!["--explain"];
    arguments.extend(options);
    arguments.extend(sources.iter().map(|s| s.to_str().unwrap()));
    arguments.extend(["-o", path.to_str().unwrap()]);
    let (done, errors) = cc(&arguments);
    assert!(done, "{sources:?} {options:?}: {errors}");
    let remarks = errors
        .lines()
        .filter(|l| l.starts_with("mapa-case: "))
        .map(str::to_owned)
        .collect();
    Program {
        path,
        remarks,
        _folder: folder,
    }
}

impl Program {
    /// Runs the program, and writes what happened as the programs' comments do: `exit 1, begin 8 1, end`.
    pub(crate) fn trace(&self, arguments: &[&str], failing: &str) -> String {
        let output = Command::new(mapa_case())
            .arg("trace")
            .arg(&self.path)
            .args(arguments)
            .env("FAKE_CUDART_FAIL", failing)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut words = Vec::new();
        match output.status.code() {
            Some(0) => {}
            Some(70) => {
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                words.extend(
                    errors
                        .lines()
                        .filter(|l| l.starts_with("mapa-case: "))
                        .map(str::to_owned),
                );
            }
            Some(code) => words.push(format!("exit {code}")),
            None => words.push("killed".to_owned()),
        }
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let name = event["event"].as_str().unwrap();
            words.push(match name {
                "end" => name.to_owned(),
                _ => format!("{name} {} {}", event["bytes"], event["warps"]),
            });
        }
        words.join(", ")
    }
}

/// What was decided, without the number of ends: with optimisation, the headers of the C++ library have
/// other paths for exceptions.
pub(crate) fn decisions(program: &Program) -> Vec<String> {
    let cut = |r: &String| {
        r.split(" allocations,")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    program.remarks.iter().map(cut).collect()
}

/// A run that a program's comments describe: `// trace ARGUMENTS [fail=N] -> EVENTS`.
pub(crate) struct Run {
    pub(crate) arguments: Vec<String>,
    pub(crate) failing: String,
    pub(crate) expected: String,
}

/// The runs in a source's comments.
pub(crate) fn runs(source: &str) -> Vec<Run> {
    let lines = source
        .lines()
        .filter_map(|l| l.strip_prefix("// trace")?.split_once("->"));
    lines
        .map(|(told, expected)| {
            let (failing, arguments): (Vec<&str>, Vec<&str>) = told
                .split_whitespace()
                .partition(|w| w.starts_with("fail="));
            Run {
                arguments: arguments.into_iter().map(str::to_owned).collect(),
                failing: failing
                    .first()
                    .map_or(String::new(), |f| f["fail=".len()..].to_owned()),
                expected: expected.trim().to_owned(),
            }
        })
        .collect()
}
