//! Asking NVIDIA's library.
//!
//! It is loaded when it is asked, and may be of any age or make: a question that it does not know, or does not answer for
//! this device, leaves a fact open and nothing else. Links are asked device by device, a few calls each, not pair by pair.
//!
//! What is at a link's other end is worked out, since the wrapper's `remote_device_type` (0.13) leaves out what the library
//! answers: a PCI address that a device here has is that device. Else sysfs may know the class of the address, if it is of
//! this machine. Else the library counts each device's links to switches (`NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT`,
//! which is what `nvidia-smi topo -m` goes by), or says that two devices reach each other by NVLink though no link of
//! theirs joins them. A device that is hidden from this process is so told from a switch.
//!
//! What one link carries is, in this order: the rate that `nvidia-smi nvlink -s` prints, less what is not for data; what
//! GPUs of this compute capability have; what the version of the link means. The last is least to be trusted: some drivers
//! give Hopper's links the version of Blackwell's.

use std::ffi::c_ulong;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use mapa_core::{DeviceId, LinkClass};
use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT,
};

use super::host::Host;
use super::nvml_machine::{Answer, Answers, DirectLink, End};
use super::{Found, Live, Silence};
use crate::dump::{MigInstance, PeerAccess, PeerStatus};
use crate::links;
use crate::pci;

/// Links of a device are asked up to this number: the library knows 18 a device, and may know more one day.
const MOST_LINKS: u32 = 36;

/// Words of NUMA nodes that are asked for: as many nodes as Linux can have.
const NODE_WORDS: usize = 16;

pub(super) fn ask(live: &Live) -> Result<Found, Silence> {
    let (sender, receiver) = mpsc::channel();
    let (library, root) = (live.nvml.clone(), live.root.clone());
    // A driver that hangs cannot be stopped, only left alone.
    thread::spawn(move || {
        let _ = sender.send(answers(&library, &Host::new(&root)));
    });
    let answers = receiver.recv_timeout(live.time_limit).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => Silence::Failed(format!("no answer within {:?}", live.time_limit)),
        mpsc::RecvTimeoutError::Disconnected => Silence::Failed("the library failed while it was asked".to_owned()),
    })?;
    Ok(answers?.found()?)
}

