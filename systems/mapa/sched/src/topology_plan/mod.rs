//! Order and placement together: MAPA's own scheduler for machines whose links differ.

mod batch;
mod fallback;
mod goal;
mod lists;
mod machines;
mod runs;
mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mapa_core::{Demand, MachineId, Policy, Request, effective_gbps};

use mapa_sched::Event;
use mapa_sched::Scheduler;
use mapa_sched::Turn;
use mapa_sched::length;
use mapa_sched::plan::{Ageing, Draws, PlanEntry};
use mapa_sched::{FirstFit, LinkModel, ListOrder};
use mapa_sched::{Job, JobId, RunTime};
use mapa_sched::{Time, duration, seconds};

use goal::EstimateErrors;
use machines::{BAR, FAIR, GOOD, MachineKinds, SetJob};
use runs::{LaneRuns, RunningJob, SetPlan, UNKNOWN_S};

pub use goal::{PlanGoal, PlanPart, Trust};

/// The most that slow links are thought to lengthen a job, as a share of its run time.
const MOST_GAIN: f64 = 1e6;
/// The price of machine time, in jobs that will come.
const COMING: f64 = 10.0;
/// A scheduler of MAPA's own for machines whose links differ. It plans order and placement together,
/// where [`Fifo`](mapa_sched::Fifo) keeps the order and [`FirstFit`] decides job by job.
///
/// Between events it keeps a plan: for each machine an ordered list of waiting jobs, and for each job
/// on which terms it starts: on the fastest free set whatever it is, only on one that is nearly the
/// best of the machine, or only on one that is not far from it; and whether others may pass it. A
/// list is judged by simulation of its machine: whoever is first in the list of those that can start
/// does start, then time goes on to the next end. The cost is by [goal](PlanGoal). So a job waits for
/// better links, or lets smaller jobs pass, where that costs less.
///
/// - A new job is inserted where it adds the least cost, shortest first. A batch of more than twenty
///   jobs is ordered anew, by the best of some hundred orders.
/// - Then jobs are moved at random, and a move is kept unless it costs more: at most a
///   [budget](Self::search) of simulated jobs at an event.
/// - A job counts more the longer it waits: from seven mean ideal times on (two for the goal slowdown), or
///   from the time that the machines need for all that runs and waits, whichever is more.
/// - *Limit on overtaking*: let later arrivals that have started hold more device-time than the fleet
///   has in fourteen mean ideal times, or in twice the time that it needed for the most that ran and
///   waited since the job arrived, whichever is more. Then the job goes first on the machine that has
///   least to do, after those that were so before it; nobody there passes it, and it takes any set.
///   So its wait is bounded by what ever runs and waits, and has no bound if that has none.
///
/// It knows the pattern of each job, its run time at full speed, and how much that grows over slow links
/// ([`Job::link_ratio`]); and it must know how far run times are [trusted](Self::trust). If they
/// are exact, it plans. If they are rough, it orders a batch as [`FirstFit`] does, and searches
/// only while forty jobs wait or fewer: a search through many would fit the errors. If they are
/// means of classes, it leaves everything to `FirstFit` (shortest first, with a threshold on slowdown of
/// 1.2), which loses less there. Ends that are observed lower the trust, and raise it again up to what was told.
///
/// Machines of up to sixteen whole devices are planned by tables of their best sets. Larger machines
/// are planned by the number of free devices, as if every set were as good as the best, and the set is
/// chosen when the job starts; but only if all their devices are linked alike. Several machines have a
/// list each; jobs are inserted over the machines where they could start or that have the least to do, and
/// moved between them.
///
/// **`FirstFit` schedules everything**, the shortest first with a threshold on slowdown of 1.2, as long as
/// - run times are means of classes, by what was told or observed, or a job waits whose run time is unknown;
/// - a job waits that cannot be planned: it wants shared devices or instances, has constraints, is larger
///   than every machine, has a pattern other than a ring, chain, star or all-to-all, or one more pattern
///   than sixteen;
/// - the fleet has a machine of more than sixteen devices, or of devices that can be partitioned, whose
///   links differ.
///
/// # Complexity
/// With a budget of s simulated jobs an event costs O(s), O(n) for n jobs that wait, O(m) for m
/// machines, and for each new job up to 39 simulations of a list on each machine that it is tried on.
/// A batch costs some 200 simulations and three moves a job. Tables cost O(3ᵈ) for d devices, once
/// for a machine and a number of devices. Memory is O(2ᵈ) for each, and O(n).
///
/// # Examples
/// ```
/// use mapa_system_mapa::{PlanGoal, TopologyPlan, Trust};
///
/// let mean_completion = TopologyPlan::new();
/// let batch = TopologyPlan::new().goal(PlanGoal::Makespan);
/// let guesses = TopologyPlan::new().trust(Trust::Rough);
/// # let _ = (mean_completion, batch, guesses);
/// ```
pub struct TopologyPlan {
    name: String,
    plan: SetPlan,
    runs: LaneRuns,
    goal: PlanGoal,
    blend: f64,
    told: Trust,
    /// Whether run times depend on links.
    gains: bool,
    ages: bool,
    /// The least limit on overtaking, in mean ideal times of the whole fleet.
    overtaking: f64,
    /// The parts that are left out, one bit each.
    without: u8,
    budget: usize,
    errors: EstimateErrors,
    /// The list that schedules where the plan does not.
    fallback: FirstFit,
    /// Whether it does so now: then it has been told all that waits.
    falls_back: bool,
    /// The planned jobs that wait and whose run time is unknown.
    unknown: usize,
    /// Whether jobs come in batches: then none is expected to come soon.
    batches: bool,
    serial: u64,
    /// The planned jobs that wait, by arrival.
    held: BTreeMap<u64, PlannedJob>,
    serials: BTreeMap<JobId, u64>,
    /// Whether a job is past its limit on overtaking, and does not go first yet.
    is_overdue: bool,
    arrived: Vec<PlannedJob>,
    /// Planned jobs that are in no list, by arrival.
    homeless: BTreeSet<u64>,
    /// Jobs that cannot be planned, by arrival.
    others: BTreeMap<u64, PlannedJob>,
    /// The ideal seconds of all planned jobs, and their number.
    ideals: (f64, f64),
    /// Whether anything has happened since the last search.
    has_changed: bool,
}

