//! The contents of one dump: the facts about a machine that it gives, and those that it lacks.
//!
//! Few dumps are complete: `nvidia-smi nvlink -s` has speeds but no peers, `hwloc` has the host but
//! often no NVLink, and `nvidia-smi -L` has only names. So a reader returns the machine as far as
//! the dump describes it, and a list of the parts that are given rather than assumed ([`Says`]). It
//! also returns the facts that a [`Fabric`](mapa_core::Fabric) cannot hold. One [`Dump`] that is
//! complete enough becomes a [`Machine`]; several are [merged](crate::merge).

use std::collections::BTreeMap;
use std::fmt;

use mapa_core::mig::{Instance, Layout, Model};
use mapa_core::{DeviceId, FabricWire, HostRates, Link, LinkClass, NodeId, NodeKind, PeerSource};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::facts::know_links;
use crate::host_paths::{assume_host_of_one, assume_host_paths};
use crate::kind::Kind;
use crate::link_generation::link_generation;
use crate::links::ASSUMED_DIRECT_GBPS;
use crate::links_down::{ListedLink, note_links_down};
use crate::machine::{Machine, Warning};
use crate::mig;
use crate::products::{self, DirectLinks, vendor_of_devices};
use crate::vendor::Vendor;

/// The facts about a machine that one dump gives.
///
/// # Examples
/// ```
/// use mapa_topologies::{Kind, read};
///
/// let dump = read(b"GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-01a2)\nGPU 1: Tesla V100-SXM2-16GB (UUID: GPU-01a3)")?;
/// assert_eq!(dump.kind, Kind::NvidiaSmiList);
/// assert_eq!(dump.machine.fabric.device_count(), 2);
/// assert!(dump.into_machine().is_err()); // names, but nothing of what joins them
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dump {
    /// The kind of dump.
    pub kind: Kind,
    /// Devices, host and links, as far as the dump gives them, and warnings about odd text.
    pub machine: Machine,
    /// The parts of the machine that the dump gives.
    pub says: Says,
    /// The direct links of devices, one by one.
    pub ports: Vec<Port>,
    /// Whether devices can reach each other's memory.
    pub peer_access: Vec<PeerAccess>,
    /// The MIG instances that exist.
    pub mig_instances: Vec<MigInstance>,
    /// The MIG profiles that devices offer.
    pub mig_profiles: Vec<MigProfile>,
    /// The rings and trees that a communication library found on the machine.
    pub channels: Vec<Channel>,
}

impl Dump {
    pub(crate) fn new(kind: Kind, mut machine: Machine, says: Says) -> Self {
        machine.vendor = machine
            .vendor
            .or_else(|| vendor_of_devices(&machine.fabric));
        Self {
            kind,
            machine,
            says,
            ports: Vec::new(),
            peer_access: Vec::new(),
            mig_instances: Vec::new(),
            mig_profiles: Vec::new(),
            channels: Vec::new(),
        }
    }

    /// Names the product of every device that has none, and takes the rate of direct links from it, unless the dump gives
    /// that.
    ///
    /// # Examples
    /// ```
    /// let mut dump = mapa_topologies::read(b"\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n")?;
    /// dump.name_products("NVIDIA GeForce RTX 3090")?;
    /// let machine = dump.into_machine()?;
    /// assert_eq!(mapa_topologies::link_generation(&machine), Some("NVLink 3, bridge"));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    ///
    /// # Errors
    /// The name is not one of [`products`], or the dump contradicts it: another vendor, or more direct links between two
    /// devices than the product has.
    pub fn name_products(&mut self, name: &str) -> Result<(), Error> {
        let Some(product) = products::product(name) else {
            return Err(Error::new(format!(
                "{name:?} is no product that is known: expected one of docs/products.md, such as \"NVIDIA GeForce RTX 3090\""
            )));
        };
        if let Some(vendor) = self
            .machine
            .vendor
            .filter(|vendor| *vendor != product.vendor)
        {
            return Err(Error::new(format!(
                "{name:?} is of another vendor than the text: expected a product of {vendor}"
            )));
        }
        let most = match product.links() {
            DirectLinks::Unknown => None,
            DirectLinks::Without => Some(0),
            DirectLinks::With(links) => links.count,
        };
        let wired = self
            .machine
            .fabric
            .wires()
            .filter_map(|(.., wire)| match wire {
                FabricWire::Link(Link {
                    class: LinkClass::Direct(count),
                    ..
                }) => Some(count),
                _ => None,
            });
        if let Some((most, wired)) = most.zip(wired.max()).filter(|(most, wired)| wired > most) {
            return Err(Error::new(format!(
                "{name:?} has {most} direct links, and the text has {wired} between two devices: expected another product"
            )));
        }
        self.machine.fabric.set_products(name);
        self.machine.vendor = (self.machine.vendor).or_else(|| products::vendor(name));
        if let Some(links) = products::links(name).filter(|_| !self.says.direct_gbps) {
            self.machine.tell_link_gbps(links.gbps_per_link)?;
            self.says.direct_gbps = self.says.direct;
        }
        Ok(())
    }

