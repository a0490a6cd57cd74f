//! What Slurm's `sacct --parsable2` prints: jobs of a cluster that Slurm ran.
//!
//! Columns are known by name (`man sacct`). Steps of jobs are not jobs. A job that the log does not
//! show from its submission to its end on whole devices is left out, and counted.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use mapa_core::MAX_DEVICES;
use mapa_sched::Time;
use mapa_table::{Row, Sheet, below_comments};

use super::logged::{LoggedEnd, LoggedJob, TraceLog};
use super::select::jobs;
use crate::error::Error;
use crate::workload::file_errors::bad_line;

/// The columns to ask for.
pub(super) const COLUMNS: [&str; 9] = [
    "jobid",
    "submit",
    "start",
    "end",
    "elapsed",
    "alloctres",
    "state",
    "timelimit",
    NAME,
];

/// The column of a job's name.
pub(super) const NAME: &str = "jobname";

/// How Slurm writes a moment, unless `SLURM_TIME_FORMAT` says otherwise.
const MOMENT: &str = "%Y-%m-%dT%H:%M:%S";

/// Why a row is left out.
#[derive(Clone, Copy)]
enum SkippedRow {
    Step,
    NotStarted,
    NotEnded,
    Shares,
    NoDevice,
    TooLarge,
}

impl SkippedRow {
    const ALL: [Self; 6] = [
        Self::Step,
        Self::NotStarted,
        Self::NotEnded,
        Self::Shares,
        Self::NoDevice,
        Self::TooLarge,
    ];

    /// The note on this many rows.
    fn note(self, rows: usize) -> String {
        let what = match self {
            Self::Step if rows == 1 => return "left out: 1 step of a job".to_owned(),
            Self::Step => return format!("left out: {rows} steps of jobs"),
            Self::NotStarted => "that never started".to_owned(),
            Self::NotEnded => "that had not ended".to_owned(),
            Self::Shares => "of shares of a GPU (gres/shard, gres/mps)".to_owned(),
            Self::NoDevice => "without GPUs".to_owned(),
            Self::TooLarge => format!("of more than {MAX_DEVICES} GPUs"),
        };
        format!("left out: {} {what}", jobs(rows))
    }
}

/// Whether the header is that of `sacct --parsable2`, or of `--parsable`.
pub(super) fn is(text: &str) -> bool {
    let header = below_comments(text).0.lines().next().unwrap_or_default();
    let mut names = header.split('|').map(str::trim);
    header.contains('|') && names.any(|name| name.eq_ignore_ascii_case("jobid"))
}

/// The text as cells, with the columns that every job needs.
pub(super) fn sheet<'t>(text: &'t str, expected: &str) -> Result<Sheet<'t>, Error> {
    let sheet = Sheet::read_bars(text, expected)?;
    sheet.check(&["jobid", "submit"], &[])?;
    let has = |name: &&str| sheet.names().iter().any(|candidate| candidate == name);
    if !["alloctres", "allocgres", "reqtres"].iter().any(&has) {
        let what = "no column of GPUs: expected AllocTRES, AllocGRES or ReqTRES";
        return Err(sheet.header_error(what).into());
    }
    let has_length = ["elapsedraw", "elapsed"].iter().any(&has);
    if !has_length && !["start", "end"].iter().all(has) {
        let what = "no column of run times: expected Elapsed, ElapsedRaw, or Start and End";
        return Err(sheet.header_error(what).into());
    }
    Ok(sheet)
}

