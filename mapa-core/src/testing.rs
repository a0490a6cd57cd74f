//! Proptest strategies and slow oracles for property tests. Needs the feature `testing`.
//!
//! Use them to test your own policy, scheduler or matcher as MAPA tests its own: with random
//! machines, patterns, requests and histories, and with slow and obvious answers to compare with.
//!
//! ```
//! use std::sync::Arc;
//! use mapa_core::testing::{HistoryStep, histories, joined_machines, oracle, requests};
//! use mapa_core::{Allocator, Policy, aggregate_gbps, greedy};
//! use proptest::prelude::*;
//!
//! // A policy of one's own would stand where `greedy` does.
//! proptest!(|(graph in joined_machines(1..=5), steps in histories(requests(5, 1..=4), 1..=8))| {
//!     let mut allocator = Allocator::new(Arc::new(graph));
//!     for step in steps {
//!         match step {
//!             HistoryStep::Allocate(request) => {
//!                 let best = oracle::best(&request, &allocator.view(), &[aggregate_gbps()]);
//!                 let decided = greedy().decide(&request, &allocator.view());
//!                 prop_assert_eq!(decided.as_ref().ok().map(|d| d.placement().to_vec()), best);
//!                 let _ = decided.map(|decision| allocator.commit(decision));
//!             }
//!             HistoryStep::Release(which) => {
//!                 let held: Vec<_> = allocator.leases().map(|lease| lease.id).collect();
//!                 if !held.is_empty() {
//!                     allocator.release(*which.get(&held)).unwrap();
//!                 }
//!             }
//!         }
//!     }
//! });
//! ```
//!
//! ```
//! use mapa_core::testing::{machines, oracle, patterns};
//! use proptest::prelude::*;
//!
//! proptest!(|(graph in machines(1..=6), pattern in patterns(1..=4))| {
//!     let fast = pattern.matcher().on(&graph).count().matches;
//!     let raw = oracle::raw_matches(&pattern, &graph, &graph.all(), false);
//!     assert_eq!(fast, oracle::distinct(&pattern, &raw).len() as u64);
//! });
//! ```

mod machine_history;

use std::ops::RangeInclusive;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::RngSeed;

use crate::graph::Graph;
use crate::mig::{Model, Profile, ProfileId, Size};
use crate::pattern::{Demand, Pattern, Want};
use crate::request::Request;
use crate::topology::{
    DeviceId, DeviceInfo, DeviceSet, Fabric, FabricNode, HardwareGraph, LinkClass, NodeKind,
    PeerAccess, PeerSource,
};

pub use machine_history::{MachineHistory, MachineStep, machine_steps};

/// Slow and obvious implementations, against which the fast ones are checked.
pub mod oracle {
    pub use crate::matching::oracle::{
        automorphisms, distinct, injections, raw_matches, raw_placements,
    };
    pub use crate::optimum::oracle::best;
    pub use crate::score::packing_oracle::{check_rings, ring_packing};
}

/// A number of cases, or another size of a test, of a whole run, scaled for this run; at least 1.
///
/// `PROPTEST_CASES` is the scale: 256, proptest's own default, is a whole run. This workspace's
/// `.cargo/config.toml` sets an eighth of it, so that tests are quick while somebody works.
#[must_use]
pub fn scaled(whole: u32) -> u32 {
    let cases = u64::from(ProptestConfig::default().cases);
    u32::try_from(u64::from(whole) * cases / 256).map_or(u32::MAX, |scaled| scaled.max(1))
}

/// The configuration of a property test that a whole run tries with so many cases, which are
/// [`scaled`].
///
/// ```
/// use mapa_core::testing::cases;
/// use proptest::prelude::*;
///
/// proptest!(cases(64), |(a in 0..9u32)| {
///     prop_assert!(a < 9);
/// });
/// ```
#[must_use]
pub fn cases(whole: u32) -> ProptestConfig {
    ProptestConfig::with_cases(scaled(whole))
}

