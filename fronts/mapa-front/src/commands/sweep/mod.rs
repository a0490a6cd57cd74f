//! `sweep`: every combination of machines, workloads, schedulers, execution models and policies.
//!
//! A sweep is a list of independent cells: [`SweepPlan`] has them, [`SweepPoint::run`] computes one, and [`SweepTables`]
//! are the results of all. A front may keep finished cells anywhere, run the others in any order and on any number of
//! threads: the results are the same.

mod cell;
mod hash;
mod plan;
mod request;
mod results;
mod values;
mod workload;

use std::collections::BTreeMap;

pub use cell::FinishedCell;
pub use plan::{SweepPlan, SweepPoint};
pub use request::SweepRequest;
pub use results::{SweepGroup, SweepRows, SweepTables};
pub use workload::SweepJobs;

use crate::error::Error;
use crate::files::Files;
use crate::names::Names;

/// Runs a sweep, one cell after another, and returns its results. With `rows`, they have a row for each job too.
///
/// Cells that are `known` from earlier are not run again; others are ignored. `finished` gets each cell that was run:
/// a caller that keeps it can continue there after an interruption.
///
/// # Errors
/// As [`SweepPlan::new`]; and what `finished` returns, which ends the sweep. A cell that fails has its error in its row.
pub fn sweep(
    names: &Names,
    files: &dyn Files,
    request: &SweepRequest,
    rows: bool,
    known: impl IntoIterator<Item = FinishedCell>,
    finished: &mut dyn FnMut(&SweepPoint<'_>, &FinishedCell) -> Result<(), Error>,
) -> Result<SweepTables, Error> {
    let plan = SweepPlan::new(names, files, request, &mut |_| {})?;
    // A cell that was run without the rows of its jobs is run again for these.
    let known = known.into_iter().filter(|cell| cell.has_jobs() || !rows);
    let known: BTreeMap<String, FinishedCell> =
        known.map(|cell| (cell.key().to_owned(), cell)).collect();
    let mut cells = Vec::new();
    for point in plan.cells() {
        let cell = match known.get(&point.key()) {
            // Several cells of a plan may be equal, and then have one key.
            Some(cell) => cell.clone(),
            None => {
                let cell = point.run(names, rows);
                finished(&point, &cell)?;
                cell
            }
        };
        cells.push((point, cell));
    }
    SweepTables::new(&cells, rows)
}
