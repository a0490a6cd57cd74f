//! Instances, NUMA nodes and cards as vertices, demands, and ranks that share a device: compared
//! with brute force, and by hand.

use std::cmp::Ordering;
use std::sync::Arc;

use mapa_core::mig::{Layout, Model, Profile, Size};
use mapa_core::testing::{cut_machines, demanding_patterns, oracle};
use mapa_core::{
    Allocator, BuiltIn, Candidate, Criterion, Decision, Demand, DeviceId, DeviceInfo, DeviceSet,
    Fabric, FabricNode, HardwareGraph, Limits, LinkClass, MAX_VERTICES, NodeKind, Objective,
    Pattern, Policy, Reason, Refusal, Request, Rules, Unit, View, aggregate_gbps,
    criteria::{least, lowest_ids, max, min, most},
    fewest_warps, lowest_id, preserved_gbps,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Halves and quarters, as on an A30.
fn quarters() -> Arc<Model> {
    let profile = |name: &str, slices: u8, starts: &[u8], max_instances| Profile {
        name: name.into(),
        size: Size::new(slices, slices),
        memory_bytes: (u64::from(slices) * 6) << 30,
        starts: starts.to_vec(),
        max_instances,
    };
    let table = vec![
        profile("1g", 1, &[0, 1, 2, 3], 4),
        profile("2g", 2, &[0, 2], 2),
        profile("4g", 4, &[0], 1),
    ];
    Arc::new(Model::new("quarters", Size::new(4, 4), table).unwrap())
}

/// Three devices, the first two below one PCIe switch and joined by two direct links; the third on
/// another socket cannot be partitioned. One network card at the switch.
fn fabric() -> Fabric {
    let mut f = Fabric::new();
    let node = |name: &str, kind| FabricNode {
        name: name.into(),
        kind,
    };
    let machine = f.add(node("machine", NodeKind::Machine)).unwrap();
    let cpus = [0, 1].map(|i| f.add_numa(format!("cpu{i}"), i).unwrap());
    cpus.iter()
        .for_each(|&cpu| f.attach(cpu, machine, 20.0).unwrap());
    let bridges = [0, 1].map(|i| {
        f.add(node(&format!("bridge{i}"), NodeKind::HostBridge))
            .unwrap()
    });
    bridges
        .iter()
        .zip(cpus)
        .for_each(|(&bridge, cpu)| f.attach(bridge, cpu, 24.0).unwrap());
    let switch = f.add(node("switch", NodeKind::PcieSwitch)).unwrap();
    f.attach(switch, bridges[0], 24.0).unwrap();
    let info = |mig| DeviceInfo {
        memory_bytes: Some(24 << 30),
        mig,
        ..DeviceInfo::default()
    };
    let mut gpu = |name: &str, mig| f.add(node(name, NodeKind::Device(info(mig)))).unwrap();
    let model = quarters();
    let gpus = [
        gpu("GPU0", Some(model.clone())),
        gpu("GPU1", Some(model)),
        gpu("GPU2", None),
    ];
    f.attach(gpus[0], switch, 12.0).unwrap();
    f.attach(gpus[1], switch, 12.0).unwrap();
    f.attach(gpus[2], bridges[1], 12.0).unwrap();
    f.link(gpus[0], gpus[1], LinkClass::Direct(2), 50.0)
        .unwrap();
    let card = f.add(node("nic0", NodeKind::Nic)).unwrap();
    f.attach(card, switch, 12.0).unwrap();
    f
}

fn machine() -> Arc<HardwareGraph> {
    Arc::new(fabric().lower().unwrap())
}

fn id(graph: &HardwareGraph, name: &str) -> DeviceId {
    graph.find(name).unwrap()
}

/// An allocator whose first two devices have these layouts: `1g@0 2g@2`, or `whole`.
fn cut(graph: &Arc<HardwareGraph>, layouts: [&str; 2]) -> Allocator {
    let mut allocator = Allocator::new(graph.clone());
    for (whole, text) in (0u32..).map(DeviceId).zip(layouts) {
        allocator
            .layout_is(whole, &layout(graph, whole, text))
            .unwrap();
    }
    allocator
}

fn layout(graph: &HardwareGraph, whole: DeviceId, text: &str) -> Layout {
    let model = graph.model(whole).unwrap();
    if text == "whole" {
        return Layout::whole();
    }
    let instances = text.split_whitespace().map(|word| {
        *model
            .instances()
            .iter()
            .find(|&&instance| model.print_instance(instance) == word)
            .unwrap()
    });
    model.layout(&instances.collect::<Vec<_>>()).unwrap()
}

fn names(graph: &HardwareGraph, placement: &[DeviceId]) -> String {
    placement
        .iter()
        .map(|&id| graph.device(id).name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn one_g() -> Demand {
    Demand::slice(Size::new(1, 1))
}

#[test]
fn every_instance_that_could_exist_is_a_vertex_after_the_devices() {
    let graph = machine();
    let all: Vec<&str> = graph
        .devices()
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    let quarters = ["1g@0", "1g@1", "1g@2", "1g@3", "2g@0", "2g@2", "4g@0"];
    let expected: Vec<String> = ["GPU0", "GPU1", "GPU2"]
        .map(String::from)
        .into_iter()
        .chain(
            [0, 1]
                .into_iter()
                .flat_map(|i| quarters.map(|word| format!("GPU{i}/{word}"))),
        )
        .collect();
    assert_eq!(all, expected);
    let slice = graph.device(id(&graph, "GPU1/2g@2"));
    assert_eq!(
        (slice.parent, slice.size, slice.memory_bytes),
        (DeviceId(1), Some(Size::new(2, 2)), Some(12 << 30))
    );
    assert!(matches!(slice.unit, Unit::Slice(instance) if instance.start == 2));
    assert_eq!(
        (slice.numa, slice.port),
        (Some(0), graph.device(DeviceId(1)).port)
    );
    assert_eq!(
        graph.device(DeviceId(0)).port,
        slice.port,
        "both hang below one host bridge"
    );
    assert_ne!(graph.device(DeviceId(2)).port, slice.port);
    assert_eq!(graph.vertices(DeviceId(0)).len(), 8);
    assert_eq!(graph.vertices(DeviceId(2)), &DeviceSet::from([2]));
    assert!(graph.vertices(DeviceId(5)).is_empty() && graph.model(DeviceId(2)).is_none());
    let beside = |name: &str| {
        names(
            &graph,
            &graph.overlap(id(&graph, name)).iter().collect::<Vec<_>>(),
        )
    };
    assert_eq!(beside("GPU0/2g@2"), "GPU0 GPU0/1g@2 GPU0/1g@3 GPU0/4g@0");
    assert_eq!(beside("GPU0/1g@0"), "GPU0 GPU0/2g@0 GPU0/4g@0");
    assert_eq!(beside("GPU2"), "");
    assert_eq!(graph.wholes(), DeviceSet::from([0, 1, 2]));
}

#[test]
fn instances_have_no_peer_to_peer_and_share_a_port() {
    let graph = machine();
    let link = |a: &str, b: &str| {
        let link = graph.link(id(&graph, a), id(&graph, b));
        (link.class, link.gbps)
    };
    assert_eq!(link("GPU0", "GPU1"), (LinkClass::Direct(2), 50.0));
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(1)).host.class,
        LinkClass::Pix
    );
    // They are below one switch, but data between them goes through the host's memory.
    assert_eq!(link("GPU0/1g@0", "GPU1/1g@0"), (LinkClass::Phb, 12.0));
    assert_eq!(link("GPU0/1g@0", "GPU1"), (LinkClass::Phb, 12.0));
    assert_eq!(link("GPU0/1g@0", "GPU0/1g@1"), (LinkClass::Phb, 12.0));
    assert_eq!(link("GPU0/1g@0", "GPU2"), (LinkClass::Sys, 12.0));
    // They never exist at once.
    assert_eq!(link("GPU0", "GPU0/1g@0"), (LinkClass::None, 0.0));
    assert_eq!(link("GPU0/2g@0", "GPU0/1g@1"), (LinkClass::None, 0.0));
    let shared = graph.link_of_ranks(DeviceId(4), DeviceId(4));
    assert_eq!((shared.class, shared.gbps), (LinkClass::SameDevice, 50.0));
}

#[test]
fn a_pattern_may_ask_for_a_device_near_a_core_and_a_card_near_a_device() {
    let graph = Arc::new(fabric().lower_with_host().unwrap());
    assert_eq!(
        names(&graph, &(17..20).map(DeviceId).collect::<Vec<_>>()),
        "cpu0 cpu1 nic0"
    );
    let class = |a: &str, b: &str| graph.link(id(&graph, a), id(&graph, b)).class;
    assert_eq!(
        (class("GPU0", "cpu0"), class("GPU0", "cpu1")),
        (LinkClass::Phb, LinkClass::Sys)
    );
    assert_eq!(
        (class("GPU0", "nic0"), class("GPU2", "nic0")),
        (LinkClass::Pix, LinkClass::Sys)
    );
    assert_eq!(
        class("GPU0/1g@0", "nic0"),
        LinkClass::Pix,
        "a card reaches an instance as it reaches the device"
    );
    assert_eq!(
        (class("cpu0", "cpu1"), class("nic0", "cpu0")),
        (LinkClass::Sys, LinkClass::Phb)
    );

    let allocator = cut(&graph, ["1g@0 1g@1 2g@2", "whole"]);
    let decide = |pattern: &Pattern, rules: &Rules<'_>| {
        let decision = allocator
            .view()
            .decide(rules, &Request::new(pattern.clone()))
            .unwrap();
        names(&graph, decision.placement())
    };
    let near = Rules::new("near")
        .require_link("below one switch", |edge| edge.link.class >= LinkClass::Pix);
    let with_card = Pattern::chain(2).with_demand(1, Demand::nic());
    assert_eq!(decide(&with_card, &near), "GPU1 nic0");
    assert_eq!(
        decide(
            &with_card.with_demand(0, Demand::slice(Size::new(2, 2))),
            &near
        ),
        "GPU0/2g@2 nic0"
    );
    let by_socket = Rules::new("by socket").prefer(lowest_ids());
    let with_core = Pattern::chain(2).with_demand(1, Demand::numa());
    let near_core = |rank: u32| {
        Request::new(with_core.clone())
            .must_include([rank].into())
            .min_link(LinkClass::Phb)
    };
    let choose = |rank| {
        allocator
            .view()
            .decide(&by_socket, &near_core(rank))
            .unwrap()
    };
    assert_eq!(names(&graph, choose(2).placement()), "GPU2 cpu1");
    assert_eq!(names(&graph, choose(1).placement()), "GPU1 cpu0");

    // A core is shared: both jobs have it, and it is never "free" for one that wants it alone.
    let mut allocator = allocator;
    for _ in 0..2 {
        allocator
            .allocate(&near, &Request::new(Pattern::single(Demand::numa())))
            .unwrap();
    }
    assert_eq!(allocator.view().usage(id(&graph, "cpu0")).tenants, 2);
    let alone = Request::new(Pattern::single(Demand::numa().exclusive())).only([17].into());
    assert!(matches!(
        allocator.view().decide(&near, &alone),
        Err(Refusal::Busy(Reason::InUse { .. }))
    ));
}

