//! Who needs a apply: it is held until the last of them lets go, and no longer than its time.

use mapa_live::levers::{
    BlockIoLimits, CgroupPath, Holder, LeverChange, LeverEvent, LeverManager, Lifetime,
    MemoryJournal, SimulatedMachine,
};

const UNTIL: Lifetime = Lifetime::Until { ms: 30_000 };

fn limit(group: &str, mb_s: u32) -> LeverChange {
    LeverChange::BlockIo {
        group: CgroupPath::new(group).unwrap(),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(mb_s),
    }
}

fn manager(twin: &SimulatedMachine) -> LeverManager<MemoryJournal> {
    LeverManager::open(twin.levers(), MemoryJournal::default(), 0)
        .unwrap()
        .0
}

#[test]
fn a_change_is_held_until_the_last_of_its_holders_lets_go() {
    let twin = SimulatedMachine::with_group("a").unwrap();
    let mut manager = manager(&twin);
    let [first, second] = ["job 1", "job 2"].map(|who| Holder::new(who, "block-io"));
    let before = twin.state();
    for holder in [&first, &second, &second] {
        let event = manager.apply_for(holder, &limit("a", 200), UNTIL, 0);
        assert!(
            matches!(
                event,
                LeverEvent::Applied { id: 1, .. } | LeverEvent::Extended { id: 1, .. }
            ),
            "{event:?}"
        );
    }
    assert_eq!(manager.free(|holder| holder.who == "job 1"), []);
    assert_ne!(twin.state(), before, "the other needs it");
    assert_eq!(manager.needed_by(&first).count(), 0);
    assert_eq!(manager.needed_by(&second).collect::<Vec<_>>(), [1]);
    let event = manager.leave(&second, 1);
    assert!(
        matches!(event, Some(LeverEvent::Reverted { id: 1, .. })),
        "{event:?}"
    );
    assert_eq!((twin.state(), manager.leave(&second, 1)), (before, None));
}

#[test]
fn what_is_nobody_s_by_name_ends_by_its_time_alone_unless_somebody_adopts_it() {
    for adopts in [false, true] {
        let twin = SimulatedMachine::with_group("a").unwrap();
        let before = twin.state();
        let mut manager = manager(&twin);
        manager.apply(&limit("a", 200), UNTIL, 0);
        let holder = Holder::new("job 1", "block-io");
        manager.apply_for(&holder, &limit("a", 200), UNTIL, 0);
        if adopts {
            manager.adopt(1, holder);
        }
        assert_eq!(manager.free(|_| true).len(), usize::from(adopts));
        assert_eq!(twin.state() == before, adopts);
        assert_eq!(manager.revert_expired(30_000).len(), usize::from(!adopts));
        assert_eq!(twin.state(), before);
        // By then nobody needs it.
        assert_eq!(manager.free(|_| true), []);
    }
}

#[test]
fn of_two_who_want_other_limits_the_second_needs_that_of_the_first() {
    let twin = SimulatedMachine::with_group("a").unwrap();
    let before = twin.state();
    let mut manager = manager(&twin);
    let [first, second] = ["api", "chat"].map(|who| Holder::new(who, "etl"));
    manager.apply_for(&first, &limit("a", 200), UNTIL, 0);
    let event = manager.apply_for(&second, &limit("a", 100), UNTIL, 0);
    assert!(matches!(event, LeverEvent::Refused { .. }), "{event:?}");
    manager.share(&second);
    assert_eq!(manager.free(|holder| holder.who == "api"), []);
    assert_ne!(twin.state(), before);
    assert_eq!(manager.free(|holder| holder.who == "chat").len(), 1);
    assert_eq!(twin.state(), before);
}
