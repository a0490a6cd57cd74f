//! The conversations at the socket: one thread holds them all, and neither decides nor touches the ledger.
//!
//! A connection has one query in work at most, and is not read while it has one, or while its answers wait to be sent. So
//! whoever sends faster than it is answered fills its own buffers alone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_front::answer::node::{NodeAnswer, NodeQuery};
use mapa_live::{Identity, Processes};
use rustix::event::{Timespec, epoll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use super::office::Office;
use super::work::{Done, Peer, Served, Task, Work, shortened, text_of};
use crate::acquire::wait_reason;
use crate::daemon::{DriverNews, SharedStatus};
use crate::error::Error;
use crate::leader;
use crate::mailbox::Mailbox;
use crate::memory::peer_of;

/// The most bytes of a query. The edges of a large pattern take the most.
const QUERY: usize = 1 << 20;

/// Longer queries are not read by the thread of all connections. Only jobs with many edges have them.
const LONG: usize = 64 << 10;

/// The most bytes of queries and answers that all connections of a user but one may hold.
const HELD: usize = 32 << 20;

/// The most bytes of a query in the log.
const LOGGED: usize = 256;

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
    /// How much of it has no end of a line.
    searched: usize,
    /// What is to be sent.
    unsent: Vec<u8>,
    /// How much of it has been sent.
    sent: usize,
    /// The bytes of the query that is in work.
    asked_bytes: usize,
    /// What its user was charged for it.
    charged: usize,
    /// Whether it is one of those whose turn comes without an event.
    is_ready: bool,
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
        self.send_text(text_of(answer).1);
    }

    fn send_text(&mut self, text: Vec<u8>) {
        if self.unsent.is_empty() {
            self.since = Instant::now();
            self.unsent = text;
        } else {
            self.unsent.extend_from_slice(&text);
        }
    }

    /// The bytes that it holds.
    fn held(&self) -> usize {
        self.unread.len() + self.asked_bytes + self.unsent.len()
    }

    /// Writes what can be written now. False if the other end has gone.
    fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            // What was sent stays until the end: to move the rest of a long answer each time would take longer than to
            // send it.
            match (&self.stream).write(self.unsent.get(self.sent..).unwrap_or_default()) {
                Ok(0) => return false,
                Ok(length) => {
                    self.sent += length;
                    self.since = Instant::now();
                    if self.sent >= self.unsent.len() {
                        self.unsent = Vec::new();
                        self.sent = 0;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Reads what is there, as far as one query goes. False if the connection failed.
    fn fill(&mut self) -> bool {
        let mut part = [0; 16 << 10];
        while self.end_of_line().is_none() && self.unread.len() <= QUERY {
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

    /// Where the next query ends.
    fn end_of_line(&mut self) -> Option<usize> {
        let new = self.unread.get(self.searched..).unwrap_or_default();
        match new.iter().position(|&byte| byte == b'\n') {
            Some(end) => Some(self.searched + end),
            None => {
                self.searched = self.unread.len();
                None
            }
        }
    }

    /// The next whole query.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.end_of_line();
        self.searched = 0;
        match end {
            Some(end) => Some(self.unread.drain(..=end).collect()),
            // A last line may end with the stream.
            None if self.has_ended && !self.unread.is_empty() => {
                Some(std::mem::take(&mut self.unread))
            }
            None => {
                self.searched = self.unread.len();
                None
            }
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
    /// Connections that may have a whole query already: each has one turn for each round of events.
    ready: VecDeque<u64>,
    /// The bytes that the connections of each user hold.
    held: HashMap<u32, usize>,
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
            ready: VecDeque::new(),
            held: HashMap::new(),
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
                tv_nsec: if self.ready.is_empty() {
                    250_000_000
                } else {
                    0
                },
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
            for _ in 0..self.ready.len() {
                let Some(number) = self.ready.pop_front() else {
                    break;
                };
                if let Some(session) = self.sessions.get_mut(&number) {
                    session.is_ready = false;
                    self.go_on(number);
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
                    self.make_room(None);
                    return;
                }
                Err(_) => return,
            };
            let peer = match self.peer(&stream) {
                Ok(peer) => peer,
                Err(error) => {
                    warn!(%error, "a client is not answered");
                    continue;
                }
            };
            if self.sessions.len() as u64 >= self.most && !self.make_room(Some(peer.uid)) {
                continue;
            }
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
                searched: 0,
                unsent: Vec::new(),
                sent: 0,
                asked_bytes: 0,
                charged: 0,
                is_ready: false,
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
        // The process may have ended since, and another one have its number: one of another user is not who asks.
        let is_asker = |_: &Identity| pid > 0 && is_of(pid, uid);
        let process = process.filter(is_asker).ok_or_else(|| {
            Error::at(
                format_args!("process {pid} of user {uid}"),
                "it has ended, or cannot be seen from here",
            )
        })?;
        Ok(Peer { uid, process })
    }

    /// Ends a connection of the user who has the most: one that is idle, the longest first, else the last one, whose
    /// program may come again. False if there is none, or if that is the user who comes.
    fn make_room(&mut self, comes: Option<u32>) -> bool {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for session in self.sessions.values() {
            *counts.entry(session.peer.uid).or_default() += 1;
        }
        let Some((&most, _)) = counts.iter().max_by_key(|(_, count)| **count) else {
            return false;
        };
        let own = self.sessions.iter();
        let mut own = own.filter(|(_, session)| session.peer.uid == most);
        let idle = own.clone().filter(|(_, session)| session.is_idle());
        let idle = idle.min_by_key(|(_, session)| session.since);
        let last = own.next_back().filter(|_| comes != Some(most));
        let Some((&number, _)) = idle.or(last) else {
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
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        if !session.flush() {
            return self.end(number);
        }
        // Whoever waits in the queue may leave it: so it is read, though its query has no answer yet.
        if !session.is_busy && session.unsent.is_empty() {
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
                return self.charge(number);
            };
            session.since = Instant::now();
            session.asked_bytes = line.len();
            self.ask(number, line);
            let Some(session) = self.sessions.get_mut(&number) else {
                return;
            };
            if !session.is_busy {
                session.asked_bytes = 0;
                if !session.flush() {
                    return self.end(number);
                }
                // Others have their turn before its next query, which may be here already.
                let has_more = !session.unread.is_empty() || session.has_ended;
                if session.unsent.is_empty() && has_more && !session.is_ready {
                    session.is_ready = true;
                    self.ready.push_back(number);
                }
            }
        }
        self.charge(number);
    }

    /// Charges a user with what a connection holds. A connection for which there is no room is ended.
    fn charge(&mut self, number: u64) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let (uid, holds) = (session.peer.uid, session.held());
        let held = self.held.entry(uid).or_default();
        let others = held.saturating_sub(session.charged);
        let grows = holds > session.charged;
        *held = others + holds;
        session.charged = holds;
        if *held == 0 {
            self.held.remove(&uid);
        }
        if grows && others > HELD && holds > LONG {
            warn!(uid, "too much to keep for this user: a connection is ended");
            return self.end(number);
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
    fn ask(&mut self, number: u64, line: Vec<u8>) {
        let Some(session) = self.sessions.get_mut(&number) else {
            return;
        };
        let has_job = session.ticket.is_some() || session.lease.is_some();
        if line.len() > LONG && !has_job {
            session.is_busy = true;
            return self.office.put(Work {
                session: number,
                peer: session.peer.clone(),
                task: Task::Text(line),
            });
        }
        let query = match serde_json::from_slice::<NodeQuery>(&line) {
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
            NodeQuery::Run { request } => {
                let command = shortened(&request.command, LOGGED);
                info!(uid, pid, command, "run");
            }
            query => {
                let query = format!("{query:?}");
                info!(uid, pid, query = shortened(&query, LOGGED), "query");
            }
        }
        match query {
            NodeQuery::Status {} => session.send(NodeAnswer::Status {
                status: Box::new(self.shared.status()),
            }),
            NodeQuery::Metrics {} => session.send(NodeAnswer::Metrics {
                text: self.shared.metrics.text(),
            }),
            // Its answers could not be told from each other's.
            NodeQuery::Run { .. } | NodeQuery::Resume { .. } if has_job => {
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
                Done::Answer { work, answer } => self.answered(work, answer.map(|both| *both)),
            }
        }
    }

    fn answered(&mut self, work: Work, answer: Option<(NodeAnswer, Vec<u8>)>) {
        let number = work.session;
        let is_asked = matches!(work.task, Task::Query(_) | Task::Text(_));
        let Some(session) = self.sessions.get_mut(&number) else {
            // Whoever knows its place in the queue may come again, and finds its lease.
            if let (Task::Query(NodeQuery::Run { .. }), Some((answer, _))) = (&work.task, answer) {
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
            session.asked_bytes = 0;
            session.since = Instant::now();
        }
        let Some((answer, text)) = answer else {
            return self.go_on(number);
        };
        // Who had its ticket or its lease before, and now has come again by another connection.
        let mut earlier = None;
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
                earlier = self.by_ticket.insert(*ticket, number);
                // It may have been answered before it was known here.
                to_fetch = Some(*ticket);
            }
            NodeAnswer::Granted { grant } => {
                if let Some(ticket) = session.ticket.take() {
                    self.by_ticket.remove(&ticket);
                }
                session.lease = Some(grant.lease);
                earlier = self.by_lease.insert(grant.lease, number);
            }
            NodeAnswer::Refused { .. } | NodeAnswer::Error { .. } if !is_asked => {
                if let Some(ticket) = session.ticket.take() {
                    self.by_ticket.remove(&ticket);
                }
            }
            // The next job may come by this connection.
            NodeAnswer::Noted {} => match work.task {
                Task::Query(NodeQuery::Cancel { ticket, .. }) if session.ticket == Some(ticket) => {
                    session.ticket = None;
                    self.by_ticket.remove(&ticket);
                }
                Task::Query(NodeQuery::Ended { lease, .. }) if session.lease == Some(lease) => {
                    session.lease = None;
                    self.by_lease.remove(&lease);
                }
                _ => {}
            },
            _ => {}
        }
        session.send_text(text);
        self.go_on(number);
        if let Some(earlier) = earlier.filter(|&earlier| earlier != number) {
            self.end(earlier);
        }
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
        if let Some(held) = self.held.get_mut(&session.peer.uid) {
            *held = held.saturating_sub(session.charged);
            if *held == 0 {
                self.held.remove(&session.peer.uid);
            }
        }
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

/// Whether a process is of this user, by the kernel: the folder of one whose memory is not to be read is root's.
fn is_of(pid: i32, uid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"));
    let mut uids = line.unwrap_or_default().split_ascii_whitespace();
    uids.any(|found| found.parse() == Ok(uid))
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
