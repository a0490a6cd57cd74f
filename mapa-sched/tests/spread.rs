//! Jobs over several machines.

use std::sync::Arc;

use mapa_core::testing::machines;
use mapa_core::{
    BuiltIn, DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LinkClass, MachineId,
    NodeKind, Pattern, Policy, Reason, Refusal, Request, Rules, criteria::lowest_ids, greedy,
    lowest_id,
};
use mapa_sched::{
    Action, Assignment, Conservative, Easy, Event, Fifo, Fleet, Job, JobId, Scheduler, Tenant,
    Time, step,
};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::in_turn;
use mapa_sched::testing::{check, joined};

fn ring(n: usize) -> Request {
    Request::new(Pattern::ring(n))
}

/// The ranks, the machine, and the devices of each part.
fn parts(at: &Assignment) -> Vec<(usize, u32, Vec<u32>)> {
    at.parts()
        .map(|(ranks, machine, placement)| {
            (
                ranks.start,
                machine.0,
                placement.iter().map(|id| id.0).collect(),
            )
        })
        .collect()
}

fn start(
    fleet: &mut Fleet,
    job: u64,
    policy: &dyn Policy,
    request: &Request,
) -> Result<Assignment, Refusal> {
    let mut answer = None;
    in_turn(fleet, |turn| {
        answer = Some(turn.start(Tenant::Job(JobId(job)), policy, request))
    });
    answer.unwrap()
}

#[test]
fn consecutive_ranks_lie_on_few_machines_and_the_last_part_where_it_fits_best() {
    let (four, two) = (joined(&[1.0; 4]), joined(&[9.0; 2]));
    let mut fleet =
        Fleet::new([two.clone(), four.clone(), four.clone(), four, two]).with_network(5.0);
    let at = start(&mut fleet, 0, &greedy(), &ring(10)).unwrap();
    // Two of four, and for the two ranks left the faster of the small ones.
    assert_eq!(
        parts(&at),
        [
            (0, 1, vec![0, 1, 2, 3]),
            (4, 2, vec![0, 1, 2, 3]),
            (8, 0, vec![0, 1])
        ]
    );
    assert_eq!((at.devices(), at.machines().count()), (10, 3));
    let tenant = Tenant::Job(JobId(0));
    assert!(
        fleet
            .leases_of(tenant)
            .map(|(machine, _)| machine)
            .eq(at.machines())
    );
    assert_eq!(
        fleet.lease_of(tenant).map(|(machine, _)| machine),
        Some(MachineId(1))
    );
    assert_eq!(fleet.tenants().count(), 3);
    assert!(fleet.without(tenant).is_none());
    // A part is the pattern that its ranks have among themselves.
    let patterns: Vec<_> = fleet
        .leases_of(tenant)
        .map(|(_, lease)| lease.pattern.clone())
        .collect();
    assert_eq!(
        patterns,
        [Pattern::chain(4), Pattern::chain(4), Pattern::chain(2)]
    );
    fleet.book(&Event::Finished(JobId(0))).unwrap();
    assert_eq!(fleet.tenants().count(), 0);
    check(&fleet);
}

#[test]
fn without_a_network_a_job_that_no_machine_holds_is_infeasible() {
    let mut fleet = Fleet::new([joined(&[1.0; 4]), joined(&[1.0; 4])]);
    let why = Refusal::Infeasible(Reason::TooFewDevices {
        wanted: 6,
        allowed: 4,
    });
    assert_eq!(start(&mut fleet, 0, &greedy(), &ring(6)), Err(why));
    assert_eq!(
        fleet.spread(greedy(), &ring(6)).unwrap_err().kind(),
        "infeasible"
    );
    let mut fleet = fleet.with_network(1.0);
    assert_eq!(fleet.network_gbps(), Some(1.0));
    assert!(start(&mut fleet, 0, &greedy(), &ring(6)).is_ok());
}

#[test]
fn what_the_idle_fleet_cannot_hold_is_infeasible_and_what_it_can_is_busy() {
    let mut fleet = Fleet::new([joined(&[1.0; 4]), joined(&[1.0; 4])]).with_network(5.0);
    let too_few = Refusal::Infeasible(Reason::TooFewDevices {
        wanted: 9,
        allowed: 8,
    });
    assert_eq!(start(&mut fleet, 0, &greedy(), &ring(9)), Err(too_few));
    start(&mut fleet, 1, &greedy(), &ring(3)).unwrap();
    let before = fleet.clone();
    assert_eq!(
        start(&mut fleet, 2, &greedy(), &ring(6))
            .unwrap_err()
            .kind(),
        "busy",
        "5 devices are free"
    );
    assert_eq!(fleet, before);
    assert_eq!(
        start(&mut fleet, 2, &greedy(), &ring(9))
            .unwrap_err()
            .kind(),
        "infeasible"
    );
    assert!(start(&mut fleet, 2, &greedy(), &ring(5)).is_ok());
    let pinned = ring(6).must_include([0].into());
    assert_eq!(
        fleet.spread(greedy(), &pinned).unwrap_err().kind(),
        "infeasible"
    );
    assert_eq!(
        fleet.spread(greedy(), &ring(2000)).unwrap_err().kind(),
        "infeasible"
    );
}

