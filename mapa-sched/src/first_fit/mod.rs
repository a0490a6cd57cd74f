//! Lists that skip what does not fit, with a threshold on slowdown and a limit on overtaking.
//!
//! MAPA's published evaluation keeps first in, first out, and asks where the head of the queue
//! should go. Most time is lost elsewhere: devices idle behind a head that does not fit. A list
//! that may skip it gains more than any placement. Once others may pass, it also pays to let a
//! sensitive job wait for a set on which it is fast, since its devices do not idle meanwhile: delay
//! scheduling (Zaharia et al., EuroSys 2010), with a threshold on the job's slowdown rather than on
//! its wait.
//!
//! What was tried and left: a hard limit on waiting times, first in, first out beyond it, doubles
//! mean completion under load. So jobs age first, and the limit counts what overtook a job, not
//! seconds.

mod links;
mod list_order;
mod sets;

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use mapa_core::{Decision, MachineId, Policy, Refusal};

pub use links::LinkModel;
pub use list_order::ListOrder;

use self::links::{LinkSlowdowns, RequestClass, is_sensitive};
use self::list_order::ListRank;
use crate::estimate::{length, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, FleetState};
use crate::job::{Job, JobId, RunTime, Tenant};
use crate::plan::Ageing;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;

/// A list that skips what does not fit: every job for which there is room starts, in a
/// [`ListOrder`].
///
/// **Threshold on slowdown.** With [`max_slowdown`](Self::max_slowdown) phi, a bandwidth-sensitive
/// job starts only on a set of devices where it takes at most phi times the run time that it has on
/// the best set of the idle machine, or on a machine without leases. Others go past it. Run times
/// follow [`Job::slowdown_at`] of the bandwidth that a [model](Self::model) predicts.
///
/// **Placement.** Sensitive jobs get the set where they run fastest, of those the one that leaves
/// the most bandwidth of direct links; other jobs get the set that leaves the most, then the
/// fastest. With [`placed_by`](Self::placed_by) a policy places instead. If its set is too slow for
/// the threshold, the fastest set is tried.
///
/// **Nobody starves.** Two rules see to that; both can be switched off.
/// - [Ageing](Self::ageing): a job that has waited long counts as shorter, or as larger, than it
///   is.
/// - A [limit on overtaking](Self::overtaking). Let B be the device-time of all jobs that wait when
///   job j arrives, j included, and m the number of devices. If jobs that arrived later and started
///   earlier come to more than Y = max(14 mean ideal times × m, 2 B) of device-time, j is *overdue*. Overdue jobs
///   go first, in order of arrival, on any set, and nobody starts before the first of them has. A
///   job that the idle fleet has no place for is passed over.
///
/// *The wait is bounded* if the idle fleet has a place for every job, and no job takes longer than
/// expected. Later arrivals that start before j hold at most Y + A of device-time, where A is the
/// largest of one job: when the last of them started, j was not overdue. Earlier arrivals hold at
/// most r B, where r is the largest [ratio](Job::link_ratio), as B counts ideal times. Jobs that
/// run when j arrives hold some R. While j waits, at least one device is in use, since on an idle
/// fleet the first job of the list starts. So j starts within R + r B + Y + A seconds of one
/// device.
///
/// **Estimates** are [`Job::run_time`], at full speed; an unknown one counts as ten years.
///
/// On a fleet, an overdue job holds up all machines; with many, set a higher limit. Jobs over
/// several machines are placed by the policy alone, without a threshold.
///
/// # Complexity
/// An instant costs O(n log n) for n jobs that wait, and one look-up or one decision for each kind
/// of job after each start. On one machine of up to sixteen whole devices, sets for rings without
/// constraints are looked up, at most C(f, k) of f free devices, and only jobs that start cost a
/// decision. Elsewhere (larger machines, fleets, MIG, other patterns), and with
/// [`placed_by`](Self::placed_by), every answer is a policy's decision. Answers hold until the
/// fleet changes.
///
/// # Examples
/// ```
/// use mapa_core::{preserve, ring_packing_gbps};
/// use mapa_sched::{FirstFit, LinkModel, ListOrder};
///
/// let shortest = FirstFit::new(ListOrder::Shortest);
/// let packed = FirstFit::new(ListOrder::SmallestArea)
///     .model(LinkModel::By(ring_packing_gbps()))
///     .max_slowdown(1.1)
///     .placed_by(preserve());
/// # let _ = (shortest, packed);
/// ```
pub struct FirstFit {
    name: String,
    order: ListOrder,
    links: LinkSlowdowns,
    /// How many devices the fleet has; none before the first turn.
    devices: Option<f64>,
    policy: Option<Box<dyn Policy>>,
    max_slowdown: f64,
    /// Seconds; `None` for [`Self::PATIENCE`] and [`Self::PACE`].
    ageing: Option<Ageing>,
    /// The least limit on overtaking, seconds of the whole fleet; `None` for [`Self::OVERTAKING`].
    overtaking: Option<f64>,
    /// The ideal seconds of all jobs whose run time is known, and their number.
    ideals: (f64, f64),
    arrived: Vec<Job>,
    /// Next one first.
    waiting: Vec<ListedJob>,
    /// The jobs that wait or have just arrived. Most jobs that end do not, and are not looked for.
    there: HashSet<JobId, BuildHasherDefault<DefaultHasher>>,
    serial: u64,
    classes: Vec<RequestClass>,
    state: Option<FleetState>,
    /// Whether any job is overdue.
    any_overdue: bool,
}

