//! The threads that answer the queries of the socket, each with the ledger open.
//!
//! Users take turns, and none of them has every thread, so whoever asks thousands of times delays nobody else by more than
//! one query of each user. What only notes something in the ledger is done by one thread, as many at once as have come:
//! one transaction for all of them.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use mapa_core::{MAX_DEVICES, Reason, Refusal, Request};
use mapa_front::answer::mapa::LeaseOwner;
use mapa_front::answer::node::{
    Grant, NODE_VERSION, NodeAnswer, NodeQuery, RunQuery, SocketAnswer,
};
use mapa_front::{JobSpec, MachineSpec, Names, PolicySpec};
use mapa_live::cgroup::MOUNT;
use mapa_live::{DriverSnapshot, Identity, Live, Liveness, ProcessId, Processes};

use tracing::warn;

use crate::acquire::{
    AcquireAttempt, AcquireContext, AcquireRequest, FIRST_COME, Unbegun, fetch, unbegun, wake_head,
};
use crate::desk::named;
use crate::error::Error;
use crate::foreign::driver_snapshot;
use crate::lease_processes::Lives;
use crate::leases::{self, OutsideLease};
use crate::ledger::{Durability, Lease, Ledger, LedgerTx, OutsideOwner, Requester};
use crate::local_files::NoFiles;
use crate::mailbox::Mailbox;
use crate::mark;
use crate::memory::user_of;
use crate::node::Node;
use crate::operator;
use crate::release;
use crate::run::choose;

/// How many threads decide.
const DECIDERS: usize = 3;

/// How many of them work for one user at most.
const SHARE: usize = DECIDERS - 1;

/// How many notes one transaction takes at most. Others wait for the ledger meanwhile.
const BATCH: usize = 256;

/// How many leases one user may have ended by `release` at one time. Each takes a thread, for seconds.
const RELEASES: usize = 4;

/// The most decisions of an answer to `log`.
const DECISIONS: usize = 100_000;

/// The most edges of a job that has more ranks than the machine has devices.
const MOST_EDGES: usize = 4096;

/// The most bytes of the name of a tenant, and of a reason.
const NAME: usize = 256;

/// How many jobs of one user wait at most, and how many bytes their requests have. Whoever decides reads them all.
const WAITING: (usize, usize) = (20_000, 64 << 20);

/// The most bytes of a command that the ledger keeps.
const COMMAND: usize = 4096;

/// Who asks, as the kernel says.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// The user.
    pub uid: u32,
    /// The process.
    pub process: Identity,
}

impl Peer {
    /// The user, as the audit names it.
    fn name(&self) -> String {
        user_of(self.uid)
    }

    /// Whether it may do what concerns all: as root, or as the user of the daemon.
    fn is_operator(&self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }

    /// Refuses whoever is no operator.
    ///
    /// # Errors
    /// It is none.
    fn operates(&self, what: &str) -> Result<(), Error> {
        if self.is_operator() {
            return Ok(());
        }
        Err(Error::malformed(format_args!(
            "{what}: you are user {}: expected root, or the user of the daemon",
            self.uid
        )))
    }
}

/// A query, or what the service needs to know.
#[derive(Debug)]
pub(super) enum Task {
    /// What a session asks.
    Query(NodeQuery),
    /// What a session asks, in JSON: a job with many edges, which takes a while to read.
    Text(Vec<u8>),
    /// Whether a ticket has an answer.
    Fetch(i64),
    /// Who waits, and why.
    Look,
}

/// What is to be done, and for which session.
#[derive(Debug)]
pub(super) struct Work {
    pub session: u64,
    pub peer: Peer,
    pub task: Task,
}

/// What was done.
#[derive(Debug)]
pub(super) enum Done {
    /// The answer to something, and in JSON, which takes a while where it is long; none to a ticket that has none yet.
    Answer {
        work: Work,
        answer: Option<Box<(NodeAnswer, Vec<u8>)>>,
    },
    /// Who waits, first come first, and why.
    Waiting(Vec<(i64, String)>),
}

/// The machine whose ledger is served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The file of the ledger.
    pub ledger: PathBuf,
    /// How the machine is named.
    pub machine: MachineSpec,
    /// How it is discovered, and its drivers are asked.
    pub live: Live,
    /// Whether the drivers are asked who uses devices.
    pub check_drivers: bool,
}