#[test]
fn a_job_that_a_machine_can_hold_waits_for_it_unless_it_is_to_be_spread() {
    let machines = || Fleet::new([joined(&[1.0; 4]), joined(&[1.0; 4])]).with_network(5.0);
    let full = |mut fleet: Fleet| {
        (0..2).for_each(|job| drop(start(&mut fleet, job, &greedy(), &ring(3)).unwrap()));
        start(&mut fleet, 2, &greedy(), &ring(2)).map(|at| parts(&at))
    };
    assert_eq!(full(machines()).unwrap_err().kind(), "busy");
    assert_eq!(
        full(machines().spread_when_busy()),
        Ok(vec![(0, 0, vec![3]), (1, 1, vec![3])])
    );
}

#[test]
fn a_policy_that_refuses_a_part_for_its_links_gets_smaller_ones() {
    // Two pairs of direct links, the rest over the host.
    let mut fabric = mapa_core::Fabric::new();
    let root = fabric.add_numa("cpu0", 0).unwrap();
    let ids: Vec<_> = (0..4)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect();
    ids.iter()
        .for_each(|&id| fabric.attach(id, root, 12.0).unwrap());
    for pair in ids.chunks(2) {
        fabric
            .link(pair[0], pair[1], LinkClass::Direct(2), 50.0)
            .unwrap();
    }
    let graph = Arc::new(fabric.lower().unwrap());
    let mut fleet = Fleet::new(vec![graph; 3]).with_network(5.0);
    let direct = Rules::new("direct")
        .require_link("direct links", |edge| edge.link.class.is_direct())
        .prefer(lowest_ids());
    let chain = Request::new(Pattern::chain(6));
    let at = start(&mut fleet, 0, &direct, &chain).unwrap();
    assert_eq!(
        parts(&at),
        [(0, 0, vec![0, 1]), (2, 1, vec![0, 1]), (4, 2, vec![0, 1])]
    );
    // What a network cannot promise is refused for good.
    for never in [
        chain.clone().min_link(LinkClass::Direct(1)),
        chain.same_numa(true),
    ] {
        assert_eq!(
            fleet.spread(lowest_id(), &never).unwrap_err().kind(),
            "infeasible"
        );
    }
}

#[test]
fn parts_are_placed_all_or_none() {
    let mut fleet = Fleet::new([joined(&[1.0; 4]), joined(&[1.0; 4])]).with_network(5.0);
    let decisions = fleet.spread(greedy(), &ring(6)).unwrap();
    let one = fleet
        .machine(MachineId(1))
        .unwrap()
        .view()
        .decide(greedy(), &ring(1))
        .unwrap();
    let orders = in_turn(&mut fleet, |turn| {
        turn.place(Tenant::Job(JobId(9)), one.clone()).unwrap();
        let stale = turn.place_parts(Tenant::Job(JobId(0)), decisions.clone());
        assert_eq!(
            stale,
            Err(Refusal::Busy(Reason::Stale)),
            "the second machine has changed"
        );
        assert!(turn.place_parts(Tenant::Job(JobId(0)), Vec::new()).is_err());
    });
    assert_eq!((orders.len(), fleet.tenants().count()), (1, 1));
    assert_eq!(fleet.machine(MachineId(0)).unwrap().view().free().len(), 4);
    // One on several machines is not moved.
    start(&mut fleet, 0, &greedy(), &ring(6)).unwrap();
    in_turn(&mut fleet, |turn| {
        let decision = turn.decide(greedy(), &ring(1)).unwrap();
        assert_eq!(
            turn.relocate(Tenant::Job(JobId(0)), decision)
                .unwrap_err()
                .kind(),
            "busy"
        );
        turn.suspend(Tenant::Job(JobId(0))).unwrap();
    });
    assert_eq!(fleet.tenants().count(), 1);
}

fn run(scheduler: &mut dyn Scheduler, fleet: &mut Fleet, events: Vec<Event>) -> Vec<Action> {
    let mut orders = Vec::new();
    step(scheduler, fleet, Time::ZERO, events, &mut orders).unwrap();
    check(fleet);
    orders
}