/// The seed of a test that draws numbers by itself: another one for each `own`, and for each
/// `PROPTEST_RNG_SEED`, so that such tests are drawn anew, and replayed, as property tests are. If the variable is not
/// set, `own` alone decides.
#[must_use]
pub fn seed(own: u64) -> u64 {
    let RngSeed::Fixed(run) = ProptestConfig::default().rng_seed else {
        return own;
    };
    // Odd, so that no two runs have the same seeds.
    run.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(own)
}

/// Machines whose number of devices is in `devices`, with links of all classes. Some pairs are not
/// joined, and some machines have two NUMA nodes.
///
/// # Panics
/// If the range is empty, holds 0 or exceeds [`MAX_DEVICES`](crate::MAX_DEVICES).
pub fn machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    with_gaps(devices, 2)
}

/// Machines like those of [`machines`], but with every pair joined, as in real servers.
///
/// # Panics
/// As [`machines`].
pub fn joined_machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    with_gaps(devices, 0)
}

fn with_gaps(devices: RangeInclusive<usize>, gaps: u32) -> impl Strategy<Value = HardwareGraph> {
    let link = prop_oneof![
        gaps => Just(None),
        4 => select(vec![LinkClass::Sys, LinkClass::Node, LinkClass::Phb, LinkClass::Pxb, LinkClass::Pix]).prop_map(Some),
        6 => (1u8..=4).prop_map(|n| Some(LinkClass::Direct(n))),
    ];
    let shape = devices
        .prop_flat_map(move |n| (Just(n), vec(link.clone(), n * (n - 1) / 2), any::<bool>()));
    shape.prop_map(|(n, links, two_nodes)| machine(n, &links, two_nodes))
}

fn machine(n: usize, links: &[Option<LinkClass>], two_nodes: bool) -> HardwareGraph {
    lowered(
        fabric(n, links, two_nodes, &vec![DeviceInfo::default(); n]),
        false,
    )
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed machines"
)]
fn lowered(fabric: Fabric, with_host: bool) -> HardwareGraph {
    if with_host {
        fabric.lower_with_host()
    } else {
        fabric.lower()
    }
    .expect("a few devices")
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed machines"
)]
fn fabric(n: usize, links: &[Option<LinkClass>], two_nodes: bool, infos: &[DeviceInfo]) -> Fabric {
    let mut fabric = Fabric::new();
    let numa = [0, 1].map(|i| {
        fabric
            .add_numa(format!("numa{i}"), i)
            .expect("names differ")
    });
    let device = |(i, info): (usize, &DeviceInfo)| FabricNode {
        name: format!("GPU{i}"),
        kind: NodeKind::Device(info.clone()),
    };
    let devices: Vec<_> = infos
        .iter()
        .enumerate()
        .map(device)
        .map(|node| fabric.add(node).expect("names differ"))
        .collect();
    for (i, &device) in devices.iter().enumerate() {
        fabric
            .attach(device, numa[usize::from(two_nodes && i % 2 == 1)], 12.0)
            .expect("no parent yet");
    }
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), class) in pairs.zip(links) {
        let gbps = if let Some(LinkClass::Direct(n)) = class {
            25.0 * f64::from(*n)
        } else {
            12.0
        };
        if let Some(class) = class {
            fabric
                .link(devices[a], devices[b], *class, gbps)
                .expect("each pair once");
        }
    }
    fabric
}

