//! Jobs on instances of partitioned devices, where the number of ranks on each device decides: compared with
//! the search, with every placement, and with known answers on machines that no search can go through.

use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Profile, Size};
use mapa_core::testing::oracle;
use mapa_core::{
    Allocator, Candidate, Criterion, Demand, DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass,
    NodeKind, Objective, Pattern, Policy, Request, Rules, Tiers, aggregate_gbps, auto,
    criteria::{least, lowest_ids, max, min, most},
    distributed, effective_gbps, greedy, host_hops, lowest_id, packed, preserve, preserved_gbps,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Quarters and halves of a device.
fn quarters() -> Arc<Model> {
    let profile = |name: &str, slices: u8, starts: &[u8], max_instances| Profile {
        name: name.into(),
        size: Size::new(slices, slices),
        memory_bytes: u64::from(slices) << 30,
        starts: starts.to_vec(),
        max_instances,
    };
    let table = vec![
        profile("1g", 1, &[0, 1, 2, 3], 4),
        profile("2g", 2, &[0, 2], 2),
    ];
    Arc::new(Model::new("quarters", Size::new(4, 4), table).unwrap())
}

/// Partitioned devices, of which each is on this server and has this layout. `speeds` are the bandwidths
/// within a device, between devices of a server, and between servers.
fn machine(devices: &[(usize, Layout)], [own, host, network]: [f64; 3]) -> Allocator {
    let model = quarters();
    let mut fabric = Fabric::new();
    let mut nodes = Vec::new();
    let node = |name: String, kind| FabricNode { name, kind };
    for (at, (server, _)) in devices.iter().enumerate() {
        let bridge = node(format!("bridge{at}"), NodeKind::HostBridge);
        let bridge = fabric.add(bridge).unwrap();
        let info = DeviceInfo {
            mig: Some(model.clone()),
            memory_bytes: Some(4 << 30),
            ..DeviceInfo::default()
        };
        let device = fabric
            .add(node(format!("GPU{at}"), NodeKind::Device(info)))
            .unwrap();
        fabric.attach(device, bridge, own).unwrap();
        for (&other, (other_server, _)) in nodes.iter().zip(devices) {
            let (class, gbps) = if other_server == server {
                (LinkClass::Sys, host)
            } else {
                (LinkClass::Network, network)
            };
            fabric.link(device, other, class, gbps).unwrap();
        }
        nodes.push(device);
    }
    let mut allocator = Allocator::new(Arc::new(fabric.lower().unwrap()));
    for (whole, (_, layout)) in (0..).map(DeviceId).zip(devices) {
        allocator.layout_is(whole, layout).unwrap();
    }
    allocator
}

/// Gives each instance that has its bit in `busy` to a job of its own.
fn take(allocator: &mut Allocator, busy: u32) {
    let there: Vec<DeviceId> = allocator.view().free().iter().collect();
    for (at, id) in there.into_iter().enumerate() {
        if busy >> (at % 32) & 1 == 1 {
            let one = Request::new(Pattern::single(Demand::any())).only([id.0].into());
            allocator.allocate(lowest_id(), &one).unwrap();
        }
    }
}

/// An arbitrary function of the numbers of links by class.
fn any_function(seed: u64) -> Objective<'static> {
    let tiers = [
        &[LinkClass::Sys][..],
        &[LinkClass::Phb],
        &[LinkClass::Phb, LinkClass::Sys],
    ];
    let tiers = Tiers::new(tiers[(seed % 3) as usize]).unwrap();
    Objective::links("any", tiers, move |census| {
        let mixed = census.counts().iter().fold(seed, |hash, &count| {
            (hash ^ u64::from(count))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
        });
        (mixed % 7) as f64
    })
}

const RULES: usize = 8;

