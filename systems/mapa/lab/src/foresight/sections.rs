//! The sections of the report, by arrival pattern and by how much bandwidth matters.

use std::collections::BTreeMap;

use mapa_sim::{Interval, mean_interval};

use super::claims;
use super::setting::{ArrivalPattern, FORESIGHT, LEASES, PATIENCE, PRESERVE, RunTimeModel};
use super::trials::{ForesightNumber, ForesightTrials};
use crate::colours::colour;
use mapa_lab::claim::{bounds, mean_pm};
use mapa_lab::picture::{BoxGroup, BoxPlotWords, bars, boxes};
use mapa_lab::report::Section;

/// A column: its heading, its value, and whether differences are in percent of preserve's value.
type ShownColumn = (&'static str, ForesightNumber, bool);

/// The columns of the tables.
const COLUMNS: [ShownColumn; 8] = [
    ("min", |trial| trial.min, false),
    ("p25", |trial| trial.p25, false),
    ("p50", |trial| trial.p50, false),
    ("mean", |trial| trial.mean, false),
    ("starved, points", |trial| trial.starved, false),
    ("p5 share of idle, points", |trial| trial.share, false),
    ("makespan, %", |trial| trial.makespan, true),
    ("mean completion, %", |trial| trial.completion, true),
];

/// The difference of a policy from preserve in a column.
fn difference(trials: &ForesightTrials, name: &str, (_, of, percent): ShownColumn) -> Interval {
    mean_interval(&if percent {
        trials.percent_more(name, of)
    } else {
        trials.more(name, of)
    })
}

/// Adds the table of a setting: preserve's own values, then the differences of the others.
fn table(mut section: Section, trials: &ForesightTrials) -> Section {
    let mut rows = Vec::new();
    let mut numbers = BTreeMap::new();
    for (chooser, _) in &trials.of {
        let name = chooser.name;
        let mut row = vec![name.to_owned()];
        let mut measures = BTreeMap::new();
        for column in COLUMNS {
            // The first row has preserve's own values, the others have differences from it.
            let (value, cell) = if name == PRESERVE {
                let value = mean_interval(&trials.per_file(name, column.1));
                (value, format!("{:.1}", value.mean))
            } else {
                let value = difference(trials, name, column);
                (value, signed(value))
            };
            row.push(cell);
            measures.insert(column.0.to_owned(), bounds(value));
        }
        let left: usize = trials.of(name).iter().map(|trial| trial.left).sum();
        row.push(left.to_string());
        rows.push(row);
        numbers.insert(name.to_owned(), measures);
    }
    section.insert(trials.setting.id(), numbers);
    let header = [""]
        .into_iter()
        .chain(COLUMNS.map(|(name, ..)| name))
        .chain(["jobs left"]);
    section
        .text(format!("### {}", trials.setting.place()))
        .table(header, rows)
}

fn signed(value: Interval) -> String {
    let sign = if value.mean >= 0.005 { "+" } else { "" };
    format!("{sign}{}", mean_pm(value))
}

/// The settings of an arrival pattern whose run times follow bandwidth as the policies assume.
fn of_arrivals(
    all: &[ForesightTrials],
    coming: ArrivalPattern,
) -> impl Iterator<Item = &ForesightTrials> + Clone {
    all.iter().filter(move |trials| {
        trials.setting.coming == coming && trials.setting.runs == RunTimeModel::ByBandwidth(1.0)
    })
}

/// One section for each arrival pattern.
pub(super) fn by_arrivals(all: &[ForesightTrials]) -> Vec<Section> {
    let mut sections = Vec::new();
    for (id, coming) in ["at-once", "load-0.7", "load-0.9"]
        .into_iter()
        .zip(ArrivalPattern::ALL)
    {
        let title = format!("Run times by bandwidth, {}", coming.name());
        let claims = of_arrivals(all, coming).flat_map(claims::by_bandwidth);
        let mut section = Section::new(id, title).claims(claims);
        section = if coming == ArrivalPattern::AtOnce {
            pictures(section, all)
        } else {
            section.text(
                "Limits of the makespan were written down for jobs that all arrive at once. If jobs arrive one by one, the last ends soon after \
                 the last arrival under every policy. Here the claim is that the makespan is lower, and the mean completion time too.",
            )
        };
        section = section.text(
            "First row: preserve's own values, means over files; bandwidths in GB/s, starved jobs and shares in percent, times in seconds. \
             Other rows: differences from the first row, per file, means ± half the 95 % interval. Starved jobs have less than 12.5 GB/s. A \
             share is of the best bandwidth that the idle machine has for this number of devices.",
        );
        sections.push(of_arrivals(all, coming).fold(section, table));
    }
    sections
}

/// A group for each machine and model, with the boxes of preserve and foresight.
fn groups(all: &[ForesightTrials], of: ForesightNumber) -> Vec<BoxGroup> {
    of_arrivals(all, ArrivalPattern::AtOnce)
        .map(|of_arrival| {
            let boxes = [PRESERVE, FORESIGHT].map(|name| (name, of_arrival.per_file(name, of)));
            (of_arrival.setting.label(), boxes.into())
        })
        .collect()
}

/// The words of a picture of bandwidths.
fn words(title: &str) -> BoxPlotWords<'_> {
    BoxPlotWords {
        title,
        y: "GB/s",
        top: 70.0,
        ..BoxPlotWords::default()
    }
}

