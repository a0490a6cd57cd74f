//! The answer of one source, and the result of discovery.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use mapa_core::{Device, DeviceId};
use mapa_topologies::{
    Dump, Machine, MigInstance, MigProfile, PeerAccess, Port, Says, pci_address,
};

use crate::error::Error;
use crate::source::{Attempt, Source};

/// A discovered machine, and the way in which it was discovered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Discovered {
    /// The machine, named after its host.
    pub machine: Machine,
    /// The parts of the machine that the source gives. All other parts are assumed.
    pub says: Says,
    /// The state that may change while the machine runs; `None` if the answer comes from the cache,
    /// which never keeps state.
    pub state: Option<RuntimeState>,
    /// The source that gave the machine.
    pub by: Source,
    /// The version of the source's driver, if it is known.
    pub driver: Option<String>,
    /// Whether the answer comes from the cache.
    pub cached: bool,
    /// The time at which the drivers were queried.
    pub at: SystemTime,
    /// The file in which the answer is kept. If `None` though a cache was given, the last of the
    /// machine's warnings says why.
    pub file: Option<PathBuf>,
    /// The sources that this call queried, in order; empty if the answer comes from the cache.
    pub tried: Vec<Attempt>,
    /// What a driver failed to answer that it may answer later: until then the machine may lack something.
    /// `None` if the answer comes from the cache, which keeps whole ones alone.
    pub unanswered: Option<String>,
    /// The links of each device by its id, as they were when the machine was described; never older than this
    /// call. Empty unless NVML describes the machine.
    pub links: Vec<LinkStatus>,
    /// The machine as if all direct links were up that were up before in this boot; `None` if none of them is down.
    pub intact: Option<Machine>,
}

/// The state that changes while a machine runs.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RuntimeState {
    /// The direct links of devices, one by one, also those that are down.
    pub ports: Vec<Port>,
    /// Whether devices can reach each other's memory.
    pub peer_access: Vec<PeerAccess>,
    /// The MIG instances that exist.
    pub mig_instances: Vec<MigInstance>,
    /// The MIG profiles that devices offer.
    pub mig_profiles: Vec<MigProfile>,
    /// The devices in MIG mode, whether or not they have instances. Only NVML says it.
    pub partitioned: Vec<DeviceId>,
}

/// The links of a device at one moment. Values that the driver does not report are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatus {
    /// Whether each direct link is up, by its number. On many boards some numbers lead nowhere and are never up.
    /// Empty of a device in MIG mode, whose links may be off without a fault: instances do not use them.
    pub direct: BTreeMap<u32, bool>,
    /// The lanes of the PCIe link.
    pub pcie_lanes: Option<PcieLevel>,
    /// The generation of the PCIe link. `None` while the device does not compute: an idle one lowers it to save
    /// power, so that the present number says nothing.
    pub pcie_generation: Option<PcieLevel>,
}

impl LinkStatus {
    /// Whether a machine with these links has the same paths as with the others. Direct links of which one of the two
    /// tells nothing count as the same; the generation of a PCIe link does not count: it is known only now and then.
    #[must_use]
    pub fn joins_as(&self, other: &Self) -> bool {
        let are_told = !self.direct.is_empty() && !other.direct.is_empty();
        (!are_told || self.direct == other.direct) && self.pcie_lanes == other.pcie_lanes
    }

    /// The number of direct links that are up.
    #[must_use]
    pub fn up(&self) -> u32 {
        // A device has a few dozen links.
        self.direct.values().filter(|up| **up).count() as u32
    }
}

/// A figure of a PCIe link, and the most that device and slot can have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PcieLevel {
    /// The present figure.
    pub now: u32,
    /// The most.
    pub most: u32,
}

impl PcieLevel {
    /// Whether the link has less than it can have.
    #[must_use]
    pub fn is_reduced(self) -> bool {
        self.now < self.most
    }
}

/// What the drivers say of this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverSnapshot {
    /// The processes that use devices.
    pub uses: Vec<DeviceProcess>,
    /// NVIDIA's devices, as NVML lists them; `None` if there is no NVML.
    pub devices: Option<Vec<DeviceStatus>>,
}

/// A device that NVML lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceStatus {
    /// The vendor's number of the device.
    pub index: u32,
    /// The vendor's UUID; `None` of a lost device.
    pub uuid: Option<String>,
    /// The PCI address; `None` of a lost device.
    pub pci: Option<String>,
    /// Whether it is in MIG mode.
    pub partitioned: bool,
    /// Whether it is lost: fallen off the bus, or in need of a reset before it does anything.
    pub lost: bool,
    /// What is wrong with it, in words: for people.
    pub trouble: Option<String>,
    /// Its links; `None` of a device that is lost, or that this user may not ask.
    pub links: Option<LinkStatus>,
}

