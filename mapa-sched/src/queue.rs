//! A scheduler with one queue, in any order.

use std::fmt;

use mapa_core::{Decision, Policy, Refusal};

use crate::event::{Assignment, Event};
use crate::job::{Job, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{Position, WaitingJobs};

/// A function that decides for a job, given the fleet.
type ByTurn = Box<dyn FnMut(&Job, &Turn<'_>) -> Result<Decision, Refusal> + Send>;

enum Choose {
    /// A policy has no state, so a refusal holds until the fleet changes. The memo has the classes
    /// of jobs that were refused.
    ByPolicy(Box<dyn Policy>, Memo<()>),
    ByTurn(ByTurn),
}

impl Choose {
    fn refresh(&mut self, turn: &Turn<'_>) {
        if let Self::ByPolicy(_, refused) = self {
            refused.refresh(turn.fleet());
        }
    }

    /// Starts a job if its policy has a decision. `None` if the policy has refused the same request
    /// on the present state before.
    fn start(
        &mut self,
        job: &Job,
        class: u64,
        turn: &mut Turn<'_>,
    ) -> Option<Result<Assignment, Refusal>> {
        let tenant = Tenant::Job(job.id);
        match self {
            Self::ByPolicy(_, refused) if refused.get(class).is_some() => None,
            Self::ByPolicy(policy, refused) => {
                let answer = turn.start(tenant, &**policy, &job.request);
                // An infeasible request is not remembered, since its job is rejected and leaves at
                // once.
                if matches!(answer, Err(Refusal::Busy(_) | Refusal::LimitReached(_))) {
                    refused.insert(class, ());
                }
                Some(answer)
            }
            // A closure may have state, such as a seed, so its refusals are not remembered.
            Self::ByTurn(choose) => {
                Some(choose(job, turn).and_then(|decision| turn.place(tenant, decision)))
            }
        }
    }
}

/// A queue in some [`Order`]. A job starts as soon as it is the head and its policy has a decision.
///
/// By default the head blocks all jobs behind it. With [`first_fit`](Self::first_fit) it does not:
/// every job for which there is room starts, in that order (list scheduling; Graham, SIAM J. Appl.
/// Math. 17(2), 1969). Then devices idle less, but small jobs may overtake a large one for ever.
/// [`Easy`](crate::Easy) and [`Conservative`](crate::Conservative) prevent that.
///
/// A job that can never be placed ([`Refusal::Infeasible`]) is rejected when it is first looked at,
/// and blocks no other job. After any other refusal it waits.
///
/// # Complexity
/// An instant costs one decision for each job that starts, and one more. With first fit it costs,
/// after each start, one decision for each different request that waits, however many jobs have it.
/// Refusals are remembered until the fleet changes.
///
/// # Examples
///
/// ```
/// use mapa_core::greedy;
/// use mapa_sched::{Order, Queue};
///
/// let shortest = Queue::new(greedy(), Order::ShortestFirst);
/// let small_ones_slip_through = Queue::new(greedy(), Order::Arrival).first_fit();
/// # let _ = (shortest, small_ones_slip_through);
/// ```
pub struct Queue {
    name: String,
    waiting: WaitingJobs,
    first_fit: bool,
    choose: Choose,
}

impl Queue {
    /// A queue whose jobs are all placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static, order: Order) -> Self {
        let name = format!("{}, {}", order.name(), policy.name());
        let choose = Choose::ByPolicy(Box::new(policy), Memo::new());
        Self {
            name,
            waiting: WaitingJobs::new(order, false),
            first_fit: false,
            choose,
        }
    }

    /// A queue whose jobs are placed as `choose` decides. It is called anew at every instant.
    #[must_use]
    pub fn choosing(
        choose: impl FnMut(&Job, &Turn<'_>) -> Result<Decision, Refusal> + Send + 'static,
        order: Order,
    ) -> Self {
        let choose = Choose::ByTurn(Box::new(choose));
        Self {
            name: order.name().to_owned(),
            waiting: WaitingJobs::new(order, false),
            first_fit: false,
            choose,
        }
    }

    /// Lets jobs start before others that cannot start yet. Call this before the first job arrives.
    #[must_use]
    pub fn first_fit(self) -> Self {
        // A closure may look at more of a job than its request, so its jobs share no class.
        let same_answers = matches!(self.choose, Choose::ByPolicy(..));
        let waiting = WaitingJobs::new(self.waiting.order().clone(), same_answers);
        Self {
            name: format!("first-fit, {}", self.name),
            waiting,
            first_fit: true,
            ..self
        }
    }

    /// Starts a job or rejects it. Returns whether it leaves the queue.
    fn try_one(&mut self, at: Position, turn: &mut Turn<'_>) -> bool {
        let Some(entry) = self.waiting.get(at) else {
            return false;
        };
        match self.choose.start(&entry.job, entry.class, turn) {
            // A remembered refusal holds for the state on which it was made, and the start has
            // changed that.
            Some(Ok(_)) => self.choose.refresh(turn),
            Some(Err(why @ Refusal::Infeasible(_))) => turn.reject(entry.job.id, why),
            _ => return false,
        }
        true
    }

    /// Starts jobs from the head on, up to the first that cannot start.
    fn try_heads(&mut self, turn: &mut Turn<'_>) {
        while let Some((at, _)) = self.waiting.first()
            && self.try_one(at, turn)
        {
            self.waiting.remove(at);
        }
    }

    /// Starts every job that can start.
    fn try_all(&mut self, turn: &mut Turn<'_>) {
        let mut walk = self.waiting.walk();
        while let Some((at, class)) = walk.next() {
            // After a refusal the whole class is left out: a start only takes devices away.
            if self.try_one(at, turn) {
                walk.go_on(class, self.waiting.next_of(class, at));
                self.waiting.remove(at);
            }
        }
    }

    pub(crate) fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The jobs that wait, next one first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl Scheduler for Queue {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            event => {
                if let Some(job) = event.leaves() {
                    drop(self.waiting.forget(job))
                }
            }
        }
    }

    fn act(&mut self, _now: Time, turn: &mut Turn<'_>) {
        self.choose.refresh(turn);
        if self.first_fit {
            self.try_all(turn);
        } else {
            self.try_heads(turn);
        }
    }
}
