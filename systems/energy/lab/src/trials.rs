//! Every rule on every day.

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval, paired_interval};
use mapa_system_energy::{Power, State, energy_bound};
use mapa_system_energy_sim::{Totals, run_as};

use super::rows::{LARGEST, ROWS};
use super::setting::DaySetting;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// A rule on a day: what it came to, and the energy that no schedule goes below.
#[derive(Clone, Copy)]
pub(super) struct DayTrial {
    pub(super) totals: Totals,
    pub(super) bound: f64,
}

/// All rules on the days of one setting.
pub(super) struct DayTrials {
    setting: DaySetting,
    /// By rule and day.
    trials: Vec<Vec<DayTrial>>,
}

pub(super) struct AllDays(Vec<DayTrials>);

impl AllDays {
    pub(super) fn of(&self, setting: DaySetting) -> Result<&DayTrials, Error> {
        let mut all = self.0.iter();
        all.find(|trials| trials.setting == setting)
            .ok_or_else(|| Error::malformed("a setting that was not run"))
    }
}

/// A number of a day.
pub(super) type DayNumber = fn(&Totals) -> f64;

pub(super) const LATE: DayNumber = |totals| 100.0 * totals.late_share();
pub(super) const TARDINESS: DayNumber = Totals::mean_tardiness;
pub(super) const ENERGY: DayNumber = |totals| totals.watt_minutes;

impl DayTrials {
    pub(super) fn trials(&self, name: &str) -> &[DayTrial] {
        let at = ROWS.iter().position(|row| row.name == name);
        at.and_then(|at| self.trials.get(at))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn per_day(&self, name: &str, of: DayNumber) -> Vec<f64> {
        self.trials(name)
            .iter()
            .map(|trial| of(&trial.totals))
            .collect()
    }

    pub(super) fn mean(&self, name: &str, of: DayNumber) -> Interval {
        mean_interval(&self.per_day(name, of))
    }

    /// By how much a rule is above another, paired by day.
    pub(super) fn above(&self, name: &str, other: &str, of: DayNumber) -> Interval {
        paired_interval(&self.per_day(name, of), &self.per_day(other, of))
    }

    /// By how much a rule is above largest-first, paired by day.
    pub(super) fn above_largest(&self, name: &str, of: DayNumber) -> Interval {
        self.above(name, LARGEST, of)
    }
}

pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<AllDays, Error> {
    let settings = DaySetting::all();
    let trials = on_files(plan, bar, settings.len(), |setting, seed| {
        let [jobs, told] = settings[setting].jobs(seed)?;
        let each = ROWS.iter().map(|row| {
            let machine = row.machine()?;
            let gpus = machine.gpu_count();
            let mut rule = row.rule(seed)?;
            let totals =
                run_as(&jobs, &told, State::new(machine), &mut *rule).map_err(Error::malformed)?;
            let bound = energy_bound(&jobs, gpus, &Power::A100).unwrap_or_default();
            Ok(DayTrial { totals, bound })
        });
        each.collect()
    })?;
    let all = settings.into_iter().zip(trials);
    Ok(AllDays(
        all.map(|(setting, trials)| DayTrials { setting, trials })
            .collect(),
    ))
}
