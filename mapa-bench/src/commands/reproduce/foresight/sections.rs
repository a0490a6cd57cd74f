//! What came of it, by arrivals and by how much bandwidth matters.

use mapa_sim::{Interval, mean_interval};
use serde_json::{Map, Value};

use super::super::claim::{interval_json, mean_pm};
use super::super::picture::{Group, Words, bars, boxes};
use super::super::report::Section;
use super::claims;
use super::setting::{Coming, FORESIGHT, LEASES, PATIENCE, PRESERVE, Runs};
use super::trials::{Of, Trials};

/// A column: its heading, the value, and whether differences are in percent of preserve's.
type Shown = (&'static str, Of, bool);

/// What tables show.
const COLUMNS: [Shown; 8] = [
    ("min", |own| own.min, false),
    ("p25", |own| own.p25, false),
    ("p50", |own| own.p50, false),
    ("mean", |own| own.mean, false),
    ("starved, points", |own| own.starved, false),
    ("p5 share of idle, points", |own| own.share, false),
    ("makespan, %", |own| own.makespan, true),
    ("mean completion, %", |own| own.completion, true),
];

fn difference(trials: &Trials, name: &str, (_, of, percent): Shown) -> Interval {
    mean_interval(&if percent { trials.percent_more(name, of) } else { trials.more(name, of) })
}

/// A table of a setting: preserve's own values, then how much more the others have.
fn table(mut section: Section, trials: &Trials) -> Section {
    let mut rows = Vec::new();
    let mut numbers = Map::new();
    for (chooser, _) in &trials.of {
        let name = chooser.name;
        let own = |column: Shown| {
            let value = mean_interval(&trials.per_file(name, column.1));
            if name == PRESERVE { value } else { difference(trials, name, column) }
        };
        let values: Vec<Interval> = COLUMNS.into_iter().map(own).collect();
        let cell = |value: &Interval| if name == PRESERVE { format!("{:.1}", value.mean) } else { signed(*value) };
        let left: usize = trials.of(name).iter().map(|trial| trial.left).sum();
        rows.push(
            [name.to_owned()].into_iter().chain(values.iter().map(cell)).chain([left.to_string()]).collect::<Vec<_>>(),
        );
        let measures = COLUMNS.iter().zip(&values).map(|((key, ..), value)| ((*key).to_owned(), interval_json(*value)));
        numbers.insert(name.to_owned(), Value::Object(measures.collect()));
    }
    section.numbers.insert(trials.setting.id(), Value::Object(numbers));
    let header = [""].into_iter().chain(COLUMNS.map(|(name, ..)| name)).chain(["jobs left"]);
    section.text(format!("### {}", trials.setting.place())).table(header, rows)
}

fn signed(value: Interval) -> String {
    let sign = if value.mean >= 0.005 { "+" } else { "" };
    format!("{sign}{}", mean_pm(value))
}

/// Settings whose run times follow bandwidth as everybody believes.
fn of_arrivals(all: &[Trials], coming: Coming) -> impl Iterator<Item = &Trials> + Clone {
    all.iter().filter(move |own| own.setting.coming == coming && own.setting.runs == Runs::ByBandwidth(1.0))
}

/// A section for each way of coming.
pub(super) fn by_arrivals(all: &[Trials]) -> Vec<Section> {
    let ids = ["at-once", "load-0.7", "load-0.9"];
    let section = |(id, coming): (&'static str, Coming)| {
        let title = format!("Run times by bandwidth, {}", coming.name());
        let mut section = Section::new(id, title).claims(of_arrivals(all, coming).flat_map(claims::by_bandwidth));
        if coming == Coming::AtOnce {
            section = pictures(section, all);
        }
        if coming != Coming::AtOnce {
            section = section.text(
                "Limits of the makespan were set down for jobs that are all there at once. Where they come one by one, the last ends soon \
                 after the last has come, whoever chooses: here the makespan is to be lower, and the mean completion time.",
            );
        }
        let section = section.text(
            "First row: preserve's own values, means over files; bandwidths in GB/s, starved jobs and shares in percent, times in \
             seconds. Other rows: differences from it, per file, means ± half the 95 % interval. Starved jobs have less than 12.5 GB/s; \
             a share is of the best that the idle machine has for as many devices.",
        );
        of_arrivals(all, coming).fold(section, table)
    };
    ids.into_iter().zip(Coming::ALL).map(section).collect()
}

fn pictures(section: Section, all: &[Trials]) -> Section {
    let at_once = of_arrivals(all, Coming::AtOnce);
    let group = |of: Of| -> Vec<Group> {
        let boxes = |own: &Trials| [PRESERVE, FORESIGHT].map(|name| (name, own.per_file(name, of))).into();
        at_once.clone().map(|own| (own.setting.label(), boxes(own))).collect()
    };
    let words = |title| Words { title, y: "GB/s", top: 70.0, ..Words::default() };
    let named = [(LEASES, "#e69f00"), (PATIENCE, "#4a9fe0"), (FORESIGHT, "#8d7fd1"), ("foresight + queue", "#2fae86")];
    let makespans: Vec<(String, Vec<f64>)> = at_once
        .clone()
        .map(|own| {
            let value = |(name, _): (&str, &str)| -mean_interval(&own.percent_more(name, |trial| trial.makespan)).mean;
            (own.setting.label(), named.map(value).into())
        })
        .collect();
    section
        .picture(
            "minimum.svg",
            boxes(&group(|own| own.min), &words("The slowest sensitive job of each job file")),
            "The least bandwidth of a sensitive job, a value per job file; lines to the extremes",
        )
        .picture(
            "p25.svg",
            boxes(&group(|own| own.p25), &words("The 25th percentile of sensitive jobs' bandwidths, by job file")),
            "The 25th percentile of sensitive jobs' bandwidths, a value per job file; lines to the extremes",
        )
        .picture(
            "makespan.svg",
            bars(&makespans, &named, "How much sooner all jobs are done than under preserve", "% of preserve's makespan"),
            "By how much the makespan is shorter than preserve's: leases alone, patience alone, both, and with the queue",
        )
}

/// What patience costs if bandwidth matters less than it believes.
pub(super) fn overstated(all: &[Trials]) -> Section {
    let mut section = Section::new("overstated", "Where sensitivity is overstated").text(
        "Makespan over preserve's, %, all jobs there from the beginning. Foresight believes that sensitive jobs take 2.1 times as long \
         at 10 GB/s as at 50; in truth they gain that much, a half of it, a quarter, nothing. Who knows that nothing is gained says so, and \
         nobody waits (next section).",
    );
    let gains = [1.0, 0.5, 0.25, 0.0];
    let mut rows = Vec::new();
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    let places = || of_arrivals(all, Coming::AtOnce);
    for (place, label) in places().map(|own| (own.setting.place(), own.setting.label())) {
        let of_gain = |gain: f64| {
            let is_it = |own: &&Trials| {
                let setting = own.setting;
                setting.place() == place && setting.coming == Coming::AtOnce && setting.runs == Runs::ByBandwidth(gain)
            };
            all.iter().find(is_it)
        };
        let values = |name: &str| -> Vec<Interval> {
            let one = |gain| of_gain(gain).map(|own| mean_interval(&own.percent_more(name, |trial| trial.makespan)));
            gains.into_iter().filter_map(one).collect()
        };
        for name in [FORESIGHT, "foresight, kappa 1"] {
            let values = values(name);
            let cells = values.iter().map(|value| signed(*value));
            rows.push([place.clone(), name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>());
            let json = values.iter().map(|value| interval_json(*value)).collect();
            section.numbers.insert(format!("{place}, {name}"), Value::Array(json));
        }
        groups.push((label, values(FORESIGHT).iter().map(|value| value.mean).collect()));
    }
    let names = [("all of it", "#8d7fd1"), ("a half", "#4a9fe0"), ("a quarter", "#e69f00"), ("nothing", "#d62728")];
    section.table(["", "", "all of it", "a half", "a quarter", "nothing"], rows).picture(
        "overstated.svg",
        bars(&groups, &names, "Foresight's makespan over preserve's, by how much of the gain is true", "%"),
        "Makespan over preserve's if jobs gain all that foresight believes, a half, a quarter, nothing",
    )
}

/// Where run times do not depend on bandwidth, and it is known.
pub(super) fn fixed(all: &[Trials]) -> Section {
    let of = || all.iter().filter(|own| own.setting.runs == Runs::Fixed);
    let section = Section::new("fixed", "Fixed run times")
        .claims(of().flat_map(claims::fixed))
        .text("Foresight is told that links make no job faster. Placement alone is left: jobs start when enough devices are free, whichever \
             those are.");
    of().fold(section, table)
}