/// Machines whose number of devices is in `devices`, below a random host tree: NUMA nodes in any number
/// and below each other, host bridges and switches at any depth, and hops of four speeds. Half of them
/// have direct links between some pairs, and a third have pairs that do not reach each other's memory.
/// Of half of them the slots, each as fast as the device's own way up, and the generation of links are known.
///
/// # Panics
/// As [`machines`].
pub fn drawn_machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    let part = (any::<Index>(), 0u8..4, 0usize..4);
    let shape = devices.prop_flat_map(move |n| {
        let pairs = n * (n - 1) / 2;
        let links = prop_oneof![
            Just(vec![0u8; pairs]),
            vec(select(vec![0u8, 0, 0, 1, 2, 4]), pairs)
        ];
        let off = prop_oneof![
            2 => Just(vec![false; pairs]),
            1 => prop_oneof![Just(vec![true; pairs]), vec(any::<bool>(), pairs)],
        ];
        let devices = vec((any::<Index>(), 0usize..4), n);
        (vec(part.clone(), 1..=8), devices, links, off, any::<bool>())
    });
    shape.prop_map(|(parts, devices, links, off, known)| {
        lowered(drawn(&parts, &devices, &links, &off, known), false)
    })
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed machines"
)]
fn drawn(
    parts: &[(Index, u8, usize)],
    devices: &[(Index, usize)],
    links: &[u8],
    off: &[bool],
    known: bool,
) -> Fabric {
    const SPEEDS: [f64; 4] = [12.0, 12.0, 24.0, 3.5];
    let mut fabric = Fabric::new();
    let add = |fabric: &mut Fabric, name: String, kind: NodeKind| {
        let node = FabricNode { name, kind };
        fabric.add(node).expect("names differ")
    };
    let machine = add(&mut fabric, "machine".to_owned(), NodeKind::Machine);
    // NUMA nodes hang on the machine or on each other, all else on anything.
    let (mut nodes, mut all) = (vec![machine], vec![machine]);
    for (i, (above, kind, speed)) in (0u32..).zip(parts) {
        let (kind, parent) = match kind {
            0 | 1 => (NodeKind::Numa(i), *above.get(&nodes)),
            2 => (NodeKind::HostBridge, *above.get(&all)),
            _ => (NodeKind::PcieSwitch, *above.get(&all)),
        };
        let is_node = matches!(kind, NodeKind::Numa(_));
        let part = add(&mut fabric, format!("part{i}"), kind);
        let hop = fabric.attach(part, parent, SPEEDS[*speed]);
        hop.expect("no parent yet");
        all.push(part);
        nodes.extend(is_node.then_some(part));
    }
    let mut ids = Vec::new();
    for (i, (above, speed)) in devices.iter().enumerate() {
        let id = fabric.add_device(format!("GPU{i}")).expect("names differ");
        let hop = fabric.attach(id, *above.get(&all), SPEEDS[*speed]);
        hop.expect("no parent yet");
        ids.push(id);
    }
    for (id, gbps) in fabric.own_ways() {
        let slot = known.then(|| fabric.set_slot_gbps(id, gbps));
        slot.transpose().expect("a device of this fabric");
    }
    let pairs = (0..ids.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), (&links, &off)) in pairs.zip(links.iter().zip(off)) {
        if links > 0 {
            let class = LinkClass::Direct(links);
            let link = fabric.link(ids[a], ids[b], class, 25.0 * f64::from(links));
            link.expect("each pair once");
        }
        if off {
            let access = PeerAccess {
                on: false,
                source: PeerSource::Told,
            };
            let told = fabric.set_peer_access(ids[a], ids[b], access);
            told.expect("two devices");
        }
    }
    fabric.set_link_generation(known.then_some("first generation"));
    fabric
}

/// Machines whose number of devices is in `devices`, with direct links of many bandwidths between
/// some pairs. They have up to two link switches, each with ports to some of the devices, and host
/// paths between all, none or some of the pairs.
///
/// # Panics
/// As [`machines`].
pub fn switched_machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    let links = select(vec![0u8, 0, 0, 1, 1, 1, 2, 2, 3, 4]);
    let paths = select(vec![0u8, 1, 2, 3]);
    let ports = select(vec![0u8, 1, 2, 3, 6]);
    let shape = devices.prop_flat_map(move |n| {
        let switches = vec(vec(ports.clone(), n), 0..=2);
        (
            Just(n),
            vec((links.clone(), paths.clone()), n * (n - 1) / 2),
            switches,
            0u8..=2,
        )
    });
    shape.prop_map(|(n, pairs, switches, host)| wired(n, &pairs, &switches, host))
}

