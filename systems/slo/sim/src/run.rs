//! One run: requests through the servers, neighbours that come and go, and a controller.

use mapa_system_slo::{ControllerAction, RelaunchReason, Relaunched, SlowdownModel, TenantSetup};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::draw::{DrawnRun, NeighbourAction};
use super::scenario::{HOSTS, LinkShare, Paused, SWITCHES, Scenario};
use super::servers::TenantServers;
use super::totals::{Acted, RunTotals};
use crate::error::Error;
use mapa_sim::stream;

/// Who is busy now, by switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// How many neighbours copy.
    pub heavy: [u32; HOSTS * SWITCHES],
    /// How many train.
    pub training: [u32; HOSTS * SWITCHES],
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedRequest {
    /// When it arrived, ms.
    pub arrived_ms: f64,
    /// From its arrival to the answer, ms.
    pub took_ms: f64,
    /// Its transfer on a free link, ms.
    pub transfer_ms: f64,
    /// Its computation on the smallest profile without neighbours, ms.
    pub compute_ms: f64,
    /// The factor on compute time when it ended.
    pub compute_factor: f64,
}

/// What a controller sees in one tick.
#[derive(Debug)]
pub struct TickView<'a> {
    /// The tick, from 1.
    pub tick: u64,
    /// The requests that ended since the last tick.
    pub ended: &'a [EndedRequest],
    /// Who is busy.
    pub world: &'a World,
    /// The configuration in force.
    pub config: TenantSetup,
    /// Whether neighbours are throttled.
    pub is_throttled: bool,
    /// What became of a relaunch.
    pub relaunch: Option<Relaunched>,
}

/// Something that decides once a tick.
pub trait Control {
    /// Decides; orders are added to `orders`.
    ///
    /// # Errors
    /// Whatever cannot be decided on.
    fn tick(
        &mut self,
        seen: &TickView<'_>,
        orders: &mut Vec<ControllerAction>,
    ) -> Result<(), Error>;
}

/// A controller that orders nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoController;

impl Control for NoController {
    fn tick(&mut self, _: &TickView<'_>, _: &mut Vec<ControllerAction>) -> Result<(), Error> {
        Ok(())
    }
}

/// How a run differs from the plain one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunConditions {
    /// Where the tenant starts.
    pub start: TenantSetup,
    /// Whether neighbours that begin on the tenant's switch go to another one.
    pub admission: bool,
    /// Whether the tenant is moved at once and for nothing to the best switch whenever a neighbour
    /// comes or goes: the clairvoyant bound.
    pub free_moves: bool,
    /// Whether each request and action is kept, for pictures.
    pub keep: bool,
}

impl Default for RunConditions {
    fn default() -> Self {
        Self {
            start: TenantSetup::at(0),
            admission: false,
            free_moves: false,
            keep: false,
        }
    }
}

/// A relaunch under way.
#[derive(Clone, Copy)]
struct Relaunch {
    to: TenantSetup,
    until_ms: f64,
    is_warm: bool,
}

/// Runs a scenario under a controller.
///
/// Between events all rates are constant, so the servers advance exactly. Events are ticks, phases
/// of neighbours and the ends of relaunches.
///
/// # Errors
/// Parameters out of bounds, or an error of the controller.
///
/// # Complexity
/// O(r + t + b) steps for r requests, t ticks and b phases, besides what the controller does.
pub fn run(
    scenario: &Scenario,
    trace: &DrawnRun,
    seed: u64,
    conditions: RunConditions,
    control: &mut dyn Control,
) -> Result<RunTotals, Error> {
    let mut engine = Engine::new(scenario, trace, seed, conditions)?;
    let end = scenario.seconds() * 1e3;
    let tick_ms = scenario.tick_s * 1e3;
    let mut tick = 0_u64;
    let mut orders = Vec::new();
    while engine.now < end {
        let next_tick = (tick + 1) as f64 * tick_ms;
        let until = engine.next_event().min(next_tick).min(end);
        engine.advance(until);
        engine.neighbours();
        engine.finish_relaunch();
        if until == next_tick {
            tick += 1;
            let seen = TickView {
                tick,
                ended: &engine.ended,
                world: &engine.world,
                config: engine.config,
                is_throttled: engine.is_throttled,
                relaunch: engine.told.take(),
            };
            orders.clear();
            control.tick(&seen, &mut orders)?;
            engine.ended.clear();
            engine.carry_out(tick, &orders);
        }
    }
    Ok(engine.close())
}