/// What waits for a thread, by user.
#[derive(Debug, Default)]
struct Turns {
    by_user: BTreeMap<u32, VecDeque<Work>>,
    /// The user who was served last.
    last: u32,
    /// For how many threads users have work in hand.
    busy: BTreeMap<u32, usize>,
}

impl Turns {
    /// The next in turn among users who have fewer than `share` threads.
    fn next(&mut self, share: usize) -> Option<Work> {
        let may = |(uid, _): &(&u32, &VecDeque<Work>)| {
            self.busy.get(*uid).is_none_or(|&count| count < share)
        };
        let after = self.by_user.range(self.last.saturating_add(1)..).find(may);
        let (&uid, _) = after.or_else(|| self.by_user.iter().find(may))?;
        let queue = self.by_user.get_mut(&uid)?;
        let work = queue.pop_front();
        if queue.is_empty() {
            self.by_user.remove(&uid);
        }
        self.last = uid;
        work
    }
}

/// Work for threads of one kind.
#[derive(Debug, Default)]
struct Desk {
    turns: Mutex<Turns>,
    came: Condvar,
}

impl Desk {
    fn put(&self, work: Work) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = turns.by_user.entry(work.peer.uid).or_default();
        queue.push_back(work);
        self.came.notify_one();
    }

    /// The next in turn, which is waited for; its user has one more thread.
    fn take(&self) -> Work {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(work) = turns.next(SHARE) {
                *turns.busy.entry(work.peer.uid).or_default() += 1;
                return work;
            }
            turns = self
                .came
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A user has one thread less.
    fn leave(&self, uid: u32) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = turns.busy.get_mut(&uid) {
            *count -= 1;
            if *count == 0 {
                turns.busy.remove(&uid);
            }
        }
        // Another thread may have left work of this user alone.
        self.came.notify_one();
    }

    /// All that one transaction takes, users in turn.
    fn take_all(&self) -> Vec<Work> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut batch = Vec::new();
            while batch.len() < BATCH
                && let Some(work) = turns.next(usize::MAX)
            {
                batch.push(work);
            }
            if !batch.is_empty() {
                return batch;
            }
            turns = self
                .came
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The threads that answer.
#[derive(Debug)]
pub(super) struct Office {
    deciders: Arc<Desk>,
    clerk: Arc<Desk>,
    done: Arc<Mailbox<Done>>,
    served: Served,
    /// How many leases are being ended, by user.
    releases: Arc<Mutex<BTreeMap<u32, usize>>>,
}

impl Office {
    /// Starts the threads. What they have done comes to the mailbox.
    ///
    /// # Errors
    /// The ledger, or the machine, cannot be read.
    pub(super) fn open(served: &Served, done: &Arc<Mailbox<Done>>) -> Result<Self, Error> {
        let (deciders, clerk) = (Arc::new(Desk::default()), Arc::new(Desk::default()));
        for _ in 0..DECIDERS {
            let (desk, done, served) = (deciders.clone(), done.clone(), served.clone());
            let mut ledger = Ledger::open(&served.ledger)?;
            thread::spawn(move || decide(&desk, &done, &served, &mut ledger));
        }
        let mut ledger = Ledger::open(&served.ledger)?;
        let (desk, to) = (clerk.clone(), done.clone());
        thread::spawn(move || note(&desk, &to, &mut ledger));
        Ok(Self {
            deciders,
            clerk,
            done: done.clone(),
            served: served.clone(),
            releases: Arc::default(),
        })
    }

    /// Has something done.
    pub(super) fn put(&self, work: Work) {
        match &work.task {
            Task::Query(NodeQuery::Release { lease, force }) => {
                let which = (*lease, *force);
                self.release(work, which);
            }
            Task::Fetch(_)
            | Task::Look
            | Task::Query(
                NodeQuery::Resume { .. }
                | NodeQuery::Cancel { .. }
                | NodeQuery::Started { .. }
                | NodeQuery::Grouped { .. }
                | NodeQuery::Ended { .. },
            ) => self.clerk.put(work),
            Task::Query(_) | Task::Text(_) => self.deciders.put(work),
        }
    }

