//! First in, first out, with a head that may wait for better links.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mapa_core::{Decision, Ends, Next, Outlook, Patience, Policy, Refusal};

use crate::estimate::length;
use crate::event::Event;
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::Waiting;

/// First in, first out, with a head that blocks, as [`Fifo`](crate::Fifo); and patience: a bandwidth-sensitive head
/// that could start waits for a running lease to end where an exact stopping rule says that this costs less device-time
/// than the slow ring that it would get now ([`mapa_core::Foresight::worth_waiting`]).
///
/// Nobody starves: nothing starts behind a head that waits, so that every lease that ends leaves it more, and on an
/// idle machine nobody waits. A head that waits is asked again as soon as the fleet has changed; it asks for no wake,
/// since a lease will end. Leases that never end are not for this scheduler.
///
/// With [`queue`](Self::queue), sets are compared by what the next jobs of the queue will have, and with
/// [`known_ends`](Self::known_ends) in the order in which leases are expected to end.
///
/// All this is for one machine. On a fleet of several a head that waits for one would hold up all others, so nobody
/// waits there, and the next jobs may go elsewhere, so every job is placed by the policy alone.
///
/// ```
/// use mapa_core::{Patience, foresight, preserve, ring_packing_gbps};
/// use mapa_sched::Foresight;
///
/// // By Eq. 2, as the policy of this name.
/// let by_eq_2 = Foresight::new(foresight());
/// // Placed by preserve, patient by ring packing, and only where waiting hardly costs.
/// let rings = mapa_core::Foresight::new(ring_packing_gbps());
/// let patient = Foresight::new(preserve()).by(rings).patience(Some(Patience { kappa: 1.0, ..Patience::default() }));
/// # let _ = (by_eq_2, patient);
/// ```
pub struct Foresight {
    name: String,
    waiting: Waiting,
    policy: Box<dyn Policy>,
    /// Who was refused on this state, or waits on it.
    refused: Memo<()>,
    judge: mapa_core::Foresight,
    patience: Option<Patience>,
    /// How many of the next jobs are looked at.
    queue: usize,
    /// When running jobs are expected to end, if that is asked for.
    ends: Option<BTreeMap<JobId, Time>>,
}

