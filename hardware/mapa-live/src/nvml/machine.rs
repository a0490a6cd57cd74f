//! The machine that NVML's answers describe. Any answer may be missing; the rest of the machine
//! follows from the others.

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, NodeId, NodeKind};
use mapa_topologies::{
    ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS, Error, HostDetail, Labels, Machine, MigInstance,
    PeerAccess, Port, Says, Vendor, Warning, assume_host_paths,
};

use crate::found::{NoAnswer, RuntimeState, SourceResult};

/// Everything that the library answered.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) driver: Option<String>,
    /// Whether every device could be queried.
    pub(super) every_device: bool,
    pub(super) devices: Vec<DeviceAnswers>,
    /// The class of the host path between two devices, by their places in `devices`.
    pub(super) ancestors: Vec<(usize, usize, LinkClass)>,
    pub(super) peer_access: Vec<PeerAccess>,
    pub(super) mig_instances: Vec<MigInstance>,
    /// The devices in MIG mode.
    pub(super) partitioned: Vec<DeviceId>,
    /// The facts that the library did not give, in words.
    pub(super) unsaid: Vec<&'static str>,
    pub(super) warnings: Vec<String>,
    /// The first question that failed, though the library knows it and the device could answer.
    pub(super) failed: Option<String>,
}

/// The library's answers about one device.
#[derive(Default)]
pub(super) struct DeviceAnswers {
    /// The library's number of the device.
    pub(super) index: u32,
    pub(super) info: DeviceInfo,
    /// GB/s per direction of the device's own connection to the host.
    pub(super) pcie_gbps: Option<f64>,
    /// GB/s per direction of one direct link of the device.
    pub(super) link_gbps: Option<f64>,
    /// The device's direct links; `None` if the library did not give them.
    pub(super) links: Option<Vec<DirectLink>>,
}

/// One direct link, as the device at one of its ends reports it.
pub(super) struct DirectLink {
    pub(super) number: u32,
    pub(super) active: bool,
    /// The PCI address of its other end.
    pub(super) remote: Option<String>,
    pub(super) end: FarEnd,
}

/// The other end of a link.
#[derive(Clone, Copy, PartialEq)]
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
}

impl Answers {
    /// The machine, if the answers give at least its devices and the links or paths between them.
    pub(super) fn found(self) -> Result<SourceResult, NoAnswer> {
        self.check()?;
        let says = self.says();
        let machine = self.machine(says)?;
        let state = RuntimeState {
            ports: self.ports(),
            peer_access: self.peer_access,
            mig_instances: self.mig_instances,
            mig_profiles: Vec::new(),
            partitioned: self.partitioned,
        };
        Ok(SourceResult {
            machine,
            says,
            driver: self.driver,
            state,
            unanswered: self.failed,
        })
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
        let driver = self
            .driver
            .iter()
            .map(|driver| format!(", driver {driver}"));
        let mut machine = Machine {
            // Discovery names the machine after its host.
            name: String::new(),
            title: format!("{} devices, asked of NVML", self.devices.len()),
            source: "NVML".to_owned() + &driver.collect::<String>(),
            notes: self.notes(),
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
                let links = mine.min(other);
                if mine != other {
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
                .pcie_gbps
                .zip(self.devices[b].pcie_gbps)
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

    /// The notes of the machine: its assumptions, and the facts that NVML did not give.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
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
