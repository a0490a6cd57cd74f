//! The best decision over all machines, and the most hopeful refusal.

use mapa_core::testing::{patterns, requests};
use mapa_core::{
    BuiltIn, Decision, Demand, Limits, MachineId, Pattern, Policy, Reason, Refusal, Request,
    SearchStats, View, criteria::least, greedy, lowest_id, mig::Size,
};
use mapa_core::{Rules, aggregate_gbps, criteria::max};
use mapa_sched::{Event, Fifo, Fleet, step};
use proptest::prelude::*;

use mapa_sched::testing::{any_machines, cuttable, fleets, fleets_in_use, jobs, joined};

fn machine(fleet: &Fleet, policy: impl Policy, n: usize) -> u32 {
    fleet
        .decide(policy, &Request::new(Pattern::ring(n)))
        .unwrap()
        .stamp()
        .machine
        .0
}

#[test]
fn the_best_machine_wins_by_the_policy_and_the_first_on_a_tie() {
    let [slow, fast] = [joined(&[1.0; 3]), joined(&[2.0; 3])];
    let fleet = Fleet::new([slow.clone(), fast.clone(), slow, fast]);
    assert_eq!(machine(&fleet, greedy(), 2), 1);
    assert_eq!(
        machine(&fleet, lowest_id(), 2),
        1,
        "after the lowest ids, bandwidth"
    );
    assert_eq!(machine(&fleet, greedy(), 1), 0, "no link, no difference");
}

#[test]
fn another_policy_is_asked_of_a_machine_only_if_no_machine_has_an_answer_of_the_first() {
    // What the second counts is much larger than what the first counts.
    let fleet = Fleet::new([joined(&[1000.0; 2]), joined(&[2.0; 3]), joined(&[3.0; 3])]);
    let first = || {
        Rules::new("three devices")
            .require_set("a machine of three", |set| set.graph.len() == 3)
            .prefer(max(aggregate_gbps()))
    };
    assert_eq!(machine(&fleet, first().or_else(greedy()), 2), 2);
    assert_eq!(
        machine(&fleet, first().or_else(first()).or_else(greedy()), 2),
        2
    );
    let never = || Rules::new("never").require("never", |_| false);
    assert_eq!(
        machine(&fleet, never().or_else(first()).or_else(greedy()), 2),
        2
    );
    assert_eq!(
        machine(&fleet, never().or_else(first().or_else(greedy())), 2),
        2
    );
    assert_eq!(machine(&fleet, never().or_else(greedy()), 2), 0);
}

#[test]
fn what_the_first_policy_may_do_later_is_not_infeasible_because_the_second_never_can() {
    let later = || Rules::new("later").require("not yet", |_| false);
    let never = || Rules::new("never").require_set("never", |_| false);
    let kind = |policy: &dyn Policy| {
        let fleet = Fleet::new([joined(&[1.0; 2])]);
        fleet
            .decide(policy, &Request::new(Pattern::ring(2)))
            .unwrap_err()
            .kind()
    };
    assert_eq!((kind(&later()), kind(&never())), ("busy", "infeasible"));
    assert_eq!(
        (
            kind(&later().or_else(never())),
            kind(&never().or_else(later()))
        ),
        ("busy", "busy")
    );
    assert_eq!(kind(&never().or_else(never())), "infeasible");
}

/// Says of each machine what the test says.
struct Says(Vec<Refusal>);

impl Policy for Says {
    fn name(&self) -> &str {
        "says"
    }
    fn decide(&self, _: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        Err(self.0[view.machine().0 as usize].clone())
    }
}

#[test]
fn of_several_refusals_the_most_hopeful_is_the_answer() {
    let limit = Refusal::LimitReached(SearchStats::default());
    let recut = Refusal::Busy(Reason::NeedsRepartition);
    let busy = |free| {
        Refusal::Busy(Reason::InUse {
            wanted: 3,
            free,
            allowed: 4,
        })
    };
    let never = |wanted| Refusal::Infeasible(Reason::TooFewDevices { wanted, allowed: 1 });
    let answer = |says: Vec<Refusal>| {
        let fleet = Fleet::new(says.iter().map(|_| joined(&[1.0])));
        fleet
            .decide(Says(says), &Request::new(Pattern::ring(1)))
            .unwrap_err()
    };
    assert_eq!(
        answer(vec![never(1), busy(1), recut.clone(), limit.clone()]),
        limit
    );
    assert_eq!(answer(vec![limit.clone(), recut.clone(), never(1)]), limit);
    assert_eq!(
        answer(vec![never(1), busy(1), recut.clone(), busy(2)]),
        recut
    );
    assert_eq!(
        answer(vec![never(1), busy(1), busy(2)]),
        busy(1),
        "the first of equals"
    );
    assert_eq!(answer(vec![never(1), never(2)]), never(1));
    let nowhere = Refusal::Infeasible(Reason::TooFewDevices {
        wanted: 1,
        allowed: 0,
    });
    assert_eq!(answer(vec![]), nowhere);
}

