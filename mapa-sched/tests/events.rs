//! Any events and any orders, sense or nonsense: nothing breaks, and what is wrong is refused whole.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::{Layout, Size};
use mapa_core::testing::patterns;
use mapa_core::{
    BuiltIn, Demand, DeviceId, HardwareGraph, LeaseId, MachineId, Pattern, Reason, Refusal,
    Request, WhatIf,
};
use mapa_sched::{
    Action, Assignment, Error, Event, Fleet, Job, JobId, Latency, Scheduler, Signals, TaskId,
    Tenant, Time, Token,
};
use mapa_sched::{Turn, step};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use mapa_sched::testing::in_turn;
use mapa_sched::testing::{any_machines, check, cuttable, job, layout, other_model, quarters};

fn layouts() -> impl Strategy<Value = Layout> {
    let layouts: Vec<Layout> = quarters().layouts().collect();
    let nothing = quarters().layout(&[]).unwrap();
    let foreign = other_model().layouts().last().unwrap();
    prop_oneof![6 => select(layouts), 2 => Just(Layout::whole()), 1 => Just(nothing), 1 => Just(foreign)]
}

fn requests() -> impl Strategy<Value = Request> {
    let sizes = select(vec![Size::new(1, 1), Size::new(2, 2), Size::new(4, 4)]);
    let demand = prop_oneof![
        sizes.prop_map(Demand::slice),
        Just(Demand::any()),
        Just(Demand::whole()),
        (1u64..20).prop_map(|gib| Demand::any().shared().memory(gib << 30).warps(64)),
        Just(Demand::any().shared()),
    ];
    let each = (patterns(1..=3), demand).prop_map(|(pattern, demand)| pattern.each(demand));
    let empty = Just(Pattern::ring(0));
    prop_oneof![3 => patterns(1..=3), 6 => each, 1 => empty].prop_map(Request::new)
}

