//! Koordinator's table of GPU partitions.
//!
//! Koordinator's scheduler knows no links: a node's `Device` object tells it, in the annotation
//! `scheduling.koordinator.sh/gpu-partitions`, which sets of GPUs may be given away together, and how good each is. Here
//! the table is made from a machine's links by MAPA's measures. The shape is that of `GPUPartitionTable` in koordinator's
//! `apis/extension/device_share.go`.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, DeviceSet, HardwareGraph, LinkClass};
use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::machine::Machine;

/// The most partitions of one size that a table lists.
const MOST_LISTED: usize = 64;
/// The most sets that are looked at for one size.
const MOST_SETS: u128 = 1_000_000;
/// The most devices of one partition: rings through more are not searched for.
const MOST_DEVICES: usize = 16;
/// Koordinator keeps sets of minors as bits of a signed 64-bit number.
const LARGEST_MINOR: u32 = 62;

/// As koordinator has it; what is absent is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Partition {
    minors: Vec<u32>,
    #[serde(rename = "gpuLinkType", skip_serializing_if = "Option::is_none")]
    link_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ring_bus_bandwidth: Option<String>,
    allocation_score: usize,
}

/// A set that the table may list.
struct Listed {
    set: Vec<DeviceId>,
    /// What its best ring reaches, GB/s; none for single devices.
    ring: Option<f64>,
    /// GB/s that stay between the others (Eq. 3 of the MAPA paper).
    preserved: f64,
    /// The host paths between its devices, added up as numbers: the closer they are, the more.
    close: u32,
}

impl Machine {
    /// Koordinator's table of GPU partitions, the JSON value of the annotation `scheduling.koordinator.sh/gpu-partitions`
    /// of a node's `Device` object, for partitions of these sizes; sizes above the number of devices are left out.
    ///
    /// - `minors` are the vendor's numbers of the devices, their ids where none is known.
    /// - `ringBusBandwidth` is that of the best ring on the set: the slowest of its links, with the links chosen so that it is
    ///   the fastest possible. A decimal quantity, bytes per second and direction: `25G` is 25 GB/s. Absent for one device
    ///   and where no ring closes.
    /// - `gpuLinkType` is `NVLink` (another vendor's word for its direct links) if that ring has direct links only; for one
    ///   device, if it has any.
    /// - `allocationScore` ranks the sets of a size from 1, the higher the better, by the bandwidth that stays between the
    ///   other devices (PreservedBW, Eq. 3), then by how near to each other the devices are in the host.
    /// - Listed are all single devices, and of the larger sets those whose ring no other set of that size beats: as
    ///   koordinator prefers the higher score whatever the ring, slower sets must not compete. At most 64 of a size, those
    ///   with the highest scores, then the lowest ids.
    ///
    /// O(C(n, k) k!) at worst for n devices and size k; on real machines a ring is found at once, O(C(n, k) k²).
    ///
    /// ```
    /// let table = mapa_topologies::named("dgx-1v")?.to_koordinator(&[2])?;
    /// assert!(table.contains(r#"{"minors":[2,3],"gpuLinkType":"NVLink","ringBusBandwidth":"50G","allocationScore":"#));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    ///
    /// # Errors
    /// Partitions of 0 or more than 16 devices; more than a million sets of a size; a vendor's number above 62, which
    /// koordinator cannot hold; as [`Machine::graph`].
    pub fn to_koordinator(&self, sizes: &[usize]) -> Result<String, Error> {
        let graph = self.graph()?;
        let mut table: BTreeMap<usize, Vec<Partition>> = BTreeMap::new();
        for &size in sizes.iter().filter(|&&size| size <= graph.wholes().len()) {
            table.insert(size, self.partitions(&graph, size)?);
        }
        serde_json::to_string(&table).map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }

    fn partitions(&self, graph: &HardwareGraph, size: usize) -> Result<Vec<Partition>, Error> {
        let listed = best_sets(graph, size)?;
        let key = |entry: &Listed| (entry.preserved.to_bits(), entry.close);
        let mut keys: Vec<(u64, u32)> = listed.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let partition = |entry: &Listed| {
            Ok(Partition {
                minors: entry.set.iter().map(|&id| minor(graph, id)).collect::<Result<_, Error>>()?,
                link_type: all_direct(graph, entry).then(|| self.link_type()),
                ring_bus_bandwidth: entry.ring.map(quantity),
                allocation_score: keys.partition_point(|other| *other < key(entry)) + 1,
            })
        };
        listed.iter().map(partition).collect()
    }

    fn link_type(&self) -> String {
        if self.labels.direct == "NV" { "NVLink".to_owned() } else { self.labels.direct.clone() }
    }
}