#[test]
fn a_numa_node_that_is_only_named_is_a_vertex_too() {
    let mut f = Fabric::new();
    for (i, numa) in [0, 1, 1].into_iter().enumerate() {
        let info = DeviceInfo {
            numa: Some(numa),
            ..DeviceInfo::default()
        };
        f.add(FabricNode {
            name: format!("GPU{i}"),
            kind: NodeKind::Device(info),
        })
        .unwrap();
    }
    let ids: Vec<_> = f.nodes().map(|(id, _)| id).collect();
    f.link(ids[0], ids[1], LinkClass::Sys, 12.0).unwrap();
    f.link(ids[1], ids[2], LinkClass::Node, 12.0).unwrap();
    let graph = f.lower_with_host().unwrap();
    let class = |a: u32, b: &str| graph.link(DeviceId(a), id(&graph, b)).class;
    assert_eq!(
        (class(0, "numa0"), class(0, "numa1")),
        (LinkClass::Phb, LinkClass::Sys)
    );
    assert_eq!(
        (class(2, "numa0"), class(2, "numa1")),
        (LinkClass::Sys, LinkClass::Phb)
    );
}

#[test]
fn a_machine_has_as_many_instances_as_its_sets_may_have_members() {
    let profile = |name: &str| Profile {
        name: name.into(),
        size: Size::new(1, 1),
        memory_bytes: 1 << 30,
        starts: (0..8).collect(),
        max_instances: 8,
    };
    let table = vec![profile("1g"), profile("1g+me")];
    let model = Arc::new(Model::new("eighths", Size::new(8, 8), table).unwrap());
    let machine = |devices: usize| {
        let mut fabric = Fabric::new();
        for i in 0..devices {
            let info = DeviceInfo {
                mig: Some(model.clone()),
                ..DeviceInfo::default()
            };
            let kind = NodeKind::Device(info);
            let name = format!("GPU{i}");
            fabric.add(FabricNode { name, kind }).unwrap();
        }
        fabric.lower()
    };
    assert_eq!(machine(70).unwrap().len(), 70 * 17);
    assert_eq!(
        machine(1000).unwrap_err().to_string(),
        format!(
            "17000 devices and instances of them could exist: expected at most {MAX_VERTICES} in one machine"
        )
    );
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(60))]

    #[test]
    fn sets_of_neighbours_and_overlaps_are_those_of_every_pair(graph in cut_machines(1..=5)) {
        let ids = || (0..graph.len() as u32).map(DeviceId);
        for a in ids() {
            let joined: DeviceSet = ids().filter(|&b| graph.link(a, b).exists()).collect();
            prop_assert_eq!(graph.neighbours(a), &joined);
            let (x, whole) = (graph.device(a), graph.device(a).parent);
            let apart = |b: &DeviceId| {
                let y = graph.device(*b);
                match (x.unit, y.unit) {
                    (Unit::Slice(x), Unit::Slice(other)) => {
                        y.parent == whole && a != *b && graph.model(whole).unwrap().exclude(x, other)
                    }
                    (Unit::Slice(_), Unit::Whole) => *b == whole,
                    (Unit::Whole, Unit::Slice(_)) => y.parent == a,
                    _ => false,
                }
            };
            let apart: DeviceSet = ids().filter(apart).collect();
            prop_assert_eq!(graph.overlap(a), &apart);
        }
    }
}