/// What waiting jobs count by.
#[derive(Clone, Copy, Debug)]
struct Weigher {
    ages: bool,
    /// The mean ideal time, seconds, if jobs count by the inverse of theirs.
    unit: Option<f64>,
}

impl Weigher {
    fn weight(self, ageing: Ageing, job: &SetJob, now: f64) -> f64 {
        let age = if self.ages {
            ageing.weight(now - job.since)
        } else {
            1.0
        };
        age * self.unit.map_or(1.0, |unit| unit / job.ideal.max(1e-9))
    }
}

/// A job that waits.
#[derive(Clone, Debug)]
struct PlannedJob {
    job: Arc<Job>,
    serial: u64,
    own: SetJob,
    /// Device-seconds of later arrivals that have started, and how many make it go first.
    overtaken: f64,
    limit: f64,
}

/// Where a waiting job is in a [`TopologyPlan`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedStart {
    /// The machine.
    pub machine: MachineId,
    /// Its place in the machine's list, from 0.
    pub place: usize,
    /// Whether it waits for a set that is better than some free one may be.
    pub waits_for_links: bool,
    /// Whether nobody behind it starts before it does.
    pub bars: bool,
    /// When it is expected to start, and to end; `None` if that depends on what is unknown.
    pub expected: Option<(Time, Time)>,
}

impl TopologyPlan {
    /// The default of [`overtaking`](Self::overtaking).
    pub const OVERTAKING: f64 = 14.0;
    /// The default budget of an event, simulated jobs.
    pub const SEARCH: usize = 1000;

    /// The plan for the least mean completion time, by Eq. 2, of run times that are exact.
    #[must_use]
    pub fn new() -> Self {
        let goal = PlanGoal::default();
        Self {
            name: NAME.to_owned(),
            plan: SetPlan::new(
                MachineKinds::new(effective_gbps()),
                goal.cost((0.0, 1.0), 0.0, 0, 0.0),
                0,
            ),
            runs: LaneRuns::default(),
            goal,
            blend: 0.0,
            told: Trust::Exact,
            gains: true,
            ages: true,
            overtaking: Self::OVERTAKING,
            without: 0,
            budget: Self::SEARCH,
            errors: EstimateErrors::default(),
            fallback: FirstFit::new(ListOrder::Shortest),
            falls_back: false,
            unknown: 0,
            batches: false,
            serial: 0,
            held: BTreeMap::new(),
            serials: BTreeMap::new(),
            is_overdue: false,
            arrived: Vec::new(),
            homeless: BTreeSet::new(),
            others: BTreeMap::new(),
            ideals: (0.0, 0.0),
            has_changed: false,
        }
    }

