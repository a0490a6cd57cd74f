//! Admission: a newcomer goes where it breaks no promise; else it waits, and is rejected after its
//! deadline.
//!
//! The paper names the lever and prints no rule. Read literally ("queue while the predicted tail of
//! any tenant is above its promise wherever the newcomer goes") nobody is ever admitted beside a
//! tenant that already misses its promise. So a place is open if the newcomer changes nothing for
//! the tenant there, or if the tenant's predicted tail stays within its promise.

use super::state::{ControllerAction, Newcomer};
use super::under_way::StepUnderWay;

pub(super) fn act(step: &mut StepUnderWay<'_>) {
    let tick = step.input.tick;
    // Where nothing else is decided nobody is admitted or rejected, but nobody is forgotten either.
    if step.is_blind() || step.is_clock_back || step.input.command.is_some() {
        step.state.queue.extend_from_slice(&step.input.newcomers);
        return;
    }
    let mut waiting = std::mem::take(&mut step.state.queue);
    waiting.extend_from_slice(&step.input.newcomers);
    // Two that are admitted in one tick must not both count on the same quiet tenant.
    let mut joined = (0, false);
    for newcomer in waiting {
        match place_for(step, newcomer, joined) {
            Some(place) => {
                if place == step.state.config.place {
                    joined = (
                        joined.0.saturating_add(u32::from(newcomer.heavy)),
                        joined.1 || newcomer.training,
                    );
                }
                step.orders.push(ControllerAction::Admit {
                    id: newcomer.id,
                    place,
                });
            }
            None if tick >= newcomer.deadline => step
                .orders
                .push(ControllerAction::Reject { id: newcomer.id }),
            None => step.state.queue.push(newcomer),
        }
    }
}

/// The first open place with room, the least contended first.
fn place_for(step: &StepUnderWay<'_>, own: Newcomer, joined: (u32, bool)) -> Option<u32> {
    // Without fresh counters nobody is admitted.
    let snapshot = step.snapshot()?;
    let mut best: Option<((u32, bool), u32)> = None;
    for (at, place) in snapshot.places.iter().enumerate() {
        let at = at as u32;
        let is_open = !place.closed
            && place.fits(0)
            && (at != step.state.config.place || is_open_beside(step, own, joined));
        let who = place.contention(step.settings);
        let load = (
            who.heavy.saturating_add(u32::from(who.training)),
            at == step.state.config.place,
        );
        if is_open && best.is_none_or(|(least, _)| load < least) {
            best = Some((load, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Whether the newcomer may share the tenant's own place.
fn is_open_beside(step: &StepUnderWay<'_>, own: Newcomer, joined: (u32, bool)) -> bool {
    if !own.heavy && !own.training {
        return true;
    }
    let Some(p99) = step.state.window.quantile(990) else {
        return false;
    };
    if !step.state.is_ready(step.settings) {
        return false;
    }
    let Some(snapshot) = step.snapshot() else {
        return false;
    };
    let config = step.state.config;
    let who = snapshot.contention(config.place, step.settings);
    let model = &step.settings.model;
    // A throttle ends, so it is not counted on.
    let now = model.slowdown(
        config.profile,
        who.heavy,
        who.training,
        step.state.guard.is_on(),
    );
    let then = model.slowdown(
        config.profile,
        (who.heavy)
            .saturating_add(joined.0)
            .saturating_add(u32::from(own.heavy)),
        who.training || joined.1 || own.training,
        false,
    );
    // How a latency divides into transfer and computation is not known here: the larger factor
    // bounds both.
    let factor = (then.transfer / now.transfer).max(then.compute / now.compute);
    p99 as f64 * factor <= step.settings.promise_ns as f64
}
