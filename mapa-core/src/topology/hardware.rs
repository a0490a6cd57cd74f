//! The machine as the engine sees it: dense, immutable, shared.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::fabric::Fabric;
use super::host_links::HostLinks;
use super::host_tree::Region;
use super::link::{Link, LinkClass, Pair};
use super::memo::Memo;
use super::vertices::{Anchors, overlaps, twins};
use super::{DeviceId, DeviceSet};
use crate::error::{Error, ErrorKind};
use crate::mig;
use crate::pattern::{Demand, Want};
use crate::view::View;

/// What a vertex of the [`HardwareGraph`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A whole device.
    Whole,
    /// An instance that a device can be cut into.
    Slice(mig::Instance),
    /// A NUMA node: its cores and its memory. Only in graphs made by [`Fabric::lower_with_host`].
    Numa,
    /// A network card. Only in graphs made by [`Fabric::lower_with_host`].
    Nic,
}

impl Unit {
    /// The instance that it is, if it is one.
    #[must_use]
    pub fn instance(self) -> Option<mig::Instance> {
        if let Self::Slice(instance) = self { Some(instance) } else { None }
    }
}

/// A group of devices that reach the host through one host bridge (root complex): the paths between them are `Phb` or
/// better. What one of them sends, the others must wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// A vertex of the [`HardwareGraph`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Device {
    /// Its name in the machine's description; of an instance, its parent's name, its profile and start: `GPU0/3g.20gb@4`.
    pub name: String,
    /// The vendor's number, where it is not the device id.
    pub index: Option<u32>,
    /// The vendor's name of the product.
    pub product: Option<String>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
    /// The PCI address.
    pub pci: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The NUMA node it hangs from.
    pub numa: Option<u32>,
    /// Its port into a switched fabric: all the links it has there, whatever the number of peers.
    pub switch_port: Option<Link>,
    /// What it is.
    pub unit: Unit,
    /// The device that it is a part of; itself, if it is whole.
    pub parent: DeviceId,
    /// How many slices it has, if its parent can be cut up.
    pub size: Option<mig::Size>,
    /// The host bridge through which it reaches the host; none for the host's own parts.
    pub port: Option<PortId>,
}

impl Device {
    /// A part of the host.
    pub(super) fn host(name: String, unit: Unit, numa: Option<u32>) -> Self {
        Self {
            name,
            index: None,
            product: None,
            uuid: None,
            pci: None,
            memory_bytes: None,
            numa,
            switch_port: None,
            unit,
            parent: DeviceId::default(),
            size: None,
            port: None,
        }
    }

    /// An instance that this device, of this id, can be cut into.
    pub(super) fn instance(&self, id: usize, model: &mig::Model, instance: mig::Instance) -> Self {
        let profile = model.profile(instance.profile);
        Self {
            memory_bytes: Some(profile.memory_bytes),
            parent: DeviceId(id as u32),
            size: Some(profile.size),
            ..Self::host(format!("{}/{}", self.name, model.print_instance(instance)), Unit::Slice(instance), self.numa)
        }
    }
}

/// A machine: its devices and what joins every two of them.
///
/// Its vertices are the whole devices, ids `0..m`; then every MIG instance that could exist on them, if they can be cut
/// up; then, if asked for, the host's own parts. Which instances exist at a moment is a matter of the
/// [`Allocator`](crate::Allocator)'s state: a re-partition changes which vertices are present, never an id.
///
/// Instances have no peer-to-peer links. What joins two of them goes through the host's memory: no better than
/// [`LinkClass::Phb`], also below one PCIe switch and within one device, whose port they share. To a network card an
/// instance is as near as its parent.
///
/// Memory is O(m²) for m whole devices, and V² bits for V vertices. Made by [`Fabric::lower`].
#[derive(Clone)]
pub struct HardwareGraph {
    devices: Vec<Device>,
    all: DeviceSet,
    wholes: usize,
    /// By vertex, its row in `pairs`.
    anchor_of: Vec<u32>,
    anchors: usize,
    /// Anchors x anchors, symmetric, the diagonal empty.
    pairs: Vec<Pair>,
    /// By whole device, what joins its instances to each other.
    within: Vec<Link>,
    models: Vec<Option<Arc<mig::Model>>>,
    /// By whole device, itself and all it can be cut into.
    parts: Vec<DeviceSet>,
    /// By vertex; empty if nothing can be cut up.
    overlaps: Vec<DeviceSet>,
    neighbours: Vec<DeviceSet>,
    /// By vertex, the lowest that only its id tells apart from it.
    twins: Vec<DeviceId>,
    host: Region,
    host_links: HostLinks,
    /// What joins a vertex to itself, for ranks that share one.
    same: Link,
    fingerprint: u64,
    fabric: Fabric,
    memo: Arc<Memo>,
}