fn answers(library: &Path, host: &Host<'_>) -> Result<Answers, Silence> {
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init().map_err(|error| match error {
        NvmlError::LibloadingError(error) => not_loaded(&error.to_string()),
        error => Silence::Failed(error.to_string()),
    })?;
    let count = nvml.device_count().map_err(|error| Silence::Failed(format!("no count of devices: {error}")))?;
    let mut asked = Asked { answers: Answers { every_device: true, ..Answers::default() }, devices: Vec::new() };
    asked.answers.driver = heed(&mut asked.answers.failed, "driver", nvml.sys_driver_version());
    for index in 0..count.min(mapa_core::MAX_DEVICES as u32) {
        match nvml.device_by_index(index) {
            Ok(device) => {
                asked.devices.push(device);
                asked.answers.devices.push(Answer { index, ..Answer::default() });
            }
            Err(error) => {
                asked.answers.every_device = false;
                note(&mut asked.answers.failed, "devices", &error);
                asked.answers.warnings.push(format!("GPU{index} is left out: {error}"));
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

/// Only the loader knows where it looked; where it says otherwise, the library may be there.
fn not_loaded(said: &str) -> Silence {
    let what = format!("cannot be loaded: {said}");
    if said.contains("No such file or directory") { Silence::Absent(what) } else { Silence::Failed(what) }
}

/// Whether the answer would be the same if it was asked again: the library or the device does not know the question, or
/// this process may not ask it.
fn lasts(error: &NvmlError) -> bool {
    use NvmlError::{FailedToLoadSymbol, FunctionNotFound, InvalidArg, NoPermission, NotSupported};
    matches!(error, NotSupported | InvalidArg | NoPermission | FunctionNotFound | FailedToLoadSymbol(_))
}

/// Remembers the first failure that may pass.
fn note(failed: &mut Option<String>, what: &str, error: &NvmlError) {
    if !lasts(error) {
        failed.get_or_insert_with(|| format!("nvml: {what}: {error}"));
    }
}

/// The answer, if there is one.
fn heed<T>(failed: &mut Option<String>, what: &str, answer: Result<T, NvmlError>) -> Option<T> {
    answer.inspect_err(|error| note(failed, what, error)).ok()
}

/// The devices, and what they have answered so far, in the same order.
struct Asked<'n> {
    devices: Vec<Device<'n>>,
    answers: Answers,
}

impl Asked<'_> {
    /// The answer, if there is one; what is not answered is remembered.
    fn told<T>(&mut self, what: &'static str, answer: Result<T, NvmlError>) -> Option<T> {
        if answer.is_err() && !self.answers.unsaid.contains(&what) {
            self.answers.unsaid.push(what);
        }
        heed(&mut self.answers.failed, what, answer)
    }

    fn identities(&mut self, host: &Host<'_>) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let (name, uuid, pci) = (device.name(), device.uuid(), device.pci_info());
            let (memory, nodes) = (device.memory_info(), device.memory_affinity(NODE_WORDS, 0));
            let name = self.told("products", name);
            let uuid = self.told("UUIDs", uuid);
            let pci = self.told("PCI addresses", pci).and_then(|pci| pci::normal(&pci.bus_id));
            let memory = self.told("memory", memory).map(|memory| memory.total);
            let node = nodes.as_deref().ok().and_then(only_node);
            let node = node.or_else(|| host.pci_numa(pci.as_deref()?));
            // A set of several is an answer, and of no use.
            let why = nodes.err().unwrap_or(NvmlError::NotSupported);
            let node = self.told("NUMA nodes", node.ok_or(why));
            let info = &mut self.answers.devices[at].info;
            (info.product, info.uuid, info.pci) = (name, uuid, pci);
            (info.memory_bytes, info.numa) = (memory, node);
        }
    }

    fn speeds(&mut self) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let (generation, lanes) = (device.max_pcie_link_gen(), device.max_pcie_link_width());
            let answer = generation.and_then(|generation| Ok((generation, lanes?)));
            let answer = self.told("PCIe connections", answer);
            self.answers.devices[at].pcie_gbps = answer.and_then(|(generation, lanes)| pcie_gbps(generation, lanes));
        }
    }

    fn links(&mut self) {
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            let links = links_of(device, &mut self.answers.failed);
            let first = links.iter().flatten().find(|link| link.active).map(|link| link.number);
            self.answers.devices[at].link_gbps =
                first.and_then(|link| link_gbps(device, link, &mut self.answers.failed));
            self.answers.devices[at].links = self.told("NVLinks", links);
        }
    }

    /// What is at the other ends of links.
    fn ends(&mut self, host: &Host<'_>) {
        let addresses: Vec<Option<String>> =
            self.answers.devices.iter().map(|answer| answer.info.pci.clone()).collect();
        for at in 0..self.devices.len() {
            for link in self.answers.devices[at].links.iter_mut().flatten().filter(|link| link.active) {
                let Some(remote) = link.remote.as_deref() else { continue };
                let device = addresses.iter().position(|address| address.as_deref() == Some(remote));
                link.end = match device {
                    Some(device) => End::Device(device),
                    None => host.pci_class(remote).map_or(End::Unknown, end_of_class),
                };
            }
        }
        for at in 0..self.devices.len() {
            let mut failed = None;
            let links = || self.answers.devices[at].links.iter().flatten();
            if !links().any(|link| link.active && link.end == End::Unknown) {
                continue;
            }
            let switched = switched_links(&self.devices[at], &mut failed).is_some_and(|links| links > 0)
                || self.devices.iter().enumerate().any(|(other, device)| {
                    let direct = links().any(|link| link.active && link.end == End::Device(other));
                    let reach = || self.devices[at].p2p_status(device, P2pCapabilitiesIndex::NvLink);
                    other != at && !direct && matches!(reach(), Ok(P2pStatus::Ok))
                });
            self.answers.failed = self.answers.failed.take().or(failed);
            if switched {
                let links = self.answers.devices[at].links.iter_mut().flatten();
                links.filter(|link| link.end == End::Unknown).for_each(|link| link.end = End::Switch);
            }
        }
        for answer in &self.answers.devices {
            let count = |end| answer.links.iter().flatten().filter(|link| link.active && link.end == end).count();
            let mut warn = |links: usize, what: &str| {
                if links > 0 {
                    self.answers.warnings.push(format!("GPU{}: {links} active links {what}", answer.index));
                }
            };
            warn(count(End::Hidden), "lead to devices that are not visible here: left out");
            warn(count(End::Host), "lead to the host: they are counted as its path");
            warn(count(End::Unknown), "lead nobody knows where: left out");
        }
    }

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
                let status = self.devices[a].p2p_status(&self.devices[b], P2pCapabilitiesIndex::Read);
                if let Some(status) = self.told("peer access", status) {
                    let (from, to) = (DeviceId(a as u32), DeviceId(b as u32));
                    self.answers.peer_access.push(PeerAccess::new(from, to, peer_status(status)));
                }
            }
        }
    }

    /// The instances of devices that are cut up. Most devices cannot be, and old libraries cannot say: no gap to speak of.
    fn instances(&mut self) {
        for (id, device) in self.devices.iter().enumerate() {
            if !device.mig_mode().is_ok_and(|mode| mode.current == 1) {
                continue;
            }
            for slot in 0..device.mig_device_count().unwrap_or_default().min(64) {
                // Between instances there are gaps.
                let Ok(instance) = device.mig_device_by_index(slot) else { continue };
                let Some(profile) = profile_of(&instance) else {
                    let index = self.answers.devices[id].index;
                    self.answers.warnings.push(format!("GPU{index}: MIG device {slot} has no profile: left out"));
                    continue;
                };
                let uuid = instance.uuid().ok();
                let instance = MigInstance { uuid, ..MigInstance::new(DeviceId(id as u32), profile) };
                self.answers.mig_instances.push(instance);
            }
        }
    }
}