fn tenants() -> impl Strategy<Value = Tenant> {
    prop_oneof![
        2 => (0u64..3).prop_map(job),
        1 => (0u64..2, 0u64..2).prop_map(|(job, task)| Tenant::Task(JobId(job), TaskId(task)))
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let id = || (0u64..5).prop_map(JobId);
    let machine = || prop_oneof![4 => 0u32..3, 1 => 3u32..5].prop_map(MachineId);
    let whole = || prop_oneof![5 => 0u32..2, 1 => 2u32..99].prop_map(DeviceId);
    prop_oneof![
        1 => (id(), requests()).prop_map(|(id, request)| Event::Arrived(Job::new(id, request))),
        1 => id().prop_map(Event::Finished),
        1 => id().prop_map(Event::Failed),
        1 => id().prop_map(Event::Cancelled),
        1 => (id(), 0u64..3, requests()).prop_map(|(job, task, request)| Event::TaskBegin {
            job,
            task: TaskId(task),
            request
        }),
        1 => (id(), 0u64..3).prop_map(|(job, task)| Event::TaskEnd { job, task: TaskId(task) }),
        4 => (machine(), whole(), layouts()).prop_map(|(machine, whole, layout)| {
            Event::LayoutIs { machine, whole, layout }
        }),
        1 => (tenants(), any::<u64>()).prop_map(|(tenant, nanoseconds)| {
            Event::Latency(Latency { tenant, took: Duration::from_nanos(nanoseconds) })
        }),
        1 => machine().prop_map(|machine| Event::Signals(Signals { machine, ..Signals::default() })),
        1 => any::<u64>().prop_map(|token| Event::Woken(Token(token))),
        1 => (machine(), whole(), any::<bool>()).prop_map(|(machine, whole, occupied)| {
            Event::Occupied { machine, whole, occupied }
        }),
        1 => (machine(), whole(), any::<bool>()).prop_map(|(machine, whole, ill)| {
            Event::Health { machine, whole, trouble: ill.then(|| "Xid 79".to_owned()) }
        }),
        2 => (id(), requests(), machine(), vec(whole(), 0..4)).prop_map(|(id, request, machine, placement)| {
            let at = Assignment {
                machine,
                lease: LeaseId::default(),
                placement: placement.into_iter().collect(),
                rest: Vec::new(),
            };
            Event::Adopted { job: Job::new(id, request), at, since: Time::ZERO }
        }),
    ]
}

/// What a scheduler without sense does in one turn.
#[derive(Clone, Debug)]
enum Whim {
    Start(Tenant, usize, Request),
    /// Decided earlier, in any state.
    PlaceOld(Tenant, usize),
    MoveWithout(Tenant, Tenant, usize, Request),
    MoveBeside(Tenant, usize, Request),
    MoveOld(Tenant, usize),
    Suspend(Tenant),
    Repartition(MachineId, DeviceId, Layout),
}

fn whims() -> impl Strategy<Value = Whim> {
    let policy = || 0..BuiltIn::ALL.len();
    prop_oneof![
        4 => (tenants(), policy(), requests()).prop_map(|(tenant, policy, request)| Whim::Start(tenant, policy, request)),
        1 => (tenants(), 0usize..8).prop_map(|(tenant, old)| Whim::PlaceOld(tenant, old)),
        2 => (tenants(), tenants(), policy(), requests()).prop_map(|(a, b, policy, request)| {
            Whim::MoveWithout(a, b, policy, request)
        }),
        2 => (tenants(), policy(), requests()).prop_map(|(a, policy, request)| Whim::MoveWithout(a, a, policy, request)),
        2 => (tenants(), policy(), requests()).prop_map(|(a, policy, request)| Whim::MoveBeside(a, policy, request)),
        1 => (tenants(), 0usize..8).prop_map(|(tenant, old)| Whim::MoveOld(tenant, old)),
        1 => tenants().prop_map(Whim::Suspend),
        4 => (0u32..3, 0u32..2, layouts()).prop_map(|(machine, whole, layout)| {
            Whim::Repartition(MachineId(machine), DeviceId(whole), layout)
        }),
    ]
}

/// Follows its whims, one list a turn, and records its events.
struct Moody {
    whims: std::vec::IntoIter<Vec<Whim>>,
    told: Vec<Event>,
    decisions: Vec<mapa_core::Decision>,
}

impl Moody {
    fn new(whims: Vec<Vec<Whim>>) -> Self {
        Self {
            whims: whims.into_iter(),
            told: Vec::new(),
            decisions: Vec::new(),
        }
    }

    fn follow(&mut self, whim: Whim, turn: &mut Turn<'_>) {
        let policy = |i: usize| BuiltIn::named(BuiltIn::ALL[i].name).unwrap();
        let before = turn.fleet().clone();
        let done = match whim {
            Whim::Start(tenant, i, request) => {
                turn.decide(policy(i), &request).and_then(|decision| {
                    self.decisions.push(decision.clone());
                    turn.place(tenant, decision).map(drop)
                })
            }
            Whim::PlaceOld(tenant, old) => match self.decisions.get(old).cloned() {
                Some(decision) => turn.place(tenant, decision).map(drop),
                None => return,
            },
            Whim::MoveWithout(tenant, gone, i, request) => {
                let Some(imagined) = turn.without(gone) else {
                    return assert!(before.lease_of(gone).is_none());
                };
                let decided = WhatIf::view(&imagined).decide(policy(i), &request);
                decided.and_then(|decision| {
                    self.decisions.push(decision.clone());
                    let before = before
                        .lease_of(tenant)
                        .map(|(machine, lease)| (machine, lease.id));
                    let moved = turn.relocate(tenant, decision)?;
                    assert_eq!(
                        Some((moved.machine, moved.lease)),
                        before,
                        "a move on one machine keeps the lease's id"
                    );
                    Ok(())
                })
            }
            Whim::MoveBeside(tenant, i, request) => turn
                .decide(policy(i), &request)
                .and_then(|decision| turn.relocate(tenant, decision).map(drop)),
            Whim::MoveOld(tenant, old) => match self.decisions.get(old).cloned() {
                Some(decision) => turn.relocate(tenant, decision).map(drop),
                None => return,
            },
            Whim::Suspend(tenant) => {
                let suspended = turn.suspend(tenant);
                assert_eq!(suspended.is_ok(), before.lease_of(tenant).is_some());
                suspended.map_err(|_| Refusal::Busy(Reason::Stale))
            }
            Whim::Repartition(machine, whole, layout) => turn
                .repartition(machine, whole, layout)
                .map_err(|_| Refusal::Busy(Reason::Stale)),
        };
        if done.is_err() {
            assert_eq!(turn.fleet(), &before, "what is refused changes nothing");
        }
        check(turn.fleet());
    }
}

impl Scheduler for Moody {
    fn name(&self) -> &str {
        "moody"
    }
    fn on_event(&mut self, _: Time, event: Event) {
        self.told.push(event);
    }
    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        for whim in self.whims.next().unwrap_or_default() {
            self.follow(whim, turn);
        }
    }
}

