//! Pulls that take long: the keeper has them in its journal, and another thread carries them out.

use mapa_live::levers::{
    Failure, FolderJournal, InjectedFault, LeverChange, LeverError, LeverEvent, LeverManager,
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
    LeverManager::open(twin.hands(), journal, 0).unwrap()
}

#[test]
fn a_pull_that_is_carried_out_elsewhere_is_left_alone_until_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let (mut keeper, _) = open(&twin, folder.path());
    let (id, plan) = keeper.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    assert_eq!(keeper.active().count(), 1, "it is in the journal");
    // Nobody else gets the programs, and neither time nor the exit takes back what is under way.
    let again = keeper.begin(&hand_over(), Lifetime::Kept, 0).unwrap_err();
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
    assert_eq!(keeper.revert_expired(u64::MAX), []);
    assert_eq!(keeper.close(), []);
    assert_eq!(keeper.revert(id), None);
    let done = twin.hands().pull(&plan);
    let fact = keeper.finish(id, done).unwrap();
    assert!(matches!(fact, LeverEvent::Applied { .. }), "{fact:?}");
    assert_eq!(keeper.active().count(), 0, "it is kept");
    assert_eq!(keeper.finish(id, Ok(())), None, "it is over");
    let programs = twin.state().programs;
    assert!(programs.contains("new") && !programs.contains("old"));
}

#[test]
fn after_a_crash_the_next_keeper_takes_back_what_was_carried_out_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let before = twin.state();
    let (mut keeper, _) = open(&twin, folder.path());
    let (_, plan) = keeper.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    twin.hands().pull(&plan).unwrap();
    assert_ne!(twin.state(), before);
    // As one that is killed: it is told of nothing more, and its end takes nothing back.
    drop(keeper);
    assert_ne!(twin.state(), before);
    let (_keeper, facts) = open(&twin, folder.path());
    assert!(
        matches!(facts[..], [LeverEvent::Reverted { .. }]),
        "{facts:?}"
    );
    assert_eq!(twin.state(), before);
}

#[test]
fn what_is_left_of_a_pull_elsewhere_is_taken_back_there() {
    let folder = tempfile::tempdir().unwrap();
    let twin = machine();
    let before = twin.state();
    let (mut keeper, _) = open(&twin, folder.path());
    let (id, plan) = keeper.begin(&hand_over(), Lifetime::Kept, 0).unwrap();
    let mut elsewhere: LeverSet = twin.hands();
    // All was done, and is told to have failed halfway.
    elsewhere.pull(&plan).unwrap();
    let failed = Err(Failure {
        lever: plan.lever.clone(),
        step: 1,
        why: Box::new(LeverError::failed("a program", "it does not answer")),
        left: vec![LeverError::failed("a program", "it does not answer")],
    });
    let fact = keeper.finish(id, failed).unwrap();
    let LeverEvent::Failed { failure, .. } = fact else {
        panic!("{fact:?}: expected a failure");
    };
    assert!(!failure.left.is_empty(), "{failure}");
    assert_eq!(keeper.revert_expired(u64::MAX), [], "not here");
    for heals in [false, true] {
        if heals {
            twin.heal();
        } else {
            twin.fail(0, InjectedFault::Before);
        }
        let left = keeper.left_away().next().unwrap();
        let done = elsewhere.undo(&left.plan.clone());
        let fact = keeper.finish_undo(id, done).unwrap();
        assert_eq!(
            matches!(fact, LeverEvent::Reverted { .. }),
            heals,
            "{fact:?}"
        );
    }
    assert_eq!(keeper.left_away().count(), 0);
    assert_eq!(twin.state(), before);
    assert_eq!(keeper.active().count(), 0);
}
