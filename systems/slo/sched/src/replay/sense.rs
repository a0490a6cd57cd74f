//! From what a machine tells to what the controller needs: noisy, late and missing counters become
//! neighbours that are there or not, and measured times become times without neighbours.

use serde::{Deserialize, Serialize};

use super::history::PastRequest;
use crate::settings::Settings;
use crate::signals::CounterSnapshot;

/// A request as a server measures it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRequest {
    /// When it arrived, ms.
    pub arrived_ms: f64,
    /// The bytes of its transfer divided by the bandwidth of a free link, ms.
    pub transfer_ms: f64,
    /// How long the multiprocessors took, ms.
    pub compute_took_ms: f64,
}

/// How readings become a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorSettings {
    /// A neighbour is there if so many of the last [`readings`](Self::readings) show it. Usual: 2.
    pub agree: u32,
    /// The readings that are looked at. Usual: 3.
    pub readings: u32,
    /// The effect of training on compute time that is believed before any is measured. Usual: 0.2.
    pub prior_training: f64,
    /// How many requests the belief weighs. Usual: 20.
    pub prior_requests: f64,
}

impl Default for SensorSettings {
    fn default() -> Self {
        Self {
            agree: 2,
            readings: 3,
            prior_training: 0.2,
            prior_requests: 20.0,
        }
    }
}

/// What was read of a place lately, the newest in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PlaceReadings {
    copies: u32,
    trains: u32,
    is_heavy: bool,
    is_training: bool,
}

/// Turns readings into a [`CounterSnapshot`] and learns how much training beside the tenant costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    settings: SensorSettings,
    places: Vec<PlaceReadings>,
    /// Sums of compute times over the time that the model expects without training, and numbers of
    /// requests: without training beside, and with it.
    alone: [f64; 2],
    beside: [f64; 2],
}

impl Sensor {
    /// A sensor that has read nothing.
    #[must_use]
    pub fn new(settings: SensorSettings) -> Self {
        Self {
            settings,
            places: Vec::new(),
            alone: [0.0; 2],
            beside: [0.0; 2],
        }
    }

    /// Fills in `heavy` and `training` of every place of a snapshot from its counters. A counter
    /// that is missing leaves the judgement as it was.
    ///
    /// `throttled` is the place whose neighbours are throttled: there far less traffic shows that
    /// a neighbour goes on.
    pub fn judge(
        &mut self,
        snapshot: &mut CounterSnapshot,
        settings: &Settings,
        throttled: Option<u32>,
    ) {
        self.places
            .resize(snapshot.places.len(), PlaceReadings::default());
        let own = self.settings;
        let mask = (1_u32 << own.readings.clamp(1, 31)) - 1;
        for (at, (place, known)) in snapshot.places.iter_mut().zip(&mut self.places).enumerate() {
            let is_throttled = throttled == Some(at as u32);
            let traffic = if is_throttled {
                settings.io_mb_s / 2
            } else {
                settings.heavy_mb_s
            };
            let sm = if is_throttled {
                settings.training_percent / 2
            } else {
                settings.training_percent
            };
            let read = |bits: &mut u32, was: bool, value: Option<u32>, from: u32| {
                let Some(value) = value else { return was };
                *bits = ((*bits << 1) | u32::from(value >= from)) & mask;
                bits.count_ones() >= own.agree
            };
            known.is_heavy = read(&mut known.copies, known.is_heavy, place.pcie_mb_s, traffic);
            known.is_training = read(&mut known.trains, known.is_training, place.sm_percent, sm);
            place.heavy = Some(u32::from(known.is_heavy));
            place.training = Some(known.is_training);
        }
    }

    /// The share that training adds to compute time on the smallest profile, as learned.
    #[must_use]
    pub fn training(&self) -> f64 {
        let [alone, beside] = [self.alone, self.beside].map(|[sum, count]| (sum, count));
        if alone.1 == 0.0 || beside.1 == 0.0 {
            return self.settings.prior_training;
        }
        let measured = ((beside.0 / beside.1) / (alone.0 / alone.1) - 1.0).max(0.0);
        let weight = beside.1 / (beside.1 + self.settings.prior_requests);
        weight * measured + (1.0 - weight) * self.settings.prior_training
    }

    /// A measured request without its neighbours. Learns from it unless neighbours are throttled.
    ///
    /// `share` is by how much training counts on the tenant's profile, relative to the smallest;
    /// `compute` the factor of the profile without training.
    pub fn normalised(
        &mut self,
        own: MeasuredRequest,
        is_beside_training: bool,
        is_throttled: bool,
        [compute, share]: [f64; 2],
        quota: f64,
    ) -> PastRequest {
        let alone = own.compute_took_ms / compute;
        let effect = if is_beside_training {
            let quota = if is_throttled { quota } else { 1.0 };
            self.training() * share * quota
        } else {
            0.0
        };
        if !is_throttled && alone.is_finite() {
            // On a larger profile training shows less; what is learned is for the smallest.
            let usual = self.alone;
            let value = match (is_beside_training, usual[1] > 0.0 && share > 0.0) {
                (true, true) => {
                    let mean = usual[0] / usual[1];
                    mean * (1.0 + (alone / mean - 1.0) / share)
                }
                _ => alone,
            };
            let part = if is_beside_training {
                &mut self.beside
            } else {
                &mut self.alone
            };
            part[0] += value;
            part[1] += 1.0;
        }
        PastRequest {
            arrived_ms: own.arrived_ms,
            transfer_ms: own.transfer_ms,
            compute_ms: alone / (1.0 + effect),
        }
    }
}
