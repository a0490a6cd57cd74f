//! The loop that every driver runs.

use crate::error::Error;
use crate::event::{Action, Event};
use crate::fleet::Fleet;
use crate::time::Time;
use crate::turn::Turn;

/// A scheduler: which job, when, and what to reconfigure. It is a pure state machine: it receives
/// events and gives orders, reads no clock and carries nothing out itself.
pub trait Scheduler {
    /// The name of the scheduler.
    fn name(&self) -> &str;

    /// Receives an event. Leases and layouts that follow from it are booked in the fleet already.
    fn on_event(&mut self, now: Time, event: Event);

    /// Acts, once an instant, after its last event.
    fn act(&mut self, now: Time, turn: &mut Turn<'_>);
}

/// Runs one instant: books its events in the fleet, passes them to the scheduler in the given order,
/// lets the scheduler act once, and adds its orders to `orders`.
///
/// # Errors
/// The first event that is impossible: a machine or device that the fleet does not have, a layout that
/// is not legal, a layout without an instance that has a tenant (report the end of the tenant first),
/// or a job that is adopted where there is no room for it.
/// Such an event is neither booked nor passed on. All others are, and the scheduler acts all the
/// same. The end of a job or task that holds nothing, because it waits, is blocked or has ended
/// already, is no error.
pub fn step(
    scheduler: &mut dyn Scheduler,
    fleet: &mut Fleet,
    now: Time,
    events: impl IntoIterator<Item = Event>,
    orders: &mut Vec<Action>,
) -> Result<(), Error> {
    let mut wrong = None;
    for event in events {
        match fleet.book(&event) {
            Ok(()) => scheduler.on_event(now, event),
            // The other events are booked all the same: one bad event must not keep devices of a job
            // that has ended from being free.
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    // After the last event, so that a job which arrives finds the devices of one that ends in the
    // same instant.
    scheduler.act(now, &mut Turn::new(fleet, orders));
    wrong.map_or(Ok(()), Err)
}
