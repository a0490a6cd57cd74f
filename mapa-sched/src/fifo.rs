//! First in, first out.

use mapa_core::{Decision, Policy, Refusal};

use crate::event::Event;
use crate::job::Job;
use crate::order::Order;
use crate::queue::Queue;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;

/// First in, first out, with a head that blocks: a job starts once all that came before it have
/// started, as MAPA's evaluation runs them. A job that can never be placed
/// ([`Refusal::Infeasible`]) is rejected and blocks no other job.
///
/// After any other refusal the head waits until the fleet changes. So a policy that refuses a job
/// even on an idle fleet, by a rule of its own or because its search always reaches its limit,
/// blocks the queue for ever. [`Fifo::choosing`] can turn such a refusal into a rejection.
#[derive(Debug)]
pub struct Fifo(Queue);

impl Fifo {
    /// A scheduler that places every job by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("fifo, {}", policy.name());
        Self(Queue::new(policy, Order::Arrival).named(name))
    }

    /// A scheduler that places every job as `choose` decides: for policies that depend on the job's
    /// run time, on learned weights or on a seed. Keep state that changes in this closure: a policy
    /// must have none.
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
    pub fn choosing(
        choose: impl FnMut(&Job, &Turn<'_>) -> Result<Decision, Refusal> + Send + 'static,
    ) -> Self {
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
