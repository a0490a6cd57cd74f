//! A client that means harm. It harms itself: an honest client beside it gets all its answers, and
//! keeps what it holds.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use mapa_case::segment::{HEADER, MAGIC, SLOTS};
use mapa_case::{Declared, Session, receive_files, send_files};
use mapa_core::testing::seed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::fs::{
    MemfdFlags, OFlags, SealFlags, fcntl_add_seals, fcntl_setfl, ftruncate, memfd_create,
};
use rustix::io::{Errno, pwrite, read, write};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

use super::world::{Node, UNIT, wait_until};

struct Raw(OwnedFd);

impl Raw {
    fn connect(node: &Node) -> Self {
        Self::to(&node.socket())
    }

    fn to(socket: &Path) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&fd, &SocketAddrUnix::new(socket).unwrap()).unwrap();
        // So long that only a manager that has stopped exceeds it.
        let patience = Some(Duration::from_secs(60));
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, patience).unwrap();
        Self(fd)
    }

    /// Sends a message. Whether the manager still listens.
    fn send(&self, message: &[u8]) -> bool {
        send(&self.0, message, SendFlags::NOSIGNAL).is_ok()
    }

    /// The next answer; `None` if the manager has hung up.
    fn receive(&self) -> Option<Reply> {
        let mut bytes = [0; 8192];
        let received = recv(&self.0, bytes.as_mut_slice(), RecvFlags::empty());
        assert_ne!(
            received.err(),
            Some(Errno::AGAIN),
            "neither an answer nor the end"
        );
        let (_, length) = received.ok()?;
        Reply::decode(bytes.get(..length.min(LENGTH))?)
    }

    fn ask(&self, request: &Request) -> Option<Status> {
        self.send(&request.encode());
        self.receive().map(|reply| reply.status)
    }
}

/// An honest client holds memory through `harm`, and then ends and begins as if nothing had been.
fn beside(node: &Node, harm: impl FnOnce(&Session)) {
    let honest = node.session(Declared::default());
    honest.begin(1, 20 * UNIT, 1, 0).unwrap();
    harm(&honest);
    let held: Vec<u64> = node
        .entries()
        .iter()
        .filter(|entry| !entry.is_session && entry.session == honest.id())
        .map(|entry| entry.bytes)
        .collect();
    assert_eq!(held, [20 * UNIT]);
    for task in 2..100 {
        honest.begin(task, UNIT, 1, 0).unwrap();
        honest.end(task).unwrap();
    }
    honest.end(1).unwrap();
}

/// What another process does with a session that is not its own: all that one can ask.
pub(crate) fn forge(socket: &Path, session: u64) {
    let raw = Raw::to(socket);
    for op in Op::ALL.iter().filter(|op| **op != Op::Memory) {
        let request = Request {
            task: 1,
            ..Request::new(*op, session, 7)
        };
        assert_eq!(raw.ask(&request), Some(Status::NoSession), "{op:?}");
    }
}

/// A client's side of shared memory, without its manners.
struct Rude {
    file: OwnedFd,
    wakeup: OwnedFd,
    socket: Raw,
}

impl Rude {
    fn connect(node: &Node) -> Self {
        let socket = Raw::connect(node);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("rude", flags).unwrap();
        ftruncate(&file, 4096).unwrap();
        pwrite(&file, &MAGIC.to_le_bytes(), 0).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        let request = Request::new(Op::Memory, 0, 0).encode();
        send_files(socket.0.as_fd(), &request, &[file.as_fd()]).unwrap();
        let mut bytes = [0; LENGTH];
        let received = receive_files(socket.0.as_fd(), &mut bytes, RecvFlags::empty());
        let (_, mut files) = received.unwrap();
        assert_eq!(Reply::decode(&bytes).unwrap().status, Status::Done);
        let wakeup = files.pop().unwrap();
        Self {
            file,
            wakeup,
            socket,
        }
    }

    fn ring(&self) {
        write(&self.wakeup, &1u64.to_ne_bytes()).unwrap();
    }

    /// Writes words from the start of a slot on.
    fn put(&self, slot: usize, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = ((HEADER + slot * 8) * 8) as u64;
        pwrite(&self.file, &bytes, at).unwrap();
    }
}

/// Whether somebody else gets an answer, within the patience of a connection.
fn answers(node: &Node) -> bool {
    let raw = Raw::connect(node);
    raw.ask(&Request::new(Op::Reattach, 1, 1)).is_some()
}

/// The eventfd is one open file for both sides. A read of it would wait for ever where the client makes
/// it one that waits, and reads first.
#[test]
fn a_wakeup_that_its_client_sends_and_reads_blocks_nobody() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let rude = Rude::connect(&node);
        fcntl_setfl(&rude.wakeup, OFlags::empty()).unwrap();
        for _ in 0..20_000 {
            rude.ring();
            read(&rude.wakeup, &mut [0; 8]).unwrap();
        }
        assert!(answers(&node));
        // The count is full: whoever rings waits, and that is the client.
        write(&rude.wakeup, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        assert!(answers(&node));
        // A call is heard all the same, once there is room to ring.
        read(&rude.wakeup, &mut [0; 8]).unwrap();
        rude.put(0, &[0, Op::Init as u64, 79]);
        rude.put(0, &[1]);
        rude.ring();
        wait_until("its session is there", || {
            node.entries().iter().any(|entry| entry.session == 79)
        });
        drop(rude.socket);
    });
}