#[test]
fn a_device_that_is_cut_up_is_not_there_itself() {
    let graph = machine();
    let mut allocator = cut(&graph, ["1g@0 1g@1 2g@2", "whole"]);
    let free =
        |allocator: &Allocator| names(&graph, &allocator.view().free().iter().collect::<Vec<_>>());
    assert_eq!(free(&allocator), "GPU1 GPU2 GPU0/1g@0 GPU0/1g@1 GPU0/2g@2");
    let lease = allocator
        .allocate(lowest_id(), &Request::new(Pattern::single(one_g())))
        .unwrap();
    assert_eq!(names(&graph, &lease.placement), "GPU0/1g@0");
    let two = Request::new(Pattern::ring(2));
    assert_eq!(
        names(
            &graph,
            &allocator.allocate(lowest_id(), &two).unwrap().placement
        ),
        "GPU1 GPU2"
    );
    // A third whole device exists, but it is partitioned.
    let one = Request::new(Pattern::single(Demand::whole()));
    let refusal = |allocator: &Allocator, request: &Request| {
        allocator.view().decide(lowest_id(), request).unwrap_err()
    };
    assert_eq!(
        refusal(&allocator, &one),
        Refusal::Busy(Reason::InUse {
            wanted: 1,
            free: 0,
            allowed: 3
        })
    );
    allocator.release(lease.id).unwrap();
    assert_eq!(
        refusal(&allocator, &one),
        Refusal::Busy(Reason::NeedsRepartition)
    );
    let four = Request::new(Pattern::single(Demand::slice(Size::new(4, 4))));
    assert_eq!(
        refusal(&allocator, &four),
        Refusal::Busy(Reason::NeedsRepartition)
    );
    let eight = Request::new(Pattern::single(Demand::slice(Size::new(8, 8))));
    assert_eq!(
        refusal(&allocator, &eight),
        Refusal::Infeasible(Reason::NothingFits { rank: 0 })
    );
    let five = Request::new(Pattern::independent(5).each(Demand::slice(Size::new(2, 2))));
    assert!(
        matches!(refusal(&allocator, &five), Refusal::Infeasible(_)),
        "two devices have four halves"
    );
    assert_eq!(
        refusal(&allocator, &four.clone().relaxed()).kind(),
        "busy",
        "a whole device would do, and all three are taken"
    );
    allocator.layout_is(DeviceId(0), &Layout::whole()).unwrap();
    assert!(allocator.view().decide(lowest_id(), &four).is_err());
    let relaxed = allocator
        .view()
        .decide(lowest_id(), &four.relaxed())
        .unwrap();
    assert_eq!(names(&graph, relaxed.placement()), "GPU0");
}

