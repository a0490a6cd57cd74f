//! Random changes, failures at every step, crashes and reverting: in the end the machine is as before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mapa_live::ProcessId;
use mapa_live::levers::{
    BlockIoLimits, Controller, InjectedFault, Journal, JournalEntry, LeverChange, LeverError,
    LeverEvent, LeverManager, LeverSet, Lifetime, MemoryJournal, MigInstanceSpec, MigLayout,
    MpsServer, Plan, ProgramSpec, RouteFile, SimulatedMachine,
};
use proptest::prelude::*;

use super::{group, machine};

/// A journal that outlives its manager, as a file does.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<MemoryJournal>>);

impl Journal for Shared {
    fn put(&mut self, entry: &JournalEntry) -> Result<(), LeverError> {
        self.0.lock().unwrap().put(entry)
    }

    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        self.0.lock().unwrap().remove(id)
    }

    fn entries(&self) -> Result<Vec<JournalEntry>, LeverError> {
        self.0.lock().unwrap().entries()
    }
}

const PROCESS: ProcessId = ProcessId { pid: 7, start: 7 };

fn changes() -> impl Strategy<Value = LeverChange> {
    let groups = prop_oneof![Just(group("mapa/etl")), Just(group("mapa/batch"))];
    let limit = || proptest::option::of(100_000_000u64..=500_000_000);
    let limits = (limit(), limit(), proptest::option::of(100u64..10_000)).prop_map(
        |(read_bps, write_bps, read_iops)| BlockIoLimits {
            read_bps,
            write_bps,
            read_iops,
            write_iops: None,
        },
    );
    let cpus = || proptest::collection::btree_set(0u32..8, 1..5);
    let layouts = proptest::collection::vec(
        prop_oneof![
            Just("1g.5gb"),
            Just("2g.10gb"),
            Just("3g.20gb"),
            Just("7g.40gb")
        ],
        0..4,
    );
    let compute = proptest::bool::ANY;
    let server = || MpsServer("/mps".into());
    prop_oneof![
        (groups.clone(), limits).prop_map(|(group, limits)| LeverChange::BlockIo {
            group,
            device: "254:0".parse().unwrap(),
            limits,
        }),
        (groups, cpus(), proptest::option::of(0u32..2)).prop_map(|(group, cpus, mem)| {
            LeverChange::Cpuset {
                group,
                cpus: cpus.into_iter().collect(),
                mems: mem.map(|mem| [mem].into_iter().collect()),
            }
        }),
        cpus().prop_map(|cpus| LeverChange::Affinity {
            process: PROCESS,
            cpus: cpus.into_iter().collect(),
        }),
        prop_oneof![Just("mapa/etl"), Just("mapa/new/deep")].prop_map(|path| {
            LeverChange::AssignCgroup {
                process: Some(PROCESS),
                group: group(path),
                controllers: vec![Controller::BlockIo, Controller::Cpuset],
            }
        }),
        (50u32..=100).prop_map(move |percent| LeverChange::MpsPercent {
            server: server(),
            percent,
        }),
        proptest::option::of(256u64..10_000).prop_map(move |mib| LeverChange::MpsPinned {
            server: server(),
            device: 0,
            mib,
        }),
        (proptest::bool::ANY).prop_map(move |running| LeverChange::MpsDaemon {
            server: MpsServer("/other".into()),
            running,
        }),
        (
            prop_oneof![Just("GPU-a"), Just("GPU-b")],
            proptest::bool::weighted(0.9),
            layouts,
            compute
        )
            .prop_map(|(device, enabled, profiles, halves)| LeverChange::Layout {
                device: device.to_owned(),
                layout: MigLayout {
                    enabled,
                    instances: profiles
                        .into_iter()
                        .filter(|_| enabled)
                        .map(|profile| MigInstanceSpec {
                            compute: if halves && profile == "2g.10gb" {
                                vec![1, 1]
                            } else {
                                vec![]
                            },
                            ..MigInstanceSpec::of(profile)
                        })
                        .collect(),
                },
            }),
        Just(LeverChange::Run {
            program: ProgramSpec::new("new", ["serve"]),
        }),
        Just(LeverChange::Stop {
            program: ProgramSpec::new("old", ["serve"]),
        }),
        proptest::bool::ANY.prop_map(|warm| LeverChange::HandOver {
            old: ProgramSpec::new("old", ["serve"]),
            new: ProgramSpec::new("newer", ["serve"]),
            route: Some(RouteFile {
                file: "/run/route".into(),
                text: "newer".to_owned(),
            }),
            warm,
        }),
    ]
}