    /// Ends a lease, in a thread of its own: processes are given time to end.
    fn release(&self, work: Work, which: (i64, bool)) {
        let uid = work.peer.uid;
        let mut counts = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(uid).or_default();
        let done = self.done.clone();
        if *count >= RELEASES {
            let error = format!(
                "release: {RELEASES} leases are being ended for user {uid}: expected to wait for them"
            );
            let answer = NodeAnswer::Error {
                error,
                failed: true,
            };
            return done.post(work.answered(answer));
        }
        *count += 1;
        drop(counts);
        let (path, releases) = (self.served.ledger.clone(), self.releases.clone());
        thread::spawn(move || {
            let answer = end_lease(&path, &work.peer, which).unwrap_or_else(|error| told(&error));
            let mut counts = releases.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get_mut(&uid) {
                *count -= 1;
            }
            counts.retain(|_, count| *count > 0);
            done.post(work.answered(answer));
        });
    }
}

impl Work {
    fn answered(self, answer: NodeAnswer) -> Done {
        Done::Answer {
            work: self,
            answer: Some(Box::new(text_of(answer))),
        }
    }
}

fn end_lease(path: &Path, peer: &Peer, which: (i64, bool)) -> Result<NodeAnswer, Error> {
    let mut ledger = Ledger::open(path)?;
    ledger.write_for(peer.uid);
    let leases = ledger.read(|books| books.leases())?;
    if let Some(lease) = leases.iter().find(|lease| lease.id == which.0)
        && lease.asker.uid != peer.uid
    {
        peer.operates(&format!(
            "lease {} is of user {}",
            lease.id, lease.asker.uid
        ))?;
    }
    let released = release::end(&mut ledger, which, (&peer.name(), peer.uid))?;
    Ok(NodeAnswer::Release { released })
}

/// An error, as an answer.
pub(super) fn told(error: &Error) -> NodeAnswer {
    match error {
        Error::Refused(refusal) => NodeAnswer::Refused {
            kind: refusal.kind().to_owned(),
            reason: refusal.to_string(),
        },
        Error::Malformed(error) => NodeAnswer::Error {
            error: error.clone(),
            failed: false,
        },
        Error::Failed(error) => NodeAnswer::Error {
            error: error.clone(),
            failed: true,
        },
    }
}

/// A thread that decides, one query after the other.
fn decide(desk: &Desk, done: &Mailbox<Done>, served: &Served, ledger: &mut Ledger) {
    let mut node: Option<Rc<Node>> = None;
    loop {
        let mut work = desk.take();
        if let Task::Text(text) = &work.task {
            match long(text) {
                Ok(query) => work.task = Task::Query(query),
                Err(error) => {
                    desk.leave(work.peer.uid);
                    done.post(work.answered(told(&error)));
                    continue;
                }
            }
        }
        let (peer, uid) = (&work.peer, work.peer.uid);
        ledger.write_for(uid);
        let mut decider = Decider {
            ledger,
            node: &mut node,
            served,
            peer,
        };
        let mut answer = || match &work.task {
            Task::Query(query) => decider.answer(query).unwrap_or_else(|error| told(&error)),
            Task::Text(_) | Task::Fetch(_) | Task::Look => NodeAnswer::Noted {},
        };
        // Without its threads the daemon would answer nobody any more. What a transaction has begun is rolled back.
        let answer = catch_unwind(AssertUnwindSafe(&mut answer)).unwrap_or_else(|_| {
            warn!(
                uid,
                task = shortened(&format!("{:?}", work.task), COMMAND),
                "a query ended its thread: please report it"
            );
            told(&Error::at(
                "the daemon",
                "this query failed: please report it with the daemon's log",
            ))
        });
        desk.leave(uid);
        done.post(work.answered(answer));
    }
}

/// Reads a long query.
///
/// # Errors
/// It is none, or not of a job.
fn long(text: &[u8]) -> Result<NodeQuery, Error> {
    match serde_json::from_slice(text) {
        Ok(query @ NodeQuery::Run { .. }) => Ok(query),
        Ok(_) => Err(Error::malformed("a long query: expected one of a job")),
        Err(error) => Err(Error::malformed(format_args!(
            "{}: expected a query of docs/schema/node-query.json",
            shortened(&error.to_string(), COMMAND)
        ))),
    }
}

