//! The best group of a partition and the set of least weight, compared with plain enumeration in
//! the order of the originals.

use std::sync::Arc;

use mapa_core::testing::{free_sets, requests};
use mapa_core::{
    Allocator, BestPartition, Decision, Demand, DeviceId, DeviceSet, Fabric, FabricNode,
    HardwareGraph, LeastWeight, LinkClass, NodeKind, Pattern, Policy, Reason, Refusal, Request,
    best_partition, greedy, least_weight, lowest_id,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::complete;

/// A symmetric table.
#[derive(Clone, Debug)]
struct Table(usize, Vec<u32>);

impl Table {
    fn pair(&self, a: usize, b: usize) -> u32 {
        self.1[a.min(b) * self.0 + a.max(b)]
    }

    fn sum(&self, set: &[usize]) -> u32 {
        (0..set.len())
            .flat_map(|j| (0..j).map(move |i| (i, j)))
            .map(|(i, j)| self.pair(set[i], set[j]))
            .sum()
    }
}

/// Tables with few distinct values, so that there are ties.
fn table(n: usize) -> impl Strategy<Value = Table> {
    (1u32..=4)
        .prop_flat_map(move |most| vec(0..=most, n * n))
        .prop_map(move |values| Table(n, values))
}

/// All sets of `size` of `from`, in lexicographic order of their places.
fn sets<T: Copy>(from: &[T], size: usize) -> Vec<Vec<T>> {
    match (size, from.split_first()) {
        (0, _) => vec![Vec::new()],
        (_, None) => Vec::new(),
        (_, Some((&first, rest))) => {
            let with = sets(rest, size - 1)
                .into_iter()
                .map(|set| [vec![first], set].concat());
            with.chain(sets(rest, size)).collect()
        }
    }
}

/// All partitions of places, some of them empty, into groups of `k`, the empty ones in one group;
/// the first place that is left is in the next group.
fn partitions(
    left: &[Option<usize>],
    k: usize,
    visit: &mut impl FnMut(&[Vec<Option<usize>>]),
    so_far: &mut Vec<Vec<Option<usize>>>,
) {
    let Some((&first, rest)) = left.split_first() else {
        return visit(so_far);
    };
    let places: Vec<usize> = (0..rest.len()).collect();
    for others in sets(&places, k - 1) {
        let group: Vec<Option<usize>> = std::iter::once(first)
            .chain(others.iter().map(|&at| rest[at]))
            .collect();
        let empty =
            |places: &[Option<usize>]| places.iter().filter(|place| place.is_none()).count();
        if ![0, empty(left)].contains(&empty(&group)) {
            continue;
        }
        let left: Vec<Option<usize>> = (0..rest.len())
            .filter(|at| !others.contains(at))
            .map(|at| rest[at])
            .collect();
        so_far.push(group);
        partitions(&left, k, visit, so_far);
        so_far.pop();
    }
}

fn by_enumeration(
    table: &Table,
    available: &[usize],
    required: &[usize],
    k: usize,
) -> Option<Vec<usize>> {
    let mut places: Vec<Option<usize>> = available.iter().copied().map(Some).collect();
    places.resize(available.len().next_multiple_of(k), None);
    let real =
        |group: &Vec<Option<usize>>| -> Vec<usize> { group.iter().copied().flatten().collect() };
    let mut best: Option<(u32, Vec<Vec<usize>>)> = None;
    let good = |group: &Vec<usize>| {
        group.len() == k && required.iter().all(|device| group.contains(device))
    };
    let mut visit = |partition: &[Vec<Option<usize>>]| {
        let groups: Vec<Vec<usize>> = partition.iter().map(real).collect();
        let sum = groups.iter().map(|group| table.sum(group)).sum();
        if groups.iter().any(good) && best.as_ref().is_none_or(|(most, _)| sum > *most) {
            best = Some((sum, groups));
        }
    };
    partitions(&places, k, &mut visit, &mut Vec::new());
    let mut chosen: Option<Vec<usize>> = None;
    for group in best?.1.into_iter().filter(good) {
        if chosen
            .as_ref()
            .is_none_or(|chosen| table.sum(&group) > table.sum(chosen))
        {
            chosen = Some(group);
        }
    }
    chosen
}

/// All sequences of packages, shortest first, each taken whole but the last; the first of least
/// weight.
fn by_permutation(
    table: &Table,
    package: &[usize],
    available: &[usize],
    required: &[usize],
    k: usize,
) -> Option<Vec<usize>> {
    let mut packages: Vec<Vec<usize>> = Vec::new();
    for name in 0..package.len() {
        let here = available
            .iter()
            .copied()
            .filter(|&i| package[i] == name && !required.contains(&i));
        packages.push(here.collect());
    }
    packages.retain(|package| !package.is_empty());
    packages.sort_by_key(Vec::len);
    let mut best: Option<(u32, Vec<usize>)> = None;
    let mut open = vec![(Vec::<usize>::new(), required.to_vec())];
    while !open.is_empty() {
        let mut longer = Vec::new();
        for (sequence, set) in open {
            if set.len() == k {
                let weight = table.sum(&set);
                if best.as_ref().is_none_or(|(least, _)| weight < *least) {
                    best = Some((weight, set));
                }
                continue;
            }
            for next in (0..packages.len()).filter(|next| !sequence.contains(next)) {
                let more = packages[next].iter().copied().take(k - set.len());
                longer.push((
                    [sequence.clone(), vec![next]].concat(),
                    set.iter().copied().chain(more).collect(),
                ));
            }
        }
        open = longer;
    }
    best.map(|(_, set)| set)
}

fn set(devices: &[usize]) -> DeviceSet {
    devices.iter().map(|&i| DeviceId(i as u32)).collect()
}

fn decide(
    policy: impl Policy,
    graph: &HardwareGraph,
    available: &DeviceSet,
    required: &DeviceSet,
    k: usize,
) -> Result<DeviceSet, Refusal> {
    let request = Request::new(Pattern::independent(k)).must_include(required.clone());
    policy
        .decide(&request, &graph.with_free(available))
        .map(|decision| decision.placement().set())
}

fn by_table(table: &Table) -> BestPartition<'static> {
    let table = table.clone();
    best_partition("by table", move |_, a, b| {
        table.pair(a.index(), b.index()) as i32
    })
}

