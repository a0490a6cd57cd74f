//! What a simulation comes to: one row of numbers, and bandwidths by sensitivity and size.
//!
//! Bandwidths are of the devices where jobs ended. One device has none: Eq. 2, which is a function of link counts, gives it 12.335
//! GB/s all the same, and the paper's box plots have these jobs among the others, so that their lower quartile is that number wherever
//! a quarter of the jobs is small. Here they stand apart, and where they are pooled the name says so.

use std::collections::BTreeSet;
use std::time::Duration;

use mapa_core::Placement;
use mapa_sched::{Fleet, Placed};

use super::fragmentation::share_of_device;
use super::quantile::{Quartiles, quantile};
use super::rows::Row;
use crate::outcome::Outcome;
use crate::table::{Column, Table};

/// Below it, GB/s, a job's rings cross the host: what one PCIe path of the paper's machines carries, 12, with some slack for Eq. 2.
const SLOW_GBPS: f64 = 12.5;

/// How jobs fared under one scheduler on one fleet.
///
/// Means, quantiles and shares are of jobs that finished, NaN where there are none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Jobs that finished.
    pub finished: usize,
    /// Jobs that were told no.
    pub rejected: usize,
    /// Jobs that waited for what never came.
    pub waiting: usize,
    /// Jobs of several devices that finished where Eq. 2 was not fitted to such ([`Scores::in_domain`](super::Scores::in_domain)): their
    /// effective bandwidths are no predictions.
    pub out_of_domain: usize,
    /// From the first arrival of a job that finished to the last end.
    pub makespan: Duration,
    /// Jobs that finished over the makespan.
    pub jobs_per_hour: f64,
    /// Device-seconds that jobs held, over the fleet's whole devices x makespan. An instance counts for its share of its device's compute
    /// slices, however the device is cut up at the moment. Above 1 where tenants share devices.
    pub utilisation: f64,
    /// From arrival to end, seconds.
    pub completion_s: Spread,
    /// From arrival to start, seconds.
    pub wait_s: Spread,
    /// [`Row::slowdown`].
    pub slowdown: Spread,
    /// [`Row::bounded_slowdown`].
    pub bounded_slowdown: Spread,
    /// [`Row::execution_slowdown`], the mean.
    pub execution_slowdown: f64,
    /// Bandwidths: of jobs that are sensitive, that are not, and of all; each pooled, of several devices, and by size.
    pub groups: Vec<Group>,
}

/// How values are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of these values, in any order; NaN of none. O(n log n).
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values);
        let [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1.0].map(|p| quantile(&sorted, p));
        Self { mean: mean(&sorted), p50, p95, p99, max }
    }
}

/// How many devices the jobs of a group have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupSize {
    /// Any number, one among them, as the paper's box plots have it.
    Pooled,
    /// Two or more.
    Several,
    /// So many.
    Of(usize),
}

impl GroupSize {
    fn has(self, devices: usize) -> bool {
        match self {
            Self::Pooled => true,
            Self::Several => devices > 1,
            Self::Of(size) => devices == size,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Pooled => "pooled".to_owned(),
            Self::Several => "several".to_owned(),
            Self::Of(size) => size.to_string(),
        }
    }
}

/// The bandwidths of some jobs that finished, GB/s.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// Whether they are sensitive; none: whether or not.
    pub sensitive: Option<bool>,
    /// How many devices they have.
    pub sizes: GroupSize,
    /// How many they are; `effective` and `below_12_5` are of these.
    pub jobs: usize,
    /// How many of them have several devices and a pattern that the machine can hold, so that there is an ideal: `share_of_ideal`,
    /// `at_most_80` and `at_most_55` are of these.
    pub with_ideal: usize,
    /// Effective bandwidth (Eq. 2), in which one device has 12.335 GB/s.
    pub effective: Option<Quartiles>,
    /// Ring packing, of jobs of several devices.
    pub ring_packing: Option<Quartiles>,
    /// Aggregated over ideal bandwidth ([`Row::share_of_ideal`]), of jobs of several devices.
    pub share_of_ideal: Option<Quartiles>,
    /// The share of them whose effective bandwidth is below 12.5 GB/s, that of a path through the host.
    pub below_12_5: f64,
    /// The share of them, of several devices, that have at most 0.8 of the ideal.
    pub at_most_80: f64,
    /// At most 0.55.
    pub at_most_55: f64,
}

