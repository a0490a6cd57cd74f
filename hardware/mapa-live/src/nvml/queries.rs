//! The queries to NVML.
//!
//! The library may be of any version or vendor. If it does not know a query, or does not answer it
//! for a device, only that fact stays unknown. Links are queried per device, with a few calls each,
//! not per pair.
//!
//! The kind of a link's other end has to be inferred, because the wrapper's `remote_device_type`
//! (0.13) drops the library's answer. In this order:
//!
//! 1. If a device of this machine has the end's PCI address, the end is that device.
//! 2. sysfs may know the class of the address.
//! 3. The library counts each device's links to switches
//!    (`NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT`, on which `nvidia-smi topo -m` relies), or says
//!    that two devices reach each other by NVLink though no link of theirs joins them.
//!
//! This distinguishes a switch from a device that is hidden from this process.
//!
//! The bandwidth of one link is, in this order: the rate that `nvidia-smi nvlink -s` prints, minus
//! the part that does not carry data; that of GPUs of this compute capability; that of the link's
//! version. The last is the least reliable: some drivers give Hopper's links the version of
//! Blackwell's.

use std::ffi::c_ulong;

use mapa_core::{DeviceId, LinkClass};
use mapa_topologies::{
    MigInstance, PeerAccess, PeerStatus, link_speeds, nvlink_gbps_of_printed, nvlink_gbps_of_sm,
    pci_address,
};
use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT,
};

use super::answer::{field, heed, note};
use super::links;
use super::machine::{Answers, DeviceAnswers, DirectLink, FarEnd};
use super::mig::{self, MOST_INSTANCES, is_partitioned};
use crate::found::NoAnswer;
use crate::host::HostFiles;

/// The number of words in the set of NUMA nodes that is queried: enough for all nodes that Linux
/// can have.
const NODE_WORDS: usize = 16;

/// All facts that the library gives about this machine.
///
/// # Complexity
/// O(n²) calls of the library for n devices.
pub(super) fn answers(nvml: &Nvml, host: &HostFiles<'_>) -> Result<Answers, NoAnswer> {
    let count = nvml
        .device_count()
        .map_err(|error| NoAnswer::Failed(format!("no count of devices: {error}")))?;
    let mut asked = QueriedDevices {
        answers: Answers {
            every_device: true,
            ..Answers::default()
        },
        devices: Vec::new(),
    };
    asked.answers.driver = heed(
        &mut asked.answers.failed,
        "driver",
        nvml.sys_driver_version(),
    );
    for index in 0..count.min(mapa_core::MAX_DEVICES as u32) {
        match nvml.device_by_index(index) {
            Ok(device) => {
                asked.devices.push(device);
                asked.answers.devices.push(DeviceAnswers {
                    index,
                    ..DeviceAnswers::default()
                });
            }
            Err(error) => {
                asked.answers.every_device = false;
                note(&mut asked.answers.failed, "devices", &error);
                asked
                    .answers
                    .warnings
                    .push(format!("GPU{index} is left out: {error}"));
            }
        }
    }
    asked.identities(host);
    asked.speeds();
    asked.links();
    asked.ends(host);
    asked.pairs();
    asked.instances();
    Ok(asked.answers)
}

/// The devices, and their answers so far, in the same order.
struct QueriedDevices<'n> {
    devices: Vec<Device<'n>>,
    answers: Answers,
}