/// What happens to a manager.
#[derive(Clone, Debug)]
enum Event {
    Pull(LeverChange, u64),
    /// A change that fails at the operation with this number.
    Fails(LeverChange, u64, bool),
    /// A program that is killed after so many steps of a change.
    Killed(LeverChange, usize),
    Undo(usize),
    Tick(u64),
    Crash,
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (changes(), 1u64..60_000).prop_map(|(change, ms)| Event::Pull(change, ms)),
        3 => (changes(), 0u64..6, proptest::bool::ANY)
            .prop_map(|(change, skip, amid)| Event::Fails(change, skip, amid)),
        2 => (changes(), 0usize..5).prop_map(|(change, steps)| Event::Killed(change, steps)),
        1 => (0usize..8).prop_map(Event::Undo),
        1 => (1u64..30_000).prop_map(Event::Tick),
        1 => Just(Event::Crash),
    ]
}

fn open(twin: &SimulatedMachine, journal: &Shared, now: u64) -> LeverManager<Shared> {
    let (manager, events) = LeverManager::open(twin.levers(), journal.clone(), now).unwrap();
    for event in events {
        assert!(matches!(event, LeverEvent::Reverted { .. }), "{event:?}");
    }
    manager
}

/// Carries out the first steps of a plan, as a program does that is killed then.
fn begin(levers: &mut LeverSet, plan: &Plan, steps: usize) {
    let mut part = plan.clone();
    part.steps.truncate(steps);
    let _ = levers.apply(&part);
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    #[test]
    fn whatever_change_fails_or_is_killed_all_is_as_before_in_the_end(
        history in proptest::collection::vec(events(), 1..24)
    ) {
        let twin = machine();
        let before = twin.state();
        let journal = Shared::default();
        let mut now = 0;
        let mut manager = open(&twin, &journal, now);
        for event in history {
            match event {
                Event::Pull(change, ms) => {
                    let event = manager.apply(&change, Lifetime::Until { ms: now + ms }, now);
                    prop_assert!(!matches!(event, LeverEvent::Failed { .. }), "{event:?}");
                }
                Event::Fails(change, skip, amid) => {
                    let was = twin.state();
                    twin.fail(skip, if amid { InjectedFault::Amid } else { InjectedFault::Before });
                    let event = manager.apply(&change, Lifetime::Session, now);
                    twin.heal();
                    if let LeverEvent::Failed { failure, .. } = &event {
                        prop_assert!(failure.left.is_empty(), "{failure}");
                        prop_assert_eq!(twin.state(), was, "{}", failure);
                    }
                }
                Event::Killed(change, steps) => {
                    let held = manager.active().any(|entry| {
                        entry.change.targets().iter().any(|at| change.targets().contains(at))
                    });
                    let Ok(plan) = manager.plan(&change) else { continue };
                    if held {
                        continue;
                    }
                    let id = journal.entries().unwrap().last().map_or(1, |entry| entry.id + 1);
                    let entry = JournalEntry {
                        id: id.max(1000),
                        change,
                        plan: plan.clone(),
                        lifetime: Lifetime::Kept,
                        confirmed: false,
                        boot: None,
                    };
                    journal.clone().put(&entry).unwrap();
                    begin(manager.levers(), &plan, steps);
                    std::mem::forget(manager);
                    manager = open(&twin, &journal, now);
                }
                Event::Undo(at) => {
                    let ids: Vec<u64> = manager.active().map(|entry| entry.id).collect();
                    if let Some(id) = ids.get(at) {
                        let event = manager.revert(*id).unwrap();
                        let reverted = matches!(event, LeverEvent::Reverted { .. });
                        prop_assert!(reverted, "{event:?}");
                    }
                }
                Event::Tick(ms) => {
                    now += ms;
                    for event in manager.revert_expired(now) {
                        let reverted = matches!(event, LeverEvent::Reverted { .. });
                        prop_assert!(reverted, "{event:?}");
                    }
                }
                Event::Crash => {
                    std::mem::forget(manager);
                    manager = open(&twin, &journal, now);
                }
            }
            // What is held has time left.
            let past = |entry: &JournalEntry| matches!(entry.lifetime, Lifetime::Until { ms } if ms < now);
            prop_assert!(!manager.active().any(past) || now == 0);
        }
        manager.close();
        drop(manager);
        prop_assert_eq!(twin.state(), before);
        prop_assert_eq!(journal.entries().unwrap(), []);
    }

    #[test]
    fn a_plan_survives_json_reverts_twice_as_once_and_a_second_change_plans_nothing(change in changes()) {
        let twin = machine();
        let before = twin.state();
        let mut levers = twin.levers();
        let Ok(plan) = levers.plan(&change) else { return Ok(()) };
        let text = serde_json::to_string(&plan).unwrap();
        let plan: Plan = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&plan).unwrap(), text);
        levers.apply(&plan).unwrap();
        let done = twin.state();
        // Idempotent: once more changes nothing, and there is nothing to plan.
        levers.apply(&plan).unwrap();
        prop_assert_eq!(&twin.state(), &done);
        prop_assert!(levers.plan(&change).unwrap().is_empty());
        prop_assert!(plan.words.len() == plan.steps.len());
        levers.revert(&plan).unwrap();
        prop_assert_eq!(&twin.state(), &before);
        levers.revert(&plan).unwrap();
        prop_assert_eq!(&twin.state(), &before);
    }

    #[test]
    fn every_step_may_fail_before_or_amid_and_leaves_no_half_state(change in changes()) {
        let twin = machine();
        let before = twin.state();
        let mut levers = twin.levers();
        let Ok(plan) = levers.plan(&change) else { return Ok(()) };
        let begun = twin.changes();
        levers.apply(&plan).unwrap();
        let changes = twin.changes() - begun;
        levers.revert(&plan).unwrap();
        for fault in [InjectedFault::Before, InjectedFault::Amid] {
            for skip in 0..changes {
                twin.fail(skip, fault);
                let failure = levers.apply(&plan).unwrap_err();
                prop_assert!(failure.left.is_empty(), "{failure}");
                prop_assert_eq!(&twin.state(), &before, "change {}: {}", skip, failure);
            }
        }
    }
}

