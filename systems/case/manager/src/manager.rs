//! The manager: requests of processes become events for the scheduler, and its orders become replies.
//!
//! Reads no socket and no clock. Whoever drives it says which process asks and what time it is.
//!
//! **Truth** is the table of entries: memory is held from the moment its entry is written until the
//! entry is removed. What a process says of its past without an entry is nothing.
//!
//! **Sessions**, not processes, hold memory: a process may have several, and closing one leaves the
//! others as they are. A session ends with its process alone. Who says that it has ended keeps its
//! context, and so its place on the instance.
//!
//! **Workers** are of processes: the further sessions of a process take none. Who has a worker of the
//! last one that is free gets it only if its user has no other, so that nobody keeps all others out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mapa_case::message::{Op, Reply, Request, Status, flags};
use mapa_core::{DeviceId, lowest_id};
use mapa_node::{Error, TaskFile};
use mapa_sched::{Action, Driver, DriverView, Event, JobId, SchedulerRun, TaskId, Time};
use mapa_system_case::{Case, CaseSettings};

use crate::instances::Instances;
use crate::session::{ClientProcess, Phase, Session};

/// The most that one may have of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Calls of a session that wait.
    pub calls: usize,
    /// Leases of a session: tasks and their extensions.
    pub leases: usize,
    /// Sessions of a process.
    pub sessions: usize,
    /// Sessions of a user.
    pub of_user: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            calls: 16,
            leases: 64,
            sessions: 8,
            of_user: 2048,
        }
    }
}

/// How many turns pass between two searches for jobs that the record can forget.
const TIDY: u64 = 4096;

/// The next events for the scheduler, and its actions.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    now: Time,
    pub(crate) events: Vec<Event>,
    pub(crate) orders: Vec<Action>,
}

impl Driver for Desk {
    type Error = mapa_sched::Error;

    fn next(
        &mut self,
        _: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Self::Error> {
        let now = self.now;
        events.extend(self.events.drain(..).map(|event| (now, event)));
        Ok(Some(now))
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Self::Error> {
        self.orders.push(order.clone());
        Ok(seen.now)
    }
}

/// The manager of shared instances.
pub struct Manager {
    pub(crate) instances: Instances,
    pub(crate) case: Case,
    pub(crate) drive: SchedulerRun,
    pub(crate) desk: Desk,
    pub(crate) settings: Settings,
    pub(crate) entries: TaskFile,
    pub(crate) sessions: BTreeMap<u64, Session>,
    pub(crate) by_job: BTreeMap<JobId, u64>,
    /// Sessions of which the scheduler does not know yet, in the order in which they came.
    pub(crate) queue: VecDeque<u64>,
    /// Whether one of them may be next, for all that is known.
    pub(crate) may_admit: bool,
    /// Calls that wait, by the scheduler's number of the task.
    pub(crate) by_task: BTreeMap<TaskId, (u64, u64)>,
    next: u64,
}

/// Replies, each to the session that it is for.
pub type Replies = Vec<(u64, Reply)>;

impl Manager {
    /// A manager that goes on with what the entries say.
    ///
    /// # Errors
    /// The entries contradict the instances or each other.
    pub fn new(
        instances: Instances,
        rule: CaseSettings,
        settings: Settings,
        mut entries: TaskFile,
    ) -> Result<Self, Error> {
        let mut found = entries.take_found();
        let mut manager = Self {
            drive: SchedulerRun::new(instances.fleet().clone()),
            instances,
            case: Case::new(rule, lowest_id()),
            desk: Desk::default(),
            settings,
            entries,
            sessions: BTreeMap::new(),
            by_job: BTreeMap::new(),
            queue: VecDeque::new(),
            may_admit: false,
            by_task: BTreeMap::new(),
            next: 1,
        };
        manager.go_on(&mut found)?;
        Ok(manager)
    }

    /// The instances.
    #[must_use]
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The processes that have sessions.
    pub fn peers(&self) -> impl Iterator<Item = ClientProcess> + '_ {
        self.sessions.values().map(|session| session.peer)
    }

    /// The session of this number, if it is this process's.
    #[must_use]
    pub fn owns(&self, peer: ClientProcess, session: u64) -> bool {
        self.sessions
            .get(&session)
            .is_some_and(|session| session.peer == peer)
    }

    /// Answers a request of a process. Some requests are answered later, and some answers are for
    /// others.
    pub fn ask(
        &mut self,
        now: Time,
        peer: ClientProcess,
        request: &Request,
        replies: &mut Replies,
    ) {
        self.desk.now = now;
        let answer = match request.op {
            Op::Init => self.init(peer, request),
            _ if !self.owns(peer, request.session) => Some(Status::NoSession),
            op => self.serve(op, request, replies),
        };
        self.step(replies);
        if request.flags & flags::AT_ONCE != 0 && self.owns(peer, request.session) {
            self.reply_if_nonblocking(request, replies);
            self.step(replies);
        }
        if let Some(status) = answer {
            let reply = self.reply(request, status);
            replies.push((request.session, reply));
        }
    }

    /// A process is dead: what its sessions held is free.
    pub fn died(&mut self, now: Time, peer: ClientProcess, replies: &mut Replies) {
        self.desk.now = now;
        let mut sessions = self.sessions.iter();
        let ids: Vec<u64> = sessions
            .by_ref()
            .filter(|(_, session)| session.peer == peer)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            self.drop_session(id);
        }
        self.step(replies);
    }

