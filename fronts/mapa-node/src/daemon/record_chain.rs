//! The chain of hashes over a record: a line that was changed, or removed from among the others, does not go unseen.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;

use mapa_front::drive_log::RecordLine;
use sha2::{Digest, Sha256};

/// How a line begins that is a seal.
const SEAL: &[u8] = b"{\"line\":\"seal\"";

/// How much of the end of a file is read to find its last seal.
const END: u64 = 1 << 20;

/// The last seal, and the lines since.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    since: Sha256,
}

impl Chain {
    /// The chain of a file, at its end. Its last line is whole.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn of_end(file: &File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        // A file without a seal there is of an earlier release, and is read from its beginning.
        let mut begin = length.saturating_sub(END);
        loop {
            let mut end = vec![0; usize::try_from(length - begin).unwrap_or_default()];
            file.read_exact_at(&mut end, begin)?;
            let mut chain = Self::default();
            let mut is_found = begin == 0;
            // The first line of a part may be a part of a line.
            let lines = end.split_inclusive(|byte| *byte == b'\n');
            for line in lines.skip(usize::from(begin > 0)) {
                if let Some(hash) = seal_of(line) {
                    chain = Self::behind(&hash);
                    is_found = true;
                } else {
                    chain.since.update(line);
                }
            }
            if is_found {
                return Ok(chain);
            }
            begin = 0;
        }
    }

    /// Adds lines, and returns the seal behind them.
    pub(super) fn seal(&mut self, lines: &[u8]) -> String {
        self.since.update(lines);
        let digest = std::mem::take(&mut self.since).finalize();
        let hash = digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        *self = Self::behind(&hash);
        hash
    }

    fn behind(hash: &str) -> Self {
        Self {
            since: Sha256::new_with_prefix(hash),
        }
    }
}

/// The hash of a line that is a seal.
fn seal_of(line: &[u8]) -> Option<String> {
    if !line.starts_with(SEAL) {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(RecordLine::Seal(hash)) => Some(hash),
        _ => None,
    }
}

/// Reads a record, and checks its seals on the way.
#[derive(Debug)]
pub(super) struct CheckedRecord<R> {
    from: R,
    chain: Chain,
    /// The line that was read last.
    line: Vec<u8>,
    /// How much of it was taken.
    taken: usize,
    /// The last seal.
    pub seal: Option<String>,
}

impl<R: BufRead> CheckedRecord<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            chain: Chain::default(),
            line: Vec::new(),
            taken: 0,
            seal: None,
        }
    }

    /// Reads the next line.
    fn next(&mut self) -> io::Result<()> {
        self.line.clear();
        self.taken = 0;
        self.from.read_until(b'\n', &mut self.line)?;
        let Some(found) = seal_of(&self.line) else {
            self.chain.since.update(&self.line);
            return Ok(());
        };
        let expected = self.chain.seal(&[]);
        if found != expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "a seal that does not follow from the lines before: expected {expected}. One of them was changed, or is missing"
                ),
            ));
        }
        self.seal = Some(found);
        Ok(())
    }
}

impl<R: BufRead> BufRead for CheckedRecord<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.line.len() {
            self.next()?;
        }
        Ok(&self.line[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
    }
}

impl<R: BufRead> Read for CheckedRecord<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of these lines, each with its seal.
    fn record(lines: &[&str]) -> Vec<u8> {
        let mut chain = Chain::default();
        let mut text = Vec::new();
        for line in lines {
            text.extend(line.as_bytes());
            let seal = RecordLine::Seal(chain.seal(line.as_bytes()));
            text.extend(serde_json::to_vec(&seal).unwrap());
            text.push(b'\n');
        }
        text
    }

    fn check(text: &[u8]) -> io::Result<Option<String>> {
        let mut record = CheckedRecord::new(text);
        io::copy(&mut record, &mut io::sink())?;
        Ok(record.seal)
    }

    #[test]
    fn a_line_that_was_changed_or_removed_is_found() {
        let whole = record(&["one\n", "two\n", "three\n"]);
        let last = check(&whole).unwrap().unwrap();
        assert_eq!(last.len(), 64);
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        // Each line alone, a line with its seal, and two lines exchanged.
        for at in 0..5 {
            let mut less = lines.clone();
            less.remove(at);
            assert!(check(&less.concat()).is_err(), "{at}");
            less = lines.clone();
            less.swap(at, (at + 2) % 6);
            assert!(check(&less.concat()).is_err(), "{at}");
        }
        let pair = [&lines[..2], &lines[4..]].concat();
        assert!(check(&pair.concat()).is_err());
        let changed = String::from_utf8(whole.clone())
            .unwrap()
            .replace("two", "twO");
        assert!(check(changed.as_bytes()).is_err());
        // What was removed at the end shows in the last seal alone.
        let less = check(&lines[..4].concat()).unwrap();
        assert_ne!(less.unwrap(), last);
        // A record of an earlier release has none.
        assert_eq!(check(b"one\ntwo\n").unwrap(), None);
    }

    #[test]
    fn a_record_that_is_continued_keeps_its_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let long = format!("{}\n", "x".repeat(3 << 20));
        for before in [
            Vec::new(),
            b"of an earlier release\n".to_vec(),
            long.clone().into_bytes(),
            record(&["one\n", "two\n"]),
            record(&["one\n", &long]),
            [record(&["one\n"]), b"without its seal\n".to_vec()].concat(),
            [record(&["one\n"]), long.into_bytes()].concat(),
        ] {
            std::fs::write(&path, &before).unwrap();
            let mut chain = Chain::of_end(&File::open(&path).unwrap()).unwrap();
            let seal = RecordLine::Seal(chain.seal(b"more\n"));
            let seal = serde_json::to_vec(&seal).unwrap();
            let text = [before, b"more\n".to_vec(), seal, b"\n".to_vec()].concat();
            assert!(check(&text).unwrap().is_some());
        }
    }
}