#[test]
fn a_repartition_touches_no_lease_elsewhere_and_hides_what_is_changing() {
    let graph = machine();
    let mut allocator = cut(&graph, ["1g@0 1g@1 2g@2", "2g@0 2g@2"]);
    let mut take = |size: u8, only: u32| {
        let request =
            Request::new(Pattern::single(Demand::slice(Size::new(size, size)))).only([only].into());
        allocator.allocate(lowest_id(), &request).unwrap()
    };
    let (kept, elsewhere) = (take(1, 0), take(2, 1));
    let before = allocator
        .view()
        .decide(lowest_id(), &Request::new(Pattern::single(one_g())))
        .unwrap();
    let next = |text| layout(&graph, DeviceId(0), text);

    let error = allocator
        .begin_repartition(DeviceId(0), next("2g@0 2g@2"))
        .unwrap_err();
    assert!(error.is_tenant_vanishing());
    assert_eq!(
        error.to_string(),
        "GPU0/1g@0 would vanish under lease 0: release it first"
    );
    assert!(
        allocator
            .begin_repartition(DeviceId(2), Layout::whole())
            .is_ok(),
        "it is whole, and stays so"
    );
    allocator.layout_is(DeviceId(2), &Layout::whole()).unwrap();

    allocator
        .begin_repartition(DeviceId(0), next("1g@0 1g@1 1g@2 1g@3"))
        .unwrap();
    assert!(
        allocator.commit(before).unwrap_err().is_stale(),
        "the graph has changed since"
    );
    assert_eq!(
        allocator.view().changing_to(DeviceId(0)),
        Some(&next("1g@0 1g@1 1g@2 1g@3"))
    );
    let parts = |allocator: &Allocator| {
        names(
            &graph,
            &allocator.view().parts_of(DeviceId(0)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        parts(&allocator),
        "GPU0/1g@0 GPU0/1g@1",
        "what is in both layouts"
    );
    assert!(
        allocator
            .begin_repartition(DeviceId(0), Layout::whole())
            .is_err(),
        "one change at a time"
    );
    allocator
        .layout_is(DeviceId(0), &next("1g@0 1g@1 1g@2 1g@3"))
        .unwrap();
    assert_eq!(parts(&allocator), "GPU0/1g@0 GPU0/1g@1 GPU0/1g@2 GPU0/1g@3");
    assert_eq!(
        allocator.view().layout_of(DeviceId(0)),
        next("1g@0 1g@1 1g@2 1g@3")
    );
    let held: Vec<_> = allocator.leases().cloned().collect();
    assert_eq!(held, [kept, elsewhere]);

    // Something else changed the layout of the device while it had a tenant.
    let error = allocator
        .layout_is(DeviceId(1), &Layout::whole())
        .unwrap_err();
    assert!(error.is_tenant_vanishing());
    assert!(
        allocator.layout_is(DeviceId(2), &next("4g@0")).is_err(),
        "it cannot be partitioned"
    );
    assert!(
        allocator.layout_is(DeviceId(5), &Layout::whole()).is_err(),
        "an instance is not whole"
    );
}

#[test]
fn tenants_that_share_never_exceed_the_memory_and_never_meet_one_that_does_not() {
    let graph = machine();
    let mut allocator = cut(&graph, ["2g@0 2g@2", "whole"]);
    let task = |gib: u64| {
        Request::new(Pattern::single(Demand::any().shared().memory(gib << 30))).only([0].into())
    };
    let place = |allocator: &mut Allocator, request: &Request| {
        allocator
            .allocate(lowest_id(), request)
            .map(|lease| names(&graph, &lease.placement))
            .map_err(|r| r.kind())
    };
    assert_eq!(place(&mut allocator, &task(7)), Ok("GPU0/2g@0".into()));
    assert_eq!(
        place(&mut allocator, &task(5)),
        Ok("GPU0/2g@0".into()),
        "7 + 5 of 12 GiB"
    );
    assert_eq!(place(&mut allocator, &task(1)), Ok("GPU0/2g@2".into()));
    assert_eq!(place(&mut allocator, &task(12)), Err("busy"));
    assert_eq!(
        place(&mut allocator, &task(13)),
        Err("busy"),
        "the whole device could hold it"
    );
    assert_eq!(place(&mut allocator, &task(25)), Err("infeasible"));
    let alone = Request::new(Pattern::single(Demand::any())).only([0].into());
    assert_eq!(
        place(&mut allocator, &alone),
        Err("busy"),
        "both halves have tenants"
    );
    let usage = allocator.view().usage_of_whole(DeviceId(0));
    assert_eq!(
        (usage.tenants, usage.exclusive, usage.memory_bytes),
        (3, 0, 13 << 30)
    );
    assert_eq!(allocator.view().tenants(id(&graph, "GPU0/2g@0")).len(), 2);
    assert_eq!(
        allocator
            .view()
            .usage_of_port(graph.device(DeviceId(0)).port.unwrap())
            .tenants,
        3
    );
    assert_eq!(allocator.view().usage_of_numa(0).memory_bytes, 13 << 30);

    // Ranks of one job share too, as far as the memory goes.
    let mut allocator = cut(&graph, ["2g@0 2g@2", "whole"]);
    let ranks = |gib: u64| {
        Request::new(Pattern::all_to_all(3).each(Demand::any().shared().memory(gib << 30)))
            .only([0].into())
    };
    assert_eq!(
        place(&mut allocator, &ranks(5)),
        Ok("GPU0/2g@0 GPU0/2g@0 GPU0/2g@2".into())
    );
    assert_eq!(
        place(&mut allocator, &ranks(2)),
        Ok("GPU0/2g@0 GPU0/2g@2 GPU0/2g@2".into())
    );
    assert_eq!(
        place(&mut allocator, &ranks(1)),
        Ok("GPU0/2g@2 GPU0/2g@2 GPU0/2g@2".into())
    );
    assert_eq!(place(&mut allocator, &ranks(1)), Err("busy"));
    assert_eq!(allocator.view().usage_of_whole(DeviceId(0)).tenants, 9);
}

#[test]
fn a_device_whose_memory_is_not_known_holds_no_demand_for_any() {
    let mut f = Fabric::new();
    f.add_device("GPU0").unwrap();
    let graph = f.lower().unwrap();
    let decide = |demand| {
        graph
            .with_free(&graph.all())
            .decide(lowest_id(), &Request::new(Pattern::single(demand)))
    };
    assert!(decide(Demand::whole().shared()).is_ok());
    assert!(matches!(
        decide(Demand::whole().memory(1)),
        Err(Refusal::Infeasible(_))
    ));
}

#[test]
fn imagined_views_show_every_layout_around_the_tenants() {
    let graph = machine();
    let mut allocator = cut(&graph, ["1g@0 1g@1 2g@2", "whole"]);
    allocator
        .allocate(lowest_id(), &Request::new(Pattern::single(one_g())))
        .unwrap();
    let view = allocator.view();
    let can = |view: View<'_>, demand| {
        let decision = view.decide(
            lowest_id(),
            &Request::new(Pattern::single(demand)).only([0].into()),
        );
        decision
            .map(|decision| names(&graph, decision.placement()))
            .map_err(|refusal| refusal.kind())
    };
    assert_eq!(can(view.as_if_idle(), one_g()), Ok("GPU0/1g@0".into()));
    assert_eq!(
        can(view.as_if_repartitioned(), one_g()),
        Ok("GPU0/1g@1".into())
    );
    assert_eq!(
        can(view.as_if_repartitioned(), Demand::slice(Size::new(2, 2))),
        Ok("GPU0/2g@2".into())
    );
    assert_eq!(
        can(view.as_if_repartitioned(), Demand::slice(Size::new(4, 4))),
        Err("busy")
    );
    assert_eq!(
        can(view.as_if_idle(), Demand::slice(Size::new(4, 4))),
        Err("busy"),
        "not in this layout"
    );
    let decision = view
        .as_if_repartitioned()
        .decide(lowest_id(), &Request::new(Pattern::single(one_g())))
        .unwrap();
    assert!(allocator.clone().commit(decision).is_err(), "imagined");
}

#[test]
fn what_a_repartition_could_free_is_nothing_that_is_cordoned_and_all_that_can_be_shared() {
    let graph = machine();
    let mut allocator = cut(&graph, ["1g@0 1g@1 2g@2", "whole"]);
    let (wide, shared) = (Demand::slice(Size::new(4, 4)), Demand::any().shared());
    let could = |allocator: &Allocator, demand: Demand, whole: u32| {
        let request = Request::new(Pattern::single(demand)).only([whole].into());
        let view = allocator.view().as_if_repartitioned();
        view.decide(lowest_id(), &request).is_ok()
    };
    // A shared tenant on the second device: others who share may join it, whatever the first device becomes.
    let beside = Request::new(Pattern::single(shared)).only([1].into());
    allocator.allocate(lowest_id(), &beside).unwrap();
    assert!(could(&allocator, shared, 1) && could(&allocator, wide, 0));
    // Nobody makes room on a device that is to be emptied.
    allocator.cordon(DeviceId(0), true).unwrap();
    assert!(!could(&allocator, wide, 0));
    allocator.cordon(DeviceId(1), true).unwrap();
    assert!(!could(&allocator, shared, 1));
}

#[test]
fn only_a_state_that_its_free_set_tells_whole_gets_the_answer_of_others() {
    let graph = machine();
    let mut allocator = Allocator::new(graph.clone());
    let whole = Request::new(Pattern::single(Demand::whole())).only([2].into());
    let lease = allocator.allocate(lowest_id(), &whole).unwrap();
    let is_told = |view: View<'_>| view.is_of_free_set();
    assert!(is_told(allocator.view()));
    // A search with a deadline may have stopped early; the answer on a state that leaves a lease out replaces that lease.
    let stop = || false;
    assert!(!is_told(allocator.view().until(&stop)));
    assert!(!is_told(allocator.without(lease.id).unwrap().view()));
    let few = DeviceSet::from([1]);
    assert!(!is_told(allocator.view().limited_to(&few)));
    assert!(!is_told(allocator.view().as_if_idle()));
    // A device that is being repartitioned: the instances to come are in no free set.
    let next = layout(&graph, DeviceId(0), "2g@0 2g@2");
    allocator.begin_repartition(DeviceId(0), next).unwrap();
    assert!(!is_told(allocator.view()));
    // Back before anything has changed, it is told again.
    allocator.layout_is(DeviceId(0), &Layout::whole()).unwrap();
    assert!(is_told(allocator.view()));
    let shared = Request::new(Pattern::single(Demand::any().shared()));
    allocator.allocate(lowest_id(), &shared).unwrap();
    assert!(!is_told(allocator.view()), "another may join it");
}

#[test]
fn a_move_replaces_the_lease_and_keeps_its_id() {
    let graph = machine();
    let mut allocator = cut(&graph, ["2g@0 2g@2", "2g@0 2g@2"]);
    let job = Request::new(Pattern::single(Demand::slice(Size::new(2, 2))));
    let leases: Vec<_> = (0..4)
        .map(|_| allocator.allocate(lowest_id(), &job).unwrap())
        .collect();
    assert!(allocator.view().decide(lowest_id(), &job).is_err(), "full");
    let what_if = allocator.without(leases[1].id).unwrap();
    let back = what_if.view().decide(lowest_id(), &job).unwrap();
    assert_eq!(
        back.placement(),
        &leases[1].placement,
        "its own place is free without it"
    );
    allocator.release(leases[2].id).unwrap();
    assert!(allocator.commit(back).unwrap_err().is_stale());
    let elsewhere = job.clone().avoid([0].into());
    let decision = allocator
        .without(leases[1].id)
        .unwrap()
        .view()
        .decide(lowest_id(), &elsewhere)
        .unwrap();
    let moved = allocator.commit(decision).unwrap();
    assert_eq!(
        (moved.id, names(&graph, &moved.placement).as_str()),
        (leases[1].id, "GPU1/2g@0")
    );
    assert!(allocator.view().free().contains(leases[1].placement[0]));
    assert_eq!(allocator.leases().count(), 3);
    assert!(
        allocator
            .without(leases[2].id)
            .unwrap_err()
            .is_unknown_lease()
    );
}

#[test]
fn a_repartition_is_only_asked_for_where_it_may_and_can_be_made() {
    let graph = machine();
    let mut allocator = cut(&graph, ["1g@0 1g@1 2g@2", "1g@0 1g@1 2g@2"]);
    allocator
        .allocate(lowest_id(), &Request::new(Pattern::single(one_g())))
        .unwrap();
    let four = Request::new(Pattern::single(Demand::slice(Size::new(4, 4))));
    let why = |view: View<'_>| view.decide(lowest_id(), &four).unwrap_err();
    assert_eq!(
        why(allocator.view()),
        Refusal::Busy(Reason::NeedsRepartition),
        "the second device is idle"
    );
    // Limited to the first device, which has a tenant.
    let first: DeviceSet = allocator.view().parts_of(DeviceId(0)).collect();
    assert!(matches!(
        why(allocator.view().limited_to(&first)),
        Refusal::Busy(Reason::InUse { .. })
    ));
    let second: DeviceSet = allocator.view().parts_of(DeviceId(1)).collect();
    assert_eq!(
        why(allocator.view().limited_to(&second)),
        Refusal::Busy(Reason::NeedsRepartition)
    );
    // While the device is being repartitioned, only waiting helps.
    allocator
        .begin_repartition(DeviceId(1), layout(&graph, DeviceId(1), "4g@0"))
        .unwrap();
    assert!(matches!(
        why(allocator.view()),
        Refusal::Busy(Reason::InUse { .. })
    ));
    allocator
        .layout_is(DeviceId(1), &layout(&graph, DeviceId(1), "4g@0"))
        .unwrap();
    assert!(allocator.view().decide(lowest_id(), &four).is_ok());
    // A limit holds on an idle machine too, and changes no usage.
    let idle = allocator.view().as_if_idle();
    let whole = Request::new(Pattern::single(Demand::slice(Size::new(2, 2)))).only([0].into());
    let second: DeviceSet = allocator.view().parts_of(DeviceId(1)).collect();
    let limited = idle.limited_to(&second);
    assert_eq!(
        limited
            .as_if_repartitioned()
            .decide(lowest_id(), &whole)
            .unwrap_err()
            .kind(),
        "busy"
    );
    assert_eq!(
        limited.usage(id(&graph, "GPU0/1g@0")).tenants,
        0,
        "idle, limited or not"
    );
    // A bare free set allows any layout, and vertices that are not free in it stay so.
    let free = DeviceSet::from([1, 2]);
    assert_eq!(graph.with_free(&free).as_if_repartitioned().free(), &free);
}

#[test]
fn layouts_and_decisions_are_refused_where_they_do_not_belong() {
    let graph = machine();
    let mut allocator = Allocator::new(graph.clone());
    let halves = Profile {
        name: "half".into(),
        size: Size::new(2, 2),
        memory_bytes: 1,
        starts: vec![0, 2],
        max_instances: 2,
    };
    let other = Model::new("halves", Size::new(4, 4), vec![halves]).unwrap();
    let foreign = other.maximal_layouts().next().unwrap();
    let error = allocator.layout_is(DeviceId(0), &foreign).unwrap_err();
    assert_eq!(error.to_string(), "a layout of another model than quarters");
    // A copy that went another way, with as many changes.
    let mut copy = allocator.clone();
    let one = |id: u32| Request::new(Pattern::ring(1)).only([id].into());
    allocator.allocate(lowest_id(), &one(0)).unwrap();
    copy.allocate(lowest_id(), &one(1)).unwrap();
    let decision = copy.view().decide(lowest_id(), &one(2)).unwrap();
    let error = allocator.commit(decision.clone()).unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert!(copy.commit(decision).is_ok());
    // A policy that decides for another job, or that only imagines.
    struct Stubborn;
    impl Policy for Stubborn {
        fn name(&self) -> &str {
            "stubborn"
        }
        fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
            match request.pattern.len() {
                1 => lowest_id().decide(&Request::new(Pattern::ring(2)), view),
                _ => lowest_id().decide(request, &view.as_if_idle()),
            }
        }
    }
    let why = |allocator: &mut Allocator, n| {
        allocator
            .allocate(Stubborn, &Request::new(Pattern::ring(n)))
            .unwrap_err()
    };
    assert_eq!(
        why(&mut allocator, 1).to_string(),
        "not met: a decision for this job, not for another"
    );
    insta::assert_snapshot!(
        why(&mut allocator, 2).to_string(),
        @"not met: the decision was made on an imagined state and cannot be committed"
    );
}

