//! MAPA's released job file: `numGpus,pattern,arrival,duration,bwSensitive,task`, as
//! socal-ucr/jobGenerator writes it and socal-ucr/MAPA (`src/TopoUtils.hh`, `readJobFile`) reads
//! it.
//!
//! Times are whole cycles, which are read as seconds. The released simulator then sets every
//! arrival to 0 (`src/MapaSim.hh`, `populatewaitingJobs`). Here arrivals are kept;
//! [`Workload::all_at_once`] sets them to 0.

use std::time::Duration;

use mapa_core::{Request, Shape};
use mapa_sched::{Job, JobId, Time};

use crate::error::Error;
use crate::workload::file_errors::{bad_line, check_count};
use crate::workload::notes::note_order;
use crate::workload::patterns::{self, Patterns};
use crate::workload::submission::{Submission, Workload};
use crate::workload::{numbers, tasks};

/// The names of the columns, in lower case.
pub(super) const HEADER: [&str; 6] = [
    "numgpus",
    "pattern",
    "arrival",
    "duration",
    "bwsensitive",
    "task",
];

/// Reads the lines of a file. `skipped` lines are above them.
pub(super) fn read(body: &str, skipped: usize, has_header: bool) -> Result<Workload, Error> {
    let mut made = Patterns::default();
    let (mut jobs, mut lines) = (Vec::new(), Vec::new());
    let numbered = body
        .lines()
        .enumerate()
        .map(|(at, line)| (skipped + at + 1, line.trim()));
    for (line, text) in numbered
        .skip(usize::from(has_header))
        .filter(|(_, text)| !text.is_empty())
    {
        let job = job(text, jobs.len() as u64, &mut made).map_err(|what| bad_line(line, what))?;
        jobs.push(job);
        check_count(jobs.len())?;
        lines.push(line);
    }
    let mut workload = Workload::new("a job file of MAPA's released form", jobs);
    workload
        .notes
        .push("times are cycles of the released simulator: read as seconds".to_owned());
    note_order(&mut workload, &lines);
    Ok(workload)
}

fn job(text: &str, id: u64, made: &mut Patterns) -> Result<Submission, String> {
    if text.contains('"') {
        return Err(
            "a quote: expected 6 fields without quotes, as the released simulator reads them"
                .to_owned(),
        );
    }
    // It would be a part of the task's name, and a file with that name would have a line more.
    if text.contains('\r') {
        return Err(
            "a carriage return within the line: expected lines that end in LF or CR LF".to_owned(),
        );
    }
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [devices, pattern, arrival, duration, sensitive, task] = fields[..] else {
        let expected = "expected 6: numGpus,pattern,arrival,duration,bwSensitive,task";
        return Err(format!("{} fields: {expected}", fields.len()));
    };
    let wrong = |name: &'static str| move |what: String| format!("{name} {what}");
    let devices = numbers::devices(devices).map_err(wrong("numGpus"))?;
    let pattern = made.get(shape(pattern).map_err(wrong("pattern"))?, devices)?;
    let arrival = cycles(arrival).map_err(wrong("arrival"))?;
    let duration = cycles(duration).map_err(wrong("duration"))?;
    let sensitive = match sensitive {
        "0" => false,
        "1" => true,
        _ => return Err(format!("bwSensitive `{sensitive}`: expected 0 or 1")),
    };
    let mut job = Job::new(JobId(id), Request::new(pattern).sensitive(sensitive));
    job.arrived = Time(arrival);
    Ok(Submission::new(job, Duration::from_nanos(duration)).task(tasks::published(task)))
}

/// Reads a pattern. The released generator writes `ring`, `all` and `tree`.
fn shape(word: &str) -> Result<Option<Shape>, String> {
    match word {
        "all" => Ok(Some(Shape::AllToAll)),
        _ => patterns::shape(word),
    }
}

/// Reads whole cycles as nanoseconds.
fn cycles(text: &str) -> Result<u64, String> {
    let whole = text
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(text)
        .and_then(|text| text.parse::<u64>().ok());
    whole
        .and_then(|cycles| cycles.checked_mul(1_000_000_000))
        .ok_or_else(|| format!("`{text}`: expected whole cycles from 0 to 18446744073, such as 17"))
}
