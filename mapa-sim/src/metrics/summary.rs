//! The summary of a simulation: one row of numbers, and bandwidths by sensitivity and size.
//!
//! The table of [measures](super::MEASURES) defines the numbers.
//!
//! Bandwidths are those of the devices on which jobs ended. A single device has no bandwidth. But
//! Eq. 2, a function of link counts, gives 12.335 GB/s for it, and the paper's box plots pool jobs
//! of one device with the others. So their lower quartile is 12.335 wherever a quarter of the jobs
//! have one device. Here jobs of one device are kept apart. Numbers that include them have `pooled`
//! in their names.

use std::collections::BTreeSet;

use mapa_sched::Fleet;

use super::measure::{Jobs, Measure, MeasureScope, NamedNumber, Simulated, pooled, pooled_numbers};
use super::measures::MEASURES;
use super::rows::Row;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::table::{Column, Table};

/// How jobs fared under one scheduler on one fleet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    counts: Vec<(&'static str, usize)>,
    numbers: Vec<NamedNumber>,
    /// The names of the numbers of groups.
    group_names: Vec<String>,
    /// Bandwidths: of jobs that are sensitive, that are not, and of all; each pooled, of several
    /// devices, and by size.
    pub groups: Vec<Group>,
}

/// How many devices the jobs of a group have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupSize {
    /// Any number, one among them, as the paper's box plots have it.
    Pooled,
    /// Two or more.
    Several,
    /// Exactly this many.
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

/// The bandwidths of some jobs that finished.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// Whether they are sensitive. `None`: sensitive or not.
    pub sensitive: Option<bool>,
    /// How many devices they have.
    pub sizes: GroupSize,
    /// How many jobs these are. Effective bandwidths are of these.
    pub jobs: usize,
    /// How many of these have an ideal: several devices, and a pattern that the machine can hold.
    /// Shares of the ideal are of these.
    pub with_ideal: usize,
    numbers: Vec<NamedNumber>,
}

impl Group {
    fn of(measures: &[Measure], rows: &[&Row], sensitive: Option<bool>, sizes: GroupSize) -> Self {
        let with_ideal = rows.iter().filter(|row| row.share_of_ideal().is_some());
        let mut numbers: Vec<NamedNumber> = Vec::new();
        for (measure, pooled) in pooled(measures) {
            // A group has no numbers of all jobs. A measure that is pooled over two sets of jobs is
            // in it once.
            if pooled.jobs == Jobs::All {
                continue;
            }
            for number in measure.pool("", pooled.by, rows.iter().copied()) {
                if numbers.iter().all(|(name, _)| *name != number.0) {
                    numbers.push(number);
                }
            }
        }
        Self {
            sensitive,
            sizes,
            jobs: rows.len(),
            with_ideal: with_ideal.count(),
            numbers,
        }
    }

    /// Its numbers, by name, such as `effective_p50_gbps`. They are the pooled numbers of a
    /// [`Summary`] except those of [all](Jobs::All) jobs, without the prefixes of their names.
    /// `None` where there is no number.
    #[must_use]
    pub fn numbers(&self) -> &[(String, Option<f64>)] {
        &self.numbers
    }

    /// The number of this name, if there is one. O(numbers).
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        find(&self.numbers, name)
    }

    fn jobs_name(&self) -> &'static str {
        match self.sensitive {
            None => "all",
            Some(true) => "sensitive",
            Some(false) => "insensitive",
        }
    }
}

fn find(numbers: &[NamedNumber], name: &str) -> Option<f64> {
    numbers.iter().find(|(candidate, _)| candidate == name)?.1
}

impl Summary {
    /// The summary of an outcome, from the rows made of it and the fleet before the simulation, by
    /// the table of [measures](MEASURES).
    ///
    /// # Complexity
    /// O(m n log n) for m measures and n jobs.
    #[must_use]
    pub fn of(outcome: &Outcome, rows: &[Row], fleet: &Fleet) -> Self {
        let run = Simulated {
            outcome,
            rows,
            fleet,
        };
        Self::read(MEASURES, &run)
    }

    /// The summary by measures of your own, such as [`MEASURES`] and further ones.
    ///
    /// # Errors
    /// Two numbers of one name.
    ///
    /// # Complexity
    /// O(m n log n) for m measures and n jobs.
    pub fn by(
        measures: &[Measure],
        outcome: &Outcome,
        rows: &[Row],
        fleet: &Fleet,
    ) -> Result<Self, Error> {
        let run = Simulated {
            outcome,
            rows,
            fleet,
        };
        let summary = Self::read(measures, &run);
        Table::new(summary.columns())?;
        Ok(summary)
    }