#[test]
fn avoiding_a_device_avoids_its_instances() {
    let graph = machine();
    let allocator = cut(&graph, ["2g@0 2g@2", "2g@0 2g@2"]);
    let job = Request::new(Pattern::single(Demand::slice(Size::new(2, 2))));
    let decide = |request| {
        names(
            &graph,
            allocator
                .view()
                .decide(lowest_id(), &request)
                .unwrap()
                .placement(),
        )
    };
    assert_eq!(decide(job.clone().avoid([0].into())), "GPU1/2g@0");
    assert_eq!(decide(job.only([1].into())), "GPU1/2g@0");
}

/// A state: a machine, layouts of its devices, and some jobs placed.
fn states() -> impl Strategy<Value = Allocator> {
    let jobs = vec((demanding_patterns(1..=2), 0usize..4), 0..4);
    (
        cut_machines(1..=3),
        vec(proptest::option::weighted(0.8, any::<Index>()), 3),
        jobs,
    )
        .prop_map(|(graph, layouts, jobs)| {
            let graph = Arc::new(graph);
            let mut allocator = Allocator::new(graph.clone());
            for (whole, index) in graph.wholes().iter().zip(layouts) {
                let model = graph.model(whole).zip(index);
                if let Some(layout) =
                    model.and_then(|(m, i)| m.layouts().nth(i.index(m.layouts().len())))
                {
                    allocator.layout_is(whole, &layout).unwrap();
                }
            }
            for (pattern, policy) in jobs {
                let policy: Box<dyn Policy> = match policy {
                    3 => Box::new(fewest_warps()),
                    at => BuiltIn::named(["lowest-id", "greedy", "packed"][at]).unwrap(),
                };
                let _ = allocator.allocate(policy, &Request::new(pattern));
            }
            allocator
        })
}

