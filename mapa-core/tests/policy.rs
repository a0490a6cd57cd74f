//! Policies compared with brute force, and the three kinds of rejection.

mod peers;

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mapa_core::testing::{free_sets, joined_machines, machines, oracle, patterns};
use mapa_core::{
    BuiltIn, Candidate, Criterion, Decision, DeviceId, DeviceSet, Fabric, FabricNode,
    HardwareGraph, Limits, LinkClass, NodeKind, Objective, Pattern, Policy, Reason, Refusal,
    Request, Rules, Shape, StopReason, aggregate_gbps,
    criteria::{lowest_ids, max, min},
    effective_gbps, greedy, lowest_id, preserve, preserved_gbps, topo_aware,
};
use proptest::prelude::*;

use crate::common::{complete, gpus};

/// A ring of four double links, the diagonals through the host.
fn square() -> HardwareGraph {
    let mut f = Fabric::new();
    let cpus = [0, 1].map(|i| f.add_numa(format!("cpu{i}"), i).unwrap());
    let machine = f
        .add(mapa_core::FabricNode {
            name: "machine".into(),
            kind: mapa_core::NodeKind::Machine,
        })
        .unwrap();
    cpus.iter()
        .for_each(|&cpu| f.attach(cpu, machine, 12.0).unwrap());
    let gpus = gpus(&mut f, 4);
    for (i, &gpu) in gpus.iter().enumerate() {
        f.attach(gpu, cpus[i / 2], 12.0).unwrap();
        f.link(gpu, gpus[(i + 1) % 4], LinkClass::Direct(2), 50.0)
            .unwrap();
    }
    f.lower().unwrap()
}

fn ids(decision: &Decision) -> Vec<u32> {
    decision.placement().iter().map(|d| d.0).collect()
}

