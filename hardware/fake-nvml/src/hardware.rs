//! A machine as NVML tells of it: everything that does not change while it runs.
//!
//! What a client of NVML cannot do without, and a machine file may leave open, is made up: a device's
//! name, UUID, PCI address, memory and CPUs. The README lists what is made up, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use mapa_core::{
    DeviceId, FabricWire, HardwareGraph, Link, LinkClass, NodeId, NodeKind, PeerSource, mig::Model,
};
use mapa_topologies::mig::{Gpu as MigGpu, Offer};
use mapa_topologies::{
    Machine, know_links, link_speeds, named, number_list, pci_address, pcie_words, read,
};

use crate::error::Error;
use crate::product::ProductKind;

/// The memory of a device of which nothing else is known.
const MADE_UP_MEMORY: u64 = 16 << 30;

/// The CPUs of each NUMA node, which no machine file counts.
const MADE_UP_CPUS: u32 = 16;

/// A machine as NVML tells of it.
pub(crate) struct Hardware {
    /// The machine's name.
    pub(crate) name: String,
    /// The version of the driver.
    pub(crate) driver: String,
    pub(crate) gpus: Vec<FakeGpu>,
    /// The classes of host paths, row by row; none where no host joins two devices.
    ancestors: Vec<LinkClass>,
    /// Whether one device may read another's memory, row by row.
    peers: Vec<PeerReach>,
}

/// One GPU.
pub(crate) struct FakeGpu {
    pub(crate) kind: ProductKind,
    pub(crate) product: String,
    pub(crate) uuid: String,
    pub(crate) pci: Pci,
    pub(crate) memory_bytes: u64,
    pub(crate) numa: Option<u32>,
    /// The CPUs near it.
    pub(crate) cpus: BTreeSet<u32>,
    /// Generation and lanes of its PCIe slot.
    pub(crate) pcie: Option<(u32, u32)>,
    /// Its NVLinks, by number.
    pub(crate) links: Vec<FakeNvLink>,
    /// NVML's number of its NVLinks' version.
    pub(crate) link_version: Option<u32>,
    pub(crate) mig: Option<Arc<MigTable>>,
}

/// A PCI address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pci {
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
    pub(crate) function: u32,
}

/// One end of an NVLink.
#[derive(Clone, Debug)]
pub(crate) struct FakeNvLink {
    pub(crate) end: NvLinkEnd,
    /// The rate that tools print, MB/s.
    pub(crate) mbps: u32,
}

/// What is at the other end of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NvLinkEnd {
    Gpu(usize),
    Switch(Pci),
}

/// Whether one device may read another's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PeerReach {
    Reached,
    /// The product does not do it.
    NotByProduct,
    /// The machine does not allow it.
    Off,
}

/// How a GPU can be partitioned. Hardware offers all profiles of its table, whatever a machine file
/// has jobs use.
pub(crate) struct MigTable {
    pub(crate) gpu: MigGpu,
    model: OnceLock<Result<Arc<Model>, String>>,
}

impl MigTable {
    fn new(gpu: MigGpu) -> Arc<Self> {
        Arc::new(Self {
            gpu,
            model: OnceLock::new(),
        })
    }

    /// The legal layouts, enumerated at the first question: most clients never ask.
    pub(crate) fn model(&self) -> Result<&Arc<Model>, Error> {
        let made = self.model.get_or_init(|| {
            self.gpu
                .model(Offer::ALL)
                .map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|error| Error::new(error.clone()))
    }
}

/// What a user may say of a machine beyond its file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras<'t> {
    /// The name of every device whose product is not known.
    pub(crate) product: Option<&'t str>,
    /// The table of MIG profiles of every device, or `none`.
    pub(crate) mig: Option<&'t str>,
    pub(crate) driver: Option<&'t str>,
}

impl Hardware {
    /// The machine with this name, or of this file.
    pub(crate) fn open(machine: &str, extras: &Extras<'_>) -> Result<Self, Error> {
        Self::new(machine_of(machine)?, extras)
    }