/// An answer, and in JSON, one line.
pub(super) fn text_of(answer: NodeAnswer) -> (NodeAnswer, Vec<u8>) {
    let answer = SocketAnswer {
        version: NODE_VERSION,
        result: answer,
    };
    let mut text = serde_json::to_vec(&answer).unwrap_or_default();
    text.push(b'\n');
    (answer.result, text)
}

/// A thread that decides, for one query.
struct Decider<'a> {
    ledger: &'a mut Ledger,
    /// The machine; none before it is asked for.
    node: &'a mut Option<Rc<Node>>,
    served: &'a Served,
    peer: &'a Peer,
}

impl Decider<'_> {
    fn answer(&mut self, query: &NodeQuery) -> Result<NodeAnswer, Error> {
        let peer = self.peer;
        let owner = peer.name();
        Ok(match query {
            NodeQuery::Run { request } => return self.run(request),
            NodeQuery::Ps {} => {
                let node = self.node()?;
                // What is in the ledger is worth telling whatever drivers do.
                let drivers = self.drivers(&node).unwrap_or_default();
                let ps = operator::ps(self.ledger, Some(&node), &drivers, &owner)?;
                NodeAnswer::Ps { ps: Box::new(ps) }
            }
            NodeQuery::Free {} => {
                let node = self.node()?;
                let free = operator::free(self.ledger, &node, &self.served.live, &owner)?;
                NodeAnswer::Free { free }
            }
            NodeQuery::Tenants {} => NodeAnswer::Tenants {
                tenants: operator::tenants(self.ledger, &owner)?,
            },
            NodeQuery::Log {
                last,
                lease,
                verify,
            } => {
                let which = ((*last).min(DECISIONS), *lease);
                NodeAnswer::Log {
                    log: operator::log(self.ledger, which, *verify)?,
                }
            }
            NodeQuery::Cordon {
                devices,
                reason,
                seconds,
            } => {
                peer.operates("cordon")?;
                let node = self.node()?;
                let why = (&*owner, shortened(reason, NAME));
                let cordoned = operator::cordon(self.ledger, (devices, &node), why, *seconds)?;
                NodeAnswer::Cordon { cordoned }
            }
            NodeQuery::Uncordon { devices, reason } => {
                peer.operates("uncordon")?;
                let node = self.node()?;
                let why = (&*owner, shortened(reason, NAME));
                let uncordoned = operator::uncordon(self.ledger, (devices, &node), why)?;
                NodeAnswer::Uncordon { uncordoned }
            }
            NodeQuery::Register {
                owner,
                devices,
                reason,
            } => {
                let (owner, node) = (self.outside(owner)?, self.node()?);
                let reason = shortened(reason, NAME);
                let lease = leases::grant(self.ledger, &node, &owner, devices, reason)?;
                registered(vec![lease])
            }
            NodeQuery::Choose {
                owner,
                spec,
                policy,
            } => {
                let (owner, node) = (self.outside(owner)?, self.node()?);
                let job: JobSpec = read("the request", spec)?;
                let policy: PolicySpec = read("the policy", policy)?;
                let drivers = self.drivers(&node)?;
                let (of, want) = ((&*node, &drivers), (&job, &policy));
                let lease = leases::choose_for(self.ledger, of, &owner, want, &NoFiles)?;
                registered(vec![lease])
            }
            NodeQuery::Unregister { owner, lease } => {
                let owner = self.outside(owner)?;
                let ended = leases::end(self.ledger, &owner, *lease)?;
                NodeAnswer::Unregistered { ended }
            }
            NodeQuery::Registered { kind } => registered(leases::of_kind(self.ledger, kind)?),
            NodeQuery::Recover {} => {
                peer.operates("recover")?;
                let recovered = operator::recovered(self.ledger, &owner)?;
                NodeAnswer::Recover { recovered }
            }
            _ => {
                return Err(Error::malformed(
                    "another query: expected one of docs/schema",
                ));
            }
        })
    }

    /// The machine, whose links may have changed since it was read.
    fn node(&mut self) -> Result<Rc<Node>, Error> {
        let (served, kept) = (self.served, &mut *self.node);
        if let Some(node) = kept {
            return Ok(node.clone());
        }
        let node = Rc::new(load(served)?);
        *kept = Some(node.clone());
        Ok(node)
    }

    /// An owner outside, for whom an operator asks: its lease outlives every process.
    fn outside(&self, owner: &LeaseOwner) -> Result<OutsideOwner, Error> {
        self.peer.operates("a lease that no process holds")?;
        Ok(OutsideOwner::new(&owner.kind, &owner.name)?.registered_by(self.peer.uid))
    }

    fn drivers(&self, node: &Node) -> Result<DriverSnapshot, Error> {
        if !self.served.check_drivers {
            return Ok(DriverSnapshot::default());
        }
        driver_snapshot(node, &self.served.live)
    }

    /// Devices for a job, or a place in the queue.
    fn run(&mut self, query: &RunQuery) -> Result<NodeAnswer, Error> {
        let node = self.node()?;
        let machine = &node.loaded().machine.name;
        if query.machine != *machine {
            return Err(Error::malformed(format_args!(
                "the ledger is of the machine {machine}, not of {}: expected --machine {machine}, or another --ledger",
                query.machine
            )));
        }
        let tenant = query.tenant.clone().unwrap_or_else(|| self.peer.name());
        if tenant.is_empty() || tenant.len() > NAME || query.scheduler.len() > NAME {
            return Err(Error::malformed(format_args!(
                "the tenant, or the scheduler: expected a name of at most {NAME} bytes"
            )));
        }
        let asker = Requester {
            tenant,
            uid: self.peer.uid,
            process: self.peer.process.clone(),
            command: shortened(&query.command, COMMAND).to_owned(),
            policy: query.policy.clone(),
            spec: query.spec.clone(),
        };
        let names = Names::built_in();
        let spec: JobSpec = read("the request", &query.spec)?;
        let policy: PolicySpec = read("the policy", &query.policy)?;
        // Every thread that decides, and the queue, would wait for a search without an end, or for a pattern of 2^60 ranks.
        if spec.max_nodes.is_some_and(|nodes| nodes > Request::NODES) {
            return Err(Error::malformed(format_args!(
                "--max-nodes: expected at most {} where a daemon decides for all",
                Request::NODES
            )));
        }
        if spec.gpus.is_some_and(|gpus| gpus > MAX_DEVICES) {
            return Err(Error::malformed(format_args!(
                "--gpus: expected at most {MAX_DEVICES}"
            )));
        }
        // No file that others name is opened.
        let work = spec.job(&NoFiles)?;
        if work.ranks == 0 {
            return Err(Error::malformed("no device: expected at least one"));
        }
        // The same edge again and again takes minutes, in a transaction for which all others wait.
        let (ranks, edges) = (work.ranks, work.pattern.edges().len());
        if ranks <= node.graph().len() && edges > ranks * ranks {
            return Err(Error::malformed(format_args!(
                "--pattern: {edges} edges: expected at most one from each rank to each other one"
            )));
        }
        // Their edges take as long, and it never gets so many devices.
        if ranks > node.graph().len() && edges > MOST_EDGES {
            return Err(Error::malformed(format_args!(
                "--pattern: {edges} edges of {ranks} ranks: expected at most {MOST_EDGES} of more ranks than devices"
            )));
        }
        let model = policy.model(&names, &NoFiles)?;
        let policy = policy.policy(&names, model.as_ref(), Some(&work))?;
        let request = spec.request(&work, node.graph())?;
        let processes = Processes::new()?;
        let (served, is_checked) = (self.served, query.check_drivers);
        let drivers = || {
            if !is_checked || !served.check_drivers {
                return Ok(DriverSnapshot::default());
            }
            driver_snapshot(&node, &served.live)
        };
        if query.dry_run {
            let (of, on) = ((&request, &*policy), (&*node, &processes));
            let (placement, decision) = choose(self.ledger, of, on, &drivers, &asker)?;
            return Ok(NodeAnswer::Chosen {
                devices: named(node.keys(&placement)),
                decision: Box::new(decision),
            });
        }
        if Lives::new(&processes).of(&asker.process) == Liveness::Ended {
            return Err(Error::malformed(
                "the process that has connected has ended: expected the one that asks",
            ));
        }
        if query.again
            && let Some(found) = self.found_again(&asker)?
        {
            return Ok(found);
        }
        if query.wait && !self.peer.is_operator() {
            self.may_wait()?;
        }
        let want = AcquireRequest {
            asker: &asker,
            request: &request,
            policy: &*policy,
            scheduler: &query.scheduler,
            wait: query.wait,
            seconds: query.seconds,
        };
        let mut context = AcquireContext {
            ledger: self.ledger,
            node: node.clone(),
            reload: &|| load(served),
            processes: &processes,
            drivers: &drivers,
        };
        let outcome = context.acquire_once(&want);
        // Its links may have changed since it was read.
        *self.node = Some(context.node);
        Ok(match outcome? {
            AcquireAttempt::Granted(granted) => NodeAnswer::Granted {
                grant: Box::new(Grant {
                    decision: granted.decision.clone(),
                    ..grant_of(self.ledger.id(), &granted.lease)
                }),
            },
            AcquireAttempt::Queued(ticket, waiting) => NodeAnswer::Queued {
                ticket,
                position: waiting.position,
                length: waiting.queue_length,
                reason: waiting.reason,
            },
            AcquireAttempt::Enqueued(ticket) => {
                let (all, before) = self.ledger.read(|books| books.waiting(ticket))?;
                NodeAnswer::Queued {
                    ticket,
                    position: before + 1,
                    length: all,
                    reason: crate::acquire::turn(FIRST_COME),
                }
            }
            AcquireAttempt::Retry => return Err(Error::at("the ledger", "nothing was decided")),
        })
    }

    /// What a process has got whose answer was lost.
    fn found_again(&mut self, asker: &Requester) -> Result<Option<NodeAnswer>, Error> {
        let found = self.ledger.read(|books| unbegun(books, asker))?;
        Ok(found.map(|found| match found {
            Unbegun::Ticket(ticket) => NodeAnswer::Queued {
                ticket,
                position: 1,
                length: 1,
                reason: "the daemon was started anew".to_owned(),
            },
            Unbegun::Lease(lease) => NodeAnswer::Granted {
                grant: Box::new(grant_of(self.ledger.id(), &lease)),
            },
        }))
    }

    /// Refuses the job of a user who has too many that wait.
    ///
    /// # Errors
    /// It has.
    fn may_wait(&mut self) -> Result<(), Error> {
        let uid = self.peer.uid;
        let (jobs, bytes) = self.ledger.read(|books| books.waiting_of(uid))?;
        if jobs < WAITING.0 && bytes < WAITING.1 {
            return Ok(());
        }
        let why =
            format!("{jobs} jobs of user {uid} wait, with {bytes} bytes: one of them goes first");
        Err(Error::Refused(Refusal::Busy(Reason::Rule(why.into()))))
    }
}

