//! The machine that NVML's answers describe. Any answer may be missing; the rest of the machine
//! follows from the others.
//!
//! Where a link leads does not change while a machine runs; whether it is up does. So the cache keeps the
//! answers, with the other end of each link that was ever up, and the present state of links is laid over them
//! (`lay`) before the machine is built: a link that is down joins nobody, and is missing in the count.

use std::borrow::Cow;

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, LinksUp, NodeId, NodeKind};
use mapa_topologies::{
    ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS, Error, HostDetail, Labels, Machine, MigInstance,
    PeerAccess, Port, Says, Vendor, Warning, assume_host_paths, products,
};
use serde::{Deserialize, Serialize};

use super::links::DeviceLinks;
use crate::found::{LinkStatus, NoAnswer, PcieLevel, RuntimeState, SourceResult};

/// Everything that the library answered. What is not kept for the next call is skipped in writing.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answers {
    pub(super) driver: Option<String>,
    /// Whether every device could be queried.
    pub(super) every_device: bool,
    pub(super) devices: Vec<DeviceAnswers>,
    /// The class of the host path between two devices, by their places in `devices`.
    pub(super) ancestors: Vec<(usize, usize, LinkClass)>,
    #[serde(skip)]
    pub(super) peer_access: Vec<PeerAccess>,
    #[serde(skip)]
    pub(super) mig_instances: Vec<MigInstance>,
    /// The devices in MIG mode.
    #[serde(skip)]
    pub(super) partitioned: Vec<DeviceId>,
    /// The facts that the library did not give, in words.
    pub(super) unsaid: Vec<Cow<'static, str>>,
    pub(super) warnings: Vec<String>,
    /// The first question that failed, though the library knows it and the device could answer.
    #[serde(skip)]
    pub(super) failed: Option<String>,
}

/// The library's answers about one device.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceAnswers {
    /// The library's number of the device.
    pub(super) index: u32,
    #[serde(with = "SavedInfo")]
    pub(super) info: DeviceInfo,
    /// GB/s per direction of the device's own connection to the host.
    #[serde(with = "exact")]
    pub(super) pcie_gbps: Option<f64>,
    /// GB/s per direction of one direct link of the device.
    #[serde(with = "exact")]
    pub(super) link_gbps: Option<f64>,
    /// The device's direct links; `None` if the library did not give them.
    pub(super) links: Option<Vec<DirectLink>>,
    /// The lanes of its PCIe link now.
    #[serde(skip)]
    pub(super) pcie_lanes: Option<PcieLevel>,
    /// The generation of its PCIe link while it computes.
    #[serde(skip)]
    pub(super) pcie_generation: Option<PcieLevel>,
    /// Whether it did not say which of its links are up now: it is lost, perhaps. What its neighbours say of them
    /// counts.
    #[serde(skip)]
    pub(super) is_silent: bool,
    /// Whether it is in MIG mode, in which its links may be off without a fault.
    #[serde(skip)]
    pub(super) is_partitioned: bool,
}

/// Figures as texts: JSON's reader rounds numbers, and a machine of the cache would be another one than the same
/// machine asked anew.
mod exact {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(gbps: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        gbps.map(|gbps| gbps.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// How a device's facts are written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "DeviceInfo", deny_unknown_fields)]
struct SavedInfo {
    product: Option<String>,
    index: Option<u32>,
    uuid: Option<String>,
    pci: Option<String>,
    numa: Option<u32>,
    memory_bytes: Option<u64>,
    // The library does not tell how a device can be partitioned.
    #[serde(skip)]
    mig: Option<std::sync::Arc<mapa_core::mig::Model>>,
}

/// One direct link, as the device at one of its ends reports it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectLink {
    pub(super) number: u32,
    pub(super) active: bool,
    /// The PCI address of its other end.
    pub(super) remote: Option<String>,
    /// Known of a link that is up, and of one that was.
    pub(super) end: FarEnd,
}

/// The other end of a link.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FarEnd {
    /// The device at this place in [`Answers::devices`].
    Device(usize),
    Switch,
    /// A processor, as in POWER servers.
    Host,
    /// A device that this process does not see.
    Hidden,
    Unknown,
}

impl DeviceAnswers {
    /// The device's links that are up.
    fn active(&self) -> impl Iterator<Item = &DirectLink> {
        self.links.iter().flatten().filter(|link| link.active)
    }

    /// The number of the device's links that are up and end there.
    pub(super) fn count(&self, end: FarEnd) -> usize {
        self.active().filter(|link| link.end == end).count()
    }

    /// GB/s per direction of the device's own connection to the host, with the lanes that it has now.
    fn host_gbps(&self) -> Option<f64> {
        let share = self
            .pcie_lanes
            .map_or(1.0, |lanes| f64::from(lanes.now) / f64::from(lanes.most));
        self.pcie_gbps.map(|gbps| gbps * share)
    }