#[test]
fn random_slots_and_calls_of_one_number_harm_nobody() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let rude = Rude::connect(&node);
        let mut random = Pcg64::seed_from_u64(seed(6));
        for _ in 0..2000 {
            let words: [u64; 8] = std::array::from_fn(|_| match random.random_range(0..3) {
                0 => random.random(),
                _ => random.random_range(0..12),
            });
            rude.put(random.random_range(0..SLOTS), &words);
            rude.ring();
        }
        assert!(answers(&node));
        // The same number in every slot, for tasks of its own.
        rude.put(0, &[5001, Op::Init as u64, 80, 0, 0, 0, 0, 0]);
        rude.ring();
        for slot in 0..SLOTS {
            let task = slot as u64;
            rude.put(slot, &[6001, Op::Begin as u64, 80, task, UNIT, 1, 0, 0]);
        }
        rude.ring();
        assert!(answers(&node));
        let held = node.entries();
        let held = held
            .iter()
            .filter(|entry| !entry.is_session && entry.session == 80);
        assert!(held.count() <= SLOTS);
    });
}

#[test]
fn random_bytes_and_wrong_lengths_get_an_error_each() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let mut random = Pcg64::seed_from_u64(seed(4));
        let raw = Raw::connect(&node);
        for _ in 0..2000 {
            let length = random.random_range(1..200);
            let mut message = vec![0u8; length];
            random.fill(&mut message[..]);
            assert!(raw.send(&message));
            assert_eq!(raw.receive().unwrap().status, Status::Malformed);
        }
        // As good as right: one byte of a request is wrong.
        let right = Request::new(Op::Init, 5, 1).encode();
        for at in (0..LENGTH).filter(|at| !(8..24).contains(at)) {
            let mut message = right;
            message[at] ^= 0x80;
            assert!(raw.send(&message));
            let status = raw.receive().unwrap().status;
            assert!(
                matches!(
                    status,
                    Status::Malformed
                        | Status::NoSession
                        | Status::Done
                        | Status::OutOfMemory
                        | Status::Quota
                ),
                "{at}: {status:?}"
            );
        }
    });
}

#[test]
fn forged_sessions_and_tasks_are_nobodys() {
    let node = Node::new(&[60], &[]);
    beside(&node, |honest| {
        // Another process: this one would own the session.
        let mut forger = super::crowd::client(&node, "forge", honest.id(), 0);
        assert!(forger.wait().unwrap().success());
        // Of a session of its own it can only end what it holds.
        let raw = Raw::connect(&node);
        assert_eq!(raw.ask(&Request::new(Op::Init, 77, 0)), Some(Status::Done));
        for task in 0..50 {
            let end = Request {
                task,
                ..Request::new(Op::End, 77, task + 1)
            };
            assert_eq!(raw.ask(&end), Some(Status::Done));
        }
    });
}

#[test]
fn absurd_sizes_and_held_calls_are_refused() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let raw = Raw::connect(&node);
        assert_eq!(raw.ask(&Request::new(Op::Init, 78, 0)), Some(Status::Done));
        for bytes in [u64::MAX, 1 << 63, (1 << 48) + 1] {
            let begin = Request {
                bytes,
                ..Request::new(Op::Begin, 78, 1)
            };
            assert_eq!(raw.ask(&begin), Some(Status::Malformed));
        }
        let begin = Request {
            bytes: 1 << 48,
            ..Request::new(Op::Begin, 78, 1)
        };
        assert_eq!(raw.ask(&begin), Some(Status::OutOfMemory));
        // It takes what the honest client and two contexts leave, but for a byte.
        let begin = Request {
            task: 2,
            bytes: 34 * UNIT - 1,
            ..Request::new(Op::Begin, 78, 2)
        };
        assert_eq!(raw.ask(&begin), Some(Status::Done));
        // Calls that must wait: so many, and no more.
        for seq in 3..19 {
            let begin = Request {
                task: seq,
                bytes: UNIT,
                ..Request::new(Op::Begin, 78, seq)
            };
            assert!(raw.send(&begin.encode()));
        }
        let begin = Request {
            task: 99,
            bytes: UNIT,
            ..Request::new(Op::Begin, 78, 99)
        };
        assert_eq!(raw.ask(&begin), Some(Status::Quota));
        // Those that wait are answered when there is nothing left to wait for.
        assert!(raw.send(&Request::new(Op::Destroy, 78, 100).encode()));
        let told: Vec<Status> = (0..17).map(|_| raw.receive().unwrap().status).collect();
        assert_eq!(
            told,
            [&[Status::Malformed; 16][..], &[Status::Done]].concat()
        );
    });
}

