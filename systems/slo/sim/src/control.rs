//! The controllers of `mapa-sched` in a simulated run.

use mapa_system_slo::replay::{
    MeasuredRequest, PastRequest, ReplayInput, ReplayRecord, ReplaySettings, ReplayState, Sensor,
    SensorSettings, recorded as replay_recorded, step as replay_step,
};
use mapa_system_slo::{
    ControllerAction, ControllerState, CounterSnapshot, DecisionRecord, EnabledLevers,
    PlaceCounters, Settings, TenantSetup, TickInput, latency_ns, recorded, step,
};

use super::noise::{Noise, NoisyReadings};
use super::run::{Control, EndedRequest, TickView, World};
use super::scenario::{SLICES, SWITCHES, Scenario};
use crate::error::Error;

impl Scenario {
    /// The paper's settings with these levers for this scenario: its promise, its window, its
    /// tick, and the true model.
    ///
    /// # Errors
    /// Parameters out of bounds.
    pub fn settings(&self, levers: EnabledLevers) -> Result<Settings, Error> {
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
pub fn snapshot(world: &World) -> CounterSnapshot {
    let places = world.heavy.iter().zip(&world.training).enumerate();
    CounterSnapshot {
        age_ticks: 0,
        places: places
            .map(|(at, (heavy, training))| PlaceCounters {
                host: (at / SWITCHES) as u32,
                heavy: Some(*heavy),
                training: Some(*training > 0),
                largest: Some(SLICES.len() as u8 - 1),
                ..PlaceCounters::default()
            })
            .collect(),
        numa: Vec::new(),
    }
}

fn input(seen: &TickView<'_>, snapshot: Option<CounterSnapshot>) -> Result<TickInput, Error> {
    let latencies = seen.ended.iter().map(|ended| latency_ns(ended.took_ms));
    Ok(TickInput {
        tick: seen.tick,
        latencies_ns: latencies.collect::<Result<_, _>>()?,
        snapshot,
        relaunch: seen.relaunch,
        ..TickInput::default()
    })
}

/// A controller with its settings and state, which may keep its records.
#[derive(Clone, Debug)]
pub struct LoggedController<S, T, R> {
    settings: S,
    state: T,
    /// The tenant's name in records, and the records.
    log: Option<(String, Vec<R>)>,
}

impl<S, T, R> LoggedController<S, T, R> {
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
        (self.settings, self.log.map_or_else(Vec::new, |row| row.1))
    }
}

/// The paper's controller, with perfect counters.
pub type PaperControl = LoggedController<Settings, ControllerState, DecisionRecord>;

impl PaperControl {
    /// A controller of a tenant that starts so.
    #[must_use]
    pub fn new(settings: Settings, start: TenantSetup) -> Self {
        let state = ControllerState::new(start, &settings);
        Self::with(settings, state)
    }
}

/// MAPA's controller by replay, with perfect counters.
pub type ReplayControl = LoggedController<ReplaySettings, ReplayState, ReplayRecord>;

impl ReplayControl {
    /// A controller of a tenant that starts so.
    #[must_use]
    pub fn new(settings: ReplaySettings, start: TenantSetup) -> Self {
        let state = ReplayState::new(start, &settings);
        Self::with(settings, state)
    }
}

impl Control for PaperControl {
    fn tick(
        &mut self,
        seen: &TickView<'_>,
        orders: &mut Vec<ControllerAction>,
    ) -> Result<(), Error> {
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

impl Control for ReplayControl {
    fn tick(
        &mut self,
        seen: &TickView<'_>,
        orders: &mut Vec<ControllerAction>,
    ) -> Result<(), Error> {
        let exact = |ended: &EndedRequest| PastRequest {
            arrived_ms: ended.arrived_ms,
            transfer_ms: ended.transfer_ms,
            compute_ms: ended.compute_ms,
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
pub struct LiveControl {
    settings: ReplaySettings,
    state: ReplayState,
    sensor: Sensor,
    readings: NoisyReadings,
    was_training: bool,
}

impl LiveControl {
    /// A controller of a tenant that starts so, in the run of this seed.
    #[must_use]
    pub fn new(settings: ReplaySettings, start: TenantSetup, noise: Noise, seed: u64) -> Self {
        let state = ReplayState::new(start, &settings);
        Self {
            settings,
            state,
            sensor: Sensor::new(SensorSettings::default()),
            readings: NoisyReadings::new(noise, seed),
            was_training: false,
        }
    }

    /// The effect of training as learned.
    #[must_use]
    pub fn training(&self) -> f64 {
        self.sensor.training()
    }
}

impl Control for LiveControl {
    fn tick(
        &mut self,
        seen: &TickView<'_>,
        orders: &mut Vec<ControllerAction>,
    ) -> Result<(), Error> {
        let settings = &mut self.settings.base;
        let throttled = seen.is_throttled.then_some(seen.config.place);
        let mut told = self.readings.read(seen.world, throttled, settings.io_mb_s);
        if let Some(snapshot) = &mut told {
            self.sensor.judge(snapshot, settings, throttled);
        }
        // A profile that does not exist counts as the largest, as in the model.
        let at = usize::from(seen.config.profile).min(SLICES.len() - 1);
        let alone = settings
            .model
            .slowdown(seen.config.profile, 0, false, false);
        let compute = alone.compute;
        // By how much training counts on this profile, relative to the first: the model's shape.
        let shares = SLICES.map(|slices| f64::from(SLICES[0]) / f64::from(slices));
        let quota = settings.model.throttled_mps;
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
        for (effect, share) in settings.model.training.iter_mut().zip(shares) {
            *effect = training * share;
        }
        let place = seen.config.place as usize;
        if let Some(told) = told
            .as_ref()
            .and_then(|snapshot| snapshot.places.get(place))
        {
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