    /// The model by which run times depend on links. Default: Eq. 2. Call this before the first
    /// event.
    #[must_use]
    pub fn model(mut self, model: LinkModel) -> Self {
        self.fallback = self.fallback.model(model.clone());
        match model {
            LinkModel::Usual => {}
            LinkModel::By(model) => self.plan.physics_mut().model = model,
            LinkModel::None => self.gains = false,
        }
        self
    }

    /// The policy by which jobs are placed while [`FirstFit`] schedules. Default: sensitive jobs
    /// where they are fastest, others where most direct bandwidth stays.
    #[must_use]
    pub fn placed_by(self, policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("{NAME}, {}", policy.name()),
            fallback: self.fallback.placed_by(policy),
            ..self
        }
    }

    /// What is minimised. Default: [`PlanGoal::Completion`].
    #[must_use]
    pub fn goal(self, goal: PlanGoal) -> Self {
        Self { goal, ..self }
    }

    /// How much the other goal counts. With 1, and completion or slowdown as the goal, each job costs
    /// as much again for the last end; with makespan as the goal, the mean completion time is added.
    /// Default: 0.
    #[must_use]
    pub fn blend(self, blend: f64) -> Self {
        let blend = if blend.is_finite() {
            blend.max(0.0)
        } else {
            0.0
        };
        Self { blend, ..self }
    }

    /// How far run times are trusted. Default: [`Trust::Exact`].
    #[must_use]
    pub fn trust(self, told: Trust) -> Self {
        Self { told, ..self }
    }

    /// The budget of an event: how many simulated jobs moves may cost. With 0, jobs are inserted and
    /// stay where they are. Default: [`SEARCH`](Self::SEARCH).
    #[must_use]
    pub fn search(self, budget: usize) -> Self {
        Self { budget, ..self }
    }

    /// Whether jobs count more the longer they wait. Without, waits are bounded by the
    /// [limit on overtaking](Self::overtaking) alone. Default: true.
    #[must_use]
    pub fn ageing(self, ages: bool) -> Self {
        Self { ages, ..self }
    }

    /// The least limit on overtaking, in mean ideal times of the whole fleet. With infinity nobody ever
    /// goes first for having been overtaken. Less than 0 counts as 0. Default:
    /// [`OVERTAKING`](Self::OVERTAKING).
    #[must_use]
    pub fn overtaking(self, times: f64) -> Self {
        let overtaking = times.max(0.0);
        Self { overtaking, ..self }
    }

    /// Leaves out a part of the plan, to see what it is worth.
    #[must_use]
    pub fn without(mut self, part: PlanPart) -> Self {
        self.without |= part.bit();
        self
    }

    fn has(&self, part: PlanPart) -> bool {
        self.without & part.bit() == 0
    }

    /// The seed of the moves. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        *self.plan.draws() = Draws::new(seed);
        self
    }

    /// The jobs that wait, in order of arrival; those that are not planned last.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let all = self
            .held
            .values()
            .chain(&self.arrived)
            .chain(self.others.values());
        all.map(|held| &*held.job)
    }

    /// Where a waiting job is in the plan of the last event. `None` for a job that runs, is unknown, or
    /// is not planned, and where the fallback schedules.
    #[must_use]
    pub fn explain(&self, job: JobId) -> Option<PlannedStart> {
        if self.falls_back {
            return None;
        }
        let lane = self.plan.lane_of(job)?;
        let list = self.plan.list(lane);
        let place = list.iter().position(|entry| entry.id == job)?;
        let entry = &list[place];
        let at = self.runs.at(lane);
        let after = |seconds: f64| Time::ZERO + duration(at + seconds);
        let expected = self.plan.expected(lane).get(place).copied().flatten();
        Some(PlannedStart {
            machine: self.runs.machine(lane),
            place,
            waits_for_links: matches!(entry.job.mode(entry.gene), GOOD | FAIR),
            bars: entry.gene & BAR != 0,
            expected: expected.map(|span| (after(span.starts), after(span.ends))),
        })
    }

    /// A planned job that waits.
    fn waiter(&self, job: JobId) -> Option<&PlannedJob> {
        self.held.get(self.serials.get(&job)?)
    }

    /// The trust in run times, after what has been observed.
    fn trust_now(&self) -> Trust {
        if self.unknown > 0 {
            return Trust::ClassMeans;
        }
        self.errors.trust(self.told)
    }

    /// Sees what has changed, and takes jobs off lists of machines that cannot run them any more.
    fn look(&mut self, turn: &Turn<'_>, now: f64) {
        for lane in self.runs.refresh(&mut self.plan, turn.fleet()) {
            self.runs.bring(&mut self.plan, lane, now);
            let (machines, state) = (self.plan.physics(), self.plan.state(lane));
            let gone = |entry: &&PlanEntry<SetJob>| {
                use mapa_sched::plan::Physics;
                !machines.holds(state, &entry.job)
            };
            let gone: Vec<JobId> = self
                .plan
                .list(lane)
                .iter()
                .filter(gone)
                .map(|entry| entry.id)
                .collect();
            for id in gone {
                self.plan.remove(id);
                self.homeless.extend(self.serials.get(&id));
            }
            self.plan.regenes(lane, |machines, state, entry| {
                machines.possible(state, &entry.job, entry.gene)
            });
        }
    }

    /// Sorts new jobs into those that are planned and others. Returns how many are planned.
    fn sort(&mut self) -> usize {
        let mut count = 0;
        for mut held in std::mem::take(&mut self.arrived) {
            if self.falls_back {
                let job = (*held.job).clone();
                self.fallback.on_event(job.arrived, Event::Arrived(job));
            }
            let Some(own) = self.planned(&held.job) else {
                self.others.insert(held.serial, held);
                continue;
            };
            count += 1;
            held.own = own;
            // What is not known says nothing of how long jobs run.
            if held.job.run_time == RunTime::Unknown {
                self.unknown += 1;
            } else {
                self.ideals.0 += own.ideal;
                self.ideals.1 += 1.0;
            }
            self.homeless.insert(held.serial);
            self.serials.insert(held.job.id, held.serial);
            self.held.insert(held.serial, held);
        }
        count
    }

    /// What a plan must know of a job; `None` if it is not planned.
    fn planned(&mut self, job: &Job) -> Option<SetJob> {
        let request = &job.request;
        let plain = Request {
            sensitivity: request.sensitivity,
            ..Request::new(request.pattern.clone())
        };
        let demands = request.pattern.demands();
        if plain != *request || demands.iter().any(|demand| *demand != Demand::default()) {
            return None;
        }
        let devices = u8::try_from(request.pattern.len()).ok()?;
        let shape = self.plan.physics_mut().shape_of(&request.pattern)?;
        let least = self.runs.least_loss(&self.plan, shape)?;
        let work = length(job).as_secs_f64();
        let gain = if self.gains {
            job.link_ratio() - 1.0
        } else {
            0.0
        };
        let gain = gain.clamp(0.0, MOST_GAIN);
        Some(SetJob {
            shape,
            devices,
            work,
            gain,
            chooses: self.gains && devices > 1 && request.is_sensitive(),
            ideal: work * (1.0 + gain * least),
            since: seconds(job.arrived),
        })
    }

    fn mean_ideal(&self) -> f64 {
        if self.ideals.1 > 0.0 {
            self.ideals.0 / self.ideals.1
        } else {
            1.0
        }
    }

    /// The seconds that all machines together need for what runs and waits, and the devices they have.
    fn drain(&self, now: f64) -> (f64, f64) {
        let lanes = 0..self.runs.lanes();
        let devices: f64 = lanes
            .clone()
            .map(|lane| self.runs.devices(&self.plan, lane))
            .sum();
        let running: f64 = lanes
            .map(|lane| self.runs.backlog(&self.plan, lane, now))
            .sum();
        let waiting = self.held.values().map(|held| area(&held.own));
        ((running + waiting.sum::<f64>()) / devices.max(1.0), devices)
    }

    /// What waiting jobs count by.
    fn weigher(&self) -> Weigher {
        Weigher {
            ages: self.ages,
            unit: (self.goal == PlanGoal::Slowdown).then(|| self.mean_ideal()),
        }
    }

    /// Brings all machines with waiting jobs up to a moment, and weighs their jobs.
    fn bring(&mut self, now: f64, drain: f64, devices: f64) {
        let unit = self.goal.ageing() * self.mean_ideal();
        let ageing = Ageing {
            patience: unit.max(drain),
            pace: unit.max(1e-9),
        };
        let weigher = self.weigher();
        for lane in 0..self.runs.lanes() {
            self.runs.bring(&mut self.plan, lane, now);
            if !self.plan.list(lane).is_empty() {
                self.plan
                    .weigh(lane, |entry| weigher.weight(ageing, &entry.job, now));
            }
        }
        let expects = !self.batches && self.has(PlanPart::Coming);
        let coming = if expects { COMING } else { 0.0 };
        let jobs = self.held.len();
        let climb = if self.runs.lanes() > 1 {
            1.0 / self.mean_ideal().max(1e-9)
        } else {
            0.0
        };
        let cost = self.goal.cost((coming, devices), self.blend, jobs, climb);
        self.plan.set_goal(cost);
    }

    /// Removes a job from those that wait. Returns whether it was one of them.
    fn forget(&mut self, job: JobId) -> bool {
        let Some(serial) = self.serials.remove(&job) else {
            return false;
        };
        self.homeless.remove(&serial);
        let held = self.held.remove(&serial);
        let unknown = held.is_some_and(|held| held.job.run_time == RunTime::Unknown);
        self.unknown -= usize::from(unknown);
        true
    }
}

