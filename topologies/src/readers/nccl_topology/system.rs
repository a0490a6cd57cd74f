//! Reads the elements of the file and checks each one.

use std::collections::HashMap;

use mapa_core::MAX_DEVICES;
use roxmltree::Node;

use crate::error::{Error, ErrorKind};
use crate::links::ASSUMED_HOST_GBPS;
use crate::machine::Warning;
use crate::readers::nccl_tree::{NcclCpu, NcclDevice, NcclPart, renumber};
use crate::readers::xml::{self, XmlLines, elements, tag};
use crate::vendor::Vendor;
use crate::{links, pci};

/// A file, with its devices in the order of their ids.
pub(super) struct NcclSystem<'a, 'input> {
    pub(super) cpus: Vec<NcclCpu>,
    pub(super) gpus: Vec<NcclGpu<'a, 'input>>,
    /// Whether the file has no `<gpu>`. Devices are then recognised by their PCI class.
    pub(super) skeleton: bool,
}

/// A device.
pub(super) struct NcclGpu<'a, 'input> {
    /// Its element: `<gpu>`, which contains its links, or `<pci>` in a skeleton.
    pub(super) node: Node<'a, 'input>,
    pub(super) host: usize,
    pub(super) dev: Option<u32>,
    /// Its PCI address in normal form, or as written in the file if it cannot be parsed.
    pub(super) busid: String,
    /// The bandwidth of one NVLink, GB/s. `xgmi` is that of one XGMI link.
    pub(super) nvlink: Option<f64>,
    pub(super) xgmi: Option<f64>,
}

impl NcclGpu<'_, '_> {
    /// Who made the device: by the vendor of its PCI function, its generation, or its links.
    pub(super) fn vendor(&self) -> Option<Vendor> {
        let function = self.node.ancestors().find(|node| node.has_tag_name("pci"));
        let id = function.and_then(|node| hex(node.attribute("vendor")?));
        let links = |tag| self.node.children().any(|node| node.has_tag_name(tag));
        id.and_then(Vendor::of_pci).or_else(|| {
            if self.node.has_attribute("gcn") || links("xgmi") {
                Some(Vendor::Amd)
            } else {
                (self.nvlink.is_some() || links("nvlink")).then_some(Vendor::Nvidia)
            }
        })
    }
}

impl<'a, 'input> NcclSystem<'a, 'input> {
    pub(super) fn read(
        root: Node<'a, 'input>,
        lines: &XmlLines,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Error> {
        if tag(root) != "system" {
            return Err(xml::error(root, "expected <system>"));
        }
        let skeleton = !root.descendants().any(|node| node.has_tag_name("gpu"));
        let mut walk = NcclWalk {
            lines,
            warnings,
            skeleton,
            gpus: Vec::new(),
            cards: HashMap::new(),
            odd: HashMap::new(),
        };
        let mut cpus: Vec<NcclCpu> = Vec::new();
        let mut hosts: HashMap<&str, usize> = HashMap::new();
        for node in elements(root) {
            if tag(node) != "cpu" {
                walk.unknown(node);
                continue;
            }
            let next = hosts.len();
            let host = *hosts
                .entry(node.attribute("host_hash").unwrap_or_default())
                .or_insert(next);
            let numa = numa(node)?;
            let parts = walk.parts(node, host, None)?;
            let known = cpus
                .iter_mut()
                .find(|cpu| numa.is_some() && (cpu.host, cpu.numa) == (host, numa));
            if let Some(cpu) = known {
                walk.warnings
                    .push(lines.warning(node, "a second CPU of this number: both are read as one"));
                cpu.parts.extend(parts);
            } else if cpus.len() == MAX_DEVICES {
                let what = format!("more than {MAX_DEVICES} CPUs");
                return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
            } else {
                cpus.push(NcclCpu {
                    line: lines.of(node),
                    host,
                    numa,
                    parts,
                    between: None,
                });
            }
        }
        let mut system = Self {
            cpus,
            gpus: walk.gpus,
            skeleton,
        };
        system.sort()?;
        Ok(system)
    }

    /// The devices without their elements, in the order of their ids.
    pub(super) fn devices(&self, lines: &XmlLines) -> Vec<NcclDevice> {
        let device = |gpu: &NcclGpu<'_, '_>| NcclDevice {
            line: lines.of(gpu.node),
            host: gpu.host,
            dev: gpu.dev,
            busid: gpu.busid.clone(),
        };
        self.gpus.iter().map(device).collect()
    }

    /// Orders the devices by host, then by number, then by position in the file.
    fn sort(&mut self) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.gpus.len()).collect();
        order.sort_by_key(|&i| (self.gpus[i].host, self.gpus[i].dev.unwrap_or(u32::MAX), i));
        for pair in order.windows(2) {
            let (a, b) = (&self.gpus[pair[0]], &self.gpus[pair[1]]);
            if a.host == b.host && a.dev.is_some() && a.dev == b.dev {
                return Err(xml::error(
                    b.node,
                    "a second device has this number: expected each number once",
                ));
            }
        }
        let mut id = vec![0; order.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(new, &old)| id[old] = new);
        self.cpus
            .iter_mut()
            .for_each(|cpu| renumber(&mut cpu.parts, &id));
        let mut gpus: Vec<(usize, NcclGpu<'a, 'input>)> =
            id.into_iter().zip(std::mem::take(&mut self.gpus)).collect();
        gpus.sort_by_key(|(id, _)| *id);
        self.gpus = gpus.into_iter().map(|(_, gpu)| gpu).collect();
        Ok(())
    }
}

