//! Rules as schedulers of fleets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mapa_core::{Decision, Policy, Reason, Refusal};

use super::machine::SlicedGpus;
use super::mirror::{Mirror, TrackedJobs};
use super::rule::Rule;
use super::state::{Start, State};
use crate::error::Error;
use mapa_sched::Event;
use mapa_sched::Fifo;
use mapa_sched::Scheduler;
use mapa_sched::Time;
use mapa_sched::Turn;
use mapa_sched::slices::SliceJob;
use mapa_sched::slices::minutes_at;
use mapa_sched::{Job, JobId, Tenant};

/// A [`Rule`] that starts jobs on the MIG instances of a fleet.
///
/// The fleet's instances are the rule's slices, machine by machine, GPU by GPU, by where they start.
/// A GPU that could be partitioned and is not is one slice of its size. What else happens on the
/// fleet is seen: instances that others hold, cordoned machines and devices, other layouts. GPUs are
/// never repartitioned.
///
/// Rules are for jobs that request one device or instance of any size and know their run time by
/// size ([`SliceJob::of`]). They wait by deadline; those without one behind all others. Whether a
/// run time was right is not assumed: a job that runs longer than told is expected to end at any
/// moment.
///
/// All other jobs are placed by a policy, first in, first out, before the rule is asked: they want
/// a particular kind of device, and the rule takes any. So are all jobs on a fleet without a GPU
/// that could be partitioned. A job whose run times or deadline make no sense is rejected, with the
/// reason; and so is every job of a rule that is for [other machines](Rule::suits).
///
/// # Complexity
/// An instant costs O(m) for m machines to see what has changed, O(v) for each machine that has, of
/// v devices and instances, and the rule for each job that starts, and once more.
///
/// # Examples
/// ```
/// use mapa_core::lowest_id;
/// use mapa_sched::Scheduler;
/// use mapa_system_energy::{Fit, RuleScheduler};
///
/// let scheduler = RuleScheduler::new(Fit::fullest(), lowest_id());
/// assert_eq!(scheduler.name(), "fit-fullest, lowest-id");
/// ```
pub struct RuleScheduler {
    name: String,
    rule: Box<dyn Rule + Send>,
    state: State,
    mirror: Mirror,
    /// Jobs that have arrived since the scheduler acted last.
    arrived: Vec<Job>,
    /// The jobs in the state's queue, by their numbers there.
    waiting: BTreeMap<u32, Arc<Job>>,
    running: TrackedJobs,
    /// The numbers of jobs that have left, to be given again, and the next new one.
    numbers: (Vec<u32>, u32),
    /// Jobs that the rule is not for.
    others: Fifo,
}

