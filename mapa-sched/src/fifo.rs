//! First in, first out.

use std::collections::VecDeque;
use std::fmt;

use mapa_core::{Decision, Policy, Refusal};

use crate::event::Event;
use crate::job::{Job, JobId, Tenant};
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;

type Choose = Box<dyn FnMut(&Job, &Turn<'_>) -> Result<Decision, Refusal> + Send>;

/// First in, first out, with a head that blocks: a job starts once all that came before it have started, as MAPA's evaluation
/// runs them. A job that can never be placed ([`Refusal::Infeasible`]) is rejected and blocks nobody.
///
/// Any other refusal keeps the head waiting for something to change. A policy whose own rule refuses a job on an idle fleet
/// too, or whose search always reaches its limit, so holds up the queue: [`Fifo::choosing`] can turn that into a rejection.
pub struct Fifo {
    name: String,
    queue: VecDeque<Job>,
    choose: Choose,
}

impl Fifo {
    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("fifo, {}", policy.name());
        Self { name, ..Self::choosing(move |job, turn| turn.decide(&policy, &job.request)) }
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
        Self { name: "fifo".to_owned(), queue: VecDeque::new(), choose: Box::new(choose) }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.queue.iter()
    }

    fn forget(&mut self, job: JobId) {
        self.queue.retain(|waiting| waiting.id != job);
    }
}

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("name", &self.name).field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Scheduler for Fifo {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.queue.push_back(job),
            Event::Cancelled(job) | Event::Failed(job) | Event::Finished(job) => self.forget(job),
            _ => {}
        }
    }

    fn act(&mut self, _now: Time, turn: &mut Turn<'_>) {
        while let Some(job) = self.queue.front() {
            let choice = (self.choose)(job, turn);
            match choice.and_then(|decision| turn.place(Tenant::Job(job.id), decision)) {
                Ok(_) => {}
                Err(why @ Refusal::Infeasible(_)) => turn.reject(job.id, why),
                Err(_) => break,
            }
            self.queue.pop_front();
        }
    }
}
