//! One step of the controller by replay.

use serde::{Deserialize, Serialize};

use super::cost::{Duty, ReplayCosts};
use super::history::{PastRequest, RequestHistory};
use super::settings::ReplaySettings;
use crate::record::Alternative;
use crate::settings::{EnabledLevers, Settings};
use crate::signals::CounterSnapshot;
use crate::state::{
    ControllerState, PhaseKind, RelaunchReason, TenantSetup, ThrottleState, TickInput,
};
use crate::step::{Decision, step as paper_step};
use crate::table::RowId;
use crate::under_way::StepUnderWay;

/// The state of one tenant's controller by replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayState {
    /// What it shares with the paper's controller.
    pub base: ControllerState,
    /// The last requests.
    pub history: RequestHistory,
    /// The long-run use of each place: the share of time with neighbours that copy, and with one
    /// that trains.
    pub duty: Vec<[f64; 2]>,
}

impl ReplayState {
    /// A controller of a tenant that has just started.
    #[must_use]
    pub fn new(config: TenantSetup, settings: &ReplaySettings) -> Self {
        Self {
            base: ControllerState::new(config, &settings.base),
            history: RequestHistory::new(settings.history as usize),
            duty: Vec::new(),
        }
    }
}

/// What the controller by replay is told in one tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayInput {
    /// What the paper's controller is told too.
    pub base: TickInput,
    /// The requests that were answered since the last tick.
    #[serde(default)]
    pub requests: Vec<PastRequest>,
}

/// What a step came to, and the candidates that were compared in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayDecision {
    /// The rows that applied and the orders.
    pub base: Decision,
    /// Candidates and their costs, seconds of failed requests; empty in most ticks.
    pub candidates: Vec<Alternative>,
}

/// Advances a tenant's controller by one tick.
///
/// The rows of the paper's table that keep throttles bounded, follow relaunches and hold without
/// fresh counters are walked first, with every lever off. Then a neighbour on the path is throttled
/// at once, and every few ticks the candidates are compared by replay.
///
/// # Complexity
/// In one tick of five, O(r n + p k) for a history of n requests, r different slowdowns, p places
/// and k profiles; otherwise O(p).
pub fn step(
    settings: &ReplaySettings,
    state: &mut ReplayState,
    input: &ReplayInput,
) -> ReplayDecision {
    let passive = passive(&settings.base);
    let mut base = paper_step(
        passive.as_ref().unwrap_or(&settings.base),
        &mut state.base,
        &input.base,
    );
    base.rows.retain(|row| *row != RowId::NothingLeft);
    for &request in &input.requests {
        state.history.push(request);
    }
    let mut decision = ReplayDecision {
        base,
        candidates: Vec::new(),
    };
    let snapshot = input.base.snapshot.as_ref();
    let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.is_stale(&settings.base)) else {
        return decision;
    };
    let tick = input.base.tick;
    let every = u64::from(settings.every_ticks.max(1));
    let is_turn = tick % every == u64::from(settings.turn);
    if is_turn {
        remember(settings, state, snapshot);
    }
    if decision.base.rows.contains(&RowId::Hold) || is_relaunching(&state.base) {
        return decision;
    }
    let mut orders = std::mem::take(&mut decision.base.orders);
    let mut now = StepUnderWay {
        settings: &settings.base,
        input: &input.base,
        state: &mut state.base,
        is_clock_back: false,
        orders: &mut orders,
    };
    feed_forward(settings, &mut now, snapshot, &mut decision.base.rows);
    let is_ready = now.state.is_ready(&settings.base);
    if is_turn && is_ready && now.state.dwell_is_over(tick, &settings.base) {
        let (best, candidates) = choose(settings, now.state, &state.history, &state.duty, snapshot);
        if let Some(to) = best {
            now.relaunch(to, RelaunchReason::Replay);
            decision.base.rows.push(RowId::Move);
        }
        decision.candidates = candidates;
    }
    decision.base.orders = orders;
    decision
}

