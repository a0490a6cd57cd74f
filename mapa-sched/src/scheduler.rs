//! The loop that every driver runs.

use crate::error::Error;
use crate::event::{Action, Event};
use crate::fleet::Fleet;
use crate::time::Time;
use crate::turn::Turn;

/// Which job, when, and what to reconfigure. A pure state machine: told facts, it gives orders; it reads no clock and does
/// nothing itself.
pub trait Scheduler {
    /// Its name.
    fn name(&self) -> &str;

    /// Takes note of a fact. What it says of leases and layouts is booked in the fleet already.
    fn on_event(&mut self, now: Time, event: Event);

    /// Acts, once an instant, after its last fact.
    fn act(&mut self, now: Time, turn: &mut Turn<'_>);
}

/// Runs one instant: books its facts in the fleet, tells them to the scheduler in the given order, lets it act once, and
/// adds its orders to `orders`.
///
/// # Errors
/// The first fact that cannot be: a machine that the fleet does not have, a layout that is not legal or under which
/// something with a tenant would vanish: tell the tenant's end first. Such a fact is neither booked nor told; all others are,
/// and the scheduler has acted all the same. The end of what holds nothing, because it waits, is blocked or has ended already,
/// is no error.
pub fn step(
    scheduler: &mut dyn Scheduler,
    fleet: &mut Fleet,
    now: Time,
    facts: impl IntoIterator<Item = Event>,
    orders: &mut Vec<Action>,
) -> Result<(), Error> {
    let mut wrong = None;
    for event in facts {
        match fleet.book(&event) {
            Ok(()) => scheduler.on_event(now, event),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    scheduler.act(now, &mut Turn::new(fleet, orders));
    wrong.map_or(Ok(()), Err)
}
