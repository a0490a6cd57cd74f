//! Selections of a part of a trace, and assumptions about its jobs.

use std::fmt;
use std::str::FromStr;

use mapa_core::{Sensitivity, Settings, Shape};
use mapa_sched::Time;
use mapa_table::Row;

use super::logged::LoggedJob;
use crate::error::Error;
use crate::workload::file_errors::bad_workload;
use crate::workload::submission::Submission;
use crate::workload::{numbers, patterns};

/// Which jobs of a trace are read, and what is assumed about them. Written as `KEY=VALUE` with
/// commas between, such as `first=100,max-gpus=8,vc=23dbec`. A key that is no option is a column of
/// the trace.
///
/// | setting | effect |
/// |---|---|
/// | `COLUMN=VALUE` | only jobs with this value in this column; several values of one column are alternatives |
/// | `from=3600`, `until=7200` | only jobs that arrive at 3600 s or later and before 7200 s; `from` becomes 0 |
/// | `max-gpus=8` | only jobs of at most 8 devices |
/// | `shared=leave-out` | without jobs that share a device; `whole`: they get a whole one |
/// | `first=100` | of the jobs that are left, the first 100 in the file |
/// | `compress=10` | arrivals ten times as close; run times stay |
/// | `pattern=ring` | the pattern of every job |
/// | `sensitive=yes` | whether jobs that the paper does not classify are sensitive: `yes`, `no`; unknown unless given |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// Columns and values that are kept. Default: all.
    pub keep: Vec<(String, String)>,
    /// The first moment, in the trace's time. It becomes 0. Default: 0.
    pub from: Time,
    /// Jobs that arrive at this moment or later are left out. Default: none.
    pub until: Option<Time>,
    /// The largest size, devices. Default: any.
    pub max_devices: Option<usize>,
    /// How jobs that share a device are read. Default: [`SharedDevices::Whole`].
    pub shared: SharedDevices,
    /// The largest number of jobs that are kept, from the top of the file. Default: all.
    pub first: Option<usize>,
    /// The divisor of times between arrivals, a finite number above 0. Results are rounded to a
    /// nanosecond. Default: 1.
    pub compress: f64,
    /// The pattern of every job; `None` for ranks that do not communicate. Default: a ring.
    pub pattern: Option<Shape>,
    /// Whether jobs that the paper does not classify are sensitive. Default: unknown.
    pub sensitive: Sensitivity,
}

/// How jobs that share a device are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedDevices {
    /// `whole`: each gets a device of its own.
    #[default]
    Whole,
    /// `leave-out`: they are left out.
    LeaveOut,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            from: Time::ZERO,
            until: None,
            max_devices: None,
            shared: SharedDevices::Whole,
            first: None,
            compress: 1.0,
            pattern: Some(Shape::Ring),
            sensitive: Sensitivity::Unknown,
        }
    }
}

impl Selection {
    pub(super) fn check(&self, columns: &[String]) -> Result<(), Error> {
        if let Some((column, _)) = self
            .keep
            .iter()
            .find(|(column, _)| !columns.contains(column))
        {
            let options = OPTIONS.join(", ");
            let known = columns.join(", ");
            return Err(bad_workload(format_args!(
                "`{column}`: expected a column ({known}) or an option ({options})"
            )));
        }
        if !(self.compress.is_finite() && self.compress > 0.0) {
            return Err(bad_workload(format_args!(
                "compress={}: expected a finite number above 0",
                self.compress
            )));
        }
        Ok(())
    }

    /// The arrival of a job in the workload's time.
    pub(super) fn moved(&self, arrived: Time) -> Result<Time, String> {
        let since = arrived.0.saturating_sub(self.from.0);
        if self.compress == 1.0 {
            return Ok(Time(since));
        }
        let moved = (since as f64 / self.compress).round();
        if moved >= u64::MAX as f64 {
            return Err(format!(
                "arrives after more than 584 years, with compress={}",
                self.compress
            ));
        }
        Ok(Time(moved as u64))
    }

    fn has_kept(&self, row: &Row<'_>) -> bool {
        self.keep.iter().all(|(column, _)| {
            let value = row.get(column).unwrap_or_default();
            self.keep
                .iter()
                .any(|(candidate, kept)| candidate == column && kept == value)
        })
    }
}

/// How many jobs were left out, by the first reason that applied.
#[derive(Default)]
pub(super) struct LeftOutJobs {
    others: usize,
    window: usize,
    large: usize,
    shared: usize,
    after: usize,
}

