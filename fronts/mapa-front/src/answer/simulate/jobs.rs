//! A row for each job of a workload, whatever its outcome.

use mapa_sched::Time;
use mapa_sim::{Column, Error, Row, Submission, Table};

use super::run::{PolicyRun, Simulated};

impl PolicyRun {
    /// A row for each job of the workload: finished jobs, then rejected ones, then those that never
    /// ended. The column `status` tells them apart. Cells of events that did not happen are empty.
    ///
    /// # Errors
    /// A measure of jobs is called `status`.
    pub fn jobs_table(&self, what: Simulated<'_>) -> Result<Table, Error> {
        let mut rows = Row::table(&self.rows, what.fleet);
        let (rejected, waiting) = (&self.outcome.rejected, &self.outcome.waiting);
        // The order is that of `words` below: the row tells the status.
        let left: Vec<(usize, &Submission)> = rejected
            .iter()
            .map(|rejected| rejected.index)
            .chain(waiting.iter().copied())
            .filter_map(|at| Some((at, what.workload.jobs.get(at)?)))
            .collect();
        // The columns are those of finished jobs, or the two tables could not be appended.
        let columns = rows
            .columns()
            .iter()
            .map(|(name, column)| (name.clone(), cells(name, column, &left)));
        rows.append(&Table::new(columns)?)?;
        let words = [
            ("finished", self.rows.len()),
            ("rejected", rejected.len()),
            ("waiting", waiting.len()),
        ];
        let status = words
            .into_iter()
            .flat_map(|(word, n)| std::iter::repeat_n(Some(word.to_owned()), n))
            .collect();
        let status = ("status".to_owned(), Column::Texts(status));
        Table::new([status].into_iter().chain(rows.columns().iter().cloned()))
    }
}

/// A column for jobs that have not finished. Its cells have what is known before a job runs, and
/// are empty otherwise.
fn cells(name: &str, column: &Column, left: &[(usize, &Submission)]) -> Column {
    let integers = |of: fn(&(usize, &Submission)) -> u64| {
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