impl HardwareGraph {
    pub(super) fn new(mut anchors: Anchors, fabric: Fabric) -> Result<Self, Error> {
        let (n, wholes) = (anchors.len(), anchors.devices);
        for a in 0..n {
            for b in 0..a {
                anchors.pairs[a * n + b] = anchors.pairs[b * n + a];
            }
        }
        let (mut devices, anchor_of) = anchors.vertices()?;
        let within = anchors.ports();
        let Anchors { pairs, models, .. } = anchors;
        let host = Region::new(wholes, |a, b| pairs[a.index() * n + b.index()].host.class);
        for (number, port) in (0u32..).zip(host.held_by(LinkClass::Phb)) {
            port.iter().for_each(|device| devices[device.index()].port = Some(PortId(number)));
        }
        for i in wholes..devices.len() {
            if matches!(devices[i].unit, Unit::Slice(_)) {
                devices[i].port = devices[devices[i].parent.index()].port;
            }
        }
        let mut parts: Vec<DeviceSet> = (0..wholes as u32).map(|id| DeviceSet::from([id])).collect();
        for (id, device) in (0u32..).zip(&devices) {
            if matches!(device.unit, Unit::Slice(_)) {
                parts[device.parent.index()].insert(DeviceId(id));
            }
        }
        let host_gbps = |a: usize| pairs[a * n..a * n + wholes].iter().map(|pair| pair.host.gbps).fold(0.0, f64::max);
        let host_links = HostLinks::new(&fabric, host_gbps);
        let fastest = pairs.iter().map(|pair| pair.best().gbps).fold(0.0, f64::max);
        let mut graph = Self {
            all: DeviceSet::first_n(devices.len()),
            wholes,
            anchor_of,
            anchors: n,
            within,
            parts,
            overlaps: overlaps(&devices, &models),
            neighbours: Vec::new(),
            twins: Vec::new(),
            host,
            host_links,
            same: Link { class: LinkClass::SameDevice, gbps: fastest },
            fingerprint: fingerprint(&devices, &pairs, &models),
            devices,
            pairs,
            models,
            fabric,
            memo: Arc::default(),
        };
        let ids = || (0..graph.len() as u32).map(DeviceId);
        let joined = |a: DeviceId| ids().filter(|&b| graph.pair(a, b).best().exists()).collect();
        graph.neighbours = ids().map(joined).collect();
        let pair = |a: usize, b: usize| graph.pair(DeviceId(a as u32), DeviceId(b as u32));
        graph.twins = twins(&graph.devices, &graph.models, pair);
        Ok(graph)
    }

    /// How many vertices it has: devices, the instances that could exist on them, parts of the host.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Never: a machine has at least one device.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// All vertices.
    #[must_use]
    pub fn all(&self) -> DeviceSet {
        self.all.clone()
    }

    /// The whole devices.
    #[must_use]
    pub fn wholes(&self) -> DeviceSet {
        DeviceSet::first_n(self.wholes)
    }

    /// How a device can be cut up; none if it cannot, or is not whole.
    #[must_use]
    pub fn model(&self, whole: DeviceId) -> Option<&Arc<mig::Model>> {
        self.models.get(whole.index())?.as_ref()
    }