impl RuleScheduler {
    /// A scheduler by this rule. Jobs that the rule is not for are placed by the policy.
    #[must_use]
    pub fn new(rule: impl Rule + Send + 'static, policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("{}, {}", rule.name(), policy.name()),
            rule: Box::new(rule),
            state: State::new(SlicedGpus::none()),
            mirror: Mirror::default(),
            arrived: Vec::new(),
            waiting: BTreeMap::new(),
            running: TrackedJobs::new(),
            numbers: (Vec::new(), 0),
            others: Fifo::new(policy),
        }
    }

    /// The scheduler with this name in place of the rule's; the policy's stays.
    pub(crate) fn named(self, name: &str) -> Self {
        let policy = self.name.rsplit(", ").next().unwrap_or_default();
        Self {
            name: format!("{name}, {policy}"),
            ..self
        }
    }

    /// What the rule sees, as of the last time that the scheduler acted.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The jobs that wait: those of the rule by deadline, then the others by arrival.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let queue = self.state.queue().iter();
        let own = queue.filter_map(|waiting| self.waiting.get(&waiting.id).map(|job| &**job));
        own.chain(self.others.waiting())
    }

    /// Forgets a job that has ended, was cancelled or could not be started.
    fn forget(&mut self, job: JobId) {
        if let Some(running) = self.running.remove(&job) {
            self.numbers.0.push(running.id);
            return;
        }
        self.arrived.retain(|arrived| arrived.id != job);
        let number = self
            .waiting
            .iter()
            .find(|(_, candidate)| candidate.id == job);
        if let Some((&number, _)) = number {
            self.waiting.remove(&number);
            self.state.leave(number);
            self.numbers.0.push(number);
        }
    }

    /// A number that no job has. Those of jobs that have left are given again: before that the state
    /// has seen that they left.
    fn number(&mut self) -> u32 {
        let (left, next) = &mut self.numbers;
        left.pop().unwrap_or_else(|| {
            *next += 1;
            *next - 1
        })
    }

    /// Sorts new jobs: to the rule, to the policy, or out.
    fn sort(&mut self, now: Time, turn: &mut Turn<'_>) {
        let has_slices = self.state.machine().gpu_count() > 0;
        for job in std::mem::take(&mut self.arrived) {
            let own = SliceJob::of(&job).map_err(Error::from);
            let own = match &own {
                Ok(Some(_)) if has_slices => self.rule.suits(self.state.machine()).and(own),
                _ => own,
            };
            match own {
                Ok(Some(own)) if has_slices => {
                    let number = self.number();
                    self.state.arrive(number, own);
                    self.waiting.insert(number, Arc::new(job));
                }
                Ok(_) => self.others.on_event(now, Event::Arrived(job)),
                Err(error) => {
                    let why = Reason::Rule(error.to_string().into());
                    turn.reject(job.id, Refusal::Infeasible(why));
                }
            }
        }
    }

    /// Starts jobs until the rule starts none.
    fn start_all(&mut self, turn: &mut Turn<'_>) {
        while self.state.free_count() > 0 && !self.state.queue().is_empty() {
            let Some(start) = self.rule.choose(&self.state) else {
                return;
            };
            // A rule that names what is not there would do so again.
            if self.state.queue().len() <= start.waiting || !self.state.is_free(start.slice) {
                return;
            }
            if !self.start(start, turn) {
                // The fleet knows better. The slice is looked at again when its machine changes.
                self.state.block(start.slice, true);
            }
        }
    }

    /// Starts a job. Returns whether the fleet has booked it.
    fn start(&mut self, start: Start, turn: &mut Turn<'_>) -> bool {
        let number = self.state.queue()[start.waiting].id;
        let (Some(job), Some((machine, device))) =
            (self.waiting.get(&number), self.mirror.place(start.slice))
        else {
            return false;
        };
        let Ok(view) = turn.view(machine) else {
            return false;
        };
        let name = self.rule.name().to_owned();
        let decision = Decision::checked(name, &job.request, &view, [device]);
        let job = job.id;
        let placed = decision.and_then(|decision| turn.place(Tenant::Job(job), decision));
        if placed.is_err() {
            return false;
        }
        if let Ok(running) = self.state.start(start) {
            self.waiting.remove(&number);
            self.running.insert(job, running);
        }
        if let Ok(machine) = turn.fleet().machine(machine) {
            self.mirror.note(machine);
        }
        true
    }

    fn refresh(&mut self, turn: &Turn<'_>) {
        self.mirror
            .refresh(turn.fleet(), &mut self.state, &self.running);
    }
}

impl fmt::Debug for RuleScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleScheduler")
            .field("name", &self.name)
            .field("waiting", &self.waiting.len())
            .field("running", &self.running.len())
            .field("others", &self.others)
            .finish_non_exhaustive()
    }
}

impl Scheduler for RuleScheduler {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.arrived.push(job),
            event => {
                if let Some(job) = event.leaves() {
                    self.forget(job);
                }
                self.others.on_event(now, event);
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.state.advance(minutes_at(now));
        self.refresh(turn);
        self.sort(now, turn);
        self.others.act(now, turn);
        self.refresh(turn);
        self.start_all(turn);
    }
}
