//! Putting together what NVML answered. Any answer may be missing; what follows from the others is still told.

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, NodeId, NodeKind};

use super::{Found, State};
use crate::dump::{HostDetail, MigInstance, PeerAccess, Port, Says, assume_host};
use crate::error::{Error, ErrorKind};
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine, Warning};

/// All that was answered.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) driver: Option<String>,
    /// Whether every device could be asked.
    pub(super) every_device: bool,
    pub(super) devices: Vec<Answer>,
    /// What joins two devices through the host.
    pub(super) ancestors: Vec<(usize, usize, LinkClass)>,
    pub(super) peer_access: Vec<PeerAccess>,
    pub(super) mig_instances: Vec<MigInstance>,
    /// What the library does not tell, in words.
    pub(super) unsaid: Vec<&'static str>,
    pub(super) warnings: Vec<String>,
    /// The first question that failed, though the library knows it and the device could answer.
    pub(super) failed: Option<String>,
}

/// What was answered of one device.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) index: u32,
    pub(super) info: DeviceInfo,
    /// Of its own connection to the host.
    pub(super) pcie_gbps: Option<f64>,
    /// Of one of its direct links.
    pub(super) link_gbps: Option<f64>,
    /// Its direct links; none if they could not be asked.
    pub(super) links: Option<Vec<DirectLink>>,
}

/// One direct link, as a device knows it.
pub(super) struct DirectLink {
    pub(super) number: u32,
    pub(super) active: bool,
    /// The PCI address of its other end.
    pub(super) remote: Option<String>,
    pub(super) end: End,
}

/// What is at the other end of a link.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    /// The device of this place in [`Answers::devices`].
    Device(usize),
    Switch,
    /// A processor, as in POWER servers.
    Host,
    /// A device that this process does not see.
    Hidden,
    Unknown,
}

