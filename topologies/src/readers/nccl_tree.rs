//! The machine as NCCL's topology engine holds it, and the fabric that it makes: shared by the readers of its XML
//! and of the tree in its log, which say the same things in two forms.

use std::collections::{BTreeMap, HashSet};

use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeId, NodeKind};

use super::xml::UniqueNames;
use crate::error::Error;
use crate::links::ASSUMED_HOST_GBPS;
use crate::pci;

/// A machine, with its devices in the order of their ids.
#[derive(Clone, Copy)]
pub(super) struct NcclTree<'t> {
    pub(super) cpus: &'t [NcclCpu],
    pub(super) devices: &'t [NcclDevice],
    pub(super) links: &'t NcclBonds,
}

/// A CPU, which is a NUMA node to NCCL, and what is below it.
pub(super) struct NcclCpu {
    pub(super) line: usize,
    /// The index of its host: the first is 0.
    pub(super) host: usize,
    /// `None` if the number is unknown: -1.
    pub(super) numa: Option<u32>,
    pub(super) parts: Vec<NcclPart>,
    /// The bandwidth to the other CPUs, GB/s, if it is given.
    pub(super) between: Option<f64>,
}

/// A device, a network card, or a switch above some.
pub(super) enum NcclPart {
    /// A PCI element with others below it.
    Switch {
        name: String,
        hop: Option<f64>,
        below: Vec<NcclPart>,
    },
    /// A device, by its index in [`NcclTree::devices`].
    Gpu { gpu: usize, hop: Option<f64> },
    /// A network card. Its hop is unknown if it is directly below a CPU.
    Card { name: String, hop: Option<f64> },
}

/// A device.
pub(super) struct NcclDevice {
    pub(super) line: usize,
    pub(super) host: usize,
    /// Its number in the driver, if it is given.
    pub(super) dev: Option<u32>,
    /// Its PCI address in normal form, or as written if it cannot be parsed.
    pub(super) busid: String,
}

/// A number of parallel links, with their total bandwidth in GB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NcclBond {
    pub(super) links: u8,
    pub(super) gbps: f64,
}

/// The direct links of a machine.
pub(super) struct NcclBonds {
    /// The links between devices a < b.
    pub(super) pairs: BTreeMap<(usize, usize), NcclBond>,
    /// For each device, its links to switches.
    pub(super) ports: Vec<Option<NcclBond>>,
    /// For each device, the bandwidth of its links to its CPU, GB/s.
    pub(super) to_host: Vec<f64>,
}

impl NcclBonds {
    /// No links of this many devices.
    pub(super) fn none(devices: usize) -> Self {
        Self {
            pairs: BTreeMap::new(),
            ports: vec![None; devices],
            to_host: vec![0.0; devices],
        }
    }
}

/// Renames the devices among `parts`: the one with index i gets `id[i]`.
pub(super) fn renumber(parts: &mut [NcclPart], id: &[usize]) {
    for part in parts {
        match part {
            NcclPart::Switch { below, .. } => renumber(below, id),
            NcclPart::Gpu { gpu, .. } => *gpu = id[*gpu],
            NcclPart::Card { .. } => {}
        }
    }
}

/// A fabric, and whether the bandwidth of every hop that leads to a device is given.
pub(super) struct NcclFabric {
    pub(super) fabric: Fabric,
    pub(super) host_told: bool,
}

pub(super) fn fabric(tree: NcclTree<'_>) -> Result<NcclFabric, Error> {
    let mut build = NcclBuild {
        tree,
        fabric: Fabric::new(),
        names: UniqueNames::default(),
        devices: Vec::new(),
        between: tree
            .cpus
            .iter()
            .filter_map(|cpu| widest(&cpu.parts))
            .reduce(f64::max)
            .unwrap_or(ASSUMED_HOST_GBPS),
        host_told: true,
    };
    build.devices()?;
    build.host()?;
    build.direct()?;
    Ok(NcclFabric {
        fabric: build.fabric,
        host_told: build.host_told,
    })
}

/// The bandwidth of the widest hop among these parts, GB/s.
fn widest(parts: &[NcclPart]) -> Option<f64> {
    let hops = parts.iter().filter_map(|part| match part {
        NcclPart::Switch { hop, below, .. } => {
            hop.iter().copied().chain(widest(below)).reduce(f64::max)
        }
        NcclPart::Gpu { hop, .. } | NcclPart::Card { hop, .. } => *hop,
    });
    hops.reduce(f64::max)
}

struct NcclBuild<'t> {
    tree: NcclTree<'t>,
    fabric: Fabric,
    names: UniqueNames,
    devices: Vec<NodeId>,
    /// The bandwidth of hops that are not described, GB/s: those between a host bridge, its NUMA node
    /// and, unless the CPU has its own, the machine.
    between: f64,
    host_told: bool,
}

