//! Plans against all that can happen: every sequence of single moves.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mapa_core::testing::joined_machines;
use mapa_core::{
    Allocator, Candidate, Decision, Demand, DeviceId, DeviceSet, HardwareGraph, LeaseId, Limits,
    MachineId, Objective, Pattern, Placement, Policy, Request, Rules, aggregate_gbps,
    criteria::max, effective_gbps, lowest_id,
};
use mapa_sched::{Defrag, Defragmented, Plan};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::{cuttable, layout};

/// Jobs on these devices of a machine, as far as they do not overlap.
fn running(graph: &Arc<HardwareGraph>, id: u32, jobs: &[(Pattern, Vec<u32>)]) -> Allocator {
    let mut allocator = Allocator::with_id(MachineId(id), graph.clone());
    for (pattern, devices) in jobs {
        let request = Request::new(pattern.clone());
        let decision = Decision::checked(
            "here",
            &request,
            &allocator.view(),
            devices.iter().map(|&id| DeviceId(id)),
        );
        if let Ok(decision) = decision {
            allocator.commit(decision).unwrap();
        }
    }
    allocator
}

fn best(
    graph: &HardwareGraph,
    pattern: &Pattern,
    free: &DeviceSet,
    objective: &Objective<'static>,
) -> Option<f64> {
    let rules = Rules::new("best").prefer(max(objective.clone()));
    rules
        .decide(&Request::new(pattern.clone()), &graph.with_free(free))
        .ok()?
        .best()
        .score(objective.name())
}

fn score(
    allocator: &Allocator,
    pattern: &Pattern,
    placement: &Placement,
    objective: &Objective<'static>,
) -> f64 {
    objective.score(&Candidate {
        view: allocator.view(),
        pattern,
        placement,
    })
}

fn bits(set: &DeviceSet) -> u32 {
    set.iter().fold(0, |bits, id| bits | 1 << id.0)
}

fn set(bits: u32) -> DeviceSet {
    (0..32)
        .filter(|i| bits >> i & 1 == 1)
        .map(DeviceId)
        .collect()
}

/// The fewest jobs that must move, by a search of all states that moves one by one lead to.
fn fewest(
    allocator: &Allocator,
    want: &Pattern,
    (at_least, keeps): (f64, f64),
    objective: &Objective<'static>,
) -> Option<u32> {
    let graph = allocator.graph();
    let leases: Vec<_> = allocator.leases().cloned().collect();
    let start: Vec<u32> = leases
        .iter()
        .map(|lease| bits(&lease.placement.set()))
        .collect();
    let mut known: BTreeMap<(usize, u32), Option<f64>> = BTreeMap::new();
    let mut worth = |job: usize, devices: u32| {
        let pattern = if job == leases.len() {
            want
        } else {
            &leases[job].pattern
        };
        *known
            .entry((job, devices))
            .or_insert_with(|| best(graph, pattern, &set(devices), objective))
    };
    let enough =
        |score: Option<f64>, least: f64| score.is_some_and(|score| score >= least * (1.0 - 1e-9));
    let all = bits(&graph.all());
    let mut seen = BTreeMap::from([((start.clone(), 0u32), ())]);
    let mut open = VecDeque::from([(start.clone(), 0u32)]);
    let mut fewest: Option<u32> = None;
    while let Some((places, moved)) = open.pop_front() {
        let taken = places.iter().fold(0, |all, place| all | place);
        let settled = (0..places.len()).all(|job| {
            let own = score(
                allocator,
                &leases[job].pattern,
                &leases[job].placement,
                objective,
            );
            moved >> job & 1 == 0
                || places[job] == start[job]
                || enough(worth(job, places[job]), own * keeps)
        });
        if settled && enough(worth(leases.len(), all & !taken), at_least) {
            fewest = Some(fewest.map_or(moved.count_ones(), |best| best.min(moved.count_ones())));
        }
        for job in 0..places.len() {
            let free = all & !taken | places[job];
            let to = (0..=all)
                .filter(|to| to & !free == 0 && to.count_ones() == places[job].count_ones());
            for to in to.filter(|&to| to != places[job]) {
                if worth(job, to).is_none() {
                    continue;
                }
                let mut next = places.clone();
                next[job] = to;
                let next = (next, moved | 1 << job);
                if seen.insert(next.clone(), ()).is_none() {
                    open.push_back(next);
                }
            }
        }
    }
    fewest
}

