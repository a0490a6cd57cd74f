//! Latency control: once a tick, reads the latencies of tenants, asks each controller, and carries out its actions.

use std::time::{Duration, Instant};

use mapa_front::answer::node::TenantLatency;
use mapa_front::drive_log::LatencyLine;
use mapa_live::Live;
use mapa_live::levers;
use mapa_live::telemetry::Sample;
use mapa_sched::Time;
use mapa_system_slo::{ControllerAction, Relaunched, TickInput};
use mapa_system_slo_log::LogLine;
use tracing::{info, warn};

use super::actuator::Actuator;
use super::config::SloConfig;
use super::contention::ContentionDetectors;
use super::controller::{TenantController, answered};
use super::handover::HandoverQueue;
use super::neighbours::{NeighbourMonitor, snapshot};
use crate::daemon::config::DaemonConfig;
use crate::daemon::driver::{LatencyController, NodeDriver, now_ms};
use crate::daemon::journal::NodeJournal;
use crate::daemon::levers::NodeLevers;
use crate::error::Error;

/// A line of a tenant's log, for the record.
fn line_of(tenant: &str, log: LogLine) -> LatencyLine {
    let tenant = tenant.to_owned();
    LatencyLine { tenant, log }
}

/// One tenant.
struct Guarded {
    name: String,
    controller: TenantController,
    /// The number of the hand-over that its controller waits for.
    awaits: Option<u64>,
    became: Option<Relaunched>,
    /// The latencies of its requests since the last tick.
    latencies_ns: Vec<u64>,
    requests: u64,
    late: u64,
}

/// The controllers of all tenants of `[slo]`.
pub(crate) struct LatencyControl<'a> {
    config: &'a SloConfig,
    tenants: Vec<Guarded>,
    monitor: NeighbourMonitor,
    detectors: ContentionDetectors,
    handovers: HandoverQueue<'a>,
    /// A sample of the counters that no tick has seen yet.
    fresh: Option<(Sample, Instant)>,
    began: Instant,
    /// The number of the next tick.
    tick: u64,
}

/// The most latencies of a tenant in one tick. Of more, the first ones count.
const MOST: usize = 65_536;

impl<'a> LatencyControl<'a> {
    /// Begins, with each controller at the place where its tenant runs. `None` without a table `[slo]`.
    ///
    /// # Errors
    /// Devices that this machine does not have; no thread for hand-overs, or for drivers that do not answer.
    pub(crate) fn start(
        config: &'a DaemonConfig,
        live: &Live,
        levers: &mut NodeLevers<'_, NodeJournal>,
    ) -> Result<Option<Self>, Error> {
        let Some(slo) = &config.slo else {
            return Ok(None);
        };
        let mut tenants = Vec::new();
        for (turn, (name, tenant)) in slo.tenants.iter().enumerate() {
            let programs = &levers.manager.levers().programs;
            let runs =
                |place: &levers::ProgramSpec| matches!(programs.running(&place.id), Ok(Some(_)));
            let place = tenant.places.iter().position(runs).unwrap_or(0);
            let controller = TenantController::new(slo, name, turn, place as u32);
            tenants.push(Guarded {
                name: name.clone(),
                controller: controller.map_err(Error::malformed)?,
                awaits: None,
                became: None,
                latencies_ns: Vec::new(),
                requests: 0,
                late: 0,
            });
        }
        let places = tenants
            .iter()
            .map(|tenant| (tenant.name.clone(), tenant.controller.place()));
        let levers = levers::LeverSet::of(live, config.levers.bounds);
        Ok(Some(Self {
            config: slo,
            handovers: HandoverQueue::start(slo, levers, places.collect())?,
            tenants,
            monitor: NeighbourMonitor::default(),
            detectors: ContentionDetectors::new(slo, live)?,
            fresh: None,
            began: Instant::now(),
            tick: 1,
        }))
    }

    /// Whether the counters of devices are needed: `None` if that is not known yet.
    pub(crate) fn needs_devices(&self) -> Option<bool> {
        (!self.detectors.is_asking()).then(|| self.detectors.needs_devices())
    }

    fn length(&self) -> Duration {
        Duration::from_millis(self.config.settings.tick_ms.0)
    }

    /// Tells controllers what became of hand-overs, and begins the next one.
    fn hand_over(&mut self, driver: &mut NodeDriver<'_>) {
        for over in self.handovers.go_on(driver) {
            info!(tenant = over.tenant, became = ?over.became, "handed over");
            let guarded = self
                .tenants
                .iter_mut()
                .find(|tenant| tenant.name == over.tenant);
            // One that its controller has given up is reported no more.
            if let Some(guarded) = guarded.filter(|guarded| guarded.awaits == Some(over.number)) {
                guarded.awaits = None;
                guarded.became = Some(over.became);
            }
        }
    }
}

