//! From components to vertices: what joins the anchors, and which instances could exist on them.
//!
//! An *anchor* is a vertex with links of its own: a whole device, a NUMA node, a network card. A MIG instance has none: what
//! joins it to others is what joins its parent, less what only whole devices can do. So tables are dense over anchors
//! alone, and eight devices that could be cut into 25 instances each need a table of 8 x 8, not 208 x 208.

use std::sync::Arc;

use petgraph::graph::NodeIndex;

use super::fabric::{Climb, Hop};
use super::hardware::{Device, Unit};
use super::link::{Link, LinkClass, Pair};
use super::{DeviceId, DeviceSet, MAX_DEVICES};
use crate::error::{Error, ErrorKind};
use crate::mig;

pub(super) struct Anchor {
    /// None for a NUMA node that devices name and the fabric does not draw.
    pub(super) node: Option<NodeIndex>,
    pub(super) device: Device,
    pub(super) way: Vec<Hop>,
}

pub(super) struct Anchors {
    /// The devices first.
    pub(super) list: Vec<Anchor>,
    pub(super) devices: usize,
    /// By device, how it can be cut up.
    pub(super) models: Vec<Option<Arc<mig::Model>>>,
    /// All x all; filled above the diagonal.
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
        let ends = |a, b| usize::from(self.is_numa(a)) + usize::from(self.is_numa(b));
        let pairs = (0..self.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs.filter(|&(a, b)| ends(a, b) == numa_ends).collect()
    }

    /// The paths through the host that the tree shows, between devices and cards.
    pub(super) fn join_by_tree(&mut self) {
        for (a, b) in self.pairs(0) {
            self.pair_mut(a, b).host = meet(&self.list[a].way, &self.list[b].way);
        }
    }

    /// The paths to NUMA nodes, by number: `Phb` to one's own, `Sys` to another; what the tree does not show has the bandwidth
    /// of the best path there is. After all other paths are known.
    pub(super) fn join_numa_nodes(&mut self) {
        for (a, b) in self.pairs(1).into_iter().chain(self.pairs(2)) {
            let (x, y) = (&self.list[a], &self.list[b]);
            let class = match (x.device.numa, y.device.numa) {
                (Some(x), Some(y)) if x == y => LinkClass::Phb,
                (Some(_), Some(_)) => LinkClass::Sys,
                _ => continue,
            };
            let tree = Some(meet(&x.way, &y.way)).filter(|path| path.exists()).map(|path| path.gbps);
            let other = || if self.is_numa(a) { self.uplink(b) } else { self.uplink(a) };
            if let Some(gbps) = tree.or_else(other) {
                self.pair_mut(a, b).host = Link { class, gbps };
            }
        }
    }

    /// The bandwidth with which an anchor reaches its host: that of the narrowest hop up to the host bridge; where no tree
    /// is drawn, that of its best path through the host.
    fn uplink(&self, a: usize) -> Option<f64> {
        let way = &self.list[a].way;
        let bridge = way.iter().find(|hop| !matches!(hop.climb, Climb::Switch)).or(way.last());
        let n = self.len();
        let paths = (0..n).filter(|&b| b != a).map(|b| self.pairs[a.min(b) * n + a.max(b)].host);
        let best_path = || paths.filter(|path| path.exists()).map(|path| path.gbps).reduce(f64::max);
        // A NUMA node is its own host: no hop, no limit.
        bridge.map(|hop| hop.gbps).filter(|gbps| gbps.is_finite()).or_else(best_path)
    }

    /// What joins two instances of each device: the way through the host, shared by all of them. Nothing, if it is unknown.
    pub(super) fn ports(&self) -> Vec<Link> {
        let port = |a| self.uplink(a).map_or(Link::default(), |gbps| Link { class: LinkClass::Phb, gbps });
        (0..self.devices).map(port).collect()
    }