fn registered(leases: Vec<OutsideLease>) -> NodeAnswer {
    NodeAnswer::Registered {
        leases: leases.into_iter().map(OutsideLease::row).collect(),
    }
}

fn load(served: &Served) -> Result<Node, Error> {
    let mut node = Node::load(&served.machine, &served.live, &mut |_| {})?;
    node.open_bare()?;
    Ok(node)
}

/// Reads what a client has sent in JSON.
fn read<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::malformed(format_args!("{what}: {error}")))
}

/// A text, at most so many bytes of it.
pub(super) fn shortened(text: &str, most: usize) -> &str {
    let starts = text.char_indices().map(|(start, _)| start);
    let end = starts.chain([text.len()]).take_while(|&end| end <= most);
    &text[..end.last().unwrap_or_default()]
}

fn grant_of(ledger: &str, lease: &Lease) -> Grant {
    Grant {
        lease: lease.id,
        ledger: ledger.to_owned(),
        devices: named(lease.devices.clone()),
        since_ns: lease.granted,
        expires_ns: lease.expires,
        deadline_ns: lease.deadline,
        ticket: lease.ticket,
        decision: None,
    }
}

/// The thread that notes things in the ledger, all that have come in one transaction.
fn note(desk: &Desk, done: &Mailbox<Done>, ledger: &mut Ledger) {
    loop {
        let batch = desk.take_all();
        let id = ledger.id().to_owned();
        let in_ledger = || {
            let processes = Processes::new()?;
            let lives = Lives::new(&processes);
            ledger.change(Durability::Boot, |books| {
                let clerk = Clerk {
                    ledger: &id,
                    lives: &lives,
                    processes: &processes,
                };
                let answer = |work: &Work| {
                    let books = books.written_for(work.peer.uid);
                    // One that fails takes nothing of the others with it.
                    books.apart(|books| clerk.answer(books, work))
                };
                Ok(batch.iter().map(answer).collect())
            })
        };
        let noted = catch_unwind(AssertUnwindSafe(in_ledger)).unwrap_or_else(|_| {
            warn!("notes ended their thread: please report it");
            Err(Error::at(
                "the daemon",
                "it could not note this: please report it with the daemon's log",
            ))
        });
        // Without its transaction, none of it has happened.
        let answers: Vec<Result<Outcome, Error>> = noted.unwrap_or_else(|error: Error| {
            let failed = error.to_string();
            batch
                .iter()
                .map(|_| Err(Error::Failed(failed.clone())))
                .collect()
        });
        let mut frees = false;
        for (work, answer) in batch.into_iter().zip(answers) {
            frees |= matches!(
                work.task,
                Task::Query(NodeQuery::Ended { .. } | NodeQuery::Cancel { .. })
            );
            done.post(match answer {
                Ok(Outcome::Waiting(rows)) => Done::Waiting(rows),
                Ok(Outcome::None) => Done::Answer { work, answer: None },
                Ok(Outcome::Answer(answer)) => work.answered(answer),
                Err(error) => work.answered(told(&error)),
            });
        }
        if frees {
            // Lost, it delays the next start to the next poll.
            let _ = wake_head(ledger);
        }
    }
}

