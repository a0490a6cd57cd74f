//! Where files come from.

use std::fs;
use std::io::{self, Read};

use crate::failure::Failure;

/// What is in a file, or `-` for standard input: it is text.
pub(crate) fn text(file: &str) -> Result<String, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{file}: {error}"));
    let mut bytes = Vec::new();
    let read = match file {
        "-" => io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        _ => fs::read(file),
    };
    let bytes = read.map_err(|error| wrong(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        wrong(&format_args!("line {line}: expected text in UTF-8"))
    })
}