impl QueriedDevices<'_> {
    /// The answer, if there is one. Records a missing answer for the machine's notes.
    fn told<T>(&mut self, what: &'static str, answer: Result<T, NvmlError>) -> Option<T> {
        if answer.is_err() && !self.answers.unsaid.iter().any(|known| known == what) {
            self.answers.unsaid.push(what.into());
        }
        heed(&mut self.answers.failed, what, answer)
    }

    /// Queries names, UUIDs, PCI addresses, memory and NUMA nodes.
    fn identities(&mut self, host: &HostFiles<'_>) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let (name, uuid, pci) = (device.name(), device.uuid(), device.pci_info());
            let (memory, nodes) = (device.memory_info(), device.memory_affinity(NODE_WORDS, 0));
            let name = self.told("products", name);
            let uuid = self.told("UUIDs", uuid);
            let pci = self
                .told("PCI addresses", pci)
                .and_then(|pci| pci_address(&pci.bus_id));
            let memory = self.told("memory", memory).map(|memory| memory.total);
            let node = nodes.as_deref().ok().and_then(only_node);
            let node = node.or_else(|| host.pci_numa(pci.as_deref()?));
            // A set of several nodes is an answer, but names no node.
            let why = nodes.err().unwrap_or(NvmlError::NotSupported);
            let node = self.told("NUMA nodes", node.ok_or(why));
            let info = &mut self.answers.devices[at].info;
            (info.product, info.uuid, info.pci) = (name, uuid, pci);
            (info.memory_bytes, info.numa) = (memory, node);
        }
    }

    /// Queries the bandwidth of each device's own connection to the host.
    fn speeds(&mut self) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let (generation, lanes) = (device.max_pcie_link_gen(), device.max_pcie_link_width());
            let answer = generation.and_then(|generation| Ok((generation, lanes?)));
            let (lanes, generation) = (links::lanes(device), links::generation(device));
            let answer = self.told("PCIe connections", answer);
            let device = &mut self.answers.devices[at];
            (device.pcie_lanes, device.pcie_generation) = (lanes, generation);
            device.pcie_gbps = answer.and_then(|(generation, lanes)| pcie_gbps(generation, lanes));
        }
    }

    /// Queries the direct links of devices, and the bandwidth of one link.
    fn links(&mut self) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let links = links_of(device, &mut self.answers.failed);
            let first = links
                .iter()
                .flatten()
                .find(|link| link.active)
                .map(|link| link.number);
            self.answers.devices[at].link_gbps =
                first.and_then(|link| link_gbps(device, link, &mut self.answers.failed));
            self.answers.devices[at].links = self.told("NVLinks", links);
        }
    }

    /// Infers the other ends of links.
    fn ends(&mut self, host: &HostFiles<'_>) {
        let addresses: Vec<Option<String>> = self
            .answers
            .devices
            .iter()
            .map(|answer| answer.info.pci.clone())
            .collect();
        for answer in &mut self.answers.devices {
            for link in answer.links.iter_mut().flatten() {
                let Some(remote) = link.remote.as_deref().filter(|_| link.active) else {
                    continue;
                };
                let device = addresses
                    .iter()
                    .position(|address| address.as_deref() == Some(remote));
                link.end = match device {
                    Some(device) => FarEnd::Device(device),
                    None => host.pci_class(remote).map_or(FarEnd::Unknown, end_of_class),
                };
            }
        }
        // The other ends that are still unknown are no devices of this machine, and sysfs does not
        // know their class. On a device that is joined to switches they count as switches.
        for at in 0..self.devices.len() {
            if self.answers.devices[at].count(FarEnd::Unknown) == 0 || !self.is_switched(at) {
                continue;
            }
            for link in self.answers.devices[at].links.iter_mut().flatten() {
                if link.end == FarEnd::Unknown {
                    link.end = FarEnd::Switch;
                }
            }
        }
        for answer in &self.answers.devices {
            for (end, what) in [
                (
                    FarEnd::Hidden,
                    "lead to devices that are not visible here: left out",
                ),
                (
                    FarEnd::Host,
                    "lead to the host: they are counted as its path",
                ),
                (FarEnd::Unknown, "have an unknown other end: left out"),
            ] {
                let links = answer.count(end);
                if links > 0 {
                    self.answers
                        .warnings
                        .push(format!("GPU{}: {links} active links {what}", answer.index));
                }
            }
        }
    }

    /// Whether a device is joined to switches: the library counts links to them, or the device
    /// reaches another by NVLink without a link between the two.
    fn is_switched(&mut self, at: usize) -> bool {
        let device = &self.devices[at];
        let links = field(
            device,
            NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT,
            &mut self.answers.failed,
        );
        links.is_some_and(|links| links > 0)
            || (0..self.devices.len()).any(|other| {
                other != at
                    && self.answers.devices[at].count(FarEnd::Device(other)) == 0
                    && matches!(
                        device.p2p_status(&self.devices[other], P2pCapabilitiesIndex::NvLink),
                        Ok(P2pStatus::Ok)
                    )
            })
    }

    /// Queries the class of the host path between each two devices, and their peer access.
    fn pairs(&mut self) {
        for b in 0..self.devices.len() {
            for a in 0..b {
                let (first, second) = (&self.devices[a], &self.devices[b]);
                let level = first.nvml().topology_common_ancestor(first, second);
                if let Some(level) = self.told("what joins devices through the host", level) {
                    self.answers.ancestors.push((a, b, class_of(level)));
                }
            }
        }
        for a in 0..self.devices.len() {
            for b in (0..self.devices.len()).filter(|&b| b != a) {
                let status =
                    self.devices[a].p2p_status(&self.devices[b], P2pCapabilitiesIndex::Read);
                if let Some(status) = self.told("peer access", status) {
                    let (from, to) = (DeviceId(a as u32), DeviceId(b as u32));
                    self.answers
                        .peer_access
                        .push(PeerAccess::new(from, to, peer_status(status)));
                }
            }
        }
    }

    /// Queries the MIG instances of partitioned devices. Most devices cannot be partitioned, and
    /// old libraries do not know MIG, so a missing answer is not recorded.
    fn instances(&mut self) {
        for (id, device) in self.devices.iter().enumerate() {
            if !is_partitioned(device) {
                continue;
            }
            self.answers.partitioned.push(DeviceId(id as u32));
            self.answers.devices[id].is_partitioned = true;
            for slot in 0..device
                .mig_device_count()
                .unwrap_or_default()
                .min(MOST_INSTANCES)
            {
                // Numbers of instances have gaps.
                let Ok(instance) = device.mig_device_by_index(slot) else {
                    continue;
                };
                let Some(profile) = profile_of(&instance) else {
                    let index = self.answers.devices[id].index;
                    self.answers.warnings.push(format!(
                        "GPU{index}: MIG device {slot} has no profile: left out"
                    ));
                    continue;
                };
                let mut told = MigInstance::new(DeviceId(id as u32), profile);
                told.uuid = instance.uuid().ok();
                told.instance_id = mig::instance_of(&instance).ok();
                // Drivers report only to privileged users where an instance lies.
                let place = told
                    .instance_id
                    .and_then(|instance_id| mig::place(device, instance_id).ok());
                told.profile_id = place.as_ref().map(|place| place.profile);
                told.placement = place.map(|place| place.slices);
                self.answers.mig_instances.push(told);
            }
        }
    }
}

