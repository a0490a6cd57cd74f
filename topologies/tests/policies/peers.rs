//! The policies of NVIDIA's and AMD's device plugins, against the plugins' own tests.

use std::fs;
use std::sync::Arc;

use mapa_core::{
    Allocator, DeviceId, DeviceInfo, DeviceSet, Fabric, FabricNode, HardwareGraph, LinkClass,
    NodeId, NodeKind, Pattern, Policy, Refusal, Request, Rules, Subset, criteria::lowest_ids,
    lowest_id,
};
use mapa_topologies::named;
use mapa_topologies::policies::{
    BUILT_IN, nvidia_best_effort, nvidia_points, rocm_best_effort, rocm_weight,
};
use serde_json::Value;

use crate::common::dumps::two_numa_nodes;
use crate::common::real_data;

fn oracle(file: &str) -> Option<Value> {
    let text = fs::read_to_string(real_data()?.join("oracle").join(file)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn numbers(value: &Value) -> DeviceSet {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|id| DeviceId(number(id) as u32))
        .collect()
}

/// Devices with the host paths and links of two tables.
fn machine(
    infos: Vec<DeviceInfo>,
    link: impl Fn(usize, usize) -> (Option<LinkClass>, usize),
) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let mut devices: Vec<NodeId> = Vec::new();
    for (i, info) in infos.into_iter().enumerate() {
        devices.push(
            fabric
                .add(FabricNode {
                    name: format!("GPU{i}"),
                    kind: NodeKind::Device(info),
                })
                .unwrap(),
        );
    }
    for high in 0..devices.len() {
        for low in 0..high {
            let (host, direct) = link(low, high);
            if let Some(host) = host {
                fabric
                    .link(devices[low], devices[high], host, 12.0)
                    .unwrap();
            }
            if direct > 0 {
                let gbps = 25.0 * direct as f64;
                fabric
                    .link(
                        devices[low],
                        devices[high],
                        LinkClass::Direct(direct as u8),
                        gbps,
                    )
                    .unwrap();
            }
        }
    }
    fabric.lower().unwrap()
}

fn nvidia_machine(oracle: &Value, name: &Value) -> HardwareGraph {
    let topology = &oracle["topologies"][name.as_str().unwrap()];
    let graph = machine(
        vec![DeviceInfo::default(); number(&topology["n"])],
        |a, b| {
            let host = match (&topology["p2p"][a][b], &topology["p2p"][b][a]) {
                (Value::String(level), _) | (_, Value::String(level)) => {
                    Some(match level.as_str() {
                        "SYS" => LinkClass::Sys,
                        "NODE" => LinkClass::Node,
                        "PHB" => LinkClass::Phb,
                        "PXB" => LinkClass::Pxb,
                        "PIX" => LinkClass::Pix,
                        "PSB" => LinkClass::Board,
                        other => panic!("{other}"),
                    })
                }
                _ => None,
            };
            (host, number(&topology["nvlink_count"][a][b]))
        },
    );
    for a in graph.all().iter() {
        for b in graph.all().iter().filter(|&b| b != a) {
            let points = topology["pair_score"][a.index()][b.index()]
                .as_i64()
                .unwrap();
            assert_eq!(
                i64::from(nvidia_points(&graph, a, b)),
                points,
                "{name} {a} {b}"
            );
        }
    }
    graph
}

