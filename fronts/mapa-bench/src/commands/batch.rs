//! `allocate --batch`: a stream of requests, one JSON object a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::time_limit;
use mapa_front::Loaded;
use mapa_front::answer::allocate::{Line, NotDone};
use mapa_front::commands::Batch;

/// Answers every line that is not blank with exactly one line. Malformed lines are answered too,
/// and make the exit status 2.
pub(super) fn batch(source: &str, loaded: Loaded, output: &mut Output) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::at(source, error);
    let input: Box<dyn BufRead> = if source == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(source).map_err(wrong)?))
    };
    let mut batch = Batch::new(&NAMES, &LocalFiles, loaded);
    let mut malformed = 0;
    // Lines are bytes, so that one which is not UTF-8 gets its answer too: it is malformed.
    let mut lines = input.split(b'\n').zip(1..);
    // Each line has the whole time limit. Waiting for it has none.
    while let Some((line, number)) = time_limit::unlimited(|| lines.next()) {
        let line = line.map_err(wrong)?;
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
