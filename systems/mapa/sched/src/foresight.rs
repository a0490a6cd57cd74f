//! First in, first out, with a queue head that may wait for better links.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mapa_core::{Decision, Ends, Next, Outlook, Patience, Policy, Refusal};

use mapa_sched::Event;
use mapa_sched::Order;
use mapa_sched::Scheduler;
use mapa_sched::Time;
use mapa_sched::Turn;
use mapa_sched::length;
use mapa_sched::memo::Memo;
use mapa_sched::waiting::WaitingJobs;
use mapa_sched::{Job, JobId, Tenant};

/// First in, first out, with a queue head that blocks, as [`Fifo`](mapa_sched::Fifo), and with patience.
/// A bandwidth-sensitive head that could start waits for a running lease to end, if an exact
/// stopping rule says that this costs less device-time than the slow ring that it would get now
/// ([`mapa_core::Foresight::worth_waiting`]).
///
/// No job starves. Nothing starts behind a head that waits, so every lease that ends leaves it more
/// devices, and on an idle machine no head waits. A head that waits is tried again as soon as the
/// fleet has changed. No wake-up is needed for that, since a lease will end. This scheduler is not
/// meant for leases that never end.
///
/// With [`queue`](Self::queue), sets are compared by what the next jobs of the queue will get, and
/// with [`known_ends`](Self::known_ends) in the order in which leases are expected to end.
///
/// All this is for one machine. On a fleet of several, a head that waits for one machine would hold
/// up all others, and the next jobs may go elsewhere. So there no head waits, and the policy alone
/// places every job.
///
/// # Examples
/// ```
/// use mapa_core::{Patience, foresight, preserve, ring_packing_gbps};
/// use mapa_system_mapa::Foresight;
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
    waiting: WaitingJobs,
    policy: Box<dyn Policy>,
    /// The classes of jobs that were refused on this state, or wait on it.
    refused: Memo<()>,
    judge: mapa_core::Foresight,
    patience: Option<Patience>,
    /// How many of the next jobs are considered.
    queue: usize,
    /// When running jobs are expected to end, if ends are known.
    ends: Option<BTreeMap<JobId, Time>>,
}

impl Foresight {
    /// Every job placed by this policy. Heads are patient by Eq. 2, with [`Patience::default`].
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("foresight, {}", policy.name()),
            waiting: WaitingJobs::new(Order::Arrival, false),
            policy: Box::new(policy),
            refused: Memo::new(),
            judge: mapa_core::foresight(),
            patience: Some(Patience::default()),
            queue: 0,
            ends: None,
        }
    }

    /// The judge of whether a head waits, by its model of bandwidth. Default:
    /// [`mapa_core::foresight`], by Eq. 2.
    #[must_use]
    pub fn by(self, judge: mapa_core::Foresight) -> Self {
        Self { judge, ..self }
    }

    /// How patient heads are. With `None` they never wait. Default: [`Patience::default`].
    #[must_use]
    pub fn patience(self, patience: Option<Patience>) -> Self {
        Self { patience, ..self }
    }

    /// Tries out this many of the next jobs for each set of devices
    /// ([`mapa_core::Foresight::expecting`]). While any job waits behind the head, the judge of
    /// patience then places the head, not the policy. Six are enough. Default: 0.
    #[must_use]
    pub fn queue(self, jobs: usize) -> Self {
        Self {
            queue: jobs,
            ..self
        }
    }

    /// Expects leases to end in the order of [`Job::run_time`] rather than in any order. Where
    /// links are slow, a bandwidth-sensitive job of several devices runs longer, by the factor that
    /// this scheduler's [`Patience`] gives, or the default one if heads never wait. Call this before
    /// the first job arrives. It has an effect with [`queue`](Self::queue) only.
    #[must_use]
    pub fn known_ends(self) -> Self {
        Self {
            ends: Some(BTreeMap::new()),
            ..self
        }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// Starts a job. Returns false if it is better that the job waits. On several machines this is
    /// first in, first out.
    fn start(&mut self, job: &Job, now: Time, turn: &mut Turn<'_>) -> Result<bool, Refusal> {
        let tenant = Tenant::Job(job.id);
        if turn.fleet().machines().len() > 1 {
            return turn
                .start(tenant, &*self.policy, &job.request)
                .map(|_| true);
        }
        let Some(decision) = self.choose(job, now, turn)? else {
            return Ok(false);
        };
        self.expect(job, now, &decision);
        turn.place(tenant, decision).map(|_| true)
    }

    /// The decision for a job that starts now. None if it is better that the job waits.
    fn choose(&self, job: &Job, now: Time, turn: &Turn<'_>) -> Result<Option<Decision>, Refusal> {
        let mut views = turn.views();
        let Some(view) = views.next() else {
            return turn.decide(&*self.policy, &job.request).map(Some);
        };
        let decision = match self.outlook(job, now, turn) {
            Some(outlook) => turn.decide(self.judge.expecting(outlook), &job.request)?,
            None => turn.decide(&*self.policy, &job.request)?,
        };
        // The price of the links that the job would get now, against the expected time until a
        // lease ends whose devices are worth it.
        if let Some(patience) = &self.patience
            && let Some(_) = self
                .judge
                .worth_waiting(&job.request, &view, &decision, patience)
        {
            return Ok(None);
        }
        Ok(Some(decision))
    }

    /// The jobs after the head and the expected ends of leases. None if no job waits behind the
    /// head, or none is to be considered.
    fn outlook(&self, head: &Job, now: Time, turn: &Turn<'_>) -> Option<Outlook> {
        let behind = self.waiting.jobs().skip(1).take(self.queue);
        let jobs: Vec<Next> = behind
            .map(|job| Next {
                devices: job.request.pattern.len(),
                sensitive: job.request.is_sensitive(),
                seconds: length(job).as_secs_f64(),
            })
            .collect();
        // Jobs that hold no lease any more have no end to wait for.
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

    /// The factors by which slow links lengthen a job.
    fn slowdown(&self) -> Patience {
        self.patience.unwrap_or_default()
    }

    /// Notes when a job that starts is expected to end.
    fn expect(&mut self, job: &Job, now: Time, decision: &Decision) {
        let slowdown = self.slowdown();
        if let Some(ends) = &mut self.ends {
            // Only jobs that communicate, and are sensitive to how fast, run longer on slow links.
            let gbps = decision.best().score(self.judge.model().name());
            let gbps = gbps.filter(|_| job.request.is_sensitive() && job.request.pattern.len() > 1);
            let times = gbps.map_or(1.0, |gbps| slowdown.slowdown_at(gbps));
            let seconds = length(job).as_secs_f64() * times;
            ends.insert(
                job.id,
                now + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            );
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
            event => {
                if let Some(job) = event.leaves() {
                    drop(self.waiting.forget(job));
                    self.ends.as_mut().map(|ends| ends.remove(&job));
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.refused.refresh(turn.fleet());
        while let Some((at, entry)) = self.waiting.first() {
            // An equal request was refused on this very state: the head blocks until the fleet
            // changes.
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
            self.waiting.remove(at);
        }
    }
}
