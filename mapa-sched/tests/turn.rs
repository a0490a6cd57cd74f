//! What each order books and records.

use std::sync::Arc;

use mapa_core::mig::{Layout, Size};
use mapa_core::{
    Decision, Demand, DeviceId, HardwareGraph, MachineId, Pattern, Reason, Refusal, Request,
    greedy, lowest_id,
};
use mapa_sched::{
    Action, Assignment, Event, Fleet, JobId, JobLimit, TaskId, Tenant, Time, Token, step,
};

use mapa_sched::testing::in_turn;
use mapa_sched::testing::{cuttable, job, joined, layout};

fn ring(n: usize) -> Request {
    Request::new(Pattern::ring(n))
}

/// Two machines of three devices.
fn two() -> Fleet {
    let graph = joined(&[1.0; 3]);
    Fleet::new([graph.clone(), graph])
}

fn ids(at: &Assignment) -> (u32, Vec<u32>) {
    (at.machine.0, at.placement.iter().map(|id| id.0).collect())
}

fn stale() -> Refusal {
    Refusal::Busy(Reason::Stale)
}

#[test]
fn what_is_placed_is_booked_at_once_and_ordered() {
    let mut fleet = two();
    let mut placed = Vec::new();
    let orders = in_turn(&mut fleet, |turn| {
        let decision = turn.decide(lowest_id(), &ring(2)).unwrap();
        placed.push(turn.place(job(0), decision).unwrap());
        assert_eq!(turn.view(MachineId(0)).unwrap().free().len(), 1);
        placed.push(turn.start(job(1), lowest_id(), &ring(2)).unwrap());
        placed.push(
            turn.start(Tenant::Task(JobId(1), TaskId(0)), lowest_id(), &ring(1))
                .unwrap(),
        );
        assert!(
            turn.start(job(3), lowest_id(), &ring(2)).is_err(),
            "one is free on each machine"
        );
    });
    assert_eq!(
        placed.iter().map(ids).collect::<Vec<_>>(),
        [(0, vec![0, 1]), (1, vec![0, 1]), (0, vec![2])]
    );
    let tenants = [job(0), job(1), Tenant::Task(JobId(1), TaskId(0))];
    let expected = tenants
        .into_iter()
        .zip(placed)
        .map(|(tenant, at)| Action::Place { tenant, at });
    assert_eq!(orders, expected.collect::<Vec<_>>());
    assert!(fleet.tenants().map(|(tenant, ..)| tenant).eq(tenants));
}

#[test]
fn of_two_decisions_on_one_state_the_second_is_stale() {
    let mut fleet = two();
    let orders = in_turn(&mut fleet, |turn| {
        let [first, second] =
            [ring(1), ring(1)].map(|request| turn.decide(lowest_id(), &request).unwrap());
        turn.place(job(0), first).unwrap();
        assert_eq!(turn.place(job(1), second), Err(stale()));
    });
    assert_eq!(orders.len(), 1);
}

#[test]
fn a_tenant_holds_one_lease_and_its_tasks_are_other_tenants() {
    let mut fleet = two();
    let orders = in_turn(&mut fleet, |turn| {
        turn.start(job(0), lowest_id(), &ring(1)).unwrap();
        let twice = turn.start(job(0), lowest_id(), &ring(1)).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "not met: one lease for each tenant, and job 0 holds one already"
        );
        assert_eq!(twice.kind(), "busy");
        turn.start(Tenant::Task(JobId(0), TaskId(0)), lowest_id(), &ring(1))
            .unwrap();
    });
    assert_eq!(orders.len(), 2);
    step(
        &mut mapa_sched::Fifo::new(greedy()),
        &mut fleet,
        Time::ZERO,
        [Event::Failed(JobId(0))],
        &mut Vec::new(),
    )
    .unwrap();
    assert_eq!(
        fleet.tenants().count(),
        0,
        "with the job its tasks' leases end"
    );
}

