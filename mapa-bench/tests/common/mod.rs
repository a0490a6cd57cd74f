//! Running the program.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs `mapa-bench` with these words and this standard input.
pub(crate) fn run(words: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mapa-bench"))
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What a command that ends well prints.
pub(crate) fn text(words: &str, input: &str) -> String {
    let output = run(words, input);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The object of a command that ends well.
pub(crate) fn answer(words: &str) -> Value {
    serde_json::from_str(&text(&format!("{words} --json"), "")).unwrap()
}

/// The object and exit status of a command that does not end well.
pub(crate) fn no(words: &str) -> (Value, i32) {
    let output = run(words, "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    (serde_json::from_str(&stdout).unwrap_or(Value::Null), output.status.code().unwrap())
}

/// A malformed request, and what its message must contain.
pub(crate) fn error(words: &str, message: &str) {
    let output = run(words, "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
    assert!(stderr.contains(message), "{words}: {stderr}");
}