/// What has become of one query of a batch.
enum Outcome {
    /// An answer.
    Answer(NodeAnswer),
    /// The ticket waits.
    None,
    /// Who waits, and why.
    Waiting(Vec<(i64, String)>),
}

/// What notes things, within one transaction.
struct Clerk<'a> {
    ledger: &'a str,
    lives: &'a Lives<'a>,
    processes: &'a Processes,
}

impl Clerk<'_> {
    fn answer(&self, books: &LedgerTx<'_>, work: &Work) -> Result<Outcome, Error> {
        let peer = &work.peer;
        let noted = Ok(Outcome::Answer(NodeAnswer::Noted {}));
        match &work.task {
            Task::Look => Ok(Outcome::Waiting(books.wait_reasons()?)),
            Task::Fetch(ticket) | Task::Query(NodeQuery::Resume { ticket }) => {
                let answer = self.fetch(books, peer, *ticket)?;
                if let (None, Task::Query(_)) = (&answer, &work.task) {
                    return self.place(books, *ticket);
                }
                Ok(answer.map_or(Outcome::None, Outcome::Answer))
            }
            Task::Query(NodeQuery::Cancel { ticket, reason }) => {
                self.cancel(books, peer, *ticket, reason)?;
                noted
            }
            Task::Query(NodeQuery::Started {
                lease,
                pid,
                start,
                namespace,
                cgroup,
            }) => {
                let lease = self.own(books, peer, *lease)?;
                let child = Identity {
                    boot: peer.process.boot.clone(),
                    namespace: *namespace,
                    id: ProcessId {
                        pid: *pid,
                        start: *start,
                    },
                };
                let child = self.lives.here(&child);
                let is_own =
                    |child: &Identity| self.processes.uid_of(child.id.pid) == Some(peer.uid);
                let Some(child) = child.filter(is_own) else {
                    return Err(Error::malformed(format_args!(
                        "lease {}: process {pid} of namespace {namespace}: expected one of user {} that runs",
                        lease.id, peer.uid
                    )));
                };
                let group = self.group(books, &lease, cgroup.as_deref())?;
                books.set_command_process(lease.id, &child, group)?;
                noted
            }
            Task::Query(NodeQuery::Grouped { lease, cgroup }) => {
                let lease = self.own(books, peer, *lease)?;
                let group = self.group(books, &lease, Some(cgroup))?;
                books.set_cgroup(lease.id, group.unwrap_or_default())?;
                noted
            }
            Task::Query(NodeQuery::Ended {
                lease,
                reason,
                status,
            }) => {
                let lease = self.own(books, peer, *lease)?;
                let child = lease.child.as_ref();
                if let Some(child) = child.filter(|child| self.lives.of(child) != Liveness::Ended) {
                    return Err(Error::malformed(format_args!(
                        "lease {}: its process {} runs: expected its end",
                        lease.id, child.id.pid
                    )));
                }
                let owner = lease.asker.audited();
                let reason = shortened(reason, NAME);
                books.release_with(&owner, &lease, reason, status.map(i32::from))?;
                noted
            }
            Task::Query(_) | Task::Text(_) => Err(Error::malformed(
                "another query: expected one of docs/schema",
            )),
        }
    }

    /// The lease of this number, if the process that asks holds it.
    ///
    /// # Errors
    /// It has ended, or is another's.
    fn own(&self, books: &LedgerTx<'_>, peer: &Peer, id: i64) -> Result<Lease, Error> {
        let mut leases = books.leases()?.into_iter();
        let own = leases.find(|lease| lease.id == id && lease.asker.process == peer.process);
        own.filter(|lease| lease.asker.uid == peer.uid)
            .ok_or_else(|| {
                Error::at(
                    format_args!("lease {id}"),
                    "it has ended meanwhile, or is another's: its devices may be another's too",
                )
            })
    }

    /// The folder of a control group, if it may be one of the lease.
    ///
    /// # Errors
    /// It is none.
    fn group<'g>(
        &self,
        books: &LedgerTx<'_>,
        lease: &Lease,
        group: Option<&'g str>,
    ) -> Result<Option<&'g str>, Error> {
        let mark = books.mark(lease.id);
        if let Some(path) = group
            && mark::of_lease(path, &mark).is_none()
        {
            return Err(Error::malformed(format_args!(
                "lease {}: the control group: expected a folder below {MOUNT} that is called {}",
                lease.id,
                mark::name_of(&mark)
            )));
        }
        Ok(group)
    }

    /// The answer to a ticket, if it has one.
    fn fetch(
        &self,
        books: &LedgerTx<'_>,
        peer: &Peer,
        id: i64,
    ) -> Result<Option<NodeAnswer>, Error> {
        let is_own = |asker: &Requester| asker.uid == peer.uid && asker.process == peer.process;
        let Some(place) = books.ticket(id)? else {
            // The answer that told of its lease was lost.
            let mut leases = books.leases()?.into_iter();
            let lease = leases.find(|lease| lease.ticket == Some(id) && is_own(&lease.asker));
            let lease = lease.ok_or_else(|| no_ticket(id))?;
            return Ok(Some(self.granted(&lease)));
        };
        if !is_own(&place.asker) {
            return Err(no_ticket(id));
        }
        match fetch(books, &place) {
            Ok(lease) => Ok(lease.map(|lease| self.granted(&lease))),
            // What was noted of the refusal stays.
            Err(refused @ Error::Refused(_)) => Ok(Some(told(&refused))),
            Err(error) => Err(error),
        }
    }

    fn granted(&self, lease: &Lease) -> NodeAnswer {
        NodeAnswer::Granted {
            grant: Box::new(grant_of(self.ledger, lease)),
        }
    }

    /// How a ticket waits.
    fn place(&self, books: &LedgerTx<'_>, id: i64) -> Result<Outcome, Error> {
        let (all, before) = books.waiting(id)?;
        let reason = books.ticket(id)?.map(|ticket| ticket.reason);
        Ok(Outcome::Answer(NodeAnswer::Queued {
            ticket: id,
            position: before + 1,
            length: all,
            reason: crate::acquire::wait_reason(&reason.unwrap_or_default(), before),
        }))
    }

    /// Removes a ticket from the queue, and releases devices that were granted just then.
    fn cancel(
        &self,
        books: &LedgerTx<'_>,
        peer: &Peer,
        id: i64,
        reason: &str,
    ) -> Result<(), Error> {
        let is_own = |asker: &Requester| asker.uid == peer.uid && asker.process == peer.process;
        let reason = shortened(reason, NAME);
        let mut leases = books.leases()?.into_iter();
        if let Some(lease) = leases.find(|lease| lease.ticket == Some(id))
            && is_own(&lease.asker)
            && lease.child.is_none()
        {
            books.release(&lease.asker.audited(), &lease, reason)?;
        }
        if let Some(ticket) = books.ticket(id)?
            && is_own(&ticket.asker)
        {
            books.cancel(&ticket.asker.audited(), id, reason)?;
        }
        Ok(())
    }
}

fn no_ticket(id: i64) -> Error {
    Error::at(
        format_args!("ticket {id}"),
        "it has left the queue: expected a job that waits",
    )
}