const NAME: &str = "topology-plan";

/// Device-seconds on the best set.
fn area(job: &SetJob) -> f64 {
    f64::from(job.devices) * job.ideal
}

impl Default for TopologyPlan {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TopologyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyPlan")
            .field("goal", &self.goal)
            .field("told", &self.told)
            .field("planned", &self.held.len())
            .field("others", &self.others.len())
            .finish_non_exhaustive()
    }
}

impl Scheduler for TopologyPlan {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => {
                let serial = self.serial;
                self.serial += 1;
                self.has_changed = true;
                self.arrived.push(PlannedJob {
                    job: Arc::new(job),
                    serial,
                    own: SetJob::default(),
                    overtaken: 0.0,
                    limit: 0.0,
                });
            }
            Event::Progress { job, share } => {
                if let Some(lane) = self.runs.observe(job, share, seconds(now)) {
                    self.plan.touch(lane);
                }
            }
            event => {
                if let Some(job) = event.leaves() {
                    self.plan.remove(job);
                    let planned = self.forget(job);
                    self.arrived.retain(|held| held.job.id != job);
                    self.others.retain(|_, held| held.job.id != job);
                    let finished = matches!(event, Event::Finished(_));
                    // Of a job whose run time was unknown, nothing was expected.
                    let known = |run: &RunningJob| run.takes < UNKNOWN_S;
                    let run = self.runs.end(job);
                    // Events of unknown jobs are no news.
                    self.has_changed |= planned || run.is_some();
                    if let Some(run) = run.filter(|run| finished && known(run)) {
                        self.errors.note(seconds(now) - run.started, run.takes);
                    }
                }
                if self.falls_back {
                    self.fallback.on_event(now, event);
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let at = seconds(now);
        self.look(turn, at);
        let new = self.sort();
        if self.must_fall_back() {
            self.fall_back(now, turn);
            self.look(turn, at);
            // Whoever kept the plan from planning may have started.
            if self.must_fall_back() {
                return;
            }
        }
        if std::mem::take(&mut self.falls_back) {
            self.fallback.clear();
        }
        let trust = self.trust_now();
        let (drain, devices) = self.drain(at);
        self.bring(at, drain, devices);
        self.insert(at, new, trust);
        self.promote(at, drain, devices);
        self.improve(new, trust);
        self.start_planned(at, turn);
        while self.is_overdue {
            self.promote(at, drain, devices);
            self.start_planned(at, turn);
        }
    }
}
