//! Files of the kernel: short, and written in one call.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// The most that is read of one file. `/proc/interrupts` of 512 CPUs and 1,000 interrupts has 6 MB.
const MOST_BYTES: u64 = 16 << 20;

/// The text of a file; what is not UTF-8 is replaced.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// Writes a text to a file that exists, in one call: the kernel takes each call as one command. A file
/// that does not exist is an error, because the kernel's files cannot be made.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    let written = file.write(text.as_bytes())?;
    if written == text.len() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "{written} of {} bytes were taken",
            text.len()
        )))
    }
}
