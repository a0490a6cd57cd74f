//! `allocate --batch`: a stream of requests, one JSON object a line.

use std::io::{self, BufRead, BufReader, Read};

use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::time_limit;
use mapa_front::answer::allocate::{Line, NotDone};
use mapa_front::commands::Batch;
use mapa_front::{FileKind, Loaded};

/// Answers every line that is not blank with exactly one line. Malformed lines are answered too,
/// and make the exit status 2.
pub(super) fn batch(source: &str, loaded: Loaded, output: &mut Output) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::at(source, error);
    let mut input = BufReader::new(mapa_io::open(source).map_err(wrong)?);
    let mut batch = Batch::new(&NAMES, &LocalFiles, loaded);
    let (mut number, mut malformed) = (0, 0);
    // Lines are bytes, so that one which is not UTF-8 gets its answer too: it is malformed.
    // Each line has the whole time limit. Waiting for it has none.
    while let Some(line) = time_limit::unlimited(|| next(&mut input)) {
        let line = line.map_err(wrong)?;
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = time_limit::anew(|| batch.answer(number, &line));
        malformed += usize::from(matches!(answer, Line::NotDone(NotDone::Malformed { .. })));
        output.object(&answer)?;
        // The program at the other end may wait for this answer before it sends its next request.
        output.finish()?;
    }
    match malformed {
        0 => Ok(()),
        // The answers are printed already, so no object of an error may follow them.
        n => Err(Failure::Answered(format!(
            "{source}: {n} of the requests were malformed"
        ))),
    }
}

/// The next line; `None` behind the last.
fn next(input: &mut impl BufRead) -> Option<io::Result<Vec<u8>>> {
    let most = FileKind::Settings.most_bytes();
    let mut line = Vec::new();
    match input.take(most + 1).read_until(b'\n', &mut line) {
        Ok(0) => None,
        // A line without an end could be all of the memory.
        Ok(_) if line.len() as u64 > most => Some(Err(io::Error::other(format!(
            "a line of more than {} MiB, expected one request",
            most >> 20
        )))),
        Ok(_) => {
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            Some(Ok(line))
        }
        Err(error) => Some(Err(error)),
    }
}