/// The state of the walk through the elements.
struct NcclWalk<'a, 'input, 'w> {
    lines: &'w XmlLines,
    warnings: &'w mut Vec<Warning>,
    skeleton: bool,
    gpus: Vec<NcclGpu<'a, 'input>>,
    /// The cards by name. The value is true once a warning about a repeated card was added.
    cards: HashMap<String, bool>,
    /// The unknown tags that already have a warning.
    odd: HashMap<String, ()>,
}

/// The PCI element around the current ones.
#[derive(Clone, Copy)]
struct EnclosingPci<'a> {
    busid: &'a str,
    hop: Option<f64>,
}

impl<'a, 'input> NcclWalk<'a, 'input, '_> {
    /// The parts below a CPU or PCI element. The parser bounds the depth of the recursion.
    fn parts(
        &mut self,
        node: Node<'a, 'input>,
        host: usize,
        around: Option<EnclosingPci<'_>>,
    ) -> Result<Vec<NcclPart>, Error> {
        let mut parts = Vec::new();
        for child in elements(node) {
            match (tag(child), around) {
                ("pci", _) => parts.extend(self.pci(child, host)?),
                ("nic", _) => {
                    for net in elements(child).filter(|net| net.has_tag_name("net")) {
                        parts.extend(self.card(
                            net,
                            net.attribute("name"),
                            around.and_then(|around| around.hop),
                        )?);
                    }
                }
                ("gpu", Some(EnclosingPci { busid, hop })) => {
                    let gpu = self.gpu(child, Some(child), host, busid)?;
                    parts.push(NcclPart::Gpu { gpu, hop });
                }
                ("gpu", None) => {
                    return Err(xml::error(
                        child,
                        "a <gpu> directly below a <cpu>: expected it within a <pci>",
                    ));
                }
                // A shortcut between switches that only NCCL's search uses.
                ("pcilink", Some(_)) => {}
                _ => self.unknown(child),
            }
        }
        Ok(parts)
    }

    fn pci(&mut self, node: Node<'a, 'input>, host: usize) -> Result<Vec<NcclPart>, Error> {
        let Some(told) = node.attribute("busid") else {
            return Err(xml::error(
                node,
                "no attribute `busid`: expected a PCI address",
            ));
        };
        let busid = pci::normal(told).unwrap_or_else(|| told.trim().to_owned());
        let hop = hop(node)?;
        if hop.is_none() {
            self.odd_width(node)?;
        }
        let around = EnclosingPci { busid: &busid, hop };
        let below = self.parts(node, host, Some(around))?;
        let own = |part: &NcclPart| matches!(part, NcclPart::Gpu { .. } | NcclPart::Card { .. });
        let holds_pci = elements(node).any(|child| child.has_tag_name("pci"));
        if holds_pci {
            return Ok(if below.is_empty() {
                below
            } else {
                vec![NcclPart::Switch {
                    name: busid,
                    hop,
                    below,
                }]
            });
        }
        if below.iter().any(own) {
            return Ok(below);
        }
        if self.skeleton && is_accelerator(node) {
            let gpu = self.gpu(node, None, host, &busid)?;
            return Ok(vec![NcclPart::Gpu { gpu, hop }]);
        }
        if is_card(node) {
            return Ok(self.card(node, Some(&busid), hop)?.into_iter().collect());
        }
        Ok(Vec::new())
    }

    /// Says that a link has a number of lanes that no link has.
    fn odd_width(&mut self, node: Node<'_, '_>) -> Result<(), Error> {
        let lanes: Option<u32> = xml::number(node, "link_width")?;
        let told = node.attribute("link_speed");
        let told = told.is_some_and(|speed| !speed.trim().is_empty());
        if let Some(lanes) = lanes.filter(|lanes| told && !(1..=64).contains(lanes)) {
            let what = format!(
                "link_width=\"{lanes}\": expected 1 to 64 lanes; the link counts as one of unknown speed, at {ASSUMED_HOST_GBPS} GB/s"
            );
            self.warnings.push(self.lines.warning(node, what));
        }
        Ok(())
    }

    fn gpu(
        &mut self,
        node: Node<'a, 'input>,
        told: Option<Node<'a, 'input>>,
        host: usize,
        busid: &str,
    ) -> Result<usize, Error> {
        if self.gpus.len() == MAX_DEVICES {
            let what = format!("more than {MAX_DEVICES} devices");
            return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
        }
        let dev = if told.is_some() {
            xml::number(node, "dev")?
        } else {
            None
        };
        let sm: Option<u32> = if told.is_some() {
            xml::number(node, "sm")?
        } else {
            None
        };
        let (nvlink, xgmi) = (
            sm.and_then(links::nvlink_gbps_of_sm),
            node.attribute("gcn").and_then(xgmi_of_gcn),
        );
        self.gpus.push(NcclGpu {
            node,
            host,
            dev,
            busid: busid.to_owned(),
            nvlink,
            xgmi,
        });
        Ok(self.gpus.len() - 1)
    }

    /// Adds a card. Returns `None` if a card of this name exists: NCCL writes virtual interfaces at
    /// every CPU.
    fn card(
        &mut self,
        node: Node<'_, '_>,
        name: Option<&str>,
        hop: Option<f64>,
    ) -> Result<Option<NcclPart>, Error> {
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
            self.warnings.push(
                self.lines
                    .warning(node, "a network card without a name: left out"),
            );
            return Ok(None);
        };
        if let Some(said) = self.cards.get_mut(name) {
            if !std::mem::replace(said, true) {
                let what = format!("network card {name} appears again: only the first is kept");
                self.warnings.push(self.lines.warning(node, what));
            }
            return Ok(None);
        }
        if self.cards.len() == MAX_DEVICES {
            let what = format!("more than {MAX_DEVICES} network cards");
            return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
        }
        self.cards.insert(name.to_owned(), false);
        Ok(Some(NcclPart::Card {
            name: name.to_owned(),
            hop,
        }))
    }

    fn unknown(&mut self, node: Node<'_, '_>) {
        if self.odd.insert(tag(node).to_owned(), ()).is_none() {
            self.warnings
                .push(self.lines.warning(node, "unknown element: ignored"));
        }
    }
}