fn is_relaunching(state: &ControllerState) -> bool {
    state.phase.kind() == PhaseKind::Relaunching
}

/// The settings with every lever off that the replay sets itself; `None` if they are off already.
fn passive(own: &Settings) -> Option<Settings> {
    let levers = EnabledLevers {
        admission: own.levers.admission,
        ..EnabledLevers::NONE
    };
    (own.levers != levers).then(|| Settings {
        levers,
        ..own.clone()
    })
}

/// Averages the use of each place.
fn remember(settings: &ReplaySettings, state: &mut ReplayState, snapshot: &CounterSnapshot) {
    state.duty.resize(snapshot.places.len(), [0.0; 2]);
    let ticks = f64::from(settings.every_ticks) * f64::from(settings.base.tick_ms) / 1e3;
    let weight = (ticks / settings.memory_s).min(1.0);
    for (values, place) in state.duty.iter_mut().zip(&snapshot.places) {
        let who = place.contention(&settings.base);
        for (share, is_busy) in values.iter_mut().zip([who.heavy > 0, who.training]) {
            *share += weight * (f64::from(u8::from(is_busy)) - *share);
        }
    }
}

/// Throttles in the first tick with a neighbour on the path, and lifts when it has gone.
fn feed_forward(
    settings: &ReplaySettings,
    now: &mut StepUnderWay<'_>,
    snapshot: &CounterSnapshot,
    rows: &mut Vec<RowId>,
) {
    if !(settings.feed_forward && settings.base.levers.throttle) {
        return;
    }
    let who = snapshot.contention(now.state.config.place, &settings.base);
    let is_beside = who.heavy > 0 || who.training;
    match now.state.guard {
        ThrottleState::Open if is_beside => {
            now.throttle();
            rows.push(RowId::Throttle);
        }
        ThrottleState::On { .. } if !is_beside => {
            now.lift();
            rows.push(RowId::Lift);
        }
        _ => (),
    }
}

/// The candidate of least cost, if it is enough below the present one's; and all candidates.
fn choose(
    settings: &ReplaySettings,
    state: &ControllerState,
    history: &RequestHistory,
    duty: &[Duty],
    snapshot: &CounterSnapshot,
) -> (Option<TenantSetup>, Vec<Alternative>) {
    let own = state.config;
    let levers = settings.base.levers;
    let mut costs = ReplayCosts::new(settings, history);
    let mut cost = |place: u32, profile: u8| {
        let who = snapshot.contention(place, &settings.base);
        let duty = duty.get(place as usize).copied().unwrap_or_default();
        costs.of(profile, who, duty)
    };
    let present = cost(own.place, own.profile);
    let mut candidates = vec![Alternative {
        to: own,
        score: present,
    }];
    for (at, place) in snapshot.places.iter().enumerate() {
        for profile in 0..settings.base.model.profiles() as u8 {
            let at = at as u32;
            let may_move = at == own.place || levers.moves;
            let may_size = match profile.cmp(&own.profile) {
                std::cmp::Ordering::Less => levers.relax,
                std::cmp::Ordering::Equal => true,
                std::cmp::Ordering::Greater => levers.enlarge,
            };
            let is_own = (at, profile) == (own.place, own.profile);
            if is_own || !may_move || !may_size || !place.fits(profile) {
                continue;
            }
            let pinned = own.pinned || levers.pin;
            let to = TenantSetup {
                place: at,
                profile,
                pinned,
                ..own
            };
            candidates.push(Alternative {
                to,
                score: cost(at, profile),
            });
        }
    }
    let relaunch = costs.relaunch();
    for candidate in candidates.iter_mut().skip(1) {
        candidate.score += relaunch;
    }
    let mut best = candidates[0];
    for candidate in &candidates {
        if candidate.score < best.score {
            best = *candidate;
        }
    }
    let acts = best.to != own && best.score < settings.act_below * present;
    (acts.then_some(best.to), candidates)
}