    fn read(measures: &[Measure], run: &Simulated<'_>) -> Self {
        let (mut counts, mut numbers) = (Vec::new(), Vec::new());
        // Files that people keep have columns in this order: new ones come behind all others.
        let mut last = Vec::new();
        let mut of_jobs = false;
        for measure in measures {
            match measure.of {
                MeasureScope::RunCount(of) => counts.push((measure.name, of(run))),
                MeasureScope::RunNumber(of) => {
                    let value = Some(of(run)).filter(|value| !value.is_nan());
                    let all = if of_jobs { &mut last } else { &mut numbers };
                    all.push((measure.name.to_owned(), value));
                }
                _ => of_jobs = true,
            }
        }
        numbers.extend(pooled_numbers(measures, run.rows));
        numbers.append(&mut last);
        // A group of no jobs has every number too, none of which is there.
        let none = Group::of(measures, &[], None, GroupSize::Pooled);
        Self {
            counts,
            numbers,
            group_names: none.numbers.into_iter().map(|(name, _)| name).collect(),
            groups: groups(measures, run.rows),
        }
    }

    /// The group of these jobs, if there are any.
    #[must_use]
    pub fn group(&self, sensitive: Option<bool>, sizes: GroupSize) -> Option<&Group> {
        self.groups
            .iter()
            .find(|group| group.sensitive == sensitive && group.sizes == sizes)
    }

    /// Its counts by name, such as `finished`.
    #[must_use]
    pub fn counts(&self) -> &[(&'static str, usize)] {
        &self.counts
    }

    /// The count of this name; `None` if no measure has it. O(counts).
    #[must_use]
    pub fn count(&self, name: &str) -> Option<usize> {
        let found = self.counts.iter().find(|(candidate, _)| *candidate == name);
        found.map(|(_, count)| *count)
    }

    /// Its numbers under their names as columns of [`table`](Self::table). Names end in the unit.
    /// Bandwidths are of jobs of several devices, unless the name has `pooled` in it. The names are
    /// the same for every summary. `None` where there is no number.
    #[must_use]
    pub fn numbers(&self) -> &[(String, Option<f64>)] {
        &self.numbers
    }

    /// The number of this name, if there is one. O(numbers).
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        find(&self.numbers, name)
    }

    /// A table of one row: its [counts](Self::counts), then its [numbers](Self::numbers). Tables of
    /// summaries by the same measures may be appended to each other.
    #[must_use]
    pub fn table(&self) -> Table {
        Table::of(self.columns())
    }

    fn columns(&self) -> impl Iterator<Item = (String, Column)> {
        let counts = self.counts.iter().map(|&(name, count)| {
            let cell = i64::try_from(count).ok();
            (name.to_owned(), Column::Integers(vec![cell]))
        });
        let numbers = self.numbers.iter().cloned();
        counts.chain(numbers.map(|(name, value)| (name, Column::Numbers(vec![value]))))
    }

    /// A row for each group: `jobs` (sensitive, insensitive, all), `sizes` (pooled, several, or a
    /// number), `count`, `count_with_ideal`, then its [numbers](Group::numbers). Effective
    /// bandwidths and `below_12_5_gbps_share` are of `count` jobs, shares of the ideal of
    /// `count_with_ideal`, ring packing of the jobs with several devices.
    #[must_use]
    pub fn groups_table(&self) -> Table {
        let texts = |of: fn(&Group) -> String| {
            Column::Texts(self.groups.iter().map(|group| Some(of(group))).collect())
        };
        let integers = |of: fn(&Group) -> usize| {
            let cells = self.groups.iter().map(of);
            Column::Integers(cells.map(|n| i64::try_from(n).ok()).collect())
        };
        let fixed = [
            ("jobs", texts(|group| group.jobs_name().to_owned())),
            ("sizes", texts(|group| group.sizes.name())),
            ("count", integers(|group| group.jobs)),
            ("count_with_ideal", integers(|group| group.with_ideal)),
        ];
        let numbers = self.group_names.iter().enumerate().map(|(at, name)| {
            let cells = self.groups.iter().map(|group| group.numbers[at].1);
            (name.as_str(), Column::Numbers(cells.collect()))
        });
        Table::of(fixed.into_iter().chain(numbers))
    }
}

/// The groups that have any job: by sensitivity, then by size.
fn groups(measures: &[Measure], rows: &[Row]) -> Vec<Group> {
    let sizes: BTreeSet<usize> = rows.iter().map(|row| row.devices).collect();
    let mut groups = Vec::new();
    for sensitive in [Some(true), Some(false), None] {
        for size in [GroupSize::Pooled, GroupSize::Several]
            .into_iter()
            .chain(sizes.iter().copied().map(GroupSize::Of))
        {
            let within: Vec<&Row> = rows
                .iter()
                .filter(|row| sensitive.is_none_or(|sensitive| row.sensitive == sensitive))
                .filter(|row| size.has(row.devices))
                .collect();
            if !within.is_empty() {
                groups.push(Group::of(measures, &within, sensitive, size));
            }
        }
    }
    groups
}
