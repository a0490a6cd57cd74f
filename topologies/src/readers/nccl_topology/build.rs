//! Builds the fabric from the elements and links of a file.

use std::collections::HashSet;

use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeId, NodeKind};

use super::links::NcclLinks;
use super::system::{NcclCpu, NcclGpu, NcclPart, NcclSystem};
use crate::error::Error;
use crate::links::ASSUMED_HOST_GBPS;
use crate::pci;
use crate::readers::xml::{self, UniqueNames};

/// A fabric, and whether the file gives the bandwidth of every hop that leads to a device.
pub(super) struct NcclFabric {
    pub(super) fabric: Fabric,
    pub(super) host_told: bool,
}

pub(super) fn fabric(system: &NcclSystem<'_, '_>, links: &NcclLinks) -> Result<NcclFabric, Error> {
    let mut build = NcclBuild {
        system,
        links,
        fabric: Fabric::new(),
        names: UniqueNames::default(),
        devices: Vec::new(),
        between: system
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

struct NcclBuild<'s, 'a, 'input> {
    system: &'s NcclSystem<'a, 'input>,
    links: &'s NcclLinks,
    fabric: Fabric,
    names: UniqueNames,
    devices: Vec<NodeId>,
    /// The bandwidth of hops that the file does not describe, GB/s: those between a host bridge,
    /// its NUMA node and the machine.
    between: f64,
    host_told: bool,
}

impl NcclBuild<'_, '_, '_> {
    /// Adds the devices, in the order of their ids.
    fn devices(&mut self) -> Result<(), Error> {
        let several_hosts = self.system.cpus.iter().any(|cpu| cpu.host > 0);
        let mut places = HashSet::new();
        for (id, gpu) in self.system.gpus.iter().enumerate() {
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

    fn add(
        &mut self,
        name: String,
        kind: NodeKind,
        gpu: &NcclGpu<'_, '_>,
    ) -> Result<NodeId, Error> {
        let added = self.fabric.add(FabricNode { name, kind });
        added.map_err(|error| Error::core(Some(xml::line(gpu.node)), error))
    }

    fn part(&mut self, name: &str, kind: NodeKind) -> Result<NodeId, Error> {
        let name = self.names.unique(name);
        Ok(self.fabric.add(FabricNode { name, kind })?)
    }

    fn host(&mut self) -> Result<(), Error> {
        let mut machines: Vec<NodeId> = Vec::new();
        let mut numbers = HashSet::new();
        for cpu in &self.system.cpus {
            while machines.len() <= cpu.host {
                machines.push(self.part("machine", NodeKind::Machine)?);
            }
            let numa = cpu.numa.filter(|&number| numbers.insert(number));
            self.cpu(cpu, numa, machines[cpu.host])?;
        }
        Ok(())
    }

    fn cpu(
        &mut self,
        cpu: &NcclCpu<'_, '_>,
        numa: Option<u32>,
        machine: NodeId,
    ) -> Result<(), Error> {
        let mut above = machine;
        if let Some(number) = numa {
            let name = self.names.unique(&format!("numa{number}"));
            let added = self.fabric.add_numa(name, number);
            above = added.map_err(|error| Error::core(Some(xml::line(cpu.node)), error))?;
            self.fabric.attach(above, machine, self.between)?;
        }
        if cpu.parts.is_empty() {
            return Ok(());
        }
        let number = cpu.numa.map(|number| number.to_string());
        let bridge = self.part(
            &format!("bridge{}", number.unwrap_or_default()),
            NodeKind::HostBridge,
        )?;
        self.fabric.attach(bridge, above, self.between)?;
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
                    let to_host = self.links.to_host[*gpu];
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
        for (&(a, b), bond) in &self.links.pairs {
            self.fabric.link(
                self.devices[a],
                self.devices[b],
                LinkClass::Direct(bond.links),
                bond.gbps,
            )?;
        }
        if self.links.ports.iter().any(Option::is_some) {
            let switch = self.part("link-switch0", NodeKind::LinkSwitch)?;
            for (id, port) in self.links.ports.iter().enumerate() {
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