impl Group {
    fn of(rows: &[Row], sensitive: Option<bool>, sizes: GroupSize) -> Self {
        let is_in = |row: &&Row| sensitive.is_none_or(|own| row.sensitive == own) && sizes.has(row.devices);
        let within: Vec<&Row> = rows.iter().filter(is_in).collect();
        let effective = sorted(within.iter().map(|row| row.scores.effective_gbps));
        let ring_packing = sorted(within.iter().filter_map(|row| row.scores.ring_packing_gbps));
        let ideal = sorted(within.iter().filter_map(|row| row.share_of_ideal()));
        Self {
            sensitive,
            sizes,
            jobs: within.len(),
            with_ideal: ideal.len(),
            effective: Quartiles::of(&effective),
            ring_packing: Quartiles::of(&ring_packing),
            share_of_ideal: Quartiles::of(&ideal),
            below_12_5: share(&effective, |gbps| gbps < SLOW_GBPS),
            at_most_80: share(&ideal, |share| share <= 0.8),
            at_most_55: share(&ideal, |share| share <= 0.55),
        }
    }

    fn jobs_name(&self) -> &'static str {
        self.sensitive.map_or("all", |own| if own { "sensitive" } else { "insensitive" })
    }
}

/// How much a job holds: whole devices, and shares of such.
fn held(at: &Placed, fleet: &Fleet) -> f64 {
    let on = |(_, machine, placement): (_, _, &Placement)| {
        let graph = fleet.machine(machine).ok()?.graph();
        Some(placement.set().iter().map(|id| share_of_device(graph, id)).sum::<f64>())
    };
    at.parts().filter_map(on).sum()
}