impl Answers {
    /// The machine, as far as it is told: at least its devices, and what joins them.
    pub(super) fn found(self) -> Result<Found, Error> {
        self.check()?;
        let mut warnings = self.warnings.clone();
        let mut fabric = Fabric::new();
        let mut ids = Vec::with_capacity(self.devices.len());
        for (id, Answer { index, info, .. }) in self.devices.iter().enumerate() {
            let own = Some(*index).filter(|&index| index as usize != id);
            let kind = NodeKind::Device(DeviceInfo { index: own, ..info.clone() });
            ids.push(fabric.add(FabricNode { name: format!("GPU{index}"), kind })?);
        }
        self.add_links(&mut fabric, &ids, &mut warnings)?;
        self.add_switch(&mut fabric, &ids)?;
        self.add_host(&mut fabric, &ids)?;
        let mut machine = Machine {
            name: String::new(),
            title: format!("{} devices, asked of NVML", self.devices.len()),
            source: "NVML".to_owned()
                + &self.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}")),
            notes: self.notes(),
            labels: Labels::default(),
            fabric,
            warnings: warnings.into_iter().map(|what| Warning { line: None, what }).collect(),
        };
        let (says, ports) = (self.says(), self.ports());
        if says.host < HostDetail::Classes {
            assume_host(&mut machine)?;
        }
        let Self { driver, peer_access, mig_instances, failed: unanswered, .. } = self;
        let state = State { ports, peer_access, mig_instances, mig_profiles: Vec::new() };
        Ok(Found { machine, says, driver, state, unanswered })
    }

    fn check(&self) -> Result<(), Error> {
        let devices = self.devices.len();
        let Says { direct, host, .. } = self.says();
        let what = match devices {
            0 if self.warnings.is_empty() => "it names no devices".to_owned(),
            0 => self.warnings.join(", "),
            2.. if !direct && host <= HostDetail::Numa => {
                let unsaid = self.unsaid.join(", ");
                format!("it names {devices} devices but not what joins them; it does not tell: {unsaid}")
            }
            _ => return Ok(()),
        };
        Err(Error::of_kind(ErrorKind::Incomplete, what))
    }

    /// How many active links of device `a` end there.
    fn count(&self, a: usize, end: End) -> usize {
        let links = self.devices[a].links.iter().flatten();
        links.filter(|link| link.active && link.end == end).count()
    }

    fn link_gbps(&self, a: usize) -> f64 {
        self.devices[a].link_gbps.unwrap_or(ASSUMED_DIRECT_GBPS)
    }

    /// Links between devices. Both ends count them; where they disagree, only what both have is there.
    fn add_links(&self, fabric: &mut Fabric, ids: &[NodeId], warnings: &mut Vec<String>) -> Result<(), Error> {
        for b in 0..ids.len() {
            for a in 0..b {
                let (mine, other) = (self.count(a, End::Device(b)), self.count(b, End::Device(a)));
                let links = mine.min(other);
                if mine != other {
                    let (x, y) = (self.devices[a].index, self.devices[b].index);
                    let what = format!("GPU{x} has {mine} active links to GPU{y}, which has {other} to GPU{x}");
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

    /// However many planes of switches there are, they join all their devices alike: they are one switch.
    fn add_switch(&self, fabric: &mut Fabric, ids: &[NodeId]) -> Result<(), Error> {
        let ports = (0..ids.len()).filter_map(|a| Some((a, u8::try_from(self.count(a, End::Switch)).ok()?)));
        let ports: Vec<(usize, u8)> = ports.filter(|&(_, links)| links > 0).collect();
        if ports.is_empty() {
            return Ok(());
        }
        let switch = fabric.add(FabricNode { name: "link-switch0".to_owned(), kind: NodeKind::LinkSwitch })?;
        for (a, links) in ports {
            fabric.link(ids[a], switch, LinkClass::Direct(links), f64::from(links) * self.link_gbps(a))?;
        }
        Ok(())
    }

    fn add_host(&self, fabric: &mut Fabric, ids: &[NodeId]) -> Result<(), Error> {
        for &(a, b, class) in &self.ancestors {
            let slower = self.devices[a].pcie_gbps.zip(self.devices[b].pcie_gbps).map(|(x, y)| x.min(y));
            fabric.link(ids[a], ids[b], class, slower.unwrap_or(ASSUMED_HOST_GBPS))?;
        }
        Ok(())
    }

    fn says(&self) -> Says {
        let all = |told: fn(&Answer) -> bool| self.devices.iter().all(told);
        let n = self.devices.len();
        let host = if n > 0 && self.ancestors.len() == n * (n - 1) / 2 {
            HostDetail::Classes
        } else if n > 0 && all(|device| device.info.numa.is_some()) {
            HostDetail::Numa
        } else {
            HostDetail::Nothing
        };
        let direct = all(|device| {
            device.links.as_ref().is_some_and(|links| !links.iter().any(|link| link.active && link.end == End::Unknown))
        });
        let linked = |device: &Answer| device.links.iter().flatten().any(|link| link.active);
        let direct_gbps = self.devices.iter().all(|device| !linked(device) || device.link_gbps.is_some());
        // What is between the devices' own connections may be slower than they are.
        Says { every_device: self.every_device, direct, direct_gbps: direct && direct_gbps, host, host_gbps: false }
    }

    fn ports(&self) -> Vec<Port> {
        let ports = self.devices.iter().enumerate().flat_map(|(id, device)| {
            device.links.iter().flatten().map(move |link| Port {
                active: Some(link.active),
                gbps: device.link_gbps.filter(|_| link.active),
                remote: link.remote.clone().map(|address| (address, None)),
                ..Port::new(DeviceId(id as u32), link.number)
            })
        });
        ports.collect()
    }

    /// What a reader of the machine must know of its description.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let linked = |device: &&Answer| device.links.iter().flatten().any(|link| link.active);
        if self.devices.iter().filter(linked).any(|device| device.link_gbps.is_none()) {
            notes.push(format!(
                "The speed of direct links is not told: unless set, one counts {ASSUMED_DIRECT_GBPS} GB/s."
            ));
        }
        notes.push(if self.devices.iter().all(|device| device.pcie_gbps.is_some()) {
            "A host path counts as fast as the slower of its devices' own PCIe connections; what is between may be slower."
                .to_owned()
        } else {
            format!("Host paths of devices whose PCIe connection is not told count {ASSUMED_HOST_GBPS} GB/s, unless set.")
        });
        if !self.unsaid.is_empty() {
            notes.push(format!("NVML does not tell: {}.", self.unsaid.join(", ")));
        }
        notes
    }
}
