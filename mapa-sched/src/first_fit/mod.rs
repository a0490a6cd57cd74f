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
mod listed;
mod overtaken;
mod sets;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use mapa_core::{Decision, MachineId, Policy, Refusal};

pub use links::LinkModel;
pub use list_order::ListOrder;

use self::links::{LinkSlowdowns, RequestClass, is_sensitive};
use self::listed::{FirstOfClasses, ListKey, ListedClass, Ranking};
use self::overtaken::{OvertakenJobs, exact, seconds};
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
/// An instant costs one look-up or one decision for each kind of job after each start. On one machine of up to sixteen
/// whole devices, sets for rings without
/// constraints are looked up, at most C(f, k) of f free devices, and only jobs that start cost a
/// decision. Elsewhere (larger machines, fleets, MIG, other patterns), and with
/// [`placed_by`](Self::placed_by), every answer is a policy's decision. Answers hold until the
/// fleet changes.
///
/// To find the next job of a kind costs O(log n) for n that wait, as long as none has aged; where some have, up to the
/// number of different ideal times among those whose order may have changed. A start costs O(log n), and for each job that
/// may be overdue by it the number of starts since that job was last looked at.
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
    /// By serial number: how many jobs arrived before.
    waiting: BTreeMap<u64, ListedJob>,
    /// The sum of the areas of the jobs that wait, see [`overtaken::exact`].
    backlog: i128,
    overtaken: OvertakenJobs,
    /// The jobs that wait or have just arrived, with their serial numbers. Most jobs that end do not, and are not looked
    /// for.
    there: HashMap<JobId, u64, BuildHasherDefault<DefaultHasher>>,
    serial: u64,
    classes: Vec<RequestClass>,
    /// The jobs of each class.
    lists: Vec<ListedClass>,
    state: Option<FleetState>,
    /// By what the list was in order at the last turn.
    ranking: Ranking,
}

/// A job that waits. Times are seconds, areas device-seconds.
#[derive(Debug)]
struct ListedJob {
    job: Job,
    /// How many devices it needs.
    devices: usize,
    class: usize,
    /// Its run time on the best set of the idle fleet.
    ideal: f64,
}

