//! Logs of real clusters as workloads.
//!
//! A log says when jobs arrived, how many devices they had and how long they ran. It does not say
//! which ranks communicated, nor whether links mattered. These are assumed: each assumption is a
//! [note](Workload::notes) with its count, and [`Selection`] changes them. All rows are checked
//! before any is left out.

use std::fmt;
use std::str::FromStr;

use mapa_core::{Request, Sensitivity};
use mapa_sched::{Job, JobId, RunTime};
use mapa_table::{Comments, Row, Sheet};

use super::file_errors::{bad_line, bad_workload, check_count};
use super::notes::note_order;
use super::patterns::Patterns;
use super::submission::{Submission, Workload};
use super::tasks;
use crate::error::Error;

mod logged;
mod run_times;
mod sacct;
mod select;

use logged::{LoggedEnd, LoggedJob, TraceLog};
use run_times::RUN_TIME;
use select::jobs;

pub use run_times::read_run_times;
pub use select::{Selection, SharedDevices};

/// The kind of a log, by its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceKind {
    /// `alibaba-openb`: pods of Alibaba's GPU cluster of 2023,
    /// `submit_s,gpus,duration_s,gpu_milli,cpus,qos,gpu_spec,phase`.
    AlibabaOpenb,
    /// `gavel-philly`: arrivals and sizes of Microsoft's Philly clusters with the models and run
    /// times that Gavel gave them, `submit_s,gpus,duration_s,job_type,vc`.
    GavelPhilly,
    /// `tiresias`: the 60 jobs of the Tiresias testbed,
    /// `submit_s,gpus,duration_s,model,iterations`.
    Tiresias,
    /// `slurm-sacct`: what Slurm's `sacct --parsable2` prints, `JobID|Submit|Start|End|...`.
    SlurmSacct,
}

impl TraceKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::AlibabaOpenb,
        Self::GavelPhilly,
        Self::Tiresias,
        Self::SlurmSacct,
    ];

    /// The names of its columns. Those of `slurm-sacct` are the ones to ask for; some may be
    /// missing, and there may be others.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::AlibabaOpenb => &[
                "submit_s",
                "gpus",
                "duration_s",
                "gpu_milli",
                "cpus",
                "qos",
                "gpu_spec",
                "phase",
            ],
            Self::GavelPhilly => &["submit_s", "gpus", "duration_s", "job_type", "vc"],
            Self::Tiresias => &["submit_s", "gpus", "duration_s", "model", "iterations"],
            Self::SlurmSacct => &sacct::COLUMNS,
        }
    }

    /// Its header: the names of [`columns`](Self::columns) with what stands between them.
    #[must_use]
    pub fn header(self) -> String {
        self.columns().join(match self {
            Self::SlurmSacct => "|",
            _ => ",",
        })
    }

    /// The text as cells, checked for the columns of the kind.
    fn sheet(self, text: &str) -> Result<Sheet<'_>, Error> {
        let expected = "the header of a trace and its jobs";
        if self == Self::SlurmSacct {
            return sacct::sheet(text, expected);
        }
        let sheet = Sheet::read(text, Comments::AboveHeader, expected)?;
        sheet.check(self.columns(), self.columns())?;
        Ok(sheet)
    }

    /// Recognises the kind of a trace by its header.
    ///
    /// # Errors
    /// The header is not that of a known kind. The message lists the known headers.
    pub fn recognise(text: &str) -> Result<Self, Error> {
        if sacct::is(text) {
            return Ok(Self::SlurmSacct);
        }
        let sheet = Sheet::read(text, Comments::AboveHeader, "the header of a trace")?;
        sheet.check(&[], &[])?;
        Self::of(sheet.names())
    }

    fn of(names: &[String]) -> Result<Self, Error> {
        let is_run_times = names == [RUN_TIME];
        let found = Self::ALL.into_iter().find(|kind| {
            kind.columns()
                .iter()
                .all(|name| names.iter().any(|candidate| candidate == name))
        });
        found.ok_or_else(|| match is_run_times {
            true => bad_workload(
                "only run times: expected a trace; to draw jobs with these run times, give the \
                 file to a generator",
            ),
            false => {
                let known = Self::ALL
                    .map(|kind| format!("{kind} ({})", kind.header()))
                    .join(", ");
                bad_workload(format_args!(
                    "columns {}: expected those of {known}",
                    names.join(",")
                ))
            }
        })
    }

    /// The column that names what a job runs, if the kind has one.
    fn task(self) -> Option<&'static str> {
        match self {
            Self::AlibabaOpenb => None,
            Self::GavelPhilly => Some("job_type"),
            Self::Tiresias => Some("model"),
            Self::SlurmSacct => Some(sacct::NAME),
        }
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlibabaOpenb => "alibaba-openb",
            Self::GavelPhilly => "gavel-philly",
            Self::Tiresias => "tiresias",
            Self::SlurmSacct => "slurm-sacct",
        })
    }
}