/// The NUMA node of a set of exactly one, given as words of bits.
fn only_node(words: &[c_ulong]) -> Option<u32> {
    let mut nodes = (0u32..).zip(words).filter(|(_, word)| **word != 0);
    let (at, word) = nodes.next()?;
    (nodes.next().is_none() && word.is_power_of_two())
        .then(|| at * c_ulong::BITS + word.trailing_zeros())
}

/// The links of a device, with the other ends of those that are up.
fn links_of(
    device: &Device<'_>,
    failed: &mut Option<String>,
) -> Result<Vec<DirectLink>, NvmlError> {
    let links = links::direct(device)?.into_iter().map(|(number, active)| {
        let link = device.link_wrapper_for(number);
        let remote = active
            .then(|| heed(failed, "ends of links", link.remote_pci_info()))
            .flatten();
        DirectLink {
            number,
            active,
            remote: remote.and_then(|remote| pci_address(&remote.bus_id)),
            end: FarEnd::Unknown,
        }
    });
    Ok(links.collect())
}

/// GB/s per direction of one link: the first of the printed rate, the figure for the GPU's compute
/// capability, and the figure for the link's version.
fn link_gbps(device: &Device<'_>, link: u32, failed: &mut Option<String>) -> Option<f64> {
    field(device, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, failed)
        .filter(|&mbps| mbps > 0)
        .map(|mbps| nvlink_gbps_of_printed(f64::from(mbps) / 1000.0))
        .or_else(|| link_gbps_of_capability(device))
        .or_else(|| link_gbps_of_version(device, link))
}

fn link_gbps_of_capability(device: &Device<'_>) -> Option<f64> {
    let capability = device.cuda_compute_capability().ok()?;
    let sm = u32::try_from(capability.major * 10 + capability.minor).ok()?;
    nvlink_gbps_of_sm(sm)
}