#[test]
fn queues_spread_jobs_and_backfilling_says_that_it_does_not() {
    let arrived = |job: u64, n: usize| Event::Arrived(Job::new(JobId(job), ring(n)));
    let fleet = || Fleet::new(vec![joined(&[1.0; 4]); 3]).with_network(5.0);
    let mut own = fleet();
    let orders = run(
        &mut Fifo::new(greedy()),
        &mut own,
        vec![arrived(0, 10), arrived(1, 5), arrived(2, 2)],
    );
    assert!(
        matches!(&orders[..], [Action::Place { at, .. }] if at.devices() == 10),
        "the second waits, and blocks"
    );
    for scheduler in [
        &mut Easy::new(greedy()) as &mut dyn Scheduler,
        &mut Conservative::new(greedy()),
    ] {
        let orders = run(scheduler, &mut fleet(), vec![arrived(0, 10), arrived(1, 4)]);
        let [Action::Reject { why, .. }, Action::Place { .. }] = &orders[..] else {
            panic!("{orders:?}")
        };
        assert_eq!(
            why.to_string(),
            "not met: one machine for all 10 devices, as backfilling plans for (4 at most)"
        );
    }
}

/// A machine with devices of these products, each pair joined.
fn of_products(products: &[&str]) -> Arc<HardwareGraph> {
    let mut fabric = Fabric::new();
    let ids: Vec<_> = (0..)
        .zip(products)
        .map(|(at, product)| {
            let info = DeviceInfo {
                product: (!product.is_empty()).then(|| (*product).to_owned()),
                ..DeviceInfo::default()
            };
            let (name, kind) = (format!("GPU{at}"), NodeKind::Device(info));
            fabric.add(FabricNode { name, kind }).unwrap()
        })
        .collect();
    for b in 0..ids.len() {
        for a in 0..b {
            fabric.link(ids[a], ids[b], LinkClass::Phb, 12.0).unwrap();
        }
    }
    Arc::new(fabric.lower().unwrap())
}

/// The products of each part of a job on so many devices; else the kind of refusal, and the refusal.
fn products_of(
    fleet: &Fleet,
    request: &Request,
) -> Result<Vec<Vec<String>>, (&'static str, String)> {
    let parts = fleet.clone();
    let found = parts.spread(lowest_id(), request);
    let mut booked = fleet.clone();
    let started = start(&mut booked, 0, &lowest_id(), request);
    assert_eq!(started.is_ok(), found.is_ok());
    let found = found.map_err(|why| (why.kind(), why.to_string()))?;
    let named = |part: &mapa_core::Decision| {
        let graph = fleet.machine(part.stamp().machine).unwrap().graph().clone();
        let product = |id: &DeviceId| graph.device(*id).product.clone().unwrap_or_default();
        part.placement().iter().map(product).collect()
    };
    Ok(found.iter().map(named).collect())
}

#[test]
fn all_parts_are_of_one_product_unless_the_job_may_mix_them() {
    let (old, new) = (["L4"; 4], ["L40S"; 4]);
    let mixed = of_products(&["L4", "L4", "L40S", "L40S"]);
    let fleet = |machines: &[&Arc<HardwareGraph>]| {
        Fleet::new(machines.iter().map(|graph| (*graph).clone())).with_network(5.0)
    };
    let (old, new) = (of_products(&old), of_products(&new));
    let like = |n: usize| Request::new(Pattern::ring(n));
    let six = fleet(&[&old, &new, &new]);
    assert_eq!(
        products_of(&six, &like(6)).unwrap(),
        [vec!["L40S"; 4], vec!["L40S"; 2]]
    );
    let any = products_of(&six, &like(6).unlike(true)).unwrap();
    assert_eq!(any, [vec!["L4"; 4], vec!["L40S"; 2]]);
    // Machines of several products give those of one.
    let split = fleet(&[&mixed, &old, &mixed]);
    assert_eq!(
        products_of(&split, &like(7)).unwrap(),
        [vec!["L4"; 4], vec!["L4"; 2], vec!["L4"; 1]]
    );
    // Four of one product lie on two machines of which each has four devices.
    let halves = fleet(&[&mixed, &mixed]);
    assert_eq!(
        products_of(&halves, &like(4)).unwrap(),
        [vec!["L4"; 2], vec!["L4"; 2]]
    );
    let (kind, why) = products_of(&halves, &like(5)).unwrap_err();
    assert_eq!(kind, "infeasible");
    insta::assert_snapshot!(why, @"not met: 5 devices of one product on the machines together; a request for unlike devices may mix them");
    assert!(products_of(&halves, &like(5).unlike(true)).is_ok());
    // Where a product is not known, nothing tells the others apart.
    let unknown = fleet(&[&of_products(&["", ""]), &new]);
    assert!(products_of(&unknown, &like(5)).is_ok());
    // In use is not never.
    let mut busy = six.clone();
    start(&mut busy, 1, &lowest_id(), &like(4).avoid([9].into())).unwrap();
    let mut both = busy.clone();
    start(&mut both, 2, &lowest_id(), &like(3)).unwrap();
    start(&mut both, 3, &lowest_id(), &like(3)).unwrap();
    assert_eq!(products_of(&both, &like(6)).unwrap_err().0, "busy");
}