    /// The links that are up, of all that are or were, wherever they lead.
    fn links_up(&self) -> LinksUp {
        let links = self.links.iter().flatten();
        let known = links.filter(|link| link.active || link.end != FarEnd::Unknown);
        LinksUp {
            up: self.active().count() as u32,
            all: known.count() as u32,
        }
    }

    /// The state of its links.
    fn status(&self) -> LinkStatus {
        let links = self.links.iter().flatten();
        LinkStatus {
            direct: links.map(|link| (link.number, link.active)).collect(),
            pcie_lanes: self.pcie_lanes,
            pcie_generation: self.pcie_generation,
        }
    }

    /// Takes over the present state of its links. False if one is up whose other end is not known.
    fn lay(&mut self, now: &LinkStatus) -> bool {
        self.pcie_lanes = now.pcie_lanes;
        self.pcie_generation = now.pcie_generation;
        if now.direct.is_empty() {
            return true;
        }
        let links = self.links.get_or_insert_default();
        let mut is_known = true;
        for (&number, &active) in &now.direct {
            match links.iter_mut().find(|link| link.number == number) {
                Some(link) => {
                    is_known &= !active || link.active || link.end != FarEnd::Unknown;
                    link.active = active;
                }
                None => is_known &= !active,
            }
        }
        is_known
    }
}

impl Answers {
    /// Lays the present state of links over these answers. False if a link is up whose other end is not known: the
    /// library must be asked where it leads.
    pub(super) fn lay(&mut self, now: &[DeviceLinks]) -> bool {
        let mut is_known = true;
        for device in &mut self.devices {
            let links = now.iter().find(|links| links.is_of(&device.info));
            match links {
                Some(links) => {
                    device.is_partitioned = links.is_partitioned;
                    is_known &= device.lay(&links.status);
                }
                None => device.is_silent = true,
            }
        }
        is_known
    }

    /// Takes over from earlier answers where links lead that are down now.
    pub(super) fn remember(&mut self, earlier: &Self) {
        // Ends are places in the list, so they hold in a list of the same devices alone.
        let names = |answers: &Self| -> Vec<Option<String>> {
            let devices = answers.devices.iter();
            devices.map(|device| device.info.uuid.clone()).collect()
        };
        if names(self) != names(earlier) {
            return;
        }
        for (device, before) in self.devices.iter_mut().zip(&earlier.devices) {
            device.link_gbps = device.link_gbps.or(before.link_gbps);
            let known = before.links.iter().flatten();
            for was in known.filter(|link| link.end != FarEnd::Unknown) {
                let mut links = device.links.iter_mut().flatten();
                if let Some(link) = links.find(|link| link.number == was.number)
                    && !link.active
                {
                    link.end = was.end;
                }
            }
        }
    }

    /// The machine, if the answers give at least its devices and the links or paths between them.
    pub(super) fn found(mut self) -> Result<SourceResult, NoAnswer> {
        self.check()?;
        let says = self.says();
        let machine = self.machine(says)?;
        let links = self.devices.iter().map(DeviceAnswers::status).collect();
        let ports = self.ports();
        let intact = self.intact(says)?;
        let state = RuntimeState {
            ports,
            peer_access: self.peer_access,
            mig_instances: self.mig_instances,
            mig_profiles: Vec::new(),
            partitioned: self.partitioned,
        };
        Ok(SourceResult {
            machine,
            intact,
            says,
            driver: self.driver,
            state,
            unanswered: self.failed,
            links,
            answers: None,
        })
    }

    /// The machine with all links up that are down and were up before; `None` if there are none. The answers are of
    /// that machine afterwards.
    fn intact(&mut self, says: Says) -> Result<Option<Machine>, Error> {
        let devices = self.devices.iter_mut();
        let links = devices.flat_map(|device| device.links.iter_mut().flatten());
        let mut is_reduced = false;
        for link in links.filter(|link| !link.active && link.end != FarEnd::Unknown) {
            is_reduced = true;
            link.active = true;
        }
        is_reduced.then(|| self.machine(says)).transpose()
    }

    /// Rejects answers that do not describe a machine.
    fn check(&self) -> Result<(), NoAnswer> {
        let devices = self.devices.len();
        let Says { direct, host, .. } = self.says();
        Err(NoAnswer::Failed(match devices {
            0 if self.warnings.is_empty() => "it names no devices".to_owned(),
            0 => self.warnings.join(", "),
            // A single device needs nothing that joins it to others.
            2.. if !direct && host <= HostDetail::Numa => {
                let unsaid = self.unsaid.join(", ");
                format!("it names {devices} devices but not what joins them; unknown: {unsaid}")
            }
            _ => return Ok(()),
        }))
    }

