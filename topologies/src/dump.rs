//! What one dump says of a machine, and what it leaves open.
//!
//! Few dumps say everything: `nvidia-smi nvlink -s` knows speeds and no peers, `hwloc` the host and often no NVLink,
//! `nvidia-smi -L` nothing but names. So a reader gives the machine as far as it can be told, says which of its parts
//! are told rather than assumed, and keeps beside it what a [`Fabric`](mapa_core::Fabric) has no place for. A
//! [`Dump`] that says enough becomes a [`Machine`] by itself; several are [merged](crate::merge).

use std::fmt;

use mapa_core::mig::{Instance, Layout, ProfileId};
use mapa_core::{DeviceId, LinkClass, NodeId, NodeKind};

use crate::error::{Error, ErrorKind};
use crate::links::ASSUMED_HOST_GBPS;
use crate::machine::Machine;
use crate::readers::Kind;

/// What one dump says of a machine.
///
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
    /// What it was recognised as.
    pub kind: Kind,
    /// Devices, host and links as far as they are told; what was odd about the text.
    pub machine: Machine,
    /// Which of these are told.
    pub says: Says,
    /// The direct links of devices, one by one.
    pub ports: Vec<Port>,
    /// Whether devices can reach each other's memory.
    pub peer_access: Vec<PeerAccess>,
    /// The MIG instances that exist.
    pub mig_instances: Vec<MigInstance>,
    /// The MIG profiles that devices offer.
    pub mig_profiles: Vec<MigProfile>,
    /// The rings and trees that a communication library laid on the machine.
    pub channels: Vec<Channel>,
}

impl Dump {
    pub(crate) fn new(kind: Kind, machine: Machine, says: Says) -> Self {
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

    /// How devices are cut up at the moment: those of which it is told how they can be, which instances exist, and
    /// where each begins. Of what is known by UUIDs alone, nothing follows.
    ///
    /// # Errors
    /// Instances that cannot exist on the device that is said to have them; the message names it.
    pub fn layouts(&self) -> Result<Vec<(DeviceId, Layout)>, Error> {
        let infos = self.machine.fabric.nodes().filter_map(|(_, node)| match &node.kind {
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
            let Some(model) = info.mig.as_ref().filter(|_| !own.is_empty()) else { continue };
            let wrong = |what: String| Error::new(format!("{name}: {what}"));
            let instance = |mig: &MigInstance| {
                let profile = model.profiles().iter().position(|profile| profile.name == mig.profile);
                let start = mig.placement.map(|(start, _)| start);
                let found = profile.zip(start).map(|(id, start)| Instance { profile: ProfileId(id as u8), start });
                found.ok_or_else(|| wrong(format!("`{}` is no profile of {}", mig.profile, model.name())))
            };
            let instances = own.into_iter().map(instance).collect::<Result<Vec<_>, _>>()?;
            layouts.push((id, model.layout(&instances).map_err(|error| wrong(error.to_string()))?));
        }
        Ok(layouts)
    }

    /// The machine, if the dump says enough of it: which devices there are, and what joins them. Where it tells direct
    /// links and no paths through the host, those are assumed: within a NUMA node, or else between sockets.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`]: no devices, or neither direct links nor a host. The message says what is missing.
    pub fn into_machine(self) -> Result<Machine, Error> {
        let Self { kind, mut machine, says, ports, .. } = self;
        let devices = machine.fabric.device_count();
        let lacks = |what: String| Err(Error::of_kind(ErrorKind::Incomplete, what));
        if devices == 0 {
            return lacks(format!("{} names no devices", kind.name()));
        }
        let joined = says.direct || says.host > HostDetail::Numa;
        // One device that is all there is needs nothing to join it, unless it has links that go somewhere.
        if !(joined || devices == 1 && says.every_device && ports.is_empty()) {
            let (named, them) = if devices == 1 { ("one device", "it") } else { ("devices", "them") };
            let told = format!("{} names {named} but not what joins {them}", kind.name());
            return lacks(told + ": merge it with another dump of the machine, such as `nvidia-smi topo -m`");
        }
        if says.host < HostDetail::Classes {
            assume_host(&mut machine)?;
        }
        Ok(machine)
    }
}

/// A machine of which everything is known.
impl From<Machine> for Dump {
    fn from(machine: Machine) -> Self {
        let says =
            Says { every_device: true, direct: true, direct_gbps: true, host: HostDetail::Tree, host_gbps: true };
        Self::new(Kind::MachineFile, machine, says)
    }
}

/// Joins devices through the host where nothing says how.
pub(crate) fn assume_host(machine: &mut Machine) -> Result<(), Error> {
    assume_host_between(machine, |_, _| true)
}

/// The same for the pairs that are asked for.
pub(crate) fn assume_host_between(machine: &mut Machine, asked: impl Fn(usize, usize) -> bool) -> Result<(), Error> {
    let mut plain = machine.fabric.clone();
    plain.set_mig(None);
    let graph = plain.lower()?;
    let is_device = |node: &mapa_core::FabricNode| matches!(node.kind, NodeKind::Device(_));
    let nodes: Vec<NodeId> = machine.fabric.nodes().filter(|(_, node)| is_device(node)).map(|(id, _)| id).collect();
    let mut assumed = false;
    for (b, y) in graph.devices().iter().enumerate() {
        for (a, x) in graph.devices()[..b].iter().enumerate() {
            if asked(a, b) && !graph.pair(DeviceId(a as u32), DeviceId(b as u32)).host.exists() {
                let same = x.numa.is_some() && x.numa == y.numa;
                let class = if same { LinkClass::Node } else { LinkClass::Sys };
                machine.fabric.link(nodes[a], nodes[b], class, ASSUMED_HOST_GBPS)?;
                assumed = true;
            }
        }
    }
    if assumed {
        machine
            .notes
            .push("Paths through the host are assumed: NODE within a NUMA node, else SYS, 12 GB/s.".to_owned());
    }
    Ok(())
}

/// Which parts of a machine a dump tells, rather than assuming them or leaving them open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Says {
    /// That there are no devices but those it names.
    pub every_device: bool,
    /// Which devices are joined by direct links, and by how many.
    pub direct: bool,
    /// The bandwidth of direct links.
    pub direct_gbps: bool,
    /// How devices reach the host and, through it, each other.
    pub host: HostDetail,
    /// The bandwidth of paths through the host.
    pub host_gbps: bool,
}

/// How much a dump tells of the host; more detail is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostDetail {
    /// Nothing.
    #[default]
    Nothing,
    /// The NUMA nodes of devices.
    Numa,
    /// What class of path joins every two devices.
    Classes,
    /// Every switch and bridge between a device and its socket.
    Tree,
}