/// A number of a summary, under its name.
type Named = (&'static str, Option<f64>);

impl Summary {
    /// Of an outcome, the rows made of it, and the fleet before the simulation. O(jobs log jobs).
    #[must_use]
    pub fn of(outcome: &Outcome, rows: &[Row], fleet: &Fleet) -> Self {
        let first = rows.iter().map(|row| row.arrived).min().unwrap_or_default();
        let last = rows.iter().map(|row| row.ended).max().unwrap_or_default();
        let makespan = last - first;
        let devices: usize = fleet.machines().iter().map(|machine| machine.graph().wholes().len()).sum();
        let stays = outcome.runs.iter().flat_map(|run| &run.stays);
        let busy = stays.map(|stay| (stay.until - stay.from).as_secs_f64() * held(&stay.at, fleet));
        let spread = |of: &dyn Fn(&Row) -> Option<f64>| Spread::of(rows.iter().filter_map(of));
        Self {
            finished: rows.len(),
            rejected: outcome.rejected.len(),
            waiting: outcome.waiting.len(),
            out_of_domain: rows.iter().filter(|row| row.devices > 1 && !row.scores.in_domain).count(),
            makespan,
            jobs_per_hour: rows.len() as f64 / (makespan.as_secs_f64() / 3600.0),
            // A sum of nothing is -0.
            utilisation: (busy.sum::<f64>() + 0.0) / (devices as f64 * makespan.as_secs_f64()),
            completion_s: spread(&|row| Some(row.completion().as_secs_f64())),
            wait_s: spread(&|row| Some(row.waited().as_secs_f64())),
            slowdown: spread(&Row::slowdown),
            bounded_slowdown: spread(&|row| Some(row.bounded_slowdown())),
            execution_slowdown: spread(&Row::execution_slowdown).mean,
            groups: groups(rows),
        }
    }

    /// The group of these jobs, if there are any.
    #[must_use]
    pub fn group(&self, sensitive: Option<bool>, sizes: GroupSize) -> Option<&Group> {
        self.groups.iter().find(|group| group.sensitive == sensitive && group.sizes == sizes)
    }

    /// Its numbers under the names that they have as columns of [`table`](Self::table): units end the names, bandwidths are of jobs of
    /// several devices unless they say `pooled`. The same names for every summary. None where there is no number.
    #[must_use]
    pub fn numbers(&self) -> Vec<(&'static str, Option<f64>)> {
        let mut numbers: Vec<Named> = vec![
            ("makespan_s", Some(self.makespan.as_secs_f64())),
            ("jobs_per_hour", Some(self.jobs_per_hour)),
            ("utilisation", Some(self.utilisation)),
        ];
        numbers.extend(named(COMPLETION, &self.completion_s));
        numbers.extend(named(WAIT, &self.wait_s));
        numbers.extend(named(SLOWDOWN, &self.slowdown));
        numbers.extend(named(BOUNDED, &self.bounded_slowdown));
        numbers.push(("execution_slowdown_mean", Some(self.execution_slowdown)));
        let group = |sensitive, sizes| self.group(sensitive, sizes);
        let sensitive = group(Some(true), GroupSize::Several);
        numbers.extend(quartiles(EFFECTIVE, sensitive.and_then(|group| group.effective)));
        let pooled = group(Some(true), GroupSize::Pooled);
        numbers.extend(quartiles(EFFECTIVE_POOLED, pooled.and_then(|group| group.effective)));
        numbers.extend(quartiles(RINGS, sensitive.and_then(|group| group.ring_packing)));
        let all = group(None, GroupSize::Several);
        numbers.extend(quartiles(IDEAL, all.and_then(|group| group.share_of_ideal)));
        numbers.push(("sensitive_below_12_5_gbps_share", sensitive.map(|group| group.below_12_5)));
        numbers.push(("at_most_80_of_ideal_share", all.map(|group| group.at_most_80)));
        numbers.push(("at_most_55_of_ideal_share", all.map(|group| group.at_most_55)));
        numbers.iter_mut().for_each(|(_, value)| *value = value.filter(|value| !value.is_nan()));
        numbers
    }

    /// A row: how many jobs `finished`, were `rejected`, are left `waiting`, are `out_of_domain`, then its [`numbers`](Self::numbers). Rows of any summaries
    /// may be appended to each other.
    #[must_use]
    pub fn table(&self) -> Table {
        let count = |n: usize| Column::Integers(vec![i64::try_from(n).ok()]);
        let counts = [
            ("finished", self.finished),
            ("rejected", self.rejected),
            ("waiting", self.waiting),
            ("out_of_domain", self.out_of_domain),
        ];
        let numbers = self.numbers().into_iter().map(|(name, value)| (name, Column::Numbers(vec![value])));
        Table::of(counts.map(|(name, n)| (name, count(n))).into_iter().chain(numbers))
    }

    /// A row for each group: `jobs` (sensitive, insensitive, all), `sizes` (pooled, several, or a number), `count`, then quartiles and
    /// shares. Effective bandwidths and `below_12_5_gbps_share` are of `count` jobs; what is of the ideal, of `count_with_ideal`; ring
    /// packing, of those with several devices.
    #[must_use]
    pub fn groups_table(&self) -> Table {
        let numbers = |of: &dyn Fn(&Group) -> Option<f64>| {
            Column::Numbers(self.groups.iter().map(|group| of(group).filter(|value| !value.is_nan())).collect())
        };
        let texts =
            |of: &dyn Fn(&Group) -> String| Column::Texts(self.groups.iter().map(|own| Some(of(own))).collect());
        let counts = self.groups.iter().map(|group| i64::try_from(group.jobs).ok()).collect();
        let with_ideal = self.groups.iter().map(|group| i64::try_from(group.with_ideal).ok()).collect();
        let mut columns = vec![
            ("jobs", texts(&|group| group.jobs_name().to_owned())),
            ("sizes", texts(&|group| group.sizes.name())),
            ("count", Column::Integers(counts)),
            ("count_with_ideal", Column::Integers(with_ideal)),
        ];
        type Of = fn(&Group) -> Option<Quartiles>;
        let spreads: [([&'static str; 5], Of); 3] = [
            (GROUP_EFFECTIVE, |group| group.effective),
            (GROUP_RINGS, |group| group.ring_packing),
            (IDEAL, |group| group.share_of_ideal),
        ];
        for (names, of) in spreads {
            let cell = |at: usize| numbers(&|group| quartiles(names, of(group))[at].1);
            columns.extend(names.into_iter().enumerate().map(|(at, name)| (name, cell(at))));
        }
        columns.push(("below_12_5_gbps_share", numbers(&|group| Some(group.below_12_5))));
        columns.push(("at_most_80_of_ideal_share", numbers(&|group| Some(group.at_most_80))));
        columns.push(("at_most_55_of_ideal_share", numbers(&|group| Some(group.at_most_55))));
        Table::of(columns)
    }
}

fn groups(rows: &[Row]) -> Vec<Group> {
    let sizes: BTreeSet<usize> = rows.iter().map(|row| row.devices).collect();
    let sizes: Vec<GroupSize> =
        [GroupSize::Pooled, GroupSize::Several].into_iter().chain(sizes.into_iter().map(GroupSize::Of)).collect();
    let of = |sensitive| sizes.iter().map(move |&sizes| Group::of(rows, sensitive, sizes));
    [Some(true), Some(false), None].into_iter().flat_map(of).filter(|group| group.jobs > 0).collect()
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn share(values: &[f64], is: impl Fn(f64) -> bool) -> f64 {
    values.iter().filter(|&&value| is(value)).count() as f64 / values.len() as f64
}

const COMPLETION: [&str; 5] =
    ["completion_mean_s", "completion_p50_s", "completion_p95_s", "completion_p99_s", "completion_max_s"];
const WAIT: [&str; 5] = ["wait_mean_s", "wait_p50_s", "wait_p95_s", "wait_p99_s", "wait_max_s"];
const SLOWDOWN: [&str; 5] = ["slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99", "slowdown_max"];
const BOUNDED: [&str; 5] = [
    "bounded_slowdown_mean",
    "bounded_slowdown_p50",
    "bounded_slowdown_p95",
    "bounded_slowdown_p99",
    "bounded_slowdown_max",
];
const EFFECTIVE: [&str; 5] = [
    "sensitive_effective_min_gbps",
    "sensitive_effective_p25_gbps",
    "sensitive_effective_p50_gbps",
    "sensitive_effective_p75_gbps",
    "sensitive_effective_max_gbps",
];
const EFFECTIVE_POOLED: [&str; 5] = [
    "sensitive_pooled_effective_min_gbps",
    "sensitive_pooled_effective_p25_gbps",
    "sensitive_pooled_effective_p50_gbps",
    "sensitive_pooled_effective_p75_gbps",
    "sensitive_pooled_effective_max_gbps",
];
const RINGS: [&str; 5] = [
    "sensitive_ring_packing_min_gbps",
    "sensitive_ring_packing_p25_gbps",
    "sensitive_ring_packing_p50_gbps",
    "sensitive_ring_packing_p75_gbps",
    "sensitive_ring_packing_max_gbps",
];
const GROUP_EFFECTIVE: [&str; 5] =
    ["effective_min_gbps", "effective_p25_gbps", "effective_p50_gbps", "effective_p75_gbps", "effective_max_gbps"];
const GROUP_RINGS: [&str; 5] = [
    "ring_packing_min_gbps",
    "ring_packing_p25_gbps",
    "ring_packing_p50_gbps",
    "ring_packing_p75_gbps",
    "ring_packing_max_gbps",
];
const IDEAL: [&str; 5] =
    ["share_of_ideal_min", "share_of_ideal_p25", "share_of_ideal_p50", "share_of_ideal_p75", "share_of_ideal_max"];

fn named(names: [&'static str; 5], of: &Spread) -> [Named; 5] {
    let values = [of.mean, of.p50, of.p95, of.p99, of.max];
    std::array::from_fn(|at| (names[at], Some(values[at])))
}

fn quartiles(names: [&'static str; 5], of: Option<Quartiles>) -> [Named; 5] {
    let values = of.map(|of| [of.min, of.p25, of.p50, of.p75, of.max]);
    std::array::from_fn(|at| (names[at], values.map(|values| values[at])))
}
