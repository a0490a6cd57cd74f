//! Writes Koordinator's table of GPU partitions.
//!
//! Koordinator's scheduler does not read links. Instead, a node's `Device` object carries a table
//! in the annotation `scheduling.koordinator.sh/gpu-partitions`: the sets of GPUs that may be
//! allocated together, and a score for each set. This module computes the table from a machine's
//! links with MAPA's scores. The format is that of `GPUPartitionTable` in koordinator's
//! `apis/extension/device_share.go`.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, DeviceSet, HardwareGraph, LinkClass};
use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::machine::Machine;

/// The most partitions of one size that a table lists.
const MOST_LISTED: usize = 64;
/// The most sets of one size that are searched.
const MOST_SETS: u128 = 1_000_000;
/// The most devices of one partition. Rings through more devices are not searched.
const MOST_DEVICES: usize = 16;
/// The largest minor. Koordinator stores sets of minors as bits of a signed 64-bit number.
const LARGEST_MINOR: u32 = 62;

/// One partition in koordinator's format. A field that is `None` is not written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KoordinatorPartition {
    minors: Vec<u32>,
    #[serde(rename = "gpuLinkType", skip_serializing_if = "Option::is_none")]
    link_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ring_bus_bandwidth: Option<String>,
    allocation_score: usize,
}

/// A candidate set for the table.
struct CandidateSet {
    set: Vec<DeviceId>,
    /// Bandwidth of the slowest link of its best ring, GB/s. `None` for a single device and if no
    /// ring closes.
    ring: Option<f64>,
    /// Bandwidth that remains between the other devices, GB/s (Eq. 3 of the MAPA paper).
    preserved: f64,
    /// Sum over all pairs of devices of the [`closeness`] of their host path. Larger is closer.
    close: u32,
}

impl Machine {
    /// Writes Koordinator's table of GPU partitions for partitions of these sizes. The result is
    /// the JSON value of the annotation `scheduling.koordinator.sh/gpu-partitions` of a node's
    /// `Device` object. Sizes above the number of devices are left out.
    ///
    /// - `minors` are the vendor's numbers of the devices. If a device has none, its id is used.
    /// - `ringBusBandwidth` is the bandwidth of the slowest link of the best ring through the set.
    ///   The best ring is the one whose slowest link is fastest. The value is a decimal quantity in
    ///   bytes per second and direction: `25G` is 25 GB/s. It is absent for one device, and if no
    ///   ring closes.
    /// - `gpuLinkType` is `NVLink`, or another vendor's word for its direct links. It is present if
    ///   that ring can use direct links only. For one device, it is present if the device has a
    ///   direct link.
    /// - `allocationScore` ranks the sets of a size, from 1; higher is better. Sets are compared by
    ///   the bandwidth that remains between the other devices (PreservedBW, Eq. 3), then by how
    ///   close their devices are to each other in the host.
    /// - The table lists all single devices, and those larger sets whose best ring is the fastest
    ///   among sets of that size. Slower sets are left out, because koordinator prefers the higher
    ///   score whatever the ring. At most 64 sets of a size are listed: those with the highest
    ///   scores, and among equal scores those with the lowest ids.
    ///
    /// # Complexity
    ///
    /// O(C(n, k) k!) at worst for n devices and size k. On real machines the ring search does not
    /// backtrack: O(C(n, k) k²).
    ///
    /// # Examples
    ///
    /// ```
    /// let table = mapa_topologies::named("dgx-1v")?.to_koordinator(&[2])?;
    /// assert!(table.contains(r#"{"minors":[2,3],"gpuLinkType":"NVLink","ringBusBandwidth":"50G","allocationScore":"#));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    ///
    /// # Errors
    /// - If a size is 0 or more than 16.
    /// - If the devices have more than a million sets of a size.
    /// - If a vendor's number is above 62, which koordinator cannot hold.
    /// - If [`Machine::graph`] fails.
    pub fn to_koordinator(&self, sizes: &[usize]) -> Result<String, Error> {
        let graph = self.graph()?;
        // Before any search: of many devices it takes seconds.
        for id in graph.wholes().iter() {
            minor(&graph, id)?;
        }
        let mut table: BTreeMap<usize, Vec<KoordinatorPartition>> = BTreeMap::new();
        for &size in sizes.iter().filter(|&&size| size <= graph.wholes().len()) {
            table.insert(size, self.partitions(&graph, size)?);
        }
        serde_json::to_string(&table)
            .map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }

