//! From components to vertices: what joins the anchors, and which instances could exist on them.
//!
//! An *anchor* is a vertex with links of its own: a whole device, a NUMA node, a network card. A
//! MIG instance has no links of its own: its links are those of its parent, except direct links,
//! which only whole devices have. So tables are dense over anchors alone. Eight devices with 25
//! possible instances each need a table of 8 x 8, not 208 x 208.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use petgraph::graph::NodeIndex;

use super::DeviceSet;
use super::device::{Device, Unit};
use super::link::{Link, Pair};
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass, MAX_VERTICES};
use crate::mig;

/// The kind of component to which a hop leads.
#[derive(Clone, Copy)]
pub(super) enum Climb {
    Switch,
    Bridge,
    Numa(u32),
    Machine,
}

/// A step on the way up the host tree.
pub(super) struct HopUp {
    pub(super) node: NodeIndex,
    pub(super) climb: Climb,
    /// The bandwidth of the narrowest hop so far.
    pub(super) gbps: f64,
}

pub(super) struct Anchor {
    /// The node in the fabric; none for a NUMA node that devices name but the fabric does not
    /// contain.
    pub(super) node: Option<NodeIndex>,
    pub(super) device: Device,
    pub(super) way: Vec<HopUp>,
}

pub(super) struct Anchors {
    /// The devices first.
    pub(super) list: Vec<Anchor>,
    pub(super) devices: usize,
    /// By device, the ways in which it can be partitioned.
    pub(super) models: Vec<Option<Arc<mig::Model>>>,
    /// Anchors x anchors, filled above the diagonal.
    pub(super) pairs: Vec<Pair>,
}

impl Anchors {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn pair_mut(&mut self, a: usize, b: usize) -> &mut Pair {
        let n = self.len();
        &mut self.pairs[a.min(b) * n + a.max(b)]
    }

    fn is_numa(&self, a: usize) -> bool {
        self.list[a].device.unit == Unit::Numa
    }

