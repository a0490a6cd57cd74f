//! Files of lines that several runs of a program write one after the other.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Opens a file of lines to add to it, and makes it if there is none. Part of a last line is cut off: a
/// program that was killed has left it, and the next line would join it.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).read(true).append(true).open(path)?;
    // A special file, such as a pipe, has the length 0.
    let length = file.metadata()?.len();
    let mut end = length;
    let mut buffer = [0; 4096];
    // Backwards in blocks, because the last line may be longer than one block and the file much longer.
    while end > 0 {
        let begin = end.saturating_sub(buffer.len() as u64);
        let part = &mut buffer[..(end - begin) as usize];
        file.read_exact_at(part, begin)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            end = begin + at as u64 + 1;
            break;
        }
        end = begin;
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn part_of_a_last_line_is_cut_off_and_whole_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let long = "x".repeat(10_000);
        for (before, after) in [
            (String::new(), "new\n".to_owned()),
            ("one\n".to_owned(), "one\nnew\n".to_owned()),
            ("one\n{\"tw".to_owned(), "one\nnew\n".to_owned()),
            ("par".to_owned(), "new\n".to_owned()),
            (format!("one\n{long}"), "one\nnew\n".to_owned()),
            (format!("{long}\n"), format!("{long}\nnew\n")),
        ] {
            std::fs::write(&path, &before).unwrap();
            append(&path).unwrap().write_all(b"new\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(append(&path).unwrap().metadata().unwrap().len(), 0);
    }
}