fn pictures(section: Section, all: &[ForesightTrials]) -> Section {
    let named = [
        (LEASES, "#e69f00"),
        (PATIENCE, "#4a9fe0"),
        (FORESIGHT, "#8d7fd1"),
        ("foresight + queue", "#2fae86"),
    ];
    let mut makespans: Vec<(String, Vec<f64>)> = Vec::new();
    for of_arrival in of_arrivals(all, ArrivalPattern::AtOnce) {
        let shorter = named.map(|(name, _)| {
            -mean_interval(&of_arrival.percent_more(name, |trial| trial.makespan)).mean
        });
        makespans.push((of_arrival.setting.label(), shorter.into()));
    }
    section
        .picture(
            "minimum.svg",
            boxes(&groups(all, |trial| trial.min), colour, &words("The slowest sensitive job of each job file")),
            "The least bandwidth of a sensitive job, a value per job file; lines to the extremes",
        )
        .picture(
            "p25.svg",
            boxes(&groups(all, |trial| trial.p25), colour, &words("The 25th percentile of sensitive jobs' bandwidths, by job file")),
            "The 25th percentile of sensitive jobs' bandwidths, a value per job file; lines to the extremes",
        )
        .picture(
            "makespan.svg",
            bars(&makespans, &named, "How much sooner all jobs are done than under preserve", "% of preserve's makespan"),
            "By how much the makespan is shorter than preserve's: leases alone, patience alone, both, and with the queue",
        )
}

/// The section on the cost of patience if bandwidth matters less than foresight assumes.
pub(super) fn overstated(all: &[ForesightTrials]) -> Section {
    let mut section = Section::new("overstated", "Where sensitivity is overstated").text(
        "Makespan over preserve's, %, if all jobs arrive at the beginning. Foresight assumes that sensitive jobs take 2.1 times as long at 10 \
         GB/s as at 50. In truth they gain that much, a half of it, a quarter, or nothing. If it is known that jobs gain nothing, \
         that can be set, and no job waits (next section).",
    );
    let mut rows = Vec::new();
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for of_arrival in of_arrivals(all, ArrivalPattern::AtOnce) {
        let place = of_arrival.setting.place();
        for name in [FORESIGHT, "foresight, kappa 1"] {
            let values = makespans_by_gain(all, &place, name);
            let mut row = vec![place.clone(), name.to_owned()];
            row.extend(values.iter().map(|value| signed(*value)));
            rows.push(row);
            let numbers: Vec<_> = values.iter().map(|value| bounds(*value)).collect();
            section.insert(format!("{place}, {name}"), numbers);
            if name == FORESIGHT {
                let means = values.iter().map(|value| value.mean).collect();
                groups.push((of_arrival.setting.label(), means));
            }
        }
    }
    let names = [
        ("all of it", "#8d7fd1"),
        ("a half", "#4a9fe0"),
        ("a quarter", "#e69f00"),
        ("nothing", "#d62728"),
    ];
    section.table(["", "", "all of it", "a half", "a quarter", "nothing"], rows).picture(
        "overstated.svg",
        bars(&groups, &names, "Foresight's makespan over preserve's, by how much of the gain is true", "%"),
        "Makespan over preserve's if jobs gain all that foresight believes, a half, a quarter, nothing",
    )
}

/// A policy's makespan over preserve's, percent, for each part of the assumed gain that is true.
fn makespans_by_gain(all: &[ForesightTrials], place: &str, name: &str) -> Vec<Interval> {
    [1.0, 0.5, 0.25, 0.0]
        .into_iter()
        .filter_map(|gain| {
            all.iter().find(|trials| {
                trials.setting.place() == place
                    && trials.setting.coming == ArrivalPattern::AtOnce
                    && trials.setting.runs == RunTimeModel::ByBandwidth(gain)
            })
        })
        .map(|trials| mean_interval(&trials.percent_more(name, |trial| trial.makespan)))
        .collect()
}

/// The section on run times that do not depend on bandwidth, where foresight knows this.
pub(super) fn fixed(all: &[ForesightTrials]) -> Section {
    let mut section = Section::new("fixed", "Fixed run times").text(
        "Foresight is set to assume that links make no job faster. Only the placement remains: jobs start as soon as enough devices are free, \
         whichever these are.",
    );
    for trials in all
        .iter()
        .filter(|trials| trials.setting.runs == RunTimeModel::Fixed)
    {
        section = table(section.claims(claims::fixed(trials)), trials);
    }
    section
}
