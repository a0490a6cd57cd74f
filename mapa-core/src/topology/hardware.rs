//! The machine as the engine sees it: dense, immutable, shared.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::device::{Device, Unit};
use super::device_set::DeviceSet;
use super::fabric::Fabric;
use super::facts::FabricFacts;
use super::host_hops::HostHops;
use super::host_links::HostLinks;
use super::host_tree::Region;
use super::link::{Link, Pair};
use super::memo::TableMemo;
use super::vertices::{Anchors, by_product, neighbours, overlaps, twins};
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass, PortId};
use crate::mig;

/// A machine: its devices and what joins every two of them. Made by [`Fabric::lower`].
///
/// Its vertices are the whole devices, with ids `0..m`; then every MIG instance that could exist on
/// them, if they can be partitioned; then, on request, the host's own parts. Which instances exist
/// at a moment is part of the [`Allocator`](crate::Allocator)'s state. A repartition changes which
/// vertices are present, never an id.
///
/// Instances have no peer-to-peer links. Data between two of them goes through the host's memory,
/// so their link is no better than [`LinkClass::Phb`]. This also holds for instances below one PCIe
/// switch, and for instances of one device, which share its port. An instance is as near to a
/// network card as its parent.
///
/// # Complexity
///
/// Memory is O(m²) for m whole devices, and V² bits for V vertices.
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
    /// By whole device, the device and all instances of it.
    parts: Vec<DeviceSet>,
    /// By vertex, the vertices that cannot exist beside it; empty if no device can be partitioned.
    overlaps: Vec<DeviceSet>,
    neighbours: Vec<DeviceSet>,
    /// The whole devices by product, if they are of several.
    products: Vec<DeviceSet>,
    /// By vertex, its lowest twin: the lowest vertex that differs from it only in its id.
    twins: Vec<DeviceId>,
    host: Region,
    host_links: HostLinks,
    /// The shared hops of the host tree, where they have speeds of their own.
    host_hops: Option<Arc<HostHops>>,
    /// The link of a vertex to itself, for ranks that share one.
    same: Link,
    fingerprint: u64,
    fabric: Fabric,
    memo: Arc<TableMemo>,
}

impl HardwareGraph {
    pub(super) fn new(mut anchors: Anchors, fabric: Fabric) -> Result<Self, Error> {
        let (n, wholes) = (anchors.len(), anchors.devices);
        // Pairs were filled above the diagonal.
        for a in 0..n {
            for b in 0..a {
                anchors.pairs[a * n + b] = anchors.pairs[b * n + a];
            }
        }
        let (mut devices, anchor_of) = anchors.vertices()?;
        let within = anchors.ports();
        let Anchors { pairs, models, .. } = anchors;
        let host = Region::new(wholes, |a, b| pairs[a.index() * n + b.index()].host.class);
        // Devices joined by `Phb` or better share a host bridge.
        for (number, port) in (0u32..).zip(host.held_by(LinkClass::Phb)) {
            port.iter()
                .for_each(|device| devices[device.index()].port = Some(PortId(number)));
        }
        for i in wholes..devices.len() {
            if matches!(devices[i].unit, Unit::Slice(_)) {
                devices[i].port = devices[devices[i].parent.index()].port;
            }
        }
        let mut parts: Vec<DeviceSet> =
            (0..wholes as u32).map(|id| DeviceSet::from([id])).collect();
        for (id, device) in (0u32..).zip(&devices) {
            if matches!(device.unit, Unit::Slice(_)) {
                parts[device.parent.index()].insert(DeviceId(id));
            }
        }
        let host_links = HostLinks::new(&fabric, |a: usize| {
            pairs[a * n..a * n + wholes]
                .iter()
                .map(|pair| pair.host.gbps)
                .fold(0.0, f64::max)
        });
        let host_hops = HostHops::of(&fabric).map(Arc::new);
        let fastest = pairs
            .iter()
            .map(|pair| pair.best().gbps)
            .fold(0.0, f64::max);
        let fingerprint = fingerprint(
            &devices,
            &pairs,
            &models,
            &fabric.facts,
            host_hops.as_deref(),
        );
        let mut graph = Self {
            all: DeviceSet::first_n(devices.len()),
            wholes,
            anchor_of,
            anchors: n,
            within,
            overlaps: overlaps(&devices, &models, &parts),
            parts,
            neighbours: Vec::new(),
            products: by_product(
                (0..).zip(
                    devices[..wholes]
                        .iter()
                        .map(|device| device.product.as_deref()),
                ),
            ),
            twins: Vec::new(),
            host,
            host_links,
            host_hops,
            same: Link {
                class: LinkClass::SameDevice,
                gbps: fastest,
            },
            fingerprint,
            devices,
            pairs,
            models,
            fabric,
            memo: Arc::default(),
        };
        graph.neighbours = neighbours(graph.len(), &graph.parts, |a, b| graph.link(a, b).exists());
        graph.twins = twins(
            &graph.devices,
            &graph.models,
            |a, b| graph.pair(DeviceId(a as u32), DeviceId(b as u32)),
            |a, b| {
                let hops = graph.host_hops.as_ref();
                graph.fabric.facts.alike(a, b, wholes) && hops.is_none_or(|hops| hops.alike(a, b))
            },
        );
        Ok(graph)
    }

