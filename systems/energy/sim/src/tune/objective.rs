//! What a search minimises.

use mapa_system_energy::{LargestFirst, Rule, SliceJob, SlicedGpus, State};
use serde::{Deserialize, Serialize};

use super::super::run::{Totals, run_as};
use crate::error::{Error, ErrorKind};

/// A day on which parameters are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneDay {
    /// The jobs as they turn out.
    pub jobs: Vec<SliceJob>,
    /// The jobs as the rule knows them: the same arrivals and deadlines.
    pub told: Vec<SliceJob>,
}

impl TuneDay {
    /// A day on which run times are known exactly.
    #[must_use]
    pub fn exact(jobs: Vec<SliceJob>) -> Self {
        Self {
            told: jobs.clone(),
            jobs,
        }
    }

    /// What the day comes to under a rule.
    ///
    /// # Errors
    /// As [`run_as`].
    pub fn under(&self, machine: &SlicedGpus, rule: &mut dyn Rule) -> Result<Totals, Error> {
        run_as(&self.jobs, &self.told, State::new(machine.clone()), rule)
    }
}

/// How much late jobs, tardiness and energy weigh. Each is taken relative to what largest-first
/// makes of the same days ([`Yardstick`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneObjective {
    /// The weight of the share of late jobs.
    pub late: f64,
    /// The weight of the mean tardiness.
    pub tardiness: f64,
    /// The weight of the energy.
    pub energy: f64,
    /// Tardiness beyond this multiple of the yardstick's counts no more, so that one day on which
    /// jobs pile up does not outweigh all others.
    pub most_tardiness: f64,
}

/// Late jobs, tardiness and energy of largest-first count 1, 1 and 3.
impl Default for TuneObjective {
    fn default() -> Self {
        Self {
            late: 1.0,
            tardiness: 1.0,
            energy: 3.0,
            most_tardiness: 5.0,
        }
    }
}

impl TuneObjective {
    /// The objective, if it can be minimised.
    ///
    /// # Errors
    /// A weight that is not finite or below 0; all weights 0.
    pub fn checked(self) -> Result<Self, Error> {
        let named = [
            ("late", self.late),
            ("tardiness", self.tardiness),
            ("energy", self.energy),
            ("most_tardiness", self.most_tardiness),
        ];
        for (name, value) in named {
            if !(value.is_finite() && value >= 0.0) {
                return Err(wrong(format!(
                    "objective: `{name}` is {value}: expected a number of 0 or more"
                )));
            }
        }
        if self.late + self.tardiness + self.energy == 0.0 {
            return Err(wrong(
                "objective: all weights are 0: expected one above 0".to_owned(),
            ));
        }
        Ok(self)
    }

    /// How bad days are, by their totals; less is better.
    #[must_use]
    pub fn of(&self, days: &[Totals], yardstick: &Yardstick) -> f64 {
        let mean = |of: &dyn Fn(&Totals) -> f64| {
            let sum: f64 = days.iter().map(of).sum();
            sum / days.len() as f64
        };
        let tardiness = |totals: &Totals| {
            (totals.mean_tardiness() / yardstick.tardiness).min(self.most_tardiness)
        };
        self.late * mean(&Totals::late_share) / yardstick.late
            + self.tardiness * mean(&tardiness)
            + self.energy * mean(&|totals| totals.watt_minutes) / yardstick.watt_minutes
    }
}

/// What largest-first makes of days, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Yardstick {
    /// The share of late jobs; at least 1 %, so that it can be divided by.
    pub late: f64,
    /// The mean tardiness, minutes; at least 0.01.
    pub tardiness: f64,
    /// The energy of a day, watt-minutes.
    pub watt_minutes: f64,
}

impl Yardstick {
    /// The yardstick of these days on a machine.
    ///
    /// # Errors
    /// No day, or one without a job; as [`run_as`].
    pub fn of(days: &[TuneDay], machine: &SlicedGpus) -> Result<Self, Error> {
        if days.is_empty() || days.iter().any(|day| day.jobs.is_empty()) {
            let what = "days to tune for: expected one or more, each with a job".to_owned();
            return Err(wrong(what));
        }
        let [mut late, mut tardiness, mut watt_minutes] = [0.0; 3];
        for day in days {
            let own = day.under(machine, &mut LargestFirst)?;
            late += own.late_share();
            tardiness += own.mean_tardiness();
            watt_minutes += own.watt_minutes;
        }
        let n = days.len() as f64;
        Ok(Self {
            late: (late / n).max(0.01),
            tardiness: (tardiness / n).max(0.01),
            watt_minutes: watt_minutes / n,
        })
    }
}

fn wrong(what: String) -> Error {
    ErrorKind::BadDay(what).into()
}
