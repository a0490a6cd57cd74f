//! Logs of real clusters as workloads.
//!
//! A log says when jobs came, how many devices they had and how long they ran. It does not say who talked to whom, nor whether
//! links mattered; these are assumed, each assumption is a [note](Workload::notes) with its count, and [`Selection`] changes
//! them. All rows are read and checked before any is left out.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mapa_core::Request;
use mapa_sched::{Job, JobId, Time};

use super::patterns::Patterns;
use super::sheet::{Row, Sheet};
use super::{Submission, Workload, bad_line, bad_workload, note_order, numbers, tasks};
use crate::error::Error;

mod select;

pub use select::{Selection, Shared};

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceKind {
    /// `alibaba-openb`: pods of Alibaba's GPU cluster of 2023, `submit_s,gpus,duration_s,gpu_milli,cpus,qos,gpu_spec,phase`.
    AlibabaOpenb,
    /// `gavel-philly`: arrivals and sizes of Microsoft's Philly clusters with the models and run times that Gavel gave them,
    /// `submit_s,gpus,duration_s,job_type,vc`.
    GavelPhilly,
    /// `tiresias`: the 60 jobs of the Tiresias testbed, `submit_s,gpus,duration_s,model,iterations`.
    Tiresias,
}

impl TraceKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::AlibabaOpenb, Self::GavelPhilly, Self::Tiresias];

    /// The names of its columns.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::AlibabaOpenb => &["submit_s", "gpus", "duration_s", "gpu_milli", "cpus", "qos", "gpu_spec", "phase"],
            Self::GavelPhilly => &["submit_s", "gpus", "duration_s", "job_type", "vc"],
            Self::Tiresias => &["submit_s", "gpus", "duration_s", "model", "iterations"],
        }
    }

    /// The kind that a text's header tells.
    ///
    /// # Errors
    /// A header of no kind; the message lists those there are.
    pub fn recognise(text: &str) -> Result<Self, Error> {
        Self::of(&Sheet::read(text, "the header of a trace")?)
    }

    fn of(sheet: &Sheet<'_>) -> Result<Self, Error> {
        let names = sheet.header().names();
        let is_run_times = names == [RUN_TIME];
        let found =
            Self::ALL.into_iter().find(|kind| kind.columns().iter().all(|name| names.iter().any(|own| own == name)));
        found.ok_or_else(|| match is_run_times {
            true => bad_workload("run times alone are no jobs: expected a trace; a generator draws from run times"),
            false => {
                let known = Self::ALL.map(|kind| format!("{kind} ({})", kind.columns().join(","))).join(", ");
                bad_workload(format_args!("columns {}: expected those of {known}", names.join(",")))
            }
        })
    }

    /// The column that names what a job runs.
    fn task(self) -> Option<&'static str> {
        match self {
            Self::AlibabaOpenb => None,
            Self::GavelPhilly => Some("job_type"),
            Self::Tiresias => Some("model"),
        }
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlibabaOpenb => "alibaba-openb",
            Self::GavelPhilly => "gavel-philly",
            Self::Tiresias => "tiresias",
        })
    }
}

impl FromStr for TraceKind {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|kind| kind.to_string() == name);
        let known = || Self::ALL.map(|kind| kind.to_string()).join(", ");
        found.ok_or_else(|| bad_workload(format_args!("no trace is called `{name}`: expected {}", known())))
    }
}

/// Reads all jobs of a trace, under the defaults of [`Selection`]. O(n log n) for n rows.
///
/// Job numbers are rows, counted from 0. Jobs larger than a machine stay: its scheduler rejects them as infeasible. A run time
/// of 0 is kept: such a job ends in the moment in which it starts.
///
/// # Errors
/// Those of [`read_trace_part`].
pub fn read_trace(kind: TraceKind, text: &str) -> Result<Workload, Error> {
    read_trace_part(kind, text, &Selection::default())
}

/// Reads the jobs of a trace that are selected. What is left out is counted in the [notes](Workload::notes).
///
/// ```
/// use mapa_sim::{Selection, TraceKind, read_trace_part};
///
/// let text = "submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n30,8,147,vgg11,133\n";
/// let small: Selection = "max-gpus=4".parse()?;
/// let workload = read_trace_part(TraceKind::Tiresias, text, &small)?;
/// assert_eq!(workload.jobs.len(), 1);
/// assert!(workload.jobs[0].job.request.bandwidth_sensitive);
/// assert!(workload.notes.iter().any(|note| note == "left out: 1 job of more than 4 devices"));
/// # Ok::<(), mapa_sim::Error>(())
/// ```
///
/// # Errors
/// A header without the kind's columns, or without a column that the selection names; and the line of a number that is
/// malformed, negative, not finite or too large, of no devices or more than [`MAX_DEVICES`](mapa_core::MAX_DEVICES), of a row
/// with too few or too many fields.
pub fn read_trace_part(kind: TraceKind, text: &str, selection: &Selection) -> Result<Workload, Error> {
    let sheet = Sheet::read(text, "the header of a trace and its jobs")?;
    sheet.header().check(kind.columns(), kind.columns())?;
    selection.check(kind.columns())?;
    let mut reading = Reading { kind, selection, made: Patterns::default(), counts: Counts::default() };
    let (mut jobs, mut lines) = (Vec::new(), Vec::new());
    for (number, row) in sheet.rows().enumerate() {
        let own = reading.submission(&row, number as u64)?;
        if reading.counts.left_out.keeps(selection, &row, &own, jobs.len()) {
            reading.count(&row, &own);
            jobs.push(own);
            lines.push(row.line);
        }
    }
    for (own, line) in jobs.iter_mut().zip(&lines) {
        own.job.arrived = selection.moved(own.job.arrived).map_err(|what| bad_line(*line, what))?;
    }
    let mut workload = Workload::new(format!("trace {kind}"), jobs);
    workload.notes = reading.notes();
    if workload.jobs.is_empty() && sheet.rows().next().is_some() {
        workload.notes.push("no job is left: the selection fits none of the trace".to_owned());
    }
    note_order(&mut workload, &lines);
    Ok(workload)
}