/// Reads the jobs. The first submission of a job that is not left out is time 0.
pub(super) fn log<'s>(sheet: &'s Sheet<'_>) -> Result<TraceLog<'s>, Error> {
    let mut left_out = [0; SkippedRow::ALL.len()];
    let (mut read, mut components) = (Vec::new(), 0);
    for (number, row) in (0..).zip(sheet.rows()) {
        match job(&row, sheet.names())? {
            Ok((submitted, logged)) => {
                components += usize::from(row.get("jobid").is_some_and(|id| id.contains('+')));
                read.push((number, row, submitted, logged));
            }
            Err(reason) => left_out[reason as usize] += 1,
        }
    }
    let mut notes: Vec<String> = SkippedRow::ALL
        .iter()
        .map(|reason| (reason, left_out[*reason as usize]))
        .filter(|(_, rows)| *rows > 0)
        .map(|(reason, rows)| reason.note(rows))
        .collect();
    if components > 0 {
        let what = "that are components of heterogeneous jobs: each is a job of its own";
        notes.push(format!("{} {what}", jobs(components)));
    }
    let first = read.iter().map(|(_, _, submitted, _)| *submitted).min();
    let first = first.unwrap_or_default();
    if let Some(moment) = DateTime::from_timestamp(first, 0).filter(|_| !read.is_empty()) {
        notes.push(format!(
            "time 0 is {}; where the cluster's clock was changed, as in summer, arrivals are not corrected",
            moment.format(MOMENT)
        ));
    }
    let of = |(number, row, submitted, logged): (u64, Row<'s>, i64, LoggedJob)| {
        let since = submitted
            .checked_sub(first)
            .and_then(|since| u64::try_from(since).ok());
        let nanoseconds = since.and_then(|since| since.checked_mul(1_000_000_000));
        let submitted = nanoseconds.map(Time).ok_or_else(|| {
            bad_line(
                row.line(),
                "submitted more than 584 years after the first job",
            )
        })?;
        Ok((
            number,
            row,
            LoggedJob {
                submitted,
                ..logged
            },
        ))
    };
    Ok(TraceLog {
        jobs: read.into_iter().map(of).collect::<Result<_, Error>>()?,
        notes,
    })
}

/// A job, and the second of its submission; or why the row is left out.
fn job(row: &Row<'_>, names: &[String]) -> Result<Result<(i64, LoggedJob), SkippedRow>, Error> {
    if row.get("jobid").is_some_and(|id| id.contains('.')) {
        return Ok(Err(SkippedRow::Step));
    }
    let has = |name: &str| names.iter().any(|candidate| candidate == name);
    let state = row.get("state").unwrap_or("COMPLETED");
    let (start, end) = (moment(row, "start")?, moment(row, "end")?);
    if has("start") && start.is_none() || state.starts_with("PENDING") {
        return Ok(Err(SkippedRow::NotStarted));
    }
    // A run that was requeued has ended; only its end tells.
    let goes_on = ["RUNNING", "SUSPENDED", "RESIZING", "REQUEUED"];
    if has("end") && end.is_none()
        || !has("end") && goes_on.iter().any(|candidate| state.starts_with(candidate))
    {
        return Ok(Err(SkippedRow::NotEnded));
    }
    let gpus = match gpus(row, names)? {
        Ok(gpus) => gpus,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(submitted) = moment(row, "submit")? else {
        return Err(row
            .error("submit: expected a moment such as 2024-01-31T12:00:00")
            .into());
    };
    let logged = LoggedJob {
        devices: gpus.devices,
        // Known once all rows are read.
        submitted: Time::ZERO,
        ran: run_time(row, start, end)?,
        limit: limit(row)?,
        is_shared: gpus.is_mig,
        is_service: false,
        end: match state.starts_with("COMPLETED") {
            true => LoggedEnd::Good,
            false => LoggedEnd::Failed,
        },
    };
    Ok(Ok((submitted, logged)))
}

/// The moment in a column, in seconds; `None` if it is not known, or there is no such column.
fn moment(row: &Row<'_>, column: &str) -> Result<Option<i64>, Error> {
    let known = row.get(column).filter(|text| !is_nothing(text));
    let Some(text) = known else { return Ok(None) };
    // SLURM_TIME_FORMAT=%s
    let second = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => NaiveDateTime::parse_from_str(text, MOMENT)
            .ok()
            .map(|moment| moment.and_utc().timestamp()),
    };
    let expected = "expected a moment such as 2024-01-31T12:00:00, or Unknown";
    let wrong = || row.error(format!("{column} `{text}`: {expected}")).into();
    second.map(Some).ok_or_else(wrong)
}

