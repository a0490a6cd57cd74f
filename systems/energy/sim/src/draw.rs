//! Days of jobs, drawn from the parameters that Hisaria et al. published with their code.

use mapa_system_energy::SliceJob;
use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};

use crate::error::{Error, ErrorKind};
use mapa_sim::stream;

/// The load by hour of the day: the rate of arrivals is this times [`Draw::per_minute`]. The hour is
/// that of the arrival before. The last entry is for one at midnight.
pub const LOADS: [f64; 25] = [
    0.111, 0.083, 0.085, 0.1, 0.137, 0.169, 0.171, 0.169, 0.179, 0.191, 0.201, 0.188, 0.17, 0.177,
    0.168, 0.171, 0.163, 0.138, 0.12, 0.111, 0.129, 0.116, 0.106, 0.104, 0.111,
];

/// The most jobs of a day: all are in memory.
const MOST_JOBS: f64 = 1e7;
/// The end of a day, minutes.
pub(super) const DAY: f64 = 1440.0;
/// The share of inference jobs.
pub(super) const INFERENCE: f64 = 0.8;
/// The mean run time of an inference job on a slice of 1, minutes.
pub(super) const INFERENCE_MEAN: f64 = 3.0;

/// The load at a moment.
pub(super) fn load_at(minute: f64) -> f64 {
    LOADS[((minute / 60.0) as usize).min(LOADS.len() - 1)]
}

/// The run time of a training job on a slice of 1, by a standard normal number, minutes: 90 % are
/// within 40 to 60.
pub(super) fn training(normal: f64) -> f64 {
    let (low, high) = (40_f64.ln(), 60_f64.ln());
    ((low + high) / 2.0 + (high - low) / 3.29 * normal).exp()
}

/// The run times on all sizes, by that on a slice of 1: each job follows one of two curves of its
/// kind. Ratios are throughputs of slices over that of a slice of 1, as the authors' code has them.
pub(super) fn run_times(p1: f64, is_inference: bool, is_second: bool) -> [f64; 5] {
    let ratios: [(f64, f64); 5] = match (is_inference, is_second) {
        (true, false) => [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (1.0, 7.0)],
        (true, true) => [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (3.2, 12.5), (3.2, 18.4)],
        (false, false) => [(1.0, 1.0), (2.2, 4.1), (2.2, 5.8), (2.2, 7.1), (2.2, 10.5)],
        (false, true) => [(1.0, 1.0), (3.4, 6.0), (3.4, 7.85), (3.4, 8.4), (3.4, 9.75)],
    };
    ratios.map(|(part, of)| p1 * part / of)
}

/// How to draw a day of jobs. Of the jobs 80 % are inference, minutes on a slice of 1 exponential
/// with mean 3; the others are training, log-normal around 49. A third of each follows a second
/// curve of run times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Jobs a minute at a load of 1. The [load](LOADS) varies from 0.083 to 0.201. Published: 20.
    pub per_minute: f64,
    /// A job's deadline is its arrival plus its run time on a whole GPU times a number between
    /// these. Published: 2 to 4; and 1 to 1.5, "tight".
    pub slack: [f64; 2],
    /// When the first gap begins, minutes after midnight.
    pub from: f64,
    /// The most jobs.
    pub most: usize,
}

impl Draw {
    /// The tight deadlines of the authors' first formulation: 1 to 1.5 times the shortest run time.
    #[must_use]
    pub fn tight() -> Self {
        Self {
            slack: [1.0, 1.5],
            ..Self::default()
        }
    }

    /// The jobs of the day of this seed, in order of arrival. Each property has a random stream of
    /// its own, so that days of other deadlines differ in nothing else.
    ///
    /// # Errors
    /// A rate that is not above 0, or a slack below 1 or that falls; more than some ten million jobs.
    pub fn jobs(&self, seed: u64) -> Result<Vec<SliceJob>, Error> {
        let Self {
            per_minute,
            slack: [low, high],
            from,
            most,
        } = *self;
        let is_rate = per_minute.is_finite() && per_minute > 0.0;
        let is_slack = 1.0 <= low && low <= high && high.is_finite();
        if !(is_rate && is_slack && from >= 0.0) {
            let what = format!(
                "a day of {per_minute} jobs a minute from minute {from}, slack {low} to {high}: \
                 expected a rate above 0, and a slack of 1 or more that does not fall"
            );
            return Err(ErrorKind::BadDay(what).into());
        }
        let expected =
            (per_minute * LOADS.iter().copied().fold(0.0, f64::max) * DAY).min(most as f64);
        if expected > MOST_JOBS {
            let what = format!("a day of {expected:.1e} jobs: expected at most {MOST_JOBS:e}");
            return Err(ErrorKind::BadDay(what).into());
        }
        let streams = ["arrivals", "kinds", "sizes", "curves", "slacks"];
        let [mut gaps, mut kinds, mut sizes, mut curves, mut slacks] =
            streams.map(|name| stream(seed, &format!("energy {name}")));
        let mut at = from;
        let mut jobs = Vec::new();
        while jobs.len() < most {
            let gap: f64 = Exp1.sample(&mut gaps);
            at += gap / (per_minute * load_at(at));
            if at > DAY {
                break;
            }
            let is_inference = kinds.random::<f64>() < INFERENCE;
            let p1 = if is_inference {
                let one: f64 = Exp1.sample(&mut sizes);
                one * INFERENCE_MEAN
            } else {
                training(StandardNormal.sample(&mut sizes))
            };
            let minutes = run_times(p1, is_inference, curves.random::<f64>() < 1.0 / 3.0);
            let slack = low + (high - low) * slacks.random::<f64>();
            jobs.push(SliceJob::new(at, at + slack * minutes[4], minutes)?);
        }
        Ok(jobs)
    }
}

/// A day as published, with relaxed deadlines.
impl Default for Draw {
    fn default() -> Self {
        Self {
            per_minute: 20.0,
            slack: [2.0, 4.0],
            from: 0.0,
            most: usize::MAX,
        }
    }
}
