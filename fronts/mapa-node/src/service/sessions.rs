//! The conversations at the socket: one thread holds them all, and neither decides nor touches the ledger.
//!
//! A connection has one query in work at most, and is not read while it has one, or while its answers wait to be sent. So
//! whoever sends faster than it is answered fills its own buffers alone.

use std::collections::{BTreeMap, HashMap};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_front::answer::node::{NODE_VERSION, NodeAnswer, NodeQuery, SocketAnswer};
use mapa_live::Processes;
use rustix::event::{Timespec, epoll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use super::work::{Done, Office, Peer, Served, Task, Work};
use crate::acquire::wait_reason;
use crate::daemon::{DriverNews, SharedStatus};
use crate::error::Error;
use crate::leader;
use crate::mailbox::Mailbox;
use crate::memory::peer_of;

/// The most bytes of a query. The edges of a large pattern take the most.
const QUERY: usize = 1 << 20;

/// How long a query may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection may say nothing while it has neither a lease nor a place in the queue.
const SILENCE: Duration = Duration::from_secs(60);

/// How often those who wait are told of their place, at the head of the queue.
const LOOK: Duration = Duration::from_secs(1);

/// The longest time between two such reports.
const LONGEST: Duration = Duration::from_secs(10);

/// Descriptors that are no connections: of the ledger, the drivers, the counters.
const RESERVE: u64 = 256;

/// The most connections, however many descriptors the daemon may have.
const MOST: u64 = 65_536;

/// The numbers of what is no connection.
const NEWS: u64 = 0;
const DONE: u64 = 1;
const LISTENER: u64 = 2;

/// A connection.
#[derive(Debug)]
struct Session {
    stream: UnixStream,
    peer: Peer,
    /// What has come and is no whole query.
    unread: Vec<u8>,
    /// What is to be sent.
    unsent: Vec<u8>,
    /// Whether a query is in work.
    is_busy: bool,
    /// Whether the other end sends no more.
    has_ended: bool,
    /// What the kernel was asked to tell of it.
    asked: epoll::EventFlags,
    /// Its place in the queue.
    ticket: Option<i64>,
    /// What it was told of its place last.
    told: Option<(usize, usize, String)>,
    /// When it was.
    told_at: Instant,
    /// Its lease.
    lease: Option<i64>,
    /// Since when it waits for the rest of a query, for its answer to be taken, or for anything.
    since: Instant,
}

impl Session {
    /// Whether nothing would be lost if it ended.
    fn is_idle(&self) -> bool {
        !self.is_busy && self.ticket.is_none() && self.lease.is_none() && self.unsent.is_empty()
    }

    fn send(&mut self, answer: NodeAnswer) {
        let answer = SocketAnswer {
            version: NODE_VERSION,
            result: answer,
        };
        if let Ok(mut text) = serde_json::to_vec(&answer) {
            text.push(b'\n');
            if self.unsent.is_empty() {
                self.since = Instant::now();
            }
            self.unsent.extend_from_slice(&text);
        }
    }

    /// Writes what can be written now. False if the other end has gone.
    fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match (&self.stream).write(&self.unsent) {
                Ok(0) => return false,
                Ok(length) => {
                    self.unsent.drain(..length);
                    self.since = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        // What a long answer took is given back.
        self.unsent.shrink_to(QUERY);
        true
    }

    /// Reads what is there, as far as one query goes. False if the connection failed.
    fn fill(&mut self) -> bool {
        let mut part = [0; 16 << 10];
        while !self.unread.contains(&b'\n') && self.unread.len() <= QUERY {
            match (&self.stream).read(&mut part) {
                Ok(0) => {
                    self.has_ended = true;
                    return true;
                }
                Ok(length) => {
                    if self.unread.is_empty() {
                        self.since = Instant::now();
                    }
                    self.unread.extend_from_slice(&part[..length]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// The next whole query.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.unread.iter().position(|&byte| byte == b'\n');
        match end {
            Some(end) => Some(self.unread.drain(..=end).collect()),
            // A last line may end with the stream.
            None if self.has_ended && !self.unread.is_empty() => {
                Some(std::mem::take(&mut self.unread))
            }
            None => None,
        }
    }

    /// When it has waited for too long.
    fn expires(&self) -> Option<Instant> {
        if !self.unsent.is_empty() || !self.unread.is_empty() && !self.is_busy {
            return Some(self.since + PATIENCE);
        }
        self.is_idle().then(|| self.since + SILENCE)
    }
}

/// All connections, and who answers them.
pub(super) struct Sessions {
    poll: OwnedFd,
    listener: UnixListener,
    news: Arc<Mailbox<DriverNews>>,
    done: Arc<Mailbox<Done>>,
    office: Office,
    shared: Arc<SharedStatus>,
    processes: Processes,
    /// The name of the ledger.
    ledger: String,
    sessions: BTreeMap<u64, Session>,
    /// The connection of each place in the queue.
    by_ticket: HashMap<i64, u64>,
    /// The connection of each lease.
    by_lease: HashMap<i64, u64>,
    next: u64,
    most: u64,
    /// Whether it was asked who waits, and was not told yet.
    is_looking: bool,
    look_at: Instant,
    sweep_at: Instant,
}

impl Sessions {
    /// Begins to answer at a socket.
    ///
    /// # Errors
    /// The system gives no descriptors; the ledger cannot be opened.
    pub(super) fn new(
        listener: UnixListener,
        (served, ledger): (&Served, &str),
        shared: &Arc<SharedStatus>,
        news: &Arc<Mailbox<DriverNews>>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::at("the socket's thread", error);
        let done = Arc::new(Mailbox::new().map_err(failed)?);
        let poll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let add = |fd: &dyn AsFd, number: u64| {
            let (data, flags) = (epoll::EventData::new_u64(number), epoll::EventFlags::IN);
            epoll::add(&poll, fd.as_fd(), data, flags).map_err(|error| failed(error.into()))
        };
        add(news, NEWS)?;
        add(&done, DONE)?;
        listener.set_nonblocking(true).map_err(failed)?;
        add(&listener, LISTENER)?;
        Ok(Self {
            office: Office::open(served, &done)?,
            poll,
            listener,
            news: news.clone(),
            done,
            shared: shared.clone(),
            processes: Processes::new()?,
            ledger: ledger.to_owned(),
            sessions: BTreeMap::new(),
            by_ticket: HashMap::new(),
            by_lease: HashMap::new(),
            next: LISTENER + 1,
            most: descriptors().saturating_sub(RESERVE).min(MOST),
            is_looking: false,
            look_at: Instant::now(),
            sweep_at: Instant::now(),
        })
    }

    /// Answers, for as long as the program runs.
    pub(super) fn run(mut self) {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        loop {
            // Nothing is due while nobody is connected.
            let pause = (!self.sessions.is_empty()).then_some(Timespec {
                tv_sec: 0,
                tv_nsec: 250_000_000,
            });
            let came: Vec<(u64, epoll::EventFlags)> =
                match epoll::wait(&self.poll, &mut events[..], pause.as_ref()) {
                    Ok((came, _)) => came.iter().map(|one| (one.data.u64(), one.flags)).collect(),
                    Err(rustix::io::Errno::INTR) => Vec::new(),
                    Err(error) => {
                        warn!(%error, "the socket is not answered any more");
                        return;
                    }
                };
            for (number, flags) in came {
                match number {
                    NEWS => self.hear_driver(),
                    DONE => self.hear_office(),
                    LISTENER => self.accept(),
                    _ => self.serve(number, flags),
                }
            }
            self.look();
            self.sweep();
        }
    }

    /// Lets in whoever waits at the socket.
    fn accept(&mut self) {
        // Those that are there get their turn in between.
        for _ in 0..64 {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Without a descriptor for it, nobody can be let in: whoever is idle goes.
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    self.make_room();
                    return;
                }
                Err(_) => return,
            };
            if self.sessions.len() as u64 >= self.most && !self.make_room() {
                continue;
            }
            let peer = match self.peer(&stream) {
                Ok(peer) => peer,
                Err(error) => {
                    warn!(%error, "a client is not answered");
                    continue;
                }
            };
            let number = self.next;
            self.next += 1;
            let data = epoll::EventData::new_u64(number);
            let asked = epoll::EventFlags::IN;
            if stream.set_nonblocking(true).is_err()
                || epoll::add(&self.poll, &stream, data, asked).is_err()
            {
                continue;
            }
            let session = Session {
                stream,
                peer,
                unread: Vec::new(),
                unsent: Vec::new(),
                is_busy: false,
                has_ended: false,
                asked,
                ticket: None,
                told: None,
                told_at: Instant::now(),
                lease: None,
                since: Instant::now(),
            };
            self.sessions.insert(number, session);
        }
    }

    /// Who is at the other end.
    fn peer(&self, stream: &UnixStream) -> Result<Peer, Error> {
        let (pid, uid) = peer_of(stream).map_err(|error| Error::at("SO_PEERCRED", error))?;
        let process = self.processes.identity(pid);
        // A number of 0 is a process that the daemon's PID namespace does not have.
        let process = process.filter(|_| pid > 0).ok_or_else(|| {
            Error::at(
                format_args!("process {pid} of user {uid}"),
                "it has ended, or cannot be seen from here",
            )
        })?;
        Ok(Peer { uid, process })
    }

    /// Ends the idle connection that has said nothing for the longest time, of the user with the most. False if there is
    /// none.
    fn make_room(&mut self) -> bool {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for session in self.sessions.values() {
            *counts.entry(session.peer.uid).or_default() += 1;
        }
        let idle = self
            .sessions
            .iter()
            .filter(|(_, session)| session.is_idle());
        let last = idle.max_by_key(|(_, session)| {
            (
                counts.get(&session.peer.uid),
                std::cmp::Reverse(session.since),
            )
        });
        let Some((&number, _)) = last else {
            return false;
        };
        self.end(number);
        true
    }

    /// Reads and writes as far as can be done now.
    fn serve(&mut self, number: u64, flags: epoll::EventFlags) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let is_readable = flags
            .intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if flags.contains(epoll::EventFlags::OUT) && !session.flush()
            || is_readable && !session.has_ended && !session.fill()
        {
            return self.end(number);
        }
        self.go_on(number);
    }

    /// Takes the next query of a connection, if it may have one now, and asks the kernel for what it waits for.
    fn go_on(&mut self, number: u64) {
        loop {
            let Some(session) = self.sessions.get_mut(&number) else {
                return;
            };
            if !session.flush() {
                return self.end(number);
            }
            // Whoever waits in the queue may leave it: so it is read, though its query has no answer yet.
            if session.is_busy || !session.unsent.is_empty() {
                break;
            }
            if !session.has_ended && !session.fill() {
                return self.end(number);
            }
            let Some(line) = session.line() else {
                if session.unread.len() > QUERY {
                    session.send(NodeAnswer::Error {
                        error: format!("a query of more than {QUERY} bytes: expected one line"),
                        failed: false,
                    });
                    // The rest of a line that was too long would be read as the next query.
                    session.flush();
                    return self.end(number);
                }
                if session.has_ended {
                    return self.end(number);
                }
                break;
            };
            session.since = Instant::now();
            self.ask(number, &line);
        }
        self.watch(number);
    }

    /// Asks the kernel to tell what a connection waits for.
    fn watch(&mut self, number: u64) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let mut flags = epoll::EventFlags::empty();
        if !session.unsent.is_empty() {
            flags |= epoll::EventFlags::OUT;
        } else if !session.is_busy && !session.has_ended {
            flags |= epoll::EventFlags::IN;
        }
        if flags == session.asked {
            return;
        }
        let data = epoll::EventData::new_u64(number);
        // The kernel tells of a connection that has ended whether it is asked or not, again and again.
        let was_watched = !session.asked.is_empty();
        let done = match (was_watched, flags.is_empty()) {
            (true, true) => epoll::delete(&self.poll, &session.stream),
            (true, false) => epoll::modify(&self.poll, &session.stream, data, flags),
            (false, _) => epoll::add(&self.poll, &session.stream, data, flags),
        };
        session.asked = flags;
        if done.is_err() {
            self.end(number);
        }
    }

    /// Answers a query, or has it answered.
    fn ask(&mut self, number: u64, line: &[u8]) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let query = match serde_json::from_slice::<NodeQuery>(line) {
            Ok(query) => query,
            Err(error) => {
                return session.send(NodeAnswer::Error {
                    error: format!(
                        "{error}: expected a query of docs/schema/node-query.json, such as {{\"query\":\"status\"}}"
                    ),
                    failed: false,
                });
            }
        };
        let (uid, pid) = (session.peer.uid, session.peer.process.id.pid);
        match &query {
            NodeQuery::Run { request } => info!(uid, pid, command = request.command, "run"),
            query => info!(uid, pid, query = ?query, "query"),
        }
        match query {
            NodeQuery::Status {} => session.send(NodeAnswer::Status {
                status: Box::new(self.shared.status()),
            }),
            NodeQuery::Metrics {} => session.send(NodeAnswer::Metrics {
                text: self.shared.metrics.text(),
            }),
            // Its answers could not be told from each other's.
            NodeQuery::Run { .. } | NodeQuery::Resume { .. }
                if session.ticket.is_some() || session.lease.is_some() =>
            {
                session.send(NodeAnswer::Error {
                    error: "this connection has a job already: expected another connection"
                        .to_owned(),
                    failed: false,
                });
            }
            query => {
                session.is_busy = true;
                self.office.put(Work {
                    session: number,
                    peer: session.peer.clone(),
                    task: Task::Query(query),
                });
            }
        }
    }

    /// Takes what the driver tells.
    fn hear_driver(&mut self) {
        for news in self.news.take() {
            match news {
                DriverNews::Answered(ticket) => self.fetch(ticket),
                DriverNews::Notice { lease, text } => {
                    if let Some(&number) = self.by_lease.get(&lease)
                        && let Some(session) = self.sessions.get_mut(&number)
                    {
                        session.send(NodeAnswer::Notice { text });
                        self.go_on(number);
                    }
                }
            }
        }
    }

    /// Has the answer to a ticket fetched, if somebody here waits for it.
    fn fetch(&mut self, ticket: i64) {
        if let Some(&number) = self.by_ticket.get(&ticket)
            && let Some(session) = self.sessions.get(&number)
        {
            self.office.put(Work {
                session: number,
                peer: session.peer.clone(),
                task: Task::Fetch(ticket),
            });
        }
    }

    /// Takes what was answered.
    fn hear_office(&mut self) {
        for done in self.done.take() {
            match done {
                Done::Waiting(rows) => {
                    self.is_looking = false;
                    self.tell_places(&rows);
                }
                Done::Answer { work, answer } => self.answered(work, answer),
            }
        }
    }

    fn answered(&mut self, work: Work, answer: Option<NodeAnswer>) {
        let number = work.session;
        let is_asked = matches!(work.task, Task::Query(_));
        let Some(session) = self.sessions.get_mut(&number) else {
            // Whoever knows its place in the queue may come again, and finds its lease.
            if let (Task::Query(NodeQuery::Run { .. }), Some(answer)) = (&work.task, answer) {
                self.take_back(work.peer, &answer);
            }
            return;
        };
        if let Task::Fetch(ticket) = work.task
            && session.ticket != Some(ticket)
        {
            // It was fetched already: several have told of it.
            return;
        }
        if is_asked {
            session.is_busy = false;
            session.since = Instant::now();
        }
        let Some(answer) = answer else {
            return self.go_on(number);
        };
        let mut to_fetch = None;
        match &answer {
            NodeAnswer::Queued {
                ticket,
                position,
                length,
                reason,
            } => {
                session.ticket = Some(*ticket);
                session.told = Some((*position, *length, reason.clone()));
                session.told_at = Instant::now();
                self.by_ticket.insert(*ticket, number);
                // It may have been answered before it was known here.
                to_fetch = Some(*ticket);
            }
            NodeAnswer::Granted { grant } => {
                if let Some(ticket) = session.ticket.take() {
                    self.by_ticket.remove(&ticket);
                }
                session.lease = Some(grant.lease);
                self.by_lease.insert(grant.lease, number);
            }
            NodeAnswer::Refused { .. } | NodeAnswer::Error { .. } if !is_asked => {
                if let Some(ticket) = session.ticket.take() {
                    self.by_ticket.remove(&ticket);
                }
            }
            // The next job may come by this connection.
            NodeAnswer::Noted {} => match work.task {
                Task::Query(NodeQuery::Cancel { .. }) => {
                    if let Some(ticket) = session.ticket.take() {
                        self.by_ticket.remove(&ticket);
                    }
                }
                Task::Query(NodeQuery::Ended { .. }) => {
                    if let Some(lease) = session.lease.take() {
                        self.by_lease.remove(&lease);
                    }
                }
                _ => {}
            },
            _ => {}
        }
        session.send(answer);
        self.go_on(number);
        if let Some(ticket) = to_fetch {
            self.fetch(ticket);
        }
    }

    /// Gives back what somebody got who has gone meanwhile.
    fn take_back(&self, peer: Peer, answer: &NodeAnswer) {
        let reason = "its program has gone before it was answered".to_owned();
        let query = match answer {
            NodeAnswer::Queued { ticket, .. } => NodeQuery::Cancel {
                ticket: *ticket,
                reason,
            },
            NodeAnswer::Granted { grant } => NodeQuery::Ended {
                lease: grant.lease,
                reason,
                status: None,
            },
            _ => return,
        };
        self.office.put(Work {
            session: u64::MAX,
            peer,
            task: Task::Query(query),
        });
    }

    /// Asks now and then who waits.
    fn look(&mut self) {
        if self.is_looking || self.by_ticket.is_empty() || Instant::now() < self.look_at {
            return;
        }
        let Some(session) = self
            .by_ticket
            .values()
            .find_map(|one| self.sessions.get(one))
        else {
            return;
        };
        self.is_looking = true;
        self.look_at = Instant::now() + LOOK;
        self.office.put(Work {
            session: u64::MAX,
            peer: session.peer.clone(),
            task: Task::Look,
        });
    }

    /// Tells those who wait of their places, if these have changed: the further back, the less often.
    fn tell_places(&mut self, rows: &[(i64, String)]) {
        let (now, length) = (Instant::now(), rows.len());
        let mut gone = self.by_ticket.clone();
        for (before, (ticket, said)) in rows.iter().enumerate() {
            let Some(number) = gone.remove(ticket) else {
                continue;
            };
            let Some(session) = self.sessions.get_mut(&number) else {
                continue;
            };
            let behind = u32::try_from(before).unwrap_or(u32::MAX);
            let gap = LOOK.saturating_mul(behind).min(LONGEST);
            if now < session.told_at + gap {
                continue;
            }
            let place = (before + 1, length, wait_reason(said, before));
            if session.told.as_ref() == Some(&place) {
                continue;
            }
            let (position, length, reason) = place.clone();
            session.told = Some(place);
            session.told_at = now;
            session.send(NodeAnswer::Queued {
                ticket: *ticket,
                position,
                length,
                reason,
            });
            self.go_on(number);
        }
        // Whoever waits no more has an answer, or was removed.
        for ticket in gone.into_keys() {
            self.fetch(ticket);
        }
    }

    /// Ends connections that have waited for too long.
    fn sweep(&mut self) {
        let now = Instant::now();
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now + Duration::from_secs(1);
        let late = self
            .sessions
            .iter()
            .filter(|(_, session)| session.expires().is_some_and(|at| at <= now));
        let late: Vec<u64> = late.map(|(&number, _)| number).collect();
        for number in late {
            self.end(number);
        }
    }

    /// Ends a connection. The lease and the place in the queue stay for as long as the process runs: it may come again.
    fn end(&mut self, number: u64) {
        let Some(session) = self.sessions.remove(&number) else {
            return;
        };
        if let Some(ticket) = session.ticket
            && self.by_ticket.get(&ticket) == Some(&number)
        {
            self.by_ticket.remove(&ticket);
        }
        if let Some(lease) = session.lease
            && self.by_lease.get(&lease) == Some(&number)
        {
            self.by_lease.remove(&lease);
        }
        if session.ticket.is_some() || session.lease.is_some() {
            // It has probably been killed.
            leader::wake(&self.ledger);
        }
    }
}

/// How many descriptors the daemon may have, now as many as the system lets it.
fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(MOST).min(MOST + RESERVE);
    let soft = limit.current.unwrap_or(hard);
    if soft >= hard {
        return soft;
    }
    let raised = Rlimit {
        current: Some(hard),
        maximum: limit.maximum,
    };
    if setrlimit(Resource::Nofile, raised).is_ok() {
        hard
    } else {
        soft
    }
}