/// The NUMA node of a set of one.
fn only_node(words: &[c_ulong]) -> Option<u32> {
    let mut nodes = (0u32..).zip(words).filter(|(_, word)| **word != 0);
    let (at, word) = nodes.next()?;
    (nodes.next().is_none() && word.is_power_of_two()).then(|| at * c_ulong::BITS + word.trailing_zeros())
}

/// The links of a device. One that is not supported is none; a device without NVLink supports none at all.
fn links_of(device: &Device<'_>, failed: &mut Option<String>) -> Result<Vec<DirectLink>, NvmlError> {
    let mut links = Vec::new();
    for number in 0..MOST_LINKS {
        let link = device.link_wrapper_for(number);
        let active = match link.is_active() {
            Ok(active) => active,
            Err(NvmlError::NotSupported) => continue,
            Err(NvmlError::InvalidArg) => break,
            Err(error) => return Err(error),
        };
        let remote = active.then(|| heed(failed, "ends of links", link.remote_pci_info())).flatten();
        let remote = remote.and_then(|remote| pci::normal(&remote.bus_id));
        links.push(DirectLink { number, active, remote, end: End::Unknown });
    }
    Ok(links)
}

/// GB/s per direction of one link.
fn link_gbps(device: &Device<'_>, link: u32, failed: &mut Option<String>) -> Option<f64> {
    let printed = field(device, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, failed).filter(|&mbps| mbps > 0);
    let printed = printed.map(|mbps| links::nvlink_of_printed(f64::from(mbps) / 1000.0));
    let of_capability = || {
        let capability = device.cuda_compute_capability().ok()?;
        let sm = u32::try_from(capability.major * 10 + capability.minor).ok()?;
        links::nvlink_of_sm(sm)
    };
    let of_version = || {
        let generation = match device.link_wrapper_for(link).version().ok()? {
            1 => "NVLink 1",
            2 | 3 => "NVLink 2",
            4 => "NVLink 3",
            5 => "NVLink 3, bridge",
            6 => "NVLink 4",
            7 => "NVLink 5",
            _ => return None,
        };
        links::link_speeds().find(|speed| speed.generation == generation).map(|speed| speed.gbps)
    };
    printed.or_else(of_capability).or_else(of_version)
}

/// How many of a device's links end at switches.
fn switched_links(device: &Device<'_>, failed: &mut Option<String>) -> Option<u32> {
    field(device, NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT, failed)
}

fn field(device: &Device<'_>, id: u32, failed: &mut Option<String>) -> Option<u32> {
    let sample = heed(failed, "fields", device.field_values_for(&[FieldId(id)]))?.pop()?;
    let sample = heed(failed, "fields", sample)?;
    match sample.value.ok()? {
        SampleValue::U32(value) => Some(value),
        SampleValue::U64(value) => u32::try_from(value).ok(),
        SampleValue::I64(value) => u32::try_from(value).ok(),
        SampleValue::F64(_) => None,
    }
}

/// PCI classes of what NVLinks lead to: switches and POWER's bridges are bridges "of another kind", GPUs are displays.
fn end_of_class(class: u32) -> End {
    match (class >> 16, class) {
        (_, 0x06_80_01) => End::Host,
        (0x06, _) => End::Switch,
        (0x03, _) => End::Hidden,
        _ => End::Unknown,
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
    links::pcie(gt_per_s, lanes)
}

/// The profile of an instance: what follows MIG in its name, else what its slices and memory come to.
fn profile_of(instance: &Device<'_>) -> Option<String> {
    let name = instance.name().ok();
    let of_name = name.as_deref().and_then(|name| Some(name.split_once("MIG ")?.1.trim().to_owned()));
    let of_attributes = || {
        let attributes = instance.attributes().ok()?;
        let gigabytes = attributes.memory_size_mb.div_ceil(1024);
        Some(format!("{}g.{gigabytes}gb", attributes.gpu_instance_slice_count))
    };
    of_name.filter(|profile| !profile.is_empty()).or_else(of_attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_one_node_is_that_node() {
        assert_eq!(only_node(&[1 << 3, 0]), Some(3));
        assert_eq!(only_node(&[0, 1]), Some(c_ulong::BITS));
        assert_eq!([only_node(&[]), only_node(&[0]), only_node(&[3]), only_node(&[1, 1])], [None; 4]);
    }

    #[test]
    fn every_version_of_nvlink_and_pcie_has_a_speed() {
        assert!((1..=6).all(|generation| pcie_gbps(generation, 16).is_some()));
        assert_eq!((pcie_gbps(0, 16), pcie_gbps(7, 16), pcie_gbps(3, 0)), (None, None, None));
    }

    #[test]
    fn what_an_address_is_follows_from_its_class() {
        assert!(end_of_class(0x06_80_00) == End::Switch && end_of_class(0x06_80_01) == End::Host);
        assert!(end_of_class(0x03_02_00) == End::Hidden && end_of_class(0x03_00_00) == End::Hidden);
        assert!(end_of_class(0x02_00_00) == End::Unknown);
    }
}