    /// A device and all it can be cut into; nothing for a vertex that is not a whole device.
    #[must_use]
    pub fn vertices(&self, whole: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.parts.get(whole.index()).unwrap_or(NONE)
    }

    /// The vertices of the whole devices in `set`, and what else is in it.
    #[must_use]
    pub fn with_parts(&self, set: &DeviceSet) -> DeviceSet {
        if self.overlaps.is_empty() {
            return set.clone();
        }
        set.iter().fold(set.clone(), |all, id| &all | self.vertices(id))
    }

    /// What cannot exist together with a vertex: a device and its instances, instances that overlap.
    #[must_use]
    pub fn overlap(&self, id: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.overlaps.get(id.index()).unwrap_or(NONE)
    }

    /// The vertices of the kind that a demand wants, large enough when idle. O(V), less for whole devices.
    #[must_use]
    pub fn candidates(&self, demand: &Demand) -> DeviceSet {
        if demand.want == Want::Whole && demand.memory_bytes == 0 {
            return self.wholes();
        }
        let ids = (0..self.len() as u32).map(DeviceId);
        ids.filter(|&id| demand.fits(self.device(id))).collect()
    }

    /// Tables about this machine that decisions made and left for the next ones.
    pub(crate) fn memo(&self) -> &Memo {
        &self.memo
    }