/// Lists of criteria that numbers decide, unless links and sums both matter.
fn rules(number: usize, seed: u64) -> Vec<Criterion<'static>> {
    match number {
        0 => vec![max(preserved_gbps()), max(aggregate_gbps())],
        1 => vec![min(aggregate_gbps())],
        2 => vec![max(any_function(seed)), lowest_ids()],
        3 => vec![max(effective_gbps())],
        4 => vec![least("own", |seat| f64::from(seat.id.0 % 3) / 4.0)],
        5 => vec![
            most("slices", |seat| {
                seat.device().size.map_or(0, |size| size.compute)
            }),
            min(host_hops()),
        ],
        6 => vec![
            most("tenants", |seat| seat.usage_of_whole().tenants),
            least("memory", |seat| {
                seat.device().memory_bytes.map_or(0.0, |bytes| bytes as f64)
            }),
        ],
        _ => vec![],
    }
}

fn pattern(shape: usize, k: usize) -> Pattern {
    match shape {
        0 => Pattern::ring(k),
        1 => Pattern::chain(k),
        2 => Pattern::star(k),
        3 => Pattern::all_to_all(k),
        4 => Pattern::independent(k),
        _ => Pattern::binary_tree(k),
    }
}

/// The answer is that of the search, which alone finds runners-up.
fn agrees_with_the_search(allocator: &Allocator, policy: &dyn Policy, request: &Request) {
    let view = allocator.view();
    let found = policy.decide(request, &view);
    let searched = policy.decide(&request.clone().runners_up(1), &view);
    match (found, searched) {
        (Ok(found), Ok(searched)) => {
            assert!(found.search().complete() && searched.search().complete());
            assert_eq!(found.placement(), searched.placement(), "{}", policy.name());
            assert!(found.best().scores().eq(searched.best().scores()));
        }
        (Err(found), Err(searched)) => assert_eq!(found.to_string(), searched.to_string()),
        (found, searched) => panic!("{found:?} {searched:?}"),
    }
}

fn machines() -> impl Strategy<Value = Allocator> {
    let layouts: Vec<Layout> = quarters().layouts().collect();
    let device = (0usize..3, proptest::sample::select(layouts));
    let speeds = proptest::sample::select(vec![
        [12.0; 3],
        [12.0, 12.0, 25.0],
        [12.0, 12.0, 3.0],
        [20.0, 12.0, 12.0],
        [6.0, 12.0, 25.0],
    ]);
    (vec(device, 1..=4), speeds, any::<bool>(), any::<u32>()).prop_map(
        |(mut devices, speeds, is_sorted, busy)| {
            if is_sorted {
                devices.sort_by_key(|device| device.0);
            }
            let mut allocator = machine(&devices, speeds);
            take(&mut allocator, busy);
            allocator
        },
    )
}

fn demands() -> impl Strategy<Value = Demand> {
    proptest::sample::select(vec![
        Demand::slice(Size::new(1, 1)),
        Demand::slice(Size::new(2, 2)),
        Demand::at_least(Size::new(1, 1)),
        Demand::any(),
    ])
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    #[test]
    fn named_policies_answer_as_the_search_does(
        allocator in machines(),
        shape in 0usize..6,
        k in 1usize..=5,
        demand in demands(),
        sensitive in any::<bool>(),
    ) {
        let request = Request::new(pattern(shape, k).each(demand)).sensitive(sensitive);
        let policies: [&dyn Policy; 6] =
            [&preserve(), &greedy(), &packed(), &distributed(), &lowest_id(), &auto()];
        for policy in policies {
            agrees_with_the_search(&allocator, policy, &request);
        }
    }

    #[test]
    fn rules_find_the_best_of_all_placements(
        allocator in machines(),
        shape in 0usize..6,
        k in 1usize..=4,
        demand in demands(),
        number in 0..RULES,
        seed in any::<u64>(),
    ) {
        let request = Request::new(pattern(shape, k).each(demand));
        let criteria = rules(number, seed);
        let policy = criteria.into_iter().fold(Rules::new("own"), Rules::prefer);
        agrees_with_the_search(&allocator, &policy, &request);
        // The definition maximises.
        let objectives: Vec<Objective<'_>> = match number {
            0 => vec![preserved_gbps(), aggregate_gbps()],
            1 => vec![Objective::edges("less", |edge| -edge.link.gbps)],
            2 => vec![any_function(seed)],
            3 => vec![effective_gbps()],
            4 => vec![Objective::devices("own", |seat| -f64::from(seat.id.0 % 3) / 4.0)],
            7 => vec![],
            _ => return Ok(()),
        };
        let expected = oracle::best(&request, &allocator.view(), &objectives);
        let found = policy.decide(&request, &allocator.view()).ok();
        prop_assert_eq!(found.map(|found| found.placement().to_vec()), expected);
    }
}

