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

use std::collections::{BTreeMap, VecDeque};

use mapa_case::message::{Op, Reply, Request, Status, flags};
use mapa_core::{Demand, DeviceId, DeviceSet, MachineId, Pattern, Placement, lowest_id};
use mapa_sched::{
    Action, Case, CaseSettings, Drive, Driver, Event, Job, JobId, Placed, Seen, TaskId, Tenant,
    Time,
};

use super::instances::Instances;
use crate::entries::{Entries, Entry};
use crate::error::Error;
use crate::process::Processes;

/// A process that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Its number.
    pub pid: i32,
    /// When it started.
    pub start: i64,
    /// Its user.
    pub uid: u32,
}

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

/// Memory that a task holds.
#[derive(Clone, Copy, Debug)]
struct Lease {
    task: TaskId,
    place: usize,
    bytes: u64,
}

/// A call that waits for memory.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    task: TaskId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits for a worker, or an isolated one for its instance.
    Waits { seq: u64 },
    /// It may ask.
    Open,
    /// It has said that it is over; its process lives.
    Over,
}

struct Session {
    peer: Peer,
    job: JobId,
    phase: Phase,
    is_isolated: bool,
    declared: Request,
    /// Where its own entry is.
    place: Option<usize>,
    /// The instance to which it is bound, counted from 1; 0 for none yet.
    instance: u64,
    /// By task and call.
    leases: BTreeMap<(u64, u64), Lease>,
    /// By call.
    waiting: BTreeMap<u64, Waiting>,
    answers: VecDeque<(u64, Reply)>,
}

