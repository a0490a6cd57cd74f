//! Our own job file: comma-separated values with a header. The names of columns have the units, and
//! times are exact to the nanosecond.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Request, Shape, Want};
use mapa_sched::slices::SliceJob;
use mapa_sched::{Job, JobId, RunTime, Time};
use mapa_table::{Comments, Row, Sheet, columns, optional_text, text};
use serde::{Deserialize, Serialize};

use super::phases::Phases;
use crate::error::{Error, ErrorKind};
use crate::workload::cells::{Devices, Flag, Gbps, Memory, Pattern, Ratio, Seconds, Slope};
use crate::workload::file_errors::{bad_workload, check_count};
use crate::workload::notes::{names_lines, note_deadlines, note_order};
use crate::workload::numbers;
use crate::workload::patterns::{self, Patterns};
use crate::workload::ratios::ratio_of;
use crate::workload::submission::{Submission, Workload};

/// Columns that every job must have.
const NEEDED: [&str; 2] = ["gpus", "duration_s"];

/// The columns of every job.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Every {
    /// The job's number. The default is that of its row, counted from 0.
    #[serde(default)]
    id: Option<u64>,
    #[serde(default = "at_once", with = "text")]
    arrival_s: Seconds,
    #[serde(with = "text")]
    gpus: Devices,
    /// Empty only for a job with tasks, which say it.
    #[serde(default, with = "optional_text")]
    duration_s: Option<Seconds>,
    #[serde(default = "ring", with = "text")]
    pattern: Pattern,
    /// Empty if it is not known.
    #[serde(default, with = "optional_text")]
    sensitive: Option<Flag>,
    #[serde(default)]
    task: String,
    #[serde(default, with = "optional_text")]
    estimate_s: Option<OwnerEstimate>,
}

fn at_once() -> Seconds {
    Seconds(0)
}

fn ring() -> Pattern {
    Pattern(Some(Shape::Ring))
}

fn no() -> Flag {
    Flag(false)
}

/// `submit_s`, the name of `arrival_s` in the traces. It is read and never written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Submit {
    #[serde(with = "optional_text")]
    submit_s: Option<Seconds>,
}

/// Columns on the order of jobs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Urgency {
    priority: i64,
    #[serde(with = "optional_text")]
    deadline_s: Option<Seconds>,
}

/// Columns on where a job may run.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Constraints {
    #[serde(default = "no", with = "text")]
    same_numa: Flag,
    #[serde(default, with = "text")]
    like: Like,
    #[serde(default = "no", with = "text")]
    isolated: Flag,
}

/// Which devices count as alike: a job gets like ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Like {
    /// Those of one product.
    #[default]
    Product,
    /// All.
    Any,
}

impl FromStr for Like {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "product" => Ok(Self::Product),
            "any" => Ok(Self::Any),
            _ => Err(format!("`{text}`: expected product or any")),
        }
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Product => "product",
            Self::Any => "any",
        })
    }
}

/// Columns of jobs that serve requests.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct ServingColumns {
    #[serde(with = "optional_text")]
    slo_s: Option<Seconds>,
}

/// Columns of jobs on MIG instances.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct MigColumns {
    #[serde(with = "optional_text")]
    slice: Option<RankSlice>,
}

/// The instance that each rank gets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RankSlice {
    Of(Size),
    /// Any, or a whole device.
    Any,
}

impl FromStr for RankSlice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("any") {
            return Ok(Self::Any);
        }
        let size = text.parse().map(Self::Of);
        size.map_err(|error: mapa_core::Error| format!("{error}, or any"))
    }
}

impl fmt::Display for RankSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(size) => size.fmt(f),
            Self::Any => f.write_str("any"),
        }
    }
}

impl RankSlice {
    fn demand(own: Option<Self>) -> Demand {
        match own {
            None => Demand::whole(),
            Some(Self::Of(size)) => Demand::slice(size),
            Some(Self::Any) => Demand::any(),
        }
    }
}