/// A pair of `pairs` has the number of direct links and a number h. Its host path has
/// 10 + h / 10 GB/s. There is a host path if `host` is 2, or if `host` is 1 and h is odd.
#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed machines"
)]
fn wired(n: usize, pairs: &[(u8, u8)], switches: &[Vec<u8>], host: u8) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let devices: Vec<_> = (0..n)
        .map(|i| fabric.add_device(format!("GPU{i}")).expect("names differ"))
        .collect();
    let ends = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), &(links, path)) in ends.zip(pairs) {
        let mut link = |class, gbps| {
            fabric
                .link(devices[a], devices[b], class, gbps)
                .expect("each pair once")
        };
        if links > 0 {
            link(LinkClass::Direct(links), 20.0 * f64::from(links));
        }
        if host == 2 || host == 1 && path % 2 == 1 {
            link(LinkClass::Sys, 10.0 + f64::from(path) / 10.0);
        }
    }
    for (i, ports) in switches.iter().enumerate() {
        let node = FabricNode {
            name: format!("switch{i}"),
            kind: NodeKind::LinkSwitch,
        };
        let switch = fabric.add(node).expect("names differ");
        for (&device, &links) in devices.iter().zip(ports).filter(|(_, links)| **links > 0) {
            fabric
                .link(
                    device,
                    switch,
                    LinkClass::Direct(links),
                    25.0 * f64::from(links),
                )
                .expect("each once");
        }
    }
    lowered(fabric, false)
}

/// Models with small random tables of MIG profiles. Some profiles overlap themselves at other
/// starts, and some have a maximum number that is reached before the slices are used up. At most 11
/// instances could exist.
pub fn mig_models() -> impl Strategy<Value = Model> + Clone {
    let row = |memory: u8| {
        let starts = move |span: u8| {
            subsequence(
                (0..=memory - span).collect::<Vec<u8>>(),
                1..=usize::from(memory - span) + 1,
            )
        };
        (1..=memory).prop_flat_map(move |span| (Just(span), 1u8..=4, starts(span), 1u8..=4))
    };
    let table = (2u8..=6).prop_flat_map(move |memory| (Just(memory), vec(row(memory), 1..=4)));
    table.prop_filter_map("too many instances", |(memory, rows)| {
        let profile =
            |(i, (span, compute, starts, most)): (usize, (u8, u8, Vec<u8>, u8))| Profile {
                name: format!("p{i}"),
                size: Size::new(compute, span),
                memory_bytes: u64::from(span) << 30,
                starts,
                max_instances: most,
            };
        let model = Model::new(
            "small",
            Size::new(24, memory),
            rows.into_iter().enumerate().map(profile).collect(),
        );
        model.ok().filter(|model| model.instances().len() <= 11)
    })
}

