//! A scheduler that adds up its own time.

use std::time::{Duration, Instant};

use mapa_sched::{Event, Scheduler, Time, Turn};

/// A scheduler, and how long its decisions took.
pub struct Timed<'a> {
    scheduler: &'a mut dyn Scheduler,
    /// The sum of its decisions so far.
    pub took: Duration,
}

impl<'a> Timed<'a> {
    /// The scheduler, with no decision counted.
    pub fn new(scheduler: &'a mut dyn Scheduler) -> Self {
        Self {
            scheduler,
            took: Duration::ZERO,
        }
    }
}

impl Scheduler for Timed<'_> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.scheduler.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let start = Instant::now();
        self.scheduler.act(now, turn);
        self.took += start.elapsed();
    }
}
