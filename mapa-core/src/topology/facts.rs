//! What is known of a machine's links beside its wires: peer access, the speed of PCIe slots, the
//! generation of direct links, the cores near a device.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use super::device_set::DeviceSet;

/// Where a fact about peer access comes from. Ordered from the least to the most certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerSource {
    /// Nothing is known: peer access is assumed.
    #[default]
    Assumed,
    /// From the name of the product.
    Guessed,
    /// A description or a user says so.
    Told,
}

/// Whether two devices reach each other's memory (P2P). Without it, data between them goes through
/// the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerAccess {
    /// Whether they do.
    pub on: bool,
    /// How that is known.
    pub source: PeerSource,
}

impl Default for PeerAccess {
    /// Assumed to be on.
    fn default() -> Self {
        Self {
            on: true,
            source: PeerSource::Assumed,
        }
    }
}

/// How the bandwidth of paths through the host is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostRates {
    /// The machine's description has it.
    #[default]
    Told,
    /// It follows from the products of devices: each slot counts as having all lanes of its product.
    OfProducts,
    /// A default stands in for it.
    Assumed,
}

/// How many of its direct links a device uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinksUp {
    /// Those that are up.
    pub up: u32,
    /// All that it has.
    pub all: u32,
}

/// Facts of a fabric beside its wires.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FabricFacts {
    /// Of every pair that is not in `peers`.
    pub(super) peer: PeerAccess,
    /// By pair, the lower id first.
    pub(super) peers: BTreeMap<(u32, u32), PeerAccess>,
    /// By device, the nominal GB/s per direction of its way into the host.
    pub(super) slots: BTreeMap<u32, f64>,
    /// By device, the cores near it, as its description prints them.
    pub(super) cores: BTreeMap<u32, String>,
    /// The assumed rate of one direct link, GB/s per direction, if the description has none.
    pub(super) assumed_link_gbps: Option<f64>,
    /// By device, how many of its direct links are up, where some are down.
    pub(super) links_up: BTreeMap<u32, LinksUp>,
    /// Whether the machine is known to be a virtual one.
    pub(super) is_virtual: bool,
    /// How the bandwidth of paths through the host is known.
    pub(super) host_rates: HostRates,
    /// The generation of the direct links.
    pub(super) generation: Option<Arc<str>>,
    /// The only sets of devices that may be given, by size and then by ids; `None` for any.
    pub(super) offered: Option<Arc<[DeviceSet]>>,
}

impl FabricFacts {
    /// Whether two devices have equal facts, apart from peer access to each other.
    pub(super) fn alike(&self, a: usize, b: usize, devices: usize) -> bool {
        // Devices of which one may be given beside others, and the other not, are no twins. Telling
        // where they are would cost more than it saves.
        if self.offered.is_some() {
            return false;
        }
        let (a, b) = (a as u32, b as u32);
        let peers_alike = || {
            (0..devices as u32)
                .filter(|&c| c != a && c != b)
                .all(|c| self.peer(a, c) == self.peer(b, c))
        };
        self.slots.get(&a) == self.slots.get(&b)
            && self.cores.get(&a) == self.cores.get(&b)
            && (self.peers.is_empty() || peers_alike())
    }

    /// Adds to a fingerprint what neither devices nor links show. Speeds follow from these.
    pub(super) fn write(&self, hash: &mut impl Hasher) {
        let elsewhere = (!self.peer.on).then_some(((0, 0), &self.peer));
        let peers = self.peers.iter().map(|(&pair, access)| (pair, access));
        let differing = peers.filter(|(_, access)| access.on != self.peer.on);
        for ((a, b), access) in elsewhere.into_iter().chain(differing) {
            hash.write(&[a.to_le_bytes(), b.to_le_bytes()].concat());
            hash.write(&[u8::from(access.on)]);
        }
        for set in self.offered.iter().flat_map(|sets| sets.iter()) {
            hash.write(&[0xff]);
            set.iter().for_each(|id| hash.write(&id.0.to_le_bytes()));
        }
        for (device, cores) in &self.cores {
            hash.write(&device.to_le_bytes());
            hash.write(cores.as_bytes());
        }
    }

    pub(super) fn peer(&self, a: u32, b: u32) -> PeerAccess {
        let peer = self.peers.get(&(a.min(b), a.max(b)));
        peer.copied().unwrap_or(self.peer)
    }
}