#[derive(Default)]
struct Counts {
    left_out: select::LeftOut,
    shared: usize,
    without_work: usize,
    unclassified: usize,
    services: usize,
    not_ended: usize,
    failed: usize,
}

struct Reading<'s> {
    kind: TraceKind,
    selection: &'s Selection,
    made: Patterns,
    counts: Counts,
}

impl Reading<'_> {
    fn submission(&mut self, row: &Row<'_>, number: u64) -> Result<Submission, Error> {
        let devices = row.need("gpus", numbers::devices)?;
        let arrived = Time(row.need("submit_s", numbers::nanoseconds)?);
        let work = Duration::from_nanos(row.need("duration_s", numbers::nanoseconds)?);
        row.read("gpu_milli", milli)?;
        let task = task(self.kind.task().and_then(|column| row.get(column)).unwrap_or_default());
        let sensitive = tasks::is_sensitive(task).unwrap_or(self.selection.sensitive);
        let request = Request::new(self.made.get(self.selection.pattern, devices)).sensitive(sensitive);
        let mut job = Job::new(JobId(number), request);
        job.arrived = arrived;
        Ok(Submission::new(job, work).task(task))
    }

    fn count(&mut self, row: &Row<'_>, own: &Submission) {
        let counts = &mut self.counts;
        counts.shared += usize::from(is_shared(row));
        counts.without_work += usize::from(own.work.is_zero());
        counts.unclassified += usize::from(tasks::is_sensitive(&own.task).is_none());
        counts.services += usize::from(row.get("qos") == Some("LS"));
        counts.not_ended += usize::from(matches!(row.get("phase"), Some("Running" | "Pending")));
        counts.failed += usize::from(row.get("phase") == Some("Failed"));
    }

    fn notes(&self) -> Vec<String> {
        let Counts { left_out, .. } = &self.counts;
        let mut notes = vec![format!(
            "assumed: every job is of the pattern {}; the trace tells none",
            super::patterns::word(self.selection.pattern)
        )];
        if self.kind == TraceKind::GavelPhilly {
            notes.push(
                "run times are Gavel's, not measured: steps over the throughput of the model it assigned".to_owned(),
            );
        }
        let sensitive = if self.selection.sensitive { "sensitive" } else { "not sensitive" };
        let told = [
            (self.counts.unclassified, format!("which the paper does not classify: assumed to be {sensitive}")),
            (self.counts.shared, "of less than a device (gpu_milli below 1000): each is given a whole one".to_owned()),
            (self.counts.without_work, "without run time: kept, they end as they start".to_owned()),
            (self.counts.services, "that are services (qos LS): run as jobs for as long as they were there".to_owned()),
            (self.counts.not_ended, "that were Running or Pending in the end: taken to run for duration_s".to_owned()),
            (self.counts.failed, "that Failed: run for as long as they did".to_owned()),
        ];
        notes.extend(told.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", jobs(n))));
        notes.extend(left_out.notes(self.selection));
        notes
    }
}

/// So many jobs, in words.
fn jobs(n: usize) -> String {
    if n == 1 { "1 job".to_owned() } else { format!("{n} jobs") }
}

fn milli(text: &str) -> Result<u32, String> {
    let fits = |milli: &u32| (1..=1000).contains(milli);
    text.parse().ok().filter(fits).ok_or_else(|| format!("`{text}`: expected thousandths of a GPU, from 1 to 1000"))
}

/// Whether it shares a device.
fn is_shared(row: &Row<'_>) -> bool {
    row.get("gpu_milli").and_then(|text| milli(text).ok()).is_some_and(|milli| milli < 1000)
}

/// The paper's name, if it has one, of `ResNet-50 (batch size 64)`; others as they are.
fn task(text: &str) -> &str {
    let plain = text.split_once(" (").map_or(text, |(plain, _)| plain);
    let published = tasks::published(plain);
    if tasks::MAPA.iter().any(|(name, _)| *name == published) { published } else { text }
}

/// The column of a file of run times.
const RUN_TIME: &str = "runtime_s";

/// Reads run times, one a row under the header `runtime_s`: what [`RunTimes::Empirical`](super::RunTimes::Empirical) draws
/// from. O(n).
///
/// # Errors
/// Another header, no rows, or the line of a number that is malformed, negative, not finite or too large.
pub fn read_run_times(text: &str) -> Result<Vec<Duration>, Error> {
    let sheet = Sheet::read(text, "the header runtime_s and numbers")?;
    sheet.header().check(&[RUN_TIME], &[RUN_TIME])?;
    let read = |row: Row<'_>| row.need(RUN_TIME, numbers::nanoseconds).map(Duration::from_nanos);
    let times = sheet.rows().map(read).collect::<Result<Vec<_>, _>>()?;
    if times.is_empty() {
        return Err(bad_workload("no run times: expected one a line under the header runtime_s"));
    }
    Ok(times)
}
