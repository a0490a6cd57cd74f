//! The oracle objects to what it should, and to nothing else.

use fake_cudart::{Objection, Oracle, OracleEvent};

fn check(events: &[OracleEvent], expected: &[Objection]) {
    let mut oracle = Oracle::default();
    let objections: Vec<Objection> = events.iter().flat_map(|e| oracle.take(*e)).collect();
    assert_eq!(objections, expected, "{events:?}");
}

fn begin(task: u64, bytes: u64) -> OracleEvent {
    OracleEvent::Begin {
        task,
        bytes,
        thread: 1,
    }
}

#[test]
fn a_task_that_holds_what_it_was_granted_is_right() {
    check(
        &[
            begin(1, 100),
            OracleEvent::Allocate { bytes: 60 },
            OracleEvent::Allocate { bytes: 40 },
            OracleEvent::Launch { stream: 0 },
            OracleEvent::Wait { stream: None },
            OracleEvent::Free { bytes: 60 },
            OracleEvent::Free { bytes: 40 },
            OracleEvent::End { task: 1 },
            begin(2, 0),
            OracleEvent::End { task: 2 },
        ],
        &[],
    );
}

#[test]
fn memory_above_the_grant_is_objected_to() {
    let held = Objection::Held {
        held: 101,
        granted: 100,
    };
    check(
        &[begin(1, 100), OracleEvent::Allocate { bytes: 101 }],
        std::slice::from_ref(&held),
    );
    check(
        &[
            begin(1, 100),
            OracleEvent::Extend { task: 1, bytes: 1 },
            OracleEvent::Allocate { bytes: 101 },
        ],
        &[],
    );
    check(
        &[OracleEvent::Allocate { bytes: 1 }],
        &[Objection::Held {
            held: 1,
            granted: 0,
        }],
    );
}

#[test]
fn memory_that_outlives_its_task_is_objected_to_unless_the_process_ends() {
    let life = [begin(1, 8), OracleEvent::Allocate { bytes: 8 }];
    check(
        &[life[0], life[1], OracleEvent::End { task: 1 }],
        &[Objection::Held {
            held: 8,
            granted: 0,
        }],
    );
    check(
        &[
            life[0],
            life[1],
            OracleEvent::Exit,
            OracleEvent::End { task: 1 },
        ],
        &[],
    );
}

#[test]
fn a_launch_needs_an_open_task() {
    check(
        &[OracleEvent::Launch { stream: 0 }],
        &[Objection::LaunchOutside],
    );
    let after = [
        begin(1, 0),
        OracleEvent::End { task: 1 },
        OracleEvent::Launch { stream: 0 },
    ];
    check(&after, &[Objection::LaunchOutside]);
}

#[test]
fn tasks_of_one_thread_do_not_nest_and_those_of_two_may() {
    check(
        &[begin(1, 0), begin(2, 0)],
        &[Objection::Nested { outer: 1, inner: 2 }],
    );
    check(
        &[
            begin(1, 0),
            OracleEvent::Begin {
                task: 2,
                bytes: 0,
                thread: 2,
            },
        ],
        &[],
    );
}

#[test]
fn an_end_comes_once_and_after_its_begin() {
    check(
        &[OracleEvent::End { task: 1 }],
        &[Objection::NotOpen { task: 1 }],
    );
    check(
        &[
            begin(1, 0),
            OracleEvent::End { task: 1 },
            OracleEvent::End { task: 1 },
        ],
        &[Objection::NotOpen { task: 1 }],
    );
    check(
        &[begin(1, 0), OracleEvent::End { task: 1 }, begin(1, 0)],
        &[Objection::BegunTwice { task: 1 }],
    );
    check(
        &[OracleEvent::Extend { task: 3, bytes: 1 }],
        &[Objection::NotOpen { task: 3 }],
    );
}

#[test]
fn an_end_waits_for_queued_work_of_every_stream() {
    let queued = [
        begin(1, 0),
        OracleEvent::Launch { stream: 7 },
        OracleEvent::Queue { stream: 9 },
    ];
    let with = |more: &[OracleEvent]| [&queued[..], more, &[OracleEvent::End { task: 1 }]].concat();
    check(&with(&[]), &[Objection::Queued { task: 1 }]);
    check(
        &with(&[OracleEvent::Wait { stream: Some(7) }]),
        &[Objection::Queued { task: 1 }],
    );
    check(
        &with(&[
            OracleEvent::Wait { stream: Some(7) },
            OracleEvent::Wait { stream: Some(9) },
        ]),
        &[],
    );
    check(&with(&[OracleEvent::Wait { stream: None }]), &[]);
    check(&with(&[OracleEvent::Exit]), &[]);
}