/// A job that waits. Times are seconds, areas device-seconds.
#[derive(Debug)]
struct ListedJob {
    /// Apart, as waiters move within the list.
    job: Box<Job>,
    /// How many devices it needs, and when it arrived: at hand, since every turn sorts by them.
    devices: usize,
    arrived: Time,
    /// How many jobs arrived before it.
    serial: u64,
    class: usize,
    /// Its run time on the best set of the idle fleet.
    ideal: f64,
    rank: ListRank,
    /// The area of later arrivals that started before it, and how much of it makes it overdue.
    overtaken: f64,
    limit: f64,
    /// Whether the idle fleet may have a place for it.
    hopeful: bool,
}

impl ListedJob {
    fn area(&self) -> f64 {
        self.devices as f64 * self.ideal
    }

    fn is_overdue(&self) -> bool {
        self.hopeful && self.overtaken > self.limit
    }
}

/// What has become of a job.
enum StartOutcome {
    /// It started and is expected to hold this area, device-seconds.
    Started(f64),
    Rejected,
    Waits,
}

impl FirstFit {
    /// The default of [`max_slowdown`](Self::max_slowdown), a factor.
    pub const MAX_SLOWDOWN: f64 = 1.2;
    /// The default patience of [`ageing`](Self::ageing), in mean ideal times of the jobs so far.
    pub const PATIENCE: f64 = 7.0;
    /// The default pace of [`ageing`](Self::ageing), in mean ideal times.
    pub const PACE: f64 = 7.0;
    /// The default of [`overtaking`](Self::overtaking), in mean ideal times.
    pub const OVERTAKING: f64 = 14.0;

    /// A list in this order, with all defaults.
    #[must_use]
    pub fn new(order: ListOrder) -> Self {
        Self {
            name: "first-fit, fastest".to_owned(),
            order,
            links: LinkSlowdowns::new(LinkModel::Usual),
            policy: None,
            max_slowdown: Self::MAX_SLOWDOWN,
            ageing: None,
            overtaking: None,
            ideals: (0.0, 0.0),
            arrived: Vec::new(),
            devices: None,
            waiting: Vec::new(),
            there: HashSet::default(),
            serial: 0,
            classes: Vec::new(),
            state: None,
            any_overdue: false,
        }
    }

