//! The event loop of the simulator.
//!
//! **Time.** A job's work, and what is left of it, are integers in units of 2⁻³² ns; its rate is an
//! integer in units of 2⁻³² of full speed. So what is left after a change of speed is exact,
//! whenever it is computed. A job ends in the first nanosecond in which nothing is left. Only one
//! step rounds: a slowdown becomes a rate of 32 binary digits.
//!
//! **Ties.** An instant is all that happens at one nanosecond. The scheduler receives its events in
//! the order of a [`Timeline`](mapa_sched::Timeline); arrivals of one moment by their order in the
//! workload. What follows from an order or an event without any time passing, such as the end of a
//! job without work, is in a further instant at the same nanosecond.
//!
//! **Tasks.** A job's tasks begin one after another from the job's start, which is its launch or
//! its first place. A task begins its [pause](crate::TaskPlan::pause) after that start or after the
//! end of the task before it. Until it gets a place it is blocked. A job with devices works on them
//! meanwhile, and ends when its own work and all its tasks are done. A job that was launched has no
//! device: after its last task it does its own work on the host, at full speed, and ends. A job and
//! its task are tenants of their own: to move or suspend one does nothing to the other.
//!
//! **Growth.** A task may request more while it keeps what it has ([`Growth`](crate::Growth)). Each
//! request is a task to the scheduler, with the number after the one before. The task works while all
//! that it has requested is granted, at the speed of its first place. It makes one request at a time. At
//! its end all of these end, in one instant.

mod running;
mod setup;
mod work;

use std::time::Duration;

use mapa_core::mig::{Layout, Model};
use mapa_sched::{Fleet, Scheduler, SchedulerRun, Time};

use self::running::SimulationState;
use self::setup::Setup;
use crate::error::Error;
use crate::execution::Execution;
use crate::outcome::{GrowingOutcome, Outcome};
use crate::workload::Workload;

/// How many jobs that have left the record keeps at most, before they go to the outcome.
const KEPT: usize = 1024;

/// A workload on a fleet, ready to run.
pub struct Simulation<'a> {
    fleet: Fleet,
    setup: Setup<'a>,
}

impl<'a> Simulation<'a> {
    /// A simulation of this workload on this fleet. Leases that are on the fleet stay there.
    #[must_use]
    pub fn new(workload: &'a Workload, fleet: Fleet) -> Self {
        let setup = Setup {
            workload,
            repartition: Box::new(|_, _, _| Duration::ZERO),
            until: None,
            observer: None,
            progress: None,
        };
        Self { fleet, setup }
    }

    /// Sets how long a repartition takes. Default: no time.
    #[must_use]
    pub fn repartition(self, repartition: Duration) -> Self {
        self.repartition_by(move |_, _, _| repartition)
    }

    /// Sets how long a repartition takes, by the device's model and its layouts before and after.
    /// So the time may depend on each instance that is destroyed or created.
    #[must_use]
    pub fn repartition_by(
        mut self,
        takes: impl Fn(&Model, &Layout, &Layout) -> Duration + 'a,
    ) -> Self {
        self.setup.repartition = Box::new(takes);
        self
    }

    /// Stops after the last instant that is not later than this. Needed for schedulers that order
    /// wake-ups for as long as a job waits. Default: never.
    #[must_use]
    pub fn until(mut self, until: Time) -> Self {
        self.setup.until = Some(until);
        self
    }

    /// Tells the scheduler of every running job how much of its work is done, each time it has run for
    /// this long again: [`Event::Progress`](mapa_sched::Event::Progress). Default: never.
    #[must_use]
    pub fn progress(mut self, every: Duration) -> Self {
        self.setup.progress = Some(every.max(Duration::from_nanos(1)));
        self
    }

    /// Calls this function with the moment and the fleet after every instant, to show progress or
    /// to record series over time.
    #[must_use]
    pub fn observe(mut self, observer: impl FnMut(Time, &Fleet) + 'a) -> Self {
        self.setup.observer = Some(Box::new(observer));
        self
    }

    /// Runs until every job has ended or was rejected, or no further event can happen.
    ///
    /// # Errors
    /// - Two jobs of the workload have the same number.
    /// - A task grows after its work is done, or its growths are not in order.
    /// - An order cannot be carried out: its tenant does not exist, or the job was launched and is to
    ///   get devices, or the other way round.
    /// - A slowdown is not a number between 2⁻³¹ and 2³¹.
    /// - A scheduler wakes itself again and again at one moment.
    /// - A time is beyond 584 years.
    ///
    /// # Complexity
    /// O((n + k) log n) for n jobs and k orders, besides what the scheduler does. If jobs of one
    /// machine slow each other down, each order also costs the jobs on its machine.
    pub fn run(
        self,
        scheduler: &mut dyn Scheduler,
        execution: &dyn Execution,
    ) -> Result<Outcome, Error> {
        let workload = self.setup.workload;
        let mut running = SimulationState::new(self.setup, execution)?;
        let mut drive = SchedulerRun::new(self.fleet);
        let mut outcome = GrowingOutcome::new(workload);
        while drive.instant(scheduler, &mut running)? {
            if drive.record().left().len() >= KEPT {
                outcome.take_left(drive.record_mut());
            }
        }
        outcome.take_left(drive.record_mut());
        let end = drive.seen().now;
        Ok(outcome.finish(drive.record(), end, scheduler.name(), execution.name()))
    }
}