impl ListedJob {
    fn area(&self) -> f64 {
        self.devices as f64 * self.ideal
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
            waiting: BTreeMap::new(),
            backlog: 0,
            overtaken: OvertakenJobs::default(),
            there: HashMap::default(),
            serial: 0,
            classes: Vec::new(),
            lists: Vec::new(),
            state: None,
            ranking: Ranking {
                order,
                ageing: Ageing {
                    patience: f64::INFINITY,
                    pace: 1.0,
                },
                now: Time::ZERO,
            },
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

    /// The jobs that wait, next one first: in the order of the last turn, then those that have arrived since. O(n log n) for
    /// n jobs.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let key = |(&serial, waiter): (&u64, &ListedJob)| ListKey {
            rank: self
                .ranking
                .rank(waiter.devices, waiter.ideal, waiter.job.arrived),
            serial,
        };
        let keyed = self.waiting.iter().map(|entry| (key(entry), &entry.1.job));
        let mut waiting: Vec<(ListKey, &Job)> = keyed.collect();
        waiting.sort_by(|a, b| a.0.compare(&b.0));
        let waiting = waiting.into_iter().map(|(_, job)| job);
        waiting.chain(&self.arrived)
    }

    /// Whether a job waits. O(1).
    #[must_use]
    pub fn is_waiting(&self, job: JobId) -> bool {
        self.there.contains_key(&job)
    }

    /// Takes up the jobs that have arrived since the last turn.
    fn admit(&mut self, devices: f64) {
        let first = self.serial;
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
            let (serial, devices) = (self.serial, job.request.pattern.len());
            self.serial += 1;
            self.lists[class].insert(self.order, (devices, ideal), (job.arrived, serial));
            self.there.insert(job.id, serial);
            let waiter = ListedJob {
                job,
                devices,
                class,
                ideal,
            };
            self.backlog += exact(waiter.area());
            self.waiting.insert(serial, waiter);
        }
        // All of one instant see one backlog, so that none of a batch is overdue for the others.
        let overtaking = self
            .overtaking
            .unwrap_or(Self::OVERTAKING * self.mean_ideal());
        let limit = (overtaking * devices).max(2.0 * seconds(self.backlog));
        for serial in first..self.serial {
            self.overtaken.insert(serial, limit);
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
        self.backlog = 0;
        self.overtaken.clear();
        self.classes.iter_mut().for_each(|class| class.jobs = 0);
        self.lists.iter_mut().for_each(ListedClass::clear);
    }

    /// Whether the idle fleet has a place for a job that waits.
    fn has_place(&self, serial: u64, turn: &Turn<'_>) -> bool {
        let Some(waiter) = self.waiting.get(&serial) else {
            return false;
        };
        let request = &waiter.job.request;
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
                    self.lists.push(ListedClass::default());
                    self.classes.len() - 1
                }
            }
        });
        self.classes[class].jobs += 1;
        class
    }

    /// By what the list is in order in this turn.
    fn rank_by(&self, now: Time, devices: f64) -> Ranking {
        // Ageing is slower than the queue, or everybody would be old in a long one.
        let drain = seconds(self.backlog) / devices.max(1.0);
        let mean = self.mean_ideal();
        let own = self.ageing.unwrap_or(Ageing {
            patience: Self::PATIENCE * mean,
            pace: Self::PACE * mean,
        });
        let ageing = Ageing {
            patience: own.patience.max(drain),
            ..own
        };
        Ranking {
            order: self.order,
            ageing,
            now,
        }
    }

    /// The next job behind a place whose class was not refused on the present state.
    fn next(&self, behind: Option<&ListKey>, firsts: &mut FirstOfClasses) -> Option<ListKey> {
        let is_there = |serial| self.waiting.contains_key(&serial);
        let open = self.classes.iter().zip(&self.lists).enumerate();
        let open = open.filter(|(_, (class, _))| class.jobs > 0 && !class.refused);
        let firsts = open
            .filter_map(|(at, (_, list))| firsts.get((at, list), &self.ranking, behind, is_there));
        firsts.min_by(ListKey::compare)
    }

    /// Starts a job, rejects it, or lets it wait. An overdue one takes any set.
    fn try_one(&mut self, serial: u64, overdue: bool, turn: &mut Turn<'_>) -> StartOutcome {
        let Some(waiter) = self.waiting.get(&serial) else {
            return StartOutcome::Waits;
        };
        let class = &mut self.classes[waiter.class];
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
    fn leave(&mut self, serial: u64, started: Option<f64>) {
        let Some(left) = self.waiting.remove(&serial) else {
            return;
        };
        self.there.remove(&left.job.id);
        self.classes[left.class].jobs -= 1;
        self.lists[left.class].remove(self.order, left.ideal, (left.job.arrived, serial));
        self.backlog -= exact(left.area());
        self.overtaken.remove(serial);
        if let Some(area) = started {
            self.overtaken.start(serial, area);
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

    /// Starts overdue jobs. Returns whether others may start.
    fn serve_overdue(&mut self, turn: &mut Turn<'_>) -> bool {
        while let Some(serial) = self.overtaken.first_overdue() {
            let started = match self.try_one(serial, true, turn) {
                StartOutcome::Started(area) => Some(area),
                StartOutcome::Rejected => None,
                StartOutcome::Waits
                    if turn.fleet().tenants().next().is_some() && self.has_place(serial, turn) =>
                {
                    // A job runs, and its end may make the room. Until the first overdue job has
                    // started, no other job may.
                    return false;
                }
                StartOutcome::Waits => {
                    // The policy refuses it for a reason of its own, and nothing that ends changes
                    // that.
                    self.overtaken.give_up(serial);
                    continue;
                }
            };
            self.leave(serial, started);
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
                // It has no serial number before its first turn.
                self.there.insert(job.id, u64::MAX);
                self.arrived.push(job);
            }
            event => {
                let left = event.leaves();
                let Some((job, serial)) =
                    left.and_then(|job| Some((job, self.there.remove(&job)?)))
                else {
                    return;
                };
                self.arrived.retain(|arrived| arrived.id != job);
                self.leave(serial, None);
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
        self.ranking = self.rank_by(now, devices);
        self.refresh(turn.fleet());
        let (mut firsts, mut behind) = (FirstOfClasses::default(), None);
        // Before every job, as each start may have made another one overdue.
        while self.serve_overdue(turn)
            && let Some(next) = self.next(behind.as_ref(), &mut firsts)
        {
            match self.try_one(next.serial, false, turn) {
                StartOutcome::Started(area) => self.leave(next.serial, Some(area)),
                StartOutcome::Rejected => self.leave(next.serial, None),
                StartOutcome::Waits => {}
            }
            behind = Some(next);
            self.refresh(turn.fleet());
        }
    }
}