#[test]
fn what_somebody_else_has_changed_since_stays() {
    let twin = machine();
    let mut levers = twin.levers();
    let change = LeverChange::BlockIo {
        group: group("mapa/etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(200),
    };
    let plan = levers.plan(&change).unwrap();
    levers.apply(&plan).unwrap();
    let mut state = twin.state();
    let limits = state.limits.values_mut().next().unwrap();
    limits.write_bps = Some(77);
    twin.set_state(state);
    levers.revert(&plan).unwrap();
    let left: BTreeMap<_, _> = twin.state().limits;
    let left: Vec<&BlockIoLimits> = left.values().collect();
    assert_eq!((left[0].read_bps, left[0].write_bps), (None, Some(77)));
}

#[test]
fn what_is_left_is_reported_stays_in_the_journal_and_is_reverted_later() {
    let twin = machine();
    let before = twin.state();
    let journal = Shared::default();
    let mut manager = open(&twin, &journal, 0);
    let change = LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: vec![
                MigInstanceSpec::of("3g.20gb"),
                MigInstanceSpec::of("3g.20gb"),
            ],
        },
    };
    // The second instance cannot be made, and the first one is in use by then.
    twin.use_instance("GPU-a", 0, true);
    twin.fail(1, InjectedFault::Before);
    let event = manager.apply(&change, Lifetime::Session, 0);
    let LeverEvent::Failed { id, failure } = event else {
        panic!("{event:?}")
    };
    assert_eq!(failure.step, 1);
    insta::assert_snapshot!(
        failure.to_string(),
        @"step 1 of layout: create an instance: a fault that was set; some is NOT as before"
    );
    let reasons: Vec<&str> = failure.left.iter().map(LeverError::reason).collect();
    assert_eq!(reasons, ["busy"], "{}", failure);
    assert_eq!(journal.entries().unwrap().len(), 1);
    // Nothing else may set the device meanwhile.
    let refused = manager.apply(&turn_off(), Lifetime::Session, 0);
    assert!(
        matches!(
            &refused,
            LeverEvent::Refused {
                why: LeverError::Busy { .. },
                ..
            }
        ),
        "{refused:?}"
    );
    // The same change is not done either, however long it is to hold.
    for lifetime in [Lifetime::Session, Lifetime::Kept] {
        let refused = manager.apply(&change, lifetime, 0);
        assert!(
            matches!(&refused, LeverEvent::Refused { why, .. } if why.reason() == "busy"),
            "{refused:?}"
        );
    }
    assert!(matches!(
        manager.revert_expired(1)[..],
        [LeverEvent::RevertFailed { .. }]
    ));
    twin.use_instance("GPU-a", 0, false);
    let events = manager.revert_expired(2);
    assert!(matches!(events[..], [LeverEvent::Reverted { id: own, .. }] if own == id));
    assert_eq!(twin.state(), before);
}

