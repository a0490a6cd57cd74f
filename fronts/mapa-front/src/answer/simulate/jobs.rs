//! A row for each job of a workload, whatever its outcome.

use mapa_sched::Time;
use mapa_sim::{Column, Error, Row, Submission, Table};

use super::run::{PolicyRun, Simulated};

/// How many rows are made at once where a table is made in pieces.
const PIECE: usize = 256;

/// A job that has not finished: its place in the workload, what was submitted, and its status.
type LeftJob<'a> = (usize, &'a Submission, &'static str);

impl PolicyRun {
    /// A row for each job of the workload: finished jobs, then rejected ones, then those that never
    /// ended. The column `status` tells them apart. Cells of events that did not happen are empty.
    ///
    /// # Errors
    /// A measure of jobs is called `status`.
    pub fn jobs_table(&self, what: Simulated<'_>) -> Result<Table, Error> {
        let mut rows = finished(&self.rows, what)?;
        rows.append(&left(&self.left_jobs(what).collect::<Vec<_>>(), what)?)?;
        Ok(rows)
    }

    /// The rows of [`jobs_table`](Self::jobs_table) as small tables, one after another. Each is made when it is asked
    /// for, so that no more than one has to be held.
    ///
    /// # Errors
    /// As [`jobs_table`](Self::jobs_table).
    pub fn jobs_tables<'a>(
        &'a self,
        what: Simulated<'a>,
    ) -> Result<impl Iterator<Item = Table> + 'a, Error> {
        // What could be wrong are names of columns, which a table without rows has too.
        finished(&[], what)?;
        let finished = self
            .rows
            .chunks(PIECE)
            .map(move |rows| finished(rows, what));
        let mut unfinished = self.left_jobs(what);
        let unfinished = std::iter::from_fn(move || {
            let piece: Vec<LeftJob<'_>> = unfinished.by_ref().take(PIECE).collect();
            (!piece.is_empty()).then(|| left(&piece, what))
        });
        Ok(finished.chain(unfinished).flatten())
    }

    /// The jobs that were rejected, then those that never ended.
    fn left_jobs<'a>(&'a self, what: Simulated<'a>) -> impl Iterator<Item = LeftJob<'a>> {
        let rejected = self.outcome.rejected.iter();
        let rejected = rejected.map(|rejected| (rejected.index, "rejected"));
        let waiting = self.outcome.waiting.iter().map(|&at| (at, "waiting"));
        rejected
            .chain(waiting)
            .filter_map(move |(at, status)| Some((at, what.workload.jobs.get(at)?, status)))
    }
}

/// The table of these finished jobs.
fn finished(rows: &[Row], what: Simulated<'_>) -> Result<Table, Error> {
    let status = rows.iter().map(|_| "finished");
    with_status(status, &Row::table(rows, what.fleet))
}

/// The table of these jobs that have not finished.
fn left(jobs: &[LeftJob<'_>], what: Simulated<'_>) -> Result<Table, Error> {
    // The columns are those of finished jobs, or the two tables could not be appended.
    let columns = Row::table(&[], what.fleet);
    let columns = columns.columns().iter();
    let columns = columns.map(|(name, column)| (name.clone(), cells(name, column, jobs)));
    with_status(jobs.iter().map(|job| job.2), &Table::new(columns)?)
}

/// The table with a first column `status`.
fn with_status(status: impl Iterator<Item = &'static str>, table: &Table) -> Result<Table, Error> {
    let status = status.map(|word| Some(word.to_owned())).collect();
    let status = ("status".to_owned(), Column::Texts(status));
    Table::new([status].into_iter().chain(table.columns().iter().cloned()))
}

/// A column for jobs that have not finished. Its cells have what is known before a job runs, and
/// are empty otherwise.
fn cells(name: &str, column: &Column, left: &[LeftJob<'_>]) -> Column {
    let integers = |of: fn(&LeftJob<'_>) -> u64| {
        Column::Integers(left.iter().map(|job| i64::try_from(of(job)).ok()).collect())
    };
    let numbers = |of: fn(&Submission) -> f64| {
        Column::Numbers(left.iter().map(|job| Some(of(job.1))).collect())
    };
    match (name, column) {
        ("index", _) => integers(|job| job.0 as u64),
        ("job", _) => integers(|job| job.1.job.id.0),
        ("devices", _) => integers(|job| job.1.devices() as u64),
        ("task", _) => Column::Texts(
            left.iter()
                .map(|job| Some(job.1.task.to_string()))
                .collect(),
        ),
        ("sensitive", _) => Column::Flags(
            left.iter()
                .map(|job| Some(job.1.job.request.is_sensitive()))
                .collect(),
        ),
        ("arrived_s", _) => {
            numbers(|submission| (submission.job.arrived - Time::ZERO).as_secs_f64())
        }
        ("deadline_s", _) => Column::Numbers(
            left.iter()
                .map(|job| Some((job.1.job.deadline? - Time::ZERO).as_secs_f64()))
                .collect(),
        ),
        ("work_s", _) => numbers(|submission| submission.work.as_secs_f64()),
        // The cells are empty, but of the column's type.
        (_, Column::Integers(_)) => Column::Integers(vec![None; left.len()]),
        (_, Column::Numbers(_)) => Column::Numbers(vec![None; left.len()]),
        (_, Column::Flags(_)) => Column::Flags(vec![None; left.len()]),
        _ => Column::Texts(vec![None; left.len()]),
    }
}