    /// Lets a policy place jobs, on the best machine of the fleet.
    #[must_use]
    pub fn placed_by(self, policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("first-fit, {}", policy.name()),
            policy: Some(Box::new(policy)),
            ..self
        }
    }

    /// The model by which run times depend on links. Default: Eq. 2.
    #[must_use]
    pub fn model(self, model: LinkModel) -> Self {
        let links = LinkSlowdowns::new(model);
        Self { links, ..self }
    }

    /// The threshold phi: how many times its run time on the machine's best set a sensitive job may
    /// take. Less than 1 counts as 1, infinity as no threshold. Default:
    /// [`MAX_SLOWDOWN`](Self::MAX_SLOWDOWN).
    #[must_use]
    pub fn max_slowdown(self, phi: f64) -> Self {
        Self {
            max_slowdown: phi.max(1.0),
            ..self
        }
    }

    /// A job that has waited `patience`, or longer than the whole fleet would take for all jobs
    /// that wait, counts once more with every further `pace`. With [`Duration::MAX`] jobs do not
    /// age. Default: seven [mean ideal times](Self::PATIENCE) each.
    #[must_use]
    pub fn ageing(self, patience: Duration, pace: Duration) -> Self {
        let ageing = Ageing {
            patience: if patience == Duration::MAX {
                f64::INFINITY
            } else {
                patience.as_secs_f64()
            },
            pace: pace.as_secs_f64().max(1e-3),
        };
        Self {
            ageing: Some(ageing),
            ..self
        }
    }

    /// The least limit on overtaking, as seconds of the whole fleet. The limit of a job is this or
    /// twice the time that the fleet takes for all jobs that wait when it arrives. With
    /// [`Duration::MAX`] nobody is ever overdue. Default: [`OVERTAKING`](Self::OVERTAKING).
    #[must_use]
    pub fn overtaking(self, limit: Duration) -> Self {
        let overtaking = if limit == Duration::MAX {
            f64::INFINITY
        } else {
            limit.as_secs_f64()
        };
        Self {
            overtaking: Some(overtaking),
            ..self
        }
    }

    /// The jobs that wait, next one first.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let waiting = self.waiting.iter().map(|waiter| &*waiter.job);
        waiting.chain(&self.arrived)
    }

    /// Takes up the jobs that have arrived since the last turn.
    fn admit(&mut self, devices: f64) {
        let before = self.waiting.len();
        for job in std::mem::take(&mut self.arrived) {
            let class = self.class_of(&job);
            // Ideal times may cost a decision on each kind of machine, so an order and a limit that
            // need none do without: the run time at full speed stands in.
            let needs = self.overtaking.is_none_or(f64::is_finite);
            let ideal = if self.order.needs_times() || needs {
                self.links.ideal_slowdown(&job, &mut self.classes[class])
            } else {
                1.0
            };
            let ideal = length(&job).as_secs_f64() * ideal;
            // An unknown run time counts as ten years, which would swamp the mean.
            if job.run_time != RunTime::Unknown {
                self.ideals.0 += ideal;
                self.ideals.1 += 1.0;
            }
            self.waiting.push(ListedJob {
                devices: job.request.pattern.len(),
                arrived: job.arrived,
                ideal,
                job: Box::new(job),
                serial: self.serial,
                class,
                rank: ListRank::default(),
                overtaken: 0.0,
                limit: f64::INFINITY,
                hopeful: true,
            });
            self.serial += 1;
        }
        // All of one instant see one backlog, so that none of a batch is overdue for the others.
        let backlog: f64 = self.waiting.iter().map(ListedJob::area).sum();
        let overtaking = self
            .overtaking
            .unwrap_or(Self::OVERTAKING * self.mean_ideal());
        for waiter in &mut self.waiting[before..] {
            waiter.limit = (overtaking * devices).max(2.0 * backlog);
        }
    }

    /// The mean ideal time of the jobs so far whose run time is known, seconds.
    fn mean_ideal(&self) -> f64 {
        let (sum, count) = self.ideals;
        if count > 0.0 {
            // Above 0, because ageing divides by a multiple of it.
            (sum / count).max(1e-3)
        } else {
            1.0
        }
    }

    /// Forgets all jobs that wait.
    pub fn clear(&mut self) {
        self.arrived.clear();
        self.waiting.clear();
        self.there.clear();
        self.any_overdue = false;
        self.classes.iter_mut().for_each(|class| class.jobs = 0);
    }

    /// Whether the idle fleet has a place for a job that waits.
    fn has_place(&self, at: usize, turn: &Turn<'_>) -> bool {
        let request = &self.waiting[at].job.request;
        let policy = self.policy.as_deref().unwrap_or(self.links.fastest());
        // A job that is spread over several machines needs room on none of them alone.
        turn.fleet().network_gbps().is_some()
            || turn
                .views()
                .any(|view| policy.decide(request, &view.as_if_idle()).is_ok())
    }

    /// The place of a job's class, which has one more job from now on.
    fn class_of(&mut self, job: &Job) -> usize {
        let known = self.classes.iter().position(|class| class.holds(job));
        let class = known.unwrap_or_else(|| {
            // A class that nobody is of any more makes room.
            let spare = self.classes.iter().position(|class| class.jobs == 0);
            match spare {
                Some(spare) => {
                    self.classes[spare] = RequestClass::of(job);
                    spare
                }
                None => {
                    self.classes.push(RequestClass::of(job));
                    self.classes.len() - 1
                }
            }
        });
        self.classes[class].jobs += 1;
        class
    }

    /// Brings the list into order.
    fn sort(&mut self, now: Time, devices: f64) {
        // Ageing is slower than the queue, or everybody would be old in a long one.
        let drain = self.waiting.iter().map(ListedJob::area).sum::<f64>() / devices.max(1.0);
        let mean = self.mean_ideal();
        let own = self.ageing.unwrap_or(Ageing {
            patience: Self::PATIENCE * mean,
            pace: Self::PACE * mean,
        });
        let ageing = Ageing {
            patience: own.patience.max(drain),
            ..own
        };
        for waiter in &mut self.waiting {
            let weight = ageing.weight(now.since(waiter.arrived).as_secs_f64());
            waiter.rank = self.order.rank(waiter.devices, waiter.ideal, weight);
        }
        self.waiting
            .sort_by(|a, b| a.rank.compare(&b.rank).then(a.serial.cmp(&b.serial)));
    }

    /// Starts a job, rejects it, or lets it wait. An overdue one takes any set.
    fn try_one(&mut self, at: usize, overdue: bool, turn: &mut Turn<'_>) -> StartOutcome {
        let waiter = &self.waiting[at];
        let class = &mut self.classes[waiter.class];
        // A refusal without a threshold is one with it, too, but not the other way round. This comes
        // first, as it does not look at the job: most of those that wait are refused here.
        if class.refused && !overdue {
            return StartOutcome::Waits;
        }
        let bound = if overdue || !is_sensitive(&waiter.job) {
            f64::INFINITY
        } else {
            self.max_slowdown
        };
        let mut chosen = decide(&mut self.links, self.policy.as_deref(), waiter, class, turn);
        // The policy's set is too slow. A faster one may be free that the policy likes less.
        if self.policy.is_some()
            && let Ok(decision) = &chosen
            && !allows(
                &mut self.links,
                bound,
                waiter,
                class,
                decision,
                turn.fleet(),
            )
        {
            chosen = decide(&mut self.links, None, waiter, class, turn);
        }
        let tried = match chosen {
            Ok(decision)
                if allows(
                    &mut self.links,
                    bound,
                    waiter,
                    class,
                    &decision,
                    turn.fleet(),
                ) =>
            {
                let area = area(&self.links, waiter, &decision, turn.fleet());
                match turn.place(Tenant::Job(waiter.job.id), decision) {
                    Ok(_) => StartOutcome::Started(area),
                    Err(_) => StartOutcome::Waits,
                }
            }
            Ok(_) => StartOutcome::Waits,
            // Perhaps a network joins the machines.
            Err(Refusal::Infeasible(_)) => {
                let policy = self.policy.as_deref().unwrap_or(self.links.fastest());
                match turn.start(Tenant::Job(waiter.job.id), policy, &waiter.job.request) {
                    Ok(_) => StartOutcome::Started(waiter.area()),
                    Err(why @ Refusal::Infeasible(_)) => {
                        turn.reject(waiter.job.id, why);
                        StartOutcome::Rejected
                    }
                    Err(_) => StartOutcome::Waits,
                }
            }
            Err(_) => StartOutcome::Waits,
        };
        class.refused |= matches!(tried, StartOutcome::Waits) && !overdue;
        tried
    }

    /// Removes a job that does not wait any more. One that started has overtaken all that arrived
    /// before it.
    fn leave(&mut self, at: usize, started: Option<f64>) {
        let left = self.waiting.remove(at);
        self.there.remove(&left.job.id);
        self.classes[left.class].jobs -= 1;
        if let Some(area) = started {
            // Only jobs that arrived earlier were overtaken. The list is in another order than that
            // of arrival.
            let earlier = |waiter: &&mut ListedJob| waiter.serial < left.serial;
            for waiter in self.waiting.iter_mut().filter(earlier) {
                waiter.overtaken += area;
                self.any_overdue |= waiter.is_overdue();
            }
        }
    }

    /// Forgets refusals if the fleet has changed.
    fn refresh(&mut self, fleet: &Fleet) {
        let state = Some(fleet.state());
        if self.state != state {
            self.state = state;
            self.classes
                .iter_mut()
                .for_each(|class| class.refused = false);
        }
    }

    /// The first overdue job. O(1) if there is none.
    fn overdue(&mut self) -> Option<usize> {
        if !self.any_overdue {
            return None;
        }
        let overdue = self.waiting.iter().enumerate();
        let overdue = overdue.filter(|(_, waiter)| waiter.is_overdue());
        let first = overdue.min_by_key(|(_, waiter)| waiter.serial);
        self.any_overdue = first.is_some();
        first.map(|(at, _)| at)
    }

    /// Starts overdue jobs. Returns whether others may start, those from `next` on, which moves
    /// with the list.
    fn serve_overdue(&mut self, next: &mut usize, turn: &mut Turn<'_>) -> bool {
        while let Some(at) = self.overdue() {
            let started = match self.try_one(at, true, turn) {
                StartOutcome::Started(area) => Some(area),
                StartOutcome::Rejected => None,
                StartOutcome::Waits
                    if turn.fleet().tenants().next().is_some() && self.has_place(at, turn) =>
                {
                    // A job runs, and its end may make the room. Until the first overdue job has
                    // started, no other job may.
                    return false;
                }
                StartOutcome::Waits => {
                    // The policy refuses it for a reason of its own, and nothing that ends changes
                    // that.
                    self.waiting[at].hopeful = false;
                    continue;
                }
            };
            self.leave(at, started);
            // A job before the position has left, so the job at the position has moved forward by
            // one.
            *next -= usize::from(at < *next);
            self.refresh(turn.fleet());
        }
        true
    }
}