fn link_gbps_of_version(device: &Device<'_>, link: u32) -> Option<f64> {
    // The driver numbers the versions 1.0, 2.0, 2.2, 3.0, 3.1, 4.0 and 5.0 (`ctrl2080nvlink.h` of
    // its open kernel modules).
    let generation = match device.link_wrapper_for(link).version().ok()? {
        1 => "NVLink 1",
        2 | 3 => "NVLink 2",
        4 => "NVLink 3",
        5 => "NVLink 3, bridge",
        6 => "NVLink 4",
        7 => "NVLink 5",
        _ => return None,
    };
    link_speeds()
        .find(|speed| speed.generation == generation)
        .map(|speed| speed.gbps)
}

/// The other end of an NVLink, from its PCI class. Switches and POWER's bridges have the class
/// "other bridge" (0x0680), GPUs have a display class (0x03).
fn end_of_class(class: u32) -> FarEnd {
    match (class >> 16, class) {
        (_, 0x06_80_01) => FarEnd::Host,
        (0x06, _) => FarEnd::Switch,
        (0x03, _) => FarEnd::Hidden,
        _ => FarEnd::Unknown,
    }
}

fn class_of(level: TopologyLevel) -> LinkClass {
    match level {
        TopologyLevel::Internal => LinkClass::Board,
        TopologyLevel::Single => LinkClass::Pix,
        TopologyLevel::Multiple => LinkClass::Pxb,
        TopologyLevel::HostBridge => LinkClass::Phb,
        TopologyLevel::Node => LinkClass::Node,
        TopologyLevel::System => LinkClass::Sys,
    }
}

fn peer_status(status: P2pStatus) -> PeerStatus {
    match status {
        P2pStatus::Ok => PeerStatus::Ok,
        P2pStatus::ChipsetNotSupported => PeerStatus::ChipsetNotSupported,
        P2pStatus::GpuNotSupported => PeerStatus::GpuNotSupported,
        P2pStatus::IohTopologyNotSupported => PeerStatus::TopologyNotSupported,
        P2pStatus::DisabledByRegkey => PeerStatus::Disabled,
        P2pStatus::NotSupported => PeerStatus::NotSupported,
        P2pStatus::Unknown => PeerStatus::Unknown,
    }
}

/// GB/s per direction of `lanes` lanes of a PCIe generation.
fn pcie_gbps(generation: u32, lanes: u32) -> Option<f64> {
    let gt_per_s = match generation {
        1 => 2.5,
        2 => 5.0,
        3 => 8.0,
        4 => 16.0,
        5 => 32.0,
        6 => 64.0,
        _ => return None,
    };
    mapa_topologies::pcie_gbps(gt_per_s, lanes)
}

/// The profile of an instance: the part of its name after `MIG`, else a name made from its slices
/// and memory.
fn profile_of(instance: &Device<'_>) -> Option<String> {
    let name = instance.name().unwrap_or_default();
    if let Some((_, profile)) = name.split_once("MIG ")
        && !profile.trim().is_empty()
    {
        return Some(profile.trim().to_owned());
    }
    let attributes = instance.attributes().ok()?;
    let gigabytes = attributes.memory_size_mb.div_ceil(1024);
    let slices = attributes.gpu_instance_slice_count;
    Some(format!("{slices}g.{gigabytes}gb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_one_node_is_that_node() {
        assert_eq!(only_node(&[1 << 3, 0]), Some(3));
        assert_eq!(only_node(&[0, 1]), Some(c_ulong::BITS));
        assert_eq!(
            [
                only_node(&[]),
                only_node(&[0]),
                only_node(&[3]),
                only_node(&[1, 1])
            ],
            [None; 4]
        );
    }

    #[test]
    fn every_version_of_nvlink_and_pcie_has_a_speed() {
        assert!((1..=6).all(|generation| pcie_gbps(generation, 16).is_some()));
        assert_eq!(
            (pcie_gbps(0, 16), pcie_gbps(7, 16), pcie_gbps(3, 0)),
            (None, None, None)
        );
    }

    #[test]
    fn what_an_address_is_follows_from_its_class() {
        assert!(
            end_of_class(0x06_80_00) == FarEnd::Switch && end_of_class(0x06_80_01) == FarEnd::Host
        );
        assert!(
            end_of_class(0x03_02_00) == FarEnd::Hidden
                && end_of_class(0x03_00_00) == FarEnd::Hidden
        );
        assert!(end_of_class(0x02_00_00) == FarEnd::Unknown);
    }
}