/// Whether a text says that something is not known, not so, or without limit.
fn is_nothing(text: &str) -> bool {
    let words = [
        "unknown",
        "none",
        "n/a",
        "unlimited",
        "partition_limit",
        "invalid",
    ];
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// How long a job ran: without the time in which it was suspended, if the log says so.
fn run_time(row: &Row<'_>, start: Option<i64>, end: Option<i64>) -> Result<Duration, Error> {
    if let Some(text) = row.get("elapsedraw") {
        let wrong = || row.error(format!("elapsedraw `{text}`: expected whole seconds"));
        let seconds = text.parse().ok().filter(|seconds| *seconds <= MOST_SECONDS);
        return Ok(Duration::from_secs(seconds.ok_or_else(wrong)?));
    }
    if let Some(text) = row.get("elapsed") {
        return length(row, "elapsed", text);
    }
    let ran = start
        .zip(end)
        .and_then(|(start, end)| end.checked_sub(start));
    let seconds = ran.and_then(|ran| u64::try_from(ran).ok());
    let seconds = seconds.filter(|seconds| *seconds <= MOST_SECONDS);
    let wrong = || row.error("no run time: expected Elapsed, or an End after Start");
    Ok(Duration::from_secs(seconds.ok_or_else(wrong)?))
}

fn limit(row: &Row<'_>) -> Result<Option<Duration>, Error> {
    let known = row.get("timelimit").filter(|text| !is_nothing(text));
    known.map(|text| length(row, "timelimit", text)).transpose()
}

/// The longest time that is read: its nanoseconds are a 64-bit number.
const MOST_SECONDS: u64 = u64::MAX / 1_000_000_000;

fn length(row: &Row<'_>, column: &str, text: &str) -> Result<Duration, Error> {
    let expected = "expected [D-]HH:MM:SS, such as 1-02:30:00";
    let wrong = || row.error(format!("{column} `{text}`: {expected}"));
    Ok(Duration::from_secs(seconds(text).ok_or_else(wrong)?))
}

/// The seconds of `[D-]HH:MM:SS` or `MM:SS`.
fn seconds(text: &str) -> Option<u64> {
    let number = |text: &str| -> Option<u64> {
        let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| are_digits)
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (number(days)?, rest),
        None => (0, text),
    };
    let parts: Vec<u64> = rest.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes, seconds] => (hours, minutes, seconds),
        [minutes, seconds] => (0, minutes, seconds),
        _ => return None,
    };
    if minutes >= 60 || seconds >= 60 {
        return None;
    }
    let hours = days.checked_mul(24)?.checked_add(hours)?;
    let all = hours
        .checked_mul(3600)?
        .checked_add(60 * minutes + seconds)?;
    (all <= MOST_SECONDS).then_some(all)
}

/// The GPUs of a job.
#[derive(Debug, PartialEq)]
struct JobGpus {
    devices: usize,
    /// Whether some are MIG instances.
    is_mig: bool,
}

/// The GPUs that a job had; those it requested only if no column tells what it had.
fn gpus(row: &Row<'_>, names: &[String]) -> Result<Result<JobGpus, SkippedRow>, Error> {
    let has = |name: &str| names.iter().any(|candidate| candidate == name);
    let allocated = ["alloctres", "allocgres"];
    let columns = match allocated.iter().any(|name| has(name)) {
        true => &allocated[..],
        false => &["reqtres"],
    };
    let mut none = SkippedRow::NoDevice;
    for column in columns {
        let Some(text) = row.get(column) else {
            continue;
        };
        match resources(text).map_err(|what| row.error(format!("{column} {what}")))? {
            Ok(gpus) => return Ok(Ok(gpus)),
            Err(SkippedRow::NoDevice) => {}
            Err(reason) => none = reason,
        }
    }
    Ok(Err(none))
}