#[test]
fn a_slice_is_infeasible_only_where_no_machine_can_be_cut() {
    let slice = Request::new(Pattern::ring(1).each(Demand::slice(Size::new(1, 1))));
    let whole = joined(&[1.0; 2]);
    let refusal = Fleet::new([whole.clone(), whole.clone()])
        .decide(lowest_id(), &slice)
        .unwrap_err();
    assert_eq!(refusal.kind(), "infeasible");
    let fleet = Fleet::new([whole.clone(), cuttable(1), whole]);
    assert_eq!(
        fleet.decide(lowest_id(), &slice),
        Err(Refusal::Busy(Reason::NeedsRepartition))
    );
    let stopped = slice.limits(Limits::NONE.nodes(0));
    assert_eq!(
        fleet.decide(lowest_id(), &stopped).unwrap_err().kind(),
        "limit_reached"
    );
}

#[test]
fn a_policy_by_hand_gets_the_first_machine_with_an_answer() {
    struct First;
    impl Policy for First {
        fn name(&self) -> &str {
            "first"
        }
        fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
            Decision::checked(
                "first",
                request,
                view,
                view.free().iter().take(request.pattern.len()),
            )
        }
    }
    let fleet = Fleet::new([joined(&[9.0; 2]), joined(&[1.0; 3]), joined(&[5.0; 3])]);
    assert_eq!(machine(&fleet, First, 3), 1);
    let refusal = fleet
        .decide(First, &Request::new(Pattern::ring(4)))
        .unwrap_err();
    assert_eq!(refusal.kind(), "infeasible", "as for rules: {refusal}");
}

proptest! {
    #[test]
    fn no_machine_has_a_better_answer(machines in any_machines(), pattern in patterns(1..=4), i in 0..BuiltIn::ALL.len()) {
        let policy = BuiltIn::named(BuiltIn::ALL[i].name).unwrap();
        let request = Request::new(pattern);
        let fleet = Fleet::new(machines);
        let answers: Vec<_> = fleet.views().map(|view| view.decide(&policy, &request)).collect();
        match fleet.decide(&policy, &request) {
            Ok(best) => {
                let own = best.stamp().machine;
                prop_assert_eq!(answers[own.0 as usize].as_ref(), Ok(&best));
                for (id, other) in (0u32..).map(MachineId).zip(&answers) {
                    let order = other.as_ref().map(|other| best.order(other));
                    prop_assert!(order.is_err() || order.is_ok_and(|order| order.is_lt() || order.is_eq() && own <= id));
                }
            }
            Err(_) => prop_assert!(answers.iter().all(Result::is_err)),
        }
    }

    #[test]
    fn by_one_criterion_the_best_score_wins(machines in any_machines(), pattern in patterns(1..=4)) {
        let request = Request::new(pattern);
        let fleet = Fleet::new(machines);
        let policy = Rules::new("lowest numbers").prefer(least("numbers", |seat| seat.id.0));
        let score = |decision: &Decision| decision.best().score("numbers").unwrap();
        let answers = fleet.views().filter_map(|view| view.decide(&policy, &request).ok());
        let least = answers.map(|decision| (score(&decision) as u32, decision.stamp().machine)).min();
        let found = fleet.decide(&policy, &request).ok().map(|best| (score(&best) as u32, best.stamp().machine));
        prop_assert_eq!(found, least);
    }
}

