//! The manager's socket: one thread that reads one request of each connection in turn.
//!
//! Whoever connects is known by what the kernel says of it. That it hangs up means nothing: a child
//! may have inherited the socket, or the connection was lost. Its pidfd reports its exit.
//!
//! Descriptors run out before anything else, so their limit is raised, and each process and user has
//! its share of the connections.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use mapa_case::{SharedServer, receive_files, send_files};
use mapa_live::Processes;
use mapa_node::{Error, Output, peer_of};
use mapa_sched::Time;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, SocketFlags, accept_with};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit_watch::ExitWatch;
use crate::manager::{Manager, Replies};
use crate::poll::Poll;
use crate::session::{ClientProcess, peer};
use crate::socket::{admits, most_connections, open, sent, told};

/// How long nobody is accepted after there was no descriptor left, unless one becomes free.
const DEAF: Duration = Duration::from_secs(1);

/// For how long a connection may say nothing of a session of its process. The library begins or
/// reattaches one at once.
const GREETING: Duration = Duration::from_secs(5);

const LISTENER: u64 = 0;
const SIGNALS: u64 = 1;

struct Connection {
    fd: OwnedFd,
    peer: ClientProcess,
    sessions: BTreeSet<u64>,
    /// The memory that takes the place of messages, and the number of its eventfd.
    memory: Option<(u64, SharedServer)>,
}

struct Server<'a> {
    manager: Manager,
    processes: &'a Processes,
    poll: Poll,
    listener: OwnedFd,
    begun: Instant,
    connections: BTreeMap<u64, Connection>,
    deaths: ExitWatch,
    /// The connection of each eventfd.
    wakeups: BTreeMap<u64, u64>,
    /// The connection on which each session was heard last.
    by_session: BTreeMap<u64, u64>,
    /// Until when each connection must have named a session. Their numbers rise, so the first is due
    /// first.
    ungreeted: BTreeMap<u64, Instant>,
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
pub(crate) fn serve(
    manager: Manager,
    socket: &Path,
    group: Option<u32>,
    processes: &Processes,
    output: Output,
) -> Result<(), Error> {
    let at = |error: io::Error| Error::at(socket.display(), error);
    let (signals, signal_sender) = UnixStream::pair().map_err(at)?;
    for signal in [SIGTERM, SIGINT] {
        let sender = signal_sender.try_clone().map_err(at)?;
        signal_hook::low_level::pipe::register(signal, sender).map_err(at)?;
    }
    let listener = open(socket, group).map_err(at)?;
    let poll = Poll::new(SIGNALS).map_err(at)?;
    let mut server = Server::new(manager, processes, poll, listener);
    server
        .poll
        .listen_to(&server.listener, LISTENER)
        .map_err(at)?;
    server.poll.listen_to(&signals, SIGNALS).map_err(at)?;
    // Who died while no manager ran is dead already when it is looked at here.
    let before: BTreeSet<ClientProcess> = server.manager.peers().collect();
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
    drop(crate::socket::remove(socket));
    done
}