fn refusal(
    policy: impl Policy,
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Refusal {
    policy.decide(request, &graph.with_free(free)).unwrap_err()
}

#[test]
fn busy_infeasible_and_limit_reached_are_three_answers() {
    let graph = square();
    let all = graph.all();
    let ring = |k| Request::new(Pattern::ring(k));
    for policy in BuiltIn::ALL {
        let policy = BuiltIn::named(policy.name).unwrap();
        assert_eq!(
            refusal(&policy, &ring(0), &graph, &all),
            Refusal::Infeasible(Reason::Empty)
        );
        assert_eq!(
            refusal(&policy, &ring(5), &graph, &all),
            Refusal::Infeasible(Reason::TooFewDevices {
                wanted: 5,
                allowed: 4
            })
        );
        assert_eq!(
            refusal(&policy, &ring(3), &graph, &DeviceSet::from([0, 3])),
            Refusal::Busy(Reason::InUse {
                wanted: 3,
                free: 2,
                allowed: 4
            })
        );
        // Three of four cannot form a ring of direct links, ever; two can, but 0 and 2 are not
        // joined by one.
        let direct = |k| ring(k).min_link(LinkClass::Direct(1));
        assert_eq!(
            refusal(&policy, &direct(3), &graph, &all),
            Refusal::Infeasible(Reason::NoMatch)
        );
        assert_eq!(
            refusal(&policy, &direct(2), &graph, &DeviceSet::from([0, 2])),
            Refusal::Busy(Reason::InUse {
                wanted: 2,
                free: 2,
                allowed: 4
            })
        );
        // One match on each set of three takes no node.
        let limited = ring(3).limits(Limits::NONE.nodes(2).matches(0));
        assert!(
            matches!(
                refusal(&policy, &limited, &graph, &all),
                Refusal::LimitReached(_)
            ),
            "{}",
            policy.name()
        );
        assert!(matches!(
            refusal(
                &policy,
                &ring(2).same_numa(true),
                &graph,
                &DeviceSet::from([1, 2])
            ),
            Refusal::Busy(_)
        ));
        assert!(matches!(
            refusal(&policy, &ring(3).same_numa(true), &graph, &all),
            Refusal::Infeasible(_)
        ));
    }
}

#[test]
fn a_search_stopped_early_says_that_its_answer_may_not_be_the_best() {
    let graph = square();
    let all = graph.all();
    let rank_0 = || Objective::placement("rank 0", |c: &Candidate<'_>| f64::from(c.placement[0].0));
    let request = Request::new(Pattern::ring(3)).limits(Limits::NONE.nodes(6));
    let policy = Rules::new("own").prefer(max(rank_0()));
    let decision = policy.decide(&request, &graph.with_free(&all)).unwrap();
    assert!(!decision.search().complete());
    let large = complete(14);
    let free = large.all();
    let request = Request::new(Pattern::ring(7));
    // One criterion depends on the set, the other on the placement. Neither can be bounded, so both
    // need a search.
    let left_over = Objective::rest("sum of ids", |rest| {
        rest.devices.iter().map(|d| f64::from(d.0)).sum()
    });
    for objective in [left_over, rank_0()] {
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Relaxed) > 0;
        let policy = Rules::new("own").prefer(max(objective));
        let decision = policy
            .decide(&request, &large.with_free(&free).until(&stop))
            .unwrap();
        assert_eq!(decision.search().stopped, StopReason::Caller);
    }
}

#[test]
fn more_ranks_than_pairs_can_be_counted_are_infeasible_for_every_policy() {
    let graph = square();
    for shape in Shape::ALL {
        for ranks in [1 << 32, usize::MAX / 2, usize::MAX] {
            let request = Request::new(shape.pattern(ranks));
            for built_in in BuiltIn::ALL {
                let decided = built_in
                    .policy()
                    .decide(&request, &graph.with_free(&graph.all()));
                let refusal = decided.unwrap_err();
                assert_eq!(refusal.kind(), "infeasible", "{}", built_in.name);
            }
        }
    }
}

#[test]
fn contradictory_requests_are_named_by_check_and_infeasible_to_policies() {
    let graph = square();
    let all = graph.all();
    let ring = || Request::new(Pattern::ring(2));
    let three = DeviceSet::from([0, 1, 2]);
    for (request, message) in [
        (
            ring().must_include(three.clone()),
            "3 devices must be included, the job has 2",
        ),
        (
            ring().must_include([0].into()).avoid([0, 1].into()),
            "device 0 must be both included and avoided",
        ),
        (
            ring().must_include([3].into()).only(three.clone()),
            "device 3 must be included and is not among the only devices allowed",
        ),
    ] {
        let error = request.check(&graph).unwrap_err();
        assert!(error.is_contradiction());
        assert_eq!(
            error.to_string(),
            format!("the request contradicts itself: {message}")
        );
        assert!(matches!(
            refusal(greedy(), &request, &graph, &all),
            Refusal::Infeasible(_)
        ));
    }
    let foreign = ring().avoid([7].into()).check(&graph).unwrap_err();
    assert!(!foreign.is_contradiction());
    insta::assert_snapshot!(
        foreign.to_string(),
        @"no single device is called `7`: expected an id below 4, or a name, UUID or PCI address"
    );
    assert!(
        ring()
            .must_include([0].into())
            .only(three)
            .check(&graph)
            .is_ok()
    );
}

#[test]
fn a_policy_by_hand_is_verified() {
    let graph = square();
    let free = DeviceSet::from([0, 1, 2]);
    let view = graph.with_free(&free);
    let request = Request::new(Pattern::ring(2))
        .min_link(LinkClass::Direct(1))
        .avoid([1].into());
    let why = |placement: &[u32]| {
        let devices = placement.iter().copied().map(DeviceId);
        Decision::checked("by hand", &request, &view, devices)
            .map(|d| ids(&d))
            .map_err(|r| r.to_string())
    };
    assert_eq!(
        why(&[0]),
        Err("not met: 1 ranks are placed, the pattern has 2".into())
    );
    assert_eq!(
        why(&[0, 3]),
        Err("not met: rank 1 is on device 3, which is not available".into())
    );
    assert_eq!(
        why(&[0, 1]),
        Err("not met: rank 1 is on device 1, which is not available".into())
    );
    assert_eq!(
        why(&[0, 9]),
        Err("not met: rank 1 is on device 9, which is not available".into())
    );
    assert_eq!(
        why(&[2, 2]),
        Err("not met: ranks 0 and 1 are both on device 2".into())
    );
    assert_eq!(why(&[0, 2]), Err("not met: the least class of link".into()));
    let many = Decision::checked(
        "by hand",
        &Request::new(Pattern::ring(5)),
        &view,
        [DeviceId(0)],
    )
    .unwrap_err();
    assert_eq!(many.kind(), "infeasible", "there are four devices");
    let request = Request::new(Pattern::ring(2));
    let decision =
        Decision::checked("by hand", &request, &view, [DeviceId(2), DeviceId(1)]).unwrap();
    assert_eq!((decision.policy(), ids(&decision)), ("by hand", vec![2, 1]));
    assert_eq!(decision.best().score("aggregate_gbps"), Some(100.0));
}

#[test]
fn runners_up_are_the_best_on_other_sets_and_say_why_they_lost() {
    let graph = square();
    let all = graph.all();
    let request = Request::new(Pattern::ring(2)).runners_up(10);
    let decision = greedy().decide(&request, &graph.with_free(&all)).unwrap();
    assert_eq!(ids(&decision), [0, 1]);
    let sets: Vec<_> = decision
        .runners_up()
        .iter()
        .map(|r| r.scored.placement().set().to_string())
        .collect();
    assert_eq!(sets, ["0,3", "1,2", "2,3", "0,2", "1,3"]);
    let lost: Vec<_> = decision
        .runners_up()
        .iter()
        .map(|r| r.lost_on.as_deref())
        .collect();
    assert_eq!(
        lost,
        [
            None,
            None,
            None,
            Some("aggregate_gbps"),
            Some("aggregate_gbps")
        ]
    );
}

#[test]
fn topo_aware_descends_into_the_half_with_fewest_left_over() {
    let graph = square();
    let take = |free: DeviceSet, k| {
        let request = Request::new(Pattern::ring(k));
        topo_aware()
            .decide(&request, &graph.with_free(&free))
            .unwrap()
            .placement()
            .set()
            .to_string()
    };
    assert_eq!(
        take([0, 1, 2, 3].into(), 2),
        "0,1",
        "a tie goes to the lower ids"
    );
    assert_eq!(
        take([0, 1, 2].into(), 1),
        "2",
        "socket 1 has none left over"
    );
    assert_eq!(take([0, 2, 3].into(), 2), "2,3");
    assert_eq!(take([0, 1, 2, 3].into(), 3), "0,1,2", "no half holds three");
    assert_eq!(take([1, 2].into(), 2), "1,2");
    // The half that would be chosen cannot meet the link class; the search goes back up.
    let mut f = Fabric::new();
    let gpus = gpus(&mut f, 4);
    for (a, b, class) in [
        (0, 1, LinkClass::Phb),
        (2, 3, LinkClass::Phb),
        (0, 2, LinkClass::Sys),
        (1, 3, LinkClass::Sys),
    ] {
        f.link(gpus[a], gpus[b], class, 12.0).unwrap();
    }
    f.link(gpus[1], gpus[2], LinkClass::Direct(1), 25.0)
        .unwrap();
    let graph = f.lower().unwrap();
    let all = graph.all();
    let request = Request::new(Pattern::ring(2)).min_link(LinkClass::Direct(1));
    assert_eq!(
        ids(&topo_aware()
            .decide(&request, &graph.with_free(&all))
            .unwrap()),
        [1, 2]
    );
}

/// Sockets with so many devices each, numbered from socket to socket or dealt out in turn.
fn sockets(sizes: &[usize], dealt: bool) -> HardwareGraph {
    let mut f = Fabric::new();
    let mut of: Vec<(usize, usize)> = (0..sizes.len())
        .flat_map(|socket| (0..sizes[socket]).map(move |at| (socket, at)))
        .collect();
    if dealt {
        of.sort_by_key(|&(socket, at)| (at, socket));
    }
    let gpus = gpus(&mut f, of.len());
    let nodes: Vec<_> = (0..sizes.len())
        .map(|i| f.add_numa(format!("numa{i}"), i as u32).unwrap())
        .collect();
    for (gpu, (socket, _)) in gpus.into_iter().zip(of) {
        f.attach(gpu, nodes[socket], 12.0).unwrap();
    }
    let (name, kind) = ("machine".to_owned(), mapa_core::NodeKind::Machine);
    let machine = f.add(mapa_core::FabricNode { name, kind }).unwrap();
    nodes
        .iter()
        .for_each(|&node| f.attach(node, machine, 12.0).unwrap());
    f.lower().unwrap()
}

#[test]
fn of_three_sockets_two_are_the_first_half() {
    let graph = sockets(&[2, 2, 2], false);
    let take = |free: DeviceSet| {
        let request = Request::new(Pattern::ring(2));
        ids(&topo_aware()
            .decide(&request, &graph.with_free(&free))
            .unwrap())
    };
    // The third socket has two left, the first two together three.
    assert_eq!(take([1, 2, 3, 4, 5].into()), [4, 5]);
    assert_eq!(take([2, 3, 4, 5].into()), [2, 3]);
}

#[test]
fn the_released_topo_aware_gives_a_job_of_a_whole_socket_the_lowest_ids() {
    // The code asks whether a socket has more GPUs than the job, not as many.
    let graph = sockets(&[3, 3], true);
    let take = |k| {
        let request = Request::new(Pattern::ring(k));
        let all = graph.all();
        let decision = mapa_core::topo_aware_released().decide(&request, &graph.with_free(&all));
        ids(&decision.unwrap())
    };
    assert_eq!(take(2), [0, 2]);
    assert_eq!(take(3), [0, 1, 2]);
}

#[test]
fn a_search_that_is_stopped_in_one_part_is_not_answered_from_another() {
    // The first part is searched and may hold the better answer: to go on would present the second as the best.
    let graph = square();
    let all = graph.all();
    let parts = |_: &Request, _: &mapa_core::View<'_>| vec![DeviceSet::from([0, 1, 2])];
    let policy = mapa_core::within("own", "order", parts, greedy(), lowest_id());
    let request =
        |nodes| Request::new(Pattern::ring(3)).limits(Limits::NONE.nodes(nodes).matches(0));
    let found = policy.decide(&request(1_000), &graph.with_free(&all));
    assert!(matches!(found, Err(Refusal::LimitReached(_))), "{found:?}");
    struct Stopped;
    impl Policy for Stopped {
        fn name(&self) -> &str {
            "stopped"
        }
        fn decide(
            &self,
            request: &Request,
            view: &mapa_core::View<'_>,
        ) -> Result<Decision, Refusal> {
            let limits = Limits::NONE.nodes(2).matches(0);
            greedy().decide(&request.clone().limits(limits), view)
        }
    }
    let policy = mapa_core::within("own", "order", parts, Stopped, lowest_id());
    let found = policy.decide(&Request::new(Pattern::ring(3)), &graph.with_free(&all));
    assert!(matches!(found, Err(Refusal::LimitReached(_))), "{found:?}");
}

#[test]
fn of_several_machines_topo_aware_takes_one_with_a_close_part_that_leaves_few_over() {
    let graph = sockets(&[3, 3], false);
    let request = Request::new(Pattern::ring(2));
    let decide = |free: DeviceSet| {
        topo_aware()
            .decide(&request, &graph.with_free(&free))
            .unwrap()
    };
    // Across sockets nothing is left over, within one a device is: closeness comes first.
    let (across, within, exact) = (
        decide([0, 3].into()),
        decide([0, 1, 2].into()),
        decide([0, 1].into()),
    );
    assert!(within.order(&across).is_lt());
    assert!(exact.order(&within).is_lt(), "it leaves nothing over");
}

#[test]
fn ranks_that_share_one_device_meet_any_least_class_of_link() {
    // On one device nothing is faster than to stay there.
    let graph = complete(2);
    let all = graph.all();
    let pattern = Pattern::ring(2).each(mapa_core::Demand::any().shared());
    let request = Request::new(pattern).min_link(LinkClass::Direct(1));
    for policy in [&lowest_id() as &dyn Policy, &greedy()] {
        let decision = policy.decide(&request, &graph.with_free(&all)).unwrap();
        assert_eq!(ids(&decision), [0, 0]);
        assert!(decision.answers(&request, &graph).is_ok());
    }
    let by_hand = Decision::checked("own", &request, &graph.with_free(&all), [0.into(); 2]);
    assert!(by_hand.is_ok());
    let apart = Decision::checked(
        "own",
        &request,
        &graph.with_free(&all),
        [0.into(), 1.into()],
    );
    assert!(apart.is_err());
}

#[test]
fn preserve_by_a_model_of_sets_orders_ranks_off_the_host_first() {
    // A chain over three devices: by way of device 1 over two single links, or by way of device 0 with a wider host path.
    let mut f = Fabric::new();
    let gpus = gpus(&mut f, 3);
    f.link(gpus[0], gpus[1], LinkClass::Direct(1), 25.0)
        .unwrap();
    f.link(gpus[1], gpus[2], LinkClass::Direct(1), 25.0)
        .unwrap();
    f.link(gpus[0], gpus[2], LinkClass::Phb, 64.0).unwrap();
    let graph = f.lower().unwrap();
    let all = graph.all();
    let policy = mapa_core::preserve_with(mapa_core::ring_packing_gbps(), preserved_gbps());
    let request = Request::new(Pattern::chain(3)).sensitive(true);
    let decision = policy.decide(&request, &graph.with_free(&all)).unwrap();
    assert_eq!(ids(&decision), [0, 1, 2]);
}

#[test]
fn an_objective_that_sees_the_placement_is_given_every_rank_order() {
    let graph = square();
    let all = graph.all();
    // Rank 0 on the highest device, which symmetry breaking alone would never try.
    let objective = Objective::placement("rank 0 high", |c: &Candidate<'_>| {
        f64::from(c.placement[0].0)
    });
    let decision = Rules::new("own")
        .prefer(max(objective))
        .decide(&Request::new(Pattern::ring(3)), &graph.with_free(&all));
    assert_eq!(ids(&decision.unwrap()), [3, 0, 1]);
}

