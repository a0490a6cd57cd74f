//! Changes that take long: the manager has them in its journal, and another thread carries them out.

use mapa_live::levers::{
    ApplyFailure, FolderJournal, InjectedFault, LeverChange, LeverError, LeverEvent, LeverManager,
    LeverSet, Lifetime, ProgramSpec, SimulatedMachine,
};

use super::machine;

fn hand_over() -> LeverChange {
    LeverChange::HandOver {
        old: ProgramSpec::new("old", ["serve"]),
        new: ProgramSpec::new("new", ["serve"]),
        route: None,
        warm: true,
    }
}

fn open(
    twin: &SimulatedMachine,
    folder: &std::path::Path,
) -> (LeverManager<FolderJournal>, Vec<LeverEvent>) {
    let journal = FolderJournal::open(folder).unwrap();
    LeverManager::open(twin.levers(), journal, 0).unwrap()
}

#[test]
fn a_change_that_is_carried_out_elsewhere_is_left_alone_until_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let (mut manager, _) = open(&twin, folder.path());
    let (id, plan) = manager.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    assert_eq!(manager.active().count(), 1, "it is in the journal");
    // Nobody else gets the programs, and neither time nor the exit reverts what is under way.
    let again = manager.begin(&hand_over(), Lifetime::Kept, 0).unwrap_err();
    assert!(
        matches!(
            &again,
            LeverEvent::Refused {
                why: LeverError::Busy { .. },
                ..
            }
        ),
        "{again:?}"
    );
    assert_eq!(manager.revert_expired(u64::MAX), []);
    assert_eq!(manager.close(), []);
    assert_eq!(manager.revert(id), None);
    let done = twin.levers().apply(&plan);
    let event = manager.finish(id, done).unwrap();
    assert!(matches!(event, LeverEvent::Applied { .. }), "{event:?}");
    assert_eq!(manager.active().count(), 0, "it is kept");
    assert_eq!(manager.finish(id, Ok(())), None, "it is over");
    let programs = twin.state().programs;
    assert!(programs.contains("new") && !programs.contains("old"));
}

#[test]
fn after_a_crash_the_next_manager_reverts_what_was_carried_out_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let before = twin.state();
    let (mut manager, _) = open(&twin, folder.path());
    let (_, plan) = manager.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    twin.levers().apply(&plan).unwrap();
    assert_ne!(twin.state(), before);
    // As one that is killed: it is told of nothing more, and its end takes nothing back.
    drop(manager);
    assert_ne!(twin.state(), before);
    let (_keeper, events) = open(&twin, folder.path());
    assert!(
        matches!(events[..], [LeverEvent::Reverted { .. }]),
        "{events:?}"
    );
    assert_eq!(twin.state(), before);
}

#[test]
fn what_is_left_of_a_change_elsewhere_is_reverted_there() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let before = twin.state();
    let (mut manager, _) = open(&twin, folder.path());
    let (id, plan) = manager.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    let mut elsewhere: LeverSet = twin.levers();
    // All was done, and is told to have failed halfway.
    elsewhere.apply(&plan).unwrap();
    let failed = Err(ApplyFailure {
        lever: plan.lever.clone(),
        step: 1,
        why: Box::new(LeverError::failed("a program", "it does not answer")),
        left: vec![LeverError::failed("a program", "it does not answer")],
    });
    let event = manager.finish(id, failed).unwrap();
    let LeverEvent::Failed { failure, .. } = event else {
        panic!("{event:?}: expected a failure");
    };
    assert!(!failure.left.is_empty(), "{failure}");
    assert_eq!(manager.revert_expired(u64::MAX), [], "not here");
    for heals in [false, true] {
        if heals {
            twin.heal();
        } else {
            twin.fail(0, InjectedFault::Before);
        }
        let left = manager.left_away().next().unwrap();
        let done = elsewhere.revert(&left.plan.clone());
        let event = manager.finish_revert(id, done).unwrap();
        assert_eq!(
            matches!(event, LeverEvent::Reverted { .. }),
            heals,
            "{event:?}"
        );
    }
    assert_eq!(manager.left_away().count(), 0);
    assert_eq!(twin.state(), before);
    assert_eq!(manager.active().count(), 0);
}
