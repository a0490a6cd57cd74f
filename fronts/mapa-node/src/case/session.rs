//! What the manager knows of a session: its process, its memory, and its calls that wait.

use std::collections::{BTreeMap, VecDeque};

use mapa_case::message::{Reply, Request, flags};
use mapa_core::{Demand, Pattern};
use mapa_live::Processes;
use mapa_sched::{Job, JobId, TaskId};

use crate::entries::Entry;

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

/// Memory that a task holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) task: TaskId,
    pub(super) place: usize,
    pub(super) bytes: u64,
}

/// A call that waits for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) request: Request,
    pub(super) task: TaskId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for a worker, or an isolated one for its instance.
    Waits { seq: u64 },
    /// It may ask.
    Open,
    /// It has said that it is over; its process lives.
    Over,
}

pub(super) struct Session {
    pub(super) peer: Peer,
    pub(super) job: JobId,
    pub(super) phase: Phase,
    pub(super) is_isolated: bool,
    /// What it said at its begin. The bytes are the most that it has said or asked for since.
    pub(super) declared: Request,
    /// Where its own entry is.
    pub(super) place: Option<usize>,
    /// The instance to which it is bound, counted from 1; 0 for none yet.
    pub(super) instance: u64,
    /// By task and call.
    pub(super) leases: BTreeMap<(u64, u64), Lease>,
    /// By call.
    pub(super) waiting: BTreeMap<u64, Waiting>,
    pub(super) answers: VecDeque<(u64, Reply)>,
}

impl Entry {
    pub(super) fn peer(&self) -> Peer {
        Peer {
            pid: self.pid,
            start: self.start,
            uid: self.uid,
        }
    }
}

impl Session {
    pub(super) fn new(peer: Peer, job: JobId, declared: &Request) -> Self {
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
    pub(super) fn asked(&self) -> u64 {
        let held = self.leases.values().map(|lease| lease.bytes);
        let waiting = self.waiting.values().map(|waiting| waiting.request.bytes);
        held.chain(waiting).fold(0, u64::saturating_add)
    }

    /// The process as the scheduler knows it.
    pub(super) fn job(&self) -> Job {
        let mut job = Job::new(self.job, task_request(self.declared.bytes, 0));
        job.isolated = self.is_isolated;
        job.grows = self.declared.flags & flags::GROWS != 0;
        job
    }

    /// What is noted of it; `mark` is that of its instance.
    pub(super) fn entry(&self, id: u64, mark: u64) -> Entry {
        Entry {
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
pub(super) fn task_request(bytes: u64, warps: u64) -> mapa_core::Request {
    let warps = u32::try_from(warps).unwrap_or(u32::MAX);
    let demand = Demand::any().shared().memory(bytes).warps(warps);
    mapa_core::Request::new(Pattern::single(demand))
}

/// The process of this number, as the manager knows processes.
pub(super) fn peer(processes: &Processes, pid: i32, uid: u32) -> Option<Peer> {
    let identity = processes.identity(pid)?;
    Some(Peer {
        pid,
        start: identity.id.start,
        uid,
    })
}