/// Columns of jobs that copy over PCIe.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
struct PcieColumns {
    #[serde(with = "text")]
    pcie_gbps: Gbps,
    #[serde(with = "text")]
    pcie_alpha: Slope,
}

impl Default for PcieColumns {
    fn default() -> Self {
        Self {
            pcie_gbps: Gbps(0),
            pcie_alpha: Slope(1.0),
        }
    }
}

/// Columns of jobs that communicate.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct LinkColumns {
    /// Empty if it is that of the task, or not known.
    #[serde(with = "optional_text")]
    link_ratio: Option<Ratio>,
}

/// Columns of jobs that share instances.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct SharingColumns {
    /// Empty if it demands none, or as much as its tasks hold at once.
    #[serde(with = "optional_text")]
    memory_gb: Option<Memory>,
    #[serde(with = "optional_text")]
    tasks: Option<Phases>,
    /// Empty if its tasks say it.
    #[serde(with = "optional_text")]
    grows: Option<Flag>,
}

/// A row: groups of columns, in the order in which they are written.
#[derive(Clone, Debug, Serialize)]
struct RowColumns {
    every: Every,
    urgency: Urgency,
    constraints: Constraints,
    serving: ServingColumns,
    mig: MigColumns,
    pcie: PcieColumns,
    links: LinkColumns,
    sharing: SharingColumns,
}

impl RowColumns {
    /// Every column, in the order in which they are written.
    fn names() -> Vec<&'static str> {
        [
            columns::<Every>(),
            columns::<Urgency>(),
            columns::<Constraints>(),
            columns::<ServingColumns>(),
            columns::<MigColumns>(),
            columns::<PcieColumns>(),
            columns::<LinkColumns>(),
            columns::<SharingColumns>(),
        ]
        .concat()
    }

    fn read(row: &Row<'_>) -> Result<Self, Error> {
        let mut every: Every = row.read()?;
        let Submit { submit_s } = row.read()?;
        every.arrival_s = submit_s.unwrap_or(every.arrival_s);
        Ok(Self {
            every,
            urgency: row.read()?,
            constraints: row.read()?,
            serving: row.read()?,
            mig: row.read()?,
            pcie: row.read()?,
            links: row.read()?,
            sharing: row.read()?,
        })
    }

    /// The row with this index, counted from 0, in which all optional columns have their defaults.
    fn plain(place: usize) -> Self {
        Self {
            every: Every {
                id: Some(place as u64),
                arrival_s: at_once(),
                gpus: Devices(1),
                duration_s: Some(Seconds(0)),
                pattern: ring(),
                sensitive: None,
                task: String::new(),
                estimate_s: None,
            },
            urgency: Urgency::default(),
            constraints: Constraints {
                same_numa: no(),
                like: Like::Product,
                isolated: no(),
            },
            serving: ServingColumns::default(),
            mig: MigColumns::default(),
            pcie: PcieColumns::default(),
            links: LinkColumns::default(),
            sharing: SharingColumns::default(),
        }
    }
}

const SOURCE: &str = "source:";
const NOTE: &str = "note:";