#[test]
fn a_move_on_the_same_machine_keeps_the_lease_and_may_use_its_devices() {
    let mut fleet = two();
    let orders = in_turn(&mut fleet, |turn| {
        turn.start(job(0), lowest_id(), &ring(2)).unwrap();
        let before = turn.start(job(1), lowest_id(), &ring(2)).unwrap();
        let what_if = turn.without(job(1)).unwrap();
        let decision = what_if.view().decide(lowest_id(), &ring(3)).unwrap();
        let at = turn.relocate(job(1), decision).unwrap();
        assert_eq!((at.machine, at.lease), (before.machine, before.lease));
        assert_eq!(ids(&at), (1, vec![0, 1, 2]));
    });
    assert!(
        matches!(&orders[2], Action::Move { tenant, at } if *tenant == job(1) && at.placement.len() == 3)
    );
    assert_eq!(orders.len(), 3);
}

#[test]
fn a_move_to_another_machine_frees_the_first() {
    let mut fleet = two();
    let orders = in_turn(&mut fleet, |turn| {
        turn.start(job(0), lowest_id(), &ring(2)).unwrap();
        let decision = turn
            .view(MachineId(1))
            .unwrap()
            .decide(lowest_id(), &ring(2))
            .unwrap();
        let at = turn.relocate(job(0), decision).unwrap();
        assert_eq!(ids(&at), (1, vec![0, 1]));
        assert_eq!(turn.view(MachineId(0)).unwrap().free().len(), 3);
        // Beside itself on the same machine: another lease takes the first one's place.
        let decision = turn
            .view(MachineId(1))
            .unwrap()
            .decide(lowest_id(), &ring(1))
            .unwrap();
        let beside = turn.relocate(job(0), decision).unwrap();
        assert_eq!(ids(&beside), (1, vec![2]));
        assert_ne!(beside.lease, at.lease);
        assert_eq!(turn.view(MachineId(1)).unwrap().free().len(), 2);
    });
    assert_eq!(
        orders
            .iter()
            .filter(|order| matches!(order, Action::Move { .. }))
            .count(),
        2
    );
}

#[test]
fn decisions_that_are_stale_or_foreign_move_no_job() {
    let mut fleet = two();
    let other: Arc<HardwareGraph> = joined(&[2.0; 3]);
    let free = other.all();
    let foreign = other
        .with_free(&free)
        .decide(lowest_id(), &ring(1))
        .unwrap();
    let stranger = Fleet::new([joined(&[2.0; 3])])
        .decide(lowest_id(), &ring(1))
        .unwrap();
    let orders = in_turn(&mut fleet, |turn| {
        turn.start(job(0), lowest_id(), &ring(1)).unwrap();
        turn.start(job(1), lowest_id(), &ring(1)).unwrap();
        let without = |turn: &mapa_sched::Turn<'_>, id| {
            let what_if = turn.without(job(id)).unwrap();
            what_if.view().decide(lowest_id(), &ring(1)).unwrap()
        };
        let without_1 = without(turn, 1);
        let imagined = turn
            .view(MachineId(0))
            .unwrap()
            .as_if_idle()
            .decide(lowest_id(), &ring(1))
            .unwrap();
        for decision in [&foreign, &stranger, &imagined] {
            for refused in [
                turn.relocate(job(0), decision.clone()),
                turn.place(job(2), decision.clone()),
            ] {
                let why = refused.unwrap_err();
                assert!(
                    matches!(why, Refusal::Busy(Reason::Rule(_))),
                    "deciding again does not help: {why}"
                );
            }
        }
        assert_eq!(
            turn.relocate(job(0), without_1.clone()),
            Err(stale()),
            "made without a job that runs"
        );
        assert_eq!(
            turn.place(job(2), without_1.clone()),
            Err(stale()),
            "made without a running job"
        );
        assert_eq!(
            turn.place(job(1), without_1.clone()).unwrap_err().kind(),
            "busy"
        );
        let refused: Result<Assignment, Refusal> = turn.relocate(job(9), without_1.clone());
        assert_eq!(
            refused.unwrap_err().to_string(),
            "not met: a tenant with a lease to move, and job 9 holds none"
        );
        assert!(turn.without(job(9)).is_none());
        turn.start(job(2), lowest_id(), &ring(1)).unwrap();
        assert_eq!(
            turn.relocate(job(1), without_1),
            Err(stale()),
            "the state has changed since"
        );
    });
    assert_eq!(orders.len(), 3);
}