#[test]
fn what_could_not_be_reverted_is_tried_again_at_every_tick_and_is_no_longer_held() {
    let twin = machine();
    let before = twin.state();
    let journal = Shared::default();
    let mut manager = open(&twin, &journal, 0);
    let change = LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: vec![MigInstanceSpec::of("3g.20gb")],
        },
    };
    let event = manager.apply(&change, Lifetime::Session, 0);
    let LeverEvent::Applied { id, .. } = event else {
        panic!("{event:?}")
    };
    twin.use_instance("GPU-a", 0, true);
    let event = manager.revert(id).unwrap();
    assert!(
        matches!(event, LeverEvent::RevertFailed { .. }),
        "{event:?}"
    );
    let kept = journal.entries().unwrap();
    assert!(!kept[0].confirmed, "{kept:?}");
    let refused = manager.apply(&change, Lifetime::Kept, 0);
    assert!(
        matches!(&refused, LeverEvent::Refused { why, .. } if why.reason() == "busy"),
        "{refused:?}"
    );
    twin.use_instance("GPU-a", 0, false);
    let events = manager.revert_expired(1);
    assert!(
        matches!(events[..], [LeverEvent::Reverted { .. }]),
        "{events:?}"
    );
    assert_eq!(twin.state(), before);
    assert_eq!(journal.entries().unwrap(), []);
}

fn enrol(twin: &SimulatedMachine, path: &str) -> LeverChange {
    let process = twin.add_process(70, &[]);
    LeverChange::AssignCgroup {
        process: Some(process),
        group: group(path),
        controllers: vec![Controller::BlockIo, Controller::Cpuset],
    }
}

#[test]
fn groups_of_others_keep_their_limits_when_a_controller_is_no_longer_needed() {
    let twin = SimulatedMachine::new();
    let mut levers = twin.levers();
    let plan = levers.plan(&enrol(&twin, "mapa")).unwrap();
    levers.apply(&plan).unwrap();
    let device = "254:0".parse().unwrap();
    let mut state = twin.state();
    state
        .groups
        .insert((Controller::BlockIo, group("etl")), false);
    state
        .limits
        .insert((group("etl"), device), BlockIoLimits::mb_s(300));
    twin.set_state(state);
    levers.revert(&plan).unwrap();
    let state = twin.state();
    assert_eq!(
        state.limits[&(group("etl"), device)],
        BlockIoLimits::mb_s(300)
    );
    assert!(
        !state
            .groups
            .contains_key(&(Controller::BlockIo, group("mapa")))
    );
    // Nobody else needs the other controller.
    assert!(!state.groups[&(Controller::Cpuset, group(""))]);
}