    fn partitions(
        &self,
        graph: &HardwareGraph,
        size: usize,
    ) -> Result<Vec<KoordinatorPartition>, Error> {
        let listed = best_sets(graph, size)?;
        let key = |entry: &CandidateSet| (entry.preserved.to_bits(), entry.close);
        let mut keys: Vec<(u64, u32)> = listed.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let partition = |entry: &CandidateSet| {
            Ok(KoordinatorPartition {
                minors: entry
                    .set
                    .iter()
                    .map(|&id| minor(graph, id))
                    .collect::<Result<_, Error>>()?,
                link_type: all_direct(graph, entry).then(|| self.link_type()),
                ring_bus_bandwidth: entry.ring.map(quantity),
                allocation_score: keys.partition_point(|other| *other < key(entry)) + 1,
            })
        };
        listed.iter().map(partition).collect()
    }

    fn link_type(&self) -> String {
        if self.labels.direct == "NV" {
            "NVLink".to_owned()
        } else {
            self.labels.direct.clone()
        }
    }
}

fn minor(graph: &HardwareGraph, id: DeviceId) -> Result<u32, Error> {
    let device = graph.device(id);
    let minor = device.index.unwrap_or(id.0);
    if minor > LARGEST_MINOR {
        let what = format!(
            "{} has the number {minor}: expected at most {LARGEST_MINOR}, \
             the largest that koordinator can hold",
            device.name
        );
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    Ok(minor)
}

/// A bandwidth as a decimal quantity that Kubernetes reads, rounded down to whole MB/s.
fn quantity(gbps: f64) -> String {
    let mb = (gbps * 1000.0 + 1e-6).floor();
    if mb % 1000.0 == 0.0 {
        format!("{}G", mb / 1000.0)
    } else {
        format!("{mb}M")
    }
}

/// Whether a ring as fast as the set's best one can use direct links alone. For one device: whether
/// it has a direct link.
fn all_direct(graph: &HardwareGraph, entry: &CandidateSet) -> bool {
    let Some(ring) = entry.ring else {
        return entry.set.iter().all(|&id| {
            graph
                .wholes()
                .iter()
                .any(|other| graph.pair(id, other).direct.exists())
        });
    };
    let direct = |a, b| {
        let link = graph.link(a, b);
        link.class.is_direct() && link.gbps >= ring
    };
    has_ring(&entry.set, &direct)
}

/// The sets of this size that the table lists, best first.
fn best_sets(graph: &HardwareGraph, size: usize) -> Result<Vec<CandidateSet>, Error> {
    let devices = graph.wholes().len();
    if size == 0 || size > MOST_DEVICES {
        return Err(Error::new(format!(
            "partitions of {size} devices: expected 1 to {MOST_DEVICES}"
        )));
    }
    if sets(devices, size) > MOST_SETS {
        let what = format!(
            "{devices} devices have {} sets of {size}",
            sets(devices, size)
        );
        return Err(Error::of_kind(
            ErrorKind::TooLarge,
            format!("{what}: expected at most {MOST_SETS}; choose a smaller size"),
        ));
    }
    let mut best = 0.0;
    let mut found: Vec<Vec<DeviceId>> = Vec::new();
    visit(devices, size, &mut |set| {
        let ring = if size == 1 {
            0.0
        } else {
            best_ring(graph, set, best)
        };
        if ring > best {
            best = ring;
            found.clear();
        }
        if ring >= best {
            found.push(set.to_vec());
        }
    });
    let ring = (best > 0.0).then_some(best);
    let mut listed: Vec<CandidateSet> = found
        .into_iter()
        .map(|set| CandidateSet::new(graph, set, ring))
        .collect();
    // The sort is stable: sets with equal scores stay in the order of their ids.
    listed.sort_by(|a, b| {
        b.preserved
            .total_cmp(&a.preserved)
            .then(b.close.cmp(&a.close))
    });
    listed.truncate(MOST_LISTED);
    Ok(listed)
}

impl CandidateSet {
    fn new(graph: &HardwareGraph, set: Vec<DeviceId>, ring: Option<f64>) -> Self {
        let chosen: DeviceSet = set.iter().copied().collect();
        let preserved = graph.bandwidth_within(&(&graph.wholes() - &chosen), |_| true);
        let pairs = set
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| set[i + 1..].iter().map(move |&b| (a, b)));
        let close = pairs
            .map(|(a, b)| closeness(graph.pair(a, b).host.class))
            .sum();
        Self {
            set,
            ring,
            preserved,
            close,
        }
    }
}