struct Engine<'a> {
    scenario: &'a Scenario,
    trace: &'a DrawnRun,
    conditions: RunConditions,
    model: SlowdownModel,
    pauses: Pcg64,
    now: f64,
    world: World,
    /// Phases under way: their end, what they are and where.
    active: Vec<(f64, NeighbourAction, u32)>,
    next_busy: usize,
    next_request: usize,
    servers: TenantServers,
    config: TenantSetup,
    is_throttled: bool,
    throttled_until: u64,
    relaunch: Option<Relaunch>,
    told: Option<Relaunched>,
    ended: Vec<EndedRequest>,
    totals: RunTotals,
}

impl<'a> Engine<'a> {
    fn new(
        scenario: &'a Scenario,
        trace: &'a DrawnRun,
        seed: u64,
        conditions: RunConditions,
    ) -> Result<Self, Error> {
        Ok(Self {
            scenario,
            trace,
            conditions,
            model: scenario.checked()?.model()?,
            pauses: stream(seed, "slo pauses"),
            now: 0.0,
            world: World {
                heavy: [0; HOSTS * SWITCHES],
                training: [0; HOSTS * SWITCHES],
            },
            active: Vec::new(),
            next_busy: 0,
            next_request: 0,
            servers: TenantServers::default(),
            config: conditions.start,
            is_throttled: false,
            throttled_until: 0,
            relaunch: None,
            told: None,
            ended: Vec::new(),
            totals: RunTotals::new(scenario.promise_ms, scenario.seconds(), conditions.keep),
        })
    }

    fn next_event(&self) -> f64 {
        let begins = self.trace.busy.get(self.next_busy).map(|busy| busy.from_ms);
        let ends = self.active.iter().map(|row| row.0);
        let relaunch = self.relaunch.map(|relaunch| relaunch.until_ms);
        ends.chain(begins)
            .chain(relaunch)
            .fold(f64::INFINITY, f64::min)
    }

    /// The factors on transfers and compute times at a place, now.
    fn factors(&self, place: u32, profile: u8) -> [f64; 2] {
        let at = place as usize % self.world.heavy.len();
        let (heavy, training) = (self.world.heavy[at], self.world.training[at] > 0);
        let own = self
            .model
            .slowdown(profile, heavy, training, self.is_throttled);
        let transfer = match self.scenario.link {
            LinkShare::MaxMin => own.transfer,
            LinkShare::Printed => self.model.printed_transfer(profile, heavy),
        };
        [transfer, own.compute]
    }

    /// Serves until a moment, with all as it is now.
    fn advance(&mut self, until: f64) {
        let factors = self.factors(self.config.place, self.config.profile);
        let paused = self.relaunch.filter(|relaunch| !relaunch.is_warm);
        while let Some(own) = self.trace.requests.get(self.next_request) {
            if own.at_ms >= until {
                break;
            }
            let id = self.next_request as u32;
            self.next_request += 1;
            self.totals.offered += 1;
            let ready = match (paused, self.scenario.paused) {
                (Some(_), Paused::Shed) => {
                    self.totals.shed += 1;
                    continue;
                }
                (Some(relaunch), Paused::Queued) => relaunch.until_ms,
                (None, _) => own.at_ms,
            };
            self.servers
                .push(id, ready, own.transfer_ms, own.compute_ms);
        }
        let (requests, ended, totals) = (&self.trace.requests, &mut self.ended, &mut self.totals);
        self.servers.advance(until, factors, |id, at| {
            let own = requests[id as usize];
            let took_ms = at - own.at_ms;
            totals.answered(own.at_ms, took_ms);
            ended.push(EndedRequest {
                arrived_ms: own.at_ms,
                took_ms,
                transfer_ms: own.transfer_ms,
                compute_ms: own.compute_ms,
                compute_factor: factors[1],
            });
        });
        let span = (until - self.now) / 1e3;
        let mut slices = f64::from(self.model.slices_of(self.config.profile));
        if let Some(own) = self.relaunch.filter(|relaunch| relaunch.is_warm) {
            slices += f64::from(self.model.slices_of(own.to.profile));
        }
        self.totals.slice_seconds += slices * span;
        if self.is_throttled {
            self.totals.throttled_seconds += span;
        }
        self.now = until;
    }

