//! The controllers of `mapa-sched` in a simulated run.

use mapa_system_slo::replay::{
    MeasuredRequest, ReplayInput, ReplayRecord, ReplaySettings, ReplayState, Request, Sensor,
    SensorSettings, recorded as replay_recorded, step as replay_step,
};
use mapa_system_slo::{
    Config, Input, Levers, Order, Place, Record, Settings, Snapshot, State, latency_ns, recorded,
    step,
};

use super::noise::{Noise, Readings};
use super::run::{Control, Ended, Seen, World};
use super::scenario::{SLICES, SWITCHES, Scenario};
use crate::error::Error;

impl Scenario {
    /// The paper's settings with these levers for this scenario: its promise, its window, its
    /// tick, and the true model.
    ///
    /// # Errors
    /// Parameters out of bounds.
    pub fn settings(&self, levers: Levers) -> Result<Settings, Error> {
        let promise = latency_ns(self.promise_ms)?;
        let own = Settings {
            promise_ns: promise,
            trigger_ns: promise,
            window: self.window,
            tick_ms: (self.tick_s * 1e3).round() as u32,
            ..Settings::new(levers, self.model()?)?
        };
        Ok(own.checked()?)
    }
}

/// The world as a controller with perfect counters sees it.
#[must_use]
pub fn snapshot(world: &World) -> Snapshot {
    let places = world.heavy.iter().zip(&world.training).enumerate();
    Snapshot {
        age_ticks: 0,
        places: places
            .map(|(at, (heavy, training))| Place {
                host: (at / SWITCHES) as u32,
                heavy: Some(*heavy),
                training: Some(*training > 0),
                largest: Some(SLICES.len() as u8 - 1),
                ..Place::default()
            })
            .collect(),
        numa: Vec::new(),
    }
}

fn input(seen: &Seen<'_>, snapshot: Option<Snapshot>) -> Result<Input, Error> {
    let latencies = seen.ended.iter().map(|own| latency_ns(own.took_ms));
    Ok(Input {
        tick: seen.tick,
        latencies_ns: latencies.collect::<Result<_, _>>()?,
        snapshot,
        relaunch: seen.relaunch,
        ..Input::default()
    })
}

/// A controller with its settings and state, which may keep its records.
#[derive(Clone, Debug)]
pub struct Logged<S, T, R> {
    settings: S,
    state: T,
    /// The tenant's name in records, and the records.
    log: Option<(String, Vec<R>)>,
}

impl<S, T, R> Logged<S, T, R> {
    fn with(settings: S, state: T) -> Self {
        Self {
            settings,
            state,
            log: None,
        }
    }

    /// Keeps a record of every decision, under this name of the tenant.
    #[must_use]
    pub fn logging(self, tenant: impl Into<String>) -> Self {
        Self {
            log: Some((tenant.into(), Vec::new())),
            ..self
        }
    }

    /// The settings, and the records of decisions if they were kept.
    #[must_use]
    pub fn into_log(self) -> (S, Vec<R>) {
        (self.settings, self.log.map_or_else(Vec::new, |own| own.1))
    }
}

/// The paper's controller, with perfect counters.
pub type Paper = Logged<Settings, State, Record>;

impl Paper {
    /// A controller of a tenant that starts so.
    #[must_use]
    pub fn new(settings: Settings, start: Config) -> Self {
        let state = State::new(start, &settings);
        Self::with(settings, state)
    }
}

/// MAPA's controller by replay, with perfect counters.
pub type Replay = Logged<ReplaySettings, ReplayState, ReplayRecord>;

impl Replay {
    /// A controller of a tenant that starts so.
    #[must_use]
    pub fn new(settings: ReplaySettings, start: Config) -> Self {
        let state = ReplayState::new(start, &settings);
        Self::with(settings, state)
    }
}

