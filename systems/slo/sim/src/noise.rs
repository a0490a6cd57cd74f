//! Counters as machines give them: sampled, noisy, late and missing.

use std::collections::VecDeque;

use mapa_system_slo::{CounterSnapshot, PlaceCounters};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::run::World;
use super::scenario::{SLICES, SWITCHES};
use mapa_sim::stream;

/// How wrong counters are.
///
/// NVML reads PCIe throughput over a window of 20 ms, so one reading a second sees 2 % of the time
/// and can fall between two copies or on an unrelated one. That window is documented. The other
/// numbers are assumed; the report varies all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The chance that a reading misses a neighbour that is busy, because its window falls between
    /// two copies or two kernels.
    pub misses: f64,
    /// The chance that a reading shows traffic or use where no neighbour is: short work of others.
    pub phantoms: f64,
    /// The coefficient of variation of a reading.
    pub cv: f64,
    /// The chance that a tick brings no readings.
    pub lost: f64,
    /// By how many ticks readings are late.
    pub late_ticks: usize,
    /// The coefficient of variation of a measured compute time around the true one.
    pub measured_cv: f64,
}

impl Noise {
    /// None.
    pub const NONE: Self = Self {
        misses: 0.0,
        phantoms: 0.0,
        cv: 0.0,
        lost: 0.0,
        late_ticks: 0,
        measured_cv: 0.0,
    };
    /// As on a real machine.
    pub const USUAL: Self = Self {
        misses: 0.2,
        phantoms: 0.05,
        cv: 0.25,
        lost: 0.05,
        late_ticks: 1,
        measured_cv: 0.02,
    };

    /// The same, so many times as much; chances stay below 1.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            misses: (self.misses * factor).min(0.9),
            phantoms: (self.phantoms * factor).min(0.9),
            cv: self.cv * factor,
            lost: (self.lost * factor).min(0.9),
            late_ticks: (self.late_ticks as f64 * factor).round() as usize,
            measured_cv: self.measured_cv * factor,
        }
    }
}

/// The traffic of a neighbour that copies, MB/s: it fills a link of 25 GB/s with the tenant.
const HEAVY_MB_S: f64 = 12_000.0;
/// The use of the multiprocessors by training, percent.
const TRAINING_PERCENT: f64 = 95.0;

/// Reads counters of a simulated world.
#[derive(Clone, Debug)]
pub struct NoisyReadings {
    noise: Noise,
    random: Pcg64,
    /// Readings that are still under way, the oldest first.
    under_way: VecDeque<Option<CounterSnapshot>>,
}

impl NoisyReadings {
    /// The readings of the run of this seed.
    #[must_use]
    pub fn new(noise: Noise, seed: u64) -> Self {
        Self {
            noise,
            random: stream(seed, "slo counters"),
            under_way: VecDeque::new(),
        }
    }

    /// A measured time.
    pub fn measured(&mut self, ms: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.random);
        (ms * (1.0 + self.noise.measured_cv * normal)).max(0.0)
    }

    /// What arrives in this tick: a reading of some ticks ago, or nothing.
    pub fn read(
        &mut self,
        world: &World,
        throttled: Option<u32>,
        io_mb_s: u32,
    ) -> Option<CounterSnapshot> {
        let fresh = self.sample(world, throttled, io_mb_s);
        self.under_way.push_back(fresh);
        if self.under_way.len() <= self.noise.late_ticks {
            return None;
        }
        let mut told = self.under_way.pop_front().flatten()?;
        told.age_ticks = self.noise.late_ticks as u32;
        Some(told)
    }

    fn sample(
        &mut self,
        world: &World,
        throttled: Option<u32>,
        io_mb_s: u32,
    ) -> Option<CounterSnapshot> {
        let lost = self.random.random::<f64>() < self.noise.lost;
        let mut places = Vec::with_capacity(world.heavy.len());
        for (at, (heavy, training)) in world.heavy.iter().zip(&world.training).enumerate() {
            let is_throttled = throttled == Some(at as u32);
            let (traffic, sm) = if is_throttled {
                (f64::from(io_mb_s), TRAINING_PERCENT / 2.0)
            } else {
                (HEAVY_MB_S, TRAINING_PERCENT)
            };
            let [copies, trains] = [(*heavy, traffic), (*training, sm)].map(|(count, each)| {
                let [chance, normal]: [f64; 2] = [
                    self.random.random(),
                    StandardNormal.sample(&mut self.random),
                ];
                let shown = if count > 0 {
                    chance >= self.noise.misses
                } else {
                    chance < self.noise.phantoms
                };
                let value = f64::from(count.max(1)) * each;
                f64::from(u8::from(shown)) * (value * (1.0 + self.noise.cv * normal)).max(0.0)
            });
            places.push(PlaceCounters {
                host: (at / SWITCHES) as u32,
                pcie_mb_s: Some(copies.round() as u32),
                sm_percent: Some((trains.round() as u32).min(100)),
                largest: Some(SLICES.len() as u8 - 1),
                ..PlaceCounters::default()
            });
        }
        (!lost).then(|| CounterSnapshot {
            places,
            ..CounterSnapshot::default()
        })
    }
}