    /// The number of vertices: devices, the instances that could exist on them, parts of the host.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Always false: a machine has at least one device.
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

    /// The ways in which a device can be partitioned; none if it cannot be, or is not whole.
    #[must_use]
    pub fn model(&self, whole: DeviceId) -> Option<&Arc<mig::Model>> {
        self.models.get(whole.index())?.as_ref()
    }

    /// A whole device and all its possible instances; the empty set for any other vertex.
    #[must_use]
    pub fn vertices(&self, whole: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.parts.get(whole.index()).unwrap_or(NONE)
    }

    /// The set, with all possible instances of the whole devices in it.
    #[must_use]
    pub fn with_parts(&self, set: &DeviceSet) -> DeviceSet {
        if self.overlaps.is_empty() {
            return set.clone();
        }
        set.iter()
            .fold(set.clone(), |all, id| &all | self.vertices(id))
    }

    /// The vertices that cannot exist together with this one. For a device these are its instances;
    /// for an instance, its device and the instances that it overlaps.
    #[must_use]
    pub fn overlap(&self, id: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.overlaps.get(id.index()).unwrap_or(NONE)
    }

    /// The tables about this machine that decisions keep for later ones.
    pub(crate) fn memo(&self) -> &TableMemo {
        &self.memo
    }

    /// The bytes of the tables that decisions on this machine keep for later ones: reachable counts
    /// of patterns and rankings of sets. They take at most some 200 MB (see
    /// [`Rules`](crate::Rules)); copies of a graph share them.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.memo.bytes()
    }

    /// Every vertex, by reference.
    pub(crate) fn everything(&self) -> &DeviceSet {
        &self.all
    }

    /// The number of ports.
    pub(crate) fn port_count(&self) -> usize {
        self.devices
            .iter()
            .filter_map(|device| device.port)
            .map(|port| port.0 as usize + 1)
            .max()
            .unwrap_or(0)
    }

    /// The lowest twin of a vertex: the lowest vertex that differs from it only in its id, as long
    /// as both are present.
    pub(crate) fn twin(&self, id: DeviceId) -> DeviceId {
        self.twins[id.index()]
    }

    /// The shared hops of the host tree, where they have speeds of their own.
    pub(super) fn host_hops(&self) -> Option<&HostHops> {
        self.host_hops.as_deref()
    }

    /// Whether all vertices are whole devices.
    pub(crate) fn has_only_wholes(&self) -> bool {
        self.wholes == self.len()
    }

    /// The whole devices by product, those with the lowest ids first; none if all are of one product,
    /// or the product of some is not known.
    #[must_use]
    pub fn products(&self) -> &[DeviceSet] {
        &self.products
    }

    /// Whether these vertices are devices of one product, or parts of such, as far as products are known.
    pub(crate) fn is_of_one_product(&self, placement: &[DeviceId]) -> bool {
        let product = |id: &DeviceId| {
            let device = self.device(*id);
            // Parts of the host are of no product.
            let is_device = matches!(device.unit, Unit::Whole | Unit::Slice(_));
            is_device.then(|| {
                let mut products = self.products.iter();
                products.position(|alike| alike.contains(device.parent))
            })
        };
        let mut products = placement.iter().filter_map(product);
        let first = products.next();
        products.all(|other| Some(other) == first)
    }

    /// Whether any device can be partitioned.
    pub(crate) fn can_be_cut(&self) -> bool {
        !self.overlaps.is_empty()
    }

    /// The vertices that exist in a layout of a device.
    ///
    /// # Complexity
    ///
    /// O(i) for the i instances that could exist on the device.
    ///
    /// # Errors
    /// A layout of another model; a device that cannot be partitioned, or is not whole.
    pub fn vertices_in(&self, whole: DeviceId, layout: &mig::Layout) -> Result<DeviceSet, Error> {
        if whole.index() >= self.wholes {
            return Err(ErrorKind::NotWhole(whole).into());
        }
        if layout.is_whole() {
            return Ok([whole.0].into());
        }
        let Some(model) = self.model(whole) else {
            return Err(ErrorKind::CannotBeCut(whole).into());
        };
        model.own(layout)?;
        let has = |id: &DeviceId| {
            let instance = self.device(*id).unit.instance();
            instance.is_some_and(|instance| layout.has(instance))
        };
        Ok(self.vertices(whole).iter().filter(has).collect())
    }

    /// The vertices in id order.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device with this id.
    ///
    /// # Panics
    /// If the id is not below [`HardwareGraph::len`], as an index would.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    /// The device that `text` means: an id or the vendor's number, a name, a UUID or a PCI address.
    /// Case is ignored, and so are a PCI domain of zero and leading zeros of the domain.
    ///
    /// # Complexity
    ///
    /// O(V) for V vertices.
    ///
    /// # Errors
    /// No such device, or more than one; a number that is the id of one device and the vendor's
    /// number of another.
    pub fn find(&self, text: &str) -> Result<DeviceId, Error> {
        let text = text.trim();
        let pci = pci_address(text);
        let number = text.parse::<u32>().ok();
        let is = |device: &Device| {
            device.name.eq_ignore_ascii_case(text)
                || number.is_some() && device.index == number
                || device
                    .uuid
                    .as_deref()
                    .is_some_and(|uuid| uuid.eq_ignore_ascii_case(text))
                || pci.is_some() && device.pci.as_deref().and_then(pci_address) == pci
        };
        let mut hits = (0u32..)
            .zip(&self.devices)
            .filter(|(_, device)| is(device))
            .map(|(id, _)| DeviceId(id));
        let by_id = number.map(DeviceId).filter(|id| id.index() < self.len());
        match (by_id, hits.next(), hits.next()) {
            (Some(id), Some(other), None) if id != other => {
                let name = |id| self.device(id).name.clone();
                Err(ErrorKind::AmbiguousNumber {
                    number: id.0,
                    id: name(id),
                    vendors: name(other),
                }
                .into())
            }
            (Some(id), _, None) | (None, Some(id), None) => Ok(id),
            _ => Err(ErrorKind::UnknownDevice {
                text: text.to_owned(),
                devices: self.len(),
            }
            .into()),
        }
    }

    /// Checks that a device id is one of this machine's.
    ///
    /// # Errors
    /// An id that the machine does not have.
    pub fn check(&self, id: DeviceId) -> Result<(), Error> {
        if id.index() < self.len() {
            return Ok(());
        }
        Err(ErrorKind::UnknownDevice {
            text: id.to_string(),
            devices: self.len(),
        }
        .into())
    }

    /// The direct link and the host path between two devices; neither between a device and itself,
    /// nor between devices that cannot exist at once.
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

    /// As [`HardwareGraph::pair`], if one of the two is not a whole device: derived from their
    /// anchors.
    fn pair_of_parts(&self, a: DeviceId, b: DeviceId) -> Pair {
        if a == b || self.overlap(a).contains(b) {
            return Pair::default();
        }
        let anchor = |id: DeviceId| self.anchor_of[id.index()] as usize;
        let whole_pair = self.pairs[anchor(a) * self.anchors + anchor(b)];
        let is_slice = |id| matches!(self.device(id).unit, Unit::Slice(_));
        let is_host = |id| matches!(self.device(id).unit, Unit::Numa | Unit::Nic);
        let host = if anchor(a) == anchor(b) {
            self.within[anchor(a)]
        } else if is_slice(a) && !is_host(b) || is_slice(b) && !is_host(a) {
            through_memory(whole_pair.host)
        } else {
            return whole_pair;
        };
        Pair {
            direct: Link::default(),
            host,
        }
    }

    /// The best link between two devices: the label w(e) of the paper's hardware graph; none
    /// between a device and itself.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn link(&self, a: DeviceId, b: DeviceId) -> Link {
        self.pair(a, b).best()
    }

    /// The link between an instance of one whole device and another instance of the same or of another
    /// one. It is [`HardwareGraph::link`] of any two such instances that can exist at once.
    pub(crate) fn link_of_instances(&self, a: DeviceId, b: DeviceId) -> Link {
        if a == b {
            self.within[a.index()]
        } else {
            through_memory(self.pairs[b.index() * self.anchors + a.index()].host)
        }
    }

    /// What a job's processes must list to see these vertices, in rank order and once each, separated by
    /// commas: the numbers of whole devices (the vendor's, else their positions), or the UUIDs of
    /// instances. `None` if the UUID of an instance is not known, and for parts of the host. The variable
    /// is the vendor's, and so is one that makes the numbers follow the PCI addresses. Devices of
    /// several servers need a list for each server: pass those of one.
    ///
    /// # Panics
    /// If an id is not of this machine.
    ///
    /// # Complexity
    /// O(k²) for k devices.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::{Fabric, Placement};
    ///
    /// let mut fabric = Fabric::new();
    /// for i in 0..4 {
    ///     fabric.add_device(format!("GPU{i}"))?;
    /// }
    /// let graph = fabric.lower()?;
    /// let placement: Placement = [3, 1].map(Into::into).into_iter().collect();
    /// assert_eq!(graph.visible_devices(&placement).as_deref(), Some("3,1"));
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    #[must_use]
    pub fn visible_devices(&self, placement: &[DeviceId]) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        for &id in placement {
            let device = self.device(id);
            let name = match device.unit {
                Unit::Whole => device.index.unwrap_or(id.0).to_string(),
                _ => device.uuid.clone()?,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names.join(","))
    }

    /// The link between two ranks on these devices: the best link; for ranks that share one device
    /// [`LinkClass::SameDevice`], which counts as being as fast as the machine's fastest link.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn link_of_ranks(&self, a: DeviceId, b: DeviceId) -> Link {
        if a == b {
            self.same
        } else {
            self.pair(a, b).best()
        }
    }

    /// The devices to which `device` has any connection.
    ///
    /// # Panics
    /// As [`HardwareGraph::device`].
    #[must_use]
    pub fn neighbours(&self, device: DeviceId) -> &DeviceSet {
        &self.neighbours[device.index()]
    }

    /// The sum of bandwidths of the best links between all pairs of `set`, as far as `count`
    /// accepts the link, GB/s.
    ///
    /// # Complexity
    ///
    /// O(k²) for k devices.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn bandwidth_within(&self, set: &DeviceSet, count: impl Fn(Link) -> bool) -> f64 {
        self.links_within(set)
            .map(|(.., link)| link)
            .filter(|&link| count(link))
            .fold(0.0, |sum, link| sum + link.gbps)
    }

    /// The best links between all pairs of `set` that are joined, by lower id, then by higher.
    pub(crate) fn links_within(
        &self,
        set: &DeviceSet,
    ) -> impl Iterator<Item = (DeviceId, DeviceId, Link)> + '_ {
        let ids: smallvec::SmallVec<[DeviceId; 16]> = set.iter().collect();
        let n = ids.len();
        let pairs = (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)));
        let joined = pairs.map(move |(i, j)| (ids[i], ids[j], self.link(ids[i], ids[j])));
        joined.filter(|(.., link)| link.exists())
    }

    /// The sum of `worth` over [`HardwareGraph::links_within`], in that order: row by row, since a thousand
    /// devices have half a million pairs.
    pub(crate) fn sum_of_links(&self, set: &DeviceSet, worth: impl Fn(Link) -> f64) -> f64 {
        let ids: smallvec::SmallVec<[DeviceId; 16]> = set.iter().collect();
        let mut sum = 0.0;
        for (i, &a) in ids.iter().enumerate() {
            // Only whole devices have rows.
            let start = a.index() * self.anchors;
            let wholes = if a.index() < self.wholes {
                self.wholes
            } else {
                0
            };
            let row = self.pairs.get(start..start + wholes).unwrap_or(&[]);
            for &b in &ids[i + 1..] {
                let pair = row.get(b.index()).copied();
                let link = pair.unwrap_or_else(|| self.pair(a, b)).best();
                if link.exists() {
                    sum += worth(link);
                }
            }
        }
        sum
    }

    /// The host tree, whose root is the whole machine.
    #[must_use]
    pub fn host_tree(&self) -> &Region {
        &self.host
    }

    /// The hops over which devices reach the host's memory.
    #[must_use]
    pub fn host_links(&self) -> &HostLinks {
        &self.host_links
    }

    /// The vertices of each NUMA node, by its number; devices whose node is unknown are in none.
    ///
    /// # Complexity
    ///
    /// O(V log u) for V vertices and u NUMA nodes.
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

    /// The description from which the graph was lowered.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// A hash of the machine: equal for equal devices and links, on every platform and in every
    /// release.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// A path through the host for an instance: without peer-to-peer links, data goes through the host's memory.