/// What the scheduler is told next, and what it has ordered.
#[derive(Debug, Default)]
struct Desk {
    now: Time,
    facts: Vec<Event>,
    orders: Vec<Action>,
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
    instances: Instances,
    case: Case,
    drive: Drive,
    desk: Desk,
    settings: Settings,
    entries: Entries,
    sessions: BTreeMap<u64, Session>,
    by_job: BTreeMap<JobId, u64>,
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
            op => self.serve(op, request),
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
        self.desk.facts.push(Event::Arrived(session.job()));
        self.by_job.insert(job, request.session);
        self.sessions.insert(request.session, session);
        None
    }

    fn serve(&mut self, op: Op, request: &Request) -> Option<Status> {
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
            Op::End => Some(self.end(request)),
            Op::Destroy => Some(self.over(request.session)),
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
    fn end(&mut self, request: &Request) -> Status {
        let Some(own) = self.sessions.get_mut(&request.session) else {
            return Status::NoSession;
        };
        let (job, of_task) = (own.job, request.task);
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
        // One that has ended already was ended by this request, before the manager was restarted.
        Status::Done
    }

    /// A session is over. Its process keeps its context until it dies.
    fn over(&mut self, id: u64) -> Status {
        let Some(own) = self.sessions.get_mut(&id) else {
            return Status::NoSession;
        };
        own.phase = Phase::Over;
        let job = own.job;
        for (_, waiting) in std::mem::take(&mut own.waiting) {
            let task = waiting.task;
            self.by_task.remove(&task);
            self.desk.facts.push(Event::TaskEnd { job, task });
        }
        let tasks: Vec<u64> = own.leases.keys().map(|(task, _)| *task).collect();
        for task in tasks {
            let ends = Request {
                task,
                ..Request::new(Op::End, id, 0)
            };
            if self.end(&ends) != Status::Done {
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
        while !self.desk.facts.is_empty() {
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
        let Some(own) = self.sessions.get(&id) else {
            return;
        };
        let seqs: Vec<Request> = match own.phase {
            Phase::Waits { seq } => vec![Request {
                seq,
                ..own.declared
            }],
            _ => own.waiting.values().map(|own| own.request).collect(),
        };
        for request in seqs {
            replies.push((id, Reply::to(&request, Status::OutOfMemory)));
        }
        // Only who asks first is rejected: `refuses` keeps every other request from the scheduler.
        self.drop_session(id);
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Takes up the sessions and leases of a manager before this one.
    fn go_on(&mut self, found: &[(usize, Entry)]) -> Result<(), Error> {
        let mut alone = Vec::new();
        for (place, entry) in found.iter().filter(|(_, entry)| entry.is_session) {
            let job = JobId(self.number());
            let declared = Request {
                bytes: entry.bytes,
                flags: entry.flags,
                ..Request::new(Op::Init, entry.session, entry.seq)
            };
            let mut own = Session::new(entry.peer(), job, &declared);
            own.phase = Phase::Open;
            own.place = Some(*place);
            own.instance = entry.instance;
            self.by_job.insert(job, entry.session);
            if own.is_isolated {
                let mut job = own.job();
                job.request = mapa_core::Request::new(Pattern::single(Demand::any()));
                alone.push((job, self.vertex(entry)?));
            } else {
                self.desk.facts.push(Event::Arrived(own.job()));
            }
            self.sessions.insert(entry.session, own);
        }
        // First of all, processes are bound where they are: their contexts are there.
        let bound: Vec<Entry> = found.iter().map(|(_, entry)| *entry).collect();
        let bound = bound
            .into_iter()
            .filter(|own| own.is_session && own.instance != 0 && own.flags & flags::ISOLATED == 0);
        let mut binding = Vec::new();
        for entry in bound {
            let (job, task) = (self.sessions[&entry.session].job, TaskId(self.number()));
            self.begin_at(
                job,
                task,
                &Entry {
                    bytes: 0,
                    warps: 0,
                    ..entry
                },
            )?;
            binding.push((job, task));
        }
        self.replay()?;
        for (job, task) in binding {
            self.desk.facts.push(Event::TaskEnd { job, task });
        }
        self.replay()?;
        // An isolated job may be beside contexts, but not beside tasks.
        for (job, vertex) in alone {
            self.desk.facts.push(Event::Adopted {
                job,
                at: Placed {
                    machine: MachineId(0),
                    lease: mapa_core::LeaseId::default(),
                    placement: Placement::from_iter([vertex]),
                    rest: Vec::new(),
                },
                since: Time::ZERO,
            });
        }
        let mut held = Vec::new();
        for (place, entry) in found.iter().filter(|(_, entry)| !entry.is_session) {
            // A session's entry goes last, so one without it is of a process that was dying.
            let Some(job) = self.sessions.get(&entry.session).map(|own| own.job) else {
                self.entries.remove(*place)?;
                continue;
            };
            let task = TaskId(self.number());
            self.begin_at(job, task, entry)?;
            held.push((task, *place, *entry));
        }
        self.replay()?;
        for (task, place, entry) in held {
            if let Some(own) = self.sessions.get_mut(&entry.session) {
                let bytes = entry.bytes;
                own.leases
                    .insert((entry.task, entry.seq), Lease { task, place, bytes });
            }
        }
        self.check(found)
    }

    fn vertex(&self, entry: &Entry) -> Result<DeviceId, Error> {
        self.instances.vertex(entry.instance).ok_or_else(|| {
            Error::malformed(format_args!(
                "process {} uses instance {}, and there are {}: expected the instances that it was given, or the end of it",
                entry.pid,
                entry.instance,
                self.instances.list().len()
            ))
        })
    }

    fn begin_at(&mut self, job: JobId, task: TaskId, entry: &Entry) -> Result<(), Error> {
        let vertex = self.vertex(entry)?;
        let wanted = task_request(entry.bytes, entry.warps);
        let request = wanted.only(DeviceSet::from_iter([vertex]));
        self.desk
            .facts
            .push(Event::TaskBegin { job, task, request });
        Ok(())
    }

    /// Tells the facts of the past. Its orders are known already.
    fn replay(&mut self) -> Result<(), Error> {
        let told = self.drive.instant(&mut self.case, &mut self.desk);
        told.map_err(Error::malformed)?;
        self.desk.orders.clear();
        Ok(())
    }

    /// Checks that the scheduler has put everything where the entries say.
    fn check(&self, found: &[(usize, Entry)]) -> Result<(), Error> {
        for own in self.sessions.values() {
            let expected = self.instances.vertex(own.instance);
            let bound = if own.is_isolated {
                expected
            } else {
                self.case.bound(own.job).map(|(_, id)| id)
            };
            if bound != expected {
                return Err(contradiction(own.peer.pid));
            }
        }
        let fleet = self.drive.seen().fleet;
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, entry) in found.iter().filter(|(_, own)| !own.is_session) {
            if self.sessions.contains_key(&entry.session) {
                *held.entry(entry.instance).or_default() += entry.bytes;
            }
        }
        for (instance, bytes) in held {
            let used = fleet.views().find_map(|view| {
                let id = self.instances.vertex(instance)?;
                let all = self
                    .instances
                    .list()
                    .get(usize::try_from(instance).ok()? - 1)?
                    .memory;
                Some(all.saturating_sub(view.free_memory(id)?))
            });
            if used != Some(bytes) {
                let mut of = found.iter().filter(|(_, own)| own.instance == instance);
                return Err(contradiction(of.next().map_or(0, |(_, own)| own.pid)));
            }
        }
        Ok(())
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

fn contradiction(pid: i32) -> Error {
    Error::malformed(format_args!(
        "what process {pid} holds does not fit: expected the instances, context and workers that its manager had, or the end of the process"
    ))
}

impl Entry {
    fn peer(&self) -> Peer {
        Peer {
            pid: self.pid,
            start: self.start,
            uid: self.uid,
        }
    }
}

impl Session {
    fn new(peer: Peer, job: JobId, declared: &Request) -> Self {
        Self {
            peer,
            job,
            phase: Phase::Waits { seq: declared.seq },
            is_isolated: declared.flags & flags::ISOLATED != 0,
            declared: *declared,
            place: None,
            instance: 0,
            leases: BTreeMap::new(),
            waiting: BTreeMap::new(),
            answers: VecDeque::new(),
        }
    }

    /// The process as the scheduler knows it.
    fn job(&self) -> Job {
        let mut job = Job::new(self.job, task_request(self.declared.bytes, 0));
        job.isolated = self.is_isolated;
        job.grows = self.declared.flags & flags::GROWS != 0;
        job
    }

    fn entry(&self, id: u64) -> Entry {
        Entry {
            is_session: true,
            session: id,
            seq: self.declared.seq,
            task: 0,
            bytes: self.declared.bytes,
            warps: 0,
            flags: self.declared.flags,
            instance: self.instance,
            pid: self.peer.pid,
            start: self.peer.start,
            uid: self.peer.uid,
        }
    }
}

/// What a task asks for.
fn task_request(bytes: u64, warps: u64) -> mapa_core::Request {
    let warps = u32::try_from(warps).unwrap_or(u32::MAX);
    let demand = Demand::any().shared().memory(bytes).warps(warps);
    mapa_core::Request::new(Pattern::single(demand))
}

/// The process of this number, as the manager knows processes.
pub(super) fn peer(processes: &Processes, pid: i32, uid: u32) -> Option<Peer> {
    let identity = processes.identity(pid)?;
    Some(Peer {
        pid,
        start: identity.start,
        uid,
    })
}