/// Instants of events and whims; the actions, the events, the errors, and the fleet.
fn live(
    machines: &[Arc<HardwareGraph>],
    instants: &[(Vec<Event>, Vec<Whim>)],
) -> (Vec<Action>, Vec<Event>, Vec<String>, Fleet) {
    let mut fleet = Fleet::new(machines.iter().cloned());
    let mut moody = Moody::new(instants.iter().map(|(_, whims)| whims.clone()).collect());
    let (mut orders, mut errors) = (Vec::new(), Vec::new());
    for (now, (events, _)) in (0..).map(Time).zip(instants) {
        let (expected, booked) = one_by_one(&fleet, now, events);
        let told = moody.told.len();
        let done = step(
            &mut moody,
            &mut fleet,
            now,
            events.iter().cloned(),
            &mut orders,
        );
        assert_eq!(
            done.as_ref().err().map(Error::to_string),
            expected,
            "the first wrong event"
        );
        assert_eq!(
            moody.told[told..],
            booked,
            "what is wrong is not told, all else is"
        );
        errors.extend(expected);
        check(&fleet);
    }
    (orders, moody.told, errors, fleet)
}

/// The error of the first event that is wrong by itself, and the events that are not.
fn one_by_one(fleet: &Fleet, now: Time, events: &[Event]) -> (Option<String>, Vec<Event>) {
    let mut fleet = fleet.clone();
    let (mut wrong, mut booked) = (None, Vec::new());
    for event in events {
        let before = fleet.clone();
        match step(
            &mut Moody::new(Vec::new()),
            &mut fleet,
            now,
            [event.clone()],
            &mut Vec::new(),
        ) {
            Ok(()) => booked.push(event.clone()),
            Err(error) => {
                assert!(
                    matches!(
                        event,
                        Event::LayoutIs { .. }
                            | Event::Occupied { .. }
                            | Event::Health { .. }
                            | Event::Adopted { .. }
                    ),
                    "only what names a machine's devices can be wrong: {event:?}"
                );
                assert_eq!(fleet, before, "it is not booked");
                wrong = wrong.or(Some(error.to_string()));
            }
        }
    }
    (wrong, booked)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1000))]

    #[test]
    fn no_facts_and_no_orders_break_a_fleet(
        machines in any_machines(),
        instants in vec((vec(events(), 0..4), vec(whims(), 0..6)), 1..12),
    ) {
        let first = live(&machines, &instants);
        prop_assert_eq!(first, live(&machines, &instants), "the same again");
    }
}

#[test]
fn wrong_layouts_are_errors_and_what_ends_twice_is_not() {
    let mut fleet = Fleet::new([cuttable(1)]);
    let mut tell = |event: Event| {
        let mut moody = Moody::new(Vec::new());
        step(&mut moody, &mut fleet, Time::ZERO, [event], &mut Vec::new())
    };
    let whole = DeviceId(0);
    let is = |machine, layout| Event::LayoutIs {
        machine: MachineId(machine),
        whole,
        layout,
    };
    let error = tell(is(3, Layout::whole())).unwrap_err();
    assert!(error.is_unknown_machine() && !error.is_unknown_tenant());
    assert_eq!(error.to_string(), "no machine 3: expected an id below 1");
    assert!(
        !tell(is(0, other_model().layouts().last().unwrap()))
            .unwrap_err()
            .is_unknown_machine()
    );
    tell(is(0, layout(&["2g", "1g"]))).unwrap();
    for _ in 0..2 {
        tell(Event::Finished(JobId(7))).unwrap();
        tell(Event::TaskEnd {
            job: JobId(7),
            task: TaskId(0),
        })
        .unwrap();
    }
    let request = Request::new(Pattern::ring(1).each(Demand::slice(Size::new(1, 1))));
    in_turn(&mut fleet, |turn| {
        drop(
            turn.start(job(0), mapa_core::lowest_id(), &request)
                .unwrap(),
        )
    });
    let mut tell = |event: Event| {
        step(
            &mut Moody::new(Vec::new()),
            &mut fleet,
            Time::ZERO,
            [event],
            &mut Vec::new(),
        )
    };
    let error = tell(is(0, Layout::whole())).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"GPU0/1g@0 would vanish under lease 0: release it first"
    );
    tell(Event::Failed(JobId(0))).unwrap();
    tell(is(0, Layout::whole())).unwrap();
    assert_eq!(fleet.tenants().count(), 0);
}
