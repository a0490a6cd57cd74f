//! The manager's socket: one thread that reads one request of each connection in turn.
//!
//! Whoever connects is known by what the kernel says of it. That it hangs up means nothing: a child
//! may have inherited the socket, or the connection was lost. Its death is told by its pidfd.
//!
//! Descriptors run out before anything else, so their limit is raised, and each process and user has
//! its share of the connections.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use mapa_case::message::{LENGTH, Malformed, Op, Reply, Request, Status};
use mapa_case::{Shared, receive_files, send_files};
use mapa_sched::Time;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with,
    bind, listen, send, socket_with,
};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, getrlimit, pidfd_open, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::manager::{Manager, Replies};
use super::session::{Peer, peer};
use crate::error::Error;
use crate::memory::peer_of;
use crate::output::Output;
use crate::process::Processes;

/// The most connections of one process, of one user, and of all.
const OF_PROCESS: usize = 16;
const OF_USER: usize = 1024;
const CONNECTIONS: usize = 8192;

/// Descriptors of a connection: the socket, a bell, and the pidfd of its process.
const EACH: u64 = 3;

/// Descriptors for all else.
const OTHERS: u64 = 64;

/// How long nobody is accepted after there was no descriptor left, unless one becomes free.
const DEAF: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

const LISTENER: u64 = 0;
const SIGNALS: u64 = 1;

struct Connection {
    fd: OwnedFd,
    peer: Peer,
    sessions: BTreeSet<u64>,
    /// The memory that takes the place of messages, and the number of its bell.
    memory: Option<(u64, Shared)>,
}

struct Server<'a> {
    manager: Manager,
    processes: &'a Processes,
    epoll: OwnedFd,
    listener: OwnedFd,
    begun: Instant,
    next: u64,
    connections: BTreeMap<u64, Connection>,
    /// The processes that are watched, by the number of their pidfd.
    watched: BTreeMap<u64, (Peer, OwnedFd)>,
    by_peer: BTreeMap<Peer, u64>,
    /// The connection of each bell.
    bells: BTreeMap<u64, u64>,
    /// The connection on which each session was heard last.
    by_session: BTreeMap<u64, u64>,
    replies: Replies,
    /// Connections to close after this turn.
    broken: BTreeSet<u64>,
    /// The most connections.
    most: usize,
    /// Whether the listener is not waited for, because there was no descriptor left.
    is_deaf: bool,
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The socket cannot be made or waited for.
pub(super) fn serve(
    manager: Manager,
    socket: &Path,
    group: Option<u32>,
    processes: &Processes,
    output: Output,
) -> Result<(), Error> {
    let at = |error: io::Error| Error::at(socket.display(), error);
    let (signals, rung) = UnixStream::pair().map_err(at)?;
    for signal in [SIGTERM, SIGINT] {
        let rung = rung.try_clone().map_err(at)?;
        signal_hook::low_level::pipe::register(signal, rung).map_err(at)?;
    }
    let listener = open(socket, group).map_err(at)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| at(error.into()))?;
    let mut server = Server {
        manager,
        processes,
        epoll,
        listener,
        begun: Instant::now(),
        next: 2,
        connections: BTreeMap::new(),
        watched: BTreeMap::new(),
        by_peer: BTreeMap::new(),
        bells: BTreeMap::new(),
        by_session: BTreeMap::new(),
        replies: Vec::new(),
        broken: BTreeSet::new(),
        most: connections(),
        is_deaf: false,
    };
    server.listen_to(&server.listener, LISTENER).map_err(at)?;
    server.listen_to(&signals, SIGNALS).map_err(at)?;
    // Who died while no manager ran is dead already when it is looked at here.
    let before: BTreeSet<Peer> = server.manager.peers().collect();
    for peer in before {
        if !server.watch(peer).map_err(at)? {
            server.dead(peer);
        }
    }
    output.aside(format!(
        "{} instances on {}",
        server.manager.instances().list().len(),
        socket.display()
    ));
    let done = server.run().map_err(at);
    // A socket that nobody listens on tells processes nothing that its absence does not.
    drop(fs::remove_file(socket));
    done
}

/// Raises the limit of descriptors as far as it may be raised, and returns for how many connections
/// they are enough.
fn connections() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let all = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let enough = all.map_or(u64::MAX, |all| all.saturating_sub(OTHERS) / EACH);
    usize::try_from(enough).map_or(CONNECTIONS, |enough| enough.clamp(1, CONNECTIONS))
}

