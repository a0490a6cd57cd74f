//! Any messages over a few connections to a manager of shared instances in this process, whole, cut, too long or of another
//! version: none keeps it from answering others, and each answer is one of the protocol. What it grants, `case_requests` checks.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use mapa_system_case_manager::{ManagerArgs, manage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use crate::folder::folder;
use crate::input::Choices;

/// How long an answer may take. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// The sessions of the histories. A process may have eight in its life, and this is one process: the first stay open.
const SESSIONS: u64 = 6;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    args: ManagerArgs,
}

/// The socket of the manager of this process, which lives as long as the process. One history at a time has it.
static SOCKET: LazyLock<Mutex<PathBuf>> = LazyLock::new(|| {
    let folder = folder("case");
    let file = |name: &str| folder.join(name).display().to_string();
    let instances = "[[instance]]\ncuda_visible_devices = \"MIG-0\"\nmemory = 6000000000\nslices = 1\ngpu_slices = 4\n";
    fs::write(file("instances.toml"), instances).expect("a file");
    let words = [
        "mapa-case".to_owned(),
        format!("--instances={}", file("instances.toml")),
        format!("--ledger={}", file("ledger.db")),
        format!("--socket={}", file("case.sock")),
    ];
    let program = Program::parse_from(words);
    thread::spawn(move || manage(&program.args));
    Mutex::new(folder.join("case.sock"))
});

fn connection(socket: &Path) -> OwnedFd {
    let begun = Instant::now();
    loop {
        let fd = socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        );
        let fd = fd.expect("a socket");
        let address = SocketAddrUnix::new(socket).expect("a short path");
        match connect(&fd, &address) {
            Ok(()) => return fd,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "nobody listens: {error}"),
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether there is something to read, in time.
fn is_ready(fd: &OwnedFd, patience: Duration) -> bool {
    let time = Timespec::try_from(patience).expect("seconds");
    let mut polled = [PollFd::new(fd, PollFlags::IN)];
    matches!(poll(&mut polled, Some(&time)), Ok(1..))
}

/// The next reply; none if the manager has hung up, or in no time at all if nothing has come.
fn next(fd: &OwnedFd, patience: Duration) -> Option<Reply> {
    if !is_ready(fd, patience) {
        assert!(patience.is_zero(), "no answer in {patience:?}");
        return None;
    }
    let mut bytes = [0; 4096];
    match recv(fd, &mut bytes[..], RecvFlags::empty()) {
        Ok((0, _)) | Err(Errno::CONNRESET) => None,
        // The reply of `Describe` has text behind it.
        Ok((length, _)) => Some(Reply::decode(&bytes[..length.min(LENGTH)]).expect("a reply")),
        Err(error) => panic!("{error}"),
    }
}

fn request(choices: &mut Choices<'_>) -> Request {
    let session = choices.below(SESSIONS as usize) as u64;
    let op = match Op::ALL[choices.below(Op::ALL.len())] {
        Op::Destroy if session < 4 => Op::End,
        op => op,
    };
    Request {
        task: choices.below(4) as u64,
        bytes: choices.below(80) as u64 * 100_000_000,
        warps: choices.below(64) as u64,
        flags: choices.byte().into(),
        ..Request::new(op, session, choices.below(256) as u64)
    }
}

/// Sends a message, and reads what has come. False if the manager has hung up.
fn step(fd: &OwnedFd, choices: &mut Choices<'_>) -> bool {
    let mut bytes = request(choices).encode().to_vec();
    match choices.below(8) {
        0 => bytes.truncate(choices.below(LENGTH)),
        1 => bytes.push(choices.byte()),
        2 => {
            let at = choices.below(LENGTH);
            bytes[at] ^= choices.byte();
        }
        _ => {}
    }
    if bytes.is_empty() || send(fd, &bytes, SendFlags::NOSIGNAL).is_err() {
        return false;
    }
    while let Some(reply) = next(fd, Duration::ZERO) {
        assert_eq!(Reply::decode(&reply.encode()), Some(reply));
    }
    true
}

/// Asks something that is answered at once, behind what is unread; the status.
fn asked(fd: &OwnedFd, request: &Request) -> Option<Status> {
    send(fd, &request.encode(), SendFlags::NOSIGNAL).ok()?;
    loop {
        let reply = next(fd, PATIENCE)?;
        if reply.op == Some(request.op)
            && (reply.session, reply.seq) == (request.session, request.seq)
        {
            return Some(reply.status);
        }
    }
}

/// One input.
pub fn run(data: &[u8]) {
    let socket = SOCKET.lock().unwrap_or_else(PoisonError::into_inner);
    let mut choices = Choices(data);
    let mut connections: [Option<OwnedFd>; 3] = [None, None, None];
    for _ in 0..48 {
        if choices.is_empty() {
            break;
        }
        let at = choices.below(connections.len());
        let fd = connections[at]
            .take()
            .unwrap_or_else(|| connection(&socket));
        if choices.below(16) != 0 && step(&fd, &mut choices) {
            connections[at] = Some(fd);
        }
    }
    drop(connections);
    // Somebody else is answered.
    let last = connection(&socket);
    let status = asked(&last, &Request::new(Op::Reattach, u64::MAX, 1));
    assert_eq!(status, Some(Status::NoSession));
}