/// The decision of a policy, or of the fastest placement, for a job.
fn decide(
    links: &mut LinkSlowdowns,
    policy: Option<&dyn Policy>,
    waiter: &ListedJob,
    class: &RequestClass,
    turn: &Turn<'_>,
) -> Result<Decision, Refusal> {
    match policy {
        Some(policy) => turn.decide(policy, &waiter.job.request),
        None => links.decide(&waiter.job, class, turn),
    }
}

/// Whether a job may start where it was decided to be: there it takes at most `bound` times the run
/// time that it has on the best set of that machine, or the machine has no lease.
fn allows(
    links: &mut LinkSlowdowns,
    bound: f64,
    waiter: &ListedJob,
    class: &mut RequestClass,
    decision: &Decision,
    fleet: &Fleet,
) -> bool {
    let MachineId(machine) = decision.stamp().machine;
    let Some(machine) = fleet.machines().get(machine as usize) else {
        return false;
    };
    // On a machine without leases no end will ever free a better set, so waiting gains nothing.
    if bound == f64::INFINITY || machine.leases().next().is_none() {
        return true;
    }
    let ideal = links.ideal_slowdown_on(machine.graph(), &waiter.job, class);
    // The slack lets a job have the best set itself, where two ways to compute its bandwidth differ
    // by rounding.
    links.slowdown(&waiter.job, machine.graph(), decision) <= bound * ideal + 1e-9
}

