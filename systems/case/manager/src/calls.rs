//! What processes ask for, and what they are answered at once.

use std::collections::BTreeSet;

use mapa_case::message::{Op, Reply, Request, Status, flags};
use mapa_sched::{Event, JobId, TaskId};

use crate::manager::{Manager, Replies};
use crate::session::{ClientProcess, PendingCall, Phase, Session, task_request};

/// How many answers of a session are kept for requests that are repeated.
const KEPT: usize = 64;

impl Manager {
    pub(crate) fn reply(&self, request: &Request, status: Status) -> Reply {
        let session = self.sessions.get(&request.session);
        Reply {
            instance: match status {
                Status::Done => session.map_or(0, |session| session.instance),
                _ => 0,
            },
            ..Reply::to(request, status)
        }
    }

    pub(crate) fn init(&mut self, peer: ClientProcess, request: &Request) -> Option<Status> {
        if let Some(session) = self.sessions.get_mut(&request.session) {
            // A repeated request, over another connection.
            return match session.phase {
                _ if session.peer != peer => Some(Status::NoSession),
                Phase::Waits { .. } => {
                    session.phase = Phase::Waits { seq: request.seq };
                    None
                }
                Phase::Open => Some(Status::Done),
                Phase::Over => Some(Status::Malformed),
            };
        }
        if request.session == 0 {
            return Some(Status::Malformed);
        }
        let of =
            |test: &dyn Fn(&ClientProcess) -> bool| self.peers().filter(|peer| test(peer)).count();
        if of(&|client| *client == peer) >= self.settings.sessions
            || of(&|client| client.uid == peer.uid) >= self.settings.of_user
        {
            return Some(Status::Quota);
        }
        let job = JobId(self.number());
        let session = Session::new(peer, job, request);
        if session.is_isolated {
            self.desk.events.push(Event::Arrived(session.job()));
        } else {
            self.queue.push_back(request.session);
            self.may_admit = true;
        }
        self.by_job.insert(job, request.session);
        self.sessions.insert(request.session, session);
        None
    }

    pub(crate) fn serve(
        &mut self,
        op: Op,
        request: &Request,
        replies: &mut Replies,
    ) -> Option<Status> {
        let session = self.sessions.get_mut(&request.session)?;
        if op == Op::Reattach {
            return Some(Status::Done);
        }
        if session.phase != Phase::Open {
            return Some(Status::Malformed);
        }
        let mut answers = session.answers.iter();
        if let Some((_, reply)) = answers.find(|(seq, reply)| {
            *seq == request.seq && reply.op == Some(op) && reply.task == request.task
        }) {
            return Some(reply.status);
        }
        match op {
            Op::Begin | Op::Extend => self.hold(op, request),
            Op::End => Some(self.end(request, replies)),
            Op::Destroy => Some(self.close_session(request.session, replies)),
            Op::Describe if request.task == session.instance && session.instance != 0 => {
                Some(Status::Done)
            }
            Op::Describe | Op::Init | Op::Reattach | Op::Memory => Some(Status::Malformed),
        }
    }

