//! The simulation of one cell, and its numbers.

use mapa_sched::Fleet;
use mapa_sim::{Outcome, Row, Scorer, Summary, Workload};

use super::plan::SweepPoint;
use super::store::StoredCell;
use super::values::{ColumnValues, ValueColumns, columns};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_front::names::Choice;
use mapa_front::simulation::simulation;
use mapa_front::systems::measures;

/// Simulates a cell. A failure is kept in place of its numbers.
pub(super) fn run(cell: &SweepPoint<'_>, rows: bool) -> StoredCell {
    let outcome = simulate(cell, rows).map_err(|failure| match failure {
        Failure::Malformed(what) | Failure::Answered(what) => what,
        Failure::Refused(why) => why.to_string(),
        // Machines are partitioned in the plan, and a cell prints nothing, so neither of these comes up.
        Failure::NoFit(_) | Failure::Closed => "no answer".to_owned(),
    });
    StoredCell::new(cell, outcome)
}

fn simulate(
    cell: &SweepPoint<'_>,
    rows: bool,
) -> Result<(ValueColumns, Option<ValueColumns>), Failure> {
    let workload = cell.jobs.get()?;
    let policy = NAMES.policy(cell.policy, &Choice::default())?;
    let mut scheduler = NAMES.scheduler(cell.scheduler, policy, cell.execution)?;
    let execution = NAMES.execution(cell.execution, &workload)?;
    let simulation = simulation(&workload, cell.idle.clone());
    let outcome = simulation
        .run(scheduler.as_mut(), execution.as_ref())
        .map_err(Failure::malformed)?;
    // Cells run on several threads, so each has a scorer of its own.
    let own = Row::of(&outcome, &workload, cell.idle, &mut Scorer::new());
    let jobs = rows.then(|| columns(&Row::table(&own, cell.idle)));
    Ok((summary(&own, &outcome, &workload, cell.idle)?, jobs))
}

/// The row of a cell: the number of jobs, then the summary.
fn summary(
    rows: &[Row],
    outcome: &Outcome,
    workload: &Workload,
    idle: &Fleet,
) -> Result<ValueColumns, Failure> {
    let jobs = ColumnValues::Integers(vec![i64::try_from(workload.jobs.len()).ok()]);
    let summary = Summary::by(&measures(), outcome, rows, idle).map_err(Failure::malformed)?;
    let numbers = columns(&summary.table());
    let row = [("jobs".to_owned(), jobs)]
        .into_iter()
        .chain(numbers)
        .collect();
    Ok(row)
}