impl<'a> Server<'a> {
    fn new(manager: Manager, processes: &'a Processes, poll: Poll, listener: OwnedFd) -> Self {
        Self {
            manager,
            processes,
            poll,
            listener,
            begun: Instant::now(),
            connections: BTreeMap::new(),
            deaths: ExitWatch::default(),
            wakeups: BTreeMap::new(),
            by_session: BTreeMap::new(),
            ungreeted: BTreeMap::new(),
            replies: Vec::new(),
            broken: BTreeSet::new(),
            most: most_connections(),
            is_deaf: false,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            self.poll.wait(self.patience(), &mut events)?;
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    SIGNALS => return Ok(()),
                    number => match (self.deaths.of(number), self.wakeups.get(&number)) {
                        (Some(peer), _) => self.dead(peer),
                        (None, Some(&connection)) => self.handle_wakeup(connection),
                        (None, None) => self.read(number),
                    },
                }
                self.answer();
            }
            self.drop_ungreeted();
            let broken = std::mem::take(&mut self.broken);
            if self.is_deaf && (events.is_empty() || !broken.is_empty()) {
                self.poll.listen_to(&self.listener, LISTENER)?;
                self.is_deaf = false;
            }
            for number in broken {
                self.close(number);
            }
        }
    }

    /// How long to wait if nothing happens; `None` for ever.
    fn patience(&self) -> Option<Duration> {
        let due = self.ungreeted.first_key_value();
        let due = due.map(|(_, due)| due.saturating_duration_since(Instant::now()));
        let deaf = self.is_deaf.then_some(DEAF);
        due.into_iter().chain(deaf).min()
    }

    /// Closes the connections that have named no session in time: silence must not use up what others
    /// need.
    fn drop_ungreeted(&mut self) {
        let now = Instant::now();
        while let Some(oldest) = self.ungreeted.first_entry()
            && *oldest.get() <= now
        {
            let (number, _) = oldest.remove_entry();
            self.broken.insert(number);
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Whoever is accepted without the descriptors to see who it is would have to be sent away.
        let accepted = self
            .has_room()
            .and_then(|()| accept_with(&self.listener, flags));
        let fd = match accepted {
            Ok(fd) => fd,
            // It would be ready again at once, and again.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.poll.forget(&self.listener);
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
        let of = |test: &dyn Fn(&ClientProcess) -> bool| {
            let connections = self
                .connections
                .values()
                .filter(|connection| test(&connection.peer));
            connections.count()
        };
        let left = self.most.saturating_sub(self.connections.len());
        if !admits(
            of(&|client| *client == peer),
            of(&|peer| peer.uid == uid),
            left,
        ) {
            sent(&fd, &told(Status::Quota));
            return;
        }
        // One that cannot be watched now comes again.
        if !matches!(self.watch(peer), Ok(true)) {
            return;
        }
        let number = self.poll.number();
        if self.poll.listen_to(&fd, number).is_ok() {
            let sessions = BTreeSet::new();
            let connection = Connection {
                fd,
                peer,
                sessions,
                memory: None,
            };
            self.connections.insert(number, connection);
            self.ungreeted.insert(number, Instant::now() + GREETING);
        }
    }

    /// Whether there are descriptors for one that is accepted: its socket, its pidfd, and a file of `/proc`.
    fn has_room(&self) -> Result<(), Errno> {
        let copy = || fcntl_dupfd_cloexec(&self.listener, 0);
        let _room = (copy()?, copy()?, copy()?);
        Ok(())
    }

    fn watch(&mut self, peer: ClientProcess) -> io::Result<bool> {
        self.deaths.watch(peer, &mut self.poll, self.processes)
    }

    fn dead(&mut self, peer: ClientProcess) {
        let now = self.now();
        self.manager.died(now, peer, &mut self.replies);
        self.deaths.forget(peer, &self.poll);
        let connections = self.connections.iter();
        let connections = connections.filter(|(_, connection)| connection.peer == peer);
        self.broken.extend(connections.map(|(number, _)| *number));
    }

    fn close(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else {
            return;
        };
        self.ungreeted.remove(&number);
        self.poll.forget(&connection.fd);
        if let Some((wakeup, memory)) = &connection.memory {
            self.poll.forget(memory.wakeup());
            self.wakeups.remove(wakeup);
        }
        for session in connection.sessions {
            if self.by_session.get(&session) == Some(&number) {
                self.by_session.remove(&session);
            }
        }
        let peer = connection.peer;
        let is_needed = self
            .connections
            .values()
            .any(|connection| connection.peer == peer)
            || self.manager.peers().any(|client| client == peer);
        if !is_needed {
            self.deaths.forget(peer, &self.poll);
        }
    }

    /// Reads one request.
    fn read(&mut self, number: u64) {
        if self.broken.contains(&number) {
            return;
        }
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
        let wakeup = self.poll.number();
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        let made = match (&connection.memory, files) {
            (None, [file]) => SharedServer::with(file).ok(),
            _ => None,
        };
        let Some((memory, files)) = made else {
            self.send(number, &Reply::to(request, Status::Malformed));
            return;
        };
        let reply = Reply::to(request, Status::Done).encode();
        let files = files.each_ref().map(|file| file.as_fd());
        let sent = send_files(connection.fd.as_fd(), &reply, &files);
        // Each wake-up is reported once. The eventfd is not read: the process has it too, and could make a
        // read wait.
        let heard = self.poll.listen_to_edges(memory.wakeup(), wakeup);
        if sent.is_err() || heard.is_err() {
            self.broken.insert(number);
            return;
        }
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.memory = Some((wakeup, memory));
            self.wakeups.insert(wakeup, number);
        }
    }

    /// Reads the requests that are in memory: at most one a slot.
    fn handle_wakeup(&mut self, number: u64) {
        if self.broken.contains(&number) {
            return;
        }
        let memory = self
            .connections
            .get_mut(&number)
            .and_then(|connection| connection.memory.as_mut());
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
        // A connection outlives its process in a child that has inherited it. What is asked then is
        // nobody's: no death would end it.
        if !self.deaths.watches(peer) {
            self.broken.insert(number);
            return;
        }
        let now = self.now();
        let mut replies = std::mem::take(&mut self.replies);
        self.manager.ask(now, peer, request, &mut replies);
        self.replies = replies;
        if self.manager.owns(peer, request.session) {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.sessions.insert(request.session);
            }
            self.ungreeted.remove(&number);
            self.by_session.insert(request.session, number);
            return;
        }
        // What is not this process's is answered here and nowhere else.
        let mut replies = self.replies.iter();
        let at = replies.position(|(session, reply)| {
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
            if let Some(instance) = at.checked_sub(1).and_then(|at| list.get(at)) {
                text = format!("{}\n{}\n", instance.cuda_visible_devices, instance.mps);
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
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use mapa_node::TaskFile;
    use mapa_system_case::CaseSettings;
    use rustix::net::{AddressFamily, SendFlags, SocketType, send, socketpair};

    use super::*;
    use crate::instances::Instances;
    use crate::manager::Settings;

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    /// A child may have inherited the connection, and ask on it in the turn in which its parent dies.
    #[test]
    fn a_connection_of_a_dead_process_gets_no_session() {
        let folder = tempfile::tempdir().unwrap();
        let processes = Processes::new().unwrap();
        let text = "[[instance]]\ncuda_visible_devices = \"MIG-0\"\nmemory = 6000000000\n";
        let instances = Instances::parse("test", text).unwrap();
        let entries = TaskFile::open(&folder.path().join("tasks"), &processes).unwrap();
        let settings = Settings::default();
        let manager = Manager::new(instances, CaseSettings::CORRECTED, settings, entries).unwrap();
        let (listener, _other) = pair();
        let poll = Poll::new(SIGNALS).unwrap();
        let mut server = Server::new(manager, &processes, poll, listener);

        let mut parent = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i32::try_from(parent.id()).unwrap();
        let peer = peer(&processes, pid, 0).unwrap();
        assert!(server.watch(peer).unwrap());
        let (fd, heir) = pair();
        let number = server.poll.number();
        let connection = Connection {
            fd,
            peer,
            sessions: BTreeSet::new(),
            memory: None,
        };
        server.connections.insert(number, connection);
        let init = |session| {
            let request = Request::new(Op::Init, session, 1).encode();
            send(&heir, &request, SendFlags::NOSIGNAL).unwrap();
        };
        init(1);
        server.read(number);
        assert_eq!(server.manager.peers().count(), 1);

        parent.kill().unwrap();
        parent.wait().unwrap();
        server.dead(peer);
        assert_eq!(server.manager.peers().count(), 0);
        init(2);
        server.read(number);
        assert_eq!(server.manager.peers().count(), 0);
        // Nor if the connection is not known to be broken.
        server.broken.clear();
        server.read(number);
        assert_eq!(server.manager.peers().count(), 0);
        assert!(server.broken.contains(&number));
    }
}
