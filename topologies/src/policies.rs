//! Policies of vendors' device plugins: MAPA's algorithms with the vendors' points and weights.
//!
//! `docs/device-plugin-policies.md` says how far each agrees with its original, and where it does better.

use mapa_core::{
    BestPartition, BuiltIn, DeviceId, HardwareGraph, LeastWeight, LinkClass, Pair, best_partition,
    least_weight,
};

/// The policies of this module, to be offered by name.
pub const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn::new(
        "nvidia-best-effort",
        "as NVIDIA's device plugin: the best group of the best partition of what is free, 100 points per NVLink, 10 to 60 by PCIe",
        || Box::new(nvidia_best_effort()),
    ),
    BuiltIn::new(
        "rocm-best-effort",
        "as AMD's device plugin: the least weight by XGMI or PCIe, NUMA node and package, packages used up one by one",
        || Box::new(rocm_best_effort()),
    ),
];

/// The choice of NVIDIA's Kubernetes device plugin (NVIDIA/go-gpuallocator,
/// `gpuallocator/besteffort_policy.go` at 876e7b7, read 2026-11-22): [`best_partition`] by
/// [`nvidia_points`].
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Pattern, Policy, Request};
/// use mapa_topologies::{named, policies::nvidia_best_effort};
///
/// let graph = named("dgx-1v")?.graph()?;
/// let available = DeviceSet::from([0, 1, 2, 6]);
/// let decision = nvidia_best_effort().decide(&Request::new(Pattern::ring(2)), &graph.with_free(&available)).unwrap();
/// // 0 - 1 has one NVLink, as 2 - 6 has: together more than 1 - 2 with two, and 0 - 6 with none.
/// assert_eq!(decision.placement().set(), DeviceSet::from([0, 1]));
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[must_use]
pub fn nvidia_best_effort() -> BestPartition<'static> {
    best_partition("nvidia-best-effort", nvidia_points)
}

/// The choice of AMD's Kubernetes device plugin (ROCm/k8s-device-plugin, `internal/pkg/allocator`
/// at ed76468, read 2026-11-22): [`least_weight`] by [`rocm_weight`]. A package is a device with
/// its instances. Devices whose PCI addresses differ only in the function, as those of the
/// partitions of one GPU do, are in one package.
#[must_use]
pub fn rocm_best_effort() -> LeastWeight<'static> {
    least_weight("rocm-best-effort", rocm_weight, package)
}

/// The points of a pair: 10 for a path between sockets, 20 within a NUMA node, 30 through a host
/// bridge, 40 through several PCIe switches, 50 through one, 60 on one board; and 100 for each
/// NVLink. The original ignores NVLinks that end at a switch, and so does this function. Among
/// devices on one switch they would add the same to every pair.
///
/// # Panics
/// As [`HardwareGraph::pair`].
#[must_use]
pub fn nvidia_points(graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> i32 {
    let Pair { direct, host } = graph.pair(a, b);
    let by_level = match host.class {
        LinkClass::Sys => 10,
        LinkClass::Node => 20,
        LinkClass::Phb => 30,
        LinkClass::Pxb => 40,
        LinkClass::Pix => 50,
        LinkClass::Board => 60,
        _ => 0,
    };
    let switched = [a, b]
        .iter()
        .all(|&id| graph.device(id).switch_port.is_some());
    match direct.class {
        LinkClass::Direct(links) if !switched => by_level + 100 * i32::from(links),
        _ => by_level,
    }
}

/// The weight of a pair: 10 in one package, else 20; and 10 for XGMI, 40 for PCIe, 50 for anything
/// else; and 10 on one NUMA node, else 20. Parts of one package count as joined by XGMI. In the
/// original, a pair without information has the weight 0, so such pairs come first; here it counts
/// as "anything else".
///
/// # Panics
/// As [`HardwareGraph::pair`].
#[must_use]
pub fn rocm_weight(graph: &HardwareGraph, (a, b): (DeviceId, DeviceId), same_package: bool) -> u32 {
    let Pair { direct, host } = graph.pair(a, b);
    let by_link = if same_package || direct.exists() {
        10
    } else if host.class.is_host() {
        40
    } else {
        50
    };
    let numa = |id| graph.device(id).numa;
    let other = |same: bool| if same { 10 } else { 20 };
    other(same_package) + by_link + other(numa(a) == numa(b))
}

/// The lowest device of the package of this one.
fn package(graph: &HardwareGraph, id: DeviceId) -> DeviceId {
    let place = |id: DeviceId| {
        graph
            .device(id)
            .pci
            .as_deref()
            .and_then(|pci| pci.rsplit_once('.'))
            .map(|(place, _)| place)
    };
    let parent = graph.device(id).parent;
    let alike = |other: &DeviceId| place(parent).is_some() && place(*other) == place(parent);
    graph.wholes().iter().find(alike).unwrap_or(parent)
}