    fn machine(&self, says: Says) -> Result<Machine, Error> {
        let mut warnings = self.warnings.clone();
        let mut fabric = Fabric::new();
        let mut ids = Vec::with_capacity(self.devices.len());
        for (id, DeviceAnswers { index, info, .. }) in self.devices.iter().enumerate() {
            // Where a device is left out, the library's number is not the device's id.
            let number = Some(*index).filter(|&index| index as usize != id);
            let kind = NodeKind::Device(DeviceInfo {
                index: number,
                ..info.clone()
            });
            ids.push(fabric.add(FabricNode {
                name: format!("GPU{index}"),
                kind,
            })?);
        }
        self.add_links(&mut fabric, &ids, &mut warnings)?;
        self.add_switch(&mut fabric, &ids)?;
        self.add_host(&mut fabric, &ids)?;
        let down = self.links_down();
        for &(at, links) in &down {
            fabric.set_links_up(ids[at], links)?;
        }
        let driver = self
            .driver
            .iter()
            .map(|driver| format!(", driver {driver}"));
        let mut machine = Machine {
            // Discovery names the machine after its host.
            name: String::new(),
            title: format!("{} devices, asked of NVML", self.devices.len()),
            source: "NVML".to_owned() + &driver.collect::<String>(),
            notes: self.notes(&down),
            vendor: Some(Vendor::Nvidia),
            labels: Labels::default(),
            fabric,
            warnings: warnings
                .into_iter()
                .map(|what| Warning { line: None, what })
                .collect(),
        };
        if says.host < HostDetail::Classes {
            assume_host_paths(&mut machine)?;
        }
        Ok(machine)
    }

    fn link_gbps(&self, a: usize) -> f64 {
        self.devices[a].link_gbps.unwrap_or(ASSUMED_DIRECT_GBPS)
    }

    /// Adds the links between devices. Both ends count them; if they disagree, the smaller number
    /// holds.
    fn add_links(
        &self,
        fabric: &mut Fabric,
        ids: &[NodeId],
        warnings: &mut Vec<String>,
    ) -> Result<(), Error> {
        for b in 0..ids.len() {
            for a in 0..b {
                let (mine, other) = (
                    self.devices[a].count(FarEnd::Device(b)),
                    self.devices[b].count(FarEnd::Device(a)),
                );
                let (x, y) = (&self.devices[a], &self.devices[b]);
                let links = match (x.is_silent, y.is_silent) {
                    (true, false) => other,
                    (false, true) => mine,
                    _ => mine.min(other),
                };
                if mine != other && !x.is_silent && !y.is_silent {
                    let (x, y) = (self.devices[a].index, self.devices[b].index);
                    let what = format!(
                        "GPU{x} has {mine} active links to GPU{y}, which has {other} to GPU{x}"
                    );
                    warnings.push(format!("{what}: counted as {links}"));
                }
                if let Ok(links @ 1..) = u8::try_from(links) {
                    let gbps = f64::from(links) * self.link_gbps(a).min(self.link_gbps(b));
                    fabric.link(ids[a], ids[b], LinkClass::Direct(links), gbps)?;
                }
            }
        }
        Ok(())
    }

    /// Adds one switch for all devices with links to switches. A machine may have several planes of
    /// switches, but each plane joins all of its devices alike.
    fn add_switch(&self, fabric: &mut Fabric, ids: &[NodeId]) -> Result<(), Error> {
        let ports: Vec<(usize, u8)> = (0..ids.len())
            .filter_map(|a| Some((a, u8::try_from(self.devices[a].count(FarEnd::Switch)).ok()?)))
            .filter(|&(_, links)| links > 0)
            .collect();
        if ports.is_empty() {
            return Ok(());
        }
        let switch = fabric.add(FabricNode {
            name: "link-switch0".to_owned(),
            kind: NodeKind::LinkSwitch,
        })?;
        for (a, links) in ports {
            let gbps = f64::from(links) * self.link_gbps(a);
            fabric.link(ids[a], switch, LinkClass::Direct(links), gbps)?;
        }
        Ok(())
    }

    /// Adds the paths through the host, each as fast as the slower device's own connection.
    fn add_host(&self, fabric: &mut Fabric, ids: &[NodeId]) -> Result<(), Error> {
        for &(a, b, class) in &self.ancestors {
            let slower = self.devices[a]
                .host_gbps()
                .zip(self.devices[b].host_gbps())
                .map(|(x, y)| x.min(y));
            fabric.link(ids[a], ids[b], class, slower.unwrap_or(ASSUMED_HOST_GBPS))?;
        }
        Ok(())
    }