impl FromStr for TraceKind {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|kind| kind.to_string() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(|kind| kind.to_string()).join(", ");
            bad_workload(format_args!(
                "no trace is called `{name}`: expected {known}"
            ))
        })
    }
}

/// Reads all jobs of a trace, under the defaults of [`Selection`]. O(n log n) for n rows.
///
/// Job numbers are rows, counted from 0. Jobs larger than a machine stay, and the scheduler rejects
/// them as infeasible. A run time of 0 is kept: such a job ends at the moment at which it starts.
///
/// # Errors
/// Those of [`read_trace_part`].
pub fn read_trace(kind: TraceKind, text: &str) -> Result<Workload, Error> {
    read_trace_part(kind, text, &Selection::default())
}

/// Reads the selected jobs of a trace. [Notes](Workload::notes) count those that are left out.
///
/// # Examples
/// ```
/// use mapa_sim::{Selection, TraceKind, read_trace_part};
///
/// let text = "submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n30,8,147,vgg11,133\n";
/// let small: Selection = "max-gpus=4".parse()?;
/// let workload = read_trace_part(TraceKind::Tiresias, text, &small)?;
/// assert_eq!(workload.jobs.len(), 1);
/// assert!(workload.jobs[0].job.request.sensitivity.is_sensitive());
/// assert!(workload.notes.iter().any(|note| note == "left out: 1 job of more than 4 devices"));
/// # Ok::<(), mapa_sim::Error>(())
/// ```
///
/// # Errors
/// A header without the kind's columns, or without a column that the selection names; and the line
/// of a number that is malformed, negative, not finite or too large, of no devices or more than
/// [`MAX_DEVICES`](mapa_core::MAX_DEVICES), of a row with too few or too many fields; more than [`MAX_JOBS`](crate::MAX_JOBS)
/// rows.
pub fn read_trace_part(
    kind: TraceKind,
    text: &str,
    selection: &Selection,
) -> Result<Workload, Error> {
    let sheet = kind.sheet(text)?;
    check_count(sheet.rows().count())?;
    selection.check(sheet.names())?;
    let log = match kind {
        TraceKind::SlurmSacct => sacct::log(&sheet)?,
        _ => TraceLog::read(&sheet)?,
    };
    let mut reading = TraceReading {
        kind,
        selection,
        made: Patterns::default(),
        counts: TraceCounts::default(),
    };
    let (mut jobs, mut lines) = (Vec::new(), Vec::new());
    for (number, row, logged) in log.jobs {
        let submission = reading.submission(&row, &logged, number);
        let submission = submission.map_err(|what| bad_line(row.line(), what))?;
        let left_out = &mut reading.counts.left_out;
        if left_out.keeps(selection, (&row, &logged), &submission, jobs.len()) {
            reading.counts.add(&logged, &submission);
            jobs.push(submission);
            lines.push(row.line());
        }
    }
    for (submission, line) in jobs.iter_mut().zip(&lines) {
        submission.job.arrived = selection
            .moved(submission.job.arrived)
            .map_err(|what| bad_line(*line, what))?;
    }
    let mut workload = Workload::new(format!("trace {kind}"), jobs);
    workload.notes = reading.notes();
    workload.notes.extend(log.notes);
    if workload.jobs.is_empty() && sheet.rows().next().is_some() {
        workload
            .notes
            .push("no job is left: no job of the trace matches the selection".to_owned());
    }
    note_order(&mut workload, &lines);
    Ok(workload)
}

