//! A manager goes on with what another has left in the entries.

use std::collections::{BTreeMap, BTreeSet};

use mapa_case::message::{Op, Request, flags};
use mapa_core::{Demand, DeviceId, DeviceSet, MachineId, Pattern, Placement};
use mapa_node::{Error, TaskRecord};
use mapa_sched::{Assignment, Event, Job, JobId, TaskId, Time};

use crate::manager::Manager;
use crate::session::{ClientProcess, MemoryLease, Phase, Session, task_request};

impl Manager {
    /// Takes up the sessions and leases of a manager before this one.
    pub(crate) fn go_on(&mut self, found: &mut [(usize, TaskRecord)]) -> Result<(), Error> {
        self.renumber(found)?;
        let alone = self.open_sessions(found)?;
        self.bind_processes(found)?;
        // An isolated job may be beside contexts, but not beside tasks.
        for (job, vertex) in alone {
            self.desk.events.push(Event::Adopted {
                job,
                at: Assignment {
                    machine: MachineId(0),
                    lease: mapa_core::LeaseId::default(),
                    placement: Placement::from_iter([vertex]),
                    rest: Vec::new(),
                },
                since: Time::ZERO,
            });
        }
        self.begin_tasks(found)?;
        self.check(found)
    }

    /// Opens the sessions of the entries. Returns the isolated jobs and where they are.
    fn open_sessions(
        &mut self,
        found: &[(usize, TaskRecord)],
    ) -> Result<Vec<(Job, DeviceId)>, Error> {
        let mut alone = Vec::new();
        let mut peers = BTreeSet::new();
        for (place, entry) in found.iter().filter(|(_, entry)| entry.is_session) {
            let job = JobId(self.number());
            let declared = Request {
                bytes: entry.bytes,
                flags: entry.flags,
                ..Request::new(Op::Init, entry.session, entry.seq)
            };
            let mut session = Session::new(ClientProcess::from(entry), job, &declared);
            session.phase = Phase::Open;
            session.place = Some(*place);
            session.instance = entry.instance;
            self.by_job.insert(job, entry.session);
            if session.is_isolated {
                let mut job = session.job();
                job.request = mapa_core::Request::new(Pattern::single(Demand::any()));
                alone.push((job, self.vertex(entry)?));
            } else if peers.insert(session.peer) {
                self.desk.events.push(Event::Arrived(session.job()));
            } else if self
                .case
                .join(self.drive.seen().fleet, &session.job())
                .is_some()
            {
                return Err(contradiction(entry.pid));
            }
            self.sessions.insert(entry.session, session);
        }
        Ok(alone)
    }

    /// Binds processes where they are, before anything else: their contexts are there.
    fn bind_processes(&mut self, found: &[(usize, TaskRecord)]) -> Result<(), Error> {
        let bound: Vec<TaskRecord> = found.iter().map(|(_, entry)| *entry).collect();
        let bound = bound.into_iter().filter(|entry| {
            entry.is_session && entry.instance != 0 && entry.flags & flags::ISOLATED == 0
        });
        let mut binding = Vec::new();
        for entry in bound {
            let (job, task) = (self.sessions[&entry.session].job, TaskId(self.number()));
            self.begin_at(
                job,
                task,
                &TaskRecord {
                    bytes: 0,
                    warps: 0,
                    ..entry
                },
            )?;
            binding.push((job, task));
        }
        self.replay()?;
        for (job, task) in binding {
            self.desk.events.push(Event::TaskEnd { job, task });
        }
        self.replay()
    }

    /// Begins the tasks that run, each where it is.
    fn begin_tasks(&mut self, found: &[(usize, TaskRecord)]) -> Result<(), Error> {
        let mut held = Vec::new();
        for (place, entry) in found.iter().filter(|(_, entry)| !entry.is_session) {
            // A session's entry goes last, so one without it is of a process that was dying.
            let Some(job) = self.sessions.get(&entry.session).map(|session| session.job) else {
                self.entries.remove(*place)?;
                continue;
            };
            let task = TaskId(self.number());
            self.begin_at(job, task, entry)?;
            // One after the other: of tasks that wait together the scheduler takes it that they grow.
            self.replay()?;
            held.push((task, *place, *entry));
        }
        self.replay()?;
        for (task, place, entry) in held {
            if let Some(session) = self.sessions.get_mut(&entry.session) {
                let bytes = entry.bytes;
                session
                    .leases
                    .insert((entry.task, entry.seq), MemoryLease { task, place, bytes });
            }
        }
        Ok(())
    }

    /// Gives entries the numbers that their instances have here. The manager before this one may have
    /// had another list, so what counts is the mark.
    fn renumber(&self, found: &mut [(usize, TaskRecord)]) -> Result<(), Error> {
        let sessions: BTreeSet<u64> = found
            .iter()
            .filter(|(_, entry)| entry.is_session)
            .map(|(_, entry)| entry.session)
            .collect();
        for (place, entry) in found {
            if entry.instance == 0 || !sessions.contains(&entry.session) {
                continue;
            }
            let number = self.instances.marked(entry.mark);
            let number = number.ok_or_else(|| gone(entry.pid))?;
            if number != entry.instance {
                entry.instance = number;
                self.entries.bind(*place, number, entry.mark)?;
            }
        }
        Ok(())
    }

    fn vertex(&self, entry: &TaskRecord) -> Result<DeviceId, Error> {
        let vertex = self.instances.vertex(entry.instance);
        vertex.ok_or_else(|| gone(entry.pid))
    }

    fn begin_at(&mut self, job: JobId, task: TaskId, entry: &TaskRecord) -> Result<(), Error> {
        let vertex = self.vertex(entry)?;
        let wanted = task_request(entry.bytes, entry.warps);
        let request = wanted.only(DeviceSet::from_iter([vertex]));
        self.desk
            .events
            .push(Event::TaskBegin { job, task, request });
        Ok(())
    }

    /// Tells the events of the past. Its orders are known already.
    fn replay(&mut self) -> Result<(), Error> {
        let told = self.drive.instant(&mut self.case, &mut self.desk);
        told.map_err(Error::malformed)?;
        self.desk.orders.clear();
        Ok(())
    }

    /// Checks that the scheduler has put everything where the entries say.
    fn check(&self, found: &[(usize, TaskRecord)]) -> Result<(), Error> {
        for session in self.sessions.values() {
            let expected = self.instances.vertex(session.instance);
            let bound = if session.is_isolated {
                expected
            } else {
                self.case.bound(session.job).map(|(_, id)| id)
            };
            if bound != expected {
                return Err(contradiction(session.peer.pid));
            }
        }
        let fleet = self.drive.seen().fleet;
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, entry) in found.iter().filter(|(_, entry)| !entry.is_session) {
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
                let mut of = found.iter().filter(|(_, entry)| entry.instance == instance);
                return Err(contradiction(of.next().map_or(0, |(_, entry)| entry.pid)));
            }
        }
        Ok(())
    }
}

fn gone(pid: i32) -> Error {
    Error::malformed(format_args!(
        "process {pid} uses an instance that is not there any more: expected the instance, or the end of the process"
    ))
}

fn contradiction(pid: i32) -> Error {
    Error::malformed(format_args!(
        "what process {pid} holds does not fit: expected its instances, --context-bytes and --processes-per-slice as its manager had them, or the end of the process"
    ))
}