    fn new(mut machine: Machine, extras: &Extras<'_>) -> Result<Self, Error> {
        let wrong = |error: mapa_topologies::Error| Error::new(format!("machine: {error}"));
        if let Some(product) = extras.product {
            machine.fabric.set_products(product);
        }
        know_links(&mut machine).map_err(wrong)?;
        let tables = MigTables::new(&machine, extras)?;
        // Instances are vertices of the graph, and none of NVML's business.
        machine.fabric.set_mig(None);
        let graph = machine.graph().map_err(wrong)?;
        let links = DirectLinks::new(&machine, &graph);
        let ids: Vec<DeviceId> = graph.wholes().iter().collect();
        let cpus = cpus_of_nodes(&graph);
        let mut addresses = PciAddresses::new(&graph);
        let pcis: Vec<Pci> = ids.iter().map(|&id| addresses.of(&graph, id)).collect();
        let switches: Vec<Pci> = (0..links.switches).map(|_| addresses.fresh()).collect();
        let mut gpus = Vec::with_capacity(ids.len());
        for (at, &id) in ids.iter().enumerate() {
            let device = graph.device(id);
            let kind = ProductKind::of(device.product.as_deref(), &machine.title);
            let table = tables.of(at, &kind, device.memory_bytes)?;
            let memory = device.memory_bytes.unwrap_or_else(|| {
                let partitioned = table.as_ref().map(|table| table.gpu.memory_bytes());
                partitioned.unwrap_or(MADE_UP_MEMORY)
            });
            gpus.push(FakeGpu {
                product: (device.product.clone()).unwrap_or_else(|| kind.product(memory)),
                kind,
                uuid: (device.uuid.clone())
                    .unwrap_or_else(|| uuid("GPU", &machine.name, at as u64, 0)),
                pci: pcis[at].clone(),
                memory_bytes: memory,
                numa: device.numa,
                cpus: match links.cores.get(&at).and_then(|text| number_list(text)) {
                    Some(cpus) if !cpus.is_empty() => cpus,
                    _ => cpus.get(&device.numa).cloned().unwrap_or_default(),
                },
                pcie: links.slots.get(&at).copied().and_then(pcie_of),
                links: links.of(at, &switches),
                link_version: graph.link_generation().and_then(version_of_generation),
                mig: table,
            });
        }
        let pairs = || (ids.iter()).flat_map(|&a| ids.iter().map(move |&b| (a, b)));
        Ok(Self {
            name: machine.name.clone(),
            driver: extras.driver.unwrap_or("580.00.00").to_owned(),
            gpus,
            ancestors: pairs().map(|(a, b)| class_of(&graph, a, b)).collect(),
            peers: pairs().map(|(a, b)| peer_of(&graph, a, b)).collect(),
        })
    }

    /// The class of the host path between two devices; `SameDevice` for a device and itself.
    pub(crate) fn ancestor(&self, a: usize, b: usize) -> LinkClass {
        self.ancestors[a * self.gpus.len() + b]
    }

    pub(crate) fn peer(&self, a: usize, b: usize) -> PeerReach {
        self.peers[a * self.gpus.len() + b]
    }

    /// The device and link at the other end of a link, where that is a device: of the links between
    /// two devices, the first of one is the first of the other.
    pub(crate) fn other_end(&self, device: usize, link: usize) -> Option<(usize, usize)> {
        let links = &self.gpus[device].links;
        let NvLinkEnd::Gpu(other) = links.get(link)?.end else {
            return None;
        };
        let rank = links[..link]
            .iter()
            .filter(|nv_link| nv_link.end == NvLinkEnd::Gpu(other))
            .count();
        let theirs = self.gpus[other].links.iter().enumerate();
        let mut back = theirs.filter(|(_, nv_link)| nv_link.end == NvLinkEnd::Gpu(device));
        back.nth(rank).map(|(link, _)| (other, link))
    }

    /// The UUID of an instance of a device. `serial` is never used twice on one device.
    pub(crate) fn instance_uuid(&self, device: usize, serial: u32) -> String {
        uuid("MIG", &self.gpus[device].uuid, u64::from(serial), 1)
    }
}

/// The machine that a text names: a file of any kind that MAPA reads, or a name of the catalogue.
fn machine_of(text: &str) -> Result<Machine, Error> {
    let path = std::path::Path::new(text);
    // A name of the catalogue has neither.
    let is_path = text.contains('/') || text.ends_with(".toml");
    if !is_path && !path.is_file() {
        return named(text).map_err(|error| Error::new(format!("machine `{text}`: {error}")));
    }
    let wrong = |error: mapa_topologies::Error| Error::new(format!("{text}: {error}"));
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, &error))?;
    let dump = read(&bytes).map_err(wrong)?;
    dump.into_machine().map_err(wrong)
}

/// The MIG tables of a machine's devices.
struct MigTables {
    /// The table that the user names for all devices; none if the user says that there is none.
    all: Option<Option<Arc<MigTable>>>,
    /// The tables that the machine file names, by device.
    of_file: Vec<Option<Arc<MigTable>>>,
    /// The tables of products, by name.
    of_products: BTreeMap<&'static str, Arc<MigTable>>,
}