fn set(map: &[DeviceId]) -> DeviceSet {
    map.iter().copied().collect()
}

const CRITERIA: u8 = 9;

fn objective(kind: u8) -> Objective<'static> {
    match kind {
        0 => aggregate_gbps(),
        1 => preserved_gbps(),
        2 => Objective::devices("warps", |seat| seat.usage().warps as f64).blind_to_ids(),
        3 => Objective::devices("id", |seat| {
            f64::from(seat.id.0 % 3) + f64::from(seat.demand.role)
        }),
        4 => Objective::devices("free siblings", |seat| seat.free_siblings() as f64).blind_to_ids(),
        5 => Objective::chosen("wholes", |chosen| {
            (chosen.devices & &chosen.graph.wholes()).len() as f64
        })
        .blind_to_ids(),
        8 => Objective::placement("tenants", |c| {
            c.placement
                .iter()
                .map(|&id| {
                    f64::from(
                        c.view
                            .usage_of_whole(c.view.graph().device(id).parent)
                            .tenants,
                    )
                })
                .sum()
        })
        .of_set()
        .blind_to_ids(),
        6 => Objective::placement("first", |c| {
            f64::from(c.placement.first().map_or(0, |d| d.0 % 2))
        }),
        _ => Objective::links("host", mapa_core::Tiers::PAPER, |census| {
            f64::from(census.xyz().2)
        }),
    }
}