pub(super) fn read(text: &str) -> Result<Workload, Error> {
    let sheet = Sheet::read(text, Comments::AboveHeader, "a header and jobs")?;
    sheet.check(
        &NEEDED,
        &[RowColumns::names(), columns::<Submit>()].concat(),
    )?;
    let has = |name: &str| sheet.names().iter().any(|candidate| candidate == name);
    if has("arrival_s") && has("submit_s") {
        let what = "columns `arrival_s` and `submit_s`: expected one of them, both are the arrival";
        return Err(sheet.header_error(what).into());
    }
    check_count(sheet.rows().count())?;
    let mut made = Patterns::default();
    let (mut jobs, mut lines, mut seen) = (Vec::new(), Vec::new(), BTreeMap::new());
    for row in sheet.rows() {
        let own = submission(RowColumns::read(&row)?, jobs.len() as u64, &mut made);
        let submission = own.map_err(|what| row.error(what))?;
        if let Some(first) = seen.insert(submission.job.id, row.line()) {
            let what = format!(
                "id {} again, as on line {first}: expected numbers that differ",
                submission.job.id
            );
            return Err(row.error(what).into());
        }
        if let Err(what) = check_any(&submission.job) {
            return Err(row.error(what).into());
        }
        jobs.push(submission);
        lines.push(row.line());
    }
    let mut comments = sheet.comments().iter();
    let source = comments.find_map(|comment| comment.strip_prefix(SOURCE));
    let mut workload = Workload::new(source.map_or("a job file", str::trim), jobs);
    let comments = sheet.comments().iter();
    workload.notes = comments
        .filter_map(|comment| Some(comment.strip_prefix(NOTE)?.trim()))
        .filter(|note| !names_lines(note))
        .map(str::to_owned)
        .collect();
    note_order(&mut workload, &lines);
    note_deadlines(&mut workload, &lines);
    Ok(workload)
}

/// Checks a job that may run on an instance of any size: that its run times by size are a curve,
/// and its deadline is not before its arrival. No such job can be planned.
fn check_any(job: &Job) -> Result<(), String> {
    let demands = job.request.pattern.demands();
    if demands.iter().all(|demand| demand.want != Want::Any) {
        return Ok(());
    }
    if let Some(deadline) = job.deadline.filter(|&deadline| deadline < job.arrived) {
        let [deadline, arrived] = [deadline, job.arrived].map(|at| numbers::seconds(at.0));
        return Err(format!(
            "deadline_s `{deadline}`: before arrival_s `{arrived}`: expected a slack of 0 or more"
        ));
    }
    SliceJob::of(job)
        .map(drop)
        .map_err(|error| format!("estimate_s: {error}"))
}

fn submission(columns: RowColumns, place: u64, made: &mut Patterns) -> Result<Submission, String> {
    check_tasks(&columns)?;
    let RowColumns {
        every,
        urgency,
        constraints,
        serving,
        mig,
        pcie,
        links,
        sharing,
    } = columns;
    let mut demand = match &sharing.tasks {
        Some(phases) => phases.demand(),
        None => Demand {
            pcie_mb_s: pcie.pcie_gbps.0,
            ..RankSlice::demand(mig.slice)
        },
    };
    if let Some(Memory(bytes)) = sharing.memory_gb {
        demand.memory_bytes = bytes;
    }
    let mut request = Request::new(made.with(every.pattern.0, every.gpus.0, demand)?);
    request.sensitivity = every.sensitive.map(|flag| flag.0).into();
    request.same_numa = constraints.same_numa.0;
    request.unlike = constraints.like == Like::Any;
    let mut job = Job::new(JobId(every.id.unwrap_or(place)), request);
    job.arrived = Time(every.arrival_s.0);
    job.deadline = urgency.deadline_s.map(|at| Time(at.0));
    job.priority = urgency.priority;
    job.isolated = constraints.isolated.0;
    job.slo = serving.slo_s.map(|length| Duration::from_nanos(length.0));
    job.pcie_alpha = pcie.pcie_alpha.0;
    job.link_ratio = links.link_ratio.map(|ratio| ratio.0);
    let phases = sharing.tasks.as_ref();
    job.grows = match sharing.grows {
        Some(Flag(grows)) => grows,
        None => phases.is_some_and(Phases::grow),
    };
    let work = match (phases, every.duration_s) {
        (Some(phases), _) => phases.after(),
        (None, Some(Seconds(work))) => Duration::from_nanos(work),
        (None, None) => return Err("duration_s is empty: expected a value".to_owned()),
    };
    let mut task = Submission::new(job, work)
        .task(every.task)
        .tasks(phases.map(Phases::plans).unwrap_or_default());
    if phases.is_some() {
        task.job.run_time = RunTime::Fixed(task.alone(true));
    }
    if let Some(OwnerEstimate(run_time)) = every.estimate_s {
        task.job.run_time = run_time;
    }
    Ok(task)
}

