//! Finds the other ends of direct links: devices, switches or CPUs.

use std::collections::{BTreeMap, HashMap};

use roxmltree::Node;

use super::system::{NcclGpu, NcclSystem, hex};
use crate::error::Error;
use crate::links::ASSUMED_DIRECT_GBPS;
use crate::machine::Warning;
use crate::pci;
use crate::readers::nccl_tree::{NcclBond, NcclBonds};
use crate::readers::xml::{self, XmlLines, elements, tag};

/// The PCI class of an NVSwitch at the other end of a link. [`CPU`] is that of a CPU.
const NV_SWITCH: u32 = 0x06_8000;
const CPU: u32 = 0x06_8001;

/// The direct links of a machine.
pub(super) struct NcclLinks {
    pub(super) bonds: NcclBonds,
    /// Whether links of the machine were left out.
    pub(super) left_out: bool,
    /// Whether all links are of a known generation.
    pub(super) rates_known: bool,
    /// Whether the machine has direct links, and all of them are AMD's.
    pub(super) xgmi: bool,
}

/// The links from one device to another, as that device states them.
struct Stated<'a, 'input> {
    node: Node<'a, 'input>,
    links: u32,
    rate: f64,
}

/// Where a link leads.
enum NcclEnd {
    Device(usize),
    Switch,
    Host,
    Nowhere(&'static str),
}

impl NcclLinks {
    pub(super) fn read(
        system: &NcclSystem<'_, '_>,
        lines: &XmlLines,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let n = system.gpus.len();
        let mut links = Self {
            bonds: NcclBonds::none(n),
            left_out: false,
            rates_known: true,
            xgmi: false,
        };
        let places = places(system);
        let mut stated: BTreeMap<(usize, usize), Stated<'_, '_>> = BTreeMap::new();
        let (mut nvlinks, mut xgmi_links) = (false, false);
        for (id, gpu) in system.gpus.iter().enumerate() {
            let shared = places
                .get(&(gpu.host, gpu.busid.as_str()))
                .is_some_and(|place| place.len() > 1);
            let mut said_shared = false;
            for node in elements(gpu.node) {
                let rate = match tag(node) {
                    "nvlink" => gpu.nvlink,
                    "xgmi" => gpu.xgmi,
                    "c2c" => {
                        links.bonds.to_host[id] += coherent(node)?;
                        continue;
                    }
                    _ => continue,
                };
                nvlinks |= node.has_tag_name("nvlink");
                xgmi_links |= node.has_tag_name("xgmi");
                let count: u32 = xml::required(node, "count")?;
                if count == 0 {
                    warnings.push(lines.warning(node, "a count of 0 links: ignored"));
                    continue;
                }
                if shared {
                    links.left_out = true;
                    if !std::mem::replace(&mut said_shared, true) {
                        warnings.push(lines.warning(
                            gpu.node,
                            "shares its PCI address with another device: its direct links are left out",
                        ));
                    }
                    continue;
                }
                links.rates_known &= rate.is_some();
                let rate = rate.unwrap_or(ASSUMED_DIRECT_GBPS);
                match end(node, id, gpu, &places)? {
                    NcclEnd::Device(other) => {
                        let new = Stated {
                            node,
                            links: 0,
                            rate,
                        };
                        let entry = stated.entry((id, other)).or_insert(new);
                        entry.links = entry.links.saturating_add(count);
                    }
                    NcclEnd::Switch => {
                        let port = links.bonds.ports[id].get_or_insert_with(NcclBond::default);
                        *port = bond(node, u32::from(port.links).saturating_add(count), rate)?;
                    }
                    NcclEnd::Host => {
                        links.bonds.to_host[id] += f64::from(count.min(u32::from(u8::MAX))) * rate
                    }
                    NcclEnd::Nowhere(what) => {
                        links.left_out = true;
                        warnings.push(lines.warning(node, what));
                    }
                }
            }
        }
        links.xgmi = xgmi_links && !nvlinks;
        links.join(&stated, lines, warnings)?;
        Ok(links)
    }