    /// A task asks for memory: its first, or more.
    fn hold(&mut self, op: Op, request: &Request) -> Option<Status> {
        let session = self.sessions.get(&request.session)?;
        if session.leases.contains_key(&(request.task, request.seq)) {
            return Some(Status::Done);
        }
        if let Some(waiting) = session.waiting.get(&request.seq) {
            // The same request over another connection is answered when the first would have been.
            let is_same = waiting.request == *request;
            return (!is_same).then_some(Status::Malformed);
        }
        let is_held = session.leases.keys().any(|(task, _)| *task == request.task);
        let waits = session
            .waiting
            .values()
            .any(|waiting| waiting.request.task == request.task);
        if session.is_isolated || waits || is_held != (op == Op::Extend) {
            return Some(Status::Malformed);
        }
        let held = session.leases.len() + session.waiting.len();
        if session.waiting.len() >= self.settings.calls || held >= self.settings.leases {
            return Some(Status::Quota);
        }
        let job = session.job;
        let task = TaskId(self.number());
        let wanted = task_request(request.bytes, request.warps);
        let fleet = self.drive.seen().fleet;
        if self.case.refuses(fleet, job, task, &wanted).is_some()
            || request.flags & flags::AT_ONCE != 0 && !self.case.places(fleet, job, task, &wanted)
        {
            return Some(Status::OutOfMemory);
        }
        let session = self.sessions.get_mut(&request.session)?;
        // Others are bound only where this still fits, after a restart too.
        let peak = session.asked().saturating_add(request.bytes);
        if peak > session.declared.bytes {
            let place = session.place?;
            if self.entries.declare(place, peak).is_err() {
                return Some(Status::Failed);
            }
            session.declared.bytes = peak;
        }
        let request = *request;
        session
            .waiting
            .insert(request.seq, PendingCall { request, task });
        self.by_task.insert(task, (request.session, request.seq));
        self.desk.events.push(Event::TaskBegin {
            job,
            task,
            request: wanted,
        });
        None
    }

    /// A task is over, or it never began.
    fn end(&mut self, request: &Request, replies: &mut Replies) -> Status {
        let Some(session) = self.sessions.get_mut(&request.session) else {
            return Status::NoSession;
        };
        let (job, of_task) = (session.job, request.task);
        let waiting = session.waiting.values().map(|waiting| waiting.request);
        let waiting: Vec<Request> = waiting.filter(|request| request.task == of_task).collect();
        let held: Vec<(u64, u64)> = session
            .leases
            .range((of_task, 0)..=(of_task, u64::MAX))
            .map(|(key, _)| *key)
            .collect();
        for key in held {
            if let Some(lease) = session.leases.remove(&key) {
                let task = lease.task;
                if self.entries.remove(lease.place).is_err() {
                    session.leases.insert(key, lease);
                    return Status::Failed;
                }
                self.desk.events.push(Event::TaskEnd { job, task });
            }
        }
        for call in waiting {
            self.withdraw(&call, Status::Malformed, replies);
        }
        // One that has ended already was ended by this request, before the manager was restarted.
        Status::Done
    }

    /// A call waits no more: what it was for is over, or can never be had.
    pub(crate) fn withdraw(&mut self, call: &Request, status: Status, replies: &mut Replies) {
        let Some(session) = self.sessions.get_mut(&call.session) else {
            return;
        };
        if let Some(PendingCall { task, .. }) = session.waiting.remove(&call.seq) {
            self.by_task.remove(&task);
            let job = session.job;
            self.desk.events.push(Event::TaskEnd { job, task });
            replies.push((call.session, Reply::to(call, status)));
        }
    }

    /// A call that is not to wait, and waits all the same: another was before it.
    pub(crate) fn reply_if_nonblocking(&mut self, request: &Request, replies: &mut Replies) {
        let session = self.sessions.get(&request.session);
        let call = session.and_then(|session| session.waiting.get(&request.seq));
        let call = call.map(|waiting| waiting.request);
        if let Some(call) = call.filter(|request| request.flags & flags::AT_ONCE != 0) {
            self.withdraw(&call, Status::OutOfMemory, replies);
        }
    }

    /// A session is over. Its process keeps its context until it dies.
    fn close_session(&mut self, id: u64, replies: &mut Replies) -> Status {
        let Some(session) = self.sessions.get_mut(&id) else {
            return Status::NoSession;
        };
        session.phase = Phase::Over;
        let tasks: BTreeSet<u64> = session
            .leases
            .keys()
            .map(|(task, _)| *task)
            .chain(session.waiting.values().map(|waiting| waiting.request.task))
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

    /// Keeps an answer for a request that is repeated after what it asked for is over.
    pub(crate) fn keep(&mut self, id: u64, reply: &Reply) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.answers.truncate(KEPT - 1);
            session.answers.push_front((reply.seq, *reply));
        }
    }
}