    /// How many bytes of tables decisions on this machine have left for the next ones: reachable counts of patterns and
    /// rankings of sets. At most some 200 MB (see [`Rules`](crate::Rules)); copies of a graph share them.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.memo.bytes()
    }

    /// Every vertex, by reference.
    pub(crate) fn everything(&self) -> &DeviceSet {
        &self.all
    }

    /// The ports, `0..`: how many.
    pub(crate) fn port_count(&self) -> usize {
        self.devices.iter().filter_map(|device| device.port).map(|port| port.0 as usize + 1).max().unwrap_or(0)
    }

    /// The lowest vertex that nothing but its id tells apart from this one, as long as both are present.
    pub(crate) fn twin(&self, id: DeviceId) -> DeviceId {
        self.twins[id.index()]
    }

    /// Whether whole devices are all there is.
    pub(crate) fn has_only_wholes(&self) -> bool {
        self.wholes == self.len()
    }

    /// Whether any device can be cut up.
    pub(crate) fn can_be_cut(&self) -> bool {
        !self.overlaps.is_empty()
    }

    /// The vertices that exist in a layout of a device.
    ///
    /// # Errors
    /// A layout of another model; a device that cannot be cut up, or is not whole.
    pub fn vertices_in(&self, whole: DeviceId, layout: &mig::Layout) -> Result<DeviceSet, Error> {
        if whole.index() >= self.wholes {
            return Err(ErrorKind::NotWhole(whole).into());
        }
        if layout.is_whole() {
            return Ok([whole.0].into());
        }
        let Some(model) = self.model(whole) else { return Err(ErrorKind::CannotBeCut(whole).into()) };
        model.own(layout)?;
        let is_there = |id: &DeviceId| match self.device(*id).unit {
            Unit::Slice(instance) => layout.has(instance),
            _ => false,
        };
        Ok(self.vertices(whole).iter().filter(is_there).collect())
    }

    /// The vertices in id order.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// One device.
    ///
    /// # Panics
    /// If the id is not below [`HardwareGraph::len`], as an index would.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    /// The device that `text` means: an id or the vendor's number, a name, a UUID or a PCI address (case, a leading domain
    /// of zero and leading zeros of the domain aside).
    ///
    /// # Errors
    /// No such device, or more than one; a number that is one device's id and another's number with the vendor.
    pub fn find(&self, text: &str) -> Result<DeviceId, Error> {
        let text = text.trim();
        let pci = pci_address(text);
        let number = text.parse::<u32>().ok();
        let is = |device: &Device| {
            device.name.eq_ignore_ascii_case(text)
                || number.is_some() && device.index == number
                || device.uuid.as_deref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(text))
                || pci.is_some() && device.pci.as_deref().and_then(pci_address) == pci
        };
        let mut hits = (0u32..).zip(&self.devices).filter(|(_, device)| is(device)).map(|(id, _)| DeviceId(id));
        let by_id = number.map(DeviceId).filter(|id| id.index() < self.len());
        match (by_id, hits.next(), hits.next()) {
            (Some(id), Some(other), None) if id != other => {
                let name = |id| self.device(id).name.clone();
                Err(ErrorKind::AmbiguousNumber { number: id.0, id: name(id), vendors: name(other) }.into())
            }
            (Some(id), _, None) | (None, Some(id), None) => Ok(id),
            _ => Err(ErrorKind::UnknownDevice { text: text.to_owned(), devices: self.len() }.into()),
        }
    }

    /// That a device id is one of this machine's.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, id: DeviceId) -> Result<(), Error> {
        if id.index() < self.len() {
            return Ok(());
        }
        Err(ErrorKind::UnknownDevice { text: id.to_string(), devices: self.len() }.into())
    }

    /// All that joins two devices; nothing on the diagonal, and nothing between those that cannot exist at once.
    ///
    /// # Panics
    /// If an id is not below [`HardwareGraph::len`], as an index would.
    #[must_use]
    pub fn pair(&self, a: DeviceId, b: DeviceId) -> Pair {
        if a.index() < self.wholes && b.index() < self.wholes {
            return self.pairs[a.index() * self.anchors + b.index()];
        }
        self.pair_of_parts(a, b)
    }

    fn pair_of_parts(&self, a: DeviceId, b: DeviceId) -> Pair {
        if a == b || self.overlap(a).contains(b) {
            return Pair::default();
        }
        let anchor = |id: DeviceId| self.anchor_of[id.index()] as usize;
        let whole_pair = self.pairs[anchor(a) * self.anchors + anchor(b)];
        let is = |id: DeviceId, what: fn(Unit) -> bool| what(self.device(id).unit);
        let is_slice = |id| is(id, |unit| matches!(unit, Unit::Slice(_)));
        let is_host = |id| is(id, |unit| matches!(unit, Unit::Numa | Unit::Nic));
        let host = if anchor(a) == anchor(b) {
            self.within[anchor(a)]
        } else if is_slice(a) && !is_host(b) || is_slice(b) && !is_host(a) {
            // Without peer-to-peer, what goes from one to the other is laid down in the host's memory.
            Link { class: whole_pair.host.class.min(LinkClass::Phb), ..whole_pair.host }
        } else {
            return whole_pair;
        };
        Pair { direct: Link::default(), host }
    }

    /// The best link between two devices: the label w(e) of the paper's hardware graph; none between a device and itself.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn link(&self, a: DeviceId, b: DeviceId) -> Link {
        self.pair(a, b).best()
    }

    /// Over what two ranks on these devices talk: the best link, and where they share one device
    /// [`LinkClass::SameDevice`], taken to be as fast as the machine's fastest link.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn link_of_ranks(&self, a: DeviceId, b: DeviceId) -> Link {
        if a == b { self.same } else { self.pair(a, b).best() }
    }

    /// The devices that `device` has any connection to.
    ///
    /// # Panics
    /// As [`HardwareGraph::device`].
    #[must_use]
    pub fn neighbours(&self, device: DeviceId) -> &DeviceSet {
        &self.neighbours[device.index()]
    }

    /// The sum of the best links between all pairs of `set` that `count` accepts, GB/s. O(k²) for k devices.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn bandwidth_within(&self, set: &DeviceSet, count: impl Fn(Link) -> bool) -> f64 {
        self.links_within(set).map(|(.., link)| link).filter(|&link| count(link)).fold(0.0, |sum, link| sum + link.gbps)
    }

    /// The best links between all pairs of `set` that are joined, by lower id, then by higher.
    pub(crate) fn links_within(&self, set: &DeviceSet) -> impl Iterator<Item = (DeviceId, DeviceId, Link)> + '_ {
        let ids: smallvec::SmallVec<[DeviceId; 16]> = set.iter().collect();
        let n = ids.len();
        let pairs = (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)));
        let joined = pairs.map(move |(i, j)| (ids[i], ids[j], self.link(ids[i], ids[j])));
        joined.filter(|(.., link)| link.exists())
    }

    /// The host tree: the whole machine at its root.
    #[must_use]
    pub fn host_tree(&self) -> &Region {
        &self.host
    }

    /// The hops over which devices reach the host's memory.
    #[must_use]
    pub fn host_links(&self) -> &HostLinks {
        &self.host_links
    }

    /// The sets of vertices on one NUMA node, by number; devices whose node is unknown are in none.
    #[must_use]
    pub fn numa_nodes(&self) -> Vec<(u32, DeviceSet)> {
        let mut nodes = std::collections::BTreeMap::<u32, DeviceSet>::new();
        for (id, device) in (0u32..).zip(&self.devices) {
            if let Some(numa) = device.numa {
                nodes.entry(numa).or_default().insert(DeviceId(id));
            }
        }
        nodes.into_iter().collect()
    }

    /// The description it was lowered from.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// A number that tells machines apart: equal for equal devices and links, on every platform and release.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// A view in which exactly `free` is free, for callers that keep their own books. Decisions made on it cannot be
    /// committed to an [`Allocator`](crate::Allocator).
    #[must_use]
    pub fn with_free<'a>(&'a self, free: &'a DeviceSet) -> View<'a> {
        View::imagined(self, free)
    }
}