    fn pairs(&self, numa_ends: usize) -> Vec<(usize, usize)> {
        let pairs = (0..self.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs
            .filter(|&(a, b)| {
                usize::from(self.is_numa(a)) + usize::from(self.is_numa(b)) == numa_ends
            })
            .collect()
    }

    /// Adds the paths through the host between devices and cards that the tree shows.
    pub(super) fn join_by_tree(&mut self) {
        for (a, b) in self.pairs(0) {
            self.pair_mut(a, b).host = meet(&self.list[a].way, &self.list[b].way);
        }
    }

    /// Adds the paths to NUMA nodes: `Phb` to an anchor's own node, `Sys` to others. A path that
    /// the tree does not show has the bandwidth with which the anchor reaches its host. All other
    /// paths must be known already.
    pub(super) fn join_numa_nodes(&mut self) {
        for (a, b) in self.pairs(1).into_iter().chain(self.pairs(2)) {
            let (x, y) = (&self.list[a], &self.list[b]);
            let class = match (x.device.numa, y.device.numa) {
                (Some(x), Some(y)) if x == y => LinkClass::Phb,
                (Some(_), Some(_)) => LinkClass::Sys,
                _ => continue,
            };
            let tree = Some(meet(&x.way, &y.way))
                .filter(|path| path.exists())
                .map(|path| path.gbps);
            if let Some(gbps) = tree.or_else(|| {
                if self.is_numa(a) {
                    self.uplink(b)
                } else {
                    self.uplink(a)
                }
            }) {
                self.pair_mut(a, b).host = Link { class, gbps };
            }
        }
    }

    /// The bandwidth with which an anchor reaches its host: that of the narrowest hop up to the
    /// host bridge; where no tree is drawn, that of its best path through the host.
    fn uplink(&self, a: usize) -> Option<f64> {
        let way = &self.list[a].way;
        let bridge = way
            .iter()
            .find(|hop| !matches!(hop.climb, Climb::Switch))
            .or(way.last());
        let n = self.len();
        let paths = (0..n)
            .filter(|&b| b != a)
            .map(|b| self.pairs[a.min(b) * n + a.max(b)].host);
        // A NUMA node is its own host: no hop, no limit.
        bridge
            .map(|hop| hop.gbps)
            .filter(|gbps| gbps.is_finite())
            .or_else(|| {
                paths
                    .filter(|path| path.exists())
                    .map(|path| path.gbps)
                    .reduce(f64::max)
            })
    }

    /// By device, the link between two of its instances: the way through the host, which all of
    /// them share; no link if that way is unknown.
    pub(super) fn ports(&self) -> Vec<Link> {
        let class = LinkClass::Phb;
        (0..self.devices)
            .map(|a| self.uplink(a).map(|gbps| Link { class, gbps }))
            .map(Option::unwrap_or_default)
            .collect()
    }

    /// All vertices: the devices, the instances that could exist, the other anchors; and the anchor
    /// of each.
    pub(super) fn vertices(&self) -> Result<(Vec<Device>, Vec<u32>), Error> {
        let mut devices: Vec<Device> = self.list[..self.devices]
            .iter()
            .map(|anchor| anchor.device.clone())
            .collect();
        let mut anchor_of: Vec<u32> = (0..self.devices as u32).collect();
        for (i, model) in self.models.iter().enumerate() {
            for instance in model.iter().flat_map(|model| in_order(model)) {
                devices.extend(
                    model
                        .as_deref()
                        .map(|model| self.list[i].device.instance(i, model, instance)),
                );
                anchor_of.push(i as u32);
            }
        }
        for (i, anchor) in self.list.iter().enumerate().skip(self.devices) {
            devices.push(anchor.device.clone());
            anchor_of.push(i as u32);
        }
        if devices.len() > MAX_VERTICES {
            return Err(ErrorKind::TooManyVertices(devices.len()).into());
        }
        // Instances know their parent already. Every other vertex is its own parent, by the id that
        // it has now.
        for (id, device) in (0u32..).zip(&mut devices) {
            let cut = matches!(device.unit, Unit::Slice(_));
            device.parent = if cut { device.parent } else { DeviceId(id) };
        }
        Ok((devices, anchor_of))
    }
}

/// The instances of a model by profile, then start.
fn in_order(model: &mig::Model) -> Vec<mig::Instance> {
    let mut instances = model.instances().to_vec();
    instances.sort_unstable_by_key(|instance| (instance.profile, instance.start));
    instances
}

/// For each vertex, the others that cannot exist beside it; no entries at all if no device can be
/// partitioned. `parts` has, by whole device, the device and its instances: only these exclude each other.
pub(super) fn overlaps(
    devices: &[Device],
    models: &[Option<Arc<mig::Model>>],
    parts: &[DeviceSet],
) -> Vec<DeviceSet> {
    if models.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut overlaps = vec![DeviceSet::new(); devices.len()];
    for (model, vertices) in models.iter().zip(parts) {
        let Some(model) = model else { continue };
        let apart =
            |a: DeviceId, b: DeviceId| match (devices[a.index()].unit, devices[b.index()].unit) {
                _ if a == b => false,
                (Unit::Slice(a), Unit::Slice(b)) => model.exclude(a, b),
                _ => true,
            };
        for a in vertices.iter() {
            overlaps[a.index()] = vertices.iter().filter(|&b| apart(a, b)).collect();
        }
    }
    overlaps
}

/// For each vertex, those to which it has any connection. `parts` has, by whole device, the device and
/// its instances, whose ids follow each other; vertices after those of devices are parts of the host.
///
/// # Complexity
/// O(g² + V²/64) for V vertices in g groups: all instances of a device have the same links to vertices
/// of other anchors, so those are looked up once for all of them, and are in sets word by word.
pub(super) fn neighbours(
    vertices: usize,
    parts: &[DeviceSet],
    are_joined: impl Fn(DeviceId, DeviceId) -> bool,
) -> Vec<DeviceSet> {
    // What has the same links: a device, all of its instances, a part of the host; with its anchor.
    let mut groups: Vec<(usize, Range<u32>)> = Vec::new();
    for (anchor, own) in parts.iter().enumerate() {
        groups.push((anchor, anchor as u32..anchor as u32 + 1));
        let instances = own.iter().nth(1).zip(own.last());
        groups.extend(instances.map(|(first, last)| (anchor, first.0..last.0 + 1)));
    }
    let of_devices: usize = parts.iter().map(DeviceSet::len).sum();
    let of_host = of_devices as u32..vertices as u32;
    groups.extend((parts.len()..).zip(of_host.map(|id| id..id + 1)));
    let mut neighbours = vec![DeviceSet::new(); vertices];
    for (anchor, members) in &groups {
        let mut far = DeviceSet::new();
        for (other_anchor, other) in &groups {
            if other_anchor != anchor && are_joined(DeviceId(members.start), DeviceId(other.start))
            {
                far.insert_range(other.clone());
            }
        }
        let own: Vec<DeviceId> = parts
            .get(*anchor)
            .map_or(Vec::new(), |own| own.iter().collect());
        for id in members.clone().map(DeviceId) {
            let mut all = far.clone();
            all.extend(own.iter().copied().filter(|&other| are_joined(id, other)));
            neighbours[id.index()] = all;
        }
    }
    neighbours
}

/// For each vertex, its lowest twin: the lowest vertex that differs from it only in its id. Twins
/// are whole devices with equal facts and equal links to all others, and instances of one device
/// and profile. Swapping two twins that are both present changes nothing.
///
/// Instances may overlap with different ones and still be twins: among the vertices present, none
/// overlap.
///
/// # Complexity
/// O(n^2) for n devices, and O(n) more for each that has a twin. The definition, read as it stands, compares all links of
/// all pairs: on a torus of 1,024 devices that took longer than most searches on it.
pub(super) fn twins(
    devices: &[Device],
    models: &[Option<Arc<mig::Model>>],
    pair: impl Fn(usize, usize) -> Pair,
    facts_alike: impl Fn(usize, usize) -> bool,
) -> Vec<DeviceId> {
    let wholes = models.len();
    let is_slice = |&c: &usize| matches!(devices[c].unit, Unit::Slice(_));
    let anchors: Vec<usize> = (0..devices.len()).filter(|c| !is_slice(c)).collect();
    // The links of each device as one number, in which no order counts, so that a term can be taken out.
    let sums: Vec<u64> = (0..wholes)
        .map(|a| {
            let others = anchors.iter().filter(|&&c| c != a);
            let terms = others.map(|&c| term(c, pair(a, c)));
            terms.fold(0, u64::wrapping_add)
        })
        .collect();
    // The sums of twins are equal but for the link between the two, which each sees under the other's number.
    let may_be_alike = |a: usize, b: usize| {
        let without = |a: usize, b: usize| sums[a].wrapping_sub(term(b, pair(a, b)));
        without(a, b) == without(b, a)
    };
    let alike = |a: usize, b: usize| {
        let (x, y) = (&devices[a], &devices[b]);
        (x.memory_bytes, x.numa, x.port, x.switch_port)
            == (y.memory_bytes, y.numa, y.port, y.switch_port)
            && x.product == y.product
            && x.nics == y.nics
            && models[a] == models[b]
            && may_be_alike(a, b)
            && facts_alike(a, b)
            // Sums may be equal by chance.
            && anchors
                .iter()
                .filter(|&&c| c != a && c != b)
                .all(|&c| pair(a, c) == pair(b, c))
    };
    let mut lowest: Vec<usize> = Vec::new();
    let mut twins = Vec::with_capacity(devices.len());
    for (id, device) in devices.iter().enumerate() {
        let twin = match device.unit {
            Unit::Whole => lowest.iter().copied().find(|&other| alike(other, id)),
            Unit::Slice(own) => (wholes..id)
                .rev()
                .take_while(|&other| devices[other].parent == device.parent)
                .find(|&other| matches!(devices[other].unit, Unit::Slice(cut) if cut.profile == own.profile)),
            _ => None,
        };
        // The lowest twin of a twin is its own.
        let twin: DeviceId = twin.map_or(DeviceId(id as u32), |twin| twins[twin]);
        if device.unit == Unit::Whole && twin.index() == id {
            lowest.push(id);
        }
        twins.push(twin);
    }
    twins
}

/// A number for the links to a device: equal for equal links, and otherwise different but by chance.
fn term(to: usize, links: Pair) -> u64 {
    let class = |link: Link| match link.class {
        LinkClass::Direct(count) => 0x100 | u64::from(count),
        LinkClass::None => 0,
        LinkClass::Network => 1,
        LinkClass::Sys => 2,
        LinkClass::Node => 3,
        LinkClass::Phb => 4,
        LinkClass::Pxb => 5,
        LinkClass::Pix => 6,
        LinkClass::Board => 7,
        LinkClass::SameDevice => 8,
    };
    // Negative zero equals zero and has other bits; the sum of both is zero.
    let gbps = |link: Link| (link.gbps + 0.0).to_bits();
    let ends = (to as u64) << 32 | class(links.direct) << 16 | class(links.host);
    let terms = [ends, gbps(links.direct), gbps(links.host)];
    terms.into_iter().fold(0, |sum, next| mixed(sum ^ next))
}

/// A number in which each bit depends on all bits of `bits`: the last step of SplitMix64.
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The host path between two anchors: its class by the component where their ways up first meet,
/// its bandwidth by the narrowest hop below.
fn meet(a: &[HopUp], b: &[HopUp]) -> Link {
    let common = a
        .iter()
        .enumerate()
        .find_map(|(i, hop)| Some((i, b.iter().position(|h| h.node == hop.node)?)));
    let Some((i, j)) = common else {
        return Link::default();
    };
    let switches = a[..i]
        .iter()
        .chain(&b[..=j])
        .filter(|hop| matches!(hop.climb, Climb::Switch))
        .count();
    let class = match a[i].climb {
        Climb::Switch if switches == 1 => LinkClass::Pix,
        Climb::Switch => LinkClass::Pxb,
        Climb::Bridge => LinkClass::Phb,
        Climb::Numa(_) => LinkClass::Node,
        Climb::Machine => LinkClass::Sys,
    };
    Link {
        class,
        gbps: a[i].gbps.min(b[j].gbps),
    }
}

/// The whole devices by product, those with the lowest ids first; none if all are of one product, or the product of some is
/// not known.
pub(super) fn by_product<'d>(
    devices: impl Iterator<Item = (u32, Option<&'d str>)>,
) -> Vec<DeviceSet> {
    let mut sets: BTreeMap<&str, DeviceSet> = BTreeMap::new();
    for (id, product) in devices {
        let Some(product) = product else {
            return Vec::new();
        };
        sets.entry(product).or_default().insert(DeviceId(id));
    }
    if sets.len() < 2 {
        return Vec::new();
    }
    let mut sets: Vec<DeviceSet> = sets.into_values().collect();
    sets.sort_by_key(|set| set.iter().next());
    sets
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::topology::Fabric;

    /// So many devices that only their links tell apart.
    fn alike_devices(n: usize) -> Vec<Device> {
        let mut fabric = Fabric::new();
        fabric.add_device("GPU").unwrap();
        let graph = fabric.lower().unwrap();
        vec![graph.device(DeviceId(0)).clone(); n]
    }

    fn direct(count: u8) -> Pair {
        let class = LinkClass::Direct(count);
        Pair {
            direct: Link { class, gbps: 25.0 },
            host: Link::default(),
        }
    }

    /// The lowest twins by the definition.
    fn by_definition(n: usize, pair: impl Fn(usize, usize) -> Pair) -> Vec<DeviceId> {
        let alike = |a: usize, b: usize| {
            (0..n)
                .filter(|&c| c != a && c != b)
                .all(|c| pair(a, c) == pair(b, c))
        };
        let lowest = |id: usize| (0..id).find(|&other| alike(other, id)).unwrap_or(id);
        (0..n).map(|id| DeviceId(lowest(id) as u32)).collect()
    }

    proptest! {
        #[test]
        fn twins_are_those_of_the_definition(n in 2usize..=7, links in vec(0u8..=1, 28)) {
            let pair = |a: usize, b: usize| match (a.min(b), a.max(b)) {
                (low, high) if low == high => Pair::default(),
                (low, high) => match links[high * (high - 1) / 2 + low] {
                    0 => Pair::default(),
                    count => direct(count),
                },
            };
            let found = twins(&alike_devices(n), &vec![None; n], pair, |_, _| true);
            prop_assert_eq!(found, by_definition(n, pair));
        }
    }

    #[test]
    fn links_are_looked_at_a_few_times_however_many_devices_have_no_twin() {
        // A ring: most links of any two devices are equal, and no two devices are twins.
        let n = 256;
        let calls = Cell::new(0);
        let pair = |a: usize, b: usize| {
            calls.set(calls.get() + 1);
            let apart = a.abs_diff(b);
            if apart == 1 || apart == n - 1 {
                direct(1)
            } else {
                Pair::default()
            }
        };
        let found = twins(&alike_devices(n), &vec![None; n], pair, |_, _| true);
        let each: Vec<DeviceId> = (0..n as u32).map(DeviceId).collect();
        assert_eq!(found, each);
        assert!(calls.get() < 3 * n * n, "{}", calls.get());
    }
}
