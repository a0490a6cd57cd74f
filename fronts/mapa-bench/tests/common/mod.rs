//! Running the program, and folders to run it in.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// `mapa-bench` with these words, without input; its output is captured.
pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-bench"));
    command
        .args(words.split_whitespace())
        // Help is as wide as the terminal.
        .env("COLUMNS", "80")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command with this standard input.
pub(crate) fn feed(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs `mapa-bench` with these words and this standard input.
pub(crate) fn run(words: &str, input: &str) -> Output {
    feed(&mut command(words), input)
}

/// The standard output of a command, which must succeed.
pub(crate) fn stdout(words: &str, output: Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(0),
        "{words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What a command that ends well prints.
pub(crate) fn text(words: &str, input: &str) -> String {
    stdout(words, run(words, input))
}

/// The object of a command that ends well.
pub(crate) fn answer(words: &str) -> Value {
    serde_json::from_str(&text(&format!("{words} --json"), "")).unwrap()
}

/// The objects that a command prints, one a line.
pub(crate) fn objects(output: &Output) -> Vec<Value> {
    let stdout = str::from_utf8(&output.stdout).unwrap();
    let objects = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    objects.collect()
}

/// The object and exit status of a command that does not end well. A refusal is text that has the
/// reason, or with `--json` an object.
pub(crate) fn no(words: &str) -> (Value, i32) {
    let output = run(words, "");
    let read = |output: Output| {
        let stdout = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str::<Value>(&stdout).unwrap_or(Value::Null)
    };
    let code = output.status.code().unwrap();
    if code != 3 {
        return (read(output), code);
    }
    let plain = words.replace(" --json", "");
    let object = read(run(&format!("{plain} --json"), ""));
    let text = String::from_utf8(run(&plain, "").stdout).unwrap();
    let reason = object["reason"].as_str().unwrap();
    assert!(
        text.contains(reason) && !text.contains('{'),
        "{words}: {text}"
    );
    (object, code)
}

/// The message of a command whose request is malformed.
pub(crate) fn stderr(words: &str, output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
    shown(&stderr)
}

/// The message of a malformed request.
pub(crate) fn error(words: &str) -> String {
    stderr(words, run(words, ""))
}

/// A message in the form that snapshots keep: without the usage and the hint on machines behind it. All folders of tests have one
/// name, and a list that grows with the catalogue or the systems has three names.
pub(crate) fn shown(text: &str) -> String {
    let usage = [
        "\n\nUsage: ",
        "\n\nFor more information",
        "\n\n  tip: name a machine",
    ];
    let ends = usage.iter().filter_map(|start| text.find(start));
    let mut shown = text[..ends.min().unwrap_or(text.len())]
        .trim_end()
        .to_owned();
    let folders = [env!("CARGO_TARGET_TMPDIR").into(), std::env::temp_dir()];
    for folder in folders.map(|folder: PathBuf| folder.join(".tmp")) {
        let mut pieces = shown.split(folder.to_str().unwrap());
        let first = pieces.next().unwrap().to_owned();
        // Six random letters follow.
        shown = pieces.fold(first, |shown, piece| shown + "FOLDER" + &piece[6..]);
    }
    let lines = shown.lines().map(|line| {
        // Execution models and generators: few, and systems add theirs.
        let lists = [": expected fixed, ", ": expected mapa, "];
        let line = lists
            .iter()
            .fold(line, |line, list| line.split(list).next().unwrap());
        let names: Vec<&str> = line.split(", ").collect();
        let lists = names.chunk_by(|_, next| !next.contains(' '));
        let lists = lists.map(|list| match list {
            [one, two, three, _, _, _, _, _, ..] => format!("{one}, {two}, {three}, .."),
            _ => list.join(", "),
        });
        lists.collect::<Vec<_>>().join(", ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A folder of one test, which is deleted when it is dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder beside the build, from which programs can be started wherever tests can.
    pub(crate) fn of_programs() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    /// Writes a file; returns its path.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        fs::write(self.at(name), contents).unwrap();
        self.path(name)
    }

    /// `mapa-bench` with these words, run in this folder.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = command(words);
        command.current_dir(self.root());
        command
    }

    /// Runs `mapa-bench` in this folder.
    pub(crate) fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command that ends well prints, run in this folder.
    pub(crate) fn text(&self, words: &str) -> String {
        stdout(words, self.run(words))
    }

    /// The object of a command that ends well, run in this folder.
    pub(crate) fn answer(&self, words: &str) -> Value {
        serde_json::from_str(&self.text(&format!("{words} --json"))).unwrap()
    }
}