/// Carries a plan out, job by job.
fn carried_out(
    machines: &[Allocator],
    plan: &Plan,
    keeps: f64,
    objective: &Objective<'static>,
) -> Vec<Allocator> {
    let mut machines = machines.to_vec();
    let mut leases: BTreeMap<(MachineId, LeaseId), (MachineId, LeaseId)> = BTreeMap::new();
    let at = |machines: &[Allocator], id: MachineId| {
        machines
            .iter()
            .position(|machine| machine.id() == id)
            .unwrap()
    };
    let mut originally: BTreeMap<(MachineId, LeaseId), f64> = BTreeMap::new();
    let mut last = BTreeMap::new();
    for step in &plan.moves {
        let (machine, lease) = *leases.get(&step.job).unwrap_or(&step.job);
        let from = at(&machines, machine);
        let held = machines[from].lease(lease).unwrap().clone();
        assert_eq!(
            (machine, &held.placement),
            (step.from.machine, &step.from.placement)
        );
        originally.entry(step.job).or_insert(step.from.score);
        last.insert(step.job, step.to.score);
        let request = Request::new(held.pattern.clone());
        let placement = step.to.placement.iter().copied();
        let to = at(&machines, step.to.machine);
        let new = if from == to {
            let without = machines[from].without(lease).unwrap();
            let decision = Decision::checked("move", &request, &without.view(), placement).unwrap();
            machines[from].commit(decision).unwrap()
        } else {
            let decision =
                Decision::checked("move", &request, &machines[to].view(), placement).unwrap();
            let new = machines[to].commit(decision).unwrap();
            machines[from].release(lease).unwrap();
            new
        };
        assert!(
            (score(&machines[to], &new.pattern, &new.placement, objective) - step.to.score).abs()
                < 1e-9
        );
        leases.insert(step.job, (step.to.machine, new.id));
        let there = machines
            .iter()
            .filter_map(|m| best(m.graph(), plan_pattern(plan), m.view().free(), objective));
        assert_eq!(there.max_by(f64::total_cmp), step.reach);
    }
    assert_eq!(leases.len(), plan.jobs);
    for (job, before) in &originally {
        assert!(last[job] >= before * keeps * (1.0 - 1e-9));
    }
    machines
}

/// What is wanted: a ring, in all these tests.
fn plan_pattern(plan: &Plan) -> &'static Pattern {
    static RINGS: std::sync::OnceLock<Vec<Pattern>> = std::sync::OnceLock::new();
    &RINGS.get_or_init(|| (0..=16).map(Pattern::ring).collect())[plan.target.placement.len()]
}

/// Jobs on devices of their own, of up to six.
fn jobs() -> impl Strategy<Value = Vec<(Pattern, Vec<u32>)>> {
    (
        Just((0u32..6).collect::<Vec<_>>()).prop_shuffle(),
        vec(1usize..=2, 1..=4),
    )
        .prop_map(|(devices, sizes)| {
            let starts = sizes
                .iter()
                .scan(0, |next, size| Some(std::mem::replace(next, *next + size)));
            let job = |(start, &size): (usize, &usize)| {
                (
                    Pattern::ring(size),
                    devices.iter().copied().skip(start).take(size).collect(),
                )
            };
            starts.zip(&sizes).map(job).collect()
        })
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(500))]

    #[test]
    fn plans_move_as_few_jobs_as_any_sequence_of_moves(
        graph in joined_machines(4..=6),
        jobs in jobs(),
        k in 1usize..=4,
        share in 0.5f64..1.0,
        may_lose in prop_oneof![Just(0.0), 0.0f64..1.0],
        by_aggregate in any::<bool>(),
    ) {
        let objective = if by_aggregate { aggregate_gbps() } else { effective_gbps() };
        let machine = running(&Arc::new(graph), 0, &jobs);
        let want = Pattern::ring(k);
        let defrag = Defrag::new(objective.clone()).may_lose(may_lose);
        let reach = defrag.reach(std::slice::from_ref(&machine), &want);
        let at_least = reach.idle.unwrap_or(1.0) * share;
        let expected = fewest(&machine, &want, (at_least, 1.0 - may_lose), &objective);
        let machines = [machine];
        match defrag.plan(&machines, &want, at_least) {
            Defragmented::Already(target) => {
                prop_assert_eq!(expected, Some(0));
                prop_assert!(target.placement.set().is_subset(machines[0].view().free()));
            }
            Defragmented::By(plan) => {
                prop_assert!(plan.complete);
                prop_assert_eq!(expected, Some(plan.jobs as u32), "{:?}", plan);
                let after = carried_out(&machines, &plan, 1.0 - may_lose, &objective);
                prop_assert!(plan.target.placement.set().is_subset(after[0].view().free()));
                prop_assert!(plan.target.score >= at_least * (1.0 - 1e-9));
                prop_assert_eq!(after[0].leases().count(), machines[0].leases().count());
            }
            Defragmented::Impossible { .. } => prop_assert_eq!(expected, None),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn plans_on_fleets_can_be_carried_out_and_lose_no_job(
        graphs in vec(joined_machines(2..=6), 1..=3),
        jobs in vec(jobs(), 3),
        k in 2usize..=4,
        share in 0.3f64..1.0,
        may_lose in prop_oneof![Just(0.0), 0.0f64..1.0],
    ) {
        let objective = effective_gbps();
        let machines: Vec<Allocator> =
            graphs.into_iter().zip(&jobs).zip(0..).map(|((graph, jobs), id)| running(&Arc::new(graph), id, jobs)).collect();
        let want = Pattern::ring(k);
        let defrag = Defrag::new(objective.clone()).may_lose(may_lose);
        let at_least = defrag.reach(&machines, &want).idle.unwrap_or(1.0) * share;
        if let Defragmented::By(plan) = defrag.plan(&machines, &want, at_least) {
            let after = carried_out(&machines, &plan, 1.0 - may_lose, &objective);
            let there = after.iter().find(|machine| machine.id() == plan.target.machine).unwrap();
            prop_assert!(plan.target.placement.set().is_subset(there.view().free()));
            let count = |machines: &[Allocator]| machines.iter().map(|machine| machine.leases().count()).sum::<usize>();
            prop_assert_eq!(count(&after), count(&machines));
        }
    }
}

/// Four devices in a row, links of 100, 10 and 100.
fn pairs() -> Arc<HardwareGraph> {
    let mut fabric = mapa_core::Fabric::new();
    let ids: Vec<_> = (0..4)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect();
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let gbps = if a / 2 == b / 2 { 100.0 } else { 10.0 };
        fabric
            .link(ids[a], ids[b], mapa_core::LinkClass::Direct(1), gbps)
            .unwrap();
    }
    Arc::new(fabric.lower().unwrap())
}