    fn says(&self) -> Says {
        let n = self.devices.len();
        let mut says = Says::default();
        says.every_device = self.every_device;
        says.host = if n > 0 && self.ancestors.len() == n * (n - 1) / 2 {
            HostDetail::Classes
        } else if n > 0 && self.devices.iter().all(|device| device.info.numa.is_some()) {
            HostDetail::Numa
        } else {
            HostDetail::Nothing
        };
        says.direct = self
            .devices
            .iter()
            .all(|device| device.links.is_some() && device.count(FarEnd::Unknown) == 0);
        says.direct_gbps = says.direct && !self.lacks_link_speed();
        // What lies between the devices' own connections may be slower than they are.
        says.host_gbps = false;
        says
    }

    /// Whether a device has direct links of unknown speed.
    fn lacks_link_speed(&self) -> bool {
        self.devices
            .iter()
            .any(|device| device.active().next().is_some() && device.link_gbps.is_none())
    }

    fn ports(&self) -> Vec<Port> {
        let mut ports = Vec::new();
        for (id, device) in (0..).map(DeviceId).zip(&self.devices) {
            for link in device.links.iter().flatten() {
                let mut port = Port::new(id, link.number);
                port.active = Some(link.active);
                port.gbps = device.link_gbps.filter(|_| link.active);
                port.remote = link.remote.clone().map(|address| (address, None));
                ports.push(port);
            }
        }
        ports
    }

    /// The devices, by their places, with direct links that are down: those that were up before in this boot.
    /// Otherwise as for a list of links that somebody pastes: of devices at a switch and bridged ones the product
    /// tells how many links it has; elsewhere a difference between devices does, since on some boards links of all
    /// devices lead nowhere.
    fn links_down(&self) -> Vec<(usize, LinksUp)> {
        let counts: Vec<LinksUp> = self.devices.iter().map(DeviceAnswers::links_up).collect();
        let listed = |at: usize| self.devices[at].links.as_ref().map_or(0, Vec::len) as u32;
        let alike = |pair: &[usize]| {
            (counts[pair[0]].up, listed(pair[0])) == (counts[pair[1]].up, listed(pair[1]))
        };
        let places: Vec<usize> = (0..counts.len()).collect();
        let are_alike = places.windows(2).all(alike);
        let whole = places.into_iter();
        let whole = whole.filter(|&at| !self.devices[at].is_partitioned);
        let found = whole.filter_map(|at| {
            let LinksUp { up, all: known } = counts[at];
            let device = &self.devices[at];
            let text = device.info.product.as_deref();
            let product = text.and_then(products::links);
            let is_board = product.is_some_and(|product| !product.is_bridged);
            let of_product = product
                .filter(|product| product.is_bridged || device.count(FarEnd::Switch) > 0)
                .and_then(|product| product.count)
                .map_or(0, u32::from);
            // A board joins all devices of a product: one without any link that is up has lost them.
            let same = |other: &usize| self.devices[*other].info.product.as_deref() == text;
            let of_others = (0..counts.len())
                .filter(same)
                .map(|other| counts[other].up)
                .max();
            let all = match up {
                _ if known > up => known,
                0 if is_board && listed(at) > 0 => of_others.unwrap_or(0),
                0 => 0,
                _ if of_product > up => of_product,
                _ if !are_alike => listed(at),
                _ => 0,
            };
            (all > up).then_some((at, LinksUp { up, all }))
        });
        found.collect()
    }

    /// The notes of the machine: what its links lack, its assumptions, and the facts that NVML did not give.
    fn notes(&self, down: &[(usize, LinksUp)]) -> Vec<String> {
        let links = down.iter().map(|(at, LinksUp { up, all })| {
            let index = self.devices[*at].index;
            format!("GPU{index} has {up} of {all} direct links up.")
        });
        let mut notes: Vec<String> = links.collect();
        for DeviceAnswers {
            index, pcie_lanes, ..
        } in &self.devices
        {
            if let Some(PcieLevel { now, most }) = pcie_lanes.filter(|lanes| lanes.is_reduced()) {
                notes.push(format!("GPU{index} has {now} of {most} PCIe lanes."));
            }
        }
        if self.lacks_link_speed() {
            notes.push(format!(
                "The bandwidth of direct links is unknown: {ASSUMED_DIRECT_GBPS} GB/s for each, \
                 unless set."
            ));
        }
        notes.push(if self.devices.iter().all(|device| device.pcie_gbps.is_some()) {
            "The bandwidth of a host path is that of the slower of its two devices' PCIe connections; \
             hops between may be slower."
                .to_owned()
        } else {
            format!(
                "The PCIe connection of some devices is unknown: {ASSUMED_HOST_GBPS} GB/s for their \
                 host paths, unless set."
            )
        });
        if !self.unsaid.is_empty() {
            notes.push(format!(
                "NVML does not provide: {}.",
                self.unsaid.join(", ")
            ));
        }
        notes
    }
}
