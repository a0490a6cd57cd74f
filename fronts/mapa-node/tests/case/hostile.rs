//! A client that means harm. It harms itself: an honest client beside it gets all its answers, and
//! keeps what it holds.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use mapa_case::{Declared, Session};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};

use super::world::{Node, UNIT};

struct Raw(OwnedFd);

impl Raw {
    fn connect(node: &Node) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&fd, &SocketAddrUnix::new(node.socket()).unwrap()).unwrap();
        let patience = Some(Duration::from_secs(10));
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, patience).unwrap();
        Self(fd)
    }

    /// Sends a message. Whether the manager still listens.
    fn send(&self, message: &[u8]) -> bool {
        send(&self.0, message, SendFlags::NOSIGNAL).is_ok()
    }

    fn receive(&self) -> Option<Reply> {
        let mut bytes = [0; 8192];
        let (_, length) = recv(&self.0, bytes.as_mut_slice(), RecvFlags::empty()).ok()?;
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
        .filter(|own| !own.is_session && own.session == honest.id())
        .map(|own| own.bytes)
        .collect();
    assert_eq!(held, [20 * UNIT]);
    let begun = Instant::now();
    for task in 2..100 {
        honest.begin(task, UNIT, 1, 0).unwrap();
        honest.end(task).unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    honest.end(1).unwrap();
}

#[test]
fn random_bytes_and_wrong_lengths_get_an_error_each() {
    let node = Node::new(&[60], &[]);
    beside(&node, |_| {
        let mut random = Pcg64::seed_from_u64(4);
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
        let script = format!(
            "import socket,struct,sys\n\
             s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.connect({:?})\n\
             def ask(op,session,seq,task):\n\
             \x20 s.send(struct.pack('<IHHQQQQQQQ',{},1,op,session,seq,task,0,0,0,0)); return struct.unpack('<IHHQQQQQQQ',s.recv(64))[6]\n\
             print([ask(op,{},7,1) for op in range(1,8)])\n",
            node.socket().display().to_string(),
            u32::from_le_bytes(*b"CASE"),
            honest.id()
        );
        let output = std::process::Command::new("python3")
            .args(["-c", &script])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let none = Status::NoSession as u16;
        assert_eq!(
            said.trim(),
            format!("{:?}", [none; 7]),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
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
        // Calls that must wait: so many, and no more. The honest client's 20 of 60 leave less than 50.
        for seq in 2..18 {
            let begin = Request {
                task: seq,
                bytes: 50 * UNIT,
                ..Request::new(Op::Begin, 78, seq)
            };
            assert!(raw.send(&begin.encode()));
        }
        let begin = Request {
            task: 99,
            bytes: 50 * UNIT,
            ..Request::new(Op::Begin, 78, 99)
        };
        assert_eq!(raw.ask(&begin), Some(Status::Quota));
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
                begun.elapsed() < Duration::from_secs(30),
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
fn connections_without_number_do_not_keep_others_out() {
    let node = Node::new(&[60], &["--workers", "64"]);
    beside(&node, |_| {
        let mut all = Vec::new();
        for _ in 0..200 {
            all.push(Raw::connect(&node));
        }
        // Sessions of one process are few.
        let mut random = Pcg64::seed_from_u64(5);
        let told: Vec<Option<Status>> = all
            .iter()
            .map(|raw| {
                raw.ask(&Request::new(
                    Op::Init,
                    random.random_range(100..1 << 60),
                    0,
                ))
            })
            .collect();
        assert!(told.contains(&Some(Status::Quota)), "{told:?}");
    });
}
