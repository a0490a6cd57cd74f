//! The definition of a measure, and how the values of several jobs are pooled.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_sched::{Assignment, Fleet, Time};

use super::fragmentation::share_of_device;
use super::quantile::quantile;
use super::rows::Row;
use crate::outcome::Outcome;

/// One quantity that is computed from a simulation, or from each of its jobs.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name, in snake case. A unit of seconds, GB/s or Wh is at the end, as in `wait_s`.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What it is computed from.
    pub of: MeasureScope,
    /// Whether [`Row::table`](super::Row::table) has a column of it. Only for measures of jobs.
    pub in_rows: bool,
    /// The statistics of the jobs' values that a summary has; may be empty. Only for measures of
    /// jobs that are numbers.
    pub pooled: &'static [Pooled],
    /// Whether more of it is better.
    pub better: Better,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// No unit: words, ids, true and false.
    None,
    /// A number of things.
    Count,
    /// Seconds. Names end in `_s`.
    Seconds,
    /// 10⁹ bytes a second. Names end in `_gbps`.
    GbPerSecond,
    /// Jobs an hour.
    JobsPerHour,
    /// A share, usually from 0 to 1. Utilisation exceeds 1 if tenants share devices.
    Share,
    /// A ratio of two times.
    Times,
    /// Watt-hours: 3,600 joules. Names end in `_wh`.
    WattHours,
}

impl Unit {
    /// The suffix of the names of its measures.
    fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => "_s",
            Self::GbPerSecond => "_gbps",
            Self::WattHours => "_wh",
            _ => "",
        }
    }
}

/// What a measure is computed from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum MeasureScope {
    /// A whole number of each job.
    Integer(fn(&Row) -> u64),
    /// A number of each job, `None` where a job has none.
    Number(fn(&Row) -> Option<f64>),
    /// A property that each job has or has not.
    Flag(fn(&Row) -> bool),
    /// A text of each job. The fleet is the one it ran on.
    Text(fn(&Row, &Fleet) -> String),
    /// A whole number of the simulation.
    RunCount(fn(&Simulated<'_>) -> usize),
    /// A number of the simulation, NaN where it has none.
    RunNumber(fn(&Simulated<'_>) -> f64),
}

/// Statistics of the values of some jobs, as numbers of a summary.
#[derive(Clone, Copy, Debug)]
pub struct Pooled {
    /// The jobs whose values are pooled.
    pub jobs: Jobs,
    /// The statistics.
    pub by: Pool,
    /// Its place among the pooled numbers of a summary. Numbers of one place are in the order of
    /// the table.
    pub place: u8,
}

impl Pooled {
    /// The place behind all others.
    pub const LAST: u8 = u8::MAX;
}

/// Which of the jobs that finished are pooled in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jobs {
    /// All jobs. These numbers are not in the [groups](super::Group).
    All,
    /// Those of two or more devices.
    Several,
    /// Sensitive jobs of two or more devices: names begin with `sensitive_`.
    SensitiveSeveral,
    /// Sensitive jobs of any size, as the paper's box plots pool them: names begin with
    /// `sensitive_pooled_`.
    Sensitive,
}

impl Jobs {
    /// Whether a job is one of them.
    #[must_use]
    pub fn has(self, row: &Row) -> bool {
        match self {
            Self::All => true,
            Self::Several => row.devices > 1,
            Self::SensitiveSeveral => row.sensitive && row.devices > 1,
            Self::Sensitive => row.sensitive,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::All | Self::Several => "",
            Self::SensitiveSeveral => "sensitive_",
            Self::Sensitive => "sensitive_pooled_",
        }
    }
}

/// A set of statistics of the values of several jobs. Each statistic is a number of its own, whose
/// name has the statistic before the unit: `wait_p95_s` of `wait_s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pool {
    /// The mean.
    Mean,
    /// The mean, the median, the 95th and 99th percentile, and the largest value.
    Spread,
    /// The least value, the quartiles, and the largest value.
    Quartiles,
    /// The share of the jobs whose value is 1; all values are 0 or 1. The number has the name of
    /// the measure.
    Share,
}

/// A statistic of sorted values, NaN of none.
#[derive(Clone, Copy)]
enum Statistic {
    Mean,
    Quantile(f64),
}

impl Pool {
    /// The statistics of the set, with their names.
    fn statistics(self) -> &'static [(&'static str, Statistic)] {
        use Statistic::{Mean, Quantile};
        match self {
            Self::Mean => &[("_mean", Mean)],
            Self::Share => &[("", Mean)],
            Self::Spread => &[
                ("_mean", Mean),
                ("_p50", Quantile(0.5)),
                ("_p95", Quantile(0.95)),
                ("_p99", Quantile(0.99)),
                ("_max", Quantile(1.0)),
            ],
            Self::Quartiles => &[
                ("_min", Quantile(0.0)),
                ("_p25", Quantile(0.25)),
                ("_p50", Quantile(0.5)),
                ("_p75", Quantile(0.75)),
                ("_max", Quantile(1.0)),
            ],
        }
    }
}

/// Whether more of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither: it describes.
    Neither,
}

/// A simulation that has ended. Measures of a run are computed from it.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'a> {
    /// The outcome of the workload.
    pub outcome: &'a Outcome,
    /// Its rows.
    pub rows: &'a [Row],
    /// The fleet as it was before the simulation.
    pub fleet: &'a Fleet,
}

