//! Our own job file: comma-separated values with a header, units in the names of columns, exact to the nanosecond.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Request, Want};
use mapa_sched::{Job, JobId, RunTime, Time};

use crate::error::{Error, ErrorKind};
use crate::workload::patterns::{self, Patterns};
use crate::workload::sheet::{Row, Sheet};
use crate::workload::{Submission, Workload, bad_line, bad_workload, names_lines, note_deadlines, note_order, numbers};

const NEEDED: [&str; 2] = ["gpus", "duration_s"];

/// Every column, in the order in which they are written.
const COLUMNS: [&str; 16] = [
    "id",
    "arrival_s",
    "gpus",
    "duration_s",
    "pattern",
    "sensitive",
    "task",
    "estimate_s",
    "priority",
    "deadline_s",
    "same_numa",
    "isolated",
    "slo_s",
    "slice",
    "pcie_gbps",
    "pcie_alpha",
];

const SOURCE: &str = "source:";
const NOTE: &str = "note:";

pub(super) fn read(text: &str) -> Result<Workload, Error> {
    let sheet = Sheet::read(text, "a header and jobs")?;
    sheet.header().check(&NEEDED, &COLUMNS)?;
    let mut made = Patterns::default();
    let (mut jobs, mut lines, mut seen) = (Vec::new(), Vec::new(), BTreeMap::new());
    for row in sheet.rows() {
        let own = submission(&row, jobs.len() as u64, &mut made)?;
        if let Some(first) = seen.insert(own.job.id, row.line) {
            let what = format_args!("id {} again, as on line {first}: expected numbers that differ", own.job.id);
            return Err(bad_line(row.line, what));
        }
        jobs.push(own);
        lines.push(row.line);
    }
    let tell = |key: &'static str| sheet.comments.iter().filter_map(move |own| own.strip_prefix(key)).map(str::trim);
    let mut workload = Workload::new(tell(SOURCE).next().unwrap_or("a job file"), jobs);
    workload.notes = tell(NOTE).filter(|note| !names_lines(note)).map(str::to_owned).collect();
    note_order(&mut workload, &lines);
    note_deadlines(&mut workload, &lines);
    Ok(workload)
}