impl Foresight {
    /// Every job placed by this policy, heads patient by Eq. 2 as far as [`Patience::default`].
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("foresight, {}", policy.name()),
            waiting: Waiting::new(Order::Arrival, false),
            policy: Box::new(policy),
            refused: Memo::new(),
            judge: mapa_core::foresight(),
            patience: Some(Patience::default()),
            queue: 0,
            ends: None,
        }
    }

    /// By what heads judge whether to wait: its model of bandwidth. Default: [`mapa_core::foresight`], by Eq. 2.
    #[must_use]
    pub fn by(self, judge: mapa_core::Foresight) -> Self {
        Self { judge, ..self }
    }

    /// How patient heads are; none: never. Default: [`Patience::default`].
    #[must_use]
    pub fn patience(self, patience: Option<Patience>) -> Self {
        Self { patience, ..self }
    }

    /// Has so many of the next jobs tried out for each set ([`mapa_core::Foresight::expecting`]), as long as any wait:
    /// all jobs are then placed by what patience is judged by, whatever the policy. Six are enough. Default: 0.
    #[must_use]
    pub fn queue(self, jobs: usize) -> Self {
        Self { queue: jobs, ..self }
    }

    /// Takes jobs to run as long as [`Job::run_time`] says, for longer where links are slow by as much as [`Patience`]
    /// says (by its default, where nobody is patient), rather than to end in any order. To be said before the first job
    /// arrives; of use with [`queue`](Self::queue) only.
    #[must_use]
    pub fn known_ends(self) -> Self {
        Self { ends: Some(BTreeMap::new()), ..self }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// Starts a job; false if it had better wait. On several machines it is first in, first out.
    fn start(&mut self, job: &Job, now: Time, turn: &mut Turn<'_>) -> Result<bool, Refusal> {
        let tenant = Tenant::Job(job.id);
        if turn.fleet().machines().len() > 1 {
            return turn.start(tenant, &*self.policy, &job.request).map(|_| true);
        }
        let Some(decision) = self.choose(job, now, turn)? else { return Ok(false) };
        self.expect(job, now, &decision);
        turn.place(tenant, decision).map(|_| true)
    }

    /// Where a job lies if it starts now; none if it had better wait.
    fn choose(&self, job: &Job, now: Time, turn: &Turn<'_>) -> Result<Option<Decision>, Refusal> {
        let mut views = turn.views();
        let Some(view) = views.next() else { return turn.decide(&*self.policy, &job.request).map(Some) };
        let decision = match self.outlook(job, now, turn) {
            Some(outlook) => turn.decide(self.judge.expecting(outlook), &job.request)?,
            None => turn.decide(&*self.policy, &job.request)?,
        };
        let waits = |patience: &Patience| self.judge.worth_waiting(&job.request, &view, &decision, patience).is_some();
        let waits = self.patience.as_ref().is_some_and(waits);
        Ok((!waits).then_some(decision))
    }

    /// What comes after the head; none if nobody does, or nobody looks.
    fn outlook(&self, head: &Job, now: Time, turn: &Turn<'_>) -> Option<Outlook> {
        let next = |job: &Job| Next {
            devices: job.request.pattern.len(),
            sensitive: job.request.bandwidth_sensitive,
            seconds: length(job).as_secs_f64(),
        };
        let jobs: Vec<Next> = self.waiting.jobs().skip(1).take(self.queue).map(next).collect();
        let left = |(&job, &end): (&JobId, &Time)| {
            let (_, lease) = turn.fleet().lease_of(Tenant::Job(job))?;
            Some((lease.id, end.since(now).as_secs_f64()))
        };
        let ends = self.ends.as_ref().map(|ends| Ends {
            running: ends.iter().filter_map(left).collect(),
            seconds: length(head).as_secs_f64(),
            slowdown: self.slowdown(),
        });
        (!jobs.is_empty()).then_some(Outlook { next: jobs, ends })
    }

    fn slowdown(&self) -> Patience {
        self.patience.unwrap_or_default()
    }

    /// Notes when a job that starts is expected to end.
    fn expect(&mut self, job: &Job, now: Time, decision: &Decision) {
        let slowdown = self.slowdown();
        if let Some(ends) = &mut self.ends {
            let gbps = decision.best().score(self.judge.model().name());
            let gbps = gbps.filter(|_| job.request.bandwidth_sensitive && job.request.pattern.len() > 1);
            let times = gbps.map_or(1.0, |gbps| slowdown.slowdown_at(gbps));
            let seconds = length(job).as_secs_f64() * times;
            ends.insert(job.id, now + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
    }
}

impl Default for Foresight {
    /// Placed by [`mapa_core::foresight`].
    fn default() -> Self {
        Self::new(mapa_core::foresight())
    }
}

impl fmt::Debug for Foresight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foresight")
            .field("name", &self.name)
            .field("waiting", &self.waiting)
            .field("judge", &self.judge)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl Scheduler for Foresight {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            Event::Cancelled(job) | Event::Failed(job) | Event::Finished(job) => {
                drop(self.waiting.forget(job));
                self.ends.as_mut().map(|ends| ends.remove(&job));
            }
            _ => {}
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.refused.refresh(turn.fleet());
        while let Some(entry) = self.waiting.get(0) {
            if self.refused.get(entry.class).is_some() {
                break;
            }
            let (job, class) = (entry.job.clone(), entry.class);
            let placed = self.start(&job, now, turn);
            match placed {
                Ok(true) => drop(self.refused.refresh(turn.fleet())),
                Err(why @ Refusal::Infeasible(_)) => turn.reject(job.id, why),
                Ok(false) | Err(_) => {
                    self.refused.insert(class, ());
                    break;
                }
            }
            self.waiting.remove(0);
        }
    }
}