fn criterion(kind: u8) -> Criterion<'static> {
    match kind {
        0 | 1 => max(objective(kind)),
        2 => least("warps", |seat| seat.usage().warps as f64).blind_to_ids(),
        3 => most("id", |seat| {
            f64::from(seat.id.0 % 3) + f64::from(seat.demand.role)
        }),
        4 => min(objective(kind)).in_steps_of(2.0),
        CRITERIA => lowest_ids(),
        _ => min(objective(kind)),
    }
}

/// The value by which brute force compares: the lower the better.
fn worth(kind: u8, candidate: &Candidate<'_>) -> f64 {
    let value = objective(kind).score(candidate);
    match kind {
        0 | 1 | 3 => -value,
        4 => (value / 2.0).floor(),
        _ => value,
    }
}

fn require(rules: Rules<'static>, kind: u8) -> Rules<'static> {
    match kind {
        0 => rules.require("even", |seat| seat.id.0.is_multiple_of(2)),
        1 => rules.require_link("no host path", |edge| !edge.link.class.is_host()),
        2 => rules.require_set("a low one", |chosen| {
            chosen.devices.first().is_some_and(|id| id.0 < 4)
        }),
        3 => rules.require_placement("ascending", |c| c.placement.is_sorted()),
        4 => rules.require_score(aggregate_gbps(), |gbps| gbps < 30.0),
        _ => rules,
    }
}

fn passes(kind: u8, c: &Candidate<'_>) -> bool {
    let link = |e: &mapa_core::Edge| {
        c.view
            .graph()
            .link_of_ranks(c.placement[e.a as usize], c.placement[e.b as usize])
    };
    match kind {
        0 => c.placement.iter().all(|id| id.0 % 2 == 0),
        1 => c.pattern.edges().iter().all(|e| !link(e).class.is_host()),
        2 => c.placement.iter().any(|id| id.0 < 4),
        3 => c.placement.windows(2).all(|pair| pair[0] <= pair[1]),
        4 => aggregate_gbps().score(c) < 30.0,
        _ => true,
    }
}

/// The choice that rules of these criteria and requirements must make, from the definitions.
fn brute_force(
    view: &View<'_>,
    pattern: &Pattern,
    criteria: &[u8],
    required: &[u8],
) -> Option<Vec<DeviceId>> {
    fn candidate<'c>(
        view: &View<'c>,
        pattern: &'c Pattern,
        placement: &'c [DeviceId],
    ) -> Candidate<'c> {
        Candidate {
            view: *view,
            pattern,
            placement,
        }
    }
    let mut maps = oracle::raw_placements(pattern, view, &view.graph().all());
    maps.retain(|map| {
        required
            .iter()
            .all(|&kind| passes(kind, &candidate(view, pattern, map)))
    });
    let compare = |a: &Vec<DeviceId>, b: &Vec<DeviceId>| {
        for &kind in criteria {
            let order = if kind == CRITERIA {
                set(a).cmp(&set(b))
            } else {
                let (a, b) = (
                    worth(kind, &candidate(view, pattern, a)),
                    worth(kind, &candidate(view, pattern, b)),
                );
                if (a - b).abs() < 1e-9 {
                    Ordering::Equal
                } else {
                    a.total_cmp(&b)
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

proptest! {
    #![proptest_config(mapa_core::testing::cases(2000))]

    #[test]
    fn searches_find_what_brute_force_finds(graph in cut_machines(1..=3), pattern in demanding_patterns(1..=3)) {
        let all = graph.all();
        let raw = oracle::raw_matches(&pattern, &graph, &all, false);
        let mut found: Vec<Vec<DeviceId>> = Vec::new();
        let without_maxima = |map: &Vec<DeviceId>| Decision::checked(
            "", &Request::new(pattern.clone()), &graph.with_free(&all), map.iter().copied(),
        ).is_ok();
        found.extend(pattern.matcher().on(&graph).iter().map(|placement| placement.to_vec()).filter(without_maxima));
        let distinct = oracle::distinct(&pattern, &raw);
        prop_assert_eq!(found.len(), distinct.len(), "each class once");
        prop_assert_eq!(found.into_iter().collect::<std::collections::BTreeSet<_>>(), distinct);
    }

    #[test]
    fn searches_that_share_find_every_class(state in states(), pattern in demanding_patterns(1..=3)) {
        let view = state.view();
        let graph = view.graph();
        let raw = oracle::raw_placements(&pattern, &view, &graph.all());
        let domains: Vec<DeviceSet> = pattern.demands().iter().map(|demand| view.room_for(demand)).collect();
        let memory = |id: DeviceId, ranks: &[usize]| {
            let wanted: u64 = ranks.iter().map(|&rank| pattern.demands()[rank].memory_bytes).sum();
            wanted == 0 || view.free_memory(id).is_some_and(|free| wanted <= free)
        };
        let search = pattern.matcher().on(graph).domains(&domains).sharing(&memory);
        let found: Vec<Vec<DeviceId>> = search.iter().map(|placement| placement.to_vec()).collect();
        prop_assert!(found.iter().all(|map| raw.contains(map)));
        let found: std::collections::BTreeSet<_> = found.into_iter().collect();
        prop_assert!(oracle::distinct(&pattern, &raw).is_subset(&found), "the smallest of each class");
    }

    #[test]
    fn rules_on_instances_choose_the_lexicographic_optimum(
        state in states(),
        pattern in demanding_patterns(1..=3),
        criteria in vec(0..=CRITERIA, 0..4),
        required in vec(0u8..6, 0..3),
        world in 0u8..3,
    ) {
        let rules = criteria.iter().fold(Rules::new("random"), |rules, &kind| rules.prefer(criterion(kind)));
        let rules = required.iter().fold(rules, |rules, &kind| require(rules, kind));
        let view = match world {
            0 => state.view(),
            1 => state.view().as_if_idle(),
            _ => state.view().as_if_repartitioned(),
        };
        let request = Request::new(pattern.clone());
        let expected = brute_force(&view, &pattern, &criteria, &required);
        match (rules.decide(&request, &view), expected) {
            (Ok(decision), Some(expected)) => {
                prop_assert_eq!(decision.placement().to_vec(), expected);
                let placement = decision.placement().iter().copied();
                prop_assert!(Decision::checked("again", &request, &view, placement).is_ok());
            }
            (Err(Refusal::Busy(reason)), None) => {
                let now = brute_force(&view, &pattern, &[], &[]);
                let ever = brute_force(&view.as_if_free(&view.graph().all()), &pattern, &[], &[]);
                let cut_anew = brute_force(&view.as_if_repartitioned(), &pattern, &[], &[]);
                prop_assert!(ever.is_some(), "what cannot ever be is infeasible");
                match reason {
                    Reason::NeedsRepartition => prop_assert!(now.is_none() && cut_anew.is_some()),
                    Reason::InUse { .. } => prop_assert!(now.is_none() && cut_anew.is_none()),
                    Reason::Rule(_) => prop_assert!(now.is_some()),
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            (Err(Refusal::Infeasible(_)), None) => {
                let lasting: Vec<u8> = required.iter().copied().filter(|kind| [1, 2, 4].contains(kind)).collect();
                let ever = brute_force(&view.as_if_free(&view.graph().all()), &pattern, &[], &lasting);
                prop_assert!(ever.is_none());
            }
            (decision, expected) => prop_assert!(false, "{decision:?} for {expected:?}"),
        }
    }

    #[test]
    fn built_in_policies_on_instances_pass_the_check(state in states(), pattern in demanding_patterns(1..=3)) {
        let view = state.view();
        let request = Request::new(pattern).limits(Limits::NONE.nodes(1_000_000));
        let feasible = brute_force(&view, &request.pattern, &[], &[]).is_some();
        let tasks: Box<dyn Policy> = Box::new(fewest_warps());
        for policy in BuiltIn::ALL.iter().map(BuiltIn::policy).chain([tasks]) {
            match policy.decide(&request, &view) {
                Ok(decision) => {
                    prop_assert!(feasible);
                    let placement = decision.placement().iter().copied();
                    prop_assert!(Decision::checked("again", &request, &view, placement).is_ok(), "{}", policy.name());
                    prop_assert!(state.clone().commit(decision).is_ok());
                }
                // These two have requirements of their own.
                Err(_) => prop_assert!(!feasible || ["preserve-released", "fewest-warps"].contains(&policy.name()), "{}", policy.name()),
            }
        }
    }
}