impl LatencyController for LatencyControl<'_> {
    fn introduce(&self, driver: &mut NodeDriver<'_>) {
        for tenant in &self.tenants {
            let head = tenant.controller.head();
            driver.record(|to| to.latency(line_of(&tenant.name, head)));
        }
        let actuator = Actuator {
            config: self.config,
        };
        for what in actuator.absent(driver) {
            warn!(what, "not there yet");
        }
    }

    fn hear(&mut self, tenant: &str, took_ns: u64) -> bool {
        // Whoever is not promised anything may say what it likes.
        let Some(guarded) = self
            .tenants
            .iter_mut()
            .find(|guarded| guarded.name == tenant)
        else {
            return false;
        };
        let is_late = took_ns > self.config.tenants[tenant].latency_slo_ms.ns();
        guarded.requests += 1;
        guarded.late += u64::from(is_late);
        if guarded.latencies_ns.len() < MOST {
            guarded.latencies_ns.push(took_ns);
        }
        is_late
    }

    fn sampled(&mut self, sample: Sample, read: Instant) {
        self.fresh = Some((sample, read));
    }

    fn due(&self) -> Instant {
        let tick = u32::try_from(self.tick).unwrap_or(u32::MAX);
        self.began + self.length().saturating_mul(tick)
    }

    fn tick(&mut self, driver: &mut NodeDriver<'_>) {
        let tick = self.tick;
        let at_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.detectors.learn(self.config, driver.live) {
            driver.watch_devices();
        }
        let fresh = self.fresh.take();
        let seen = self.monitor.sample(self.config, driver, at_ms);
        self.hand_over(driver);
        let now = Time(at_ms.saturating_mul(1_000_000));
        let mut latencies = Vec::new();
        for guarded in &mut self.tenants {
            let tenant = &self.config.tenants[&guarded.name];
            let latencies_ns = std::mem::take(&mut guarded.latencies_ns);
            let answered = answered(now, &latencies_ns);
            let named = snapshot(self.config, &seen, tenant.places.len());
            let report =
                self.detectors
                    .judge(&guarded.name, &guarded.controller, named, fresh.as_ref());
            let input = TickInput {
                tick,
                latencies_ns,
                snapshot: Some(report.snapshot),
                relaunch: guarded.became.take(),
                ..TickInput::default()
            };
            let from = guarded.controller.place();
            let (orders, reason, line) = guarded.controller.tick(&guarded.name, input, &answered);
            if let Some(line) = line {
                driver.record(|to| to.latency(line_of(&guarded.name, line)));
            }
            for order in &orders {
                let contention = if report.is_inferred {
                    "inferred from counters"
                } else {
                    "named"
                };
                info!(tenant = guarded.name, order = ?order, reason, contention, "ordered");
                driver.reporter.controlled(&guarded.name, kind(order));
                match order {
                    ControllerAction::Relaunch { to, warm, .. } => {
                        guarded.awaits = Some(self.handovers.order(&guarded.name, to.place, *warm));
                    }
                    ControllerAction::Restore { to } => {
                        guarded.awaits = None;
                        self.handovers.order(&guarded.name, to.place, true);
                    }
                    _ => {
                        let config = self.config;
                        let actuator = Actuator { config };
                        actuator.carry_out(driver, &guarded.name, from, order, tick, now_ms());
                    }
                }
            }
            latencies.push(TenantLatency {
                tenant: guarded.name.clone(),
                latency_slo_ms: tenant.latency_slo_ms.0,
                requests: guarded.requests,
                late: guarded.late,
                place: guarded.controller.place(),
                throttling: guarded.controller.is_throttling(),
                inferred: report.is_inferred,
            });
        }
        // What was ordered now begins now.
        self.hand_over(driver);
        driver.reporter.latencies(latencies);
        self.tick = following(tick, self.began.elapsed(), self.length());
    }

    fn end(self: Box<Self>, driver: &mut NodeDriver<'_>) {
        self.handovers.end(driver);
    }
}

/// The name of an order's kind.
fn kind(order: &ControllerAction) -> &'static str {
    match order {
        ControllerAction::Throttle { .. } => "throttle",
        ControllerAction::Lift => "lift",
        ControllerAction::Relaunch { .. } => "relocate",
        ControllerAction::Restore { .. } => "restore",
        ControllerAction::Admit { .. } => "admit",
        ControllerAction::Reject { .. } => "reject",
    }
}

/// The number of the next tick. Ticks that a late one has missed are left out.
fn following(tick: u64, elapsed: Duration, length: Duration) -> u64 {
    let passed = elapsed.as_millis() / length.as_millis().max(1);
    (tick + 1).max(u64::try_from(passed).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::driver_tests::Base;
    use crate::daemon::parse_toml;

    #[test]
    fn a_late_tick_leaves_missed_ticks_out() {
        let of = |tick, ms| following(tick, Duration::from_millis(ms), Duration::from_secs(1));
        assert_eq!(
            [of(0, 0), of(3, 3010), of(3, 5300), of(9, 2000)],
            [1, 4, 5, 10]
        );
    }

    #[test]
    fn what_strangers_tell_is_not_heard_and_a_flood_is_bounded() {
        let mut base = Base::new();
        let text = "[service]\nlatencies = \"l\"\n[slo.tenants.api]\nlatency_slo_ms = 15\n";
        base.config = parse_toml(text).unwrap();
        let (mut driver, _outside) = base.driver();
        let control = LatencyControl::start(&base.config, &base.live, &mut driver.levers);
        let mut control = control.unwrap().unwrap();
        for (tenant, took_ns) in [("api", 5), ("stranger", 6), ("api", 20_000_000)] {
            control.hear(tenant, took_ns);
        }
        assert_eq!(control.tenants[0].latencies_ns, [5, 20_000_000]);
        for _ in 0..MOST {
            control.hear("api", 7);
        }
        assert_eq!(control.tenants[0].latencies_ns.len(), MOST);
        control.tick(&mut driver);
        let latencies = driver.reporter.status().latency;
        assert_eq!(
            (latencies[0].requests, latencies[0].late),
            (2 + MOST as u64, 1)
        );
        assert!(control.tenants[0].latencies_ns.is_empty());
        Box::new(control).end(&mut driver);
        driver.close("the test is over").unwrap();
    }
}