/// Two sockets of two devices each; within one, a direct link.
fn sockets() -> std::sync::Arc<mapa_core::HardwareGraph> {
    let mut f = mapa_core::Fabric::new();
    let node = |name: &str| mapa_core::FabricNode {
        name: name.into(),
        kind: mapa_core::NodeKind::Machine,
    };
    let root = f.add(node("machine")).unwrap();
    let cpus = [0, 1].map(|i| f.add_numa(format!("cpu{i}"), i).unwrap());
    cpus.iter()
        .for_each(|&cpu| f.attach(cpu, root, 12.0).unwrap());
    let gpus: Vec<_> = (0..4)
        .map(|i| f.add_device(format!("GPU{i}")).unwrap())
        .collect();
    gpus.iter()
        .enumerate()
        .for_each(|(i, &gpu)| f.attach(gpu, cpus[i / 2], 12.0).unwrap());
    std::sync::Arc::new(f.lower().unwrap())
}

/// Machines of two sockets on which just these devices are free.
fn with_free(free: &[&[u32]]) -> Fleet {
    let mut fleet = Fleet::new(vec![sockets(); free.len()]);
    mapa_sched::testing::in_turn(&mut fleet, |turn| {
        for (machine, free) in (0u32..).zip(free) {
            for taken in (0..4).filter(|id| !free.contains(id)) {
                let tenant =
                    mapa_sched::Tenant::Job(mapa_sched::JobId(u64::from(10 * machine + taken)));
                let request = Request::new(Pattern::ring(1)).only([taken].into());
                let decision = turn
                    .view(MachineId(machine))
                    .unwrap()
                    .decide(lowest_id(), &request)
                    .unwrap();
                turn.place(tenant, decision).unwrap();
            }
        }
    });
    fleet
}

#[test]
fn what_stays_free_is_compared_by_what_is_lost() {
    // Two free devices on the first machine, the second idle: to take two of four there would break
    // up the whole of it.
    let insensitive = Request::new(Pattern::ring(2)).sensitive(false);
    let chosen = |free: &[&[u32]]| {
        let decision = with_free(free).decide(mapa_core::preserve(), &insensitive);
        decision.unwrap().stamp().machine.0
    };
    assert_eq!(chosen(&[&[0, 1], &[0, 1, 2, 3]]), 0);
    assert_eq!(chosen(&[&[0, 1, 2, 3], &[2, 3]]), 1);
}

#[test]
fn devices_close_together_win_over_those_on_two_sockets() {
    let fleet = with_free(&[&[1, 3], &[0, 1, 2, 3]]);
    assert_eq!(machine(&fleet, mapa_core::topo_aware(), 2), 1);
    let fleet = with_free(&[&[0, 1, 2, 3], &[0, 2, 3]]);
    assert_eq!(
        machine(&fleet, mapa_core::topo_aware(), 1),
        1,
        "nothing is left over beside device 0"
    );
}

proptest! {
    /// Slow and obvious: each machine decides by itself.
    #[test]
    fn a_fleet_decides_as_the_best_of_its_machines(
        fleet in fleets_in_use(1..=4, 1..=4),
        job in jobs(requests(4, 1..=3)),
    ) {
        let policy = greedy();
        let alone: Vec<_> = fleet.views().map(|view| policy.decide(&job.request, &view)).collect();
        let best = alone.iter().flatten().min_by(|a, b| a.order(b));
        match (fleet.decide(&policy, &job.request), best) {
            (Ok(found), Some(best)) => {
                prop_assert!(found.order(best).is_eq(), "{} {}", found, best);
                prop_assert!(alone.iter().flatten().any(|other| other.placement() == found.placement()));
            }
            (Err(why), None) => {
                let hopes = alone.iter().map(|answer| answer.as_ref().unwrap_err().hope());
                prop_assert_eq!(Some(why.hope()), hopes.max());
            }
            (found, best) => prop_assert!(false, "{:?} {:?}", found, best),
        }
    }

    /// A job that arrives at an idle fleet starts at once, or never does.
    #[test]
    fn a_job_starts_at_once_on_an_idle_fleet_or_never(
        mut fleet in fleets(1..=3, 1..=4),
        job in jobs(requests(4, 1..=3)),
    ) {
        let never = matches!(fleet.decide(greedy(), &job.request), Err(Refusal::Infeasible(_)));
        let (mut scheduler, mut actions) = (Fifo::new(greedy()), Vec::new());
        let at = job.arrived;
        step(&mut scheduler, &mut fleet, at, [Event::Arrived(job)], &mut actions).unwrap();
        let started = fleet.tenants().count() == 1;
        prop_assert_eq!(started, !never, "{:?}", actions);
    }
}