impl LeftOutJobs {
    /// Whether a job is kept, after `before` others. If not, its reason is counted.
    pub(super) fn keeps(
        &mut self,
        selection: &Selection,
        (row, logged): (&Row<'_>, &LoggedJob),
        submission: &Submission,
        before: usize,
    ) -> bool {
        let arrived = submission.job.arrived;
        let is_outside =
            arrived < selection.from || selection.until.is_some_and(|until| arrived >= until);
        let reason = match () {
            () if !selection.has_kept(row) => &mut self.others,
            () if is_outside => &mut self.window,
            () if selection
                .max_devices
                .is_some_and(|most| submission.devices() > most) =>
            {
                &mut self.large
            }
            () if selection.shared == SharedDevices::LeaveOut && logged.is_shared => {
                &mut self.shared
            }
            () if selection.first.is_some_and(|first| before >= first) => &mut self.after,
            () => return true,
        };
        *reason += 1;
        false
    }

    pub(super) fn notes(&self, selection: &Selection) -> impl Iterator<Item = String> {
        let most = selection.max_devices.unwrap_or_default();
        let kept = selection
            .keep
            .iter()
            .map(|(column, value)| format!("{column}={value}"));
        let told = [
            (
                self.others,
                format!(
                    "with other values than {}",
                    kept.collect::<Vec<_>>().join(", ")
                ),
            ),
            (self.window, "that arrive outside the window".to_owned()),
            (self.large, format!("of more than {most} devices")),
            (self.shared, "that share a device".to_owned()),
            (
                self.after,
                format!("after the first {}", selection.first.unwrap_or_default()),
            ),
        ];
        let compressed = (selection.compress != 1.0).then(|| {
            format!(
                "times between arrivals are divided by {}; run times are not",
                selection.compress
            )
        });
        let left = told
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("left out: {} {what}", jobs(n)));
        left.chain(compressed)
    }
}

const OPTIONS: [&str; 8] = [
    "first",
    "from",
    "until",
    "max-gpus",
    "shared",
    "compress",
    "pattern",
    "sensitive",
];

impl FromStr for Selection {
    type Err = Error;

    /// # Errors
    /// A word has no `=`, a value is malformed, or an option occurs twice. The names of columns are
    /// checked later, against the trace.
    fn from_str(words: &str) -> Result<Self, Error> {
        let parts = words.split(',').filter(|word| !word.trim().is_empty());
        // A column may be named several times, so each mention of one is a key of its own.
        let mut columns = OPTIONS.len()..;
        let key = |key: &str| {
            OPTIONS
                .iter()
                .position(|candidate| *candidate == key)
                .or_else(|| columns.next())
        };
        let settings = Settings::read(parts, "such as first=100 or vc=23dbec", key);
        let mut selection = Self::default();
        for (_, setting) in settings.map_err(bad_workload)?.iter() {
            let (key, value) = (setting.key(), setting.value());
            selection
                .set(key, value)
                .map_err(|what| bad_workload(format_args!("{key}={what}")))?;
        }
        Ok(selection)
    }
}

impl Selection {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let moment = || numbers::nanoseconds(value).map(Time);
        match key {
            "first" => {
                self.first = Some(
                    value
                        .parse()
                        .map_err(|_| format!("`{value}`: expected a whole number"))?,
                )
            }
            "from" => self.from = moment()?,
            "until" => self.until = Some(moment()?),
            "max-gpus" => self.max_devices = Some(numbers::devices(value)?),
            "shared" => {
                self.shared = match value {
                    "whole" => SharedDevices::Whole,
                    "leave-out" => SharedDevices::LeaveOut,
                    _ => return Err(format!("`{value}`: expected whole or leave-out")),
                }
            }
            "compress" => {
                let factor = value
                    .parse()
                    .ok()
                    .filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
                self.compress =
                    factor.ok_or_else(|| format!("`{value}`: expected a number above 0"))?;
            }
            "pattern" => self.pattern = patterns::shape(value)?,
            "sensitive" => self.sensitive = numbers::flag(value)?.into(),
            _ => self.keep.push((key.to_ascii_lowercase(), value.to_owned())),
        }
        Ok(())
    }
}

/// The settings that differ from the default.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::default();
        let mut words: Vec<String> = self
            .keep
            .iter()
            .map(|(column, value)| format!("{column}={value}"))
            .collect();
        let from =
            (self.from != plain.from).then(|| format!("from={}", numbers::seconds(self.from.0)));
        let until = self
            .until
            .map(|until| format!("until={}", numbers::seconds(until.0)));
        let most = self.max_devices.map(|most| format!("max-gpus={most}"));
        let shared =
            (self.shared == SharedDevices::LeaveOut).then(|| "shared=leave-out".to_owned());
        let first = self.first.map(|first| format!("first={first}"));
        let compress =
            (self.compress != plain.compress).then(|| format!("compress={}", self.compress));
        let pattern = (self.pattern != plain.pattern)
            .then(|| format!("pattern={}", patterns::word(self.pattern)));
        let sensitive = (self.sensitive.known())
            .map(|known| format!("sensitive={}", if known { "yes" } else { "no" }));
        words.extend(
            [
                from, until, most, shared, first, compress, pattern, sensitive,
            ]
            .into_iter()
            .flatten(),
        );
        f.write_str(&words.join(","))
    }
}

/// A number of jobs in words.
pub(super) fn jobs(n: usize) -> String {
    if n == 1 {
        "1 job".to_owned()
    } else {
        format!("{n} jobs")
    }
}
