//! One cell: a simulation, and its numbers.

use std::time::Duration;

use mapa_sim::{Column, Outcome, Row, Scorer, Simulation, Table, Workload, quantile};

use super::plan::Cell;
use super::store::Kept;
use super::values::{Columns, columns};
use crate::cli::Preserved;
use crate::failure::Failure;
use crate::request::policy;
use crate::simulation::{execution, scheduler};

/// Simulates a cell. What goes wrong is what came of it.
pub(super) fn run(cell: &Cell<'_>, rows: bool) -> Kept {
    let outcome = simulate(cell, rows).map_err(|failure| match failure {
        Failure::Malformed(what) | Failure::Answered(what) => what,
        Failure::Refused(why) => why.to_string(),
        Failure::NoFit(_) | Failure::Closed => "no answer".to_owned(),
    });
    Kept::new(cell, outcome)
}

fn simulate(cell: &Cell<'_>, rows: bool) -> Result<(Columns, Option<Columns>), Failure> {
    let workload = cell.jobs.get()?;
    let policy = policy(cell.policy, None, Preserved::All)?;
    let mut scheduler = scheduler(cell.scheduler, policy)?;
    let execution = execution(cell.execution)?;
    let simulation = Simulation::new(&workload, cell.idle.clone());
    let outcome = simulation.run(scheduler.as_mut(), execution.as_ref()).map_err(Failure::malformed)?;
    let own = Row::of(&outcome, &workload, cell.idle, &mut Scorer::new());
    let jobs = rows.then(|| columns(&Row::table(&own, cell.idle)));
    Ok((columns(&summary(&own, &outcome, &workload, cell)?), jobs))
}

/// The numbers of a cell, as a table of one row.
fn summary(rows: &[Row], outcome: &Outcome, workload: &Workload, cell: &Cell<'_>) -> Result<Table, Failure> {
    let integer = |number: usize| Column::Integers(vec![i64::try_from(number).ok()]);
    let number = |value: f64| Column::Numbers(vec![value.is_finite().then_some(value)]);
    let seconds = |length: Duration| length.as_secs_f64();
    let mean = |length: fn(&Row) -> Duration| {
        number(rows.iter().map(|row| seconds(length(row))).sum::<f64>() / rows.len() as f64)
    };
    let first = rows.iter().map(|row| row.arrived).min().unwrap_or_default();
    let last = rows.iter().map(|row| row.ended).max().unwrap_or_default();
    let makespan = seconds(last - first);
    let devices: usize = cell.idle.machines().iter().map(|machine| machine.graph().wholes().len()).sum();
    let used: f64 = rows.iter().map(|row| row.devices as f64 * seconds(row.ran)).sum();
    let columns = [
        ("jobs", integer(workload.jobs.len())),
        ("finished", integer(rows.len())),
        ("rejected", integer(outcome.rejected.len())),
        ("waiting", integer(outcome.waiting.len())),
        ("makespan_s", number(makespan)),
        ("throughput_per_h", number(rows.len() as f64 * 3600.0 / makespan)),
        ("mean_wait_s", mean(Row::waited)),
        ("mean_completion_s", mean(Row::completion)),
        ("utilisation", number(used / (devices as f64 * makespan))),
    ];
    let sensitive: Vec<&Row> = rows.iter().filter(|row| row.sensitive && row.devices > 1).collect();
    let effective = quartiles("effective_gbps", sensitive.iter().map(|row| row.scores.effective_gbps));
    let packed = quartiles("ring_packing_gbps", sensitive.iter().filter_map(|row| row.scores.ring_packing_gbps));
    let columns = columns.map(|(name, column)| (name.to_owned(), column));
    Table::new(columns.into_iter().chain(effective).chain(packed)).map_err(Failure::malformed)
}

/// The five numbers of a box plot, of sensitive jobs on several devices.
fn quartiles(name: &str, values: impl Iterator<Item = f64>) -> [(String, Column); 5] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [("min", 0.0), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("max", 1.0)].map(|(part, p)| {
        let value = Some(quantile(&values, p)).filter(|value| value.is_finite());
        (format!("sensitive_{part}_{name}"), Column::Numbers(vec![value]))
    })
}
