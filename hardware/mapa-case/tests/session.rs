//! Sessions: calls that are repeated, by several threads.

use std::collections::BTreeMap;
use std::thread;

use mapa_case::message::Op;
use mapa_case::{Declared, Error, Session};

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