#[test]
fn ids_that_the_machine_does_not_have_change_nothing() {
    let graph = square();
    let (free, padded) = (
        DeviceSet::from([0, 1, 2]),
        DeviceSet::from([0, 1, 2, 9, 100]),
    );
    for sensitive in [true, false] {
        let request = Request::new(Pattern::ring(2)).sensitive(sensitive);
        let decide = |free| preserve().decide(&request, &graph.with_free(free)).unwrap();
        assert_eq!(decide(&padded), decide(&free));
    }
}

#[test]
fn on_machines_with_gaps_policies_agree_on_what_is_infeasible_and_keep_the_limit() {
    // Eight squares of direct links, joined by the host: no ring of nine on direct links, and 27
    // billion sets of nine.
    let mut f = Fabric::new();
    let machine = f
        .add(mapa_core::FabricNode {
            name: "m".into(),
            kind: mapa_core::NodeKind::Machine,
        })
        .unwrap();
    let gpus = gpus(&mut f, 64);
    for (i, &gpu) in gpus.iter().enumerate() {
        f.attach(gpu, machine, 12.0).unwrap();
        f.link(
            gpu,
            gpus[i / 8 * 8 + (i + 1) % 8],
            LinkClass::Direct(1),
            25.0,
        )
        .unwrap();
    }
    let graph = f.lower().unwrap();
    let all = graph.all();
    for built_in in BuiltIn::ALL {
        let policy = BuiltIn::named(built_in.name).unwrap();
        let request = Request::new(Pattern::ring(9)).min_link(LinkClass::Direct(1));
        assert_eq!(
            refusal(&policy, &request, &graph, &all),
            Refusal::Infeasible(Reason::NoMatch),
            "{}",
            built_in.name
        );
        // Without the least link every set has a match, and there are too many.
        let request = Request::new(Pattern::ring(9)).limits(Limits::NONE.nodes(20_000));
        if let Ok(decision) = policy.decide(&request, &graph.with_free(&all)) {
            assert!(
                decision.search().complete() || decision.search().nodes <= 20_000,
                "{}",
                built_in.name
            );
        }
    }
}