/// `[domain:]bus:device.function`, each hexadecimal.
fn pci_address(text: &str) -> Option<(u32, u32, u32, u32)> {
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let (place, function) = text.split_once('.')?;
    let mut parts = place.rsplit(':');
    let (device, bus, domain) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    parts.next().is_none().then_some((hex(domain)?, hex(bus)?, hex(device)?, hex(function)?))
}

fn fingerprint(devices: &[Device], pairs: &[Pair], models: &[Option<Arc<mig::Model>>]) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let mut link = |link: Link| {
        // Little-endian bytes by hand: `Hash` for integers follows the platform's byte order.
        hash.write(&link.class.code().to_le_bytes());
        hash.write(&link.gbps.to_bits().to_le_bytes());
    };
    for pair in pairs {
        link(pair.direct);
        link(pair.host);
    }
    for device in devices {
        let numbers = [device.index.map(u64::from), device.numa.map(u64::from), device.memory_bytes];
        for number in numbers {
            hash.write(&[u8::from(number.is_some())]);
            hash.write(&number.unwrap_or(0).to_le_bytes());
        }
        for text in [Some(&device.name), device.product.as_ref(), device.uuid.as_ref(), device.pci.as_ref()] {
            hash.write(text.map_or("", String::as_str).as_bytes());
            hash.write(&[0]);
        }
    }
    for (i, model) in models.iter().enumerate().filter_map(|(i, model)| Some((i, model.as_ref()?))) {
        // Which instances there are is in the list of devices; which of them may be there at once is in spans and maxima.
        hash.write(&(i as u64).to_le_bytes());
        for profile in model.profiles() {
            hash.write(&[profile.max_instances, profile.size.compute, profile.size.memory]);
        }
    }
    hash.finish()
}

impl fmt::Debug for HardwareGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardwareGraph")
            .field("devices", &self.devices)
            .field("pairs", &self.pairs)
            .finish_non_exhaustive()
    }
}

/// Two graphs are equal if their devices, their pairs and their ways to the host are.
impl PartialEq for HardwareGraph {
    fn eq(&self, other: &Self) -> bool {
        self.devices == other.devices
            && self.pairs == other.pairs
            && self.models == other.models
            && self.host_links == other.host_links
    }
}

impl Hash for HardwareGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}