/// The area that a job is expected to hold, device-seconds.
fn area(links: &LinkSlowdowns, waiter: &ListedJob, decision: &Decision, fleet: &Fleet) -> f64 {
    let Ok(machine) = fleet.machine(decision.stamp().machine) else {
        return waiter.area();
    };
    let length = length_at(&waiter.job, machine.graph(), decision.placement());
    let slowdown = links.slowdown(&waiter.job, machine.graph(), decision);
    waiter.devices as f64 * length.as_secs_f64() * slowdown
}

impl Default for FirstFit {
    /// The shortest ideal time first.
    fn default() -> Self {
        Self::new(ListOrder::default())
    }
}

impl fmt::Debug for FirstFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstFit")
            .field("name", &self.name)
            .field("order", &self.order)
            .field("max_slowdown", &self.max_slowdown)
            .field("ageing", &self.ageing)
            .field("overtaking", &self.overtaking)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl Scheduler for FirstFit {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Arrived(job) => {
                self.there.insert(job.id);
                self.arrived.push(job);
            }
            event => {
                let Some(job) = event.leaves().filter(|job| self.there.remove(job)) else {
                    return;
                };
                self.arrived.retain(|arrived| arrived.id != job);
                if let Some(at) = self.waiting.iter().position(|waiter| waiter.job.id == job) {
                    self.leave(at, None);
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        if self.waiting.is_empty() && self.arrived.is_empty() {
            return;
        }
        self.links.learn(turn.fleet());
        let devices = *self.devices.get_or_insert_with(|| {
            let machines = turn.fleet().machines().iter();
            let wholes = machines.map(|machine| machine.graph().wholes().len());
            wholes.sum::<usize>() as f64
        });
        self.admit(devices);
        self.sort(now, devices);
        self.refresh(turn.fleet());
        let mut at = 0;
        // Before every job, as each start may have made another one overdue.
        while self.serve_overdue(&mut at, turn) && at < self.waiting.len() {
            match self.try_one(at, false, turn) {
                StartOutcome::Started(area) => self.leave(at, Some(area)),
                StartOutcome::Rejected => self.leave(at, None),
                StartOutcome::Waits => at += 1,
            }
            self.refresh(turn.fleet());
        }
    }
}
