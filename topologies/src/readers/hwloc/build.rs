//! Builds the fabric from the objects and links of a file.

use std::collections::{HashMap, HashSet};

use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeId, NodeKind};

use super::distances::HwlocLinks;
use super::objects::{HwlocFile, HwlocPart};
use crate::error::Error;
use crate::links::ASSUMED_HOST_GBPS;
use crate::readers::xml::{self, UniqueNames};

/// A fabric, and whether the file gives the bandwidth of every hop that leads to a device.
pub(super) struct HwlocFabric {
    pub(super) fabric: Fabric,
    pub(super) host_told: bool,
}

pub(super) fn fabric(
    topology: &HwlocFile<'_, '_>,
    links: &HwlocLinks,
) -> Result<HwlocFabric, Error> {
    let hops = topology.roots.iter().filter_map(|(_, part)| widest(part));
    let between = hops.reduce(f64::max).unwrap_or(ASSUMED_HOST_GBPS);
    let mut fabric = Fabric::new();
    let mut names = UniqueNames::default();
    let devices = devices(topology, &mut fabric, &mut names)?;
    let machine = fabric.add(FabricNode {
        name: names.unique("machine"),
        kind: NodeKind::Machine,
    })?;
    let numa = numa(topology, &mut fabric, &mut names, machine, between)?;
    let mut build = HwlocBuild {
        links,
        fabric,
        names,
        devices,
        between,
        host_told: true,
    };
    for (number, part) in &topology.roots {
        let above = number
            .and_then(|number| numa.get(&number))
            .copied()
            .unwrap_or(machine);
        build.hang(part, above, above)?;
    }
    build.direct()?;
    Ok(HwlocFabric {
        fabric: build.fabric,
        host_told: build.host_told,
    })
}

/// The widest hop of a part.
fn widest(part: &HwlocPart) -> Option<f64> {
    match part {
        HwlocPart::Bridge { below, .. } => below.iter().filter_map(widest).reduce(f64::max),
        HwlocPart::Switch { hop, below, .. } => hop
            .iter()
            .copied()
            .chain(below.iter().filter_map(widest))
            .reduce(f64::max),
        HwlocPart::Gpu { hop, .. } | HwlocPart::Card { hop, .. } => *hop,
    }
}

fn devices(
    topology: &HwlocFile<'_, '_>,
    fabric: &mut Fabric,
    names: &mut UniqueNames,
) -> Result<Vec<NodeId>, Error> {
    let mut uuids = HashSet::new();
    let add = |(id, gpu): (usize, &super::objects::HwlocGpu<'_, '_>)| {
        let index = gpu.named.map(|(_, number)| number).filter(|_| gpu.numbered);
        let info = DeviceInfo {
            index: index.filter(|&index| index as usize != id),
            pci: Some(gpu.pci.clone()),
            product: gpu.product.clone(),
            // Drivers that know no UUID give all devices the same.
            uuid: gpu
                .uuid
                .clone()
                .filter(|uuid| uuids.insert(uuid.to_ascii_lowercase())),
            memory_bytes: gpu.memory_bytes,
            ..DeviceInfo::default()
        };
        let name = names.unique(&format!("GPU{}", index.map_or(id, |index| index as usize)));
        let added = fabric.add(FabricNode {
            name,
            kind: NodeKind::Device(info),
        });
        added.map_err(|error| Error::core(Some(xml::line(gpu.node)), error))
    };
    topology.gpus.iter().enumerate().map(add).collect()
}

fn numa(
    topology: &HwlocFile<'_, '_>,
    fabric: &mut Fabric,
    names: &mut UniqueNames,
    machine: NodeId,
    between: f64,
) -> Result<HashMap<u32, NodeId>, Error> {
    let mut nodes = HashMap::new();
    for &(number, node) in &topology.numa {
        let added = fabric.add_numa(names.unique(&format!("numa{number}")), number);
        let id = added.map_err(|error| Error::core(Some(xml::line(node)), error))?;
        fabric.attach(id, machine, between)?;
        nodes.insert(number, id);
    }
    Ok(nodes)
}

struct HwlocBuild<'s> {
    links: &'s HwlocLinks,
    fabric: Fabric,
    names: UniqueNames,
    devices: Vec<NodeId>,
    /// The bandwidth of hops that the file does not describe, GB/s.
    between: f64,
    host_told: bool,
}

impl HwlocBuild<'_> {
    /// Attaches a part to `above`. Returns whether a device is in it.
    fn hang(&mut self, part: &HwlocPart, above: NodeId, root: NodeId) -> Result<bool, Error> {
        match part {
            HwlocPart::Bridge { name, below } => {
                let bridge = self.add(name, NodeKind::HostBridge, above, self.between)?;
                self.all(below, bridge, bridge)
            }
            HwlocPart::Switch { name, hop, below } => {
                let switch = self.add(
                    name,
                    NodeKind::PcieSwitch,
                    above,
                    hop.unwrap_or(ASSUMED_HOST_GBPS),
                )?;
                let devices = self.all(below, switch, root)?;
                self.host_told &= hop.is_some() || !devices;
                Ok(devices)
            }
            HwlocPart::Gpu { gpu, hop } => {
                let (to_host, pcie) = (self.links.to_host[*gpu], hop.unwrap_or(ASSUMED_HOST_GBPS));
                if to_host > pcie {
                    self.fabric.attach(self.devices[*gpu], root, to_host)?;
                } else {
                    self.host_told &= hop.is_some();
                    self.fabric.attach(self.devices[*gpu], above, pcie)?;
                }
                Ok(true)
            }
            HwlocPart::Card { name, hop } => {
                self.add(name, NodeKind::Nic, above, hop.unwrap_or(ASSUMED_HOST_GBPS))?;
                Ok(false)
            }
        }
    }

    fn all(&mut self, parts: &[HwlocPart], above: NodeId, root: NodeId) -> Result<bool, Error> {
        let mut devices = false;
        for part in parts {
            devices |= self.hang(part, above, root)?;
        }
        Ok(devices)
    }

    fn add(
        &mut self,
        name: &str,
        kind: NodeKind,
        above: NodeId,
        gbps: f64,
    ) -> Result<NodeId, Error> {
        let node = self.fabric.add(FabricNode {
            name: self.names.unique(name),
            kind,
        })?;
        self.fabric.attach(node, above, gbps)?;
        Ok(node)
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
            let name = self.names.unique("link-switch0");
            let switch = self.fabric.add(FabricNode {
                name,
                kind: NodeKind::LinkSwitch,
            })?;
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