#[derive(Default)]
struct TraceCounts {
    left_out: select::LeftOutJobs,
    shared: usize,
    without_work: usize,
    unclassified: usize,
    services: usize,
    not_ended: usize,
    failed: usize,
    limited: usize,
}

impl TraceCounts {
    /// Counts a job that is kept, for the notes.
    fn add(&mut self, logged: &LoggedJob, submission: &Submission) {
        self.shared += usize::from(logged.is_shared);
        self.without_work += usize::from(submission.work.is_zero());
        self.unclassified += usize::from(tasks::is_sensitive(&submission.task).is_none());
        self.services += usize::from(logged.is_service);
        self.not_ended += usize::from(logged.end == LoggedEnd::NotYet);
        self.failed += usize::from(logged.end == LoggedEnd::Failed);
        self.limited += usize::from(logged.limit.is_some());
    }
}

struct TraceReading<'s> {
    kind: TraceKind,
    selection: &'s Selection,
    made: Patterns,
    counts: TraceCounts,
}

impl TraceReading<'_> {
    fn submission(
        &mut self,
        row: &Row<'_>,
        logged: &LoggedJob,
        number: u64,
    ) -> Result<Submission, String> {
        let column = self.kind.task();
        let task = task(
            column
                .and_then(|column| row.get(column))
                .unwrap_or_default(),
        );
        let sensitive =
            tasks::is_sensitive(task).map_or(self.selection.sensitive, Sensitivity::from);
        let pattern = self.made.get(self.selection.pattern, logged.devices)?;
        let mut job = Job::new(JobId(number), Request::new(pattern).sensitive(sensitive));
        job.arrived = logged.submitted;
        let mut submission = Submission::new(job, logged.ran).task(task);
        if let Some(limit) = logged.limit {
            submission.job.run_time = RunTime::Fixed(limit);
        }
        Ok(submission)
    }

    fn notes(&self) -> Vec<String> {
        let TraceCounts { left_out, .. } = &self.counts;
        let mut notes = vec![format!(
            "assumed: every job is of the pattern {}; the trace has no patterns",
            super::patterns::word(self.selection.pattern)
        )];
        if self.kind == TraceKind::GavelPhilly {
            notes.push(
                "run times are Gavel's, not measured: steps over the throughput of the model it assigned".to_owned(),
            );
        }
        let sensitive = match self.selection.sensitive {
            Sensitivity::Sensitive => "assumed to be sensitive",
            Sensitivity::Insensitive => "assumed to be not sensitive",
            Sensitivity::Unknown => "whether they are sensitive is unknown",
        };
        let told = [
            (
                self.counts.unclassified,
                format!("which the paper does not classify: {sensitive}"),
            ),
            (
                self.counts.shared,
                format!(
                    "of less than a device ({}): each is given a whole one",
                    match self.kind {
                        TraceKind::SlurmSacct => "MIG instances",
                        _ => "gpu_milli below 1000",
                    }
                ),
            ),
            (
                self.counts.without_work,
                "without run time: kept, they end as they start".to_owned(),
            ),
            (
                self.counts.services,
                "that are services (qos LS): run as jobs for as long as they were there".to_owned(),
            ),
            (
                self.counts.not_ended,
                "that were Running or Pending at the end: assumed to run for duration_s".to_owned(),
            ),
            (
                self.counts.failed,
                match self.kind {
                    TraceKind::SlurmSacct => "that are not COMPLETED: run for as long as they did",
                    _ => "that Failed: run for as long as they did",
                }
                .to_owned(),
            ),
            (
                self.counts.limited,
                "with a limit of their time: the scheduler takes it as the estimate".to_owned(),
            ),
        ];
        notes.extend(
            told.into_iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, what)| format!("{} {what}", jobs(n))),
        );
        notes.extend(left_out.notes(self.selection));
        notes
    }
}

/// The name of a task without what follows in parentheses, if the paper has it: `ResNet-50` of
/// `ResNet-50 (batch size 64)`. Other names stay as they are.
fn task(text: &str) -> &str {
    let plain = text.split_once(" (").map_or(text, |(plain, _)| plain);
    let published = tasks::published(plain);
    if tasks::MAPA.iter().any(|(name, _)| *name == published) {
        published
    } else {
        text
    }
}
