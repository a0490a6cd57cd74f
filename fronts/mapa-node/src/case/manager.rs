//! The manager: requests of processes become facts for the scheduler, and its orders become replies.
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

use mapa_case::message::{Op, Reply, Request, Status};
use mapa_core::{DeviceId, lowest_id};
use mapa_sched::{
    Action, Case, CaseSettings, Drive, Driver, Event, JobId, Placed, Seen, TaskId, Tenant, Time,
};

use super::instances::Instances;
use super::session::{Lease, Peer, Phase, Session, Waiting, task_request};
use crate::entries::{Entries, Entry};
use crate::error::Error;

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

/// How many answers of a session are kept for requests that are repeated.
const KEPT: usize = 64;

/// How many instants pass between two looks for what the record can forget.
const TIDY: u64 = 4096;

/// What the scheduler is told next, and what it has ordered.
#[derive(Debug, Default)]
pub(super) struct Desk {
    now: Time,
    pub(super) facts: Vec<Event>,
    pub(super) orders: Vec<Action>,
}

impl Driver for Desk {
    type Error = mapa_sched::Error;

    fn next(
        &mut self,
        _: Seen<'_>,
        facts: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Self::Error> {
        let now = self.now;
        facts.extend(self.facts.drain(..).map(|fact| (now, fact)));
        Ok(Some(now))
    }

    fn carry_out(&mut self, seen: Seen<'_>, order: &Action) -> Result<Time, Self::Error> {
        self.orders.push(order.clone());
        Ok(seen.now)
    }
}

/// The manager of shared instances.
pub struct Manager {
    pub(super) instances: Instances,
    pub(super) case: Case,
    pub(super) drive: Drive,
    pub(super) desk: Desk,
    settings: Settings,
    pub(super) entries: Entries,
    pub(super) sessions: BTreeMap<u64, Session>,
    pub(super) by_job: BTreeMap<JobId, u64>,
    /// Sessions of which the scheduler does not know yet, in the order in which they came.
    queue: VecDeque<u64>,
    /// Whether one of them may be next, for all that is known.
    may_admit: bool,
    /// Calls that wait, by the scheduler's number of the task.
    by_task: BTreeMap<TaskId, (u64, u64)>,
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
        mut entries: Entries,
    ) -> Result<Self, Error> {
        let found = entries.take_found();
        let mut manager = Self {
            drive: Drive::new(instances.fleet().clone()),
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
        manager.go_on(&found)?;
        Ok(manager)
    }

    /// The instances.
    #[must_use]
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The processes that have sessions.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + '_ {
        self.sessions.values().map(|own| own.peer)
    }

    /// The session of this number, if it is this process's.
    #[must_use]
    pub fn owns(&self, peer: Peer, session: u64) -> bool {
        self.sessions
            .get(&session)
            .is_some_and(|own| own.peer == peer)
    }

    /// Answers a request of a process. Some requests are answered later, and some answers are for
    /// others.
    pub fn ask(&mut self, now: Time, peer: Peer, request: &Request, replies: &mut Replies) {
        self.desk.now = now;
        let answer = match request.op {
            Op::Init => self.init(peer, request),
            _ if !self.owns(peer, request.session) => Some(Status::NoSession),
            op => self.serve(op, request, replies),
        };
        self.step(replies);
        if let Some(status) = answer {
            let reply = self.reply(request, status);
            replies.push((request.session, reply));
        }
    }