/// Checks that no other column contradicts the tasks of a job: it is one process, which is launched
/// without a device and shares whatever instance its tasks get.
fn check_tasks(columns: &RowColumns) -> Result<(), String> {
    if columns.sharing.tasks.is_none() {
        return Ok(());
    }
    let wrong = match () {
        () if columns.every.duration_s.is_some() => {
            "duration_s: expected an empty field, as tasks say it"
        }
        () if columns.every.gpus.0 != 1 => "more than one of gpus: expected 1",
        () if columns.constraints.isolated.0 => "isolated: expected one of them",
        () if columns.constraints.same_numa.0 => "same_numa: expected one of them",
        () if columns.constraints.like == Like::Any => "like: expected one of them",
        () if columns.mig.slice.is_some() => {
            "slice: expected one of them, as tasks share any instance"
        }
        () if columns.pcie.pcie_gbps.0 != 0 => "pcie_gbps: expected one of them",
        () => return Ok(()),
    };
    Err(format!("a job with tasks has {wrong}"))
}

/// The run time that a job's owner tells the scheduler.
#[derive(Clone, Debug)]
struct OwnerEstimate(RunTime);

impl FromStr for OwnerEstimate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("unknown") {
            return Ok(Self(RunTime::Unknown));
        }
        if text.contains('=') {
            let lengths = text.split_whitespace().map(on_slice);
            return Ok(Self(RunTime::BySize(lengths.collect::<Result<_, _>>()?)));
        }
        match numbers::nanoseconds(text) {
            Ok(length) => Ok(Self(RunTime::Fixed(Duration::from_nanos(length)))),
            Err(what) => Err(format!(
                "{what}, or 1g.1m=50 2g.2m=25 and so on by size of slice, or unknown"
            )),
        }
    }
}