fn by_weight(table: &Table, package: &[usize]) -> LeastWeight<'static> {
    let (table, package) = (table.clone(), package.to_vec());
    let weight =
        move |_: &HardwareGraph, (a, b): (DeviceId, DeviceId), _| table.pair(a.index(), b.index());
    least_weight("by weight", weight, move |_, id| {
        DeviceId(package[id.index()] as u32)
    })
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn the_best_group_is_that_of_all_partitions(
        (n, table) in (1usize..=9).prop_flat_map(|n| (Just(n), table(n))),
        busy in 0u32..512,
        required in 0u32..512,
        only in prop_oneof![Just(0u32), Just(0b1001), Just(511)],
        k in 1usize..=9,
    ) {
        let graph = complete(n);
        let available: Vec<usize> = (0..n).filter(|i| busy & (busy >> 1) >> i & 1 == 0).collect();
        let required: Vec<usize> = available.iter().copied().filter(|i| required & only >> i & 1 == 1).collect();
        let ours = decide(by_table(&table), &graph, &set(&available), &set(&required), k);
        if available.len() < k || required.len() > k {
            prop_assert!(ours.is_err());
        } else {
            let theirs = by_enumeration(&table, &available, &required, k).map(|group| set(&group));
            prop_assert_eq!(ours.ok(), theirs);
        }
    }

    #[test]
    fn the_set_of_least_weight_is_that_of_all_sequences_of_packages(
        (n, table) in (1usize..=8).prop_flat_map(|n| (Just(n), table(n))),
        package in vec(0usize..8, 8),
        whole in any::<bool>(),
        busy in 0u32..256,
        required in 0u32..256,
        k in 1usize..=8,
    ) {
        let graph = complete(n);
        let package: Vec<usize> = (0..n).map(|i| if whole { i } else { package[i] % n }).collect();
        let available: Vec<usize> = (0..n).filter(|i| busy & (busy >> 1) >> i & 1 == 0).collect();
        let required: Vec<usize> = available.iter().copied().filter(|i| required & (required >> 2) >> i & 1 == 1).collect();
        // Packages are in the order of their lowest ids in both.
        let lowest = |i: usize| (0..n).find(|&j| package[j] == package[i]).unwrap();
        let package: Vec<usize> = (0..n).map(lowest).collect();
        let ours = decide(by_weight(&table, &package), &graph, &set(&available), &set(&required), k);
        if available.len() < k || required.len() > k {
            prop_assert!(ours.is_err());
        } else {
            let theirs = by_permutation(&table, &package, &available, &required, k).map(|group| set(&group));
            prop_assert_eq!(ours.ok(), theirs);
        }
    }
}