/// Makes the socket, for its user and group alone.
fn open(path: &Path, group: Option<u32>) -> io::Result<OwnedFd> {
    if let Some(folder) = path.parent().filter(|own| !own.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    // The lease in the ledger says that no other manager uses it.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let fd = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    bind(&fd, &SocketAddrUnix::new(path)?)?;
    // Nobody can connect before it listens, so there is no moment with other rights.
    if group.is_some() {
        chown(path, None, group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    listen(&fd, BACKLOG)?;
    Ok(fd)
}

impl Server<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            let limit = self.is_deaf.then_some(&DEAF);
            match epoll::wait(&self.epoll, spare_capacity(&mut events), limit) {
                Err(Errno::INTR) => continue,
                done => done?,
            };
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    SIGNALS => return Ok(()),
                    number if self.watched.contains_key(&number) => {
                        if let Some((peer, _)) = self.watched.get(&number) {
                            self.dead(*peer);
                        }
                    }
                    number => match self.bells.get(&number) {
                        Some(&connection) => self.rung(connection),
                        None => self.read(number),
                    },
                }
                self.answer();
            }
            let broken = std::mem::take(&mut self.broken);
            if self.is_deaf && (events.is_empty() || !broken.is_empty()) {
                self.listen_to(&self.listener, LISTENER)?;
                self.is_deaf = false;
            }
            for number in broken {
                self.close(number);
            }
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = match accept_with(&self.listener, flags) {
            Ok(fd) => fd,
            // It would be ready again at once, and again.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.forget(&self.listener);
                self.is_deaf = true;
                return;
            }
            // One that has given up meanwhile is no error.
            Err(_) => return,
        };
        let Ok((pid, uid)) = peer_of(&fd) else {
            return;
        };
        let Some(peer) = peer(self.processes, pid, uid) else {
            // Of another PID namespace, or dead already.
            sent(&fd, &told(Status::Foreign));
            return;
        };
        let of = |test: &dyn Fn(&Peer) -> bool| {
            let own = self.connections.values().filter(|own| test(&own.peer));
            own.count()
        };
        if of(&|own| *own == peer) >= OF_PROCESS
            || of(&|own| own.uid == uid) >= OF_USER.min(self.most.div_ceil(2))
            || self.connections.len() >= self.most
        {
            sent(&fd, &told(Status::Quota));
            return;
        }
        // One that cannot be watched now comes again.
        if !matches!(self.watch(peer), Ok(true)) {
            return;
        }
        let number = self.number();
        if self.listen_to(&fd, number).is_ok() {
            let sessions = BTreeSet::new();
            let connection = Connection {
                fd,
                peer,
                sessions,
                memory: None,
            };
            self.connections.insert(number, connection);
        }
    }

    /// Watches a process until its death. Returns whether it lives.
    ///
    /// # Errors
    /// It cannot be watched, which says nothing of its life.
    fn watch(&mut self, peer: Peer) -> io::Result<bool> {
        if self.by_peer.contains_key(&peer) {
            return Ok(true);
        }
        let Some(pid) = Pid::from_raw(peer.pid) else {
            return Ok(false);
        };
        let fd = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(false),
            opened => opened?,
        };
        // The number may have been given to another between what the kernel said and now. Of one that
        // has died meanwhile the descriptor tells.
        let now = self.processes.identity(peer.pid);
        if now.is_some_and(|own| own.start != peer.start) {
            return Ok(false);
        }
        let number = self.number();
        self.listen_to(&fd, number)?;
        self.watched.insert(number, (peer, fd));
        self.by_peer.insert(peer, number);
        Ok(true)
    }

    fn dead(&mut self, peer: Peer) {
        let now = self.now();
        self.manager.died(now, peer, &mut self.replies);
        if let Some((_, fd)) = self
            .by_peer
            .remove(&peer)
            .and_then(|own| self.watched.remove(&own))
        {
            self.forget(&fd);
        }
        let own = self.connections.iter();
        let own = own.filter(|(_, connection)| connection.peer == peer);
        self.broken.extend(own.map(|(number, _)| *number));
    }

    fn close(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else {
            return;
        };
        self.forget(&connection.fd);
        if let Some((bell, memory)) = &connection.memory {
            self.forget(memory.bell());
            self.bells.remove(bell);
        }
        for session in connection.sessions {
            if self.by_session.get(&session) == Some(&number) {
                self.by_session.remove(&session);
            }
        }
        let peer = connection.peer;
        let is_needed = self.connections.values().any(|own| own.peer == peer)
            || self.manager.peers().any(|own| own == peer);
        if !is_needed
            && let Some((_, fd)) = self
                .by_peer
                .remove(&peer)
                .and_then(|own| self.watched.remove(&own))
        {
            self.forget(&fd);
        }
    }

    /// Reads one request.
    fn read(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        // One byte more than a message, so that a longer one is seen to be longer.
        let mut bytes = [0; LENGTH + 1];
        let received = receive_files(connection.fd.as_fd(), &mut bytes, RecvFlags::DONTWAIT);
        let (length, files) = match received {
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => (0, Vec::new()),
        };
        if length == 0 {
            self.broken.insert(number);
            return;
        }
        match Request::decode(&bytes[..length.min(LENGTH + 1)]) {
            Ok(request) if request.op == Op::Memory => self.share(number, &request, &files),
            Ok(request) => self.ask(number, &request),
            Err(what) => self.send(number, &Reply::malformed(what)),
        }
    }

    /// Goes on with a connection by shared memory.
    fn share(&mut self, number: u64, request: &Request, files: &[OwnedFd]) {
        let bell = self.number();
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        let made = match (&connection.memory, files) {
            (None, [file]) => Shared::with(file).ok(),
            _ => None,
        };
        let Some((memory, files)) = made else {
            self.send(number, &Reply::to(request, Status::Malformed));
            return;
        };
        let reply = Reply::to(request, Status::Done).encode();
        let files = files.each_ref().map(|file| file.as_fd());
        let sent = send_files(connection.fd.as_fd(), &reply, &files);
        // Each ring is told of once. The bell is not read: the process has it too, and could make a
        // read wait.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        let heard = epoll::add(
            &self.epoll,
            memory.bell(),
            epoll::EventData::new_u64(bell),
            flags,
        );
        if sent.is_err() || heard.is_err() {
            self.broken.insert(number);
            return;
        }
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.memory = Some((bell, memory));
            self.bells.insert(bell, number);
        }
    }

    /// Reads the requests that are in memory: at most one a slot.
    fn rung(&mut self, number: u64) {
        let memory = self
            .connections
            .get_mut(&number)
            .and_then(|own| own.memory.as_mut());
        let Some((_, memory)) = memory else { return };
        for request in memory.requests() {
            match request {
                Ok(request) => self.ask(number, &request),
                Err(what) => self.send(number, &Reply::malformed(what)),
            }
            self.answer();
        }
    }

    /// Asks the manager for a connection's process.
    fn ask(&mut self, number: u64, request: &Request) {
        let Some(connection) = self.connections.get(&number) else {
            return;
        };
        let peer = connection.peer;
        let now = self.now();
        let mut replies = std::mem::take(&mut self.replies);
        self.manager.ask(now, peer, request, &mut replies);
        self.replies = replies;
        if self.manager.owns(peer, request.session) {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.sessions.insert(request.session);
            }
            self.by_session.insert(request.session, number);
            return;
        }
        // What is not this process's is answered here and nowhere else.
        let mut own = self.replies.iter();
        let at = own.position(|(session, reply)| {
            *session == request.session && reply.seq == request.seq && reply.op == Some(request.op)
        });
        if let Some(at) = at {
            let (_, reply) = self.replies.remove(at);
            self.send(number, &reply);
        }
    }

    /// Sends what there is to say.
    fn answer(&mut self) {
        for (session, reply) in std::mem::take(&mut self.replies) {
            // Without a connection the process will repeat its request.
            if let Some(&number) = self.by_session.get(&session) {
                self.send(number, &reply);
            }
        }
    }

    fn send(&mut self, number: u64, reply: &Reply) {
        let mut text = String::new();
        if (reply.op, reply.status) == (Some(Op::Describe), Status::Done) {
            let list = self.manager.instances().list();
            let at = usize::try_from(reply.instance).unwrap_or(0);
            if let Some(own) = at.checked_sub(1).and_then(|at| list.get(at)) {
                text = format!("{}\n{}\n", own.visible, own.mps);
            }
        }
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        if let Some((_, memory)) = &mut connection.memory {
            memory.answer(reply, &text);
            return;
        }
        let mut bytes = reply.encode().to_vec();
        bytes.extend(text.bytes());
        // One that does not read its answers has filled its own queue.
        if !sent(&connection.fd, &bytes) {
            self.broken.insert(number);
        }
    }

    /// Waits for a descriptor, under this number.
    fn listen_to(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        let event = epoll::EventData::new_u64(number);
        Ok(epoll::add(&self.epoll, fd, event, epoll::EventFlags::IN)?)
    }

    /// Waits for a descriptor no more. A copy of it in another process would go on ringing.
    fn forget(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

fn sent(fd: &OwnedFd, bytes: &[u8]) -> bool {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    send(fd, bytes, flags) == Ok(bytes.len())
}

/// An answer to no request.
fn told(status: Status) -> [u8; LENGTH] {
    let reply = Reply {
        status,
        ..Reply::malformed(Malformed { seq: 0 })
    };
    reply.encode()
}