    /// Lets neighbours come and go.
    fn neighbours(&mut self) {
        let now = self.now;
        let mut has_changed = false;
        let world = &mut self.world;
        self.active.retain(|&(until, kind, switch)| {
            let goes_on = until > now;
            if !goes_on {
                *count(world, kind, switch) -= 1;
                has_changed = true;
            }
            goes_on
        });
        while let Some(own) = self.trace.busy.get(self.next_busy) {
            if own.from_ms > now {
                break;
            }
            self.next_busy += 1;
            let target = self.relaunch.map(|relaunch| relaunch.to.place);
            let is_tenants = own.switch == self.config.place || target == Some(own.switch);
            let switch = if self.conditions.admission && is_tenants {
                own.other
            } else {
                own.switch
            };
            *count(&mut self.world, own.kind, switch) += 1;
            self.active.push((own.until_ms, own.kind, switch));
            has_changed = true;
        }
        if has_changed && self.conditions.free_moves {
            self.move_freely();
        }
    }

    fn move_freely(&mut self) {
        let work = |engine: &Self, place: u32| {
            let [transfer, compute] = engine.factors(place, engine.config.profile);
            transfer * engine.scenario.transfer_ms + compute * engine.scenario.compute_ms
        };
        let mut best = (work(self, self.config.place), self.config.place);
        for place in 0..(HOSTS * SWITCHES) as u32 {
            let own = work(self, place);
            if own < best.0 {
                best = (own, place);
            }
        }
        self.config.place = best.1;
    }

    fn finish_relaunch(&mut self) {
        if let Some(own) = self.relaunch
            && own.until_ms <= self.now
        {
            self.config = own.to;
            self.relaunch = None;
            self.told = Some(Relaunched::Done);
        }
    }

    fn carry_out(&mut self, tick: u64, orders: &[ControllerAction]) {
        // A throttle ends by itself, whatever becomes of the controller.
        if self.is_throttled && tick >= self.throttled_until {
            self.is_throttled = false;
        }
        for order in orders {
            match *order {
                ControllerAction::Throttle { until, .. } => {
                    self.is_throttled = true;
                    self.throttled_until = until;
                    self.totals.throttles += 1;
                    self.totals.act(self.now, Acted::Throttle);
                }
                ControllerAction::Lift => self.is_throttled = false,
                ControllerAction::Relaunch { to, why, warm } => {
                    let normal: f64 = StandardNormal.sample(&mut self.pauses);
                    let own = self.scenario;
                    let pause = (own.pause_s + own.pause_sd_s * normal).max(own.pause_s / 3.0);
                    self.relaunch = Some(Relaunch {
                        to,
                        until_ms: self.now + pause * 1e3,
                        is_warm: warm,
                    });
                    self.totals
                        .relaunched_at
                        .push((tick, why == RelaunchReason::Rollback));
                    self.totals.act(self.now, Acted::of(self.config, to, why));
                }
                ControllerAction::Restore { to } => {
                    self.relaunch = None;
                    self.config = to;
                }
                ControllerAction::Admit { .. } | ControllerAction::Reject { .. } => (),
            }
        }
    }

    fn close(mut self) -> RunTotals {
        // What is still in service when the run ends is neither late nor in time.
        self.totals.offered -= self.servers.len();
        self.totals.close();
        self.totals
    }
}

fn count(world: &mut World, kind: NeighbourAction, switch: u32) -> &mut u32 {
    let of = match kind {
        NeighbourAction::Copies => &mut world.heavy,
        NeighbourAction::Trains => &mut world.training,
    };
    &mut of[switch as usize % (HOSTS * SWITCHES)]
}