/// Machines like those of [`machines`], whose devices have memory and of which most can be
/// partitioned. Some machines have NUMA nodes and a network card as vertices.
///
/// # Panics
/// As [`machines`].
pub fn cut_machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    let link = prop_oneof![
        1 => Just(None),
        2 => Just(Some(LinkClass::Pix)),
        4 => (1u8..=2).prop_map(|n| Some(LinkClass::Direct(n))),
    ];
    let info = (
        proptest::option::weighted(0.8, mig_models()),
        proptest::option::weighted(0.8, 1u64..=6),
    );
    let shape = devices.prop_flat_map(move |n| {
        let links = vec(link.clone(), n * (n - 1) / 2);
        (Just(n), links, any::<[bool; 2]>(), vec(info.clone(), n))
    });
    shape.prop_map(|(n, links, [two_nodes, with_host], infos)| {
        let info = |(model, memory): (Option<Model>, Option<u64>)| DeviceInfo {
            memory_bytes: memory.map(|gib| gib << 30),
            mig: model.map(Arc::new),
            ..DeviceInfo::default()
        };
        let infos: Vec<DeviceInfo> = infos.into_iter().map(info).collect();
        let mut fabric = fabric(n, &links, two_nodes, &infos);
        with_card(&mut fabric);
        lowered(fabric, with_host)
    })
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed machines"
)]
fn with_card(fabric: &mut Fabric) {
    let node = fabric
        .nodes()
        .map(|(id, _)| id)
        .next()
        .expect("NUMA nodes come first");
    let card = fabric
        .add(FabricNode {
            name: "nic0".to_owned(),
            kind: NodeKind::Nic,
        })
        .expect("its own name");
    fabric.attach(card, node, 12.0).expect("no parent yet");
}

/// Demands of every kind, small enough that [`cut_machines`] can meet some of them.
pub fn demands() -> impl Strategy<Value = Demand> {
    let size = (1u8..=3, 1u8..=3).prop_map(|(compute, memory)| Size::new(compute, memory));
    let want = prop_oneof![
        3 => Just(Want::Whole),
        3 => size.clone().prop_map(Want::Slice),
        3 => size.prop_map(Want::AtLeast),
        4 => Just(Want::Any),
        1 => (0u8..3).prop_map(|id| Want::Profile(ProfileId(id))),
        1 => Just(Want::Numa),
        1 => Just(Want::Nic),
    ];
    let memory = prop_oneof![2 => Just(0), 2 => 1u64..4];
    let nics = prop_oneof![
        4 => Just((0, LinkClass::None)),
        1 => (1u8..3, prop_oneof![Just(LinkClass::Pix), Just(LinkClass::Phb), Just(LinkClass::Sys)]),
    ];
    (want, any::<bool>(), memory, 0u32..3, 0u32..2, 0u16..2, nics).prop_map(
        |(want, shared, gib, warps, pcie, role, (nics, nic_within))| {
            let demand = Demand {
                want,
                memory_bytes: gib << 30,
                warps,
                pcie_mb_s: 1000 * pcie,
                role,
                nics,
                nic_within,
                ..Demand::default()
            };
            if shared { demand.shared() } else { demand }
        },
    )
}

/// Patterns like those of [`patterns`], whose ranks have demands: the same for all, or one for each
/// rank.
pub fn demanding_patterns(vertices: RangeInclusive<usize>) -> impl Strategy<Value = Pattern> {
    let most = *vertices.end();
    (
        patterns(vertices),
        vec(demands(), most.max(1)),
        any::<bool>(),
    )
        .prop_map(|(pattern, demands, same)| {
            let own = |pattern: Pattern, (rank, demand): (usize, &Demand)| {
                pattern.with_demand(rank, *demand)
            };
            if same {
                pattern.each(demands[0])
            } else {
                demands.iter().enumerate().fold(pattern, own)
            }
        })
}

/// Patterns whose number of ranks is in `vertices`: ready-made shapes, and arbitrary edges, of
/// which some are doubled or weighted.
pub fn patterns(vertices: RangeInclusive<usize>) -> impl Strategy<Value = Pattern> {
    let shape = (vertices.clone(), select(crate::Shape::ALL.to_vec()))
        .prop_map(|(n, shape)| shape.pattern(n));
    let edge = (
        any::<Index>(),
        any::<Index>(),
        select(vec![1.0, 1.0, 1.0, 2.5]),
    );
    let own = (vertices, vec(edge, 0..10)).prop_map(|(n, edges)| own_edges(n, &edges));
    prop_oneof![shape, own]
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed patterns"
)]
fn own_edges(n: usize, edges: &[(Index, Index, f64)]) -> Pattern {
    let ends =
        |(a, b, traffic): &(Index, Index, f64)| (a.index(n) as u16, b.index(n) as u16, *traffic);
    let edges = edges
        .iter()
        .filter(|_| n > 1)
        .map(ends)
        .filter(|(a, b, _)| a != b);
    Pattern::from_edges(n, edges).expect("ends in range, no loops")
}

