//! Sessions: calls that are repeated, by several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mapa_case::message::{LENGTH, Op, Reply, Request, Status, flags};
use mapa_case::{Declared, Error, Session, Socket, Transport};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, listen, recv,
    send, socket,
};

use crate::manager::Manager;

#[test]
fn a_call_whose_connection_breaks_is_repeated_under_the_same_number() {
    // Every third request is heard and never answered.
    let manager = Manager::new(3);
    let session = Session::new(manager.socket(), Declared::default());
    for task in 0..20 {
        session.begin(task, 10, 1, 0).unwrap();
        session.end(task).unwrap();
    }
    let mut calls: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for request in manager.requests(Op::Begin) {
        assert_eq!(request.session, session.id());
        calls.entry(request.seq).or_default().push(request.task);
    }
    assert_eq!(calls.len(), 20);
    assert!(
        calls
            .values()
            .all(|tasks| tasks.iter().all(|task| *task == tasks[0]))
    );
    assert!(calls.values().any(|tasks| tasks.len() > 1));
    assert_eq!(manager.requests(Op::Init).len(), 1);
    assert!(manager.requests(Op::Reattach).len() > 5);
}

#[test]
fn threads_get_their_own_answers_while_connections_break() {
    let manager = Manager::new(7);
    let session = Session::new(manager.socket(), Declared::default());
    thread::scope(|scope| {
        for thread in 0..8u64 {
            let session = &session;
            scope.spawn(move || {
                for task in 0..50 {
                    let task = thread << 32 | task;
                    assert_eq!(session.begin(task, 10, 1, 0).unwrap().task, task);
                    assert!(matches!(
                        session.begin(task + 1, 1 << 40, 1, 0),
                        Err(Error::OutOfMemory)
                    ));
                    assert_eq!(session.end(task).unwrap().task, task);
                }
            });
        }
    });
}

#[test]
fn a_request_says_all_that_a_call_was_given_and_a_reply_where_the_process_is() {
    let manager = Manager::new(usize::MAX);
    let session = Session::new(manager.socket(), Declared::default());
    session.init().unwrap();
    assert_eq!(session.instance(), 0);
    session.begin(7, 10, 3, flags::AT_ONCE).unwrap();
    session.extend(7, 20, 5).unwrap();
    // The manager of these tests has bound the process to its first instance.
    assert_eq!(session.instance(), 1);
    session.end(7).unwrap();
    // An end says nothing of an instance.
    assert_eq!(session.instance(), 1);
    let said = |op| {
        let requests = manager.requests(op).into_iter();
        requests
            .map(|request| (request.task, request.bytes, request.warps, request.flags))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(Op::Begin), [(7, 10, 3, flags::AT_ONCE)]);
    assert_eq!(said(Op::Extend), [(7, 20, 5, 0)]);
    assert_eq!(said(Op::End), [(7, 0, 0, 0)]);
}

#[test]
fn no_two_sessions_have_one_number() {
    let manager = Manager::new(usize::MAX);
    let numbers = [(); 8].map(|()| {
        let session = Session::new(manager.socket(), Declared::default());
        session.init().unwrap();
        session.id()
    });
    let distinct: BTreeSet<u64> = numbers.into_iter().collect();
    assert_eq!(distinct.len(), 8, "{numbers:?}");
    assert!(!distinct.contains(&0));
}

/// A manager that takes longer than the patience of its clients, and then breaks the connection.
struct Slow {
    socket: Socket,
    breaks: bool,
}

impl Transport for Slow {
    fn send(&self, request: &Request) -> io::Result<()> {
        self.socket.send(request)
    }

    fn receive(&self) -> io::Result<(Reply, String)> {
        if self.breaks {
            thread::sleep(Duration::from_millis(150));
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.socket.receive()
    }
}

#[test]
fn patience_is_with_managers_that_are_not_there_and_not_with_those_that_take_their_time() {
    let manager = Manager::new(usize::MAX);
    let tries = Arc::new(AtomicUsize::new(0));
    let session = Session::over(manager.socket(), Declared::default(), move |path| {
        let turn = tries.fetch_add(1, Ordering::SeqCst);
        // Three times it is there and is gone before it answers, and then gone for a moment.
        if turn == 3 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let socket = Socket::connect(path)?;
        let breaks = turn < 3;
        Ok(Arc::new(Slow { socket, breaks }))
    });
    let session = session.patient(Duration::from_millis(100));
    session.begin(1, 10, 1, 0).unwrap();
    let nobody = Session::new(manager.path().join("nobody"), Declared::default());
    let nobody = nobody.patient(Duration::from_millis(100));
    assert!(matches!(
        nobody.begin(1, 10, 1, 0),
        Err(Error::NoManager(..))
    ));
}

#[test]
fn an_end_after_a_failure_is_tried_once() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let session = Session::over("nobody".into(), Declared::default(), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Err(io::ErrorKind::NotFound.into())
    });
    let session = session.patient(Duration::from_millis(50));
    assert!(matches!(session.end(1), Err(Error::NoManager(..))));
    let before = tries.load(Ordering::SeqCst);
    assert!(before > 1, "{before}");
    assert!(matches!(session.end(1), Err(Error::NoManager(..))));
    assert_eq!(tries.load(Ordering::SeqCst), before + 1);
    assert!(session.begin(1, 10, 1, 0).is_err());
    assert!(tries.load(Ordering::SeqCst) > before + 2);
}

#[test]
fn a_session_can_be_looked_at_while_it_waits_for_its_greeting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.sock");
    let fd = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    bind(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&fd, 4).unwrap();
    let session = Session::new(path, Declared::default());
    thread::scope(|scope| {
        let waits = scope.spawn(|| session.init());
        let connection = accept(&fd).unwrap();
        let mut bytes = [0; LENGTH];
        recv(&connection, bytes.as_mut_slice(), RecvFlags::empty()).unwrap();
        let request = Request::decode(&bytes).unwrap();
        // Not answered yet. Without the lock these return; with it they would wait for ever.
        assert_eq!(session.id(), request.session);
        session.destroy().unwrap();
        let reply = Reply::to(&request, Status::Done).encode();
        send(&connection, &reply, SendFlags::empty()).unwrap();
        waits.join().unwrap().unwrap();
    });
}

#[test]
fn a_refused_connection_says_why_even_if_it_is_closed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.sock");
    let fd = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    bind(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&fd, 64).unwrap();
    let refuses = thread::spawn(move || {
        for turn in 0..20 {
            let connection = accept(&fd).unwrap();
            // Before and after the request has come.
            thread::sleep(Duration::from_millis(turn % 2 * 10));
            let request = Request::new(Op::Init, 1, 0);
            let reply = Reply::to(&request, Status::Quota).encode();
            send(&connection, &reply, SendFlags::empty()).unwrap();
        }
    });
    for _ in 0..20 {
        let session = Session::new(path.clone(), Declared::default());
        let refused = session.init();
        assert!(
            matches!(refused, Err(Error::Refused(Status::Quota))),
            "{refused:?}"
        );
    }
    refuses.join().unwrap();
}