#[test]
fn naming_runners_up_never_costs_topo_aware_its_decision() {
    let mut f = Fabric::new();
    let machine = f
        .add(mapa_core::FabricNode {
            name: "m".into(),
            kind: mapa_core::NodeKind::Machine,
        })
        .unwrap();
    for socket in 0..8 {
        let cpu = f.add_numa(format!("cpu{socket}"), socket).unwrap();
        f.attach(cpu, machine, 12.0).unwrap();
        for i in 0..4 {
            let gpu = f.add_device(format!("GPU{socket}-{i}")).unwrap();
            f.attach(gpu, cpu, 12.0).unwrap();
        }
    }
    let graph = f.lower().unwrap();
    let all = graph.all();
    // With some of these limits the sets of a socket can be examined, but none of the whole
    // machine.
    for nodes in 1..40 {
        let plain = Request::new(Pattern::ring(2)).limits(Limits::NONE.nodes(nodes));
        let decide = |request: &Request| {
            topo_aware()
                .decide(request, &graph.with_free(&all))
                .map(|d| ids(&d))
        };
        if let Ok(chosen) = decide(&plain) {
            assert_eq!(decide(&plain.runners_up(9)), Ok(chosen), "{nodes} nodes");
        }
    }
}

#[test]
fn any_number_of_runners_up_may_be_asked_for() {
    let graph = square();
    let all = graph.all();
    let request = Request::new(Pattern::ring(2)).runners_up(usize::MAX);
    assert_eq!(
        greedy()
            .decide(&request, &graph.with_free(&all))
            .unwrap()
            .runners_up()
            .len(),
        5
    );
}