/// Servers of eight devices, each partitioned into four.
fn servers(count: usize) -> Allocator {
    let four = quarters()
        .layouts()
        .find(|layout| layout.instances().len() == 4)
        .unwrap();
    let devices: Vec<(usize, Layout)> = (0..8 * count).map(|at| (at / 8, four.clone())).collect();
    machine(&devices, [12.0, 12.0, 25.0])
}

/// By server, the ranks there.
fn ranks_by_server(allocator: &Allocator, placement: &[DeviceId]) -> Vec<usize> {
    let mut ranks = vec![0; allocator.graph().wholes().len() / 8];
    for &id in placement {
        ranks[allocator.graph().device(id).parent.index() / 8] += 1;
    }
    ranks
}

#[test]
fn rings_over_many_servers_are_proven_at_once() {
    let allocator = servers(16);
    let view = allocator.view();
    let agg = |request: &Request, placement: &[DeviceId]| {
        aggregate_gbps().score(&Candidate {
            view,
            pattern: &request.pattern,
            placement,
        })
    };
    for (k, most) in [(8, 200.0), (32, 800.0), (64, 1600.0), (200, 5000.0)] {
        let request =
            Request::new(Pattern::ring(k).each(Demand::slice(Size::new(1, 1)))).sensitive(false);
        let decision = preserve().decide(&request, &view).unwrap();
        assert!(decision.search().complete());
        // Every edge can be one between servers, on as few servers as have room for every other rank.
        assert_eq!(agg(&request, decision.placement()), most);
        let ranks = ranks_by_server(&allocator, decision.placement());
        assert_eq!(ranks[0], 32.min(k / 2));
        assert!(
            decision.search().nodes < 30_000,
            "{}",
            decision.search().nodes
        );
    }
}

#[test]
fn every_shape_is_proven_on_many_servers() {
    let allocator = servers(16);
    let view = allocator.view();
    for (pattern, most) in [
        // Each of the 63 edges is one between servers.
        (Pattern::chain(64), 63.0 * 25.0),
        // The root is alone on its server.
        (Pattern::star(100), 99.0 * 25.0),
        // Two ranks are on each of eight servers, one on each of the others: 8 pairs of 276 within servers.
        (Pattern::all_to_all(24), 268.0 * 25.0 + 8.0 * 12.0),
    ] {
        let request = Request::new(pattern.each(Demand::slice(Size::new(1, 1))));
        let decision = greedy().decide(&request, &view).unwrap();
        assert!(decision.search().complete());
        assert!(decision.search().nodes < 30_000);
        assert_eq!(decision.best().score("aggregate_gbps"), Some(most));
    }
}

#[test]
fn sums_over_many_devices_are_proven_at_once() {
    let mut allocator = servers(16);
    // One rank on the last device makes it the fullest.
    let last = allocator.graph().vertices(DeviceId(127)) & allocator.view().free();
    let one = Request::new(Pattern::single(Demand::any())).only([last.first().unwrap().0].into());
    allocator.allocate(lowest_id(), &one).unwrap();
    let request = Request::new(Pattern::ring(9).each(Demand::slice(Size::new(1, 1))));
    let on = |policy: &dyn Policy| {
        let decision = policy.decide(&request, &allocator.view()).unwrap();
        assert!(decision.search().complete());
        let parent = |&id: &DeviceId| allocator.graph().device(id).parent.0;
        let mut wholes: Vec<u32> = decision.placement().iter().map(parent).collect();
        wholes.dedup();
        wholes
    };
    assert_eq!(on(&packed()), [0, 1, 127]);
    assert_eq!(on(&distributed()), (0..9).collect::<Vec<_>>());
}