fn through_memory(path: Link) -> Link {
    Link {
        class: path.class.min(LinkClass::Phb),
        ..path
    }
}

/// `[domain:]bus:device.function`, each hexadecimal.
fn pci_address(text: &str) -> Option<(u32, u32, u32, u32)> {
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let (place, function) = text.split_once('.')?;
    let mut parts = place.rsplit(':');
    let (device, bus, domain) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    parts
        .next()
        .is_none()
        .then_some((hex(domain)?, hex(bus)?, hex(device)?, hex(function)?))
}

/// The hash of [`HardwareGraph::fingerprint`].
fn fingerprint(
    devices: &[Device],
    pairs: &[Pair],
    models: &[Option<Arc<mig::Model>>],
    facts: &FabricFacts,
    host_hops: Option<&HostHops>,
) -> u64 {
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
        let numbers = [
            device.index.map(u64::from),
            device.numa.map(u64::from),
            device.memory_bytes,
        ];
        for number in numbers {
            hash.write(&[u8::from(number.is_some())]);
            hash.write(&number.unwrap_or(0).to_le_bytes());
        }
        for text in [
            Some(&device.name),
            device.product.as_ref(),
            device.uuid.as_ref(),
            device.pci.as_ref(),
        ] {
            hash.write(text.map_or("", String::as_str).as_bytes());
            hash.write(&[0]);
        }
    }
    for (i, model) in models
        .iter()
        .enumerate()
        .filter_map(|(i, model)| Some((i, model.as_ref()?)))
    {
        // The list of devices has the instances; spans and maxima say which may exist at once.
        hash.write(&(i as u64).to_le_bytes());
        for profile in model.profiles() {
            hash.write(&[
                profile.max_instances,
                profile.size.compute,
                profile.size.memory,
            ]);
        }
    }
    facts.write(&mut hash);
    if let Some(hops) = host_hops {
        hops.write(&mut hash);
    }
    hash.finish()
}

/// Two graphs are equal if their devices, their pairs, their ways to the host and what is known of
/// their links are.
impl PartialEq for HardwareGraph {
    fn eq(&self, other: &Self) -> bool {
        self.devices == other.devices
            && self.pairs == other.pairs
            && self.models == other.models
            && self.host_links == other.host_links
            && self.host_hops == other.host_hops
            && self.fabric.facts == other.fabric.facts
    }
}

impl Hash for HardwareGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}
