//! The summary of a finished sweep, as text: a row for each combination, over its seeds.

use mapa_front::commands::{FinishedCell, SweepGroup, SweepPoint};
use mapa_front::text::{duration, duration_within, gbps, table};

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

/// The means over seeds; a time after `±` is half of the 95 % interval (Student's t).
pub(super) fn summary(cells: &[(SweepPoint<'_>, FinishedCell)]) -> comfy_table::Table {
    let about = [
        "machine",
        "workload",
        "scheduler",
        "execution",
        "policy",
        "cells",
        "failed",
    ];
    let mut shown = SHOWN.to_vec();
    if cells
        .iter()
        .any(|(_, cell)| cell.number("late_share").is_some())
    {
        shown.extend(OF_DEADLINES);
    }
    let header = about
        .into_iter()
        .chain(shown.iter().map(|(_, head, _)| *head));
    let mut rows = table(header, 5..about.len() + shown.len());
    for group in SweepGroup::all(cells) {
        let mut cells: Vec<String> = group.words.map(str::to_owned).into();
        cells.extend([group.cells.len().to_string(), group.failed().to_string()]);
        cells.extend(shown.iter().map(|(name, _, text)| {
            let mean = group.mean(name);
            mean.map_or_else(|| "-".to_owned(), |(mean, half)| text(mean, half))
        }));
        rows.add_row(cells);
    }
    rows
}
