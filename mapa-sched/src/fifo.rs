//! First in, first out.

use mapa_core::{Decision, Policy, Refusal};

use crate::event::Event;
use crate::job::Job;
use crate::order::Order;
use crate::queue::Queue;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;

/// First in, first out, with a head that blocks: a job starts once all that came before it have started, as MAPA's evaluation
/// runs them. A job that can never be placed ([`Refusal::Infeasible`]) is rejected and blocks nobody.
///
/// Any other refusal keeps the head waiting for something to change. A policy whose own rule refuses a job on an idle fleet
/// too, or whose search always reaches its limit, so holds up the queue: [`Fifo::choosing`] can turn that into a rejection.
#[derive(Debug)]
pub struct Fifo(Queue);

impl Fifo {
    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("fifo, {}", policy.name());
        Self(Queue::new(policy, Order::Arrival).named(name))
    }

    /// Every job placed as `choose` says: for policies made anew per job, from its run times, learned weights, a seed. Any
    /// state that changes lives in this closure, never in a policy.
    ///
    /// ```
    /// use mapa_core::random;
    /// use mapa_sched::Fifo;
    ///
    /// let seed = 7;
    /// let fifo = Fifo::choosing(move |job, turn| turn.decide(random("placement", seed, job.id.0), &job.request));
    /// # let _ = fifo;
    /// ```
    #[must_use]
    pub fn choosing(choose: impl FnMut(&Job, &Turn<'_>) -> Result<Decision, Refusal> + Send + 'static) -> Self {
        Self(Queue::choosing(choose, Order::Arrival).named("fifo".to_owned()))
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.0.waiting()
    }
}

impl Scheduler for Fifo {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.0.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.0.act(now, turn);
    }
}