#[test]
fn what_a_process_has_started_leaves_a_group_with_it() {
    let twin = SimulatedMachine::new();
    let before = twin.state();
    let mut levers = twin.levers();
    let plan = levers.plan(&enrol(&twin, "mapa/job")).unwrap();
    levers.apply(&plan).unwrap();
    // It starts another one, which is in its groups, and ends.
    twin.add_process(71, &[]);
    let mut state = twin.state();
    for controller in [Controller::BlockIo, Controller::Cpuset] {
        state.members.insert((controller, 71), group("mapa/job"));
    }
    twin.set_state(state);
    twin.end_process(70);
    levers.revert(&plan).unwrap();
    twin.end_process(71);
    assert_eq!(twin.state(), before);
}

#[test]
fn a_group_that_cannot_be_removed_is_reported() {
    let twin = SimulatedMachine::new();
    let before = twin.state();
    let mut manager = open(&twin, &Shared::default(), 0);
    let change = LeverChange::AssignCgroup {
        process: None,
        group: group("mapa"),
        controllers: vec![Controller::BlockIo],
    };
    let event = manager.apply(&change, Lifetime::Session, 0);
    let LeverEvent::Applied { id, .. } = event else {
        panic!("{event:?}")
    };
    twin.add_process(70, &[]);
    let mut state = twin.state();
    let member = (Controller::BlockIo, 70);
    state.members.insert(member, group("mapa"));
    twin.set_state(state);
    let event = manager.revert(id).unwrap();
    assert!(
        matches!(&event, LeverEvent::RevertFailed { left, .. } if left[0].reason() == "busy"),
        "{event:?}"
    );
    twin.end_process(70);
    assert!(matches!(
        manager.revert_expired(1)[..],
        [LeverEvent::Reverted { .. }]
    ));
    assert_eq!(twin.state(), before);
}

#[test]
fn mig_that_was_turned_on_stays_on_for_instances_of_others() {
    let twin = machine();
    let mut levers = twin.levers();
    let mut state = twin.state();
    state.mig.get_mut("GPU-a").unwrap().enabled = false;
    state.mig.get_mut("GPU-a").unwrap().pending = false;
    twin.set_state(state);
    let change = LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: vec![],
        },
    };
    let plan = levers.plan(&change).unwrap();
    levers.apply(&plan).unwrap();
    let theirs = LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: vec![MigInstanceSpec::of("3g.20gb")],
        },
    };
    let other = levers.plan(&theirs).unwrap();
    levers.apply(&other).unwrap();
    let changes = twin.changes();
    let left = levers.revert(&plan).unwrap_err();
    assert_eq!(left[0].reason(), "busy");
    assert_eq!(twin.changes(), changes, "the driver is not even asked");
    levers.revert(&other).unwrap();
    levers.revert(&plan).unwrap();
    assert!(!twin.state().mig["GPU-a"].enabled);
}