/// One direct link of a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Port {
    /// Whose it is, in its dump.
    pub device: DeviceId,
    /// Its number on that device.
    pub link: u32,
    /// Whether it is up; none if the dump does not say.
    pub active: Option<bool>,
    /// Its nominal bandwidth for data, GB/s per direction.
    pub gbps: Option<f64>,
    /// What is at its other end: the PCI address of a device or switch, and the number of the link there.
    pub remote: Option<(String, Option<u32>)>,
    /// Whether devices can reach each other through it.
    pub peer_to_peer: Option<bool>,
    /// Bytes sent and received over it so far.
    pub traffic: Option<Traffic>,
    /// What these bytes are, and on which lines they were read.
    pub counted: Option<Counted>,
}

impl Port {
    pub(crate) fn new(device: DeviceId, link: u32) -> Self {
        Self { device, link, active: None, gbps: None, remote: None, peer_to_peer: None, traffic: None, counted: None }
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

/// How the bytes of a link were counted, and where that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// Which of a link's counters.
    pub counter: Counter,
    /// The line that tells the bytes sent, counted from 1; none if they are not told.
    pub sent_line: Option<usize>,
    /// The line that tells the bytes received.
    pub received_line: Option<usize>,
}

/// The counters that a link has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// One of the two sets of `nvidia-smi nvlink -g`, 0 or 1; what they count is set with `-sc`.
    Set(u32),
    /// Payload: `-gt d`.
    Data,
    /// Payload and what the protocol adds to it: `-gt r`.
    Raw,
}

/// As it is printed: `Rx0`, `Data`, `Raw`.
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
    /// The device that reaches.
    pub from: DeviceId,
    /// The device that is reached.
    pub to: DeviceId,
    /// Whether it can, and if not, why not.
    pub status: PeerStatus,
    /// Whether it was asked of PCIe alone, or of atomics: such access may be denied where direct links give another.
    pub partial: bool,
}

impl PeerAccess {
    pub(crate) fn new(from: DeviceId, to: DeviceId, status: PeerStatus) -> Self {
        Self { from, to, status, partial: false }
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
    /// `GNS`: the GPU does not.
    GpuNotSupported,
    /// `TNS`: the topology does not.
    TopologyNotSupported,
    /// `NS`: not supported.
    NotSupported,
    /// `DR`: disabled in the driver's settings.
    Disabled,
    /// `U`: not known.
    Unknown,
}

impl PeerStatus {
    /// As `nvidia-smi` prints it.
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
    /// The device that it is a part of, in its dump.
    pub device: DeviceId,
    /// The name of its profile: `3g.20gb`.
    pub profile: String,
    /// The vendor's number of the profile.
    pub profile_id: Option<u32>,
    /// The vendor's number of the instance.
    pub instance_id: Option<u32>,
    /// The memory slice at which it begins, and how many it has.
    pub placement: Option<(u8, u8)>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
}

impl MigInstance {
    pub(crate) fn new(device: DeviceId, profile: impl Into<String>) -> Self {
        Self { device, profile: profile.into(), profile_id: None, instance_id: None, placement: None, uuid: None }
    }
}

/// A MIG profile that a device offers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MigProfile {
    /// The device that offers it, in its dump.
    pub device: DeviceId,
    /// The vendor's number of the profile.
    pub id: u32,
    /// Its name: `3g.20gb`.
    pub name: Option<String>,
    /// How many more of it could be created now, and how many on an idle device.
    pub free_of_total: Option<(u32, u32)>,
    /// Memory in GiB.
    pub memory_gib: Option<f64>,
    /// The memory slices at which it may begin, and how many it takes.
    pub placements: Option<(Vec<u8>, u8)>,
}

impl MigProfile {
    pub(crate) fn new(device: DeviceId, id: u32) -> Self {
        Self { device, id, name: None, free_of_total: None, memory_gib: None, placements: None }
    }
}

/// One path that a communication library laid through all devices of a machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Channel {
    /// The search that found it: NCCL has one a pattern.
    pub graph: u32,
    /// Ring, tree and so on, by the library's number.
    pub pattern: u32,
    /// The devices in order, by the library's numbers.
    pub devices: Vec<u32>,
    /// The network cards at its ends, by the library's numbers.
    pub cards: Vec<u32>,
    /// The bandwidth inside the machine that it was found for, GB/s.
    pub intra_gbps: f64,
    /// The bandwidth between machines that it was found for, GB/s.
    pub inter_gbps: f64,
}
