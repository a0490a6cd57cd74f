//! The answer of `tune`: prices of a plan for given days.

use mapa_front::answer::report::Interval;
use mapa_sim::{mean_interval, paired_interval};
use mapa_system_energy::{PriceFile, TunedMachine};
use mapa_system_energy_sim::Totals;
use serde::Serialize;

/// What a search for prices found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tune {
    /// The prices.
    pub prices: TunedPrices,
    /// The layouts of the GPUs; null where they are repartitioned while jobs run.
    pub layouts: Option<String>,
    /// How many GPUs there are.
    pub gpus: usize,
    /// How bad the start is on the days of the search; less is better.
    pub start_score: f64,
    /// How bad the result is on them.
    pub score: f64,
    /// The best score of each round of candidates.
    pub history: Vec<f64>,
    /// What rules make of days that the search did not see. Empty if there are none.
    pub held_out: Vec<HeldOut>,
    /// The work that arrived, minutes on a whole GPU for each GPU and minute over an hour: the
    /// least and the most.
    pub load: [f64; 2],
    /// The time from arrival to deadline, by the run time on a whole GPU: the least and the most.
    pub slack: [f64; 2],
    /// The most jobs that waited, for each GPU.
    pub waiting: f64,
    /// The file of the prices; null if none was written.
    pub file: Option<String>,
}

/// The prices of a plan. `systems/energy/docs/deadlines.md` has what they mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedPrices {
    /// A minute on a slice of 1, 2, 3, 4 and 7.
    pub slice: [f64; 5],
    /// A minute of tardiness.
    pub late: f64,
    /// How much slices cost more where jobs wait.
    pub queue: f64,
    /// Within how many minutes of its latest start a job becomes urgent.
    pub urgency: f64,
    /// How much priority falls with run time.
    pub length: f64,
    /// The weight of a job that cannot be in time.
    pub lost: f64,
    /// By how much waiting must be cheaper.
    pub margin: f64,
    /// A watt-minute.
    pub energy: f64,
    /// The weight of a job that is not urgent.
    pub floor: f64,
    /// How wrong run times are taken to be.
    pub doubt: f64,
    /// How long a slice is taken to stay busy beyond its job's expected end.
    pub overdue: f64,
    /// What a free slice counts that a start takes away, watts.
    pub placement: f64,
}

/// What a rule makes of days that the search did not see.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOut {
    /// The rule: `largest-first`, `fit-fullest`, `start` or `tuned`.
    pub rule: String,
    /// The mean share of late jobs, percent.
    pub late_percent: Option<f64>,
    /// The mean tardiness, minutes.
    pub tardiness_minutes: Option<f64>,
    /// The mean energy of a day, watt-minutes.
    pub energy_watt_minutes: Option<f64>,
    /// By how much the share of late jobs is above that of largest-first, points, paired by day;
    /// null with fewer than two days.
    pub late_above_largest: Option<Interval>,
}

impl HeldOut {
    /// A rule's row, by its totals and those of largest-first on the same days.
    #[must_use]
    pub fn of(rule: &str, own: &[Totals], largest: &[Totals]) -> Self {
        let mean = |of: &dyn Fn(&Totals) -> f64| {
            let values: Vec<f64> = own.iter().map(of).collect();
            Some(mean_interval(&values).mean).filter(|mean| mean.is_finite())
        };
        let late = |days: &[Totals]| -> Vec<f64> {
            let each = days.iter().map(|day| 100.0 * day.late_share());
            each.collect()
        };
        // The difference on a single day has no interval.
        let above = (own.len() > 1).then(|| paired_interval(&late(own), &late(largest)).into());
        Self {
            rule: rule.to_owned(),
            late_percent: mean(&|totals| 100.0 * totals.late_share()),
            tardiness_minutes: mean(&Totals::mean_tardiness),
            energy_watt_minutes: mean(&|totals| totals.watt_minutes),
            late_above_largest: above,
        }
    }
}

impl Tune {
    /// The answer for a set of prices, without what is known of the search.
    #[must_use]
    pub fn of(file: &PriceFile, gpus: usize) -> Self {
        let own = &file.prices;
        let layouts = match &file.machine {
            TunedMachine::Layouts(layouts) => Some(layouts.clone()),
            TunedMachine::Repartitioned { .. } => None,
        };
        Self {
            prices: TunedPrices {
                slice: own.slice,
                late: own.late,
                queue: own.queue,
                urgency: own.urgency,
                length: own.length,
                lost: own.lost,
                margin: own.margin,
                energy: own.energy,
                floor: own.floor,
                doubt: own.doubt,
                overdue: own.overdue,
                placement: own.placement,
            },
            layouts,
            gpus,
            // The course of the search and its files are added by the command: the prices alone do not tell them.
            start_score: 0.0,
            score: 0.0,
            history: Vec::new(),
            held_out: Vec::new(),
            load: file.tuned.load,
            slack: file.tuned.slack,
            waiting: file.tuned.waiting,
            file: None,
        }
    }
}
