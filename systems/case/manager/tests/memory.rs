//! Shared memory in place of messages: the paper's way, with the same answers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use mapa_case::segment::MAGIC;
use mapa_case::{Declared, Error, Session, SharedTransport, Socket, receive_files, send_files};
use rustix::fd::AsFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::write;
use rustix::net::RecvFlags;

use super::world::{Node, UNIT};

fn by_memory(node: &Node, declared: Declared) -> Session {
    Session::over(node.socket(), declared, |path| {
        Ok(Arc::new(SharedTransport::connect(path)?))
    })
}

#[test]
fn tasks_by_memory_wait_and_survive_the_manager_as_those_by_messages() {
    let mut node = Node::new(&[60], &["--context-bytes", "0"]);
    let session = by_memory(&node, Declared::default());
    assert_eq!(session.begin(1, 30 * UNIT, 4, 0).unwrap().instance, 1);
    assert_eq!(session.describe(1).unwrap().pipe, "/run/mps-0");
    assert!(matches!(
        session.begin(2, 60 * UNIT, 1, 0),
        Err(Error::OutOfMemory)
    ));
    for task in 10..2000 {
        session.begin(task, UNIT, 1, 0).unwrap();
        session.end(task).unwrap();
    }
    let other = node.session(Declared::default());
    thread::scope(|scope| {
        let waits = scope.spawn(|| other.begin(1, 40 * UNIT, 1, 0));
        thread::sleep(Duration::from_millis(50));
        node.kill();
        node.start();
        // The memory went with the manager; the call goes on over new memory.
        session.end(1).unwrap();
        waits.join().unwrap().unwrap();
    });
    let held: u64 = node
        .entries()
        .iter()
        .filter(|entry| !entry.is_session)
        .map(|entry| entry.bytes)
        .sum();
    assert_eq!(held, 40 * UNIT);
}

#[test]
fn more_threads_than_slots_get_their_answers() {
    let node = Node::new(&[60], &[]);
    let session = by_memory(&node, Declared::default());
    thread::scope(|scope| {
        for thread in 0..24u64 {
            let session = &session;
            scope.spawn(move || {
                for task in 0..50 {
                    let task = thread << 32 | task;
                    assert_eq!(session.begin(task, 0, 1, 0).unwrap().task, task);
                    session.end(task).unwrap();
                }
            });
        }
    });
}

/// Memory that could be taken away under the manager is refused before it is mapped.
#[test]
fn memory_that_may_shrink_is_too_short_or_is_none_is_refused() {
    let node = Node::new(&[60], &[]);
    let offer_with = |magic: u64, length: u64, seals: SealFlags, files: usize| {
        let socket = Socket::connect(&node.socket()).unwrap();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("short", flags).unwrap();
        ftruncate(&file, length).unwrap();
        if length > 0 {
            write(&file, &magic.to_le_bytes()).unwrap();
        }
        fcntl_add_seals(&file, seals).unwrap();
        let request = Request::new(Op::Memory, 0, 0).encode();
        let all = vec![file.as_fd(); files];
        send_files(socket.fd().as_fd(), &request, &all).unwrap();
        let mut bytes = [0; LENGTH];
        receive_files(socket.fd().as_fd(), &mut bytes, RecvFlags::empty()).unwrap();
        Reply::decode(&bytes).unwrap().status
    };
    let offer = |length, seals, files| offer_with(MAGIC, length, seals, files);
    let sealed = SealFlags::SHRINK | SealFlags::GROW;
    assert_eq!(offer(4096, sealed, 1), Status::Done);
    assert_eq!(offer(4096, SealFlags::empty(), 1), Status::Malformed);
    assert_eq!(offer(4096, SealFlags::GROW, 1), Status::Malformed);
    assert_eq!(offer(0, sealed, 1), Status::Malformed);
    assert_eq!(offer(64, sealed, 1), Status::Malformed);
    assert_eq!(offer(1 << 40, sealed, 1), Status::Malformed);
    assert_eq!(offer(4096, sealed, 2), Status::Malformed);
    assert_eq!(offer_with(MAGIC + 1, 4096, sealed, 1), Status::Malformed);
    let session = node.session(Declared::default());
    session.begin(1, UNIT, 1, 0).unwrap();
}