fn numa(node: Node<'_, '_>) -> Result<Option<u32>, Error> {
    let number: Option<i64> = xml::number(node, "numaid")?;
    let Some(number) = number.filter(|&number| number >= 0) else {
        return Ok(None);
    };
    u32::try_from(number).map(Some).map_err(|_| {
        xml::error(
            node,
            format!("numaid=\"{number}\": expected the number of a NUMA node, or -1"),
        )
    })
}

/// The bandwidth of the link from a PCI element to its parent, GB/s, from
/// `link_speed="16.0 GT/s PCIe" link_width="16"`.
fn hop(node: Node<'_, '_>) -> Result<Option<f64>, Error> {
    let lanes: Option<u32> = xml::number(node, "link_width")?;
    let rate = node
        .attribute("link_speed")
        .and_then(|speed| speed.trim().split("GT/s").next()?.trim().parse().ok());
    let (Some(lanes), Some(rate)) = (lanes, rate) else {
        return Ok(None);
    };
    Ok(links::pcie_gbps(rate, lanes))
}

/// The class of a PCI element without the programming interface in its last byte: `0x030200` gives
/// 0x0302.
fn class(node: Node<'_, '_>) -> Option<u32> {
    hex(node.attribute("class")?).map(|class| class >> 8)
}

pub(super) fn hex(text: &str) -> Option<u32> {
    let digits = text.trim();
    u32::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

/// Whether a PCI element without `<gpu>` is a GPU. If the vendor is missing, classes that on-board
/// graphics also have do not count.
fn is_accelerator(node: Node<'_, '_>) -> bool {
    let class = class(node);
    match node.attribute("vendor").and_then(hex) {
        Some(0x10de | 0x1002) => matches!(class, Some(0x0300 | 0x0302 | 0x0380 | 0x1200)),
        Some(_) => false,
        None => matches!(class, Some(0x0302 | 0x1200)),
    }
}

fn is_card(node: Node<'_, '_>) -> bool {
    matches!(class(node), Some(0x0200 | 0x0207))
}

/// The bandwidth of one XGMI link, GB/s, from RCCL's attribute `gcn`. New versions write
/// `gcn="gfx942"`. Older ones write a number: 906, 908, and 910 for gfx90a.
fn xgmi_of_gcn(gcn: &str) -> Option<f64> {
    let gfx = match gcn.trim() {
        "910" => "gfx90a".to_owned(),
        // `gfx942:sramecc+:xnack-`
        name if name.starts_with("gfx") => name.split(':').next().unwrap_or_default().to_owned(),
        number => format!("gfx{number}"),
    };
    links::xgmi_of_gfx(&gfx)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str, check: impl Fn(Node<'_, '_>)) {
        check(xml::parse(text).unwrap().root_element());
    }

    #[test]
    fn speeds_are_read_as_kernels_spell_them() {
        for (speed, width, gbps) in [
            ("16.0 GT/s PCIe", "16", Some(31.5)),
            ("16 GT/s", "16", Some(31.5)),
            ("8 GT/s", "4", Some(3.94)),
            ("2.5 GT/s", "1", Some(0.25)),
            ("", "0", None),
            ("Unknown", "16", None),
            ("7 GT/s", "16", None),
            ("8 GT/s", "0", None),
        ] {
            first(
                &format!("<pci link_speed=\"{speed}\" link_width=\"{width}\"/>"),
                |pci| {
                    let hop = hop(pci).unwrap().map(|hop| (hop * 100.0).round() / 100.0);
                    assert_eq!(
                        hop,
                        gbps.map(|gbps| if gbps == 31.5 { 31.51 } else { gbps }),
                        "{speed} x{width}"
                    );
                },
            );
        }
        first("<pci link_speed=\"8 GT/s\" link_width=\"wide\"/>", |pci| {
            assert!(hop(pci).is_err())
        });
    }

    #[test]
    fn architectures_are_read_as_rccl_spells_them() {
        let rate = |gcn| xgmi_of_gcn(gcn);
        assert_eq!(
            (rate("906"), rate("908"), rate("910")),
            (Some(46.0), Some(50.0), Some(50.0))
        );
        assert_eq!(
            (rate("gfx942"), rate("gfx90a:sramecc+"), rate("940")),
            (Some(64.0), Some(50.0), Some(64.0))
        );
        assert_eq!((rate(""), rate("gfx"), rate("1100")), (None, None, None));
    }

    #[test]
    fn on_board_graphics_are_no_accelerators() {
        for (class, vendor, is) in [
            ("0x030200", "vendor=\"0x10de\"", true),
            ("0x030000", "vendor=\"0x10de\"", true),
            ("0x038000", "vendor=\"0x1002\"", true),
            ("0x120000", "vendor=\"0x1002\"", true),
            ("0x030000", "vendor=\"0x1a03\"", false),
            ("0x030200", "", true),
            ("0x030000", "", false),
            ("0x020000", "vendor=\"0x10de\"", false),
        ] {
            first(&format!("<pci class=\"{class}\" {vendor}/>"), |pci| {
                assert_eq!(is_accelerator(pci), is, "{class} {vendor}")
            });
        }
    }
}