impl NcclBuild<'_> {
    /// Adds the devices, in the order of their ids.
    fn devices(&mut self) -> Result<(), Error> {
        let several_hosts = self.tree.cpus.iter().any(|cpu| cpu.host > 0);
        let mut places = HashSet::new();
        for (id, gpu) in self.tree.devices.iter().enumerate() {
            // Numbers and addresses are unique within a host only. With several hosts they do not
            // identify a device.
            let index = gpu.dev.filter(|_| !several_hosts);
            let pci = if several_hosts {
                None
            } else {
                pci::normal(&gpu.busid)
            };
            let pci = pci.filter(|pci| places.insert(pci.clone()));
            let name = self
                .names
                .unique(&format!("GPU{}", index.map_or(id, |index| index as usize)));
            let index = index.filter(|&index| index as usize != id);
            let info = DeviceInfo {
                index,
                pci,
                ..DeviceInfo::default()
            };
            let node = self.add(name, NodeKind::Device(info), gpu)?;
            self.devices.push(node);
        }
        Ok(())
    }

    fn add(&mut self, name: String, kind: NodeKind, gpu: &NcclDevice) -> Result<NodeId, Error> {
        let added = self.fabric.add(FabricNode { name, kind });
        added.map_err(|error| Error::core(Some(gpu.line), error))
    }

    fn part(&mut self, name: &str, kind: NodeKind) -> Result<NodeId, Error> {
        let name = self.names.unique(name);
        Ok(self.fabric.add(FabricNode { name, kind })?)
    }

    fn host(&mut self) -> Result<(), Error> {
        let mut machines: Vec<NodeId> = Vec::new();
        let mut numbers = HashSet::new();
        for cpu in self.tree.cpus {
            while machines.len() <= cpu.host {
                machines.push(self.part("machine", NodeKind::Machine)?);
            }
            let numa = cpu.numa.filter(|&number| numbers.insert(number));
            self.cpu(cpu, numa, machines[cpu.host])?;
        }
        Ok(())
    }

    fn cpu(&mut self, cpu: &NcclCpu, numa: Option<u32>, machine: NodeId) -> Result<(), Error> {
        let mut above = machine;
        if let Some(number) = numa {
            let name = self.names.unique(&format!("numa{number}"));
            let added = self.fabric.add_numa(name, number);
            above = added.map_err(|error| Error::core(Some(cpu.line), error))?;
            let between = cpu.between.unwrap_or(self.between);
            self.fabric.attach(above, machine, between)?;
        }
        if cpu.parts.is_empty() {
            return Ok(());
        }
        let number = cpu.numa.map(|number| number.to_string());
        let bridge = self.part(
            &format!("bridge{}", number.unwrap_or_default()),
            NodeKind::HostBridge,
        )?;
        // A bridge without a NUMA node is attached to the machine, over the connection between CPUs.
        let hop = cpu
            .between
            .filter(|_| numa.is_none())
            .unwrap_or(self.between);
        self.fabric.attach(bridge, above, hop)?;
        self.hang(&cpu.parts, bridge, bridge)?;
        Ok(())
    }

    /// Attaches `parts` to `above`. Returns whether a device is among them.
    fn hang(&mut self, parts: &[NcclPart], above: NodeId, bridge: NodeId) -> Result<bool, Error> {
        let mut devices = false;
        for part in parts {
            match part {
                NcclPart::Switch { name, hop, below } => {
                    let switch = self.part(name, NodeKind::PcieSwitch)?;
                    self.fabric
                        .attach(switch, above, hop.unwrap_or(ASSUMED_HOST_GBPS))?;
                    let leads_to_devices = self.hang(below, switch, bridge)?;
                    self.host_told &= hop.is_some() || !leads_to_devices;
                    devices |= leads_to_devices;
                }
                NcclPart::Gpu { gpu, hop } => {
                    let to_host = self.tree.links.to_host[*gpu];
                    let pcie = hop.unwrap_or(ASSUMED_HOST_GBPS);
                    if to_host > pcie {
                        self.fabric.attach(self.devices[*gpu], bridge, to_host)?;
                    } else {
                        self.host_told &= hop.is_some();
                        self.fabric.attach(self.devices[*gpu], above, pcie)?;
                    }
                    devices = true;
                }
                NcclPart::Card { name, hop } => {
                    let card = self.part(name, NodeKind::Nic)?;
                    self.fabric
                        .attach(card, above, hop.unwrap_or(ASSUMED_HOST_GBPS))?;
                }
            }
        }
        Ok(devices)
    }

    fn direct(&mut self) -> Result<(), Error> {
        for (&(a, b), bond) in &self.tree.links.pairs {
            self.fabric.link(
                self.devices[a],
                self.devices[b],
                LinkClass::Direct(bond.links),
                bond.gbps,
            )?;
        }
        if self.tree.links.ports.iter().any(Option::is_some) {
            let switch = self.part("link-switch0", NodeKind::LinkSwitch)?;
            for (id, port) in self.tree.links.ports.iter().enumerate() {
                if let Some(port) = port {
                    self.fabric.link(
                        self.devices[id],
                        switch,
                        LinkClass::Direct(port.links),
                        port.gbps,
                    )?;
                }
            }
        }
        Ok(())
    }
}