    /// Gives each device whose MIG instances are listed the profiles of its product, unless its profiles
    /// are known or its product has none of these names.
    ///
    /// # Errors
    /// None in practice: every device is one of this dump's.
    pub fn know_profiles(&mut self) -> Result<(), Error> {
        let devices = self.machine.fabric.nodes();
        let devices = devices.filter_map(|(node, it)| match &it.kind {
            NodeKind::Device(info) => Some((node, info)),
            _ => None,
        });
        let mut found = Vec::new();
        for (id, (node, info)) in (0u32..).map(DeviceId).zip(devices) {
            let listed = self.mig_instances.iter().filter(|mig| mig.device == id);
            let names: Vec<&str> = listed.map(|mig| mig.profile.as_str()).collect();
            let Some(product) = info.product.as_deref().filter(|_| !names.is_empty()) else {
                continue;
            };
            if info.mig.is_none()
                && let Some(model) = mig::model_of(product, info.memory_bytes, &names)
            {
                found.push((node, model));
            }
        }
        for (node, model) in found {
            self.machine.fabric.set_mig_of(node, &model)?;
        }
        Ok(())
    }

    /// The devices in MIG mode whose layout is not known: they have instances, and those are not among
    /// the vertices of the machine. Such a device is not a whole one.
    ///
    /// # Errors
    /// As [`Dump::layouts`].
    pub fn unknown_layouts(&self) -> Result<Vec<DeviceId>, Error> {
        let known = self.layouts()?;
        let mut partitioned: Vec<DeviceId> =
            self.mig_instances.iter().map(|mig| mig.device).collect();
        partitioned.sort_unstable();
        partitioned.dedup();
        partitioned.retain(|id| known.iter().all(|(known, _)| known != id));
        Ok(partitioned)
    }

    /// The current MIG layouts of devices. The dump must give the device's model and its instances. Where
    /// the starts of a device's instances are not given, as by `nvidia-smi -L`, they are taken from a
    /// layout that has these instances.
    ///
    /// # Errors
    /// Instances that cannot exist on their device; the message names the device.
    pub fn layouts(&self) -> Result<Vec<(DeviceId, Layout)>, Error> {
        let infos = self
            .machine
            .fabric
            .nodes()
            .filter_map(|(_, node)| match &node.kind {
                NodeKind::Device(info) => Some((node.name.as_str(), info)),
                _ => None,
            });
        let mut layouts = Vec::new();
        for (id, (name, info)) in (0u32..).map(DeviceId).zip(infos) {
            // A list of UUIDs may name the same instances again, without their places.
            let placed = |mig: &&MigInstance| mig.device == id && mig.placement.is_some();
            let mut own: Vec<&MigInstance> = self.mig_instances.iter().filter(placed).collect();
            own.sort_unstable_by_key(|mig| (mig.placement, &mig.profile));
            own.dedup_by_key(|mig| (mig.placement, &mig.profile));
            let Some(model) = info.mig.as_ref() else {
                continue;
            };
            if own.is_empty() {
                layouts.extend(self.fit(id, model).map(|layout| (id, layout)));
                continue;
            }
            let wrong = |what: String| Error::new(format!("{name}: {what}"));
            let instance = |mig: &MigInstance| {
                let profile = mig::profile_of(model, &mig.profile, mig.placement);
                let start = mig.placement.map(|(start, _)| start);
                let found = profile
                    .zip(start)
                    .map(|(profile, start)| Instance { profile, start });
                found.ok_or_else(|| {
                    let names = model.profiles().iter();
                    let names: Vec<&str> = names.map(|profile| profile.name.as_str()).collect();
                    wrong(format!(
                        "`{}` is no profile of {}: expected one of {}",
                        mig.profile,
                        model.name(),
                        names.join(", ")
                    ))
                })
            };
            let instances = own
                .into_iter()
                .map(instance)
                .collect::<Result<Vec<_>, _>>()?;
            layouts.push((
                id,
                model
                    .layout(&instances)
                    .map_err(|error| wrong(error.to_string()))?,
            ));
        }
        Ok(layouts)
    }