fn on_slice(text: &str) -> Result<(Size, Duration), String> {
    let (size, length) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}`: expected such as 1g.1m=50"))?;
    let size = size
        .parse()
        .map_err(|error: mapa_core::Error| error.to_string())?;
    Ok((size, Duration::from_nanos(numbers::nanoseconds(length)?)))
}

impl fmt::Display for OwnerEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Lengths beyond 584 years are rejected before they are written.
        match &self.0 {
            RunTime::Fixed(length) => f.write_str(&numbers::seconds(length.as_nanos() as u64)),
            RunTime::Unknown => f.write_str("unknown"),
            RunTime::BySize(lengths) => {
                let each = lengths.iter().map(|(size, length)| {
                    format!("{size}={}", numbers::seconds(length.as_nanos() as u64))
                });
                f.write_str(&each.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// Writes a workload as a job file that [`read_jobs`](super::read_jobs) reads back: equal jobs, to
/// the last nanosecond and bit, in the same order, and the same source. Notes are kept, except
/// those that name lines of the file that was read (on arrivals out of order, and on deadlines
/// before arrivals). Reading adds such notes anew. Columns in which all jobs have the default are
/// left out. O(n) for n jobs.
///
/// # Errors
/// The source or a note has several lines; or, with the first such job, a job has properties that
/// the format cannot hold:
///
/// - a pattern without ranks, or one that is neither a [`Shape`](mapa_core::Shape) nor independent;
/// - demands that differ between ranks, or that are not for whole devices or slices of a size or of
///   any, with or without memory and PCIe traffic;
/// - a job on any slice with run times that grow with the slice, none on the smallest, or a
///   deadline before its arrival;
/// - constraints other than `same_numa` and `like`, or limits of its own;
/// - tasks of several ranks, or that request anything but memory and warps of any instance, shared;
/// - tasks of a job that is isolated, requests several devices, or demands anything else than they;
/// - an empty list of run times by size, one for a size without compute or memory slices, or a time
///   beyond 584 years;
/// - a `pcie_alpha` that is not finite, or is below 0;
/// - a `link_ratio` that is not finite or is below 1, or that is unknown though the task's is
///   known;
/// - a task's name with blanks at its ends, or of several lines.
pub fn write_jobs(workload: &Workload) -> Result<String, Error> {
    let rows = workload
        .jobs
        .iter()
        .map(row_of)
        .collect::<Result<Vec<_>, _>>()?;
    let text = comments(workload)?;
    Ok(text + &mapa_table::write(&RowColumns::names(), &NEEDED, &rows, RowColumns::plain)?)
}

fn comments(workload: &Workload) -> Result<String, Error> {
    let mut text = String::new();
    let notes = workload
        .notes
        .iter()
        .filter(|note| !names_lines(note))
        .map(|note| (NOTE, note));
    for (key, said) in [(SOURCE, &workload.source)].into_iter().chain(notes) {
        if said.contains('\n') || said.trim() != said {
            return Err(bad_workload(format_args!(
                "{key} `{said}`: expected one line without blanks at its ends"
            )));
        }
        text.push_str(&format!("# {key} {said}\n"));
    }
    Ok(text)
}

/// Converts a job to a row.
fn row_of(submission: &Submission) -> Result<RowColumns, Error> {
    let job = &submission.job;
    let request = &job.request;
    let pattern = patterns::shape_of(&request.pattern).filter(|_| submission.devices() > 0);
    let Some((shape, demand)) = pattern else {
        return Err(cannot(
            job,
            "its pattern: expected a shape or independent ranks, all with equal demands",
        ));
    };
    let slice = match demand.want {
        Want::Slice(size) if numbers::is_size(size) => Some(RankSlice::Of(size)),
        Want::Any => Some(RankSlice::Any),
        _ => None,
    };
    let phases = phases_of(submission)?;
    let mut plain = match &phases {
        Some(phases) => phases.demand(),
        None => Demand {
            pcie_mb_s: demand.pcie_mb_s,
            ..RankSlice::demand(slice)
        },
    };
    let memory = (demand.memory_bytes != plain.memory_bytes).then_some(Memory(demand.memory_bytes));
    plain.memory_bytes = demand.memory_bytes;
    if demand != plain {
        return Err(cannot(
            job,
            "its demand: expected whole devices, or slices of a size or of any, with or without memory and PCIe \
             traffic; or what its tasks hold",
        ));
    }
    check_constraints(request, job)?;
    check_task_name(submission)?;
    if !numbers::is_slope(job.pcie_alpha) {
        return Err(cannot(job, "a pcie_alpha that is not finite or below 0"));
    }
    let of_task = ratio_of(&submission.task);
    check_link_ratio(job, of_task)?;
    let estimate = estimate_of(job, submission.alone(phases.is_some()))?;
    Ok(RowColumns {
        every: Every {
            id: Some(job.id.0),
            arrival_s: Seconds(job.arrived.0),
            gpus: Devices(submission.devices()),
            duration_s: match phases {
                Some(_) => None,
                None => Some(seconds(job, submission.work)?),
            },
            pattern: Pattern(shape),
            sensitive: request.sensitivity.known().map(Flag),
            task: submission.task.to_string(),
            estimate_s: estimate,
        },
        urgency: Urgency {
            priority: job.priority,
            deadline_s: job.deadline.map(|at| Seconds(at.0)),
        },
        constraints: Constraints {
            same_numa: Flag(request.same_numa),
            like: if request.unlike {
                Like::Any
            } else {
                Like::Product
            },
            isolated: Flag(job.isolated),
        },
        serving: ServingColumns {
            slo_s: job.slo.map(|length| seconds(job, length)).transpose()?,
        },
        mig: MigColumns {
            slice: slice.filter(|_| phases.is_none()),
        },
        pcie: PcieColumns {
            pcie_gbps: Gbps(demand.pcie_mb_s),
            pcie_alpha: Slope(job.pcie_alpha),
        },
        links: LinkColumns {
            link_ratio: job
                .link_ratio
                .filter(|_| job.link_ratio != of_task)
                .map(Ratio),
        },
        sharing: SharingColumns {
            memory_gb: memory,
            grows: Some(job.grows)
                .filter(|&grows| grows != phases.as_ref().is_some_and(Phases::grow))
                .map(Flag),
            tasks: phases,
        },
    })
}

/// Checks that a row can say all of a job's constraints: a file has columns for `same_numa` and `like`.
fn check_constraints(request: &Request, job: &Job) -> Result<(), Error> {
    if check_any(job).is_err() {
        let what = "a job on any slice whose run times by size are no curve, or with a deadline before its arrival";
        return Err(cannot(job, what));
    }
    let plain = Request::new(request.pattern.clone()).sensitive(request.sensitivity);
    if *request != plain.same_numa(request.same_numa).unlike(request.unlike) {
        return Err(cannot(
            job,
            "its constraints: expected none but same_numa and like",
        ));
    }
    Ok(())
}

/// A task's name is read back without the blanks around it, and to the end of its line.
fn check_task_name(submission: &Submission) -> Result<(), Error> {
    let job = &submission.job;
    if submission.task.trim() != &*submission.task {
        return Err(cannot(job, "a task's name with blanks at its ends"));
    }
    if submission.task.contains(['\n', '\r']) {
        return Err(cannot(job, "a task's name of several lines"));
    }
    Ok(())
}

/// A row without a ratio is read back with that of its task.
fn check_link_ratio(job: &Job, of_task: Option<f64>) -> Result<(), Error> {
    if !job.link_ratio.is_none_or(numbers::is_ratio) {
        return Err(cannot(job, "a link_ratio that is not finite or below 1"));
    }
    if job.link_ratio.is_none() && of_task.is_some() {
        let what = "an unknown link_ratio of a task whose own is known";
        return Err(cannot(job, what));
    }
    Ok(())
}

/// What the owner says of the run time; `None` if that is how long the job takes alone.
fn estimate_of(job: &Job, alone: Duration) -> Result<Option<OwnerEstimate>, Error> {
    let estimate = match &job.run_time {
        RunTime::Fixed(length) if *length == alone => None,
        RunTime::BySize(lengths)
            if lengths.is_empty() || !lengths.keys().all(|&size| numbers::is_size(size)) =>
        {
            let what = "run times by size: expected at least one, each for a size with compute and \
                        memory slices";
            return Err(cannot(job, what));
        }
        known => Some(OwnerEstimate(known.clone())),
    };
    match &job.run_time {
        RunTime::Fixed(length) => {
            seconds(job, *length)?;
        }
        RunTime::BySize(lengths) => {
            for length in lengths.values() {
                seconds(job, *length)?;
            }
        }
        RunTime::Unknown => {}
    }
    Ok(estimate)
}

/// The tasks of a job as a column; `None` if it has none.
fn phases_of(submission: &Submission) -> Result<Option<Phases>, Error> {
    if submission.tasks.is_empty() {
        return Ok(None);
    }
    let job = &submission.job;
    if job.isolated || job.request.same_numa || job.request.unlike || submission.devices() != 1 {
        let what = "the tasks of a job that is isolated, on one NUMA node, of unlike devices, or on several devices";
        return Err(cannot(job, what));
    }
    if u64::try_from(submission.alone(true).as_nanos()).is_err() {
        return Err(cannot(job, "times beyond 584 years"));
    }
    let phases = Phases::of(submission).ok_or_else(|| {
        let what =
            "its tasks: expected memory and warps of any instance, shared, and growth in order";
        cannot(job, what)
    });
    phases.map(Some)
}

fn cannot(job: &Job, what: &str) -> Error {
    ErrorKind::BadJob {
        job: job.id.0,
        what: format!("a job file cannot hold {what}"),
    }
    .into()
}

fn seconds(job: &Job, length: Duration) -> Result<Seconds, Error> {
    let nanoseconds = u64::try_from(length.as_nanos());
    nanoseconds
        .map(Seconds)
        .map_err(|_| cannot(job, "times beyond 584 years"))
}