impl MigTables {
    fn new(machine: &Machine, extras: &Extras<'_>) -> Result<Self, Error> {
        let table = |name: &str| {
            let gpu = mapa_topologies::mig::named(name);
            gpu.map(MigTable::new)
                .map_err(|error| Error::new(format!("MIG table: {error}, or none")))
        };
        let all = match extras.mig {
            None => None,
            Some(name) if name.eq_ignore_ascii_case("none") => Some(None),
            Some(name) => Some(Some(table(name)?)),
        };
        let mut known: BTreeMap<String, Arc<MigTable>> = BTreeMap::new();
        let mut of_file = Vec::new();
        for (_, node) in machine.fabric.nodes() {
            let NodeKind::Device(info) = &node.kind else {
                continue;
            };
            let name = info.mig.as_ref().map(|model| model.name().to_owned());
            of_file.push(match name {
                Some(name) if known.contains_key(&name) => known.get(&name).cloned(),
                Some(name) => {
                    let made = table(&name)?;
                    known.insert(name, made.clone());
                    Some(made)
                }
                None => None,
            });
        }
        let of_products = mapa_topologies::mig::catalogue()
            .iter()
            .filter_map(|entry| Some((entry.name, MigTable::new(entry.gpu().ok()?))))
            .collect();
        Ok(Self {
            all,
            of_file,
            of_products,
        })
    }

    fn of(
        &self,
        device: usize,
        kind: &ProductKind,
        memory: Option<u64>,
    ) -> Result<Option<Arc<MigTable>>, Error> {
        if let Some(all) = &self.all {
            return Ok(all.clone());
        }
        if let Some(Some(table)) = self.of_file.get(device) {
            return Ok(Some(table.clone()));
        }
        let name = memory.and_then(|memory| kind.mig(memory));
        Ok(name.and_then(|name| self.of_products.get(name).cloned()))
    }
}

/// The direct links of a machine, and facts that its fabric has by device.
struct DirectLinks {
    /// By device: the links in order.
    of_device: Vec<Vec<(LinkTarget, u32)>>,
    switches: usize,
    slots: BTreeMap<usize, f64>,
    cores: BTreeMap<usize, String>,
}

/// The other end of a link, before switches have addresses.
#[derive(Clone, Copy)]
enum LinkTarget {
    Gpu(usize),
    Switch(usize),
}

impl DirectLinks {
    fn new(machine: &Machine, graph: &HardwareGraph) -> Self {
        let mut places: BTreeMap<NodeId, LinkTarget> = BTreeMap::new();
        let (mut slots, mut cores) = (BTreeMap::new(), BTreeMap::new());
        let (mut devices, mut switches) = (0, 0);
        for (id, node) in machine.fabric.nodes() {
            match node.kind {
                NodeKind::Device(_) => {
                    slots.extend(machine.fabric.slot_gbps(id).map(|gbps| (devices, gbps)));
                    let text = machine.fabric.cores(id);
                    cores.extend(text.map(|text| (devices, text.to_owned())));
                    places.insert(id, LinkTarget::Gpu(devices));
                    devices += 1;
                }
                NodeKind::LinkSwitch => {
                    places.insert(id, LinkTarget::Switch(switches));
                    switches += 1;
                }
                _ => {}
            }
        }
        let mut of_device = vec![Vec::new(); devices];
        for (a, b, wire) in machine.fabric.wires() {
            let FabricWire::Link(Link {
                class: LinkClass::Direct(n),
                gbps,
            }) = wire
            else {
                continue;
            };
            let mbps = printed_mbps(gbps / f64::from(n), graph.link_generation());
            for (from, to) in [(a, b), (b, a)] {
                if let (Some(LinkTarget::Gpu(from)), Some(&to)) =
                    (places.get(&from), places.get(&to))
                {
                    let bond = std::iter::repeat_n((to, mbps), usize::from(n));
                    of_device[*from].extend(bond);
                }
            }
        }
        Self {
            of_device,
            switches,
            slots,
            cores,
        }
    }

    fn of(&self, device: usize, switches: &[Pci]) -> Vec<FakeNvLink> {
        let end = |place: LinkTarget| match place {
            LinkTarget::Gpu(other) => NvLinkEnd::Gpu(other),
            LinkTarget::Switch(switch) => NvLinkEnd::Switch(switches[switch].clone()),
        };
        self.of_device[device]
            .iter()
            .map(|&(place, mbps)| FakeNvLink {
                end: end(place),
                mbps,
            })
            .collect()
    }
}

/// The rate that tools print for a link with this bandwidth, MB/s.
fn printed_mbps(gbps: f64, generation: Option<&str>) -> u32 {
    let row = link_speeds()
        .find(|speed| Some(speed.generation) == generation && (speed.gbps - gbps).abs() < 0.01);
    let printed = row.and_then(|row| row.printed.first().copied());
    (printed.unwrap_or(gbps) * 1000.0).round() as u32
}

/// NVML's number of a generation's version.
fn version_of_generation(generation: &str) -> Option<u32> {
    Some(match generation {
        "NVLink 1" => 1,
        "NVLink 2" => 2,
        "NVLink 3" => 4,
        "NVLink 3, bridge" => 5,
        "NVLink 4" => 6,
        "NVLink 5" => 7,
        _ => return None,
    })
}

