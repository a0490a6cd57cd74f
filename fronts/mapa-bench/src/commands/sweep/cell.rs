//! The simulation of one cell, and its numbers.

use mapa_sched::Fleet;
use mapa_sim::{Outcome, Row, Scorer, Summary, Workload};

use super::plan::Cell;
use super::store::Kept;
use super::values::{Columns, Values, columns};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_front::names::Choice;
use mapa_front::simulation::simulation;
use mapa_front::systems::measures;

/// Simulates a cell. A failure is kept in place of its numbers.
pub(super) fn run(cell: &Cell<'_>, rows: bool) -> Kept {
    let outcome = simulate(cell, rows).map_err(|failure| match failure {
        Failure::Malformed(what) | Failure::Answered(what) => what,
        Failure::Refused(why) => why.to_string(),
        // Machines are partitioned in the plan, and a cell prints nothing, so neither of these comes up.
        Failure::NoFit(_) | Failure::Closed => "no answer".to_owned(),
    });
    Kept::new(cell, outcome)
}

fn simulate(cell: &Cell<'_>, rows: bool) -> Result<(Columns, Option<Columns>), Failure> {
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
) -> Result<Columns, Failure> {
    let jobs = Values::Integers(vec![i64::try_from(workload.jobs.len()).ok()]);
    let summary = Summary::by(&measures(), outcome, rows, idle).map_err(Failure::malformed)?;
    let numbers = columns(&summary.table());
    let row = [("jobs".to_owned(), jobs)]
        .into_iter()
        .chain(numbers)
        .collect();
    Ok(row)
}