fn chosen(
    policy: &dyn Policy,
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

/// The policy that one of the plugin's names means. Its static ones, for two machines, know four
/// pairs, two fours and nothing else but one and all; they take the first that is free.
fn nvidia_policy(name: &str) -> Box<dyn Policy> {
    let pairs = match name {
        "best_effort" => return Box::new(nvidia_best_effort()),
        "simple" => return Box::new(lowest_id()),
        "static_dgx1_pascal" => [[0, 2], [1, 3], [4, 6], [5, 7]],
        "static_dgx1_volta" => [[0, 3], [1, 2], [4, 7], [5, 6]],
        other => panic!("{other}"),
    };
    let mut known: Vec<DeviceSet> = pairs.into_iter().map(DeviceSet::from).collect();
    known.extend([[0, 1, 2, 3], [4, 5, 6, 7]].map(DeviceSet::from));
    known.extend((0..8).map(|id| [id].into()).chain([DeviceSet::first_n(8)]));
    let listed = move |subset: Subset<'_>| known.contains(subset.devices);
    Box::new(
        Rules::new(name.to_owned())
            .require_set("a set of the list", listed)
            .prefer(lowest_ids()),
    )
}

#[test]
fn nvidias_own_tests_pass() {
    let Some(oracle) = oracle("go_gpuallocator.json") else {
        return;
    };
    let policy = |entry: &Value| nvidia_policy(entry["policy"].as_str().unwrap());
    let (mut calls, mut steps) = ([0, 0], [0, 0]);
    for case in oracle["cases"].as_array().unwrap() {
        let graph = nvidia_machine(&oracle, &case["topology"]);
        let (available, required) = (numbers(&case["available"]), numbers(&case["required"]));
        let ours = chosen(
            &policy(case),
            &graph,
            &available,
            &required,
            number(&case["size"]),
        );
        assert_eq!(
            ours.unwrap_or_default(),
            numbers(&case["expected"]),
            "{case}"
        );
        calls[usize::from(case["policy"] == "best_effort")] += 1;
    }
    let sequences = oracle["sequences"].as_array().unwrap();
    for sequence in sequences {
        let mut allocator =
            Allocator::new(Arc::new(nvidia_machine(&oracle, &sequence["topology"])));
        for step in sequence["steps"].as_array().unwrap() {
            let request = Request::new(Pattern::independent(number(&step["size"])));
            let ours = allocator
                .allocate(policy(sequence), &request)
                .map(|lease| lease.placement.set());
            assert_eq!(
                ours.unwrap_or_default(),
                numbers(&step["expected"]),
                "{sequence}"
            );
            steps[usize::from(sequence["policy"] == "best_effort")] += 1;
        }
    }
    // 32 calls and 98 steps; of those by best effort, 11 and 48.
    assert_eq!((calls, sequences.len(), steps), ([21, 11], 21, [50, 48]));
}

/// A set of one size below another of the same size, in percent, at worst; and on how many calls.
fn below_the_best(graph: &HardwareGraph) -> (usize, f64) {
    let points = |set: &DeviceSet| -> i32 {
        let pairs = set
            .iter()
            .flat_map(|b| set.iter().take_while(move |&a| a < b).map(move |a| (a, b)));
        pairs.map(|(a, b)| nvidia_points(graph, a, b)).sum()
    };
    let all: Vec<DeviceSet> = (0..1u32 << graph.len())
        .map(|bits| {
            (0..graph.len() as u32)
                .filter(|i| bits >> i & 1 == 1)
                .map(DeviceId)
                .collect()
        })
        .collect();
    let points: Vec<i32> = all.iter().map(points).collect();
    let (mut below, mut worst) = (0, 1.0f64);
    for (bits, available) in all.iter().enumerate() {
        for k in 1..=available.len() {
            let ours = chosen(
                &nvidia_best_effort(),
                graph,
                available,
                &DeviceSet::new(),
                k,
            )
            .unwrap();
            let ours = points[ours.iter().fold(0, |bits, id| bits | 1 << id.0)];
            let within = (0..all.len()).filter(|set| set & !bits == 0 && all[*set].len() == k);
            let best = within.map(|set| points[set]).max().unwrap();
            if ours < best {
                below += 1;
                worst = worst.min(f64::from(ours) / f64::from(best));
            }
        }
    }
    (below, (worst - 1.0) * 100.0)
}

/// Of all calls with something available: on a machine of eight, 1,024.
#[test]
fn the_best_partition_is_not_always_of_the_best_sets() {
    let (below, worst) = below_the_best(&named("dgx-1v").unwrap().graph().unwrap());
    assert_eq!((below, worst.round()), (42, -35.0));
    let (below, worst) = below_the_best(&named("dgx-1p").unwrap().graph().unwrap());
    assert_eq!((below, worst.round()), (20, -13.0));
    // Four boards, two bridged pairs, each across the sockets.
    let level = |a: usize, b: usize| {
        if a / 2 == b / 2 {
            LinkClass::Node
        } else {
            LinkClass::Sys
        }
    };
    let rtx = machine(vec![DeviceInfo::default(); 4], |a, b| {
        (Some(level(a, b)), if a + b == 3 { 2 } else { 0 })
    });
    assert_eq!(below_the_best(&rtx).0, 0);
}

/// Devices by id, and the machine of a topology of AMD's tests.
fn rocm_machine(topology: &Value) -> (Vec<&str>, HardwareGraph) {
    let devices = topology["devices"].as_array().unwrap();
    let mut seen = [0; 64];
    let info = |device: &Value| {
        let package: usize = device["DevId"].as_str().unwrap().parse().unwrap();
        seen[package] += 1;
        // The number of a partition is where KFD puts it, in the function of the address.
        let pci = Some(format!("0000:{package:02x}:00.{:x}", seen[package] - 1));
        DeviceInfo {
            pci,
            ..DeviceInfo::default()
        }
    };
    let infos: Vec<DeviceInfo> = devices.iter().map(info).collect();
    let (mut fabric, numa) = two_numa_nodes(12.0);
    let mut ids = Vec::new();
    for (i, (device, info)) in devices.iter().zip(infos).enumerate() {
        let id = fabric
            .add(FabricNode {
                name: format!("GPU{i}"),
                kind: NodeKind::Device(info),
            })
            .unwrap();
        fabric
            .attach(id, numa[number(&device["NumaNode"])], 12.0)
            .unwrap();
        ids.push(id);
    }
    let node = |i: usize| devices[i]["NodeId"].to_string();
    let weight = |a: usize, b: usize| number(&topology["pair_weight_by_node_id"][node(a)][node(b)]);
    let same = |a: usize, b: usize, key: &str| devices[a][key] == devices[b][key];
    let other = |same: bool| if same { 10 } else { 20 };
    for high in 0..ids.len() {
        for low in 0..high {
            let by_link = weight(low, high)
                - other(same(low, high, "DevId"))
                - other(same(low, high, "NumaNode"));
            if by_link == 10 && !same(low, high, "DevId") {
                fabric
                    .link(ids[low], ids[high], LinkClass::Direct(1), 50.0)
                    .unwrap();
            } else {
                assert!(by_link == 40 || same(low, high, "DevId"));
            }
        }
    }
    let graph = fabric.lower().unwrap();
    for high in 0..ids.len() {
        for low in 0..high {
            let pair = (DeviceId(low as u32), DeviceId(high as u32));
            let ours = rocm_weight(&graph, pair, same(low, high, "DevId"));
            assert_eq!(ours as usize, weight(low, high), "{low} {high}");
        }
    }
    (
        devices
            .iter()
            .map(|device| device["Id"].as_str().unwrap())
            .collect(),
        graph,
    )
}

#[test]
fn amds_own_tests_pass() {
    let Some(oracle) = oracle("rocm_k8s_device_plugin.json") else {
        return;
    };
    let (mut sets, mut sizes) = (0, 0);
    for case in oracle["cases"].as_array().unwrap() {
        let (ids, graph) = rocm_machine(&oracle["topologies"][case["topology"].as_str().unwrap()]);
        let find = |id: &Value| DeviceId(ids.iter().position(|other| id == other).unwrap() as u32);
        let list = |key: &str| {
            case[key]
                .as_array()
                .map(|ids| ids.iter().map(find).collect::<DeviceSet>())
        };
        let available =
            &list("available").unwrap_or(graph.all()) - &list("unavailable").unwrap_or_default();
        let size = number(&case["size"]);
        let required = list("required").unwrap_or_default();
        let ours = chosen(&rocm_best_effort(), &graph, &available, &required, size).unwrap();
        match list("expected") {
            Some(expected) => {
                assert_eq!(ours, expected, "{case}");
                sets += 1;
            }
            None => {
                assert_eq!(ours.len(), size, "{case}");
                sizes += 1;
            }
        }
    }
    assert_eq!((sets, sizes), (13, 4));
}

#[test]
fn each_is_offered_under_its_name_and_answers_on_every_machine_of_up_to_sixteen() {
    for built_in in BUILT_IN {
        let policy = built_in.policy();
        assert_eq!(policy.name(), built_in.name);
        for entry in mapa_topologies::catalogue() {
            let graph = entry.machine().unwrap().graph().unwrap();
            let k = 3.min(graph.len());
            let answer = chosen(&policy, &graph, &graph.all(), &DeviceSet::new(), k);
            match answer {
                Ok(set) => assert_eq!(set.len(), k),
                Err(refusal) => {
                    assert!(
                        built_in.name == "nvidia-best-effort" && graph.all().len() > 20,
                        "{}: {refusal}",
                        entry.name
                    );
                    assert_eq!(refusal.kind(), "limit_reached");
                }
            }
        }
    }
}

/// Three GPUs in three partitions each, two on one NUMA node, joined by XGMI or by PCIe.
fn partitioned(direct: usize) -> HardwareGraph {
    let (mut fabric, numa) = two_numa_nodes(12.0);
    let mut ids = Vec::new();
    for i in 0..9 {
        let info = DeviceInfo {
            pci: Some(format!("0000:{:02x}:00.{}", i / 3, i % 3)),
            ..DeviceInfo::default()
        };
        ids.push(
            fabric
                .add(FabricNode {
                    name: format!("GPU{i}"),
                    kind: NodeKind::Device(info),
                })
                .unwrap(),
        );
        fabric.attach(ids[i], numa[i / 6], 12.0).unwrap();
    }
    for (low, high) in (0..9).flat_map(|high| (0..high).map(move |low| (low, high))) {
        if direct > 0 && low / 3 != high / 3 {
            fabric
                .link(ids[low], ids[high], LinkClass::Direct(direct as u8), 50.0)
                .unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// Of all calls on such machines, whatever is available, and with nothing, or the two lowest,
/// required: how many get a set that is heavier than the lightest of its size.
#[test]
fn sets_of_packages_are_the_lightest_sets() {
    let mut above = Vec::new();
    for (direct, required) in [(1, 0), (0, 0), (1, 2), (0, 2)] {
        let graph = partitioned(direct);
        let package = |id: DeviceId| id.0 / 3;
        let weight = |a, b| rocm_weight(&graph, (a, b), package(a) == package(b));
        let of = |set: &DeviceSet| -> u32 {
            set.iter()
                .flat_map(|b| set.iter().take_while(move |&a| a < b).map(move |a| (a, b)))
                .map(|(a, b)| weight(a, b))
                .sum()
        };
        let set = |bits: u32| -> DeviceSet {
            (0..9)
                .filter(|i| bits >> i & 1 == 1)
                .map(DeviceId)
                .collect()
        };
        let weights: Vec<u32> = (0..512).map(|bits| of(&set(bits))).collect();
        let (mut calls, mut heavier) = (0, 0);
        for available in 1..512u32 {
            let must = set(available)
                .iter()
                .take(required)
                .fold(0u32, |bits, id| bits | 1 << id.0);
            for k in must.count_ones().max(1)..=available.count_ones() {
                let ours = chosen(
                    &rocm_best_effort(),
                    &graph,
                    &set(available),
                    &set(must),
                    k as usize,
                )
                .unwrap();
                let fits = |&bits: &u32| {
                    bits & !available == 0 && bits & must == must && bits.count_ones() == k
                };
                let lightest = (1..512u32)
                    .filter(fits)
                    .map(|bits| weights[bits as usize])
                    .min()
                    .unwrap();
                calls += 1;
                heavier += u32::from(of(&ours) > lightest);
            }
        }
        above.push((calls, heavier));
    }
    assert_eq!(above, [(2304, 0), (2304, 0), (1802, 0), (1802, 0)]);
}