/// Generation and lanes of a PCIe link of this bandwidth.
fn pcie_of(gbps: f64) -> Option<(u32, u32)> {
    let text = pcie_words(gbps)?;
    let (generation, lanes) = text.strip_prefix("Gen")?.split_once(" x")?;
    Some((generation.parse().ok()?, lanes.parse().ok()?))
}

/// Addresses of devices and switches: those that are known, and new ones beside them.
struct PciAddresses {
    used: BTreeSet<Pci>,
    next: u32,
}

impl PciAddresses {
    fn new(graph: &HardwareGraph) -> Self {
        let known = graph
            .devices()
            .iter()
            .filter_map(|device| device.pci.as_deref());
        Self {
            used: known.filter_map(Pci::parse).collect(),
            next: 0,
        }
    }

    fn of(&mut self, graph: &HardwareGraph, id: DeviceId) -> Pci {
        let known = graph.device(id).pci.as_deref().and_then(Pci::parse);
        known.unwrap_or_else(|| self.fresh())
    }

    fn fresh(&mut self) -> Pci {
        loop {
            // Bus 0 belongs to the host.
            let pci = Pci {
                domain: self.next / 224,
                bus: 0x10 + self.next % 224,
                device: 0,
                function: 0,
            };
            self.next += 1;
            if self.used.insert(pci.clone()) {
                return pci;
            }
        }
    }
}

impl Pci {
    /// Any spelling of an address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = pci_address(text)?;
        let (place, function) = text.split_once('.')?;
        let mut parts = place.split(':');
        let mut part = || u32::from_str_radix(parts.next()?, 16).ok();
        Some(Self {
            domain: part()?,
            bus: part()?,
            device: part()?,
            function: u32::from_str_radix(function, 16).ok()?,
        })
    }

    /// As NVML prints it: `00000000:1B:00.0`.
    pub(crate) fn text(&self) -> String {
        format!(
            "{:08X}:{:02X}:{:02X}.{:X}",
            self.domain, self.bus, self.device, self.function
        )
    }

    /// As NVML printed it before: `0000:1B:00.0`.
    pub(crate) fn legacy(&self) -> String {
        format!(
            "{:04X}:{:02X}:{:02X}.{:X}",
            self.domain & 0xffff,
            self.bus,
            self.device,
            self.function
        )
    }
}

fn class_of(graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> LinkClass {
    if a == b {
        LinkClass::SameDevice
    } else {
        graph.pair(a, b).host.class
    }
}

fn peer_of(graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> PeerReach {
    let access = graph.peer_access(a, b);
    // A guess is of the product and its PCIe. Links of its own it may use.
    match (access.on || a == b, access.source) {
        (true, _) => PeerReach::Reached,
        (false, PeerSource::Guessed) if graph.pair(a, b).direct.exists() => PeerReach::Reached,
        (false, PeerSource::Guessed) => PeerReach::NotByProduct,
        (false, _) => PeerReach::Off,
    }
}

/// The CPUs of each NUMA node: a block of its own for each, in the order of their numbers. Without
/// NUMA nodes all devices share one block.
fn cpus_of_nodes(graph: &HardwareGraph) -> BTreeMap<Option<u32>, BTreeSet<u32>> {
    let nodes: BTreeSet<Option<u32>> = graph.devices().iter().map(|device| device.numa).collect();
    (0..)
        .zip(nodes)
        .map(|(at, node)| (node, (at * MADE_UP_CPUS..(at + 1) * MADE_UP_CPUS).collect()))
        .collect()
}

/// A UUID that is always the same for the same words.
fn uuid(prefix: &str, of: &str, number: u64, salt: u64) -> String {
    let half = |salt: u64| {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.write(of.as_bytes());
        hash.write(&number.to_le_bytes());
        hash.write(&salt.to_le_bytes());
        hash.finish()
    };
    let mut hex = String::new();
    // The multiplication spreads what FNV leaves in the low bits.
    for part in [half(salt), half(salt + 2)] {
        let _ = write!(hex, "{:016x}", part.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    format!("{prefix}-{}", parts.join("-"))
}

/// FNV-1a: the same on every machine and in every release.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_identities_of_their_own() {
        let machine = Hardware::open("dgx-1v", &Extras::default()).unwrap();
        let uuids: BTreeSet<&str> = machine.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        let pcis: BTreeSet<&Pci> = machine.gpus.iter().map(|gpu| &gpu.pci).collect();
        assert_eq!((uuids.len(), pcis.len()), (8, 8));
        assert!(uuids.iter().all(|uuid| uuid.len() == 40), "{uuids:?}");
    }
}
