//! Strategies and slow oracles for property tests; feature `testing`.
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

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::pattern::Pattern;
use crate::topology::{DeviceId, DeviceSet, Fabric, HardwareGraph, LinkClass};

/// The slow, obvious answers that the fast ones are checked against.
pub mod oracle {
    pub use crate::matching::oracle::{automorphisms, distinct, injections, raw_matches, raw_placements};
}

/// Machines whose size is in `devices`, with links of all classes and some pairs not joined at all, some of them with two
/// NUMA nodes.
///
/// # Panics
/// If the range is empty, holds 0 or exceeds [`MAX_DEVICES`](crate::MAX_DEVICES).
pub fn machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    with_gaps(devices, 2)
}

/// Machines as [`machines`] has them, but with every pair joined, as in real servers.
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
    let shape = devices.prop_flat_map(move |n| (Just(n), vec(link.clone(), n * (n - 1) / 2), any::<bool>()));
    shape.prop_map(|(n, links, two_nodes)| machine(n, &links, two_nodes))
}

#[expect(clippy::expect_used, reason = "the strategy makes only well-formed machines")]
fn machine(n: usize, links: &[Option<LinkClass>], two_nodes: bool) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let numa = [0, 1].map(|i| fabric.add_numa(format!("numa{i}"), i).expect("names differ"));
    let devices: Vec<_> = (0..n).map(|i| fabric.add_device(format!("GPU{i}")).expect("names differ")).collect();
    for (i, &device) in devices.iter().enumerate() {
        fabric.attach(device, numa[usize::from(two_nodes && i % 2 == 1)], 12.0).expect("no parent yet");
    }
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), class) in pairs.zip(links) {
        let gbps = if let Some(LinkClass::Direct(n)) = class { 25.0 * f64::from(*n) } else { 12.0 };
        if let Some(class) = class {
            fabric.link(devices[a], devices[b], *class, gbps).expect("each pair once");
        }
    }
    fabric.lower().expect("at least one device")
}

/// Patterns whose size is in `vertices`: the ready-made shapes and any edges, doubled and weighted ones among them.
pub fn patterns(vertices: RangeInclusive<usize>) -> impl Strategy<Value = Pattern> {
    let shape = (vertices.clone(), select(crate::Shape::ALL.to_vec())).prop_map(|(n, shape)| shape.pattern(n));
    let edge = (any::<Index>(), any::<Index>(), select(vec![1.0, 1.0, 1.0, 2.5]));
    let own = (vertices, vec(edge, 0..10)).prop_map(|(n, edges)| own_edges(n, &edges));
    prop_oneof![shape, own]
}

#[expect(clippy::expect_used, reason = "the strategy makes only well-formed patterns")]
fn own_edges(n: usize, edges: &[(Index, Index, f64)]) -> Pattern {
    let ends = |(a, b, traffic): &(Index, Index, f64)| (a.index(n) as u16, b.index(n) as u16, *traffic);
    let edges = edges.iter().filter(|_| n > 1).map(ends).filter(|(a, b, _)| a != b);
    Pattern::from_edges(n, edges).expect("ends in range, no loops")
}

/// Subsets of a machine's devices.
pub fn free_sets(devices: usize) -> impl Strategy<Value = DeviceSet> {
    vec(any::<bool>(), devices)
        .prop_map(|free| free.iter().enumerate().filter(|(_, free)| **free).map(|(i, _)| DeviceId(i as u32)).collect())
}