    /// Checks that both ends of each link agree, and adds the link.
    fn join(
        &mut self,
        stated: &BTreeMap<(usize, usize), Stated<'_, '_>>,
        lines: &XmlLines,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), Error> {
        for (&(a, b), here) in stated {
            let there = stated.get(&(b, a));
            let rate = there.map_or(here.rate, |there| there.rate.min(here.rate));
            match there {
                Some(there) if there.links != here.links => {
                    let what = format!(
                        "{} links, but the other end has {}: expected the same number",
                        here.links, there.links
                    );
                    return Err(xml::error(here.node, what));
                }
                Some(_) if a > b => continue,
                Some(_) => {}
                None => warnings
                    .push(lines.warning(here.node, "only this end states the link: it is kept")),
            }
            // A pair that a switch also joins has the links of its smaller port in addition. Their
            // sum must be valid too.
            let port = |id: usize| self.bonds.ports[id].map_or(0, |port| u32::from(port.links));
            bond(
                here.node,
                here.links.saturating_add(port(a).min(port(b))),
                rate,
            )?;
            self.bonds
                .pairs
                .insert((a.min(b), a.max(b)), bond(here.node, here.links, rate)?);
        }
        Ok(())
    }
}

/// The devices at each PCI address of each host.
type DevicesByAddress<'s> = HashMap<(usize, &'s str), Vec<usize>>;

fn places<'s>(system: &'s NcclSystem<'_, '_>) -> DevicesByAddress<'s> {
    let mut places: DevicesByAddress<'s> = HashMap::new();
    for (id, gpu) in system.gpus.iter().enumerate() {
        places
            .entry((gpu.host, gpu.busid.as_str()))
            .or_default()
            .push(id);
    }
    places
}

fn end(
    node: Node<'_, '_>,
    id: usize,
    gpu: &NcclGpu<'_, '_>,
    places: &DevicesByAddress<'_>,
) -> Result<NcclEnd, Error> {
    let class = node.attribute("tclass").and_then(hex);
    if class == Some(NV_SWITCH) {
        return Ok(NcclEnd::Switch);
    }
    if class == Some(CPU) {
        return Ok(NcclEnd::Host);
    }
    let Some(told) = node.attribute("target") else {
        return Err(xml::error(
            node,
            "no attribute `target`: expected the PCI address of the other end",
        ));
    };
    let target = pci::normal(told).unwrap_or_else(|| told.trim().to_owned());
    Ok(
        match places.get(&(gpu.host, target.as_str())).map(Vec::as_slice) {
            Some([other]) if *other == id => {
                NcclEnd::Nowhere("a link of a device to itself: left out")
            }
            Some([other]) => NcclEnd::Device(*other),
            Some(_) => {
                NcclEnd::Nowhere("the target is the PCI address of several devices: left out")
            }
            None => NcclEnd::Nowhere("the target is not a device in this file: left out"),
        },
    )
}

fn bond(node: Node<'_, '_>, links: u32, rate: f64) -> Result<NcclBond, Error> {
    let Ok(count) = u8::try_from(links) else {
        return Err(xml::error(
            node,
            format!("{links} links: expected at most 255"),
        ));
    };
    Ok(NcclBond {
        links: count,
        gbps: f64::from(links) * rate,
    })
}

/// The bandwidth of `<c2c bw="..." count="...">` in GB/s. `bw` is MB/s of one link.
fn coherent(node: Node<'_, '_>) -> Result<f64, Error> {
    let (bw, count): (u32, u32) = (xml::required(node, "bw")?, xml::required(node, "count")?);
    let gbps = f64::from(bw) * f64::from(count) / 1000.0;
    if gbps > MOST_GBPS {
        return Err(xml::error(
            node,
            format!("{gbps} GB/s: expected at most {MOST_GBPS}, from `bw` in MB/s and `count`"),
        ));
    }
    Ok(gbps)
}

/// An upper limit for bandwidths, GB/s. No link is as fast.
const MOST_GBPS: f64 = 1e6;