fn minor(graph: &HardwareGraph, id: DeviceId) -> Result<u32, Error> {
    let device = graph.device(id);
    let minor = device.index.unwrap_or(id.0);
    if minor > LARGEST_MINOR {
        let what =
            format!("{} has the number {minor}: expected at most {LARGEST_MINOR}, as koordinator does", device.name);
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    Ok(minor)
}

/// A decimal quantity as Kubernetes reads it, rounded down to whole MB/s.
fn quantity(gbps: f64) -> String {
    let mb = (gbps * 1000.0 + 1e-6).floor();
    if mb % 1000.0 == 0.0 { format!("{}G", mb / 1000.0) } else { format!("{mb}M") }
}

/// Whether the set's ring can be laid on direct links alone; of one device, whether it has any.
fn all_direct(graph: &HardwareGraph, entry: &Listed) -> bool {
    let Some(ring) = entry.ring else {
        return entry.set.iter().all(|&id| graph.wholes().iter().any(|other| graph.pair(id, other).direct.exists()));
    };
    let direct = |a, b| {
        let link = graph.link(a, b);
        link.class.is_direct() && link.gbps >= ring
    };
    has_ring(&entry.set, &direct)
}

/// The sets of this size to be listed, best first.
fn best_sets(graph: &HardwareGraph, size: usize) -> Result<Vec<Listed>, Error> {
    let devices = graph.wholes().len();
    if size == 0 || size > MOST_DEVICES {
        return Err(Error::new(format!("partitions of {size} devices: expected 1 to {MOST_DEVICES}")));
    }
    if sets(devices, size) > MOST_SETS {
        let what = format!("{devices} devices have {} sets of {size}", sets(devices, size));
        return Err(Error::of_kind(ErrorKind::TooLarge, format!("{what}: expected at most {MOST_SETS}")));
    }
    let mut best = 0.0;
    let mut found: Vec<Vec<DeviceId>> = Vec::new();
    visit(devices, size, &mut |set| {
        let ring = if size == 1 { 0.0 } else { best_ring(graph, set, best) };
        if ring > best {
            best = ring;
            found.clear();
        }
        if ring >= best {
            found.push(set.to_vec());
        }
    });
    let ring = (best > 0.0).then_some(best);
    let mut listed: Vec<Listed> = found.into_iter().map(|set| Listed::new(graph, set, ring)).collect();
    // Stable, so that equals stay in the order of their ids.
    listed.sort_by(|a, b| b.preserved.total_cmp(&a.preserved).then(b.close.cmp(&a.close)));
    listed.truncate(MOST_LISTED);
    Ok(listed)
}

impl Listed {
    fn new(graph: &HardwareGraph, set: Vec<DeviceId>, ring: Option<f64>) -> Self {
        let chosen: DeviceSet = set.iter().copied().collect();
        let preserved = graph.bandwidth_within(&(&graph.wholes() - &chosen), |_| true);
        let pairs = set.iter().enumerate().flat_map(|(i, &a)| set[i + 1..].iter().map(move |&b| (a, b)));
        let close = pairs.map(|(a, b)| closeness(graph.pair(a, b).host.class)).sum();
        Self { set, ring, preserved, close }
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

/// C(n, k), as far as it matters.
fn sets(n: usize, k: usize) -> u128 {
    let mut count: u128 = 1;
    for i in 0..k.min(n) {
        count = count.saturating_mul((n - i) as u128) / (i as u128 + 1);
    }
    count
}

/// Every set of `size` of the devices, in the order of their ids.
fn visit(devices: usize, size: usize, each: &mut impl FnMut(&[DeviceId])) {
    let mut set: Vec<DeviceId> = (0..size as u32).map(DeviceId).collect();
    loop {
        each(&set);
        let movable = (0..size).rev().find(|&i| set[i].index() < devices - size + i);
        let Some(i) = movable else { return };
        let next = set[i].0 + 1;
        for (place, id) in set[i..].iter_mut().zip(next..) {
            *place = DeviceId(id);
        }
    }
}

/// The slowest link of the best ring, if that is at least `enough`; else some lower number, 0 if no ring closes.
fn best_ring(graph: &HardwareGraph, set: &[DeviceId], enough: f64) -> f64 {
    let mut speeds: Vec<f64> = Vec::new();
    for (i, &a) in set.iter().enumerate() {
        speeds
            .extend(set[i + 1..].iter().map(|&b| graph.link(a, b).gbps).filter(|gbps| *gbps > 0.0 && *gbps >= enough));
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

/// Whether a ring through all these devices lies on the links that are admitted. Of two devices, their one link.
fn has_ring(set: &[DeviceId], admits: &impl Fn(DeviceId, DeviceId) -> bool) -> bool {
    let joined: Vec<u32> = set
        .iter()
        .map(|&a| (0u32..).zip(set).filter(|&(_, &b)| a != b && admits(a, b)).fold(0, |bits, (i, _)| bits | 1 << i))
        .collect();
    match set.len() {
        0 | 1 => true,
        2 => joined[0] != 0,
        n => joined.iter().all(|near| near.count_ones() >= 2) && closes(&joined, 0, 1, n),
    }
}

/// Whether a way from device 0 that has been through the `seen` can go on through the rest and back; at most 16 deep.
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