    /// A process is dead: what its sessions held is free.
    pub fn died(&mut self, now: Time, peer: Peer, replies: &mut Replies) {
        self.desk.now = now;
        let mut own = self.sessions.iter();
        let ids: Vec<u64> = own
            .by_ref()
            .filter(|(_, session)| session.peer == peer)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            self.drop_session(id);
        }
        self.step(replies);
    }

    fn reply(&self, request: &Request, status: Status) -> Reply {
        let session = self.sessions.get(&request.session);
        Reply {
            instance: match status {
                Status::Done => session.map_or(0, |own| own.instance),
                _ => 0,
            },
            ..Reply::to(request, status)
        }
    }

    fn init(&mut self, peer: Peer, request: &Request) -> Option<Status> {
        if let Some(own) = self.sessions.get_mut(&request.session) {
            // A repeated request, over another connection.
            return match own.phase {
                _ if own.peer != peer => Some(Status::NoSession),
                Phase::Waits { .. } => {
                    own.phase = Phase::Waits { seq: request.seq };
                    None
                }
                Phase::Open => Some(Status::Done),
                Phase::Over => Some(Status::Malformed),
            };
        }
        if request.session == 0 {
            return Some(Status::Malformed);
        }
        let of = |test: &dyn Fn(&Peer) -> bool| self.peers().filter(|own| test(own)).count();
        if of(&|own| *own == peer) >= self.settings.sessions
            || of(&|own| own.uid == peer.uid) >= self.settings.of_user
        {
            return Some(Status::Quota);
        }
        let job = JobId(self.number());
        let session = Session::new(peer, job, request);
        if session.is_isolated {
            self.desk.facts.push(Event::Arrived(session.job()));
        } else {
            self.queue.push_back(request.session);
            self.may_admit = true;
        }
        self.by_job.insert(job, request.session);
        self.sessions.insert(request.session, session);
        None
    }

    fn serve(&mut self, op: Op, request: &Request, replies: &mut Replies) -> Option<Status> {
        let own = self.sessions.get_mut(&request.session)?;
        if op == Op::Reattach {
            return Some(Status::Done);
        }
        if own.phase != Phase::Open {
            return Some(Status::Malformed);
        }
        let mut answers = own.answers.iter();
        if let Some((_, reply)) = answers.find(|(seq, reply)| {
            *seq == request.seq && reply.op == Some(op) && reply.task == request.task
        }) {
            return Some(reply.status);
        }
        match op {
            Op::Begin | Op::Extend => self.hold(op, request),
            Op::End => Some(self.end(request, replies)),
            Op::Destroy => Some(self.over(request.session, replies)),
            Op::Describe if request.task == own.instance && own.instance != 0 => Some(Status::Done),
            Op::Describe | Op::Init | Op::Reattach | Op::Memory => Some(Status::Malformed),
        }
    }

    /// A task asks for memory: its first, or more.
    fn hold(&mut self, op: Op, request: &Request) -> Option<Status> {
        let own = self.sessions.get(&request.session)?;
        if own.leases.contains_key(&(request.task, request.seq)) {
            return Some(Status::Done);
        }
        if let Some(waiting) = own.waiting.get(&request.seq) {
            // The same request over another connection is answered when the first would have been.
            let is_same = waiting.request == *request;
            return (!is_same).then_some(Status::Malformed);
        }
        let is_held = own.leases.keys().any(|(task, _)| *task == request.task);
        let waits = own
            .waiting
            .values()
            .any(|own| own.request.task == request.task);
        if own.is_isolated || waits || is_held != (op == Op::Extend) {
            return Some(Status::Malformed);
        }
        let held = own.leases.len() + own.waiting.len();
        if own.waiting.len() >= self.settings.calls || held >= self.settings.leases {
            return Some(Status::Quota);
        }
        let job = own.job;
        let task = TaskId(self.number());
        let wanted = task_request(request.bytes, request.warps);
        let fleet = self.drive.seen().fleet;
        if self.case.refuses(fleet, job, task, &wanted).is_some() {
            return Some(Status::OutOfMemory);
        }
        let own = self.sessions.get_mut(&request.session)?;
        // Others are bound only where this still fits, after a restart too.
        let peak = own.asked().saturating_add(request.bytes);
        if peak > own.declared.bytes {
            let place = own.place?;
            if self.entries.declare(place, peak).is_err() {
                return Some(Status::Failed);
            }
            own.declared.bytes = peak;
        }
        let request = *request;
        own.waiting.insert(request.seq, Waiting { request, task });
        self.by_task.insert(task, (request.session, request.seq));
        self.desk.facts.push(Event::TaskBegin {
            job,
            task,
            request: wanted,
        });
        None
    }

    /// A task is over, or it never began.
    fn end(&mut self, request: &Request, replies: &mut Replies) -> Status {
        let Some(own) = self.sessions.get_mut(&request.session) else {
            return Status::NoSession;
        };
        let (job, of_task) = (own.job, request.task);
        let waiting = own.waiting.values().map(|own| own.request);
        let waiting: Vec<Request> = waiting.filter(|own| own.task == of_task).collect();
        let held: Vec<(u64, u64)> = own
            .leases
            .range((of_task, 0)..=(of_task, u64::MAX))
            .map(|(key, _)| *key)
            .collect();
        for key in held {
            if let Some(lease) = own.leases.remove(&key) {
                let task = lease.task;
                if self.entries.remove(lease.place).is_err() {
                    own.leases.insert(key, lease);
                    return Status::Failed;
                }
                self.desk.facts.push(Event::TaskEnd { job, task });
            }
        }
        for call in waiting {
            self.withdraw(&call, Status::Malformed, replies);
        }
        // One that has ended already was ended by this request, before the manager was restarted.
        Status::Done
    }

    /// A call waits no more: what it was for is over, or can never be had.
    fn withdraw(&mut self, call: &Request, status: Status, replies: &mut Replies) {
        let Some(own) = self.sessions.get_mut(&call.session) else {
            return;
        };
        if let Some(Waiting { task, .. }) = own.waiting.remove(&call.seq) {
            self.by_task.remove(&task);
            let job = own.job;
            self.desk.facts.push(Event::TaskEnd { job, task });
            replies.push((call.session, Reply::to(call, status)));
        }
    }

    /// A session is over. Its process keeps its context until it dies.
    fn over(&mut self, id: u64, replies: &mut Replies) -> Status {
        let Some(own) = self.sessions.get_mut(&id) else {
            return Status::NoSession;
        };
        own.phase = Phase::Over;
        let tasks: BTreeSet<u64> = own
            .leases
            .keys()
            .map(|(task, _)| *task)
            .chain(own.waiting.values().map(|own| own.request.task))
            .collect();
        for task in tasks {
            let ends = Request {
                task,
                ..Request::new(Op::End, id, 0)
            };
            if self.end(&ends, replies) != Status::Done {
                return Status::Failed;
            }
        }
        Status::Done
    }

    fn drop_session(&mut self, id: u64) {
        let Some(own) = self.sessions.remove(&id) else {
            return;
        };
        self.by_job.remove(&own.job);
        self.queue.retain(|queued| *queued != id);
        self.may_admit = true;
        for waiting in own.waiting.values() {
            self.by_task.remove(&waiting.task);
        }
        let leases = own.leases.values().map(|lease| lease.place);
        for place in leases.chain(own.place) {
            // Who starts next drops entries of dead processes.
            drop(self.entries.remove(place));
        }
        self.desk.facts.push(Event::Finished(own.job));
    }

    /// One instant, and further ones while something comes of it.
    fn step(&mut self, replies: &mut Replies) {
        loop {
            if self.desk.facts.is_empty() {
                self.admit(replies);
            }
            if self.desk.facts.is_empty() {
                break;
            }
            // Facts are told of jobs that the scheduler knows, so none is impossible. If one were,
            // the scheduler has acted, and its orders count.
            drop(self.drive.instant(&mut self.case, &mut self.desk));
            for order in std::mem::take(&mut self.desk.orders) {
                self.obey(order, replies);
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
        let mut peers: BTreeMap<Peer, bool> = BTreeMap::new();
        for (id, own) in self.sessions.iter().filter(|(_, own)| !own.is_isolated) {
            if !queued.contains(id) {
                let is_open = !matches!(own.phase, Phase::Waits { .. });
                *peers.entry(own.peer).or_default() |= is_open;
            }
        }
        let mut users: BTreeSet<u32> = peers.keys().map(|own| own.uid).collect();
        let mut left = self.case.workers_left();
        for id in queue {
            let Some(own) = self.sessions.get(&id) else {
                continue;
            };
            let (peer, job) = (own.peer, own.job());
            match peers.get(&peer) {
                Some(true) => match self.case.join(self.drive.seen().fleet, &job) {
                    None => self.opens(job.id, 0, replies),
                    Some(_) => self.rejected(job.id, replies),
                },
                None if left > usize::from(users.contains(&peer.uid)) => {
                    left -= 1;
                    users.insert(peer.uid);
                    peers.insert(peer, false);
                    self.desk.facts.push(Event::Arrived(job));
                }
                Some(false) | None => self.queue.push_back(id),
            }
        }
    }

    fn obey(&mut self, order: Action, replies: &mut Replies) {
        match order {
            Action::Launch { job } => self.opens(job, 0, replies),
            Action::Place {
                tenant: Tenant::Job(job),
                at,
            } => {
                let instance = self.instance(&at);
                self.opens(job, instance, replies);
            }
            Action::Place {
                tenant: Tenant::Task(job, task),
                at,
            } => {
                let instance = self.instance(&at);
                self.granted(job, task, instance, replies);
            }
            Action::Reject { job, .. } => self.rejected(job, replies),
            // Leases of a rejected process are taken back with it. Layouts are not changed here.
            _ => {}
        }
    }

    fn instance(&self, at: &Placed) -> u64 {
        let first = at.placement.first().copied();
        first.and_then(|id| self.instances.number(id)).unwrap_or(0)
    }

    /// A session may ask from now on; an isolated one has its instance.
    fn opens(&mut self, job: JobId, instance: u64, replies: &mut Replies) {
        let Some(&id) = self.by_job.get(&job) else {
            return;
        };
        let Some(own) = self.sessions.get_mut(&id) else {
            return;
        };
        let Phase::Waits { seq } = own.phase else {
            return;
        };
        own.instance = instance;
        let status = match self.entries.add(&own.entry(id)) {
            Ok(place) => {
                own.place = Some(place);
                own.phase = Phase::Open;
                // Further sessions of its process wait for no worker.
                self.may_admit = true;
                Status::Done
            }
            Err(_) => Status::Failed,
        };
        let request = Request {
            seq,
            ..own.declared
        };
        let reply = self.reply(&request, status);
        replies.push((id, reply));
        if status != Status::Done {
            self.drop_session(id);
        }
    }

    /// A task has got its memory.
    fn granted(&mut self, job: JobId, task: TaskId, instance: u64, replies: &mut Replies) {
        let waiting = self.by_task.remove(&task).and_then(|(id, seq)| {
            let own = self.sessions.get_mut(&id)?;
            Some((id, own.waiting.remove(&seq)?))
        });
        let Some((id, waiting)) = waiting else {
            // Nobody waits for it any more.
            self.desk.facts.push(Event::TaskEnd { job, task });
            return;
        };
        let Some(own) = self.sessions.get_mut(&id) else {
            return;
        };
        let request = waiting.request;
        let entry = Entry {
            is_session: false,
            seq: request.seq,
            task: request.task,
            bytes: request.bytes,
            warps: request.warps,
            flags: request.flags,
            instance,
            ..own.entry(id)
        };
        let bound = match own.place {
            Some(place) if own.instance == 0 => self.entries.bind(place, instance),
            _ => Ok(()),
        };
        let status = match bound.and_then(|()| self.entries.add(&entry)) {
            Ok(place) => {
                own.instance = instance;
                let bytes = request.bytes;
                let lease = Lease { task, place, bytes };
                own.leases.insert((request.task, request.seq), lease);
                Status::Done
            }
            Err(_) => {
                self.desk.facts.push(Event::TaskEnd { job, task });
                Status::Failed
            }
        };
        let reply = self.reply(&request, status);
        self.keep(id, &reply);
        replies.push((id, reply));
    }

    /// Keeps an answer for a request that is repeated after what it asked for is over.
    fn keep(&mut self, id: u64, reply: &Reply) {
        if let Some(own) = self.sessions.get_mut(&id) {
            own.answers.truncate(KEPT - 1);
            own.answers.push_front((reply.seq, *reply));
        }
    }

    /// A job fits nowhere.
    fn rejected(&mut self, job: JobId, replies: &mut Replies) {
        let Some(&id) = self.by_job.get(&job) else {
            return;
        };
        let Some(own) = self.sessions.get_mut(&id) else {
            return;
        };
        if let Phase::Waits { seq } = own.phase {
            let request = Request {
                seq,
                ..own.declared
            };
            replies.push((id, Reply::to(&request, Status::OutOfMemory)));
            self.drop_session(id);
            return;
        }
        // `refuses` keeps from the scheduler whatever would come to this. If it did not, the memory is
        // in use all the same: the entries stay until the death of the process, and it gets no more.
        own.phase = Phase::Over;
        let calls: Vec<Request> = own.waiting.values().map(|own| own.request).collect();
        for call in calls {
            self.withdraw(&call, Status::OutOfMemory, replies);
        }
    }

    pub(super) fn number(&mut self) -> u64 {
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
        for (number, own) in (1..).zip(self.instances.list()) {
            let Some((view, id)) = view.as_ref().zip(self.instances.vertex(number)) else {
                continue;
            };
            let free = view.free_memory(id).unwrap_or(0);
            let used = view.usage(id);
            let context = contexts.get(&id).copied().unwrap_or(0);
            all.push((own.memory.saturating_sub(free), context, used.exclusive > 0));
        }
        all
    }

    /// The leases by the table: session, task, bytes, instance.
    pub fn leases(&self) -> impl Iterator<Item = (u64, u64, u64, u64)> + '_ {
        self.sessions.iter().flat_map(|(id, own)| {
            let leases = own.leases.iter();
            leases.map(|((task, _), lease)| (*id, *task, lease.bytes, own.instance))
        })
    }
}
