//! The loop that every driver runs: events in, orders out, and a record of both.
//!
//! A [`Driver`] is what differs between a simulator, real processes and a daemon: how time goes on,
//! where events come from, and what becomes of an order. All else is here.

mod record;
mod timeline;

use crate::error::Error;
use crate::event::{Action, Event};
use crate::fleet::Fleet;
use crate::scheduler::{Scheduler, step};
use crate::time::Time;

pub use record::{
    DepartedJob, FailedOrder, JobEnd, JobHistory, Record, Residency, Stays, TaskHistory,
};
pub use timeline::{EventKey, Timeline};

/// For how many events of one instant room is kept for the next.
const KEPT_EVENTS: usize = 1024;

/// The state of a run, as its driver may read it.
#[derive(Clone, Copy, Debug)]
pub struct DriverView<'a> {
    /// The moment of the present instant, or of the last one.
    pub now: Time,
    /// The machines, and the tenants on them. Events are booked after the driver has reported them;
    /// orders before the driver carries them out.
    pub fleet: &'a Fleet,
    /// Who runs where since when. An event is recorded after the driver has reported it; an order after
    /// the driver has carried it out.
    pub record: &'a Record,
}

/// Whoever tells a scheduler what happens, and does what it orders.
///
/// # Examples
///
/// A driver under which each job runs for a second.
///
/// ```
/// use std::time::Duration;
/// use mapa_core::{DeviceId, Fabric, Pattern, Request, lowest_id};
/// use mapa_sched::*;
///
/// struct Second(Timeline);
///
/// impl Driver for Second {
///     type Error = Error;
///     fn next(&mut self, _: DriverView<'_>, events: &mut Vec<(Time, Event)>) -> Result<Option<Time>, Error> {
///         let Some(now) = self.0.next() else { return Ok(None) };
///         events.extend(std::iter::from_fn(|| self.0.take(now)));
///         Ok(Some(now))
///     }
///     fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Error> {
///         if let Action::Place { tenant, .. } = order {
///             self.0.put(seen.now + Duration::from_secs(1), Event::Finished(tenant.job()));
///         }
///         Ok(seen.now)
///     }
/// }
///
/// let mut fabric = Fabric::new();
/// fabric.add_device("GPU0")?;
/// let mut driver = Second(Timeline::default());
/// for id in [0, 1] {
///     let job = Job::new(JobId(id), Request::new(Pattern::ring(1)));
///     driver.0.put(Time::ZERO, Event::Arrived(job));
/// }
/// let mut drive = SchedulerRun::new(Fleet::new([fabric.lower()?.into()]));
/// drive.run(&mut Fifo::new(lowest_id()), &mut driver)?;
/// let ends: Vec<Time> = drive.record().left().iter().map(|left| left.at).collect();
/// assert_eq!(ends, [Time::from_secs(1), Time::from_secs(2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Driver {
    /// Why a run stops early.
    type Error: From<Error>;

    /// Goes on to the next instant: adds its events, each with the moment at which it happened, and
    /// returns its moment. A real driver blocks until there is something to tell. `None`, without
    /// events: nothing more happens, or the driver wants to stop for now.
    ///
    /// # Errors
    /// The driver cannot go on.
    fn next(
        &mut self,
        seen: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Self::Error>;

    /// Carries out an order, or begins to, and returns the moment from which it counts. An order
    /// that fails is no error here: it is reported as an event, in a later instant.
    ///
    /// # Errors
    /// The order makes no sense, or the driver cannot go on.
    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Self::Error>;

    /// Called once in an instant, after its last order. Default: does nothing.
    ///
    /// # Errors
    /// The driver cannot go on.
    fn settle(&mut self, _: DriverView<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A run: the fleet, and the record of what has happened. The scheduler and the driver are passed
/// to each call, so a program may stop between two instants, look or save, and go on later.
#[derive(Debug)]
pub struct SchedulerRun {
    fleet: Fleet,
    record: Record,
    now: Time,
    events: Vec<(Time, Event)>,
    orders: Vec<Action>,
}

impl SchedulerRun {
    /// A run that begins on this fleet. Leases that are on the fleet stay there.
    #[must_use]
    pub fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            record: Record::default(),
            now: Time::ZERO,
            events: Vec::new(),
            orders: Vec::new(),
        }
    }

    /// The state of the run, as a driver gets it with each call.
    #[must_use]
    pub fn seen(&self) -> DriverView<'_> {
        DriverView {
            now: self.now,
            fleet: &self.fleet,
            record: &self.record,
        }
    }

    /// The record of all instants so far, without what was [taken out](Record::take_left).
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The record, to take out [what has left](Record::take_left).
    pub fn record_mut(&mut self) -> &mut Record {
        &mut self.record
    }

    /// The fleet and the record.
    #[must_use]
    pub fn into_parts(self) -> (Fleet, Record) {
        (self.fleet, self.record)
    }

    /// Runs one instant: its events, the scheduler's turn, its orders. False if the driver has
    /// nothing to tell.
    ///
    /// # Errors
    /// - An impossible event, as [`step`]. The scheduler has acted and its orders are carried out, so
    ///   the run may go on.
    /// - What the driver says. The orders after the one at fault are not carried out, though the
    ///   fleet has them booked: the run is over.
    pub fn instant<D: Driver + ?Sized>(
        &mut self,
        scheduler: &mut dyn Scheduler,
        driver: &mut D,
    ) -> Result<bool, D::Error> {
        self.events.clear();
        self.orders.clear();
        let seen = DriverView {
            now: self.now,
            fleet: &self.fleet,
            record: &self.record,
        };
        let Some(next) = driver.next(seen, &mut self.events)? else {
            return Ok(false);
        };
        // A driver's clock may step back; time here never does.
        self.now = self.now.max(next);
        self.record.begin_instant();
        // All of them, even one that `step` will refuse: the record has what was reported.
        for (at, event) in &self.events {
            self.record.tell(*at, event);
        }
        let events = self.events.drain(..).map(|(_, event)| event);
        let stepped = step(
            scheduler,
            &mut self.fleet,
            self.now,
            events,
            &mut self.orders,
        );
        // After an instant at which all jobs of a workload have arrived, the room is not needed again.
        if self.events.capacity() > KEPT_EVENTS {
            self.events = Vec::new();
        }
        for order in self.orders.drain(..) {
            let seen = DriverView {
                now: self.now,
                fleet: &self.fleet,
                record: &self.record,
            };
            let at = driver.carry_out(seen, &order)?;
            self.record.carried_out(at, order);
        }
        driver.settle(self.seen())?;
        // An impossible event is reported last: the orders of this instant are carried out by now,
        // so the run may go on.
        stepped?;
        Ok(true)
    }

    /// Runs instant by instant until the driver has nothing to tell. May be called again.
    ///
    /// # Errors
    /// As [`SchedulerRun::instant`].
    pub fn run<D: Driver + ?Sized>(
        &mut self,
        scheduler: &mut dyn Scheduler,
        driver: &mut D,
    ) -> Result<(), D::Error> {
        while self.instant(scheduler, driver)? {}
        Ok(())
    }
}