#[test]
fn a_flood_that_is_not_read_ends_its_own_connection() {
    let node = Node::new(&[60], &[]);
    beside(&node, |honest| {
        let raw = Raw::connect(&node);
        let message = Request::new(Op::Reattach, 1, 1).encode();
        let begun = Instant::now();
        // It reads no answer. Its queue fills, and the manager hangs up.
        let mut turns = 0;
        while raw.send(&message) {
            turns += 1;
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "{turns} requests"
            );
            if turns % 64 == 0 {
                honest.begin(1000 + turns, UNIT, 1, 0).unwrap();
                honest.end(1000 + turns).unwrap();
            }
        }
    });
}

#[test]
fn a_manager_without_descriptors_waits_for_one_and_serves_the_others() {
    let node = Node::new(&[60], &[]);
    // As many as it has, three for whoever comes, and two more.
    let few = Rlimit {
        current: Some(node.descriptors() + 5),
        ..getrlimit(Resource::Nofile)
    };
    beside(&node, |_| {
        let before = prlimit(Some(node.pid()), Resource::Nofile, few).unwrap();
        let mut all: Vec<Raw> = (0..8).map(|_| Raw::connect(&node)).collect();
        // They speak before they are accepted, and nobody is sent away for want of a descriptor.
        for raw in &all {
            assert!(raw.send(&Request::new(Op::Reattach, 1, 1).encode()));
        }
        let spent = node.ticks();
        std::thread::sleep(Duration::from_millis(1500));
        // It has slept, and not asked again and again.
        assert!(node.ticks() - spent < 50, "{} ticks", node.ticks() - spent);
        // Whoever hangs up makes room.
        while let Some(raw) = all.pop() {
            // The first ones have an answer already; the others are accepted as these hang up.
            if all.len() < 2 {
                assert_eq!(
                    raw.receive().map(|reply| reply.status),
                    Some(Status::NoSession)
                );
            }
        }
        let raw = Raw::connect(&node);
        let told = raw.ask(&Request::new(Op::Reattach, 1, 1));
        assert_eq!(told, Some(Status::NoSession));
        prlimit(Some(node.pid()), Resource::Nofile, before).unwrap();
    });
}

/// Whoever connects and names no session is told goodbye, whatever else it says.
#[test]
fn connections_that_name_no_session_are_closed_after_a_while_and_others_are_not() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let silent = Raw::connect(&node);
        let rude = Rude::connect(&node);
        let strange = Raw::connect(&node);
        let reattach = Request::new(Op::Reattach, 1, 1);
        assert_eq!(strange.ask(&reattach), Some(Status::NoSession));
        let greeted = Raw::connect(&node);
        assert_eq!(
            greeted.ask(&Request::new(Op::Init, 81, 0)),
            Some(Status::Done)
        );
        // The manager hangs up on all but the last.
        for raw in [&silent, &rude.socket, &strange] {
            assert_eq!(raw.receive(), None);
        }
        let end = Request::new(Op::End, 81, 1);
        assert_eq!(greeted.ask(&end), Some(Status::Done));
    });
}

/// A process whose number the kernel cannot tell the manager: its death could not be seen.
#[test]
fn a_process_of_another_pid_namespace_is_refused_with_the_reason() {
    let inside = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let tried = Command::new("unshare").args(inside).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no PID namespace can be made here");
        return;
    }
    let mut node = Node::new(&[60], &[]);
    node.stop();
    let manager = node.command();
    let mut foreign = Command::new("unshare");
    foreign
        .args(inside)
        .arg(manager.get_program())
        .args(manager.get_args());
    let mut foreign = foreign.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut errors = BufReader::new(foreign.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    assert!(said.contains("instances on"), "{said}");
    let refused = node.session(Declared::default()).init().unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("in the manager's PID namespace"),
        "{refused}"
    );
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

#[test]
fn connections_without_number_do_not_keep_others_out() {
    let node = Node::new(&[60], &["--processes-per-slice", "64"]);
    beside(&node, |_| {
        let mut all = Vec::new();
        for _ in 0..200 {
            all.push(Raw::connect(&node));
        }
        // Those of one process are few: 16, of which the honest client has one.
        let reattach = Request::new(Op::Reattach, 1, 1);
        let (raws, others) = all.split_at(15);
        for raw in raws {
            assert_eq!(raw.ask(&reattach), Some(Status::NoSession));
        }
        for raw in others {
            assert_eq!(raw.receive().map(|reply| reply.status), Some(Status::Quota));
        }
        // So are its sessions: 8.
        let mut random = Pcg64::seed_from_u64(seed(5));
        let told: Vec<Option<Status>> = raws
            .iter()
            .map(|raw| {
                raw.ask(&Request::new(
                    Op::Init,
                    random.random_range(100..1 << 60),
                    0,
                ))
            })
            .collect();
        let given = told.iter().filter(|status| **status == Some(Status::Done));
        assert_eq!(given.count(), 7, "{told:?}");
        assert_eq!(told.last(), Some(&Some(Status::Quota)));
    });
}