/// Requests for machines of up to `devices` devices, with patterns whose number of ranks is in
/// `vertices`. Some have devices to include or to avoid, a least class of link, or must stay on one
/// NUMA node. Some contradict themselves, or name devices that a smaller machine does not have.
pub fn requests(
    devices: usize,
    vertices: RangeInclusive<usize>,
) -> impl Strategy<Value = Request> + Clone {
    let least = select(vec![
        LinkClass::None,
        LinkClass::None,
        LinkClass::None,
        LinkClass::Node,
        LinkClass::Direct(1),
    ]);
    let sets = [(); 3].map(|()| proptest::option::weighted(0.3, free_sets(devices)));
    let shape = patterns(vertices).boxed();
    (
        shape,
        any::<bool>(),
        sets,
        least,
        proptest::bool::weighted(0.2),
    )
        .prop_map(
            |(pattern, sensitive, [must, avoid, only], least, same_numa)| Request {
                must_include: must
                    .map(|must| must.iter().take(2).collect())
                    .unwrap_or_default(),
                avoid: avoid.unwrap_or_default(),
                only,
                ..Request::new(pattern)
                    .sensitive(sensitive)
                    .min_link(least)
                    .same_numa(same_numa)
            },
        )
}

/// One step of a machine's history.
#[derive(Clone, Debug)]
pub enum HistoryStep {
    /// A job arrives and requests devices.
    Allocate(Request),
    /// One of the present jobs ends.
    Release(Index),
}

/// Histories of a machine, whose number of steps is in `steps`. More than half of the steps are
/// requests.
pub fn histories(
    requests: impl Strategy<Value = Request> + Clone + 'static,
    steps: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<HistoryStep>> {
    vec(
        prop_oneof![3 => requests.prop_map(HistoryStep::Allocate), 2 => any::<Index>().prop_map(HistoryStep::Release)],
        steps,
    )
}

/// Subsets of the devices of a machine with `devices` devices.
pub fn free_sets(devices: usize) -> impl Strategy<Value = DeviceSet> + Clone {
    vec(any::<bool>(), devices).prop_map(|free| {
        free.iter()
            .enumerate()
            .filter(|(_, free)| **free)
            .map(|(i, _)| DeviceId(i as u32))
            .collect()
    })
}

/// Graphs whose number of vertices is in `vertices`, with edges at all densities, labels below
/// `labels`, and loops if `loops` is true.
pub fn graphs(
    vertices: RangeInclusive<usize>,
    labels: u32,
    loops: bool,
) -> impl Strategy<Value = Graph> {
    let size = (vertices, 0u8..=10);
    let shape = size.prop_flat_map(move |(n, tenths)| {
        let pairs = vec(
            proptest::bool::weighted(f64::from(tenths) / 10.0),
            n * n.saturating_sub(1) / 2,
        );
        (
            vec(0..labels, n),
            pairs,
            vec(proptest::bool::weighted(if loops { 0.2 } else { 0.0 }), n),
        )
    });
    shape.prop_map(|(labels, joined, with_loop)| {
        let n = labels.len() as u32;
        let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).zip(joined);
        let own = (0..n).map(|v| (v, v)).zip(with_loop);
        graph(
            labels,
            pairs
                .chain(own)
                .filter(|(_, there)| *there)
                .map(|(edge, _)| edge),
        )
    })
}

#[expect(
    clippy::expect_used,
    reason = "the strategy makes only well-formed graphs"
)]
fn graph(labels: Vec<u32>, edges: impl Iterator<Item = (u32, u32)>) -> Graph {
    Graph::labelled(labels, edges).expect("ends in range")
}
