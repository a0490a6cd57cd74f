//! The machine as the engine sees it: dense, immutable, shared.

use std::hash::{Hash, Hasher};

use super::fabric::Fabric;
use super::host_tree::Region;
use super::link::{Link, LinkClass, Pair};
use super::{DeviceId, DeviceSet};
use crate::error::{Error, ErrorKind};
use crate::view::View;

/// A vertex of the [`HardwareGraph`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Device {
    /// Its name in the machine's description.
    pub name: String,
    /// The vendor's number, where it is not the device id.
    pub index: Option<u32>,
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
}

/// A machine: its devices and what joins every two of them.
///
/// Memory is O(n²) for n devices. Made by [`Fabric::lower`].
#[derive(Clone, Debug)]
pub struct HardwareGraph {
    devices: Vec<Device>,
    /// n x n, symmetric, the diagonal empty.
    pairs: Vec<Pair>,
    neighbours: Vec<DeviceSet>,
    host: Region,
    fingerprint: u64,
    fabric: Fabric,
}

impl HardwareGraph {
    pub(super) fn new(devices: Vec<Device>, pairs: Vec<Pair>, fabric: Fabric) -> Self {
        let n = devices.len();
        let joined = |row: &[Pair]| {
            let there = (0u32..).zip(row).filter(|(_, pair)| pair.best().exists());
            there.map(|(id, _)| DeviceId(id)).collect()
        };
        let neighbours = pairs.chunks(n).map(joined).collect();
        let host = Region::new(n, |a, b| pairs[a.index() * n + b.index()].host.class);
        let fingerprint = fingerprint(&devices, &pairs);
        Self { neighbours, host, fingerprint, devices, pairs, fabric }
    }

    /// How many devices it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Never: a machine has at least one device.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// All devices.
    #[must_use]
    pub fn all(&self) -> DeviceSet {
        DeviceSet::first_n(self.len())
    }

    /// The devices in id order.
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

    /// All that joins two devices; nothing on the diagonal.
    ///
    /// # Panics
    /// If an id is not below [`HardwareGraph::len`], as an index would.
    #[must_use]
    pub fn pair(&self, a: DeviceId, b: DeviceId) -> Pair {
        self.pairs[a.index() * self.len() + b.index()]
    }

    /// The best link between two devices: the label w(e) of the paper's hardware graph.
    ///
    /// # Panics
    /// As [`HardwareGraph::pair`].
    #[must_use]
    pub fn link(&self, a: DeviceId, b: DeviceId) -> Link {
        self.pair(a, b).best()
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
        let ids: smallvec::SmallVec<[DeviceId; 16]> = set.iter().collect();
        let mut sum = 0.0;
        for (i, &a) in ids.iter().enumerate() {
            for &b in &ids[i + 1..] {
                let link = self.link(a, b);
                if count(link) {
                    sum += link.gbps;
                }
            }
        }
        sum
    }

    /// The host tree: the whole machine at its root.
    #[must_use]
    pub fn host_tree(&self) -> &Region {
        &self.host
    }

    /// The sets of devices on one NUMA node, by number; devices whose node is unknown are in none.
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

fn fingerprint(devices: &[Device], pairs: &[Pair]) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let mut link = |link: Link| {
        let class = match link.class {
            LinkClass::Direct(n) => 1000 + u64::from(n),
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
        // Little-endian bytes by hand: `Hash` for integers follows the platform's byte order.
        hash.write(&class.to_le_bytes());
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
        for text in [Some(&device.name), device.uuid.as_ref(), device.pci.as_ref()] {
            hash.write(text.map_or("", String::as_str).as_bytes());
            hash.write(&[0]);
        }
    }
    hash.finish()
}

/// Two graphs are equal if their devices and pairs are.
impl PartialEq for HardwareGraph {
    fn eq(&self, other: &Self) -> bool {
        self.devices == other.devices && self.pairs == other.pairs
    }
}

impl Hash for HardwareGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}