fn submission(row: &Row<'_>, number: u64, made: &mut Patterns) -> Result<Submission, Error> {
    let devices = row.need("gpus", numbers::devices)?;
    let shape = row.read("pattern", patterns::shape)?.unwrap_or(Some(mapa_core::Shape::Ring));
    let slice = row.read("slice", |text| text.parse::<Size>().map_err(|error| error.to_string()))?;
    let demand = slice.map_or(Demand::whole(), Demand::slice);
    let demand = Demand { pcie_mb_s: row.read("pcie_gbps", numbers::pcie_mb_s)?.unwrap_or(0), ..demand };
    let mut request = Request::new(made.with(shape, devices, demand));
    request.bandwidth_sensitive = row.read("sensitive", numbers::flag)?.unwrap_or(false);
    request.same_numa = row.read("same_numa", numbers::flag)?.unwrap_or(false);
    let work = Duration::from_nanos(row.need("duration_s", numbers::nanoseconds)?);
    let mut job = Job::new(JobId(row.read("id", whole)?.unwrap_or(number)), request);
    job.arrived = Time(row.read("arrival_s", numbers::nanoseconds)?.unwrap_or(0));
    job.deadline = row.read("deadline_s", numbers::nanoseconds)?.map(Time);
    job.priority = row.read("priority", integer)?.unwrap_or(0);
    job.isolated = row.read("isolated", numbers::flag)?.unwrap_or(false);
    job.slo = row.read("slo_s", numbers::nanoseconds)?.map(Duration::from_nanos);
    job.pcie_alpha = row.read("pcie_alpha", slope)?.unwrap_or(1.0);
    let estimate = row.read("estimate_s", estimate)?;
    let mut own = Submission::new(job, work).task(row.get("task").unwrap_or_default());
    own.job.run_time = estimate.unwrap_or(RunTime::Fixed(work));
    Ok(own)
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}`: expected a whole number from 0 to {}", u64::MAX))
}

fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("`{text}`: expected an integer, such as -1 or 10"))
}

fn slope(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| numbers::is_slope(*number));
    number.ok_or_else(|| format!("`{text}`: expected a number such as 0.5, finite and not below 0"))
}

fn estimate(text: &str) -> Result<RunTime, String> {
    if text.eq_ignore_ascii_case("unknown") {
        return Ok(RunTime::Unknown);
    }
    if text.contains('=') {
        return text.split_whitespace().map(on_slice).collect::<Result<_, _>>().map(RunTime::BySize);
    }
    let known = |what| format!("{what}, or 1g.1m=50 2g.2m=25 and so on by size of slice, or unknown");
    numbers::nanoseconds(text).map(|length| RunTime::Fixed(Duration::from_nanos(length))).map_err(known)
}

fn on_slice(text: &str) -> Result<(Size, Duration), String> {
    let (size, length) = text.split_once('=').ok_or_else(|| format!("`{text}`: expected such as 1g.1m=50"))?;
    let size = size.parse().map_err(|error: mapa_core::Error| error.to_string())?;
    Ok((size, Duration::from_nanos(numbers::nanoseconds(length)?)))
}

/// Writes a workload as a job file that [`read_jobs`](super::read_jobs) reads back: the jobs equal to the last nanosecond and
/// bit, in their order, and the source. Notes are kept but for those that name lines of the file that was read; reading adds
/// such where arrivals are not in order, and deadlines before them. Columns in which all jobs have the default are left out. O(n).
///
/// # Errors
/// The first job that has what the format cannot hold: a pattern that is no [`Shape`](mapa_core::Shape) and not independent, or
/// without ranks; demands that differ between ranks, or are for other than whole devices or slices of a size with some PCIe traffic;
/// constraints besides `same_numa`; limits of its own; run times by size for no size; times beyond 584 years; a `pcie_alpha` that is not finite or below 0; a task's name with blanks at its ends or of
/// several lines. Sources and notes of several lines.
pub fn write_jobs(workload: &Workload) -> Result<String, Error> {
    let rows = workload.jobs.iter().map(cells).collect::<Result<Vec<_>, _>>()?;
    let plain = |at: usize| match COLUMNS[at] {
        "id" => rows.iter().enumerate().all(|(number, row)| row[at] == number.to_string()),
        name => default_of(name).is_some_and(|plain| rows.iter().all(|row| row[at] == plain)),
    };
    let kept: Vec<usize> = (0..COLUMNS.len()).filter(|&at| !plain(at)).collect();
    let mut text = comments(workload)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |cells: Vec<&str>| writer.write_record(cells).map_err(bad_workload);
    write(kept.iter().map(|&at| COLUMNS[at]).collect())?;
    rows.iter().try_for_each(|row| write(kept.iter().map(|&at| row[at].as_str()).collect()))?;
    let bytes = writer.into_inner().map_err(bad_workload)?;
    text.push_str(&String::from_utf8(bytes).map_err(bad_workload)?);
    Ok(text)
}

fn comments(workload: &Workload) -> Result<String, Error> {
    let mut text = String::new();
    let notes = workload.notes.iter().filter(|note| !names_lines(note)).map(|note| (NOTE, note));
    for (key, said) in [(SOURCE, &workload.source)].into_iter().chain(notes) {
        if said.contains('\n') || said.trim() != said {
            return Err(bad_workload(format_args!("{key} `{said}`: expected one line without blanks at its ends")));
        }
        text.push_str(&format!("# {key} {said}\n"));
    }
    Ok(text)
}

/// What a column holds where a job has nothing to say; none if it is always written.
fn default_of(column: &str) -> Option<&'static str> {
    match column {
        "arrival_s" | "priority" => Some("0"),
        "pattern" => Some("ring"),
        "sensitive" | "same_numa" | "isolated" => Some("false"),
        "task" | "estimate_s" | "deadline_s" | "slo_s" | "slice" => Some(""),
        "pcie_gbps" => Some("0"),
        "pcie_alpha" => Some("1"),
        _ => None,
    }
}

fn cells(own: &Submission) -> Result<[String; COLUMNS.len()], Error> {
    let job = &own.job;
    let cannot = |what: &str| -> Error {
        let what = format!("a job file cannot hold {what}");
        ErrorKind::BadJob { job: job.id.0, what }.into()
    };
    let time = |length: Duration| {
        let nanoseconds = u64::try_from(length.as_nanos()).map_err(|_| cannot("times beyond 584 years"))?;
        Ok::<_, Error>(numbers::seconds(nanoseconds))
    };
    let request = &job.request;
    let pattern = patterns::word_of(&request.pattern).filter(|_| own.devices() > 0);
    let (pattern, demand) =
        pattern.ok_or_else(|| cannot("its pattern: expected a shape, or independent, of equal ranks"))?;
    let slice = match demand.want {
        Want::Slice(size) if numbers::is_size(size) => size.to_string(),
        _ => String::new(),
    };
    let plain = slice.parse().map_or(Demand::whole(), Demand::slice);
    if demand != (Demand { pcie_mb_s: demand.pcie_mb_s, ..plain }) {
        return Err(cannot("its demand: expected whole devices or slices of a size, and PCIe traffic"));
    }
    let plain = Request::new(request.pattern.clone()).sensitive(request.bandwidth_sensitive);
    if *request != plain.same_numa(request.same_numa) {
        return Err(cannot("its constraints: expected none but same_numa"));
    }
    if own.task.trim() != &*own.task {
        return Err(cannot("a task's name with blanks at its ends"));
    }
    if own.task.contains(['\n', '\r']) {
        return Err(cannot("a task's name of several lines"));
    }
    if !numbers::is_slope(job.pcie_alpha) {
        return Err(cannot("a pcie_alpha that is not finite or below 0"));
    }
    let estimate = match &job.run_time {
        RunTime::Fixed(length) if *length == own.work => String::new(),
        RunTime::Fixed(length) => time(*length)?,
        RunTime::Unknown => "unknown".to_owned(),
        RunTime::BySize(times) if times.is_empty() || !times.keys().all(|&size| numbers::is_size(size)) => {
            return Err(cannot("run times by size for no size"));
        }
        RunTime::BySize(times) => {
            let each = times.iter().map(|(size, length)| Ok(format!("{size}={}", time(*length)?)));
            each.collect::<Result<Vec<_>, Error>>()?.join(" ")
        }
    };
    Ok([
        job.id.to_string(),
        numbers::seconds(job.arrived.0),
        own.devices().to_string(),
        time(own.work)?,
        pattern,
        request.bandwidth_sensitive.to_string(),
        own.task.to_string(),
        estimate,
        job.priority.to_string(),
        job.deadline.map(|at| numbers::seconds(at.0)).unwrap_or_default(),
        request.same_numa.to_string(),
        job.isolated.to_string(),
        job.slo.map(time).transpose()?.unwrap_or_default(),
        slice,
        numbers::seconds(u64::from(demand.pcie_mb_s) * 1_000_000),
        job.pcie_alpha.to_string(),
    ])
}
