//! The record of what a scheduler was told and ordered, in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use mapa_front::drive_log::{Fact, Instant, Order, RecordHead, RecordLine};
use mapa_sched::{Action, Event, Time};

use crate::error::Error;

/// Writes instants as lines. What is written is in the kernel's hands after each instant.
#[derive(Debug)]
pub(crate) struct Recorder {
    to: BufWriter<File>,
    name: String,
    now: Instant,
}

impl Recorder {
    /// Begins a record at the end of a file. A line that a crash has cut off is taken out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(path: &Path, head: RecordHead) -> Result<Self, Error> {
        let name = path.display().to_string();
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(path);
        let file = file.and_then(|mut file| cut(&mut file).map(|()| file));
        let file = file.map_err(|error| Error::at(&name, error))?;
        let mut own = Self {
            to: BufWriter::new(file),
            name,
            now: empty(),
        };
        own.line(&RecordLine::Head(Box::new(head)))?;
        Ok(own)
    }

    /// Notes a fact of this instant.
    pub(crate) fn told(&mut self, event: &Event) -> Result<(), Error> {
        self.now.facts.push(Fact::of(event)?);
        Ok(())
    }

    /// Notes an order of this instant.
    pub(crate) fn ordered(&mut self, action: &Action) -> Result<(), Error> {
        self.now.orders.push(Order::of(action)?);
        Ok(())
    }

    /// Writes the instant.
    pub(crate) fn settle(&mut self, now: Time) -> Result<(), Error> {
        let mut instant = std::mem::replace(&mut self.now, empty());
        instant.now = now.0;
        self.line(&RecordLine::Instant(instant))
    }

    fn line(&mut self, line: &RecordLine) -> Result<(), Error> {
        let text = serde_json::to_string(line).map_err(|error| Error::at(&self.name, error))?;
        let written = writeln!(self.to, "{text}").and_then(|()| self.to.flush());
        written.map_err(|error| Error::at(&self.name, error))
    }
}

/// Cuts a file back to the end of its last whole line.
fn cut(file: &mut File) -> io::Result<()> {
    // A special file, such as a pipe, has no end to be cut off.
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let mut end = file.metadata()?.len();
    let mut room = [0; 4096];
    while end > 0 {
        let begin = end.saturating_sub(room.len() as u64);
        let part = &mut room[..(end - begin) as usize];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(begin + at as u64 + 1);
        }
        end = begin;
    }
    file.set_len(0)
}

fn empty() -> Instant {
    Instant {
        now: 0,
        facts: Vec::new(),
        orders: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_taken_out() {
        let long = "x".repeat(9000);
        for (text, expected) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("a\n{\"v", "a\n"),
            (&format!("a\n{long}"), "a\n"),
            (&long, ""),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("record");
            std::fs::write(&path, text).unwrap();
            let mut options = OpenOptions::new();
            let mut file = options.read(true).append(true).open(&path).unwrap();
            cut(&mut file).unwrap();
            writeln!(file, "next").unwrap();
            let found = std::fs::read_to_string(&path).unwrap();
            assert_eq!(found, format!("{expected}next\n"));
        }
    }
}