    /// All vertices: the devices, the instances that could exist, the other anchors; and the anchor of each.
    pub(super) fn vertices(&self) -> Result<(Vec<Device>, Vec<u32>), Error> {
        let mut devices: Vec<Device> = self.list[..self.devices].iter().map(|anchor| anchor.device.clone()).collect();
        let mut anchor_of: Vec<u32> = (0..self.devices as u32).collect();
        for (i, model) in self.models.iter().enumerate() {
            for instance in model.iter().flat_map(|model| in_order(model)) {
                devices.extend(model.as_deref().map(|model| self.list[i].device.instance(i, model, instance)));
                anchor_of.push(i as u32);
            }
        }
        for (i, anchor) in self.list.iter().enumerate().skip(self.devices) {
            devices.push(anchor.device.clone());
            anchor_of.push(i as u32);
        }
        if devices.len() > MAX_DEVICES {
            return Err(ErrorKind::TooManyVertices(devices.len()).into());
        }
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

/// For each vertex, the others that cannot exist beside it; empty sets all, if nothing can be cut up.
pub(super) fn overlaps(devices: &[Device], models: &[Option<Arc<mig::Model>>]) -> Vec<DeviceSet> {
    if models.iter().all(Option::is_none) {
        return Vec::new();
    }
    let ids = |range: std::ops::Range<usize>| range.map(|id| DeviceId(id as u32));
    let apart = |a: DeviceId, b: DeviceId| {
        let (x, y) = (&devices[a.index()], &devices[b.index()]);
        match (x.unit, y.unit) {
            _ if a == b || x.parent != y.parent => false,
            (Unit::Slice(x_cut), Unit::Slice(y_cut)) => {
                models[x.parent.index()].as_ref().is_some_and(|model| model.exclude(x_cut, y_cut))
            }
            _ => true,
        }
    };
    ids(0..devices.len()).map(|a| ids(0..devices.len()).filter(|&b| apart(a, b)).collect()).collect()
}

/// For each vertex, the lowest that nothing but its id tells apart from it: whole devices with equal facts and equal links to
/// all others, instances of one device and profile. Swapping two such vertices, both present, changes nothing.
///
/// Instances that overlap with different ones are still twins among what is present: there nothing overlaps.
pub(super) fn twins(
    devices: &[Device],
    models: &[Option<Arc<mig::Model>>],
    pair: impl Fn(usize, usize) -> Pair,
) -> Vec<DeviceId> {
    let wholes = models.len();
    let alike = |a: usize, b: usize| {
        let (x, y) = (&devices[a], &devices[b]);
        (x.memory_bytes, x.numa, x.port, x.switch_port) == (y.memory_bytes, y.numa, y.port, y.switch_port)
            && x.product == y.product
            && models[a] == models[b]
            && (0..devices.len())
                .filter(|&c| !matches!(devices[c].unit, Unit::Slice(_)) && c != a && c != b)
                .all(|c| pair(a, c) == pair(b, c))
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
        // Of a twin, its own lowest.
        let twin: DeviceId = twin.map_or(DeviceId(id as u32), |twin| twins[twin]);
        if device.unit == Unit::Whole && twin.index() == id {
            lowest.push(id);
        }
        twins.push(twin);
    }
    twins
}

/// Where two ways up first meet, and what that makes of the path.
fn meet(a: &[Hop], b: &[Hop]) -> Link {
    let common = a.iter().enumerate().find_map(|(i, hop)| Some((i, b.iter().position(|h| h.node == hop.node)?)));
    let Some((i, j)) = common else { return Link::default() };
    let switches = a[..i].iter().chain(&b[..=j]).filter(|hop| matches!(hop.climb, Climb::Switch)).count();
    let class = match a[i].climb {
        Climb::Switch if switches == 1 => LinkClass::Pix,
        Climb::Switch => LinkClass::Pxb,
        Climb::Bridge => LinkClass::Phb,
        Climb::Numa(_) => LinkClass::Node,
        Climb::Machine => LinkClass::Sys,
    };
    Link { class, gbps: a[i].gbps.min(b[j].gbps) }
}