proptest! {
    /// A product has the devices if and only if so many of it are free; and no part has another.
    #[test]
    fn parts_of_one_product_are_found_where_they_are(
        machines in vec(vec(0usize..3, 1..=4), 1..=4),
        ranks in 2usize..=6,
    ) {
        let names = ["A", "B", "C"];
        let graphs = machines.iter().map(|of| of_products(&of.iter().map(|&p| names[p]).collect::<Vec<_>>()));
        let fleet = Fleet::new(graphs).with_network(5.0);
        let count = |product: usize| machines.iter().flatten().filter(|&&p| p == product).count();
        match fleet.spread(lowest_id(), &Request::new(Pattern::independent(ranks))) {
            Ok(parts) => {
                let of = |part: &mapa_core::Decision| {
                    let machine = part.stamp().machine.0 as usize;
                    part.placement().iter().map(|id| machines[machine][id.index()]).collect::<Vec<_>>()
                };
                let all: Vec<usize> = parts.iter().flat_map(of).collect();
                prop_assert_eq!(all.len(), ranks);
                prop_assert!(all.iter().all(|&product| product == all[0]), "{:?}", all);
            }
            Err(why) => {
                prop_assert_eq!(why.kind(), "infeasible");
                prop_assert!((0..3).all(|product| count(product) < ranks));
            }
        }
    }

    #[test]
    fn parts_are_whole_disjoint_and_as_few_as_counts_allow(
        kinds in vec(machines(1..=5), 1..=3),
        places in vec(0usize..3, 2..=6),
        before in vec((1usize..=5, 0usize..6), 0..6),
        ranks in 2usize..=20,
        policy in 0usize..5,
    ) {
        let kinds: Vec<Arc<HardwareGraph>> = kinds.into_iter().map(Arc::new).collect();
        let policy = BuiltIn::named(BuiltIn::ALL[policy].name).unwrap();
        let mut fleet = Fleet::new(places.iter().map(|kind| kinds[kind % kinds.len()].clone())).with_network(1.0);
        let independent = |n: usize| Request::new(Pattern::independent(n));
        for (job, (n, _)) in (1..).zip(before) {
            // Those for which there is no room.
            let _ = start(&mut fleet, job, &policy, &independent(n));
        }
        let mut free: Vec<usize> = fleet.views().map(|view| view.free().len()).collect();
        free.sort_unstable_by(|a, b| b.cmp(a));
        let all = free.iter().sum::<usize>();
        let before = fleet.clone();
        match fleet.spread(&policy, &independent(ranks)) {
            Ok(found) => {
                prop_assert!(ranks <= all);
                let mut left = ranks;
                let least = free.iter().take_while(|&&devices| { let more = left > 0; left = left.saturating_sub(devices); more }).count();
                prop_assert_eq!(found.len(), least);
                let visited: Vec<_> = found.iter().map(|part| part.stamp().machine).collect();
                in_turn(&mut fleet, |turn| {
                    let at = turn.place_parts(Tenant::Job(JobId(0)), found.clone()).unwrap();
                    assert!(at.machines().eq(visited.iter().copied()));
                    assert_eq!(at.parts().map(|(ranks, ..)| ranks.len()).sum::<usize>(), ranks);
                    let mut devices: Vec<(MachineId, DeviceId)> =
                        at.parts().flat_map(|(_, machine, placement)| placement.iter().map(move |&id| (machine, id))).collect();
                    devices.sort_unstable();
                    devices.dedup();
                    assert_eq!(devices.len(), ranks);
                });
                fleet.book(&Event::Finished(JobId(0))).unwrap();
                let free = |fleet: &Fleet| fleet.views().map(|view| view.free().clone()).collect::<Vec<_>>();
                prop_assert_eq!(free(&fleet), free(&before));
            }
            Err(why) => {
                prop_assert!(ranks > all);
                let devices: usize = fleet.machines().iter().map(|machine| machine.graph().all().len()).sum();
                prop_assert_eq!(why.kind(), if ranks > devices { "infeasible" } else { "busy" });
            }
        }
    }
}
