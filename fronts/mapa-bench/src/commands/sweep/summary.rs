//! The summary of a finished sweep, as text: a row for each combination, over its seeds.

use mapa_front::text::{duration, duration_within, gbps, table};
use mapa_sim::mean_interval;

use super::plan::SweepPoint;
use super::store::StoredCell;
use super::values::{ColumnValues, ValueColumns};

/// A column: the name of a measure, its heading, and how it is written.
type SummaryColumn = (&'static str, &'static str, WrittenMean);

/// How a mean over seeds is written, and half of its interval if there is one.
type WrittenMean = fn(f64, Option<f64>) -> String;

const SHOWN: [SummaryColumn; 6] = [
    ("makespan_s", "makespan", time),
    ("completion_mean_s", "completion", time),
    ("wait_mean_s", "wait", time),
    ("wait_p95_s", "p95 wait", time),
    ("utilisation", "utilisation", three),
    (
        "sensitive_ring_packing_p50_gbps",
        "median of rings, GB/s",
        bandwidth,
    ),
];

/// The columns on deadlines, which are left out if no job has one.
const OF_DEADLINES: [SummaryColumn; 3] = [
    ("late_share", "late", percent),
    ("tardiness_mean_s", "tardiness", time),
    ("energy_wh", "energy, kWh", kilowatt_hours),
];

fn percent(mean: f64, half: Option<f64>) -> String {
    let half = half.map_or(String::new(), |half| format!(" ± {:.1}", 100.0 * half));
    format!("{:.1}{half} %", 100.0 * mean)
}

fn kilowatt_hours(mean: f64, half: Option<f64>) -> String {
    three(mean / 1000.0, half.map(|half| half / 1000.0))
}

fn time(mean: f64, half: Option<f64>) -> String {
    half.map_or_else(|| duration(mean), |half| duration_within(mean, half))
}

fn three(mean: f64, half: Option<f64>) -> String {
    let half = half.map_or(String::new(), |half| format!(" ± {half:.3}"));
    format!("{mean:.3}{half}")
}

fn bandwidth(mean: f64, half: Option<f64>) -> String {
    let half = half.map_or(String::new(), |half| format!(" ± {}", gbps(half)));
    gbps(mean) + &half
}

/// The cells of one combination of machine, workload, scheduler, execution model and policy: one
/// for each seed.
struct SummaryGroup<'a> {
    words: [&'a str; 5],
    kept: Vec<&'a StoredCell>,
}

/// The means over seeds; a time after `±` is half of the 95 % interval (Student's t).
pub(super) fn summary(cells: &[(SweepPoint<'_>, Box<StoredCell>)]) -> comfy_table::Table {
    let mut groups: Vec<SummaryGroup<'_>> = Vec::new();
    for (cell, kept) in cells {
        let words = [
            cell.machine,
            cell.jobs.word.as_str(),
            cell.scheduler.words(),
            cell.execution.words(),
            cell.policy,
        ];
        // Seeds are an outer loop of the plan and schedulers an inner one, so the cells of a group are not
        // neighbours.
        match groups.iter_mut().find(|group| group.words == words) {
            Some(group) => group.kept.push(kept),
            None => groups.push(SummaryGroup {
                words,
                kept: vec![kept],
            }),
        }
    }
    let about = [
        "machine",
        "workload",
        "scheduler",
        "execution",
        "policy",
        "cells",
        "failed",
    ];
    let has = |name: &str| {
        let mut all = cells.iter();
        all.any(|(_, kept)| number(&kept.summary, name).is_some())
    };
    let mut shown = SHOWN.to_vec();
    if has("late_share") {
        shown.extend(OF_DEADLINES);
    }
    let header = about
        .into_iter()
        .chain(shown.iter().map(|(_, head, _)| *head));
    let mut rows = table(header, 5..about.len() + shown.len());
    for SummaryGroup { words, kept } in groups {
        let failed = kept.iter().filter(|cell| cell.error.is_some()).count();
        let mut cells: Vec<String> = words.map(str::to_owned).into();
        cells.extend([kept.len().to_string(), failed.to_string()]);
        cells.extend(shown.iter().map(|(name, _, text)| {
            // Failed cells have no numbers, and do not count.
            let values: Vec<f64> = kept
                .iter()
                .filter_map(|cell| number(&cell.summary, name))
                .collect();
            mean(&values, *text)
        }));
        rows.add_row(cells);
    }
    rows
}

/// The number of a cell's row in this column.
fn number(summary: &ValueColumns, name: &str) -> Option<f64> {
    let (_, values) = summary.iter().find(|(key, _)| key == name)?;
    match values {
        // A cell's summary has one row.
        ColumnValues::Numbers(values) => values.first().copied().flatten(),
        _ => None,
    }
}

fn mean(values: &[f64], text: WrittenMean) -> String {
    match values {
        [] => "-".to_owned(),
        [one] => text(*one, None),
        several => {
            let interval = mean_interval(several);
            text(interval.mean, Some((interval.high - interval.low) / 2.0))
        }
    }
}