    pub(crate) fn drop_session(&mut self, id: u64) {
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        self.by_job.remove(&session.job);
        self.queue.retain(|queued| *queued != id);
        self.may_admit = true;
        for waiting in session.waiting.values() {
            self.by_task.remove(&waiting.task);
        }
        let leases = session.leases.values().map(|lease| lease.place);
        for place in leases.chain(session.place) {
            // Who starts next drops entries of dead processes.
            drop(self.entries.remove(place));
        }
        self.desk.events.push(Event::Finished(session.job));
    }

    /// One instant, and further ones while something comes of it.
    fn step(&mut self, replies: &mut Replies) {
        loop {
            if self.desk.events.is_empty() {
                self.admit(replies);
            }
            if self.desk.events.is_empty() {
                break;
            }
            // Events are told of jobs that the scheduler knows, so none is impossible. If one were,
            // the scheduler has acted, and its orders count.
            drop(self.drive.instant(&mut self.case, &mut self.desk));
            for order in std::mem::take(&mut self.desk.orders) {
                self.carry_out(order, replies);
            }
        }
        let record = self.drive.record_mut();
        if record.instants().is_multiple_of(TIDY) {
            record.forget_ended_tasks();
            record.take_left();
        }
    }

    /// Tells the scheduler of sessions for which there is a worker.
    fn admit(&mut self, replies: &mut Replies) {
        if !std::mem::take(&mut self.may_admit) {
            return;
        }
        let queue = std::mem::take(&mut self.queue);
        let queued: BTreeSet<u64> = queue.iter().copied().collect();
        // Processes that have a worker or wait for theirs, and whether they have it.
        let mut peers: BTreeMap<ClientProcess, bool> = BTreeMap::new();
        for (id, session) in self
            .sessions
            .iter()
            .filter(|(_, session)| !session.is_isolated)
        {
            if !queued.contains(id) {
                let is_open = !matches!(session.phase, Phase::Waits { .. });
                *peers.entry(session.peer).or_default() |= is_open;
            }
        }
        let mut users: BTreeSet<u32> = peers.keys().map(|key| key.uid).collect();
        let mut left = self.case.workers_left();
        for id in queue {
            let Some(session) = self.sessions.get(&id) else {
                continue;
            };
            let (peer, job) = (session.peer, session.job());
            match peers.get(&peer) {
                Some(true) => match self.case.join(self.drive.seen().fleet, &job) {
                    None => self.opens(job.id, 0, replies),
                    Some(_) => self.rejected(job.id, replies),
                },
                None if left > usize::from(users.contains(&peer.uid)) => {
                    left -= 1;
                    users.insert(peer.uid);
                    peers.insert(peer, false);
                    self.desk.events.push(Event::Arrived(job));
                }
                Some(false) | None => self.queue.push_back(id),
            }
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// What is held and what is free, by instance: bytes of leases, bytes of contexts, and whether an
    /// isolated job is there. For tests and `show`.
    #[must_use]
    pub fn held(&self) -> Vec<(u64, u64, bool)> {
        let view = self.drive.seen().fleet.views().next();
        let contexts: BTreeMap<DeviceId, u64> = self
            .case
            .context_bytes()
            .map(|(_, id, bytes)| (id, bytes))
            .collect();
        let mut all = Vec::new();
        for (number, shared) in (1..).zip(self.instances.list()) {
            let Some((view, id)) = view.as_ref().zip(self.instances.vertex(number)) else {
                continue;
            };
            let free = view.free_memory(id).unwrap_or(0);
            let used = view.usage(id);
            let context = contexts.get(&id).copied().unwrap_or(0);
            all.push((
                shared.memory.saturating_sub(free),
                context,
                used.exclusive > 0,
            ));
        }
        all
    }

    /// The leases by the table: session, task, bytes, instance.
    pub fn leases(&self) -> impl Iterator<Item = (u64, u64, u64, u64)> + '_ {
        self.sessions.iter().flat_map(|(id, session)| {
            let leases = session.leases.iter();
            leases.map(|((task, _), lease)| (*id, *task, lease.bytes, session.instance))
        })
    }
}