/// The GPUs in a list of resources: `cpu=8,gres/gpu=4,gres/gpu:a100=4`, or, as older versions of
/// Slurm write, `gpu:4` or `gpu:a100:4`. With a total, the parts by type are not counted again.
fn resources(text: &str) -> Result<Result<JobGpus, SkippedRow>, String> {
    let (mut total, mut by_type, mut is_mig, mut has_shares) = (None, 0_u64, false, false);
    for item in text
        .split(',')
        .map(str::trim)
        .filter(|item| !is_nothing(item))
    {
        let name = item.strip_prefix("gres/").unwrap_or(item);
        let (name, count) = match name.split_once('=') {
            Some((name, count)) => (name, count),
            None => match name.rsplit_once(':') {
                Some((name, count)) => (name, count),
                None => (name, "1"),
            },
        };
        let (name, model) = match name.split_once(':') {
            Some((name, model)) => (name, Some(model)),
            None => (name, None),
        };
        has_shares |= matches!(name, "shard" | "mps");
        if name != "gpu" {
            continue;
        }
        let are_digits = count.bytes().all(|byte| byte.is_ascii_digit());
        let count: u64 = count.parse().ok().filter(|_| are_digits).ok_or_else(|| {
            format!("`{item}`: expected a number of GPUs, such as gres/gpu=4 or gpu:a100:4")
        })?;
        match model {
            None => total = Some(total.unwrap_or(0_u64).saturating_add(count)),
            Some(model) => {
                by_type = by_type.saturating_add(count);
                is_mig |= count > 0 && is_instance(model);
            }
        }
    }
    let devices = total.unwrap_or(by_type);
    Ok(match usize::try_from(devices) {
        Ok(0) if has_shares => Err(SkippedRow::Shares),
        Ok(0) => Err(SkippedRow::NoDevice),
        Ok(devices) if devices <= MAX_DEVICES => Ok(JobGpus { devices, is_mig }),
        _ => Err(SkippedRow::TooLarge),
    })
}

/// Whether a type of GPU is a MIG profile: `1g.5gb`, `a100_3g.20gb`.
fn is_instance(model: &str) -> bool {
    let Some((before, after)) = model.split_once("g.") else {
        return false;
    };
    let memory = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    before.ends_with(|digit: char| digit.is_ascii_digit())
        && memory.len() < after.len()
        && memory.starts_with("gb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_as_slurm_writes_them() {
        for (text, expected) in [
            ("00:00:00", Some(0)),
            ("01:02:03", Some(3723)),
            ("100:00:00", Some(360_000)),
            ("2-03:04:05", Some(183_845)),
            ("02:03", Some(123)),
            ("", None),
            ("5", None),
            ("1-2", None),
            ("00:60:00", None),
            ("00:00:60", None),
            ("+1:00:00", None),
            ("-00:00:01", None),
            ("1-1-00:00:00", None),
            ("99999999999999999-00:00:00", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn gpus_are_counted_once() {
        let gpus = |devices, is_mig| Some(JobGpus { devices, is_mig });
        for (text, expected) in [
            (
                "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1",
                gpus(4, false),
            ),
            ("gres/gpu:a100=4,gres/gpu:v100=2", gpus(6, false)),
            ("gres/gpu=1,gres/gpu:a100_1g.5gb=1", gpus(1, true)),
            ("gpu:4", gpus(4, false)),
            ("gpu:tesla:2,lustre:1", gpus(2, false)),
            ("gpu", gpus(1, false)),
            ("cpu=8,gres/gpumem=80G,gres/gpuutil=100", None),
            ("gres/gpu=0", None),
            ("gres/gpu=99999999999", None),
            ("gres/shard=2", None),
            ("(null)", None),
        ] {
            assert_eq!(resources(text).unwrap().ok(), expected, "{text}");
        }
        for text in ["gres/gpu=x", "gres/gpu=", "gpu:a100", "gres/gpu=-1"] {
            assert!(resources(text).is_err(), "{text}");
        }
        assert!(
            ["gb200", "a100", "g.5gb", "1g.gb"]
                .iter()
                .all(|word| !is_instance(word))
        );
    }
}