/// Both policies.
fn both() -> [Box<dyn Policy>; 2] {
    [
        Box::new(best_partition("points", |_, a, b| {
            (a.0 * 5 + b.0 * 3) as i32 % 7
        })),
        Box::new(least_weight(
            "weight",
            |_, (a, b), _| (a.0 * 3 + b.0 * 5) % 7,
            |_, id| id,
        )),
    ]
}

/// A card is this far from each device.
fn with_card(classes: &[LinkClass], links: &[bool]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let ids = crate::common::gpus(&mut fabric, classes.len());
    let (name, kind) = ("NIC0".to_owned(), NodeKind::Nic);
    let card = fabric.add(FabricNode { name, kind }).unwrap();
    for (&id, &class) in ids.iter().zip(classes) {
        fabric.link(id, card, class, 12.0).unwrap();
    }
    let pairs = (0..ids.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), is_linked) in pairs.zip(links.iter().cycle()) {
        fabric.link(ids[a], ids[b], LinkClass::Phb, 12.0).unwrap();
        if *is_linked {
            fabric
                .link(ids[a], ids[b], LinkClass::Direct(1), 25.0)
                .unwrap();
        }
    }
    fabric.lower().unwrap()
}

fn kind(answer: &Result<Decision, Refusal>) -> &'static str {
    answer.as_ref().map_or_else(Refusal::kind, |_| "placed")
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(600))]

    /// What these policies do not know of decides which set they choose, never whether there is one.
    #[test]
    fn busy_infeasible_and_placed_are_those_of_every_policy(
        classes in vec(prop_oneof![Just(LinkClass::Pix), Just(LinkClass::Sys), Just(LinkClass::Sys)], 1..=6),
        links in vec(any::<bool>(), 1..=15),
        free in free_sets(6),
        request in requests(6, 1..=4),
        (nics, each) in (0u8..=2, any::<bool>()),
    ) {
        let graph = with_card(&classes, &links);
        let near = Demand::whole().near_nics(nics, LinkClass::Pix);
        let pattern = if each { request.pattern.clone().each(near) } else { request.pattern.with_demand(0, near) };
        let request = Request { pattern, ..request };
        let free = &free & &graph.all();
        let view = graph.with_free(&free);
        let expected = kind(&lowest_id().decide(&request, &view));
        prop_assert_eq!(kind(&greedy().decide(&request, &view)), expected);
        for policy in both() {
            let found = policy.decide(&request, &view);
            prop_assert_eq!(kind(&found), expected, "{}: {:?}", policy.name(), found);
        }
    }
}

#[test]
fn a_set_without_a_card_gives_way_to_the_best_that_has_one() {
    use LinkClass::{Pix, Sys};
    let graph = with_card(&[Sys, Sys, Pix, Sys], &[false]);
    let near = Demand::whole().near_nics(1, Pix);
    let request = Request::new(Pattern::ring(2).with_demand(0, near));
    // 0 and 1 are best of all, 1 and 2 of those with the card.
    let points = |a: u32, b: u32| match (a, b) {
        (0, 1) => 9,
        (1, 2) => 5,
        _ => 1,
    };
    let policies: [Box<dyn Policy>; 2] = [
        Box::new(best_partition("p", move |_, a, b| points(a.0, b.0))),
        Box::new(least_weight(
            "w",
            move |_, (a, b), _| 10 - points(a.0, b.0) as u32,
            |_, id| id,
        )),
    ];
    for policy in policies {
        let decision = policy
            .decide(&request, &graph.with_free(&graph.all()))
            .unwrap();
        assert_eq!(**decision.placement(), [2.into(), 1.into()]);
        let busy = policy.decide(&request, &graph.with_free(&[0, 1, 3].into()));
        assert_eq!(kind(&busy), "busy");
    }
}