    /// A layout with the instances of a device that are listed without their starts.
    fn fit(&self, device: DeviceId, model: &Model) -> Option<Layout> {
        let listed = self.mig_instances.iter().filter(|mig| mig.device == device);
        let profiles = listed.map(|mig| mig::profile_of(model, &mig.profile, None));
        let profiles = profiles.collect::<Option<Vec<_>>>()?;
        model.fit(&profiles).filter(|_| !profiles.is_empty())
    }

    /// The machine, if the dump gives its devices and the links or paths between them. If the dump
    /// gives direct links but no paths through the host, the paths are
    /// [assumed](crate::assume_host_paths).
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`]: no devices, or neither direct links nor a host. The message says what is missing.
    pub fn into_machine(self) -> Result<Machine, Error> {
        let Self {
            kind,
            mut machine,
            says,
            ports,
            peer_access,
            ..
        } = self;
        let devices = machine.fabric.device_count();
        let lacks = |what: String| Err(Error::of_kind(ErrorKind::Incomplete, what));
        if devices == 0 {
            return lacks(format!("{} names no devices", kind.name()));
        }
        let joined = says.direct || says.host > HostDetail::Numa;
        // One device that is all there is needs nothing to join it, unless it has links that go
        // somewhere.
        if !(joined || devices == 1 && says.every_device && ports.is_empty()) {
            let (named, them) = if devices == 1 {
                ("one device", "it")
            } else {
                ("devices", "them")
            };
            return lacks(format!(
                "{} names {named} but not what joins {them}: merge it with another dump of the machine, such as {}",
                kind.name(),
                of_links(kind, machine.vendor)
            ));
        }
        if says.host < HostDetail::Classes {
            assume_host_paths(&mut machine)?;
        }
        state_peers(&mut machine, &peer_access)?;
        know_links(&mut machine)?;
        let listed: Vec<ListedLink> = ports
            .iter()
            .filter_map(|port| {
                Some(ListedLink {
                    device: port.device,
                    number: port.link,
                    is_up: port.active?,
                })
            })
            .collect();
        note_links_down(&mut machine, &listed)?;
        assume_host_of_one(&mut machine)?;
        if says.direct && !says.direct_gbps && link_generation(&machine).is_none() {
            machine.fabric.assume_link_gbps(Some(ASSUMED_DIRECT_GBPS));
        }
        if !says.host_gbps {
            let is_known = machine.fabric.nodes().all(|(id, node)| {
                !matches!(node.kind, NodeKind::Device(_)) || machine.fabric.slot_gbps(id).is_some()
            });
            let known = if is_known {
                HostRates::OfProducts
            } else {
                HostRates::Assumed
            };
            machine.fabric.set_host_rates(known);
        }
        Ok(machine)
    }
}

/// The output that has the links, of the vendor's own tool.
fn of_links(kind: Kind, vendor: Option<Vendor>) -> &'static str {
    match kind {
        // Each has options that print a part of it.
        Kind::AmdSmiTopology => "the whole `amd-smi topology`",
        Kind::RocmSmi => "the whole `rocm-smi --showtopo`",
        Kind::AmdSmiXgmi => "`amd-smi topology`",
        _ => Vendor::matrix_command(vendor),
    }
}

/// States for each pair whether its devices reach each other's memory. A pair of which one device
/// does not reach the other counts as one that does not.
fn state_peers(machine: &mut Machine, told: &[PeerAccess]) -> Result<(), Error> {
    let devices: Vec<NodeId> = machine
        .fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect();
    let mut ways: BTreeMap<(NodeId, NodeId), bool> = BTreeMap::new();
    let mut one_way: Vec<(NodeId, NodeId)> = Vec::new();
    for access in told.iter().filter(|access| access.is_telling()) {
        let ends = (devices.get(access.from.index())).zip(devices.get(access.to.index()));
        if let Some((&a, &b)) = ends.filter(|(a, b)| a != b) {
            let state = mapa_core::PeerAccess {
                on: access.status == PeerStatus::Ok,
                source: PeerSource::Told,
            };
            machine.fabric.set_peer_access(a, b, state)?;
            ways.insert((a, b), state.on);
            match ways.get(&(b, a)) {
                Some(&back) if back && !state.on => one_way.push((b, a)),
                Some(&back) if !back && state.on => one_way.push((a, b)),
                _ => {}
            }
        }
    }
    if let Some(&(a, b)) = one_way.first() {
        let [a, b] = [a, b].map(|id| machine.fabric.node(id).name.clone());
        let more = match one_way.len() {
            1 => String::new(),
            all => format!(", and {} further pairs alike", all - 1),
        };
        let what = format!(
            "peer access (P2P): {a} reaches {b}, but not the other way{more}; off is followed"
        );
        machine.warnings.push(Warning { line: None, what });
    }
    Ok(())
}

/// The dump of a completely known machine.
impl From<Machine> for Dump {
    fn from(machine: Machine) -> Self {
        let says = Says {
            every_device: true,
            direct: true,
            direct_gbps: true,
            host: HostDetail::Tree,
            host_gbps: true,
        };
        Self::new(Kind::MachineFile, machine, says)
    }
}

/// The parts of a machine that a dump gives. All other parts are assumed or missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Says {
    /// The full list of devices: the machine has no devices that the dump does not name.
    pub every_device: bool,
    /// The pairs of devices with direct links, and the number of links of each pair.
    pub direct: bool,
    /// The bandwidth of direct links.
    pub direct_gbps: bool,
    /// The paths from devices to the host and, through it, to each other.
    pub host: HostDetail,
    /// The bandwidth of paths through the host.
    pub host_gbps: bool,
}

/// The detail in which a dump describes the host. More detail compares as greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostDetail {
    /// Nothing.
    #[default]
    Nothing,
    /// The NUMA nodes of devices.
    Numa,
    /// The class of the path between any two devices.
    Classes,
    /// Every switch and bridge between a device and its socket.
    Tree,
}

/// One direct link of a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Port {
    /// The device that has the link, by its id in the dump.
    pub device: DeviceId,
    /// The link's number on that device.
    pub link: u32,
    /// Whether the link is up; `None` if the dump does not say.
    pub active: Option<bool>,
    /// The link's nominal bandwidth for data, GB/s per direction.
    pub gbps: Option<f64>,
    /// The link's other end: the PCI address of a device or switch, and the number of the link
    /// there.
    pub remote: Option<(String, Option<u32>)>,
    /// Whether the devices at both ends can access each other's memory over the link.
    pub peer_to_peer: Option<bool>,
    /// The bytes sent and received over the link so far.
    pub traffic: Option<Traffic>,
    /// The kind of counter of these bytes, and the lines of the dump that have them.
    pub counted: Option<Counted>,
}

impl Port {
    /// A link with a device and a number, and no other facts.
    #[must_use]
    pub fn new(device: DeviceId, link: u32) -> Self {
        Self {
            device,
            link,
            active: None,
            gbps: None,
            remote: None,
            peer_to_peer: None,
            traffic: None,
            counted: None,
        }
    }
}

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// The counter of a link's bytes, and the lines of the dump that have its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// Which of a link's counters.
    pub counter: Counter,
    /// The line with the bytes sent, counted from 1; none if the dump lacks them.
    pub sent_line: Option<usize>,
    /// The line with the bytes received, counted from 1; none if the dump lacks them.
    pub received_line: Option<usize>,
}

/// The counters that a link has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// One of the two sets of `nvidia-smi nvlink -g`, 0 or 1. The option `-sc` sets
    /// what they count.
    Set(u32),
    /// Payload: `-gt d`.
    Data,
    /// Payload and protocol overhead: `-gt r`.
    Raw,
}

/// The name that `nvidia-smi` prints: `Rx0`, `Data`, `Raw`.
impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(set) => write!(f, "Rx{set}"),
            Self::Data => f.write_str("Data"),
            Self::Raw => f.write_str("Raw"),
        }
    }
}

/// Whether one device can reach another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerAccess {
    /// The device that accesses the memory.
    pub from: DeviceId,
    /// The device whose memory is accessed.
    pub to: DeviceId,
    /// Whether access is possible, and if not, why not.
    pub status: PeerStatus,
    /// Whether the status concerns only PCIe, or only atomics. Such access may be denied although
    /// direct links allow other access.
    pub partial: bool,
    /// Whether the status concerns only direct links. Such access may be denied although PCIe allows
    /// it.
    pub by_links: bool,
}

impl PeerAccess {
    /// The status of every kind of access from one device to another.
    #[must_use]
    pub fn new(from: DeviceId, to: DeviceId, status: PeerStatus) -> Self {
        Self {
            from,
            to,
            status,
            partial: false,
            by_links: false,
        }
    }
}

impl PeerAccess {
    /// Whether the status says if one device reaches the other's memory at all.
    pub(crate) fn is_telling(&self) -> bool {
        let granted = self.status == PeerStatus::Ok;
        self.status != PeerStatus::Unknown && !self.partial && (granted || !self.by_links)
    }
}

/// The states of peer access, as `nvidia-smi topo -p2p` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerStatus {
    /// `OK`.
    Ok,
    /// `CNS`: the chipset does not support it.
    ChipsetNotSupported,
    /// `GNS`: the GPU does not support it.
    GpuNotSupported,
    /// `TNS`: the topology does not support it.
    TopologyNotSupported,
    /// `NS`: not supported.
    NotSupported,
    /// `DR`: disabled in the driver's settings.
    Disabled,
    /// `U`: not known.
    Unknown,
}

impl PeerStatus {
    /// The abbreviation that `nvidia-smi` prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::ChipsetNotSupported => "CNS",
            Self::GpuNotSupported => "GNS",
            Self::TopologyNotSupported => "TNS",
            Self::NotSupported => "NS",
            Self::Disabled => "DR",
            Self::Unknown => "U",
        }
    }
}

/// A MIG instance that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigInstance {
    /// The device of the instance, by its id in the dump.
    pub device: DeviceId,
    /// The name of the instance's profile: `3g.20gb`.
    pub profile: String,
    /// The vendor's number of the profile.
    pub profile_id: Option<u32>,
    /// The vendor's number of the instance.
    pub instance_id: Option<u32>,
    /// The first memory slice, and the number of memory slices.
    pub placement: Option<(u8, u8)>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
}

impl MigInstance {
    /// An instance with a device and a profile, and no other facts.
    #[must_use]
    pub fn new(device: DeviceId, profile: impl Into<String>) -> Self {
        Self {
            device,
            profile: profile.into(),
            profile_id: None,
            instance_id: None,
            placement: None,
            uuid: None,
        }
    }
}

/// A MIG profile that a device offers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MigProfile {
    /// The device that offers the profile, by its id in the dump.
    pub device: DeviceId,
    /// The vendor's number of the profile.
    pub id: u32,
    /// The name: `3g.20gb`.
    pub name: Option<String>,
    /// The number of instances that could be created now in addition, and the number on an idle
    /// device.
    pub free_of_total: Option<(u32, u32)>,
    /// The memory of an instance, GiB.
    pub memory_gib: Option<f64>,
    /// The memory slices at which an instance may begin, and the number of slices that it takes.
    pub placements: Option<(Vec<u8>, u8)>,
}

impl MigProfile {
    pub(crate) fn new(device: DeviceId, id: u32) -> Self {
        Self {
            device,
            id,
            name: None,
            free_of_total: None,
            memory_gib: None,
            placements: None,
        }
    }
}

/// A channel of a communication library: one path through all devices of a machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Channel {
    /// The number of the search that found the channel. NCCL makes one search for each pattern.
    pub graph: u32,
    /// The pattern (ring, tree and so on), by the library's number.
    pub pattern: u32,
    /// The devices in order, by the library's numbers.
    pub devices: Vec<u32>,
    /// The network cards at the ends of the path, by the library's numbers.
    pub cards: Vec<u32>,
    /// The bandwidth inside the machine that the search required, GB/s.
    pub intra_gbps: f64,
    /// The bandwidth between machines that the search required, GB/s.
    pub inter_gbps: f64,
}