impl Simulated<'_> {
    /// From the first arrival of a job that finished to the last end. O(jobs).
    #[must_use]
    pub fn makespan(&self) -> Duration {
        let first = self.rows.iter().map(|row| row.arrived).min();
        let last = self.rows.iter().map(|row| row.ended).max();
        last.unwrap_or_default() - first.unwrap_or_default()
    }

    /// Device-seconds that jobs held, over the fleet's whole devices x makespan. An instance counts
    /// for its share of its device's compute slices, whatever the device's layout is at the moment.
    /// Above 1 where tenants share devices. Tasks that share a device hold it once. O(n log n) for n
    /// stays.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let machines = self.fleet.machines();
        let devices: usize = machines
            .iter()
            .map(|machine| machine.graph().wholes().len())
            .sum();
        let stays = self.outcome.runs.iter().flat_map(|run| &run.stays);
        let busy: f64 = stays
            .map(|stay| (stay.until - stay.from).as_secs_f64() * held(&stay.at, self.fleet))
            .sum();
        let busy = busy + shared(self.outcome, self.fleet);
        // The sum of no floats is -0, which would be written with its sign.
        (busy + 0.0) / (devices as f64 * self.makespan().as_secs_f64())
    }
}

/// The device-seconds during which devices had a task. Any number of tasks at once count as one.
fn shared(outcome: &Outcome, fleet: &Fleet) -> f64 {
    let mut spans: BTreeMap<_, Vec<(Time, Time)>> = BTreeMap::new();
    let tasks = outcome.runs.iter().flat_map(|run| &run.tasks);
    for stay in tasks.flat_map(|task| &task.stays) {
        for (_, machine, placement) in stay.at.parts() {
            for &id in placement.iter() {
                let own = spans.entry((machine, id)).or_default();
                own.push((stay.from, stay.until));
            }
        }
    }
    let mut all = 0.0;
    for ((machine, id), mut spans) in spans {
        spans.sort_unstable();
        let (mut until, mut busy) = (Time::ZERO, Duration::ZERO);
        for (from, end) in spans {
            busy += end.since(from.max(until));
            until = until.max(end);
        }
        if let Ok(machine) = fleet.machine(machine) {
            all += busy.as_secs_f64() * share_of_device(machine.graph(), id);
        }
    }
    all
}

/// How many devices a job holds, instances counted by their shares.
fn held(at: &Assignment, fleet: &Fleet) -> f64 {
    let mut held = 0.0;
    for (_, machine, placement) in at.parts() {
        if let Ok(machine) = fleet.machine(machine) {
            let devices = placement.set();
            let shares = devices
                .iter()
                .map(|id| share_of_device(machine.graph(), id));
            held += shares.sum::<f64>();
        }
    }
    held
}

/// A number under its name; `None` where there is none.
pub(super) type NamedNumber = (String, Option<f64>);

impl Measure {
    /// The value of this measure for a job, if it is a number.
    #[must_use]
    pub fn number(&self, row: &Row) -> Option<f64> {
        match self.of {
            MeasureScope::Integer(of) => Some(of(row) as f64),
            MeasureScope::Number(of) => of(row),
            MeasureScope::Flag(of) => Some(f64::from(of(row))),
            MeasureScope::Text(_) | MeasureScope::RunCount(_) | MeasureScope::RunNumber(_) => None,
        }
    }

    /// Statistics of this measure's values over some jobs, by name. O(n log n) for n jobs.
    pub(super) fn pool<'r>(
        &self,
        prefix: &str,
        by: Pool,
        rows: impl Iterator<Item = &'r Row>,
    ) -> impl Iterator<Item = NamedNumber> {
        let mut values: Vec<f64> = rows.filter_map(|row| self.number(row)).collect();
        // Sorted also for the mean: its last bit depends on the order of the sum.
        values.sort_by(f64::total_cmp);
        let suffix = self.unit.suffix();
        let stem = self.name.strip_suffix(suffix).unwrap_or(self.name);
        by.statistics().iter().map(move |(word, statistic)| {
            let value = match statistic {
                Statistic::Mean => values.iter().sum::<f64>() / values.len() as f64,
                Statistic::Quantile(p) => quantile(&values, *p),
            };
            let name = format!("{prefix}{stem}{word}{suffix}");
            (name, Some(value).filter(|value| !value.is_nan()))
        })
    }
}

/// The pooled entries of these measures, each with its measure, in the order of summaries.
pub(super) fn pooled(measures: &[Measure]) -> Vec<(&Measure, &Pooled)> {
    let mut all: Vec<(&Measure, &Pooled)> = measures
        .iter()
        .flat_map(|measure| measure.pooled.iter().map(move |pooled| (measure, pooled)))
        .collect();
    all.sort_by_key(|(_, pooled)| pooled.place);
    all
}

/// The numbers of a summary that are pooled over jobs.
pub(super) fn pooled_numbers(measures: &[Measure], rows: &[Row]) -> Vec<NamedNumber> {
    pooled(measures)
        .into_iter()
        .flat_map(|(measure, Pooled { jobs, by, .. })| {
            measure.pool(jobs.prefix(), *by, rows.iter().filter(|row| jobs.has(row)))
        })
        .collect()
}