#[test]
fn a_job_of_one_device_is_never_sensitive() {
    let graph = square();
    let free = DeviceSet::from([0, 1, 2]);
    let take = |sensitive| {
        let request = Request::new(Pattern::ring(1)).sensitive(sensitive);
        ids(&preserve()
            .decide(&request, &graph.with_free(&free))
            .unwrap())
    };
    // Taking 1 would break both links; 0 and 2 leave one, 0 is lower.
    assert_eq!((take(true), take(false)), (vec![0], vec![0]));
}

/// Criteria for random policies.
fn criteria() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..9, 0..4)
}

fn criterion(kind: u8) -> Criterion<'static> {
    match kind {
        0 => max(aggregate_gbps()),
        1 => max(effective_gbps()),
        2 => max(preserved_gbps()),
        3 => lowest_ids(),
        7 => max(
            Objective::chosen("links", |s| s.graph.bandwidth_within(s.devices, |_| true))
                .blind_to_ids(),
        ),
        4 => min(Objective::chosen("sum of ids", |s| {
            s.devices.iter().map(|d| f64::from(d.0 % 3)).sum()
        })),
        8 => max(Objective::edges("weighted", |e| e.traffic * e.link.gbps)),
        5 => max(Objective::placement("first", |c| {
            f64::from(c.placement.first().map_or(0, |d| d.0 % 2))
        })),
        _ => min(Objective::edges("traffic on host", |e| {
            if e.link.class.is_host() {
                e.traffic
            } else {
                f64::NAN
            }
        })),
    }
}

