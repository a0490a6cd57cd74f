//! What becomes of the scheduler's orders: entries, and replies to those who waited.

use mapa_case::message::{Reply, Request, Status};
use mapa_node::TaskRecord;
use mapa_sched::{Action, Assignment, Event, JobId, TaskId, Tenant};

use crate::manager::{Manager, Replies};
use crate::session::{MemoryLease, Phase};

impl Manager {
    pub(crate) fn carry_out(&mut self, order: Action, replies: &mut Replies) {
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

    fn instance(&self, at: &Assignment) -> u64 {
        let first = at.placement.first().copied();
        first.and_then(|id| self.instances.number(id)).unwrap_or(0)
    }

    /// A session may ask from now on; an isolated one has its instance.
    pub(crate) fn opens(&mut self, job: JobId, instance: u64, replies: &mut Replies) {
        let Some(&id) = self.by_job.get(&job) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let Phase::Waits { seq } = session.phase else {
            return;
        };
        session.instance = instance;
        let entry = session.entry(id, self.instances.mark(instance));
        let status = match self.entries.add(&entry) {
            Ok(place) => {
                session.place = Some(place);
                session.phase = Phase::Open;
                // Further sessions of its process wait for no worker.
                self.may_admit = true;
                Status::Done
            }
            Err(_) => Status::Failed,
        };
        let request = Request {
            seq,
            ..session.declared
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
            let session = self.sessions.get_mut(&id)?;
            Some((id, session.waiting.remove(&seq)?))
        });
        let Some((id, waiting)) = waiting else {
            // Nobody waits for it any more.
            self.desk.events.push(Event::TaskEnd { job, task });
            return;
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let request = waiting.request;
        let mark = self.instances.mark(instance);
        let entry = TaskRecord {
            is_session: false,
            seq: request.seq,
            task: request.task,
            bytes: request.bytes,
            warps: request.warps,
            flags: request.flags,
            instance,
            ..session.entry(id, mark)
        };
        let bound = match session.place {
            Some(place) if session.instance == 0 => self.entries.bind(place, instance, mark),
            _ => Ok(()),
        };
        let status = match bound.and_then(|()| self.entries.add(&entry)) {
            Ok(place) => {
                session.instance = instance;
                let bytes = request.bytes;
                let lease = MemoryLease { task, place, bytes };
                session.leases.insert((request.task, request.seq), lease);
                Status::Done
            }
            Err(_) => {
                self.desk.events.push(Event::TaskEnd { job, task });
                Status::Failed
            }
        };
        let reply = self.reply(&request, status);
        self.keep(id, &reply);
        replies.push((id, reply));
    }

    /// A job fits nowhere.
    pub(crate) fn rejected(&mut self, job: JobId, replies: &mut Replies) {
        let Some(&id) = self.by_job.get(&job) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        if let Phase::Waits { seq } = session.phase {
            let request = Request {
                seq,
                ..session.declared
            };
            replies.push((id, Reply::to(&request, Status::OutOfMemory)));
            self.drop_session(id);
            return;
        }
        // `refuses` keeps from the scheduler whatever would come to this. If it did not, the memory is
        // in use all the same: the entries stay until the death of the process, and it gets no more.
        session.phase = Phase::Over;
        let calls: Vec<Request> = session
            .waiting
            .values()
            .map(|waiting| waiting.request)
            .collect();
        for call in calls {
            self.withdraw(&call, Status::OutOfMemory, replies);
        }
    }
}