#[test]
fn a_suspended_tenant_holds_nothing() {
    let mut fleet = two();
    let orders = in_turn(&mut fleet, |turn| {
        turn.start(job(0), lowest_id(), &ring(3)).unwrap();
        turn.suspend(job(0)).unwrap();
        let error = turn.suspend(job(0)).unwrap_err();
        assert!(error.is_unknown_tenant());
        assert_eq!(error.to_string(), "job 0 holds no lease");
        turn.start(job(0), lowest_id(), &ring(3)).unwrap();
    });
    assert_eq!(orders[1], Action::Suspend { tenant: job(0) });
    assert_eq!(orders.len(), 3);
}

#[test]
fn a_repartition_is_under_way_until_an_event_reports_it() {
    let mut fleet = Fleet::new([cuttable(2)]);
    let (machine, whole) = (MachineId(0), DeviceId(1));
    let halves = layout(&["2g", "2g"]);
    let half = Request::new(Pattern::ring(1).each(Demand::slice(Size::new(2, 2))));
    let orders = in_turn(&mut fleet, |turn| {
        assert_eq!(
            turn.decide(lowest_id(), &half),
            Err(Refusal::Busy(Reason::NeedsRepartition))
        );
        turn.repartition(machine, whole, halves.clone()).unwrap();
        assert!(
            turn.repartition(machine, whole, Layout::whole()).is_err(),
            "one at a time"
        );
        assert!(
            turn.repartition(MachineId(1), whole, halves.clone())
                .unwrap_err()
                .is_unknown_machine()
        );
        assert!(turn.view(MachineId(1)).is_err());
        let view = turn.view(machine).unwrap();
        assert_eq!(
            (view.free().len(), view.changing_to(whole)),
            (1, Some(&halves))
        );
    });
    assert_eq!(
        orders,
        [Action::Repartition {
            machine,
            whole,
            layout: halves.clone()
        }]
    );
    fleet.layout_is(machine, whole, &halves).unwrap();
    in_turn(&mut fleet, |turn| {
        assert!(
            turn.start(job(0), lowest_id(), &half).is_ok()
                && turn.start(job(1), lowest_id(), &half).is_ok()
        );
        assert!(
            turn.repartition(machine, whole, Layout::whole()).is_err(),
            "tenants would vanish"
        );
    });
}

#[test]
fn orders_about_jobs_are_recorded_as_given() {
    let why = Refusal::Infeasible(Reason::Empty);
    let (at, token) = (Time::from_secs(7), Token(3));
    let guard = JobLimit::PcieMbPerS(Some(100));
    let orders = in_turn(&mut two(), |turn| {
        turn.launch(JobId(1));
        turn.throttle(JobId(1), guard);
        turn.wake(at, token);
        turn.reject(JobId(2), why.clone());
    });
    let job = JobId(1);
    let expected = [
        Action::Launch { job },
        Action::Throttle { job, guard },
        Action::Wake { at, token },
        Action::Reject { job: JobId(2), why },
    ];
    assert_eq!(orders, expected);
}

#[test]
fn a_decision_knows_its_machine() {
    let fleet = two();
    let machines: Vec<Decision> = fleet
        .views()
        .map(|view| view.decide(lowest_id(), &ring(1)).unwrap())
        .collect();
    assert_eq!(
        machines
            .iter()
            .map(|decision| decision.stamp().machine.0)
            .collect::<Vec<_>>(),
        [0, 1]
    );
}