#[test]
fn what_is_missing_is_said_to_be_cards_where_it_is() {
    use LinkClass::{Pix, Sys};
    let graph = with_card(
        &[Sys, Sys, Pix, Sys],
        &[true, true, true, true, true, false],
    );
    let near = |nics| Demand::whole().near_nics(nics, Pix);
    let job = |nics| Request::new(Pattern::ring(2).with_demand(0, near(nics)));
    let all = graph.all();
    let idle = graph.with_free(&all);
    let why = |request: &Request| {
        let mut policies = vec![Box::new(lowest_id()) as Box<dyn Policy>];
        policies.extend(both());
        let whys: Vec<_> = policies
            .iter()
            .map(|policy| match policy.decide(request, &idle) {
                Err(Refusal::Infeasible(why)) => why.to_string(),
                other => panic!("{}: {other:?}", policy.name()),
            })
            .collect();
        assert!(whys.iter().all(|why| *why == whys[0]), "{whys:?}");
        whys[0].clone()
    };
    insta::assert_snapshot!(why(&job(1).avoid([2].into())), @"not met: a device with 1 network card at pix or closer: the closest that the request allows has them at sys");
    insta::assert_snapshot!(why(&job(1).only([0, 1].into())), @"not met: a device with 1 network card at pix or closer: the closest that the request allows has them at sys");
    insta::assert_snapshot!(why(&job(2)), @"not met: a device with 2 network cards at pix or closer: no device has that many");
    insta::assert_snapshot!(why(&job(1).must_include([0, 1].into())), @"not met: 1 network card at pix or closer for rank 0: no set of devices that meets the rest of the request has it");
    // Of links nothing is missing without the card, and nothing of cards without the links.
    let linked = |request: Request| request.min_link(LinkClass::Direct(1));
    insta::assert_snapshot!(why(&linked(job(1).avoid([0, 1].into()))), @"no set of devices of this machine has the links that the request needs and can exist at once");
}

#[test]
fn what_is_infeasible_or_busy_is_so_beyond_the_limits_of_a_policy() {
    let large = complete(21);
    let policy = best_partition("p", |_, _, _| 1);
    let answer = |request: Request| policy.decide(&request, &large.with_free(&large.all()));
    let pair = || Request::new(Pattern::ring(2));
    assert_eq!(kind(&answer(pair())), "limit_reached");
    let linked = pair().min_link(LinkClass::Direct(1));
    assert_eq!(kind(&answer(linked)), "infeasible");
}

#[test]
fn a_device_of_its_own_for_every_rank_is_a_rule_of_theirs() {
    let graph = complete(2);
    let three = Request::new(Pattern::independent(3).each(Demand::whole().shared()));
    let two = Request::new(Pattern::independent(2).each(Demand::whole().shared()));
    for policy in both() {
        let refusal = policy.decide(&three, &graph.with_free(&graph.all()));
        assert_eq!(kind(&refusal), "infeasible", "{refusal:?}");
        let refusal = policy.decide(&two, &graph.with_free(&[0].into()));
        assert_eq!(kind(&refusal), "busy", "{refusal:?}");
    }
}

#[test]
fn a_choice_of_sets_is_refused_as_any_other() {
    let graph = Arc::new(complete(4));
    let policies: [Box<dyn Policy>; 2] = [
        Box::new(best_partition("p", |_, _, _| 1)),
        Box::new(least_weight("w", |_, _, _| 1, |_, id| id)),
    ];
    for policy in policies {
        let mut allocator = Allocator::new(graph.clone());
        let ring = |k| Request::new(Pattern::ring(k));
        let lease = allocator.allocate(&policy, &ring(2)).unwrap();
        assert!(matches!(
            allocator.allocate(&policy, &ring(3)),
            Err(Refusal::Busy(Reason::InUse { .. }))
        ));
        assert!(matches!(
            allocator.allocate(&policy, &ring(5)),
            Err(Refusal::Infeasible(_))
        ));
        let direct = ring(2).min_link(LinkClass::Direct(1));
        assert!(matches!(
            allocator.allocate(&policy, &direct),
            Err(Refusal::Infeasible(_))
        ));
        let taken = ring(2).must_include(lease.placement.set());
        assert!(matches!(
            allocator.allocate(&policy, &taken),
            Err(Refusal::Busy(_))
        ));
        let other = &graph.all() - &lease.placement.set();
        let avoiding = ring(1).avoid([other.first().unwrap().0].into());
        assert_eq!(
            allocator.allocate(&policy, &avoiding).unwrap().placement[0],
            other.last().unwrap()
        );
    }
    let large = complete(21);
    let refusal = decide(
        best_partition("p", |_, _, _| 1),
        &large,
        &large.all(),
        &DeviceSet::new(),
        2,
    )
    .unwrap_err();
    assert_eq!(refusal.kind(), "limit_reached");
    let request = Request {
        limits: mapa_core::Limits::NONE.nodes(8),
        ..Request::new(Pattern::ring(3))
    };
    let policy = least_weight("w", |_, (a, b), _| a.0.abs_diff(b.0), |_, id| id);
    let decision = policy
        .decide(&request, &large.with_free(&large.all()))
        .unwrap();
    assert!(!decision.search().complete());
}