impl DeviceStatus {
    /// Whether this is that device, to which the vendor gives that number.
    #[must_use]
    pub fn is(&self, device: &Device, index: u32) -> bool {
        is_same(&self.uuid, &self.pci, Some(self.index), device, index)
    }
}

/// A process that uses a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct DeviceProcess {
    /// The process id, in the PID namespace of this process where the driver translates it.
    pub pid: u32,
    /// The vendor's UUID of the device.
    pub uuid: Option<String>,
    /// The PCI address of the device.
    pub pci: Option<String>,
    /// The vendor's number of the device.
    pub index: Option<u32>,
    /// The vendor's number of the GPU instance, if the process uses no more of the device than that.
    pub instance: Option<u32>,
}

impl DeviceProcess {
    /// Whether this is a use of that device, to which the vendor gives that number.
    #[must_use]
    pub fn is_of(&self, device: &Device, index: u32) -> bool {
        is_same(&self.uuid, &self.pci, self.index, device, index)
    }
}

/// Whether two are the same device: by UUID, else by PCI address, else by number.
fn is_same(
    uuid: &Option<String>,
    pci: &Option<String>,
    index: Option<u32>,
    device: &Device,
    number: u32,
) -> bool {
    // The most lasting name that both have decides, even if another one contradicts it: numbers and
    // addresses are given again when devices come and go.
    if let (Some(reported), Some(other)) = (uuid, &device.uuid) {
        return reported.eq_ignore_ascii_case(other);
    }
    let address = |pci: &Option<String>| pci.as_deref().and_then(pci_address);
    if let (Some(reported), Some(other)) = (address(pci), address(&device.pci)) {
        return reported == other;
    }
    index == Some(number)
}

/// The answer of a source.
pub(crate) struct SourceResult {
    pub(crate) machine: Machine,
    pub(crate) says: Says,
    pub(crate) driver: Option<String>,
    pub(crate) state: RuntimeState,
    /// The first query that failed or timed out, and how. A later call may get its answer, so the
    /// present answer must not be kept.
    pub(crate) unanswered: Option<String>,
    /// The links of each device when it was asked.
    pub(crate) links: Vec<LinkStatus>,
    /// The machine with all links that were up before, if some are down.
    pub(crate) intact: Option<Machine>,
    /// The answers from which the machine follows with the present state of links, as the cache keeps them; `None` if
    /// the source tells nothing of that state.
    pub(crate) answers: Option<serde_json::Value>,
}

impl SourceResult {
    /// The machine of one dump, if the dump is complete enough.
    pub(crate) fn from_dump(dump: Dump) -> Result<Self, Error> {
        let state = RuntimeState {
            ports: dump.ports.clone(),
            peer_access: dump.peer_access.clone(),
            mig_instances: dump.mig_instances.clone(),
            mig_profiles: dump.mig_profiles.clone(),
            partitioned: Vec::new(),
        };
        let says = dump.says;
        Ok(Self {
            machine: dump.into_machine()?,
            says,
            driver: None,
            state,
            unanswered: None,
            links: Vec::new(),
            intact: None,
            answers: None,
        })
    }
}

/// Why a source gives no machine.
pub(crate) enum NoAnswer {
    /// The source does not exist on this system. A later call will not find it either.
    Absent(String),
    /// The source failed or timed out, or its answer is no machine. A later call may succeed.
    Failed(String),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<mapa_topologies::Error> for NoAnswer {
    fn from(error: mapa_topologies::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What a device measures at one moment, as its driver tells it.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GpuReading {
    pub(crate) index: u32,
    pub(crate) uuid: Option<String>,
    pub(crate) pci: Option<String>,
    /// What the driver says, if the device is lost.
    pub(crate) lost: Option<String>,
    pub(crate) sm_percent: Option<u32>,
    pub(crate) memory_percent: Option<u32>,
    pub(crate) pcie_receive_kb_s: Option<u32>,
    pub(crate) pcie_send_kb_s: Option<u32>,
    pub(crate) pcie_replays: Option<u32>,
    pub(crate) power_mw: Option<u32>,
    pub(crate) memory_used_bytes: Option<u64>,
    pub(crate) processes: Option<Vec<u32>>,
}
