//! What the manager knows of a session: its process, its memory, and its calls that wait.

use std::collections::{BTreeMap, VecDeque};

use mapa_case::message::{Reply, Request, flags};
use mapa_core::{Demand, Pattern};
use mapa_live::Processes;
use mapa_node::TaskRecord;
use mapa_sched::{Job, JobId, TaskId};

/// A process that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientProcess {
    /// Its number.
    pub pid: i32,
    /// When it started.
    pub start: i64,
    /// Its user.
    pub uid: u32,
}

/// Memory that a task holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLease {
    pub(crate) task: TaskId,
    pub(crate) place: usize,
    pub(crate) bytes: u64,
}

/// A call that waits for memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCall {
    pub(crate) request: Request,
    pub(crate) task: TaskId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It waits for a worker, or an isolated one for its instance.
    Waits { seq: u64 },
    /// It may ask.
    Open,
    /// It has said that it is over; its process lives.
    Over,
}

pub(crate) struct Session {
    pub(crate) peer: ClientProcess,
    pub(crate) job: JobId,
    pub(crate) phase: Phase,
    pub(crate) is_isolated: bool,
    /// What it said at its begin. The bytes are the most that it has said or asked for since.
    pub(crate) declared: Request,
    /// Where its own entry is.
    pub(crate) place: Option<usize>,
    /// The instance to which it is bound, counted from 1; 0 for none yet.
    pub(crate) instance: u64,
    /// By task and call.
    pub(crate) leases: BTreeMap<(u64, u64), MemoryLease>,
    /// By call.
    pub(crate) waiting: BTreeMap<u64, PendingCall>,
    pub(crate) answers: VecDeque<(u64, Reply)>,
}

impl From<&TaskRecord> for ClientProcess {
    fn from(entry: &TaskRecord) -> Self {
        Self {
            pid: entry.pid,
            start: entry.start,
            uid: entry.uid,
        }
    }
}

impl Session {
    pub(crate) fn new(peer: ClientProcess, job: JobId, declared: &Request) -> Self {
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

    /// The bytes that its tasks hold, and those for which they wait.
    pub(crate) fn asked(&self) -> u64 {
        let held = self.leases.values().map(|lease| lease.bytes);
        let waiting = self.waiting.values().map(|waiting| waiting.request.bytes);
        held.chain(waiting).fold(0, u64::saturating_add)
    }

    /// The process as the scheduler knows it.
    pub(crate) fn job(&self) -> Job {
        let mut job = Job::new(self.job, task_request(self.declared.bytes, 0));
        job.isolated = self.is_isolated;
        job.grows = self.declared.flags & flags::GROWS != 0;
        job
    }

    /// What is noted of it; `mark` is that of its instance.
    pub(crate) fn entry(&self, id: u64, mark: u64) -> TaskRecord {
        TaskRecord {
            is_session: true,
            session: id,
            seq: self.declared.seq,
            task: 0,
            bytes: self.declared.bytes,
            warps: 0,
            flags: self.declared.flags,
            instance: self.instance,
            mark,
            pid: self.peer.pid,
            start: self.peer.start,
            uid: self.peer.uid,
        }
    }
}

/// What a task asks for.
pub(crate) fn task_request(bytes: u64, warps: u64) -> mapa_core::Request {
    let warps = u32::try_from(warps).unwrap_or(u32::MAX);
    let demand = Demand::any().shared().memory(bytes).warps(warps);
    mapa_core::Request::new(Pattern::single(demand))
}

/// The process of this number, as the manager knows processes.
pub(crate) fn peer(processes: &Processes, pid: i32, uid: u32) -> Option<ClientProcess> {
    let identity = processes.identity(pid)?;
    Some(ClientProcess {
        pid,
        start: identity.id.start,
        uid,
    })
}