fn closeness(class: LinkClass) -> u32 {
    let worse = [
        LinkClass::Network,
        LinkClass::Sys,
        LinkClass::Node,
        LinkClass::Phb,
        LinkClass::Pxb,
        LinkClass::Pix,
        LinkClass::Board,
    ];
    worse.iter().filter(|other| **other <= class).count() as u32
}

/// C(n, k), the number of sets of `k` devices among `n`; not exact once it saturates.
fn sets(n: usize, k: usize) -> u128 {
    let mut count: u128 = 1;
    for i in 0..k.min(n) {
        count = count.saturating_mul((n - i) as u128) / (i as u128 + 1);
    }
    count
}

/// Calls `each` with every set of `size` devices, in lexicographic order of ids.
fn visit(devices: usize, size: usize, each: &mut impl FnMut(&[DeviceId])) {
    let mut set: Vec<DeviceId> = (0..size as u32).map(DeviceId).collect();
    loop {
        each(&set);
        let movable = (0..size)
            .rev()
            .find(|&i| set[i].index() < devices - size + i);
        let Some(i) = movable else { return };
        let next = set[i].0 + 1;
        for (place, id) in set[i..].iter_mut().zip(next..) {
            *place = DeviceId(id);
        }
    }
}

/// Bandwidth of the slowest link of the best ring, GB/s. If it is below `enough`, or no ring
/// closes, the result is 0.
fn best_ring(graph: &HardwareGraph, set: &[DeviceId], enough: f64) -> f64 {
    let mut speeds: Vec<f64> = Vec::new();
    for (i, &a) in set.iter().enumerate() {
        speeds.extend(
            set[i + 1..]
                .iter()
                .map(|&b| graph.link(a, b).gbps)
                .filter(|gbps| *gbps > 0.0 && *gbps >= enough),
        );
    }
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.dedup();
    let mut best = 0.0;
    for speed in speeds {
        if !has_ring(set, &|a, b| graph.link(a, b).gbps >= speed) {
            break;
        }
        best = speed;
    }
    best
}

/// Whether a ring through all devices of `set` exists on the links that `admits` accepts. For two
/// devices, their one link is the ring.
fn has_ring(set: &[DeviceId], admits: &impl Fn(DeviceId, DeviceId) -> bool) -> bool {
    let joined: Vec<u32> = set
        .iter()
        .map(|&a| {
            (0u32..)
                .zip(set)
                .filter(|&(_, &b)| a != b && admits(a, b))
                .fold(0, |bits, (i, _)| bits | 1 << i)
        })
        .collect();
    match set.len() {
        0 | 1 => true,
        2 => joined[0] != 0,
        n => joined.iter().all(|near| near.count_ones() >= 2) && closes(&joined, 0, 1, n),
    }
}

/// Whether a path that started at device 0, visited the devices in `seen` and is now at `here` can
/// visit the `left - 1` others and return to device 0. The recursion is at most 16 deep.
fn closes(joined: &[u32], here: usize, seen: u32, left: usize) -> bool {
    if left == 1 {
        return joined[here] & 1 != 0;
    }
    let mut next = joined[here] & !seen;
    while next != 0 {
        let there = next.trailing_zeros() as usize;
        next &= next - 1;
        if closes(joined, there, seen | 1 << there, left - 1) {
            return true;
        }
    }
    false
}