/// The choice that a policy made of criteria must make, from its definition.
fn brute_force(
    kinds: &[u8],
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Option<Vec<DeviceId>> {
    brute_force_without(kinds, request, graph, free, &[])
}

/// The choice that it must make among placements on none of these sets.
fn brute_force_without(
    kinds: &[u8],
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
    taken: &[DeviceSet],
) -> Option<Vec<DeviceId>> {
    let allowed = &(free - &request.avoid) & request.only.as_ref().unwrap_or(&graph.all());
    let mut maps = oracle::raw_matches(&request.pattern, graph, &allowed, false);
    let numa = |d: &DeviceId| graph.device(*d).numa;
    maps.retain(|map| {
        let link = |e: &mapa_core::Edge| graph.link(map[e.a as usize], map[e.b as usize]).class;
        !taken.contains(&map.iter().copied().collect())
            && request.must_include.iter().all(|d| map.contains(&d))
            && request
                .pattern
                .edges()
                .iter()
                .all(|e| link(e) >= request.min_link)
            && (!request.same_numa || map.iter().all(|d| numa(d) == numa(&map[0])))
    });
    let objective = |kind: u8| match kind {
        0 => aggregate_gbps(),
        1 => effective_gbps(),
        2 => preserved_gbps(),
        7 => Objective::chosen("", |s| s.graph.bandwidth_within(s.devices, |_| true)),
        4 => Objective::chosen("", |s| {
            -s.devices.iter().map(|d| f64::from(d.0 % 3)).sum::<f64>()
        }),
        8 => Objective::edges("", |e| e.traffic * e.link.gbps),
        5 => Objective::placement("", |c| {
            f64::from(c.placement.first().map_or(0, |d| d.0 % 2))
        }),
        _ => Objective::edges("", |e| {
            if e.link.class.is_host() {
                -e.traffic
            } else {
                f64::NAN
            }
        }),
    };
    let compare = |a: &Vec<DeviceId>, b: &Vec<DeviceId>| {
        let set = |map: &Vec<DeviceId>| map.iter().copied().collect::<DeviceSet>();
        for &kind in kinds {
            let order = if kind == 3 {
                set(a).cmp(&set(b))
            } else {
                let score = |placement| {
                    let candidate = Candidate {
                        view: graph.with_free(free),
                        pattern: &request.pattern,
                        placement,
                    };
                    let value = objective(kind).score(&candidate);
                    if value.is_nan() {
                        f64::NEG_INFINITY
                    } else {
                        value
                    }
                };
                let (a, b) = (score(a), score(b));
                if (a - b).abs() < 1e-9 {
                    Ordering::Equal
                } else {
                    b.total_cmp(&a)
                }
            };
            if order.is_ne() {
                return order;
            }
        }
        set(a).cmp(&set(b)).then_with(|| a.cmp(b))
    };
    maps.into_iter().min_by(compare)
}

fn cases() -> impl Strategy<Value = (HardwareGraph, DeviceSet, Request)> {
    let machine = prop_oneof![machines(1..=6), joined_machines(1..=6)].prop_flat_map(|g| {
        let n = g.len();
        (
            Just(g),
            free_sets(n),
            free_sets(n),
            free_sets(n),
            free_sets(n),
            patterns(1..=4),
        )
    });
    let least = proptest::sample::select(vec![
        LinkClass::None,
        LinkClass::None,
        LinkClass::Node,
        LinkClass::Direct(1),
    ]);
    (machine, any::<[bool; 5]>(), least).prop_map(
        |((g, free, a, b, c, pattern), [s, x, y, z, numa], least)| {
            let mut request = Request::new(pattern)
                .sensitive(s)
                .min_link(least)
                .same_numa(numa);
            if x {
                request.avoid = &a - &b;
            }
            if y {
                request.only = Some(&b | &c);
            }
            if z {
                request.must_include = (&(&b & &c) - &a).iter().take(2).collect();
            }
            (g, free, request)
        },
    )
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(3000))]

    #[test]
    fn rules_choose_the_lexicographic_optimum((graph, free, request) in cases(), kinds in criteria()) {
        prop_assume!(request.check(&graph).is_ok());
        let rules = kinds.iter().fold(Rules::new("random"), |rules, &kind| rules.prefer(criterion(kind)));
        let decision = rules.decide(&request, &graph.with_free(&free));
        let expected = brute_force(&kinds, &request, &graph, &free);
        match (decision, expected) {
            (Ok(decision), Some(expected)) => prop_assert_eq!(decision.placement().to_vec(), expected),
            (Err(Refusal::Busy(_)), None) => {
                prop_assert!(brute_force(&[], &request, &graph, &graph.all()).is_some());
            }
            (Err(Refusal::Infeasible(_)), None) => {
                prop_assert!(brute_force(&[], &request, &graph, &graph.all()).is_none());
            }
            (decision, expected) => prop_assert!(false, "{decision:?} for {expected:?}"),
        }
    }

    #[test]
    fn runners_up_are_the_best_of_each_other_set((graph, free, request) in cases(), kinds in criteria()) {
        prop_assume!(request.check(&graph).is_ok());
        let rules = kinds.iter().fold(Rules::new("random"), |rules, &kind| rules.prefer(criterion(kind)));
        let request = request.runners_up(3);
        let Ok(decision) = rules.decide(&request, &graph.with_free(&free)) else { return Ok(()) };
        // Without the first, the second is the best of what is left; and so on, set by set.
        let runners_up = decision.runners_up().iter().map(|runner_up| &runner_up.scored);
        let mut sets = Vec::<DeviceSet>::new();
        for scored in std::iter::once(decision.best()).chain(runners_up) {
            let best = brute_force_without(&kinds, &request, &graph, &free, &sets);
            prop_assert_eq!(Some(scored.placement().to_vec()), best);
            sets.push(scored.placement().set());
        }
        prop_assert!(sets.len() == 4 || brute_force_without(&kinds, &request, &graph, &free, &sets).is_none());
    }

    #[test]
    fn every_built_in_decision_passes_the_check((graph, free, request) in cases()) {
        let view = graph.with_free(&free);
        let feasible = request.check(&graph).is_ok() && brute_force(&[], &request, &graph, &free).is_some();
        for built_in in BuiltIn::ALL {
            let policy = BuiltIn::named(built_in.name).unwrap();
            match policy.decide(&request, &view) {
                Ok(decision) => {
                    prop_assert!(feasible);
                    let placement = decision.placement().iter().copied();
                    prop_assert!(Decision::checked("again", &request, &view, placement).is_ok());
                    prop_assert_eq!(policy.decide(&request, &view), Ok(decision), "the same answer twice");
                }
                // Only the released floor may reject a request that could be placed.
                Err(_) => prop_assert!(!feasible || built_in.name == "preserve-released"),
            }
        }
    }

    #[test]
    fn lowest_id_takes_the_first_devices_of_a_complete_machine(n in 1usize..12, k in 1usize..6, busy in free_sets(12)) {
        let graph = complete(n);
        let free = &graph.all() - &busy;
        let decision = lowest_id().decide(&Request::new(Pattern::ring(k)), &graph.with_free(&free));
        match decision {
            Ok(decision) => prop_assert!(decision.placement().iter().copied().eq(free.iter().take(k))),
            Err(refusal) => prop_assert_eq!(refusal.kind(), if k > n { "infeasible" } else { "busy" }),
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(200))]

    #[test]
    fn what_is_left_is_best_also_where_no_table_is_made(
        graph in joined_machines(17..=19), busy in free_sets(19), two in any::<bool>(), then in criteria(),
    ) {
        let free = &graph.all() - &(&busy & &(3..9).map(DeviceId).collect());
        let request = Request::new(Pattern::ring(if two { 2 } else { 3 }));
        let kinds: Vec<u8> = std::iter::once(2).chain(then).collect();
        let rules = kinds.iter().fold(Rules::new("random"), |rules, &kind| rules.prefer(criterion(kind)));
        let decision = rules.decide(&request, &graph.with_free(&free)).unwrap();
        prop_assert!(decision.search().complete());
        prop_assert_eq!(Some(decision.placement().to_vec()), brute_force(&kinds, &request, &graph, &free));
    }
}

/// Behind one link switch all pairs are alike, whatever the host below: the devices that stay free
/// have the same value for every set.
#[test]
fn a_rack_behind_one_switch_is_decided_at_once() {
    let mut fabric = Fabric::new();
    let switch = fabric
        .add(FabricNode {
            name: "switch".into(),
            kind: NodeKind::LinkSwitch,
        })
        .unwrap();
    for tray in 0..36 {
        let host = fabric.add_numa(format!("cpu{tray}"), tray).unwrap();
        for i in 0..2 {
            let device = fabric.add_device(format!("GPU{}", 2 * tray + i)).unwrap();
            fabric.attach(device, host, 63.0).unwrap();
            fabric
                .link(device, switch, LinkClass::Direct(18), 900.0)
                .unwrap();
        }
    }
    let graph = fabric.lower().unwrap();
    for k in [2, 8, 36, 60] {
        let decision = preserve()
            .decide(
                &Request::new(Pattern::ring(k)),
                &graph.with_free(&graph.all()),
            )
            .unwrap();
        assert!(decision.search().complete());
        assert!(
            decision.search().nodes < 10_000,
            "{k}: {} nodes",
            decision.search().nodes
        );
        assert_eq!(decision.placement().set(), DeviceSet::first_n(k));
    }
}