#[test]
fn what_was_set_on_processes_and_groups_before_the_last_boot_is_left_alone() {
    let twin = machine();
    let at_boot = |boot: &str| {
        let mut levers = twin.levers();
        levers.boot = Some(boot.to_owned());
        levers
    };
    let journal = Shared::default();
    let (mut manager, _) = LeverManager::open(at_boot("first"), journal.clone(), 0).unwrap();
    let until = Lifetime::Until { ms: 60_000 };
    let affinity = LeverChange::Affinity {
        process: PROCESS,
        cpus: "1".parse().unwrap(),
    };
    let limits = LeverChange::BlockIo {
        group: group("mapa/etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(200),
    };
    let layout = LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: vec![MigInstanceSpec::of("3g.20gb")],
        },
    };
    for change in [&affinity, &limits, &layout] {
        let event = manager.apply(change, until, 0);
        assert!(matches!(event, LeverEvent::Applied { .. }), "{event:?}");
    }
    std::mem::forget(manager);
    // Another process has the number and the start now, and happens to be bound in the same way.
    let was = twin.state();
    let (_manager, events) = LeverManager::open(at_boot("second"), journal.clone(), 1).unwrap();
    // The time of all three is past. Instances outlive a boot, so they alone are reverted.
    assert_eq!(events.len(), 3, "{events:?}");
    let is = twin.state();
    assert!(is.mig["GPU-a"].instances.is_empty());
    assert_eq!((is.limits, is.threads), (was.limits, was.threads));
    assert_eq!(journal.entries().unwrap(), []);
}

#[test]
fn an_extension_never_shortens_a_time() {
    let twin = machine();
    let mut manager = open(&twin, &Shared::default(), 0);
    let change = LeverChange::BlockIo {
        group: group("mapa/etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(200),
    };
    let orders = [
        (
            Lifetime::Until { ms: 40_000 },
            Lifetime::Until { ms: 40_000 },
        ),
        (
            Lifetime::Until { ms: 20_000 },
            Lifetime::Until { ms: 40_000 },
        ),
        (Lifetime::Session, Lifetime::Session),
        (Lifetime::Until { ms: 90_000 }, Lifetime::Session),
    ];
    for (asked, has) in orders {
        manager.apply(&change, asked, 0);
        let held: Vec<Lifetime> = manager.active().map(|entry| entry.lifetime).collect();
        assert_eq!(held, [has]);
    }
}

fn turn_off() -> LeverChange {
    LeverChange::Layout {
        device: "GPU-A".to_owned(),
        layout: MigLayout::default(),
    }
}

#[test]
fn a_program_that_is_never_ready_is_stopped_and_the_old_one_goes_on() {
    for warm in [true, false] {
        let twin = machine();
        let before = twin.state();
        twin.never_ready("new");
        let mut levers = twin.levers();
        let change = LeverChange::HandOver {
            old: ProgramSpec::new("old", ["serve"]),
            new: ProgramSpec::new("new", ["serve"]),
            route: Some(RouteFile {
                file: "/run/route".into(),
                text: "new".to_owned(),
            }),
            warm,
        };
        let plan = levers.plan(&change).unwrap();
        let failure = levers.apply(&plan).unwrap_err();
        assert!(failure.left.is_empty(), "{failure}");
        assert_eq!(twin.state(), before);
    }
}

#[test]
fn instances_that_a_layout_has_as_well_stay() {
    let twin = machine();
    let mut levers = twin.levers();
    let layout = |profiles: &[&str]| LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: profiles
                .iter()
                .map(|profile| MigInstanceSpec::of(*profile))
                .collect(),
        },
    };
    let plan = levers.plan(&layout(&["3g.20gb", "1g.5gb"])).unwrap();
    levers.apply(&plan).unwrap();
    let kept = twin.state().mig["GPU-a"].instances.clone();
    // What is in use is not touched by a layout that has it.
    for place in &kept {
        twin.use_instance("GPU-a", place.start, true);
    }
    let plan = levers
        .plan(&layout(&["1g.5gb", "2g.10gb", "3g.20gb"]))
        .unwrap();
    assert_eq!(plan.steps.len(), 1, "{plan}");
    levers.apply(&plan).unwrap();
    let refused = levers.plan(&layout(&["7g.40gb", "1g.5gb"])).unwrap_err();
    assert_eq!(refused.reason(), "infeasible");
    // One that has it not fails, and leaves all as it was.
    let was = twin.state();
    let plan = levers.plan(&layout(&["7g.40gb"])).unwrap();
    let failure = levers.apply(&plan).unwrap_err();
    assert_eq!(failure.why.reason(), "busy");
    assert_eq!(twin.state(), was);
}