#[test]
fn what_may_not_move_does_not_and_the_four_answers_are_four() {
    let single = |id: u32| (Pattern::ring(1), vec![id]);
    let machine = running(&pairs(), 0, &[single(0), single(2)]);
    let (ring, leases): (Pattern, Vec<LeaseId>) = (
        Pattern::ring(2),
        machine.leases().map(|lease| lease.id).collect(),
    );
    let machines = [machine];
    let defrag = || Defrag::new(aggregate_gbps());
    let Defragmented::By(plan) = defrag().plan(&machines, &ring, 200.0) else {
        panic!()
    };
    assert_eq!((plan.jobs, plan.devices, plan.moves.len()), (1, 1, 1));
    assert_eq!(
        (
            plan.moves[0].from.placement[0],
            plan.moves[0].to.placement[0]
        ),
        (DeviceId(0), DeviceId(3))
    );
    let Defragmented::Already(target) = defrag().plan(&machines, &ring, 20.0) else {
        panic!()
    };
    assert_eq!(
        (target.placement.set(), target.score),
        ([1, 3].into(), 20.0)
    );
    let Defragmented::By(plan) = defrag()
        .pin(MachineId(0), leases[0])
        .plan(&machines, &ring, 200.0)
    else {
        panic!()
    };
    assert_eq!(
        (plan.moves[0].job.1, plan.moves[0].to.placement[0]),
        (leases[1], DeviceId(1))
    );
    let pinned = defrag()
        .pin(MachineId(0), leases[0])
        .pin(MachineId(0), leases[1]);
    assert_eq!(
        pinned.plan(&machines, &ring, 200.0),
        Defragmented::Impossible {
            but_for_room: false
        }
    );
    assert_eq!(
        defrag().plan(&machines, &ring, 201.0),
        Defragmented::Impossible {
            but_for_room: false
        }
    );
    let stopped = defrag()
        .limits(Limits::NONE.nodes(0))
        .plan(&machines, &ring, 200.0);
    assert!(matches!(stopped, Defragmented::LimitReached(_)));
}

#[test]
fn of_the_places_that_keep_as_much_a_job_that_moves_gets_the_best() {
    // The only fast pair is 0 and 1; a job on 1 and 2 must leave 1. Beside 2 it can have 3, 4 or 5, and 5 is joined best.
    let mut fabric = mapa_core::Fabric::new();
    let ids: Vec<_> = (0..6)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect();
    for b in 0..6 {
        for a in 0..b {
            let gbps = match (a, b) {
                (0, 1) => 100.0,
                (2, 5) => 50.0,
                _ => 10.0,
            };
            fabric
                .link(ids[a], ids[b], mapa_core::LinkClass::Direct(1), gbps)
                .unwrap();
        }
    }
    let graph = Arc::new(fabric.lower().unwrap());
    let machine = running(&graph, 0, &[(Pattern::ring(2), vec![1, 2])]);
    let answer = Defrag::new(aggregate_gbps()).plan(&[machine], &Pattern::ring(2), 200.0);
    let Defragmented::By(plan) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!((plan.jobs, plan.devices), (1, 1));
    assert_eq!(plan.moves[0].to.placement.set(), [2, 5].into());
}

/// Jobs of other kinds stay: on instances, and such as share.
#[test]
fn only_jobs_that_have_whole_devices_to_themselves_move() {
    let graph = cuttable(3);
    let mut machine = Allocator::new(graph);
    machine
        .layout_is(DeviceId(0), &layout(&["2g", "2g"]))
        .unwrap();
    let instance = Request::new(Pattern::single(Demand::slice(mapa_core::mig::Size::new(
        2, 2,
    ))));
    machine.allocate(lowest_id(), &instance).unwrap();
    machine
        .allocate(
            lowest_id(),
            &Request::new(Pattern::single(Demand::whole().shared())),
        )
        .unwrap();
    let answer =
        Defrag::new(aggregate_gbps()).plan(&[machine], &Pattern::independent(2), f64::NEG_INFINITY);
    assert_eq!(
        answer,
        Defragmented::Impossible {
            but_for_room: false
        }
    );
}
