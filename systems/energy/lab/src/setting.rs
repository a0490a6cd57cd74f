//! The days that are drawn.

use mapa_front::Error;
use mapa_sim::stream;
use mapa_system_energy::SliceJob;
use mapa_system_energy_sim::Draw;
use rand_distr::{Distribution, StandardNormal};

/// One kind of day.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct DaySetting {
    /// Jobs a minute at a load of 1.
    pub(super) per_minute: f64,
    /// Whether deadlines are tight.
    pub(super) is_tight: bool,
    /// The sigma by which run times are wrong.
    pub(super) sigma: f64,
    /// Whether the day is 300 jobs from nine o'clock.
    pub(super) is_morning: bool,
}

/// The published parameters.
pub(super) const FRESH: DaySetting = DaySetting {
    per_minute: 20.0,
    is_tight: false,
    sigma: 0.0,
    is_morning: false,
};
pub(super) const TIGHT: DaySetting = DaySetting {
    is_tight: true,
    ..FRESH
};
pub(super) const MORNING: DaySetting = DaySetting {
    is_morning: true,
    ..FRESH
};
pub(super) const RATES: [f64; 6] = [8.0, 12.0, 16.0, 20.0, 22.0, 24.0];
pub(super) const SIGMAS: [f64; 3] = [0.0, 0.2, 0.5];

impl DaySetting {
    pub(super) fn all() -> Vec<Self> {
        let loads = RATES.map(|per_minute| Self {
            per_minute,
            ..FRESH
        });
        let wrong = SIGMAS.map(|sigma| Self { sigma, ..FRESH });
        let mut all = vec![FRESH, TIGHT, MORNING];
        all.extend(loads.into_iter().chain(wrong).filter(|load| *load != FRESH));
        all
    }

    /// The jobs of a seed, and what the rules are told of them.
    pub(super) fn jobs(&self, seed: u64) -> Result<[Vec<SliceJob>; 2], Error> {
        let plain = if self.is_tight {
            Draw::tight()
        } else {
            Draw::default()
        };
        let mut draw = Draw {
            per_minute: self.per_minute,
            ..plain
        };
        if self.is_morning {
            draw = Draw {
                from: 540.0,
                most: 300,
                ..draw
            };
        }
        let told = draw.jobs(seed).map_err(Error::malformed)?;
        let mut errors = stream(seed, "energy wrong run times");
        let jobs = told.iter().map(|slice_job| {
            let normal: f64 = StandardNormal.sample(&mut errors);
            let factor = (self.sigma * normal - self.sigma * self.sigma / 2.0).exp();
            SliceJob::new(
                slice_job.arrives(),
                slice_job.deadline(),
                slice_job.minutes().map(|p| p * factor),
            )
        });
        let jobs = jobs.collect::<Result<_, _>>().map_err(Error::malformed)?;
        Ok([jobs, told])
    }
}