impl Control for Paper {
    fn tick(&mut self, seen: &Seen<'_>, orders: &mut Vec<Order>) -> Result<(), Error> {
        let input = input(seen, Some(snapshot(seen.world)))?;
        match &mut self.log {
            None => orders.extend(step(&self.settings, &mut self.state, &input).orders),
            Some((tenant, log)) => {
                let record = recorded(tenant, &self.settings, &mut self.state, &input);
                orders.extend_from_slice(&record.orders);
                if record.is_notable() {
                    log.push(record);
                }
            }
        }
        Ok(())
    }
}

impl Control for Replay {
    fn tick(&mut self, seen: &Seen<'_>, orders: &mut Vec<Order>) -> Result<(), Error> {
        let exact = |own: &Ended| Request {
            arrived_ms: own.arrived_ms,
            transfer_ms: own.transfer_ms,
            compute_ms: own.compute_ms,
        };
        let input = ReplayInput {
            base: input(seen, Some(snapshot(seen.world)))?,
            requests: seen.ended.iter().map(exact).collect(),
        };
        match &mut self.log {
            None => {
                let decision = replay_step(&self.settings, &mut self.state, &input);
                orders.extend(decision.base.orders);
            }
            Some((tenant, log)) => {
                let record = replay_recorded(tenant, &self.settings, &mut self.state, &input);
                orders.extend_from_slice(&record.orders);
                if record.is_notable() {
                    log.push(record);
                }
            }
        }
        Ok(())
    }
}

/// MAPA's controller on what a machine tells: noisy, late and missing counters, and an effect of
/// training that is learned.
#[derive(Clone, Debug)]
pub struct Live {
    settings: ReplaySettings,
    state: ReplayState,
    sensor: Sensor,
    readings: Readings,
    was_training: bool,
}

impl Live {
    /// A controller of a tenant that starts so, in the run of this seed.
    #[must_use]
    pub fn new(settings: ReplaySettings, start: Config, noise: Noise, seed: u64) -> Self {
        let state = ReplayState::new(start, &settings);
        Self {
            settings,
            state,
            sensor: Sensor::new(SensorSettings::default()),
            readings: Readings::new(noise, seed),
            was_training: false,
        }
    }

    /// The effect of training as learned.
    #[must_use]
    pub fn training(&self) -> f64 {
        self.sensor.training()
    }
}

impl Control for Live {
    fn tick(&mut self, seen: &Seen<'_>, orders: &mut Vec<Order>) -> Result<(), Error> {
        let own = &mut self.settings.base;
        let throttled = seen.is_throttled.then_some(seen.config.place);
        let mut told = self.readings.read(seen.world, throttled, own.io_mb_s);
        if let Some(snapshot) = &mut told {
            self.sensor.judge(snapshot, own, throttled);
        }
        let at = usize::from(seen.config.profile);
        let compute = own.model.compute[at];
        // By how much training counts on this profile, relative to the first: the model's shape.
        let shares = SLICES.map(|slices| f64::from(SLICES[0]) / f64::from(slices));
        let quota = own.model.throttled_mps;
        let mut requests = Vec::with_capacity(seen.ended.len());
        for ended in seen.ended {
            let measured = MeasuredRequest {
                arrived_ms: ended.arrived_ms,
                transfer_ms: ended.transfer_ms,
                compute_took_ms: self
                    .readings
                    .measured(ended.compute_ms * ended.compute_factor),
            };
            requests.push(self.sensor.normalised(
                measured,
                self.was_training,
                seen.is_throttled,
                [compute, shares[at]],
                quota,
            ));
        }
        let training = self.sensor.training();
        for (effect, share) in own.model.training.iter_mut().zip(shares) {
            *effect = training * share;
        }
        let place = seen.config.place as usize;
        if let Some(told) = told.as_ref().and_then(|own| own.places.get(place)) {
            self.was_training = told.training == Some(true);
        }
        let input = ReplayInput {
            base: input(seen, told)?,
            requests,
        };
        orders.extend(
            replay_step(&self.settings, &mut self.state, &input)
                .base
                .orders,
        );
        Ok(())
    }
}
