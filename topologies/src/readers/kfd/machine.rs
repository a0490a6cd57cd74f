//! Builds a machine from the map of files.

use std::collections::BTreeMap;

use mapa_core::{
    DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, MAX_DEVICES, NodeId, NodeKind,
};

use super::super::amd::{self, AmdLink, Figures};
use super::tree::{KfdFiles, KfdPart, KfdPlace};
use crate::dump::{Dump, HostDetail, PeerAccess, PeerStatus, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::links::{self, ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;

/// The kernel's number for PCIe among types of links.
const PCIE: u32 = 2;
/// The kernel's number for XGMI among types of links.
const XGMI: u32 = 11;

/// The contents of the files, in order.
struct KfdContents<'t> {
    tree: &'t KfdFiles,
    /// Nodes with processors only: NUMA nodes.
    processors: Vec<u32>,
    gpus: Vec<KfdGpu>,
    /// The figures of each pair of GPUs, and their file. Keys are indices into `gpus`, the lower
    /// first.
    pairs: BTreeMap<(usize, usize), (Figures, KfdPlace)>,
    peers: Vec<PeerAccess>,
    warnings: Vec<Warning>,
}

struct KfdGpu {
    node: u32,
    info: DeviceInfo,
    gfx: Option<String>,
    /// The processor that the GPU is attached to, and the GB/s of the path to it.
    processor: Option<(u32, Option<f64>)>,
}

pub(super) fn build(tree: &KfdFiles) -> Result<Dump, Error> {
    let mut found = KfdContents::new(tree)?;
    found.read_links()?;
    let infos = amd::without_shared_ids(found.gpus.iter().map(|gpu| gpu.info.clone()).collect());
    found
        .gpus
        .iter_mut()
        .zip(infos)
        .for_each(|(gpu, info)| gpu.info = info);
    if !tree.hidden.is_empty() {
        let what = format!(
            "{} files are hidden from this user: the machine may have more",
            tree.hidden.len()
        );
        found.warn(what);
    }
    let (fabric, says, notes) = found.fabric()?;
    let machine = Machine {
        name: "kfd".to_owned(),
        title: format!("{} devices, read from the KFD tree", found.gpus.len()),
        source: "/sys/class/kfd/kfd/topology/nodes".to_owned(),
        notes,
        vendor: Some(Vendor::Amd),
        labels: Labels::of(Some(Vendor::Amd)),
        fabric,
        warnings: found.warnings,
    };
    Ok(Dump {
        peer_access: found.peers,
        ..Dump::new(Kind::Kfd, machine, says)
    })
}

impl<'t> KfdContents<'t> {
    fn new(tree: &'t KfdFiles) -> Result<Self, Error> {
        let (mut processors, mut gpus) = (Vec::new(), Vec::new());
        for node in tree.nodes() {
            let place = KfdPlace {
                node,
                part: KfdPart::Properties,
            };
            if tree.value(place, "simd_count") == 0 {
                processors.push(node);
                continue;
            }
            if gpus.len() == MAX_DEVICES {
                let what = format!("expected at most {MAX_DEVICES} devices");
                return Err(tree.error(place, tree.line(place, "simd_count"), what));
            }
            gpus.push(KfdGpu::new(tree, node)?);
        }
        if gpus.is_empty() {
            return Err(Error::new(
                "no GPU: expected a node with a simd_count above 0 in its properties",
            ));
        }
        Ok(Self {
            tree,
            processors,
            gpus,
            pairs: BTreeMap::new(),
            peers: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn warn(&mut self, what: String) {
        self.warnings.push(Warning { line: None, what });
    }

    fn gpu(&self, node: u32) -> Option<usize> {
        self.gpus.binary_search_by_key(&node, |gpu| gpu.node).ok()
    }

    /// Reads the links of every GPU.
    fn read_links(&mut self) -> Result<(), Error> {
        for i in 0..self.gpus.len() {
            let node = self.gpus[i].node;
            let links: Vec<KfdPlace> = self.tree.parts(node, KfdPart::IoLink).collect();
            self.check_count(node, links.len())?;
            // The weight of the nearest processor's link.
            let mut nearest = None;
            for link in links {
                let other = self.other_end(node, link)?;
                let figures = self.figures(link)?;
                if let Some(peer) = self.gpu(other) {
                    self.join(i, peer, figures, link)?;
                } else if self.processors.binary_search(&other).is_ok() {
                    let weight = figures.weight.unwrap_or(u32::MAX);
                    if nearest.is_none_or(|nearest| weight < nearest) {
                        nearest = Some(weight);
                        let gbps = figures
                            .mbps
                            .map(|(_, all)| f64::from(all) / 1000.0)
                            .filter(|&gbps| gbps > 0.0);
                        self.gpus[i].processor = Some((other, gbps));
                        self.gpus[i].info.numa = Some(other);
                    }
                } else if !self.is_hidden(other) {
                    let what = format!(
                        "leads to node {other}, which has no properties: expected the whole tree"
                    );
                    return Err(self.tree.error(link, self.tree.line(link, "node_to"), what));
                }
            }
            let peers: Vec<KfdPlace> = self.tree.parts(node, KfdPart::P2pLink).collect();
            for link in peers {
                let other = self.other_end(node, link)?;
                let Some(peer) = self.gpu(other).filter(|&peer| peer != i) else {
                    continue;
                };
                self.peers
                    .push(PeerAccess::new(id(i), id(peer), PeerStatus::Ok));
            }
        }
        let lost: Vec<String> = self
            .gpus
            .iter()
            .filter(|gpu| gpu.info.numa.is_none())
            .map(|gpu| gpu.node.to_string())
            .collect();
        if !lost.is_empty() && !self.processors.is_empty() {
            self.warn(format!(
                "no link to a processor from node {}: its NUMA node is unknown",
                lost.join(", ")
            ));
        }
        Ok(())
    }

    fn is_hidden(&self, node: u32) -> bool {
        self.tree.hidden.contains(&KfdPlace {
            node,
            part: KfdPart::Properties,
        })
    }

    /// Checks that the tree has as many links as the node states, unless the kernel hides some.
    fn check_count(&self, node: u32, links: usize) -> Result<(), Error> {
        let place = KfdPlace {
            node,
            part: KfdPart::Properties,
        };
        let said = self
            .tree
            .number(place, "io_links_count")?
            .map_or(links, |said| said as usize);
        let first = KfdPlace {
            node,
            part: KfdPart::IoLink(0),
        };
        let last = KfdPlace {
            node,
            part: KfdPart::IoLink(u32::MAX),
        };
        if said == links || self.tree.hidden.range(first..=last).next().is_some() {
            return Ok(());
        }
        let what = format!(
            "io_links_count is {said}, but the tree has {links} links: expected all of them"
        );
        Err(self
            .tree
            .error(place, self.tree.line(place, "io_links_count"), what))
    }

    /// The node that a link leads to.
    fn other_end(&self, node: u32, link: KfdPlace) -> Result<u32, Error> {
        let from = self.tree.number(link, "node_from")?;
        let to = self.tree.number(link, "node_to")?;
        let wrong = |what: String| {
            self.tree
                .error(link, self.tree.line(link, "node_from"), what)
        };
        match (from, to) {
            (Some(from), _) if from != node => Err(wrong(format!(
                "node_from {from}: expected {node}, the node of this link"
            ))),
            (Some(_), Some(to)) if to == node => Err(wrong(format!(
                "leads from node {node} to itself: expected another node"
            ))),
            (Some(_), Some(to)) => Ok(to),
            _ => Err(wrong("expected node_from and node_to".to_owned())),
        }
    }

    fn figures(&self, link: KfdPlace) -> Result<Figures, Error> {
        let wire = match self.tree.number(link, "type")? {
            Some(XGMI) => AmdLink::Xgmi,
            Some(PCIE) => AmdLink::Pcie,
            Some(_) => AmdLink::Other,
            None => {
                let line = self.tree.line(link, "node_from");
                return Err(self.tree.error(
                    link,
                    line,
                    "expected the link's type, such as 2 (PCIe) or 11 (XGMI)".to_owned(),
                ));
            }
        };
        let mbps = self
            .tree
            .number(link, "min_bandwidth")?
            .zip(self.tree.number(link, "max_bandwidth")?);
        Ok(Figures {
            weight: self.tree.number(link, "weight")?,
            hops: None,
            wire: Some(wire),
            mbps,
        })
    }

    /// Records the link between two GPUs. Both ends must have the same figures.
    fn join(&mut self, a: usize, b: usize, figures: Figures, link: KfdPlace) -> Result<(), Error> {
        let key = (a.min(b), a.max(b));
        let Some((before, place)) = self.pairs.insert(key, (figures, link)) else {
            return Ok(());
        };
        if before == figures && place.node != link.node {
            return Ok(());
        }
        let line = self.tree.line(link, "node_to");
        let what = if place.node == link.node {
            format!(
                "a second link from node {} to {}: expected one",
                self.gpus[a].node, self.gpus[b].node
            )
        } else {
            format!(
                "differs from {place} in type, weight or bandwidth: expected the same from both ends"
            )
        };
        Err(self.tree.error(link, line, what))
    }

    /// The fabric: processors below the machine, GPUs below their processors.
    fn fabric(&self) -> Result<(Fabric, Says, Vec<String>), Error> {
        let mut fabric = Fabric::new();
        let mut notes = Vec::new();
        let mut devices: Vec<NodeId> = Vec::new();
        for (i, gpu) in self.gpus.iter().enumerate() {
            devices.push(fabric.add(amd::device(i, gpu.info.clone()))?);
        }
        let top = fabric.add(FabricNode {
            name: "machine".to_owned(),
            kind: NodeKind::Machine,
        })?;
        // The tree does not describe what joins processors: the hops of the devices are to be the
        // narrower ones.
        let rates = self.gpus.iter().map(KfdGpu::host_gbps);
        let fastest = rates.fold(ASSUMED_HOST_GBPS, f64::max);
        let mut sockets = BTreeMap::new();
        for &node in &self.processors {
            let socket = fabric.add_numa(format!("numa{node}"), node)?;
            fabric.attach(socket, top, fastest)?;
            sockets.insert(node, socket);
        }
        for (gpu, &device) in self.gpus.iter().zip(&devices) {
            let socket = gpu
                .processor
                .and_then(|(node, _)| sockets.get(&node).copied());
            fabric.attach(device, socket.unwrap_or(top), gpu.host_gbps())?;
        }
        let rates = self.pairs.values().any(|(figures, _)| {
            figures.wire == Some(AmdLink::Xgmi) && figures.mbps.is_some_and(|(_, all)| all > 0)
        });
        let (mut direct, mut assumed, mut far) = (0, 0, 0);
        for (&(a, b), &(figures, _)) in &self.pairs {
            let Some((links, gbps)) = figures.direct(rates) else {
                far += usize::from(figures.wire == Some(AmdLink::Xgmi));
                continue;
            };
            let rate = self.gpus[a].gfx.as_deref().and_then(links::xgmi_of_gfx);
            let links = match (gbps, rate) {
                // Some drivers give one figure for all links of a pair.
                (Some(each), Some(rate)) if links == 1 => whole(each, rate).unwrap_or(1),
                _ => links,
            };
            let all = figures
                .mbps
                .map(|(_, all)| f64::from(all) / 1000.0)
                .filter(|&all| all > 0.0);
            let all = all.or(rate.map(|rate| f64::from(links) * rate));
            direct += 1;
            assumed += usize::from(all.is_none());
            let gbps = all.unwrap_or(f64::from(links) * ASSUMED_DIRECT_GBPS);
            fabric.link(devices[a], devices[b], LinkClass::Direct(links), gbps)?;
        }
        if assumed > 0 {
            notes.push(format!(
                "XGMI without a bandwidth counts one link of {ASSUMED_DIRECT_GBPS} GB/s for each pair."
            ));
        }
        if far > 0 {
            notes.push(
                "Pairs that XGMI joins only over other devices count as not joined directly."
                    .to_owned(),
            );
        }
        let by_processor = self.gpus.iter().all(|gpu| gpu.processor.is_some());
        let host_gbps = self
            .gpus
            .iter()
            .all(|gpu| matches!(gpu.processor, Some((_, Some(_)))));
        if !host_gbps {
            notes.push(format!(
                "Host paths without a bandwidth count {ASSUMED_HOST_GBPS} GB/s."
            ));
        }
        let says = Says {
            every_device: self.tree.hidden.is_empty(),
            direct: true,
            direct_gbps: direct > 0 && assumed == 0,
            host: if by_processor {
                HostDetail::Classes
            } else {
                HostDetail::Nothing
            },
            host_gbps,
        };
        Ok((fabric, says, notes))
    }
}

/// `all` divided by `rate`, if that is a whole number.
fn whole(all: f64, rate: f64) -> Option<u8> {
    let times = (all / rate).round();
    let is_whole = (1.0..=255.0).contains(&times) && (times * rate - all).abs() < 1e-6 * all;
    // Casting a float that is whole and in range loses nothing.
    is_whole.then_some(times as u8)
}

fn id(i: usize) -> DeviceId {
    DeviceId(u32::try_from(i).unwrap_or(u32::MAX))
}

impl KfdGpu {
    /// GB/s of the path to the processor, or the assumed rate if the tree has none.
    fn host_gbps(&self) -> f64 {
        let (_, gbps) = self.processor.unwrap_or_default();
        gbps.unwrap_or(ASSUMED_HOST_GBPS)
    }

    fn new(tree: &KfdFiles, node: u32) -> Result<Self, Error> {
        let place = KfdPlace {
            node,
            part: KfdPart::Properties,
        };
        let gfx = tree
            .number(place, "gfx_target_version")?
            .filter(|&version| version > 0)
            .map(gfx);
        let location = tree.number(place, "location_id")?;
        let domain = tree.number(place, "domain")?.unwrap_or(0);
        let mut memory: u64 = 0;
        for bank in tree.parts(node, KfdPart::MemoryBank) {
            // 1 is device memory that processors see, 2 is what they do not; others are caches and
            // shared memory.
            if [1, 2].contains(&tree.value(bank, "heap_type")) {
                memory = memory.saturating_add(tree.value(bank, "size_in_bytes"));
            }
        }
        let info = DeviceInfo {
            product: gfx.as_ref().map(|gfx| format!("AMD {gfx}")),
            // As rocminfo prints it.
            uuid: Some(tree.value(place, "unique_id"))
                .filter(|&id| id != 0)
                .map(|id| format!("GPU-{id:016x}")),
            pci: location
                .filter(|&location| location > 0)
                .map(|location| address(domain, location)),
            memory_bytes: Some(memory).filter(|&bytes| bytes > 0),
            // A GPU that shares its node with a processor is on that NUMA node.
            numa: (tree.value(place, "cpu_cores_count") > 0).then_some(node),
            ..DeviceInfo::default()
        };
        Ok(Self {
            node,
            info,
            gfx,
            processor: None,
        })
    }
}

/// The PCI address in a location: the bus is in bits 8 to 15, the device in bits 3 to 7, the
/// function in the lowest bits. The number of a partition is in bits 28 to 31 with newer drivers,
/// and in the function with older ones. In both cases it distinguishes partitions.
fn address(domain: u32, location: u32) -> String {
    let (bus, device) = (location >> 8 & 0xff, location >> 3 & 0x1f);
    let function = match location >> 28 {
        0 => location & 7,
        partition => partition,
    };
    format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
}

/// The name of an architecture, from its version: 90402 is gfx942, 90010 is gfx90a.
fn gfx(version: u32) -> String {
    format!(
        "gfx{}{:x}{:x}",
        version / 10000,
        version / 100 % 100,
        version % 100
    )
}

#[cfg(test)]
mod tests {
    use super::{address, gfx, whole};

    #[test]
    fn versions_and_locations_are_spelled_as_the_tools_do() {
        assert_eq!(
            [90402, 90010, 90008, 90006, 100_300].map(gfx),
            ["gfx942", "gfx90a", "gfx908", "gfx906", "gfx1030"]
        );
        assert_eq!(address(0, 25344), "0000:63:00.0");
        assert_eq!(address(0, 9985), "0000:27:00.1");
        assert_eq!(address(1, 0x3000_2700), "0001:27:00.3");
    }

    #[test]
    fn rates_divide_a_bandwidth_or_not() {
        assert_eq!(
            (
                whole(200.0, 50.0),
                whole(64.0, 64.0),
                whole(50.0, 64.0),
                whole(76.5, 76.5)
            ),
            (Some(4), Some(1), None, Some(1))
        );
    }
}
